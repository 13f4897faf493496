"""Result of joint smoothing: parameters with their uncertainty, motions with their residuals, and the iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Float, Matrix, Vector
from ...estimate import Extra, Status
from ...models.maximal import State
from .records import Record
from .sensitivity import Sensitivity


@dataclass(frozen=True, eq=False)
class RecordFit:
    """The motion of a mechanism in one record, with its residuals.

    Args:
        times: (N,) [s].
        coordinates, rates: (N, n) of joints, angles unwrapped [rad], [m].
        states: (N, ...) of bodies in maximal coordinates; None in the reduced form.
        expected: (N, s) predicted readings.
        observation_errors: (N, s) predicted minus measured; NaN where nothing was measured.
        step_errors: (N - 1, m) residuals of the steps: unmodelled impulses [N s], [N m s], or state errors.
        std: (N, d) standard deviations of the states' tangents, weights taken as 1 / variances; None: not requested.
        cost: sum of the weighted squares of all residuals.
    """

    name: str
    times: Float[np.ndarray, "N"]
    coordinates: Float[np.ndarray, "N n"]
    rates: Float[np.ndarray, "N n"]
    states: State | None
    expected: Float[np.ndarray, "N s"]
    observation_errors: Float[np.ndarray, "N s"]
    step_errors: Float[np.ndarray, "steps m"]
    std: Float[np.ndarray, "N d"] | None = None
    cost: float = float("nan")

    @property
    def measured(self) -> Float[np.ndarray, "N s"]:
        """Readings, angles in the turn of the predicted ones; NaN where nothing was measured."""
        return self.expected - self.observation_errors

    @classmethod
    def at(cls, record: Record, coordinates: Matrix, rates: Matrix, states: State | None) -> RecordFit:
        """States as an initial guess; residuals are NaN."""
        unknown = np.full(record.z.shape, np.nan)
        steps = np.full((len(record.times) - 1, 0), np.nan)
        return cls(record.name, record.times, coordinates, rates, states, unknown, unknown, steps)

    def samples(self, cut: slice) -> RecordFit:
        """The states of some of the samples, as an initial guess."""
        states = None if self.states is None else type(self.states)(*(part[cut] for part in self.states))
        record = Record(self.name, self.times[cut], np.zeros((len(self.times[cut]), 0)), self.expected[cut])
        return RecordFit.at(record, self.coordinates[cut], self.rates[cut], states)


@dataclass(frozen=True)
class AcceptedStep:
    """A step that lowered the cost; the first one is the initial guess.

    The cost is the weighted squares of all residuals by the number of samples; theta (p,) is after the step.
    """

    cost: float
    theta: Vector
    tried: int


@dataclass(frozen=True, eq=False)
class JointFit:
    """Parameters and motions of a `JointSmoothingProblem`.

    Args:
        names: names of all p parameters. theta: (p,). open: (q,) indices of the estimated ones.
        status: how the iteration ended. remaining: predicted relative decrease of the cost by another step, where a
            kink stopped the iteration within a small part of the standard deviations; else 0.
        history: one entry per accepted step, the initial guess first.
        paths: motion of each record.
        sensitivity: uncertainty of the open parameters.
    """

    names: tuple[str, ...]
    theta: Vector
    open: np.ndarray
    status: Status
    history: tuple[AcceptedStep, ...]
    paths: tuple[RecordFit, ...]
    sensitivity: Sensitivity = field(repr=False)
    remaining: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the iteration passed its stopping test."""
        return self.status.converged

    @property
    def iterations(self) -> int:
        """Accepted steps."""
        return len(self.history) - 1

    @property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.theta.tolist(), strict=True))

    @property
    def covariance(self) -> Matrix:
        """(p, p) for white residuals (Lacoursiere, Eqs. 3.30 to 3.32); 0 for held, NaN for unobservable parameters."""
        return self._expand(self.sensitivity.covariance)

    @property
    def robust_covariance(self) -> Matrix:
        """(p, p) for autocorrelated residuals."""
        return self._expand(self.sensitivity.robust)

    @property
    def std(self) -> Vector:
        """(p,) from `covariance`."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def robust_std(self) -> Vector:
        """(p,) from `robust_covariance`."""
        return np.asarray(np.sqrt(np.diag(self.robust_covariance)))

    @property
    def unobservable(self) -> list[dict[str, float]]:
        """Combinations of open parameters that change no residual: name -> part."""
        names = np.array(self.names)[self.open].tolist()
        return [
            {name: float(part) for name, part in zip(names, direction, strict=True) if abs(part) > 0.05}
            for direction in self.sensitivity.unobservable
        ]

    @property
    def cost(self) -> float:
        """Weighted squares of all errors, by the number of samples."""
        return sum(path.cost for path in self.paths) / sum(len(path.times) for path in self.paths)

    def _expand(self, part: Matrix) -> Matrix:
        # rows of held parameters are 0: they are assumed known
        every = np.zeros((len(self.names), len(self.names)))
        every[np.ix_(self.open, self.open)] = part
        return every


class BodyMotions(tuple[State, ...], Extra):
    """States (N, ...) of all bodies in each recording, where they were estimated in maximal coordinates."""

    key = "body_motions"

    def as_json(self) -> list[dict[str, int]]:
        """Sizes only: the motions hold the joint coordinates."""
        return [{"samples": len(states.position), "bodies": states.position.shape[1]} for states in self]
