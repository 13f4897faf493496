"""How well the measurements are predicted: those that were fitted, their residuals, and held-out recordings."""

from __future__ import annotations

from ...estimate import Estimate, motions_of
from ..blocks import PageBlock, Section
from ..figures.curves import autocorrelation_grid, effort_grid
from ..numbers import count_text, percent_text
from ..tables import fit_table
from ..words import capitalized, number_of, series
from .parameters import which_std


def effort_section(estimate: Estimate) -> Section | None:
    """Joint by joint: numbers, then pictures; None where a motion was estimated, of which efforts are inputs."""
    fit = estimate.fit
    if motions_of(estimate):
        return None
    lead = (
        f"Over {count_text(len(fit.time))} rows of {number_of(len(fit.joints), 'joint')} the prediction has a relative "
        f"error of {percent_text(fit.relative_error_percent)}."
    )
    return Section("Measured and predicted effort", lead, (fit_table(fit), effort_grid(fit)))


def residuals_section(estimate: Estimate) -> Section | None:
    """Autocorrelation joint by joint."""
    # Impacts of many drops have no order in time.
    fit = estimate.fit
    if not fit.autocorrelation.size:
        return None
    coloured = [name for name, verdict in zip(fit.joints, fit.whiteness, strict=True) if not verdict.white]
    if not coloured:
        subject = "reading of every sensor" if motions_of(estimate) else "joint"
        lead = f"They look like white noise in every {subject}: no systematic model error is visible."
    else:
        where = "They are" if len(coloured) == len(fit.joints) else f"Those of {series(coloured)} are"
        why = "friction that is not in the model, elasticity, or filters that are too wide"
        if motions_of(estimate):
            why = "biases or delays of sensors, friction that is not in the model, elasticity, or filtered readings"
        lead = f"{where} correlated in time: {why}."
    return Section("Residuals", f"{lead} {which_std(estimate)}", (autocorrelation_grid(fit),))


def validation_section(estimate: Estimate) -> Section | None:
    """Each held-out recording with the tables and pictures of the fit."""
    if not estimate.validation:
        return None
    blocks: list[PageBlock] = []
    errors = []
    for number, fit in enumerate(estimate.validation, start=1):
        name = fit.recording or f"recording {number}"
        errors.append(f"{percent_text(fit.relative_error_percent)} on {name}")
        column = "component" if motions_of(estimate) else "joint"
        blocks += [fit_table(fit, title=capitalized(name), column=column), effort_grid(fit)]
    fitted = percent_text(estimate.fit.relative_error_percent)
    return Section(
        "Validation",
        f"Held-out recordings are predicted with an error of {', '.join(errors)}; the fit has {fitted}.",
        tuple(blocks),
    )
