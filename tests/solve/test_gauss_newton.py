"""The one damped Gauss-Newton iteration: endings, damping, line search, constraints, box, stop and progress."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from poinsot.estimate import Status
from poinsot.solve import DampedStep, GainRatio, GaussNewton, Progress, StepLength
from poinsot.solve.dense import DenseProblem

DAMPINGS = [
    pytest.param(GaussNewton(damping=GainRatio()), id="gain-ratio"),
    pytest.param(GaussNewton(damping=StepLength(), shortest=2.0**-10), id="step-length"),
]


def rosenbrock(lower=(-np.inf, -np.inf), upper=(np.inf, np.inf)):
    return DenseProblem(
        lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]),
        lambda x, _: np.array([[-20 * x[0], 10.0], [-1.0, 0.0]]),
        np.array(lower),
        np.array(upper),
    )


@pytest.mark.parametrize("method", DAMPINGS)
def test_the_minimum_is_found(method):
    found = method.minimize(rosenbrock().at(np.array([-1.2, 1.0])))
    assert found.status is Status.solved
    np.testing.assert_allclose(found.at.x, [1, 1], atol=1e-6)
    assert [each.number for each in found.history] == list(range(1, len(found.history) + 1))


@pytest.mark.parametrize("method", DAMPINGS)
def test_random_problems_in_a_box_agree_with_scipy(method, rng):
    for _ in range(20):
        A, b = rng.standard_normal((8, 3)), rng.standard_normal(8)
        problem = DenseProblem(
            lambda x, A=A, b=b: A @ x + 0.3 * np.sin(A @ x) - b,
            lambda x, _, A=A: A * (1 + 0.3 * np.cos(A @ x))[:, None],
            np.full(3, -0.2),
            np.full(3, 0.3),
        )
        found = replace(method, relative_tolerance=1e-14).minimize(problem.at(np.zeros(3)))
        reference = least_squares(
            problem.residuals, np.zeros(3), bounds=(-0.2, 0.3), xtol=1e-14, gtol=1e-14, ftol=1e-14
        )
        assert found.status is Status.solved
        np.testing.assert_allclose(
            found.at.x, reference.x, atol=1e-5
        )  # roots of the cost's relative tolerances


def test_a_stall_is_not_convergence():
    """A wrong Jacobian: no step lowers the cost, however damped."""
    wrong = DenseProblem(
        lambda x: np.array([x[0] - 1.0]),
        lambda x, _: np.array([[-1.0]]),
        np.array([-np.inf]),
        np.array([np.inf]),
    )
    for method in (GaussNewton(), GaussNewton(damping=StepLength(), shortest=2.0**-10)):
        found = method.minimize(wrong.at(np.zeros(1)))
        assert found.status is Status.stalled and not found.status.converged
        assert found.at.x[0] == 0 and found.iterations == 0


def test_the_limit_of_iterations_and_a_stop_are_statuses():
    start = rosenbrock().at(np.array([-1.2, 1.0]))
    limited = GaussNewton(max_iterations=2).minimize(start)
    assert limited.status is Status.step_limit and limited.iterations == 2
    reports: list[Progress] = []
    stopped = GaussNewton().minimize(start, progress=reports.append, stop=lambda: len(reports) >= 3)
    assert stopped.status is Status.interrupted and len(reports) == 3
    assert stopped.at.cost < start.cost  # it holds what was found until then
    assert "iteration 3" in str(reports[-1]) and "cost" in str(reports[-1])


def test_no_finite_value_at_the_start_has_diverged():
    bad = DenseProblem(lambda x: np.array([np.nan]), lambda x, _: np.eye(1), np.zeros(1), np.ones(1))
    assert GaussNewton().minimize(bad.at(np.zeros(1))).status is Status.diverged


def test_parameters_that_no_residual_observes_stay():
    problem = DenseProblem(
        lambda x: np.array([x[0] ** 2 - 2.0]),
        lambda x, _: np.array([[2 * x[0], 0.0]]),
        np.full(2, -np.inf),
        np.full(2, np.inf),
        lambda x, cost: 1e-8 * (cost + 1),
    )
    found = GaussNewton().minimize(problem.at(np.array([1.0, 5.0])))
    assert found.status is Status.solved and found.at.x[1] == 5.0
    assert found.at.x[0] == pytest.approx(np.sqrt(2), abs=1e-6)


@dataclass(frozen=True)
class Circle:
    """min (x - 2)^2 / 2 + y^2 / 2 on the unit circle, by sequential quadratic steps; the minimum is (1, 0)."""

    x: np.ndarray

    @property
    def cost(self):
        return 0.5 * float((self.x[0] - 2) ** 2 + self.x[1] ** 2)

    @property
    def theta(self):
        return self.x

    @property
    def infeasibility(self):
        return self.largest_gap

    @property
    def largest_gap(self):
        return abs(float(self.x @ self.x - 1))

    def direction(self, damping):
        g, a = self.x - [2.0, 0.0], 2 * self.x
        c = self.x @ self.x - 1
        K = np.block([[(1 + damping) * np.eye(2), a[:, None]], [a[None], np.zeros((1, 1))]])
        d = np.linalg.solve(K, [*-g, -c])[:2]
        return Along(self, d)


@dataclass(frozen=True)
class Along(DampedStep):
    start: Circle
    d: np.ndarray

    def predicted(self, alpha):
        g = self.start.x - [2.0, 0.0]
        return -float(alpha * g @ self.d + 0.5 * alpha**2 * self.d @ self.d)

    def trial(self, alpha):
        return Circle(self.start.x + alpha * self.d)


def test_equality_constraints_are_closed_by_the_merit():
    method = GaussNewton(damping=StepLength(), shortest=2.0**-10, absolute_tolerance=1e-14)
    found = method.minimize(Circle(np.array([0.3, 1.4])))
    assert found.status is Status.solved
    np.testing.assert_allclose(found.at.x, [1, 0], atol=1e-6)
    assert found.at.largest_gap < 1e-8


def test_a_kink_far_from_the_tolerance_is_a_stall():
    """r = |x| + 1e-3: the linearization holds on one side of 0 only."""
    problem = DenseProblem(
        lambda x: np.array([abs(x[0]) + 1e-3]),
        lambda x, _: np.array([[1.0 if x[0] >= 0 else -1.0]]),
        np.array([-np.inf]),
        np.array([np.inf]),
    )
    for factor in (1.0, 10.0):
        found = GaussNewton(kink_factor=factor).minimize(problem.at(np.zeros(1)))
        assert found.status is Status.stalled and found.at.x[0] == 0


def test_a_kink_within_the_tolerance_is_a_minimum():
    """r = (1, |x| / 100): the step at 0 predicts a decrease by some 1e-4 of the cost, and achieves none."""
    problem = DenseProblem(
        lambda x: np.array([1.0, 0.01 * abs(x[0]) + 0.01]),
        lambda x, _: np.array([[0.0], [0.01]]),
        np.array([-np.inf]),
        np.array([np.inf]),
    )
    strict = GaussNewton(relative_tolerance=2e-5)
    assert strict.minimize(problem.at(np.zeros(1))).status is Status.stalled
    assert replace(strict, kink_factor=10.0).minimize(problem.at(np.zeros(1))).status is Status.solved
