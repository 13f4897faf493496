"""A filter's run, and one regression on all its samples, with systematic effects, that tests its assumptions.

    tau = known + Y pi + friction + sum of delta_i d_i + e        pi: of the open bodies, in each stretch of time

known is the torque of the parameters that the filter assumes known, Y pi that of its open bodies (`LinkTorques`). pi
has steps where they make the recording much likelier: a load is attached or removed. Columns v, sign(v) and 1 of each
joint absorb friction, which changes with the temperature. The residuals must not follow a gain of the torque, a joint's
zero, a delay or the clock, each a column d_i: the most likely is added until none matters. The effects of a
`SystematicFit`, as such columns, widen the filter's intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np

from ..accuracy import CAREFUL, Accuracy
from ..arrays import JointSamples, Matrix, Vector
from ..estimate import Finding
from ..estimate.uncertainty import raised
from ..models.robot.link_torques import LinkTorques
from ..parameters import Normal
from ..regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from ..signals.signals import Signals
from .case import DenseRows, Regression
from .effects import EFFECTS, Linearization
from .effects.effect import Profile
from .effects.efforts import Gain
from .systematic import EffectUncertainty, SystematicFit, torque_noise

MOST_SAMPLES = 1000
"""Largest number of samples, evenly spaced: more hardly improve this regression."""

MOST_CHANGES, SHORTEST = 4, 0.1
"""Largest number of steps of the open bodies, and the least part of the samples between two of them."""

LIKELIER = 12.0
"""Gain of log-likelihood, beyond one per parameter, that a change must make."""

TIMES, NEAR = 19, 1 / 40
"""Number of further times at which a step is tried, and the part of the samples by which its time is uncertain."""


class GainAgainstRobot(Gain):
    """The gain of a torque against that with which the known robot was identified, or its masses were described."""

    sentence = "The torque of {joint} is off by {size} against the known robot"
    unchecked = "the gain of the torque of joint {joint} against the known robot"
    together, relative = True, False


RUN_EFFECTS = tuple(GainAgainstRobot() if isinstance(effect, Gain) else effect for effect in EFFECTS)

SLOW = 0.02
"""Part of a joint's largest speed at which the smoothed dry friction has 76 % of its size."""


@dataclass(frozen=True, eq=False)
class TrackedMotion:
    """Samples that a filter processed.

    Args:
        time: (N,) [s]. starts: number of the first sample of each recording.
        q, v, a: (N, nq), (N, n), (N, n). tau: (N, n) efforts, bias taken off; NaN where there is no reading.
        outside: (N, l, 6) wrenches on the bodies.
    """

    time: Vector
    starts: tuple[int, ...]
    q: np.ndarray
    v: JointSamples
    a: JointSamples
    tau: JointSamples
    outside: np.ndarray


