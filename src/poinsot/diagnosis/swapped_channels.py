"""Two joints whose channels are exchanged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity
from ..regression.inverse_dynamics import InverseDynamics
from .case import Case
from .changes import UNMOVED, joints_of, mapped
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement


@dataclass(frozen=True, eq=False)
class Swap(Candidate):
    """Two channels of positions or torques, or both, exchanged."""

    pair: tuple[int, int] = (0, 0)
    position: bool = False
    torque: bool = False

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        same = np.arange(len(joints_of(problem)))
        order = same.copy()
        order[list(self.pair)] = self.pair[::-1]
        p, t = (order if self.position else same), (order if self.torque else same)
        return mapped(problem, lambda s: replace(s, q=s.q[:, p], v=s.v[:, p], a=s.a[:, p], tau=s.tau[:, t]))

    @property
    def motion(self) -> Hashable:
        return ("exchanged", self.pair) if self.position else UNMOVED


@dataclass(frozen=True)
class SwappedChannels(Explanation):
    """Each pair of torque channels, of position channels, and of both."""

    cause = Cause(
        "swapped-channels",
        "Two columns are given to each other's joint.",
        "Exchange the two columns in the list of columns.",
    )

    def candidates(self, case: Case) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        pairs = list(combinations(range(len(joints)), 2))
        for i, j in pairs:
            yield Swap(self, (joints[i], joints[j]), pair=(i, j), torque=True)
        for i, j in pairs:  # both share their regressor
            for torque in (False, True):
                yield Swap(self, (joints[i], joints[j]), pair=(i, j), position=True, torque=torque)

    def finding(self, case: Case, explained: Explained) -> Finding:
        swap = explained.candidate
        assert isinstance(swap, Swap)
        keys = [key for key, used in (("position", swap.position), ("torque", swap.torque)) if used]
        first, second = swap.where
        return Finding(
            self.cause.name,
            Severity.error,
            f"The {' and '.join(keys)} columns of joints {first} and {second} are exchanged: the other way round, "
            f"{improvement(case, explained)}.",
            f"Exchange the two entries of columns in {' and in '.join(keys)} of the recordings.",
            f"{first}, {second}",
        )
