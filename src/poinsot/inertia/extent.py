"""Give bodies extent in all directions: points, needles and plates of robot descriptions.

Descriptions often give a link a mass and no size. Such a body is on the boundary of the possible set: no chart contains
it and divergences from it are infinite. Along each principal axis without extent it gets that of a solid ball of its
mass,

    L_min = m r^2 / 5,    m = 4/3 pi r^3 rho

which keeps mass and centre of mass, and every axis that has extent.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from ..arrays import Inertial
from .parameters import center_of_mass, from_physical, principal_moments

ALUMINIUM = 2700.0
"""Density [kg/m^3]."""

THIN = 1e-4
"""Fraction of the ball's second moment below which an axis has no extent (a sheet a hundredth as thick as the ball)."""


def with_extent(pi: Inertial, density: float = ALUMINIUM) -> tuple[Inertial, Int[np.ndarray, "*batch"]]:
    """Bodies (..., 10) with extent everywhere, and (...,) how many principal axes of each had none.

    Args:
        pi: possible bodies with a mass.
        density: of the ball [kg/m^3].
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
