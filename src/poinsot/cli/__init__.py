"""The verbs, one a file: `poinsot inspect`, `identify`, `predict`, `track`.

    shell     what they share: errors as sentences, progress, outputs

Other packages bring verbs, functions with Typer's options, as entry points of the group `poinsot.verbs`. The one named
`excite --commands` takes the place of `excite` where that option is given.

Nothing heavy is imported before a verb runs, and nothing is written before everything is computed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.models import CommandInfo

from .. import __version__
from .identify import identify
from .inspect import inspect
from .predict import predict
from .shell import CORRECTABLE, INTERRUPTED, VERBOSITY, stop, stop_at_defect
from .track import track

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

ORDER = ("new", "inspect", "identify", "show", "open", "view", "predict", "track", "excite", "repair")
"""Verbs in the order in which they are used, for the help; others follow."""
VERBS = (inspect, identify, predict, track)
EPILOG = "-v, --verbose and -q, --quiet: see `poinsot --help`."
for verb in VERBS:
    app.command(epilog=EPILOG)(verb)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With each verb: print each step with its time.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="With each verb: print errors alone, and --json -.")
    ] = False,
) -> None:
    if version:
        typer.echo(f"poinsot {__version__}")
        raise typer.Exit


GARBAGE_THRESHOLD = 200_000
"""Allocated less freed objects between two garbage collections of the command; Python's default is 700 to 2000."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `poinsot` and return its exit code. `arguments`: of the command line; None: those of this
    process, which then ends with the command.
    """
    if arguments is not None:
        return _run(list(arguments))
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    # Imports make a million objects that live until the end. Looking for garbage among them takes a third of the
    # processor time of a short job, and so does the default of one BLAS thread a core, for matrices this small.
    gc.set_threshold(GARBAGE_THRESHOLD)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks for them in all that is installed
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()  # the collections at exit pass over everything that is frozen


def _place(command: CommandInfo) -> int:
    name = command.name or getattr(command.callback, "__name__", "")
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _terminated(number: int, frame: object) -> None:
    """What Ctrl-C does, also where a shell has made a process in the background ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, None)


def _run(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["excite"] and "--commands" in arguments:
            arguments = ["excite --commands", *(each for each in arguments[1:] if each != "--commands")]
        if not arguments or arguments[0] not in [verb.__name__ for verb in VERBS]:
            from importlib.metadata import entry_points

            for brought in entry_points(group="poinsot.verbs"):
                app.command(brought.name, hidden=" " in brought.name, epilog=EPILOG)(brought.load())
            app.registered_commands.sort(key=_place)
        asked = [VERBOSITIES[each] for each in arguments if each in VERBOSITIES]
        VERBOSITY.set(asked[-1] if asked else "")
        # Typer ends by exceptions; `main` returns their code.
        try:
            app(args=[each for each in arguments if each not in VERBOSITIES])
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
