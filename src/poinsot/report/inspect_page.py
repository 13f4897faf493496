"""The page of `poinsot inspect`: what a recording is like before anything is estimated from it.

It takes plain things, so that what is inspected, and how, can change without it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..recording import Recording
from .blocks import SEVERITIES, Facts, Findings, Page, PageBlock, Section
from .figures import channel_grid
from .page import write_page
from .tables import plain_text, table_of_rows
from .words import capitalized, number_of, series

_COUNTED = {"error": "error", "warning": "warning", "note": "note"}


class ChannelSeries(NamedTuple):
    """One channel of a recording.

    Args:
        name, unit: of the channel. time: (T,) [s]. values: (T,) in `unit`, NaN where there is none.
    """

    name: str
    unit: str
    time: np.ndarray
    values: np.ndarray


def channel_series(recording: Recording) -> tuple[ChannelSeries, ...]:
    """All channels of a recording; samples that are not to be trusted are left out."""
    return tuple(
        ChannelSeries(
            name, recording.units[name], recording.time, np.where(recording.mask(name), values, np.nan)
        )
        for name, values in recording.channels.items()
    )


def write_inspection_page(
    title: str,
    path: str | os.PathLike[str],
    *,
    facts: Iterable[tuple[str, Any]] = (),
    findings: Iterable[tuple[str, str]] = (),
    rows: Sequence[Mapping[str, Any]] = (),
    channels: Iterable[tuple[str, str, np.ndarray, np.ndarray]] = (),
) -> Path:
    """Writes what was found about a recording as one HTML file that opens offline.

    Args:
        title: of the page: the recording's name.
        path: of the file.
        facts: (name, value) of the recording as a whole.
        findings: (severity, sentence), severities `"error"`, `"warning"`, `"note"` or `"ok"`.
        rows: one dict a channel, in the words wanted on the page.
        channels: to draw, of `channel_series` or tuples like `ChannelSeries`.

    Raises:
        UnwritableOutput: if it cannot be written there.
    """
    facts = tuple((capitalized(name), plain_text(value)) for name, value in facts)
    findings, channels = tuple(findings), tuple(channels)
    overview: list[PageBlock] = []
    if findings:
        overview.append(Findings(findings=findings))
    if facts:
        overview.append(Facts(facts=facts))
    sections = [Section("Overview", _lead(findings), tuple(overview))]
    if rows:
        sections.append(
            Section("Channels", f"{number_of(len(rows), 'channel')}, one a row.", (table_of_rows(rows),))
        )
    if channels:
        sections.append(Section("Pictures", "The channels as they were recorded.", (channel_grid(channels),)))
    return write_page(Page(title=title, kicker="poinsot · recording", sections=sections), path)


def _lead(findings: Sequence[tuple[str, str]]) -> str:
    counts = Counter(severity for severity, _ in findings)
    said = [
        number_of(counts[severity], _COUNTED[severity])
        for severity in SEVERITIES
        if severity in _COUNTED and counts[severity]
    ]
    if counts["error"] or counts["warning"]:
        return f"{series(said)} before any estimation."
    return f"Nothing stands in the way of an estimation{f'; {said[0]}' if said else ''}."
