"""Least squares over physically possible bodies: pseudo-inertias are positive semidefinite, a prior decides the rest.

Least squares gives base values beta with factor R (cov beta = s^2 (R^T R)^-1); bodies, rotors and friction theta have
beta = K theta, with K the grouping that the recording determines. Two questions, both convex, one after the other:

    data     d = min |R (K theta - beta)| / s                      theta in C
    prior    min sum of D(J_i, J0_i) + 1/2 sum of (theta_k / size_k)^2 w
             subject to  |R (K theta - beta)| / s <= (1 + allowance) d,   theta in C

C: J_i >= 0 for every body, friction and rotor inertia >= 0, and the constraints that the user is certain of. Where
least squares is physical, d = 0, its base values stay exactly as they are, and the prior decides what the data do not
determine and nothing else. Where it is not, d is its distance from the possible bodies in standard deviations; the
closest ones are on the border of the possible set, infinitely thin, so the prior is given a part of d more
(`allowance`).

With `trust = "both"` prior and data are weighed by what they know instead, in one step:

    min 1/2 |R (K theta - beta)|^2 / s^2 + w sum of D(J_i, J0_i) + 1/2 sum of (theta_k / size_k)^2

with w such that a body that is 1 + epsilon times its prior costs epsilon^2 / (2 std^2), `std` the prior's relative
standard deviation: 1 / (4 std^2) for the entropic divergence, half of that for the affine-invariant one, and for the
Euclidean one, which has units, such that it holds for all bodies together. There is no prior on friction, nor
on any other parameter that the data determine by itself.

The covariance: near the solution the divergence is a metric, and in coordinates theta = T y in which it is |dy|^2 the
prior has covariance 1. With N an orthonormal basis of the unobservable directions and S = (K T)^+,

    y = S beta + N z        cov = S cov(beta) S^T + N N^T                           trust = "data"
    y = G beta + ...        cov = (1 - G A) (1 - G A)^T + G cov(beta) G^T           trust = "both"

with A = K T and G the weights that the cost gives base values, for white residuals of size s; cov(beta) allows for
coloured ones.

The prior's share in a parameter is the part of its prior variance that the data leave: of T N N^T T^T in T T^T where
the data are trusted first, of T cov T^T otherwise.

Sousa and Cortesao (2014); Wensing, Kim and Slotine (2018); Lee, Wensing and Park (2020).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from scipy import linalg, special

from ...arrays import Matrix, Vector
from ...estimate import Body, Certificate, Estimate, FullParameters, Status
from ...exceptions import ImpossibleBody, InvalidMethod, NotIdentifiable, listing, nearest
from ...inertia.divergence import AffineInvariant, Entropic, Euclidean
from ...inertia.extent import with_extent
from ...inertia.log_cholesky import LogCholesky
from ...inertia.parameters import body, inconsistencies, is_consistent, pseudo_inertia
from ...models.friction.listed import dissipating_kinds, words_of
from ...regression.base_parameters import EXCITATION_TOLERANCE
from ...regression.inverse_dynamics import InverseDynamics
from ...solve import ProgressCallback, Stop, report, stop_requested
from .conic import Cone, ConeProgram, ConeSolution, ConicStatus, Membership, vector_of
from .constraints import Constraints
from .divergence_cones import DivergenceTerm, EntropicTerm, QuadraticTerm, physical
from .essential import EssentialParameters
from .least_squares import EXACT, LeastSquares, finish
from .system import TINY, LinearSolution, System, covariance_root, reduce
from .whitening import Whitened

DIVERGENCES = {"entropic": Entropic(), "euclidean": Euclidean(), "affine-invariant": AffineInvariant()}

MIN_ALLOWANCE = 1e-3
"""Smallest allowance: with less, the set of base values left to the prior is thinner than the solver's tolerance."""

MIN_RADIUS = 1e-3
"""The prior may always move the base values by this many standard deviations where constraints bind."""

IMPLAUSIBLE = 0.01
"""Significance level of the warning that no physically possible bodies explain the data (chi-square test)."""

MAX_DISTANCE = 0.1
"""Largest distance [standard deviations] at which possible bodies count as having the base values of least squares."""

