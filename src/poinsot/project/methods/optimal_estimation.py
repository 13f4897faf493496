"""`[method] name = "optimal-estimation"`: motion and parameters together, from what sensors read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from ..settings.fields import ChartName, PerJoint, Positive, Window, refuse
from ..settings.preprocessing import AS_READ
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...solve import ProgressCallback, Stop
    from ..job import Project


NoiseLevel = Positive | Annotated[list[Positive], Field(min_length=1)]
"""One standard deviation for all components of a reading, or one for each."""


class OptimalEstimationSettings(MethodSettings):
    """`poinsot.OptimalEstimation`: parameters and motion together, from encoders, IMU, contacts and commands.

    `bodies`, `joints`: whose mass properties, and which parameters of joints (`fv3`, `fc3`, ...), are open. `noise`:
    standard deviations, by quantity (`gyro`) or channel group (`gyro.imu_link`), of what sensors read and, as `torque`,
    `current` or `thrust`, of what the robot is told; `foot_velocity`: how fast a closed contact may slip.
    `speed_noise`: what the model lacks, as a standard deviation of the change of each speed in a step, by joint, or as
    `base_linear` and `base_angular`. `prior_std`: how far bodies may be from the description, in coordinates of the
    chart; without it only [priors] are known. `start_std`: how well the first state is known, `[positions, speeds]`.
    `dry_speed`: where dry friction has 76 % of its size [rad/s] or [m/s]. `start_from`: a result to begin at.
    """

    tables = ("contacts", "rotors")
    takes = AS_READ
    estimates_motion = floating_base = True
    sections = ("motion", "contacts", "convergence")

    name: Literal["optimal-estimation"]
    bodies: list[str] = []
    joints: list[str] = []
    chart: ChartName = "log-cholesky"
    noise: dict[str, NoiseLevel]
    speed_noise: PerJoint | None = None
    prior_std: Positive | None = None
    start_std: Window | None = None
    dry_speed: Positive = 0.05
    start_from: str | None = None
    rollout: Literal["multiple", "feasible", "single"] = "multiple"
    max_steps: int = Field(200, ge=1)
    step_tolerance: Positive = 1e-5
    gap_tolerance: Positive = 1e-8
    null_space: bool = True
    memory: int = Field(1, ge=1)
    damping: float = Field(0.0, ge=0)
    longest: Positive = 0.3

    @model_validator(mode="after")
    def _something_disturbs(self) -> OptimalEstimationSettings:
        told = {"torque", "current", "voltage", "thrust"} & set(self.noise)
        if self.speed_noise is None and not told:
            raise refuse(
                "noise",
                "nothing says how exact the model is: give speed_noise, or in noise that of torque, current or thrust",
                key="noise",
            )
        if self.start_std is not None and min(self.start_std) <= 0:
            raise refuse("start", "start_std needs two numbers above 0: positions, speeds", key="start_std")
        return self

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        from ..estimation import estimate_optimally

        return estimate_optimally(project, data_dir, progress, stop)
