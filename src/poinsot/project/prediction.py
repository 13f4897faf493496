"""What a result says of a motion that it has not seen: `poinsot predict RESULT.json MOTION.csv`.

A result keeps the project file that it was made with, so that its robot can be read again and a table be read as that
project's recordings are. How a method predicts is `MethodSettings.predict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from ..exceptions import UnreadableFile
from ..io import Column, read_recording
from ..io.readers import RECORDING_ENDING
from ..io.sources import existing_file
from ..io.tabular import column_names
from ..recording import EFFORTS, QUANTITIES
from ..regression.dynamics import IdentifiedDynamics
from ..regression.inverse_dynamics import InverseDynamics, Part
from ..signals.signals import Signals
from .filters import with_filters
from .job import Project
from .other_jobs import identified, read_result
from .preparation import condition, smooth
from .recordings import Run, build_source
from .settings import Settings

if TYPE_CHECKING:
    from ..models.articulated import Articulated

CLOCK = "time"
"""Column of seconds in a table whose other columns are named as channels are."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method predicts.

    Args:
        columns: name -> (T,), the clock first. units: name -> unit.
        rows: a table for people and for JSON, one mapping a line.
        notes: sentences to read with it.
    """

    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PredictionJob:
    """A result that is asked what a motion takes, or what comes next.

    Args:
        path: of the result. motion: file of what is given.
        data_dir: folder of the robot's description; None: that of the project file or of the result.
        wanted: `"torque"`, or `"mass-matrix"`, `"gravity"` or both.
    """

    path: Path
    motion: Path
    data_dir: Path | None = None
    wanted: tuple[str, ...] = ("torque",)

    def predict(self) -> Prediction:
        """By the method of the result.

        Raises:
            PoinsotError: one sentence that says what to correct.
        """
        return self.project.settings.method.predict(self)

    @property
    def result(self) -> Mapping[str, Any]:
        """Of schema `poinsot.identify/1`."""
        return read_result(self.path, "predict")

    @property
    def project(self) -> Project:
        """The project that the result was made with.

        Raises:
            UnreadableFile: if the result names none.
        """
        settings = self.result.get("settings", {})
        try:
            checked = Settings.model_validate(settings["project"])
        except (KeyError, TypeError, ValidationError):
            raise UnreadableFile(f"{self.path} is no result of `poinsot identify` of this version") from None
        path = Path(settings.get("project_file", ""))
        return Project(path if path.is_file() else self.path, checked)

    @property
    def dynamics(self) -> IdentifiedDynamics:
        """Of a result whose method is a regression."""
        robot = self.project.robot(self.data_dir or self.path.parent)
        return identified(robot, self.result, self.path, "predict")


def load_dynamics(path: str | Path, data_dir: str | Path | None = None) -> IdentifiedDynamics:
    """Torque, mass matrix and gravity of a result that `poinsot identify` wrote.

    Args:
        path: of the result.
        data_dir: folder of the robot's description; None: that of the project file or of the result.

    Raises:
        UnreadableFile, InvalidProject: if it is no result of a regression, or its robot cannot be read.
    """
    return PredictionJob(Path(path), Path(path), None if data_dir is None else Path(data_dir)).dynamics


def predict_dynamics(job: PredictionJob) -> Prediction:
    """Torque with its 95 % interval, or mass matrix and gravity, of an identified robot along a motion.

    The interval is that of a measured torque within the band that was fitted: uncertain parameters, and residuals as
    large as those of the fit or of held-out recordings, whichever are larger.
    """
    from ..estimate import NORMAL_95

    dynamics = job.dynamics
    robot, names, units = dynamics.robot, dynamics.robot.effort_names, dynamics.robot.effort_units
    run = _read_motion(job, robot)
    order = [f"position.{joint}" for joint in robot.joints]
    table: list[tuple[str, np.ndarray, str]] = []
    rows: list[dict[str, Any]] = []
    notes: tuple[str, ...] = ()
    if job.wanted != ("torque",):
        time = run.recording.time
        q = robot.train.joint_positions(np.stack([run.recording[name] for name in order], axis=1))
        if "gravity" in job.wanted:
            table += zip((f"gravity.{name}" for name in names), dynamics.gravity(q).T, units, strict=True)
        if "mass-matrix" in job.wanted:
            M = dynamics.mass_matrix(q)
            for i, j in zip(*np.triu_indices(len(names)), strict=True):
                turning = (robot.position_units[i] == "rad") + (robot.position_units[j] == "rad")
                table.append((f"mass.{names[i]}.{names[j]}", M[:, i, j], ("kg", "kg m", "kg m^2")[turning]))
    else:
        part, measured, notes = _joint_side(job, robot, run)
        _, v, a, _ = part.joint_side(0, len(part))
        motion, time = (robot.train.joint_positions(part.signals.q[:, part.order]), v, a), part.time
        tau, std = dynamics.torque(*motion), dynamics.torque_std(*motion)
        half = NORMAL_95 * np.hypot(std, dynamics.residual_std)
        for k, name in enumerate(names):
            for ending, values in (("", tau), (".low", tau - half), (".high", tau + half)):
                table.append((f"torque.{name}{ending}", values[:, k], units[k]))
        errors: list[float | None] = [None] * len(names)
        if measured:
            problem = InverseDynamics(robot, part.signals, held=dynamics.parameters.held)
            errors = list(problem.fit(problem.base.map @ dynamics.theta).relative_error_percent_per_joint)
        for k, name in enumerate(names):
            sizes = {"rms": root(tau[:, k]), "half_interval": root(half[:, k])}
            rows.append({"joint": name, "unit": units[k], **sizes, "relative_error_percent": errors[k]})
    columns = {CLOCK: time} | {name: values for name, values, _ in table}
    return Prediction(columns, {CLOCK: "s"} | {name: unit for name, _, unit in table}, tuple(rows), notes)


def root(x: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(x**2)))


def _joint_side(job: PredictionJob, robot: Articulated, run: Run) -> tuple[Part, bool, tuple[str, ...]]:
    """The motion with speeds and accelerations, as given or by the project's filter, and whether efforts were read."""
    recording = run.recording
    preprocessing: Any = job.project.settings.preprocessing
    efforts = [quantity for quantity in EFFORTS if recording.joints(quantity)]
    # zero says nothing, and a smoother asks for some effort
    zeros = {f"torque.{joint}": np.zeros(len(recording)) for joint in robot.joints}
    if not efforts:
        known = {**recording.channels, **zeros}, {**recording.units, **dict.fromkeys(zeros, "N m")}
        recording = replace(recording, channels=known[0], units=known[1])
    if recording.joints("velocity") and recording.joints("acceleration"):
        q, v, a = (recording.stack(each, robot.joints) for each in ("position", "velocity", "acceleration"))
        effort = (efforts or ["torque"])[0]
        driven = [joint if f"{effort}.{joint}" in recording.channels else "" for joint in robot.joints]
        tau = np.stack(
            [recording.channels.get(f"{effort}.{joint}", 0 * recording.time) for joint in driven], axis=1
        )
        signals = Signals(recording.time, robot.joints, q, v, a, tau, effort)
    else:
        run = condition(preprocessing, replace(run, recording=recording))
        preprocessing, (run,) = with_filters(preprocessing, [run])
        signals = smooth(preprocessing, run)
    order = np.array([signals.joints.index(joint) for joint in robot.joints])
    return Part(signals, robot, order), bool(efforts), (*signals.steps, *signals.warnings)


