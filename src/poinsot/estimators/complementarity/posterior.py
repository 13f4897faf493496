"""How sure one drop is: what all minima say together that explain its frames about as well as the best.

A sum of squares over motions with impacts often has several minima that are nearly as deep as the deepest: another
sequence of impacts, a contact that sticks in the one and slides in the other. About each the likelihood is taken as
normal. With chi_i^2 its sum there, J_i its slopes and wide P_0 that only say what is possible,

    P_i = (J_i^T J_i + P_0^-1)^-1,      w_i = W_i / sum W,      W_i = exp(-chi_i^2 / 2) sqrt(det P_i)

are its covariance and its share (Laplace's approximation). All together have the covariance sum w_i (P_i + d_i d_i^T)
about the deepest one, d_i being how far each is from it; intervals are those of the mixture.

Minima are hunted for: of samples about those that are known, wider than their covariance, the best begin fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import optimize, special, stats

from ...arrays import Matrix, Vector
from .shooting import Shooting, Shot

WIDE = np.array([1.0, 1.0, 1.0, 10.0, 10.0, 50.0, 1.0, 1.0, 0.5, 1.0])
"""Standard deviations of theta at most: what the frames do not show has these."""
LEAST = 0.01
"""Share below which a minimum is left out."""
STRAY = 2.5
"""Times the standard deviations of a minimum, of samples that look for another."""
LOOKS, FROM = 200, 4
"""These samples, and how many of them, the best, begin a fit."""
HUNTS, GAIN = 4, 0.3
"""How often, while the least sum falls by that much."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """A mixture of normal distributions of theta, the deepest minimum's first.

    Args:
        means: (M, p). covariances: (M, p, p). shares: (M,) their sum is 1.
    """

    means: Float[np.ndarray, "M p"]
    covariances: Float[np.ndarray, "M p p"]
    shares: Vector

    @classmethod
    def of(cls, shooting: Shooting, shots: Sequence[Shot]) -> Posterior:
        """About distinct minima, of those that have a share worth the name."""
        shots = sorted(shots, key=lambda shot: shot.chi_square)
        found = [_normal(shooting, shot) for shot in shots]
        shares = special.softmax([log for _, log in found])
        kept = [k for k, share in enumerate(shares) if share >= LEAST or k == 0]
        return cls(
            np.array([shots[k].theta for k in kept]),
            np.array([found[k][0] for k in kept]),
            shares[kept] / shares[kept].sum(),
        )

    @property
    def covariance(self) -> Matrix:
        """(p, p) about the first."""
        away = self.means - self.means[0]
        spread = self.covariances + away[:, :, None] * away[:, None, :]
        return np.asarray(np.tensordot(self.shares, spread, 1))

    def interval(self, k: int, level: float = 0.95) -> tuple[float, float]:
        """Of theta_k: as much of the mixture is below it as is above."""
        means, stds = self.means[:, k], np.sqrt(self.covariances[:, k, k])
        ends = float((means - 9 * stds).min()), float((means + 9 * stds).max())

        def quantile(part: float) -> float:
            return float(
                optimize.brentq(lambda x: self.shares @ stats.norm.cdf(x, means, stds) - part, *ends)
            )

        return quantile(0.5 - 0.5 * level), quantile(0.5 + 0.5 * level)

    def drawn(self, count: int, spread: float, rng: np.random.Generator) -> Float[np.ndarray, "S p"]:
        """Samples (count, p), so many times as far away."""
        which = rng.choice(len(self.shares), count, p=self.shares)
        roots = np.linalg.cholesky(self.covariances)
        z = spread * rng.standard_normal((count, self.means.shape[1]))
        return np.asarray(self.means[which] + np.einsum("sij,sj->si", roots[which], z))


def _normal(shooting: Shooting, shot: Shot) -> tuple[Matrix, float]:
    """Covariance about a minimum, and log W."""
    wide, J = WIDE[: len(shot.theta)], scaled_slopes(shooting, shot.theta)
    s, V = np.linalg.eigh(np.eye(len(wide)) + J.T @ J)
    root = wide[:, None] * V / np.sqrt(s)
    return root @ root.T, -0.5 * shot.chi_square - 0.5 * float(np.sum(np.log(s)))


def scaled_slopes(shooting: Shooting, theta: Vector) -> Matrix:
    """(3 N, p) slopes of the errors by theta in units of `WIDE`: J^T J + 1 is then the precision of these."""
    N = len(shooting.times)
    return np.asarray(shooting.slopes(theta, shooting.errors(theta, N), N) * WIDE[: len(theta)])


def hunted(shooting: Shooting, shots: Sequence[Shot], rng: np.random.Generator) -> list[Shot]:
    """More minima, from samples about those that are known, the least first."""
    found = shooting.distinct(shots)
    for _ in range(HUNTS):
        least = found[0].chi_square
        looks = np.clip(Posterior.of(shooting, found).drawn(LOOKS, STRAY, rng), *shooting.bounds())
        chosen = looks[np.argsort(shooting.sums(looks).sum(axis=1))[:FROM]]
        found = shooting.distinct([*found, *(shooting.fit(theta) for theta in chosen)])
        if found[0].chi_square > least - GAIN:
            break
    return found
