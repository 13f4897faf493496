"""`poinsot show`: print a result again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..exceptions import UnreadableFile
from .shell import echo, sentences


def show(
    result: Annotated[
        Path,
        typer.Argument(
            help="What `poinsot identify` or `track` wrote: the result, or its folder.",
            metavar="RESULT",
            show_default=False,
        ),
    ],
) -> None:
    """Print a result again."""
    with sentences():
        from ..project.other_jobs import read_result, result_in

        result = result_in(result)
        text = read_result(result, "show").get("text")
        if not isinstance(text, str):
            raise UnreadableFile(
                f"{result} has no text to show: `poinsot identify` and `track` of this version write it"
            )
    echo(text)
