"""Which link changed: a bank of filters, one per candidate link, and the probability of each.

Every hypothesis opens one link and takes all others as described; one more opens none. All process the same samples,

    log p_i(k) = f log p_i(k - 1) + log N(y_i; 0, S_i)       likelihood of innovations, older ones forgotten (f <= 1)

normalized to probabilities. Forgetting lets the verdict change when the load moves to another link. A hypothesis with
ten free parameters explains more than one without, and pays for it: its innovation covariance S_i is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...arrays import Brief, Vector
from ...exceptions import InvalidMethod
from ...models.articulated import Articulated
from ...models.link_torques import LinkTorques
from .belief import Belief, Innovation, Sample, SampleVerdict
from .filter import Filter
from .kalman import ExtendedKalmanFilter


@dataclass(frozen=True, eq=False)
class BankBelief:
    """Beliefs of all candidates, and how probable each is.

    Args:
        beliefs: of each candidate's filter.
        log_weights: (k + 1,) log probability, up to a constant, of each candidate and, last, of no change.
    """

    beliefs: tuple[Belief, ...]
    log_weights: Vector

    @property
    def probabilities(self) -> Vector:
        """(k + 1,) of each candidate, and of no change."""
        weights = np.exp(self.log_weights)
        return weights / weights.sum()


@dataclass(frozen=True, eq=False, repr=False)
class LinkBank(Brief):
    """Filters of candidate links, and which of them changed.

    Args:
        robot: as described.
        links: names of the candidates.
        noise: as in `Filter`.
        make: makes a candidate's filter from torques and noise; None: extended, without a gate.
        forgetting_s: time constant of the likelihood, after which old samples count for a third [s].
    """

    robot: Articulated
    links: Sequence[str]
    noise: Vector | float
    make: Callable[[LinkTorques, Vector | float], Filter] | None = None
    forgetting_s: float = 10.0

    def __post_init__(self) -> None:
        if len(self.links) < 2:
            raise InvalidMethod("a bank needs two candidate links or more; for one, take its filter")
        if not self.forgetting_s > 0:
            raise InvalidMethod(f"forgetting_s must be above 0, not {self.forgetting_s:g}")

    @cached_property
    def filters(self) -> tuple[Filter, ...]:
        """One per candidate."""
        # wide at first, as the load is unknown, and slow later; a gate would hide the evidence of a change
        make = self.make or partial(ExtendedKalmanFilter, initial_std=0.5, drift=0.05, gate=None)
        return tuple(make(LinkTorques(self.robot, (link,)), self.noise) for link in self.links)

    def init(self) -> BankBelief:
        """All hypotheses equally probable."""
        return BankBelief(tuple(each.init() for each in self.filters), np.zeros(len(self.links) + 1))

    def step(self, belief: BankBelief, sample: Sample) -> tuple[BankBelief, tuple[Innovation, ...]]:
        """The belief after one more sample, and the innovation of each filter."""
        beliefs, innovations = zip(
            *(each.step(b, sample) for each, b in zip(self.filters, belief.beliefs, strict=True)),
            strict=True,
        )
        # all filters got the same sample, so one that is late for one is late for all
        if any(i.verdict in (SampleVerdict.late, SampleVerdict.unusable) for i in innovations):
            return belief, innovations
        dt = beliefs[0].time - belief.beliefs[0].time
        # before the first sample there is no time to forget over
        kept = 1.0 if np.isnan(dt) else np.exp(-dt / self.forgetting_s)
        likelihoods = np.array([*(i.log_likelihood for i in innovations), self._as_described(sample)])
        # in logarithms: after a second of 333 Hz likelihoods themselves would underflow
        weights = kept * belief.log_weights + likelihoods
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
        # the same rows as the filters use, or likelihoods would not be comparable
        good = np.isfinite(y) if sample.trusted is None else np.isfinite(y) & sample.trusted
        w = first.inverse_variance[good]
        return float(-0.5 * np.sum(w * y[good] ** 2 - np.log(w) + np.log(2 * np.pi)))
