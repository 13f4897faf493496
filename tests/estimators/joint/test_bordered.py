import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import nnls

from poinsot.estimators.joint.linearization import NormalEquations, RecordLinearization, factorize
from poinsot.solve.dense import step_in_box


def random_linearization(rng, N, m, d, p, start=True):
    """Blocks of any numbers; the last sample has no step after it."""
    by_next = rng.standard_normal((N, m, d))
    by_next[-1] = 0
    first = (rng.standard_normal(5), rng.standard_normal((5, d)), rng.standard_normal((5, p)))
    return RecordLinearization(
        rng.standard_normal((N, m)), rng.standard_normal((N, m, d)), by_next, rng.standard_normal((N, m, p)),
        first if start else None,
    )  # fmt: skip


def dense(of):
    """J, its columns all states and then theta, and e."""
    N, m, d = of.by_x.shape
    p = of.by_theta.shape[2]
    J = np.zeros((N * m, N * d + p))
    for k in range(N):
        rows = slice(k * m, (k + 1) * m)
        J[rows, k * d : (k + 1) * d] = of.by_x[k]
        J[rows, N * d :] = of.by_theta[k]
        if k + 1 < N:
            J[rows, (k + 1) * d : (k + 2) * d] = of.by_next[k]
    e = of.e.ravel()
    if of.start is not None:
        r, by_x, by_theta = of.start
        between = np.zeros((len(r), (N - 1) * d))
        J, e = np.concatenate([J, np.hstack([by_x, between, by_theta])]), np.concatenate([e, r])
    return J, e


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize(("N", "m", "d", "p"), [(7, 9, 4, 3), (1, 9, 4, 3), (2, 5, 1, 2), (40, 6, 2, 0)])
def test_normal_equations_are_the_dense_ones(N, m, d, p, start, rng):
    of = random_linearization(rng, N, m, d, p, start)
    J, e = dense(of)
    H, g = J.T @ J, J.T @ e
    n, found = N * d, NormalEquations.of(of)
    np.testing.assert_allclose(found.diagonal.ravel(), np.diag(H)[:n], rtol=1e-12)
    np.testing.assert_allclose(found.right.reshape(n, -1), np.column_stack([H[:n, n:], g[:n]]), atol=1e-12)
    np.testing.assert_allclose(found.corner, np.column_stack([H[n:, n:], g[n:]]), atol=1e-12)

    damping = rng.uniform(0.1, 1, n)
    with_damping = H + np.diag(np.concatenate([damping, np.zeros(p)]))
    solved = factorize(found, damping.reshape(N, d))
    T, C = with_damping[:n, :n], H[:n, n:]
    corner, gradient = solved.corner[:, :-1], solved.corner[:, -1]
    np.testing.assert_allclose(corner, H[n:, n:] - C.T @ np.linalg.solve(T, C), atol=1e-9)
    np.testing.assert_allclose(gradient, g[n:] - C.T @ np.linalg.solve(T, g[:n]), atol=1e-9)
    inverse = np.linalg.inv(T)
    own, above = solved.inverse_blocks()
    for k in range(N):
        np.testing.assert_allclose(own[k], inverse[k * d :, k * d :][:d, :d], rtol=1e-9, atol=1e-12)
        next_one = inverse[k * d :, (k + 1) * d :][:d, :d] if k + 1 < N else 0
        np.testing.assert_allclose(above[k], next_one, rtol=1e-9, atol=1e-12)
    if p:
        step = -np.linalg.solve(with_damping, g)
        d_theta = -np.linalg.solve(corner, gradient)
        d_x = solved.states(d_theta)
        np.testing.assert_allclose(np.concatenate([d_x.ravel(), d_theta]), step, atol=1e-9)
        decrease = found.decrease(d_x, d_theta, damping.reshape(N, d))
        assert decrease == pytest.approx(-2 * g @ step - step @ H @ step, rel=1e-9)


