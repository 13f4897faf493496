"""A finding of an inspection: a sentence, its severity and its channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class InspectionFinding:
    """One sentence: what was found and what to do.

    Args:
        severity: `"error"`: an estimation would fail or mislead; `"warning"`: look at it first; `"note"`: good to know.
        channel: the channel; None: the whole recording.
    """

    severity: Severity
    channel: str | None
    sentence: str
