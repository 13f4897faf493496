"""Contacts of bodies at rest (`collisions`), from the last frames of drops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Vector
from ...models.planar.drop import of_center
from .collisions import ContactGeometry, Resting
from .contact_parameters import OF_FLIGHTS, S
from .segmentation import Segmented, at_rest_from

LEVEL = 0.05
"""A part that is higher than the lowest one by less than this part of the size carries the body as well."""
NEAR = 0.1
"""A body whose lowest part is farther from the wall than this part of the size lies on something else."""


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
        gap = every.residuals(shared[:S], np.zeros(D), level)[0]
        carrying = np.flatnonzero(gap < gap.min() + LEVEL * shape.size)
        # a square that leans on something has one lowest corner, and one that lies elsewhere is far from the wall
        if len(carrying) == needed and abs(gap.min()) < NEAR * shape.size:
            drop += [d] * needed
            part += list(carrying)
            poses += [pose] * needed
    return Resting(np.array(drop), np.array(part), np.array(poses)) if drop else None
