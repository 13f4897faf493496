"""A robot's recording as the solver sees it: slopes through contact, flight and reset, and noise in some freedoms."""

import numpy as np
import pytest

from poinsot.estimators.shooting.problem import InvalidMethod
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.models.contacts.contacts import ContactSchedule, PointContact
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.robot.robot_states import RobotStates
from poinsot.models.sensors import Accelerometer, JointPosition, Orientation, Readings
from references.robots import described
from references.state_differences import assert_slope

STEP = 1e-6
FEET = (PointContact("FL_FOOT"), PointContact("HR_FOOT"))
SEQUENCE = "## #. .. ## ##"  # stance, one foot, flight, and an impact at the fourth sample


@pytest.fixture(scope="module")
def solo():
    return described("solo_description/robots/solo12.urdf", floating_base=True)


@pytest.fixture
def recording(solo, rng):
    """What a model takes but its noise."""
    closed = np.array([[mark == "#" for mark in word] for word in SEQUENCE.split()], dtype=bool)
    S = len(closed)
    sensors = JointPosition(solo, 0.01), Orientation(solo, 0.02, frame="base_link")
    sensors = (*sensors, Accelerometer(solo, 0.5, frame="base_link"))
    values = [rng.standard_normal((S, sensor.width)) for sensor in sensors]
    values[1] /= np.linalg.norm(values[1], axis=1, keepdims=True)
    readings = tuple(Readings(sensor, z) for sensor, z in zip(sensors, values, strict=True))
    parameters = OpenParameters(solo, solo.bodies[:1])
    u = rng.standard_normal((S, 12))
    return parameters, ContactSchedule(FEET, closed), 0.01 * np.arange(S), u, readings


def some_noise(recording, rng):
    """Of speeds, and of three of the configuration's freedoms."""
    noise = np.zeros(2 * recording[0].robot.model.nv)
    n = noise.size // 2
    noise[n:], noise[[1, 4, 9]] = rng.uniform(0.01, 0.1, n), 0.02
    return noise


@pytest.fixture(params=["commands exact", "commands noisy"])
def somewhere(recording, rng, request):
    commands = np.where(np.arange(12) % 3 == 1, 0.5, 0.0) if request.param == "commands noisy" else None
    motion = RobotTrajectoryModel(*recording, some_noise(recording, rng), commands)
    q, v, _ = motion.parameters.robot.random_states(motion.stages, rng)
    w = 0.1 * rng.standard_normal(motion.noise_std.shape)
    w[~motion.noisy] = 0.0
    return motion, np.concatenate([q, v], axis=1), w, motion.parameters.nominal_theta


def central(function, size):
    steps = STEP * np.eye(size)
    return np.stack([(function(d) - function(-d)) / (2 * STEP) for d in steps], axis=-1)


def test_slopes_through_contact_flight_and_reset(somewhere):
    motion, x, w, theta = somewhere
    assert list(motion.noisy) == [True, True, True, False, True]
    manifold, found = motion.manifold, motion.linearize(0, x, w, theta)
    f, r = motion.evaluate(0, x, w, theta)
    np.testing.assert_allclose(found.f, f, atol=1e-12)
    np.testing.assert_allclose(found.r, r, atol=1e-12)

    def after(dx=0.0, dw=0.0, dtheta=0.0):
        here = manifold.integrate(x, np.broadcast_to(dx, (len(x), manifold.degrees)))
        g, s = motion.evaluate(0, here, w + dw, theta + dtheta)
        return np.concatenate([manifold.difference(f, g), s], axis=1)

    n = manifold.degrees
    by_x, by_w = central(lambda d: after(dx=d), n), central(lambda d: after(dw=d), w.shape[1])
    by_theta = central(lambda d: after(dtheta=d), len(theta))
    assert_slope(found.f_x, by_x[:, :n])
    assert_slope(found.r_x, by_x[:, n:])
    assert_slope(found.f_w[motion.noisy], by_w[motion.noisy, :n])
    noisy_commands = len(motion.noisy_commands)
    assert (found.r_w is not None) == (noisy_commands > 0) == by_w[:, n:].any()
    if found.r_w is not None:  # the accelerometer feels commands at once
        assert_slope(found.r_w[motion.noisy], by_w[motion.noisy, n:])
        assert np.abs(by_w[motion.noisy, n:, :noisy_commands]).max() > 1e-3
    assert_slope(found.f_theta, by_theta[:, :n])
    assert_slope(found.r_theta, by_theta[:, n:])
    assert np.abs(by_theta).max() > 1e-3 and np.abs(found.f_theta[3]).max() > 1e-6  # a reset knows theta too


def test_slopes_at_the_last_node(somewhere):
    motion, x, _, theta = somewhere
    found, n = motion.last(x[0], theta, slopes=True), motion.manifold.degrees

    def left(d):
        here = motion.manifold.integrate(x[:1], d[None, :n])[0]
        return motion.last(here, theta + d[n:]).value[0]

    slopes = central(left, n + len(theta))
    np.testing.assert_allclose(found.value, motion.last(x[0], theta).value, atol=1e-12)
    assert_slope(found.by_x[0], slopes[:, :n])
    assert_slope(found.by_theta[0], slopes[:, n:])


def test_noise_moves_only_its_freedoms(recording, rng):
    noise = some_noise(recording, rng)
    motion = RobotTrajectoryModel(*recording, noise)
    assert motion.noise_std.shape == (motion.stages, np.count_nonzero(noise))
    np.testing.assert_array_equal(motion.noise_std, np.tile(noise[noise > 0], (motion.stages, 1)))
    q, v, _ = motion.parameters.robot.random_states(1, rng)
    x, theta = np.concatenate([q, v], axis=1), motion.parameters.nominal_theta
    w = rng.standard_normal((1, np.count_nonzero(noise)))
    still, moved = (motion.evaluate(0, x, each, theta)[0] for each in (np.zeros_like(w), w))
    change = motion.manifold.difference(still, moved)[0]
    n = len(noise) // 2
    np.testing.assert_allclose(change[n:], w[0, -n:], atol=1e-12)
    np.testing.assert_allclose(change[6:n][noise[6:n] == 0], 0.0, atol=1e-12)
    assert abs(change[9] - w[0, 2]) < 1e-12


def test_manifold_carries_changes_as_its_jacobians_say(solo, rng):
    manifold = RobotStates(solo)
    q, v, _ = solo.random_states(6, rng)
    x = np.concatenate([q, v], axis=1)
    x, y = x[:3], manifold.integrate(x[:3], 0.3 * rng.standard_normal((3, manifold.degrees)))
    by_x, by_y = manifold.difference_jacobians(x, y)
    change = rng.standard_normal((3, manifold.degrees, 2))
    expected = -np.linalg.solve(by_x, by_y @ change)
    np.testing.assert_allclose(manifold.carry(x, y, change.copy())[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [lambda s: -s, lambda s: 0.0 * s, lambda s: np.nan * s, lambda s: s[:-1]],
    ids=["negative", "zero", "not a number", "too short"],
)
def test_bad_noise_is_refused(recording, rng, change):
    with pytest.raises(InvalidMethod, match="standard deviation of at least 0 for each of 36"):
        RobotTrajectoryModel(*recording, change(some_noise(recording, rng)))
