"""Predictions of a result for another motion: `poinsot predict RESULT.json MOTION.csv`.

A result contains the project that it was made with: its robot can be read again, and a table is read as the recordings
of that project. Methods predict by `ProjectMethod.predict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ValidationError

from ..estimate import NORMAL_95
from ..exceptions import UnreadableFile
from ..io.readers import RECORDING_ENDING, list_columns
from ..io.reading import read_recording
from ..io.sources import Column, existing_file
from ..parameters import rescaled
from ..recording import EFFORTS, QUANTITIES, Recording
from ..regression.dynamics import IdentifiedDynamics
from ..regression.inverse_dynamics import InverseDynamics, Part, columns_of
from ..signals.signals import Signals
from .job import Project
from .other_jobs import identified, of_result, read_result
from .preparation import condition, smooth, with_filters
from .recordings import Run, build_source, channel_units
from .settings import Settings

if TYPE_CHECKING:
    from ..models.robot.articulated import Articulated

CLOCK = "time"
"""Column of times [s] in a table whose other columns are named as channels."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A prediction. `columns`: name -> (T,), the clock first. `units`: name -> unit. `rows`: table for text and JSON
    output, one mapping per line. `notes`: sentences to read with it.
    """

    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PredictionJob:
    """A prediction to make from a result. `path`: path of the result. `motion`: file with the given motion. `data_dir`:
    folder of the robot's description; None: that of the project file or of the result. `wanted`: `"torque"`, or
    `"mass-matrix"`, `"gravity"` or both. All methods raise `PoinsotError`: one sentence that says what to correct.
    """

    path: Path
    motion: Path
    data_dir: Path | None = None
    wanted: tuple[str, ...] = ("torque",)

    def predict(self) -> Prediction:
        """Predict by the method of the result."""
        return self.project.settings.method.predict(self)

    @cached_property
    def result(self) -> Mapping[str, Any]:
        """The result, of schema `poinsot.identify/1`."""
        return read_result(self.path, "predict")

    @cached_property
    def project(self) -> Project:
        """The project that the result was made with."""
        settings = self.result.get("settings", {})
        try:
            checked = Settings.model_validate(settings["project"])
        except (KeyError, TypeError, AttributeError, ValidationError):
            raise UnreadableFile(f"{self.path} is no result of `poinsot identify` of this version") from None
        path = Path(settings.get("project_file", ""))
        return Project(path if path.is_file() else self.path, checked)

    @cached_property
    def dynamics(self) -> IdentifiedDynamics:
        """Identified dynamics of the result, whose method must be a regression."""
        robot = self.project.robot(self.data_dir or self.path.parent)
        with of_result(self.path, "predict"):
            return identified(robot, self.result, self.path, "predict")


def load_dynamics(path: str | Path, data_dir: str | Path | None = None) -> IdentifiedDynamics:
    """Torque, mass matrix and gravity of a result that `poinsot identify` wrote.

    Args:
        path, data_dir: as in `PredictionJob`.

    Raises:
        UnreadableFile, InvalidProject: if it is not a result of a regression, or its robot cannot be read.
    """
    return PredictionJob(Path(path), Path(path), None if data_dir is None else Path(data_dir)).dynamics


def predict_dynamics(job: PredictionJob) -> Prediction:
    """Torque with its 95 % interval, or mass matrix and gravity, of an identified robot along a motion.

    The interval is that of a measured torque in the fitted frequency band: it covers uncertain parameters, and
    residuals of the fit or of held-out recordings, whichever are larger.
    """
    dynamics = job.dynamics
    robot, names = dynamics.robot, dynamics.robot.effort_names
    units = tuple(job.result["fit"]["units"])
    quantity = {"A": "current", "V": "voltage"}.get(units[0], "torque")
    # efforts may read further channels
    known = dict.fromkeys(robot.inputs, "1") | channel_units(robot)
    driven = [joint for joint in robot.joints if joint not in robot.drive.without_effort]
    run = Run(job.motion.name, "identification", read_motion(job, known, robot.joints, driven))
    table: list[tuple[str, np.ndarray, str]] = []
    rows: list[dict[str, Any]] = []
    notes: tuple[str, ...] = ()
    if job.wanted != ("torque",):
        time = run.recording.time
        q = robot.train.joint_positions(run.recording.stack("position", robot.joints))
        if "gravity" in job.wanted:
            table += zip((f"gravity.{name}" for name in names), dynamics.gravity(q).T, units, strict=True)
        if "mass-matrix" in job.wanted:
            M = dynamics.mass_matrix(q)
            for i, j in zip(*np.triu_indices(len(names)), strict=True):
                turning = sum(robot.position_units[robot.equations[k]] == "rad" for k in (i, j))
                unit = ("kg", "kg m", "kg m^2")[turning]
                unit = unit if quantity == "torque" else rescaled((unit,), units[0])[0]
                table.append((f"mass.{names[i]}.{names[j]}", M[:, i, j], unit))
    else:
        part, measured = _joint_side(job, robot, run)
        signals = part.signals
        # torque is predicted at every sample: decimation is for comparison alone
        notes = (*signals.warnings, *(signals.steps[:-1] if signals.decimation else signals.steps))
        _, v, a, _ = part.joint_side(0, len(part))
        time, q = signals.time, part.positions
        motion = q, v, a, part.channels
        tau = dynamics.torque(*motion)
        half = NORMAL_95 * np.hypot(dynamics.torque_std(*motion), dynamics.residual_std)
        errors: list[float | None] = [None] * len(names)
        if measured:
            problem = InverseDynamics(robot, signals, held=dynamics.parameters.held)
            errors = list(problem.fit(problem.base.map @ dynamics.theta).relative_error_percent_per_joint)
        rms = [np.sqrt(np.mean(x**2, axis=0)).tolist() for x in (tau, half)]
        for k, name in enumerate(names):
            for ending, values in (("", tau), (".low", tau - half), (".high", tau + half)):
                table.append((f"{quantity}.{name}{ending}", values[:, k], units[k]))
            sizes = {"unit": units[k], "rms": rms[0][k], "half_interval": rms[1][k]}
            rows.append({"joint": name, **sizes, "relative_error_percent": errors[k]})
    columns = {CLOCK: time} | {name: values for name, values, _ in table}
    return Prediction(columns, {CLOCK: "s"} | {name: unit for name, _, unit in table}, tuple(rows), notes)


def _joint_side(job: PredictionJob, robot: Articulated, run: Run) -> tuple[Part, bool]:
    """The motion with speeds and accelerations, as given or by the project's filter; whether efforts were read."""
    recording = run.recording
    given = recording.joints("position")
    joints = tuple(joint for joint in robot.joints if joint in given or joint not in robot.followers)
    preprocessing: Any = job.project.settings.preprocessing
    effort = next((quantity for quantity in EFFORTS if recording.joints(quantity)), "")
    if not effort:  # zeros, as a smoother requires an effort
        zeros = {f"torque.{joint}": np.zeros(len(recording)) for joint in joints}
        units = {**recording.units, **dict.fromkeys(zeros, "N m")}
        recording = replace(recording, channels={**recording.channels, **zeros}, units=units)
    if recording.joints("velocity") and recording.joints("acceleration"):
        q, v, a = (recording.stack(each, joints) for each in ("position", "velocity", "acceleration"))
        quantity = effort or "torque"
        none = np.zeros(len(recording))
        tau = np.stack([recording.channels.get(f"{quantity}.{joint}", none) for joint in joints], axis=1)
        signals = Signals(recording.time, joints, q, v, a, tau, quantity, recording=recording)
    else:
        run = condition(preprocessing, replace(run, recording=recording))
        preprocessing, (run,) = with_filters(preprocessing, [run])
        signals = smooth(preprocessing, run)
    return Part(signals, robot, columns_of(robot, signals)), bool(effort)


