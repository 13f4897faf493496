"""What every reproduction gives: rows with the paper's number beside ours, headline figures, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..estimate import Fit
from ..exceptions import UnreadableFile


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
