"""Tails of the chi-square distribution: SciPy's, and what is known in closed form."""

import math

import numpy as np
import pytest
from scipy import special

from poinsot.distributions import chi_square_quantile, chi_square_tail

DEGREES = (0.5, 1, 1.7, 2, 3, 12.6, 20, 57, 400, 3000)


@pytest.mark.parametrize("degrees", DEGREES)
def test_tails_are_scipys(degrees):
    x = degrees * np.array([0, 1e-3, 0.1, 0.5, 0.9, 1, 1.1, 1.5, 3, 10])
    found = [chi_square_tail(degrees, float(each)) for each in x]
    # exp(-x/2 + ...) of exponents up to 10^4 loses four digits of sixteen
    np.testing.assert_allclose(found, special.chdtrc(degrees, x), rtol=1e-11, atol=1e-300)


def test_two_degrees_are_an_exponential():
    for x in (0.1, 1.0, 7.0, 100.0, 1e4):
        assert chi_square_tail(2, x) == pytest.approx(math.exp(-x / 2), rel=1e-12)


def test_extremes():
    assert chi_square_tail(3, -1.0) == chi_square_tail(3, 0.0) == 1
    assert chi_square_tail(3, math.inf) == 0


@pytest.mark.parametrize("degrees", DEGREES)
def test_quantiles_are_scipys(degrees):
    for tail in (0.999, 0.9, 0.5, 0.05, 1e-5, 1e-12):
        found = chi_square_quantile(degrees, tail)
        assert found == pytest.approx(special.chdtri(degrees, tail), rel=1e-9)
        assert chi_square_tail(degrees, found) == pytest.approx(tail, rel=1e-9)
