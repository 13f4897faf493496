"""Outlines of planar bodies, by their support (Gabiccini et al., Sect. 4.1).

The support of an outline in the direction u(phi) = (cos phi, sin phi) of the body's frame is its extent in it,

    h(phi) = max over r in the body of r . u(phi),    reached at    r(phi) = h u + h' u',   u' = (-sin phi, cos phi)

with h + h'' >= 0 the outline's radius of curvature there. A body above a wall can only touch it at the point that
reaches farthest towards it, so contact depends on a shape only through its support. The support of a Minkowski sum is
the sum of the supports: a polygon with round corners is the polygon of the corners' centers plus a circle.

    ellipse a, b   h = sqrt(a^2 cos^2 phi + b^2 sin^2 phi)        (Eq. 21's minimum over beta)
    circle         h = r
    polygon        a part a corner, since several may touch at once
    smooth curve   h = mean + sum_k (c_k cos k phi + s_k sin k phi),  k = 2, 3, ...; k = 1 would move the center

A shape is given as arrays: parts, each an ellipse about a center of its own, and harmonics, which all parts share. A
new shape is a class that gives them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull

from ...arrays import Float
from ...exceptions import InvalidModel
from ...kernels import njit

FLAT = 1e-12
"""Area of a polygon, in squares of its extent, below which it is a line."""
DIRECTIONS = 720
"""Number of directions in which convexity and size are evaluated."""


@dataclass(frozen=True)
class Shape(ABC):
    """An outline about the center of mass."""

    @property
    @abstractmethod
    def parts(self) -> Float[np.ndarray, "P 4"]:
        """(x, y, a, b) of each part: its center in the body's frame and the half axes of its ellipse [m]."""

    @property
    def harmonics(self) -> Float[np.ndarray, "K 2"]:
        """(c_k, s_k) for k = 2, 3, ... of all parts [m]."""
        return np.zeros((0, 2))

    @cached_property
    def size(self) -> float:
        """Largest distance of the outline from the center of mass [m]."""
        reach = [np.max(self.support(phi)) for phi in np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)]
        return float(max(reach))

    def support(self, phi: float) -> Float[np.ndarray, "P"]:
        """Support of each part about the center of mass in a direction of the body's frame [m]."""
        u = np.array([np.cos(phi), np.sin(phi)])
        return np.array([part[:2] @ u + support_of(part, self.harmonics, phi)[0] for part in self.parts])

    def outline(self, points: int = 180) -> Float[np.ndarray, "points 2"]:
        """Points of the outline in the body's frame, counterclockwise [m]."""
        drawn = []
        for phi in np.linspace(0, 2 * np.pi, points):
            u, along = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
            part = self.parts[int(np.argmax(self.support(phi)))]
            h, slope, _ = support_of(part, self.harmonics, phi)
            drawn.append(part[:2] + h * u + slope * along)
        return np.array(drawn)


# inlined: most callers do not use h'', and the compiler then omits its divisions
@njit(cache=True, inline="always")
def support_of(part: np.ndarray, harmonics: np.ndarray, phi: float) -> tuple[float, float, float]:
    """h, h' and h'' of a part about its own center."""
    a, b = part[2], part[3]
    # a circle, also of radius 0, where the ellipse's formula divides by 0
    if a == b:
        h, slope, bend = a, 0.0, 0.0
    else:
        c, s = np.cos(phi), np.sin(phi)
        h = np.sqrt(a * a * c * c + b * b * s * s)
        slope = (b * b - a * a) * c * s / h
        bend = ((b * b - a * a) * (c * c - s * s) - slope * slope) / h
    for i in range(len(harmonics)):
        k = i + 2
        c, s = np.cos(k * phi), np.sin(k * phi)
        h += harmonics[i, 0] * c + harmonics[i, 1] * s
        slope += k * (harmonics[i, 1] * c - harmonics[i, 0] * s)
        bend -= k * k * (harmonics[i, 0] * c + harmonics[i, 1] * s)
    return h, slope, bend


