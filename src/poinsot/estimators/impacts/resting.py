"""Residuals of bodies at rest: a body at rest touches the floor, so its pose determines the floor's height.

With (p, theta) the mean pose of the frames at rest, GQ as at an impact (`collisions`), f the wall's unevenness where a
part that carries the body touches, and delta_d the drop's own height of the floor,

    e = (p - p_0) . n + GQ . n - f - delta_d - lift = w

A polygon lies on two corners, a body without corners on one point. The position of a side does not depend on the
corners' radius. So rest determines the height of the floor in a drop, and heights above it at impacts on corners the
radius. No impulse acts at rest, so there is no lag. `lift` is the mean distance by which sides bulge between their
corners, dust beneath them included. w is the rest of it, from side to side and from drop to drop; its standard
deviation is a tolerance that is estimated (`pooled_problem`), and contains the noise of the mean pose, a hundredth of a
millimetre. The m residuals of a drop have a common robust weight (`student_t`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Float, Int, Matrix, Vector
from .collisions import ContactGeometry
from .contact_parameters import HEIGHT, LIFT, OF_FLIGHTS, S
from .flights import of_center
from .segmentation import Segmented, at_rest_from

FREEDOM = 4.0
"""nu of Student's t."""
LEVEL = 0.05
"""A part that is higher than the lowest one by less than this part of the size carries the body as well."""
NEAR = 0.1
"""A body whose lowest part is farther from the wall than this part of the size lies on something else."""
LEAST = 1e-6
"""Least standard deviation of w [m]."""


@dataclass(frozen=True, eq=False)
class Resting:
    """Contacts of bodies at rest, N of them.

    Args:
        drop, part: (N,) index of the drop, not decreasing, and of the part that touches. poses: (N, 3) as tracked.
    """

    drop: Int[np.ndarray, "N"]
    part: Int[np.ndarray, "N"]
    poses: Float[np.ndarray, "N 3"]


def resting(parted: Segmented, shared: Vector, geometry: ContactGeometry) -> Resting | None:
    """Contacts of all drops that came to rest; None if there are none."""
    shape, offset, level = geometry.shape, shared[OF_FLIGHTS][:2], replace(geometry, uneven=None)
    needed = 2 if geometry.has_corners else 1
    P, D = len(shape.parts), len(parted.drops)
    drop, part, poses = [], [], []
    for d, one in enumerate(parted.drops):
        begin = at_rest_from(of_center(one, offset), parted.model.noise)
        if begin == len(one.poses):
            continue
        pose = one.poses[begin:].mean(axis=0)
        every = Resting(np.full(P, d), np.arange(P), np.tile(pose, (P, 1)))
        gap = resting_residuals(every, shared[:S], np.zeros(D), level)[0]
        carrying = np.flatnonzero(gap < gap.min() + LEVEL * shape.size)
        # a square that leans on something has one lowest corner, and one that lies elsewhere is far from the wall
        if len(carrying) == needed and abs(gap.min()) < NEAR * shape.size:
            drop += [d] * needed
            part += list(carrying)
            poses += [pose] * needed
    return Resting(np.array(drop), np.array(part), np.array(poses)) if drop else None


def resting_residuals(
    of: Resting, shared: Vector, heights: Vector, geometry: ContactGeometry
) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N s"]]:
    """e of each contact and its derivatives by shared; that by its drop's height is that by the floor's."""
    theta, offset = of.poses[:, 2], shared[OF_FLIGHTS][:2]
    c, s = np.cos(theta), np.sin(theta)
    along = np.stack([np.column_stack([c, s]), np.column_stack([-s, c])])
    center = of.poses.copy()
    center[:, :2] -= np.einsum("k,kia->ia", offset, along)
    gap, by, across, *_ = geometry.gaps(center, of.part, shared, heights[of.drop])
    by[:, OF_FLIGHTS][:, :2] = -np.einsum("kia,ia->ik", along, across)
    by[:, LIFT] = -1.0
    return gap - shared[LIFT], by


def added(
    of: Resting, std: float, shared: Vector, heights: Vector, geometry: ContactGeometry, curved: bool = False
) -> tuple[Float[np.ndarray, "D s s"], Float[np.ndarray, "D s"], Vector]:
    """Normal matrix, gradient and cost (D,) of rest in each drop, with w of this standard deviation [m].

    `curved` adds the weights' part of the second derivative, on average.
    """
    e, E = resting_residuals(of, shared, heights, geometry)
    D, s = len(heights), len(shared)
    z, rows, number = e / std, E / std, np.bincount(of.drop, minlength=D)
    trust, cost, bent = student_t(np.bincount(of.drop, z * z, D), number, FREEDOM)
    normal, gradient = np.zeros((D, s, s)), np.zeros((D, s))
    # the curvature of one drop may be negative: every drop gets the mean of those that rest
    weigh = np.full(D, bent[number > 0].mean()) if curved else trust
    np.add.at(normal, of.drop, weigh[of.drop][:, None, None] * rows[:, :, None] * rows[:, None, :])
    np.add.at(gradient, of.drop, (trust[of.drop] * z)[:, None] * rows)
    return normal, gradient, cost


def student_t(
    chi2: np.ndarray, number: np.ndarray, freedom: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Robust weight, cost and curvature of groups of residuals by Student's t.

    Args:
        chi2: sums of squares of the groups. number: m, residuals in a group. freedom: nu.

    Returns:
        The weight t = (nu + m) / (nu + chi2) of their squares; the cost (nu + m) log(1 + chi2 / nu), whose gradient is
        that of t chi2 with t held; half the second derivative of the cost along a residual, averaged over the m
        directions: t - 2 t^2 chi2 / (m (nu + m)), since dt / dchi2 = -t^2 / (nu + m).
    """
    t, m = (freedom + number) / (freedom + chi2), np.maximum(number, 1)
    return t, (freedom + number) * np.log1p(chi2 / freedom), t - 2 * t**2 * chi2 / (m * (freedom + number))


def updated_std(
    of: Resting,
    std: float,
    shared: Vector,
    heights: Vector,
    geometry: ContactGeometry,
    slope: Matrix,
    variance: Vector,
    covariance: Matrix,
) -> float:
    """The standard deviation of w, from the number of residuals less the degrees of freedom of the unknowns [m].

    Args:
        std: until now. slope, variance: (D, s), (D,) of heights by and given theta. covariance: of theta.
    """
    e, E = resting_residuals(of, shared, heights, geometry)
    D = len(heights)
    number, chi2 = np.bincount(of.drop, minlength=D), np.bincount(of.drop, (e / std) ** 2, D)
    trust = student_t(chi2, number, FREEDOM)[0][of.drop]
    moved = E + E[:, [HEIGHT]] * slope[of.drop]
    taken = np.einsum("ia,ab,ib->i", moved, covariance, moved) + E[:, HEIGHT] ** 2 * variance[of.drop]
    left = np.sum(1 - trust * taken / std**2)
    ratio = np.sqrt(np.sum(trust * e * e) / left) / std if left >= 1e-9 else 1.0
    return max(std * float(np.clip(ratio, 0.5, 2.0)), LEAST)
