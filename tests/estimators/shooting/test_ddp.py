"""The iteration on small nonlinear motions: against SciPy's dense least squares, the truth, and when it fails."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from estimators.shooting.toys import (
    INERTIA,
    TRUE,
    dense_optimum,
    pendulum_problem,
    root,
    total_cost,
    tumbling_problem,
)
from poinsot.estimate import Status
from poinsot.estimators.shooting.ddp import DDP, certify, posterior
from poinsot.estimators.shooting.direction import ShootingIterate, ShootingSearch
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.rollout import FeasibilityDriven, MultipleShooting, SingleShooting, evaluate
from poinsot.exceptions import InvalidMethod

ROLLOUTS = {each.name: each for each in (SingleShooting(), FeasibilityDriven(), MultipleShooting())}

CASES = {
    "pendulum": lambda rng: pendulum_problem(rng, N=25),
    "two recordings with stops": lambda rng: pendulum_problem(rng, N=14, recordings=2, resets=(5, 9)),
    "tumbling body": lambda rng: tumbling_problem(rng, N=9, known=True),
}


@pytest.fixture(params=ROLLOUTS.values(), ids=ROLLOUTS.keys())
def rollout(request):
    return request.param


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def case(request):
    """A problem, a guess, and what SciPy finds from the truth on."""
    problem, guess, truth = request.param(np.random.default_rng(11))
    return problem, guess, dense_optimum(problem, truth)


def test_finds_the_dense_optimum(case, rollout):
    problem, guess, (reference, cost, _) = case
    found = DDP(rollout=rollout).solve(problem, guess)
    assert found.status is Status.solved
    assert found.cost <= cost * (1 + 1e-9)
    assert found.cost == pytest.approx(cost, rel=1e-7)
    np.testing.assert_allclose(found.theta, reference.theta, rtol=1e-4, atol=1e-5)
    for mine, its, motion in zip(found.at.x, reference.x, problem.models, strict=True):
        np.testing.assert_allclose(motion.manifold.difference(its, mine), 0, atol=2e-5)
    assert max(np.abs(gap).max() for gap in evaluate(problem, found.at).gaps) < 1e-12
    assert certify(found.problem, found.at).holds
    assert total_cost(problem, found.at) == pytest.approx(found.cost, rel=1e-12)


def test_posterior_is_the_inverse_of_the_dense_hessian(case):
    problem, guess, (_, _, J) = case
    found = posterior(problem, DDP().solve(problem, guess).at)
    covariance = np.linalg.inv(J.T @ J)
    np.testing.assert_allclose(found.theta, covariance[:3, :3], rtol=1e-3, atol=1e-6)
    n = problem.models[0].manifold.degrees
    np.testing.assert_allclose(found.states[0][0], covariance[3 : 3 + n, 3 : 3 + n], rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(found.states_theta[0][0], covariance[3 : 3 + n, :3], rtol=2e-3, atol=1e-6)


def test_certificate_tells_what_is_no_optimum(case):
    problem, guess, _ = case
    found = DDP().solve(problem, guess)
    off = replace(found.at, theta=found.theta + np.array([1e-3, 0, 0]))
    assert not certify(problem, off).holds
    moved = replace(found.at, w=tuple(w + 0.1 * problem.models[0].noise_std[0, 0] for w in found.at.w))
    assert not certify(problem, moved).feasible
    consistent = SingleShooting().begin(problem, off).at
    checked = certify(problem, consistent)
    assert checked.feasible
    assert not checked.holds


def test_the_promise_of_a_step(case, rng):
    """dl(alpha) against the cost of the linearized problem, gaps wide open."""
    problem, guess, _ = case
    now = evaluate(problem, guess)
    assert now.infeasibility > 0.1
    direction = ShootingIterate(ShootingSearch(problem), now).direction(damping=0.3)

    def residuals(alpha):
        ahead = MultipleShooting().roll(problem, now, direction, alpha).at
        parts = [root(problem.prior.information) @ (ahead.theta - problem.prior.mean)]
        for motion, arrival, x, w in zip(problem.models, problem.arrivals, ahead.x, ahead.w, strict=True):
            d = motion.manifold.difference(arrival.mean[None], x[:1])[0]
            parts += [root(arrival.information) @ d, (w / motion.noise_std)[motion.noisy].ravel()]
            parts += [
                motion.evaluate(0, x[:-1], w, ahead.theta)[1].ravel(),
                motion.last(x[-1], ahead.theta).value[0],
            ]
        return np.concatenate(parts)

    r, J = residuals(0.0), (residuals(1e-5) - residuals(-1e-5)) / 2e-5
    assert direction.slope == pytest.approx(J @ r, rel=1e-6)
    assert direction.curvature == pytest.approx(J @ J, rel=1e-6)
    assert -direction.predicted(0.5) == pytest.approx(0.5 * J @ r + 0.125 * J @ J, rel=1e-5)
    assert 0.5 * r @ r == pytest.approx(now.cost)


def test_rollouts_keep_what_they_should_of_the_gaps(case, rollout):
    problem, guess, _ = case
    now = rollout.begin(problem, guess)
    direction = ShootingIterate(ShootingSearch(problem), now).direction()
    ahead = rollout.roll(problem, now, direction, 0.25)
    checked = evaluate(problem, ahead.at)
    assert checked.cost == pytest.approx(ahead.cost)
    for mine, new, old in zip(ahead.gaps, checked.gaps, now.gaps, strict=True):
        np.testing.assert_allclose(mine, new, atol=1e-12)
        if isinstance(rollout, SingleShooting):
            np.testing.assert_allclose(new, 0, atol=1e-12)
        if isinstance(rollout, FeasibilityDriven):
            np.testing.assert_allclose(new, 0.75 * old, atol=1e-12)
    # a short step goes where the linear problem says, whichever way it is rolled out
    tiny = rollout.roll(problem, now, direction, 1e-5)
    for motion, mine, old, dx in zip(problem.models, tiny.at.x, now.at.x, direction.step.x, strict=True):
        moved = motion.manifold.difference(old, mine)
        np.testing.assert_allclose(moved / 1e-5, dx, atol=1e-3 * (1 + np.abs(dx).max()))


def test_theta_keeps_still_where_nothing_sees_it(rollout):
    """Of a free body only ratios of inertias show: the mean of their logs stays at the guess, to rounding."""
    problem, guess, _ = tumbling_problem(np.random.default_rng(5))
    found = DDP(rollout=rollout).solve(problem, guess)
    assert found.status is Status.partly
    assert found.status.converged
    np.testing.assert_allclose(np.abs(found.unobservable), 1 / np.sqrt(3), atol=1e-6)
    assert found.theta.mean() == pytest.approx(guess.theta.mean(), abs=1e-9)
    np.testing.assert_allclose(np.diff(found.theta), np.diff(INERTIA), atol=0.05)
    sure = posterior(problem, found.at)
    assert np.abs(sure.theta @ np.ones(3)).max() < 1e-9
    assert certify(found.problem, found.at).holds


def test_errors_are_as_large_as_the_covariance_says(rng):
    """Chi-square of theta, of the first and of a middle state over 60 recordings; each within 99.9 % of its sum's."""
    squares = {"theta": [], "first": [], "middle": []}
    for _ in range(60):
        problem, guess, truth = pendulum_problem(rng, N=40, resets=(17,))
        # of the first speed is known what `truth` was made with, so a prior there needs a draw of its own
        problem = replace(problem, arrivals=(GaussianPrior.flat(problem.arrivals[0].mean),))
        found = DDP().solve(problem, guess)
        assert found.status is Status.solved
        sure = posterior(problem, found.at)
        e = found.theta - truth.theta
        squares["theta"].append(e @ np.linalg.solve(sure.theta, e))
        for name, k in (("first", 0), ("middle", 20)):
            e = found.at.x[0][k] - truth.x[0][k]
            squares[name].append(e @ np.linalg.solve(sure.states[0][k], e))
    for name, degrees in (("theta", 3), ("first", 2), ("middle", 2)):
        low, high = stats.chi2.ppf([5e-4, 1 - 5e-4], 60 * degrees)
        assert low < sum(squares[name]) < high, name


