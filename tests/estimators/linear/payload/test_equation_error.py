"""Gains by the equation that is linear in them: the initial guess of output error, and those of benchmarks."""

import sys
from pathlib import Path

import numpy as np
import pytest

from poinsot.estimators.linear.payload.moments import total_moments, whitening
from poinsot.estimators.linear.payload.output_error import gains_by_least_squares
from poinsot.regression.system import reduce
from references.loaded_arm import GAINS, drawn, problem, recorded

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("benchmarks/ is not in source distributions", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))
from support.equation_error import gains_by_total_least_squares  # noqa: E402

FREE = np.ones(4, dtype=bool)
SOME = np.array([True, False, True, True])


def reduced(signals):
    """M, R, and the stacked W (N, n, k), h and y (N, n)."""
    found = problem(signals, held={"mL": 3.0})
    system = reduce(found, 1e-5)
    R = whitening(system)
    rows = list(found.rows())
    W = np.concatenate([each.W for each in rows])
    h = np.concatenate([np.broadcast_to(each.held, each.y.shape) for each in rows])
    return total_moments(found, system.columns, R), R, W, h, np.concatenate([each.y for each in rows]) + h


@pytest.fixture(scope="module")
def noisy():
    return reduced(drawn(3, white=0.05, own=0.02))


def columns(W, h, y, free, weights):
    """[y of each free joint, -W, what has the coefficient 1] of every row, joint after joint."""
    blocks = []
    for j in range(4):
        of_y = np.zeros((len(y), 4))
        of_y[:, j] = y[:, j]
        one = -h[:, j] if free[j] else y[:, j] - h[:, j]
        blocks.append(weights[j] * np.column_stack([of_y[:, free], -W[:, j], one]))
    return np.concatenate(blocks)


@pytest.mark.parametrize("free", [FREE, SOME])
def test_ordinary_is_least_squares_of_the_stacked_rows(noisy, free):
    M, _, W, h, y = noisy
    A = columns(W, h, y, free, np.ones(4))
    expected = np.linalg.lstsq(A[:, :-1], -A[:, -1], rcond=None)[0][: free.sum()]
    kappa = gains_by_least_squares(M, free)
    np.testing.assert_allclose(kappa[free], expected, rtol=1e-8)
    assert np.all(kappa[~free] == 1)


@pytest.mark.parametrize("free", [FREE, SOME])
def test_total_is_the_last_singular_vector_of_the_stacked_rows(noisy, free):
    M, R, W, h, y = noisy
    weights = np.array([1.0, 0.5, 2.0, 3.0])
    A = columns(W, h, y, free, weights)
    norms = np.linalg.norm(A, axis=0)
    x = np.linalg.svd(A / norms)[2][-1] / norms
    np.testing.assert_allclose(
        gains_by_total_least_squares(M, free, R, weights)[free], (x / x[-1])[: free.sum()], rtol=1e-6
    )


def test_without_noise_both_find_the_truth():
    M, R, *_ = reduced([recorded(False), recorded(True)])
    np.testing.assert_allclose(gains_by_least_squares(M, FREE), GAINS, rtol=1e-8)
    np.testing.assert_allclose(gains_by_total_least_squares(M, FREE, R, np.ones(4)), GAINS, rtol=1e-6)


def test_noise_in_the_currents_makes_ordinary_gains_too_small():
    """Four times as much for twice the noise: 3 % at 5 %, 12 % at 10 %. Total least squares is closer, and off too."""
    short = []
    for white in (0.05, 0.1):
        M, R, *_ = reduced(drawn(3, white=white))
        ordinary = gains_by_least_squares(M, FREE) / GAINS
        total = gains_by_total_least_squares(M, FREE, R, np.ones(4)) / GAINS
        assert np.all(ordinary < total) and np.all(total < 1)
        short.append(1 - ordinary)
    np.testing.assert_allclose(short[1] / short[0], 4, atol=0.8)
    assert short[1].min() > 0.09
