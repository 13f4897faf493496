"""The wall's unevenness against SciPy's smoothing, and that it has neither height nor slope."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from poinsot.estimators.impacts.collisions import unevenness

WALL = unevenness(-0.7, -0.1, 0.02)


def test_slopes_are_those_of_the_curves(rng):
    s = rng.uniform(-0.69, -0.11, 20)
    h = 1e-6
    np.testing.assert_allclose(
        WALL.at(s)[1], (WALL.at(s + h)[0] - WALL.at(s - h)[0]) / (2 * h), rtol=1e-5, atol=1e-3
    )


def test_it_goes_on_flat_beyond_the_last_knots():
    values, slopes = WALL.at(np.array([-2.0, -0.7, -0.1, 3.0]))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    np.testing.assert_allclose(values[3], values[2], rtol=1e-12, atol=1e-13)
    assert not slopes[[0, 3]].any()


def test_coefficients_have_neither_height_nor_slope():
    """Those are the floor's own: a spline of coefficients on a line is that line."""
    n = len(WALL.modes)
    np.testing.assert_allclose(np.ones(n) @ WALL.modes, 0, atol=1e-8)
    np.testing.assert_allclose(np.arange(n) @ WALL.modes, 0, atol=1e-7)


def test_second_differences_are_independent_and_alike():
    D = np.diff(np.eye(len(WALL.modes)), 2, axis=0) @ WALL.modes
    np.testing.assert_allclose(D @ D.T, np.eye(len(D)), atol=1e-9)


def test_what_is_found_of_it_is_a_smoothing_spline(rng):
    """The least of |y - a - b s - f|^2 / sigma^2 + |z|^2 / q^2 and SciPy's of |y - f|^2 + lam int f''^2, where f has
    second differences f'' spacing^2: lam = sigma^2 / q^2 spacing^3. Knots here, one at each reading there."""
    spacing, sigma, q = 0.6 / 30, 1e-4, 1e-4
    wall = unevenness(-0.7, -0.1, spacing)
    s = np.linspace(-0.7, -0.1, 241)
    y = 1e-3 * np.sin(9 * s) + sigma * rng.normal(size=len(s))
    A = np.column_stack([np.ones(len(s)), s, wall.at(s)[0]])
    prior = np.append([0.0, 0.0], np.full(wall.modes.shape[1], (sigma / q) ** 2))
    found = A @ np.linalg.solve(A.T @ A + np.diag(prior), A.T @ y)
    expected = make_smoothing_spline(s, y, lam=(sigma / q) ** 2 * spacing**3)(s)
    assert np.abs(found - expected).max() < 0.1 * sigma


@pytest.mark.parametrize("spacing", [10.0, 0.3])
def test_a_short_wall_has_knots_too(spacing):
    assert unevenness(0.0, 0.1, spacing).modes.shape[1] == 3
