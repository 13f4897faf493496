"""Errors of sensors as parameters of a robot: biases, misalignments and delays, each with a name.

    bias.gyro.imu.x       b of a channel, in its unit
    misalignment.imu.x    m of a frame [rad]: a rotation vector, in the frame's axes, of all sensors at it
    delay.imu             d [s] of all sensors at a frame, of a quantity (`delay.position`), of a quantity at a frame, or
                          of all (`delay.all`); they add up, and are negative where commands act late

A reading is z(t) = h(x(t - d); R_wf Exp(m)) + b. With the axes turned exactly and the delay to first order,

    z [-] h(x(t)) - b + d h'(t),    its slopes by b -1, by m -h_turn Jr(m), by d h'

where a turn phi of the frame in its own axes changes h by h_turn phi, and Exp(m + dm) = Exp(m) Exp(Jr(m) dm). h' is the
rate of the predicted reading along a motion that is known before (`Readings.rates`): what is left out is d^2 h'' / 2,
half of omega d of the delay where the motion has a frequency omega. A parabola instead, whose h'' has the noise of the
motion in it, was further from the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Matrix, Vector
from ..exceptions import InvalidMethod, InvalidModel, listing, nearest
from ..parameters import Normal
from ..quantities import FRAME_QUANTITIES, XYZ
from ..recording import Recording
from .articulated import Articulated
from .configuration_space import left_slopes

BIAS, MISALIGNMENT, DELAY = KINDS = "bias", "misalignment", "delay"
JOINT_QUANTITIES = "position", "velocity"
ALL = "all"


def is_sensor_error(name: str) -> bool:
    """Whether a parameter of this name is an error of sensors."""
    return name.partition(".")[0] in KINDS


def owner_of_error(name: str) -> str:
    """Sensor, frame or quantity: `gyro.imu` of `bias.gyro.imu.x`."""
    kind, _, of = name.partition(".")
    return of if kind == DELAY else of.rpartition(".")[0]


def unit_of_error(robot: Articulated, name: str) -> str:
    """SI unit of an error.

    Raises:
        InvalidModel: if there is no such error.
    """
    kind, _, of = name.partition(".")
    if kind == DELAY and of:
        return "s"
    frame, _, end = of.rpartition(".")
    if kind == MISALIGNMENT and frame and end in XYZ:
        return "rad"
    quantity, _, rest = of.partition(".")
    if kind == BIAS and quantity in JOINT_QUANTITIES and rest in robot.joints:
        unit = robot.position_units[robot.actuated[robot.joints.index(rest)]]
        return unit if quantity == "position" else f"{unit}/s"
    listed = FRAME_QUANTITIES.get(quantity)
    if kind == BIAS and listed is not None and not listed.is_orientation and end in listed.ends:
        # forces before moments
        return listed.units[listed.ends.index(end) // 3]
    raise InvalidModel(
        f"no error of a sensor {name!r}: write bias.QUANTITY.FRAME.x, bias.position.JOINT, misalignment.FRAME.x, or "
        "delay.FRAME"
    )


@dataclass(frozen=True)
class SensorErrors:
    """Values of errors, and which of them are open.

    Args:
        values: of errors by name; those that are not named are 0.
        places: place in theta of each that is open.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)

    def biases(self, channels: Sequence[str]) -> Vector:
        """(m,) of channels."""
        return np.array([self.values.get(f"{BIAS}.{name}", 0.0) for name in channels])

    def delays(self, quantity: str, frame: str) -> tuple[str, ...]:
        """Names of the delays of a sensor."""
        found = (f"{DELAY}.{of}" for of in (f"{quantity}.{frame}", frame, quantity, ALL))
        return tuple(name for name in found if name in self.values)

    def misalignment(self, frame: str) -> Vector | None:
        """(3,) rotation vector of the sensors at a frame [rad]; None: there is none."""
        names = _misalignments(frame)
        if not any(name in self.values for name in names):
            return None
        return np.array([self.values.get(name, 0.0) for name in names])

    def open_misalignment(self, frame: str) -> tuple[list[int], Matrix]:
        """Places in theta of a frame's misalignment, and (3, k) turn of its axes by these."""
        which = [k for k, name in enumerate(_misalignments(frame)) if name in self.places]
        m = self.misalignment(frame)
        if not which or m is None:
            return [], np.zeros((3, 0))
        # Jr(m) = Jl(-m)
        turn = np.linalg.inv(left_slopes(-m[None])[0])
        return [self.places[_misalignments(frame)[k]] for k in which], turn[:, which]


def _misalignments(frame: str) -> tuple[str, ...]:
    return tuple(f"{MISALIGNMENT}.{frame}.{axis}" for axis in XYZ)


def turn_of(misalignment: Vector) -> Matrix:
    """(3, 3) Exp(m)."""
    return np.asarray(Rotation.from_rotvec(misalignment).as_matrix())


def sensor_error_priors(
    recordings: Iterable[Recording],
    bias_std: Mapping[str, float] | None = None,
    misalignment_std: Mapping[str, float] | None = None,
    delay_std_s: Mapping[str, float] | None = None,
) -> dict[str, Normal]:
    """Name -> prior, about 0, of the errors that sensors of recordings may have; one for all recordings.

    Args:
        recordings: whose channels say which sensors there are.
        bias_std: quantity (`gyro`), or quantity and frame or joint (`gyro.imu`) -> standard deviation of the bias of
            each of its channels, in their unit.
        misalignment_std: frame -> standard deviation of each component of its rotation vector [rad].
        delay_std_s: quantity, quantity and frame, frame, or `all` -> standard deviation of the delay [s].

    Raises:
        InvalidMethod: if a key is no sensor of the recordings, or a bias is asked of an orientation.
    """
    channels: dict[str, list[str]] = {}
    at_frames: dict[str, None] = {}
    for recording in recordings:
        owners = [(quantity, of) for quantity in JOINT_QUANTITIES for of in recording.joints(quantity)]
        frames = [(quantity, of) for quantity in FRAME_QUANTITIES for of in recording.frames(quantity)]
        at_frames |= dict.fromkeys(frame for quantity, frame in frames if quantity != "force")
        for quantity, of in owners + frames:
            own = [name for name in recording.channels if f"{name}.".startswith(f"{quantity}.{of}.")]
            for key in (quantity, f"{quantity}.{of}"):
                channels[key] = list(dict.fromkeys([*channels.get(key, ()), *own]))
    oriented = [key for key in channels if key.partition(".")[0] == "orientation"]
    priors: dict[str, Normal] = {}

    def expect(setting: str, key: str, known: Sequence[str]) -> None:
        if key not in known:
            raise InvalidMethod(
                f"{setting} names {key!r}{nearest(key, known)}; the recordings have {listing(known, 20)}"
            )

    for key, std in (bias_std or {}).items():
        if key in oriented:
            raise InvalidMethod(
                f"bias_std names {key!r}, whose readings are quaternions: write misalignment_std = {{ FRAME = ... }}"
            )
        expect("bias_std", key, [name for name in channels if name not in oriented])
        priors |= {f"{BIAS}.{channel}": Normal(0.0, std) for channel in channels[key]}
    for frame, std in (misalignment_std or {}).items():
        expect("misalignment_std", frame, tuple(at_frames))
        priors |= {name: Normal(0.0, std) for name in _misalignments(frame)}
    for key, std in (delay_std_s or {}).items():
        expect("delay_std_s", key, (ALL, *at_frames, *channels))
        priors[f"{DELAY}.{key}"] = Normal(0.0, std)
    return priors
