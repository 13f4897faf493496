"""`poinsot inspect`: what the recordings are like, before any estimation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .shell import Data, Job, Json, Out, deliver, running, table

if TYPE_CHECKING:
    from ..inspection import Inspection
    from ..project import Run


def inspect(job: Job, data: Data = None, out: Out = None, json: Json = None) -> None:
    """Check recordings, or list the topics of a log. Logs are MCAP files and ROS bags."""
    with running(data, out, json) as say:
        from ..io.readers import find_listing
        from ..project import Project

        if job.suffix != ".toml" and (list_topics := find_listing(job)) is not None:
            content, text = list_topics(job)
            deliver(content, "inspect.json", {}, out, json, lambda: typer.echo(text), reads=[job])
            return
        project = Project.load(job)
        say("reading the recordings")
        seen = project.inspect(data)
        from ..inspection import inspect_json

        content = inspect_json([inspection for _, inspection in seen])

        def write(page: tuple[Run, Inspection], path: Path) -> None:
            say("writing the page")
            from ..report import write_inspection_page

            write_inspection_page(page[1], page[0].recording, path)

        names = ["inspect.html", *(f"inspect_{k}.html" for k in range(2, len(seen) + 1))]
        pages = {name: partial(write, page) for name, page in zip(names, seen, strict=True)}
        deliver(
            content,
            "inspect.json",
            pages,
            out,
            json,
            lambda: _print_inspections([i for _, i in seen]),
            reads=project.inputs(data),
        )


def _print_inspections(inspections: Sequence[Inspection]) -> None:
    for k, inspection in enumerate(inspections):
        typer.echo(f"{chr(10) if k else ''}{inspection.name}")
        width = max(len(name) for name, _ in inspection.facts)
        for name, value in inspection.facts:
            typer.echo(f"  {name:<{width}}  {value}")
        typer.echo(table(inspection.rows))
        for finding in inspection.findings:
            typer.echo(f"{finding.severity.name} {finding}")
        if inspection.harmless:
            typer.echo("nothing stands in the way of an estimation")
