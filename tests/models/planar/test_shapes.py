"""Supports against outlines drawn from definitions, and what is no shape."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.planar import Ellipse, Polygon, SmoothCurve, rectangle
from poinsot.models.planar.shapes import support_of
from references.planar import ellipse_points, round_polygon_points

DENSE = 4000
HEXAGON = np.array([[0.5, -0.3], [0.7, 0.1], [0.3, 0.6], [-0.2, 0.55], [-0.6, 0.1], [-0.3, -0.4]])


def smooth_points(curve, count):
    """The envelope of the lines r . u = h(phi), with h' by differences of the series."""

    def h(phi):
        series = [
            c * np.cos(k * phi) + s * np.sin(k * phi)
            for k, (c, s) in enumerate(zip(curve.cosines, curve.sines, strict=True), start=2)
        ]
        return curve.mean + np.sum(series, axis=0)

    phi, d = np.linspace(0, 2 * np.pi, count, endpoint=False), 1e-6
    slope = (h(phi + d) - h(phi - d)) / (2 * d)
    u, along = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
    return (np.array(curve.center)[:, None] + h(phi) * u + slope * along).T


CURVE = SmoothCurve(0.4, (0.03, 0.01), (-0.02, 0.015), (0.1, -0.05))
SHAPES = {
    "ellipse": (Ellipse(1.5, 1.0), ellipse_points(1.5, 1.0, DENSE)),
    "flat ellipse": (Ellipse(0.05, 0.3), ellipse_points(0.05, 0.3, DENSE)),
    "circle": (Ellipse(0.2, 0.2), ellipse_points(0.2, 0.2, DENSE)),
    "square": (rectangle(0.06, 0.06), np.array([[-0.03, -0.03], [0.03, -0.03], [0.03, 0.03], [-0.03, 0.03]])),
    "round rectangle": (
        rectangle(0.08, 0.06, 0.01),
        round_polygon_points(
            np.array([[-0.04, -0.03], [0.04, -0.03], [0.04, 0.03], [-0.04, 0.03]]), 0.01, DENSE
        ),
    ),
    "hexagon": (Polygon(HEXAGON), HEXAGON),
    "round hexagon": (Polygon(HEXAGON, 0.1), round_polygon_points(HEXAGON, 0.1, DENSE)),
    "round hexagon, clockwise": (
        Polygon(HEXAGON[::-1].copy(), 0.1),
        round_polygon_points(HEXAGON, 0.1, DENSE),
    ),
    "smooth curve": (CURVE, smooth_points(CURVE, DENSE)),
}
each_shape = pytest.mark.parametrize(("shape", "points"), SHAPES.values(), ids=SHAPES)


@each_shape
def test_support_is_the_farthest_point_of_the_outline(shape, points):
    reach = np.linalg.norm(points, axis=1).max()
    for phi in np.linspace(-4, 4, 97):
        farthest = (points @ [np.cos(phi), np.sin(phi)]).max()
        # between two points of an outline of radius R, R (2 pi / DENSE)^2 / 8 is missed; flat ellipses have R = b^2 / a
        assert shape.support(phi).max() == pytest.approx(farthest, abs=2e-6 * reach)


@each_shape
def test_the_outline_lies_on_the_outline(shape, points):
    """Every point of it is within all half planes, and on the border of one."""
    phi = np.linspace(0, 2 * np.pi, 721)
    u = np.array([np.cos(phi), np.sin(phi)])
    reach = np.array([shape.support(angle).max() for angle in phi])
    over = shape.outline(90) @ u - reach
    assert over.max() < 1e-12
    assert over.max(axis=1).min() > -2e-4 * shape.size
    assert shape.size == pytest.approx(np.linalg.norm(points, axis=1).max(), rel=1e-5)


@each_shape
def test_slope_and_bend_are_derivatives(shape, points):
    d = 1e-5
    for part in shape.parts:
        for phi in np.linspace(0, 6, 23):
            low, here, high = (support_of(part, shape.harmonics, phi + step) for step in (-d, 0, d))
            # second differences: rounding 1e-16 / 1e-10, truncation d^2 times fourth derivatives
            size = shape.size
            assert here[1] == pytest.approx((high[0] - low[0]) / (2 * d), abs=1e-7 * size)
            assert here[2] == pytest.approx((high[1] - low[1]) / (2 * d), abs=1e-7 * size)


@each_shape
def test_outlines_are_convex(shape, points):
    for part in shape.parts:
        for phi in np.linspace(0, 2 * np.pi, 181):
            h, _, bend = support_of(part, shape.harmonics, phi)
            assert h + bend >= 0


