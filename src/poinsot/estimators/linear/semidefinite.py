"""Least squares over physically possible bodies: pseudo-inertias are positive semidefinite, with a prior.

Least squares gives base values beta with factor R, R^-1 R^-T their covariance for coloured residuals; bodies, rotors
and friction theta have beta = K theta, with K the grouping that the recording determines. In whitened coordinates x
(`whitening`), A x = R K theta and b = R beta,

    both    min 1/2 |A x - b|^2 + w sum of D(x_i)               x in C
    data    d = min |A x - b|, R for white residuals            x in C
            min sum of D(x_i)    subject to  |A x - b| <= (1 + allowance) d,   x in C

C: J_i >= 0 for every body, friction and rotor inertia >= 0, and the user's constraints. In the second case, if least
squares is physically possible (d = 0), its base values are kept, and the prior determines the rest; else the closest
bodies are on the boundary of the possible set, infinitely thin, so the prior may increase d by the allowance.

D is a divergence from the prior, with w such that a body that is 1 + epsilon times its prior costs epsilon^2 /
(2 std^2): 1 / (4 std^2) for the entropic one. The default is that with the weight of one sample (w = 1/2), and

    1/2 (x_i - 1)^T M_i^-1 (x_i - 1)      M_i: second moments of the prior (`whitening`)

There is no prior on friction, nor on any other parameter that the data determine by itself. In coordinates theta = T y
in which the prior has covariance 1, with A = R K T, N a basis of the unobservable directions and S = (K T)^+,

    both    cov = (1 + A^T A)^-1, the mean square error of y = y_0 + cov A^T (b - A y_0) whatever the distribution of y
    data    cov = S cov(beta) S^T + N N^T

The possible set is convex, and the solution is near y's projection on it, which makes no error larger. Bounds truncate
the distribution (`_truncated`). The prior's share in a parameter is the part of its variance that the prior removes:
1 - variance / variance without prior in each direction in which data and prior are uncorrelated, together the part
that T (1 + A^T A)^-1 T^T is of T T^T.

Sousa and Cortesao (2014); Wensing, Kim and Slotine (2018); Lee, Wensing and Park (2020).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Lt
from scipy import linalg, special

from ...arrays import Matrix, Vector
from ...diagnosis.description import placeholders
from ...estimate import NORMAL_95, Certificate, Estimate, FullParameters, Status, Uncertainty
from ...estimate.uncertainty import without_systematic
from ...exceptions import ImpossibleBody, InvalidMethod, NotIdentifiable, check_known, listing
from ...inertia.divergence import AffineInvariant, Entropic, Euclidean
from ...inertia.parameters import inconsistencies, is_consistent, pseudo_inertia, with_extent
from ...models.efforts import nonnegative_kinds
from ...models.friction.listed import dissipating_kinds, words_of
from ...models.robot.open_parameters import body_of
from ...ranges import Fraction, Positive
from ...regression.base_parameters import EXCITATION_TOLERANCE
from ...regression.inverse_dynamics import InverseDynamics
from ...regression.system import TINY, LinearSolution, System, covariance_root, reduce
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from .bodies_between_joints import without_placeholders
from .conic import Cone, ConeProgram, ConeSolution, ConicStatus, Membership, matrix_of, vector_of
from .constraints import Constraints
from .divergence_cones import DivergenceTerm, EntropicTerm, QuadraticTerm, physical
from .essential import EssentialParameters
from .least_squares import EXACT, LeastSquares, finish
from .whitening import Whitened, prior_moments

MOMENTS = "moments"
DIVERGENCES = {"entropic": Entropic(), "euclidean": Euclidean(), "affine-invariant": AffineInvariant()}

FACTOR_OF_TWO = float(np.log(2))
"""Standard deviation of the logarithm of a mass that a description states without uncertainty."""

ONE_SAMPLE = 0.5
"""Weight of tr X - log det X beside second moments: that of one sample with the prior's covariance (Wishart), enough to
keep bodies from being flat."""

MIN_ALLOWANCE = 1e-3
"""Smallest allowance: with less, the set of base values left to the prior is thinner than the solver's tolerance."""

MIN_RADIUS = 1e-3
"""The prior may always move the base values by this many standard deviations where constraints bind."""

IMPLAUSIBLE = 0.01
"""Significance level of the warning that no physically possible bodies explain the data (chi-square test)."""

MAX_DISTANCE = 0.1
"""Largest distance [standard deviations] at which possible bodies count as having the base values of least squares."""

