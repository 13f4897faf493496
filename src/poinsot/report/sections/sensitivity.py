"""Sensitivity of parameters to the assumed noise of sensors, commands and model."""

from __future__ import annotations

from ...estimate import Estimate
from ...estimate.motions import NoiseSensitivity
from ..blocks import Section
from ..tables import table_of_rows


def sensitivity_section(estimate: Estimate) -> Section | None:
    """Change of each parameter with each noise level, in standard deviations of the parameter."""
    noise_sensitivity = estimate.extra(NoiseSensitivity)
    if noise_sensitivity is None or not (moves := noise_sensitivity.as_json()):
        return None
    largest = max(moves, key=lambda row: abs(row["moved_in_std"]))
    # the longer list goes down, as a page is narrow
    down, across = sorted(("parameter", "level"), key=lambda key: -len({row[key] for row in moves}))
    cells: dict[str, dict[str, str]] = {row[down]: {down: row[down]} for row in moves}
    for row in moves:
        own = cells[row[down]]
        own[row[across]] = f"{own.get(row[across], '')} {row['moved_in_std']:+.2f}".strip()
    factors = ", and with ".join(f"{factor:.2g}" for factor in dict.fromkeys(row["factor"] for row in moves))
    caption = f"Changes in standard deviations with {factors} times each level, to first order."
    return Section(
        "Sensitivity to noise levels",
        f"{largest['parameter']} changes most, by {largest['moved_in_std']:+.2g} of its standard deviations, with "
        f"{largest['factor']:.2g} times the noise assumed for {largest['level']}.",
        (table_of_rows(list(cells.values()), caption=caption),),
    )
