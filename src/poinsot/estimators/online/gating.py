"""Rejection of improbable samples by the chi-square gate of innovations (Foster et al. 2024, Eq. 22).

If assumptions hold, y^T S^-1 y is chi-square with as many degrees of freedom as rows, so a confidence level sets the
part of good samples that is rejected: with 0.999, one in a thousand.

Repeated rejections are due to a change, or to noise larger than assumed, not to impacts. A counter goes up by one at a
rejection and down by one at an acceptance; above `patience` the covariance grows by a factor at each further rejection,
until a sample passes. Its growth is bounded: residuals that no body explains are not due to a body.
Counting consecutive rejections would not suffice: a wrong belief accepts the few samples that happen to agree with it,
the counter restarts, and the belief stays wrong. For the same reason the first accepted sample is not enough, and the
next `patience` samples pass with any innovation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
from annotated_types import Gt
from scipy import special

from ...ranges import Count, Fraction, check_ranges
from .belief import Belief, SampleVerdict


@cache
def _chi_square_quantile(confidence: float, rows: int) -> float:
    # chdtri is the inverse of the upper tail: scipy.stats takes half a second to import
    return float(special.chdtri(rows, 1 - confidence))


@dataclass(frozen=True)
class Gate:
    """Rejects samples whose innovation is improbable.

    Args:
        confidence: fraction of good samples that pass.
        patience: rejections, less acceptances, above which the covariance grows; and samples that then pass unchecked.
        growth: factor of the standard deviations at each further rejection.
        largest_std: relative standard deviation of a body as a whole up to which they grow: no load is more than a
            thousand times its link.
    """

    confidence: Fraction = 0.999
    patience: Count = 100
    growth: Annotated[float, Gt(1)] = 1.1
    largest_std: float = 1000.0

    def __post_init__(self) -> None:
        check_ranges(self)

    def threshold(self, rows: int) -> float:
        """Largest accepted y^T S^-1 y of `rows` rows: the chi-square threshold."""
        return _chi_square_quantile(self.confidence, rows)

    def rejected(self, belief: Belief) -> tuple[Belief, SampleVerdict]:
        """Count a rejection; enlarge the covariance where there are more than `patience`."""
        belief = belief._replace(rejected=belief.rejected + 1)
        if belief.rejected <= self.patience:
            return belief, SampleVerdict.gated
        # Frobenius norm over sqrt(d): 1 for the covariance of a body known to a factor of 1 +- 1
        relative = np.linalg.norm(np.linalg.solve(belief.unit, belief.root)) / np.sqrt(len(belief.root))
        growth = self.growth if relative < self.largest_std else 1.0
        return belief.having(root=belief.root * growth), SampleVerdict.reopened
