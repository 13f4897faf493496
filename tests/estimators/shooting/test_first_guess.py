"""The motion as sensors read it: with all of them it is the truth, with fewer what is left to guess is still."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimators.shooting.first_guess import first_guess
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.models.contacts.contacts import ContactSchedule, PointContact
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import (
    Gyro,
    JointPosition,
    JointVelocity,
    Orientation,
    Pose,
    Position,
    Readings,
    frames_of,
)
from references.recorded_tripod import TORSO, urdf
from references.robots import random_robot

DT, S = 0.01, 60
TIMES = DT * np.arange(S)


@pytest.fixture(scope="module")
def tripod(tmp_path_factory):
    path = tmp_path_factory.mktemp("tripod") / "tripod.urdf"
    path.write_text(urdf(**TORSO))
    return load_robot(path, floating_base=True)


def smooth_motion(robot):
    """(S, nx) of a base that turns and moves, and joints on sines; speeds are those of the steps to the next."""
    n, nq = robot.model.nv, robot.model.nq
    q = np.tile(robot.neutral, (S, 1))
    turn = np.stack([0.5 * np.sin(4 * TIMES), 0.4 * TIMES, 0.8 * np.cos(3 * TIMES)], axis=1)
    q[:, :3] = np.stack([0.3 * TIMES, 0.1 * np.sin(5 * TIMES), 0.5 + 0.1 * np.cos(4 * TIMES)], axis=1)
    q[:, 3:7] = Rotation.from_rotvec(turn).as_quat()
    phases = np.arange(nq - 7)
    q[:, 7:] = 0.4 * np.sin(6 * TIMES[:, None] + phases)
    v = np.zeros((S, n))
    v[:, 6:] = 2.4 * np.cos(6 * TIMES[:, None] + phases)
    R = Rotation.from_rotvec(turn)
    v[:-1, 3:6] = (R[:-1].inv() * R[1:]).as_rotvec() / DT
    v[-1, 3:6] = v[-2, 3:6]
    v[:, :3] = R.inv().apply(np.gradient(q[:, :3], TIMES, axis=0))
    return np.concatenate([q, v], axis=1)


def stages_of(robot, readings, contacts=(), closed=None):
    closed = np.zeros((S, 0), dtype=bool) if closed is None else closed
    u = np.zeros((S, len(OpenParameters(robot).drive.inputs)))
    schedule, noise = ContactSchedule(contacts, closed), np.ones(2 * robot.model.nv)
    return RobotTrajectoryModel(OpenParameters(robot), schedule, TIMES, u, tuple(readings), noise)


def read(robot, x, sensors):
    """What sensors read without noise along a motion; NaN-free."""
    stages = stages_of(robot, [Readings(s, np.zeros((S, s.width))) for s in sensors])
    assert set(frames_of(sensors)) <= set(stages.modes[0].frames)
    values = [np.empty((S, sensor.width)) for sensor in sensors]
    for samples, moved in stages.along(x, np.zeros(0)):
        for sensor, out in zip(sensors, values, strict=True):
            out[samples] = sensor.predicted(moved)
    return [Readings(sensor, out) for sensor, out in zip(sensors, values, strict=True)]


def assert_states(robot, found, expected, atol):
    q, p = found[:, : robot.model.nq].copy(), expected[:, : robot.model.nq]
    q[:, 3:7] *= np.sign((q[:, 3:7] * p[:, 3:7]).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(q, p, atol=atol)
    np.testing.assert_allclose(found[:, robot.model.nq :], expected[:, robot.model.nq :], atol=atol)


@pytest.mark.parametrize("where", ["pose", "orientation and marker"])
def test_with_all_sensors_it_is_the_motion(tripod, where):
    """Also where they sit on a leg that moves."""
    x = smooth_motion(tripod)
    of_base = {
        "pose": [Pose(tripod, 1e-3, frame="foot_b")],
        "orientation and marker": [
            Orientation(tripod, 1e-3, frame="shin_a"),
            Position(tripod, 1e-3, frame="foot_c"),
        ],
    }[where]
    sensors = [JointPosition(tripod, 1e-3), JointVelocity(tripod, 1e-3), *of_base]
    found = first_guess(stages_of(tripod, read(tripod, x, sensors)))
    assert_states(tripod, found, x, 1e-9)


def test_lines_over_gaps_and_differences_for_speeds(tripod, rng):
    x = smooth_motion(tripod)
    sensors = [JointPosition(tripod, 1e-3), Pose(tripod, 1e-3, frame="torso")]
    readings = read(tripod, x, sensors)
    for some in readings:
        gone = rng.random(S) < 0.3
        gone[[0, -1]] = False
        some.values[gone] = np.nan
    found = first_guess(stages_of(tripod, readings))
    # A line over h bends away from a sine of amplitude a by a (omega h)^2 / 8; gaps here are of 5 samples at most.
    assert_states(
        tripod, found[:, : tripod.model.nq], x[:, : tripod.model.nq], 0.4 * (6 * 0.06) ** 2 / 8 + 5e-3
    )
    # Its slope is off by less than a omega^2 h.
    np.testing.assert_allclose(
        found[5:-5, tripod.model.nq + 6 :], x[5:-5, tripod.model.nq + 6 :], atol=2.4 * 6 * 0.06
    )


def test_a_gyro_alone_is_summed_up(tripod):
    x = smooth_motion(tripod)
    sensors = [JointPosition(tripod, 1e-3), JointVelocity(tripod, 1e-3), Gyro(tripod, 1e-3, frame="torso")]
    found = first_guess(stages_of(tripod, read(tripod, x, sensors)))
    turned, true = (Rotation.from_quat(states[:, 3:7]) for states in (found, x))
    # upright at the start, as nothing says how it is turned
    np.testing.assert_allclose(turned[0].as_rotvec(), 0.0, atol=1e-12)
    np.testing.assert_allclose((turned.inv() * true[0].inv() * true).as_rotvec(), 0.0, atol=1e-9)
    np.testing.assert_array_equal(found[:, :3], np.zeros((S, 3)))  # nothing says where it is


def test_feet_that_stand_say_where_the_base_is(tripod):
    """It sinks straight down on standing feet, then none stands and it goes on as it went."""
    x = np.tile(np.concatenate([tripod.neutral, np.zeros(tripod.model.nv)]), (S, 1))
    bend = 0.3 + 0.5 * TIMES
    x[:, 7 : tripod.model.nq] = np.stack([0 * bend, bend, -2 * bend] * 3, axis=1)
    closed = np.ones((S, 3), dtype=bool)
    closed[40:] = False
    contacts = tuple(PointContact(f"foot_{leg}") for leg in "abc")
    readings = read(tripod, x, [JointPosition(tripod, 1e-3)])
    found = first_guess(stages_of(tripod, readings, contacts, closed))
    height = 0.4 * np.cos(bend)
    np.testing.assert_allclose(
        found[:40, :3], np.stack([0 * height, 0 * height, height], axis=1)[:40], atol=1e-12
    )
    falling = np.diff(height[38:40])[0]
    np.testing.assert_allclose(np.diff(found[40:, 2]), falling, atol=1e-12)


def test_without_sensors_it_stays(tripod):
    found = first_guess(stages_of(tripod, []))
    np.testing.assert_array_equal(found, np.tile(np.concatenate([tripod.neutral, np.zeros(15)]), (S, 1)))


def test_joints_without_limits_go_on_over_the_turn(rng):
    robot = random_robot(rng, 2, kinds="C")
    angles = np.stack([3.0 * TIMES * 5, -2.0 + 8.0 * TIMES], axis=1)
    readings = [Readings(JointPosition(robot, 1e-3), np.remainder(angles + np.pi, 2 * np.pi) - np.pi)]
    found = first_guess(stages_of(robot, readings))
    np.testing.assert_allclose(found[:, : robot.model.nq], robot.configurations(angles), atol=1e-9)
    np.testing.assert_allclose(found[:, robot.model.nq :], np.tile([15.0, 8.0], (S, 1)), atol=1e-9)


def test_impacts_have_two_nodes(tripod):
    closed = np.ones((S, 1), dtype=bool)
    closed[10:20] = False
    stages = stages_of(tripod, [], (PointContact("foot_a"),), closed)
    found = first_guess(stages)
    assert len(found) == S + 1
    np.testing.assert_array_equal(found[20], found[21])
