"""Whether the residuals are white, and what that means for the standard deviations."""

from __future__ import annotations

from ...estimate import Estimate, motions_of
from ..blocks import Section
from ..figures import autocorrelation_grid
from ..words import series
from .parameters import which_std


def residuals_section(estimate: Estimate) -> Section | None:
    """Autocorrelation joint by joint."""
    if not estimate.fit.autocorrelation.size:
        return None
    return Section("Residuals", _lead(estimate), (autocorrelation_grid(estimate.fit),))


def _lead(estimate: Estimate) -> str:
    fit = estimate.fit
    coloured = [name for name, verdict in zip(fit.joints, fit.whiteness, strict=True) if not verdict.white]
    if not coloured:
        each = "reading of every sensor" if motions_of(estimate) else "joint"
        looks = f"They look like white noise in every {each}, so the model misses nothing that repeats."
        return f"{looks} {which_std(estimate)}"
    where = "They are" if len(coloured) == len(fit.joints) else f"Those of {series(coloured)} are"
    return f"{where} correlated in time: {_why(estimate)}. {which_std(estimate)}"


def _why(estimate: Estimate) -> str:
    if motions_of(estimate):
        return (
            "biases or delays of sensors, friction that is not in the model, elasticity, or filtered readings"
        )
    return "friction that is not in the model, elasticity, or filters that are too wide"
