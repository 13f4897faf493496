"""Origin of a value, data or prior: four words, each with its bound.

The share s is the posterior variance over the prior variance. Of one parameter by itself knowledge adds up,
1/var = 1/var_prior + 1/var_data, and the value is the mean of both with these weights:

    value = s prior + (1 - s) data,   s = var / var_prior = var_data / (var_prior + var_data)

Below a half the data weigh more. Below 0.1 the prior hardly matters: without it the standard deviation would be
1/sqrt(0.9), 5 % larger. From 0.9 the data hardly matter: they took 1 - sqrt(0.9), 5 %, off the prior's standard
deviation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isnan

from .marked import Marked
from .numbers import UNKNOWN

HARDLY = 0.1


class Origin(Marked):
    """Origin of a value, from data to prior; `mark` reads without colour, filled by the share of the data."""

    from_data = "from data", "●"
    mostly_data = "mostly data", "◕"
    mostly_prior = "mostly prior", "◔"
    from_prior = "from prior", "○"

    @property
    def measured(self) -> bool:
        """Whether the data reduced the variance to less than half of the prior's."""
        return self in (Origin.from_data, Origin.mostly_data)


ORIGINS = (
    "The share of the prior is the part of the variance that it removes, 1 - variance / variance without the prior: "
    "the variance after the data over that before. The share of the data is the rest. "
    f"From data: the prior's share is less than {100 * HARDLY:.0f} %. Mostly data: less than half. "
    f"Mostly prior: less than {100 * (1 - HARDLY):.0f} %. "
    "From prior: more, so the data reduced the standard deviation by less than 5 %."
)


def origin(prior_share: float | None) -> Origin | None:
    """The word for a prior's share; None where there is no share.

    >>> origin(0.04), origin(0.7), origin(None)
    (<Origin.from_data: 'from data'>, <Origin.mostly_prior: 'mostly prior'>, None)
    """
    if prior_share is None or isnan(prior_share):
        return None
    if prior_share < HARDLY:
        return Origin.from_data
    if prior_share < 0.5:
        return Origin.mostly_data
    return Origin.mostly_prior if prior_share < 1 - HARDLY else Origin.from_prior


def is_measured(prior_share: float | None) -> bool:
    """False where the prior's share is at least half, so that the value is not shown as a measurement."""
    found = origin(prior_share)
    return found is None or found.measured


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
