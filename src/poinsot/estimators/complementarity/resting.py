"""Where drops came to rest: a body that lies still touches the floor, so its pose tells where the floor is.

With the pose (p, theta) that the frames at rest have on average, GQ as at an impact (`collisions`), the wall's
unevenness f where each part that carries the body touches, delta_d the drop's own height of the floor,

    e = (p - p_0) . n + GQ . n - f - delta_d - lift = w

A polygon lies on two corners, a body without on one point. A side is where it is drawn whatever the corners' radius, so
rest tells where the floor was for a drop, and heights at impacts on corners, which then are heights above it, tell the
radius. No blow acts, so nothing gives way. `lift` is how much farther out sides reach between their corners than a
straight line, all alike, by what lies beneath them as well; w is the rest of that, from side to side and from drop to
drop, with a standard deviation of its own which is found as tolerances are (`pooled`). A drop with chi2 of its m
residuals counts (nu + m) log(1 + chi2 / nu), Student's t.

The frames' noise is a hundredth of a millimetre on average, which w has in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ...arrays import Matrix, Vector
from .collisions import ContactGeometry, levers
from .contact_parameters import ANGLE, HEIGHT, LIFT, OF_FLIGHTS, OF_OUTLINE, SLOPE, S
from .segmentation import Segmented, at_rest_from, of_center

FREEDOM = 4.0
"""nu of Student's t."""
LEVEL = 0.05
"""Of the size: a part that is higher than the lowest by less carries the body as well."""
NEAR = 0.1
"""Of the size: a body whose lowest part is farther from the wall lies on something else."""
LEAST = 1e-6
"""Of the standard deviation [m]."""
BEGUN = 1e-4
"""At which it is begun [m]."""


@dataclass(frozen=True, eq=False)
class Resting:
    """Contacts of bodies at rest, N of them.

    Args:
        drop, part: (N,) which, and the part that touches; drops in order. poses: (N, 3) as tracked.
        std: of w [m]. drops: how many there are, at rest or not.
    """

    drop: Int[np.ndarray, "N"]
    part: Int[np.ndarray, "N"]
    poses: Float[np.ndarray, "N 3"]
    std: float
    drops: int

    def __len__(self) -> int:
        return len(self.drop)


@dataclass(frozen=True, eq=False)
class Added:
    """What rest adds to each drop: normal matrix (D, s, s), gradient (D, s), cost (D,)."""

    normal: Float[np.ndarray, "D s s"]
    gradient: Float[np.ndarray, "D s"]
    cost: Float[np.ndarray, "D"]


@dataclass(frozen=True, eq=False)
class HeightStep:
    """How the height of the floor in each drop follows from theta.

    Args:
        step: (D,) without a step of theta [m]. slope: (D, s). variance: (D,) given theta [m^2].
    """

    step: Vector
    slope: Matrix
    variance: Vector


def resting(parted: Segmented, shared: Vector, geometry: ContactGeometry) -> Resting | None:
    """Of all drops; None if there is no such drop."""
    model = replace(parted.model, offset=shared[OF_FLIGHTS][:2])
    outline = geometry.outline
    needed = 2 if outline.has_corners else 1
    P = len(outline.shape.parts)
    drop, part, poses = [], [], []
    for d, one in enumerate(parted.drops):
        begin = at_rest_from(of_center(one, model), model.noise)
        if begin == len(one.poses):
            continue
        pose = one.poses[begin:].mean(axis=0)
        every = Resting(np.full(P, d), np.arange(P), np.tile(pose, (P, 1)), BEGUN, len(parted.drops))
        gap = lying(every, shared[:S], np.zeros(len(parted.drops)), replace(geometry, uneven=None))[0]
        carrying = np.flatnonzero(gap < gap.min() + LEVEL * outline.shape.size)
        if len(carrying) == needed and abs(gap.min()) < NEAR * outline.shape.size:
            drop += [d] * needed
            part += list(carrying)
            poses += [pose] * needed
    if not drop:
        return None
    return Resting(np.array(drop), np.array(part), np.array(poses), BEGUN, len(parted.drops))


