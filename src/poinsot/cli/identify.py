"""`poinsot identify`: from a project file to an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InvalidProject, PoinsotError, listing
from . import shell
from .shell import Cluster, Data, Job, Json, Out, Strict, Workers

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..studies.fleet import FleetEstimate


Force = Annotated[
    bool,
    typer.Option("--force", help="Write files for other programs even from a result that is not to be used."),
]

Logs = Annotated[
    str | None,
    typer.Option(
        help="A pattern of logs, as in 'logs/{robot}_{day}.parquet': one estimate each, pooled, and what differs."
    ),
]


def identify(
    job: Job,
    data: Data = None,
    logs: Logs = None,
    out: Out = None,
    json: Json = None,
    strict: Strict = False,
    force: Force = False,
    workers: Workers = None,
    cluster: Cluster = None,
) -> None:
    """Identify the robot of a project file. With --out, write the page to read and the files to use.

    A pattern in place of the file, as in 'logs/*.parquet', stands for the logs of a fleet.
    """
    with shell.running(data, out, json) as say:
        from ..estimate import Trust, motions_of
        from ..io.npz import write_recording
        from ..io.sources import is_pattern
        from ..io.writing import check_apart
        from ..project import Project, identify

        many = logs is not None or is_pattern(Path(), str(job))
        project = None if many else Project.load(job)
        if project is None or project.is_of_many(data):
            _identify_logs(job, logs, data, out, json, workers, cluster, say)
            return
        if workers is not None or cluster is not None:
            raise InvalidProject(
                "--workers and --cluster are for many logs: give them by --logs 'logs/*.parquet'"
            )
        reads, output = project.inputs(data), project.settings.output
        check_apart(
            [json, *(out / name for name in (output.result, output.report) if out is not None)], reads
        )
        estimate = identify(
            project,
            data,
            progress=lambda now: say(
                replace(now, detail=f"{now.detail} (Ctrl-C ends with this)") if now.iteration else now
            ),
        )
        from ..io.results import identify_json

        # Only with --out, as checking a description takes as long as a small identification.
        files, refusal, notes = _files(estimate, force) if out is not None else ({}, "", ())
        page = partial(shell.report_page, project, estimate, say)
        # How the mechanism moved: a recording for each.
        paths = [partial(write_recording, motion.path) for motion in motions_of(estimate)]
        names = [f"motion_{k}.npz" for k in range(1, len(paths) + 1)] if len(paths) > 1 else ["motion.npz"]
        content = identify_json(estimate)

        def show() -> None:
            shell.echo("\nnote: ".join([content["text"], *filter(None, (refusal, *notes))]))
            if not (out or json):
                shell.echo("nothing was written; --out FOLDER writes the page and the result for scripts")

        shell.deliver(
            content,
            output.result,
            {output.report: page, **dict(zip(names, paths, strict=False)), **files},
            out,
            json,
            show,
            reads=reads,
        )
    shell.finish(estimate, strict)
    if refusal and estimate.trust is Trust.not_to_be_used:
        raise typer.Exit(shell.stop(refusal, shell.CORRECTABLE))


def _files(estimate: Estimate, force: bool) -> tuple[dict[str, Callable[[Path], Any]], str, tuple[str, ...]]:
    """Files for other programs; why there are none; and notes on them."""
    from ..estimate import Trust

    described, refusal = _description(estimate, force)
    file_sets = [extra.files(estimate) for extra in estimate.extras.values()]
    files = {name: write for written, _ in file_sets for name, write in written.items()}
    if files and not force and estimate.trust is Trust.not_to_be_used:
        refusal = f"the result is not to be used, and {listing(list(files))} not written; --force writes them"
        return {}, refusal, ()
    return described | files, refusal, tuple(note for _, notes in file_sets for note in notes)


def _description(estimate: Estimate, force: bool = False) -> tuple[dict[str, Callable[[Path], None]], str]:
    """The robot's description with what was found, where every body was; or why there is none."""
    from ..estimate import FullParameters
    from ..regression.inverse_dynamics import InverseDynamics

    problem = estimate.problem
    if (
        estimate.extra(FullParameters) is None
        or not isinstance(problem, InverseDynamics)
        or problem.robot.source is None
    ):
        return {}, ""
    from ..export.export_robot import prepare_export

    try:
        export = prepare_export(estimate, problem.robot, force=force)
    except PoinsotError as error:
        return {}, f"no description was written: {error}"
    source = problem.robot.source
    return {f"{source.stem}_identified{source.suffix}": export.write}, ""


def _identify_logs(
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
    from ..io.writing import check_apart
    from ..project import Project
    from ..studies.fleet import Fleet
    from ..studies.study import chosen

    if job.suffix.lower() != ".toml":
        job, logs = _find_project(job), str(job)
    project = Project.load(job)
    fleet = Fleet.of(project, data, logs)
    reads = [*project.inputs(data), *(path for log in fleet.logs for path in log.paths)]
    output = project.settings.output
    check_apart([json, *(out / name for name in (output.result, output.report) if out is not None)], reads)
    with chosen(workers, cluster):
        estimate = fleet.estimate(say=say)
    pages = {output.report: partial(_write_fleet, estimate)}
    show = partial(shell.echo, estimate.text)
    shell.deliver(estimate.content(), output.result, pages, out, json, show, reads=reads)
    if not estimate.parameters and len(fleet.logs) > 1:
        sentence = "fewer than two logs determine a parameter: nothing was pooled"
        raise typer.Exit(shell.stop(sentence, shell.CORRECTABLE))


def _write_fleet(estimate: FleetEstimate, path: Path) -> None:
    from ..studies.page import write_fleet_page

    write_fleet_page(estimate, path)


def _find_project(pattern: Path) -> Path:
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
