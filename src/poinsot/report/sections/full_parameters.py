"""Every parameter of the model, and whether it comes from the data or from what was known before."""

from __future__ import annotations

from ...estimate import Estimate, FullParameters
from ..blocks import Section
from ..origins import counted_origins
from ..tables import full_parameter_table
from ..words import number_of, series


def full_parameters_section(estimate: Estimate) -> Section | None:
    """Only where a method filled in what the data leave open."""
    full = estimate.extra(FullParameters)
    if full is None or not full.names:
        return None
    return Section("Every parameter", _lead(full), (full_parameter_table(full),))


def _lead(full: FullParameters) -> str:
    count = number_of(len(full.names), "parameter")
    origins = counted_origins(full.prior_share)
    said = f"{count}: {series(origins)}" if origins else count
    return (
        f"{said}. The data see the parameters above, many of which are sums; their single terms, which a "
        "simulator needs, follow only with what was known before."
    )
