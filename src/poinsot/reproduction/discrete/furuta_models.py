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

import numpy as np
from jaxtyping import Float

from ...estimators.joint import Record
from ...models.maximal import Coulomb, Encoder, Hinge, Mechanism, Model, Motor, RigidBody
from .recordings import DRIVEN, Angles

ARM_MASS, ARM_CENTER, ARM_LENGTH = 0.040466, 0.05415, 0.093525
"""[kg], [m], [m] to the pendulum's hinge plane."""
MASS, DISTANCE = 0.009801, 0.096608
"""Of the pendulum [kg], and of its centre from the hinge [m]."""
GRAVITY = 9.81
WEIGHT = MASS * GRAVITY * DISTANCE
"""m g l, the unit of all torques [N m]."""
SLENDER = 1e-6
"""Inertia about the rods' own axes [kg m^2]."""
PUBLISHED = {"pendulum.Jxx": 1.479e-5, "elbow.drag": 1.7906e-5, "shoulder.drag": 0.01165}
"""By the pendulum's makers, weighed or fitted."""
STICK_SPEED = 1e-2
"""At which a hinge that sticks creeps under the level expected [rad/s]."""

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
            RigidBody("arm", ARM_MASS, (SLENDER, 2e-4, 2e-4), center=(ARM_CENTER, 0, 0)),
            RigidBody("pendulum", MASS, (1.5e-5, 1.5e-5, SLENDER), center=(ARM_LENGTH, 0, -DISTANCE)),
        ],
        joints=[
            Hinge(
                "shoulder",
                "world",
                "arm",
                axis=(0, 0, 1),
                drag=0.01,
                friction=Coulomb(3e-3, stick_drag=1e-2 / STICK_SPEED),
                motor=Motor(0.05),
                compliance=1e-5,
                rotation_compliance=1e-5,
            ),
            Hinge(
                "elbow",
                "arm",
                "pendulum",
                point=(ARM_LENGTH, 0, 0),
                axis=(1, 0, 0),
                drag=2e-5,
                friction=Coulomb(2e-5, stick_drag=1e-4 / STICK_SPEED),
                compliance=1e-5,
                rotation_compliance=1e-5,
            ),
        ],
        sensors=[Encoder("shoulder", name="arm encoder"), *(Encoder("elbow", name=name) for name in DRIVEN)],
    )


def model() -> Model:
    """With all that any of the estimates opens."""
    names = [zero(name) for name in DRIVEN]
    waves = [f"{name}.{part}" for name in DRIVEN for part in ("sine", "cosine")]
    return furuta().model(free=[*ESTIMATED, *names, *waves, *COMPLIANCES])


def record(name: str, angles: Angles, volts: Float[np.ndarray, "T"]) -> Record:
    """A driven recording as the mechanism's sensors read it."""
    z = np.full((len(angles.times), 1 + len(DRIVEN)), np.nan)
    z[:, 0], z[:, 1 + list(DRIVEN).index(name)] = angles.arm, angles.pendulum
    return Record(name, angles.times, volts[:, None], z)


def inertia_about_hinge(J: float) -> float:
    """J_xx + m l^2 [kg m^2]."""
    return J + MASS * DISTANCE**2


def opened(names: Sequence[str], *, center: bool = True) -> tuple[str, ...]:
    """What an estimate from these recordings opens."""
    return (
        *(name for name in ESTIMATED if center or name != CENTER),
        *(zero(name) for name in names),
    )
