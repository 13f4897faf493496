"""`poinsot identify`: from a project file to an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .shell import Data, Job, Json, Out, check_outputs, deliver, progress, sentences

if TYPE_CHECKING:
    from ..estimate import Estimate


def identify(job: Job, data: Data = None, out: Out = None, json: Json = None) -> None:
    """Identify the robot of a project file; with --out, write the page to read and the files to use."""
    with sentences(), progress() as say:
        check_outputs(data, out, json)
        from ..project import Project, identify

        project = Project.load(job)
        estimate = identify(project, data, say)
        from ..io import identify_json

        output = project.settings.output

        def page(path: Path) -> None:
            say("writing the page")
            from ..report import write_report

            write_report(estimate, path)

        deliver(
            identify_json(estimate),
            output.result,
            {output.report: page},
            out,
            json,
            lambda: _print_estimate(estimate, bool(out or json)),
        )


def _print_estimate(estimate: Estimate, written: bool) -> None:
    """The table, then what else one should know, a line each."""
    typer.echo(str(estimate))
    if estimate.validation:
        errors = (
            f"{fit.relative_error_percent:.2f} % on {fit.recording or f'recording {k}'}"
            for k, fit in enumerate(estimate.validation, start=1)
        )
        typer.echo(f"held out: relative error {', '.join(errors)}")
    for severity, said in (("warning", estimate.warnings), ("note", estimate.notes)):
        for sentence in said:
            typer.echo(f"{severity}: {sentence}")
    if not written:
        typer.echo("nothing was written; --out FOLDER writes the page and the result for scripts")
