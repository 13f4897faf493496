"""Normal equations of flights, impacts and rests against a dense problem and against differences of the cost."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.impacts.collisions import HEIGHT
from poinsot.estimators.impacts.pool import INSTANT_STD, B, collisions, student_t


def dense(problem, at):
    """Jacobian and residuals by (y, tau, lost) of each flight, heights and theta; weights and robustness included."""
    of, stds = problem.chain, problem.stds(at)
    F, D, s = len(of.mean), of.drops, len(of.reference)
    system = problem.linearized(at, stds)
    J = np.zeros((12 * F + D + len(system.rows.r), B * F + D + s))
    r = np.zeros(len(J))
    for f in range(F):
        J[12 * f : 12 * f + 12, B * f : B * f + 12] = np.eye(12)
    r[: 12 * F] = at.y.ravel()
    J[12 * F : 12 * F + D, B * F : B * F + D] = np.eye(D) / problem.tolerances.floor
    r[12 * F : 12 * F + D] = at.heights / problem.tolerances.floor
    for k, begin in enumerate(system.rows.begin):
        row = J[12 * F + D + k]
        row[begin : begin + 26] = system.rows.G[k]
        row[begin + 12 : begin + 14] /= INSTANT_STD
        row[B * F + system.rows.drop[k]] = system.rows.height[k] / problem.tolerances.floor
        row[B * F + D :] = system.rows.E[k]
    r[12 * F + D :] = system.rows.r
    return J, r, system


def normal(problem, at, J, r):
    of, n = problem.chain, J.shape[1] - len(problem.free)
    H, g = J.T @ J, J.T @ r
    H[n:, n:] += of.innovations_normal.sum(axis=0) + np.diag(problem.prior)
    moved = at.shared - of.reference
    g[n:] += of.innovations_gradient.sum(axis=0) + of.innovations_normal.sum(axis=0) @ moved
    g[n:] += problem.prior * at.shared
    return H, g


def away(at):
    """Not at the solution, or there would be nothing to step."""
    return replace(at, tau=at.tau + 1e-5, shared=at.shared * 1.01, heights=at.heights + 1e-5)


def test_derivatives_are_those_of_the_residuals(few):
    """By differences along single unknowns of the first impact that is used, and along theta."""
    problem, at = few.problem, few.at
    i, stds = int(np.flatnonzero(problem.use)[0]), problem.stds(few.at)
    system = problem.linearized(at, stds)
    root = np.sqrt(system.trust[0])

    def residuals(there):
        few_chain = problem.chain.impacts(np.array([i]))
        one = replace(there, tau=there.tau[[i]], lost=there.lost[[i]], brevity=there.brevity[[i]])
        return root * collisions(few_chain, one, problem.part[[i]]).r[0] / stds[0]

    f = int(problem.chain.before[i])
    for column, size in ((3, 1e-4), (8, 1e-4), (12, 1e-7), (16, 1e-4)):
        ends = []
        for sign in (1, -1):
            y, tau = at.y.copy(), at.tau.copy()
            if column == 12:
                tau[i] += sign * size
            else:
                y[f + column // B, column % B] += sign * size
            ends.append(residuals(replace(at, y=y, tau=tau)))
        scale = INSTANT_STD if column == 12 else 1.0
        slope = scale * (ends[0] - ends[1]) / (2 * size)
        expected = system.rows.G[:5, column]
        np.testing.assert_allclose(expected, slope, rtol=1e-4, atol=1e-5 * np.abs(expected).max() + 1e-8)
    for k, size in ((1, 1e-7), (9, 1e-7), (12, 1e-7)):
        ends = [
            residuals(replace(at, shared=at.shared + sign * size * (np.arange(len(at.shared)) == k)))
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * size)
        np.testing.assert_allclose(
            system.rows.E[:5, k], slope, rtol=1e-4, atol=1e-4 * np.abs(slope).max() + 1e-8
        )


def test_a_step_is_that_of_the_dense_problem(few):
    problem, at = few.problem, away(few.at)
    J, r, system = dense(problem, at)
    step = problem.step(system, at.shared)
    new = problem.stepped(at, system, step)
    H, g = normal(problem, at, J, r)
    # instants of impacts that are not used, and times that were not lost, stay where they are
    still = np.diag(H) < 1e-20
    H[still, still] = 1.0
    scale = 1 / np.sqrt(np.diag(H))
    dx = -scale * np.linalg.solve(H * np.outer(scale, scale), g * scale)
    F, D = len(problem.chain.mean), problem.chain.drops
    std = np.sqrt(np.abs(np.diag(np.linalg.pinv(H[B * F + D :, B * F + D :]))))
    np.testing.assert_allclose(step, dx[B * F + D :], atol=1e-3 * np.max(std), rtol=1e-4)
    np.testing.assert_allclose(new.heights - at.heights, dx[B * F : B * F + D], atol=1e-9, rtol=1e-4)
    by_flight = dx[: B * F].reshape(-1, B)
    np.testing.assert_allclose(new.y - at.y, by_flight[:, :12], atol=1e-4, rtol=1e-3)
    np.testing.assert_allclose(new.tau - at.tau, by_flight[problem.chain.before, 12], atol=1e-9, rtol=1e-3)
    # squared length of the step of all unknowns but theta, in their standard deviations
    n = B * F + D
    steps = -scale[:n] * np.linalg.solve((H * np.outer(scale, scale))[:n, :n], (g * scale)[:n])
    assert problem.distance(at, system) == pytest.approx(steps @ H[:n, :n] @ steps, rel=1e-4)


def test_leverages_are_those_of_the_dense_problem(few):
    """The diagonal of J H^-1 J^T, with all unknowns and priors in H."""
    problem, at = few.problem, few.at
    J, r, system = dense(problem, at)
    pull = system.pull[:, 1:]
    share = 1 - system.free + np.einsum("ra,ab,rb->r", pull, problem.covariance(system)[0], pull)
    assert (share > -1e-9).all()
    assert (share < 1 + 1e-9).all()
    H, _ = normal(problem, at, J, r)
    n = J.shape[1] - len(problem.free)
    left_out = np.concatenate([np.diag(H)[:n] < 1e-20, ~problem.free])
    H[left_out] = H[:, left_out] = 0.0
    H[left_out, left_out] = 1.0
    scale = 1 / np.sqrt(np.diag(H))
    inverse = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
    rows = J[-len(system.rows.r) :]
    np.testing.assert_allclose(share, np.sum(rows @ inverse * rows, axis=1), atol=1e-4)


def test_the_gradient_is_that_of_the_cost(fit):
    """By differences of the robust cost along theta, y, instants and heights staying."""
    problem, at = fit.problem, fit.at
    stds = problem.stds(at)
    at = replace(at, shared=at.shared * 1.02)
    here, of = problem.linearized(at, stds), problem.chain
    moved = at.shared - of.reference
    gradient = of.innovations_gradient + of.innovations_normal @ moved
    np.add.at(gradient, here.rows.drop, here.rows.r[:, None] * here.rows.E)
    for j, step in ((0, 1e-9), (1, 1e-8), (7, 1e-9), (9, 1e-9), (12, 1e-9)):
        costs = []
        for sign in (1, -1):
            shared = at.shared.copy()
            shared[j] += sign * step
            costs.append(problem.linearized(replace(at, shared=shared), stds).cost)
        slope = (costs[0] - costs[1]) / (4 * step)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-3, atol=1e-4 * np.max(np.abs(slope)))


def test_the_second_derivative_is_that_of_the_gradient(fit):
    """By differences along theta, y, instants and heights staying: E^T E of the curved system."""
    problem, at = fit.problem, fit.at
    stds, of = problem.stds(at), problem.chain
    curved = problem.linearized(at, stds, curved=True)
    corner = curved.rows.E.T @ curved.rows.E + of.innovations_normal.sum(axis=0)
    for j, step in ((0, 1e-9), (1, 1e-8), (3, 1e-8)):
        ends = []
        for sign in (1, -1):
            shared = at.shared.copy()
            shared[j] += sign * step
            there = problem.linearized(replace(at, shared=shared), stds)
            ends.append(there.rows.E.T @ there.rows.r + of.innovations_normal.sum(axis=0) @ shared)
        slope = (ends[0] - ends[1]) / (2 * step)
        # residuals are not linear in theta: their own second derivatives, by residuals, are what is left out
        assert corner[j, j] == pytest.approx(slope[j], rel=0.05)


def test_student_t(rng):
    """Half of the gradient and of the second derivative, averaged over directions, by differences of the cost."""
    x, h = rng.normal(size=3), 1e-4
    moved = np.array([[x + sign * d for d in h * np.eye(3)] for sign in (1, 0, -1)])
    t, _, bent = student_t(np.array([x @ x]), np.array([3]), 4.0)
    ends = student_t(np.sum(moved**2, axis=-1), np.array([3]), 4.0)[1]
    np.testing.assert_allclose((ends[0] - ends[2]) / (4 * h), t * x, rtol=1e-5)
    second = (ends[0] - 2 * ends[1] + ends[2]) / (2 * h * h)
    assert bent[0] == pytest.approx(second.mean(), rel=1e-4)


def test_unused_impacts_keep_their_instants(few):
    at, _ = few.problem.minimized(replace(few.at, shared=few.at.shared * 1.01))
    unused = ~few.problem.use
    np.testing.assert_array_equal(at.tau[unused], few.at.tau[unused])


def test_descent_ends_where_no_step_is_left(fit):
    at, _ = fit.problem.minimized(fit.at, enough=1e-8)
    assert at.shared[0] == pytest.approx(fit.inertia_to_mass, rel=1e-3)


def test_the_height_of_a_drop_is_a_column_of_its_own(fit):
    """Its derivative is that of the common height, in units of its tolerance."""
    system = fit.problem.linearized(fit.at)
    expected = fit.problem.tolerances.floor * system.rows.E[:, HEIGHT]
    # flights do not depend on the floor: states add nothing
    np.testing.assert_allclose(system.rows.height, expected, atol=1e-12)
