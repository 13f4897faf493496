"""Filters of the mass properties of a few links, one sample at a time (seed 004, Sect. III).

    predict   x stays, P <- P + Q dt                            Eqs. 10, 12, 18
    update    y = dtau - Y pi(x),  H = Y dpi/dx                 Eqs. 11, 15, 19 to 21
              dtau = tau - bias - tau_nom + sum of J^T wrench   Eq. 14

A filter is a value, and so is its belief: nothing is hidden, and a belief can be kept, compared and gone back to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod
from ...inertia.divergence import metric
from ...inertia.parameters import is_consistent
from ...models.link_torques import LinkTorques
from .belief import Belief, Innovation, Sample, Verdict
from .gating import Gate
from .square_root import enlarge, update

MOST_SURPRISE = 100.0
"""y^T S^-1 y per row beyond this is an accident."""

NEW_SHARE = 0.02
"""Of a sample in the average surprise."""

LONGEST_STEP = 1.0
"""No coordinate moves by more than this in one update: a chart is only linear nearby, and e is far."""


@dataclass(frozen=True, eq=False)
class Filter(ABC):
    """Kalman's filter on coordinates of the open bodies.

    Args:
        torques: the robot with its open bodies.
        noise: (n,) or one value: standard deviation of an effort row, model errors included [N m] or [N].
        initial_std: relative standard deviation of a body as a whole at the start.
        drift: by how much a body as a whole may change, relative, in a second (random walk, per square root of s).
        gate: which samples to reject; None: none.
        bias: (n,) constant efforts that the model does not explain, see `calibrate_bias`.
        memory_s: after how long samples are forgotten in what `Belief.seen` and `surprise` say [s].
        adaptive: whether drift grows with the surprise: a link that changes faster than was said is then followed.
    """

    torques: LinkTorques
    noise: Vector | float
    initial_std: float = 0.3
    drift: float = 0.1
    gate: Gate | None = field(default_factory=Gate)
    bias: Vector | float = 0.0
    memory_s: float = 2.0
    adaptive: bool = False

    def __post_init__(self) -> None:
        n = self.torques.robot.model.nv
        noise = np.asarray(self.noise, dtype=float)
        if noise.shape not in ((), (n,)) or not (np.isfinite(noise).all() and np.all(noise > 0)):
            raise InvalidMethod(f"noise needs one standard deviation above 0, or one for each of {n} efforts")
        if not 0 < self.initial_std < np.inf or not 0 <= self.drift < np.inf:
            raise InvalidMethod(
                f"initial_std must be above 0 and drift at least 0, not {self.initial_std:g} and {self.drift:g}"
            )
        bias = np.asarray(self.bias, dtype=float)
        if bias.shape not in ((), (n,)) or not np.isfinite(bias).all():
            raise InvalidMethod(f"bias needs one finite effort, or one for each of {n}")
        if not self.memory_s > 0:
            raise InvalidMethod(f"memory_s must be above 0, not {self.memory_s:g}")

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
    def slope(self, x: Vector) -> np.ndarray:
        """(k, 10, 10) dpi/dx of each body by its own coordinates."""

    def init(self, pi: np.ndarray | None = None) -> Belief:
        """The belief before the first sample.

        Args:
            pi: (k, 10) what the open bodies are taken for; None: the description's.

        Raises:
            ImpossibleBody: if one is flat, a point, or impossible.
        """
        pi = self.torques.robot.inertials[self.torques.open_bodies] if pi is None else pi
        x = self.coordinates(np.ascontiguousarray(pi, dtype=float))
        unit = self._unit_root(x)
        return Belief(np.nan, x, self.initial_std * unit, unit, np.zeros((self.size, self.size)))

    def _unit_root(self, x: Vector) -> Matrix:
        """(d, d) root of the covariance of bodies that are known to a factor of 1 +- 1, as the metric counts."""
        root = np.zeros((self.size, self.size))
        for k, (pi, D) in enumerate(zip(self.inertial(x), self.slope(x), strict=True)):
            ten = slice(10 * k, 10 * k + 10)
            G = D.T @ metric(pi) @ D / 4
            root[ten, ten] = np.linalg.inv(np.linalg.cholesky(G)).T
        return root

    def predict(self, belief: Belief, time: float) -> Belief:
        """The belief at a later time: as it was, and less sure."""
        dt = 0.0 if np.isnan(belief.time) else time - belief.time
        if dt <= 0:
            return replace(belief, time=time)
        kept = np.exp(-dt / self.memory_s)
        root = belief.root
        if self.drift > 0:
            drift = self.drift * (
                np.sqrt(np.clip(belief.surprise, 1.0, MOST_SURPRISE)) if self.adaptive else 1.0
            )
            root = np.empty_like(belief.root)
            enlarge(belief.root, np.sqrt(dt) * drift * belief.unit, root)
        surprise = 1 + kept * (belief.surprise - 1)
        return replace(belief, time=time, root=root, seen=kept * belief.seen, surprise=surprise)

    def update(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """The belief after a sample of the same time, and what became of the sample."""
        if not (np.isfinite(sample.q).all() and np.isfinite(sample.v).all() and np.isfinite(sample.a).all()):
            return belief, Innovation(Verdict.unusable, np.nan, 0)
        n = len(sample.v)
        Y, tau_nom = np.zeros((n, self.size)), np.zeros(n)
        self.torques.write(sample.q, sample.v, sample.a, self.torques.outside(sample.wrenches), Y, tau_nom)
        y = sample.tau - self.bias - tau_nom - Y @ self.inertial(belief.x).ravel()
        good = np.isfinite(y)
        if sample.trusted is not None:
            good &= sample.trusted
        w = np.where(good, self._information, 0.0)
        H = self._through(Y, self.slope(belief.x))
        d = self.size
        step, root, A = np.empty(d), np.empty((d, d)), np.empty((d, d))
        square, log_det, rows = update(belief.root, H, np.where(good, y, 0.0), w, step, root, A)
        if rows == 0 or not np.isfinite(square):
            return belief, Innovation(Verdict.unusable, np.nan, int(rows))
        threshold = np.inf if self.gate is None else self.gate.threshold(int(rows))
        likelihood = -0.5 * (square + log_det + rows * np.log(2 * np.pi))
        belief = replace(belief, surprise=self._surprise(belief, square / rows))
        if square > threshold:
            assert self.gate is not None
            gated = Innovation(Verdict.gated, square, int(rows), threshold, likelihood)
            return self.gate.rejected(belief, gated)
        longest = float(np.abs(step).max()) if self.curved else 0.0
        x = belief.x + step * min(1.0, LONGEST_STEP / longest if longest > 0 else 1.0)
        belief = replace(belief, x=x, root=root, seen=belief.seen + A, rejected=0)
        return belief, Innovation(Verdict.accepted, square, int(rows), threshold, likelihood)

    def _surprise(self, belief: Belief, square: float) -> float:
        """The average with one more sample, of which none counts for more than `MOST_SURPRISE`."""
        return belief.surprise + NEW_SHARE * (min(square, MOST_SURPRISE) - belief.surprise)

    def step(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """Predict to a sample and update with it; one that is not later than the last is not used."""
        if not np.isfinite(sample.time) or sample.time <= belief.time:
            return belief, Innovation(Verdict.late, np.nan, 0)
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

    def _through(self, Y: Matrix, D: np.ndarray) -> Matrix:
        """(n, d) H = Y dpi/dx."""
        if len(D) == 1:
            return Y @ D[0]
        return np.concatenate([Y[:, 10 * k : 10 * k + 10] @ D[k] for k in range(len(D))], axis=1)

    def physical(self, belief: Belief) -> bool:
        """Whether every open body is one that can be."""
        return bool(is_consistent(self.inertial(belief.x)).all())
