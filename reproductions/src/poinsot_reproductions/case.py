"""Result of a reproduction: rows with the paper's number beside ours, headline figures, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from poinsot.estimate import Fit
from poinsot.exceptions import InvalidMethod, UnreadableFile, listing, nearest
from poinsot.solve import Progress

if TYPE_CHECKING:
    from poinsot.report import Figure


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines over one axis, for a picture.

    Args:
        time: (T,) [s]. unit: unit of all lines.
        lines: name -> (T,).
        along: label of the axis.
    """

    time: np.ndarray
    unit: str
    lines: Mapping[str, np.ndarray]
    along: str = "time [s]"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A paper's tables and figures, computed again.

    Args:
        name: name of the case. seed: number of the paper.
        title, lead: title and first sentence of the page.
        rows: name, paper, ours, and what the case defines; for scripts.
        tables: title -> the same as a person wants to read it, rows of named cells.
        figures: headline numbers, for scripts. facts: the ones that a person wants, by name.
        fits: picture title -> method -> fit, for the pictures.
        pictures: which of the two kinds each title is, `"effort"` or `"autocorrelation"`.
        notes: differences from the paper, with their reasons.
        seconds: how long each stage took.
        curves: picture title -> lines over time.
        animations: animations of robots that move.
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
    animations: tuple[Figure, ...] = ()

    def content(self) -> dict[str, Any]:
        """The result for scripts, in the schema `poinsot.reproduce/1`."""
        return {
            "schema": "poinsot.reproduce/1",
            "name": self.name,
            "seed": self.seed,
            "rows": self.rows,
            "figures": self.figures,
            "notes": self.notes,
            "seconds": self.seconds,
        }

    def write_page(self, path: Path) -> None:
        """Write tables and figures as one HTML file that opens offline.

        Raises:
            UnwritableOutput: if it cannot be written there.
        """
        from poinsot.report import curve_figure, table_of_rows

        from .comparison import autocorrelation_comparison, effort_comparison
        from .page import write_reproduction_page

        draw = {"effort": effort_comparison, "autocorrelation": autocorrelation_comparison}
        write_reproduction_page(
            self.title,
            [table_of_rows(rows, title=title) for title, rows in self.tables.items()],
            [
                *(draw[self.pictures[title]](fits, title) for title, fits in self.fits.items()),
                *(curve_figure(title, c.unit, c.time, c.lines, c.along) for title, c in self.curves.items()),
            ],
            path,
            lead=self.lead,
            facts=self.facts.items(),
            animations=self.animations,
            notes=self.notes,
        )


Say = Callable[[str | Progress], None]
"""Takes sentences about the progress of a computation, or reports that know which part of it is done."""


def _under(name: str, say: Say) -> Say:
    """For a part of a case: its name before what is said."""

    def say_with_name(message: str | Progress) -> None:
        if isinstance(message, Progress):
            say(replace(message, stage=f"{name}: {message.stage}"))
        else:
            say(f"{name}: {message}")

    return say_with_name


@dataclass(frozen=True)
class RecordedCase:
    """A case that is computed from recordings as a whole.

    Args:
        run: data folder -> result.
        files: names of the files that the folder must hold.
        summary: one line about the case.
    """

    name: str
    summary: str
    files: tuple[str, ...]
    run: Callable[[Path], Reproduction]

    def __call__(self, part: str | None, seed: int | None, data: Path | None, say: Say) -> Reproduction:
        """Reproduce the case from a data folder.

        Raises:
            InvalidMethod: if a part or a seed is given, or the data folder is not.
            UnreadableFile: if the folder lacks a file, naming it.
        """
        if part is not None or seed is not None:
            raise InvalidMethod(
                f"{self.name} is computed from recordings: --case and --seed are for cases that simulate"
            )
        if data is None:
            raise InvalidMethod(
                f"{self.name} is computed from {', '.join(self.files)}: say where they are with --data"
            )
        check_files(self.name, data, self.files)
        return self.run(data)


@dataclass(frozen=True)
class Simulation:
    """A part of a case that simulates what it shows.

    Args:
        run: seed of its random numbers, and what tells about progress -> result.
    """

    run: Callable[[int, Say], Reproduction]


@dataclass(frozen=True)
class Measurement:
    """A part of a case that is computed from recordings.

    Args:
        run: data folder, and what tells about progress -> result.
        files: files that the folder must hold.
    """

    run: Callable[[Path, Say], Reproduction]
    files: tuple[str, ...]


