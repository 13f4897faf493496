"""`[method] name = "moving-horizon"`: optimal estimation over the last nodes, sample by sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...exceptions import InvalidProject
from ...parameters import per_joint
from ..job import stoppable
from ..settings.fields import PerJoint, Window
from .base import OnSample, Tracking
from .optimal_estimation import SensedMotionMethod

if TYPE_CHECKING:
    from ...estimators.shooting.estimation import OptimalEstimationProblem
    from ...estimators.shooting.moving_horizon import MovingHorizon
    from ..job import Job
    from ..settings import Settings


class MovingHorizonMethod(SensedMotionMethod):
    """`poinsot.MovingHorizon`: time-varying parameters and the motion, from encoders, IMU, contacts and commands.

    `walk`: standard deviation by which open parameters change in the square root of a second, one number or by body,
    parameter of a joint, gain, or error of a sensor; of a body in coordinates of its chart. `nodes`: of the horizon.
    `iterations`: Gauss-Newton steps a node. `closing`: of speeds that a closing contact leaves open [m/s], [rad/s].
    """

    start_std: Window
    walk: PerJoint = 0.0

    def solver(self, settings: Settings, problem: OptimalEstimationProblem) -> MovingHorizon:
        from ...estimators.shooting.moving_horizon import MovingHorizon

        open_ = (*self.bodies, *problem.parameters.others)
        walk = per_joint("method.walk", self.walk, open_, np.zeros(len(open_)))
        sizes = [10 if name in self.bodies else 1 for name in open_]
        return self.build_as(MovingHorizon, walk=np.repeat(walk, sizes))

    def track(
        self, job: Job, *, stream: str | None = None, follow: bool = False, on_sample: OnSample | None = None
    ) -> Tracking:
        if stream is not None:
            raise InvalidProject(f"{job.project.path}: {self.name!r} runs on recordings: omit --stream")
        with stoppable() as ctrl_c:
            return Tracking(self.identify(replace(job, stop=job.stop or ctrl_c), on_sample=on_sample))
