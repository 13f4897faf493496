"""States and parameters together, as a smoother: nonlinear least squares over all of them (seed 000, Sect. 3).

    minimize  sum_k kappa |p_k(x_k, x_{k+1}; theta)|^2 + sum_k |(h(x_k; theta) - z_k) / sigma|^2,   theta in a box

by the paper's Algorithm 1: Levenberg and Marquardt's damping, driven by the gain ratio rho of the decrease of the cost
over the predicted one,

    success   alpha <- alpha max(1/3, 1 - (2 rho - 1)^3), nu <- 2      failure   alpha <- nu alpha, nu <- 2 nu

with two changes. The damping is alpha D, with D the largest diagonal of H so far in place of the identity, so that
units and scales of parameters do not matter; alpha begins at 1e-6. And it ends where a step could lower the cost by
less than `tolerance` of it. Records share theta: each has a band of its own (`bordered`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Vector
from ...exceptions import InvalidMethod, InvalidSignals, listing, nearest
from ...models.maximal import Model
from ...parameters import Normal
from .bordered import Factored, factored, normal, step_in_box
from .forms import form_of
from .linearization import Linearization, Linearizer
from .records import Record, first_guess
from .results import Ending, Iteration, JointFit, Path
from .sensitivity import sensitivity, state_variances

FIRST_DAMPING, LITTLE_DAMPING, MOST_DAMPING = 1e-6, 1e-2, 2.0**32
"""alpha at the start, up to which a short promise means an optimum and not a short step, and at most."""
PROPORTIONAL = ("mass", "inertia", "drag", "level", "excess", "gain", "shaft", "offset")
"""Kinds of parameters to which errors of steps are proportional, all others the same."""
NOTHING_ELSE = 1e-16
"""Squares of what is not proportional to them, in parts of those of what is."""
SLIGHT = 10.0
"""Times the tolerance: promises up to which a step that does not keep them is one over a kink, at an optimum."""
UNFELT = 1e-8
"""Part of the cost that a parameter's changing by its own size moves at least, as far as damping goes: without it,
rounding sends those that nothing shows far away."""
Say = Callable[[str], None]


@lru_cache(maxsize=16)
def _linearizer(model: Model, form: str) -> Linearizer:
    """What is compiled is kept."""
    return Linearizer(form_of(form, model))


@dataclass(frozen=True)
class JointSmoothing:
    """The method.

    Args:
        weight: kappa, the weight of the errors of steps: 1 / (standard deviation of an impulse [N s], [N m s])^2.
        noise: (s,) standard deviation of each sensor [rad], [m], [rad/s]; None: 1, as in the paper, which makes kappa
            relative.
        form: of the errors of steps: "reduced", "explicit", "implicit" or "forward".
        max_iterations: accepted steps, at most.
        tolerance: it ends where a step could lower the cost by less than this part of it.
        state_std: whether paths have standard deviations.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    weight: float = 100.0
    noise: Sequence[float] | np.ndarray | None = None
    form: str = "reduced"
    max_iterations: int = 50
    tolerance: float = 1e-7
    state_std: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.weight < np.inf:
            raise InvalidMethod(f"the weight of errors of steps must be above 0, not {self.weight}")
        if self.noise is not None and not (np.isfinite(self.noise).all() and min(self.noise, default=1) > 0):
            raise InvalidMethod("the noise of each sensor must be above 0")
        if self.max_iterations < 1 or not 0 < self.tolerance < 1:
            raise InvalidMethod("it takes at least one iteration, and a tolerance between 0 and 1")

    def noise_of(self, model: Model) -> Vector:
        """(s,) standard deviations of a model's sensors.

        Raises:
            InvalidMethod: if there are not as many.
        """
        sensors = len(model.mechanism.sensors)
        if self.noise is None:
            return np.ones(sensors)
        if len(self.noise) != sensors:
            raise InvalidMethod(f"noise needs {sensors} numbers, one a sensor")
        return np.asarray(self.noise, dtype=float)

    def fit(
        self,
        model: Model,
        records: Sequence[Record],
        theta: Vector | None = None,
        open: Sequence[str] | None = None,  # noqa: A002
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
        priors: Mapping[str, Normal] | None = None,
        guess: Sequence[Path] | None = None,
        say: Say = lambda _: None,
    ) -> JointFit:
        """States of each record, and parameters of all.

        Args:
            model: of the mechanism, with its free parameters.
            records: at least one.
            theta: (p,) where to begin; None: as the mechanism has it.
            open: names of the free parameters that are estimated, the others stay; None: all.
            lower, upper: bounds by name, beside those that the model has.
            priors: what is known of parameters, by name; it counts for those that are open.
            guess: paths to begin at, one a record, such as another fit's; None: what the sensors read, filtered.
            say: is told of each step.

        Raises:
            InvalidMethod: if a name, a bound or a number of values is wrong, or the form is not for the mechanism.
            InvalidSignals: if a record does not fit the mechanism.
        """
        return _Fit(
            self, model, records, theta, open, lower or {}, upper or {}, priors or {}, guess, say
        ).run()

    def stationarity(
        self,
        model: Model,
        records: Sequence[Record],
        fit: JointFit,
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
        priors: Mapping[str, Normal] | None = None,
    ) -> float:
        """How far a fit of these records is from optimal: the largest cosine between its errors and a column of their
        Jacobian, columns of parameters at bounds that hold them left out.
        """
        names = [fit.names[k] for k in fit.open.tolist()]
        again = _Fit(
            self,
            model,
            records,
            fit.theta,
            names,
            lower or {},
            upper or {},
            priors or {},
            fit.paths,
            lambda _: None,
        )
        return again.stationarity()


