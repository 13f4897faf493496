"""Normal equations of flights and impacts against a dense problem."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.impacts.chain import (
    B,
    collisions,
    inverse_in_band,
    leverages,
    reduced_derivatives,
    stepped,
)
from poinsot.estimators.impacts.collisions import OWN
from poinsot.estimators.impacts.contact_parameters import HEIGHT
from poinsot.estimators.impacts.resting import FREEDOM, resting_residuals


def dense(found):
    """Jacobian and residuals (states, tau, lost, heights, theta), weights and robustness included."""
    problem, at, system = found.problem.chain, found.at, found.system
    F, D, N, S = len(problem.mean), problem.drops, B * len(problem.mean), len(problem.reference)
    moved = at.shared - problem.reference
    rows, rest = [], []
    for f in range(F):
        root = np.linalg.cholesky(problem.weight[f]).T
        J = np.zeros((12, N + D + S))
        J[:, B * f : B * f + 12], J[:, N + D :] = root, -root @ problem.by_shared[f]
        rows.append(J)
        rest.append(root @ (at.states[f] - problem.mean[f] - problem.by_shared[f] @ moved))
    for i, f in enumerate(problem.before):
        J, weight = np.zeros((5, N + D + S)), np.sqrt(system.trust[i])
        own = system.rows[i]
        J[:, B * f + 6 : B * f + 12], J[:, B * f + B : B * f + B + 6] = own[:, :6], own[:, 8:14]
        J[:, B * f + 12], J[:, B * f + 13] = own[:, 6], own[:, 7]
        J[:, N + D :] = own[:, OWN:]
        J[:, N + problem.drop[f]] = own[:, OWN + HEIGHT]
        rows.append(weight[:, None] * J)
        rest.append(weight * system.z[i])
    of = problem.resting
    e, E = resting_residuals(of, at.shared, at.heights, problem.geometry)
    std = found.problem.tolerances.rest
    chi2 = np.bincount(of.drop, e * e, D) / std**2
    for k, d in enumerate(of.drop):
        J, weight = np.zeros((1, N + D + S)), np.sqrt((FREEDOM + 2) / (FREEDOM + chi2[d])) / std
        J[0, N + D :], J[0, N + d] = weight * E[k], weight * E[k, HEIGHT]
        rows.append(J)
        rest.append(weight * e[k : k + 1])
    return np.concatenate(rows), np.concatenate(rest)


def test_a_step_is_that_of_the_dense_problem(few):
    found = few
    problem, at = found.problem.chain, found.at
    # away from the solution, or there would be nothing to step
    at = type(at)(at.states, at.tau + 1e-5, at.lost, at.shared * 1.01, at.heights + 1e-5, at.brevity)
    system = found.problem.linearized(at)
    by = found.problem.reduced(at, system)
    step = found.problem.step(by, at.shared)
    new = stepped(problem, at, by, step)

    J, r = dense(replace(found, at=at, system=system))
    N, D = B * len(problem.mean), problem.drops
    H, g = J.T @ J, J.T @ r
    H[N + D :, N + D :] += problem.innovations_normal.sum(axis=0) + np.diag(found.problem.prior)
    moved = at.shared - problem.reference
    g[N + D :] += problem.innovations_gradient.sum(axis=0) + problem.innovations_normal.sum(axis=0) @ moved
    g[N + D :] += found.problem.prior * at.shared
    H[range(N, N + D), range(N, N + D)] += 1 / found.problem.tolerances.floor**2
    g[N : N + D] += at.heights / found.problem.tolerances.floor**2
    held = np.diag(H) < 1e-20
    # instants without an impact, and times that were not lost, stay where they are
    H[held, held] = 1.0
    scale = 1 / np.sqrt(np.diag(H))
    dx = -scale * np.linalg.solve(H * np.outer(scale, scale), g * scale)
    std = np.sqrt(np.abs(np.diag(np.linalg.pinv(H[N + D :, N + D :]))))
    np.testing.assert_allclose(step, dx[N + D :], atol=1e-3 * np.max(std), rtol=1e-4)
    np.testing.assert_allclose(new.heights - at.heights, dx[N : N + D], atol=1e-9, rtol=1e-4)
    np.testing.assert_allclose(new.states - at.states, dx[:N].reshape(-1, B)[:, :12], atol=1e-7, rtol=1e-3)


def test_the_gradient_is_that_of_the_cost(fit):
    """By differences of the robust cost along theta, states and instants staying."""
    found = fit
    at = found.at
    stds = found.problem.stds(at)
    at = type(at)(at.states, at.tau, at.lost, at.shared * 1.02, at.heights, at.brevity)
    here = found.problem.linearized(at, stds)
    for j, step in ((0, 1e-9), (1, 1e-8), (7, 1e-9), (9, 1e-9)):
        costs = []
        for sign in (1, -1):
            shared = at.shared.copy()
            shared[j] += sign * step
            new = type(at)(at.states, at.tau, at.lost, shared, at.heights, at.brevity)
            costs.append(found.problem.linearized(new, stds).cost)
        slope = (costs[0] - costs[1]) / (4 * step)
        np.testing.assert_allclose(here.g_theta[:, j], slope, rtol=1e-3, atol=1e-4 * np.max(np.abs(slope)))


def test_the_second_derivative_is_that_of_the_gradient(fit):
    """By differences along theta, states and instants staying: the corner of the curved system."""
    found = fit
    at = found.at
    stds = found.problem.stds(at)
    corner = found.problem.linearized(at, stds, curved=True).corner.sum(axis=0)
    for j, step in ((0, 1e-9), (1, 1e-8), (3, 1e-8)):
        ends = []
        for sign in (1, -1):
            shared = at.shared.copy()
            shared[j] += sign * step
            new = type(at)(at.states, at.tau, at.lost, shared, at.heights, at.brevity)
            ends.append(found.problem.linearized(new, stds).g_theta.sum(axis=0))
        slope = (ends[0] - ends[1]) / (2 * step)
        # residuals are not linear in theta: their own second derivatives, by residuals, are what is left out
        assert corner[j, j] == pytest.approx(slope[j], rel=0.05)


def test_inverse_in_its_band(rng):
    N, w = 12, 4
    L = np.tril(np.triu(rng.normal(size=(N, N)), -(w - 1)))
    L[range(N), range(N)] = 1 + rng.uniform(size=N)
    factor = np.array([np.append(np.diag(L, -i), np.zeros(i)) for i in range(w)])
    inverse = np.linalg.inv(L @ L.T)
    Z = inverse_in_band(factor)
    for i in range(w):
        np.testing.assert_allclose(Z[i, : N - i], np.diag(inverse, -i), rtol=1e-9, atol=1e-12)


def test_leverages_are_those_of_the_dense_problem(few):
    """The diagonal of J H^-1 J^T, with all unknowns and priors in H."""
    found = few
    problem, at = found.problem.chain, found.at
    by = found.problem.reduced(at, found.system)
    share = leverages(problem, found.system, by, found.problem.covariance(by)[0])[found.problem.use]
    assert (share > -1e-9).all()
    assert (share < 1 + 1e-9).all()
    J = dense(found)[0]
    N, D = B * len(problem.mean), problem.drops
    H = J.T @ J
    H[N + D :, N + D :] += problem.innovations_normal.sum(axis=0) + np.diag(found.problem.prior)
    H[range(N, N + D), range(N, N + D)] += 1 / found.problem.tolerances.floor**2
    left_out = np.concatenate([np.diag(H)[: N + D] < 1e-20, ~found.problem.free])
    H[left_out] = H[:, left_out] = 0.0
    H[left_out, left_out] = 1.0
    scale = 1 / np.sqrt(np.diag(H))
    inverse = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
    rows = J[12 * len(problem.mean) : 12 * len(problem.mean) + 5 * len(found.problem.part)]
    expected = np.sum(rows @ inverse * rows, axis=1).reshape(-1, 5)[found.problem.use]
    np.testing.assert_allclose(share, expected, atol=1e-4)


def test_rows_of_theta_follow_the_other_unknowns(fit):
    """What a residual does when theta moves and all else is stepped to its best: by a step of one of them."""
    found = fit
    problem = found.problem
    rows = reduced_derivatives(problem.chain, found.system, found.by)[1]
    direction = np.zeros(len(problem.free))
    direction[1] = 1e-6
    still = replace(
        found.by,
        offset=0 * found.by.offset,
        height_step=0 * found.by.height_step,
    )
    new = stepped(problem.chain, found.at, still, direction)
    change = collisions(problem.chain, new, problem.part).r - found.system.collision.r
    use = problem.turning & (found.system.trust.min(axis=1) > 0.5)
    np.testing.assert_allclose((change / problem.stds(found.at))[use], (rows @ direction)[use], atol=3e-5)


def test_descent_ends_where_no_step_is_left(fit):
    at, _ = fit.problem.minimized(fit.at, enough=1e-8)
    assert at.shared[0] == pytest.approx(fit.inertia_to_mass, rel=1e-3)
