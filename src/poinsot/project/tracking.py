"""Tracking: the result of a filter over the recordings of a project, or over a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.online.calibration import Bias
    from ..estimators.online.tracking import Tracked, Tracker

OnSample = Callable[["Tracked", "Tracker"], None]
"""Called after each sample."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """The run of a project's filter.

    Args:
        estimate: after the last sample. tracker: the state of the run, and its history.
        calibration: of the first seconds; None: there was none.
    """

    estimate: Estimate
    tracker: Tracker
    calibration: Bias | None