@dataclass(frozen=True)
class Known:
    """Of open parameters, before the records.

    Args:
        mean: (q,). weight: (q,) 1 / standard deviation^2; 0 where nothing is known.
    """

    mean: Vector
    weight: Vector

    @classmethod
    def of(cls, priors: Mapping[int, Normal], places: np.ndarray) -> Known:
        """From priors by place in theta."""
        mean, weight = np.zeros(len(places)), np.zeros(len(places))
        for k, place in enumerate(places.tolist()):
            if place in priors:
                mean[k], weight[k] = priors[place].mean, 1 / priors[place].std ** 2
        return cls(mean, weight)

    def cost(self, theta: Vector) -> float:
        """Squares, weighted."""
        return float(self.weight @ (theta - self.mean) ** 2)

    def gradient(self, theta: Vector) -> Vector:
        """(q,) half of the derivative of the cost."""
        return self.weight * (theta - self.mean)


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Where theta begins, what of it is open, and what bounds it.

    Args:
        theta: (p,). open: (q,) places in it.
        lower, upper: (p,). known: of what is open.
    """

    theta: Vector
    open: np.ndarray
    lower: Vector
    upper: Vector
    known: Known

    @classmethod
    def of(
        cls,
        model: Model,
        theta: Vector | None,
        open: Sequence[str] | None,  # noqa: A002
        lower: Mapping[str, float],
        upper: Mapping[str, float],
        priors: Mapping[str, Normal],
    ) -> Unknowns:
        """As `JointSmoothing.fit` is given them.

        Raises:
            InvalidMethod: if a name, a bound or a number of values is wrong.
        """
        begin = np.array(model.theta if theta is None else theta, dtype=float)
        if begin.shape != (len(model.free),) or not np.isfinite(begin).all():
            raise InvalidMethod(f"theta needs {len(model.free)} finite numbers: {listing(model.free, 40)}")
        places = np.array([_place(model, name) for name in (model.free if open is None else open)], dtype=int)
        for place in places.tolist():
            if np.sum(places == place) > 1:
                raise InvalidMethod(f"{model.free[place]!r} is open twice; name each parameter once")
        least, most = model.lower.copy(), np.full(len(model.free), np.inf)
        for bounds, given in ((least, lower), (most, upper)):
            for name, bound in given.items():
                bounds[_place(model, name)] = bound
        outside = ~((least <= begin) & (begin <= most))[places]
        if outside.any():
            name = model.free[int(places[np.flatnonzero(outside)[0]])]
            raise InvalidMethod(f"{name!r} begins outside its bounds; begin within them")
        known = Known.of({_place(model, name): prior for name, prior in priors.items()}, places)
        return cls(begin, places, least, most, known)

    @property
    def size(self) -> Vector:
        """(q,) of open parameters where they begin; 1 of those that begin at 0."""
        return np.where(self.theta == 0, 1.0, np.abs(self.theta))[self.open]


def _place(model: Model, name: str) -> int:
    """In theta."""
    if name not in model.free:
        raise InvalidMethod(
            f"no free parameter {name!r}{nearest(name, model.free)}; the model has {listing(model.free, 40)}"
        )
    return model.free.index(name)


class _Accepted(NamedTuple):
    """A step that lowered the cost: where it led, the gain ratio, its damping, and how many were tried."""

    x: list[np.ndarray]
    theta: Vector
    at: list[Linearization]
    cost: float
    gain: float
    damping: float
    tried: int


class _Fit:
    """One fit while it runs."""

    def __init__(
        self,
        method: JointSmoothing,
        model: Model,
        records: Sequence[Record],
        theta: Vector | None,
        open: Sequence[str] | None,  # noqa: A002
        lower: Mapping[str, float],
        upper: Mapping[str, float],
        priors: Mapping[str, Normal],
        guess: Sequence[Path] | None,
        say: Say,
    ):
        self.method, self.model, self.records, self.say = method, model, tuple(records), say
        if not self.records:
            raise InvalidSignals("there is nothing to fit; give at least one record")
        unknowns = Unknowns.of(model, theta, open, lower, upper, priors)
        self.theta, self.open = unknowns.theta.copy(), unknowns.open
        self.lower, self.upper, self.known = unknowns.lower, unknowns.upper, unknowns.known
        self.linearizer = _linearizer(model, method.form)
        self.form = self.linearizer.form
        self.noise = method.noise_of(model)
        if guess is None:
            begun = [first_guess(model, record, self.theta) for record in self.records]
            self.x = [self.form.pack(y, rate, self.theta) for y, rate in begun]
        else:
            self.x = [self.form.packed(p.states, p.coordinates, p.rates, self.theta) for p in guess]
        if [len(x) for x in self.x] != [len(record.times) for record in self.records]:
            raise InvalidMethod(
                "the paths to begin at are not of these records; give one of each, as long as it is"
            )
        self.samples = sum(len(x) for x in self.x)
        self.largest: list[Vector] | None = None
        self.largest_corner = self.unfelt = np.zeros(len(self.open))
        self.size = unknowns.size

    # -- errors --------------------------------------------------------------------------------------------------------

    def linearized(self, x: Sequence[np.ndarray], theta: Vector) -> list[Linearization]:
        """Of each record, weighted."""
        root = float(np.sqrt(self.method.weight))
        roots = np.concatenate([np.full(self.form.rows, root), 1 / self.noise])
        return [
            self.linearizer(record, states, theta)
            .weighted(np.tile(roots, (len(states), 1)), root)
            .opened(self.open)
            for record, states in zip(self.records, x, strict=True)
        ]

    def cost(self, of: Sequence[Linearization], theta: Vector) -> float:
        """Sum of squares."""
        return sum((each.cost for each in of), self.known.cost(theta[self.open]))

    def stationarity(self) -> float:
        """See `JointSmoothing.stationarity`."""
        here = self.linearized(self.x, self.theta)
        parts, theta = [normal(each) for each in here], self.theta[self.open]
        g = sum((part.g_theta for part in parts), self.known.gradient(theta))
        square = sum((np.diag(part.corner) for part in parts), self.known.weight)
        held = (theta <= self.lower[self.open]) & (g > 0) | (theta >= self.upper[self.open]) & (g < 0)
        g = np.where(held, 0.0, g)
        gradients = np.concatenate([g, *(part.g_x for part in parts)])
        columns = np.sqrt(np.concatenate([square, *(part.diagonal for part in parts)]))
        steep = np.abs(gradients) / np.where(columns > 0, columns, np.inf)
        return float(steep.max() / np.sqrt(self.cost(here, self.theta)))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def run(self) -> JointFit:
        """Until it ends."""
        here = self.linearized(self.x, self.theta)
        cost, alpha, ending = self.cost(here, self.theta), FIRST_DAMPING, Ending.step_limit
        self.scale_is_free = self._scale_is_free(here)
        history = [Iteration(cost / self.samples, self.theta.copy(), 0.0, 0)]
        for _ in range(self.method.max_iterations):
            found = self._accepted(here, cost, alpha)
            if isinstance(found, Ending):
                ending = found
                break
            self.x, self.theta, here, cost = found.x, found.theta, found.at, found.cost
            history.append(Iteration(cost / self.samples, found.theta.copy(), found.damping, found.tried))
            alpha = found.damping * max(1 / 3, 1 - (2 * found.gain - 1) ** 3)
            self.say(f"step {len(history) - 1}: cost {cost / self.samples:.6g}, damping {alpha:.1e}")
        return self._result(here, tuple(history), ending)

    def _accepted(self, here: Sequence[Linearization], cost: float, alpha: float) -> _Accepted | Ending:
        """The first step that lowers the cost, with more and more damping; or why there is none."""
        parts, nu, tried = [normal(each) for each in here], 2.0, 0
        self.unfelt = UNFELT * max(cost, 1e-300) / self.size**2
        self._remember(parts)
        while alpha <= MOST_DAMPING:
            tried += 1
            step = self._step(parts, alpha)
            if step is not None:
                d_x, d_theta, predicted = step
                if predicted <= self.method.tolerance * cost:
                    return Ending.optimal if alpha <= LITTLE_DAMPING else Ending.kink
                x = [self.form.moved(s, d) for s, d in zip(self.x, d_x, strict=True)]
                theta = self.theta.copy()
                theta[self.open] = np.clip(
                    theta[self.open] + d_theta, self.lower[self.open], self.upper[self.open]
                )
                there = self.linearized(x, theta)
                lower = self.cost(there, theta)
                gain = (cost - lower) / predicted
                if gain > 0:
                    return _Accepted(x, theta, there, lower, gain, alpha, tried)
                if predicted <= SLIGHT * self.method.tolerance * cost and alpha <= LITTLE_DAMPING:
                    return Ending.optimal_but_for_kinks
            alpha, nu = nu * alpha, 2 * nu
        return Ending.kink

    def _remember(self, parts: Sequence[Any]) -> None:
        """The largest diagonals so far."""
        now = [part.diagonal for part in parts]
        self.largest = (
            now
            if self.largest is None
            else [np.maximum(a, b) for a, b in zip(self.largest, now, strict=True)]
        )
        corner = sum((np.diag(part.corner) for part in parts), self.known.weight)
        self.largest_corner = np.maximum(self.largest_corner, corner)

    def _step(self, parts: Sequence[Any], alpha: float) -> tuple[list[np.ndarray], Vector, float] | None:
        """Steps of states and theta, and the decrease that they promise; None if H is not positive definite."""
        assert self.largest is not None
        corner_damping = alpha * np.maximum(self.largest_corner, self.unfelt)
        try:
            solved = [factored(part, alpha * most) for part, most in zip(parts, self.largest, strict=True)]
            S = sum((each.corner for each in solved), np.diag(corner_damping + self.known.weight))
            g = sum((each.gradient for each in solved), self.known.gradient(self.theta[self.open]))
            d_theta = step_in_box(
                S, g, (self.lower - self.theta)[self.open], (self.upper - self.theta)[self.open]
            )
        except np.linalg.LinAlgError:
            return None
        flat = [each.states(d_theta) for each in solved]
        predicted = sum(
            self._decrease(each, d, alpha * most, d_theta)
            for each, d, most in zip(solved, flat, self.largest, strict=True)
        )
        predicted -= float(
            self.known.weight @ d_theta**2 + 2 * self.known.gradient(self.theta[self.open]) @ d_theta
        )
        d_x = [d.reshape(-1, self.form.degrees) for d in flat]
        return (d_x, d_theta, predicted) if np.isfinite(predicted) else None

    @staticmethod
    def _decrease(of: Factored, d: Vector, damping: Vector, d_theta: Vector) -> float:
        """-2 g^T d - d^T H d of a record, H without its damping.

        On the states' equations, (T + D) d_x + C d_theta = -g_x, it is -g_x^T d_x + d_x^T D d_x - g_theta^T d_theta -
        d_theta^T (S d_theta + C^T d_x + g_theta).
        """
        part = of.of
        left = part.corner @ d_theta + part.border.T @ d + part.g_theta
        return float(-part.g_x @ d + damping @ d**2 - part.g_theta @ d_theta - d_theta @ left)

    # -- what came of it -----------------------------------------------------------------------------------------------

    def _result(
        self, here: Sequence[Linearization], history: tuple[Iteration, ...], ending: Ending
    ) -> JointFit:
        m, root = self.form.rows, float(np.sqrt(self.method.weight))
        spread = sensitivity(here, m, self.known.weight)
        paths = []
        for record, x, at in zip(self.records, self.x, here, strict=True):
            y, rate, states = self.form.unpack(x, self.theta)
            seen = np.where(np.isnan(record.z), np.nan, at.e[:, m:] * self.noise)
            std = None
            if self.method.state_std:
                std = np.sqrt(state_variances(at, np.nan_to_num(spread.robust)))
            expected, steps = self.form.read(x, self.theta), at.e[:-1, :m] / root
            paths.append(
                Path(record.name, record.times, y, rate, states, expected, seen, steps, std, at.cost)
            )
        return JointFit(
            self.model.free,
            self.theta,
            self.open,
            ending,
            history,
            tuple(paths),
            spread,
            self.scale_is_free,
        )

    def _scale_is_free(self, here: Sequence[Linearization]) -> np.ndarray:
        """(q,) open parameters of which only ratios act: errors of steps that are proportional to them, and to nothing
        else. Then smaller is better, down to nothing. Asked where the iteration begins, before they have shrunk.
        """
        entries, m = self.model.mechanism.entries, self.form.rows
        proportional = np.array(
            [entries[self.model.free[k]].kind in PROPORTIONAL for k in self.open.tolist()], dtype=bool
        )
        theta, left, all_ = self.theta[self.open][proportional], 0.0, 0.0
        if not len(theta) or self.known.weight[proportional].any():
            return np.zeros(len(self.open), dtype=bool)
        for each in here:
            parts = each.by_theta[:, :m, proportional] * theta
            left += float(np.sum((each.e[:, :m] - parts.sum(axis=2)) ** 2))
            all_ += float(np.sum(parts**2))
        return proportional & bool(left <= NOTHING_ELSE * all_)


def at_held_out(method: JointSmoothing, model: Model, records: Sequence[Record], theta: Vector) -> JointFit:
    """States of records with theta as it is (Sect. 4.5): the cost is the cross-validation's."""
    return method.fit(model, records, theta, ())