def test_recordings_together_say_more(rng):
    problem, guess, _ = pendulum_problem(rng, N=30, recordings=3)
    together = posterior(problem, DDP().solve(problem, guess).at)
    alone = replace(problem, models=problem.models[:1], arrivals=problem.arrivals[:1])
    first = Trajectories(guess.x[:1], guess.w[:1], guess.theta)
    one = posterior(alone, DDP().solve(alone, first).at)
    assert np.all(np.diag(together.theta) < 0.7 * np.diag(one.theta))


def test_exact_recordings_give_the_truth(rollout, rng):
    problem, guess, truth = pendulum_problem(rng, N=40, exact=True)
    problem = replace(problem, arrivals=(GaussianPrior.flat(problem.arrivals[0].mean),))
    found = DDP(rollout=rollout).solve(problem, guess)
    assert found.status is Status.solved
    assert found.cost < 1e-12
    np.testing.assert_allclose(found.theta, TRUE, rtol=1e-6)
    np.testing.assert_allclose(found.at.x[0], truth.x[0], atol=1e-7)


def test_a_far_guess_needs_gaps(rng):
    """Friction of the wrong sign makes simulated motions grow for ten seconds: only what may leave gaps finds back."""
    problem, guess, _ = pendulum_problem(rng, N=200)
    best = DDP().solve(problem, guess)
    found = dict.fromkeys(ROLLOUTS, 0)
    for _ in range(2):
        x = guess.x[0] + [0.5, 3.0] * rng.standard_normal((201, 2))
        far = replace(guess, x=(x,), theta=TRUE + [0.3, -1.8, 1.0] * rng.uniform(0.8, 1.2, 3))
        for name, rollout in ROLLOUTS.items():
            solution = DDP(rollout=rollout, max_iterations=10).solve(problem, far)
            found[name] += solution.cost < 1.001 * best.cost and solution.status is Status.solved
    assert found == {"single": 0, "feasible": 2, "multiple": 2}


