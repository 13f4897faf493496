"""`[method] name = "leg-odometry"`: where a legged robot goes, sample by sample, for `poinsot track`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ...exceptions import InvalidProject
from ..job import stoppable
from ..settings.fields import Positive, Window, refuse
from ..settings.preprocessing import AS_READ
from .base import MethodSettings, OnSample, Tracking
from .motion import prepared
from .optimal_estimation import contacts_of

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...estimators.online.leg_odometry import LegOdometryProblem
    from ..job import Job
    from ..settings import Settings


class LegOdometrySettings(MethodSettings):
    """`poinsot.LegOdometry`: pose, velocity and biases from gyro, accelerometer, encoders and contacts.

    Keys are the fields of that class; pairs are of gyro and accelerometer. `gate`: part of good readings of a foot that
    pass; after `patience` rejected ones in a row it has slipped.
    """

    takes = AS_READ
    tables = ("contacts",)
    floating_base = True
    sections = ("effort",)

    name: Literal["leg-odometry"]
    inertial_noise: Window | None = None
    position_noise: Positive | None = None
    foot_walk: Positive | None = None
    bias_std: Window | None = None
    bias_walk: Window | None = None
    start_std: Window | None = None
    gate: float = Field(0.999, gt=0, lt=1)
    patience: int = Field(20, ge=1)

    def check(self, settings: Settings) -> None:
        """One gait says when feet touch the ground in one recording."""
        if len(settings.recordings) > 1 and any(each.gait for each in settings.recordings):
            raise refuse("gait", "several recordings need channels `contact`, not a gait", key="recordings")

    def problem(self, job: Job) -> LegOdometryProblem:
        """[robot], [contacts] and [[recordings]] -> the problem."""
        from ...estimators.online.leg_odometry import LegOdometryProblem

        robot = job.project.robot(job.data_dir)
        runs = job.project.runs(robot, job.data_dir)
        contacts = contacts_of(job.settings.contacts, runs[0])
        if contacts is None:
            raise InvalidProject(
                f"{job.project.path} has no [contacts]: give points = [...] of the feet's frames"
            )
        recordings = [prepared(job.settings, run) for run in runs]
        return LegOdometryProblem(robot, recordings, contacts, [run.name for run in runs])

    def prepare(self, job: Job) -> tuple[str, ...]:
        problem = self.problem(job)
        for recording in problem.recordings:
            problem.samples(recording)
        return ()

    def identify(self, job: Job) -> Estimate:
        raise InvalidProject(
            f'{job.project.path}: [method] name = "{self.name}" processes one sample at a time: run poinsot track'
        )

    def track(
        self, job: Job, *, stream: str | None = None, follow: bool = False, on_sample: OnSample | None = None
    ) -> Tracking:
        from ...estimators.online.gating import Gate
        from ...estimators.online.leg_odometry import LegOdometry

        if stream is not None:
            raise InvalidProject(
                f'{job.project.path}: "{self.name}" runs over [[recordings]]: leave --stream out'
            )
        problem = self.problem(job)
        gravity = tuple(problem.robot.model.gravity.linear)
        filter_ = self.build_as(LegOdometry, gate=Gate(self.gate, self.patience), gravity=gravity)
        with stoppable() as ctrl_c:
            stop = job.stop or ctrl_c
            estimate = filter_.solve(problem, progress=job.progress, stop=stop, on_sample=on_sample)
        return Tracking(estimate.updated(settings=job.project.record))
