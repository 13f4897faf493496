"""Recordings of a Furuta pendulum: when the encoders were read, what they read, and the voltage held meanwhile.

The logs join topics that came at different times: rows in which the joints have no sample are dropped, and the voltage
is the last one commanded. The clock is that of the encoders' own stamps, whose intervals vary from 1.6 to 4.8 ms about
a period of 2 ms: a uniform grid in its place would be off by up to several milliseconds, and a swinging pendulum with
it. Whole turns are taken off the angles, so that the arm begins within half a turn of 0 and the pendulum hangs near 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from poinsot import Column, Source, read_recording

FREE = "furuta/oscillations.csv"
"""The arm is blocked and the pendulum let go near its upright position."""
DRIVEN = {
    "step 2 V": "furuta/hardware_step_response_2V.csv",
    "step 4 V": "furuta/hardware_step_response_4V.csv",
    "sine 2 V": "furuta/hardware_sin_response_2V_1s.csv",
}
"""Name -> file of what the motor drove."""
STAMP = "/joint_states/header/stamp"
ARM, PENDULUM = "/joint_states/joint0/position", "/joint_states/joint1/position"
VOLTAGE = "/effort_control/data.0"


@dataclass(frozen=True, eq=False)
class Angles:
    """What was recorded.

    Args:
        times: (T,) of the encoders' samples, from 0 [s].
        arm, pendulum: (T,) unwrapped [rad].
        voltage: (T,) the one in force at each sample [V].
    """

    times: Float[np.ndarray, "T"]
    arm: Float[np.ndarray, "T"]
    pendulum: Float[np.ndarray, "T"]
    voltage: Float[np.ndarray, "T"]

    def between(self, start: float, stop: float) -> Angles:
        """The samples with start <= time < stop [s], in their own time from 0."""
        inside = (self.times >= start) & (self.times < stop)
        times = self.times[inside]
        return Angles(times - times[0], self.arm[inside], self.pendulum[inside], self.voltage[inside])


def oscillations(data: Path) -> Angles:
    """The pendulum let go near its upright position, the arm blocked; no voltage.

    Args:
        data: folder of the recordings, with `FREE`.
    """
    return _read(data / FREE, is_driven=False)


def driven(data: Path, name: str) -> Angles:
    """What the motor drove.

    Args:
        data: folder of the recordings, with `DRIVEN`.
        name: one of `DRIVEN`.
    """
    return _read(data / DRIVEN[name], is_driven=True)


def _read(path: Path, is_driven: bool) -> Angles:
    channels = {"position.arm": Column(ARM, "rad"), "position.pendulum": Column(PENDULUM, "rad")}
    if is_driven:
        channels["voltage.motor"] = Column(VOLTAGE, "V", hold=True, initial=0.0)
    read = read_recording(Source(path, channels, time=Column(STAMP, "s"), require=(ARM,)))
    arm, pendulum = (np.unwrap(read[name]) for name in ("position.arm", "position.pendulum"))
    return Angles(
        read.time - read.time[0],
        arm - _turns(arm[0]),
        pendulum - _turns(float(np.median(pendulum))),
        read["voltage.motor"].copy() if is_driven else np.zeros(len(read)),
    )


def _turns(angle: float) -> float:
    """The nearest whole turns [rad]."""
    return float(2 * np.pi * np.round(angle / (2 * np.pi)))