MIN_MARGIN = 1e-5
"""Least squares counts as possible if the bodies with its base values nearest the prior have X_i >= MIN_MARGIN 1."""

RANK_TOLERANCE = 1e-9
"""Singular values below this part of the largest belong to unobservable directions."""

UNINFORMED_STD = 30.0
"""Prior standard deviation, in sizes, of a parameter on which the prior has no information."""

UNTOUCHED = 5.0
"""A bound further away than this, in standard deviations, changes a normal distribution by less than 1e-6."""

AT_BOUND = 1e-7
"""A parameter closer to its bound, relative to its prior or size, is there."""

FIXED = 1e-12
"""A variance below this part of the prior's own is that of a parameter that constraints fix."""

GAP, LOCAL_GAP, FEASIBLE = 1e-5, 1e-4, 1e-7
"""Tolerances of the certificate: the relative duality gap, where the divergence is convex and where only its model near
the solution is; and of the constraints, relative to the prior."""

AGREEMENT = 1e-9
"""Rounding between base values and full parameters, relative to the norm of the whitened base values (at least 1e3)."""

MODEL_STEPS = 50
MODEL_TOLERANCE = 1e-13
"""Sequential convex programming for a divergence that is not convex: most iterations, and the relative decrease of the
cost below which it has converged."""


