"""`poinsot reproduce`: the tables and figures of a paper, computed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import InvalidMethod, listing, nearest
from .shell import Json, Out, check_outputs, deliver, progress, sentences, table

if TYPE_CHECKING:
    from ..reproduction import Reproduction


def reproduce(
    case: Annotated[
        str,
        typer.Argument(
            help="Which one: tx40, emps, online, optimal-estimation, discrete-multibody or impacts.",
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
    out: Out = None,
    json: Json = None,
) -> None:
    """Compute the tables and figures of a paper again, the paper's numbers beside ours."""
    with sentences(), progress() as say:
        check_outputs(data, out, json)
        say(f"reproducing {case}")
        result = _result(case, data, part, seed, say)
        content = {
            "schema": "poinsot.reproduce/1",
            "name": result.name,
            "seed": result.seed,
            "rows": result.rows,
            "figures": result.figures,
            "notes": result.notes,
            "seconds": result.seconds,
        }
        case = case if part is None else f"{case}-{part}"

        def page(path: Path) -> None:
            say("writing the page")
            _write_reproduction(result, path)

        deliver(
            content, f"{case}.json", {f"{case}.html": page}, out, json, lambda: _print_reproduction(result)
        )


def _result(
    case: str, data: Path | None, part: str | None, seed: int | None, say: Callable[[str], None]
) -> Reproduction:
    from ..reproduction import CASES, PARTED

    if case in PARTED:
        return PARTED[case](part, seed, data, say)
    if case not in CASES:
        known = [*CASES, *PARTED]
        raise InvalidMethod(
            f"no case {case!r} to reproduce{nearest(case, known)}; there are {listing(known)}"
        )
    if part is not None or seed is not None:
        raise InvalidMethod(
            f"{case} is computed from recordings: --case and --seed are for {listing(PARTED)}"
        )
    if data is None:
        raise InvalidMethod(
            f"{case} is computed from {', '.join(CASES[case].files)}: say where they are with --data"
        )
    return CASES[case](data)


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
    from ..report import (
        autocorrelation_comparison,
        curve_figure,
        effort_comparison,
        table_of_rows,
        write_reproduction_page,
    )

    draw = {"effort": effort_comparison, "autocorrelation": autocorrelation_comparison}
    write_reproduction_page(
        result.title,
        [table_of_rows(rows, title=title) for title, rows in result.tables.items()],
        [
            *(draw[result.pictures[title]](fits, title) for title, fits in result.fits.items()),
            *(curve_figure(title, c.unit, c.time, c.lines, c.along) for title, c in result.curves.items()),
        ],
        path,
        lead=result.lead,
        facts=result.facts.items(),
        notes=result.notes,
    )
