"""The page of `poinsot reproduce`: a paper's tables and figures beside ours."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from poinsot.report.blocks import Facts, Figure, FigureGrid, Findings, Page, PageBlock, Section, Table
from poinsot.report.page import write_page
from poinsot.report.tables import plain_text
from poinsot.report.words import capitalized


def write_reproduction_page(
    title: str,
    tables: Iterable[Table],
    figures: Iterable[Figure | FigureGrid],
    path: str | os.PathLike[str],
    *,
    lead: str = "",
    facts: Iterable[tuple[str, Any]] = (),
    animations: Iterable[Figure] = (),
    notes: Iterable[str] = (),
) -> Path:
    """Writes tables and figures as one HTML file that opens offline; all but the first table and animations are folded.

    Args:
        title: title of the page, which names the case.
        tables: tables by `table_of_rows`, each with its own title.
        figures: results of this package's figure functions, or any `Figure`.
        path: the file to write.
        lead: one sentence that says the result.
        facts: (name, value) headline numbers.
        animations: animations of robots.
        notes: sentences on what differs from the paper and why.

    Raises:
        UnwritableOutput: if it cannot be written there.
    """
    facts = tuple((capitalized(name), plain_text(value)) for name, value in facts)
    notes = tuple(notes)
    # the first table is the case; the others, and figures, are there to be unfolded
    tables = tuple(replace(table, folded=k > 0) for k, table in enumerate(tables))
    blocks: list[PageBlock] = []
    if facts:
        blocks.append(Facts(facts=facts))
    if notes:
        blocks.append(Findings(findings=tuple(("note", note) for note in notes)))
    drawn = tuple(
        figure if isinstance(figure, FigureGrid) else FigureGrid(panels=(figure,)) for figure in figures
    )
    sections = [
        Section(name, sentence, tuple(content), folded=name == "Figures")
        for name, sentence, content in (
            ("Result", lead, blocks),
            (
                "Motion",
                "Play it, and drag to turn it.",
                tuple(FigureGrid(panels=(animation,)) for animation in animations),
            ),
            ("Tables", "With the paper's numbers beside ours, where it has them.", tables),
            ("Figures", "Drawn from the same computation as the tables.", drawn),
        )
        if content or (name == "Result" and sentence)
    ]
    return write_page(Page(title=title, kicker="poinsot · reproduction", sections=sections), path)
