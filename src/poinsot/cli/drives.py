"""`poinsot drives`: write joint drives for Isaac Lab from a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .shell import echo, sentences


def drives(
    result: Annotated[
        Path,
        typer.Argument(help="Result of `poinsot identify`, or randomization.json.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The file to write (JSON).")] = Path("drives.json"),
    physics_step: Annotated[
        float, typer.Option(help="Time step of the simulator, in which delays are counted [s].")
    ] = 0.005,
) -> None:
    """Write joint drives for Isaac Lab. They are keyword arguments of its actuator configurations, by joint."""
    with sentences():
        from ..export.usd_drives import write_usd_drives
        from ..io.writing import check_apart
        from ..project.actuators import read_actuators

        check_apart([out], [result])
        known, _ = read_actuators(result)
        for line in write_usd_drives(known, out, physics_step):
            echo(f"note: {line}")
        echo(f"written: {out}")
