"""How well a parameter is known: five words, each with its bound.

The bounds are on the relative standard deviation, as in the identification literature (below 10 % is well identified).
Above 51 % the 95 % interval contains zero, so the sign is unknown.
"""

from __future__ import annotations

from collections import Counter
from math import isnan

from ..arrays import Vector
from ..estimate import NORMAL_95, Estimate
from .marked import Marked

WELL_KNOWN_PERCENT = 10.0
KNOWN_PERCENT = 30.0
ZERO_PERCENT = 100.0 / NORMAL_95


class ParameterVerdict(Marked):
    """How well a parameter is known, from best to worst; `mark` is a symbol that reads without colour."""

    well_known = "well known", "●"
    known = "known", "◐"
    poorly_known = "poorly known", "○"
    zero_inside = "zero within its interval", "∅"
    not_identifiable = "not identifiable", "✕"

    @property
    def summary(self) -> str:
        """Of several parameters: `30 indistinguishable from zero`."""
        return "indistinguishable from zero" if self is ParameterVerdict.zero_inside else self.value

    @property
    def determined(self) -> bool:
        return self is not ParameterVerdict.not_identifiable


EXPLANATION = (
    f"Well known: standard deviation below {WELL_KNOWN_PERCENT:g} % of the value. "
    f"Known: below {KNOWN_PERCENT:g} %. Poorly known: below {ZERO_PERCENT:.0f} %. "
    "Zero within its interval: the data do not determine its sign. "
    "Not identifiable: the data do not determine it."
)


def counted(estimate: Estimate) -> tuple[str, ...]:
    """`19 well known`, ..., best first; verdicts that no parameter has are left out."""
    counts = Counter(verdicts(estimate))
    return tuple(f"{counts[verdict]} {verdict.summary}" for verdict in ParameterVerdict if counts[verdict])


def known(estimate: Estimate) -> int:
    """How many parameters are known or well known."""
    counts = Counter(verdicts(estimate))
    return counts[ParameterVerdict.well_known] + counts[ParameterVerdict.known]


def verdict(value: float, relative_std_percent: float, identifiable: bool) -> ParameterVerdict:
    """The verdict on one parameter."""
    # A value of 0 with a standard deviation of 0 has a relative one of NaN.
    if not identifiable or isnan(value) or isnan(relative_std_percent):
        return ParameterVerdict.not_identifiable
    if relative_std_percent < WELL_KNOWN_PERCENT:
        return ParameterVerdict.well_known
    if relative_std_percent < KNOWN_PERCENT:
        return ParameterVerdict.known
    return (
        ParameterVerdict.poorly_known if relative_std_percent < ZERO_PERCENT else ParameterVerdict.zero_inside
    )


def verdicts(estimate: Estimate) -> tuple[ParameterVerdict, ...]:
    """The verdict on each parameter, in their order."""
    relative: Vector = estimate.relative_std_percent
    return tuple(
        verdict(float(value), float(percent), bool(seen))
        for value, percent, seen in zip(estimate.values, relative, estimate.identifiable, strict=True)
    )
