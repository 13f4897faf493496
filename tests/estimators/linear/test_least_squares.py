"""Least squares: equal to dense references, whether before how, and clear words where the data do not say."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimate.estimate import predict
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.models.friction import NoFriction, ViscousCoulomb
from poinsot.models.robot.drive import Drive
from poinsot.parameters import Normal
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.regression.system import reduce
from poinsot.signals.signals import Signals
from references.dense_regression import least_squares, signals_of, smooth_motion, stacked
from references.linear_estimation import MEDIAN, huber, posterior, weighted_by_joint
from references.robots import chain, own_parameters

ARM = chain("zyy", [0, 0.1, 0.4], drive=Drive(rotor_inertia=True))
SPREAD = np.array([2.0, 0.5, 0.1])
PRIORS = {"fv1": Normal(0.5, 0.05), "yy3": Normal(0.2, 0.01), "off2": Normal(1.0, 0.3)}


def problem_of(rng, samples=250, spread=SPREAD, robot=ARM, outliers=0.0, motion=None, **more):
    theta = own_parameters(robot, np.random.default_rng(5))
    motion = smooth_motion(robot, samples, rng) if motion is None else motion
    noise = spread * rng.standard_normal((samples, robot.model.nv))
    noise[rng.random(noise.shape) < outliers] *= 20
    return inverse_dynamics(robot, signals_of(robot, theta, motion, noise), **more), theta


def information(problem):
    """mean (b,) and information (b, b) of a problem's priors."""
    mean, precision = np.zeros(len(problem.base)), np.zeros(len(problem.base))
    for name, prior in problem.priors.items():
        mean[problem.base.index(name)], precision[problem.base.index(name)] = prior.mean, prior.std**-2
    return mean, np.diag(precision)


def spread_of(estimate):
    """sigma_j that an estimate was weighed with."""
    return 1 / np.array(estimate.settings["joint_weights"])


# -- equal to dense references -------------------------------------------------------------------------------


def test_ordinary_least_squares_are_eqs_5_to_7(rng):
    problem, _ = problem_of(rng)
    estimate = LeastSquares().solve(problem)
    W, y = stacked(problem)
    theta, _, covariance = least_squares(W, y)
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((estimate.values - theta) / std, 0, atol=1e-9)
    np.testing.assert_allclose(estimate.white_std, std, rtol=1e-9)
    X = W.reshape(-1, W.shape[-1])
    np.testing.assert_allclose(estimate.condition_number, np.linalg.cond(X), rtol=1e-9)
    np.testing.assert_allclose(
        estimate.scaled_condition_number, np.linalg.cond(X / np.linalg.norm(X, axis=0)), rtol=1e-9
    )
    np.testing.assert_allclose(
        estimate.fit.relative_error_percent,
        100 * np.linalg.norm(y - W @ theta) / np.linalg.norm(y),
        rtol=1e-9,
    )
    assert (estimate.rows, estimate.iterations, estimate.names) == (750, 1, problem.base.names)
    assert estimate.groupings == problem.base.groupings


def test_weights_by_joint_are_the_joints_own_spread(rng):
    problem, _ = problem_of(rng)
    estimate = LeastSquares("per-joint", step_tolerance=1e-12).solve(problem)
    theta, covariance, sigma = weighted_by_joint(*stacked(problem))
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((estimate.values - theta) / std, 0, atol=1e-8)
    np.testing.assert_allclose(estimate.white_std, std, rtol=1e-8)
    np.testing.assert_allclose(spread_of(estimate), sigma, rtol=1e-8)
    np.testing.assert_allclose(spread_of(estimate), SPREAD, rtol=0.15)  # 4 sigma of 250 samples
    assert estimate.iterations < 30
    assert estimate.status is Status.partly  # groups are known only as groups