def read_motion(
    job: PredictionJob,
    units: Mapping[str, str],
    joints: Sequence[str],
    driven: Sequence[str],
    invalid: Literal["raise", "mask"] = "raise",
) -> Recording:
    """A table whose columns are named as channels (`position.joint_1`, SI units), or as in the project's recordings.
    `units`: channel -> SI unit. `joints`, `driven`: with positions, and with efforts. `invalid`: see `read_recording`.
    """
    path = existing_file(job.motion)
    if path.suffix.lower() == RECORDING_ENDING:
        return read_recording(path)
    try:
        header = list_columns(path).names
    except UnreadableFile:
        header = ()  # its reader reports the error
    settings = next(iter(job.project.settings.recordings), None)
    rate_hz = None if settings is None else settings.rate_hz
    channels = {name: Column(name, unit) for name, unit in units.items() if name in header}
    if channels or settings is None:
        time = (CLOCK, "s") if CLOCK in header else None
        return read_recording(path, channels, time=time, rate_hz=None if time else rate_hz, invalid=invalid)
    files: list[Any] = [*settings.files, settings]
    file = next(each for each in files if each.position is not None or each is settings)
    unread = [
        name
        for name in QUANTITIES[1:]
        if len(header) > 1 and not {*getattr(getattr(file, name), "columns", ())} <= {*header}
    ]
    file = file.model_copy(update={"path": str(path), **dict.fromkeys(unread)})
    source = build_source(file, Path(), str(path), joints, driven)
    return read_recording(source, rate_hz=None if file.time else rate_hz, invalid=invalid)
