"""Parameters that depend on choices that nobody thinks of: the filter, and the part of the recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..exceptions import listing
from .case import Examination
from .check import Cause, Check

FEWEST_RECORDINGS = 4
"""With fewer, Student's t with less than three degrees of freedom makes intervals that say nothing."""


@dataclass(frozen=True)
class Filters(Check):
    """The systematic part of standard deviations against the rest.

    Args:
        dominant: ratio of both from which on a parameter is named: more than half of its interval is no chance.
        grave: ratio from which on it is a warning (|t| > 4 happens by chance in one parameter of a thousand), and
        matters: part of its value that it must be then.
    """

    dominant: float = 1.0
    grave: float = 4.0
    matters: float = 0.2

    causes = (
        Cause(
            "filter-choice",
            "Parameters depend on the filter, or differ between halves of the recording, by more than chance; their "
            "intervals include it.",
            "Take the filters that `poinsot inspect` proposes; record a livelier motion, or finer positions.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        estimate = case.estimate
        if estimate.next_recording_std is None:
            yield Unchecked(
                "how parameters differ from recording to recording",
                f"it takes {FEWEST_RECORDINGS} that each determine all of them; intervals are of these recordings, and "
                "those of friction on another day are wider",
            )
        b = estimate.systematic_std
        if b is None:
            yield Unchecked(
                "how parameters depend on the filter", "signals of this problem are not filtered again"
            )
            return
        chance = np.sqrt(np.maximum(estimate.std**2 - b**2, 0.0))
        named = np.flatnonzero(b > self.dominant * np.maximum(chance, 1e-300))
        if not len(named):
            return
        part = b / np.maximum(np.abs(estimate.values), np.maximum(chance, 1e-300))
        grave = (b > self.grave * chance) & (part > self.matters)
        worst = max(named, key=lambda k: (grave[k], part[k]))
        name = estimate.names[worst]
        yield self.causes[0].finding(
            Severity.warning if grave[worst] else Severity.note,
            f"{listing([estimate.names[k] for k in named], 6)} move by more than chance with half the band, with twice "
            "the cutoff or from half to half of the recording. Intervals include it: the standard deviation of "
            f"{name}, {estimate.std[worst]:.2g} {estimate.units[worst]}, is {chance[worst]:.2g} by chance.",
            'Write cutoff_hz = "auto" and decimate_hz = "auto", and record a livelier motion.',
            name,
            evidence=float(part[worst]),
        )