def test_long_recordings_are_taken_in_stretches(rng, monkeypatch):
    problem, guess, _ = pendulum_problem(rng, N=40, resets=(17,))
    whole = DDP().solve(problem, guess)
    sure = posterior(problem, whole.at)
    monkeypatch.setattr("poinsot.estimators.shooting.rollout.STRETCH", 7)
    for rollout in ROLLOUTS.values():
        parts = DDP(rollout=rollout).solve(problem, guess)
        np.testing.assert_allclose(parts.theta, whole.theta, rtol=1e-7)
    np.testing.assert_allclose(posterior(problem, whole.at).states[0], sure.states[0], rtol=1e-7, atol=1e-12)


def test_penalty_is_eq_38(rng):
    """Open gaps: the first penalty makes the merit's promise 0.3 nu eps; later ones decay or rise to that again."""
    problem, guess, _ = tumbling_problem(rng, N=30)
    steps = [DDP(max_iterations=k).solve(problem, guess) for k in (1, 2)]
    nu = 0.0
    for k, begin in enumerate([guess, steps[0].at]):
        now = evaluate(problem, begin)
        promise = -ShootingIterate(ShootingSearch(problem), now).direction().predicted(1.0)
        nu = max(0.9 * nu, promise / (0.7 * now.infeasibility))
        assert steps[1].history[k].penalty == pytest.approx(nu, rel=1e-6)
        assert promise - nu * now.infeasibility <= -0.3 * nu * now.infeasibility * (1 - 1e-9)
    assert nu > 0


def test_monotone_acceptance(rollout):
    """With a memory of one the merit never rises, whatever the guess; with more it may."""
    problem, guess, _ = tumbling_problem(np.random.default_rng(8), N=30, off=1.5)
    found = DDP(rollout=rollout, memory=1).solve(problem, guess)
    before = found.start
    cost, eps = before.cost, before.infeasibility
    for each in found.history:
        merit = cost + each.penalty * eps
        assert each.cost + each.penalty * each.infeasibility <= merit * (1 + 1e-12)
        cost, eps = each.cost, each.infeasibility
    assert found.status is Status.partly