@dataclass(frozen=True)
class SemidefiniteLeastSquares(Method):
    """Least squares over physically possible bodies; every parameter of the model gets a value.

    Args:
        weighting, rtol: as in `LeastSquares`.
        essential: whether least squares first removes poorly determined parameters, as `EssentialParameters`.
        prior: body name -> its ten parameters before the data; bodies that are not named: the robot description's.
        weighing: `"both"`: prior and data are weighted by their covariances; `"data"`: the prior determines only what
            the data do not determine.
        divergence: divergence from the prior: `"moments"` (from `prior_std` and `prior_direction_deg`), `"entropic"`,
            `"euclidean"` or `"affine-invariant"`; None: the first, or `"entropic"` with `weighing = "data"`.
        prior_std: standard deviation of the logarithm of a mass, and so of a body as a whole (0.1: 10 %).
        prior_direction_deg: standard deviation of the direction of a centre of mass [deg], of `"moments"`.
        allowance: relative increase, due to the prior, of the distance of base values from least squares over that of
            the closest possible bodies; 0 where least squares is physically possible.
        constraints: certain knowledge. trust: deprecated name of `weighing`.
    """

    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: Mapping[str, Sequence[float]] | None = None
    weighing: Literal["both", "data"] = "both"
    divergence: Literal["moments", "entropic", "euclidean", "affine-invariant"] | None = None
    prior_std: Positive = FACTOR_OF_TWO
    prior_direction_deg: Annotated[float, Ge(0), Lt(90)] = 30.0
    allowance: Annotated[float, Ge(MIN_ALLOWANCE)] = 0.5
    constraints: Constraints = field(default_factory=Constraints)
    rtol: Fraction = EXCITATION_TOLERANCE
    trust: InitVar[Literal["both", "data"] | None] = None

    name = "semidefinite"
    citations = (*LeastSquares.citations, "sousa2014", "wensing2018", "lee2020")

    def __post_init__(self, trust: str | None) -> None:
        if trust is not None:
            warnings.warn(f"trust is now called weighing: write weighing = {trust!r}", FutureWarning, 3)
            object.__setattr__(self, "weighing", trust)
        if self.divergence is None:
            object.__setattr__(self, "divergence", MOMENTS if self.weighing == "both" else "entropic")
        if not self.allowance >= MIN_ALLOWANCE:
            raise InvalidMethod(
                f"allowance must be at least {MIN_ALLOWANCE:g}, not {self.allowance:g}: the closest possible bodies "
                "are infinitely thin"
            )
        super().__post_init__()
        if self.weighing == "data" and self.divergence == MOMENTS:
            raise InvalidMethod(
                f'divergence {MOMENTS!r} weighs prior and data; with weighing = "data" write "entropic"'
            )

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Estimate every parameter of the model.

        Raises:
            MissingExtra: if Clarabel is not installed.
            ImpossibleBody: if a prior body is physically impossible.
            InvalidMethod: if constraints name an unknown body, or together exclude every solution.
            NotIdentifiable: as in `LeastSquares`.
        """
        started = time.perf_counter()
        reduced = self._reduced(problem, progress, stop)
        system, target = reduced.system, reduced.target
        if stop_requested(stop):
            note = "Stopped before the search for possible bodies: these are the values of least squares."
            return reduced.free.updated(status=Status.interrupted, notes=(note,))
        report(progress, "finding possible bodies")
        found = _answer(reduced, progress, stop)
        if found.radius == 0:  # without the solver's tolerance
            rows = np.concatenate([reduced.A, reduced.equalities])
            missing = np.append(reduced.b - reduced.A @ found.x, np.zeros(len(reduced.equalities)))
            found = replace(found, x=found.x + np.linalg.lstsq(rows, missing, rcond=None)[0])
        theta = reduced.coordinates.T @ found.x
        # values closer to their bounds than a solver's tolerance are set to them
        for bound in reduced.bounds:
            near = np.abs(theta - bound) < AT_BOUND * np.linalg.norm(reduced.coordinates.T, axis=1)
            theta = np.where(near, bound, theta)
        # base values are computed from the bodies, so that both agree to rounding
        base = reduced.K @ theta
        free, known = reduced.free, _knowledge(reduced, theta)
        full = _full_parameters(reduced, known, theta)
        C = full.covariance
        uncertainty = free.parameters.uncertainty
        if self.weighing != "data":  # the posterior has one source
            of_base, is_white = reduced.K @ C @ reduced.K.T, uncertainty.std_kind == "white"
            uncertainty = Uncertainty(
                readings=of_base if is_white else None,
                correlation=None if is_white else of_base,
                recordings=uncertainty.recordings,
            )
        return free.updated(
            full,
            values=base,
            uncertainty=uncertainty,
            fit=problem.fit(replace(target, theta=base).on_base(system)),
            iterations=target.steps + found.steps,
            bodies=tuple(
                body_of(problem.robot, k, theta[ten], C[ten, ten], reduced.prior[k], known.share(ten))
                for k, ten in enumerate(reduced.coordinates.bodies)
            ),
            certifier=partial(_certify, reduced, found, reduced.essential or free),
            status=free.status if found.status is Status.solved else found.status,
            notes=(
                *free.notes,
                *(reduced.essential.notes if reduced.essential else ()),
                *_distance_note(reduced, found),
            ),
            warnings=(*problem.warnings, *reduced.warnings, *_implausible(reduced, found)),
            seconds={**free.seconds, "solve": time.perf_counter() - started - system.seconds},
        )

    def _reduced(
        self, problem: InverseDynamics, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> _ReducedProblem:
        """The problem without its rows: least squares and prior knowledge."""
        least_squares = LeastSquares(self.weighting, rtol=self.rtol)
        report(progress, "reading rows")
        system = reduce(problem, self.rtol)
        target = least_squares.fit(problem, system, progress=progress, stop=stop)
        essential = None
        if self.essential:
            essential = EssentialParameters(weighting=self.weighting, rtol=self.rtol).solve(
                problem, progress=progress, stop=stop
            )
            # the factor of all columns is kept: parameters set to zero are measurements of zero here
            values = dict(zip(essential.names, essential.values, strict=True))
            target = replace(target, theta=np.array([values.get(name, 0.0) for name in system.base.names]))
        prior, warnings = self._prior(problem, system, target)
        free = finish(self, problem, system, target)  # uncertainty of least squares, possible or not
        return _ReducedProblem(self, problem, system, target, free, prior, essential, warnings)

    def _prior(
        self, problem: InverseDynamics, system: System, target: LinearSolution
    ) -> tuple[np.ndarray, tuple[str, ...]]:
        """(l, 10) prior bodies with extent in all directions, and notes on extents and bodies that were added."""
        names, notes = problem.robot.bodies, list[str]()
        # the description's bodies belong to the robot, and must not change with one method
        prior = problem.robot.inertials.copy()
        thin = placeholders(prior) & [name not in (self.prior or {}) for name in names]
        if thin.any():
            K = system.base.map[:, : prior.size]
            prior = without_placeholders(problem.robot, prior, thin, K, target.R, target.theta)
            of_bodies = listing(np.array(names)[thin].tolist())
            notes.append(
                f"The described masses of {of_bodies} are placeholders, spread more thinly "
                "than air: the prior has balls between the joints there, with a mass that the data give."
            )
        for name, pi in (self.prior or {}).items():
            place = check_known(name, names, "the prior names body", "the robot has", InvalidMethod)
            if len(pi) != 10:
                raise InvalidMethod(f"the prior of {name} has {len(pi)} numbers; a body has ten parameters")
            prior[place] = pi
        for k in np.flatnonzero(~is_consistent(prior) | (prior[:, 0] == 0)):
            reasons = inconsistencies(prior[k])
            advice = "`poinsot repair` finds the nearest possible body"
            if not reasons:
                reasons, advice = ("its mass is 0",), "give the link a rough mass and size in the description"
            raise ImpossibleBody((*reasons, advice), f"the prior of {names[k]}")
        extended, count = with_extent(prior)
        points = [name for name, axes in zip(names, count, strict=True) if axes]
        if points:
            notes.append(
                f"The prior of {listing(points)} has a mass but no extent along some axis; the extent of an aluminium "
                "ball of its mass was used there."
            )
        return extended, tuple(notes)


@dataclass(frozen=True, eq=False)
class _ReducedProblem:
    """The data of the cone programs.

    Args:
        target: solution of least squares; its `theta` are the base values beta. free: the same as an estimate.
        prior: (l, 10) bodies.
        essential: the estimate of only the essential parameters, whose values are the target's; None: not requested.
    """

    method: SemidefiniteLeastSquares
    problem: InverseDynamics
    system: System
    target: LinearSolution
    free: Estimate
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
        """(b, p) R K T / s: change of the base values with x, in standard deviations."""
        return self.R @ self.K @ self.coordinates.T

    @cached_property
    def b(self) -> Vector:
        """(b,) R beta / s."""
        return self.R @ self.target.theta

    @cached_property
    def chance(self) -> Matrix:
        """(b, b) covariance of the base values of least squares by chance, which weighs prior and data."""
        return without_systematic(self.free.parameters.uncertainty)

    @cached_property
    def growth(self) -> Matrix:
        """(b, b) what systematic errors add to it."""
        root = covariance_root(self.free.covariance - self.chance)
        return root @ root.T

    @cached_property
    def R(self) -> Matrix:
        """(b, b), R^-1 R^-T the covariance of the base values; of white residuals where only the data count."""
        R = self.target.R
        efforts = np.linalg.norm(R @ self.target.theta) / np.sqrt(self.system.equations)
        # of noise-free data s is rounding, and A would be beyond what a solver counts in
        s = max(np.sqrt(self.target.variance), EXACT * efforts, TINY)
        if self.method.weighing == "data":
            return R / s
        variances, V = np.linalg.eigh(R @ self.chance @ R.T)
        return np.asarray(V.T @ R / np.sqrt(np.maximum(variances, s**2))[:, None])

    @cached_property
    def constraints(self) -> tuple[Membership, ...]:
        """Constraints on theta, without physical possibility."""
        problem = self.problem
        parameters, identity = problem.parameters, np.eye(len(problem.parameters))
        held = (
            Membership(
                f"{name} = {value:g}", Cone.zero, identity[[parameters.index(name)]], np.array([-value])
            )
            for name, value in parameters.held.items()
        )
        own = self.method.constraints.memberships(parameters, problem.robot.bodies)
        return (*_signs(problem), *own, *held)

    @cached_property
    def certain(self) -> tuple[Membership, ...]:
        """The same constraints on x."""
        return tuple(membership.through(self.coordinates.T) for membership in self.constraints)

    @cached_property
    def bounds(self) -> Matrix:
        """(2, p) lowest and highest value of each parameter."""
        bounds = np.full((len(self.problem.parameters), 2), (-np.inf, np.inf))
        bounds[: self.prior.size].reshape(-1, 10, 2)[:, [0, 4, 6, 9], 0] = 0.0
        for membership in self.constraints:
            if membership.cone in (Cone.nonnegative, Cone.zero):
                for row, g in zip(membership.F, membership.g, strict=True):
                    k = np.flatnonzero(row)
                    sides = slice(None) if membership.cone is Cone.zero else int(row[k[0]] < 0)
                    if len(k) == 1:
                        bounds[k[0], sides] = 0.0 - g / row[k[0]]
        return bounds.T

    @cached_property
    def possible(self) -> tuple[Membership, ...]:
        return physical(self.coordinates, self.problem.robot.bodies)

    @cached_property
    def equalities(self) -> Matrix:
        """(r, p) directions of x that constraints fix."""
        fixed = [membership.F for membership in self.certain if membership.cone is Cone.zero]
        return np.concatenate(fixed) if fixed else np.zeros((0, self.A.shape[1]))

    @cached_property
    def spread(self) -> Vector:
        """(p - 10 l,) prior standard deviations, in sizes, of other parameters; wide for those that data determine."""
        enters = np.abs(self.K) > 0
        alone = enters[np.count_nonzero(enters, axis=1) == 1].any(axis=0)
        # a prior this wide is no prior, and keeps the program's Hessian positive definite
        return np.where(alone[self.prior.size :], UNINFORMED_STD, 1.0)

    @cached_property
    def weight(self) -> float:
        """w of the divergence: a body that is 1 + epsilon times its prior costs epsilon^2 / (2 std^2)."""
        if self.method.divergence == MOMENTS:
            return ONE_SAMPLE
        whole = float(np.sum(pseudo_inertia(self.prior) ** 2))
        scale = {"entropic": 1.0, "affine-invariant": 0.5, "euclidean": 2 * len(self.prior) / whole}
        return scale[str(self.method.divergence)] / (4 * self.method.prior_std**2)

    @cached_property
    def prior_root(self) -> Matrix:
        """(p, p) B with B B^T the second moments of x about the prior."""
        std = self.method.prior_std
        if self.method.divergence != MOMENTS:
            # 1 / (4 std^2) is the weight of |dx|^2 of a divergence near the prior
            return np.diag(np.append(np.full(self.prior.size, 2 * std), self.spread))
        M = prior_moments(self.coordinates, std, self.method.prior_direction_deg)
        return linalg.block_diag(*np.linalg.cholesky(M), np.diag(self.spread))

    def term(self) -> DivergenceTerm:
        """The divergence from the prior."""
        # the whole term is multiplied by w, so spreads of other parameters are divided by it
        weight = 1 / (self.weight * self.spread**2)
        if self.method.divergence == MOMENTS:
            half = np.linalg.inv(self.prior_root[: self.prior.size, : self.prior.size])
            return EntropicTerm(self.coordinates, weight, metric=half.T @ half / self.weight)
        kind = EntropicTerm if self.method.divergence == "entropic" else QuadraticTerm
        return kind(
            self.coordinates, weight, DIVERGENCES[str(self.method.divergence)], self.problem.robot.bodies
        )


def _signs(problem: InverseDynamics) -> list[Membership]:
    """Nonnegative friction and rotor inertia of every joint; with coupled motors, semidefinite matrices: rotors
    store q'^T M q' / 2, viscous friction dissipates q'^T B q', with the joints' own terms and those of coupled motors.
    """
    parameters, train = problem.parameters, problem.robot.train
    p = len(parameters)
    kinds = np.array(parameters.kinds)
    members = []
    for kind in ("rotor_inertia", *dissipating_kinds(), *nonnegative_kinds()):
        columns = np.flatnonzero((kinds == kind) & parameters.free)
        if len(columns):
            F = np.eye(p)[columns]
            words = words_of(kind)
            members.append(Membership(f"{words} of at least 0", Cone.nonnegative, F, np.zeros(len(columns))))
    numbers = problem.robot.joint_numbers
    pairs = [("ia", "rotor inertia")]
    viscous = [t.parameter for t in problem.robot.friction.coupled_terms if t.is_viscous]
    pairs += [(row.symbol, row.words) for row in viscous]
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
        members.append(Membership(f"{words} that dissipates energy", Cone.semidefinite, F, np.zeros(len(F))))
    return members


@dataclass(frozen=True, eq=False)
class _Answer:
    """Solution of the cone programs.

    Args:
        x: (p,). multipliers: multipliers of the last program.
        radius: largest distance of base values from least squares in standard deviations; None: the fit is weighted.
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
    """Solve: prior and data weighed together; or first the closest fit, then the bodies nearest the prior."""
    if reduced.method.weighing == "both":
        return _nearest_to_prior(reduced, None, None, 0, progress, stop)
    closest = _closest(reduced)
    x = closest.x[:-1]
    # the closest point is found to the solver's tolerance, so a distance of zero is not
    distance = float(np.linalg.norm(reduced.A @ x - reduced.b))
    if distance < MAX_DISTANCE:
        with suppress(InvalidMethod, NotIdentifiable):  # on the boundary, where the program has no interior
            found = _nearest_to_prior(reduced, 0.0, None, closest.steps, progress, stop)
            bodies = np.stack([matrix_of(found.x[i]) for i in reduced.coordinates.bodies])
            if np.linalg.eigvalsh(bodies).min() > MIN_MARGIN:
                return found
    radius = (1 + reduced.method.allowance) * distance + MIN_RADIUS
    return _nearest_to_prior(reduced, radius, x, closest.steps, progress, stop)


