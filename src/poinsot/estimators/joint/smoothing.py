"""States and parameters together, as a smoother: nonlinear least squares over all of them (Lacoursiere, Sect. 3).

    minimize  sum_k kappa |p_k(x_k, x_{k+1}; theta)|^2 + sum_k |(h(x_k; theta) - z_k) / sigma|^2,   theta in a box

by the damped Gauss-Newton iteration of `poinsot.solve`, whose gain-ratio rule is that of Lacoursiere's Algorithm 1. The
damping is alpha D, with D the largest diagonal of J^T J so far in place of his identity, so that units and
scales of parameters do not matter. Records share theta: each has a band of its own (`linearization`).

**Dry friction** is a sign, and near rest speeds do not say which: where they are known no better than to that, and
where friction may stop the joint within a step. So up to `SURE` standard deviations of the smoothed rates, and up to
the change of a rate by friction F in a step of h, friction is linear, c(v) F, and its impulse has the variance (1 -
c^2) (F h)^2 of a sign with the mean c, beside 1 / kappa. Both are those where a search begins, and searches are
repeated as long as they come closer. A search without them ends at kinks, beyond which nothing says which way friction
is. Steps in which a joint reverses faster than that are as exact as others (`models.maximal.reduced`).

It has converged where a step with little damping is predicted to lower the cost by at most `tolerance` of it. That
bounds the cosine of the angle between the residuals and each column of their Jacobian by sqrt(tolerance).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ...arrays import Float, Vector
from ...estimate import Status
from ...exceptions import InvalidMethod, check_known
from ...models.maximal import Model
from ...models.maximal.reduced import loops
from ...solve import (
    DampedStep,
    GainRatio,
    GaussNewton,
    Iteration,
    Method,
    Minimum,
    ProgressCallback,
    Stop,
)
from ...statistics import NORMAL_95
from .closing import closed
from .forms import FORMS, ReducedForm
from .linearization import Linearizer, NormalEquations, RecordLinearization, factorize, samples_of
from .problem import (
    MIN_SAMPLES,
    AcceptedStep,
    BoundedParameters,
    JointFit,
    JointSmoothingProblem,
    Record,
    RecordFit,
    first_guess,
    horizon_of,
)
from .sensitivity import sensitivity, state_variances
from .stops import UNSURE, declared_stops, position_noise, touching
from .tracking import tracker
from .unread import read_coordinates, unread_coordinates, with_unread_motion

UNDETERMINED = 1e6
"""Standard deviation above which a state is not determined, such as a rate between two steps in contact."""
JOINT_DAMPING = GainRatio(first=1e-6, most=2.0**32)
"""Small initial damping: with states free the problem is nearly linear, and full steps succeed."""
GUESS_ITERATIONS, GUESS_TOLERANCE, GUESS_RISE = 8, 1e-2, 4.0
"""Settings of fits of the initial guess, and factor by which the weight of their residuals must exceed the one before
for another fit.
"""
SURE = NORMAL_95
"""Standard deviations of a rate from which its direction is known."""
MOST_DOUBT = 0.25
"""Largest speed in doubt, by the rms of rates: a friction that is linear in all speeds is drag, of any level."""
CLOSER, DOUBTS = 2.0, 4
"""Factor by which speeds in doubt must fall for another search, and most searches that may be repeated."""


@lru_cache(maxsize=16)
def compiled_linearizer(model: Model, form: str) -> Linearizer:
    """The linearizer of a form of a model; compiled functions are kept."""
    check_known(form, FORMS, "no form", "there is", InvalidMethod)
    return Linearizer(FORMS[form](model))


@dataclass(frozen=True)
class JointSmoothing(Method):
    """The method.

    Args:
        weight: kappa, the weight of the residuals of steps: 1 / (standard deviation of an impulse [N s], [N m s])^2.
        noise: (s,) standard deviation of each sensor [rad], [m], [rad/s]; None: 1, as in Lacoursiere, which makes kappa
            relative.
        form: form of the residuals of steps, "reduced", "explicit", "implicit" or "forward".
        max_iterations: accepted steps, at most.
        tolerance: it ends where a step is predicted to lower the cost by at most this part of it.
        kink_factor: if a step with little damping fails that was predicted to lower the cost by at most this multiple
            of the tolerance, the iteration ends at a kink of dry friction: the linearization holds on one side only.
        settled: a search stalled at a kink counts as converged if its next step would change no parameter by more than
            this number of standard deviations; 0: it does not.
        state_std: whether fits have standard deviations of states.
        damping: damping of steps, relative to the largest diagonal of J^T J so far.
        least_effect: assumed relative change of the cost when a parameter changes by its own size, only for damping:
            without it rounding errors change unobservable parameters by much.
        stops: (n, 2) positions from which a joint is in contact with its lower or upper end stop, -inf or inf where
            there is none. Steps in contact have no residuals (`stops`). None: those of the mechanism's stops.
        doubts: whether the direction of dry friction near rest is in doubt, see above; as in Lacoursiere it is not.
        reference: (p,) theta whose inertia weights residuals of steps (`Form.by_inertia`), as in `JointEstimation`;
            None: the estimated theta, as in Lacoursiere, which biases inertia and friction towards zero where
            step residuals are large.

    Raises:
        InvalidMethod: if a number is out of range.
    """

    weight: float = 100.0
    noise: Sequence[float] | np.ndarray | None = None
    form: str = "reduced"
    max_iterations: int = 50
    tolerance: float = 1e-7
    kink_factor: float = 10.0
    settled: float = 0.0
    state_std: bool = False
    damping: GainRatio = JOINT_DAMPING
    least_effect: float = 1e-8
    stops: Float[np.ndarray, "n 2"] | None = None
    doubts: bool = True
    reference: Vector | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight < np.inf:
            raise InvalidMethod(f"the weight of errors of steps must be above 0, not {self.weight}")
        if self.noise is not None and not (np.isfinite(self.noise).all() and min(self.noise, default=1) > 0):
            raise InvalidMethod("the noise of each sensor must be above 0")
        if self.max_iterations < 1 or not 0 < self.tolerance < 1:
            raise InvalidMethod("max_iterations must be at least 1, and tolerance between 0 and 1")

    @property
    def iteration(self) -> GaussNewton:
        """The iteration with these settings."""
        damping, kink_factor = self.damping, self.kink_factor
        return GaussNewton(self.max_iterations, self.tolerance, damping=damping, kink_factor=kink_factor)

    def minimize(
        self, start: JointIterate, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Minimum[JointIterate]:
        """Iterate from `start`, with doubt about dry friction as known there, and then as known after that."""
        iterations, tolerance = (
            min(self.max_iterations, GUESS_ITERATIONS),
            max(self.tolerance, GUESS_TOLERANCE),
        )
        quick = replace(self, max_iterations=iterations, tolerance=tolerance).iteration
        at, doubt = start, start.doubt()
        history: tuple[Iteration, ...] = ()
        for _ in range(DOUBTS):
            if doubt is None:
                break
            minimum = quick.minimize(at.doubting(doubt), progress=progress, stop=stop)
            at, history, before = minimum.at, (*history, *minimum.history), doubt
            doubt = at.doubt()
            closer = doubt is not None and (doubt.soft < before.soft / CLOSER).any()
            if minimum.status is Status.interrupted or not closer:
                break
        if doubt is not at.equations.doubt:
            at = at.doubting(doubt)
        minimum = self.iteration.minimize(at, progress=progress, stop=stop)
        return replace(minimum, history=(*history, *minimum.history))

    def least_curvature(self, squares: float, parameters: BoundedParameters) -> Vector:
        """(q,) least diagonals of J^T J for damping where the sum of squares is `squares`, see `least_effect`."""
        return self.least_effect * max(squares, 1e-300) / parameters.size**2

    def noise_of(self, model: Model) -> Vector:
        """(s,) standard deviations of a model's sensors; `InvalidMethod` if there are not as many."""
        sensors = len(model.mechanism.sensors)
        if self.noise is None:
            return np.ones(sensors)
        if len(self.noise) != sensors:
            raise InvalidMethod(f"noise needs {sensors} numbers, one per sensor")
        return np.asarray(self.noise, dtype=float)

    def stops_of(self, model: Model, theta: Vector) -> Float[np.ndarray, "n 2"]:
        """Positions (n, 2) from which joints are in contact with end stops, see `stops`."""
        if self.stops is not None:
            return self.stops
        margin = UNSURE * position_noise(model, self.noise_of(model))
        return declared_stops(model, theta) + margin[:, None] * [1, -1]

    def solve(
        self,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> JointFit:
        """States of each record, and parameters of all.

        Raises:
            InvalidMethod: if the form or the noise does not fit the mechanism.
            InvalidSignals: if a record does not fit the mechanism.
        """
        start = RecordEquations(self, problem).start()
        return start.equations.result(start, self.minimize(start, progress=progress, stop=stop))


class Doubt(NamedTuple):
    """Dry friction whose direction is not known.

    Args:
        soft: (n,) speeds up to which it is linear. std: (N, m) standard deviations of its impulses of each record.
    """

    soft: Vector
    std: tuple[np.ndarray, ...]


class RecordEquations:
    """Weighted residuals of records that share theta, with their normal equations; None: friction is not in doubt."""

    def __init__(self, method: JointSmoothing, problem: JointSmoothingProblem, doubt: Doubt | None = None):
        self.method, self.problem, self.parameters, self.doubt = method, problem, problem.parameters, doubt
        self.linearizer = compiled_linearizer(problem.model, method.form)
        self.form = self.linearizer.form
        self.noise = method.noise_of(problem.model)
        ends = method.stops_of(problem.model, self.parameters.theta)
        self.touched = [
            touching(problem.model, record, self.parameters.theta, ends) for record in problem.records
        ]

    def start(self) -> JointIterate:
        """The initial guess."""
        problem, form, theta = self.problem, self.form, self.parameters.theta
        if problem.guess is None:
            begun = (self.motion(record) for record in problem.records)
            guess = JointIterate(self, [form.pack(*motion, theta) for motion in begun], theta)
            return self._with_unread(guess)
        x = [form.pack(fit.coordinates, fit.rates, theta, fit.states) for fit in problem.guess]
        return JointIterate(self, x, theta)

    def motion(self, record: Record) -> tuple[np.ndarray, np.ndarray]:
        """(N, n) coordinates and (N, n) rates from readings only."""
        model, theta = self.problem.model, self.parameters.theta
        if model.mechanism.frame_rows:
            return tracker(model).smoothed(record, theta, self.noise)
        y, rate = first_guess(model, record, theta)
        if not loops(model.structure):
            return y, rate
        read = read_coordinates(model, record)
        y_closed, rate_closed = closed(model, theta, y, read, record.steps)
        return np.where(read, y, y_closed), np.where(read, rate, rate_closed)

    def _with_unread(self, guess: JointIterate) -> JointIterate:
        """The initial guess, in which coordinates without a sensor move as `unread` says."""
        model, theta, states = self.problem.model, guess.theta, list(guess.x)
        if not isinstance(self.form, ReducedForm):
            return guess
        for k, record in enumerate(self.problem.records):
            if unread_coordinates(model, record).any():
                period = max(horizon_of(model, [record], theta)[0], MIN_SAMPLES)
                states[k] = with_unread_motion(self.form, record, states[k], theta, period, self.states_alone)
        return JointIterate(self, states, theta)

    def states_alone(self, record: Record, x: np.ndarray, fits: int) -> tuple[np.ndarray, float]:
        """States of a record with theta held, and the weight of their step residuals.

        The weight rises from that of the residuals of the guess: from far away, fits with a high one end elsewhere.
        """
        method = replace(self.method, max_iterations=GUESS_ITERATIONS, tolerance=GUESS_TOLERANCE)
        problem = replace(self.problem, records=(record,), held_out=(), open=(), guess=None)
        at = JointIterate(RecordEquations(method, problem), [x], problem.parameters.theta)
        for _ in range(fits):
            weight = at.own_weight
            at = method.minimize(at.weighing(weight)).at
            if not at.own_weight > GUESS_RISE * weight:
                break
        return at.x[0], at.own_weight

    def linearized(self, x: Sequence[np.ndarray], theta: Vector) -> list[RecordLinearization]:
        """Weighted residuals of each record with their derivatives by states and open parameters."""
        soft = None if self.doubt is None else self.doubt.soft
        linearized = self.linearizer.all_of(
            self.problem.records, x, theta, self.method.reference, self.touched, soft
        )
        root = float(np.sqrt(self.method.weight))
        return [
            record.weighted(roots, root).opened(self.parameters.open)
            for record, roots in zip(linearized, self.roots(), strict=True)
        ]

    def roots(self, weight: float | None = None) -> list[np.ndarray]:
        """(N, m) 1 / standard deviations of the errors of each record; None: with the weight of the method."""
        weight, found = weight or self.method.weight, []
        for k, record in enumerate(self.problem.records):
            steps = np.full((len(record.times), self.form.rows), np.sqrt(weight))
            if self.doubt is not None:
                steps = 1 / np.hypot(1 / steps, self.doubt.std[k])
            readings = np.broadcast_to(1 / self.noise, (len(steps), len(self.noise)))
            found.append(np.concatenate([steps, readings], axis=1))
        return found

    def result(self, start: JointIterate, minimum: Minimum[JointIterate]) -> JointFit:
        """The fit where the iteration ended."""
        m, at_end = self.form.rows, minimum.at
        theta, samples = at_end.theta, sum(len(x) for x in at_end.x)
        spread = sensitivity(at_end.linearized, m, self.parameters.prior_weight)
        paths = []
        parts = zip(self.problem.records, at_end.x, at_end.linearized, at_end.equations.roots(), strict=True)
        for record, x, at, roots in parts:
            y, rate, states = self.form.unpack(x, theta)
            # with the share of theta's robust covariance; unobservable parameters have none
            std = np.sqrt(state_variances(at, spread.robust)) if self.method.state_std else None
            if std is not None:
                std[std > UNDETERMINED] = np.nan
            paths.append(
                RecordFit(
                    name=record.name,
                    times=record.times,
                    coordinates=y,
                    rates=rate,
                    states=states,
                    expected=self.form.read(x, theta),
                    observation_errors=np.where(np.isnan(record.z), np.nan, at.e[:, m:] * self.noise),
                    step_errors=np.asarray(at.e[:-1, :m] / roots[:-1, :m]),
                    std=std,
                    cost=at.cost,
                )
            )
        status, remaining = minimum.status, 0.0
        stalled = status is Status.stalled and self.method.settled > 0
        step = at_end.direction(self.method.damping.little) if stalled else None
        if step is not None:
            std = np.sqrt(np.diag(spread.robust))
            if not (np.abs(step.d_theta) > self.method.settled * std).any():
                status, remaining = Status.solved, step.decrease / at_end.cost
        accepted = [AcceptedStep(2 * start.cost / samples, start.theta, 0)] + [
            AcceptedStep(2 * iteration.cost / samples, iteration.theta, iteration.trials)
            for iteration in minimum.history
        ]
        return JointFit(
            names=self.problem.model.free,
            theta=theta,
            open=self.parameters.open,
            status=status,
            remaining=remaining,
            history=tuple(accepted),
            paths=tuple(paths),
            sensitivity=spread,
            doubt=at_end.equations.doubt,
        )


class JointIterate:
    """States of each record and theta, as an iterate of `GaussNewton`.

    Args:
        x: (N, size) states of each record. theta: (p,).
        before: the iterate from which a step led here.
        linearized: weighted residuals there with their derivatives; None: they are computed.
    """

    infeasibility = 0.0
    largest_gap = 0.0

    def __init__(
        self,
        equations: RecordEquations,
        x: list[np.ndarray],
        theta: Vector,
        before: JointIterate | None = None,
        linearized: list[RecordLinearization] | None = None,
    ):
        self.equations, self.x, self.theta = equations, x, theta
        self.linearized = equations.linearized(x, theta) if linearized is None else linearized
        squares = sum((record.cost for record in self.linearized), equations.parameters.prior_cost(theta))
        # Inf, not NaN: comparisons of costs must reject the trial
        self.cost = 0.5 * squares if np.isfinite(squares) else float("inf")
        # not the iterate itself: its linearization is large
        self._largest_before = None if before is None else before.largest

    @property
    def own_weight(self) -> float:
        """kappa from the present residuals of steps, 1 / mean square, of those without doubt if there are some."""
        m, found, sure = self.equations.form.rows, [], []
        for at, roots in zip(self.linearized, self.equations.roots(), strict=True):
            there = np.asarray(at.there)[:, 0]  # the first row of a sample is missing where it has no step
            steps = roots[there, :m]
            found.append((at.e[there, :m] / steps).ravel())
            sure.append((steps >= np.sqrt(self.equations.method.weight) * (1 - 1e-9)).ravel())
        errors, known = np.concatenate(found), np.concatenate(sure)
        errors = errors[known] if known.any() else errors
        return errors.size / max(float(np.sum(errors**2)), 1e-300)

    def doubt(self) -> Doubt | None:
        """Of dry friction at these states and theta; None where there is none, or the form has no joint coordinates."""
        form, problem, method = self.equations.form, self.equations.problem, self.equations.method
        if not (method.doubts and isinstance(form, ReducedForm) and form.structure.dry.any()):
            return None
        errors = sum(float(at.count.sum()) for at in self.linearized)
        freedom = errors - sum(x.shape[0] for x in self.x) * form.degrees
        none = np.zeros((len(self.equations.parameters.open),) * 2)
        variances = np.concatenate([state_variances(at, none)[:, form.n :] for at in self.linearized])
        unsure = SURE * np.sqrt(2 * self.cost / max(freedom, 1.0) * np.median(variances, axis=0))

        def impulses(soft: Vector) -> list[np.ndarray]:
            return [
                form.doubts(samples_of(record, x), self.theta, soft)
                for record, x in zip(problem.records, self.x, strict=True)
            ]

        # of friction that is all in doubt
        reference = self.theta if method.reference is None else method.reference
        changed = [
            np.einsum("kii,ki->ki", np.linalg.inv(form.inertias(x, reference)), whole[:, : form.n])
            for x, whole in zip(self.x, impulses(np.full(form.n, np.inf)), strict=True)
        ]
        soft = np.maximum(unsure, np.median(np.concatenate(changed), axis=0))
        rates = np.concatenate(self.x)[:, -form.n :]
        soft = np.minimum(soft, MOST_DOUBT * np.sqrt(np.mean(rates**2, axis=0)))
        std = impulses(soft)
        return Doubt(soft, tuple(std)) if any(part.any() for part in std) else None

    def doubting(self, doubt: Doubt | None) -> JointIterate:
        """The same states and theta with this doubt."""
        equations = RecordEquations(self.equations.method, self.equations.problem, doubt)
        return JointIterate(equations, self.x, self.theta)

    def weighing(self, weight: float) -> JointIterate:
        """The same states and theta where residuals of steps have another weight, without another linearization."""
        method = replace(self.equations.method, weight=weight)
        root = np.sqrt(weight / self.equations.method.weight)
        equations = RecordEquations(method, self.equations.problem, self.equations.doubt)
        linearized = [
            record.weighted(new / old, root)
            for record, new, old in zip(
                self.linearized, equations.roots(), self.equations.roots(), strict=True
            )
        ]
        return JointIterate(equations, self.x, self.theta, linearized=linearized)

    @cached_property
    def normals(self) -> list[NormalEquations]:
        """Normal equations of each record."""
        return [NormalEquations.of(record) for record in self.linearized]

    @cached_property
    def largest(self) -> list[np.ndarray]:
        """Largest diagonals of J^T J so far: (N, d) of the states of each record, then (q,) of theta."""
        parameters = self.equations.parameters
        of_theta = sum((normal.corner.diagonal() for normal in self.normals), parameters.prior_weight)
        now = [*(normal.diagonal for normal in self.normals), of_theta]
        if self._largest_before is None:
            return now
        return [np.maximum(a, b) for a, b in zip(self._largest_before, now, strict=True)]

    def direction(self, damping: float) -> JointStep | None:
        """See `poinsot.solve.Iterate`."""
        parameters, theta = self.equations.parameters, self.theta
        *of_states, of_theta = (damping * largest for largest in self.largest)
        # parameters without effect have a diagonal of rounding errors, with which they would diverge
        least = damping * self.equations.method.least_curvature(2 * self.cost, parameters)
        try:
            factors = [factorize(part, own) for part, own in zip(self.normals, of_states, strict=True)]
            corner = np.sum([factor.corner for factor in factors], axis=0)
            d_theta = parameters.step(theta, corner, np.maximum(of_theta, least))
        except np.linalg.LinAlgError:
            return None
        d_x = [factor.states(d_theta) for factor in factors]
        decrease = parameters.prior_decrease(theta, d_theta) + sum(
            part.decrease(d, d_theta, own) for part, d, own in zip(self.normals, d_x, of_states, strict=True)
        )
        return JointStep(self, d_x, d_theta, 0.5 * float(decrease)) if np.isfinite(decrease) else None

    def stationarity(self) -> float:
        """Largest cosine between residuals and columns of their Jacobian, except of parameters held by bounds."""
        parameters, theta = self.equations.parameters, self.theta[self.equations.parameters.open]
        g = sum((part.corner[:, -1] for part in self.normals), parameters.prior_gradient(self.theta))
        square = sum((part.corner.diagonal() for part in self.normals), parameters.prior_weight)
        at_lower = theta <= parameters.lower[parameters.open]
        at_upper = theta >= parameters.upper[parameters.open]
        # descent against an active bound would leave the box
        g = np.where(at_lower & (g > 0) | at_upper & (g < 0), 0.0, g)
        gradients = np.concatenate([g, *(part.right[:, :, -1].ravel() for part in self.normals)])
        columns = np.sqrt(np.concatenate([square, *(part.diagonal.ravel() for part in self.normals)]))
        # a column of zeros belongs to a parameter without effect, which is stationary anywhere
        cosines = np.abs(gradients) / np.where(columns > 0, columns, np.inf)
        return float(cosines.max() / np.sqrt(2 * self.cost))


@dataclass(frozen=True, eq=False)
class JointStep(DampedStep[JointIterate]):
    """A step of states (N, d) of each record and of the open parameters (q,), with its predicted decrease."""

    start: JointIterate
    d_x: list[np.ndarray]
    d_theta: Vector
    decrease: float

    def predicted(self, alpha: float) -> float:
        """See `poinsot.solve.DampedStep`; only full steps are taken."""
        return self.decrease

    def trial(self, alpha: float) -> JointIterate:
        start, equations = self.start, self.start.equations
        x = [equations.form.moved(states, d) for states, d in zip(start.x, self.d_x, strict=True)]
        return JointIterate(equations, x, equations.parameters.moved(start.theta, self.d_theta), start)


def at_held_out(method: JointSmoothing, model: Model, records: Sequence[Record], theta: Vector) -> JointFit:
    """States of records with theta held (Lacoursiere, Sect. 4.5): the cost is the cross-validation's."""
    return method.solve(JointSmoothingProblem(model, records, theta, ()))
