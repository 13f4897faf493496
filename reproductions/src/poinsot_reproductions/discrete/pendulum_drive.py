"""A pendulum with a motor of its own: inertia, m l and friction from angle and torque, torque by motor current.

    J q'' + m l g sin q + b q' + c sign q' = tau + offset

Everything is in the unit of the torque: a torque that reads a quarter too high makes J, m l, b and c a quarter too
large, and nothing in angle and torque alone says so. J / (m l), which is g / omega^2 of small swings, is free of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from poinsot import Column, Source, read_recording
from poinsot.estimators.joint import JointFit, Record
from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Model, Motor, RigidBody

from .furuta_models import GRAVITY
from .mean_squares import impulse_mse
from .step_noise import over_steps, resolution, with_own_noise

FILE = "pendulum/ddp.csv"
DISTANCE = 0.5
"""Of the mass that the model has [m]; only its product with it shows."""
WEIGHED = {"J": (0.14, 0.16), "m l": (0.30, 0.31)}
"""From what was weighed, with the rotor."""
LEAST_SQUARES = {"J": 0.161, "m l": 0.341}
"""By plain least squares on derivatives."""
UNITS = {"J": "kg m^2", "m l": "kg m", "b": "N m s/rad", "c": "N m", "offset": "N m", "zero": "rad"}
FIRST_WEIGHT = 1e7
"""Impulses of 0.3 mN m s."""


@dataclass(frozen=True, eq=False)
class Drive:
    """What came of it.

    Args:
        record: angle and torque. fit: at the weight that its own impulse errors say. noise: of the encoder [rad].
        weight: that one. rounds: to find it.
    """

    record: Record
    fit: JointFit
    noise: float
    weight: float
    rounds: int

    @property
    def values(self) -> dict[str, float]:
        """J about the hinge, m l, b, c, offset and the encoder's zero."""
        return dict(zip(UNITS, (_physical() @ self.fit.theta).tolist(), strict=True))

    @property
    def stds(self) -> dict[str, float]:
        """Robust ones."""
        D = _physical()
        return dict(zip(UNITS, np.sqrt(np.diag(D @ self.fit.robust_covariance @ D.T)).tolist(), strict=True))


def _physical() -> np.ndarray:
    """Linear: from J_xx, m, ... to J about the hinge, m l, ..."""
    D = np.eye(len(UNITS))
    D[0, 1], D[1, 1] = DISTANCE**2, DISTANCE
    return D


@cache
def model() -> Model:
    """One body on a hinge."""
    mechanism = Mechanism(
        name="pendulum",
        gravity=(0, 0, -GRAVITY),
        bodies=[RigidBody("pendulum", 0.6, (0.01, 0.01, 0.01), center=(0, 0, -DISTANCE))],
        joints=[
            Hinge(
                "pivot",
                "world",
                "pendulum",
                axis=(1, 0, 0),
                drag=0.05,
                friction=Coulomb(0.05, stick_drag=10.0),
                motor=Motor(),
            )
        ],
        sensors=[Encoder("pivot")],
    )
    return mechanism.model(
        free=[
            "pendulum.Jxx",
            "pendulum.mass",
            "pivot.drag",
            "pivot.coulomb",
            "pivot.offset",
            "pivot encoder.zero",
        ]
    )


def identify(data: Path) -> Drive:
    """All of them.

    Args:
        data: folder of the recordings, with `FILE`.
    """
    channels = {"position.pivot": Column("position", "rad"), "torque.pivot": Column("torque", "N m")}
    read = read_recording(Source(data / FILE, channels, time=Column("time", "s")))
    q, tau = read["position.pivot"], read["torque.pivot"]
    record = Record("driven", np.asarray(read.time - read.time[0]), over_steps(tau), q[:, None])
    noise = resolution(q) / np.sqrt(12)
    fit, fits = with_own_noise(model(), record, model().free, noise, FIRST_WEIGHT)
    return Drive(record, fit, noise, 1 / impulse_mse(fit), len(fits))
