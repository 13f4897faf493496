"""Results written for controllers and simulators: `poinsot export RESULT --to FORMAT`.

`FORMATS` has a row for each format, a function of an `ExportJob` that returns its files and what they cannot hold. What
it raises says why a result cannot be written so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..estimate import Estimate
from ..exceptions import InvalidModel, NotIdentifiable, PoinsotError
from ..export.actuator_files import with_dynamics
from ..export.c_source import CheckedMotion, CodeOrigin, c_files, c_test
from ..export.export_robot import Export, parameters_json, prepare_export, refuse_untrusted
from ..export.python_source import python_module
from ..export.reading import open_description
from ..export.ros2_package import ros2_files
from ..export.routines import Routines
from ..io.results import write_json
from ..io.writing import write_text
from ..models.robot.articulated import Articulated
from ..models.servo.mjcf import beyond_mjcf, write_mjcf
from ..regression.dynamics import IdentifiedDynamics
from .actuators import read_actuators
from .prediction import PredictionJob, read_estimate, recorded

TESTED = 100
"""Maximum number of samples in the test of generated code."""


class Files(NamedTuple):
    """Files of one format. `writers`: name, with folders, -> what writes it. `notes`: sentences on what they cannot
    hold.
    """

    writers: Mapping[str, Callable[[Path], Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ExportJob:
    """A result that is written in other formats.

    Args:
        path: the result. name: of the files, and of what is in them; None: the robot's.
        data_dir: folder of the robot's description, and of the recordings for the test of generated code.
        regressor: whether generated code has the regressor. force: whether a result is written that is not to be used.
    """

    path: Path
    name: str | None = None
    data_dir: Path | None = None
    regressor: bool = False
    force: bool = False

    def files(self, to: str) -> Files:
        """The files of a format, not yet written.

        Raises:
            PoinsotError: one sentence that says why the result cannot be written so.
        """
        refuse_untrusted(self.estimate, self.force)
        return FORMATS[to](self)

    def listed(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Each format with its files, or why there are none, and notes."""
        for to in FORMATS:
            try:
                files = self.files(to)
                yield to, ", ".join(files.writers), files.notes
            except PoinsotError as error:
                yield to, f"not possible: {error}", ()

    @cached_property
    def estimate(self) -> Estimate:
        return read_estimate(self.path, self.data_dir)

    @cached_property
    def prediction(self) -> PredictionJob:
        return PredictionJob(self.path, self.path, self.data_dir)

    @cached_property
    def robot(self) -> Articulated:
        return self.prediction.project.robot(self.prediction.folder or self.path.parent)

    @cached_property
    def dynamics(self) -> IdentifiedDynamics:
        found: IdentifiedDynamics = self.estimate.dynamics
        return found

    @cached_property
    def called(self) -> str:
        """Name of the files."""
        if self.name is not None and (not self.name or Path(self.name).name != self.name):
            raise InvalidModel(f"--name {self.name!r} is no name of a file; --out names the folder")
        return self.name or re.sub(r"[^\w.-]", "_", self.estimate.robot) or self.path.stem

    @cached_property
    def identifier(self) -> str:
        """Name in code: letters, digits and underscores."""
        if self.name is None:
            return re.sub(r"^(?=\d)", "_", re.sub(r"\W", "_", self.called, flags=re.ASCII))
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name, flags=re.ASCII):
            raise InvalidModel(
                f"--name {self.name!r} is no name in code: it has letters, digits and underscores, as tx40 or my_arm"
            )
        return self.name

    @cached_property
    def routines(self) -> Routines:
        """Routines of the result's dynamics."""
        return Routines(self.dynamics, self.estimate.fit.units)

    @cached_property
    def origin(self) -> CodeOrigin:
        digest = sha256(self.path.read_bytes()).hexdigest()
        version = self.estimate.versions.get("poinsot", "")
        return CodeOrigin(
            version, self.path.name, digest, self.estimate.method, self.estimate.diagnosis.verdict
        )

    @cached_property
    def samples(self) -> tuple[CheckedMotion, tuple[str, ...]]:
        """A motion for the test of the code, and why they are not recorded ones."""
        n = self.routines.size
        try:
            name, _, q, v, a, measured = recorded(self.prediction, TESTED)
            return CheckedMotion(q, v, a, self.dynamics.torque(q, v, a), measured, f"recording {name!r}"), ()
        except PoinsotError as error:
            q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, TESTED, n))
            note = f"The test has random motions, since recordings are not there ({error}); --data FOLDER names them."
            return CheckedMotion(q, v, a, self.dynamics.torque(q, v, a), None, "random motions"), (note,)


