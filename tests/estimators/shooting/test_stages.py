"""A recording as steps and resets: the chain, its values and slopes, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.shooting.noise_levels import NoiseLevels
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.robot import STATES_PER_CALL, RobotTrajectoryModel
from poinsot.exceptions import InvalidMethod, InvalidModel, InvalidSignals
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import BallContact, ContactSchedule, PointContact, SurfaceContact
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Accelerometer, ContactForce, Gyro, JointPosition, Readings, residuals
from references.robots import described, random_robot
from references.state_differences import assert_slope, by_vector

FEET = (PointContact("FL_FOOT"), PointContact("HR_FOOT"))
SEQUENCE = "## #. .. .# .# ## ##"


@pytest.fixture(scope="module")
def solo():
    return described("solo_description/robots/solo12.urdf", floating_base=True)


def stages_of(robot, rng, sequence=SEQUENCE, **changes):
    closed = np.array([[mark == "#" for mark in word] for word in sequence.split()], dtype=bool)
    S = len(closed)
    sensors = [
        JointPosition(robot, 0.01),
        Gyro(robot, 0.1, frame="base_link"),
        Accelerometer(robot, 0.5, frame="base_link"),
        ContactForce(robot, 3.0, frame="FL_FOOT"),
    ]
    readings = tuple(Readings(sensor, rng.standard_normal((S, sensor.width))) for sensor in sensors)
    settings = {
        "parameters": OpenParameters(robot, robot.bodies[:1]),
        "schedule": ContactSchedule(FEET, closed),
        "times": np.cumsum(rng.uniform(0.5, 1.5, S)) * 1e-2,
        "u": rng.standard_normal((S, 12)),
        "readings": readings,
        "noise": np.ones(2 * robot.model.nv),
    }
    return RobotTrajectoryModel(**(settings | changes))


def some_x(model, rng, T):
    q, v, _ = model.parameters.robot.random_states(T, rng)
    return np.concatenate([q, v], axis=1)


def test_resets_are_stages_of_their_own(solo, rng):
    model = stages_of(solo, rng)
    np.testing.assert_array_equal(model.samples, [0, 1, 2, 3, 3, 4, 5, 5, 6])
    np.testing.assert_array_equal(np.flatnonzero(model.resets), [3, 6])
    assert model.stages == 8 and model.rows == 12 + 3 + 3 + 3
    assert [len(mode.contacts) for mode in model.modes] == [2, 1, 0, 1]


def test_a_foot_that_lands_at_the_last_sample(solo, rng):
    model = stages_of(solo, rng, "#. #. ##")
    np.testing.assert_array_equal(model.samples, [0, 1, 2, 2])
    np.testing.assert_array_equal(model.resets, [False, False, True])
    x = some_x(model, rng, 3)
    step, left = model.steps(0, x, model.parameters.nominal_theta)
    assert not left.value[2].any() and left.value[:2].all()
    assert model.last(step.value[2], model.parameters.nominal_theta).value.all()


def test_every_stage_is_that_of_its_mode_alone(solo, rng):
    model = stages_of(solo, rng, command_noise=np.ones(12))
    theta, x = model.parameters.nominal_theta, some_x(model, rng, model.stages)
    step, left = model.steps(0, x, theta, slopes=True)
    states = model.manifold
    for k in range(model.stages):
        sample = model.samples[k]
        contacts = model.schedule.contacts_of(np.flatnonzero(model.schedule.closed[sample]).tolist())
        dynamics = ContactDynamics(model.parameters, contacts, ("base_link",))
        q, v = states.split(x[k : k + 1])
        if model.resets[k]:
            alone = states.reset(dynamics.impact(q, v, theta, True), efforts=True)
            assert not left.value[k].any() and not left.by_x[k].any() and not left.by_theta[k].any()
        else:
            motion = dynamics(q, v, model.u[sample : sample + 1], theta, True)
            alone = states.step(motion, model.times[sample + 1] - model.times[sample], True)
            seen = residuals([some.some(slice(sample, sample + 1)) for some in model.readings], motion, True)
            for name in ("value", "by_x", "by_tau", "by_theta"):
                np.testing.assert_allclose(getattr(left, name)[k], getattr(seen, name)[0], atol=1e-9)
        for name in ("value", "by_x", "by_tau", "by_theta"):
            np.testing.assert_allclose(getattr(step, name)[k], getattr(alone, name)[0], atol=1e-9)


def test_a_stretch_is_part_of_the_whole(solo, rng):
    model = stages_of(solo, rng)
    theta, x = model.parameters.nominal_theta, some_x(model, rng, model.stages)
    whole, left = model.steps(0, x, theta, slopes=True)
    part, left_part = model.steps(2, x[2:6], theta, slopes=True)
    np.testing.assert_allclose(part.by_x, whole.by_x[2:6], atol=1e-12)
    np.testing.assert_allclose(left_part.by_theta, left.by_theta[2:6], atol=1e-12)
    without, plain = model.steps(0, x, theta)
    np.testing.assert_allclose(without.value, whole.value, atol=1e-12)
    np.testing.assert_allclose(plain.value, left.value, atol=1e-9)
    assert without.by_x is None and plain.by_x is None


def test_slopes_by_theta_through_the_whole_chain(solo, rng):
    """Single shooting: the state at the end by theta, from products of slopes."""
    model = stages_of(solo, rng)
    states, start = model.manifold, some_x(model, rng, 1)
    start[:, states.robot.model.nq :] *= 0.1
    theta = model.parameters.nominal_theta

    def shot(theta):
        x = start
        for k in range(model.stages):
            x = model.steps(k, x, theta)[0].value
        return x

    x, slope = start, np.zeros((states.degrees, len(theta)))
    for k in range(model.stages):
        step, _ = model.steps(k, x, theta, slopes=True)
        x, slope = step.value, step.by_x[0] @ slope + step.by_theta[0]
    differences = by_vector(lambda theta: states.difference(x, shot(theta))[0], theta)
    assert_slope(slope, differences)
    residual = model.last(x[0], theta, slopes=True)
    by_theta = residual.by_x[0] @ slope + residual.by_theta[0]
    assert_slope(by_theta, by_vector(lambda theta: model.last(shot(theta)[0], theta).value[0], theta))


def test_along_a_motion_every_sample_comes_once(solo, rng):
    """After its impact, where it has one, with its mode's contacts and its own command."""
    model = stages_of(solo, rng)
    x = some_x(model, rng, model.stages + 1)
    theta, came = model.parameters.nominal_theta, []
    for samples, moved in model.along(x, theta):
        came += samples.tolist()
        for k, sample in enumerate(samples.tolist()):
            node = model.after_impacts[sample]
            assert model.samples[node] == sample and (node == 0 or model.samples[node - 1] <= sample)
            alone = ContactDynamics(
                model.parameters,
                model.schedule.contacts_of(np.flatnonzero(model.schedule.closed[sample]).tolist()),
                model.modes[0].frames,
            )(
                *(part.copy() for part in model.manifold.split(x[node : node + 1])),
                model.u[sample : sample + 1],
                theta,
            )
            np.testing.assert_allclose(moved.a[k], alone.a[0], atol=1e-8 * (1 + np.abs(alone.a).max()))
            np.testing.assert_allclose(
                moved.forces[k], alone.forces[0], atol=1e-8 * (1 + np.abs(alone.forces).max(initial=0))
            )
    assert sorted(came) == list(range(len(model.times)))
    assert (np.diff(model.after_impacts) == [1, 1, 2, 1, 2, 1]).all()


