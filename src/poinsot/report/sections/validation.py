"""Prediction of recordings that were not used to fit."""

from __future__ import annotations

from ...estimate import Estimate, motions_of
from ..blocks import PageBlock, Section
from ..figures import effort_grid
from ..numbers import percent_text
from ..tables import fit_table
from ..words import capitalized


def validation_section(estimate: Estimate) -> Section | None:
    """Each held-out recording with the tables and pictures of the fit."""
    if not estimate.validation:
        return None
    blocks: list[PageBlock] = []
    said = []
    for number, fit in enumerate(estimate.validation, start=1):
        name = fit.recording or f"recording {number}"
        said.append(f"{percent_text(fit.relative_error_percent)} on {name}")
        of = "component" if motions_of(estimate) else "joint"
        blocks += [fit_table(fit, title=capitalized(name), of=of), effort_grid(fit)]
    fitted = percent_text(estimate.fit.relative_error_percent)
    return Section(
        "Validation",
        f"Held-out recordings are predicted with an error of {', '.join(said)}; the fit has {fitted}.",
        tuple(blocks),
    )
