"""The parameters with intervals and verdicts, the sums that they stand for, and every single one with its prior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...estimate import Estimate, FullParameters
from ..blocks import Section, section_of
from ..figures.intervals import interval_grid
from ..tables import full_parameter_table, parameter_table, table, with_others
from ..verdicts import counted, counted_origins, verdicts
from ..words import family, number_of, series

MOST_NUMBERS = 10
"""Largest number of parameters beneath the verdict."""

SAME = 1.05
"""Standard deviations that differ by less than this factor in the median are reported as the same."""


def parameters_section(estimate: Estimate) -> Section | None:
    """Table and picture of the parameters."""
    if not estimate.names:
        return None
    lead = f"{series(counted(estimate))}. {which_std(estimate)}"
    return section_of("Parameters", lead, parameter_table(estimate), interval_grid(estimate))


def numbers_section(estimate: Estimate) -> Section | None:
    """The best-known parameters, masses first; None where the data determine none."""
    is_mass = [family(*pair) == "Masses" for pair in zip(estimate.names, estimate.kinds, strict=True)]
    ranked = sorted(range(len(is_mass)), key=lambda k: (not is_mass[k], estimate.relative_std_percent[k]))
    table, judged = parameter_table(estimate), verdicts(estimate)
    best = [table.rows[k] for k in ranked if judged[k].determined][:MOST_NUMBERS]
    lead = (
        f"{number_of(len(best), 'parameter')} of {len(judged)}, masses first, then those that are known best."
    )
    return Section("Main numbers", lead, (replace(table, rows=tuple(best), caption=""),)) if best else None


def which_std(estimate: Estimate) -> str:
    """Which standard deviation is printed, why, and what the other would be."""
    if estimate.std_kind != "coloured":
        if estimate.fit.white:
            return "The residuals look like white noise, so the usual standard deviations hold."
        return "The residuals are not white, so the usual standard deviations are lower bounds; see the residuals."
    if estimate.white_std is None or estimate.coloured_std is None:
        return "Standard deviations account for residuals that are correlated in time."
    # Held parameters have no standard deviation.
    seen = estimate.identifiable & (estimate.white_std > 0)
    ratios = estimate.coloured_std[seen] / estimate.white_std[seen]
    ratios = ratios[np.isfinite(ratios)]
    how = "differ between joints or are related" if estimate.fit.white else "are correlated in time"
    return f"Standard deviations account for residuals that {how}; {_white_would_be(ratios)}."


def _white_would_be(ratios: np.ndarray) -> str:
    """Clause on standard deviations for white residuals, from the ratios of coloured to white ones.

    >>> _white_would_be(np.array([1.2, 1.7, 3.0]))
    'those for white residuals would be too small, here by a factor of 1.7 (median)'
    >>> _white_would_be(np.array([0.8]))
    'those for white residuals would be too large, here by a factor of 1.2 (median)'
    >>> _white_would_be(np.array([0.97, 1.03]))
    'those for white residuals would be much the same here, in the median; single ones differ by up to a factor of 1.03'
    """
    subject = "those for white residuals would be"
    ratios = ratios[ratios > 0]
    if not len(ratios):
        return f"{subject} wrong"
    middle = float(np.median(ratios))
    if SAME > middle > 1 / SAME:
        largest = float(np.max(np.maximum(ratios, 1 / ratios)))
        spread = f"; single ones differ by up to a factor of {largest:.3g}" if len(ratios) > 1 else ""
        return f"{subject} much the same here, in the median{spread}"
    size = "small" if middle > 1 else "large"
    return f"{subject} too {size}, here by a factor of {max(middle, 1 / middle):.1f} (median)"


def groupings_section(estimate: Estimate) -> Section | None:
    """Groupings of base parameters; None where no parameter is regrouped."""
    pairs = zip(estimate.names, estimate.groupings, strict=True)
    rows = [{"Parameter": name, "stands for": sum_} for name, sum_ in pairs if with_others(name, sum_)]
    if not rows:
        return None
    return Section(
        "Base-parameter groupings",
        f"{len(rows)} of the {len(estimate.names)} parameters are sums; no motion determines their single terms.",
        (table(rows, code=("Parameter", "stands for")),),
    )


def full_parameters_section(estimate: Estimate) -> Section | None:
    """Every parameter of the model; None where the method does not complete those that the data do not determine."""
    full = estimate.extra(FullParameters)
    if full is None or not full.names:
        return None
    count = number_of(len(full.names), "parameter")
    origins = counted_origins(full.prior_share)
    summary = f"{count}: {series(origins)}" if origins else count
    lead = (
        f"{summary}. The data determine the parameters above, many of which are sums; their single terms, which a "
        "simulator needs, follow only with the prior."
    )
    return Section("Every parameter", lead, (full_parameter_table(full),))
