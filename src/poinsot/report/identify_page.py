"""The page of `poinsot identify`: an estimate, for who has to decide whether to trust it."""

from __future__ import annotations

import os
from pathlib import Path

from ..estimate import Estimate, motions_of
from .blocks import Page
from .numbers import count_text
from .page import write_page
from .sections import sections
from .words import number_of


def write_report(estimate: Estimate, path: str | os.PathLike[str]) -> Path:
    """Writes the estimate as one HTML file that opens offline.

    Raises:
        UnwritableOutput: if it cannot be written there.
    """
    return write_page(identify_page(estimate), path)


def identify_page(estimate: Estimate) -> Page:
    """The page before it is rendered."""
    return Page(
        title=estimate.robot or "Identified dynamics",
        kicker="poinsot · identified dynamics",
        subtitle=(
            f"{estimate.method}, {number_of(len(estimate.names), 'parameter')}, "
            f"{count_text(estimate.rows)} rows, {_of(estimate)}"
        ),
        sections=sections(estimate),
    )


def _of(estimate: Estimate) -> str:
    if motions_of(estimate):
        return number_of(
            len({fit.name for motion in motions_of(estimate) for fit in motion.sensors}), "sensor"
        )
    return number_of(len(estimate.fit.joints), "joint")
