"""Predictions of a result for another motion: `poinsot predict RESULT.json MOTION.csv`, and results read back.

A result contains the project that it was made with: its robot can be read again, and a table is read as the recordings
of that project. Methods predict by `ProjectMethod.predict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import ValidationError

from ..arrays import JointSamples, Times
from ..estimate import NORMAL_95, Certificate, Estimate, Fit, FullParameters
from ..exceptions import InvalidMethod, UnreadableFile
from ..io.readers import RECORDING_ENDING, list_columns
from ..io.reading import read_recording
from ..io.sources import Column, existing_file
from ..io.stored_results import estimate_of
from ..parameters import rescaled
from ..recording import EFFORTS, QUANTITIES, Recording
from ..regression.dynamics import IdentifiedDynamics
from ..regression.inverse_dynamics import InverseDynamics, Part, columns_of
from ..signals.signals import Signals
from .job import Project
from .other_jobs import identified, of_result, read_result, result_in
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
    """A prediction to make from a result. All methods raise `PoinsotError`: one sentence that says what to correct.

    Args:
        path: path of the result. motion: file with the given motion.
        data_dir: folder of the robot's description; None: that of the project file or of the result, or `--data` of its
            run.
        wanted: `"torque"`, or `"mass-matrix"`, `"gravity"` or both.
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
    def folder(self) -> Path | None:
        """Folder of the data: as given, or as it was when the result was written; None: that of the project file."""
        recorded = self.result.get("settings", {}).get("data_folder")
        return Path(recorded) if self.data_dir is None and recorded is not None else self.data_dir

    @cached_property
    def dynamics(self) -> IdentifiedDynamics:
        """Identified dynamics of the result, whose method must be a regression."""
        robot = self.project.robot(self.folder or self.path.parent)
        with of_result(self.path, "predict"):
            return identified(robot, self.result, self.path, "predict")


class RecordedMotion(NamedTuple):
    """Samples of a recording, joint side. `name`: of it. `time`: (k,) [s]. `q`, `v`, `a`: (k, n). `measured`: (k, e)
    efforts.
    """

    name: str
    time: Times
    q: JointSamples
    v: JointSamples
    a: JointSamples
    measured: JointSamples


def recorded(job: PredictionJob, most: int) -> RecordedMotion:
    """Samples, at equal distances, of the first recording of the result's project without a load; `most`: their number.

    Raises:
        PoinsotError: if the recordings are not there.
    """
    robot = job.dynamics.robot
    run = next((run for run in job.project.runs(robot, job.folder) if not run.loaded), None)
    if run is None:
        raise UnreadableFile(f"{job.path} has only recordings with a load")
    return samples_of(_joint_side(job, robot, run)[0], run.name, most)


def samples_of(part: Part, name: str, most: int) -> RecordedMotion:
    """Samples of a recording at equal distances; `most`: their number."""
    _, v, a, tau = part.joint_side(0, len(part))
    k = np.unique(np.linspace(0, len(part) - 1, most).astype(int))
    return RecordedMotion(name, part.signals.time[k], part.positions[k], v[k], a[k], tau[k])


def load_dynamics(path: str | Path, data_dir: str | Path | None = None) -> IdentifiedDynamics:
    """Torque, mass matrix and gravity of a result that `poinsot identify` wrote.

    Args:
        path, data_dir: as in `PredictionJob`.

    Raises:
        UnreadableFile, InvalidProject: if it is not a result of a regression, or its robot cannot be read.
    """
    return PredictionJob(Path(path), Path(path), None if data_dir is None else Path(data_dir)).dynamics


def read_estimate(path: str | Path, data_dir: str | Path | None = None) -> Estimate:
    """Read back what `poinsot identify` or `track` wrote: values, intervals, bodies, findings and provenance.

    `torque`, `mass_matrix`, `gravity` and `predict` of the linear methods work as after `identify`; they read the
    robot's description. Fits have their errors, and no samples.

    Args:
        path: the result, or its folder.
        data_dir: folder of the robot's description; None: that of the project file or of the result.

    Raises:
        UnreadableFile: if it is not such a result.
    """
    path = result_in(Path(path))
    job = PredictionJob(path, path, None if data_dir is None else Path(data_dir))
    with of_result(path, "read_estimate"):
        estimate = estimate_of(job.result)
    return replace(estimate, problem=StoredProblem(job))


@dataclass(frozen=True, eq=False)
class StoredProblem:
    """The problem of a result without its recordings: it predicts, and certifies nothing. `job`: of the result."""

    job: PredictionJob

    def certify(self, estimate: Estimate) -> Certificate:
        raise InvalidMethod(
            f"{self.job.path} holds no samples to evaluate; identify its project again to certify the solution"
        )

    def dynamics(self, estimate: Estimate) -> IdentifiedDynamics:
        """Torque, mass matrix and gravity of these values."""
        stored, known = self.job.dynamics, estimate.extra(FullParameters) or estimate
        place = [known.names.index(name) for name in stored.names]
        covariance = known.covariance[np.ix_(place, place)]
        return replace(stored, values=known.values[place], covariance=covariance)

    def predicted(
        self, estimate: Estimate, recording: Signals | Recording, name: str = "", *, loaded: bool = False
    ) -> Fit:
        """Measured against predicted effort of another recording, smoothed as the project says."""
        if loaded:
            raise InvalidMethod(
                f"{self.job.path} predicts the robot without its load; identify its project again to predict with it"
            )
        dynamics = self.dynamics(estimate)
        if isinstance(recording, Recording):
            run = Run(name, "identification", recording)
            recording = _joint_side(self.job, dynamics.robot, run)[0].signals
        return _compared(dynamics, recording, name)


def _compared(dynamics: IdentifiedDynamics, signals: Signals, name: str = "") -> Fit:
    problem = InverseDynamics(dynamics.robot, signals, held=dynamics.parameters.held)
    return problem.fit(problem.base.map @ dynamics.theta, name)


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
            errors = list(_compared(dynamics, signals).relative_error_percent_per_joint)
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
