"""UR10e: drive gains from one half of the motions and a known load, the load's mass from the other half, both ways.

    python benchmarks/ur10e_payload.py [--json PATH] [--rounds N]

The jobs are examples/ur10e_*.toml with other filters: positions through a low-pass of 2 to 10 Hz, with the rows
decimated to 3 Hz as the jobs have it, and not at all. Beside output error, what the other two estimators make of it. At
the end, what the free robot's model predicts of a motion that it has not seen.

Promised are a mass within 1.5 % of the 2.805 kg that were weighed, and within 1 % of itself for all filters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support import needs
from support.equation_error import gains_by
from support.report import Agreement, Limit, deliver, options
from support.timing import Program, side_by_side

import poinsot
from poinsot.project.preparation import condition

EXAMPLES = Path(__file__).parents[1] / "examples"
MASS = 2.805
CUTOFFS_HZ = (2.0, 3.0, 5.0, 7.0, 10.0)
DECIMATIONS_HZ = (3.0, None)
ESTIMATORS = ("output-error", "total-least-squares", "least-squares")
MOVING_ERROR_PERCENT = (10, 6, 5, 6, 8, 8)
FEW = poinsot.Resampling(draws=20)
"""Intervals are not asked for here."""


class Halves:
    """The recordings of a job, on an even clock, to be smoothed in several ways."""

    def __init__(self, folder: Path, name: str):
        self.project = poinsot.Project.load(EXAMPLES / f"{name}.toml")
        self.robot = self.project.robot(folder)
        runs = self.project.runs(self.robot, folder)
        self.runs = [condition(self.project.settings.preprocessing, run) for run in runs]

    def problem(self, cutoff_hz: float, decimate_hz: float | None, **held: float) -> object:
        smoother = poinsot.ButterworthDecimation(cutoff_hz, decimate_hz, cut_edges=False)
        runs = [run for run in self.runs if run.role == "identification"]
        return poinsot.inverse_dynamics(
            self.robot,
            [smoother.apply(run.recording) for run in runs],
            held=held,
            loaded=[run.loaded for run in runs],
            link="tool0",
        )


def mass_error(gains: Halves, load: Halves, estimator: str, *filters: float | None) -> float:
    """In percent, of the second half's load with the first half's gains."""
    known = gains.problem(*filters, mL=MASS)
    found = poinsot.PayloadIdentification(resampling=FEW).solve(known)
    output_error = estimator == "output-error"
    by_estimator = found.drive_gains if output_error else gains_by(estimator, known, found)
    held = poinsot.PayloadIdentification(gains=by_estimator, resampling=FEW)
    return 100 * (held.solve(load.problem(*filters)).payload.mass / MASS - 1)


def main() -> None:
    arguments = options(__doc__)
    folder = needs.recording("ur10e")
    halves = {name: Halves(folder, f"ur10e_gains{name}") for name in ("", "_swapped")}
    ways = {"gains first half": ("", "_swapped"), "gains second half": ("_swapped", "")}
    errors: dict[tuple[str, str], list[float]] = {}
    notes = [f"{'mass error [%], low-pass [Hz]':<58}" + "".join(f"{hz:>8g}" for hz in CUTOFFS_HZ)]
    for estimator in ESTIMATORS:
        for way, (first, second) in ways.items():
            for decimate_hz in DECIMATIONS_HZ:
                line = [
                    mass_error(halves[first], halves[second], estimator, cutoff_hz, decimate_hz)
                    for cutoff_hz in CUTOFFS_HZ
                ]
                errors.setdefault((estimator, way), []).extend(line)
                rows = "decimated" if decimate_hz else "not decimated"
                notes.append(
                    f"{estimator}, {way}, {rows}".ljust(58) + "".join(f"{each:>8.2f}" for each in line)
                )
    agreements = []
    for way in ways:
        line = np.array(errors["output-error", way])
        agreements.append(Agreement(f"mass, {way}, of 2.805 kg, largest [%]", np.abs(line).max(), 1.5))
        agreements.append(Agreement(f"mass, {way}, among filters [%]", np.ptp(line), 1.0))
    jobs = {
        name: poinsot.Project.load(EXAMPLES / f"ur10e_{name}.toml")
        for name in ("robot", "payload", "payload_swapped")
    }
    programs = {name: Program(lambda job=job: poinsot.identify(job, folder)) for name, job in jobs.items()}
    seconds, results = side_by_side(programs, arguments.rounds or 3)
    robot = results["robot"]
    for joint, percent, allowed in zip(
        robot.fit.joints,
        robot.validation[0].moving_error_percent_per_joint,
        MOVING_ERROR_PERCENT,
        strict=True,
    ):
        agreements.append(Agreement(f"torque of {joint}, held out, moving [%]", percent, allowed))
    for name in ("payload", "payload_swapped"):
        load = results[name].payload
        notes.append(
            f"{name}: {load.mass:.3f} +- {load.mass_std:.3f} kg, determined: {', '.join(load.identifiable)}"
        )
    gains = robot.drive_gains
    for joint, value, std, white in zip(gains.joints, gains.values, gains.std, gains.white_std, strict=True):
        notes.append(f"{joint}: {value:.2f} +- {std:.2f} N m/A (white residuals: {white:.2f})")
    deliver(
        "ur10e_payload",
        arguments,
        seconds,
        [],
        agreements,
        notes,
        [Limit("identify, whole motion, 400 draws", seconds["robot"].processor, 10.0)],
    )


if __name__ == "__main__":
    main()
