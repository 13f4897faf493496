"""Posterior of one drop: a mixture of normal distributions about all minima that explain its frames about as well.

The sum of squares of a motion with impacts often has several minima that are nearly as deep as the deepest: another
sequence of impacts, or a contact that sticks in one and slides in the other. Laplace's approximation takes the
likelihood as normal about each. With chi_i^2 the sum there, J_i its Jacobian and P_0 a wide prior (`PRIOR_STD`), the
covariance and the share of a minimum are

    P_i = (J_i^T J_i + P_0^-1)^-1,      w_i = W_i / sum W,      W_i = exp(-chi_i^2 / 2) sqrt(det P_i)

The mixture has the covariance sum w_i (P_i + d_i d_i^T) about the deepest minimum, where d_i is the difference of a
minimum from it. Intervals are quantiles of the mixture. Further minima are found by fits that start from the best of
widened samples of the mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from ...arrays import Float, Matrix, Vector
from ...solve import Stop, stop_requested
from .shooting import Shooting, ShootingFit, covariance_root

LEAST_SHARE = 0.01
"""Minima with a smaller share are excluded from the mixture."""
WIDENING = 2.5
"""Factor on the standard deviations of the samples."""
SAMPLES, FITS = 200, 4
"""Number of samples in a round, and number of the best of them that start a fit."""
ROUNDS, GAIN = 4, 0.3
"""Largest number of rounds; another one follows only if the least chi-square decreased by at least this."""


def further_minima(
    shooting: Shooting, fits: Sequence[ShootingFit], rng: np.random.Generator, stop: Stop | None = None
) -> list[ShootingFit]:
    """The given minima and those found from samples about them, the deepest first."""
    found = shooting.distinct(fits)
    for _ in range(ROUNDS):
        if stop_requested(stop):
            return found
        least = found[0].chi_square
        mixture = MixturePosterior.of(shooting, found)
        points = np.clip(mixture.samples(SAMPLES, WIDENING, rng), *shooting.bounds())
        chosen = points[np.argsort(shooting.sums_of_squares(points))[:FITS]]
        found = shooting.distinct([*found, *shooting.fits(chosen)])
        if found[0].chi_square > least - GAIN:
            break
    # far from the frames, the deepest may be a rough one
    return shooting.distinct([shooting.fit(found[0].theta), *found])


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """A mixture of normal distributions of theta, the deepest minimum's first.

    Args:
        means: (M, p). covariances: (M, p, p). shares: (M,), their sum is 1.
    """

    means: Float[np.ndarray, "M p"]
    covariances: Float[np.ndarray, "M p p"]
    shares: Vector

    @classmethod
    def of(cls, shooting: Shooting, fits: Sequence[ShootingFit]) -> MixturePosterior:
        """About distinct minima, of those with a share of at least `LEAST_SHARE`."""
        fits = sorted(fits, key=lambda fit: fit.chi_square)
        found = [_laplace(shooting, fit) for fit in fits]
        shares = special.softmax([log for _, log in found])
        kept = [k for k, share in enumerate(shares) if share >= LEAST_SHARE or k == 0]
        return cls(
            np.array([fits[k].theta for k in kept]),
            np.array([found[k][0] for k in kept]),
            shares[kept] / shares[kept].sum(),
        )

    @property
    def covariance(self) -> Matrix:
        """(p, p) covariance about the first mean."""
        d = self.means - self.means[0]
        return np.asarray(np.tensordot(self.shares, self.covariances + d[:, :, None] * d[:, None, :], 1))

    def interval(self, k: int, level: float = 0.95) -> tuple[float, float]:
        """Of theta_k, with equal probability below and above."""
        means, stds = self.means[:, k], np.sqrt(self.covariances[:, k, k])
        # nine standard deviations: the quantile is inside for any level above 1e-18
        ends = float((means - 9 * stds).min()), float((means + 9 * stds).max())
        low, high = (
            float(optimize.brentq(lambda x, p=p: self.shares @ stats.norm.cdf(x, means, stds) - p, *ends))
            for p in (0.5 - 0.5 * level, 0.5 + 0.5 * level)
        )
        return low, high

    def samples(self, count: int, widening: float, rng: np.random.Generator) -> Float[np.ndarray, "S p"]:
        """(count, p) samples, with standard deviations multiplied by `widening`."""
        which = rng.choice(len(self.shares), count, p=self.shares)
        roots = np.linalg.cholesky(self.covariances)
        z = widening * rng.standard_normal((count, self.means.shape[1]))
        return np.asarray(self.means[which] + np.einsum("sij,sj->si", roots[which], z))


def _laplace(shooting: Shooting, fit: ShootingFit) -> tuple[Matrix, float]:
    """Covariance about a minimum, and log W."""
    root, inverse = covariance_root(shooting.jacobian(fit.theta, shooting.residuals(fit.theta)))
    return root @ root.T, -0.5 * fit.chi_square - float(np.linalg.slogdet(inverse)[1])
