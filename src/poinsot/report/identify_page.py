"""The page of `poinsot identify`: an estimate, for who has to decide whether to trust it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..estimate import Estimate, motions_of
from .blocks import Page
from .numbers import count_text
from .page import write_page
from .sections import sections
from .words import number_of


def write_report(
    estimate: Estimate, path: str | os.PathLike[str], *, sections: Sequence[str] | None = None
) -> Path:
    """Write the estimate as one HTML file that opens offline.

    Args:
        estimate: to show.
        path: of the file.
        sections: names of `report.sections`, or `"module:function"`, besides those of every estimate; None: all that
            have something to say.

    Raises:
        UnwritableOutput: if it cannot be written there.
        InvalidMethod: if there is no section of one of these names.
    """
    return write_page(identify_page(estimate, sections), path)


def identify_page(estimate: Estimate, names: Sequence[str] | None = None) -> Page:
    """The page before it is rendered, with the sections of these names; None: all."""
    return Page(
        title=estimate.robot or "Identified dynamics",
        kicker="poinsot · identified dynamics",
        subtitle=(
            f"{estimate.method}, {number_of(len(estimate.names), 'parameter')}, "
            f"{count_text(estimate.rows)} rows, {_of(estimate)}"
        ),
        sections=sections(estimate, names),
    )


def _of(estimate: Estimate) -> str:
    # Sensors of several recordings count once.
    if motions_of(estimate):
        return number_of(
            len({fit.name for motion in motions_of(estimate) for fit in motion.sensors}), "sensor"
        )
    return number_of(len(estimate.fit.joints), "joint")
