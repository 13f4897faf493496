"""`poinsot compare`: results of one robot side by side, and what differs beyond chance."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .shell import Data, Json, Out, deliver, echo, running


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more that `poinsot identify` wrote: results, or their folders; the first is compared with.",
            metavar="RESULT",
            show_default=False,
        ),
    ],
    data: Data = None,
    out: Out = None,
    json: Json = None,
) -> None:
    """Compare results of one robot: what differs beyond chance."""
    with running(data, out, json) as say:
        say("reading the results")
        from ..io.writing import check_apart
        from ..project.other_jobs import result_in
        from ..project.prediction import read_estimate
        from ..studies.comparison import compare as compared, labels
        from ..studies.comparison_page import write_comparison_page

        paths = [result_in(path) for path in results]
        check_apart([json], paths)
        estimates = [read_estimate(path, data) for path in paths]
        comparison = compared(estimates, labels(paths))
        say("comparing")
        content = comparison.as_json()
        page = {"compare.html": partial(write_comparison_page, comparison)}
        show = partial(echo, content["text"])
        deliver(content, "compare.json", page, out, json, show, reads=paths)
