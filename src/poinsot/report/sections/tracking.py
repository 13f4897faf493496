"""The run of a filter: masses in time, what the motion showed, and samples that were not used."""

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
"""Stretches of rejected samples that the page shows."""


def _run(estimate: Estimate) -> TrackingRun | None:
    # by its key: importing the class would load the filters' kernels for every page
    return cast("TrackingRun | None", estimate.extras.get("tracking"))


def masses_section(estimate: Estimate) -> Section | None:
    """Estimated mass with its interval, and published mass, recording by recording; the masses at the end."""
    run = _run(estimate)
    if run is None:
        return None
    at_the_end = [
        f"{change.body} {plus_minus(float(body.inertial[0]), change.mass_std)} kg, {change.mass:+.3g} kg from what it "
        "was known as"
        for body, change in zip(estimate.bodies, run.changes, strict=True)
        if body.inertial is not None
    ]
    panels = []
    for k, link in enumerate(run.filter.torques.links):
        # A recording that comes twice in a row is one.
        for recording, group in groupby(run.history, key=lambda t: t.recording):
            rows = [(t.time, t.bodies[k, 0], t.mass_std[k], t.published[k, 0]) for t in group]
            time, mass, std, published = np.array(rows).T
            # the published mass is the second line
            lines = {"estimate": mass, "published": published} | with_interval("estimate", mass, std)
            panels.append(curve_figure(f"{link}: {recording}" if recording else link, "kg", time, lines))
    return Section(
        "Masses in time",
        f"At the end: {'; '.join(at_the_end)}. The curves are the estimate after each sample, and the mass published "
        "for a controller at a limited rate.",
        (FigureGrid(panels=tuple(panels)),),
    )


def history_section(estimate: Estimate) -> Section | None:
    """Every open parameter with its interval, after each sample."""
    found = estimate.extra(ParameterHistory)
    if found is None or not found.names:
        return None
    panels = [
        curve_figure(name, unit, found.time, with_interval("estimate", values, std))
        for name, unit, values, std in zip(
            found.names, estimate.units, found.values.T, found.std.T, strict=True
        )
    ]
    return Section(
        "Parameters in time",
        "Each curve is the estimate after each sample, from the samples until then.",
        (FigureGrid(panels=tuple(panels), shared_x=True),),
    )


def excitation_section(estimate: Estimate) -> Section | None:
    """Which mass properties of each open body the last seconds showed."""
    run = _run(estimate)
    if run is None:
        return None
    rows = [
        {
            "body": each.link,
            "mass": "shown" if each.mass else "not shown",
            "centre of mass": _axes("x y z", each.center_of_mass),
            "inertia": _axes("xx yy zz", each.inertia),
        }
        for each in run.excitation
    ]
    return Section(
        "What the motion shows",
        f"The last {seconds_text(run.filter.memory_s)} by themselves: a consumer can tell a mass that is known from an "
        "inertia that is not.",
        (table_of_rows(rows),),
    )


def _axes(names: str, shown: np.ndarray) -> str:
    return " ".join(name for name, yes in zip(names.split(), shown, strict=True) if yes) or "not shown"


def rejections_section(estimate: Estimate) -> Section | None:
    """Stretches of samples that were not used, and why."""
    run = _run(estimate)
    if run is None or not run.rejections:
        return None
    rows = [
        {
            "recording": each.recording,
            "from [s]": round(each.start_s, 3),
            "to [s]": round(each.stop_s, 3),
            "samples": each.samples,
            "why": each.verdict.value,
        }
        # The longest first; of a noisy run there may be thousands.
        for each in sorted(run.rejections, key=lambda each: -each.samples)[:MAX_REJECTIONS]
    ]
    caption = "The longest ones." if len(run.rejections) > MAX_REJECTIONS else ""
    return Section(
        "What was not used",
        f"{run.samples - run.used} of {number_of(run.samples, 'sample')}, in "
        f"{number_of(len(run.rejections), 'stretch', 'stretches')}.",
        (table_of_rows(rows, caption=caption),),
    )
