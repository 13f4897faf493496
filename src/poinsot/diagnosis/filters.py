"""Parameters that depend on the filter: the estimate with filters half and twice as wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..exceptions import PoinsotError
from ..signals.signals import Signals
from .case import Examination, Solved, recordings_of, solve, thinned
from .check import Cause, Check


@dataclass(frozen=True)
class Filters(Check):
    """Parameters with other cutoffs against those as declared.

    Args:
        known: relative standard deviation up to which a parameter counts as known.
        moved: standard deviations, and
        matters: part of its value, by which it must move.
    """

    known: float = 0.15
    moved: float = 5.0
    matters: float = 0.2

    causes = (
        Cause(
            "filter-choice",
            "Parameters that look well known depend on the cutoff of the filter by more than their intervals.",
            "Take the cutoff that `poinsot inspect` proposes; read the intervals as wider.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        cutoff = getattr(recordings_of(case.problem)[0].method, "cutoff_hz", None)
        if cutoff is None or any(each.recording is None for each in recordings_of(case.problem)):
            yield Unchecked(
                "how parameters depend on the filter", "the filter has no cutoff_hz, or signals were given"
            )
            return
        moved: dict[str, tuple[float, float]] = {}
        base = case.problem.base
        estimate = case.estimate
        std = {name: float(s) for name, s in zip(estimate.names, estimate.std, strict=True)}
        for factor in (0.5, 2.0):
            other = self._other(case, factor)
            if other is None:
                continue
            for name in estimate.names:
                k = base.index(name)
                was, now = float(case.declared.theta[k]), float(other.theta[k])
                if std[name] > self.known * abs(was) or std[name] == 0:
                    continue
                z, part = abs(now - was) / std[name], abs(now - was) / abs(was)
                if z > self.moved and part > self.matters and part > moved.get(name, (0.0, 0.0))[1]:
                    moved[name] = (factor, part)
        if not moved:
            return
        worst = max(moved, key=lambda name: moved[name][1])
        factor, part = moved[worst]
        hz = float(np.max(cutoff))
        yield Finding(
            "filter-choice",
            Severity.warning,
            f"{len(moved)} parameters that look well known move by more than {100 * self.matters:.0f} % with the "
            f"filter: {worst} by {100 * part:.3g} % with cutoff_hz = {factor * hz:g} in place of {hz:g}.",
            "Write the cutoff_hz that `poinsot inspect` proposes, and read these intervals as wider.",
            worst,
            evidence=part,
        )

    def _other(self, case: Examination, factor: float) -> Solved | None:
        """The problem with another cutoff; None where that is beyond what the clock allows."""
        signals: list[Signals] = []
        share = len(recordings_of(case.thin)[0]) / len(recordings_of(case.problem)[0])
        for each in recordings_of(case.problem):
            assert each.recording is not None
            try:
                other = replace(
                    each.method, cutoff_hz=np.multiply(each.method.cutoff_hz, factor).tolist()
                ).apply(each.recording)
            except PoinsotError:
                return None
            signals.append(thinned(other, share))
        try:
            return solve(case.thin.with_signals(signals))
        except PoinsotError:
            return None