def _read_motion(job: PredictionJob, robot: Articulated) -> Run:
    """A table whose columns are named as channels (`position.joint_1`, SI units), or as in the project's recordings.

    Raises:
        InvalidProject: if the project has no recordings to read the table like.
    """
    path = existing_file(job.motion)
    if path.suffix.lower() == RECORDING_ENDING:
        return Run(path.name, "identification", read_recording(path))
    header = column_names(path)
    channels = {name: Column(name, unit) for name, unit in _channel_units(robot).items() if name in header}
    settings = next(iter(job.project.settings.recordings), None)
    rate_hz = None if settings is None else settings.rate_hz
    if channels or settings is None:
        time = (CLOCK, "s") if CLOCK in header else None
        recording = read_recording(path, channels, time=time, rate_hz=None if time else rate_hz)
        return Run(path.name, "identification", recording)
    file: Any = next((each for each in settings.files if getattr(each, QUANTITIES[0]) is not None), settings)
    absent = [
        name
        for name in QUANTITIES
        if name != "position" and header and not {*getattr(getattr(file, name), "columns", ())} <= {*header}
    ]
    file = file.model_copy(update={"path": str(path), **dict.fromkeys(absent)})
    driven = [joint for joint in robot.joints if joint not in robot.drive.passive]
    source = build_source(file, Path(), str(path), robot.joints, driven)
    return Run(path.name, "identification", read_recording(source, rate_hz=None if file.time else rate_hz))


def _channel_units(robot: Articulated) -> dict[str, str]:
    """Channel -> its SI unit, on the side where the drive is measured."""
    at_joint = robot.drive.side == "joint"
    units: dict[str, str] = {}
    for joint, k in zip(robot.joints, robot.actuated, strict=True):
        position, torque = (robot.position_units[k], robot.effort_units[k]) if at_joint else ("rad", "N m")
        each = (position, f"{position}/s", f"{position}/s^2", torque, "A", "V")
        units |= {f"{quantity}.{joint}": unit for quantity, unit in zip(QUANTITIES, each, strict=True)}
    return units
