"""Measured against predicted effort, on the rows that were fitted."""

from __future__ import annotations

from ...estimate import Estimate, motions_of
from ..blocks import Section
from ..figures import effort_grid
from ..numbers import count_text, percent_text
from ..tables import fit_table
from ..words import number_of


def effort_section(estimate: Estimate) -> Section | None:
    """Joint by joint: numbers, then pictures; None where a motion was estimated, of which efforts are inputs."""
    fit = estimate.fit
    if motions_of(estimate):
        return None
    lead = (
        f"Over {count_text(len(fit.time))} rows of {number_of(len(fit.joints), 'joint')} the prediction misses "
        f"{percent_text(fit.relative_error_percent)} of what was measured."
    )
    return Section("Measured and predicted effort", lead, (fit_table(fit), effort_grid(fit)))
