"""Gaps against distances of drawn outlines; directions against finite differences."""

import numpy as np
import pytest

from poinsot.models.planar import Ellipse, Polygon, SmoothCurve, Wall, floor, rectangle
from poinsot.models.planar.body import contacts, wall_array
from references.planar import ellipse_points, heights, placed, round_polygon_points

HEXAGON = np.array([[0.5, -0.3], [0.7, 0.1], [0.3, 0.6], [-0.2, 0.55], [-0.6, 0.1], [-0.3, -0.4]])
CURVE = SmoothCurve(0.4, (0.03, 0.01), (-0.02, 0.015), (0.1, -0.05))
WALLS = [floor(0.1, 0.2), Wall(-1.0, 2.0, -np.pi / 2), Wall(0.3, -0.4, 2.5), Wall(0.0, 3.0, np.pi)]
DRAWN = {
    "ellipse": (Ellipse(1.5, 1.0), ellipse_points(1.5, 1.0, 4000)),
    "circle": (Ellipse(0.2, 0.2), ellipse_points(0.2, 0.2, 4000)),
    "hexagon": (Polygon(HEXAGON), HEXAGON),
    "round hexagon": (Polygon(HEXAGON, 0.1), round_polygon_points(HEXAGON, 0.1, 4000)),
    "round rectangle": (
        rectangle(0.8, 0.6, 0.1),
        round_polygon_points(np.array([[-0.4, -0.3], [0.4, -0.3], [0.4, 0.3], [-0.4, 0.3]]), 0.1, 4000),
    ),
    "smooth curve": (CURVE, CURVE.outline(4000)),
}
each_shape = pytest.mark.parametrize("shape", [shape for shape, _ in DRAWN.values()], ids=DRAWN)
each_drawn = pytest.mark.parametrize(("shape", "points"), DRAWN.values(), ids=DRAWN)


def at(shape, walls, q):
    """(g, N, T)."""
    C = len(shape.parts) * len(walls)
    g, N, T = np.empty(C), np.empty((C, 3)), np.empty((C, 3))
    contacts(q, shape.parts, shape.harmonics, wall_array(walls), g, N, T)
    return g, N, T


def poses(rng, count=20):
    return np.column_stack([rng.normal(size=(count, 2)), rng.uniform(-9, 9, count)])


@each_drawn
def test_gaps_are_distances_of_the_nearest_point(shape, points, rng):
    for q in poses(rng):
        g = at(shape, WALLS, q)[0].reshape(len(WALLS), -1).min(axis=1)
        for gap, wall in zip(g, WALLS, strict=True):
            nearest = heights(placed(points, q), wall.x, wall.y, wall.slope).min()
            # R (2 pi / 4000)^2 / 8 is missed between points, R at most 2.3 m
            assert gap == pytest.approx(nearest, abs=1e-6)


def test_a_part_of_a_polygon_is_the_corner_it_says(rng):
    for q in poses(rng):
        g = at(Polygon(HEXAGON), WALLS, q)[0].reshape(len(WALLS), -1)
        for gaps, wall in zip(g, WALLS, strict=True):
            each = heights(placed(HEXAGON, q), wall.x, wall.y, wall.slope)
            np.testing.assert_allclose(gaps, each, atol=1e-12)


@each_shape
def test_normal_directions_are_the_derivatives_of_gaps(shape, rng):
    d = 1e-6
    for q in poses(rng):
        N = at(shape, WALLS, q)[1]
        by_differences = np.column_stack(
            [(at(shape, WALLS, q + d * e)[0] - at(shape, WALLS, q - d * e)[0]) / (2 * d) for e in np.eye(3)]
        )
        np.testing.assert_allclose(N, by_differences, atol=1e-8)


@each_drawn
def test_tangential_directions_are_the_velocity_of_the_nearest_point(shape, points, rng):
    """T . v is how fast the material point that is nearest moves along the wall."""
    for q, v in zip(poses(rng), rng.normal(size=(20, 3)), strict=True):
        T = at(shape, WALLS, q)[2].reshape(len(WALLS), -1, 3)
        g = at(shape, WALLS, q)[0].reshape(len(WALLS), -1)
        drawn = placed(points, q)
        for gaps, along, wall in zip(g, T, WALLS, strict=True):
            r = drawn[np.argmin(heights(drawn, wall.x, wall.y, wall.slope))] - q[:2]
            velocity = v[:2] + v[2] * np.array([-r[1], r[0]])
            expected = velocity @ [np.cos(wall.slope), np.sin(wall.slope)]
            # only how far from the wall the point is counts: an error of second order of the drawn angle
            assert along[np.argmin(gaps)] @ v == pytest.approx(expected, abs=1e-5)


@each_shape
def test_only_moments_change_as_the_body_turns(shape, rng):
    for q in poses(rng):
        low, high = (at(shape, WALLS, q + np.array([0, 0, step])) for step in (-1e-2, 1e-2))
        for k in (1, 2):
            np.testing.assert_array_equal(high[k][:, :2], low[k][:, :2])


def test_the_papers_gap_of_an_ellipse(rng):
    """Eq. 21: the least of l(beta) over its two stationary angles, as the paper writes it."""
    a, b = 1.5, 1.0
    for q in poses(rng):
        wall = Wall(0.2, -0.1, rng.uniform(-1, 1))
        x, y, theta = q
        beta = np.arctan((b / a) ** 2 / np.tan(theta - wall.slope)) + np.array([0, np.pi])
        rho = a * b / np.sqrt(b**2 * np.cos(beta) ** 2 + a**2 * np.sin(beta) ** 2)
        distance = (
            (y - wall.y) * np.cos(wall.slope)
            - (x - wall.x) * np.sin(wall.slope)
            + rho * np.sin(beta + theta - wall.slope)
        )
        g, N, T = at(Ellipse(a, b), [wall], q)
        k = np.argmin(distance)
        assert g[0] == pytest.approx(distance[k], abs=1e-12)
        GQ = rho[k] * np.array([np.cos(theta + beta[k]), np.sin(theta + beta[k])])
        n, t = (
            np.array([-np.sin(wall.slope), np.cos(wall.slope)]),
            np.array([np.cos(wall.slope), np.sin(wall.slope)]),
        )
        np.testing.assert_allclose(N[0], [*n, GQ[0] * n[1] - GQ[1] * n[0]], atol=1e-12)
        np.testing.assert_allclose(T[0], [*t, GQ[0] * t[1] - GQ[1] * t[0]], atol=1e-12)
