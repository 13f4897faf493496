"""The ten inertial parameters of a body, and what they mean (seed 001, Eqs. 4 to 8).

    pi = (m, h, I),  h = m c,  I about the body frame's origin
    I_c = I - m (|c|^2 1 - c c^T)                      (Steiner)
    Sigma = tr(I)/2 1 - I,   J = [[Sigma, h], [h^T, m]]

Some real body has these parameters if and only if J is positive (semi)definite.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Inertial, Matrix, PseudoInertia, Vector
from ..estimate import Body


def inertia_matrix(pi: Inertial) -> np.ndarray:
    """(..., 3, 3) I about the body frame's origin [kg m^2]."""
    xx, xy, yy, xz, yz, zz = np.moveaxis(np.asarray(pi)[..., 4:], -1, 0)
    return np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(*xx.shape, 3, 3)


def pseudo_inertia(pi: Inertial) -> PseudoInertia:
    """(..., 4, 4) J = [[Sigma, h], [h^T, m]]."""
    pi = np.asarray(pi)
    I = inertia_matrix(pi)
    J = np.empty((*pi.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = pi[..., 1:4]
    J[..., 3, 3] = pi[..., 0]
    return J


def center_of_mass(pi: Vector) -> Vector:
    """(3,) c = h / m [m]."""
    return pi[1:4] / pi[0]


def inertia_at_com(pi: Vector) -> Matrix:
    """(3, 3) I_c, axes of the body frame [kg m^2]."""
    m, c = pi[0], center_of_mass(pi)
    return inertia_matrix(pi) - m * (c @ c * np.eye(3) - np.outer(c, c))


def body(name: str, pi: Vector | None) -> Body:
    """A body from its ten parameters (10,); None: the data do not determine them."""
    if pi is None:
        return Body(name)
    least = float(np.linalg.eigvalsh(pseudo_inertia(pi))[0])
    if pi[0] == 0:
        return Body(name, 0.0, physically_consistent=least >= 0, min_pseudo_inertia_eigenvalue=least)
    return Body(name, float(pi[0]), center_of_mass(pi), inertia_at_com(pi), least >= 0, least)