def _texts(texts: Mapping[str, str]) -> dict[str, Callable[[Path], Any]]:
    def writer(text: str) -> Callable[[Path], Any]:
        return lambda path: write_text(path, text)

    return {name: writer(text) for name, text in texts.items()}


def _left_out(job: ExportJob) -> tuple[str, ...]:
    names = job.routines.left_out
    return (f"Efforts that depend on recorded channels are left out: {', '.join(names)}.",) if names else ()


def _c(job: ExportJob) -> Files:
    samples, notes = job.samples
    texts = c_files(job.routines, job.identifier, job.origin, job.regressor)
    test = {f"{job.identifier}_test.c": c_test(job.routines, job.identifier, samples)}
    return Files(_texts(texts | test), (*_left_out(job), *notes))


def _python(job: ExportJob) -> Files:
    text = python_module(job.routines, job.origin, job.regressor)
    return Files(_texts({f"{job.identifier}.py": text}), _left_out(job))


def _ros2(job: ExportJob) -> Files:
    texts = ros2_files(job.routines, job.identifier, job.origin, job.regressor)
    return Files(_texts(texts), (*_left_out(job), "The package is built where ROS 2 is: colcon build."))


def _described(job: ExportJob, wanted: str, ending: str) -> Files:
    """The robot's own description with what was identified."""
    if "actuators" in job.prediction.result:
        return _servo(job, wanted, ending)
    export, name = _edited(job), f"{job.called}{ending}"
    if export.description.format != wanted:
        raise InvalidModel(
            f"the robot's description {export.source.name} is {export.description.format}, and only its numbers are "
            f"changed: --to {export.description.format.lower()} writes it"
        )
    beside = partial(write_json, export.content(name))
    return Files({name: export.description.write, f"{job.called}.json": beside}, export.notes)


def _edited(job: ExportJob) -> Export:
    """The description of the robot, edited; of its dynamics, since it has the gains that were identified."""
    return prepare_export(job.estimate, job.dynamics.robot, force=job.force)


def _servo(job: ExportJob, wanted: str, ending: str) -> Files:
    """A description with actuators that were identified."""
    robot, name = job.robot, f"{job.called}{ending}"
    actuators, _ = read_actuators(job.path, robot.joints)
    if wanted == "MJCF":
        lost = [f"{each.name}.{parameter}" for each in actuators for parameter in beyond_mjcf(each)]
        notes = (
            (f"MJCF has no attribute for {', '.join(lost)}; they are <numeric> elements.",) if lost else ()
        )
        return Files({name: partial(write_mjcf, robot, actuators)}, notes)
    source = robot.source
    if source is None or source.suffix.lower() != ".urdf":
        raise InvalidModel("the robot's description is no URDF: --to mjcf writes it")
    rows = job.prediction.result["actuators"]["joints"]
    scaled = {str(row["joint"]) for row in rows if row["scale_known"]}
    known = [each for each in actuators if each.name in scaled]
    if not known:
        raise NotIdentifiable(
            "the scale of no joint's torques is known, which URDF needs: --to mjcf writes it"
        )
    described = with_dynamics(open_description(source), known)
    note = f"URDF holds damping, dry friction and limits of {', '.join(each.name for each in known)}, no gain or delay."
    return Files({name: described.write}, (note,))


def _json(job: ExportJob) -> Files:
    try:
        content = _edited(job).content()
    except (NotIdentifiable, InvalidModel) as error:
        content = parameters_json(job.estimate, job.robot, str(error))
    return Files({f"{job.called}.json": partial(write_json, content)})


FORMATS: Mapping[str, Callable[[ExportJob], Files]] = {
    "c": _c,
    "python": _python,
    "urdf": partial(_described, wanted="URDF", ending=".urdf"),
    "mjcf": partial(_described, wanted="MJCF", ending=".xml"),
    "json": _json,
    "ros2": _ros2,
}
"""Format -> its files."""
