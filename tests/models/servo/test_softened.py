"""The smooth Huber loss of residuals against its formula and finite differences."""

import numpy as np

from poinsot.estimators.servo.search import softened


def test_the_loss_is_quadratic_for_small_and_linear_for_large_residuals():
    c, r = 1.345, np.linspace(-20.0, 20.0, 401)
    s, slope = softened(r, c)
    np.testing.assert_allclose(0.5 * s**2, c**2 * (np.sqrt(1 + (r / c) ** 2) - 1), atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(slope, (softened(r + h, c)[0] - softened(r - h, c)[0]) / (2 * h), atol=1e-8)
    np.testing.assert_array_equal(np.sign(s), np.sign(r))


def test_an_infinite_constant_changes_nothing():
    r = np.array([-3.0, 0.0, 50.0])
    s, slope = softened(r, np.inf)
    np.testing.assert_array_equal(s, r)
    np.testing.assert_array_equal(slope, 1.0)
