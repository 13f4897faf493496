"""Tracking error of a position controller with feedforward, by what the feedforward knows of the arm.

The arm moves once with the model of its description, and is identified from the log of that motion. On a new motion the
same controller then has the masses of the description, the identified model as `poinsot export` writes it, or the true
parameters, each with the same noise. Friction and rotors of the description's model are the true ones, so that its
error is that of the masses only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pinocchio as pin

from poinsot import Estimate, Project, identify, write_estimate
from poinsot.arrays import Vector
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from . import arm
from .exported import ExportedDynamics, export_dynamics
from .plant import TICK_S, Loop, Model, Motion, Plant, Trace, drawn_motion

SECONDS, LOG_S = 10.0, 30.0
"""Duration of the new motion, and of the log that the arm is identified from [s]."""
HIGHEST_HZ = 0.5
"""Highest frequency of the log's motion."""
DESCRIBED, IDENTIFIED, TRUE = "description", "identified", "truth"
SHOWN_S = 0.1
"""Width of the window over which the picture's error is averaged [s]."""


@dataclass(frozen=True, eq=False)
class IdentifiedArm:
    """The arm after its identification.

    Args:
        estimate: from the arm's own log. dynamics: its export.
        parameters: what a feedforward knows of the arm -> (p,) values of the exported code's parameters.
    """

    estimate: Estimate
    dynamics: ExportedDynamics
    parameters: Mapping[str, Vector]

    def model(self, name: str) -> Model:
        """The feedforward of one set of parameters."""
        return partial(self.dynamics.torque, self.parameters[name])


def described_model() -> Model:
    """The feedforward before the identification: inverse dynamics of the description, with friction and rotors."""
    with TemporaryDirectory() as folder:
        arm.write_job(Path(folder))
        model = arm.loaded(Path(folder) / arm.DESCRIPTION).model
    data = model.createData()
    rotor, viscous, dry = map(arm.column, ("rotor", "viscous", "dry"))

    def torque(q: Vector, v: Vector, a: Vector) -> Vector:
        return np.asarray(pin.rnea(model, data, q, v, a) + rotor * a + viscous * v + dry * np.sign(v))

    return torque


def record_log(folder: Path, rng: np.random.Generator, seconds: float = LOG_S) -> None:
    """Move the arm with the model of its description, and write the log."""
    motion = drawn_motion(rng, seconds, harmonics=round(seconds * HIGHEST_HZ))
    Loop(Plant(), motion, described_model(), rng).run().write_log(folder / arm.LOG)


def identified_arm(rng: np.random.Generator, folder: Path, say: Say) -> IdentifiedArm:
    """Move the arm with the model of its description, identify it from the log, and export the result to a folder."""
    arm.write_job(folder)
    say("recording the log")
    record_log(folder, rng)
    return exported_arm(folder, say)


def exported_arm(folder: Path, say: Say) -> IdentifiedArm:
    """Identify the arm by the job in a folder, and export the result to it."""
    say("identifying")
    estimate = identify(Project.load(folder / arm.JOB.name))
    write_estimate(estimate, folder / "result.json")
    dynamics = export_dynamics(folder / "result.json", folder, say)
    robot = arm.loaded(folder / arm.DESCRIPTION)
    known = {DESCRIBED: arm.described_masses(), TRUE: arm.column("mass")}
    parameters = {name: arm.known_parameters(robot, masses) for name, masses in known.items()}
    return IdentifiedArm(estimate, dynamics, parameters | {IDENTIFIED: dynamics.parameters})


def traces(arm_: IdentifiedArm, plant: Plant, motion: Motion, noise_seed: int) -> dict[str, Trace]:
    """A run with each model, all with the same noise."""
    return {
        name: Loop(plant, motion, arm_.model(name), np.random.default_rng(noise_seed)).run()
        for name in (DESCRIBED, IDENTIFIED, TRUE)
    }


def run(seed: int, *, say: Say) -> Reproduction:
    """Identify the arm, and follow a new motion with three models."""
    watch = Stopwatch()
    rng, plant = np.random.default_rng([seed, 0]), Plant()
    with TemporaryDirectory() as folder:
        identified = identified_arm(rng, Path(folder), say)
        watch.lap("identification")
        say("following a new motion with each model")
        found = traces(identified, plant, drawn_motion(rng, SECONDS), int(rng.integers(2**31)))
    watch.lap("loops")
    errors = {name: trace.rms() for name, trace in found.items()}
    figures = {
        "identified_over_truth": errors[IDENTIFIED] / errors[TRUE],
        "described_over_identified": errors[DESCRIBED] / errors[IDENTIFIED],
        **{f"tracking_error_mrad_{name}": 1e3 * error for name, error in errors.items()},
        "largest_effort_share": max(trace.effort_share for trace in found.values()),
    }
    rows = tuple(
        {"name": name, "ours": 1e3 * errors[name], "unit": "mrad"} | per_joint(trace)
        for name, trace in found.items()
    )
    language = identified.dynamics.language
    return Reproduction(
        "controller-feedforward",
        str(seed),
        "The identified model in the controller",
        f"With the identified model, called as generated {language}, the tracking error is "
        f"{figures['identified_over_truth']:.2f} times that with the true parameters; with the masses of the "
        f"description it is {figures['described_over_identified']:.1f} times larger.",
        rows,
        {"Root mean square of the tracking error [mrad]": rounded(rows)},
        figures,
        {"identified over truth": f"{figures['identified_over_truth']:.3f}",
         "description over identified": f"{figures['described_over_identified']:.2f}"},
        curves={"Tracking error": error_curves(found)},
        notes=(
            "The loop runs at 1 kHz on encoders of 2^17 counts a turn; motors differ from the commanded torque by "
            "white noise of 0.5 % of the joint's largest. Masses of the description are 20 to 50 % off; its model has "
            "the true friction and rotors.",
        ),
        seconds=watch.seconds,
    )  # fmt: skip


def per_joint(trace: Trace) -> dict[str, float]:
    """Joint -> root mean square of its tracking error [mrad]."""
    rms = 1e3 * np.sqrt(np.mean(trace.error**2, axis=0))
    return {link.joint: float(error) for link, error in zip(arm.LINKS, rms, strict=True)}


def rounded(rows: tuple[dict[str, object], ...]) -> list[dict[str, object]]:
    """Rows for people: the unit is in the title."""
    return [
        {key: round(v, 3) if isinstance(v, float) else v for key, v in row.items() if key != "unit"}
        for row in rows
    ]


def error_curves(found: Mapping[str, Trace]) -> Curves:
    """Root mean square of all joints' errors about each time, for each run."""
    width = round(SHOWN_S / TICK_S)
    lines: dict[str, np.ndarray] = {}
    for name, trace in found.items():
        count = len(trace.error) // width
        squares = np.mean(trace.error**2, axis=1)[: count * width].reshape(count, width)
        lines[name] = 1e3 * np.sqrt(squares.mean(axis=1))
    return Curves(SHOWN_S * (np.arange(count) + 0.5), "mrad", lines)
