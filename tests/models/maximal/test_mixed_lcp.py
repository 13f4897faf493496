import itertools
from functools import partial

import jax
import numpy as np
import pytest

from poinsot.models.maximal import lcp
from poinsot.models.maximal.precision import double_precision


def problem(rng, blocks, unilateral):
    n = sum(blocks) + unilateral
    A = rng.standard_normal((n, n))
    S = A @ A.T + 0.1 * np.eye(n)
    if unilateral:
        B = rng.standard_normal((unilateral, unilateral))
        S[-unilateral:, -unilateral:] += B - B.T
    return S, rng.standard_normal(n)


@double_precision
def solved(S, b, blocks, unilateral):
    one = partial(lcp.solve_mixed, blocks=blocks, unilateral=unilateral)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(S, b))


@pytest.mark.parametrize(("blocks", "unilateral"), [((3,), 0), ((2, 1, 3), 0), ((5, 5), 3), ((), 3)])
def test_equals_the_enumeration_of_modes(blocks, unilateral, rng):
    a = sum(blocks)
    S, b = (
        np.array(part) for part in zip(*(problem(rng, blocks, unilateral) for _ in range(50)), strict=True)
    )
    impulses, solution = solved(S, b, blocks, unilateral)
    assert (solution.method != lcp.FAILED).all()
    for S_k, b_k, impulses_k in zip(S, b, impulses, strict=True):
        found = []
        for active in itertools.product((False, True), repeat=unilateral):
            mode = np.array([*(True,) * a, *active], dtype=bool)
            candidate = np.zeros(a + unilateral)
            candidate[mode] = np.linalg.solve(S_k[np.ix_(mode, mode)], -b_k[mode])
            w = S_k @ candidate + b_k
            if (candidate[a:] >= -1e-12).all() and (w[a:] >= -1e-12).all():
                found.append(candidate)
        assert len(found) == 1
        np.testing.assert_allclose(impulses_k, found[0], atol=1e-9)


def test_factors_are_those_of_s(rng):
    """S = L D L^T, put together again; the last block is not symmetric."""
    sizes = (2, 3, 2)
    S, _ = problem(rng, sizes[:2], sizes[2])

    @double_precision
    def factors():
        return jax.tree.map(np.asarray, lcp.block_ldl(jax.numpy.asarray(S), sizes[:2]))

    columns, roots, last = factors()
    L, D = np.eye(7), np.zeros((7, 7))
    L[2:, :2], L[5:, 2:5] = columns
    D[:2, :2], D[2:5, 2:5] = (root @ root.T for root in roots)
    D[5:, 5:] = last
    np.testing.assert_allclose(L @ D @ L.T, S, atol=1e-12)
    assert np.abs(last - last.T).max() > 0.1
