"""Mechanisms that are read at frames: initial guesses, errors, and what is estimated; motions are MuJoCo's."""

from functools import cache

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimators.joint import JointEstimation, JointSmoothing, JointSmoothingProblem, with_sensors
from poinsot.estimators.joint.problem import Record, vector_readings
from poinsot.estimators.joint.tracking import tracker
from poinsot.exceptions import InvalidModel, InvalidSignals
from poinsot.models.maximal import Ball, BodyFrame, Hinge, Mechanism, RigidBody, Slider
from poinsot.recording import Recording

PLACE, ANGLE, RATE = 3e-4, 2e-3, 100

CART = """
<mujoco><option timestep="1e-3" integrator="RK4"/><worldbody><body name="cart">
  <joint name="rail" type="slide" axis="1 0 0" damping="0.3"/><inertial pos="0 0 0" mass="0.8" diaginertia="1 1 1"/>
  <body name="pole"><joint name="pivot" axis="0 1 0" damping="0.003"/>
    <inertial pos="0 0 -0.2" mass="0.3" diaginertia="0.004 0.004 0.004"/></body>
</body></worldbody></mujoco>
"""
TOP = """
<mujoco><option timestep="1e-3" integrator="RK4"/><worldbody><body name="top">
  <joint name="hook" type="ball" damping="0.002"/>
  <inertial pos="0.02 0 -0.1" mass="0.6" diaginertia="0.004 0.0035 0.002"/>
</body></worldbody></mujoco>
"""


