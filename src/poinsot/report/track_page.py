"""The page of `poinsot track`: masses in time, samples that were not used, and the bodies at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..estimate import NORMAL_95, Estimate
from ..estimators.online.belief import SampleVerdict
from ..estimators.online.tracking import Tracked, TrackingRun
from ..exceptions import InvalidMethod
from .blocks import FigureGrid, Findings, Page, PageBlock, Section
from .figures import curve_figure
from .numbers import count_text, plus_minus, seconds_text
from .page import write_page
from .sections.bodies import bodies_section
from .sections.effort import effort_section
from .sections.provenance import provenance_section
from .tables import table_of_rows
from .words import number_of

SHOWN_REJECTIONS = 40


def write_tracking_page(estimate: Estimate, path: str | os.PathLike[str]) -> Path:
    """Write the estimate of a filter as one HTML file that opens offline.

    Raises:
        UnwritableOutput: if it cannot be written there.
    """
    return write_page(tracking_page(estimate), path)


def tracking_page(estimate: Estimate) -> Page:
    """The page before it is rendered.

    Raises:
        InvalidMethod: if the estimate is not a filter's.
    """
    run = estimate.extra(TrackingRun)
    if run is None:
        raise InvalidMethod(f"{estimate.method} is no filter: its page is written by write_report")
    sections = (
        _verdict(estimate, run),
        _masses(estimate, run),
        _shown(run),
        _not_used(run),
        bodies_section(estimate),
        effort_section(estimate),
        provenance_section(estimate),
    )
    return Page(
        title=estimate.robot or "Tracked links",
        kicker="poinsot · tracked links",
        subtitle=f"{estimate.method}, {count_text(run.samples)} samples",
        sections=tuple(section for section in sections if section is not None),
    )


def _verdict(estimate: Estimate, run: TrackingRun) -> Section:
    used = run.verdicts.get(SampleVerdict.accepted, 0)
    masses = [
        f"{change.body} {plus_minus(float(body.inertial[0]), change.mass_std)} kg, {change.mass:+.3g} kg from what it "
        "was known as"
        for body, change in zip(estimate.bodies, run.changes, strict=True)
        if body.inertial is not None
    ]
    findings = [
        *(("warning", sentence) for sentence in estimate.warnings),
        *(("note", sentence) for sentence in estimate.notes),
    ]
    if not estimate.status.converged:
        findings.insert(0, ("warning", estimate.status.value))
    blocks: tuple[PageBlock, ...] = (Findings(findings=tuple(findings)),) if findings else ()
    return Section(
        "Verdict",
        f"At the end: {'; '.join(masses)}. {used} of {number_of(run.samples, 'sample')} were used.",
        blocks,
    )


def _masses(estimate: Estimate, run: TrackingRun) -> Section:
    """Estimated mass with its interval, and published mass, recording by recording."""
    panels = []
    for k, link in enumerate(run.filter.torques.links):
        for recording, kept in _by_recording(run.history):
            mass, std = np.array([t.bodies[k, 0] for t in kept]), np.array([t.mass_std[k] for t in kept])
            half = NORMAL_95 * std
            panels.append(
                curve_figure(
                    f"{link}: {recording}" if recording else link,
                    "kg",
                    np.array([t.time for t in kept]),
                    {
                        "estimate": mass,
                        "published": np.array([t.published[k, 0] for t in kept]),
                        "95 % from": mass - half,
                        "95 % to": mass + half,
                    },
                )
            )
    return Section(
        "Masses in time",
        "Estimated after each sample, and published for a controller at a limited rate.",
        (FigureGrid(panels=tuple(panels)),),
    )


def _by_recording(kept: Sequence[Tracked]) -> list[tuple[str, list[Tracked]]]:
    """In the order of time; a recording that comes twice in a row is one."""
    groups: list[tuple[str, list[Tracked]]] = []
    for tracked in kept:
        if not groups or groups[-1][0] != tracked.recording:
            groups.append((tracked.recording, []))
        groups[-1][1].append(tracked)
    return groups


def _shown(run: TrackingRun) -> Section:
    rows = [
        {
            "body": each.link,
            "mass": "shown" if each.mass else "not shown",
            "centre of mass": _axes("x y z", each.center_of_mass),
            "inertia": _axes("xx yy zz", each.inertia),
        }
        for each in run.excitation
    ]
    memory = seconds_text(run.filter.memory_s)
    return Section(
        "What the motion shows",
        f"The last {memory} by themselves: a consumer can tell a mass that is known from an inertia that is not.",
        (table_of_rows(rows),),
    )


def _axes(names: str, shown: np.ndarray) -> str:
    return " ".join(name for name, yes in zip(names.split(), shown, strict=True) if yes) or "not shown"


def _not_used(run: TrackingRun) -> Section | None:
    """Stretches of samples that were rejected, and why."""
    if not run.rejections:
        return None
    rows = [
        {
            "recording": each.recording,
            "from [s]": round(each.start_s, 3),
            "to [s]": round(each.stop_s, 3),
            "samples": each.samples,
            "why": each.verdict.value,
        }
        for each in sorted(run.rejections, key=lambda each: -each.samples)[:SHOWN_REJECTIONS]
    ]
    count = run.samples - run.verdicts.get(SampleVerdict.accepted, 0)
    caption = "The longest ones." if len(run.rejections) > SHOWN_REJECTIONS else ""
    return Section(
        "What was not used",
        f"{number_of(count, 'sample')} in {number_of(len(run.rejections), 'stretch', 'stretches')}.",
        (table_of_rows(rows, caption=caption),),
    )
