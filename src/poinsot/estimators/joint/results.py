"""What a fit gives: parameters, paths, how it got there and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Vector
from ...models.maximal import State
from .sensitivity import Sensitivity


class Ending(Enum):
    """How an iteration ended, in words; `{steps}` is how many there were."""

    optimal = "no step lowers the cost any more"
    optimal_but_for_kinks = "no step lowers the cost any more, but for kinks of friction"
    kink = "no step lowers the cost, however short: the errors have a kink here"
    step_limit = "it did not end in {steps} steps; begin nearer or allow more"

    @property
    def converged(self) -> bool:
        return self in (Ending.optimal, Ending.optimal_but_for_kinks)


@dataclass(frozen=True, eq=False)
class Path:
    """How a mechanism moved in one record.

    Args:
        name: of the record.
        times: (N,) [s].
        coordinates, rates: (N, n) of joints, angles unwrapped [rad], [m].
        states: (N, ...) of bodies, where they are what is estimated; None in the reduced form.
        expected: (N, s) what the sensors should have read.
        observation_errors: (N, s) that less what they did; NaN where they did not.
        step_errors: (N - 1, m) what else acted in each step: impulses [N s], [N m s], or errors of states.
        std: (N, d) standard deviations of the states' tangents, weights taken for 1 / variances; None: not asked for.
        cost: weighted squares of both, of this record.
    """

    name: str
    times: Float[np.ndarray, "N"]
    coordinates: Float[np.ndarray, "N n"]
    rates: Float[np.ndarray, "N n"]
    states: State | None
    expected: Float[np.ndarray, "N s"]
    observation_errors: Float[np.ndarray, "N s"]
    step_errors: Float[np.ndarray, "steps m"]
    std: Float[np.ndarray, "N d"] | None
    cost: float


@dataclass(frozen=True)
class Iteration:
    """One line of the convergence.

    Args:
        cost: weighted squares of all errors, by the number of samples.
        theta: (p,) there.
        damping: alpha of the step that led there.
        tried: steps that were tried for it.
    """

    cost: float
    theta: Vector
    damping: float
    tried: int


@dataclass(frozen=True, eq=False)
class JointFit:
    """What a mechanism is and how it moved.

    Args:
        names: of all parameters. theta: (p,). open: which of them were estimated.
        ending: of the iteration.
        history: one entry an accepted step, from the first guess on.
        paths: of each record.
        sensitivity: how sure theta is; of the open parameters alone.
        scale_is_free: (q,) open parameters of which only ratios act, so that they shrink as far as bounds let them.
    """

    names: tuple[str, ...]
    theta: Vector
    open: np.ndarray
    ending: Ending
    history: tuple[Iteration, ...]
    paths: tuple[Path, ...]
    sensitivity: Sensitivity = field(repr=False)
    scale_is_free: np.ndarray

    @property
    def converged(self) -> bool:
        """Whether the cost could not be lowered any more."""
        return self.ending.converged

    @property
    def status(self) -> str:
        """How it ended, in a sentence."""
        return self.ending.value.format(steps=self.iterations)

    @property
    def iterations(self) -> int:
        """Accepted steps."""
        return len(self.history) - 1

    @property
    def values(self) -> dict[str, float]:
        """By name."""
        return dict(zip(self.names, self.theta.tolist(), strict=True))

    @property
    def covariance(self) -> Matrix:
        """(p, p) linearized (3.30 to 3.32); 0 of what was held, NaN of what is not seen."""
        return self._all(self.sensitivity.covariance)

    @property
    def robust_covariance(self) -> Matrix:
        """(p, p) for errors that follow each other."""
        return self._all(self.sensitivity.robust)

    @property
    def std(self) -> Vector:
        """(p,) from `covariance`."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def robust_std(self) -> Vector:
        """(p,) from `robust_covariance`."""
        return np.asarray(np.sqrt(np.diag(self.robust_covariance)))

    @property
    def unseen(self) -> list[dict[str, float]]:
        """Combinations of open parameters that the records do not show, by name."""
        names = np.array(self.names)[self.open].tolist()
        return [
            {name: float(part) for name, part in zip(names, direction, strict=True) if abs(part) > 0.05}
            for direction in self.sensitivity.unseen
        ]

    @property
    def cost(self) -> float:
        """Weighted squares of all errors, by the number of samples."""
        return sum(path.cost for path in self.paths) / sum(len(path.times) for path in self.paths)

    @property
    def observation_mse(self) -> float:
        """Mean square of what sensors read less what is expected [rad^2], [m^2]."""
        return _mean_square([path.observation_errors for path in self.paths])

    @property
    def impulse_mse(self) -> float:
        """Mean square of the errors of steps."""
        return _mean_square([path.step_errors for path in self.paths])

    def _all(self, part: Matrix) -> Matrix:
        every = np.zeros((len(self.names), len(self.names)))
        every[np.ix_(self.open, self.open)] = part
        return every


def _mean_square(parts: Sequence[np.ndarray]) -> float:
    every = np.concatenate([part[np.isfinite(part)] for part in parts])
    return float(np.mean(every**2)) if len(every) else float("nan")
