"""The page of `poinsot identify`, for deciding whether to trust an estimate, and the page of `poinsot inspect`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..estimate import Estimate, motions_of
from ..estimate.motions import Scene
from ..inspection import Inspection
from ..recording import Recording
from .blocks import SEVERITIES, Facts, Findings, Page, section_of
from .figures.curves import channel_grid
from .figures.drops import drop_grid
from .figures.ellipsoids import ellipsoid_grid
from .first_screen import first_screen
from .numbers import count_text
from .page import write_page
from .sections import sections
from .tables import table_of_rows
from .words import capitalized, number_of, series


def write_report(
    estimate: Estimate, path: str | os.PathLike[str], *, sections: Sequence[str] | None = None
) -> Path:
    """Write the estimate as one HTML file that opens offline.

    Args:
        estimate: estimate to show.
        path: path of the file.
        sections: names of `report.sections`, or `"module:function"`, besides those of every estimate; None: all that
            apply.

    Raises:
        UnwritableOutput: if the file cannot be written.
        InvalidMethod: if there is no section of a given name.
    """
    return write_page(identify_page(estimate, sections), path)


def identify_page(estimate: Estimate, names: Sequence[str] | None = None) -> Page:
    """The page before it is rendered, with the sections of these names; None: all."""
    # Sensors of several recordings count once.
    sensors = {fit.name for motion in motions_of(estimate) for fit in motion.sensors}
    joints = number_of(len(estimate.fit.joints), "joint")
    measured = number_of(len(sensors), "sensor") if sensors else joints
    shown, scene, motions = sections(estimate, names), estimate.extra(Scene), motions_of(estimate)
    picture = drop_grid(motions[:1], scene) if scene and motions else ellipsoid_grid(estimate)
    return Page(
        title=estimate.robot or "Identified dynamics",
        kicker="poinsot · identified dynamics",
        subtitle=(
            f"{estimate.method}, {number_of(len(estimate.names), 'parameter')}, "
            f"{count_text(estimate.rows)} rows, {measured}"
        ),
        first=first_screen(estimate),
        sections=shown,
        picture=picture,
        opening=1 + [section.title for section in shown].index("Verdict"),
    )


def write_inspection_page(inspection: Inspection, recording: Recording, path: str | os.PathLike[str]) -> Path:
    """Write findings on a recording and its channels, without masked samples, as one HTML file that opens offline."""
    findings = inspection.findings
    counts = Counter[str](finding.severity.name for finding in findings)
    severities = [number_of(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    verdict = f"The recording can be used for estimation{f'; {severities[0]}' if severities else ''}."
    if counts["error"] or counts["warning"]:
        verdict = f"{series(severities)} to resolve before any estimation."
    channels = [
        (name, recording.units[name], recording.time, np.where(recording.mask(name), values, np.nan))
        for name, values in recording.channels.items()
    ]
    lead = f"{number_of(len(inspection.rows), 'channel')}, one a row."
    shown = (
        section_of(
            "Overview",
            verdict,
            Findings.of((finding.severity.name, str(finding)) for finding in findings),
            Facts(facts=tuple((capitalized(name), value) for name, value in inspection.facts)),
        ),
        section_of("Channels", lead, table_of_rows(inspection.rows)),
        section_of("Pictures", "The channels as they were recorded.", channel_grid(channels)),
    )
    return write_page(Page(title=inspection.name, kicker="poinsot · recording", sections=shown), path)
