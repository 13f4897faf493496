"""Covariance of parameters where residuals are coloured, and what the data do not determine.

    cov = H^-1 M H^-1,    H = J^T J + P,    M = sum over t, u of J_t^T Gamma(u - t) J_u + c P

with whitened Jacobian J (N, p), the information P of priors (c times their own, so that it has its weight against
samples of which c together say one thing), and Gamma the autocovariance of the residuals, tapered at a lag that they
choose themselves (`poinsot.estimators.linear.residuals`: Newey and West 1987, Politis 2003, Kiefer and Vogelsang 2005).
Residuals of a servo at rest are constant for long, so they are never white.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import fft, linalg

from poinsot.arrays import Matrix, Vector
from poinsot.estimate.fit import autocorrelation, pooled
from poinsot.estimators.linear.residuals import allowance, autocovariance, correlation_length


def coloured_covariance(
    jacobians: Sequence[Matrix], residuals: Sequence[Vector], prior: Matrix, correlation: float = 1.0
) -> tuple[Matrix, Matrix]:
    """(p, p) covariances for coloured and for white residuals.

    Args:
        jacobians, residuals: (N_k, p), (N_k,) whitened, of every strand of samples that follow each other.
        prior: (p, p) information of priors as it is in the cost, `correlation` times their own.
    """
    J = np.concatenate(jacobians)
    e = np.concatenate(residuals)
    counts = [len(each) for each in residuals]
    H = J.T @ J + prior
    variance = float(e @ e) / max(len(e) - J.shape[1], 1)
    longest = max(len(e) // 4, 1)
    rho = pooled(autocorrelation, counts, e[:, None], longest)[0]
    lags = min(max(4 * correlation_length(rho, len(e)), 1), longest)
    gamma = pooled(autocovariance, counts, e[:, None], lags)[0, 0] * (1 - np.arange(lags + 1) / (lags + 1))
    M = np.zeros_like(H)
    for block in jacobians:
        M += _filtered_products(block, gamma)
    M = M * allowance(lags / len(e)) + correlation * prior
    inverse = linalg.pinvh(H)
    return inverse @ M @ inverse, inverse * variance


def _filtered_products(J: Matrix, gamma: Vector) -> Matrix:
    """sum over t, u of J_t^T Gamma(u - t) J_u; gamma (lags + 1,) of lags 0, 1, ..., even."""
    lags = len(gamma) - 1
    size = fft.next_fast_len(len(J) + 2 * lags, real=True)
    kernel = np.zeros(size)
    kernel[: lags + 1] = gamma
    if lags:
        kernel[-lags:] = gamma[:0:-1]
    spectrum = fft.rfft(J, size, axis=0) * np.real(fft.rfft(kernel))[:, None]
    return J.T @ fft.irfft(spectrum, size, axis=0)[: len(J)]
