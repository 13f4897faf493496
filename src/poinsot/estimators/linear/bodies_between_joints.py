"""Prior bodies in place of a description's placeholders: balls between the joints, as heavy as the data say.

With the columns A of unit balls at the base parameters beta of least squares, and the bodies that the description does
have at pi_0, their common mass is that of

    min over m   |R (beta - K pi_0 - m A)|^2
"""

from __future__ import annotations

import numpy as np

from ...arrays import Matrix, Vector
from ...inertia.parameters import from_physical
from ...models.robot.articulated import Articulated

RADIUS_M = 0.1
"""Radius of a ball of a robot whose joints are all at one place. [m]"""


def unit_balls(robot: Articulated) -> np.ndarray:
    """(l, 10) pi of balls of 1 kg: half-way to the next joints, with this distance as their radius.

    A body without a next joint has its ball at its own joint, as large as the others are on average.
    """
    T_wb, names = robot.placements, list(robot.bodies)
    ends: list[list[np.ndarray]] = [[] for _ in names]
    for T_wc, parent in zip(T_wb, robot.parents, strict=True):
        if parent:
            b = names.index(parent)
            ends[b].append((np.linalg.inv(T_wb[b]) @ T_wc)[:3, 3])
    centers = [0.5 * np.mean(of_body, axis=0) if of_body else np.zeros(3) for of_body in ends]
    radii = np.array([np.linalg.norm(center) for center in centers])
    usual = radii[radii > 0].mean() if radii.any() else RADIUS_M
    radii = np.where(radii > 0, radii, usual)
    return np.array(
        [from_physical(1.0, c, 0.4 * r**2 * np.eye(3)) for c, r in zip(centers, radii, strict=True)]
    )


def without_placeholders(
    robot: Articulated, bodies: np.ndarray, thin: np.ndarray, K: Matrix, R: Matrix, beta: Vector
) -> np.ndarray:
    """(l, 10) bodies with balls of one mass in place of placeholders.

    Args:
        bodies: (l, 10) of the description. thin: (l,) which of them are placeholders.
        K: (b, 10 l) base values of bodies. R: (b, b) their weight. beta: (b,) base values of the data.
    """
    balls = unit_balls(robot)
    known = np.where(thin[:, None], 0.0, bodies)
    A = R @ (K @ np.where(thin[:, None], balls, 0.0).ravel())
    mass = float(A @ (R @ (beta - K @ known.ravel())) / max(A @ A, np.finfo(float).tiny))
    if mass <= 0:  # the data do not say it
        mass = float(known[~thin, 0].mean()) if (~thin).any() else 1.0
    return np.where(thin[:, None], mass * balls, bodies)
