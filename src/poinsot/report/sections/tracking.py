"""The run of a filter: masses over time, excitation, and rejected samples."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, cast

import numpy as np

from ...estimate import Estimate
from ...estimate.motions import ParameterHistory
from ..blocks import FigureGrid, Section
from ..figures.curves import curve_figure, with_interval
from ..numbers import plus_minus, seconds_text
from ..tables import table_of_rows
from ..words import number_of

if TYPE_CHECKING:
    from ...estimators.online.tracking import TrackingRun

MAX_REJECTIONS = 40
"""Largest number of intervals of rejected samples that the page shows."""


def _run(estimate: Estimate) -> TrackingRun | None:
    # by key: importing the class would load the filters' kernels for every page
    return cast("TrackingRun | None", estimate.extras.get("tracking"))


def masses_section(estimate: Estimate) -> Section | None:
    """Estimated mass with its interval, and published mass, recording by recording; the masses at the end."""
    run = _run(estimate)
    if run is None:
        return None
    at_the_end = [
        f"{change.body} {plus_minus(float(body.inertial[0]), change.mass_std)} kg, {change.mass:+.3g} kg from its "
        "prior mass"
        for body, change in zip(estimate.bodies, run.changes, strict=True)
        if body.inertial is not None
    ]
    panels = []
    for k, link in enumerate(run.filter.torques.links):
        # A recording that occurs twice in a row counts once.
        for recording, group in groupby(run.history, key=lambda t: t.recording):
            rows = [(t.time, t.bodies[k, 0], t.mass_std[k], t.published[k, 0]) for t in group]
            time, mass, std, published = np.array(rows).T
            # the published mass is the second line
            lines = {"estimate": mass, "published": published} | with_interval("estimate", mass, std)
            panels.append(curve_figure(f"{link}: {recording}" if recording else link, "kg", time, lines))
    return Section(
        "Masses in time",
        f"At the end: {'; '.join(at_the_end)}. The curves are the estimate after each sample, and the mass published "
        "to a controller at a limited rate.",
        (FigureGrid(panels=tuple(panels)),),
    )


def history_section(estimate: Estimate) -> Section | None:
    """Every open parameter with its interval, after each sample."""
    history = estimate.extra(ParameterHistory)
    if history is None or not history.names:
        return None
    panels = [
        curve_figure(name, unit, history.time, with_interval("estimate", values, std))
        for name, unit, values, std in zip(
            history.names, estimate.units, history.values.T, history.std.T, strict=True
        )
    ]
    return Section(
        "Parameters in time",
        "Each curve is the estimate after each sample, from all samples up to it.",
        (FigureGrid(panels=tuple(panels), shared_x=True),),
    )


def excitation_section(estimate: Estimate) -> Section | None:
    """Mass properties of each open body that the last seconds determine."""
    run = _run(estimate)
    if run is None:
        return None
    rows = [
        {
            "body": excited.link,
            "mass": "determined" if excited.mass else "not determined",
            "centre of mass": _axes("x y z", excited.center_of_mass),
            "inertia": _axes("xx yy zz", excited.inertia),
        }
        for excited in run.excitation
    ]
    return Section(
        "Excitation",
        f"Mass properties that the last {seconds_text(run.filter.memory_s)} determine by themselves: the mass may be "
        "known but not the inertia.",
        (table_of_rows(rows),),
    )


def _axes(names: str, shown: np.ndarray) -> str:
    return " ".join(name for name, yes in zip(names.split(), shown, strict=True) if yes) or "not determined"


def rejections_section(estimate: Estimate) -> Section | None:
    """Intervals of rejected samples, and why they were rejected."""
    run = _run(estimate)
    if run is None or not run.rejections:
        return None
    rows = [
        {
            "recording": rejection.recording,
            "from [s]": round(rejection.start_s, 3),
            "to [s]": round(rejection.stop_s, 3),
            "samples": rejection.samples,
            "why": rejection.verdict.value,
        }
        # The longest first; a noisy run may have thousands.
        for rejection in sorted(run.rejections, key=lambda rejection: -rejection.samples)[:MAX_REJECTIONS]
    ]
    caption = "The longest ones." if len(run.rejections) > MAX_REJECTIONS else ""
    return Section(
        "Rejected samples",
        f"{run.samples - run.used} of {number_of(run.samples, 'sample')}, in "
        f"{number_of(len(run.rejections), 'interval')}.",
        (table_of_rows(rows, caption=caption),),
    )
