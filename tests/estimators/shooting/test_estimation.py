"""From recordings of an arm to an estimate: against its truth in many recordings, and what is said of what it lacks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from estimators.shooting.problems import dense_jacobian
from poinsot.estimate import EstimatedMotions, Status, Trust
from poinsot.estimators.shooting.ddp import DDP, posterior
from poinsot.estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.estimators.shooting.problem import GaussianPrior, Trajectories
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.estimators.shooting.summary import WIDENING_THRESHOLD
from poinsot.exceptions import InvalidMethod
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.contacts.contacts import ContactSchedule
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Accelerometer, Gyro, JointPosition, JointVelocity, Readings
from poinsot.parameters import Normal
from references.recorded_arm import FRICTION, NOISE, ROD, SPEED_NOISE, record, true_inertial, urdf

SEEN = [1, 3, 4, 5, 6, 7, 8, 9]
"""Not m, not my."""
BAND = 0.001, 0.999


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(urdf(**ROD))
    return load_robot(path)


@pytest.fixture(scope="module")
def parameters(arm):
    return OpenParameters(arm, ("fore",), nominal=FRICTION)


def log_of(parameters, recorded, name="run", said=1.0, **settings):
    """One recording; `said` multiplies the noise that sensors are said to have."""
    robot = parameters.robot
    sensors = (
        JointPosition(robot, said * NOISE["position"]),
        JointVelocity(robot, said * NOISE["velocity"]),
        Gyro(robot, said * NOISE["gyro"], frame="imu"),
        Accelerometer(robot, said * NOISE["accelerometer"], frame="imu"),
    )
    readings = tuple(
        Readings(sensor, values) for sensor, values in zip(sensors, recorded.readings.values(), strict=True)
    )
    S = len(recorded.time)
    schedule = ContactSchedule((), np.zeros((S, 0), dtype=bool))
    noise = np.array([0.0, 0.0, SPEED_NOISE, SPEED_NOISE])
    return RobotTrajectoryModel(
        parameters, schedule, recorded.time, recorded.torque, readings, noise, name=name, **settings
    )


def recorded_by(seed, samples=121):
    return record(np.random.default_rng(seed), samples, phase=0.3 * seed)


def problem_of(parameters, *seeds, known=None, samples=121, **settings):
    logs = tuple(log_of(parameters, recorded_by(seed, samples), f"run {seed}") for seed in seeds)
    return OptimalEstimationProblem(logs, known or KnownParameters(parameters), **settings)


@pytest.fixture(scope="module")
def problem(parameters):
    return problem_of(parameters, 1)


@pytest.fixture(scope="module")
def estimate(problem):
    return OptimalEstimation().solve(problem)


# ---------------------------------------------------------------------------------------------------- against the truth


def test_errors_are_as_large_as_is_said(parameters):
    """Of 12 recordings: normalized errors of what is seen, of states in their middle, and costs, are chi-square."""
    errors, costs, degrees, states = 0.0, 0.0, 0, []
    for seed in range(12):
        problem = problem_of(parameters, seed, samples=61)
        found = OptimalEstimation().solve(problem)
        away = (found.values - true_inertial())[SEEN]
        freedom = found.rows - len(SEEN) - 4
        chi_square = 2 * found.convergence.cost[-1] / freedom
        inflation = chi_square if chi_square > WIDENING_THRESHOLD else 1.0
        white = found.covariance[np.ix_(SEEN, SEEN)] / inflation
        errors += away @ np.linalg.solve(white, away)
        costs += 2 * found.convergence.cost[-1]
        degrees += freedom
        states.append(_state_errors(found.motions[0].path, recorded_by(seed, 61)))
    for total, count in ((errors, 12 * len(SEEN)), (costs, degrees)):
        low, high = chi2.ppf(BAND, count)
        assert low < total < high
    low, high = chi2.ppf(BAND, 12)
    squares = np.square(states).sum(axis=0)
    assert np.all((low < squares) & (squares < high))


def _state_errors(path, recorded, at=30):
    """(4,) of positions and speeds, in standard deviations."""
    return [
        (path[f"{quantity}.{joint}"][at] - truth[at, k]) / path[f"std.{quantity}.{joint}"][at]
        for quantity, truth in (("position", recorded.q), ("velocity", recorded.v))
        for k, joint in enumerate(("turn", "swing"))
    ]


def test_the_motion_is_better_known_than_any_sensor_reads_it(estimate):
    path = estimate.motions[0].path
    for joint in ("turn", "swing"):
        assert np.all(path[f"std.position.{joint}"] < NOISE["position"])
        assert np.all(path[f"std.velocity.{joint}"] < NOISE["velocity"])
        assert path.units[f"std.position.{joint}"] == "rad" and path.units[f"velocity.{joint}"] == "rad/s"


def test_two_recordings_share_their_parameters(parameters, estimate):
    two = OptimalEstimation().solve(problem_of(parameters, 1, 2))
    assert two.rows == 2 * estimate.rows and len(two.motions) == 2
    assert np.all(two.white_std[SEEN] < estimate.white_std[SEEN])
    assert np.all(np.abs(two.values - true_inertial())[SEEN] < 4 * two.std[SEEN])


# ----------------------------------------------------------------------------------------------------- what is not seen


def test_what_is_not_seen_is_named_and_stays(arm):
    """As pi itself, what nothing sees is the same everywhere: there the estimate is the guess, exactly."""
    parameters = OpenParameters(arm, ("fore",), None, nominal=FRICTION)
    found = OptimalEstimation().solve(problem_of(parameters, 1))
    start = parameters.nominal_theta
    assert found.status is Status.partly
    np.testing.assert_allclose(found.values[[0, 2]], start[[0, 2]], atol=1e-9)
    np.testing.assert_array_equal(np.flatnonzero(found.identifiable), SEEN)
    assert {each.combination for each in found.undetermined} == {"m.fore", "my.fore"}
    assert np.all(np.abs(found.values - true_inertial())[SEEN] < 4 * found.std[SEEN])


def test_a_joint_about_the_vertical_sees_one_number(arm):
    """The post turns about its own axis: of its ten only the moment about it shows."""
    parameters = OpenParameters(arm, ("post",), nominal=FRICTION, inertials=_true_fore(arm))
    found = OptimalEstimation().solve(problem_of(parameters, 3))
    assert [name for name, yes in zip(found.names, found.identifiable, strict=True) if yes] == ["zz.post"]
    assert abs(found["zz.post"] - 0.02) < 4 * found.std[9]
    assert len(found.undetermined) == 9


def _true_fore(arm):
    inertials = arm.inertials.copy()
    inertials[1] = true_inertial()
    return inertials


def test_what_was_only_assumed_is_not_called_known(parameters):
    known = KnownParameters(parameters, chart_std=0.3)
    found = OptimalEstimation().solve(problem_of(parameters, 1, known=known))
    assert found.status is Status.partly and np.isfinite(found.std).all()
    assert found.identifiable[SEEN].all() and not found.identifiable[0]
    assert "m.fore" in {each.combination for each in found.undetermined}
    assert (
        0.1 < found.white_std[0] < 2.0
    )  # as wide as was assumed: 0.3 in the chart's alpha is 60 % of the mass
    nothing = OptimalEstimation().solve(problem_of(parameters, 1))
    np.testing.assert_allclose(found.values[SEEN], nothing.values[SEEN], atol=4 * nothing.std[SEEN].max())


def test_what_was_measured_before_is_known(parameters):
    known = KnownParameters(parameters, {"m.fore": Normal(2.1, 0.1), "cy.fore": Normal(0.0, 0.02)})
    found = OptimalEstimation().solve(problem_of(parameters, 1, known=known))
    assert found.status is Status.solved and not found.undetermined
    assert found["m.fore"] == pytest.approx(2.1, abs=1e-3)
    assert found.white_std[0] == pytest.approx(0.1, rel=1e-2)
    # of my = m cy, where cy is near 0
    assert found.white_std[2] == pytest.approx(2.1 * 0.02, rel=0.05)


def test_bodies_are_as_sure_as_the_parameters(parameters):
    known = KnownParameters(parameters, {"m.fore": Normal(2.0, 0.02), "cy.fore": Normal(0.02, 0.002)})
    found = OptimalEstimation().solve(problem_of(parameters, 1, known=known))
    (fore,) = found.bodies
    chart = LogCholesky()
    slope = chart.jacobian(chart.from_inertial(fore.inertial))
    np.testing.assert_allclose(slope @ fore.covariance @ slope.T, found.covariance, rtol=1e-6, atol=1e-14)
    assert fore.parent == "post" and 0.0 < fore.prior_share < 0.5
    np.testing.assert_allclose(fore.prior, parameters.robot.inertials[1])


# --------------------------------------------------------------------------------------------------------- what is said


@pytest.mark.parametrize(("said", "doubt"), [(0.4, "noisier than stated"), (2.5, "less noisy than stated")])
def test_noise_that_was_said_wrongly_is_doubted(parameters, estimate, said, doubt):
    recorded = recorded_by(1)
    problem = OptimalEstimationProblem(
        (log_of(parameters, recorded, said=said),), KnownParameters(parameters)
    )
    found = OptimalEstimation().solve(problem)
    assert any(doubt in finding.message for finding in found.findings)
    assert estimate.trust is Trust.trusted
    posterior_std = np.sqrt(np.diag(_physical_posterior(found)))[SEEN]
    widened = found.std[SEEN] / posterior_std
    assert found.std_kind == "white" and found.coloured_std is None
    np.testing.assert_array_equal(found.std, found.white_std)
    if said < 1:
        assert np.all(widened > 1.3)
        assert np.all(np.abs(found.values - true_inertial())[SEEN] < 5 * found.std[SEEN])
    else:
        np.testing.assert_allclose(widened, 1.0, rtol=1e-6)


def _physical_posterior(found):
    """(10, 10) covariance of the parameters for the stated noise, which no chi-square widens."""
    problem = found.problem
    theta = problem.parameters.theta_of(found.values)
    (motion,) = found.motions
    at = Trajectories((motion.nodes,), (motion.process_noise,), theta)
    slope = problem.parameters.physical_slope(theta)
    return slope @ posterior(problem.shooting, at).theta @ slope.T


def test_a_held_out_recording_is_left_alone(parameters, estimate):
    other = log_of(parameters, record(np.random.default_rng(9), 121, phase=2.0), "other")
    problem = problem_of(parameters, 1, held_out=(other,))
    found = OptimalEstimation().solve(problem)
    np.testing.assert_allclose(found.values, estimate.values, rtol=1e-10)
    (fit,) = found.validation
    assert fit.recording == "other" and fit.residuals.shape == (121, 10)
    assert fit.relative_error_percent < 2 * found.fit.relative_error_percent
    wrong = replace(problem, models=(other,), held_out=problem.models)
    assert OptimalEstimation().solve(wrong).validation[0].recording == "run 1"


def test_the_iteration_is_told(problem, estimate):
    seen = []
    found = OptimalEstimation().solve(problem, progress=seen.append)
    assert [iteration.iteration for iteration in seen] == list(range(1, found.iterations + 1))
    convergence = found.convergence
    assert convergence.values.shape == (found.iterations + 1, 10)
    np.testing.assert_allclose(convergence.values[-1], found.values, rtol=1e-6)
    np.testing.assert_allclose(convergence.values[0], problem.parameters.robot.inertials[1], atol=1e-12)
    np.testing.assert_allclose(convergence.cost[1:-1], [iteration.cost for iteration in seen][:-1])
    certificate = estimate.certificate()
    assert certificate.holds and certificate.feasible


@pytest.mark.parametrize("after", [1, 2])
def test_it_can_be_stopped(problem, after):
    seen = []
    found = OptimalEstimation().solve(problem, progress=seen.append, stop=lambda: len(seen) >= after)
    assert found.status is Status.interrupted and found.iterations == after
    assert np.isfinite(found.values).all() and not found.validation


def test_it_can_be_stopped_before_it_begins(problem):
    found = OptimalEstimation().solve(problem, stop=lambda: True)
    assert found.status is Status.interrupted and found.iterations == 0
    np.testing.assert_allclose(found.values, problem.parameters.robot.inertials[1], atol=1e-12)


def test_too_few_steps_are_said(problem):
    found = OptimalEstimation(DDP(max_iterations=1)).solve(problem)
    assert found.status is Status.step_limit and not found.status.converged


def test_it_begins_where_it_is_told(parameters, problem, estimate):
    start = LogCholesky().from_inertial(estimate.values)
    again = OptimalEstimation().solve(replace(problem, start=start))
    assert again.iterations < estimate.iterations
    np.testing.assert_allclose(again.values[SEEN], estimate.values[SEEN], rtol=1e-5)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_what_does_not_fit_is_refused(arm, parameters, problem):
    (log,) = problem.models
    known = problem.known
    others = KnownParameters(OpenParameters(arm, ("post",)))
    blind = replace(log, name="blind", readings=(), guess=None)
    for logs, of, message in (
        ((), known, "at least one recording"),
        ((log,), others, "recording 'run 1' has other open parameters"),
        ((log, blind), known, "recording 'blind' has no sensor"),
    ):
        with pytest.raises(InvalidMethod, match=message):
            OptimalEstimationProblem(logs, of)
    fixed = replace(log, parameters=parameters.fixed(parameters.nominal_theta))
    with pytest.raises(InvalidMethod, match="other open parameters"):
        OptimalEstimationProblem((log,), known, held_out=(fixed,))


@pytest.mark.parametrize("where", ["states", "theta"])
def test_a_guess_that_is_no_number_is_refused(problem, where):
    (log,) = problem.models
    if where == "states":
        guess = log.initial_states.copy()
        guess[5, 1] = np.nan
        bad = replace(problem, models=(replace(log, guess=guess),))
    else:
        bad = replace(problem, start=np.full(10, np.nan))
    with pytest.raises(InvalidMethod, match="initial guess holds NaN or infinity"):
        OptimalEstimation().solve(bad)


@pytest.mark.parametrize("noise", [np.zeros(4), -np.ones(4), np.full(4, np.nan), np.ones(3)])
def test_bad_noise_is_refused(problem, noise):
    (log,) = problem.models
    with pytest.raises(InvalidMethod, match="process noise needs a standard deviation"):
        OptimalEstimation().solve(replace(problem, models=(replace(log, noise=noise),)))


def test_what_is_known_of_the_first_state_counts(parameters):
    recorded = record(np.random.default_rng(2), 121)
    first = np.concatenate([recorded.q[0], recorded.v[0]])
    arrival = GaussianPrior.from_covariance(first, np.full(4, 1e-12))
    log = log_of(parameters, recorded, arrival=arrival)
    path = (
        OptimalEstimation()
        .solve(OptimalEstimationProblem((log,), KnownParameters(parameters)))
        .motions[0]
        .path
    )
    np.testing.assert_allclose(path["position.swing"][0], recorded.q[0, 1], atol=1e-5)
    assert path["std.position.swing"][0] == pytest.approx(1e-6, rel=1e-2)


# ------------------------------------------------------------------------------------------------------- what was read


@pytest.mark.parametrize("held_out", [False, True], ids=["fitted", "held out"])
def test_missing_readings_count_nowhere(parameters, held_out):
    """With every eighth reading, errors and whiteness are those of the readings, not of samples taken as perfect."""
    recorded = recorded_by(1)
    sparse = log_of(parameters, recorded)
    keep = np.arange(len(recorded.time)) % 8 == 0
    readings = tuple(
        Readings(some.sensor, np.where(keep[:, None], some.values, np.nan))
        if some.sensor.quantity == "gyro"
        else some
        for some in sparse.readings
    )
    sparse = replace(sparse, readings=readings, guess=None)
    known = KnownParameters(parameters)
    logs, others = ((sparse,), ()) if not held_out else ((log_of(parameters, recorded),), (sparse,))
    found = OptimalEstimation().solve(OptimalEstimationProblem(logs, known, others))
    fit = found.validation[0] if held_out else found.fit
    gyro = [k for k, name in enumerate(fit.joints) if name.startswith("gyro")]
    np.testing.assert_array_equal(fit.mask[:, gyro], np.tile(keep[:, None], 3))
    assert np.all(fit.readings_per_joint[gyro] == keep.sum())
    # residuals of a gyro are its noise, so their rms is that: the old one was smaller by sqrt(8)
    np.testing.assert_allclose(fit.rms_per_joint[gyro], NOISE["gyro"], rtol=0.6)
    for column in gyro:
        e, z = fit.residuals[keep, column], fit.measured[keep, column]
        relative = 100 * np.linalg.norm(e) / np.linalg.norm(z)
        assert fit.relative_error_percent_per_joint[column] == pytest.approx(relative)
        centred = e - e.mean()
        assert fit.whiteness[column].lag1 == pytest.approx(centred[1:] @ centred[:-1] / (centred @ centred))
    noise = np.array([NOISE[name.split(".")[0]] for name in fit.joints])
    positions = np.isin(fit.units, ("rad", "m"))  # about their means
    size = fit.measured - np.where(positions, np.nanmean(fit.measured, axis=0), 0.0)
    relative = 100 * np.sqrt(np.nansum((fit.residuals / noise) ** 2) / np.nansum((size / noise) ** 2))
    assert fit.relative_error_percent == pytest.approx(relative)


# ------------------------------------------------------------------------------------------------------ certificates


def test_a_certificate_is_of_the_values_that_it_is_asked_of(estimate):
    assert estimate.certificate().holds
    for k in SEEN:
        values = estimate.values.copy()
        values[k] += estimate.std[k]
        assert not estimate.updated(values=values).certificate().holds
    impossible = estimate.values.copy()
    impossible[0] = -1.0
    assert not estimate.updated(values=impossible).certificate().feasible


def test_a_certificate_is_of_the_motions_that_it_is_asked_of(estimate):
    (motion,) = estimate.motions
    path = motion.path
    channel = "position.swing"
    moved = path[channel].copy()
    moved[40] += 10 * path[f"std.{channel}"][40]
    elsewhere = replace(motion, path=replace(path, channels={**path.channels, channel: moved}))
    certificate = estimate.updated(EstimatedMotions((elsewhere,))).certificate()
    assert not certificate.feasible and not certificate.holds
    nodes = motion.states_at_nodes(estimate.problem.parameters.robot, np.arange(len(path)))
    np.testing.assert_allclose(nodes, motion.nodes, atol=1e-14)
    other = replace(motion, name="another")
    with pytest.raises(InvalidMethod, match="does not have the motions"):
        estimate.updated(EstimatedMotions((other,))).certificate()


def test_an_unfinished_estimate_has_no_certificate(problem):
    found = OptimalEstimation(DDP(max_iterations=1)).solve(problem)
    assert not found.certificate().holds


def test_the_condition_number_is_that_of_the_whitened_jacobian(parameters):
    """Against the singular values of the dense Jacobian with states and noise eliminated, at the solution."""
    known = KnownParameters(parameters, chart_std=0.3)
    problem = problem_of(parameters, 1, known=known, samples=31)
    found = OptimalEstimation().solve(problem)
    (motion,), shooting = found.motions, problem.shooting
    theta = problem.parameters.theta_of(found.values)
    J = dense_jacobian(shooting, motion.nodes, motion.process_noise, theta)
    R = np.linalg.qr(np.concatenate([J[:, 10:], J[:, :10]], axis=1), mode="r")[-10:, -10:]
    assert found.condition_number == pytest.approx(np.linalg.cond(R), rel=1e-3)
    unit = R / np.linalg.norm(R, axis=0)
    assert found.scaled_condition_number == pytest.approx(np.linalg.cond(unit), rel=1e-3)


def test_the_level_of_commands_alone_is_estimated(parameters):
    """Torques of the recording are exact and speeds are not: the level of torques falls, that of speeds is kept."""
    log = log_of(parameters, record(np.random.default_rng(1), 121, phase=0.3), command_noise=np.full(2, 0.05))
    problem = OptimalEstimationProblem((log,), KnownParameters(parameters))
    estimate = OptimalEstimation(process_noise="commands").solve(problem)
    (found,) = estimate.problem.models
    np.testing.assert_array_equal(found.noise, log.noise)
    assert found.command_noise.max() < log.command_noise.min() / 2
    assert estimate.notes[-1].count(",") == 0 and "they are: torque " in estimate.notes[-1]
