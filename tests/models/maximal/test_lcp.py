import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from poinsot.models.maximal import lcp
from poinsot.models.maximal.precision import double_precision

COUNT = 1500
SOLVE = jax.jit(jax.vmap(lcp.solve))  # compiled once for each n


def positive(rng, n):
    """Positive definite with a skew part, as big: every q has exactly one solution."""
    A = rng.standard_normal((COUNT, n, n))
    B = rng.standard_normal((COUNT, n, n))
    H = A @ np.swapaxes(A, 1, 2) + 0.1 * np.eye(n) + 3 * (B - np.swapaxes(B, 1, 2))
    return H, rng.standard_normal((COUNT, n))


def tied(rng, n):
    """Small integers: ratios tie, and solutions have z_i = w_i = 0."""
    A = rng.integers(-1, 2, (COUNT, n, n)).astype(float)
    return A @ np.swapaxes(A, 1, 2) + np.eye(n), rng.integers(-2, 2, (COUNT, n)).astype(float)


def deficient(rng, n):
    """Positive semidefinite of half the rank, with a q that some z answers: solutions, but not only one."""
    A = rng.integers(-2, 3, (COUNT, n, (n + 1) // 2)).astype(float)
    H = A @ np.swapaxes(A, 1, 2)
    z = np.maximum(rng.integers(-2, 3, (COUNT, n)), 0.0)
    w = np.where(z > 0, 0.0, np.maximum(rng.integers(-1, 3, (COUNT, n)), 0.0))
    return H, w - np.einsum("tij,tj->ti", H, z)


def box_friction(rng, n):
    """A normal impulse and box friction in one direction (seed 000, 2.24), with bodies light and heavy; n is 4."""
    G = rng.standard_normal((COUNT, 2, 3)) * 10.0 ** rng.uniform(-1, 1, (COUNT, 1, 1))
    S = G @ np.swapaxes(G, 1, 2)
    mu = rng.uniform(0, 2, COUNT)
    H = np.zeros((COUNT, 4, 4))
    rows = np.stack([G[:, 0], G[:, 1], -G[:, 1]], axis=1)
    H[:, :3, :3] = rows @ np.swapaxes(rows, 1, 2) + 1e-6 * np.max(S, axis=(1, 2))[:, None, None] * np.eye(3)
    H[:, 1:3, 3], H[:, 3, 1:3], H[:, 3, 0] = 1.0, -1.0, mu
    q = np.einsum("tij,tj->ti", rows, rng.standard_normal((COUNT, 3)))
    return H, np.concatenate([q, np.where(rng.random(COUNT) < 0.5, 0.1, 0.0)[:, None]], axis=1)


FAMILIES = {
    "positive": (positive, (1, 3, 4)),
    "tied": (tied, (3, 4, 5)),
    "deficient": (deficient, (3, 4)),
    "box_friction": (box_friction, (4,)),
}


def enumerated(H, q):
    """(T, n, modes) z of every active set, NaN where that is no solution."""
    n = q.shape[1]
    found = []
    for active in itertools.product((False, True), repeat=n):
        active = np.array(active)
        both = active[:, None] & active
        A = np.where(both, H, np.diag(np.where(active, 0.0, 1.0)))
        singular = np.abs(np.linalg.det(A)) <= 1e-12 * np.prod(np.linalg.norm(A, axis=2), axis=1)
        A[singular] = np.eye(n)
        z = np.linalg.solve(A, np.where(active, -q, 0.0)[..., None])[..., 0]
        w = np.einsum("tij,tj->ti", H, z) + q
        # 1e-9 of the terms that each is the sum of: rounding of 5 x 5 systems, condition numbers below 1e6
        size_w = np.einsum("tij,tj->ti", np.abs(H), np.abs(z)) + np.abs(q)
        size_w += 1e-3 * size_w.max(axis=1, keepdims=True)  # a bound of no load is a sum of nothing
        bad = (z < -1e-9 * np.abs(z).max(axis=1, keepdims=True, initial=1e-300)) | (w < -1e-9 * size_w)
        z[bad.any(axis=1) | singular] = np.nan
        found.append(z)
    return np.stack(found, axis=-1)


@double_precision
def solved(H, q):
    return jax.tree.map(np.asarray, SOLVE(H, q))


@pytest.mark.parametrize(("family", "n"), [(f, n) for f, (_, sizes) in FAMILIES.items() for n in sizes])
def test_equals_the_enumeration_of_modes(family, n, rng):
    H, q = FAMILIES[family][0](rng, n)
    solution = solved(H, q)
    modes = enumerated(H, q)
    assert np.isfinite(modes).all(axis=1).any(axis=1).all(), "the family has solutions"
    assert (solution.method != lcp.FAILED).all()
    assert (solution.method == lcp.LEMKE).any()
    assert (solution.residual <= lcp.RELATIVE_TOLERANCE).all()
    if family != "deficient":  # there, other modes solve it too
        error = np.nanmin(np.abs(modes - solution.z[..., None]).max(axis=1), axis=1)
        size = np.abs(solution.z).max(axis=1)
        assert (error <= 1e-8 * np.maximum(size, 1e-12)).all()
    w = np.einsum("tij,tj->ti", H, solution.z) + q
    size = (np.einsum("tij,tj->ti", np.abs(H), solution.z) + np.abs(q)).max(axis=1, keepdims=True)
    assert (solution.z >= 0).all()
    assert (w >= -1e-8 * size).all()
    assert (np.where(solution.z > 0, np.abs(w), 0.0) <= 1e-8 * size).all()


def test_lexicographic_pivots_end_where_ties_would_cycle():
    """Wolfe's and Kostreva's kind of example: ties in every ratio. Every sum of ranks-one of +-1 with q of 0 and -1."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=4)))
    H = np.stack([np.outer(a, a) + np.outer(b, b) + 0.5 * np.eye(4) for a in signs for b in signs])
    q = -np.tile(np.array([1.0, 1.0, 0.0, 0.0]), (len(H), 1))
    solution = solved(H, q)
    assert (solution.method == lcp.LEMKE).all()
    assert solution.pivots.max() <= 16


def test_newton_takes_over_where_lemke_ends_on_a_ray(rng):
    """Of indefinite matrices some make Lemke's method end on a ray though there is a solution; and it is said."""
    n = 4
    H = rng.standard_normal((COUNT, n, n))
    z = np.maximum(rng.standard_normal((COUNT, n)), 0)
    w = np.where(z > 0, 0.0, np.abs(rng.standard_normal((COUNT, n))))
    q = w - np.einsum("tij,tj->ti", H, z)
    solution = solved(H, q)
    counts = np.bincount(solution.method, minlength=4)
    assert counts[lcp.NEWTON] > 50
    assert counts[lcp.LEMKE] > 500
    good = solution.method != lcp.FAILED
    w = np.einsum("tij,tj->ti", H, solution.z) + q
    size = (np.einsum("tij,tj->ti", np.abs(H), solution.z) + np.abs(q)).max(axis=1)
    natural = np.abs(np.minimum(w, solution.z)).max(axis=1)
    assert (natural[good] <= 1e-7 * np.maximum(size, np.abs(solution.z).max(axis=1))[good]).all()
    assert (solution.residual[~good] > lcp.RELATIVE_TOLERANCE).all(), "a failure shows"


def test_newton_alone_solves_what_lemke_solves(rng):
    """The fallback is no worse on the matrices of friction, from z = 0."""
    H, q = box_friction(rng, 4)
    scale = np.abs(H).max(axis=2) ** -0.5
    H, q = scale[:, :, None] * H * scale[:, None, :], scale * q

    @double_precision
    def alone():
        start = jnp.zeros(4)
        newton = jax.vmap(lambda H, q: lcp.projected_newton(H, q, start, jnp.asarray(True)))
        return np.asarray(jax.jit(newton)(H, q))

    z = alone()
    natural = np.abs(np.minimum(z, np.einsum("tij,tj->ti", H, z) + q)).max(axis=1)
    assert (natural <= 1e-9 * np.abs(q).max(axis=1)).mean() > 0.97


def test_no_solution_is_a_failure_that_shows():
    solution = solved(np.array([[[-1.0]]]), np.array([[-1.0]]))
    assert solution.method[0] == lcp.FAILED
    assert solution.residual[0] > 0.1


def test_tangents_are_those_of_finite_differences(rng):
    n = 4
    H, q = positive(rng, n)
    H_dot, q_dot = rng.standard_normal(H.shape), rng.standard_normal(q.shape)

    @double_precision
    def tangent():
        def one(H, q, H_dot, q_dot):
            return jax.jvp(lambda H, q: lcp.solve(H, q).z, (H, q), (H_dot, q_dot))

        return [np.asarray(part) for part in jax.jit(jax.vmap(one))(H, q, H_dot, q_dot)]

    z, z_dot = tangent()
    step = 1e-6
    ends = [solved(H + s * H_dot, q + s * q_dot).z for s in (step, -step)]
    w = np.einsum("tij,tj->ti", H, z) + q
    smooth = (np.maximum(z, w) > 1e-3).all(axis=1)  # away from the kinks
    assert smooth.mean() > 0.9
    difference = (ends[0] - ends[1]) / (2 * step)
    size = np.abs(z_dot).max(axis=1, keepdims=True) + 1
    # central differences: 1e-16 / 1e-6 of z, times the condition of H_aa (below 1e3)
    assert (np.abs(difference - z_dot) / size)[smooth].max() < 1e-6


def test_gradients_flow_backwards_too():
    H, q = np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([-1.0, 3.0])

    @double_precision
    def gradient():
        return np.asarray(jax.jit(jax.grad(lambda q: lcp.solve(jnp.asarray(H), q).z.sum()))(q))

    np.testing.assert_allclose(gradient(), [-0.5, 0.0])
