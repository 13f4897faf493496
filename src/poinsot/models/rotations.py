"""Rotations as vectors, many at once: r = Log(R), |r| <= pi; `configuration_space` has the derivative of r by R."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Float

TINY = 1e-12
"""sin|r| below which |r| / sin|r| is taken as 1."""

NEAR_PI = 3.0
"""Angle [rad] above which R - R^T no longer determines the axis accurately."""


def skew(x: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """[x]x with [x]x y = x x y."""
    S = np.zeros((*x.shape, 3))
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    S[..., 1, 2], S[..., 2, 0], S[..., 0, 1] = -x[..., 0], -x[..., 1], -x[..., 2]
    return S


def cross(
    x: Float[np.ndarray, "*batch 3"], y: Float[np.ndarray, "*batch 3"]
) -> Float[np.ndarray, "*batch 3"]:
    """x x y; for short batches several times as fast as `np.cross`."""
    z = np.empty(np.broadcast_shapes(x.shape, y.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        z[..., i] = x[..., j] * y[..., k] - x[..., k] * y[..., j]
    return z


def log(R: Float[np.ndarray, "T 3 3"]) -> Float[np.ndarray, "T 3"]:
    """r = Log(R) [rad], from (R - R^T) / 2 = sin|r| [r / |r|]x, near pi by SciPy; NaN where R is not finite."""
    sine = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    size = np.sqrt((sine * sine).sum(axis=1))
    # arccos of the trace loses half of the digits near 0 and pi
    angle = np.arctan2(size, 0.5 * (R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2] - 1))
    r = sine * np.where(size > TINY, angle / np.where(size > TINY, size, 1.0), 1.0)[:, None]
    far = angle > NEAR_PI
    # near pi R - R^T vanishes, and its direction is rounding error
    if far.any():
        r[far] = Rotation.from_matrix(R[far]).as_rotvec()
    return r


def from_quaternion(xyzw: Float[np.ndarray, "T 4"]) -> Float[np.ndarray, "T 3 3"]:
    """Rotations of quaternions (x, y, z, w) of any length but 0; NaN where one is not finite or 0."""
    R, length2 = np.full((len(xyzw), 3, 3), np.nan), (xyzw * xyzw).sum(axis=1)
    good = np.isfinite(length2) & (length2 > 0)
    if good.any():  # of any length: the length drifts in attitude filters
        R[good] = Rotation.from_quat(xyzw[good]).as_matrix()
    return R


def to_quaternion(R: Float[np.ndarray, "T 3 3"]) -> Float[np.ndarray, "T 4"]:
    """Quaternions (x, y, z, w) of rotations."""
    return Rotation.from_matrix(R).as_quat() if len(R) else np.empty((0, 4))


def turning_z_to(axis: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """(3, 3) the shortest rotation that takes the z axis to this direction, of any length but 0."""
    z, to = np.array([0.0, 0.0, 1.0]), axis / np.linalg.norm(axis)
    about = np.cross(z, to)
    size = float(np.linalg.norm(about))
    if size < 1e-12:
        # opposite to z any perpendicular axis is valid
        return np.eye(3) if to[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return np.asarray(Rotation.from_rotvec(about / size * np.arctan2(size, to[2])).as_matrix())
