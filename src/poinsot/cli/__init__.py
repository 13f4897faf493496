"""The verbs, one a file: `poinsot inspect`, `poinsot identify`, `poinsot track`, `poinsot reproduce`,
`poinsot repair`, `poinsot excite`.

    shell     what they share: errors as sentences, progress, outputs

Nothing heavy is imported before a verb runs, and nothing is written before everything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from .. import __version__
from .excite import excite
from .identify import identify
from .inspect import inspect
from .repair import repair
from .reproduce import reproduce
from .shell import INTERRUPTED, stop
from .track import track

app = typer.Typer(
    name="poinsot",
    help="What a mechanism is and how it moved, from recordings of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for verb in (inspect, identify, track, reproduce, repair, excite):
    app.command()(verb)


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"poinsot {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `poinsot`; returns its exit code."""
    try:
        app(args=None if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return stop("interrupted", INTERRUPTED)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0
