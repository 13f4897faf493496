"""`poinsot reproduce`: the tables and figures of a paper, computed again.

The cases are not part of this distribution. Each is an entry point of the group `poinsot.reproductions`, as the
distribution `poinsot-reproductions` has them: its name is the case, and it loads a `Case`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from ..exceptions import InvalidMethod, check_known
from ..text import table
from .shell import Cluster, Json, Out, Workers, deliver, echo, running

GROUP = "poinsot.reproductions"


class Reproduction(Protocol):
    """The result of a case.

    Attributes:
        title, lead: heading of the case, and the sentence that says its result.
        tables: title -> rows of named cells, for people.
        facts: headline numbers by name, for people.
        notes: sentences on what differs from the paper, and why.
    """

    @property
    def title(self) -> str: ...
    @property
    def lead(self) -> str: ...
    @property
    def tables(self) -> Mapping[str, Sequence[Mapping[str, Any]]]: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def notes(self) -> Sequence[str]: ...

    def content(self) -> Mapping[str, Any]:
        """The result for scripts, in the schema `poinsot.reproduce/1`."""

    def write_page(self, path: Path) -> None:
        """Write tables and figures as one HTML file."""


Case = Callable[[str | None, int | None, Path | None, Callable[[str], None]], Reproduction]
"""What an entry point of the group loads: part, seed and data, the options `--case`, `--seed` and `--data` (None where
not given), and a function that takes sentences about the progress -> one part of the case, or all of it. It raises a
`PoinsotError` if it has no use for an option, or cannot read the data.
"""


def reproduce(
    case: Annotated[
        str,
        typer.Argument(
            help="Which one: tx40, emps, closed-loop, online, optimal-estimation, discrete-multibody, impacts, "
            "actuators or controller.",
            show_default=False,
        ),
    ],
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the case's recordings.")] = None,
    part: Annotated[
        str | None,
        typer.Option("--case", help="One of the parts of a simulated one, e.g. torso; default: all."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of a simulated one's random numbers; default: 0.")
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Out = None,
    json: Json = None,
) -> None:
    """Compute the tables and figures of a paper again. The paper's numbers stand beside ours."""
    from ..studies.study import chosen

    with running(data, out, json) as say:
        say(f"reproducing {case}")
        computed = load_case(case)
        with chosen(workers, cluster):
            result = computed(part, seed, data, say)
        case = case if part is None else f"{case}-{part}"

        def page(path: Path) -> None:
            say("writing the page")
            result.write_page(path)

        deliver(result.content(), f"{case}.json", {f"{case}.html": page}, out, json, lambda: _print(result))


def load_case(name: str) -> Case:
    """The case of this name among all that are installed."""
    from importlib.metadata import entry_points

    # Loading one imports its case and nothing of the others.
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if not installed:
        raise InvalidMethod(
            "the papers' cases are a distribution of their own: `pip install poinsot-reproductions`, "
            "or `pip install ./reproductions` in a checkout of poinsot"
        )
    check_known(name, installed, "no reproduction", "there are", InvalidMethod)
    return installed[name].load()


def _print(result: Reproduction) -> None:
    echo(f"{result.title}\n{result.lead}")
    for title, rows in result.tables.items():
        echo(f"\n{title}\n{table(rows)}")
    echo("")
    for name, value in result.facts.items():
        echo(f"{name}: {value}")
    for note in result.notes:
        echo(f"note: {note}")
