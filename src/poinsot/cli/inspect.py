"""`poinsot inspect`: what the recordings are like, before any estimation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .shell import Data, Job, Json, Out, check_outputs, deliver, progress, sentences, table

if TYPE_CHECKING:
    from ..inspection import Inspection
    from ..project import Run


def inspect(job: Job, data: Data = None, out: Out = None, json: Json = None) -> None:
    """Say what the recordings are like, and what to do about it, before any estimation."""
    with sentences(), progress() as say:
        check_outputs(data, out, json)
        from ..project import Project

        project = Project.load(job)
        say("reading the recordings")
        seen = project.inspect(data)
        from ..inspection import inspect_json

        content = inspect_json([inspection for _, inspection in seen])
        pages = _inspection_pages(seen, out, say)
        deliver(content, "inspect.json", pages, out, json, lambda: _print_inspections([i for _, i in seen]))


def _inspection_pages(
    seen: Sequence[tuple[Run, Inspection]], out: Path | None, say: Callable[[object], None]
) -> dict[str, Callable[[Path], None]]:
    """One page a recording."""
    if out is None:
        return {}

    def page(run: Run, inspection: Inspection) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            say("writing the page")
            from ..report import channel_series, write_inspection_page

            write_inspection_page(
                run.name,
                path,
                facts=inspection.facts,
                findings=[(finding.severity, finding.sentence) for finding in inspection.findings],
                rows=inspection.rows,
                channels=channel_series(run.recording),
            )

        return write

    names = ["inspect.html", *(f"inspect_{k}.html" for k in range(2, len(seen) + 1))]
    return {name: page(*each) for name, each in zip(names, seen, strict=True)}


def _print_inspections(inspections: Sequence[Inspection]) -> None:
    for k, inspection in enumerate(inspections):
        typer.echo(f"{chr(10) if k else ''}{inspection.name}")
        width = max(len(name) for name, _ in inspection.facts)
        for name, value in inspection.facts:
            typer.echo(f"  {name:<{width}}  {value}")
        typer.echo(table(inspection.rows))
        for finding in inspection.findings:
            typer.echo(f"{finding.severity}: {finding.sentence}")
        if inspection.harmless:
            typer.echo("nothing stands in the way of an estimation")
