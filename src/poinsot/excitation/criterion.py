"""Criteria of excitation: the condition number of the regressor, and the volume of the parameters' uncertainty.

W are the rows of all samples, W_s = W / |W_j| the same with columns at unit norm, and lambda_1 <= ... <= lambda_b the
eigenvalues of C = W_s^T W_s. The condition number of W_s is sqrt(lambda_b / lambda_1). Where two eigenvalues meet it
is not differentiable, which stalls an optimizer; so it is approximated from above by

    log kappa_p = 1/2p log sum_i lambda_i^p + 1/2p log sum_i lambda_i^-p,     kappa <= kappa_p <= b^(1/p) kappa

with p growing; p = infinity is kappa itself. The other criterion is D-optimality: the information

    M = sum_j W_j^T W_j / sigma_j^2,     -1/2b log det M

is the inverse covariance of the estimate, and the latter the logarithm of the geometric mean of the half axes of the
uncertainty ellipsoid; a change of units shifts it but no optimum. It favours large motions.

Both are functions of eigenvalues, f(C) with df = tr(F dC), and with H = 2 W_s F

    df/dW_j = (H_j - W_sj (W_sj . H_j)) / |W_j|

where the second term comes from the normalization.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..arrays import Float, Vector

TINY = 1e-13
"""Eigenvalues of C below this are rounding errors of unit columns."""


Criterion: TypeAlias = tuple[float, Float[np.ndarray, "T n b"]]
"""f, the natural logarithm of a ratio or a deviation, and df/dW."""


def log_condition_number(W: Float[np.ndarray, "T n b"], sharpness: float = float("inf")) -> Criterion:
    """log kappa_p of the regressor with columns at unit norm; `sharpness` is p, infinite for the condition number."""
    W_s, norms = _unit_columns(W)
    lam, V = _spectrum(W_s)
    # relative to the largest and the smallest: lam^32 itself may overflow; infinite p gives 1 and 0
    large, small = (lam / lam[-1]) ** sharpness, (lam[0] / lam) ** sharpness
    value = 0.5 * (np.log(lam[-1] / lam[0]) + np.log(large.sum() * small.sum()) / sharpness)
    slope = 0.5 * (large / large.sum() - small / small.sum()) / lam
    H = 2 * W_s @ ((V * slope) @ V.T)
    # a change along the column itself has no effect, since the column is normalized
    H -= W_s * np.sum(W_s * H, axis=0)
    return float(value), (H / norms).reshape(W.shape)


def log_mean_deviation(W: Float[np.ndarray, "T n b"], std: Vector) -> Criterion:
    """-1/2b log det M: log of the mean half axis of the uncertainty ellipsoid, for noise of `std` (n,)."""
    W_s, norms = _unit_columns(W / std[:, None])
    lam, V = _spectrum(W_s)
    b = len(lam)
    # log det M from the unit columns' eigenvalues and from the norms, which may have any size
    value = -(0.5 * np.log(lam).sum() + np.log(norms).sum()) / b
    gradient = -(W_s @ ((V / lam) @ V.T)) / norms / b
    return float(value), gradient.reshape(W.shape) / std[:, None]


def condition_number(W: Float[np.ndarray, "T n b"]) -> float:
    """Condition number of the regressor with unit columns; infinite where a column is zero or spanned by others."""
    W_s, _ = _unit_columns(W)
    return float(np.linalg.cond(W_s)) if W_s.any(axis=0).all() else float("inf")


def log_determinant(W: Float[np.ndarray, "T n b"], std: Vector) -> float:
    """log det M of the information, minus infinity where it is singular."""
    R = np.linalg.qr((W / std[:, None]).reshape(-1, W.shape[-1]), mode="r")
    with np.errstate(divide="ignore"):
        return float(2 * np.log(np.abs(np.diag(R))).sum())


def _unit_columns(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat = W.reshape(-1, W.shape[-1])
    norms = np.linalg.norm(flat, axis=0)
    # a column of zeros stays zero, and its eigenvalue is raised to TINY
    norms = np.where(norms > 0, norms, 1.0)
    return flat / norms, norms


def _spectrum(W_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and eigenvectors of W_s^T W_s."""
    lam, V = np.linalg.eigh(W_s.T @ W_s)
    # smaller values are rounding errors, which may be negative and have no logarithm
    return np.maximum(lam, TINY), V