def _closest(reduced: _ReducedProblem) -> ConeSolution:
    """min t subject to |A x - b| <= t misfit: possible bodies closest to least squares, in units of the prior's."""
    start = reduced.coordinates.center
    p, size = len(start), float(np.abs(reduced.A).max())  # of noise-free data, beyond what a solver counts in
    misfit = max(1.0, 1e-3 * size, float(np.linalg.norm(reduced.A @ start - reduced.b)))
    last = np.eye(p + 1)[-1]
    fit = _fit(reduced, misfit).through(np.eye(p, p + 1))
    # the first row of the cone, a radius of 1, becomes t
    fit = replace(fit, F=fit.F + np.outer(np.eye(len(fit.F))[0], last), g=fit.g - np.eye(len(fit.g))[0])
    program = ConeProgram(np.zeros((p + 1, p + 1)), last, (*reduced.possible, *reduced.certain, fit))
    return _solved(reduced, program, np.append(start, 0.0))


def _solved(reduced: _ReducedProblem, program: ConeProgram, start: Vector) -> ConeSolution:
    """Solve from a start; if that fails numerically, without one and with rows and columns scaled."""
    optimum = program.solve(start)
    if optimum.status is ConicStatus.failed:
        optimum = program.solve(balanced=True)
    if optimum.status is ConicStatus.infeasible:
        raise InvalidMethod(f"no body satisfies all of: {'; '.join(_clash(reduced))}; relax one of them")
    if optimum.status is ConicStatus.failed:
        raise NotIdentifiable(
            "the interior-point method stopped before the optimum, where bodies are almost impossible: hold known "
            'parameters, raise the allowance, or write weighing = "both"'
        )
    return optimum


