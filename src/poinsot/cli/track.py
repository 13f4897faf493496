"""`poinsot track`: a filter that processes one sample at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InvalidMethod, UnwritableOutput
from . import shell
from .shell import Data, Job, Json, Out, Strict

if TYPE_CHECKING:
    from ..project import Tracking

PUBLISHED = "published.jsonl"


def track(
    job: Job,
    data: Data = None,
    stream: Annotated[
        str | None,
        typer.Option(
            help="Samples as JSON lines in place of the recordings: a file, or - for standard input."
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Wait for lines that are still being appended to --stream; Ctrl-C ends."
        ),
    ] = False,
    publish: Annotated[
        str | None,
        typer.Option(help="Where to write an estimate per sample, as JSON lines; - is standard output."),
    ] = None,
    out: Out = None,
    json: Json = None,
    strict: Strict = False,
) -> None:
    """Follow a robot sample by sample with a filter. It estimates masses of links, or where the robot goes."""
    # The stack closes the files of published lines after an error too: the lines until then are valid.
    with shell.running(data, out, json) as say, ExitStack() as closing:
        if follow and stream in (None, "-"):
            raise InvalidMethod("--follow waits for a file: give --stream FILE")
        # Lines and one object of many lines in the same stream could not be separated again.
        if publish == "-" and json == "-":
            raise InvalidMethod("--publish and --json cannot both go to standard output")
        from ..io.results import identify_json
        from ..io.writing import check_apart
        from ..project import Project, track as run

        project = Project.load(job)
        names = [*([str(out / PUBLISHED)] if out is not None else []), *([publish] if publish else [])]
        reads = (*project.inputs(data), *([Path(stream)] if stream else []))
        check_apart([*names, json], reads)
        for name in names:
            shell.check_output(name, out)
        writers: list[Callable[[Mapping[str, Any]], None]] = []

        def publish_sample(line: Mapping[str, Any]) -> None:
            if not writers:  # an earlier run's lines are lost only now
                writers.extend(closing.enter_context(_lines(name, out)) for name in names)
            for write in writers:
                write(line)

        on_sample = publish_sample if names else None
        tracking = run(project, data, stream=stream, follow=follow, on_sample=on_sample, progress=say)
        output, content = project.settings.output, identify_json(tracking.estimate)
        # of schema `poinsot.track/1` the run's keys stand at the top
        content |= content.pop("tracking", {}) | {"schema": "poinsot.track/1", "text": _text(tracking)}
        shell.deliver(
            content,
            output.result,
            {output.report: partial(shell.report_page, project, tracking.estimate, say)},
            out,
            json,
            lambda: None if publish == "-" else shell.echo(content["text"]),
            reads=reads,
        )
    shell.finish(tracking.estimate, strict, "the samples processed until then are written")


@contextmanager
def _lines(name: str, out: Path | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Writes objects, each on a line of its own and at once; the folder of the outputs is made before."""
    import json

    from ..io.results import plain
    from ..io.writing import output_folder

    if out is not None:
        output_folder(out)
    try:
        with nullcontext(sys.stdout) if name == "-" else open(name, "w", encoding="utf-8") as file:

            def write(content: Mapping[str, Any]) -> None:
                file.write(json.dumps(plain(content), allow_nan=False) + "\n")
                # At once, for a controller that reads along.
                file.flush()

            yield write
    except OSError as error:
        raise UnwritableOutput(f"cannot write {name}: {error.strerror or error}") from None


def _text(tracking: Tracking) -> str:
    from ..estimators.online.tracking import TrackingRun

    estimate, run = tracking.estimate, tracking.estimate.extra(TrackingRun)
    lines = [str(estimate)]
    if run is not None:
        lines = [
            estimate.headline,
            f"Next: {estimate.next_step}",
            f"{estimate.robot}: {estimate.method}, {run.samples} samples. {estimate.status.value}",
            *(f"{body.name}: {body.mass:.4g} kg" for body in estimate.bodies),
            run.as_text(),
        ]
    return "\n".join([*lines, *estimate.remarks])
