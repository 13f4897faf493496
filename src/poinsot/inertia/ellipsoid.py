"""The equivalent ellipsoid: the uniform solid ellipsoid that has a body's ten parameters.

A uniform ellipsoid of mass m with semi-axes a_x, a_y, a_z has second moments L_i = m a_i^2 / 5 about its centre, so

    Sigma_c = R diag(L) R^T,   a_i = sqrt(5 L_i / m)

It exists exactly for the bodies that are physically possible; a flat body has a semi-axis of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Inertial
from ..exceptions import ImpossibleBody
from .parameters import center_of_mass, inconsistencies, is_consistent, principal_moments


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """A uniform solid ellipsoid; batches (...).

    Args:
        mass: (...) [kg].
        center: (..., 3) in the body frame [m].
        axes: (..., 3, 3) R, the principal axes in the body frame as columns, each named after the closest body axis.
        semi_axes: (..., 3) along them [m].
    """

    mass: np.ndarray
    center: np.ndarray
    axes: np.ndarray
    semi_axes: np.ndarray


def equivalent_ellipsoid(pi: Inertial) -> Ellipsoid:
    """The ellipsoid of bodies (..., 10) with a mass.

    Raises:
        ImpossibleBody: if there is none, for the reasons that `inconsistencies` gives.
    """
    bad = ~(is_consistent(pi) & (pi[..., 0] > 0))
    if bad.any():
        first = pi[tuple(np.argwhere(bad)[0])]
        raise ImpossibleBody(inconsistencies(first) or ["its mass is 0"])
    m = pi[..., 0]
    D, R = principal_moments(pi)
    L = 0.5 * D.sum(axis=-1, keepdims=True) - D
    return Ellipsoid(np.asarray(m), center_of_mass(pi), R, np.sqrt(5 * np.maximum(L, 0.0) / m[..., None]))
