"""HTML that a notebook shows for an estimate and for a recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from ..arrays import Samples
from ..estimate import Estimate
from ..recording import Recording
from .verdicts import ParameterVerdict, verdicts

WIDTH, HEIGHT = 180, 28
"""Size of a sparkline [px]."""
STRETCHES = 90
"""Stretches of a sparkline, each drawn from its smallest to its largest reading."""
MOST_CHANNELS = 40


def estimate_html(estimate: Estimate) -> str:
    """The verdict, the findings, and a row for each parameter with its 95 % interval and its verdict."""
    rows = []
    for k, (name, verdict) in enumerate(zip(estimate.names, verdicts(estimate), strict=True)):
        if verdict is ParameterVerdict.not_identifiable:
            value, interval = verdict.value, ""
        else:
            low, high = estimate.interval(name)
            value, interval = f"{estimate.values[k]:.5g}", f"{low:.4g} to {high:.4g}"
        rows.append((name, value, interval, estimate.units[k], f"{verdict.mark} {verdict.value}"))
    lines = (f"{finding.severity.name} {finding}" for finding in estimate.findings)
    findings = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f"<p><b>{escape(estimate.headline)}</b> {escape(estimate.method)} on {escape(estimate.robot)}: "
        f"{escape(estimate.status.value)}</p><ul>{findings}</ul>"
        + _table(("parameter", "value", "95 % interval", "unit", "verdict"), rows)
    )


def recording_html(recording: Recording) -> str:
    """Clock, and a row for each channel with its range and a sparkline, which has gaps where nothing is valid."""
    rows = []
    for name in tuple(recording.channels)[:MOST_CHANNELS]:
        values = recording.readings(name)
        known = values[np.isfinite(values)]
        ends = (f"{known.min():.4g}", f"{known.max():.4g}") if len(known) else ("", "")
        rows.append((name, recording.units[name], *ends))
    pictures = [
        _sparkline(recording.readings(name), name) for name in tuple(recording.channels)[:MOST_CHANNELS]
    ]
    more = len(recording.channels) - len(rows)
    return (
        f"<p><b>Recording</b> {len(recording)} samples, {recording.duration_s:.4g} s, {recording.rate_hz:.4g} Hz"
        f"{'' if recording.is_uniform else ', clock not uniform'}</p>"
        + _table(("channel", "unit", "smallest", "largest", "over time"), rows, pictures)
        + (f"<p>{more} more channels: recording.channels</p>" if more > 0 else "")
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], pictures: Sequence[str] | None = None) -> str:
    """A table of texts, with a picture at the end of each row."""
    lines = ["".join(f"<th>{escape(title)}</th>" for title in head)]
    for k, row in enumerate(rows):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        lines.append(cells + (f"<td>{pictures[k]}</td>" if pictures else ""))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _sparkline(values: Samples, name: str) -> str:
    """Line through the smallest and the largest reading of each stretch; a constant channel is a line in the middle."""
    known = values[np.isfinite(values)]
    if not len(known):
        return ""
    low, span = float(known.min()), float(np.ptp(known))
    parts: list[list[str]] = [[]]
    count = min(STRETCHES, len(values))
    for k, stretch in enumerate(np.array_split(values, count)):
        read = stretch[np.isfinite(stretch)]
        if not len(read):
            parts.append([])
            continue
        for end in read[[0, *sorted((read.argmin(), read.argmax())), -1]]:
            x = 1 + (WIDTH - 2) * k / max(count - 1, 1)
            y = HEIGHT / 2 if span == 0 else HEIGHT - 2 - (HEIGHT - 4) * (end - low) / span
            parts[-1].append(f"{x:.1f},{y:.1f}")
    lines = "".join(f'<polyline points="{" ".join(part)}"/>' for part in parts if part)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(name)} over time" fill="none" stroke="#1f77b4" stroke-width="1">{lines}</svg>'
    )
