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
from typing import Annotated

import typer

from .. import __version__
from .shell import CORRECTABLE, INTERRUPTED, VERBOSITY, stop, stop_at_defect

VERBOSITIES = {"-v": "verbose", "--verbose": "verbose", "-q": "quiet", "--quiet": "quiet"}
"""Options that may stand anywhere, and are taken out before a verb sees them."""

app = typer.Typer(
    name="poinsot",
    help="Identify mechanisms from recordings: mass properties, friction, drives, contact and motion.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ORDER = (
    "new",
    "inspect",
    "identify",
    "show",
    "open",
    "view",
    "predict",
    "export",
    "compare",
    "track",
    "excite",
    "repair",
    "drives",
)
"""Verbs in the order in which they are used, for the help; others follow."""


def verbs() -> tuple[str, ...]:
    """The verbs: every module of this folder but `shell` is one, with the function of its name."""
    names = [module.name for module in iter_modules(__path__) if module.name != "shell"]
    return (*(verb for verb in ORDER if verb in names), *(name for name in names if name not in ORDER))


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
        # Typer ends by exceptions; `main` returns their code.
        try:
            app(args=[argument for argument in arguments if argument not in VERBOSITIES])
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
