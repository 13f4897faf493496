"""`poinsot reproduce`: the tables and figures of a paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import InvalidMethod, listing, nearest
from .shell import Json, Out, check_outputs, deliver, progress, sentences, table

if TYPE_CHECKING:
    from ..reproduction import Reproduction


def reproduce(
    case: Annotated[str, typer.Argument(help="Which one, e.g. tx40 or emps.", show_default=False)],
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the case's recordings.")] = None,
    out: Out = None,
    json: Json = None,
) -> None:
    """Compute the tables and figures of a paper again, the paper's numbers beside ours."""
    with sentences(), progress() as say:
        check_outputs(data, out, json)
        from ..reproduction import CASES

        if case not in CASES:
            raise InvalidMethod(
                f"no case {case!r} to reproduce{nearest(case, CASES)}; there are {listing(CASES)}"
            )
        if data is None:
            raise InvalidMethod(
                f"{case} is computed from {', '.join(CASES[case].files)}: say where they are with --data"
            )
        say(f"reproducing {case}")
        result = CASES[case](data)
        content = {
            "schema": "poinsot.reproduce/1",
            "name": result.name,
            "seed": result.seed,
            "rows": result.rows,
            "figures": result.figures,
            "notes": result.notes,
            "seconds": result.seconds,
        }

        def page(path: Path) -> None:
            say("writing the page")
            _write_reproduction(result, path)

        deliver(
            content, f"{case}.json", {f"{case}.html": page}, out, json, lambda: _print_reproduction(result)
        )


def _print_reproduction(result: Reproduction) -> None:
    typer.echo(f"{result.title}\n{result.lead}")
    for title, rows in result.tables.items():
        typer.echo(f"\n{title}\n{table(rows)}")
    typer.echo()
    for name, value in result.facts.items():
        typer.echo(f"{name}: {value}")
    for note in result.notes:
        typer.echo(f"note: {note}")


def _write_reproduction(result: Reproduction, path: Path) -> None:
    from ..report import autocorrelation_comparison, effort_comparison, table_of_rows, write_reproduction_page

    draw = {"effort": effort_comparison, "autocorrelation": autocorrelation_comparison}
    write_reproduction_page(
        result.title,
        [table_of_rows(rows, title=title) for title, rows in result.tables.items()],
        [draw[result.pictures[title]](fits, title) for title, fits in result.fits.items()],
        path,
        lead=result.lead,
        facts=result.facts.items(),
        notes=result.notes,
    )