@dataclass(frozen=True)
class Ellipse(Shape):
    """An ellipse, or a circle.

    Args:
        a, b: half axes, along x and y of the body's frame [m].

    Raises:
        InvalidModel: if one is not above 0.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        _must_be_positive("half axes of an ellipse", self.a, self.b)

    @property
    def parts(self) -> Float[np.ndarray, "1 4"]:
        return np.array([[0.0, 0.0, self.a, self.b]])


@dataclass(frozen=True, eq=False)
class Polygon(Shape):
    """A polygon, with corners that may be round. Straight walls touch only its convex hull.

    Args:
        vertices: (P, 2) corners before rounding, about the center of mass, in either sense [m].
        corner_radius: radius of the circles that round the corners of the hull [m].

    Raises:
        InvalidModel: if it has fewer than three corners, sides that cross, or the circles do not fit.
    """

    vertices: Float[np.ndarray, "P 2"]
    corner_radius: float = 0.0

    def __post_init__(self) -> None:
        corners = np.asarray(self.vertices, dtype=float)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
            raise InvalidModel("a polygon needs at least three corners (x, y)")
        if not self.corner_radius >= 0:
            raise InvalidModel(
                f"the corner radius of a polygon must be at least 0, not {self.corner_radius:g}"
            )
        area = 0.5 * float(np.sum(_cross(corners, np.roll(corners, -1, axis=0))))
        if abs(area) < FLAT * np.ptp(corners) ** 2 or _sides_cross(corners):
            raise InvalidModel(
                "the corners of a polygon must be those of an outline that does not cross itself, one after the other"
            )
        if area < 0:
            corners = corners[::-1]
        object.__setattr__(self, "vertices", np.ascontiguousarray(corners))
        # lengths that a circle takes from both sides of its corner; rounding must not refuse circles that just fit
        before, after = self._directions
        needed = self.corner_radius * (1 + np.sum(before * after, axis=1)) / _cross(after, before)
        lengths = np.linalg.norm(np.roll(self.hull, -1, axis=0) - self.hull, axis=1)
        if (needed + np.roll(needed, -1) > lengths * (1 + 1e-12)).any():
            raise InvalidModel(
                f"corners of radius {self.corner_radius:g} m do not fit between the sides of this polygon"
            )

    @cached_property
    def hull(self) -> Float[np.ndarray, "H 2"]:
        """Corners of the convex hull, counterclockwise from the first one that is on it [m]."""
        corners = ConvexHull(self.vertices).vertices
        return np.ascontiguousarray(self.vertices[np.roll(corners, -int(np.argmin(corners)))])

    def outline(self, points: int = 180) -> Float[np.ndarray, "points 2"]:
        """Points of the outline, counterclockwise [m]; of one that is not convex its corners, without their radius."""
        if len(self.hull) == len(self.vertices):
            return super().outline(points)
        return np.concatenate([self.vertices, self.vertices[:1]])

    @property
    def _directions(self) -> tuple[Float[np.ndarray, "H 2"], Float[np.ndarray, "H 2"]]:
        """Unit vectors from each corner of the hull to the one before and to the one after."""
        sides = (np.roll(self.hull, k, axis=0) - self.hull for k in (1, -1))
        before, after = (side / np.linalg.norm(side, axis=1)[:, None] for side in sides)
        return before, after

    @cached_property
    def parts(self) -> Float[np.ndarray, "P 4"]:
        """The circles in its corners."""
        before, after = self._directions
        # the center is at r / sin(angle / 2) on the bisector, |before + after| = 2 cos(angle / 2)
        reach = self.corner_radius / _cross(after, before)
        centers = self.hull + reach[:, None] * (before + after)
        return np.column_stack([centers, np.full((len(centers), 2), self.corner_radius)])


@dataclass(frozen=True, eq=False)
class SmoothCurve(Shape):
    """A convex outline by the Fourier series of its support.

    Args:
        mean: mean support [m]. cosines, sines: c_k and s_k for k = 2, 3, ... [m].
        center: center of the series, in the body's frame [m].

    Raises:
        InvalidModel: if the curve is not convex, with the direction.
    """

    mean: float
    cosines: Sequence[float] = ()
    sines: Sequence[float] = ()
    center: Sequence[float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        _must_be_positive("the mean reach of a smooth curve", self.mean)
        if not np.isfinite([*self.cosines, *self.sines, *self.center]).all():
            raise InvalidModel("harmonics and center of a smooth curve must be finite")
        part, harmonics = self.parts[0], self.harmonics
        for phi in np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False):
            h, _, bend = support_of(part, harmonics, phi)
            if h + bend <= 0:
                raise InvalidModel(
                    f"the smooth curve is not convex at {np.degrees(phi):.0f} degrees; make its harmonics smaller"
                )

    @property
    def parts(self) -> Float[np.ndarray, "1 4"]:
        return np.array([[*map(float, self.center), self.mean, self.mean]])

    @property
    def harmonics(self) -> Float[np.ndarray, "K 2"]:
        count = max(len(self.cosines), len(self.sines))
        harmonics = np.zeros((count, 2))
        harmonics[: len(self.cosines), 0], harmonics[: len(self.sines), 1] = self.cosines, self.sines
        return harmonics


def rectangle(width: float, height: float, corner_radius: float = 0.0) -> Polygon:
    """A rectangle with its center of mass in the middle [m].

    Raises:
        InvalidModel: if a side is not above 0, or the corners do not fit.
    """
    _must_be_positive("sides of a rectangle", width, height)
    x, y = width / 2, height / 2
    return Polygon(np.array([[-x, -y], [x, -y], [x, y], [-x, y]]), corner_radius)


def _sides_cross(corners: Float[np.ndarray, "P 2"]) -> bool:
    """Whether two sides that are not neighbours have a point in common, or a side has no length."""
    ends = np.roll(corners, -1, axis=0)
    along = ends - corners
    # on which side of each side (row) each corner (column) is: -1, 0 or 1
    left = np.sign(_cross(along[:, None], corners[None] - corners[:, None]))
    apart = left * np.roll(left, -1, axis=1) > 0
    # sides on one line are apart where their boxes are
    low, high = np.minimum(corners, ends), np.maximum(corners, ends)
    apart |= (low[:, None] > high[None]).any(axis=2)
    beside = np.eye(len(corners), dtype=bool)
    beside |= np.roll(beside, 1, axis=1) | np.roll(beside, -1, axis=1)
    return bool((~apart & ~apart.T & ~beside).any() or (along == 0).all(axis=1).any())


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _must_be_positive(quantity: str, *values: float) -> None:
    if not all(0 < value < np.inf for value in values):
        raise InvalidModel(f"{quantity} must be above 0 m, not {', '.join(f'{value:g}' for value in values)}")
