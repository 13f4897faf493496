"""Nearest physically possible body to ten impossible inertial parameters, and extent for points, needles and plates.

The distance depends on the frame and on the length l [m] that makes moments comparable with mass,

    J~ = S J S,   S = diag(1/l, 1/l, 1/l, 1),   J~' = argmin |J~' - J~|_F  subject to  J~' >= floor,

and the nearest positive semidefinite matrix is J~ = V diag(lambda) V^T with lambda' = max(lambda, floor).

    m > 0     At the centre of mass J = diag(Sigma_c, m): mass and centre of mass stay, and Sigma_c = V diag(L) V^T
              becomes V diag(max(L, floor)) V^T, independent of l and of the body's frame.
    m <= 0    There is no centre of mass: the body frame's J~ is projected, with l = sqrt(sum |L| / |m|), L of Sigma,
              and all ten numbers change. The same holds where a length is given.

The floor is `FLOOR` times the sum of |L| (or |lambda|): far enough from the boundary for every chart, for numbers
written as text, and for simulators that check triangle inequalities to the last digit. At the centre of mass it is
larger for a body so far from its frame's origin that rounding of I there would exceed it.

Only the Euclidean norm defines a nearest body: entropic and affine-invariant divergences are infinite between a
possible body and an impossible one.

Descriptions often give a link a mass and no size. Such a body is on the boundary of the possible set: no chart contains
it and divergences from it are infinite. Along each principal axis without extent it gets that of a solid ball of its
mass,

    L_min = m r^2 / 5,    m = 4/3 pi r^3 rho

which keeps mass and centre of mass, and every axis that has extent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Inertial, Int, Vector
from ..exceptions import ImpossibleBody, InvalidMethod
from .parameters import (
    ROUNDING,
    center_of_mass,
    from_physical,
    from_pseudo_inertia,
    inconsistencies,
    inertia_at_com,
    is_consistent,
    principal_moments,
    pseudo_inertia,
    second_moments,
    second_moments_at_com,
)

FLOOR = 1e-6
"""Least second moment (or eigenvalue of J~) of a repaired body, relative to the sum of their sizes."""

ALUMINIUM = 2700.0
"""Density [kg/m^3]."""

THIN = 1e-4
"""Fraction of the ball's second moment below which an axis has no extent (a sheet a hundredth as thick as the ball)."""


class Nearest(NamedTuple):
    """The nearest possible body and its distance.

    Args:
        inertial: (10,) pi; unchanged where the given numbers are possible.
        distance: |J~' - J~|_F / |J~|_F, 0 where unchanged.
    """

    inertial: Vector
    distance: float


def nearest_possible(pi: Vector, length: float | None = None) -> Nearest:
    """Find the possible body nearest to pi (10,).

    Args:
        pi: ten finite numbers.
        length: l [m], to measure the distance in the body's frame, where mass and centre of mass may change too; None:
            at the centre of mass, which keeps both. Where the mass is not positive it is measured in the body's frame.

    Raises:
        ImpossibleBody: if a number is not finite.
        InvalidMethod: if the length is not positive.
    """
    if length is not None and not 0 < length < np.inf:
        raise InvalidMethod(
            f"the length that makes moments comparable with mass must be positive, not {length} m"
        )
    if not np.isfinite(pi).all():
        raise ImpossibleBody(inconsistencies(pi))
    # a possible body is its own nearest, also one on the border, which the floor would move
    if is_consistent(pi):
        return Nearest(pi, 0.0)
    if length is None and pi[0] > 0:
        return _project_at_com(pi)
    length = _choose_length(pi) if length is None else length
    S = np.diag([1 / length, 1 / length, 1 / length, 1.0])
    J = S @ pseudo_inertia(pi) @ S
    eigenvalues, V = np.linalg.eigh(J)
    raised = np.maximum(eigenvalues, FLOOR * np.abs(eigenvalues).sum())
    S_inverse = np.diag(1 / np.diag(S))
    nearest = from_pseudo_inertia(S_inverse @ (V * raised) @ V.T @ S_inverse)
    return Nearest(nearest, float(np.linalg.norm(raised - eigenvalues) / np.linalg.norm(eigenvalues)))


def _project_at_com(pi: Vector) -> Nearest:
    m, I = float(pi[0]), inertia_at_com(pi)
    L, V = np.linalg.eigh(second_moments_at_com(pi))
    size = float(np.abs(L).sum())
    # far from the frame's origin I itself is rounded by more than the floor of a small body
    floor = max(FLOOR * size, 4 * ROUNDING * float(np.abs(pi[[4, 6, 9]]).sum()))
    raised = np.maximum(L, floor)
    change = (V * (raised - L)) @ V.T
    nearest = from_physical(m, center_of_mass(pi), I + np.trace(change) * np.eye(3) - change)
    # with l^2 = sum |L| / m, J~ = m diag(L / sum |L|, 1)
    distance = np.linalg.norm(raised - L) / np.hypot(np.linalg.norm(L), size)
    return Nearest(nearest, float(distance))


def _choose_length(pi: Vector) -> float:
    """A length scale [m] of the ten numbers: a radius of gyration, or the arm of the first moment."""
    m, h = abs(float(pi[0])), float(np.linalg.norm(pi[1:4]))
    size = float(np.abs(np.linalg.eigvalsh(second_moments(pi))).sum())
    length = 1.0
    if m and size:
        length = np.sqrt(size / m)
    elif m and h:
        length = h / m
    elif size and h:
        length = size / h
    return float(np.clip(length, 1e-6, 1e6))


def with_extent(pi: Inertial, density: float = ALUMINIUM) -> tuple[Inertial, Int[np.ndarray, "*batch"]]:
    """Bodies (..., 10) with extent everywhere, and (...,) how many principal axes of each had none.

    Args:
        pi: possible bodies with a mass. density: the ball's density [kg/m^3].
    """
    m = pi[..., 0]
    r = np.cbrt(3 * m / (4 * np.pi * density))
    ball = m * r**2 / 5
    D, R = principal_moments(pi)
    L = 0.5 * D.sum(axis=-1, keepdims=True) - D
    thin = L < THIN * ball[..., None]
    L = np.where(thin, ball[..., None], L)
    I = R * (L.sum(axis=-1, keepdims=True) - L)[..., None, :] @ np.swapaxes(R, -1, -2)
    extended = from_physical(m, center_of_mass(pi), I)
    count = np.asarray(thin.sum(axis=-1))
    # bodies with extent stay as they are to the last digit
    return np.where((count > 0)[..., None], extended, pi), count
