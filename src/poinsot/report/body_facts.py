"""Standard deviations of a body's mass properties, and their change by the data.

The standard deviations of centre of mass and inertia follow to first order from those of pi, with c = h / m and

    I_c = I - (|h|^2 1 - h h^T) / m
    dI_c = dI - (2 h.dh 1 - dh h^T - h dh^T) / m + (|h|^2 1 - h h^T) dm / m^2

and those of pi from the covariance of the body's log-Cholesky coordinates.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Vector
from ..estimate import Body
from ..exceptions import ImpossibleBody
from ..inertia.divergence import AffineInvariant
from ..inertia.log_cholesky import LogCholesky
from ..inertia.parameters import center_of_mass, slopes_at_com


class BodySpread(NamedTuple):
    """Standard deviations of a body's mass properties; NaN where unknown.

    Args:
        mass: [kg]. center_of_mass: (3,) [m]. inertia_at_com: (3, 3) [kg m^2].
    """

    mass: float
    center_of_mass: np.ndarray
    inertia_at_com: np.ndarray


class BodyChange(NamedTuple):
    """Change of a body from the prior to the estimate; NaN where the prior was no possible body.

    Args:
        mass_ratio: mass now over mass before.
        shift: of the centre of mass [m].
        distance: the affine-invariant one between the pseudo-inertias; infinite from a body to a flat one.
    """

    mass_ratio: float
    shift: float
    distance: float


def prior_of(body: Body) -> Vector | None:
    """(10,) pi of the prior; None where it is incomplete."""
    return body.prior if body.prior is not None and np.isfinite(body.prior).all() else None


def spread(body: Body) -> BodySpread:
    """Standard deviations of its mass properties."""
    if body.inertial is None or body.covariance is None:
        return _UNKNOWN
    try:
        D = LogCholesky().jacobian(LogCholesky().from_inertial(body.inertial))
    except ImpossibleBody:
        return _UNKNOWN
    covariance = D @ body.covariance @ D.T
    slopes = slopes_at_com(body.inertial)
    # A variance of zero may be negative by rounding.
    std = np.sqrt(np.maximum(np.einsum("ka,kl,la->a", slopes, covariance, slopes), 0.0))
    return BodySpread(float(std[0]), std[1:4], std[4:].reshape(3, 3))


_UNKNOWN = BodySpread(nan, np.full(3, nan), np.full((3, 3), nan))


def change(body: Body) -> BodyChange | None:
    """Change by the data; None where prior or estimate is unknown."""
    prior = prior_of(body)
    if body.inertial is None or prior is None:
        return None
    # A centre of mass needs a mass; `not >` also takes NaN out.
    if not (prior[0] > 0 and body.inertial[0] > 0):
        return BodyChange(nan, nan, nan)
    shift = float(np.linalg.norm(center_of_mass(body.inertial) - center_of_mass(prior)))
    try:
        distance = sqrt(float(AffineInvariant().between(body.inertial, prior)))
    except ImpossibleBody:
        distance = nan
    return BodyChange(float(body.inertial[0] / prior[0]), shift, distance)
