"""`poinsot identify` where one project is for many logs: `--logs PATTERN`, or a pattern in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer

from ..exceptions import InvalidProject, listing
from ..io.writing import check_apart
from ..project import Project
from ..studies.fleet import Fleet
from ..studies.page import write_fleet_page
from ..studies.study import chosen
from .shell import CORRECTABLE, deliver, stop


def identify(
    job: Path,
    logs: str | None,
    data: Path | None,
    out: Path | None,
    json: str | None,
    workers: int | None,
    cluster: str | None,
    say: Callable[[object], None],
) -> None:
    """Estimate every log, pool, and write one page.

    `job`: a project file, or a pattern of logs with one beside them.
    """
    if job.suffix.lower() != ".toml":
        job, logs = find_project(job), str(job)
    project = Project.load(job)
    fleet = Fleet.of(project, data, logs)
    reads = [*project.inputs(data), *(path for log in fleet.logs for path in log.paths)]
    output = project.settings.output
    check_apart([json, *(out / name for name in (output.result, output.report) if out is not None)], reads)
    with chosen(workers, cluster):
        estimate = fleet.estimate(say=say)
    pages = {output.report: partial(_page, estimate)}
    echo = partial(typer.echo, estimate.text)
    deliver(estimate.content(), output.result, pages, out, json, echo, reads=reads)
    if not estimate.parameters and len(fleet.logs) > 1:
        sentence = "fewer than two logs determine a parameter: nothing was pooled"
        raise typer.Exit(stop(sentence, CORRECTABLE))


def _page(estimate: object, path: Path) -> None:
    write_fleet_page(estimate, path)  # type: ignore[arg-type]


def find_project(pattern: Path) -> Path:
    """The one project file in the folder of the logs, or above it up to here.

    Raises:
        InvalidProject: if there is none, or there are several.
    """
    fixed = Path()
    for part in pattern.parts[:-1]:
        if any(wildcard in part for wildcard in "*?{"):
            break
        fixed /= part
    start = Path.cwd().resolve()
    folders = [fixed, *(parent for parent in fixed.resolve().parents if parent.is_relative_to(start))]
    for folder in folders:
        if projects := sorted(folder.glob("*.toml")):
            if len(projects) == 1:
                return projects[0]
            raise InvalidProject(
                f"which project are {pattern} of? {folder} has {listing(project.name for project in projects)}: write "
                f'poinsot identify {projects[0]} --logs "{pattern}"'
            )
    raise InvalidProject(
        f"{pattern} are logs without a project file beside them: begin one with `poinsot new ROBOT.urdf LOG`, and "
        f'write poinsot identify JOB.toml --logs "{pattern}"'
    )
