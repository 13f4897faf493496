"""Sums of residuals of consecutive rows, which can be joined: two stretches give the sums of both together.

    S(l) = sum over t of e_t e_{t+l}^T,   l = 0 ... lags

For two consecutive stretches, S(l) adds those of both and the pairs across the seam, which are in the last rows of the
first and the first rows of the second. The mean is removed afterwards,

    sum (e_t - m)(e_{t+l} - m)  =  S(l) - m (sum of the first N - l rows + sum of the last N - l) + (N - l) m^2
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..arrays import JointSamples, Vector
from ..statistics import autocovariance, longest_lag, taper_lags


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Sums over some rows.

    Args:
        count: number of rows. total: (n,) sum of residuals. products: (n, n, lags + 1) S(l).
        head, tail: (lags, n) first and last rows; all rows of a shorter stretch.
    """

    count: int = 0
    total: Vector = field(default_factory=lambda: np.zeros(0))
    products: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 1)))
    head: JointSamples = field(default_factory=lambda: np.zeros((0, 0)))
    tail: JointSamples = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, e: JointSamples, lags: int) -> ResidualSums:
        """The sums of residuals (N, n), at lags of up to so many rows."""
        return cls(len(e), e.sum(axis=0), _products(e, lags), e[:lags], e[max(len(e) - lags, 0) :])

    def joined(self, later: ResidualSums) -> ResidualSums:
        """The sums of these rows and of the rows after them."""
        lags = self.lags
        seam = np.concatenate([self.tail, later.head])
        across = _products(seam, lags) - _products(self.tail, lags) - _products(later.head, lags)
        head = np.concatenate([self.head, later.head])[:lags] if self.count < lags else self.head
        tail = np.concatenate([self.tail, later.tail])[-lags:] if later.count < lags else later.tail
        products = self.products + later.products + across
        return ResidualSums(self.count + later.count, self.total + later.total, products, head, tail)

    @property
    def lags(self) -> int:
        return self.products.shape[2] - 1

    @cached_property
    def autocorrelation(self) -> np.ndarray:
        """(n, min(lags, N / 4) + 1) autocorrelation of each column, its mean removed; a constant column gives zeros."""
        N, lags = self.count, min(self.lags, longest_lag(self.count))
        mean = (self.total / N)[:, None]
        first, last = (
            np.concatenate([np.zeros((1, len(self.total))), np.cumsum(rows, axis=0)])[: lags + 1].T
            for rows in (self.head[:lags], self.tail[::-1][:lags])
        )
        both = 2 * self.total[:, None] - first - last
        S = np.einsum("iil -> il", self.products)[:, : lags + 1]
        S = S - mean * both + (N - np.arange(lags + 1)) * mean**2
        return np.divide(S, S[:, :1], np.zeros_like(S), where=S[:, :1] > 0)

    @property
    def autocovariance(self) -> np.ndarray:
        """(n, n, lags + 1) Gamma(l), mean not removed."""
        return self.products / self.count

    @property
    def lags_needed(self) -> int:
        """Lags that the taper of the covariance needs; more than `lags` if these are too few."""
        if not self.count:
            return 0
        # where no lag is quiet, the last one stands for it, four times of which are beyond all lags
        return taper_lags(self.autocorrelation, self.count)


def _products(e: JointSamples, lags: int) -> np.ndarray:
    if not len(e):
        return np.zeros((e.shape[1], e.shape[1], lags + 1))
    return autocovariance(e, lags) * len(e)
