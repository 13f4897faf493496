"""How well a parameter is known, and where its value comes from: words with a mark, each with its bound.

How well: bounds are on the relative standard deviation, as in the identification literature (below 10 % is well
identified). Above 51 % the 95 % interval contains zero, so the sign is unknown.

Where from: the share s is the posterior variance over the prior variance. For a single parameter information adds up,
1/var = 1/var_prior + 1/var_data, and the value is the mean of both with these weights:

    value = s prior + (1 - s) data,   s = var / var_prior = var_data / (var_prior + var_data)

Below a half the data weigh more. Below 0.1 the prior hardly matters: without it the standard deviation would be
1/sqrt(0.9), 5 % larger. From 0.9 the data hardly matter: they reduce the prior's standard deviation by 1 - sqrt(0.9),
5 %.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from math import isnan
from typing import Self

from ..estimate import NORMAL_95, Estimate
from ..estimate.headline import KNOWN_PERCENT, known_parameters
from .blocks import Cell
from .numbers import UNKNOWN

WELL_KNOWN_PERCENT = 10.0
ZERO_PERCENT = 100.0 / NORMAL_95
HARDLY = 0.1


class Marked(Enum):
    """Verdicts with a mark: a member is `words, mark, tone`; its value is the words, the tone that of `Cell`."""

    mark: str
    tone: str

    def __new__(cls, words: str, mark: str, tone: str) -> Self:
        member = object.__new__(cls)
        member._value_, member.mark, member.tone = words, mark, tone
        return member

    @property
    def cell(self) -> Cell:
        return Cell(f"{self.mark} {self.value}", tone=self.tone)


class ParameterVerdict(Marked):
    """How well a parameter is known, from best to worst."""

    well_known = "well known", "●", "good"
    known = "known", "◐", "good"
    poorly_known = "poorly known", "○", "fair"
    zero_inside = "zero within its interval", "∅", "fair"
    not_identifiable = "not identifiable", "✕", "bad"

    @property
    def summary(self) -> str:
        """Words after a number of parameters: `30 indistinguishable from zero`."""
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
    """Number of parameters that are known or well known."""
    return int(known_parameters(estimate).sum())


def verdict(value: float, relative_std_percent: float, identifiable: bool) -> ParameterVerdict:
    """The verdict on one parameter."""
    # A value of 0 with a standard deviation of 0 has a relative one of NaN.
    if not identifiable or isnan(value) or isnan(relative_std_percent):
        return ParameterVerdict.not_identifiable
    bounds = (WELL_KNOWN_PERCENT, KNOWN_PERCENT, ZERO_PERCENT)
    return list(ParameterVerdict)[bisect_right(bounds, relative_std_percent)]


def verdicts(estimate: Estimate) -> tuple[ParameterVerdict, ...]:
    """The verdict on each parameter, in their order."""
    return tuple(
        verdict(float(value), float(percent), bool(identifiable))
        for value, percent, identifiable in zip(
            estimate.values, estimate.relative_std_percent, estimate.identifiable, strict=True
        )
    )


class Origin(Marked):
    """Origin of a value, from data to prior; the mark is filled by the share of the data."""

    from_data = "from data", "●", "good"
    mostly_data = "mostly data", "◕", "good"
    mostly_prior = "mostly prior", "◔", "assumed"
    from_prior = "from prior", "○", "assumed"

    @property
    def measured(self) -> bool:
        """Whether the data reduced the variance to less than half of the prior's."""
        return self.tone == "good"


ORIGINS = (
    "The share of the prior is the part of the variance that it removes, 1 - variance / variance without the prior: "
    "the variance after the data over that before. The share of the data is the rest. "
    f"From data: the prior's share is less than {100 * HARDLY:.0f} %. Mostly data: less than half. "
    f"Mostly prior: less than {100 * (1 - HARDLY):.0f} %. "
    "From prior: more, so the data reduced the standard deviation by less than 5 %."
)


def origin(prior_share: float | None) -> Origin | None:
    """Origin of a value by the prior's share; None where there is no share.

    >>> origin(0.04), origin(0.7), origin(None)
    (<Origin.from_data: 'from data'>, <Origin.mostly_prior: 'mostly prior'>, None)
    """
    if prior_share is None or isnan(prior_share):
        return None
    return list(Origin)[bisect_right((HARDLY, 0.5, 1 - HARDLY), prior_share)]


def is_measured(prior_share: float | None) -> bool:
    """False where the prior's share is at least half, so that the value is not shown as a measurement."""
    source = origin(prior_share)
    return source is None or source.measured


def counted_origins(prior_shares: Iterable[float]) -> tuple[str, ...]:
    """`31 from data`, ..., data first; words that nothing has are left out.

    >>> counted_origins([0.01, 0.02, 1.0])
    ('2 from data', '1 from prior')
    """
    counts = Counter(origin(share) for share in prior_shares)
    return tuple(f"{counts[word]} {word.value}" for word in Origin if counts[word])


def share_text(prior_share: float | None) -> str:
    """The larger of the data's part and the prior's, in percent.

    >>> share_text(0.123), share_text(0.001), share_text(0.57), share_text(None)
    ('88 % data', '> 99 % data', '57 % prior', '–')
    """
    if prior_share is None or isnan(prior_share):
        return UNKNOWN
    # Rounding may leave a share just outside.
    share = min(max(prior_share, 0.0), 1.0)
    part, whose = (1.0 - share, "data") if share < 0.5 else (share, "prior")
    return f"> 99 % {whose}" if 0.995 < part < 1 else f"{100 * part:.0f} % {whose}"
