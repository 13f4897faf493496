"""Parts that all verbs share: options, errors as one sentence, progress, and the output of results.

An error that the user can correct is one sentence on standard error and exit code 2; a result that is not to be used
makes it 3 where the caller asks for it; an interruption, by Ctrl-C or SIGTERM, is 130; a defect of poinsot is 70, and
its full trace is in a file. Tables go to standard output, progress to standard error, JSON to `--json`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import PoinsotError, one_line
from ..kernels import has_compiled_kernels

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..project import Project

CORRECTABLE, UNTRUSTED, DEFECT, INTERRUPTED = 2, 3, 70, 130
MANIFEST = "poinsot.manifest.json"
"""Names of the files that a run wrote to its folder, each with its SHA-256."""
MANY = 4
"""Maximum number of files of one kind that are listed one by one."""

Job = Annotated[Path, typer.Argument(help="The project file (TOML).", metavar="JOB.toml", show_default=False)]
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the recordings; default: the project file's.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder to write the page and the files to.")]
Json = Annotated[
    str | None, typer.Option("--json", help="Where to write the result for scripts; - is standard output.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; default: as processors.")]
Cluster = Annotated[
    str | None, typer.Option(help="A Dask scheduler, tcp://HOST:PORT, that computes in place of processes.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 3 if the result is not to be used.")]


@contextmanager
def sentences() -> Iterator[None]:
    """Turn an error that the user can correct into one sentence and an exit code."""
    try:
        yield
    except PoinsotError as error:
        raise typer.Exit(stop(str(error), CORRECTABLE)) from None
    except KeyboardInterrupt:
        raise typer.Exit(stop("interrupted; nothing was left half-written", INTERRUPTED)) from None
    # A recording of hours at kilohertz: no defect, and a trace of calls would not help.
    except MemoryError:
        raise typer.Exit(
            stop("not enough memory for these recordings; cut them, or decimate first", CORRECTABLE)
        ) from None


@contextmanager
def running(data: Path | None, out: Path | None, json: str | None) -> Iterator[Callable[[object], None]]:
    """A verb with these outputs, which are checked first: `sentences` and `progress`."""
    with sentences(), progress() as say:
        check_outputs(data, out, json)
        yield say


def stop(sentence: str, code: int) -> int:
    # nobody may be listening any more
    with suppress(OSError):
        typer.echo(one_line(f"poinsot: {sentence}"), err=True)
    return code


VERBOSITY: ContextVar[str] = ContextVar("verbosity", default="")
"""`"verbose"` or `"quiet"`, as the command line asks for."""
ALL_ROWS: ContextVar[bool] = ContextVar("all_rows", default=False)
"""Whether a terminal shows all rows of tables."""
LIVE: ContextVar[Callable[[], None] | None] = ContextVar("live", default=None)
"""Erases the moving line of progress, where there is one."""


def end_progress() -> None:
    """Erase the moving line, before a result is printed."""
    erase = LIVE.get()
    if erase is not None:
        erase()


def time_left(step: object, spent_s: float) -> str:
    """Remaining time of a stage by the `fraction` of a progress report and the time spent; empty without a fraction."""
    fraction = getattr(step, "fraction", None)
    if not fraction or spent_s < 1:
        return ""
    left_s = spent_s * (1 / fraction - 1)
    return f"{left_s:.0f} s left: " if left_s < 100 else f"{left_s / 60:.0f} min left: "


def stop_at_defect(error: BaseException) -> int:
    """One sentence on an exception that nobody expected, with the place of its full trace."""
    trace = "".join(traceback.format_exception(error))
    try:
        number, where = mkstemp(prefix="poinsot-trace-", suffix=".txt")
        with open(number, "w", encoding="utf-8", errors="replace") as file:
            file.write(trace)
    except OSError:
        where = "what is printed above"
        typer.echo(trace, err=True)
    return stop(
        f"this is a defect of poinsot, not of your files: {type(error).__name__}: {error!s:.100}; please report it, "
        f"with {where}",
        DEFECT,
    )


@contextmanager
def progress() -> Iterator[Callable[[object], None]]:
    """Show the current step (text, or a `poinsot.solve.Progress`) and the time on standard error.

    A terminal has a line that moves, a pipe or a log file a new one after every few seconds of processor time.
    """
    if VERBOSITY.get() == "verbose":
        began = time.monotonic()
        yield lambda step: typer.echo(f"{time.monotonic() - began:7.2f} s  {step}", err=True)
        return
    if VERBOSITY.get() == "quiet":
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        with _lines() as say:
            yield say
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    if not has_compiled_kernels():
        typer.echo("the first run after installation compiles inner loops, for about ten seconds", err=True)
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        LIVE.set(shown.stop)
        task, begun = shown.add_task("starting", total=None), dict[str, float]()

        def say(step: object) -> None:
            since = begun.setdefault(getattr(step, "stage", ""), time.monotonic())
            # in front, as a terminal cuts long lines
            shown.update(task, description=f"{time_left(step, time.monotonic() - since)}{step}")

        yield say


@contextmanager
def _lines() -> Iterator[Callable[[object], None]]:
    """Lines of the current step; also while something compiles and reports nothing."""
    now: list[object] = ["starting"]
    began, is_done = time.monotonic(), threading.Event()

    def speak() -> None:
        said = time.process_time()
        while not is_done.wait(0.2):
            if time.process_time() - said > SILENT_S:
                said = time.process_time()
                typer.echo(f"{time.monotonic() - began:5.0f} s  {now[0]}", err=True)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield lambda step: now.__setitem__(0, step)
    finally:
        is_done.set()
        speaker.join()


def check_outputs(data: Path | None, out: Path | None, json: str | None) -> None:
    """Check that folders exist and outputs can be written, before the computation."""
    from ..exceptions import UnreadableFile
    from ..io.writing import check_folder

    if data is not None and not os.path.isdir(data):
        exists = os.path.exists(data)
        raise UnreadableFile(
            f"--data {data} is not a folder" if exists else f"--data: there is no folder {data}"
        )
    if out is not None:
        check_folder(out)
    if json is not None:
        check_output(json, out)


def check_output(path: str | Path, out: Path | None) -> None:
    """Check that a file can be written, if need be in a folder that `--out` is going to make; `-` always can."""
    from ..io.writing import check_writable

    if str(path) == "-":
        return
    folder = Path(path).parent.resolve()
    # `--out a/b` makes a and a/b, so `--json a/result.json` will find its folder; nothing is made before the results.
    will_exist = out is not None and not folder.exists() and folder in (out.resolve(), *out.resolve().parents)
    if not will_exist:
        check_writable(path)


def deliver(
    content: Mapping[str, Any],
    file: str,
    pages: Mapping[str, Callable[[Path], None]],
    out: Path | None,
    json: str | None,
    show: Callable[[], None],
    files: Mapping[Path, Callable[[Path], None]] | None = None,
    reads: Iterable[Path] = (),
) -> None:
    """Write pages and result to the folder and the JSON file, `files` by their own names, and print the table.

    None of these may be one of the files that the verb `reads`. The folder's `MANIFEST` comes last.
    """
    from hashlib import file_digest

    from ..io.results import to_text, write_json
    from ..io.writing import check_apart, output_folder

    named = [*(files or ()), *(out / name for name in (*pages, file) if out is not None)]
    check_apart([*named, json], reads)
    if out is not None:
        # Before the other files: --json may name one in it.
        folder = output_folder(out)
    for path, write in (files or {}).items():
        write(path)
    if out is not None:
        # Files replace those of an earlier run one by one: only where the manifest fits is the set complete.
        manifest: dict[str, Any] = {"schema": "poinsot.manifest/1", "files": {}}
        writers: dict[str, Callable[[Path], None]] = {**pages, file: partial(write_json, content)}
        for name, page in writers.items():
            page(folder / name)
            with (folder / name).open("rb") as written_file:
                manifest["files"][name] = file_digest(written_file, "sha256").hexdigest()
        write_json(manifest, folder / MANIFEST)
    end_progress()
    if json == "-":
        # Nothing else: a script reads this.
        sys.stdout.write(to_text(content))
        return
    if json is not None:
        write_json(content, json)
    if VERBOSITY.get() == "quiet":
        return
    show()
    if written := [*map(str, files or ()), *(_few(out, [*pages, file]) if out is not None else ())]:
        echo("\nwritten: " + ", ".join(written))


SILENT_S = 5.0
"""Processor time without a line, where standard error is no terminal [s]."""
COLOURS = {"trusted": "green", "with care": "yellow", "corrected": "yellow", "not to be used": "red"}
COLOURS |= {
    "next": "cyan",
    "error": "red",
    "warning": "yellow",
    "note": "bright_black",
    "unchecked": "bright_black",
}
"""Colour of a line at a terminal, by its beginning."""


def echo(text: str) -> None:
    """Print a result. A terminal shows the first rows of tables, lines of its own width, and verdicts in colours."""
    end_progress()
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    from shutil import get_terminal_size

    from ..text import HEADINGS, MOST_ROWS, for_terminal

    colour = None
    for line in for_terminal(text, get_terminal_size().columns, None if ALL_ROWS.get() else MOST_ROWS):
        if not line.startswith(" "):  # a line that goes on has the colour of its beginning
            colour = next((COLOURS[word] for word in COLOURS if line.lower().startswith(word)), None)
        typer.secho(line, fg=colour, bold=line.startswith((*HEADINGS, "Next: ")) or None)


def report_page(project: Project, estimate: Estimate, say: Callable[[object], None], path: Path) -> None:
    """Write the page of an estimate, with the sections of the project's method."""
    from ..report import write_report

    say("writing the page")
    write_report(estimate, path, sections=project.settings.method.row.sections)


def finish(estimate: Estimate, strict: bool, written: str = "what was found until then is written") -> None:
    """Exit with code 130 if the method was interrupted, with 3 if `--strict` refuses its result."""
    from ..estimate import Status, Trust

    if estimate.status is Status.interrupted:
        raise typer.Exit(stop(f"interrupted; {written}", INTERRUPTED))
    if strict and estimate.trust is Trust.not_to_be_used:
        raise typer.Exit(stop(f"the result is {estimate.diagnosis.verdict}", UNTRUSTED))


def _few(out: Path, names: Sequence[str]) -> list[str]:
    """Shorten a list of paths: of many files of one kind the first, and the number of others."""
    kinds = [Path(name).suffix for name in names]
    shown = []
    for k, name in enumerate(names):
        alike = kinds.count(kinds[k])
        if alike <= MANY:
            shown.append(str(out / name))
        elif kinds.index(kinds[k]) == k:
            shown.append(f"{out / name} and {alike - 1} more {kinds[k]} files")
    return shown