MIN_MARGIN = 1e-5
"""Least squares counts as possible if some bodies have its base values and X_i >= MIN_MARGIN 1 (see `_has_room`)."""

RANK_TOLERANCE = 1e-9
"""Singular values below this part of the largest belong to unobservable directions."""

UNINFORMED_STD = 30.0
"""Prior standard deviation, in sizes, of a parameter on which the prior has no information."""

FIXED = 1e-12
"""A variance below this part of the prior's own is that of a parameter that constraints fix."""

GAP, LOCAL_GAP, FEASIBLE = 1e-5, 1e-4, 1e-7
"""Tolerances of the certificate: the relative duality gap, where the divergence is convex and where only its model near
the solution is; and of the constraints, relative to the prior."""

AGREEMENT = 1e-9
"""Rounding between base values and full parameters, relative to the norm of the whitened base values (at least 1e3)."""

STOPPED_EARLY = "Stopped before possible bodies were looked for: these are the values of least squares."

MODEL_STEPS = 50
MODEL_TOLERANCE = 1e-13
"""Sequential convex programming for a divergence that is not convex: most iterations, and the relative decrease of the
cost below which it has converged."""


@dataclass(frozen=True)
class SemidefiniteLeastSquares:
    """Least squares over physically possible bodies; every parameter of the model gets a value.

    Args:
        weighting, rtol: as in `LeastSquares`.
        essential: whether least squares first removes poorly determined parameters, as `EssentialParameters`.
        prior: body name -> its ten parameters before the data; bodies that are not named: the robot description's.
        divergence: from the prior: `"entropic"`, `"euclidean"` or `"affine-invariant"`.
        trust: `"data"`: the prior decides what the data leave open and nothing else; `"both"`: both are weighed by
            what they know.
        prior_std: relative standard deviation of the prior, of a body as a whole.
        allowance: the prior may take the base values this part further from least squares than possible bodies have
            to be; 0 where least squares is possible itself.
        constraints: certain knowledge.
    """

    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: Mapping[str, Sequence[float]] | None = None
    divergence: Literal["entropic", "euclidean", "affine-invariant"] = "entropic"
    trust: Literal["data", "both"] = "data"
    prior_std: float = 0.5
    allowance: float = 0.5
    constraints: Constraints = field(default_factory=Constraints)
    rtol: float = EXCITATION_TOLERANCE

    name = "semidefinite"
    citations = (*LeastSquares.citations, "sousa2014", "wensing2018", "lee2020")

    def __post_init__(self) -> None:
        LeastSquares(self.weighting, rtol=self.rtol)
        if self.divergence not in DIVERGENCES:
            raise InvalidMethod(
                f"divergence must be {listing(map(repr, DIVERGENCES))}, not {self.divergence!r}"
            )
        if self.trust not in ("data", "both"):
            raise InvalidMethod(f"trust must be 'data' or 'both', not {self.trust!r}")
        if not self.prior_std > 0 or not self.allowance >= MIN_ALLOWANCE:
            raise InvalidMethod(
                f"prior_std must be above 0 and allowance at least {MIN_ALLOWANCE:g}, not {self.prior_std:g} and "
                f"{self.allowance:g}: the closest possible bodies are infinitely thin"
            )

    def solve(
        self,
        problem: InverseDynamics,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """Estimate every parameter of the model.

        Raises:
            MissingExtra: if Clarabel is not installed.
            ImpossibleBody: if a prior body cannot be.
            InvalidMethod: if constraints name what does not exist, or exclude every solution together.
            NotIdentifiable: as in `LeastSquares`.
        """
        started = time.perf_counter()
        reduced = self._reduced(problem, progress=progress, stop=stop)
        system, target = reduced.system, reduced.target
        if stop_requested(stop):
            return finish(
                self, problem, system, replace(target, status=Status.interrupted), notes=(STOPPED_EARLY,)
            )
        report(progress, "finding possible bodies")
        found = _answer(reduced, progress, stop)
        theta = reduced.coordinates.T @ found.x
        if found.radius == 0:  # the solver's tolerance, taken off
            known = _knowledge(reduced, theta, np.zeros_like(target.covariance))
            theta = theta + known.T @ known.S @ (target.theta - reduced.K @ theta)
        # base values are those of the bodies, so that both statements of the estimate agree to rounding
        base = reduced.K @ theta
        free = finish(self, problem, system, target)  # how sure least squares is, possible or not
        known = _knowledge(reduced, theta, free.covariance)
        full = _full_parameters(reduced, known, theta)
        return free.updated(
            full,
            values=base,
            fit=problem.fit(replace(target, theta=base).on_base(system)),
            iterations=target.steps + found.steps,
            bodies=_bodies(reduced, known, full),
            certifier=partial(_certify, reduced, found, reduced.essential or free),
            status=free.status if found.status is Status.solved else found.status,
            notes=(
                *free.notes,
                *(reduced.essential.notes if reduced.essential else ()),
                *_distance_note(reduced, found),
            ),
            warnings=(*problem.warnings, *reduced.warnings, *_implausible(reduced, found, free.covariance)),
            seconds={**free.seconds, "solve": time.perf_counter() - started - system.seconds},
        )

    def _reduced(
        self,
        problem: InverseDynamics,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> _ReducedProblem:
        """The problem without its rows: least squares and what is known beside it."""
        least_squares = LeastSquares(self.weighting, rtol=self.rtol)
        report(progress, "reading rows")
        system = reduce(problem, self.rtol)
        target = least_squares.fit(problem, system, progress=progress, stop=stop)
        kept = None
        if self.essential:
            kept = EssentialParameters(weighting=self.weighting, rtol=self.rtol).solve(
                problem, progress=progress, stop=stop
            )
            # the factor of all columns stays: what was set to zero is a measurement of zero here
            values = np.zeros(system.size)
            for name, value in zip(kept.names, kept.values, strict=True):
                values[problem.base.index(name)] = value
            target = replace(target, theta=values[system.columns])
        prior, warnings = self._prior(problem)
        return _ReducedProblem(self, problem, system, target, prior, kept, warnings)

    def _prior(self, problem: InverseDynamics) -> tuple[np.ndarray, tuple[str, ...]]:
        """(l, 10) prior bodies with extent in all directions, and what had to be added to them."""
        names = problem.robot.bodies
        # the description's bodies belong to the robot, and must not change with one method
        prior = problem.robot.inertials.copy()
        for name, pi in (self.prior or {}).items():
            if name not in names:
                raise InvalidMethod(
                    f"the prior names body {name!r}{nearest(name, names)}; the robot has {listing(names)}"
                )
            if len(pi) != 10:
                raise InvalidMethod(f"the prior of {name} has {len(pi)} numbers; a body has ten parameters")
            prior[names.index(name)] = pi
        for k in np.flatnonzero(~is_consistent(prior) | (prior[:, 0] == 0)):
            reasons = tuple(map(str, inconsistencies(prior[k])))
            advice = "`poinsot repair` finds the nearest possible body"
            if not reasons:
                reasons, advice = ("its mass is 0",), "give the link a rough mass and size in the description"
            raise ImpossibleBody((*reasons, advice), f"the prior of {names[k]}")
        extended, count = with_extent(prior)
        points = [name for name, axes in zip(names, count, strict=True) if axes]
        if not points:
            return extended, ()
        return extended, (
            f"The prior of {listing(points)} has a mass but no extent along some axis; there it was given that of an "
            "aluminium ball of its mass.",
        )


# ------------------------------------------------------------------------------------------ the problem in numbers


@dataclass(frozen=True, eq=False)
class _ReducedProblem:
    """The data of the cone programs.

    Args:
        target: of least squares; its `theta` are the base values beta to be met.
        prior: (l, 10) bodies.
        essential: the estimate with essential parameters alone, whose values are the target's; None: not asked for.
    """

    method: SemidefiniteLeastSquares
    problem: InverseDynamics
    system: System
    target: LinearSolution
    prior: np.ndarray
    essential: Estimate | None
    warnings: tuple[str, ...]

    @property
    def K(self) -> Matrix:
        """(b, p) base values from all parameters."""
        return self.system.base.map

    @cached_property
    def coordinates(self) -> Whitened:
        """Whitened by the prior bodies; other parameters have the size of the base values that they enter."""
        enters = np.abs(self.K[:, self.prior.size :]) > 0
        sizes = np.max(enters * np.abs(self.target.theta)[:, None], axis=0, initial=0.0)
        return Whitened(self.prior, np.where(sizes > 0, sizes, 1.0))

    @cached_property
    def A(self) -> Matrix:
        """(b, p) R K T / s: how many standard deviations x moves the base values."""
        return self.R @ self.K @ self.coordinates.T

    @cached_property
    def b(self) -> Vector:
        """(b,) R beta / s."""
        return self.R @ self.target.theta

    @cached_property
    def R(self) -> Matrix:
        """(b, b) of base values in units of standard deviations."""
        R = self.target.R
        efforts = np.linalg.norm(R @ self.target.theta) / np.sqrt(self.system.equations)
        # of noise-free data s is rounding, and A would be beyond what a solver counts in
        return R / max(np.sqrt(self.target.variance), EXACT * efforts, TINY)

    @cached_property
    def certain(self) -> tuple[Membership, ...]:
        """All constraints but physical possibility, on x."""
        problem = self.problem
        known = [
            *_signs(problem),
            *self.method.constraints.memberships(problem.parameters, problem.robot.bodies),
            *_held(problem),
        ]
        return tuple(each.through(self.coordinates.T) for each in known)

    @cached_property
    def possible(self) -> tuple[Membership, ...]:
        return physical(self.coordinates, self.problem.robot.bodies)

    @cached_property
    def equalities(self) -> Matrix:
        """(r, p) directions of x that constraints fix."""
        fixed = [each.F for each in self.certain if each.cone is Cone.zero]
        return np.concatenate(fixed) if fixed else np.zeros((0, self.A.shape[1]))

    @cached_property
    def spread(self) -> Vector:
        """(p - 10 l,) standard deviations that the prior gives parameters that are no body's, in their sizes.

        It has no information on a parameter that the data determine by itself.
        """
        enters = np.abs(self.K) > 0
        alone = enters[np.count_nonzero(enters, axis=1) == 1].any(axis=0)
        # a prior this wide is no prior, and keeps the program's Hessian positive definite
        return np.where(alone[self.prior.size :], UNINFORMED_STD, 1.0)

    @cached_property
    def weight(self) -> float:
        """w of the divergence: a body that is 1 + epsilon times its prior costs epsilon^2 / (2 std^2)."""
        whole = float(np.sum(pseudo_inertia(self.prior) ** 2))
        scale = {"entropic": 1.0, "affine-invariant": 0.5, "euclidean": 2 * len(self.prior) / whole}
        return scale[self.method.divergence] / (4 * self.method.prior_std**2)

    def term(self) -> DivergenceTerm:
        """How far from the prior."""
        # the whole term is multiplied by w, and spreads of other parameters are no part of w
        weight = 1 / (self.weight * self.spread**2)
        kind = EntropicTerm if self.method.divergence == "entropic" else QuadraticTerm
        return kind(self.coordinates, weight, DIVERGENCES[self.method.divergence], self.problem.robot.bodies)


def _signs(problem: InverseDynamics) -> list[Membership]:
    """No joint has negative friction or rotor inertia; together, where a motor turns with two joints, neither.

    Rotors store q'^T M q' / 2 and viscous friction takes q'^T B q'; M and B are the diagonal of the joints' own and
    the cross terms of coupled motors.
    """
    parameters, train = problem.parameters, problem.robot.train
    p = len(parameters)
    kinds = np.array(parameters.kinds)
    members = []
    for kind in ("rotor_inertia", *dissipating_kinds()):
        columns = np.flatnonzero((kinds == kind) & parameters.free)
        if len(columns):
            F = np.eye(p)[columns]
            words = words_of(kind)
            members.append(Membership(f"{words} of at least 0", Cone.nonnegative, F, np.zeros(len(columns))))
    numbers = problem.robot.joint_numbers
    pairs = [("ia", "rotor inertia")]
    pairs += [(t.symbol, t.words) for t in problem.robot.friction.coupled_terms if t.linear and t.dissipates]
    # the diagonal may be held or absent; the cross terms make the matrix one of all joints
    for own, words in pairs:
        cross = f"{own}m"
        named = {name: k for k, name in enumerate(parameters.names)}
        if not train.coupled or f"{cross}{numbers[train.coupled[0]]}" not in named:
            continue
        n = len(numbers)
        F = np.zeros((len(vector_of(np.eye(n))), p))
        for joint, number in enumerate(numbers):
            if (column := named.get(f"{own}{number}")) is not None:
                F[:, column] = vector_of(np.diag(np.eye(n)[joint]))
        for motor in train.coupled:
            # added and not assigned: several motors may share one parameter
            F[:, named[f"{cross}{numbers[motor]}"]] += vector_of(train.cross[motor])
        members.append(Membership(f"{words} that takes energy", Cone.semidefinite, F, np.zeros(len(F))))
    return members


def _held(problem: InverseDynamics) -> list[Membership]:
    parameters, identity = problem.parameters, np.eye(len(problem.parameters))
    return [
        Membership(f"{name} = {value:g}", Cone.zero, identity[[parameters.index(name)]], np.array([-value]))
        for name, value in parameters.held.items()
    ]


# ------------------------------------------------------------------------------------------ the programs


@dataclass(frozen=True, eq=False)
class _Answer:
    """Solution of the cone programs.

    Args:
        x: (p,). multipliers: of the last program.
        radius: by how many standard deviations base values may differ from least squares; None: the fit is weighed.
        closest: (p,) the possible bodies that are closest to least squares; None where least squares is possible.
    """

    x: Vector
    multipliers: tuple[Vector, ...]
    radius: float | None
    closest: Vector | None
    steps: int
    status: Status = Status.solved


def _answer(
    reduced: _ReducedProblem, progress: ProgressCallback | None = None, stop: Stop | None = None
) -> _Answer:
    """Solve: first the closest fit, then the bodies nearest the prior; or both weighed together."""
    closest = _closest(reduced)
    x = closest.x[:-1]
    if reduced.method.trust == "both":
        return _nearest_to_prior(reduced, None, x, closest.steps, progress, stop)
    # the closest point is found to the solver's tolerance, so a distance of zero is not: hence a second question
    distance = float(np.linalg.norm(reduced.A @ x - reduced.b))
    if distance < MAX_DISTANCE and _has_room(reduced):
        return _nearest_to_prior(reduced, 0.0, None, closest.steps, progress, stop)
    radius = (1 + reduced.method.allowance) * distance + MIN_RADIUS
    return _nearest_to_prior(reduced, radius, x, closest.steps, progress, stop)


def _has_room(reduced: _ReducedProblem) -> bool:
    """Whether bodies with extent in all directions have exactly the base values of least squares.

    max t  subject to  X_i >= t 1,  A x = b,  t <= 1
    """
    p = len(reduced.coordinates.center)
    floors = (
        replace(each, F=np.column_stack([each.F, -vector_of(np.eye(4))]), g=np.zeros(10))
        for each in reduced.possible
    )
    # without a limit the optimum is at infinity where nothing but the shape of a body is known
    limit = Membership("t <= 1", Cone.nonnegative, -np.eye(p + 1)[-1:], np.ones(1))
    known = (*reduced.certain, _fit(reduced, 0.0))
    program = ConeProgram(np.zeros((p + 1, p + 1)), -np.eye(p + 1)[-1], (*floors, limit, *known))
    optimum = _solved(program, np.append(reduced.coordinates.center, 0.0))
    # on the border least squares is possible, and yet the next program would have no interior
    return optimum.status is ConicStatus.solved and bool(optimum.x[-1] > MIN_MARGIN)


def _closest(reduced: _ReducedProblem) -> ConeSolution:
    """The possible bodies whose base values are closest to least squares; and t.

    min t  subject to  |A x - b| <= t misfit, with the prior's misfit for a unit

    Raises:
        InvalidMethod: if what is certain excludes all of them.
    """
    start = reduced.coordinates.center
    p, size = len(start), float(np.abs(reduced.A).max())  # of noise-free data, beyond what a solver counts in
    misfit = max(1.0, 1e-3 * size, float(np.linalg.norm(reduced.A @ start - reduced.b)))
    last = np.eye(p + 1)[-1]
    fit = _fit(reduced, misfit).through(np.eye(p, p + 1))
    # the first row of the cone, a radius of 1, becomes t
    fit = replace(fit, F=fit.F + np.outer(np.eye(len(fit.F))[0], last), g=fit.g - np.eye(len(fit.g))[0])
    program = ConeProgram(np.zeros((p + 1, p + 1)), last, (*reduced.possible, *reduced.certain, fit))
    optimum = _solved(program, np.append(start, 0.0))
    if optimum.status is ConicStatus.infeasible:
        raise InvalidMethod(
            f"no body can satisfy all of this together: {'; '.join(_clash(reduced))}; relax one of them"
        )
    return _converged(optimum)


def _solved(program: ConeProgram, start: Vector) -> ConeSolution:
    """Solve from a start; if that fails numerically, without one and with rows and columns scaled."""
    optimum = program.solve(start)
    return optimum if optimum.status is not ConicStatus.failed else program.solve(balanced=True)


def _clash(reduced: _ReducedProblem) -> list[str]:
    """Names of a smallest set of memberships that contradict each other; the user's own are dropped last."""
    p = len(reduced.coordinates.center)
    nothing = ConeProgram(np.zeros((p, p)), np.zeros(p), ())
    needed = [*reduced.possible, *reduced.certain]
    # the last ones are held parameters and the user's constraints: those that remain explain the conflict best
    for each in reversed(needed.copy()):
        fewer = [other for other in needed if other is not each]
        if fewer and replace(nothing, memberships=tuple(fewer)).solve().status is ConicStatus.infeasible:
            needed = fewer
    return [each.name for each in needed]


def _nearest_to_prior(
    reduced: _ReducedProblem,
    radius: float | None,
    closest: Vector | None,
    steps: int,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> _Answer:
    """Find the bodies nearest the prior among those that the data allow."""
    term, x = reduced.term(), reduced.coordinates.center
    if not term.convex:
        entropic = replace(reduced, method=replace(reduced.method, divergence="entropic"))
        x = _nearest_to_prior(entropic, radius, closest, 0).x
    elif radius is None and closest is not None:
        x = closest  # weighed, the fit is a small difference of large numbers unless counted from a good one
    status = Status.step_limit
    for number in range(1, MODEL_STEPS + 1):
        program = _last_program(reduced, term, x, radius)
        optimum = _converged(_solved(program, term.augmented(x)))
        steps += optimum.steps
        if term.convex:  # the program is no model but the problem itself
            return _Answer(optimum.x[: len(x)], optimum.multipliers, radius, closest, steps)
        step, cost = optimum.x - x, program.cost(x)
        gain = cost - program.cost(optimum.x)
        report(progress, "approaching the prior", iteration=number, cost=cost)
        if gain <= MODEL_TOLERANCE * (1 + abs(cost)):
            status = Status.solved
            break
        length = 1.0
        # Armijo's condition; a model that is wrong at 1e-3 of a step is so by rounding
        least = 0.1 * gain
        while length > 1e-3 and _last_cost(reduced, term, x + length * step, radius) > cost - length * least:
            length *= 0.5
        x = x + length * step
        if stop_requested(stop):
            status = Status.interrupted
            break
    return _Answer(x, optimum.multipliers, radius, closest, steps, status)


def _last_program(
    reduced: _ReducedProblem, term: DivergenceTerm, x: Vector, radius: float | None
) -> ConeProgram:
    """Divergence (or its model near x) over what is possible and fits."""
    program = term.program(x)
    known = (*program.memberships, *reduced.certain)
    if radius is not None:
        return replace(program, memberships=(*known, _fit(reduced, radius)))
    w, p = reduced.weight, len(x)
    P, q = w * program.P, w * program.q
    P[:p, :p] += reduced.A.T @ reduced.A
    q[:p] -= reduced.A.T @ reduced.b
    constant = w * program.constant + 0.5 * float(reduced.b @ reduced.b)
    return ConeProgram(P, q, known, constant)


def _last_cost(reduced: _ReducedProblem, term: DivergenceTerm, x: Vector, radius: float | None) -> float:
    """Cost of which the last program is a convex model."""
    value = term.value(x)
    if radius is not None:
        return value
    return reduced.weight * value + 0.5 * float(np.sum((reduced.A @ x - reduced.b) ** 2))


def _fit(reduced: _ReducedProblem, radius: float) -> Membership:
    """|A x - b| <= radius, in units of the radius; rows of an equation have norm 1."""
    A, b = reduced.A, reduced.b
    if radius == 0:
        # an equation has no unit; a row of norm 1 misses it by a distance in x
        norms = np.linalg.norm(A, axis=1)
        return Membership("the fit of least squares", Cone.zero, A / norms[:, None], -b / norms)
    F = np.concatenate([np.zeros((1, A.shape[1])), A]) / radius
    return Membership("a fit close to least squares", Cone.second_order, F, np.append(1.0, -b / radius))


def _converged(optimum: ConeSolution) -> ConeSolution:
    if optimum.status is ConicStatus.solved:
        return optimum
    raise NotIdentifiable(
        "the interior-point method stopped before the optimum, where bodies are all but impossible: hold what is "
        'known, raise the allowance, or weigh the prior with trust = "both"'
    )


def _certify(
    reduced: _ReducedProblem, found: _Answer, least_squares: Estimate, estimate: Estimate
) -> Certificate:
    """Primal and dual cost of the last program at an estimate's own values, with the multipliers that were found.

    Args:
        least_squares: the estimate whose base values are the target; its own certificate reads the rows again.
    """
    full = estimate.extra(FullParameters)
    assert full is not None
    # from the values that the estimate states, and not from what the solver found
    x = np.linalg.solve(reduced.coordinates.T, full.values)
    term = reduced.term()
    program = _last_program(reduced, term, x, found.radius)
    bound = program.bound(term.augmented(x), found.multipliers)
    feasible = bound.violation <= FEASIBLE * max(1.0, float(np.abs(x).max()))
    feasible = feasible and least_squares.certificate().holds
    # the base values and the full parameters are two statements of one estimate, and must agree
    apart = float(np.linalg.norm(reduced.R @ (estimate.values - reduced.K @ full.values)))
    feasible = feasible and apart <= AGREEMENT * (1e3 + float(np.linalg.norm(reduced.R @ estimate.values)))
    tolerance = GAP if term.convex else LOCAL_GAP
    return Certificate(
        abs(bound.gap) / (1 + abs(bound.primal)), feasible, tolerance, bound.primal, bound.dual
    )


# ------------------------------------------------------------------------------------------ what is known of each


@dataclass(frozen=True, eq=False)
class _Knowledge:
    """Covariances near a solution, in coordinates y in which the prior's is 1 there: theta = T y.

    Args:
        T: (p, p). before: of the prior, less what constraints fix. after: of prior and data.
        left: the part of the prior's that the data leave.
        S: (p, b) how y moves with the base values, as little as can be.
    """

    T: Matrix
    before: Matrix
    after: Matrix
    left: Matrix
    S: Matrix

    def share(self, body: slice) -> float:
        """The prior's share in a body: its part of ten directions, in whatever chart they are written."""
        free = float(np.trace(self.before[body, body]))
        return float(np.clip(np.trace(self.left[body, body]) / free, 0.0, 1.0)) if free > FIXED else 1.0


def _knowledge(reduced: _ReducedProblem, theta: Vector, covariance: Matrix) -> _Knowledge:
    """Covariances at parameters theta (p,), for base values with this covariance (b, b)."""
    around = Whitened(theta[: reduced.prior.size].reshape(-1, 10), reduced.coordinates.sizes)
    T = around.T.copy()
    # 1 / (4 std^2) is the weight of |dy|^2: y is of standard deviation 1 where T is scaled by 2 std
    T[:, : around.others.start] *= 2 * reduced.method.prior_std
    T[:, around.others] *= reduced.spread
    R = reduced.R
    A = R @ reduced.K @ T
    E = reduced.equalities @ np.linalg.solve(reduced.coordinates.T, T)
    inside = _null_space(E)
    before = inside @ inside.T
    N = _null_space(np.concatenate([A, E]))
    # constraints that fix directions are rows too: base values move nothing along them
    S = np.linalg.pinv(np.concatenate([A, E]))[:, : len(A)] @ R
    if reduced.method.trust == "data":
        left = N @ N.T
        return _Knowledge(T, before, S @ covariance @ S.T + left, left, S)
    AN = A @ inside
    G = inside @ linalg.solve(AN.T @ AN + np.eye(inside.shape[1]), AN.T, assume_a="pos")
    kept = np.eye(len(theta)) - G @ A
    after = kept @ before @ kept.T + G @ R @ covariance @ R.T @ G.T
    return _Knowledge(T, before, after, after, S)


def _null_space(rows: Matrix) -> Matrix:
    """(p, k) orthonormal basis of the null space of rows (r, p), each row scaled to norm 1."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (
        linalg.null_space(rows / np.where(norms > 0, norms, 1.0), rcond=RANK_TOLERANCE)
        if len(rows)
        else np.eye(rows.shape[1])
    )


def _full_parameters(reduced: _ReducedProblem, known: _Knowledge, theta: Vector) -> FullParameters:
    """Every parameter with covariance and the prior's share."""
    parameters, T = reduced.problem.parameters, known.T
    # a product of a matrix with its transpose is symmetric and not negative to the last digit
    half = T @ covariance_root(known.after)
    had, has = np.diag(T @ known.before @ T.T), np.diag(T @ known.left @ T.T)
    # what is held or fixed by a constraint has no prior variance: its share is 1
    share = np.divide(has, had, out=np.ones_like(has), where=had > FIXED * np.diag(T @ T.T))
    prior = np.concatenate([reduced.prior.ravel(), np.full(len(theta) - reduced.prior.size, np.nan)])
    for name, value in parameters.held.items():
        prior[parameters.index(name)] = value
    return FullParameters(
        parameters.names,
        parameters.units,
        parameters.owners,
        parameters.kinds,
        theta,
        half @ half.T,
        prior,
        np.clip(share, 0.0, 1.0),
    )


def _bodies(reduced: _ReducedProblem, known: _Knowledge, full: FullParameters) -> tuple[Body, ...]:
    """Mass properties, their covariance in a chart, and where they came from."""
    robot, chart = reduced.problem.robot, LogCholesky()
    found = []
    for number, name in enumerate(robot.bodies):
        ten = slice(10 * number, 10 * number + 10)
        pi = full.values[ten]
        D = chart.jacobian(chart.from_inertial(pi))
        # twice by D^-1: from pi to the chart's coordinates, in which intervals stay possible bodies
        half = np.linalg.solve(D, full.covariance[ten, ten])
        found.append(
            replace(
                body(name, pi),
                covariance=np.linalg.solve(D, half.T),
                prior=reduced.prior[number],
                prior_share=known.share(ten),
                placement=robot.placements[number],
                parent=robot.parents[number],
            )
        )
    return tuple(found)


def _distance_note(reduced: _ReducedProblem, found: _Answer) -> tuple[str, ...]:
    """Note on how far physical possibility moved the base values."""
    if found.closest is None:
        return (
            "Least squares is physically possible as it is: the base values are exactly its own, and what the data do "
            "not show comes from the prior.",
        )
    d = float(np.linalg.norm(reduced.A @ found.closest - reduced.b))
    moved = float(np.linalg.norm(reduced.A @ found.x - reduced.b))
    return (
        f"No possible bodies have the base values of least squares: the closest are {d:.3g} standard deviations away "
        f"in all {len(reduced.b)} together, these are {moved:.3g}.",
    )


def _implausible(reduced: _ReducedProblem, found: _Answer, covariance: Matrix) -> tuple[str, ...]:
    """Warn if a chi-square test rejects that any physically possible bodies explain the data."""
    if found.closest is None:
        return ()
    off = reduced.K @ reduced.coordinates.T @ found.closest - reduced.target.theta
    # least squares: a covariance may be singular where a prior determines a parameter alone
    square = float(off @ np.linalg.lstsq(covariance, off, rcond=None)[0])
    if special.chdtrc(len(off), square) > IMPLAUSIBLE:
        return ()
    return (
        f"The data contradict every possible set of bodies: the closest is {np.sqrt(square):.3g} standard deviations "
        f"away, of {len(off)} parameters; look at units, signs, gains and reductions, or at what the model lacks.",
    )
