"""Filters of the mass properties of a few links, one sample at a time (Foster et al. 2024, Sect. III).

    predict   x stays, P <- e^(-2 c dt) P + (1 - e^(-2 c dt)) P_max     Eqs. 10, 12, 18
    update    y = dtau - Y pi(x),  H = Y dpi/dx                         Eqs. 11, 15, 19 to 21
              dtau = tau - bias - tau_nom + sum of J^T wrench           Eq. 14

With U a root of the covariance of a body that is known to a factor of 1 +- 1, the random walk of the paper has process
noise Q = drift^2 U U^T per second. It winds up: after ten minutes of standstill the covariance is so large that the
next motion changes the estimate by far too much. Here P grows at the same rate where it is small, and never beyond
P_max = largest_std^2 U U^T: 2 c P_max = Q, so c = (drift / largest_std)^2 / 2. For P <= P_max this is the random walk
with smaller Q where P is large; in directions that the motion excites P is far smaller, and the difference negligible.

Filters and beliefs are immutable values: a belief can be kept, compared and returned to.

**The gate** rejects improbable samples (Foster et al. 2024, Eq. 22). If assumptions hold, y^T S^-1 y is chi-square with
as many degrees of freedom as rows, so a confidence level sets the part of good samples that is rejected: with 0.999,
one in a thousand.

Repeated rejections are due to a change, or to noise larger than assumed, not to impacts. A counter goes up by one at a
rejection and down by one at an acceptance; above `patience` the covariance grows by a factor at each further rejection,
until a sample passes. Its growth is bounded: residuals that no body explains are not due to a body.
Counting consecutive rejections would not suffice: a wrong belief accepts the few samples that happen to agree with it,
the counter restarts, and the belief stays wrong. For the same reason the first accepted sample is not enough, and the
next `patience` samples pass with any innovation.

**Two filters**: linear on the ten parameters, and extended on a chart of inertia (III-B and C). The linear one, without
constraints, is the baseline of the paper: under weak excitation its estimates become physically impossible. Every
belief of the extended one is a possible body: use it for controllers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from scipy import special

from ...arrays import Brief, Matrix, Vector
from ...estimate import Estimate, Status
from ...exceptions import InvalidMethod, InvalidSignals
from ...inertia.charts.log_cholesky import LogCholesky
from ...inertia.divergence import metric
from ...inertia.parameters import is_consistent, pseudo_inertia
from ...inertia.parametrization import Kernels, Parametrization
from ...kernels import njit
from ...models.robot.link_torques import LinkTorques
from ...ranges import Count, Fraction, NotNegative, Positive, check_ranges
from ...solve import Method, ProgressCallback, Stop
from .belief import Belief, InitialBelief, Innovation, Sample, SampleVerdict
from .correction import ACCEPTED, GATED, UNUSABLE, plausible, predict, step_kernel, update
from .problem import TrackingProblem
from .tracking import Tracker


@dataclass(frozen=True)
class Gate:
    """Rejects samples whose innovation is improbable.

    Args:
        confidence: fraction of good samples that pass.
        patience: rejections, less acceptances, above which the covariance grows; and samples that then pass unchecked.
        growth: factor of the standard deviations at each further rejection.
        largest_std: relative standard deviation of a body as a whole up to which they grow: no load is more than a
            thousand times its link.
    """

    confidence: Fraction = 0.999
    patience: Count = 100
    growth: Annotated[float, Gt(1)] = 1.1
    largest_std: float = 1000.0

    def __post_init__(self) -> None:
        check_ranges(self)

    def threshold(self, rows: int) -> float:
        """Largest accepted y^T S^-1 y of `rows` rows: the chi-square threshold."""
        # chdtri is the inverse of the upper tail: scipy.stats takes half a second to import
        return float(special.chdtri(rows, 1 - self.confidence))

    def rejected(self, belief: Belief) -> tuple[Belief, SampleVerdict]:
        """Count a rejection; enlarge the covariance where there are more than `patience`."""
        belief = belief._replace(rejected=belief.rejected + 1)
        if belief.rejected <= self.patience:
            return belief, SampleVerdict.gated
        # Frobenius norm over sqrt(d): 1 for the covariance of a body known to a factor of 1 +- 1
        relative = np.linalg.norm(np.linalg.solve(belief.unit, belief.root)) / np.sqrt(len(belief.root))
        growth = self.growth if relative < self.largest_std else 1.0
        return belief.having(root=belief.root * growth), SampleVerdict.reopened


_ACCEPTED = SampleVerdict.accepted
"""Taken from its enumeration once, not at every tick."""


@dataclass(frozen=True)
class Safeguards:
    """Limits that protect a filter against any samples; good samples do not reach them.

    Args:
        longest_step: largest change of a coordinate of a chart in one update [1]; e changes a mass by more than seven
            times, where no linearization holds. A shortened update does not change the covariance.
        bend: largest nonlinearity [posterior standard deviations]. An update on a chart is repeated from its result
            until the chart's second order, step^2 / 2, is below: a tenth adds 0.5 % to a standard deviation.
        body_factor: ratio to the initial body, of mass or a second moment of mass, at which the filter restarts; no
            load is a million times a link.
        lightest: the same ratio below which a filter that rejects its samples restarts: a lighter body affects efforts
            so little that no growth of the covariance (`Gate.largest_std`) lets a sample pass.
        roundest: least squared length, in the metric of inertia, of a change of coordinates by 1. Turns of a round body
            have none; without a bound its covariance would be infinite. Bodies of less than 3 m have 0.2 in the others.
        clock_jump_s: lateness of a sample from which on the clock was set back, or had jumped ahead [s].
        surprise_share: weight of a sample in the average surprise: fifty samples, as chi-square needs for 20 %.
        largest_surprise: bound of y^T S^-1 y per row in the average: beyond, it is an outlier, not noise.
        lost_surprise: average surprise from which a filter without a gate counts as rejecting its samples, for
            `lightest`. It is 1 where assumptions hold; half of `largest_surprise` takes 35 impossible samples in a
            row.
    """

    longest_step: float = 1.0
    bend: float = 0.1
    body_factor: float = 1e6
    lightest: float = 1e-3
    roundest: float = 0.05
    clock_jump_s: float = 10.0
    surprise_share: float = 0.02
    largest_surprise: float = 100.0
    lost_surprise: float = 50.0


@dataclass(frozen=True, eq=False)
class Filter(Method, ABC):
    """Kalman filter on coordinates of the open bodies.

    Args:
        torques: the robot with its open bodies.
        noise: (n,) or one value: standard deviation of an effort row, model errors included [N m] or [N].
        initial_std: relative standard deviation of a body as a whole at the start.
        drift: relative standard deviation of the change of a body as a whole in a second (random walk) [1/sqrt(s)].
        largest_std: relative standard deviation that drift approaches.
        gate: rejects improbable samples; None: all are used.
        bias: (n,) constant efforts that the model does not explain, see `calibrate_bias` [N m] or [N].
        memory_s: time constant of `Belief.information` and `Belief.surprise` [s].
        adaptive: whether drift grows with the surprise, to track a link that changes faster than `drift`.
        iterations: largest number of repetitions of an update on a chart; 0: the plain extended filter, overconfident
            after long steps.
        safeguards: limits that good samples do not reach.
    """

    name: ClassVar[str]
    citations: ClassVar[tuple[str, ...]]
    curved: ClassVar[bool] = True
    """Whether the coordinates are a chart of possible bodies, on which updates are nonlinear."""

    torques: LinkTorques
    noise: Vector | float
    initial_std: Positive = 0.3
    drift: NotNegative = 0.1
    largest_std: Positive = 1.0
    gate: Gate | None = field(default_factory=Gate)
    bias: Vector | float = 0.0
    memory_s: Positive = 2.0
    adaptive: bool = False
    iterations: Annotated[int, Ge(0)] = 10
    safeguards: Safeguards = field(default_factory=Safeguards)

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.torques.robot.model.nv
        for name, values, least in (("noise", self.noise, 0.0), ("bias", self.bias, -np.inf)):
            array = np.asarray(values, dtype=float)
            if array.shape not in ((), (n,)) or not (np.isfinite(array).all() and (array > least).all()):
                what = "standard deviation above 0" if name == "noise" else "finite effort"
                raise InvalidMethod(f"{name} needs one {what}, or one for each of {n} efforts")
        if not self.initial_std <= self.largest_std < np.inf:
            raise InvalidMethod(
                f"largest_std must be at least initial_std, {self.initial_std:g}, not {self.largest_std:g}"
            )

    @property
    def size(self) -> int:
        """d: ten coordinates for each open body."""
        return 10 * len(self.torques.links)

    @abstractmethod
    def coordinates(self, pi: np.ndarray) -> Vector:
        """(d,) coordinates x of bodies (k, 10)."""

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """The compiled chart."""

    def inertial(self, x: Vector) -> np.ndarray:
        """(k, 10) bodies of coordinates x (d,)."""
        theta = x.reshape(-1, 10)
        pi = np.empty(theta.shape)
        self.kernels.to_inertial(theta, pi)
        return pi

    def jacobian(self, x: Vector) -> np.ndarray:
        """(k, 10, 10) dpi/dx of each body by its own ten coordinates."""
        theta = x.reshape(-1, 10)
        D = np.empty((len(theta), 10, 10))
        self.kernels.jacobian(theta, D)
        return D

    def init(self, pi: np.ndarray | None = None) -> Belief:
        """The belief before the first sample.

        Args:
            pi: (k, 10) initial guess of the open bodies; None: the description's.

        Raises:
            ImpossibleBody: if one is flat, a point, or impossible.
        """
        pi = self.torques.described if pi is None else pi
        x = self.coordinates(np.ascontiguousarray(pi, dtype=float))
        unit = self._unit_root(x)
        state = np.vstack((x, self.initial_std * unit, np.zeros(unit.shape)))
        return Belief(math.nan, state, InitialBelief(x, unit, self._whitening(x)))

    def _whitening(self, x: Vector) -> np.ndarray:
        if not self.curved:
            return np.zeros((0, 4, 4))
        # J = L L^T, so W = L^-T gives W^T J W = 1
        L = np.linalg.cholesky(pseudo_inertia(self.inertial(x)))
        return np.ascontiguousarray(np.swapaxes(np.linalg.inv(L), -1, -2))

    def _unit_root(self, x: Vector) -> Matrix:
        """(d, d) root of the covariance of bodies that are known to a factor of 1 +- 1, in the metric of inertia.

        Coordinates that hardly move the body (turns of one that is nearly round) are known to +- 4.5, not +- infinity:
        1 / sqrt(roundest).
        """
        root = np.zeros((self.size, self.size))
        for k, (pi, D) in enumerate(zip(self.inertial(x), self.jacobian(x), strict=True)):
            ten = slice(10 * k, 10 * k + 10)
            # a quarter: scaling a body by e^s has the length 2 s in this metric
            G = D.T @ metric(pi) @ D / 4
            if self.curved:
                # only what is short is lengthened: the metric of other directions stays exact
                size, axes = np.linalg.eigh(G)
                G += (axes * np.maximum(self.safeguards.roundest - size, 0.0)) @ axes.T
            # G = M^T M with a lower triangular M, whose inverse is one too, as updates keep it
            root[ten, ten] = np.linalg.inv(np.linalg.cholesky(G[::-1, ::-1])[::-1, ::-1].T)
        return root

    def predict(self, belief: Belief, time: float) -> Belief:
        """The belief at a later time: the same coordinates, and process noise added to the covariance."""
        state = np.empty(belief.state.shape)
        surprise = predict(
            belief.time, time, belief.surprise, *self._settings[:4].tolist(), belief.state, belief.unit, state
        )
        return belief._replace(time=time, state=state, surprise=surprise)

    def update(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """The belief after a sample at the same time, and the sample's innovation and verdict.

        Raises:
            InvalidSignals: if the sample has the dimensions of another robot.
        """
        return self._step(belief, sample, belief.time)

    def _step(
        self, belief: Belief, sample: Sample, time: float, checked: bool = False
    ) -> tuple[Belief, Innovation]:
        constrained = self.torques.robot.closure is not None
        if not checked and (sample.trusted is not None or self.torques.added is not None or constrained):
            sample, checked = self._checked(sample), True
        start, gate, state = belief.start, self.gate, np.empty(belief.state.shape)
        outside = self.torques.outside(sample.wrenches)
        try:
            found, surprise, *innovation = self._kernel(
                *self._constants, sample.q, sample.v, sample.a, sample.tau, outside,
                self.torques.projection(sample.q), time, belief.time, belief.surprise, belief.unchecked,
                belief.state, start.unit, start.whitening, state,
            )  # fmt: skip
        # of lists, arrays of other numbers than floats, and of another size
        except (TypeError, ValueError):
            if checked:
                raise
            return self._step(belief, self._checked(sample), time, True)
        rejected, unchecked = belief.rejected, belief.unchecked
        belief = Belief(time, state, start, surprise, rejected, unchecked)
        if found != ACCEPTED:
            belief, verdict = self._refused(belief, found)
            return belief, Innovation(verdict, *innovation)
        if rejected or unchecked:
            # counts down by one and not to zero: see the top of this file
            belief = belief._replace(rejected=max(rejected - 1, 0), unchecked=max(unchecked - 1, 0))
            if gate is not None and rejected > gate.patience:
                bounded = belief.having(root=self._bounded(belief))
                belief = bounded._replace(rejected=0, unchecked=gate.patience)
        return belief, Innovation(_ACCEPTED, *innovation)

    def _checked(self, sample: Sample) -> Sample:
        """The same in arrays of floats; efforts are NaN where they are not trusted, and less those of the joints.

        Raises InvalidSignals if the sample has the dimensions of another robot.
        """
        q, v, a, tau = (np.array(x, float) for x in (sample.q, sample.v, sample.a, sample.tau))
        trusted = tau if sample.trusted is None else np.asarray(sample.trusted)
        n, nq = self.torques.robot.model.nv, self.torques.robot.model.nq
        if not (q.shape == (nq,) and v.shape == a.shape == tau.shape == trusted.shape == (n,)):
            raise InvalidSignals(
                f"a sample of this robot has {nq} configuration variables, and {n} velocities, accelerations, "
                f"efforts and trusted rows; not {q.size}, {v.size}, {a.size}, {tau.size} and {trusted.size}"
            )
        q, v, a, tau = self.torques.constrained(q, v, a, sample.readings)
        tau = tau - self.torques.joint_torque(q, v, a)
        return replace(sample, q=q, v=v, a=a, tau=tau, trusted=None)

    def _refused(self, belief: Belief, found: int) -> tuple[Belief, SampleVerdict]:
        """The belief after a sample that was not accepted, from that before it, and the reason."""
        if found == UNUSABLE:
            return belief, SampleVerdict.unusable
        if found == GATED:
            assert self.gate is not None
            belief, verdict = self.gate.rejected(belief)
            # no enlarged covariance lets a sample pass where the body is so light that it moves no effort
            if verdict is SampleVerdict.gated or self.is_plausible(
                belief, belief.x, self.safeguards.lightest
            ):
                return belief, verdict
        # the initial coordinates with the largest covariance; the next `patience` samples pass the gate unchecked
        unchecked = 0 if self.gate is None else self.gate.patience
        # the state holds the coordinates that were found implausible
        restarted = belief.having(belief.start.x, self.largest_std * belief.unit)
        return restarted._replace(rejected=0, unchecked=unchecked), SampleVerdict.restarted

    def is_plausible(self, belief: Belief, x: Vector, least: float | None = None) -> bool:
        """Whether bodies of coordinates x are, in mass and size, within `body_factor` of the initial ones.

        Args:
            least: smallest ratio to the initial bodies; None: 1 / `body_factor`.
        """
        largest = self.safeguards.body_factor
        least = 1 / largest if least is None else least
        return not self.curved or plausible(belief.start.whitening, self.inertial(x), least, largest)

    def _bounded(self, belief: Belief) -> Matrix:
        """Root of the covariance after the gate opened, at most P_max in all directions."""
        d, root = self.size, belief.root.copy()
        # a measurement of all coordinates at once, as exact as P_max
        least = np.linalg.inv(belief.unit) / self.largest_std
        update(root, least, np.zeros(d), np.ones(d), np.empty(d))
        return root

    def step(self, belief: Belief, sample: Sample) -> tuple[Belief, Innovation]:
        """Predict to a sample's time and update with it; one that is not later than the last is not used."""
        # a clock that was set back by more than this restarts the sequence: the sample is not late
        if not math.isfinite(sample.time) or 0 <= belief.time - sample.time < self.safeguards.clock_jump_s:
            return belief, Innovation(SampleVerdict.late, np.nan, 0)
        return self._step(belief, sample, sample.time)

    def run(
        self, samples: Iterable[Sample], belief: Belief | None = None
    ) -> Iterator[tuple[Belief, Innovation]]:
        """Belief and innovation after each sample, one at a time."""
        belief = self.init() if belief is None else belief
        for sample in samples:
            belief, innovation = self.step(belief, sample)
            yield belief, innovation

    def solve(
        self, problem: TrackingProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """The estimate after all samples of a problem's recordings.

        Args:
            progress: called every fifty samples. stop: called before each sample; True ends the run.

        Raises:
            InvalidMethod: if the problem is of another model than the filter.
            NotIdentifiable: if no sample could be used.
        """
        if problem.torques is not self.torques:
            raise InvalidMethod(
                "the filter and the problem have different models: make the filter from problem.torques"
            )
        calibration, samples = problem.calibrated_samples()
        tracker = Tracker(self, calibration=calibration)
        finished = tracker.run(samples, progress=progress, stop=stop)
        status = Status.solved if finished else Status.interrupted
        return tracker.estimate(status=status, problem=problem)

    @cached_property
    def inverse_variance(self) -> Vector:
        """(n,) inverse variance of each effort row."""
        n = self.torques.robot.model.nv
        return np.broadcast_to(1 / np.asarray(self.noise, dtype=float) ** 2, (n,)).copy()

    @cached_property
    def _kernel(self) -> Callable[..., Any]:
        return step_kernel(self.kernels)

    @cached_property
    def _constants(self) -> tuple[Any, ...]:
        """First arguments of the kernel."""
        n = self.torques.robot.model.nv
        dof, bodies = self.torques.robot.tree.pairs
        rows = np.zeros((5, n))
        rows[0], rows[1], rows[2] = self.bias, self.inverse_variance, np.log(self.inverse_variance)
        rows[3, dof[np.isin(bodies, self.torques.open_bodies)]] = 1.0
        # a joint carries what those that follow it carry
        P = self.torques.projection(self.torques.robot.random_states(1, np.random.default_rng(0))[0][0])
        if len(P):
            rows[3] = rows[3] @ np.abs(P) > 0
        rows[4] = [math.inf if self.gate is None else self.gate.threshold(count + 1) for count in range(n)]
        return *self.torques.constants, rows, self._settings

    @cached_property
    def _settings(self) -> Vector:
        """The settings of the kernel."""
        safe, inf = self.safeguards, math.inf
        limits = (safe.longest_step, safe.bend, self.iterations) if self.curved else (inf, inf, 0)
        # without a gate nothing counts rejections, and a body so light that its gain is 0 would stay
        lost = safe.lost_surprise if self.gate is None else inf
        adapted = safe.largest_surprise if self.adaptive else 1.0
        return np.array(
            [
                *(self.drift, self.largest_std, self.memory_s, adapted), *limits,
                *(safe.surprise_share, safe.largest_surprise, lost, safe.lightest, safe.body_factor),
                self.torques.robot.model.nq,
            ]
        )  # fmt: skip

    def physical(self, belief: Belief) -> bool:
        """Whether every open body is physically possible."""
        return bool(is_consistent(self.inertial(belief.x)).all())


@njit(cache=True)
def _copy(x, pi):
    pi[:] = x


@njit(cache=True)
def _identity(x, D):
    for b in range(len(x)):
        for r in range(10):
            for c in range(10):
                D[b, r, c] = 1.0 if r == c else 0.0


_TEN = Kernels(_copy, _identity)


@dataclass(frozen=True, eq=False, repr=False)
class KalmanFilter(Brief, Filter):
    """x = pi (Foster et al. 2024, Eqs. 10 to 15)."""

    name = "kalman-filter"
    citations = ("kalman1960",)
    curved = False

    @property
    def kernels(self) -> Kernels:
        return _TEN

    def coordinates(self, pi: np.ndarray) -> Vector:
        return pi.ravel().copy()


@dataclass(frozen=True, eq=False, repr=False)
class ExtendedKalmanFilter(Brief, Filter):
    """x = theta of a chart, h(theta) = Y pi(theta) (Foster et al. 2024, Eqs. 16 to 21).

    Args:
        chart: `LogCholesky`, `TransposedLogCholesky` (the paper's Eq. 17) or `ExponentialEigenvalue`.
    """

    name = "extended-kalman-filter"
    citations = ("kalman1960", "bell1993", "rucker2022", "foster2024")

    chart: Parametrization = field(default_factory=LogCholesky)

    def coordinates(self, pi: np.ndarray) -> Vector:
        return self.chart.from_inertial(pi).ravel()

    @property
    def kernels(self) -> Kernels:
        return self.chart.kernels
