"""Derivatives of the toys, and of what is made of them, against finite differences."""

import numpy as np
import pytest

from estimators.shooting.toys import FlatSpace, pendulum_problem, tumbling_problem
from poinsot.estimators.shooting.direction import linearized, linearized_arrival
from poinsot.estimators.shooting.problem import GaussianPrior
from poinsot.estimators.shooting.rollout import STRETCH, stretches

EPS = 1e-6

PROBLEMS = {
    "pendulum": lambda rng: pendulum_problem(rng, N=9, resets=(4,)),
    "tumbling body": lambda rng: tumbling_problem(rng, N=9),
}


@pytest.fixture(params=PROBLEMS.values(), ids=PROBLEMS.keys())
def somewhere(request, rng):
    """A motion, and states, noise and theta off any solution: gaps are wide open."""
    problem, guess, _ = request.param(rng)
    motion = problem.models[0]
    n, T = motion.manifold.degrees, motion.stages
    x = motion.manifold.integrate(guess.x[0], 0.3 * rng.standard_normal((T + 1, n)))
    w = 0.1 * rng.standard_normal(guess.w[0].shape)
    return motion, x, w, guess.theta + 0.2 * rng.standard_normal(3)


def central(f, size):
    """d f / d change, change of `size` numbers, last axis."""
    columns = []
    for i in range(size):
        d = np.zeros(size)
        d[i] = EPS
        columns.append((f(d) - f(-d)) / (2 * EPS))
    return np.stack(columns, axis=-1)


def test_dynamics_across_a_gap(somewhere):
    """A, B, C are what the next state must change by to keep the gap as it is."""
    motion, x, w, theta = somewhere
    manifold, n, m = motion.manifold, motion.manifold.degrees, w.shape[1]
    stages = linearized(motion, x, w, theta, 0)
    by_next = manifold.difference_jacobians(x[1:], motion.evaluate(0, x[:-1], w, theta)[0])[0]

    def gap(dx=0.0, dw=0.0, dtheta=0.0):
        here = manifold.integrate(x[:-1], np.broadcast_to(dx, (len(w), n)))
        return manifold.difference(x[1:], motion.evaluate(0, here, w + dw, theta + dtheta)[0])

    np.testing.assert_allclose(stages.gap, gap(), atol=1e-14)
    assert np.abs(stages.gap).max() > 0.1
    for block, found in (
        (stages.A, central(lambda d: gap(dx=d), n)),
        (stages.B, central(lambda d: gap(dw=d), m)),
        (stages.C, central(lambda d: gap(dtheta=d), 3)),
    ):
        np.testing.assert_allclose(-by_next @ block, found, atol=1e-7)
    # and the next state does just that
    d = np.full((1, n), 1e-4)
    moved = motion.evaluate(0, manifold.integrate(x[:1], d), w[:1], theta)[0]
    left = manifold.difference(manifold.integrate(x[1:2], d @ stages.A[0].T), moved)
    np.testing.assert_allclose(left, stages.gap[:1], atol=1e-6)


def test_difference_jacobians(somewhere, rng):
    motion, x, *_ = somewhere
    manifold, n = motion.manifold, motion.manifold.degrees
    a, b = x[:-1], x[1:]
    by_a, by_b = manifold.difference_jacobians(a, b)

    def moved(da=0.0, db=0.0):
        first = manifold.integrate(a, np.broadcast_to(da, (len(a), n)))
        return manifold.difference(first, manifold.integrate(b, np.broadcast_to(db, (len(b), n))))

    np.testing.assert_allclose(by_a, central(lambda d: moved(da=d), n), atol=1e-8)
    np.testing.assert_allclose(by_b, central(lambda d: moved(db=d), n), atol=1e-8)
    d = rng.standard_normal((len(a), n))
    np.testing.assert_allclose(manifold.difference(a, manifold.integrate(a, d)), d, atol=1e-12)


def test_flat_spaces_carry_changes_as_they_are(rng):
    flat = FlatSpace(3)
    x, y, change = rng.standard_normal((3, 5, 3))
    assert flat.degrees == 3
    assert flat.carry(x, y, change[:, :, None])[0] is not None
    np.testing.assert_array_equal(flat.carry(x, y, change[:, :, None])[0], change[:, :, None])
    np.testing.assert_allclose(super(FlatSpace, flat).carry(x, y, change[:, :, None])[0], change[:, :, None])


def test_cost_to_second_order(somewhere):
    """l and L of the residuals and of w, from residuals and their differences."""
    motion, x, w, theta = somewhere
    manifold, n, m = motion.manifold, motion.manifold.degrees, w.shape[1]
    stages = linearized(motion, x, w, theta, 0)

    def residuals(d):
        here = manifold.integrate(x[:-1], np.broadcast_to(d[:n], (len(w), n)))
        moved = w + d[n : n + m]
        r = motion.evaluate(0, here, moved, theta + d[n + m :])[1]
        return np.concatenate([r, np.where(motion.noisy[:, None], moved / motion.noise_std, 0.0)], axis=1)

    J, r = central(residuals, n + m + 3), residuals(np.zeros(n + m + 3))
    L, l = np.einsum("tri,trj->tij", J, J), np.einsum("tri,tr->ti", J, r)
    size = {"rtol": 1e-6, "atol": 1e-6 * np.abs(L).max()}
    for found, block in (
        (stages.L_xx, L[:, :n, :n]), (stages.L_xw, L[:, :n, n : n + m]), (stages.L_xt, L[:, :n, n + m :]),
        (stages.L_ww, L[:, n : n + m, n : n + m]), (stages.L_wt, L[:, n : n + m, n + m :]),
        (stages.L_tt, L[:, n + m :, n + m :].sum(axis=0)),
        (stages.l_x, l[:, :n]), (stages.l_w, l[:, n : n + m]), (stages.l_t, l[:, n + m :].sum(axis=0)),
    ):  # fmt: skip
        np.testing.assert_allclose(found, block, **size)


def test_arrival_cost(somewhere, rng):
    motion, x, *_ = somewhere
    manifold, n = motion.manifold, motion.manifold.degrees
    J = rng.standard_normal((n, n))
    p, off = 2, rng.standard_normal(2)
    X = rng.standard_normal((n, p))
    known = GaussianPrior(x[1], J.T @ J, J.T @ X)

    def offset(d):
        return J @ manifold.difference(x[1:2], manifold.integrate(x[:1], d[None]))[0]

    arrival = linearized_arrival(motion, known, x[0], off)
    K = central(offset, n)
    for found, block in (
        (arrival.V_xx, K.T @ K), (arrival.V_xt, K.T @ X), (arrival.V_x, K.T @ (offset(np.zeros(n)) + X @ off)),
        (arrival.V_t, X.T @ offset(np.zeros(n))),
    ):  # fmt: skip
        np.testing.assert_allclose(found, block, rtol=1e-6, atol=1e-6)


def test_stretches_cover_a_recording(rng):
    for N in (1, STRETCH - 1, STRETCH, STRETCH + 1, 5 * STRETCH + 7):
        motion = pendulum_problem(rng, N=N)[0].models[0]
        ends = stretches(motion)
        assert [first for first, _ in ends] == [0, *(last for _, last in ends[:-1])]
        assert ends[-1][1] == N
        assert max(last - first for first, last in ends) <= STRETCH
