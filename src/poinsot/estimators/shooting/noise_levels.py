"""How far theta depends on each assumed noise level, and process noise by its marginal likelihood.

**Sensitivity.** With one level times s, a Gauss-Newton step from the optimum goes to that of the changed problem, to
first order in the step and exactly in s. All levels share one linearization, whose rows are weighed anew; each costs a
backward pass.

**Marginal likelihood** (MacKay 1992). With w its smoothed values and C their posterior covariance, the standard
deviation sigma of N components of process noise is most likely where

    sigma^2 = sum of w^2 / gamma,    gamma = N - tr(C) / sigma^2        gamma: components that the data determine

tr(C) / sigma^2 = E[z^T J H^-1 J^T z] for random signs z, with J the noise's rows of the Jacobian and H the Hessian
(Hutchinson 1990): the process noise of the direction that has J^T z as its gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Columns, Float, States, Vector
from .direction import KEPT_STAGES, LinearizedProblem
from .local import Evaluation
from .problem import (
    GaussianPrior,
    LastNodeLinearization,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from .robot_log import RobotLog

PROBES = 2
"""Random signs of several thousand components make tr(C) exact to a few percent."""
FACTOR = 3.0
"""By which assumed levels are changed: as far off as a level from a data sheet may be."""

Kept = list[dict[int, StageLinearization]]
"""Of each recording, by the first stage of a stretch."""


class Reweighted(TrajectoryModel):
    """A recording with other noise levels.

    Args:
        model: of the recording. rows: (rows,) factors of the residuals. noise: (m,) factors of `noise_std`.
        along: (N, m) process noise at which the model is linearized whatever its own is.
        kept: first stage of a stretch -> its linearization there, which others of the same recording share.
        probed: whether residuals are zero.
    """

    def __init__(
        self,
        model: TrajectoryModel,
        rows: Vector,
        noise: Vector,
        along: Columns,
        kept: dict[int, StageLinearization],
        probed: bool = False,
    ):
        self.model, self.rows, self.along, self.kept, self.probed = model, rows, along, kept, probed
        self.manifold, self.noisy, self.parameters = model.manifold, model.noisy, model.parameters
        self.noise_std = model.noise_std * noise

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        f, r = self.model.evaluate(first, x, w, theta)
        return f, r * self.rows

    def evaluate_last(self, x: Vector, theta: Vector) -> Vector:
        return self.model.evaluate_last(x, theta) * self.rows

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        at = self.kept.get(first)
        if at is None:
            at = self.model.linearize(first, x, self.along[first : first + len(w)], theta)
            if self.stages - first <= KEPT_STAGES:
                self.kept[first] = at
        return self._reweighted(at, "r_x", "r_w", "r_theta")

    def linearize_last(self, x: Vector, theta: Vector) -> LastNodeLinearization:
        return self._reweighted(self.model.linearize_last(x, theta), "r_x", "r_theta")

    def _reweighted(self, at, *slopes):
        changed = {
            name: getattr(at, name) * self.rows[:, None] for name in slopes if getattr(at, name) is not None
        }
        return replace(at, r=at.r * self.rows * (not self.probed), **changed)


@dataclass(frozen=True, eq=False)
class NoiseLevels:
    """The assumed noise of recordings, and a solution.

    Args:
        logs: the recordings. problem, at: theirs, and its optimum.
    """

    logs: tuple[RobotLog, ...]
    problem: ShootingProblem
    at: Trajectories

    @cached_property
    def sensors(self) -> tuple[str, ...]:
        """Quantities that were read."""
        return tuple(dict.fromkeys(some.sensor.quantity for log in self.logs for some in log.stages.readings))

    @cached_property
    def disturbances(self) -> tuple[str, ...]:
        """Commands (`torque`, `thrust`, ...) and speeds (`base_linear`, joints) that have process noise."""
        return tuple(dict.fromkeys(name for log in self.logs for name in log.disturbances))

    @cached_property
    def moves(self) -> dict[tuple[str, float], Vector]:
        """Change (p,) of theta with each level times `FACTOR` and over it, where a step is found."""
        levels = [(name, s) for name in (*self.sensors, *self.disturbances) for s in (FACTOR, 1 / FACTOR)]
        kept: Kept = [{} for _ in self.logs]
        steps = ((level, self.moved(dict([level]), kept)) for level in levels)
        return {level: step for level, step in steps if step is not None}

    def moved(self, factors: Mapping[str, float], kept: Kept | None = None) -> Vector | None:
        """Change of theta with these levels times their factors; None where no step is found."""
        models = []
        for log, w, own in zip(self.logs, self.at.w, kept or [{} for _ in self.logs], strict=True):
            readings = [
                np.full(some.sensor.size, 1 / factors.get(some.sensor.quantity, 1.0))
                for some in log.stages.readings
            ]
            noise = np.array([factors.get(name, 1.0) for name in log.disturbances])
            models.append(Reweighted(log.model, np.concatenate(readings), noise, w, own))
        problem = replace(self.problem, models=tuple(models))
        direction = LinearizedProblem(problem, Evaluation(self.at, (), 0.0)).direction()
        return None if direction is None else direction.step.theta

    def likelier(self, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Factor on each disturbance's level, a step towards the largest marginal likelihood; and gamma."""
        names = [np.array(log.disturbances) for log in self.logs]
        kept: Kept = [{} for _ in self.logs]
        traces = np.mean([self._traces(names, rng, kept) for _ in range(PROBES)], axis=0)
        found = {}
        for name, trace in zip(self.disturbances, traces, strict=True):
            squares, count = 0.0, 0
            for log, own, w in zip(self.logs, names, self.at.w, strict=True):
                some = (w / log.model.noise_std)[log.model.noisy][:, own == name]
                squares, count = squares + float(np.sum(some**2)), count + some.size
            # noise of which the data determine nothing has no likelier level
            gamma = max(count - float(trace), 1.0)
            found[name] = float(np.sqrt(squares / gamma)), gamma
        return found

    def _traces(self, names: list[np.ndarray], rng: np.random.Generator, kept: Kept) -> Vector:
        """tr(C) / sigma^2 of each disturbance, by random signs."""
        signs = [
            rng.choice([-1.0, 1.0], w.shape) * log.model.noisy[:, None]
            for log, w in zip(self.logs, self.at.w, strict=True)
        ]
        models, ones = [log.model for log in self.logs], np.ones
        problem = replace(
            self.problem,
            models=tuple(
                Reweighted(model, ones(log.stages.rows), ones(len(own)), w, some, probed=True)
                for model, log, own, w, some in zip(models, self.logs, names, self.at.w, kept, strict=True)
            ),
            arrivals=tuple(GaussianPrior(x[0], arrival.information)
                           for x, arrival in zip(self.at.x, self.problem.arrivals, strict=True)),
            prior=replace(self.problem.prior, mean=self.at.theta),
        )  # fmt: skip
        at = replace(self.at, w=tuple(z * model.noise_std for z, model in zip(signs, models, strict=True)))
        direction = LinearizedProblem(problem, Evaluation(at, (), 0.0)).direction()
        if direction is None:
            return np.zeros(len(self.disturbances))
        products = [
            -z * dw / model.noise_std for z, dw, model in zip(signs, direction.step.w, models, strict=True)
        ]
        return np.array(
            [
                sum(float(each[:, own == name].sum()) for each, own in zip(products, names, strict=True))
                for name in self.disturbances
            ]
        )
