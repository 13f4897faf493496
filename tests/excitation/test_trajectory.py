"""Motions rest at both ends whatever their coefficients, and their derivatives are their own."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidMethod
from poinsot.excitation.trajectory import FourierSeries, QuinticSplines, sample_times

BASES = [
    FourierSeries(2),
    FourierSeries(5),
    FourierSeries(9),
    QuinticSplines(2),
    QuinticSplines(7),
    QuinticSplines(12),
]
each_basis = pytest.mark.parametrize("basis", BASES, ids=repr)
DURATION = 7.3


@each_basis
def test_every_motion_goes_from_rest_to_rest(basis, rng):
    c = rng.standard_normal((basis.size, 3))
    q, v, a = basis.at(np.array([0.0, DURATION]), DURATION) @ c
    # derivatives of the fastest function are about (2 pi detail / T)^2 |c| = 70 |c|, times rounding
    assert np.abs(v).max() < 1e-12
    assert np.abs(a).max() < 1e-11
    assert np.allclose(q[0], c[0], rtol=0, atol=1e-14)  # the first coefficient is the start posture


@each_basis
def test_derivatives_are_derivatives(basis, rng):
    c = rng.standard_normal((basis.size, 2))
    h = 1e-5
    t = rng.uniform(2 * h, DURATION - 2 * h, 40)
    _, v, a = basis.at(t, DURATION) @ c
    ahead, behind = basis.at(t + h, DURATION) @ c, basis.at(t - h, DURATION) @ c
    # h^2 f''' / 6 with f''' up to (2 pi 9 / 7.3)^3 |q|, and rounding 1e-15 / h
    assert np.abs((ahead[0] - behind[0]) / (2 * h) - v).max() < 1e-6
    assert np.abs((ahead[1] - behind[1]) / (2 * h) - a).max() < 1e-5


@each_basis
def test_the_functions_are_independent_and_as_many_as_rest_leaves(basis):
    t = np.linspace(0, DURATION, 500)
    assert np.linalg.matrix_rank(basis.at(t, DURATION)[0]) == basis.size
    # two conditions on 2 H + 1 Fourier coefficients, four on K + 5 splines
    expected = 2 * basis.harmonics - 1 if isinstance(basis, FourierSeries) else basis.intervals + 1
    assert basis.size == expected


def test_fourier_series_return_and_splines_need_not(rng):
    ends = np.array([0.0, DURATION])
    q, _, _ = FourierSeries(4).at(ends, DURATION) @ rng.standard_normal((7, 1))
    assert np.isclose(q[0], q[1])
    q, _, _ = QuinticSplines(4).at(ends, DURATION) @ rng.standard_normal((5, 1))
    assert not np.isclose(q[0], q[1])


@each_basis
def test_after_the_end_it_stays(basis, rng):
    c = rng.standard_normal((basis.size, 1))
    late = basis.at(np.array([DURATION, DURATION + 1.0]), DURATION) @ c
    assert np.array_equal(late[:, 0], late[:, 1])


def test_samples_reach_the_end():
    assert np.allclose(sample_times(1.0, 4.0), [0, 0.25, 0.5, 0.75, 1.0])
    assert sample_times(1.1, 4.0)[-1] == 1.25
    assert len(sample_times(10.0, 1 / 0.004)) == 2501  # 250.00000000000003 samples are 250


def test_too_little_to_move_with_is_refused():
    with pytest.raises(InvalidMethod, match="harmonics must be at least 2, not 1"):
        FourierSeries(1)
    with pytest.raises(InvalidMethod, match="intervals must be at least 2, not 1"):
        QuinticSplines(1)
