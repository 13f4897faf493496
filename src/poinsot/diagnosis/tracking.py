"""A filter's run, and one regression on all its samples that tests the filter's assumptions.

    tau = known + Y pi + friction + sum of delta_i d_i + e        pi: of the open bodies, in each stretch of time

known is the torque of the parameters that the filter assumes known, Y pi that of its open bodies (`LinkTorques`). pi
has steps where they make the recording much likelier: a load is attached or removed. Columns v, sign(v) and 1 of each
joint absorb friction, which changes with the temperature. The residuals must not follow a gain of the torque, a joint's
zero,
a delay or the clock, each a column d_i: the most likely is added until none matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import JointSamples, Vector
from ..models.robot.link_torques import LinkTorques
from .case import DenseRows, Regression

MOST_SAMPLES = 1000
"""Largest number of samples, evenly spaced: more hardly improve this regression."""

MOST_CHANGES, SHORTEST = 4, 0.1
"""Largest number of steps of the open bodies, and the least part of the samples between two of them."""

LIKELIER = 12.0
"""Gain of log-likelihood, beyond one per parameter, that a change must make."""

TIMES, NEAR = 19, 1 / 40
"""Number of further times at which a step is tried, and the part of the samples by which its time is uncertain."""

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
        mass, std: (k,) of the open bodies [kg]. described: (k,) their prior masses [kg].
        possible: whether all open bodies are physically possible.
    """

    torques: LinkTorques
    motion: TrackedMotion
    rejected: Vector
    squares: Vector
    rejected_part: float
    gate: float
    mass: Vector
    std: Vector
    described: Vector
    possible: bool

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
        # a sign that is smooth at reversals of a joint: noise must not decide it
        sign = np.tanh(v / (SLOW * np.maximum(np.abs(v).max(axis=0), 1e-12)))
        friction = [x[:, :, None] * np.eye(tau.shape[1]) for x in (v, sign, 1.0 * read)]
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
        numbers = np.searchsorted(self.steps, np.arange(len(self.settled.time)), side="right")
        bodies = self.declared.theta[: 10 * len(self.torques.links) * (len(self.steps) + 1)]
        pi = bodies.reshape(len(self.steps) + 1, -1)[numbers]
        ends = [
            known + np.einsum("tnb, tb -> tn", Y, pi) for Y, known in map(self.rows, map(change, (h, -h)))
        ]
        return np.where(np.isfinite(self.settled.tau), (ends[0] - ends[1]) / (2 * h), 0.0)


def likelier(one: Regression, other: Regression) -> float:
    """Gain of log-likelihood of the other regression; correlated residuals count as fewer."""
    return float(other.effective_rows @ np.log(one.sigma / other.sigma))
