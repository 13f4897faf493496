"""What the base parameters stand for."""

from __future__ import annotations

from ...estimate import Estimate
from ..blocks import Section
from ..tables import grouping_table


def groupings_section(estimate: Estimate) -> Section | None:
    """Only where something is regrouped."""
    table = grouping_table(estimate)
    if table is None:
        return None
    return Section(
        "Base-parameter groupings",
        f"{len(table.rows)} of the {len(estimate.names)} parameters are sums; no motion shows their single terms.",
        (table,),
    )
