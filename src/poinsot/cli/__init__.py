"""The verbs, one file each: a file that is added is a verb.

    shell     what they share: errors as sentences, progress, outputs

Nothing heavy is imported before a verb runs, and nothing is written before everything is computed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from .shell import ALL_ROWS, CORRECTABLE, INTERRUPTED, VERBOSITY, stop, stop_at_defect

VERBOSITIES = {"-v": "verbose", "--verbose": "verbose", "-q": "quiet", "--quiet": "quiet"}
"""Options that may stand anywhere, and are taken out before a verb sees them; so may `--all`."""

GROUPS = {
    "Start": ("new", "inspect"),
    "Estimate": ("identify", "track"),
    "Look": ("show", "open", "view"),
    "Use": ("predict", "export", "compare", "drives", "excite", "repair"),
}
"""Verbs under their headings in the help, in the order in which they are used; all others are under "More"."""
HELP = """Find out what a mechanism is and how it moved, from recordings: mass properties, friction, drives, contact.

\b
  poinsot new ROBOT.urdf LOG.csv        begins a project file, job.toml
  poinsot identify job.toml --out run   estimates, and writes a page
  poinsot open run                      shows the page
"""


class Verbs(TyperGroup):
    """The verbs, under headings."""

    def format_commands(self, context: Any, formatter: Any) -> None:
        listed = [verb for group in GROUPS.values() for verb in group]
        more = [name for name in self.list_commands(context) if name not in listed]
        for heading, names in {**GROUPS, "More": more}.items():
            commands = [(name, self.get_command(context, name)) for name in names]
            rows = [
                (name, command.get_short_help_str(70)) for name, command in commands if command is not None
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


app = typer.Typer(
    name="poinsot",
    cls=Verbs,
    help=HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def verbs() -> tuple[str, ...]:
    """The verbs: every module of this folder but `shell` is one, with the function of its name."""
    names = [module.name for module in iter_modules(__path__) if module.name != "shell"]
    listed = [verb for group in GROUPS.values() for verb in group if verb in names]
    return (*listed, *(name for name in names if name not in listed))


def function_of(verb: str) -> Callable[..., None]:
    """The function of a verb; that of `open` is `open_`, as Python has an `open`."""
    module = import_module(f".{verb}", __name__)
    function: Callable[..., None] = getattr(module, f"{verb}_", None) or getattr(module, verb)
    return function


EPILOG = "-v, --verbose and -q, --quiet: see `poinsot --help`."


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With each verb: print each step with its time.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="With each verb: print only errors, and --json -.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="With each verb: show all rows of tables, at a terminal, too.")
    ] = False,
) -> None:
    if version:
        typer.echo(f"poinsot {__version__}")
        raise typer.Exit


GARBAGE_THRESHOLD = 500_000
"""Allocated less freed objects between two garbage collections of the command; Python's default is 700 to 2000."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `poinsot` and return its exit code. `arguments`: words of the command line; None: those of this
    process, which then ends with the command.
    """
    if arguments is not None:
        return _run(list(arguments))
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    # Imports create a quarter of a million objects that live until the end. A search for garbage among them takes a
    # third of the processor time of a short job, and so does the default of one BLAS thread a core, for matrices this
    # small.
    gc.set_threshold(GARBAGE_THRESHOLD)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks for them in all that is installed
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()  # the collections at exit pass over everything that is frozen


def _terminated(number: int, frame: object) -> None:
    """What Ctrl-C does, also where a shell has made a process in the background ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, None)


def _run(arguments: list[str]) -> int:
    try:
        app.registered_commands.clear()
        known = verbs()
        for verb in arguments[:1] if arguments and arguments[0] in known else known:
            app.command(verb, epilog=EPILOG)(function_of(verb))
        verbosities = [VERBOSITIES[argument] for argument in arguments if argument in VERBOSITIES]
        VERBOSITY.set(verbosities[-1] if verbosities else "")
        ALL_ROWS.set("--all" in arguments)
        # Typer ends by exceptions; `main` returns their code.
        try:
            app(args=[argument for argument in arguments if argument not in (*VERBOSITIES, "--all")])
        except SystemExit as leaving:
            return leaving.code if isinstance(leaving.code, int) else 0
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return stop("interrupted", INTERRUPTED)
    # A folder that vanished, a full disk behind standard output, a name that is too long.
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        return stop(f"{error.strerror or error}{where}", CORRECTABLE)
    # The last resort: not only `Exception`, as a panic of Polars is none.
    except BaseException as error:
        return stop_at_defect(error)
    return 0
