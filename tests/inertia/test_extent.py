"""Extent for bodies that have none: mass and centre of mass stay, and every chart holds what comes out."""

import numpy as np
from hypothesis import given, strategies as st

from inertia.families import CHARTS, ellipsoids, numbers
from poinsot.inertia.parameters import center_of_mass, from_physical, principal_moments, with_extent


@given(mass=numbers(-6, 5).map(lambda e: 10**e), center=st.tuples(*3 * [numbers(-1, 1)]))
def test_a_point_becomes_a_ball_of_aluminium_that_every_chart_holds(mass, center):
    r = (3 * mass / (4 * np.pi * 2700)) ** (1 / 3)
    # from the body's own middle: far from it, rounding alone is an extent
    pi, count = with_extent(from_physical(mass, 10 * r * np.array(center), np.zeros((3, 3))))
    assert count == 3
    np.testing.assert_allclose(principal_moments(pi)[0], 0.4 * mass * r**2, rtol=1e-9)
    np.testing.assert_allclose(pi[0], mass)
    np.testing.assert_allclose(center_of_mass(pi), 10 * r * np.array(center), rtol=1e-12, atol=1e-12 * r)
    for chart in CHARTS:
        chart.from_inertial(pi)


@given(solid=ellipsoids(shapes=("sphere", "ruler", "brick"), offset=1.0))
def test_what_has_extent_stays_as_it_is(solid):
    pi, count = with_extent(solid.pi)
    dense = solid.mass / (4 / 3 * np.pi * solid.semi_axes.prod())
    thinnest = solid.semi_axes.min() / (3 * solid.mass / (4 * np.pi * 2700)) ** (1 / 3)
    if dense < 2700 and thinnest > 0.02:
        assert count == 0
        np.testing.assert_array_equal(pi, solid.pi)


def test_needles_and_plates_keep_the_axes_that_they_have():
    plate = np.diag([1.0, 1.0, 2.0]) * 1e-2  # L = (1, 1, 0) 1e-2
    needle = np.diag([1.0, 1.0, 0.0]) * 1e-2
    pis, count = with_extent(np.stack([from_physical(1.0, np.zeros(3), I) for I in (plate, needle)]))
    assert count.tolist() == [1, 2]
    D, _ = principal_moments(pis)
    L = 0.5 * D.sum(axis=1, keepdims=True) - D
    ball = 0.2 * (3 / (4 * np.pi * 2700)) ** (2 / 3)
    np.testing.assert_allclose(L, [[1e-2, 1e-2, ball], [ball, ball, 1e-2]], rtol=1e-9)
