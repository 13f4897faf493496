"""`poinsot predict`: predict a motion that was not used for the estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..text import table
from .shell import Json, check_output, deliver, echo, running


def predict(
    result: Annotated[
        Path, typer.Argument(help="What `poinsot identify` wrote.", metavar="RESULT.json", show_default=False)
    ],
    motion: Annotated[
        Path,
        typer.Argument(
            help="Positions: columns position.JOINT and time in SI units, or as in the recordings of the project.",
            metavar="MOTION.csv",
            show_default=False,
        ),
    ],
    mass_matrix: Annotated[
        bool, typer.Option("--mass-matrix", help="The mass matrix, not the torque.")
    ] = False,
    gravity: Annotated[bool, typer.Option("--gravity", help="The torque of gravity, not all of it.")] = False,
    data: Annotated[Path | None, typer.Option(help="Folder of the robot's description.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write, in a folder that exists: .csv or .parquet.")
    ] = None,
    json: Json = None,
) -> None:
    """Predict torque, mass matrix, gravity, or how a throw goes on. Intervals are those of 95 %."""
    with running(data, None, json) as say:
        from ..io.writing import check_apart, check_suffix, write_columns

        if out is not None:
            check_suffix(out)
            check_output(out, None)
        check_apart([out, json], [result, motion])
        say("reading the result")
        from ..project.prediction import PredictionJob

        named = {"mass-matrix": mass_matrix, "gravity": gravity}
        wanted = tuple(name for name, is_wanted in named.items() if is_wanted) or ("torque",)
        job = PredictionJob(result, motion, data, wanted)
        check_apart([out, json], job.project.inputs(data))
        prediction = job.predict()
        content: dict[str, Any] = {
            "schema": "poinsot.predict/1",
            "result": result.name,
            "motion": motion.name,
            "samples": len(next(iter(prediction.columns.values()))),
            "columns": [{"name": name, "unit": unit} for name, unit in prediction.units.items()],
            "rows": prediction.rows,
            "notes": prediction.notes,
        }
        if out is not None:
            write_columns(prediction.columns, out)
        written = f"written: {out}" if out else "no table was written; --out FILE.csv (or .parquet) writes it"
        trust = str(job.result.get("trust", "unknown")).replace("-", " ")
        lines = [
            f"{motion.name}: {content['samples']} samples, {len(prediction.columns) - 1} columns, by a result that is "
            f"{trust}",
            *([table(prediction.rows)] if prediction.rows else []),
            *(f"note: {note}" for note in prediction.notes),
            written,
        ]
        deliver(content, "", {}, None, json, lambda: echo("\n".join(lines)))
