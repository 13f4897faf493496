"""Log, its slopes and quaternions, over the whole range of angles."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.models.robot.configuration_space import left_slopes
from poinsot.models.rotations import (
    cross,
    from_quaternion,
    log,
    skew,
    to_quaternion,
    turning_z_to,
)

ANGLES = [0.0, 1e-13, 1e-9, 1e-4, 0.049, 0.051, 1.0, 2.99, 3.01, np.pi - 1e-3]


def vectors(rng, angle):
    axes = rng.standard_normal((4, 3))
    return angle * axes / np.linalg.norm(axes, axis=1, keepdims=True)


@pytest.mark.parametrize("angle", ANGLES)
def test_log_undoes_exp(rng, angle):
    r = vectors(rng, angle)
    np.testing.assert_allclose(log(np.array([pin.exp3(x) for x in r])), r, atol=1e-10)


@pytest.mark.parametrize("angle", ANGLES)
def test_slopes_of_log(rng, angle):
    r = vectors(rng, angle)
    np.testing.assert_allclose(left_slopes(-r), [pin.Jlog3(pin.exp3(x)) for x in r], atol=1e-7)
    for x, right, left in zip(r, left_slopes(-r), left_slopes(r), strict=True):
        np.testing.assert_allclose(right @ pin.Jexp3(x), np.eye(3), atol=1e-7)
        np.testing.assert_allclose(left, right @ pin.exp3(x).T, atol=1e-7)  # Exp(phi) R = R Exp(R^T phi)


def test_series_and_closed_form_meet(rng):
    below = vectors(rng, 1 - 1e-14)
    above = below * (1 + 2e-14)
    np.testing.assert_allclose(left_slopes(-below), left_slopes(-above), rtol=0, atol=1e-13)


def test_quaternions_there_and_back(rng):
    xyzw = rng.standard_normal((5, 4))
    R = from_quaternion(xyzw)
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (5, 3, 3)), atol=1e-14)
    unit = xyzw / np.linalg.norm(xyzw, axis=1, keepdims=True)
    again = to_quaternion(R)
    np.testing.assert_allclose(again * np.sign((again * unit).sum(axis=1, keepdims=True)), unit, atol=1e-14)
    assert to_quaternion(R[:0]).shape == (0, 4)


def test_what_is_missing_stays_missing():
    xyzw = np.array([[0, 0, 0, 1.0], [np.nan, 0, 0, 1], [0, 0, 0, 0], [np.inf, 0, 0, 1]])
    R = from_quaternion(xyzw)
    np.testing.assert_array_equal(np.isnan(R).any(axis=(1, 2)), [False, True, True, True])
    np.testing.assert_array_equal(np.isnan(log(R)).any(axis=1), [False, True, True, True])


def test_skew_is_the_cross_product(rng):
    x, y = rng.standard_normal((2, 3))
    np.testing.assert_allclose(skew(x) @ y, np.cross(x, y), atol=1e-15)
    np.testing.assert_allclose(cross(x, y), np.cross(x, y), atol=1e-15)


@pytest.mark.parametrize(
    "axis", [(0, 0, 2.0), (0, 0, -0.5), (1, 0, 0), (0.3, -2.0, 0.1), (1e-9, 0, -1), (1e-14, 0, 1)]
)
def test_the_z_axis_is_turned_the_short_way(axis):
    axis = np.array(axis, dtype=float)
    R, to = turning_z_to(axis), axis / np.linalg.norm(axis)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_allclose(R[:, 2], to, atol=1e-8)
    angle = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    assert angle == pytest.approx(np.arccos(np.clip(to[2], -1, 1)), abs=1e-6)  # no turn about z besides