@dataclass(frozen=True, eq=False)
class FilterRun:
    """A filter's run, as its checks use it.

    Args:
        torques: the robot with its open bodies. motion: the processed samples.
        rejected: times at which the filter began to reject samples [s].
        squares: (N,) y^T S^-1 y of the innovations per row, NaN where a sample was not accepted.
        rejected_part: part of the samples whose innovation did not pass the gate. gate: the part expected by chance.
        bodies: (k, 10) of the open bodies at the end. std: (10 k,) of the filter. prior: (10 k,) at its start.
        possible: whether all open bodies are physically possible.
        accuracy: errors that the laboratory may have made.
    """

    torques: LinkTorques
    motion: TrackedMotion
    rejected: Vector
    squares: Vector
    rejected_part: float
    gate: float
    bodies: np.ndarray
    std: Vector
    prior: Vector
    possible: bool
    accuracy: Accuracy = CAREFUL
    explained: list[Finding] = field(default_factory=list)
    """Another assignment of the channels that was found: parts of wrong data predict nothing."""

    @cached_property
    def thin(self) -> TrackedMotion:
        """At most `MOST_SAMPLES`, without readings at reversals of a joint, where dry friction is undetermined."""
        every, m = -(-len(self.motion.time) // MOST_SAMPLES), self.motion
        starts = tuple(-(-start // every) for start in m.starts)
        turns = np.abs(m.v) < 2 * np.abs(m.a) * np.median(np.diff(m.time))
        tau = np.where(turns & (turns.mean(axis=0) < 0.5), np.nan, m.tau)
        q, v, a, tau, outside = (x[::every] for x in (m.q, m.v, m.a, tau, m.outside))
        return TrackedMotion(m.time[::every], starts, q, v, a, tau, outside)

    def rows(self, motion: TrackedMotion) -> tuple[np.ndarray, JointSamples]:
        """Y (N, n, 10 k) and known (N, n)."""
        N, n = motion.tau.shape
        Y, known = np.zeros((N, n, 10 * len(self.torques.links))), np.zeros((N, n))
        for k in range(N):
            self.torques.write(motion.q[k], motion.v[k], motion.a[k], motion.outside[k], Y[k], known[k])
        return Y, known

    def fit(
        self, motion: TrackedMotion, steps: tuple[int, ...], extra: tuple[JointSamples, ...] = ()
    ) -> Regression:
        """The regression; `steps`: samples at which the open bodies change; `extra`: (N, n) further columns."""
        read = np.isfinite(motion.tau)
        Y, known = self.known if motion.q is self.thin.q and motion.v is self.thin.v else self.rows(motion)
        tau, v = np.where(read, motion.tau, 0.0), np.where(read, motion.v, 0.0)
        numbers = np.searchsorted(steps, np.arange(len(tau)), side="right")
        bodies = [Y * ((numbers == k)[:, None] & read)[:, :, None] for k in range(len(steps) + 1)]
        friction = [x[:, :, None] * np.eye(tau.shape[1]) for x in (v, smooth_signs(v), 1.0 * read)]
        W = np.concatenate([*bodies, *friction, *(x[:, :, None] for x in extra)], axis=2)
        counts = np.maximum(read.sum(axis=0), 1)
        mean = tau.sum(axis=0) / counts
        size = np.sqrt(np.sum(np.where(read, tau - mean, 0.0) ** 2, axis=0) / counts)
        size = np.where(size > 0, size, max(float(size.max()), 1e-300))
        return Regression.of(DenseRows(W, np.where(read, tau - known, 0.0), np.zeros_like(tau)), size, counts)

    @cached_property
    def known(self) -> tuple[np.ndarray, JointSamples]:
        """The rows of the thinned motion."""
        return self.rows(self.thin)

    def without(self, steps: Iterable[int]) -> TrackedMotion:
        """The thinned motion without the readings about steps, whose times are uncertain by as much."""
        N = len(self.thin.time)
        near = [abs(np.arange(N) - step) < NEAR * N for step in steps if step not in self.thin.starts]
        gone = np.any([np.zeros(N, dtype=bool), *near], axis=0)
        return replace(self.thin, tau=np.where(gone[:, None], np.nan, self.thin.tau))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Samples at which the open bodies change: where recordings begin, and where a step makes them much likelier,
        in particular where the filter began to reject them.
        """
        N, found = len(self.thin.time), self.thin.starts[1:]
        grid = np.linspace(0, N, TIMES + 2).astype(int)[1:-1]
        times = [*np.searchsorted(self.thin.time, self.rejected).tolist(), *grid.tolist()]
        for _ in range(MOST_CHANGES):
            edges = np.array([0, *found, N])
            tried = {
                k: self.fit(self.without((*found, k)), tuple(sorted((*found, k))))
                for k in times
                if np.abs(edges - k).min() > SHORTEST * N
            }
            if not tried:
                break
            best = min(tried, key=lambda k: float(np.log(tried[k].sigma).sum()))
            now = self.fit(self.without((*found, best)), found)
            if likelier(now, tried[best]) < LIKELIER + 10 * len(self.torques.links):
                break
            found = tuple(sorted((*found, best)))
        return found

    @cached_property
    def settled(self) -> TrackedMotion:
        """The thinned motion without the readings about steps."""
        return self.without(self.steps)

    @cached_property
    def declared(self) -> Regression:
        """The regression as the project declares it."""
        return self.fit(self.settled, self.steps)

    def slope(self, change: Callable[[float], TrackedMotion], h: float) -> JointSamples:
        """(N, n) d torque / d nuisance at the fitted bodies."""
        pi = self.fitted[self.stretches]
        ends = [
            known + np.einsum("tnb, tb -> tn", Y, pi) for Y, known in map(self.rows, map(change, (h, -h)))
        ]
        return np.where(np.isfinite(self.settled.tau), (ends[0] - ends[1]) / (2 * h), 0.0)

    @cached_property
    def stretches(self) -> np.ndarray:
        """(N,) number of each sample's stretch."""
        return np.searchsorted(self.steps, np.arange(len(self.settled.time)), side="right")

    @cached_property
    def fitted(self) -> np.ndarray:
        """(s, 10 k) open bodies of each stretch."""
        return self.declared.theta[: self.bodies.size * (len(self.steps) + 1)].reshape(-1, self.bodies.size)

    @cached_property
    def systematic(self) -> RunFit | None:
        """The regression with systematic effects; None for floating bases, loops, and too few samples.

        An identified robot's parameters contain the laboratory's errors; only differences between recordings remain.
        """
        robot, count = self.torques.robot, self.bodies.size
        if robot.floating_base or robot.closure is not None or len(self.settled.time) < count:
            return None
        accuracy = self.accuracy if self.torques.nominal is None else self.accuracy.between_recordings()
        at, fit = RunLinearization.of(self, accuracy), self.declared
        last, read = count * len(self.steps), np.isfinite(self.settled.tau)
        effects = () if self.accuracy.exact else RUN_EFFECTS
        columns = (column for effect in effects for column in effect.columns(at))
        described = self.torques.described.ravel()
        theta = fit.theta.copy()
        theta[last : last + count] = self.bodies.ravel()
        return RunFit(
            W=fit.dense.W,
            y=fit.dense.y,
            theta=theta,
            columns=tuple(
                replace(column, values=column.values * read[:, :, None])
                for column in columns
                if column.size > 0
            ),
            counts=at.problem.row_counts,
            noise=torque_noise(self.motion.tau),
            priors=tuple(
                (last + k, Normal(mean, max(std, abs(value - mean))))
                for k, (mean, std, value) in enumerate(
                    zip(described.tolist(), self.prior.tolist(), self.bodies.ravel().tolist(), strict=True)
                )
            ),
            problem=at.problem,
            at=at,
            estimated=np.arange(len(fit.theta)),
            torque=np.where(read, self.settled.tau, 0.0),
            last=slice(last, last + count),
        )


@dataclass(frozen=True, eq=False, repr=False)
class RunUncertainty(EffectUncertainty):
    """Systematic errors of a filter's estimate; `examine` makes its run, which the checks share."""

    examine: Callable[[], FilterRun]

    @cached_property
    def run(self) -> FilterRun:
        return self.examine()

    @property
    def fit(self) -> RunFit | None:
        return self.run.systematic

    @cached_property
    def covariance(self) -> Matrix | None:
        """(10 k, 10 k) of the open bodies at the end, with what the filter knows by chance."""
        found = self._finite(lambda fit: cast("RunFit", fit).of_bodies)
        return None if found is None else raised(found, self.run.std**2)

    @cached_property
    def between_blocks(self) -> Vector | None:
        """None: bodies may change between blocks."""
        return None


@dataclass(frozen=True, eq=False)
class RunLinearization(Linearization):
    """That of a filter's run, with the open bodies as they are in each stretch."""

    run: FilterRun

    @classmethod
    def of(cls, run: FilterRun, accuracy: Accuracy) -> RunLinearization:
        motion, robot = run.settled, run.torques.robot
        parts = [
            Signals(motion.time[a:b], robot.joints, motion.q[a:b], motion.v[a:b], motion.a[a:b], tau)
            for a, b in pairwise([*motion.starts, len(motion.time)])
            for tau in [np.nan_to_num(motion.tau[a:b])]
        ]
        problem = inverse_dynamics(robot, parts)
        return cls(problem, np.zeros(len(problem.base)), accuracy, run)

    @cached_property
    def full(self) -> Vector:
        """(p,) those of the known robot with the mean of its open bodies."""
        torques = self.run.torques
        bodies = torques.known.copy()
        mean = self.run.fitted[self.run.stretches].mean(axis=0)
        bodies[torques.open_bodies] += mean.reshape(-1, 10)
        added = len(self.problem.parameters) - bodies.size
        return np.concatenate([bodies.ravel(), np.zeros(added) if torques.added is None else torques.added])

    def split(self, samples: np.ndarray) -> Profile:
        return np.split(samples, np.cumsum(self.problem.row_counts)[:-1])

    @cached_property
    def _more_friction(self) -> JointSamples:
        """(N, n) torques of the fitted friction."""
        run, n = self.run, self.run.settled.tau.shape[1]
        first = run.fitted.size
        terms = run.declared.theta[first : first + 3 * n].reshape(3, n)
        v = run.settled.v
        return np.asarray(terms[0] * v + terms[1] * smooth_signs(v) + terms[2])

    @cached_property
    def predicted(self) -> Profile:
        Y, known = self.run.known
        of_bodies = np.einsum("tnb, tb -> tn", Y, self.run.fitted[self.run.stretches])
        return self.split(known + of_bodies + self._more_friction)

    @cached_property
    def friction(self) -> Profile:
        return [
            own + more for own, more in zip(super().friction, self.split(self._more_friction), strict=True)
        ]

    @cached_property
    def _of_mean_bodies(self) -> Profile:
        return self.problem.sampled(self.full)

    def difference(self, other: InverseDynamics, step: float) -> Profile:
        changed = other.sampled(self.full)
        return [(new - old) / step for new, old in zip(changed, self._of_mean_bodies, strict=True)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RunFit(SystematicFit):
    """Open bodies and systematic effects of a run. `torque`: (N, n) measured. `last`: places of the last stretch."""

    torque: JointSamples
    last: slice

    @property
    def readings(self) -> JointSamples:
        return self.torque

    @property
    def of_bodies(self) -> Matrix:
        """(10 k, 10 k) covariance of the open bodies in the last stretch."""
        return self.covariance[self.last, self.last]


def smooth_signs(v: JointSamples) -> JointSamples:
    """Signs that are smooth at reversals of a joint: noise must not decide them."""
    return np.asarray(np.tanh(v / (SLOW * np.maximum(np.abs(v).max(axis=0), 1e-12))))


def likelier(one: Regression, other: Regression) -> float:
    """Gain of log-likelihood of the other regression; correlated residuals count as fewer."""
    return float(other.effective_rows @ np.log(one.sigma / other.sigma))
