"""The equivalent ellipsoid against Pinocchio's, and back."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given

from inertia.families import EPS, ellipsoids, scale
from poinsot.exceptions import ImpossibleBody
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import ROUNDING, equivalent_ellipsoid, from_physical, principal_moments


@given(solid=ellipsoids())
def test_the_ellipsoid_of_an_ellipsoid_is_itself(solid):
    found = equivalent_ellipsoid(solid.pi)
    assert found.mass == solid.mass
    np.testing.assert_allclose(found.center, solid.center, rtol=4 * EPS, atol=1e-300)
    # squares of semi-axes, 5 L / m, are as exact as tr I to rounding
    kept = 10 * ROUNDING * scale(solid.pi)[-1] / solid.mass
    np.testing.assert_allclose(np.sort(found.semi_axes**2), np.sort(solid.semi_axes**2), rtol=0, atol=kept)


def test_pinocchios_ellipsoid_has_it():
    semi_axes = np.array([0.3, 0.2, 0.1])
    placement = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.2, 0.3), np.array([0.4, 0.5, 0.6]))
    pi = placement.act(pin.Inertia.FromEllipsoid(2.0, *semi_axes)).toDynamicParameters()
    found = equivalent_ellipsoid(pi)
    # the turn is small: axes keep their names
    np.testing.assert_allclose(found.semi_axes, semi_axes, rtol=1e-12)
    np.testing.assert_allclose(found.axes, placement.rotation, atol=1e-12)
    np.testing.assert_allclose(found.center, placement.translation, atol=1e-15)


def test_batches(rng):
    pi = LogCholesky().to_inertial(rng.normal(size=(3, 4, 10)))
    many = equivalent_ellipsoid(pi)
    assert many.semi_axes.shape == (3, 4, 3) and many.axes.shape == (3, 4, 3, 3)
    np.testing.assert_array_equal(many.semi_axes[1, 2], equivalent_ellipsoid(pi[1, 2]).semi_axes)
    L = many.mass[..., None] * many.semi_axes**2 / 5
    D = L.sum(axis=-1, keepdims=True) - L
    np.testing.assert_allclose(D, principal_moments(pi)[0], rtol=1e-6)
    I_c = many.axes @ (D[..., None] * np.swapaxes(many.axes, -1, -2))
    again = from_physical(many.mass, many.center, I_c)
    np.testing.assert_allclose(again, pi, rtol=0, atol=4 * ROUNDING * scale(pi).max())


def test_a_plate_is_flat():
    plate = equivalent_ellipsoid(np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.2]))
    assert plate.semi_axes[2] == 0


def test_an_impossible_body_has_none():
    with pytest.raises(ImpossibleBody, match=r"Dz = 0.5 kg m\^2 exceeds"):
        equivalent_ellipsoid(np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5]))
    with pytest.raises(ImpossibleBody, match="mass is 0"):
        equivalent_ellipsoid(np.zeros(10))