def test_an_ellipse_with_equal_axes_is_a_circle():
    nearly = Ellipse(0.2, 0.2 * (1 + 1e-12))
    for phi in np.linspace(0, 6, 13):
        np.testing.assert_allclose(nearly.support(phi), Ellipse(0.2, 0.2).support(phi), rtol=1e-11)


def test_random_polygons_keep_their_sides_when_corners_are_rounded(rng):
    for _ in range(200):
        angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 9)))
        if np.diff([*angles, angles[0] + 2 * np.pi]).max() > 3.0 or np.diff(angles).min() < 0.1:
            continue
        corners = np.column_stack([np.cos(angles), np.sin(angles)])
        sharp, rounded = Polygon(corners), Polygon(corners, 0.02)
        sides = np.roll(corners, -1, axis=0) - corners
        for side in sides:
            phi = np.arctan2(-side[0], side[1])  # outwards of it
            reached = np.sort(rounded.support(phi))[-2:]
            np.testing.assert_allclose(reached, sharp.support(phi).max(), rtol=1e-12)
        for phi in rng.uniform(0, 6, 5):
            assert rounded.support(phi).max() <= sharp.support(phi).max() + 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ellipse(0.0, 1.0), "half axes of an ellipse must be above 0 m, not 0, 1"),
        (lambda: Ellipse(1.0, np.nan), "above 0 m"),
        (lambda: Ellipse(-1.0, -1.0), "must be above 0 m, not -1"),
        (lambda: rectangle(1.0, np.inf), "sides of a rectangle"),
        (lambda: Polygon(np.zeros((2, 2))), "at least three corners"),
        (lambda: Polygon(np.full((3, 2), np.nan)), "at least three corners"),
        (lambda: Polygon(np.array([[0.0, 0], [1, 1], [1, 0], [0, 1]])), "does not cross itself"),
        (lambda: Polygon(np.array([[0.0, 0], [1, 0], [1, 0], [0, 1]])), "does not cross itself"),
        (lambda: Polygon(np.array([[0.0, 0], [1, 0], [2, 0]])), "does not cross itself"),
        (lambda: Polygon(HEXAGON, -0.1), "corner radius of a polygon must be at least 0, not -0.1"),
        (lambda: rectangle(0.06, 0.06, 0.031), "corners of radius 0.031 m do not fit"),
        (lambda: SmoothCurve(0.0), "must be above 0 m"),
        (lambda: SmoothCurve(0.1, (0.05,)), "not convex at 0 degrees"),
        (lambda: SmoothCurve(0.1, (0.0, np.nan)), "finite"),
    ],
)
def test_what_is_no_shape_is_refused(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()


def test_walls_touch_the_hull_of_an_outline_that_is_not_convex(rng):
    """An L, a T, and stars about the origin, whose corners lie at random distances."""
    L = np.array([[0, 0], [0.1, 0], [0.1, 0.03], [0.03, 0.03], [0.03, 0.1], [0, 0.1]]) - 0.03
    T = np.array([[-5, 0], [5, 0], [5, 2], [1, 2], [1, 9], [-1, 9], [-1, 2], [-5, 2]]) - [0, 3.5]
    angles = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    stars = [
        rng.uniform(0.2, 1, (9, 1)) * np.column_stack([np.cos(angles), np.sin(angles)]) for _ in range(20)
    ]
    for corners in (L, T, *stars):
        shapes = Polygon(corners), Polygon(corners[::-1].copy())
        for phi in np.linspace(0, 6, 61):
            farthest = (corners @ [np.cos(phi), np.sin(phi)]).max()
            assert [shape.support(phi).max() for shape in shapes] == pytest.approx([farthest, farthest])
    assert len(Polygon(L).parts) == 5 and len(Polygon(L).outline()) == 7


def test_a_corner_on_a_side_changes_nothing():
    square = np.array([[0.0, 0], [1, 0], [2, 0], [2, 2], [0, 2]]) - 1
    assert len(Polygon(square).parts) == 4


def test_parts_of_a_convex_polygon_are_its_corners_in_their_order():
    np.testing.assert_array_equal(Polygon(HEXAGON).parts[:, :2], HEXAGON)


def test_a_pentagram_is_no_outline():
    """It turns left everywhere, but twice around."""
    angles = np.arange(5) * 4 * np.pi / 5
    with pytest.raises(InvalidModel, match="does not cross itself"):
        Polygon(np.column_stack([np.cos(angles), np.sin(angles)]))


def test_corners_as_round_as_they_may_be_make_a_circle():
    for phi in np.linspace(0, 6, 13):
        np.testing.assert_allclose(rectangle(0.06, 0.06, 0.03).support(phi), 0.03, rtol=1e-12)
