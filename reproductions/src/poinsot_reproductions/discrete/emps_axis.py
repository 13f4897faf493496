"""The Electro-Mechanical Positioning System as a slider with a motor: its parameters from position and voltage alone.

    M q'' + Fv q' + Fc sign q' + offset = gtau u

The public values are by least squares on filtered derivatives (`..emps`); here nothing is filtered, and velocities are
states. The encoder resolves 50 nm, so nearly all that is not understood is friction: with its noise from its resolution
the impulse errors are what decides, as in least squares. The other extreme, impulse errors next to none, is an output
error over 25 s; it finds another Fc and Fv, since friction is not quite what the law says, and is shown beside.

Least squares takes voltage and position of a sample to be simultaneous, and so do we: over a step the voltage is the
mean of its ends. Held instead, half a sample later, it makes Fv 1 % larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from poinsot.estimators.joint import JointFit, Record
from poinsot.models.maximal import Coulomb, Encoder, Mechanism, Model, Motor, RigidBody, Slider

from ..emps import GAIN, PUBLISHED, recording
from .mean_squares import impulse_mse
from .step_noise import at_weight, over_steps, resolution, with_own_noise

FOLDER = "emps"
NAMES = {"M": "carriage.mass", "Fv": "axis.drag", "Fc": "axis.coulomb", "offset": "axis.offset"}
REFERENCE = {name: value for name, (_, value) in PUBLISHED.items()}
FIRST_WEIGHT = 1e5
"""Impulses of 3 mN s."""
LARGER = 1e2, 1e4, 1e6, 1e8
"""Weights that are shown beside, by the chosen one."""


@dataclass(frozen=True, eq=False)
class Axis:
    """What came of it.

    Args:
        record: position and voltage. fit: at the chosen weight. weight: that one. rounds: to find it.
        noise: of the encoder [m].
        heavier: at larger weights: factor -> fit.
    """

    record: Record
    fit: JointFit
    weight: float
    rounds: int
    noise: float
    heavier: dict[float, JointFit]

    @property
    def values(self) -> dict[str, float]:
        """M, Fv, Fc, offset; the offset's sign is that of the equation above."""
        return values(self.fit)


@cache
def model() -> Model:
    """One carriage."""
    mechanism = Mechanism(
        name="axis",
        bodies=[RigidBody("carriage", 80.0, (1.0, 1.0, 1.0))],
        joints=[
            Slider(
                "axis",
                "world",
                "carriage",
                axis=(1, 0, 0),
                drag=100.0,
                friction=Coulomb(10.0, stick_drag=2e4),
                motor=Motor(GAIN),
            )
        ],
        sensors=[Encoder("axis")],
    )
    return mechanism.model(free=tuple(NAMES.values()))


def values(fit: JointFit) -> dict[str, float]:
    """By the benchmark's names."""
    return {name: (-1 if name == "offset" else 1) * fit.values[ours] for name, ours in NAMES.items()}


def identify(data: Path, weights: Sequence[float] = LARGER, seconds: float | None = None) -> Axis:
    """M, Fv, Fc and the offset.

    Args:
        data: folder of the recordings, with `emps/DATA_EMPS.mat`.
        weights: to show beside, by the chosen one.
        seconds: of the recording; None: all.
    """
    read = recording(data / FOLDER)
    times = np.asarray(read.time - read.time[0])
    record = Record("axis", times, over_steps(read["voltage.axis"]), read["position.axis"][:, None])
    record = record if seconds is None else record.between(0.0, seconds)
    noise = resolution(record.z[:, 0]) / np.sqrt(12)
    fit, fits = with_own_noise(model(), record, tuple(NAMES.values()), noise, FIRST_WEIGHT)
    weight = 1 / impulse_mse(fit)
    heavier = {by: at_weight(model(), record, tuple(NAMES.values()), noise, by * weight) for by in weights}
    return Axis(record, fit, weight, len(fits), noise, heavier)