@dataclass(frozen=True)
class SimulatedCase:
    """An entry of the registry that simulates what it shows as a whole.

    Args:
        run: seed of its random numbers, and what tells about progress -> result.
        summary: one line about the case.
    """

    name: str
    summary: str
    run: Callable[[int, Say], Reproduction]

    def __call__(self, part: str | None, seed: int | None, data: Path | None, say: Say) -> Reproduction:
        """Reproduce the case.

        Raises:
            InvalidMethod: if a part or a data folder is given.
        """
        if part is not None or data is not None:
            raise InvalidMethod(f"{self.name} is simulated as a whole: leave --case and --data out")
        return self.run(seed or 0, say)


def shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for a table whose title has their unit: three decimals, and no column for it."""
    return [
        {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in row.items()
            if key != "unit"
        }
        for row in rows
    ]


def simulated_in(package: str, name: str) -> Simulation:
    """The part that the module `name` of a package simulates; it is imported when it runs."""

    def run(seed: int, say: Say) -> Reproduction:
        result: Reproduction = import_module(f".{name}", package).run(seed, say=say)
        return result

    return Simulation(run)


def measured_in(package: str, name: str, files: Sequence[str]) -> Measurement:
    """The part that the module `name` of a package computes from these files; it is imported when it runs."""

    def run(data: Path, say: Say) -> Reproduction:
        result: Reproduction = import_module(f".{name}", package).run(data, say=say)
        return result

    return Measurement(run, tuple(files))


@dataclass(frozen=True)
class PartedCase:
    """An entry of the registry with parts that are asked for by name.

    Args:
        summary: one line for `--help`.
        figures_by_part: whether headline numbers of several parts are grouped by part; else they stand side by side,
            as no two parts have one of the same name.
    """

    name: str
    summary: str
    parts: Mapping[str, Simulation | Measurement]
    figures_by_part: bool = True

    def __call__(self, part: str | None, seed: int | None, data: Path | None, say: Say) -> Reproduction:
        """Reproduce one part, or all that are simulated.

        Raises:
            InvalidMethod: if there is no such part, or it is asked for a seed or data that it has no use for.
            UnreadableFile: if the folder lacks a file, naming it.
        """
        if part is not None and part not in self.parts:
            raise InvalidMethod(
                f"{self.name} has no case {part!r}{nearest(part, self.parts)}; there are {listing(self.parts)}"
            )
        if data is not None and not any(isinstance(part, Measurement) for part in self.parts.values()):
            raise InvalidMethod(f"{self.name} is simulated and reads no data: leave --data out")
        if part is not None:
            return self._one(part, seed, data, say)
        wanted = [
            name for name, part in self.parts.items() if data is not None or isinstance(part, Simulation)
        ]
        return _together(self, {name: self._one(name, seed, data, say) for name in wanted})

    def _one(self, name: str, seed: int | None, data: Path | None, say: Say) -> Reproduction:
        part = self.parts[name]
        if isinstance(part, Simulation):
            return part.run(seed or 0, _under(name, say))
        if data is None:
            raise InvalidMethod(
                f"{name} is computed from {', '.join(part.files)}: say where they are with --data"
            )
        check_files(name, data, part.files)
        return part.run(data, _under(name, say))


def check_files(name: str, data: Path, files: Sequence[str]) -> None:
    """
    Raises:
        UnreadableFile: if the folder lacks a file, naming it.
    """
    for file in files:
        if not (data / file).is_file():
            raise UnreadableFile(f"{name} needs {', '.join(files)}: there is no {file} in {data}")


def _together(case: PartedCase, results: Mapping[str, Reproduction]) -> Reproduction:
    """All parts on one page; rows by part."""
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
        {name: result.figures for name, result in results.items()}
        if case.figures_by_part
        else {name: value for result in results.values() for name, value in result.figures.items()},
        {f"{name}: {fact}": v for name, result in results.items() for fact, v in result.facts.items()},
        curves={
            f"{name}: {title}": c for name, result in results.items() for title, c in result.curves.items()
        },
        animations=tuple(animation for result in results.values() for animation in result.animations),
        notes=tuple(dict.fromkeys(note for result in results.values() for note in result.notes)),
        seconds={name: result.seconds["total"] for name, result in results.items()},
    )
