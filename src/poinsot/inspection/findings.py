"""What an inspection may say: a sentence, how bad it is, and which channel it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One sentence that says what was seen and what to do about it.

    Args:
        severity: `"error"`: an estimation would fail or mislead; `"warning"`: look at it first; `"note"`: good to know.
        channel: the channel or joint that it is about; None: the whole recording.
    """

    severity: Severity
    channel: str | None
    sentence: str