@pytest.mark.parametrize("outliers", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("priors", [{}, PRIORS], ids=["free", "priors"])
def test_a_robust_estimate_is_hubers_at_the_spread_of_the_median(outliers, priors, rng):
    problem, _ = problem_of(rng, outliers=outliers, priors=priors)
    estimate = LeastSquares("robust").solve(problem)
    W, y = stacked(problem)
    sigma = spread_of(estimate)
    theta = huber(W, y, sigma, LeastSquares().huber, *information(problem))
    np.testing.assert_allclose((estimate.values - theta) / estimate.white_std, 0, atol=1e-6)
    # sigma is that of the median, longer by what the fit takes up: at most all parameters of one joint's 250 rows
    raw = np.median(np.abs(y - W @ theta), axis=0) / MEDIAN
    assert (raw <= sigma * (1 + 1e-3)).all()
    assert (sigma <= raw * np.sqrt(250 / (250 - len(theta)))).all()
    assert estimate.status.converged
    assert estimate.iterations < 50


def test_outliers_move_the_ordinary_estimate_and_not_the_robust_one(rng):
    """A twentieth of the samples is 20 times as noisy: 4.6 times the spread for one, some percent for the other."""
    errors = {"none": [], "per-joint": [], "robust": []}
    for seed in range(8):
        problem, theta = problem_of(np.random.default_rng(seed), outliers=0.05)
        truth = problem.base.map @ theta
        for weighting, sizes in errors.items():
            estimate = LeastSquares(weighting).solve(problem)
            sizes.append((estimate.values - truth) / LeastSquares("per-joint").solve(problem).white_std)
    rms = {weighting: np.sqrt(np.mean(np.square(sizes))) for weighting, sizes in errors.items()}
    assert rms["robust"] < 0.4 * rms["per-joint"]
    assert rms["robust"] < 0.2 * rms["none"]


@pytest.mark.parametrize(
    "priors", [PRIORS, {"fv1": Normal(0.5, 1e-6)}, {"fv1": Normal(40.0, 1e6)}], ids=["some", "tight", "weak"]
)
def test_priors_give_the_posterior(priors, rng):
    """Ordinary: the data weigh as much as their own residuals say. By joint: as much as each joint's do."""
    problem, _ = problem_of(rng, priors=priors)
    W, y = stacked(problem)
    mean, P = information(problem)
    _, variance, _ = least_squares(W, y)
    ordinary = LeastSquares().solve(problem)
    theta, covariance = posterior(W, y, np.full(3, np.sqrt(variance)), mean, P)
    np.testing.assert_allclose((ordinary.values - theta) / np.sqrt(np.diag(covariance)), 0, atol=1e-8)
    np.testing.assert_allclose(ordinary.white_std, np.sqrt(np.diag(covariance)), rtol=1e-8)
    by_joint = LeastSquares("per-joint", step_tolerance=1e-12).solve(problem)
    theta, covariance, sigma = weighted_by_joint(W, y, mean, P)
    np.testing.assert_allclose((by_joint.values - theta) / np.sqrt(np.diag(covariance)), 0, atol=1e-7)
    np.testing.assert_allclose(by_joint.white_std, np.sqrt(np.diag(covariance)), rtol=1e-7)
    np.testing.assert_allclose(spread_of(by_joint), sigma, rtol=1e-7)


@pytest.mark.parametrize("weighting", ["none", "per-joint", "robust"])
def test_a_weak_prior_is_none_and_a_tight_one_holds(weighting, rng):
    problem, _ = problem_of(rng)
    method = LeastSquares(weighting)
    free = method.solve(problem)
    k = problem.base.index("fv2")
    weak = method.solve(replace(problem, priors={"fv2": Normal(-5.0, 1e5)}))
    np.testing.assert_allclose((weak.values - free.values) / free.white_std, 0, atol=1e-6)
    np.testing.assert_allclose(weak.white_std, free.white_std, rtol=1e-6)
    np.testing.assert_allclose(weak.coloured_std, free.coloured_std, rtol=1e-5)
    tight = method.solve(replace(problem, priors={"fv2": Normal(0.123, 1e-9)}))
    np.testing.assert_allclose(tight["fv2"], 0.123, atol=1e-8)
    for std in (tight.white_std, tight.coloured_std):
        np.testing.assert_allclose(std[k], 1e-9, rtol=1e-2)
    # what is known for sure makes nothing else less sure
    if weighting == "none":
        assert (tight.white_std <= free.white_std * (1 + 1e-9)).all()


@pytest.mark.parametrize("weighting", ["none", "per-joint", "robust"])
@pytest.mark.parametrize("priors", [{}, PRIORS], ids=["free", "priors"])
def test_noise_free_data_give_the_truth(weighting, priors, rng):
    problem, theta = problem_of(rng, spread=0.0, priors=priors)
    estimate = LeastSquares(weighting).solve(problem)
    truth = problem.base.map @ theta
    np.testing.assert_allclose(estimate.values, truth, atol=1e-8 * np.abs(truth).max())
    assert estimate.status.converged
    assert np.isfinite(estimate.covariance).all()
    assert np.isfinite(estimate.std).all()
    assert estimate.certificate().holds


def test_a_joint_without_noise_does_not_break_the_others(rng):
    problem, theta = problem_of(rng, spread=np.array([1.0, 0.0, 0.1]))
    for weighting in ("per-joint", "robust"):
        estimate = LeastSquares(weighting).solve(problem)
        assert estimate.status.converged
        assert np.isfinite(estimate.std).all()
        errors = np.abs(estimate.values - problem.base.map @ theta)
        assert (errors[[problem.base.index("fv2"), problem.base.index("fc2")]] < 1e-6).all()
        assert errors.max() < 1.0


def test_several_recordings_weigh_as_one(rng):
    theta = own_parameters(ARM, np.random.default_rng(5))
    signals = [
        signals_of(ARM, theta, smooth_motion(ARM, n, rng), SPREAD * rng.standard_normal((n, 3)))
        for n in (90, 160)
    ]
    problem = inverse_dynamics(ARM, signals)
    expected, _, covariance = least_squares(*stacked(problem))
    estimate = LeastSquares().solve(problem)
    np.testing.assert_allclose((estimate.values - expected) / np.sqrt(np.diag(covariance)), 0, atol=1e-9)


def test_units_of_the_problem_do_not_matter(rng):
    """The same arm of grams and of tonnes: values and their spread scale, verdicts stay."""
    reference = None
    for mass in (1e-4, 1.0, 1e4):
        robot = chain("zyy", [0, 0.1, 0.4], mass=mass, friction=NoFriction())
        problem, _ = problem_of(np.random.default_rng(8), robot=robot, spread=0.1 * mass)
        estimate = LeastSquares("per-joint").solve(problem)
        found = np.concatenate([estimate.values, estimate.std]) / mass
        reference = found if reference is None else reference
        np.testing.assert_allclose(found, reference, atol=1e-7 * np.abs(reference).max())
        assert len(estimate.values) == len(problem.base)


# -- the reduced system --------------------------------------------------------------------------------------


@pytest.mark.parametrize("priors", [{}, PRIORS], ids=["free", "priors"])
def test_leverage_is_the_trace_of_the_hat_matrix(priors, rng):
    problem, _ = problem_of(rng, priors=priors)
    system = reduce(problem, 1e-6)
    weights = np.array([0.5, 2.0, 10.0])
    solution = system.solve(weights)
    W, _ = stacked(problem)
    H = np.einsum("tjk,j,tjl->kl", W, solution.weights**2, W) + information(problem)[1]
    expected = np.einsum("tjk,kl,tjl->j", W, np.linalg.inv(H), W) * solution.weights**2
    leverage = system.leverage(solution.weights, solution.R)
    np.testing.assert_allclose(leverage, expected, rtol=1e-9)
    if priors:
        assert leverage.sum() < len(problem.base)
    else:
        np.testing.assert_allclose(leverage.sum(), len(problem.base))


def test_fewer_columns_are_a_smaller_problem(rng):
    problem, _ = problem_of(rng)
    system = reduce(problem, 1e-6)
    columns = np.array([0, 2, 5, 6, 9])
    W, y = stacked(problem)
    theta, variance, covariance = least_squares(W[:, :, columns], y)
    solution = system.restricted(columns).solve(np.ones(3))
    np.testing.assert_allclose(solution.theta, theta, rtol=1e-8)
    np.testing.assert_allclose(solution.variance, variance, rtol=1e-10)
    np.testing.assert_allclose(np.diag(solution.covariance), np.diag(covariance), rtol=1e-8)
    on_base = solution.on_base(system.restricted(columns))
    np.testing.assert_array_equal(on_base[columns], solution.theta)
    assert np.count_nonzero(on_base) == 5
    e = y - W[:, :, columns] @ theta
    np.testing.assert_allclose(system.residual_squares(on_base), np.sum(e**2, axis=0), rtol=1e-9)
    squares = system.restricted(columns).residual_squares(on_base)
    np.testing.assert_allclose(solution.weights**2 @ squares, np.sum(e**2), rtol=1e-9)


# -- whether before how --------------------------------------------------------------------------------------


def still(motion, joint, at=0.3):
    time, q, v, a = (x.copy() for x in motion)
    q[:, joint], v[:, joint], a[:, joint] = at, 0.0, 0.0
    return time, q, v, a


def test_a_joint_that_moves_one_way_only_cannot_tell_offset_from_dry_friction(rng):
    time, q, v, a = smooth_motion(ARM, 250, rng)
    v[:, 2] = np.abs(v[:, 2]) + 0.1
    problem, theta = problem_of(rng, motion=(time, q, v, a))
    estimate = LeastSquares().solve(problem)
    assert "off3" not in estimate.names
    assert estimate.groupings[estimate.names.index("fc3r")] == "fc3 + off3"
    (missing,) = (d for d in estimate.undetermined if d.reason == "unexcited")
    assert missing.combination == "off3, confounded with fc3"
    assert estimate.status is Status.partly
    truth = theta[ARM.parameters.index("fc3")] + theta[ARM.parameters.index("off3")]
    assert abs(estimate["fc3r"] - truth) < 5 * estimate.std[estimate.names.index("fc3r")]
    # the names differ from those of a livelier recording, and everything that goes back to the problem still works
    assert estimate.certificate().holds
    signals = problem.parts[0].signals
    np.testing.assert_allclose(predict(estimate, signals).predicted, estimate.fit.predicted, atol=1e-9)


def test_a_joint_that_stands_still_shows_none_of_its_own_friction(rng):
    problem, _ = problem_of(rng, motion=still(smooth_motion(ARM, 250, rng), 0))
    estimate = LeastSquares().solve(problem)
    lost = {d.combination.split(",")[0] for d in estimate.undetermined if d.reason == "unexcited"}
    assert {"fv1", "fc1"} <= lost
    assert not {"fv1", "fc1"} & {name.removesuffix("r") for name in estimate.names}
    assert {"fv2", "fc2", "off2", "fv3", "fc3", "off3"} <= set(estimate.names)
    W, y = stacked(problem)
    assert len(estimate.names) == np.linalg.matrix_rank(W.reshape(-1, W.shape[-1]), tol=1e-6)
    # the values are those of dense least squares on the columns that are left
    theta, _, _ = least_squares(W[:, :, reduce(problem, 1e-6).columns], y)
    np.testing.assert_allclose(estimate.values, theta, rtol=1e-6, atol=1e-8)


def test_undetermined_combinations_are_what_the_rows_cannot_see(rng):
    """A step along every combination named leaves the torques as they are."""
    problem, _ = problem_of(rng, motion=still(smooth_motion(ARM, 250, rng), 1))
    system = reduce(problem, 1e-6)
    W, _ = stacked(problem)
    lost = np.setdiff1d(np.arange(len(problem.base)), system.columns)
    assert len(lost) > 0
    K = system.base.map[:, problem.base.chosen]
    np.testing.assert_allclose(W[:, :, system.columns] @ K, W, atol=1e-4 * np.abs(W).max())


def test_a_prior_determines_what_the_recording_does_not(rng):
    time, q, v, a = smooth_motion(ARM, 250, rng)
    v[:, 2] = np.abs(v[:, 2]) + 0.1
    for std in (1e-3, 0.2, 1e4):
        problem, _ = problem_of(
            np.random.default_rng(4), motion=(time, q, v, a), priors={"off3": Normal(0.4, std)}
        )
        estimate = LeastSquares().solve(problem)
        assert {"fc3", "off3"} <= set(estimate.names)
        assert not [d for d in estimate.undetermined if d.reason == "unexcited"]
        np.testing.assert_allclose(
            estimate["off3"], 0.4, atol=1e-6 * max(std, 1)
        )  # the data say nothing against it
        sure = estimate.std[estimate.names.index("off3")], estimate.std[estimate.names.index("fc3")]
        assert std * 0.999 <= sure[0] < std * 1.1  # systematic effects only widen it
        assert sure[1] >= std * 0.999
        assert estimate.certificate().holds


def test_structural_groups_are_named(rng):
    problem, _ = problem_of(rng)
    structural = [
        d.combination for d in LeastSquares().solve(problem).undetermined if d.reason == "structural"
    ]
    assert len(structural) == 1
    assert "m1" in structural[0].split(", ")


def test_nothing_moves(rng):
    motion = still(still(still(smooth_motion(ARM, 50, rng), 0, 0.0), 1, 0.0), 2, 0.0)
    robot = chain("zzz", [0, 0.1, 0.4], friction=NoFriction())
    tau = rng.standard_normal((50, 3))
    with pytest.raises(NotIdentifiable, match="nothing moves"):
        LeastSquares().solve(inverse_dynamics(robot, Signals(motion[0], robot.joints, *motion[1:], tau)))


@pytest.mark.parametrize("samples", [2, 5])
def test_fewer_rows_than_parameters(samples, rng):
    problem, _ = problem_of(rng, samples=samples)
    assert problem.equations <= len(problem.base)
    # with so few rows some parameters go under as unexcited first: the rest is still too many or just as many
    with pytest.raises(NotIdentifiable, match=r"equations cannot determine \d+ parameters; record longer"):
        LeastSquares().solve(problem)


def test_everything_held(rng):
    robot = chain("s", [0], friction=ViscousCoulomb(offset=False))
    held = {"m1": 3.0, "fv1": 0.1, "fc1": 0.2}
    problem, _ = problem_of(rng, robot=robot, spread=0.1, held=held)
    with pytest.raises(NotIdentifiable, match="every parameter is held: there is nothing to estimate"):
        LeastSquares().solve(problem)


def test_full_parameters_where_the_motion_determines_every_one(rng):
    """A slide like EMPS: of its body only the mass shows, so the nine others must be held."""
    robot = chain("s", [0])
    problem, theta = problem_of(rng, robot=robot, spread=0.1)
    with pytest.raises(
        NotIdentifiable, match=r"determines 4 combinations of the 13 parameters.*dependent: mx1, my1"
    ):
        LeastSquares(parameters="full").solve(problem)
    rest = {
        name: 0.0
        for name in robot.parameters.names
        if name[:2] in ("mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
    }
    problem, theta = problem_of(rng, robot=robot, spread=0.1, held=rest)
    estimate = LeastSquares(parameters="full").solve(problem)
    assert estimate.names == ("m1", "fv1", "fc1", "off1")
    assert estimate.groupings == estimate.names
    truth = theta[[robot.parameters.index(name) for name in estimate.names]]
    assert (np.abs(estimate.values - truth) < 5 * estimate.std).all()
    assert estimate.status is Status.solved
    with pytest.raises(NotIdentifiable, match='use parameters = "base", or hold what is known'):
        LeastSquares(parameters="full").solve(problem_of(rng)[0])


# -- the method ----------------------------------------------------------------------------------------------


def test_running_out_of_steps_is_a_status_that_says_what_to_do(rng):
    problem, _ = problem_of(rng, outliers=0.1)
    estimate = LeastSquares("robust", max_iterations=2).solve(problem)
    assert estimate.status is Status.step_limit
    assert not estimate.status.converged
    assert "raise max_iterations" in str(estimate)
    assert np.isfinite(estimate.std).all()
    assert not estimate.certificate().holds
    assert estimate.iterations == 2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weighting": "huber"}, "weighting must be 'none', 'per-joint' or 'robust', not 'huber'"),
        ({"parameters": "all"}, "parameters must be 'base' or 'full', not 'all'"),
        ({"rtol": 0.0}, "rtol must be above 0 and below 1, not 0"),
        ({"rtol": np.nan}, "rtol must be above 0 and below 1, not nan"),
        ({"max_iterations": 0}, "max_iterations must be at least 1, not 0"),
        ({"step_tolerance": 0.0}, "step_tolerance must be above 0, not 0"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(InvalidMethod, match=message):
        LeastSquares(**settings)


def test_an_estimate_reads_well(rng):
    problem, _ = problem_of(rng)
    estimate = LeastSquares("robust").solve(problem)
    text = str(estimate)
    first, following, third = text.splitlines()[:3]
    assert first == estimate.headline and first.startswith("Trusted. ")
    assert following == f"Next: {estimate.next_step}" and third.startswith("least-squares on chain: Solved")
    assert "750 rows" in text
    assert all(name in text for name in estimate.names)
    assert "brunot2017" in estimate.references()
    assert "huber1981" in estimate.references()
    low, high = estimate.interval("fv1")
    np.testing.assert_allclose(
        [low, high],
        estimate["fv1"] + np.array([-1, 1]) * 1.959964 * estimate.std[estimate.names.index("fv1")],
        rtol=1e-6,
    )
    assert estimate.settings["weighting"] == "robust"
    assert estimate.seconds.keys() == {"regressor", "solve"}
    with pytest.raises(InvalidMethod, match="no parameter 'fv8'"):
        estimate["fv8"]


def test_solving_leaves_the_problem_as_it_is(rng):
    problem, _ = problem_of(rng)
    first = LeastSquares("robust").solve(problem)
    LeastSquares("per-joint").solve(problem)
    again = LeastSquares("robust").solve(problem)
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.covariance, again.covariance)


def test_a_wrong_sign_of_the_efforts_is_noticed(rng):
    problem, _ = problem_of(rng)
    (part,) = problem.parts
    right = LeastSquares().solve(problem)
    mirrored = inverse_dynamics(problem.robot, replace(part.signals, tau=-part.signals.tau))
    wrong = LeastSquares().solve(mirrored)
    causes = {"impossible-sign", "sign"}
    assert not any(each.cause in causes for each in right.findings)
    assert any(each.cause in causes for each in wrong.findings)