def test_many_states_are_done_in_several_calls(rng):
    robot = random_robot(rng, 2)
    S = 2 * STATES_PER_CALL + 7
    model = RobotTrajectoryModel(
        OpenParameters(robot),
        ContactSchedule((), np.zeros((S, 0), dtype=bool)),
        0.01 * np.arange(S),
        rng.standard_normal((S, 2)),
        (),
        np.ones(4),
    )
    x = some_x(model, rng, model.stages)
    step, left = model.steps(0, x, np.zeros(0), slopes=True)
    one, _ = model.steps(S - 2, x[-1:], np.zeros(0), slopes=True)
    np.testing.assert_allclose(step.by_x[-1], one.by_x[0], atol=1e-14)
    assert left.value.shape == (S - 1, 0) and np.isfinite(step.by_x).all()


def test_what_does_not_fit_is_refused(solo, rng):
    good = stages_of(solo, rng)
    gap = good.u.copy()
    gap[3] = np.nan
    other = random_robot(rng, 1)
    for changes, message in (
        ({"u": good.u[:-1]}, "commands: 6 samples, times: 7"),
        ({"times": good.times[::-1].copy()}, "finite times that increase"),
        ({"u": good.u[:, :3]}, "moved by 12 inputs, the commands have 3 columns"),
        ({"u": gap}, "commands are missing at 1 of 7 samples, the first at sample 3"),
    ):
        with pytest.raises(InvalidSignals, match=message):
            stages_of(solo, rng, **changes)
    one = {"times": np.zeros(1), "u": np.zeros((1, 12)), "readings": ()}
    with pytest.raises(InvalidSignals, match="at least two samples"):
        stages_of(solo, rng, "##", **one)
    reading = Readings(JointPosition(other, 0.1), np.zeros((7, 1)))
    with pytest.raises(InvalidModel, match="a sensor of another robot"):
        stages_of(solo, rng, readings=(reading,))
    feet = ContactSchedule((FEET[0], PointContact("HR_FOTO")), good.schedule.closed)
    with pytest.raises(InvalidModel, match=r"no frame 'HR_FOTO'; did you mean '[FH]R_FOOT'"):
        stages_of(solo, rng, schedule=feet)
    last = good.u.copy()
    last[-1] = np.nan
    assert stages_of(solo, rng, u=last).stages == 8