def lying(
    of: Resting, shared: Vector, heights: Vector, geometry: ContactGeometry
) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N s"]]:
    """e of each contact and its derivatives by shared; that by its drop's height is that by the floor's."""
    wall, (t, n) = geometry.wall, geometry.directions(shared)
    alpha, phi = wall.slope + float(shared[SLOPE]), float(shared[ANGLE])
    theta, offset = of.poses[:, 2], shared[OF_FLIGHTS][:2]
    c, s = np.cos(theta), np.sin(theta)
    along = np.stack([np.column_stack([c, s]), np.column_stack([-s, c])])
    at = levers(theta + phi, of.part, shared, alpha, geometry.outline)
    point = of.poses[:, :2] - np.einsum("k,kia->ia", offset, along) - np.array([wall.x, wall.y]) + at.GQ
    point[:, 1] -= shared[HEIGHT] + heights[of.drop]
    bumps, rising = geometry.modes(point @ t, shared)
    # moves of the touching point, across the wall and along it, where that rises
    across = n - rising[:, None] * t
    by = np.zeros((len(of), len(shared)))
    for column, direction in zip((*OF_OUTLINE, ANGLE), (*at.by_outline, at.by_theta), strict=True):
        by[:, column] = np.sum(direction * across, axis=1)
    by[:, HEIGHT] = -across[:, 1]
    # n turns to -t and t to n
    by[:, SLOPE] = -point @ t - rising * (point @ n) + np.sum(at.by_slope * across, axis=1)
    by[:, OF_FLIGHTS][:, :2] = -np.einsum("kia,ia->ik", along, across)
    by[:, LIFT] = -1.0
    by[:, S:] = -bumps
    return point @ n - bumps @ shared[S:] - shared[LIFT], by


def added(
    of: Resting, shared: Vector, heights: Vector, geometry: ContactGeometry, curved: bool = False
) -> Added:
    """Normal equations of bodies at rest; `curved` adds the weights' part of the second derivative, on average."""
    e, E = lying(of, shared, heights, geometry)
    z, rows = e / of.std, E / of.std
    chi2, trust = _trusted(of, z)
    number = np.bincount(of.drop, minlength=of.drops)
    out = Added(
        np.zeros((of.drops, len(shared), len(shared))),
        np.zeros((of.drops, len(shared))),
        (FREEDOM + number) * np.log1p(chi2 / FREEDOM),
    )
    weigh = trust
    if curved:
        # d trust / d chi2 = -trust^2 / (nu + m), on average over directions and drops
        some = number > 0
        bent = trust[some] - 2 * trust[some] ** 2 * chi2[some] / (number[some] * (FREEDOM + number[some]))
        weigh = np.where(some, bent.mean(), 0.0)
    np.add.at(out.normal, of.drop, weigh[of.drop][:, None, None] * rows[:, :, None] * rows[:, None, :])
    np.add.at(out.gradient, of.drop, (trust[of.drop] * z)[:, None] * rows)
    return out


def _trusted(of: Resting, z: Vector) -> tuple[Vector, Vector]:
    """(D,) chi2, and the weight of each drop."""
    chi2 = np.bincount(of.drop, z * z, of.drops)
    return chi2, (FREEDOM + np.bincount(of.drop, minlength=of.drops)) / (FREEDOM + chi2)


def reweighed(
    of: Resting,
    shared: Vector,
    heights: Vector,
    geometry: ContactGeometry,
    followed: HeightStep,
    covariance: Matrix,
) -> Resting:
    """With the standard deviation that its residuals have, by their number less the degrees that the unknowns take.

    Args:
        followed: how heights follow theta. covariance: of theta.
    """
    e, E = lying(of, shared, heights, geometry)
    trust = _trusted(of, e / of.std)[1][of.drop]
    moved = E + E[:, [HEIGHT]] * followed.slope[of.drop]
    taken = (
        np.einsum("ia,ab,ib->i", moved, covariance, moved) + E[:, HEIGHT] ** 2 * followed.variance[of.drop]
    )
    left = np.sum(1 - trust * taken / of.std**2)
    if left < 1e-9:
        return of
    ratio = np.sqrt(np.sum(trust * e * e) / left) / of.std
    return replace(of, std=max(of.std * float(np.clip(ratio, 0.5, 2.0)), LEAST))
