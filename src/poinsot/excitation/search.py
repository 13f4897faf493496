"""The search for a motion, leg by leg (Swevers et al. 1997 for the problem).

    min over c of  f(W(q, v, a)),   (q, v, a)(t) = Phi(t) c      subject to  g(q, v, a, tau, d) <= 0 at all times

f is a criterion of `criterion`, g the limits (`MotionConstraints`). An augmented Lagrangian takes the constraints into
the function (Hestenes 1969, Powell 1969, Rockafellar 1973): SciPy's L-BFGS-B minimizes

    f + rho / 2N sum over times and constraints of max(0, g + lambda / rho)^2

for some iterations, a *leg*; then lambda <- max(0, lambda + rho g), rho grows if g did not shrink, and the next leg
begins. All derivatives are analytic, and since q, v, a are linear in c the last step of the chain is a product.

A constraint at all times is one at finitely many of them, and at those where the check, on a much finer grid, found
it violated after a leg (the exchange method of semi-infinite programs). Only a motion that passes the check counts; one
that nearly does may pass when it is scaled down slightly. A leg needs nothing but the `SearchState` of the last one.

A motion begins at a random posture within all limits and free of collisions. In a narrow workspace hardly any is free;
then those that violate their limits least are improved, by

    min over q of  sum max(0, d_min - d(q) + s)^2 / (0.1 m)^2 + sum max(0, |tau(q)| / tau_max - 1 + s)^2

within the limits of positions, where tau holds the robot still and s is a small margin.

The limits along a motion are inequalities g <= 0 without units:

    position      (q - upper) / s,  (lower - q) / s         s half the range, or one turn where there is none
    speed, acceleration, torque     x / x_max - 1,  -x / x_max - 1
    clearance     (d_min - d) / 0.1 m

at each evaluated time. `excess` has one row per time and one column per constraint, always in this order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from ..arrays import Float, JointSamples, Matrix, Times, Vector
from ..exceptions import InvalidMethod
from .criterion import condition_number
from .limits import SYMMETRIC
from .problem import ExcitationProblem

if TYPE_CHECKING:
    from .design import OptimalExcitation


CLEARANCE_SCALE_M = 0.1


@dataclass(frozen=True, eq=False)
class MotionConstraints:
    """The limits of one problem, with a part of each as margin (`spare`); 0.1 m times this part for clearances."""

    problem: ExcitationProblem
    spare: float = 0.0

    def excess(
        self, q: JointSamples, v: JointSamples, a: JointSamples, tau: JointSamples
    ) -> Float[np.ndarray, "T G"]:
        """(T, 8 n + C) g, positive where a limit is broken."""
        limits = self.problem.limits
        distances = self.problem.collisions.distances(self.problem.robot.configurations(q))
        with np.errstate(invalid="ignore"):  # a line search may try motions that overflow
            parts = [(q - limits.upper) / self._range, (limits.lower - q) / self._range]
            for values, limit in zip((v, a, tau), self._symmetric, strict=True):
                parts += [values / limit - 1, -values / limit - 1]
            parts.append((self.problem.clearances - distances) / CLEARANCE_SCALE_M)
        return np.concatenate(parts, axis=1) + self.spare

    def pull_back(
        self, q: JointSamples, weights: Float[np.ndarray, "T G"]
    ) -> tuple[JointSamples, JointSamples, JointSamples, JointSamples]:
        """(T, n) each: the derivatives of sum(weights * g) by q, v, a and tau."""
        n = q.shape[1]
        up, down, *others = (weights[:, k * n : (k + 1) * n] for k in range(8))
        dv, da, dtau = (
            (others[2 * k] - others[2 * k + 1]) / limit for k, limit in enumerate(self._symmetric)
        )
        apart = -weights[:, 8 * n :] / CLEARANCE_SCALE_M
        dq = (up - down) / self._range
        # distances are the largest cost, and usually no pair is close
        if apart.any():
            dq = dq + self.problem.collisions.pull_back(self.problem.robot.configurations(q), apart)
        return dq, dv, da, dtau

    def describe(self, excess: Float[np.ndarray, "T G"]) -> str:
        """The most violated constraint, in words, e.g. `the torque of joint elbow exceeds its limit by 3 %`."""
        problem, n = self.problem, len(self.problem.robot.joints)
        # the order of `excess`: 2 n positions, 6 n others by quantity and sign, then pairs
        column = int(np.argmax(excess.max(axis=0)))
        by = float(excess[:, column].max())
        if column >= 8 * n:
            first, second = problem.collisions.pairs[column - 8 * n]
            least = problem.clearances[column - 8 * n] - by * CLEARANCE_SCALE_M
            return f"{first} comes as close as {least:.3g} m to {second}"
        joint, unit = problem.limits.joints[column % n], problem.limits.units[column % n]
        if column < 2 * n:
            return f"joint {joint} passes its position limit by {by * self._range[column % n]:.3g} {unit}"
        quantity = SYMMETRIC[(column - 2 * n) // (2 * n)]
        return f"the {quantity} of joint {joint} exceeds its limit by {100 * by:.2g} %"

    @property
    def _symmetric(self) -> tuple[Vector, ...]:
        """(n,) limits of speed, acceleration and torque."""
        return tuple(getattr(self.problem.limits, name) for name in SYMMETRIC)

    @property
    def _range(self) -> np.ndarray:
        half = 0.5 * (self.problem.limits.upper - self.problem.limits.lower)
        return np.where(np.isfinite(half), half, 2 * np.pi)


DRAWN_AT_ONCE, DRAWN = 50, 500
IMPROVED = 20
SPARE = 0.01


def random_posture(problem: ExcitationProblem, rng: np.random.Generator) -> Vector:
    """(n,) a free posture [rad] or [m]."""
    low, high = _range(problem)
    drawn = np.empty((0, len(low)))
    while len(drawn) < DRAWN:
        postures = rng.uniform(low, high, (DRAWN_AT_ONCE, len(low)))
        free = problem.free_postures(postures)
        if free.any():
            return np.asarray(postures[int(np.argmax(free))])
        drawn = np.concatenate([drawn, postures])
    costs = [_cost(q, problem)[0] for q in drawn]
    # stable: the same seed gives the same posture on every machine
    for k in np.argsort(costs, kind="stable")[:IMPROVED]:
        optimum = minimize(
            _cost, drawn[k], (problem,), jac=True, method="L-BFGS-B", bounds=np.column_stack([low, high])
        )
        if problem.free_postures(optimum.x[None])[0]:
            return np.asarray(optimum.x)
    raise InvalidMethod(_no_free_posture(problem, drawn))


def _range(problem: ExcitationProblem) -> tuple[Vector, Vector]:
    """Position range of random postures: at most one turn, in the middle of the limits."""
    low, high = problem.limits.lower, problem.limits.upper
    # a turn beside the only limit, or about zero where there is none
    nearest = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * np.pi, -np.pi))
    middle = 0.5 * (nearest + np.where(np.isfinite(high), high, nearest + 2 * np.pi))
    return np.maximum(low, middle - np.pi), np.minimum(high, middle + np.pi)


def _cost(q: Vector, problem: ExcitationProblem) -> tuple[float, Vector]:
    posture, still = q[None], np.zeros((1, len(q)))
    constraints = MotionConstraints(problem, SPARE)
    over = np.maximum(constraints.excess(posture, still, still, problem.holding_torques(posture)), 0.0)
    # the optimizer's bounds enforce the position limits
    over[:, : 2 * len(q)] = 0.0
    *direct, by_torque = constraints.pull_back(posture, 2 * over)
    gradient = direct[0] + problem.terms.pull_back(posture, still, still, None, by_torque)[0]
    return float(np.sum(over**2)), gradient[0]


def _no_free_posture(problem: ExcitationProblem, q: JointSamples) -> str:
    """The error message with the most frequent reason why postures are not free."""
    touching = problem.collisions.distances(problem.robot.configurations(q)) < problem.clearances
    heavy = np.abs(problem.holding_torques(q)) >= problem.limits.torque
    reasons = [
        f"{first} comes closer than {clearance:.3g} m to {second}"
        for clearance, (first, second) in zip(problem.clearances, problem.collisions.pairs, strict=True)
    ] + [
        f"joint {joint} cannot hold the robot with {limit:g} {unit}"
        for joint, limit, unit in zip(
            problem.robot.joints, problem.limits.torque, problem.robot.effort_units, strict=True
        )
    ]
    counts = np.concatenate([touching.sum(axis=0), heavy.sum(axis=0)])
    worst = int(np.argmax(counts))
    return (
        f"the limits contradict each other: no posture was found that keeps to all of them, and in {counts[worst]} of "
        f"{len(q)} random ones {reasons[worst]}; widen a limit, lower the floor, or ask for less clearance"
    )


SAMPLES_PER_DETAIL = 24
"""Number of times at which a motion is evaluated, per oscillation of its fastest function."""

SHARPNESS = (2.0, 8.0, 32.0)
"""p of the condition number: the first two for this many legs each, the last one from then on."""

LEGS_OF_SHARPNESS = 4
ITERATIONS_OF_LEG = 60
MARGIN = 0.004
"""Part of each limit that is left unused, so that a nearly converged motion passes the check."""

MAX_VIOLATION = 0.04
"""Relative violation above which a motion adds no times to the next leg."""

SHRINK_FACTOR = 1.2
"""A motion that nearly passes is also scaled down, by this factor times its violation; 1 suffices for speeds."""

FIRST_PENALTY, GROWTH, LARGEST_PENALTY = 30.0, 3.0, 1e5
SETTLED, SETTLED_LEGS = 1e-3, 3
"""A start is done when this many legs with the last sharpness each improved the criterion, a logarithm, by less."""

MAX_ADDED_TIMES = 40
"""Maximum number of times that a check adds."""


@dataclass(frozen=True, eq=False)
class SearchState:
    """State of a search after a leg.

    Args:
        start: index of the random initial motion, from 0. leg: number of legs since.
        coefficients: (m, n) of the current motion.
        times: (N,) at which constraints are evaluated [s]; first those of the criterion, then those that checks added.
        multipliers: (N, G) lambda. penalty: rho.
        violation: largest g at `times` after the last leg. condition_number: of the current motion.
        passed: criterion of the best motion of this start that passed the check. settled: legs that changed it little.
        best: (m, n) coefficients of the best motion of all starts that passed; None: none did yet.
        best_value, best_condition_number: its criterion, its condition number.
        failure: in words, why the last motion that was checked did not pass.
        iterations: optimizer iterations of all legs. seconds: time of all legs.
        done: whether the search is complete.
    """

    start: int
    leg: int
    coefficients: Matrix
    times: Times
    multipliers: np.ndarray
    penalty: float = FIRST_PENALTY
    violation: float = np.inf
    condition_number: float = np.inf
    passed: float = np.inf
    settled: int = 0
    best: Matrix | None = None
    best_value: float = np.inf
    best_condition_number: float = np.inf
    failure: str = "no motion came near its limits"
    iterations: int = 0
    seconds: float = 0.0
    done: bool = False


OF_ONE_START = (
    "start",
    "leg",
    "coefficients",
    "times",
    "multipliers",
    "penalty",
    "violation",
    "passed",
    "settled",
)
"""Fields of a state that belong only to its start."""


@dataclass(frozen=True, eq=False)
class MotionSearch:
    """Search for the motion of one problem by one method."""

    problem: ExcitationProblem
    method: OptimalExcitation

    def motion(self, coefficients: Matrix, times: Times) -> tuple[JointSamples, JointSamples, JointSamples]:
        """q, v, a (N, n) at some times."""
        q, v, a = self.method.basis.at(times, self.problem.duration_s) @ coefficients
        return q, v, a

    def begin(self, start: int = 0) -> SearchState:
        """State of a start before its first leg, from a `random_posture`."""
        motion = self._random_motion(start)
        return SearchState(start, 0, motion, self.samples, self._no_multipliers(self.samples))

    def advance(self, state: SearchState) -> SearchState:
        """The state after one more leg, at the next start if this one is done."""
        state = self._checked(self._leg(state))
        if state.leg < self.method.legs and state.settled < SETTLED_LEGS:
            return state
        if state.start + 1 >= self.method.starts:
            return replace(state, done=True)
        begun = self.begin(state.start + 1)
        own = {name: getattr(begun, name) for name in OF_ONE_START}
        return replace(state, **own)

    def value(self, coefficients: Matrix) -> tuple[float, float]:
        """The criterion and the condition number, on the samples that will be recorded."""
        terms = self.problem.terms
        W = terms.W(terms.entries(*self.motion(coefficients, self.problem.time)))
        return self.method.objective(W, self.problem.torque_std, np.inf)[0], condition_number(W)

    def check(self, coefficients: Matrix) -> np.ndarray:
        """(T, G) g at all times of the check, without margin."""
        q, v, a = self.motion(coefficients, self.problem.checked_time)
        terms = self.problem.terms
        return MotionConstraints(self.problem).excess(q, v, a, terms.torques(terms.entries(q, v, a)))

    @cached_property
    def samples(self) -> Times:
        """Times at which the criterion is evaluated. [s]"""
        count = int(np.ceil(SAMPLES_PER_DETAIL * self.method.basis.detail)) + 1
        return np.linspace(0.0, self.problem.duration_s, count)

    def _no_multipliers(self, times: Times) -> np.ndarray:
        return np.zeros((len(times), 8 * len(self.problem.robot.joints) + len(self.problem.collisions)))

    def _random_motion(self, start: int) -> Matrix:
        """(m, n) coefficients: from a free posture, half as far, fast and sudden as allowed."""
        limits = self.problem.limits
        # a start does not depend on those before it: a resumed search has the same starts
        rng = np.random.default_rng([self.method.seed, start])
        posture = self.problem.start
        if posture is None:
            posture = random_posture(self.problem, rng)
        moving = rng.standard_normal((self.method.basis.size - 1, len(posture)))
        trial = self.motion(np.concatenate([np.zeros((1, len(posture))), moving]), self.samples)
        reach = np.minimum(0.5 * (limits.upper - limits.lower), np.pi)
        allowed = (reach, limits.velocity, limits.acceleration)
        used = [np.abs(x).max(axis=0) / limit for x, limit in zip(trial, allowed, strict=True)]
        return np.concatenate([posture[None], 0.5 * moving / np.max(used, axis=0)])

    def _leg(self, state: SearchState) -> SearchState:
        cost = AugmentedCost(self, state)
        optimum = minimize(
            cost,
            cost.variables(state.coefficients),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS_OF_LEG, "maxcor": 20},
        )
        coefficients = cost.coefficients(optimum.x)
        g = cost.excess(coefficients)
        violation = float(g.max(initial=0.0))
        # a penalty that grows although g shrinks only spoils the conditioning
        slow = violation > max(MARGIN, 0.5 * state.violation)
        return replace(
            state,
            leg=state.leg + 1,
            coefficients=coefficients,
            multipliers=np.maximum(0.0, state.multipliers + state.penalty * g),
            penalty=min(GROWTH * state.penalty, LARGEST_PENALTY) if slow else state.penalty,
            violation=violation,
            iterations=state.iterations + int(optimum.nit),
        )

    def sharpness(self, leg: int) -> float:
        """Sharpness p of a leg of a start."""
        return SHARPNESS[min(leg // LEGS_OF_SHARPNESS, len(SHARPNESS) - 1)]

    def _checked(self, state: SearchState) -> SearchState:
        """The state with its motion as the best one if it passes, else with the times at which it does not."""
        value, condition = self.value(state.coefficients)
        state = replace(state, condition_number=condition)
        # the check is fine and slow; a motion this far off would not pass it
        if state.violation > MAX_VIOLATION and state.best is not None:
            return state
        g = self.check(state.coefficients)
        if g.max(initial=-np.inf) <= 0:
            last = self.sharpness(state.leg - 1) == SHARPNESS[-1]
            little = value > state.passed - SETTLED
            # a change of sharpness changes the function: only legs with the last one count
            settled = state.settled + 1 if last and little else 0
            state = replace(state, passed=min(value, state.passed), settled=settled)
            return self._passed(state, state.coefficients, value, condition)
        state = replace(state, failure=MotionConstraints(self.problem).describe(g))
        if state.violation > MAX_VIOLATION:
            return state
        # the first coefficient is the posture at the start, about which the motion shrinks
        smaller = state.coefficients.copy()
        smaller[1:] *= 1 - SHRINK_FACTOR * float(g.max())
        if self.check(smaller).max(initial=-np.inf) <= 0:
            state = self._passed(state, smaller, *self.value(smaller))
        moments = np.unique(np.argmax(g, axis=0)[g.max(axis=0) > 0])
        # more times would slow every further leg, and adjacent times add the same constraint
        worst = moments[np.argsort(-g[moments].max(axis=1))][:MAX_ADDED_TIMES]
        added = np.setdiff1d(self.problem.checked_time[worst], state.times)
        return replace(
            state,
            times=np.concatenate([state.times, added]),
            multipliers=np.concatenate([state.multipliers, self._no_multipliers(added)]),
        )

    def _passed(
        self, state: SearchState, coefficients: Matrix, value: float, condition: float
    ) -> SearchState:
        """The state, with a motion that passed the check as the best one if it is."""
        if value >= state.best_value:
            return state
        return replace(state, best=coefficients, best_value=value, best_condition_number=condition)


class AugmentedCost:
    """f + rho / 2N sum max(0, g + lambda / rho)^2 during one leg, by coefficients in units of each joint's amplitude;
    a given start posture is the first coefficient, and not a variable.
    """

    def __init__(self, search: MotionSearch, state: SearchState):
        problem, limits = search.problem, search.problem.limits
        self.state = state
        self.search, self.sharpness = search, search.sharpness(state.leg)
        self.constraints = MotionConstraints(problem, MARGIN)
        self.terms = problem.rounded_terms
        self.functions = search.method.basis.at(state.times, problem.duration_s)
        self.samples = len(search.samples)
        self.first = 0 if problem.start is None else 1
        # amplitude that a joint's limits allow in a motion of the lowest frequency
        w = 2 * np.pi / problem.duration_s
        sizes = [0.5 * (limits.upper - limits.lower), limits.velocity / w, limits.acceleration / w**2]
        self.unit = np.minimum(np.min(sizes, axis=0), np.pi)  # [rad] or [m]

    def variables(self, coefficients: Matrix) -> Vector:
        """The optimizer's variables from (m, n) coefficients."""
        return np.ravel(coefficients[self.first :] / self.unit)

    def coefficients(self, x: Vector) -> Matrix:
        """(m, n) coefficients from the optimizer's variables."""
        moved = x.reshape(-1, len(self.unit)) * self.unit
        return np.concatenate([self.state.coefficients[: self.first], moved])

    def excess(self, coefficients: Matrix) -> np.ndarray:
        """(N, G) g, with the margin."""
        q, v, a = self.functions @ coefficients
        return self.constraints.excess(q, v, a, self.terms.torques(self.terms.entries(q, v, a)))

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        q, v, a = self.functions @ self.coefficients(x)
        entries = self.terms.entries(q, v, a)
        # the criterion's own times come first; those that checks added are only for the constraints
        W = self.terms.W(entries[: self.samples])
        f, by_W = self.search.method.objective(W, self.search.problem.torque_std, self.sharpness)
        g = self.constraints.excess(q, v, a, self.terms.torques(entries))
        rho, N = self.state.penalty, self.samples
        over = np.maximum(g + self.state.multipliers / rho, 0.0)
        *direct, by_torque = self.constraints.pull_back(q, rho / N * over)
        by_motion = np.add(direct, self.terms.pull_back(q, v, a, by_W, by_torque))
        gradient = np.einsum("dtm,dtn->mn", self.functions, by_motion, optimize=True)
        return f + 0.5 * rho / N * float(np.sum(over**2)), self.variables(gradient * self.unit**2)
