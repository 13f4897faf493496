"""`poinsot repair`: which links of a robot description are impossible, and the nearest possible ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..text import table
from .shell import Json, Out, deliver, echo, running

if TYPE_CHECKING:
    from ..export.repair_description import Repair


def repair(
    robot: Annotated[
        Path,
        typer.Argument(help="The robot description (URDF, MJCF).", metavar="ROBOT.urdf", show_default=False),
    ],
    length: Annotated[
        float | None,
        typer.Option(
            help="Let masses and centres of mass change too: a length scale [m] between moments and masses."
        ),
    ] = None,
    out: Out = None,
    json: Json = None,
) -> None:
    """Find links with physically impossible inertia. With --out, write the description repaired."""
    with running(None, out, json) as say:
        from ..io.writing import check_apart

        check_apart([json], [robot])
        say("reading the description")
        from ..export.repair_description import repair, repair_json

        result = repair(robot, length=length)
        deliver(
            repair_json(result),
            "repair.json",
            {robot.name: result.write},
            out,
            json,
            lambda: _print_repair(result, bool(out or json)),
        )


def _print_repair(result: Repair, written: bool) -> None:
    """Print a line per link with inertia, then the reasons of the impossible ones."""
    rows = [
        {
            "link": link.name,
            "mass": float(link.old[0]),
            "verdict": "possible" if link.was_consistent else "impossible",
            "distance": link.distance,
        }
        for link in result.links
        if link.old is not None
    ]
    echo(f"{result.source.name}: {len(result.impossible)} of {len(rows)} links with inertia are impossible")
    echo(table(rows))
    for link in result.impossible:
        echo(f"{link.name}: {'; '.join(link.reasons)}")
    if result.impossible and not written:
        echo("nothing was written; --out FOLDER writes the description with the nearest possible links")
