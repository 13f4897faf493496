"""The page of `poinsot inspect`: what a recording is like before anything is estimated from it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..estimate import Finding
from ..inspection import Inspection
from ..recording import Recording
from .blocks import SEVERITIES, Facts, Findings, Page, section_of
from .figures import channel_grid
from .page import write_page
from .tables import table_of_rows
from .words import capitalized, number_of, series


def write_inspection_page(inspection: Inspection, recording: Recording, path: str | os.PathLike[str]) -> Path:
    """Write what was found about a recording as one HTML file that opens offline.

    Args:
        inspection: of `recording`, whose channels are drawn; samples that are masked are left out.
        path: of the file.

    Raises:
        UnwritableOutput: if it cannot be written there.
    """
    found = inspection.findings
    channels = [
        (name, recording.units[name], recording.time, np.where(recording.mask(name), values, np.nan))
        for name, values in recording.channels.items()
    ]
    lead = f"{number_of(len(inspection.rows), 'channel')}, one a row."
    sections = (
        section_of(
            "Overview",
            _lead(found),
            Findings.of((each.severity.name, str(each)) for each in found),
            Facts(facts=tuple((capitalized(name), value) for name, value in inspection.facts)),
        ),
        section_of("Channels", lead, table_of_rows(inspection.rows)),
        section_of("Pictures", "The channels as they were recorded.", channel_grid(channels)),
    )
    return write_page(Page(title=inspection.name, kicker="poinsot · recording", sections=sections), path)


def _lead(findings: Sequence[Finding]) -> str:
    counts = Counter[str](finding.severity.name for finding in findings)
    said = [number_of(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    if counts["error"] or counts["warning"]:
        return f"{series(said)} before any estimation."
    return f"Nothing stands in the way of an estimation{f'; {said[0]}' if said else ''}."