def simulated(xml, seconds, qpos, qvel, read):
    """Times, readings of each sample, and coordinates."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    rows, every = [], round(1 / RATE / model.opt.timestep)
    for _ in range(round(seconds * RATE)):
        mujoco.mj_forward(model, data)
        rows.append((read(data), data.qpos.copy()))
        mujoco.mj_step(model, data, every)
    z, q = map(np.array, zip(*rows, strict=True))
    return np.arange(len(z)) / RATE, z, q


def cart():
    """A pendulum on a cart, read by a marker at its tip."""
    bodies = [
        RigidBody("cart", 0.8, (1.0, 1.0, 1.0)),
        RigidBody("pole", 0.3, (4e-3, 4e-3, 4e-3), (0, 0, -0.2)),
    ]
    joints = [
        Slider("rail", "world", "cart", axis=(1, 0, 0), drag=0.3),
        Hinge("pivot", "cart", "pole", axis=(0, 1, 0), drag=0.003),
    ]
    return Mechanism(bodies, joints, frames=[BodyFrame("tip", "pole", (0, 0, -0.4))])


def top(scale=1.0):
    """A body on a ball joint, read by motion capture."""
    body = RigidBody("top", 0.6, [scale * J for J in (4e-3, 3.5e-3, 2e-3)], (0.02 * scale, 0, -0.1 / scale))
    hook = Ball("hook", "world", "top", drag=0.002 * scale)
    return Mechanism([body], [hook], frames=[BodyFrame("markers", "top", (0, 0.03, -0.2))])


@cache
def spinning():
    """A recording of the top, which turns several times; every fifth reading is missing, and some of 0.1 s."""
    rng = np.random.default_rng(3)

    def read(data):
        R = data.body("top").xmat.reshape(3, 3)
        return [*(R @ [0, 0.03, -0.2]), *np.roll(data.body("top").xquat, -1)]

    times, z, _ = simulated(TOP, 4.0, [0.8, 0.0, 0.6, 0.0], [1.0, -2.0, 15.0], read)
    z[:, :3] += PLACE * rng.standard_normal((len(z), 3))
    z[:, 3:] += ANGLE / 2 * rng.standard_normal((len(z), 4))
    z[:, 3:] *= rng.choice([-1, 1], (len(z), 1))  # both are the same orientation
    ends = [f"frame_position.markers.{axis}" for axis in "xyz"]
    ends += [f"orientation.markers.{axis}" for axis in "xyzw"]
    valid = {name: rng.random(len(z)) > 0.2 for name in ends}
    for name in ends:
        valid[name][200:210] = False
    channels = dict(zip(ends, z.T, strict=True))
    units = {name: "m" if name.startswith("frame") else "1" for name in ends}
    return Recording(times, channels, units, valid)


NAMES = ("top.cx", "top.cz", "top.Jxx", "top.Jyy", "top.Jzz", "hook.drag")
TRUTH = np.array([0.02, -0.1, 4e-3, 3.5e-3, 2e-3, 0.002])


@cache
def estimate():
    problem = JointSmoothingProblem.from_recordings(top(1.15), {"run": spinning()}, NAMES)
    method = JointSmoothing(weight=1e13, noise=[PLACE] * 3 + [ANGLE] * 3)
    return JointEstimation(method).solve(problem)


def test_a_marker_tells_cart_and_pendulum_apart_by_continuity(rng):
    """When the pendulum hangs its speed and that of the cart move the marker alike, and it hangs at each swing."""

    def read(data):
        return data.body("pole").xpos + data.body("pole").xmat.reshape(3, 3) @ [0, 0, -0.4]

    times, z, q = simulated(CART, 4.0, [0.0, 1.2], [0.0, 0.0], read)
    channels = {f"frame_position.tip.{axis}": column for axis, column in zip("xyz", z.T, strict=True)}
    mechanism = with_sensors(cart(), [Recording(times, channels, dict.fromkeys(channels, "m"))])
    z = z + PLACE * rng.standard_normal(z.shape)
    z[100:110] = np.nan
    assert (np.abs(np.diff(np.sign(q[:, 1]))) > 0).sum() > 5
    model = mechanism.model()
    record = Record("run", times, np.zeros((len(times), 0)), z)
    y, rate = tracker(model).smoothed(record, model.theta, np.full(3, PLACE))
    assert np.abs(y - q).max(axis=0)[0] < 0.02 and np.abs(y - q).max(axis=0)[1] < 0.05
    assert np.sqrt(np.mean((rate[:-1] - np.diff(q, axis=0) * RATE) ** 2)) < 0.5


def test_a_body_on_a_ball_joint_that_turns_several_times(rng):
    found = estimate()
    assert found.status.converged and found.identifiable.all()
    np.testing.assert_array_less(np.abs(found.values - TRUTH), 4 * found.std)
    np.testing.assert_array_less(found.std, 0.1 * np.abs(TRUTH))
    assert found.certificate().holds
    causes = [finding.cause for finding in found.findings]
    assert found.trust.name in ("trusted", "with_care"), causes


def test_motions_have_coordinates_of_balls_and_readings_as_channels_have_them():
    found = estimate()
    (motion,) = found.motions
    names = {f"{quantity}.hook.{axis}" for quantity in ("position", "velocity") for axis in "xyz"}
    assert set(motion.path.channels) == names | {f"std.{name}" for name in names}
    place, orientation = motion.sensors
    assert (place.name, orientation.name) == ("markers frame_position", "markers orientation")
    assert orientation.channels == tuple(f"orientation.markers.{axis}" for axis in "xyzw")
    assert orientation.measured.shape == (400, 4) and orientation.normalized.shape == (400, 3)
    assert place.rms == pytest.approx(1, abs=0.1) and orientation.rms == pytest.approx(1, abs=0.1)
    recording = spinning()
    read = np.column_stack([recording.readings(channel) for channel in orientation.channels])
    known = np.isfinite(read).all(axis=1)
    assert (np.isfinite(orientation.measured).all(axis=1) == known).all() and 100 < known.sum() < 200
    cosine = np.abs(np.sum(read * orientation.measured, axis=1)[known]) / np.linalg.norm(read[known], axis=1)
    np.testing.assert_allclose(cosine, 1, atol=1e-9)
    assert found.fit.joints[3:] == orientation.channels and found.fit.units[:4] == ("m", "m", "m", "1")


def test_orientations_without_jumps_are_those_that_were_read(rng):
    model = with_sensors(top(), [spinning()]).model()
    z = np.concatenate([np.zeros((50, 3)), np.linspace(0, 9, 50)[:, None] * [0.6, 0, 0.8]], axis=1)
    wrapped = z.copy()
    wrapped[:, 3:] = Rotation.from_rotvec(z[:, 3:]).as_rotvec()
    wrapped[7, 4] = np.nan
    e = vector_readings(model, wrapped, np.arange(3, 6))
    assert np.isnan(e[7]).all() and np.nanmax(np.abs(np.diff(e, axis=0))) < 0.1
    np.testing.assert_allclose(np.abs(e[20] @ Rotation.from_rotvec(z[20, 3:]).as_quat()), 1, atol=1e-12)


def test_what_is_not_at_a_frame_is_said():
    recording = spinning()
    with pytest.raises(InvalidSignals, match=r"names the frame 'markers'.*\[\[mechanism.frames\]\] has"):
        with_sensors(Mechanism(top().bodies, top().joints), [recording])
    force = Recording(
        recording.time, {"accelerometer.markers.x": recording.time}, {"accelerometer.markers.x": "m/s^2"}
    )
    with pytest.raises(InvalidSignals, match=r"reads no 'accelerometer'.*frame_position"):
        with_sensors(top(), [force])
    with pytest.raises(InvalidModel, match=r"no parameter 'marker.x'"):
        with_sensors(top(), [recording]).place("marker.x")
