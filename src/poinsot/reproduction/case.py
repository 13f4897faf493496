"""What every reproduction gives: rows with the paper's number beside ours, headline figures, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import Fit
from ..exceptions import InvalidMethod, UnreadableFile, listing, nearest


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines over one time axis, for a picture.

    Args:
        time: (T,) [s]. unit: of all lines.
        lines: name -> (T,).
    """

    time: np.ndarray
    unit: str
    lines: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A paper's tables and figures, computed again.

    Args:
        name: of the case. seed: number of the paper.
        title, lead: of the page.
        rows: name, paper, ours, and what the case defines; for scripts.
        tables: title -> the same as a person wants to read it, rows of named cells.
        figures: headline numbers, for scripts. facts: the ones that a person wants, by name.
        fits: picture title -> method -> fit, for the pictures.
        pictures: which of the two kinds each title is, `"effort"` or `"autocorrelation"`.
        notes: what differs from the paper and why.
        seconds: how long each stage took.
        curves: picture title -> lines over time.
    """

    name: str
    seed: str
    title: str
    lead: str
    rows: tuple[Mapping[str, Any], ...]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    figures: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    fits: Mapping[str, Mapping[str, Fit]] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Curves] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """An entry of the registry.

    Args:
        run: data folder -> result.
        files: what the folder must hold.
        summary: one line for `--help`.
    """

    name: str
    summary: str
    files: tuple[str, ...]
    run: Callable[[Path], Reproduction]

    def __call__(self, data: Path) -> Reproduction:
        """Reproduce from a data folder.

        Raises:
            UnreadableFile: if the folder lacks a file, naming it.
        """
        for file in self.files:
            if not (data / file).is_file():
                raise UnreadableFile(
                    f"{self.name} needs {', '.join(self.files)}: there is no {file} in {data}"
                )
        return self.run(data)


@dataclass(frozen=True)
class SimulatedCase:
    """An entry of the registry that needs no data: its parts simulate what they show.

    Args:
        summary: one line for `--help`.
        parts: name -> function of the seed of its random numbers, and of what tells about progress.
    """

    name: str
    summary: str
    parts: Mapping[str, Callable[[int, Callable[[str], None]], Reproduction]]

    def __call__(
        self, part: str | None, seed: int, say: Callable[[str], None] = lambda _: None
    ) -> Reproduction:
        """Reproduce one part, or all of them.

        Args:
            say: told what is being done.

        Raises:
            InvalidMethod: if there is no such part.
        """
        if part is None:
            return _together(self, {name: run(seed, say) for name, run in self.parts.items()})
        if part not in self.parts:
            raise InvalidMethod(
                f"{self.name} has no case {part!r}{nearest(part, self.parts)}; there are {listing(self.parts)}"
            )
        return self.parts[part](seed, say)


def _together(case: SimulatedCase, results: Mapping[str, Reproduction]) -> Reproduction:
    """All parts on one page; headline numbers and rows by part."""
    first = next(iter(results.values()))
    return Reproduction(
        case.name,
        first.seed,
        case.summary,
        " ".join(result.lead for result in results.values()),
        tuple({"case": name} | dict(row) for name, result in results.items() for row in result.rows),
        {
            f"{name}: {title}": rows
            for name, result in results.items()
            for title, rows in result.tables.items()
        },
        {name: result.figures for name, result in results.items()},
        {f"{name}: {fact}": v for name, result in results.items() for fact, v in result.facts.items()},
        curves={
            f"{name}: {title}": c for name, result in results.items() for title, c in result.curves.items()
        },
        notes=tuple(dict.fromkeys(note for result in results.values() for note in result.notes)),
        seconds={name: result.seconds["total"] for name, result in results.items()},
    )