CONTACT_NOISE = {
    "contact": 0.5,
    "contact_normal": 0.7,
    "contact_angular": 5.0,
    "contact_event": 20.0,
    "contact_normal_event": 30.0,
    "contact_angular_event": 200.0,
}


@pytest.mark.parametrize("feet", [FEET, (BallContact("FL_FOOT", radius=0.02), SurfaceContact("HR_FOOT"))])
def test_slopes_with_noise_of_contacts(solo, rng, feet):
    """Of steps and residuals by states, all process noise and theta, in all modes of a schedule with a margin."""
    closed = np.array([[mark == "#" for mark in word] for word in SEQUENCE.split()], dtype=bool)
    model = stages_of(
        solo, rng, command_noise=np.ones(12), contact_noise=CONTACT_NOISE, noise=np.zeros(36),
        schedule=ContactSchedule(feet, closed, margin=1),
    )  # fmt: skip
    assert model.stages == len(closed) - 1 and not model.resets.any()
    x, w = some_x(model, rng, model.stages), rng.standard_normal(model.noise_std.shape)
    theta, manifold = model.parameters.nominal_theta, model.manifold
    at = model.linearize(0, x, w, theta)

    def changed(d_x=0.0, d_w=0.0, d_theta=0.0):
        moved = manifold.integrate(x, np.broadcast_to(d_x, (len(x), 36)))
        f, r = model.evaluate(0, moved, w + d_w, theta + d_theta)
        return np.concatenate([manifold.difference(at.f, f), r], axis=1)

    for f, r, size, name in ((at.f_x, at.r_x, 36, "d_x"), (at.f_w, at.r_w, w.shape[1], "d_w"),
                             (at.f_theta, at.r_theta, len(theta), "d_theta")):  # fmt: skip
        differences = by_vector(lambda d, name=name: changed(**{name: d}), np.zeros(size))
        assert_slope(np.concatenate([f, r], axis=1), differences, 1e-5)
    f, r = model.evaluate(0, x, w, theta)
    np.testing.assert_allclose(f, at.f, atol=1e-12)
    # noise of open contacts has no effect, and no level
    acts = np.abs(np.concatenate([at.f_w, at.r_w], axis=1)).max(axis=1) > 0
    np.testing.assert_array_equal(acts, model.level_of >= 0)


