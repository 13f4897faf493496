"""The Furuta pendulum of the recordings: an arm on a vertical hinge with a motor, a pendulum on a hinge along the arm.

Reference configuration: the arm along x, its hinge along z, the pendulum hanging from the arm's end with its hinge
along x. Angles are those of both hinges.

    arm        mass and centre weighed and measured; of its inertia only that about its axis moves anything
    pendulum   mass and distance of its centre from the hinge likewise; J_xx about the hinge's axis, J_yy across
    tilt       of the floor, as the rotation of gravity about x and y of the world
    motor      torque = gain times voltage; what the back-EMF takes is drag of the arm's hinge

**What fixes the scale.** Torques are never measured: gain, inertias, frictions and weights could all be twice as large.
The weight of the pendulum, m g l with m and l known, is the unit in which its inertia and friction come out, and the
coupling m l L_1 carries that unit to the arm, its motor and its friction.

**Zeros.** The pendulum's encoder counts from where it was switched on, so each recording has a zero of its own; the
arm's counts on from a mark, so the tilt has the same direction in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Float

from poinsot.estimators.joint import Record
from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Model, Motor, RigidBody

from .recordings import DRIVEN, Angles

SWINGS = "free swings"
"""The recording with the arm blocked."""
RECORDINGS = (SWINGS, *DRIVEN)
"""Each with an encoder's zero of its own."""

ARM_MASS, ARM_CENTER, ARM_LENGTH = 0.040466, 0.05415, 0.093525
"""[kg], [m], [m] to the pendulum's hinge plane."""
MASS, DISTANCE = 0.009801, 0.096608
"""Of the pendulum [kg], and of its centre from the hinge [m]."""
PENDULUM_LENGTH = 0.129
"""[m]"""
GRAVITY = 9.81
WEIGHT = MASS * GRAVITY * DISTANCE
"""m g l, the unit of all torques [N m]."""
ARM_ROD, ROD = ARM_MASS * ARM_LENGTH**2 / 12, MASS * PENDULUM_LENGTH**2 / 12
"""Inertia of uniform rods across them, to begin with [kg m^2]."""
SLENDER = 1e-6
"""Inertia about the rods' own axes [kg m^2]."""
PUBLISHED = {"pendulum.Jxx": 1.479e-5, "elbow.drag": 1.7906e-5, "shoulder.drag": 0.01165}
"""By those who built it, weighed or fitted."""
ARM_FRICTION, FRICTION_LEVEL = 3e-3, 3e-5
"""Dry friction to begin with [N m]."""
STICK_SPEED = 0.1
"""At which a hinge that sticks creeps under the friction to begin with [rad/s]: what a joint gains in a step or two of
2 ms, so that no reversal passes between two steps unnoticed."""
BLOCKED = 1e4
"""Drag of a blocked arm [N m s/rad]."""

INERTIA, CENTER = ("arm.Jzz", "pendulum.Jxx", "pendulum.Jyy"), "pendulum.cx"
DRIVE = ("shoulder.gain", "shoulder.drag", "shoulder.coulomb")
FRICTION = ("elbow.drag", "elbow.coulomb")
TILT = ("world.tilt_x", "world.tilt_y")
ESTIMATED = (*INERTIA, CENTER, *DRIVE, *FRICTION, *TILT)
"""Of the mechanism; zeros of encoders beside them."""
COMPLIANCES = tuple(
    f"{joint}.{kind}" for joint in ("shoulder", "elbow") for kind in ("compliance", "rotation_compliance")
)


def zero(name: str) -> str:
    """The parameter of a recording's pendulum zero."""
    return f"{name}.zero"


def furuta() -> Mechanism:
    """The mechanism, with an encoder of the pendulum for each recording."""
    return Mechanism(
        name="Furuta pendulum",
        gravity=(0, 0, -GRAVITY),
        bodies=[
            RigidBody("arm", ARM_MASS, (SLENDER, ARM_ROD, ARM_ROD), center=(ARM_CENTER, 0, 0)),
            RigidBody("pendulum", MASS, (ROD, ROD, SLENDER), center=(ARM_LENGTH, 0, -DISTANCE)),
        ],
        joints=[
            Hinge(
                "shoulder",
                "world",
                "arm",
                axis=(0, 0, 1),
                drag=0.02,
                friction=Coulomb(ARM_FRICTION, stick_drag=ARM_FRICTION / STICK_SPEED),
                motor=Motor(0.1),
                compliance=1e-5,
                rotation_compliance=1e-5,
            ),
            Hinge(
                "elbow",
                "arm",
                "pendulum",
                point=(ARM_LENGTH, 0, 0),
                axis=(1, 0, 0),
                drag=1e-5,
                friction=Coulomb(FRICTION_LEVEL, stick_drag=FRICTION_LEVEL / STICK_SPEED),
                compliance=1e-5,
                rotation_compliance=1e-5,
            ),
        ],
        sensors=[
            Encoder("shoulder", name="arm encoder"),
            *(Encoder("elbow", name=name) for name in RECORDINGS),
        ],
    )


@cache
def model() -> Model:
    """With all that any of the estimates opens; one for all, as each takes seconds to compile."""
    sensors = [f"{name}.{part}" for name in RECORDINGS for part in ("zero", "sine", "cosine")]
    return furuta().model(free=[*ESTIMATED, *sensors, *COMPLIANCES])


def record(
    name: str, angles: Angles, volts: Float[np.ndarray, "T"], start: float = 0.0, end: float = np.inf
) -> Record:
    """A recording as the mechanism's sensors read it.

    Args:
        name: one of `RECORDINGS`.
        volts: (T,) mean voltage of the step from each sample [V].
        start, end: of the part that is kept [s].
    """
    z = np.full((len(angles.times), 1 + len(RECORDINGS)), np.nan)
    z[:, 0], z[:, 1 + RECORDINGS.index(name)] = angles.arm, angles.pendulum
    return Record(name, angles.times, volts[:, None], z).between(start, end)


def inertia_about_hinge(theta: dict[str, float]) -> float:
    """J_xx + m l^2 of the pendulum [kg m^2]."""
    return theta["pendulum.Jxx"] + MASS * DISTANCE**2


def with_values(model: Model, theta: Float[np.ndarray, "p"], **values: float) -> Float[np.ndarray, "p"]:
    """theta with some of it changed; names with their points as underscores."""
    changed = theta.copy()
    for name, value in values.items():
        changed[model.free.index(name)] = value
    return changed


def opened(names: Sequence[str], *, center: bool = True) -> tuple[str, ...]:
    """What an estimate from these recordings opens."""
    return (
        *(name for name in ESTIMATED if center or name != CENTER),
        *(zero(name) for name in names),
    )