def test_progress_reports_each_iteration(rng):
    problem, guess, _ = pendulum_problem(rng, N=20)
    reports = []
    found = DDP().solve(problem, guess, progress=reports.append)
    assert [each.iteration for each in reports] == list(range(1, found.iterations + 1))
    assert [each.iteration for each in reports] == [each.number for each in found.history]
    assert [each.cost for each in reports] == [each.cost for each in found.history]
    assert len(found.costs) == found.iterations + 1
    assert found.history[-1].infeasibility < 1e-6 < found.history[0].penalty + 1
    assert "cost" in str(reports[0]) and "damping" in reports[0].detail


def test_endings_say_what_happened(rng):
    problem, guess, _ = pendulum_problem(rng, N=30)
    short = DDP(max_iterations=1).solve(problem, guess)
    assert short.status is Status.step_limit
    assert not short.status.converged
    assert "raise max_iterations" in short.status.value

    class Broken(type(problem.models[0])):
        def linearize(self, *arguments):
            at = super().linearize(*arguments)
            return replace(at, r=-at.r)

    motion = problem.models[0]
    wrong = Broken(motion.u, motion.encoder, motion.accelerometer, last_encoder=motion.last_encoder)
    uphill = DDP(rollout=SingleShooting(), memory=1).solve(replace(problem, models=(wrong,)), guess)
    assert uphill.status is Status.stalled

    blind = tumbling_problem(rng, N=12)
    unobservable = DDP(null_space=False).solve(*blind[:2])
    assert unobservable.status in (
        Status.indefinite,
        Status.solved,
    )  # rounding decides whether a pivot is above zero

    wild = replace(guess, x=(1e200 * np.ones_like(guess.x[0]),))
    with np.errstate(over="ignore", invalid="ignore"):
        assert DDP(rollout=SingleShooting()).solve(problem, wild).status is Status.diverged


def test_bad_input_is_told_in_one_sentence(rng, unchecked):
    problem, guess, _ = pendulum_problem(rng, N=10)
    with pytest.raises(InvalidMethod, match="NaN or infinity"):
        DDP().solve(problem, replace(guess, theta=np.array([np.nan, 0, 0])))
    with pytest.raises(InvalidMethod, match="must have states"):
        DDP().solve(problem, replace(guess, x=(guess.x[0][:-1],)))
    none = np.zeros(0)
    nothing = replace(problem.models[0], u=none, encoder=none, accelerometer=none)
    with pytest.raises(InvalidMethod, match="at least two samples"):
        ShootingProblem((nothing,), problem.arrivals, problem.prior)
    with pytest.raises(InvalidMethod, match="at least one recording"):
        ShootingProblem((), (), problem.prior)
    with pytest.raises(InvalidMethod, match="priors must match the model"):
        ShootingProblem(problem.models, problem.arrivals, GaussianPrior.flat(np.zeros(4)))
    for covariance in (np.diag([1.0, -1.0]), np.zeros((2, 2)), np.array([1.0, 0.0]), np.ones((2, 2))):
        with pytest.raises(InvalidMethod, match="positive definite"):
            GaussianPrior.from_covariance(np.zeros(2), covariance)
    with pytest.raises(InvalidMethod, match="without negative eigenvalues"):
        GaussianPrior(np.zeros(2), np.diag([1.0, -1.0]))
    with pytest.raises(InvalidMethod, match="must be finite"):
        GaussianPrior(np.array([np.nan, 0.0]), np.eye(2))
    silent = replace(problem.models[0], sigma=(0.01, 0.1, 0.0))
    with pytest.raises(InvalidMethod, match="must be above 0"):
        ShootingProblem((silent,), problem.arrivals, problem.prior)
    with pytest.raises(InvalidMethod, match="max_iterations"):
        DDP(max_iterations=0)
    with pytest.raises(InvalidMethod, match="step_tolerance must be above 0"):
        DDP(step_tolerance=0.0)


def test_known_is_the_inverse_covariance():
    known = GaussianPrior.from_covariance(np.zeros(2), np.array([[4.0, 1.0], [1.0, 9.0]]))
    np.testing.assert_allclose(known.information @ [[4.0, 1.0], [1.0, 9.0]], np.eye(2), atol=1e-12)
    assert GaussianPrior.flat(np.zeros(7), 6).information.shape == (6, 6)
