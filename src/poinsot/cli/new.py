"""`poinsot new`: from a robot description and a log to a project file that can be identified at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InvalidProject, UnwritableOutput
from ..text import table
from . import shell
from .shell import Json

if TYPE_CHECKING:
    from ..project.starting import Start


def new(
    robot: Annotated[
        Path,
        typer.Argument(help="The robot description (URDF, MJCF).", metavar="ROBOT.urdf", show_default=False),
    ],
    logs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Tables with named columns: CSV, Parquet, MCAP, ...; a recording each, or a pattern of names.",
            metavar="LOG.csv...",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The project file to write.")] = Path("job.toml"),
    rate_hz: Annotated[
        float | None, typer.Option(min=1e-3, max=1e9, help="Sampling rate [Hz] of a log without a clock.")
    ] = None,
    validation: Annotated[
        list[Path] | None, typer.Option(help="A log that is predicted, and not fitted.", show_default=False)
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            help="Outline of a thrown body: all paths are its logs, without a robot.", show_default=False
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Key of [body] and its value, as sides=[0.1, 0.05] or mass=0.06.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a project file that exists.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    json: Json = None,
) -> None:
    """Begin a project file from a robot and its logs. Each guess has its reason beside it."""
    with shell.running(None, None, json) as say:
        from ..io.sources import matching_files
        from ..io.writing import check_apart, write_text
        from ..project.methods import find_method
        from ..project.methods.base import OnlineMethod

        if out.exists() and not force:
            raise UnwritableOutput(f"{out} exists: name another file with -o, or overwrite it with --force")
        shell.check_output(out, None)
        logs = matching_files([*([] if shape is None else [robot]), *(logs or [])])
        held_out = matching_files(validation or [])
        check_apart([out, json], [robot, *logs, *held_out])
        if shape is None:
            start = _start_robot(robot, logs, out, rate_hz, held_out, say)
        else:
            from ..project.starting_throw import read_sizes, start_throw

            say("reading logs")
            start = start_throw(shape, read_sizes(size or []), logs, out, rate_hz, held_out)
    with shell.sentences():
        content: dict[str, Any] = {
            "schema": "poinsot.new/1",
            "project_file": str(out),
            "method": start.method,
        }
        content |= {"text": start.text, "guesses": list(start.guesses), "unused": list(start.unused)}
        asks = not yes and json != "-" and sys.stdin.isatty()
        if asks:
            shell.echo(table(start.guesses))
        if asks and not typer.confirm(f"write {out}?", default=True):
            raise typer.Exit(shell.stop("nothing was written", shell.INTERRUPTED))
        run = "track" if issubclass(find_method(start.method), OnlineMethod) else "identify"
        lines = [f"Next: poinsot inspect {out}, or poinsot {run} {out} --out results"]
        lines += [] if asks else [table(start.guesses)]
        files = {out: lambda path: write_text(path, start.text)}
        shell.deliver(content, "", {}, None, json, lambda: shell.echo("\n".join(lines)), files)


def _start_robot(
    robot: Path,
    logs: Sequence[Path],
    out: Path,
    rate_hz: float | None,
    held_out: Sequence[Path],
    say: Callable[[str], None],
) -> Start:
    """The project of a robot; a sentence if paths are not those of a robot and its logs."""
    from ..project.starting import start_project

    descriptions = (".urdf", ".xml", ".mjcf")
    if not logs:
        what = f"{robot} LOG.csv" if robot.suffix.lower() in descriptions else f"ROBOT.urdf {robot}"
        raise InvalidProject(
            f"a robot and a log are needed: poinsot new {what}; of a thrown body, --shape and no robot"
        )
    log = logs[0]
    if log.suffix.lower() in descriptions and robot.suffix.lower() not in descriptions:
        raise InvalidProject(f"the robot comes first: poinsot new {log} {robot}")
    say("reading robot and logs")
    return start_project(robot, logs, out, rate_hz, held_out)
