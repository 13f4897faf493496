"""Certain knowledge of a robot's bodies, as cone constraints on its parameters.

With pi = (m, h, I) of a body, J its pseudo-inertia and c = h / m, all of these are convex in pi:

    m_low <= m <= m_high                                a scale
    c in a box            m c_low <= h <= m c_high
    c in an ellipsoid     |(h - m c_0) / a| <= m        a: its semi-axes
    c in a convex hull    h = sum of w_k v_k,  m = sum of w_k,  w_k >= 0
    mirrored across the plane of normal x               h_x = 0, I_xy = I_xz = 0
    round about the axis z                              h_x = h_y = 0, I_xx = I_yy, I_xy = I_xz = I_yz = 0
    nothing outside an ellipsoid                        tr(J Q) >= 0, Q = [[-A, A c_0], [c_0^T A, 1 - c_0^T A c_0]],
                                                        A = diag(1 / a^2)   (Wensing, Kim and Slotine 2018)

and none of them excludes a body that has the property.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod, check_known, listing
from ...inertia.parameters import gradient_from_pseudo_inertia, inertia_matrix
from ...parameters import INERTIAL_SYMBOLS, Parameters
from ...ranges import Point
from .conic import Cone, Membership

Interval = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box between two corners, in the body frame [m]."""

    title: ClassVar = "a box"

    low: Point
    high: Point

    def __post_init__(self) -> None:
        _finite("a box", self.low, self.high)
        if np.any(np.asarray(self.low) > np.asarray(self.high)):
            raise InvalidMethod(f"a box needs low <= high along every axis, not {self.low} and {self.high}")


@dataclass(frozen=True)
class EllipsoidRegion:
    """An ellipsoid along the axes of the body frame [m]."""

    title: ClassVar = "an ellipsoid"

    center: Point
    semi_axes: Point

    def __post_init__(self) -> None:
        _finite("an ellipsoid", self.center, self.semi_axes)
        if np.any(np.asarray(self.semi_axes) <= 0):
            raise InvalidMethod(f"an ellipsoid needs semi-axes above 0, not {self.semi_axes}")


@dataclass(frozen=True)
class Hull:
    """The convex hull of points in the body frame [m]."""

    title: ClassVar = "a convex hull"

    points: Sequence[Point]

    def __post_init__(self) -> None:
        _finite("a convex hull", *self.points)
        try:
            # Qhull itself refuses points that are too few or in one plane
            ConvexHull(np.asarray(self.points, dtype=float))
        except (QhullError, ValueError):
            raise InvalidMethod(
                "a convex hull needs four points or more that are not all in one plane"
            ) from None


@dataclass(frozen=True)
class BodyConstraint:
    """Certain knowledge of one body; None: no knowledge of this kind.

    Args:
        mass: lowest and highest mass [kg].
        center_of_mass: region that contains the centre of mass.
        inside: region that contains the whole body.
        mirror: normals of planes of symmetry through the frame's origin.
        round: axis of the frame about which the inertia is that of a body of revolution.
    """

    mass: Interval | None = None
    center_of_mass: Box | EllipsoidRegion | Hull | None = None
    inside: EllipsoidRegion | None = None
    mirror: Sequence[Literal["x", "y", "z"]] = ()
    round: Literal["x", "y", "z"] | None = None

    def __post_init__(self) -> None:
        if self.mass is not None:
            _check_interval("mass", self.mass)
        axes = [*self.mirror, *([self.round] if self.round is not None else [])]
        if not set(axes) <= set("xyz"):
            raise InvalidMethod(f"symmetries name axes 'x', 'y' or 'z', not {listing(map(repr, axes))}")


@dataclass(frozen=True)
class Constraints:
    """Certain knowledge of a robot.

    Args:
        bodies: body name -> knowledge of the body.
        total_mass: lowest and highest mass of all moving bodies together [kg].
    """

    bodies: Mapping[str, BodyConstraint] = field(default_factory=dict)
    total_mass: Interval | None = None

    def __post_init__(self) -> None:
        if self.total_mass is not None:
            _check_interval("total_mass", self.total_mass)

    def memberships(self, parameters: Parameters, bodies: Sequence[str]) -> Iterator[Membership]:
        """Memberships on all parameters (p,) of a robot with these bodies."""
        identity = np.eye(len(parameters))
        for name, known in self.bodies.items():
            number = check_known(name, bodies, "no body", "the robot has", InvalidMethod) + 1
            first = parameters.index(f"{INERTIAL_SYMBOLS[0]}{number}")
            for what, cone, F, g in conditions_on(known):
                yield Membership(f"{what} of {name}", cone, F, g).through(identity[first : first + 10])
        if self.total_mass is not None:
            total = identity[: 10 * len(bodies) : 10].sum(axis=0, keepdims=True)
            low, high = self.total_mass
            name = f"a total mass between {low:g} and {high:g} kg"
            yield Membership(name, *_between(total, low, high))


