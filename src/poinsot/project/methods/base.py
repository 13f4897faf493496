"""Interface of a [method] of a project file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...exceptions import InvalidProject
from ...io.units import STANDARD_GRAVITY
from ...recording import CONTACT, EFFORTS
from ..settings.fields import SettingsTable
from ..settings.preprocessing import SMOOTHED, MethodInput

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...estimators.online.belief import Bias
    from ...estimators.online.tracking import Tracker
    from ...models.robot.articulated import Articulated
    from ..job import Job
    from ..prediction import Prediction, PredictionJob
    from ..settings import Settings

CLOSES_ABOVE = 0.1
"""Part of a robot's weight from which on a foot counts as loaded."""
OnSample = Callable[[Mapping[str, Any]], None]
"""Called after each sample with the line to publish."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """The run of a project's filter over its recordings, or over a stream. `estimate`: after the last sample.
    `tracker`: the state of a run that follows masses, and its history. `calibration`: of the first seconds; None: there
    was none.
    """

    estimate: Estimate
    tracker: Tracker | None = None
    calibration: Bias | None = None


@dataclass(frozen=True, eq=False)
class LogContents:
    """Channels of a robot in a log, from which a method begins a project. `robot`: joints without position are locked.
    `owners`: quantity -> joints, or frames, that have a channel of it. `noise`: quantity -> standard deviation of its
    readings, from differences of samples [SI]. `gains_energy`: whether something unrecorded drives the robot. `free`:
    joints that move as if no motor acted on them. `units`: quantity -> its unit. `unread`: joints that move without a
    channel of their position. `motors`: of the description, see `described_motors`. `channel_noise`: channel ->
    standard deviation of its readings [SI].
    """

    robot: Articulated
    owners: Mapping[str, tuple[str, ...]]
    noise: Mapping[str, float]
    gains_energy: bool = False
    free: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    motors: Mapping[str, float | None] = field(default_factory=dict)
    channel_noise: Mapping[str, float] = field(default_factory=dict)

    @property
    def contacts(self) -> dict[str, Any]:
        """Feet that have a channel, and the force of one that stands, at least [N]; None of channels of 0 or 1."""
        weight = float(np.sum(self.robot.inertials[:, 0])) * STANDARD_GRAVITY
        forces = self.units.get(CONTACT) == "N"
        above = float(f"{CLOSES_ABOVE * weight:.2g}") if forces else None
        return {"feet": self.owners.get(CONTACT, ()), "closes_above": above}

    @property
    def effort(self) -> str:
        """Effort quantity of the motors: torque, else current, else voltage; "": the log has none."""
        return next((quantity for quantity in EFFORTS if quantity in self.owners), "")

    @property
    def has_imu(self) -> bool:
        """Whether it has a gyroscope and an accelerometer, as robots have whose base moves."""
        return {"gyro", "accelerometer"} <= self.owners.keys()

    @property
    def of_base(self) -> str:
        """What it says of a base that moves: an IMU, its pose, or contacts of its feet; "": nothing."""
        if not self.robot.floating_base:
            return ""
        has_pose = {"frame_position", "orientation"} <= self.owners.keys()
        said = {
            "an IMU": self.has_imu,
            "the pose of the base": has_pose,
            "contacts of feet": CONTACT in self.owners,
        }
        return next((what for what, has in said.items() if has), "")


@dataclass(frozen=True)
class Beginning:
    """Start of a project with one method. `reason`: why this method. `quantities`: quantities of the log that it reads.
    `template`: of its sections of the project file, TOML with Jinja's marks. `values`: of the template.
    """

    reason: str
    quantities: tuple[str, ...]
    template: Path
    values: Mapping[str, Any] = field(default_factory=dict)


TEMPLATES = Path(__file__).parents[1] / "templates"


@dataclass(frozen=True)
class MethodRow:
    """What a project file and its page need of a method.

    Args:
        project: what it does with a project, a class derived from `ProjectMethod`, as `"module:class"`.
        keys: dataclasses whose fields are keys of [method], as `"module:class"`, the method itself first.
        without: fields of these that are no keys.
        begin: function of `LogContents` that begins a project, as `"module:function"`; "": no project begins with it.
        subject: table of its model: `"robot"`, `"mechanism"` or `"body"`.
        tables: further tables that it uses, which others reject: `"contacts"`, `"rotors"`, `"walls"`.
        takes: kinds of [preprocessing] that it accepts.
        estimates_motion: whether it estimates the motion.
        floating_base: whether the robot may have a floating base.
        loads: whether recordings may carry a load that is to be identified.
        needs_recordings: whether [[recordings]] are required.
        streams: whether it reads logs in blocks, which are longer than memory.
        follows_commands: whether joints follow position commands, which `poinsot excite --commands` designs.
        sections: names of `report.sections` on its page, besides those of every estimate; a section of another
            distribution as `"module:function"`.
    """

    project: str
    keys: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    begin: str = ""
    subject: str = "robot"
    tables: tuple[str, ...] = ()
    takes: MethodInput = SMOOTHED
    estimates_motion: bool = False
    floating_base: bool = False
    loads: bool = False
    needs_recordings: bool = True
    streams: bool = False
    follows_commands: bool = False
    sections: tuple[str, ...] = ()


class ProjectMethod(SettingsTable):
    """[method]: the keys of a method, and what it does with a project. The keys of its row are fields here too.

    Its functions raise `PoinsotError`, one sentence that says what to correct.
    """

    name: str

    row: ClassVar[MethodRow]

    @property
    def weighs_prior(self) -> bool:
        """Whether it weighs the description against the data, so that the weight of a prior has a meaning."""
        return False

    def exchanged(self, job: Job) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
        """Pairs of joints whose columns of some quantities fit the robot better when exchanged, best first."""
        yield from ()

    def determined(self, job: Job) -> tuple[str, ...]:
        """Those of the parameters that a project under construction proposes which its recordings determine."""
        raise NotImplementedError

    def check(self, settings: Settings) -> None:
        """Reject invalid combinations with other tables. Raises `PydanticCustomError` by `refuse`, with the `key` to
        correct.
        """

    @property
    def other_jobs(self) -> Mapping[str, str]:
        """Key -> project file or result of another job whose result is an input of this one."""
        return {}

    def prepare(self, job: Job) -> tuple[str, ...]:
        """Build the problem from the recordings without solving it; return warnings about them. Raises `PoinsotError`:
        one sentence that says what the method needs and the recordings lack.
        """
        return ()

    @abstractmethod
    def identify(self, job: Job) -> Estimate:
        """From recordings to the estimate."""

    def predict(self, job: PredictionJob) -> Prediction:
        """Prediction of a result of this method for another motion; not supported by all methods."""
        raise InvalidProject(
            f'{job.path}: a result of [method] name = "{self.name}" cannot predict other motions'
        )

    def track(
        self, job: Job, *, stream: str | None = None, follow: bool = False, on_sample: OnSample | None = None
    ) -> Tracking:
        """Run over recordings, or a stream, sample by sample; not supported by most methods."""
        raise InvalidProject(
            f'{job.project.path}: [method] name = "{self.name}" processes whole recordings; poinsot track needs '
            'name = "filter" and links, "leg-odometry" or "moving-horizon"'
        )


class OnlineMethod(ProjectMethod):
    """A method that processes one sample at a time, which `track` runs."""

    def identify(self, job: Job) -> Estimate:
        raise InvalidProject(
            f'{job.project.path}: [method] name = "{self.name}" processes one sample at a time: run poinsot track'
        )