def _clash(reduced: _ReducedProblem) -> list[str]:
    """Names of a smallest set of memberships that contradict each other; the user's own are dropped last."""
    p = len(reduced.coordinates.center)
    nothing = ConeProgram(np.zeros((p, p)), np.zeros(p), ())
    needed = [*reduced.possible, *reduced.certain]
    # the last ones, held parameters and the user's constraints, explain the conflict best
    for membership in reversed(needed.copy()):
        fewer = [other for other in needed if other is not membership]
        if fewer and replace(nothing, memberships=tuple(fewer)).solve().status is ConicStatus.infeasible:
            needed = fewer
    return [membership.name for membership in needed]


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
    if not term.divergence.convex:
        entropic = replace(reduced, method=replace(reduced.method, divergence="entropic"))
        x = _nearest_to_prior(entropic, radius, closest, 0).x
    elif radius is None:
        # the weighted fit is a small difference of large numbers unless taken relative to a good point
        stacked = np.concatenate([reduced.A @ reduced.prior_root, np.eye(len(x))])
        missing = np.append(reduced.b - reduced.A @ x, np.zeros(len(x)))
        x = x + reduced.prior_root @ np.linalg.lstsq(stacked, missing, rcond=None)[0]
    status = Status.step_limit
    for number in range(1, MODEL_STEPS + 1):
        program = _last_program(reduced, term, x, radius)
        optimum = _solved(reduced, program, term.augmented(x))
        steps += optimum.steps
        if term.divergence.convex:  # the program is the problem itself, not a model
            return _Answer(optimum.x[: len(x)], optimum.multipliers, radius, closest, steps)
        step, cost = optimum.x - x, program.cost(x)
        gain = cost - program.cost(optimum.x)
        report(progress, "approaching the prior", iteration=number, cost=cost)
        if gain <= MODEL_TOLERANCE * (1 + abs(cost)):
            status = Status.solved
            break
        length = 1.0
        # Armijo's condition; at 1e-3 of a step, the model fails only by rounding
        least = 0.1 * gain
        while (
            length > 1e-3
            and _last_program(reduced, term, ahead := x + length * step, radius).cost(ahead)
            > cost - length * least
        ):
            length *= 0.5
        x = x + length * step
        if stop_requested(stop):
            status = Status.interrupted
            break
    return _Answer(x, optimum.multipliers, radius, closest, steps, status)


