"""Filters of the mass properties of a few links, one sample at a time (seed 004, Sect. III).

    predict   x stays, P <- e^(-2 c dt) P + (1 - e^(-2 c dt)) P_max     Eqs. 10, 12, 18
    update    y = dtau - Y pi(x),  H = Y dpi/dx                         Eqs. 11, 15, 19 to 21
              dtau = tau - bias - tau_nom + sum of J^T wrench           Eq. 14

With U a root of the covariance of a body that is known to a factor of 1 +- 1, the random walk of the paper has
Q = drift^2 U U^T a second. It winds up: after ten minutes of standstill a chart filter would believe anything, and the
next motion throw it far. Here P grows as fast as that where it is small, and no further than
P_max = largest_std^2 U U^T: 2 c P_max = Q, so c = (drift / largest_std)^2 / 2. For P <= P_max this is the walk with Q
made smaller where P is large; what motion shows is far below, and notices nothing.

A filter is a value, and so is its belief: nothing is hidden, and a belief can be kept, compared and gone back to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod, InvalidSignals
from ...inertia.divergence import metric
from ...inertia.parameters import is_consistent, pseudo_inertia
from ...models.link_torques import LinkTorques
from .belief import Belief, Innovation, Sample, InitialBelief, SampleVerdict
from .correction import correct, plausible
from .gating import Gate
from .square_root import enlarge, update

MOST_SURPRISE = 100.0
"""y^T S^-1 y per row beyond this is an accident."""

NEW_SHARE = 0.02
"""Of a sample in the average surprise."""

LONGEST_STEP = 1.0
"""No coordinate moves by more than this in one update: e is far. What was not believed makes a filter no surer."""

STRAIGHT = 0.1
"""An update on a chart is repeated from where it led to until the chart bends by less, in standard deviations."""

FURTHEST = 1e6
"""Factor by which a body may differ from what it was at the start: mass, or a second moment of mass."""

LIGHTEST = 1e-3
"""Of the same: a body lighter than that moves so little that no doubts let a sample pass (`gating.MOST_DOUBT`)."""

ROUNDEST = 0.05
"""Least squared length that a change of coordinates by 1 has; without turns, of a body of less than 3 m, it is 0.2."""

CLOCK_SET_ANEW = 10.0
"""A sample that is late by more than this is not late: the clock was set back, or had jumped ahead [s]."""

LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Filter(ABC):
    """Kalman's filter on coordinates of the open bodies.

    Args:
        torques: the robot with its open bodies.
        noise: (n,) or one value: standard deviation of an effort row, model errors included [N m] or [N].
        initial_std: relative standard deviation of a body as a whole at the start.
        drift: by how much a body as a whole may change, relative, in a second (random walk, per square root of s).
        largest_std: relative standard deviation up to which drift makes a body unknown again.
        gate: which samples to reject; None: none.
        bias: (n,) constant efforts that the model does not explain, see `calibrate_bias`.
        memory_s: after how long samples are forgotten in what `Belief.seen` and `surprise` say [s].
        adaptive: whether drift grows with the surprise: a link that changes faster than was said is then followed.
        iterations: how often an update on a chart is repeated at most; 0: the paper's, too sure where it leads far.
    """

    name: ClassVar[str]
    citations: ClassVar[tuple[str, ...]]

    torques: LinkTorques
    noise: Vector | float
    initial_std: float = 0.3
    drift: float = 0.1
    largest_std: float = 1.0
    gate: Gate | None = field(default_factory=Gate)
    bias: Vector | float = 0.0
    memory_s: float = 2.0
    adaptive: bool = False
    iterations: int = 10

    def __post_init__(self) -> None:
        n = self.torques.robot.model.nv
        noise = np.asarray(self.noise, dtype=float)
        if noise.shape not in ((), (n,)) or not (np.isfinite(noise).all() and np.all(noise > 0)):
            raise InvalidMethod(f"noise needs one standard deviation above 0, or one for each of {n} efforts")
        if not 0 < self.initial_std < np.inf or not 0 <= self.drift < np.inf:
            raise InvalidMethod(
                f"initial_std must be above 0 and drift at least 0, not {self.initial_std:g} and {self.drift:g}"
            )
        if not self.initial_std <= self.largest_std < np.inf:
            raise InvalidMethod(
                f"largest_std must be at least initial_std, {self.initial_std:g}, not {self.largest_std:g}"
            )
        bias = np.asarray(self.bias, dtype=float)
        if bias.shape not in ((), (n,)) or not np.isfinite(bias).all():
            raise InvalidMethod(f"bias needs one finite effort, or one for each of {n}")
        if not self.memory_s > 0:
            raise InvalidMethod(f"memory_s must be above 0, not {self.memory_s:g}")
        if self.iterations < 0:
            raise InvalidMethod(f"iterations must be at least 0, not {self.iterations}")

    @property
    def size(self) -> int:
        """d: ten coordinates for each open body."""
        return 10 * len(self.torques.links)

    @abstractmethod
    def coordinates(self, pi: np.ndarray) -> Vector:
        """(d,) x of bodies (k, 10)."""

    @abstractmethod
    def inertial(self, x: Vector) -> np.ndarray:
        """(k, 10) bodies of coordinates (d,)."""

    @abstractmethod
    def jacobian(self, x: Vector) -> np.ndarray:
        """(k, 10, 10) dpi/dx of each body by its own coordinates."""

    def init(self, pi: np.ndarray | None = None) -> Belief:
        """The belief before the first sample.

        Args:
            pi: (k, 10) what the open bodies are taken for; None: the description's.

        Raises:
            ImpossibleBody: if one is flat, a point, or impossible.
        """
        pi = self.torques.described if pi is None else pi
        x = self.coordinates(np.ascontiguousarray(pi, dtype=float))
        unit = self._unit_root(x)
        seen = np.zeros((self.size, self.size))
        return Belief(math.nan, x, self.initial_std * unit, unit, seen, self._start(x))

    def _start(self, x: Vector) -> InitialBelief:
        if not self.curved:
            return InitialBelief(x, np.zeros((0, 4, 4)))
        L = np.linalg.cholesky(pseudo_inertia(self.inertial(x)))
        return InitialBelief(x, np.ascontiguousarray(np.swapaxes(np.linalg.inv(L), -1, -2)))

    def _unit_root(self, x: Vector) -> Matrix:
        """(d, d) root of the covariance of bodies that are known to a factor of 1 +- 1, as the metric counts.

        Coordinates that hardly move the body (turns of one that is nearly round) are known to +- 4.5, not +- infinity.
        """
        root = np.zeros((self.size, self.size))
        for k, (pi, D) in enumerate(zip(self.inertial(x), self.jacobian(x), strict=True)):
            ten = slice(10 * k, 10 * k + 10)
            G = D.T @ metric(pi) @ D / 4
            if self.curved:
                size, axes = np.linalg.eigh(G)
                G += (axes * np.maximum(ROUNDEST - size, 0.0)) @ axes.T
            root[ten, ten] = np.linalg.inv(np.linalg.cholesky(G)).T
        return root

    def predict(self, belief: Belief, time: float) -> Belief:
        """The belief at a later time: as it was, and less sure."""
        dt = 0.0 if np.isnan(belief.time) else time - belief.time
        if dt <= 0:
            return replace(belief, time=time)
        remembered = math.exp(-dt / self.memory_s)
        root = belief.root
        if self.drift > 0:
            surprise = min(max(belief.surprise, 1.0), MOST_SURPRISE) if self.adaptive else 1.0
            c_dt = 0.5 * dt * surprise * (self.drift / self.largest_std) ** 2
            root = np.empty_like(belief.root)
            added = self.largest_std * math.sqrt(-math.expm1(-2 * c_dt))
            enlarge(belief.root, math.exp(-c_dt), belief.unit, added, root)
        surprise = 1 + remembered * (belief.surprise - 1)
        return Belief(
            time, belief.x, root, belief.unit, remembered * belief.seen, belief.start, surprise,
            belief.rejected, belief.doubts,
        )  # fmt: skip

    def update(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """The belief after a sample of the same time, and what became of the sample.

        Raises:
            InvalidSignals: if the sample is not of this robot.
        """
        d, n, nq = self._sizes
        # copies are contiguous, writable floats, for which the kernels are compiled
        q, v, a = np.array(sample.q, float), np.array(sample.v, float), np.array(sample.a, float)
        tau = np.array(sample.tau, float)
        trusted = self._all_rows if sample.trusted is None else np.asarray(sample.trusted, bool)
        if not (q.shape == (nq,) and v.shape == a.shape == tau.shape == trusted.shape == (n,)):
            raise InvalidSignals(
                f"a sample of this robot has {nq} configuration variables, and {n} velocities, accelerations, "
                f"efforts and trusted rows; not {q.size}, {v.size}, {a.size}, {tau.size} and {trusted.size}"
            )
        Y, tau_nom = np.zeros((n, d)), np.zeros(n)
        self.torques.write(q, v, a, self.torques.outside(sample.wrenches), Y, tau_nom)
        x, root, seen = np.empty(d), np.empty((d, d)), np.empty((d, d))

        def correct_at(at: Vector) -> tuple[float, float, int, float]:
            return correct(
                q, v, a, tau, trusted, self._bias, self._information, Y, tau_nom, self.inertial(at), self.jacobian(at),
                at, LONGEST_STEP if self.curved else np.inf, belief.x, belief.root, belief.seen, x, root, seen,
            )  # fmt: skip

        square, log_det, rows, bend = correct_at(belief.x)
        if rows == 0 or not math.isfinite(square):
            return belief, Innovation(SampleVerdict.unusable, math.nan, rows)
        surprise = self._surprise(belief, square / rows)
        threshold = math.inf if self.gate is None else self.gate.threshold(rows)
        likelihood = -0.5 * (square + log_det + rows * LOG_2_PI)
        if self.gate is not None and square > threshold and not belief.doubts:
            gated = Innovation(SampleVerdict.gated, square, rows, threshold, likelihood)
            belief, gated = self.gate.rejected(replace(belief, surprise=surprise), gated)
            if gated.verdict is SampleVerdict.reopened and not self._plausible(belief, belief.x, LIGHTEST):
                return self._again(belief), replace(gated, verdict=SampleVerdict.restarted)
            return belief, gated
        if self.curved and (bend > STRAIGHT or not self.iterations):
            root = self._settled(belief, x, root, correct_at)
        if not self._plausible(belief, x, 1 / FURTHEST):
            restarted = Innovation(SampleVerdict.restarted, square, rows, threshold, likelihood)
            return self._again(replace(belief, surprise=surprise)), restarted
        rejected, doubts = max(belief.rejected - 1, 0), max(belief.doubts - 1, 0)
        if self.gate is not None and belief.rejected > self.gate.patience:
            root, rejected, doubts = self._reassured(belief, root), 0, self.gate.patience
        accepted = Innovation(SampleVerdict.accepted, square, rows, threshold, likelihood)
        return Belief(
            belief.time, x, root, belief.unit, seen, belief.start, surprise, rejected, doubts
        ), accepted

    def _settled(
        self, belief: Belief, x: Vector, root: Matrix, correct_at: Callable[[Vector], tuple[float, ...]]
    ) -> Matrix:
        """Repeat a correction from where it led to, x, and cut its way short; the root of the covariance there."""
        for _ in range(self.iterations):
            if correct_at(x.copy())[-1] <= STRAIGHT:
                break
        else:
            root = belief.root if self.iterations else root
        way = x - belief.x
        furthest = np.abs(way).max()
        if not furthest < LONGEST_STEP:
            x[:] = belief.x + way * (LONGEST_STEP / furthest)
            return belief.root
        return root

    def _plausible(self, belief: Belief, x: Vector, least: float) -> bool:
        return not self.curved or plausible(belief.start.whitening, self.inertial(x), least, FURTHEST)

    def _again(self, belief: Belief) -> Belief:
        """From the start, and open to whatever the next samples say."""
        doubts = 0 if self.gate is None else self.gate.patience
        root = self.largest_std * belief.unit
        return replace(belief, x=belief.start.x, root=root, rejected=0, doubts=doubts)

    def _reassured(self, belief: Belief, root: Matrix) -> Matrix:
        """Root of the covariance after the gate opened: what the samples did not show is no less known than P_max."""
        d = self.size
        least = np.linalg.inv(belief.unit) / self.largest_std
        step, bounded, information = np.empty(d), np.empty((d, d)), np.empty((d, d))
        update(root, least, np.zeros(d), np.ones(d), step, bounded, information)
        return bounded

    def _surprise(self, belief: Belief, square: float) -> float:
        """The average with one more sample, of which none counts for more than `MOST_SURPRISE`."""
        return belief.surprise + NEW_SHARE * (min(square, MOST_SURPRISE) - belief.surprise)

    def step(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """Predict to a sample and update with it; one that is not later than the last is not used."""
        if not math.isfinite(sample.time) or 0 <= belief.time - sample.time < CLOCK_SET_ANEW:
            return belief, Innovation(SampleVerdict.late, np.nan, 0)
        return self.update(self.predict(belief, sample.time), sample)

    def run(
        self, samples: Iterable[Sample], belief: Belief | None = None
    ) -> Iterator[tuple[Belief, Innovation]]:
        """Belief and innovation after each sample, as they come."""
        belief = self.init() if belief is None else belief
        for sample in samples:
            belief, innovation = self.step(belief, sample)
            yield belief, innovation

    @property
    def curved(self) -> bool:
        """Whether the coordinates are a chart, in which steps must be short."""
        return True

    @cached_property
    def _information(self) -> Vector:
        n = self.torques.robot.model.nv
        return np.broadcast_to(1 / np.asarray(self.noise, dtype=float) ** 2, (n,)).copy()

    @cached_property
    def _sizes(self) -> tuple[int, int, int]:
        """d, n, nq."""
        return self.size, self.torques.robot.model.nv, self.torques.robot.model.nq

    @cached_property
    def _bias(self) -> Vector:
        return np.broadcast_to(np.asarray(self.bias, dtype=float), self._information.shape).copy()

    @cached_property
    def _all_rows(self) -> np.ndarray:
        return np.ones(len(self._information), dtype=bool)

    def physical(self, belief: Belief) -> bool:
        """Whether every open body is one that can be."""
        return bool(is_consistent(self.inertial(belief.x)).all())
