"""The parameters, with intervals and verdicts."""

from __future__ import annotations

import numpy as np

from ...estimate import Estimate
from ..blocks import Section
from ..figures import interval_grid
from ..tables import parameter_table
from ..verdicts import counted
from ..words import series


def parameters_section(estimate: Estimate) -> Section | None:
    """The table, and the same as a picture."""
    if not estimate.names:
        return None
    grid = interval_grid(estimate)
    return Section("Parameters", _lead(estimate), (parameter_table(estimate), *((grid,) if grid else ())))


def _lead(estimate: Estimate) -> str:
    return f"{series(counted(estimate))}. {which_std(estimate)}"


def which_std(estimate: Estimate) -> str:
    """Which standard deviation is printed, why, and what the other would be."""
    if estimate.std_kind != "coloured":
        if estimate.fit.white:
            return "Standard deviations are those of white residuals, which these are."
        return (
            "Standard deviations are those of white residuals, which these are not: "
            "take them for lower bounds, and see the residuals."
        )
    seen = estimate.identifiable & (estimate.white_std > 0)
    ratios = estimate.coloured_std[seen] / estimate.white_std[seen]
    ratios = ratios[np.isfinite(ratios)]
    middle = float(np.median(ratios)) if len(ratios) else 1.0
    factor = (
        f", here by a factor of {max(middle, 1 / middle):.1f} (median)" if len(ratios) and middle > 0 else ""
    )
    what = "differ between joints or are related" if estimate.fit.white else "are correlated in time"
    return (
        f"Standard deviations account for residuals that {what}; "
        f"those for white residuals would be too {'small' if middle >= 1 else 'large'}{factor}."
    )