def _last_program(
    reduced: _ReducedProblem, term: DivergenceTerm, x: Vector, radius: float | None
) -> ConeProgram:
    """Program that minimizes the divergence (or its model near x) over possible parameters that fit."""
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


def _fit(reduced: _ReducedProblem, radius: float) -> Membership:
    """|A x - b| <= radius, in units of the radius; rows of an equation have norm 1."""
    A, b = reduced.A, reduced.b
    if radius == 0:
        # the residual of a row of norm 1 is a distance in x
        norms = np.linalg.norm(A, axis=1)
        return Membership("the fit of least squares", Cone.zero, A / norms[:, None], -b / norms)
    F = np.concatenate([np.zeros((1, A.shape[1])), A]) / radius
    return Membership("a fit close to least squares", Cone.second_order, F, np.append(1.0, -b / radius))


def _certify(
    reduced: _ReducedProblem, found: _Answer, least_squares: Estimate, estimate: Estimate
) -> Certificate:
    """Primal and dual cost of the last program at an estimate's own values, with the multipliers that were found;
    the certificate of `least_squares`, the target, reads the rows again.
    """
    full = estimate.extra(FullParameters)
    assert full is not None
    # from the values of the estimate, not from the solver's solution
    x = np.linalg.solve(reduced.coordinates.T, full.values)
    term = reduced.term()
    program = _last_program(reduced, term, x, found.radius)
    primal, dual, violation = program.bound(term.augmented(x), found.multipliers)
    feasible = violation <= FEASIBLE * max(1.0, float(np.abs(x).max()))
    feasible = feasible and least_squares.certificate().holds
    # the base values and the full parameters of an estimate must agree
    apart = float(np.linalg.norm(reduced.R @ (estimate.values - reduced.K @ full.values)))
    feasible = feasible and apart <= AGREEMENT * (1e3 + float(np.linalg.norm(reduced.R @ estimate.values)))
    tolerance = GAP if term.divergence.convex else LOCAL_GAP
    return Certificate(abs(primal - dual) / (1 + abs(primal)), feasible, tolerance, primal, dual)


