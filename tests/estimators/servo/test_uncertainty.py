"""Covariances against dense sums and simulated truth."""

import numpy as np
import pytest
from scipy.signal import lfilter

from poinsot.estimators.servo.intervals import coloured_covariance, rounding_products
from poinsot.statistics import grid_step


def regressor(rng, N=1500):
    """Slow columns, as those of a motion."""
    time = np.arange(N)
    return np.stack(
        [np.sin(2 * np.pi * time / 300), np.ones(N), np.sign(np.sin(2 * np.pi * time / 170))], axis=1
    )


@pytest.mark.parametrize("pole", [0.0, 0.8, 0.95])
def test_intervals_of_coloured_residuals_hold(pole):
    rng = np.random.default_rng(3)
    J, inside, white_inside = regressor(rng), [], []
    for _ in range(300):
        e = lfilter([1.0], [1.0, -pole], rng.standard_normal(len(J) + 200))[200:]
        x = np.linalg.lstsq(J, e, rcond=None)[0]
        coloured, white = coloured_covariance([J], [e - J @ x], np.zeros((3, 3)))
        inside.append(np.abs(x) < 1.96 * np.sqrt(np.diag(coloured)))
        white_inside.append(np.abs(x) < 1.96 * np.sqrt(np.diag(white)))
    # 900 intervals that are not independent: a standard deviation of about 1 %
    assert 0.91 < np.mean(inside) < 0.985
    if pole > 0.9:
        assert np.mean(white_inside) < 0.6


def test_middle_is_the_dense_double_sum():
    rng = np.random.default_rng(1)
    J, e = regressor(rng, 400), rng.standard_normal(400)
    e = lfilter([1.0], [1.0, -0.7], e)
    prior = np.diag([0.0, 2.0, 0.0])
    parts = [J[:150], J[150:]], [e[:150], e[150:]]
    whole = coloured_covariance(*parts, prior, 3.0)[0]
    H = J.T @ J + prior
    M = H @ whole @ H - 3.0 * prior
    # a middle is quadratic in the residuals and positive
    assert np.linalg.eigvalsh(M)[0] > 0
    doubled = (
        H @ coloured_covariance(parts[0], [2 * each for each in parts[1]], prior, 3.0)[0] @ H - 3.0 * prior
    )
    np.testing.assert_allclose(doubled, 4 * M, rtol=1e-8)


def test_rounding_is_found():
    rng = np.random.default_rng(0)
    smooth = np.cumsum(rng.standard_normal(2000)) * 1e-3
    assert grid_step(smooth) == 0.0
    assert grid_step(np.full(10, 0.3)) == 0.0
    assert grid_step(np.round(smooth / 1.534e-3) * 1.534e-3) == pytest.approx(1.534e-3, rel=1e-6)


@pytest.mark.parametrize("dither", [0.1, 0.3])
def test_rounding_at_rest_is_no_more_certain_than_its_bias(dither):
    rng, step, N = np.random.default_rng(5), 1.0, 400
    errors, variances = [], []
    for _ in range(400):
        # four stays, of which the mean is estimated
        rest = np.repeat(rng.uniform(0, 100, 4), N // 4)
        e = np.round((rest + dither * rng.standard_normal(N)) / step) * step - rest
        rms = float(np.sqrt(np.mean(e**2)))
        M = N * rms**2 + rounding_products(np.ones((N, 1)), rest, step, rms, 1.0)[0, 0]
        errors.append(e.mean())
        variances.append(M / N**2)
    ratio = np.mean(np.square(errors)) / np.mean(variances)
    # the first harmonic alone, and noise that is told from rounding by the sum of their variances
    assert 0.6 < ratio < 1.4
