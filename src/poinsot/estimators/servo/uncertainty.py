"""Covariance of parameters where residuals are coloured, and what the data do not determine.

    cov = H^-1 M H^-1,    H = J^T J + P,    M = sum over t, u of J_t^T Gamma(u - t) J_u + c P

with whitened Jacobian J (N, p), the information P of priors (c times their own, so that it has its weight against
samples of which c together say one thing), and Gamma the autocovariance of the residuals, tapered at a lag that they
choose themselves (`poinsot.statistics`: Newey and West 1987, Politis 2003, Kiefer and Vogelsang 2005).
Residuals of a servo at rest are constant for long, so they are never white.

Rounding to an encoder's steps of size d is a function of the position: with noise of standard deviation s before it,
its mean error has the variance (first harmonic of the sawtooth)

    d^2 / (2 pi^2) exp(-4 pi^2 s^2 / d^2)

and is one and the same while the joint stays within a part of a step. It is small where noise dithers it, and too small
for an autocorrelation to show, but it does not average out at rest: it is added to M, one product a stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from ...arrays import Matrix, Vector
from ...statistics import correlated_products, tapered_autocovariance


def coloured_covariance(
    jacobians: Sequence[Matrix],
    residuals: Sequence[Vector],
    prior: Matrix,
    correlation: float = 1.0,
    more: Matrix | float = 0.0,
    rates: Sequence[tuple[Matrix, Vector]] = (),
) -> tuple[Matrix, Matrix]:
    """(p, p) covariances for coloured and for white residuals.

    Args:
        jacobians, residuals: (N_k, p), (N_k,) whitened, of every strand of samples that follow each other.
        more: (p, p) added to M: see `rounding_products`.
        prior: (p, p) information of priors as it is in the cost, `correlation` times their own.
        rates: (N_k, p), (N_k,) of a second measurement at the same samples, 0 where there is none (`aligned`).
    """
    channels = [(jacobians, residuals)]
    if rates:
        channels.append(([J for J, _ in rates], [r for _, r in rates]))
    counts = [len(each) for each in residuals]
    J = np.concatenate([each for blocks, _ in channels for each in blocks])
    e = np.stack([np.concatenate(parts) for _, parts in channels], axis=1)
    H = J.T @ J + prior
    variance = float(np.sum(e**2)) / max(np.count_nonzero(e) - J.shape[1], 1)
    gamma, allowance = tapered_autocovariance(e, counts)
    strands = enumerate(
        np.stack(blocks, axis=1) for blocks in zip(*(blocks for blocks, _ in channels), strict=True)
    )
    M = correlated_products(strands, gamma) * allowance + correlation * prior + more
    inverse = linalg.pinvh(H)
    return inverse @ M @ inverse, inverse * variance


def rounding_step(values: Vector) -> float:
    """The step to which values (N,) were rounded; 0 where there is none.

    >>> round(rounding_step(np.round(np.linspace(0, 1, 1000) / 0.01) * 0.01), 6)
    0.01
    """
    changes = np.abs(np.diff(values[np.isfinite(values)]))
    moves = changes[changes > 1e-9]
    if not len(moves):
        return 0.0
    least = float(np.min(moves))
    step = float(np.mean(moves[moves < 1.5 * least]))
    parts = moves[moves < 20 * step] / step
    on_grid = np.abs(parts - np.round(parts)) < 0.1
    return step if len(parts) > 10 and on_grid.mean() > 0.95 else 0.0


def rounding_products(J: Matrix, position: Vector, step: float, rms: float, level: float) -> Matrix:
    """(p, p) what rounding adds to M for one strand.

    Args:
        J: (N, p) whitened. position: (N,) simulated [rad]. step: of the rounding [rad].
        rms: of the residuals, of which rounding is a part [rad]. level: by which they were whitened [rad].
    """
    p = J.shape[1]
    if step <= 0:
        return np.zeros((p, p))
    noise = max(rms**2 - step**2 / 12, 0.0)
    variance = step**2 / (2 * np.pi**2) * np.exp(-4 * np.pi**2 * noise / step**2)
    stays = np.concatenate([[0], np.flatnonzero(np.diff(np.floor(4 * position / step))) + 1])
    sums = np.add.reduceat(J, stays, axis=0)
    return variance / level**2 * (sums.T @ sums)


def aligned(values: Vector | Matrix, mask: np.ndarray) -> np.ndarray:
    """Rows of values where the mask (N,) is true, and rows of 0 elsewhere."""
    found = np.zeros((len(mask), *values.shape[1:]))
    found[mask] = values
    return found