@dataclass(frozen=True, eq=False)
class _Knowledge:
    """Means and covariances in coordinates y in which the prior's is 1: theta = T y.

    Args:
        T: (p, p). before: covariance of the prior, without fixed directions. left: covariance of prior and data.
        mean, after: mean and covariance of prior, data and bounds; with `weighing = "data"` those of the data, and of
            the prior where the data determine nothing.
    """

    T: Matrix
    before: Matrix
    left: Matrix
    mean: Vector
    after: Matrix

    def share(self, body: slice) -> float:
        """The prior's share in a body: its part of ten directions, independent of the chart."""
        free = float(np.trace(self.before[body, body]))
        return float(np.clip(np.trace(self.left[body, body]) / free, 0.0, 1.0)) if free > FIXED else 1.0


def _knowledge(reduced: _ReducedProblem, theta: Vector) -> _Knowledge:
    """Covariances at parameters theta (p,)."""
    T = reduced.coordinates.T @ reduced.prior_root
    if reduced.method.divergence != MOMENTS:  # a metric that changes from body to body
        around = Whitened(theta[: reduced.prior.size].reshape(-1, 10), reduced.coordinates.sizes)
        T = around.T @ reduced.prior_root
    A, y = reduced.R @ reduced.K @ T, np.linalg.solve(T, theta)
    to_x = np.linalg.solve(reduced.coordinates.T, T)
    E = reduced.equalities @ to_x
    before = np.eye(len(y)) - np.linalg.pinv(E, rcond=RANK_TOLERANCE) @ E
    # by singular values, which noise-free data make larger than a sum of squares can hold
    U, d, V = np.linalg.svd(A @ before)
    V = before @ V.T
    half = V / np.hypot(1.0, np.pad(d, (0, len(V) - len(d))))
    left = half @ half.T
    if reduced.method.weighing == "data":
        seen = np.flatnonzero(d > RANK_TOLERANCE * d.max())
        S, N = V[:, seen] / d[seen] @ U[:, seen].T @ reduced.R, np.delete(V, seen, axis=1)
        return _Knowledge(T, before, left, y, S @ reduced.free.covariance @ S.T + N @ N.T)
    prior = np.linalg.solve(T, reduced.coordinates.T @ reduced.coordinates.center)
    prior = y + before @ (prior - y)  # fixed directions are known, regardless of the prior
    mean = prior + left @ A.T @ (reduced.b - A @ prior)
    mean, after = _truncated(reduced, to_x, mean, left)
    # systematic errors of the base values move the mean, and do not weigh it
    moved = left @ A.T @ reduced.R
    after = after + moved @ reduced.growth @ moved.T
    return _Knowledge(T, before, left, mean, after)


