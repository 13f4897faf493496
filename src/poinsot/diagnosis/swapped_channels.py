"""Two joints whose channels are exchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..estimate import Finding, Severity
from .case import Examination
from .changes import UNMOVED, joints_of, mapped
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement


@dataclass(frozen=True)
class SwappedChannels(Explanation):
    """Each pair of torque channels, of position channels, and of both."""

    cause = Cause(
        "swapped-channels",
        "Two columns are given to each other's joint.",
        "Exchange the two columns in the list of columns.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        pairs = list(combinations(range(len(joints_of(case.thin))), 2))
        for pair in pairs:
            yield self._swap(case, pair, ("torque",))
        for pair in pairs:  # both share their regressor
            yield self._swap(case, pair, ("position",))
            yield self._swap(case, pair, ("position", "torque"))

    def _swap(self, case: Examination, pair: tuple[int, int], keys: tuple[str, ...]) -> Candidate:
        same = np.arange(len(joints_of(case.thin)))
        order = same.copy()
        order[list(pair)] = pair[::-1]
        p, t = (order if key in keys else same for key in ("position", "torque"))
        return Candidate(
            self,
            tuple(joints_of(case.thin)[k] for k in pair),
            lambda problem, *_: mapped(
                problem, lambda s: replace(s, q=s.q[:, p], v=s.v[:, p], a=s.a[:, p], tau=s.tau[:, t])
            ),
            motion=("exchanged", pair) if "position" in keys else UNMOVED,
            about=" and ".join(keys),
        )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        keys, (first, second) = explained.candidate.about, explained.candidate.where
        return Finding(
            self.cause.name,
            Severity.error,
            f"The {keys} columns of joints {first} and {second} are exchanged: the other way round, "
            f"{improvement(case, explained)}.",
            f"Exchange the two entries of columns in {keys.replace('and', 'and in')} of the recordings.",
            f"{first}, {second}",
        )
