"""The verbs: `poinsot inspect`, `poinsot identify`, `poinsot reproduce`.

Whatever a user can mend is one sentence on standard error and exit code 2; an interruption is 130. Results for
people go to standard output, progress to standard error, results for scripts to `--json`. Nothing heavy is imported
before a verb runs, and nothing is written before everything is computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import __version__
from .exceptions import InvalidMethod, PoinsotError, listing, nearest

if TYPE_CHECKING:
    from .estimate import Estimate
    from .inspection import Inspection
    from .project import Run
    from .reproduction import Reproduction

MENDABLE, INTERRUPTED = 2, 130

app = typer.Typer(
    name="poinsot",
    help="What a mechanism is and how it moved, from recordings of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Job = Annotated[Path, typer.Argument(help="The project file (TOML).", metavar="JOB.toml", show_default=False)]
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the recordings; default: the project file's.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder to write the page and the files to.")]
Json = Annotated[
    str | None, typer.Option("--json", help="Where to write the result for scripts; - is standard output.")
]


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"poinsot {__version__}")
        raise typer.Exit


@app.command()
def inspect(job: Job, data: Data = None, out: Out = None, json: Json = None) -> None:
    """Say what the recordings are like, and what to do about it, before any estimation."""
    with _sentences(), _progress() as say:
        _check_outputs(data, out, json)
        from .project import Project

        project = Project.load(job)
        say("reading the recordings")
        seen = project.inspect(data)
        from .inspection import inspect_json

        content = inspect_json([inspection for _, inspection in seen])
        pages = _inspection_pages(seen, out, say)
        _deliver(content, "inspect.json", pages, out, json, lambda: _print_inspections([i for _, i in seen]))


@app.command()
def identify(job: Job, data: Data = None, out: Out = None, json: Json = None) -> None:
    """Identify the robot of a project file; with --out, write the page to read and the files to use."""
    with _sentences(), _progress() as say:
        _check_outputs(data, out, json)
        from .project import Project, identify

        project = Project.load(job)
        estimate = identify(project, data, say)
        from .io import identify_json

        output = project.settings.output

        def page(path: Path) -> None:
            say("writing the page")
            from .report import write_report

            write_report(estimate, path)

        _deliver(
            identify_json(estimate),
            output.result,
            {output.report: page},
            out,
            json,
            lambda: _print_estimate(estimate, bool(out or json)),
        )


@app.command()
def reproduce(
    case: Annotated[str, typer.Argument(help="Which one, e.g. tx40 or emps.", show_default=False)],
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the case's recordings.")] = None,
    out: Out = None,
    json: Json = None,
) -> None:
    """Compute the tables and figures of a paper again, the paper's numbers beside ours."""
    with _sentences(), _progress() as say:
        _check_outputs(data, out, json)
        from .reproduction import CASES

        if case not in CASES:
            raise InvalidMethod(
                f"no case {case!r} to reproduce{nearest(case, CASES)}; there are {listing(CASES)}"
            )
        if data is None:
            raise InvalidMethod(
                f"{case} is computed from {', '.join(CASES[case].files)}: say where they are with --data"
            )
        say(f"reproducing {case}")
        result = CASES[case](data)
        content = {
            "schema": "poinsot.reproduce/1",
            "name": result.name,
            "seed": result.seed,
            "rows": result.rows,
            "figures": result.figures,
            "notes": result.notes,
            "seconds": result.seconds,
        }

        def page(path: Path) -> None:
            say("writing the page")
            _write_reproduction(result, path)

        _deliver(
            content, f"{case}.json", {f"{case}.html": page}, out, json, lambda: _print_reproduction(result)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `poinsot`; returns its exit code."""
    try:
        app(args=None if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return _stop("interrupted", INTERRUPTED)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


# ------------------------------------------------------------------------------------------------- errors and progress


@contextmanager
def _sentences() -> Iterator[None]:
    """What a user can mend becomes one sentence and an exit code."""
    try:
        yield
    except PoinsotError as error:
        raise typer.Exit(_stop(str(error), MENDABLE)) from None
    except KeyboardInterrupt:
        raise typer.Exit(_stop("interrupted; nothing was left half-written", INTERRUPTED)) from None
    except MemoryError:
        raise typer.Exit(
            _stop("not enough memory for these recordings; cut them, or decimate first", MENDABLE)
        ) from None


def _stop(sentence: str, code: int) -> int:
    typer.echo(f"poinsot: {' '.join(sentence.split())}", err=True)
    return code


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What is being done, on standard error, if someone is watching."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


# ------------------------------------------------------------------------------------------------------------- outputs


def _check_outputs(data: Path | None, out: Path | None, json: str | None) -> None:
    """That folders exist and outputs can be written, before the work."""
    from .exceptions import UnreadableFile
    from .io import check_folder, check_writable

    if data is not None and not data.is_dir():
        raise UnreadableFile(
            f"--data {data} is not a folder" if data.exists() else f"--data: there is no folder {data}"
        )
    if out is not None:
        check_folder(out)
    if json is not None and json != "-":
        check_writable(Path(json))


def _deliver(
    content: Mapping[str, Any],
    file: str,
    pages: Mapping[str, Callable[[Path], None]],
    out: Path | None,
    json: str | None,
    show: Callable[[], None],
) -> None:
    """Everything that a verb gives: pages and result into the folder, JSON for scripts, a table for people."""
    from .io import output_folder, write_json
    from .io.results import to_text

    if out is not None:
        folder = output_folder(out)
        for name, page in pages.items():
            page(folder / name)
        write_json(content, folder / file)
    if json == "-":
        sys.stdout.write(to_text(content))
        return
    if json is not None:
        write_json(content, json)
    show()
    if out is not None:
        typer.echo("\nwritten: " + ", ".join(str(out / name) for name in [*pages, file]))


def _inspection_pages(
    seen: Sequence[tuple[Run, Inspection]], out: Path | None, say: Callable[[str], None]
) -> dict[str, Callable[[Path], None]]:
    """One page a recording."""
    if out is None:
        return {}

    def page(run: Run, inspection: Inspection) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            say("writing the page")
            from .report import channel_series, write_inspection_page

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


def _print_estimate(estimate: Estimate, written: bool) -> None:
    """The table, then what else one should know, a line each."""
    typer.echo(str(estimate))
    if estimate.validation:
        errors = (
            f"{fit.relative_error_percent:.2f} % on {fit.recording or f'recording {k}'}"
            for k, fit in enumerate(estimate.validation, start=1)
        )
        typer.echo(f"held out: relative error {', '.join(errors)}")
    for severity, sentences in (("warning", estimate.warnings), ("note", estimate.notes)):
        for sentence in sentences:
            typer.echo(f"{severity}: {sentence}")
    if not written:
        typer.echo("nothing was written; --out FOLDER writes the page and the result for scripts")


def _print_inspections(inspections: Sequence[Inspection]) -> None:
    for k, inspection in enumerate(inspections):
        typer.echo(f"{chr(10) if k else ''}{inspection.name}")
        width = max(len(name) for name, _ in inspection.facts)
        for name, value in inspection.facts:
            typer.echo(f"  {name:<{width}}  {value}")
        typer.echo(_table(inspection.rows))
        for finding in inspection.findings:
            typer.echo(f"{finding.severity}: {finding.sentence}")
        if inspection.harmless:
            typer.echo("nothing stands in the way of an estimation")


def _print_reproduction(result: Reproduction) -> None:
    typer.echo(f"{result.title}\n{result.lead}")
    for title, rows in result.tables.items():
        typer.echo(f"\n{title}\n{_table(rows)}")
    typer.echo()
    for name, value in result.facts.items():
        typer.echo(f"{name}: {value}")
    for note in result.notes:
        typer.echo(f"note: {note}")


def _write_reproduction(result: Reproduction, path: Path) -> None:
    from .report import autocorrelation_comparison, effort_comparison, table_of_rows, write_reproduction_page

    draw = {"effort": effort_comparison, "autocorrelation": autocorrelation_comparison}
    write_reproduction_page(
        result.title,
        [table_of_rows(rows, title=title) for title, rows in result.tables.items()],
        [draw[result.pictures[title]](fits, title) for title, fits in result.fits.items()],
        path,
        lead=result.lead,
        facts=result.facts.items(),
        notes=result.notes,
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as aligned columns."""
    if not rows:
        return ""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[str(key) for key in keys], *([_cell(row.get(key)) for key in keys] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(keys))]
    numeric = [all(isinstance(row.get(key), (int, float, type(None))) for row in rows) for key in keys]
    return "\n".join(
        "  "
        + "  ".join(
            f"{cell:>{w}}" if right else f"{cell:<{w}}"
            for cell, w, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
