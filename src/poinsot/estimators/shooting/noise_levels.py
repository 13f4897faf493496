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
from typing import Any, cast

import numpy as np

from ...arrays import Columns, States, Vector
from ...models.contacts.contact_dynamics import Linearized
from .direction import KEPT_STAGES, SearchDirection, ShootingIterate, ShootingSearch
from .problem import GaussianPrior, ShootingProblem, StageLinearization, Trajectories, TrajectoryModel
from .robot import RobotTrajectoryModel
from .rollout import Evaluation

PROBES = 2
"""Random signs of several thousand components make tr(C) exact to a few percent."""
FACTOR = 3.0
"""By which assumed levels are changed: as far off as a level from a data sheet may be."""

Linearizations = list[dict[int, StageLinearization]]
"""Of each recording, by the first stage of a stretch."""


class Reweighted(TrajectoryModel):
    """A recording with other noise levels.

    Args:
        model: of the recording.
        along: (N, m) process noise at which the model is linearized whatever its own is.
        linearizations: first stage of a stretch -> its linearization there, which others of the same recording share.
        factors: quantity that was read, or disturbance, -> factor of its noise level.
        probed: whether residuals are zero.
    """

    def __init__(
        self,
        model: RobotTrajectoryModel,
        along: Columns,
        linearizations: dict[int, StageLinearization],
        factors: Mapping[str, float],
        probed: bool = False,
    ):
        self.model, self.along, self.probed = model, along, probed
        self.linearizations = linearizations
        self.manifold, self.noisy, self.theta_size = model.manifold, model.noisy, model.theta_size
        self.noise_std = model.noise_std * np.array([factors.get(name, 1.0) for name in model.disturbances])
        sensors = [some.sensor for some in model.readings]
        levels = [factors.get(sensor.quantity, 1.0) for sensor in sensors]
        self.rows = 1.0 / np.repeat(levels, [sensor.size for sensor in sensors])

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        at = self.linearizations.get(first)
        if at is None:
            at = self.model.linearize(first, x, self.along[first : first + len(w)], theta)
            if self.stages - first <= KEPT_STAGES:
                self.linearizations[first] = at
        return self._reweighted(at, "r", "r_x", "r_w", "r_theta")

    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        return self._reweighted(self.model.last(x, theta, slopes), "value", "by_x", "by_theta")

    def _reweighted(self, at: Any, residual: str, *slopes: str) -> Any:
        rows = self.rows[:, None]
        changed = {name: getattr(at, name) * rows for name in slopes if getattr(at, name) is not None}
        changed[residual] = getattr(at, residual) * self.rows * (not self.probed)
        return replace(at, **changed)


@dataclass(frozen=True, eq=False)
class NoiseLevels:
    """The assumed noise of recordings of robots, and a solution.

    Args:
        problem, at: of the recordings, and its optimum.
    """

    problem: ShootingProblem
    at: Trajectories

    @property
    def models(self) -> tuple[RobotTrajectoryModel, ...]:
        return cast(tuple[RobotTrajectoryModel, ...], self.problem.models)

    @cached_property
    def sensors(self) -> tuple[str, ...]:
        """Quantities that were read."""
        return tuple(dict.fromkeys(some.sensor.quantity for model in self.models for some in model.readings))

    @cached_property
    def disturbances(self) -> tuple[str, ...]:
        """Commands (`torque`, `thrust`, ...) and speeds (`base_linear`, joints) that have process noise."""
        return tuple(dict.fromkeys(name for model in self.models for name in model.disturbances))

    @cached_property
    def moves(self) -> dict[tuple[str, float], Vector]:
        """Change (p,) of theta with each level times `FACTOR` and over it, where a step is found."""
        levels = [(name, s) for name in (*self.sensors, *self.disturbances) for s in (FACTOR, 1 / FACTOR)]
        linearizations: Linearizations = [{} for _ in self.models]
        steps = ((level, self.moved(dict([level]), linearizations)) for level in levels)
        return {level: step for level, step in steps if step is not None}

    def moved(
        self, factors: Mapping[str, float], linearizations: Linearizations | None = None
    ) -> Vector | None:
        """Change of theta with these levels times their factors; None where no step is found."""
        direction = self._direction(self.problem, self.at, factors, linearizations)
        return None if direction is None else direction.step.theta

    def likelier(self, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Factor on each disturbance's level, a step towards the largest marginal likelihood; and gamma."""
        linearizations: Linearizations = [{} for _ in self.models]
        traces = np.mean([self._traces(rng, linearizations) for _ in range(PROBES)], axis=0)
        noise = [
            w / model.noise_std * model.noisy[:, None]
            for model, w in zip(self.models, self.at.w, strict=True)
        ]
        ones = [
            np.ones(w.shape) * model.noisy[:, None] for model, w in zip(self.models, self.at.w, strict=True)
        ]
        squares, counts = self._sums([w**2 for w in noise]), self._sums(ones)
        # noise of which the data determine nothing has no likelier level
        gamma = np.maximum(counts - traces, 1.0)
        pairs = zip(np.sqrt(squares / gamma).tolist(), gamma.tolist(), strict=True)
        return dict(zip(self.disturbances, pairs, strict=True))

    def _traces(self, rng: np.random.Generator, linearizations: Linearizations) -> Vector:
        """tr(C) / sigma^2 of each disturbance, by random signs."""
        std = [model.noise_std for model in self.models]
        signs = [rng.choice([-1.0, 1.0], w.shape) * model.noisy[:, None]
                 for model, w in zip(self.models, self.at.w, strict=True)]  # fmt: skip
        problem = replace(
            self.problem,
            arrivals=tuple(GaussianPrior(x[0], arrival.information)
                           for x, arrival in zip(self.at.x, self.problem.arrivals, strict=True)),
            prior=replace(self.problem.prior, mean=self.at.theta),
        )  # fmt: skip
        at = replace(self.at, w=tuple(z * sigma for z, sigma in zip(signs, std, strict=True)))
        direction = self._direction(problem, at, {}, linearizations, probed=True)
        if direction is None:
            return np.zeros(len(self.disturbances))
        return self._sums([-z * dw / s for z, dw, s in zip(signs, direction.step.w, std, strict=True)])

    def _sums(self, values: list[Columns]) -> Vector:
        """Sum over each disturbance of (N, m) values of each recording."""
        columns = dict.fromkeys(self.disturbances, 0.0)
        for model, table in zip(self.models, values, strict=True):
            for name, total in zip(model.disturbances, table.sum(axis=0).tolist(), strict=True):
                columns[name] += total
        return np.array(list(columns.values()))

    def _direction(
        self,
        problem: ShootingProblem,
        at: Trajectories,
        factors: Mapping[str, float],
        linearizations: Linearizations | None = None,
        probed: bool = False,
    ) -> SearchDirection | None:
        """The step of a problem with these levels times their factors, linearized at the solution."""
        models = tuple(
            Reweighted(model, w, own, factors, probed)
            for model, w, own in zip(
                self.models, self.at.w, linearizations or [{} for _ in self.models], strict=True
            )
        )
        return ShootingIterate(
            ShootingSearch(replace(problem, models=models)), Evaluation(at, (), 0.0)
        ).direction()
