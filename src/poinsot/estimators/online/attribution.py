"""Which link changed: a bank of filters, one per candidate link, and the probability of each.

Each hypothesis estimates one link, with all others as described; one more estimates none. All process the same samples,

    log p_i(k) = f log p_i(k - 1) + log N(y_i; 0, S_i)       likelihood of innovations, older ones forgotten (f <= 1)

normalized to probabilities. Forgetting lets the result change when the load moves to another link. A hypothesis with
ten free parameters explains more than one without, but is penalized by its larger innovation covariance S_i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...arrays import Brief, Vector
from ...exceptions import InvalidMethod
from ...models.robot.articulated import Articulated
from ...models.robot.link_torques import LinkTorques
from .belief import Belief, Innovation, Sample, SampleVerdict
from .filter import ExtendedKalmanFilter, Filter


@dataclass(frozen=True, eq=False)
class BankBelief:
    """Beliefs of all candidates, and their probabilities.

    Args:
        beliefs: belief of each candidate's filter.
        log_weights: (k + 1,) log probability, up to a constant, of each candidate and, last, of no change.
    """

    beliefs: tuple[Belief, ...]
    log_weights: Vector

    @property
    def probabilities(self) -> Vector:
        """(k + 1,) probability of each candidate, and of no change."""
        weights = np.exp(self.log_weights)
        return weights / weights.sum()


@dataclass(frozen=True, eq=False, repr=False)
class LinkBank(Brief):
    """Filters of candidate links, and which of them changed.

    Args:
        robot: the robot as described.
        links: names of the candidates.
        noise: as in `Filter`.
        make: function from torques and noise to a candidate's filter; None: extended, without a gate.
        forgetting_s: time constant of the likelihood, after which the weight of a sample is 1/e [s].
    """

    robot: Articulated
    links: Sequence[str]
    noise: Vector | float
    make: Callable[[LinkTorques, Vector | float], Filter] | None = None
    forgetting_s: float = 10.0

    def __post_init__(self) -> None:
        if len(self.links) < 2:
            raise InvalidMethod("a bank needs two candidate links or more; for one, use its filter")
        if not self.forgetting_s > 0:
            raise InvalidMethod(f"forgetting_s must be above 0, not {self.forgetting_s:g}")

    @cached_property
    def filters(self) -> tuple[Filter, ...]:
        """One per candidate."""
        # a wide prior, as the load is unknown, and slow drift; a gate would reject the evidence of a change
        make = self.make or partial(ExtendedKalmanFilter, initial_std=0.5, drift=0.05, gate=None)
        return tuple(make(LinkTorques(self.robot, (link,)), self.noise) for link in self.links)

    def init(self) -> BankBelief:
        """All hypotheses equally probable."""
        return BankBelief(
            tuple(candidate.init() for candidate in self.filters), np.zeros(len(self.links) + 1)
        )

    def step(self, belief: BankBelief, sample: Sample) -> tuple[BankBelief, tuple[Innovation, ...]]:
        """The belief after one more sample, and the innovation of each filter."""
        beliefs, innovations = zip(
            *(f.step(b, sample) for f, b in zip(self.filters, belief.beliefs, strict=True)), strict=True
        )
        # all filters process the same sample, so it is late for all or for none
        if any(i.verdict in (SampleVerdict.late, SampleVerdict.unusable) for i in innovations):
            return belief, innovations
        dt = beliefs[0].time - belief.beliefs[0].time
        # before the first sample there is no time step, and nothing is forgotten
        remembered = 1.0 if np.isnan(dt) else np.exp(-dt / self.forgetting_s)
        likelihoods = np.array([*(i.log_likelihood for i in innovations), self._as_described(sample)])
        # in logarithms: after a second of 333 Hz likelihoods themselves would underflow
        weights = remembered * belief.log_weights + likelihoods
        # the largest is 0, so that exp() in `probabilities` neither over- nor underflows
        return replace(belief, beliefs=beliefs, log_weights=weights - weights.max()), innovations

    def most_probable(self, belief: BankBelief) -> tuple[str | None, float]:
        """The most probable link (None: no change), and its probability."""
        p = belief.probabilities
        best = int(np.argmax(p))
        return (self.links[best] if best < len(self.links) else None), float(p[best])

    def _as_described(self, sample: Sample) -> float:
        """Log likelihood of a sample if no link changed."""
        first = self.filters[0]
        Y, tau = first.torques(sample.q, sample.v, sample.a, sample.wrenches)
        y = sample.tau - first.bias - tau - Y @ first.torques.described.ravel()
        # with the same rows as the filters, or likelihoods would not be comparable
        good = np.isfinite(y) if sample.trusted is None else np.isfinite(y) & sample.trusted
        w = first.inverse_variance[good]
        return float(-0.5 * np.sum(w * y[good] ** 2 - np.log(w) + np.log(2 * np.pi)))
