"""Convex bodies in space, by balls at their corners.

A polyhedron whose edges and corners are rounded with radius rho is the hull of balls of this radius. Their centers are
the corners of the polyhedron with its faces moved inwards by rho: of a corner c at faces with outward normals N,

    c - rho d,    N d = 1        (least squares where more than three faces meet)

Above a plane, the lowest point of the body is that of one of its balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...arrays import Float
from ...exceptions import InvalidModel, UnreadableFile


@dataclass(frozen=True, eq=False)
class Corners:
    """A convex polyhedron with corners that may be round.

    Args:
        points: (C, 3) its corners before rounding, in the body's frame [m].
        inwards: (C, 3) d of each: a ball's center is at c - rho d.
        corner_radius: rho [m].

    Raises:
        InvalidModel: if the radius is below 0, or the origin is not inside.
    """

    points: Float[np.ndarray, "C 3"]
    inwards: Float[np.ndarray, "C 3"]
    corner_radius: float = 0.0

    def __post_init__(self) -> None:
        if not self.corner_radius >= 0:
            raise InvalidModel(f"the corner radius of a body must be at least 0, not {self.corner_radius:g}")

    @cached_property
    def size(self) -> float:
        """Largest distance of a corner from the origin [m]."""
        return float(np.linalg.norm(self.points, axis=1).max())

    @cached_property
    def uniform_inertia(self) -> Float[np.ndarray, "3 3"]:
        """J/m of a body of uniform density, about the origin [m^2]."""
        from scipy.spatial import ConvexHull

        hull = ConvexHull(self.points)
        middle = self.points.mean(axis=0)
        moment, volume = np.zeros((3, 3)), 0.0
        for triangle in hull.simplices:
            # a tetrahedron of the middle and a triangle: second moment of four corners and their mean
            corners = np.vstack([self.points[triangle], middle])
            part = abs(np.linalg.det(corners[:3] - middle)) / 6
            sums = corners.sum(axis=0)
            moment += part * (corners.T @ corners + np.outer(sums, sums)) / 20
            volume += part
        second = moment / volume
        return np.asarray(np.trace(second) * np.eye(3) - second)


def corners_of(
    points: Sequence[Sequence[float]] | Float[np.ndarray, "P 3"], corner_radius: float = 0.0
) -> Corners:
    """The hull of points (P, 3) [m]. Raises InvalidModel if they span no volume, or the origin is not inside."""
    from scipy.spatial import ConvexHull, QhullError

    given = np.asarray(points, dtype=float)
    if given.ndim != 2 or given.shape[1] != 3 or len(given) < 4 or not np.isfinite(given).all():
        raise InvalidModel("a body in space needs at least four corners (x, y, z)")
    try:
        hull = ConvexHull(given)
    except QhullError as error:
        raise InvalidModel("the corners of a body in space must span a volume") from error
    if hull.equations[:, 3].max() >= 0:
        raise InvalidModel(
            "the origin of the body's frame is not inside its corners; it is the center of mass, so move them to it"
        )
    faces = [hull.equations[(hull.simplices == k).any(axis=1), :3] for k in hull.vertices]
    inwards = [np.linalg.lstsq(normals, np.ones(len(normals)), rcond=None)[0] for normals in faces]
    return Corners(given[hull.vertices], np.array(inwards), corner_radius)


def box(sides: Sequence[float], corner_radius: float = 0.0) -> Corners:
    """A box with its center of mass in the middle; three sides [m]. Raises InvalidModel if one is not above 0."""
    if not all(0 < side < np.inf for side in sides):
        raise InvalidModel(
            f"sides of a box must be above 0 m, not {', '.join(f'{side:g}' for side in sides)}"
        )
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return Corners(signs * np.asarray(sides, dtype=float) / 2, signs, corner_radius)


def mesh(path: Path, scale: float = 1.0, corner_radius: float = 0.0) -> Corners:
    """The hull of a mesh, STL or OBJ, its numbers times `scale` [m]. Raises UnreadableFile if it cannot be read, and as
    `corners_of`.
    """
    import coal

    if not path.is_file():
        raise UnreadableFile(f"there is no mesh {path}")
    try:
        points = coal.MeshLoader().load(str(path)).vertices()
    except (RuntimeError, ValueError) as error:
        raise UnreadableFile(f"{path} is no mesh that can be read: give an STL or OBJ file") from error
    return corners_of(scale * np.asarray(points), corner_radius)
