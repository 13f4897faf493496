"""`poinsot export`: an identified model for a controller, a simulator or a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .shell import Data, echo, running

WRITTEN = "poinsot.export.json"
"""Names of the files that `export` wrote to a folder, each with its SHA-256: only these are overwritten."""


def export(
    result: Annotated[
        Path,
        typer.Argument(
            help="What `poinsot identify` wrote: the result, or its folder.",
            metavar="RESULT",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="c, python, urdf, mjcf, json or ros2; without it the formats of this result are listed.",
            metavar="FORMAT",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of the files, and of what is in them; default: the robot's.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
    regressor: Annotated[
        bool, typer.Option("--regressor", help="Code with the efforts' derivatives by the parameters, too.")
    ] = False,
    data: Data = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write even a result that is not to be used.")
    ] = False,
) -> None:
    """Write an identified model as code or description."""
    with running(data, out, None) as say:
        say("reading the result")
        from ..exceptions import InvalidMethod, check_known
        from ..io.writing import check_apart, write_own
        from ..project.exports import FORMATS, ExportJob
        from ..project.other_jobs import result_in

        if to is not None:
            check_known(to, FORMATS, "no format", "there are", InvalidMethod)
        job = ExportJob(result_in(result), name, data, regressor, force)
        if to is None:
            for known, written, notes in job.listed():
                echo(f"{known:<7} {written}")
                for note in notes:
                    echo(f"        note: {note}")
            return
        files = job.files(to)
        reads = [job.path, *job.prediction.project.inputs(job.prediction.folder)]
        check_apart([out / name for name in files.writers], reads)
        for path in write_own(files.writers, out, WRITTEN):
            echo(f"written: {path}")
        for note in files.notes:
            echo(f"note: {note}")