def test_a_state_that_nothing_shows_is_an_error_of_the_factor_or_stays(rng):
    """With damping it does not move; without any, at least the numbers stay finite."""
    of = random_linearization(rng, 5, 6, 3, 2, False)
    of.by_x[:, :, 1], of.by_next[:, :, 1] = 0, 0
    part = NormalEquations.of(of)
    step = factorize(part, 1e-6 * part.diagonal).states(np.ones(2))
    assert np.isfinite(step).all()
    np.testing.assert_array_equal(step[:, 1], 0)


def bounded(S, g, lower, upper):
    """The same by nonnegative least squares, for finite lower bounds: d = lower + a, a + b = width, a, b >= 0."""
    L = np.linalg.cholesky(S)
    p, width = len(g), upper - lower
    target = -linalg.solve_triangular(L, g + S @ lower, lower=True)
    heavy = 1e5
    A = np.block([[L.T, np.zeros((p, p))], [heavy * np.eye(p), heavy * np.eye(p)]])
    return lower + nnls(A, np.concatenate([target, heavy * width]))[0][:p]


@pytest.mark.parametrize("p", [1, 2, 5, 13])
def test_steps_in_a_box_are_optimal(p, rng):
    """Of a strictly convex problem the point where the conditions of optimality hold is the only one.

    Gradients are compared with those that terms of the sum S d + g have at rounding, 1e-10 of them; parameters are of
    units from 1e-4 to 1e4.
    """
    active = np.zeros(3, dtype=int)
    for trial in range(150):
        units = 10 ** rng.uniform(-4, 4, p)
        A = rng.standard_normal((p + 2, p)) * 10 ** rng.uniform(-1.5, 1.5, p + 2)[:, None]
        S, g = (A.T @ A) * units[:, None] * units, rng.standard_normal(p) * units
        size = np.abs(np.linalg.solve(S, g))
        lower = -size * 10 ** rng.uniform(-2, 1, p)
        upper = size * 10 ** rng.uniform(-2, 1, p)
        lower[rng.random(p) < 0.2], upper[rng.random(p) < 0.2] = -np.inf, np.inf
        lower[rng.random(p) < 0.2] = 0.0  # the bound where the iteration stands
        closed = rng.random(p) < 0.1
        lower[closed] = upper[closed] = 0.0
        d = step_in_box(S, g, lower, upper)
        assert (lower <= d).all() and (d <= upper).all()
        slope, scale = S @ d + g, 1e-9 * (np.abs(S) @ np.abs(d) + np.abs(g))
        closed = lower == upper  # whatever the slope
        at_lower, at_upper = (d <= lower) & ~closed, (d >= upper) & ~closed
        between = ~at_lower & ~at_upper & ~closed
        assert (np.abs(slope)[between] <= scale[between]).all(), trial
        assert (slope >= -scale)[at_lower].all(), trial
        assert (slope <= scale)[at_upper].all(), trial
        active += [at_lower.sum(), at_upper.sum(), between.sum()]
    assert (active > 20).all()


def test_steps_in_a_box_are_those_of_nonnegative_least_squares(rng):
    for _ in range(200):
        A = rng.standard_normal((8, 6))
        S, g = A.T @ A, rng.standard_normal(6)
        lower, upper = -rng.uniform(0, 1, 6), rng.uniform(0, 1, 6)
        # the weight of a + b = width leaves 1e-10 of the gradient
        np.testing.assert_allclose(step_in_box(S, g, lower, upper), bounded(S, g, lower, upper), atol=1e-7)


@pytest.mark.parametrize(
    "S", [np.diag([1.0, -1e-9]), np.diag([1.0, 0.0]), np.ones((2, 2)) - np.diag([0, 1e-9])]
)
def test_what_rounding_made_indefinite_is_told_as_such(S):
    """So that the iteration damps more."""
    with pytest.raises(np.linalg.LinAlgError):
        step_in_box(S, np.ones(2), np.full(2, -np.inf), np.full(2, np.inf))


def test_boxes_without_room():
    S, g = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 1.0])
    zero, free = np.zeros(1), np.full(1, np.inf)
    held = step_in_box(S, g, np.append(zero, -free), np.append(zero, free))
    np.testing.assert_allclose(held, [0, -0.5], atol=1e-14)
    np.testing.assert_array_equal(step_in_box(S, g, np.zeros(2), np.zeros(2)), 0)
    assert len(step_in_box(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))) == 0
