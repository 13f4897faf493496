"""Criteria are what NumPy says they are, their gradients finite differences, and their bounds hold."""

import numpy as np
import pytest

from poinsot.excitation.criterion import (
    condition_number,
    log_condition_number,
    log_determinant,
    log_mean_deviation,
)
from poinsot.excitation.design import OptimalExcitation

STD = np.array([0.3, 2.0, 1.0])
CRITERIA = {
    "condition number": log_condition_number,
    "smooth, p = 2": lambda W: log_condition_number(W, 2.0),
    "smooth, p = 32": lambda W: log_condition_number(W, 32.0),
    "d-optimal": lambda W: log_mean_deviation(W, STD),
    "both": lambda W: OptimalExcitation(information_weight=0.3).objective(W, STD, 8.0),
}


@pytest.fixture
def W(rng):
    """20 samples, 3 joints, 7 parameters of very different units."""
    return rng.standard_normal((20, 3, 7)) * 10.0 ** rng.uniform(-2, 2, 7)


@pytest.mark.parametrize("name", CRITERIA)
def test_gradients_are_finite_differences(name, W, rng):
    criterion = CRITERIA[name]
    _, gradient = criterion(W)
    scale = np.abs(W).max(axis=(0, 1))
    for _ in range(10):
        direction = rng.standard_normal(W.shape) * scale
        h = 1e-6
        ahead, behind = (criterion(W + s * h * direction)[0] for s in (1, -1))
        slope = np.sum(gradient * direction)
        assert abs((ahead - behind) / (2 * h) - slope) <= 1e-7 * max(1.0, abs(slope))


def test_values_are_those_of_singular_values_and_determinants(W):
    rows = W.reshape(60, 7)
    unit = rows / np.linalg.norm(rows, axis=0)
    s = np.linalg.svd(unit, compute_uv=False)
    assert np.isclose(np.exp(log_condition_number(W)[0]), s[0] / s[-1], rtol=1e-12)
    assert np.isclose(condition_number(W), s[0] / s[-1], rtol=1e-12)
    M = np.einsum("tna,tnb,n->ab", W, W, 1 / STD**2)
    _, expected = np.linalg.slogdet(M)
    assert np.isclose(log_determinant(W, STD), expected)
    assert np.isclose(log_mean_deviation(W, STD)[0], -expected / 14)


def test_the_smooth_condition_number_is_above_and_comes_down_to_the_exact_one(W):
    exact = log_condition_number(W)[0]
    smooth = [log_condition_number(W, p)[0] for p in (1.0, 2.0, 8.0, 32.0, 128.0)]
    assert np.all(np.diff(smooth) < 0)
    for p, value in zip((1.0, 2.0, 8.0, 32.0, 128.0), smooth, strict=True):
        assert exact <= value <= exact + np.log(7) / p


def test_units_change_no_condition_number_and_shift_the_information(W, rng):
    units = 10.0 ** rng.uniform(-3, 3, 7)
    first, second = (lambda W: log_condition_number(W, 8.0)), (lambda W: log_mean_deviation(W, STD))
    assert np.isclose(first(W)[0], first(W * units)[0])
    shift = second(W * units)[0] - second(W)[0]
    assert np.isclose(shift, -np.log(units).mean())


def test_what_is_not_shown_has_an_infinite_condition_number(W):
    W[..., 2] = 0
    assert condition_number(W) == np.inf
    assert log_determinant(W, STD) == -np.inf