_MOMENT = inertia_matrix(np.eye(10))
"""(10, 3, 3) I_ij as a row on pi."""


def conditions_on(known: BodyConstraint) -> Iterator[tuple[str, Cone, Matrix, Vector]]:
    """(words, cone, F, g) of each membership, on the ten parameters."""
    m, h = np.eye(10)[:1], np.eye(10)[1:4]
    if known.mass is not None:
        low, high = known.mass
        yield f"a mass between {low:g} and {high:g} kg", *_between(m, low, high)
    region = known.center_of_mass
    if isinstance(region, Box):
        # bounds of c times m >= 0 are linear in (m, h)
        corners = np.asarray([region.low, region.high], dtype=float)
        F = np.concatenate([h - np.outer(corners[0], m), np.outer(corners[1], m) - h])
        yield "the box around the centre of mass", Cone.nonnegative, F, np.zeros(6)
    elif isinstance(region, EllipsoidRegion):
        c, a = np.asarray(region.center, dtype=float), np.asarray(region.semi_axes, dtype=float)
        F = np.concatenate([m, (h - np.outer(c, m)) / a[:, None]])
        yield "the ellipsoid around the centre of mass", Cone.second_order, F, np.zeros(4)
    elif isinstance(region, Hull):
        # each facet a . x + b <= 0 of the hull, times m: a . h + b m <= 0
        facets = ConvexHull(np.asarray(region.points, dtype=float)).equations
        F = -(facets[:, :3] @ h + np.outer(facets[:, 3], m))
        yield "the convex hull around the centre of mass", Cone.nonnegative, F, np.zeros(len(F))
    if known.inside is not None:
        c, a = (np.asarray(array, dtype=float) for array in (known.inside.center, known.inside.semi_axes))
        A = np.diag(1 / a**2)
        # [x; 1]^T Q [x; 1] = 1 - |(x - c) / a|^2
        Q = np.block([[-A, (A @ c)[:, None]], [(A @ c)[None], np.array([[1 - c @ A @ c]])]])
        F = gradient_from_pseudo_inertia(Q)[None]
        yield "the ellipsoid around the whole body", Cone.nonnegative, F, np.zeros(1)
    for axis in known.mirror:
        x = "xyz".index(axis)
        # products of inertia with the normal change their sign in the mirror
        F = np.stack([np.eye(10)[1 + x], *(_MOMENT[:, x, other] for other in sorted({0, 1, 2} - {x}))])
        yield f"the mirror symmetry along {axis}", Cone.zero, F, np.zeros(3)
    if known.round is not None:
        x, y = sorted({0, 1, 2} - {"xyz".index(known.round)})
        # half a turn about z changes the sign of I_xz and I_yz, a quarter of I_xy
        products = (_MOMENT[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2)))
        F = np.stack([*np.eye(10)[[1 + x, 1 + y]], _MOMENT[:, x, x] - _MOMENT[:, y, y], *products])
        yield f"the symmetry about {known.round}", Cone.zero, F, np.zeros(6)


def _between(F: Matrix, low: float, high: float) -> tuple[Cone, Matrix, Vector]:
    # an interior-point method needs an interior: an interval without one is an equation
    if low == high:
        return Cone.zero, F, np.array([-low])
    return Cone.nonnegative, np.concatenate([F, -F]), np.array([-low, high])


def _check_interval(what: str, interval: Interval) -> None:
    low, high = interval
    if not (np.isfinite([low, high]).all() and 0 <= low <= high and high > 0):
        raise InvalidMethod(f"{what} needs two numbers 0 <= low <= high [kg], not {low:g} and {high:g}")


def _finite(what: str, *points: Point) -> None:
    for point in points:
        if len(point) != 3 or not np.isfinite(point).all():
            raise InvalidMethod(f"{what} needs points of three finite numbers [m], not {list(point)}")
