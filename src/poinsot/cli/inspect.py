"""`poinsot inspect`: what the recordings are like, before any estimation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import UnwritableOutput
from ..text import table
from .shell import Data, Job, Json, Out, deliver, echo, running

if TYPE_CHECKING:
    from ..estimate import Setting
    from ..inspection import Inspection
    from ..project import Run

Apply = Annotated[bool, typer.Option("--apply", help="Write what is proposed into the project file.")]


def inspect(job: Job, data: Data = None, out: Out = None, json: Json = None, apply: Apply = False) -> None:
    """Check recordings, or list the topics of a log. Logs are MCAP or Parquet files, or ROS bags."""
    with running(data, out, json) as say:
        from ..io.readers import find_reader, is_known
        from ..project import Project

        contents = find_reader(job).list_contents if job.suffix != ".toml" and is_known(job) else None
        if contents is not None:
            content, text = contents(job)
            deliver(content, "inspect.json", {}, out, json, lambda: echo(text), reads=[job])
            return
        project = Project.load(job)
        before = job.read_bytes()
        say("reading the recordings")
        seen = project.inspect(data)
        from ..inspection import inspect_json
        from ..project.proposals import proposals

        inspections = [inspection for _, inspection in seen]
        proposed = proposals(project.settings, inspections)
        content = inspect_json(inspections)
        content["proposals"] = [setting._asdict() for setting in proposed]
        content["applied"] = apply and bool(proposed)

        def write(page: tuple[Run, Inspection], path: Path) -> None:
            say("writing the page")
            from ..report import write_inspection_page

            write_inspection_page(page[1], page[0].recording, path)

        names = ["inspect.html", *(f"inspect_{k}.html" for k in range(2, len(seen) + 1))]
        pages = {name: partial(write, page) for name, page in zip(names, seen, strict=True)}
        following = f"poinsot identify {job} --out run"
        if proposed and not apply:
            following = f"poinsot inspect {job} --apply writes the lines proposed below into the file"
        written = f"there is nothing to write into {job}" if apply else ""
        if apply and proposed:
            written = _apply(job, before, proposed)

        def show() -> None:
            echo(f"Next: {following}")
            _print_inspections(inspections)
            if proposed:
                rows = [
                    {"in": setting.place, "line": setting.line, "why": setting.cause} for setting in proposed
                ]
                echo(f"\nproposed for {job}\n{table(rows)}")
            if written:
                echo(written)

        deliver(content, "inspect.json", pages, out, json, show, reads=project.inputs(data))


def _apply(job: Path, before: bytes, proposed: Sequence[Setting]) -> str:
    """Write the proposed lines into the project file, and return where the old file is."""
    from ..io.writing import atomic_path
    from ..project import Project
    from ..project.proposals import applied

    text = applied(before.decode("utf-8-sig").replace("\r\n", "\n"), proposed)
    backup = next(path for k in count() if not (path := Path(f"{job}.before{k or ''}")).exists())
    with atomic_path(job) as temporary:
        temporary.write_bytes((text.replace("\n", "\r\n") if b"\r\n" in before else text).encode())
        Project.load(temporary)  # refused here, it is not written
        if job.read_bytes() != before:
            raise UnwritableOutput(f"{job} was changed meanwhile, and nothing was written into it")
        backup.write_bytes(before)
    return f"written: {job}; as it was before: {backup}"


def _print_inspections(inspections: Sequence[Inspection]) -> None:
    for k, inspection in enumerate(inspections):
        echo(f"{chr(10) if k else ''}{inspection.name}: {_verdict(inspection)}")
        width = max(len(name) for name, _ in inspection.facts)
        for name, value in inspection.facts:
            echo(f"  {name:<{width}}  {value}")
        echo(table(inspection.rows))
        for finding in inspection.findings:
            echo(f"{finding.severity.name} {finding}")


def _verdict(inspection: Inspection) -> str:
    """Whether the recording can be used, in one clause."""
    if inspection.harmless:
        return "nothing stands in the way of an estimation"
    grave = [finding for finding in inspection.findings if finding.severity]
    return f"{len(grave)} finding{'s' if len(grave) != 1 else ''} to resolve before any estimation, below"