def _truncated(reduced: _ReducedProblem, to_x: Matrix, mean: Vector, C: Matrix) -> tuple[Vector, Matrix]:
    """Mean and covariance of a normal distribution truncated by bounds, one half space at a time.

    With a^T y + g >= 0 and alpha = -(a^T mean + g) / s, s^2 = a^T C a, the truncated distribution has, with lambda the
    normal hazard rate at alpha, mean + lambda C a / s and C - lambda (lambda - alpha) C a a^T C / s^2. That bodies are
    possible does not count: the prior's moments are those of possible bodies.
    """
    for membership in (membership for membership in reduced.certain if membership.cone is Cone.nonnegative):
        for a, g in zip(membership.F @ to_x, membership.g, strict=True):
            s = float(np.sqrt(max(a @ C @ a, 0.0)))
            if s <= FIXED or (alpha := -float(a @ mean + g) / s) < -UNTOUCHED:
                continue
            hazard = np.sqrt(2 / np.pi) / special.erfcx(alpha / np.sqrt(2))
            c = C @ a / s
            mean, C = mean + hazard * c, C - hazard * (hazard - alpha) * np.outer(c, c)
    return mean, C


def _full_parameters(reduced: _ReducedProblem, known: _Knowledge, theta: Vector) -> FullParameters:
    """Every parameter with covariance and the prior's share."""
    parameters, T = reduced.problem.parameters, known.T
    # a product of a matrix with its transpose is symmetric and not negative to the last digit
    half = T @ covariance_root(known.after)
    mean = T @ known.mean
    had, has = np.diag(T @ known.before @ T.T), np.diag(T @ known.left @ T.T)
    # parameters that are held or fixed by a constraint have no prior variance: their share is 1
    share = np.divide(has, had, out=np.ones_like(has), where=had > FIXED * np.diag(T @ T.T))
    prior = np.concatenate([reduced.prior.ravel(), np.full(len(theta) - reduced.prior.size, np.nan)])
    for name, value in parameters.held.items():
        prior[parameters.index(name)] = value
    reach = NORMAL_95 * np.linalg.norm(half, axis=1)
    interval = np.stack([np.minimum(mean - reach, theta), np.maximum(mean + reach, theta)])
    return FullParameters(
        parameters.names,
        parameters.units,
        parameters.owners,
        parameters.kinds,
        theta,
        # about the stated value, which bounds may have moved from the mean
        half @ half.T + np.outer(theta - mean, theta - mean),
        prior,
        np.clip(share, 0.0, 1.0),
        np.clip(interval, *reduced.bounds).T,
    )


def _distance_note(reduced: _ReducedProblem, found: _Answer) -> tuple[str, ...]:
    """Note on the change of base values by physical possibility and the prior."""
    moved = float(np.linalg.norm(reduced.A @ found.x - reduced.b))
    apart = f"{moved:.3g} standard deviations from those of least squares in all {len(reduced.b)} together"
    if reduced.method.weighing == "both":
        return (f"Prior and data are weighted by their covariances: the base values are {apart}.",)
    if found.closest is None:
        return (
            "Least squares is physically possible: its base values are kept exactly, and parameters that the data do "
            "not determine come from the prior.",
        )
    closest = f"the closest {float(np.linalg.norm(reduced.A @ found.closest - reduced.b)):.3g}"
    return (
        f"Base values of least squares are physically impossible: those of the estimate are {apart}, {closest}.",
    )


def _implausible(reduced: _ReducedProblem, found: _Answer) -> tuple[str, ...]:
    """Warn if a chi-square test rejects that possible bodies, near the prior if it is weighted, explain the data."""
    weighed = reduced.method.weighing == "both"
    x = found.x if weighed else found.closest
    if x is None:
        return ()
    off = reduced.K @ reduced.coordinates.T @ x - reduced.target.theta
    # least squares: a covariance may be singular where a prior determines a parameter alone
    square = float(off @ np.linalg.lstsq(reduced.chance, off, rcond=None)[0])
    if special.chdtrc(len(off), square) > IMPLAUSIBLE:
        return ()
    return (
        f"The data contradict every possible set of bodies{' near the prior' if weighed else ''}: the closest is "
        f"{np.sqrt(square):.3g} standard deviations away, of {len(off)} parameters; check units, signs, gains, "
        "reductions, and effects missing in the model.",
    )
