"""`poinsot view`: the motion of a result in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .shell import Data, running


def view(
    result: Annotated[
        Path,
        typer.Argument(
            help="The folder that `poinsot identify --out` wrote, or the result in it.",
            metavar="RESULT",
            show_default=False,
        ),
    ],
    data: Data = None,
    record: Annotated[
        Path | None, typer.Option(help="Write one HTML file in which the motion plays, and serve nothing.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of this machine; a free one is taken if it is in use.")
    ] = 8080,
) -> None:
    """Show the motion of a result in the browser. Bodies move as recorded and estimated, with ellipsoids and forces."""
    with running(data, None, None if record is None else str(record)) as say:
        say("reading the result")
        from ..io.writing import check_apart
        from ..project.other_jobs import result_in
        from ..project.prediction import PredictionJob
        from ..report.viewer.prior_weight import read_prior_weight
        from ..report.viewer.scene import read_scene

        result = result_in(result)
        check_apart([record], [result, *PredictionJob(result, result, data).project.inputs(data)])
        scene = read_scene(result, data)
        for remark in scene.remarks:
            typer.echo(f"note: {remark}", err=True)
        from ..report.viewer.show import record as write, serve

        if record is not None:
            say("recording the motion")
            write(scene, record)
            typer.echo(f"written: {record}")
            return
        read = read_prior_weight(result, data)
        if read is not None:
            say("reading the recordings, to solve again with another prior")
        prior = None if read is None else read()
        say("serving the robot; Ctrl-C ends it")
        served = "{} (only on this machine; Ctrl-C ends it)"
        serve(scene, lambda url: typer.echo(served.format(url)), port, prior=prior)
