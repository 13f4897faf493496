import itertools
from functools import partial

import jax
import numpy as np
import pytest

from poinsot.models.maximal import lcp, mixed_lcp
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
    one = partial(mixed_lcp.solve, blocks=blocks, unilateral=unilateral)
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
    sizes = (2, 3, 2)
    S, _ = problem(rng, sizes[:2], sizes[2])

    @double_precision
    def factors():
        L, D = mixed_lcp.block_ldl(jax.numpy.asarray(S), sizes)
        return [[np.asarray(part) for part in row] for row in L], [np.asarray(part) for part in D]

    L, D = factors()
    whole = np.eye(7)
    ends = np.cumsum((0, *sizes))
    for i in range(3):
        for j in range(i):
            whole[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = L[i][j]
    diagonal = np.zeros((7, 7))
    for k in range(3):
        diagonal[ends[k] : ends[k + 1], ends[k] : ends[k + 1]] = D[k]
    np.testing.assert_allclose(whole @ diagonal @ whole.T, S, atol=1e-12)