def test_a_foot_slips_from_a_margin_before_to_a_margin_after_its_accelerations(solo, rng):
    closed = np.ones((12, 2), dtype=bool)
    model = stages_of(
        solo, rng, " ".join(["##"] * 12), contact_noise=CONTACT_NOISE, noise=np.zeros(36), command_noise=np.ones(12),
        schedule=ContactSchedule(FEET, closed, margin=2),
    )  # fmt: skip
    x = some_x(model, rng, model.stages + 1)
    w = np.zeros(model.noise_std.shape)
    w[5, 12 + 1] = (
        15.0  # of the first foot, along the ground: 30 times its level, and less than that of an event
    )
    w[8, 12 + 4] = 1.0
    problem = ShootingProblem(
        (model,), (model.first_state,), GaussianPrior(model.parameters.nominal_theta, np.eye(10)), np.ones(10)
    )
    levels = NoiseLevels(problem, Trajectories((x,), (w,), model.parameters.nominal_theta))
    (found,) = levels.reweighted({})
    np.testing.assert_array_equal(np.flatnonzero(found.schedule.slipping[:, 0]), [3, 4, 5, 6, 7])
    assert not found.schedule.slipping[:, 1].any()
    np.testing.assert_array_equal(found.schedule.settled[:, 0], ~found.schedule.slipping[:, 0])


def test_levels_of_contacts_are_larger_near_events(solo, rng):
    closed = np.array(
        [[mark == "#" for mark in word] for word in ["##", "##", "##", "#.", "#.", "#.", "#."]], dtype=bool
    )
    model = stages_of(
        solo, rng, "## ## ## #. #. #. #.", contact_noise=CONTACT_NOISE,
        schedule=ContactSchedule(FEET, closed, margin=1),
    )  # fmt: skip
    std = model.noise_std[:, -6:]
    np.testing.assert_array_equal(std[:, :3], [[0.5, 0.5, 0.7]] * 6)
    np.testing.assert_array_equal(std[:, 3], [0.5, 0.5, 20, 20, 0.5, 0.5])
    changed = model.with_levels({"contact_event": 2.0, "gyro": 3.0, "gyro_event": 6.0})
    np.testing.assert_array_equal(changed.noise_std[:, 3 - 6], [0.5, 0.5, 40, 40, 0.5, 0.5])
    np.testing.assert_array_equal(std[:, 5], [0.7, 0.7, 30, 30, 0.7, 0.7])
    slipping = np.zeros((7, 2), dtype=bool)
    slipping[1] = True
    slips = replace(model, schedule=replace(model.schedule, slipping=slipping))
    np.testing.assert_array_equal(slips.noise_std[:, -6], [0.5, 20, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(slips.level_of_readings, model.level_of_readings)
    gyro = changed.readings[1]
    np.testing.assert_allclose(np.asarray(gyro.sensor.noise), 0.3)
    # near the event six times as noisy: twice as much more than elsewhere
    np.testing.assert_allclose(gyro.weights[:, 0], [1, 1, 0.25, 0.25, 1, 1, 1])
    assert {"gyro", "gyro_event", "contact", "contact_event"} <= model.levels
    with pytest.raises(InvalidMethod, match="noise of contacts needs numbers above 0"):
        stages_of(solo, rng, contact_noise={"contact": 1.0})
