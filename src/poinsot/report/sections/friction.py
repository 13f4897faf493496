"""What friction does at each speed, with what is not known of it."""

from __future__ import annotations

from ...estimate import NORMAL_95, Estimate, FrictionCurves
from ..blocks import FigureGrid, Section
from ..figures import curve_figure
from ..words import number_of


def friction_section(estimate: Estimate) -> Section | None:
    """A curve a joint, with its 95 % band."""
    curves = estimate.extra(FrictionCurves)
    if curves is None:
        return None
    panels = []
    for curve in curves:
        half = NORMAL_95 * curve.std
        lines = {
            "friction": curve.effort,
            "95 %, low": curve.effort - half,
            "95 %, high": curve.effort + half,
        }
        # An effort in N belongs to a joint that slides.
        along = f"speed [{'m/s' if curve.unit == 'N' else 'rad/s'}]"
        panels.append(curve_figure(f"{curve.joint}", curve.unit, curve.speed, lines, along=along))
    return Section(
        "Friction",
        f"Against the motion, over the speeds of the recordings, of {number_of(len(panels), 'joint')}.",
        (FigureGrid(panels=tuple(panels)),),
    )
