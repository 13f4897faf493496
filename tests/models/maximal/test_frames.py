"""What is read at frames of bodies: against the motion itself, with derivatives by differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.maximal.test_impulses import evaluated
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import (
    FRAME_READINGS,
    Ball,
    BodyFrame,
    Encoder,
    FrameReading,
    Hinge,
    Mechanism,
    RigidBody,
    double_precision,
    quaternions,
    reduced,
)

TURNED = np.eye(4)
TURNED[:3, :3], TURNED[:3, 3] = Rotation.from_rotvec([0.3, 1.0, -0.4]).as_matrix(), (0.1, 0.2, 0.3)


def arm():
    """A ball on a hinge, its body with a frame of its own, read by an encoder between readings at frames."""
    bodies = [
        RigidBody("upper", 0.5, (4e-3, 4e-3, 4e-3), (0, 0, -0.1)),
        RigidBody("lower", 0.3, (2e-3, 2e-3, 2e-3), (0.02, 0, -0.1), frame=TURNED),
    ]
    joints = [
        Hinge("shoulder", "world", "upper", axis=(0, 1, 0)),
        Ball("elbow", "upper", "lower", point=(0, 0, -0.3)),
    ]
    at_tip = {name: [FrameReading("tip", name, k) for k in range(3)] for name in FRAME_READINGS}
    first, *rest = at_tip.values()
    sensors = [*first, Encoder("shoulder", zero=0.1), *(sensor for three in rest for sensor in three)]
    frames = [BodyFrame("tip", "lower", (0.05, -0.02, -0.6))]
    return Mechanism(bodies, joints, sensors=sensors, frames=frames).model(["tip.x", "tip.y", "tip.z"])


def test_readings_at_a_frame_are_those_of_its_motion(rng):
    model = arm()
    y, rate, h = rng.standard_normal(4), rng.standard_normal(4), 1e-6
    q = evaluated(lambda y: reduced.configuration(model.structure, y), y)

    def read(t):
        at = reduced.moved(model.structure, q, t * rate)
        return model.observe_coordinates(at, rate, model.theta), model.observe(
            model.assemble(at, rate, model.theta), model.theta
        )

    (now, by_state), (before, _), (after, _) = (map(np.array, evaluated(read, t)) for t in (0.0, -h, h))
    np.testing.assert_allclose(by_state, now, atol=1e-12)
    assert now[3] == pytest.approx(y[0] + 0.1)
    place, vector, velocity, gyro = now[:3], now[4:7], now[7:10], now[10:]
    np.testing.assert_allclose(velocity, (after - before)[:3] / (2 * h), atol=1e-8)
    R = Rotation.from_rotvec(vector)
    turned = Rotation.from_rotvec(after[4:7]) * Rotation.from_rotvec(before[4:7]).inv()
    np.testing.assert_allclose(R.apply(gyro), turned.as_rotvec() / (2 * h), atol=1e-8)
    # the elbow is at (0, 0, -0.3) of the upper arm, and the tip at its place from there
    elbow = Rotation.from_rotvec([0, y[0], 0]).apply([0, 0, -0.3])
    np.testing.assert_allclose(place, elbow + R.apply([0.05, -0.02, -0.3]), atol=1e-12)
    np.testing.assert_allclose(
        evaluated(lambda t: model.observe_coordinates(0 * y, rate, t), model.theta)[:3], model.theta
    )


@double_precision
def test_errors_of_orientations_are_rotations_and_smooth_at_half_a_turn(rng):
    """In NumPy as in JAX; and their derivative is that of differences where the rotation vector jumps."""
    model, expected, z = arm(), rng.standard_normal((20, 13)), rng.standard_normal((20, 13))
    expected[:, 4:7] *= np.pi / np.linalg.norm(expected[:, 4:7], axis=1, keepdims=True) * (1 - 1e-9)
    errors = np.array(
        [model.reading_errors(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(expected, z, strict=True)]
    )
    np.testing.assert_allclose(model.differences(expected, z), errors, atol=1e-7)
    z[3, 5] = np.nan
    assert np.isnan(model.differences(expected, z)[3, 4:7]).all()
    # past half a turn the rotation vector is the opposite one
    axis = np.array([0.6, 0.0, 0.8])
    near = Rotation.from_rotvec((np.pi - 0.01) * axis).as_rotvec()

    def away(t):
        e = quaternions.exp(t * axis)
        return model.reading_errors(
            jnp.zeros(13).at[4:7].set(quaternions.log(e)), jnp.zeros(13).at[4:7].set(near)
        )[4:7]

    for t in (np.pi - 1e-4, np.pi + 1e-4):
        np.testing.assert_allclose(away(t), (t - np.pi + 0.01) * axis, atol=1e-9)
        np.testing.assert_allclose(jax.jacfwd(away)(t), axis, atol=1e-6)


def test_what_cannot_be_read_is_said():
    body = RigidBody("bob", 1.0, (1.0, 1.0, 1.0))
    frames = [BodyFrame("tip", "bob")]
    three = [FrameReading("tip", "frame_position", k) for k in range(3)]
    for given, reason in (
        ({"frames": [BodyFrame("tip", "bbo")]}, "frame 'tip' names body 'bbo'; did you mean 'bob'"),
        ({"frames": frames, "sensors": three[:2]}, "needs three sensors"),
        ({"sensors": three}, "is at frame 'tip'"),
        ({"frames": [BodyFrame("bob", "bob")]}, "2 things called 'bob'"),
    ):
        with pytest.raises(InvalidModel, match=reason):
            Mechanism([body], [Ball("hook", "world", "bob")], **given)
    with pytest.raises(InvalidModel, match="an orientation none"):
        FrameReading("tip", "orientation", 0, zero=0.1)
