"""Mechanisms to try things on."""

import jax
import numpy as np

from poinsot.models.maximal import (
    Ball,
    Coulomb,
    Encoder,
    Fixed,
    Hinge,
    LoadDependent,
    Mechanism,
    Motor,
    PlaneContact,
    RateSensor,
    RigidBody,
    Slider,
    State,
    double_precision,
)
from poinsot_reproductions.discrete.rollout import state_of

SOFT = {"compliance": 1e-5, "rotation_compliance": 1e-5, "relaxation": 0.02}
STIFF = {"compliance": 1e-12, "rotation_compliance": 1e-12, "relaxation": 1e-3}


def furuta(*, drag=(0.0, 0.0), friction=(None, None), motor=None, offset=0.0, **settings):
    """The pendulum of seed 000 (Table G.5), its arm along x."""
    settings = settings or SOFT
    return Mechanism(
        bodies=[
            RigidBody("arm", 0.238, (1e-4, 3e-3, 3e-3), center=(0.128, 0, 0)),
            RigidBody("pendulum", 0.428, (4e-3, 4e-3, 1e-4), center=(0.248, 0, -0.092)),
        ],
        joints=[
            Hinge(
                "shoulder", "world", "arm",
                drag=drag[0], friction=friction[0], motor=motor, offset=offset, **settings,
            ),
            Hinge(
                "elbow", "arm", "pendulum", point=(0.248, 0, 0), axis=(1, 0, 0),
                drag=drag[1], friction=friction[1], **settings,
            ),
        ],
        sensors=[Encoder("shoulder"), Encoder("elbow")],
        gravity=(0, 0, -9.82),
        name="furuta",
    )  # fmt: skip


def pendulum(friction=None, drag=0.0, length=0.3, **settings):
    """A body on a hinge about x, hanging at 0."""
    return Mechanism(
        [RigidBody("bob", 0.5, (4e-3, 4e-3, 1e-3), center=(0, 0, -length))],
        [Hinge("pivot", "world", "bob", axis=(1, 0, 0), friction=friction, drag=drag, **(settings or SOFT))],
        sensors=[Encoder("pivot")],
        name="pendulum",
    )


def carriage(friction=None, motor=None, drag=0.0, offset=0.0, **settings):
    """A body on a slider along x."""
    return Mechanism(
        [RigidBody("car", 2.0, (1e-2, 1e-2, 1e-2))],
        [
            Slider(
                "rail", "world", "car", axis=(1, 0, 0), friction=friction, motor=motor, drag=drag, offset=offset,
                **(settings or SOFT),
            )
        ],
        sensors=[Encoder("rail"), RateSensor("rail")],
        name="carriage",
    )  # fmt: skip


def block(friction, tilt=0.0):
    """A block on a plane, sunk into it until it bears the weight; gravity is turned by the tilt [rad]."""
    corners = [(sx * 0.1, sy * 0.1, -0.05) for sx in (1, -1) for sy in (1, -1)]
    contacts = [
        PlaneContact(
            f"corner {k}", "block", corner, height=-0.05, friction=friction, along=(1, 0, 0),
            compliance=1e-7, relaxation=0.002,
        )
        for k, corner in enumerate(corners)
    ]  # fmt: skip
    return Mechanism(
        [RigidBody("block", 1.0, (4e-3, 4e-3, 6.7e-3))],
        contacts=contacts,
        gravity=(9.81 * np.sin(tilt), 0, -9.81 * np.cos(tilt)),
    )


def pusher():
    """A driven carriage with a pole whose tip presses on the floor: both dry frictions, a motor, a contact."""
    skewed = np.array([[3.0, 0.2, -0.1], [0.2, 2.5, 0.3], [-0.1, 0.3, 2.0]]) * 1e-2
    return Mechanism(
        [RigidBody("car", 1.0, (1e-2, 1e-2, 1e-2)), RigidBody("pole", 0.5, skewed, center=(0, 0.02, -0.2))],
        [
            Slider(
                "rail", "world", "car", axis=(1, 0, 0),
                drag=0.5, motor=Motor(2.0, 0.1), friction=Coulomb(0.1), **SOFT,
            ),
            Hinge(
                "pivot", "car", "pole", axis=(0, 1, 0),
                friction=LoadDependent(0.1, 0.02, excess=0.05, decay=2.0, stick_drag=1e3), **SOFT,
            ),
        ],
        contacts=[PlaneContact("tip", "pole", (0, 0, -0.4), friction=0.4, height=-0.398, compliance=1e-4)],
    )  # fmt: skip


def everything():
    """One of each: a fixed foot, a turning hand, a slider, a ball, both dry frictions, a motor, a contact."""
    turned = np.eye(4)
    turned[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    turned[:3, 3] = (0.1, 0.2, 0.3)
    skewed = np.array([[3.0, 0.2, -0.1], [0.2, 2.5, 0.3], [-0.1, 0.3, 2.0]]) * 1e-2
    return Mechanism(
        bodies=[
            RigidBody("foot", 1.0, (2e-2, 3e-2, 2.5e-2), center=(0.02, 0.01, 0.1)),
            RigidBody("hand", 0.7, skewed, center=(0.1, -0.05, 0.02), frame=turned),
            RigidBody("car", 0.5, (1e-2, 1.2e-2, 0.9e-2), center=(0.3, 0.1, 0.4)),
            RigidBody("bob", 0.3, (1e-2, 1e-2, 0.8e-2), center=(0.5, 0.2, 0.1)),
        ],
        joints=[
            Fixed("floor", "world", "foot", point=(0, 0, 0), **SOFT),
            Hinge(
                "wrist", "foot", "hand", point=(0.05, 0.1, 0.2), axis=(1, 2, -1), drag=0.02, offset=0.01,
                friction=LoadDependent(0.1, 0.02, excess=0.05, decay=2.0, stick_drag=1e5),
                motor=Motor(0.3, 2e-3), **SOFT,
            ),
            Slider(
                "rail", "hand", "car", point=(0.2, 0.1, 0.3), axis=(0, 1, 1), drag=0.5,
                friction=Coulomb(0.2, excess=0.1, decay=3.0), motor=Motor(1.5, 0.05), **SOFT,
            ),
            Ball("neck", "car", "bob", point=(0.4, 0.2, 0.3), drag=0.01, friction=Coulomb(0.05), **SOFT),
        ],
        contacts=[PlaneContact("tip", "bob", (0.5, 0.2, 0.0), friction=0.4, height=0.0, compliance=1e-5)],
        sensors=[Encoder("wrist", zero=0.02, sine=0.01, cosine=-0.02), Encoder("rail", zero=0.1), RateSensor("wrist")],
        name="everything",
    )  # fmt: skip


def shaken(model, rng, size=1e-3, count=None):
    """A state near the reference, off the constraints by `size` [m], [rad], and moving; or a batch of them."""
    l = len(model.mechanism.bodies)
    x = state_of(model)
    shape = () if count is None else (count,)

    @double_precision
    def moved(d):
        from poinsot.models.maximal.bodies import plus

        start = State(*(np.broadcast_to(part, (*shape, *part.shape)) for part in x))
        return jax.tree.map(np.asarray, plus(start, d))

    d = np.concatenate(
        [size * rng.standard_normal((*shape, l, 6)), 0.3 * rng.standard_normal((*shape, l, 6))], axis=-1
    )
    return moved(d)


def stacked(states: State, start: int, stop: int | None) -> State:
    """Some of the states of a batch."""
    return State(*(part[start:stop] for part in states))
