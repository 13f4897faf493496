"""Prior of base parameters from a robot description, with a realistic uncertainty.

Without stated uncertainty, a description has masses to a factor of two, directions of centres of mass to 30 degrees:

    pi ~ N(pi0, S),   S = s^2 pi0 pi0^T + blockdiag(s^2 m^2, m^2 (tan 30 deg |c| + r/2)^2 1, s^2 m^2 (r^2 + |c|^2)^2 1)

one s = ln 2 for all ten parameters of a body together (its density) and for each by itself; r: radius of gyration.
A body without mass in the description, or with placeholders for numbers, may be anything up to the mean body. Rotor
inertia, friction and offsets are not described: base parameters that contain a rotor's inertia are compared without it,
from above only.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Matrix, Vector
from ..inertia.parameters import equivalent_ellipsoid, is_consistent
from ..parameters import INERTIAL_SYMBOLS
from ..regression.inverse_dynamics import InverseDynamics

TEN = len(INERTIAL_SYMBOLS)


FACTOR, DIRECTION_DEG, RADIUS = 2.0, 30.0, 0.5
"""Factor and angle to which masses and directions of centres of mass are known, and the further uncertainty of the
centre of mass as part of the radius of gyration."""


AIR = 1.2
"""Density of air [kg/m^3]: a link whose equivalent ellipsoid has less would rise."""


def placeholders(bodies: np.ndarray) -> np.ndarray:
    """(l,) whether the numbers of a body (l, 10) are placeholders: its mass is spread more thinly than air."""
    with_mass = (bodies[:, 0] > 0) & is_consistent(bodies)
    thin = np.zeros(len(bodies), dtype=bool)
    shape = equivalent_ellipsoid(bodies[with_mass])
    thin[with_mass] = shape.mass < AIR * 4 / 3 * np.pi * shape.semi_axes.prod(axis=-1)
    return thin


def described_base(problem: InverseDynamics, radius: float = RADIUS) -> tuple[np.ndarray, Vector, Matrix]:
    """(b,) mask of base parameters that contain only bodies, their described values and covariance.

    The mask is empty if the description gives no link a mass. `radius`: in place of `RADIUS`.
    """
    bodies, K = problem.robot.inertials, problem.base.map
    bodies = np.where(placeholders(bodies)[:, None], 0.0, bodies)
    alone = (np.abs(K[:, bodies.size :]) == 0).all(axis=1) & (np.abs(K[:, : bodies.size]) > 0).any(axis=1)
    alone &= bool(np.any(bodies[:, 0] > 0))
    A = K[alone, : bodies.size]
    return alone, A @ bodies.ravel(), A @ _covariance(bodies, radius) @ A.T


def _covariance(bodies: np.ndarray, radius: float) -> Matrix:
    """(10 l, 10 l) S."""
    known = bodies[bodies[:, 0] > 0]
    s = np.log(FACTOR)
    S = np.zeros((bodies.size, bodies.size))
    if not len(known):
        return S
    mean_mass, mean_radius = float(known[:, 0].mean()), max(map(_radius, known))
    for k, pi in enumerate(bodies):
        m, r = (pi[0], _radius(pi)) if pi[0] > 0 else (mean_mass, mean_radius)
        c = np.linalg.norm(pi[1:4]) / m
        shift = np.tan(np.radians(DIRECTION_DEG)) * c + radius * r
        own = np.concatenate([[s * m], np.full(3, m * shift), np.full(6, s * m * (r**2 + c**2))])
        block = slice(TEN * k, TEN * (k + 1))
        S[block, block] = s**2 * np.outer(pi, pi) + np.diag(own**2)
    return S


def _radius(pi: Vector) -> float:
    """Radius of gyration about the centre of mass; 0.1 m for a body with mass but no extent."""
    m, h = pi[0], pi[1:4]
    trace = (pi[4] + pi[6] + pi[9]) / 2 - float(h @ h) / m
    return float(np.sqrt(trace / m)) if trace > 1e-9 * m else 0.1
