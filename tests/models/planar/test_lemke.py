"""Against all complementary bases, on thousands of small problems, degenerate ones among them."""

import itertools

import numpy as np
import pytest

from poinsot.models.planar.impulses import lemke
from references.planar import random_contacts

COUNT = 1000


def positive(rng, n):
    """Positive definite with a skew part, as big: every q has exactly one solution."""
    A, B = rng.standard_normal((2, COUNT, n, n))
    H = A @ np.swapaxes(A, 1, 2) + 0.1 * np.eye(n) + 3 * (B - np.swapaxes(B, 1, 2))
    return H, rng.standard_normal((COUNT, n))


def of_many_sizes(rng, n):
    """The same in units from grams to tons."""
    H, q = positive(rng, n)
    D = 10.0 ** rng.uniform(-3, 3, (COUNT, n))
    return D[:, :, None] * H * D[:, None, :], D * q


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


def frictional(rng, n):
    """One contact with friction up to 2, at rest, sliding, or leaving; n is 4."""
    H, q = np.zeros((COUNT, 4, 4)), np.zeros((COUNT, 4))
    for i in range(COUNT):
        N, T = random_contacts(rng, 1, longest=3.0)
        D = np.vstack([N, T, -T])
        H[i, :3, :3] = D @ D.T
        H[i, 1:3, 3], H[i, 3, 1:3], H[i, 3, 0] = 1.0, -1.0, rng.uniform(0, 2)
        v = rng.standard_normal(3) if rng.random() < 0.7 else -rng.random() * N[0]
        q[i, :3] = D @ v
    return H, q


FAMILIES = {
    "positive": (positive, (1, 3, 5)),
    "of_many_sizes": (of_many_sizes, (3, 5)),
    "tied": (tied, (3, 4, 5)),
    "deficient": (deficient, (3, 4, 5)),
    "frictional": (frictional, (4,)),
}
each_family = pytest.mark.parametrize(
    ("family", "n"), [(family, n) for family, (_, sizes) in FAMILIES.items() for n in sizes]
)


def scaled(H, q):
    """In units in which no z or w is larger than another by the choice of units."""
    diagonal = np.einsum("tii->ti", H)
    D = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return D, D[:, :, None] * H * D[:, None, :], D * q


def solved(H, q):
    z, found = np.empty(q.shape), np.empty(len(q), dtype=bool)
    for i in range(len(q)):
        found[i] = lemke(H[i], q[i], z[i])
    return z, found


def bases(H, q):
    """(T, n, 2^n) z of every complementary basis, NaN where that is no solution."""
    n, found = q.shape[1], []
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


@each_family
def test_every_problem_is_solved(family, n, rng):
    H, q = FAMILIES[family][0](rng, n)
    z, found = solved(H, q)
    assert found.all()
    D, H_, q_ = scaled(H, q)
    z_ = z / D
    w_ = np.einsum("tij,tj->ti", H_, z_) + q_
    # ratios within 1e-9 of q's largest tie, and what is below 0 by that is set to 0, which H_ passes on
    size = np.abs(q_).max(axis=1) * (1 + np.abs(H_).sum(axis=2).max(axis=1))
    assert (np.abs(np.minimum(z_, w_)).max(axis=1) <= 1e-8 * size).all()


@each_family
def test_equals_one_of_all_complementary_bases(family, n, rng):
    H, q = FAMILIES[family][0](rng, n)
    z, _ = solved(H, q)
    D, H_, q_ = scaled(H, q)
    modes = bases(H_, q_)
    assert np.isfinite(modes).all(axis=1).any(axis=1).all(), "the family has solutions"
    off = np.nanmin(np.abs(modes - (z / D)[:, :, None]).max(axis=1), axis=1)
    # 1e-9 of q, times how much H^-1 makes of it
    worst = (
        np.array([1 / np.linalg.svd(each, compute_uv=False)[-1] for each in H_])
        if family != "deficient"
        else 1e3
    )
    assert (off < 1e-8 * (1 + worst) * np.abs(q_).max(axis=1).clip(1e-3)).all()


@pytest.mark.parametrize(("family", "n"), [("frictional", 4), ("deficient", 4)])
def test_equals_the_method_of_maximal_coordinates(family, n, rng):
    jax = pytest.importorskip("jax")
    from poinsot.models.maximal import lcp
    from poinsot.models.maximal.precision import double_precision

    H, q = (each[:200] for each in FAMILIES[family][0](rng, n))
    theirs = double_precision(jax.jit(jax.vmap(lcp.solve)))(H, q)
    ours, _ = solved(H, q)
    unique = np.isfinite(bases(*scaled(H, q)[1:])).all(axis=1).sum(axis=1) == 1
    assert unique.any()
    D = scaled(H, q)[0]
    np.testing.assert_allclose(
        (ours / D)[unique], (np.asarray(theirs.z) / D)[unique], rtol=1e-6, atol=1e-6 * np.abs(D * q).max()
    )


def test_what_has_no_solution_is_said():
    """w = -z - 1 is below 0 for every z."""
    z = np.empty(1)
    assert not lemke(np.array([[-1.0]]), np.array([-1.0]), z)


def test_q_that_is_not_below_0_needs_nothing():
    z = np.ones(3)
    assert lemke(-np.eye(3), np.array([0.0, 1.0, 2.0]), z)
    np.testing.assert_array_equal(z, 0.0)
