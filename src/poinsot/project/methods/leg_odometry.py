"""`[method] name = "leg-odometry"`: where a legged robot goes, sample by sample, for `poinsot track`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ...exceptions import InvalidProject
from ...recording import CONTACT
from ..job import stoppable
from ..settings.fields import refuse
from .base import TEMPLATES, Beginning, LogContents, OnlineMethod, OnSample, Tracking
from .motion import prepared
from .optimal_estimation import contacts_of

if TYPE_CHECKING:
    from ...estimators.online.leg_odometry import LegOdometryProblem
    from ..job import Job
    from ..settings import Settings


def begin_with_feet(log: LogContents) -> Beginning | None:
    """A log with an IMU and contacts of feet, and no effort, which masses would need."""
    if log.effort or not log.has_imu or CONTACT not in log.owners:
        return None
    values = log.contacts | {"noise": log.noise}
    reason = "the log has an IMU and contacts, and no effort: it shows how the base moves, and no masses"
    template = TEMPLATES / "leg-odometry.toml"
    return Beginning(reason, ("position", "gyro", "accelerometer", CONTACT), template, values)


class LegOdometryMethod(OnlineMethod):
    """`poinsot.LegOdometry`: pose, velocity and biases from gyro, accelerometer, encoders and contacts.

    Keys are the fields of that class; pairs are of gyro and accelerometer, but for those of feet. `gate`: part of good
    readings of a foot that pass; after `patience` rejected ones in a row it has slipped.
    """

    gate: float = Field(0.999, gt=0, lt=1)
    patience: int = Field(20, ge=1)

    def check(self, settings: Settings) -> None:
        """It follows one recording, from its start."""
        if len(settings.recordings) != 1 or settings.contacts is None:
            needs = "follows one recording of a robot: give one [[recordings]], and [contacts] with its feet"
            raise refuse("odometry", f"{self.name!r} {needs}", key="recordings")

    def problem(self, job: Job) -> LegOdometryProblem:
        """[robot], [contacts] and the recording -> the problem."""
        from ...estimators.online.leg_odometry import LegOdometryProblem

        robot = job.project.robot(job.data_dir)
        (run,) = job.project.runs(robot, job.data_dir)
        contacts = contacts_of(job.settings.contacts, run)
        assert contacts is not None
        return LegOdometryProblem(
            robot, prepared(job.settings, run), contacts, run.name, job.settings.accuracy.value()
        )

    def prepare(self, job: Job) -> tuple[str, ...]:
        _ = self.problem(job).samples
        return ()

    def track(
        self, job: Job, *, stream: str | None = None, follow: bool = False, on_sample: OnSample | None = None
    ) -> Tracking:
        from ...estimators.online.filter import Gate
        from ...estimators.online.leg_odometry import LegOdometry

        if stream is not None:
            raise InvalidProject(f"{job.project.path}: {self.name!r} follows a recording: leave --stream out")
        problem = self.problem(job)
        gravity = tuple(problem.robot.model.gravity.linear)
        filter_ = self.build_as(LegOdometry, gate=Gate(self.gate, self.patience), gravity=gravity)
        with stoppable() as ctrl_c:
            stop = job.stop or ctrl_c
            estimate = filter_.solve(problem, progress=job.progress, stop=stop, on_sample=on_sample)
        return Tracking(estimate.updated(settings=job.record))
