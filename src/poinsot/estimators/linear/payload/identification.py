"""The load of a link, and the drives' gains, from recordings with the load and without it.

The equations are in docs/concepts/payload.md. With known gains they are linear; `output_error` estimates unknown ones
too. A prior on the centre of mass, c_x = mean +- std and so on, is (h_x - mean m) / (std m) = 0 +- 1: linear for the
mass of the last step. `possible` keeps the load physically possible, `draws` computes its uncertainty.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy import linalg

from ....arrays import Matrix, Vector
from ....estimate import DriveGains, Estimate, Payload
from ....exceptions import InvalidMethod, NotIdentifiable, listing
from ....parameters import Normal, PerJoint
from ....ranges import Count, Fraction
from ....regression.attachment import LOAD_NAMES
from ....regression.base_parameters import EXCITATION_TOLERANCE
from ....regression.inverse_dynamics import InverseDynamics
from ....regression.system import LinearSolution, System, reduce
from ....solve import Method, ProgressCallback, Stop, report, stop_requested
from ..constraints import BodyConstraint
from ..least_squares import LeastSquares
from . import drive_gains
from .draws import Found, Resampling, estimate_of
from .moments import total_moments, whitening
from .output_error import (
    Cost,
    GainOptimum,
    gains_by_least_squares,
    output_error,
    output_error_of_any_sign,
)
from .possible import Proof, nearest_possible
from .values import load_values

PRIOR_STEPS, PRIOR_SETTLED = 20, 1e-10
"""Iterations over the mass in the prior on the centre of mass, and their relative tolerance."""

MIN_START = 1e-3
"""Smallest initial guess of a gain, relative to the largest."""

CONTRADICTION = 3.0
"""Standard deviations between known and estimated mass above which a warning is given."""


@dataclass(frozen=True)
class PayloadIdentification(Method):
    """A load, and drive gains where they are unknown: one regression on recordings with the load and without it.

    The problem marks recordings that carry the load; `held` or `priors` have what is known of it (`mL`: its mass).

    Args:
        estimator: `"output-error"`, the only one.
        gains: gains of an earlier estimate, with their covariance; None: the robot's.
        gain_std: standard deviations of the robot's gains, in their unit: by joint, one per motor or one for all; None:
            exact.
        identify_gains: whether gains are estimated; None: if currents were measured and every gain of the robot is 1.
        center_of_mass: priors on c_x, c_y, c_z in the link's frame [m].
        constraint: certain knowledge of the load, in the link's frame; implies a physically possible load.
        possible: whether the load must be physically possible without a constraint.
        resampling: bootstrap for the uncertainty.
        rtol: as in `LeastSquares`. max_iterations: largest number of iterations of the search.
    """

    estimator: Literal["output-error"] = "output-error"
    gains: DriveGains | None = None
    gain_std: PerJoint | None = None
    identify_gains: bool | None = None
    center_of_mass: tuple[Normal, Normal, Normal] | None = None
    constraint: BodyConstraint | None = None
    possible: bool = False
    resampling: Resampling = field(default_factory=Resampling)
    rtol: Fraction = EXCITATION_TOLERANCE
    max_iterations: Count = 200

    name = "payload"
    citations = (*LeastSquares.citations, "gautier2014", "kunsch1989", "politis2003", "kiefer2005")

    def __post_init__(self) -> None:
        if self.estimator != "output-error":
            raise InvalidMethod(
                f'estimator must be "output-error", not {self.estimator!r}: gains by ordinary and total least squares, '
                "which are biased, are compared with it in benchmarks/ur10e_payload.py"
            )
        super().__post_init__()
        if self.gains is not None and self.gain_std is not None:
            raise InvalidMethod("give gains, which come with their covariance, or gain_std, not both")
        if self.identify_gains and (self.gains is not None or self.gain_std is not None):
            raise InvalidMethod(
                "gains are given or identified, not both: delete identify_gains, or the given gains"
            )

    @property
    def _must_be_possible(self) -> bool:
        return self.possible or self.constraint is not None

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Estimate robot, load, and gains where they are unknown.

        Raises:
            NotIdentifiable: if neither gains nor masses are known, every recording carries the load or none does, or
                the motion does not determine a gain.
            InvalidMethod: if settings contradict each other or the problem.
            MissingExtra: if the load must be possible and Clarabel is not installed.
        """
        started = time.perf_counter()
        check_recordings(problem)
        problem, covariance = self._with_given_gains(problem)
        report(progress, "searching gains and load")
        unknown = drive_gains.unknown(problem) if self.identify_gains is None else self.identify_gains
        # the certificate uses the problem with the estimated gains, which is linear
        found = self._with_unknown_gains(problem) if unknown else self._with_known_gains(problem, covariance)
        estimate = estimate_of(self, found, self.resampling, progress=progress, stop=stop)
        if not unknown and not stop_requested(stop):
            estimate = self._with_mass_checked(problem, estimate, stop)
        seconds = {**estimate.seconds, "solve": time.perf_counter() - started - found.system.seconds}
        return estimate.updated(seconds=seconds)

    def _with_given_gains(self, problem: InverseDynamics) -> tuple[InverseDynamics, Matrix | None]:
        """The problem with the gains of an earlier estimate, and the covariance of gains that are given."""
        joints, train = problem.robot.joints, problem.robot.train
        names = [joint for joint, driven in zip(joints, train.driven, strict=True) if driven]
        if self.gains is None:
            return problem, drive_gains.covariance_of(self.gain_std, names)
        if list(self.gains.joints) != names:
            raise InvalidMethod(
                f"the gains are those of {listing(self.gains.joints)}, the motors those of {listing(names)}: "
                "they belong to another robot"
            )
        values = np.ones(len(joints))
        values[train.driven] = self.gains.values
        return problem.with_gains(values), self.gains.covariance

    def _with_known_gains(self, problem: InverseDynamics, covariance: Matrix | None) -> Found:
        """Linear least squares: `output_error` with all gains fixed."""
        free = np.zeros(problem.robot.model.nv, dtype=bool)
        gains = drive_gains.gains_of(problem, covariance)
        reduced, optimum, proof = self._optimum(problem, free)
        solution = reduced.solution(reduced.system, optimum, optimum.point.of.weights)
        return Found(problem, reduced.system, solution, gains, free, proof)

    def _with_unknown_gains(self, problem: InverseDynamics) -> Found:
        """Estimate gains first, and then all other parameters with them."""
        drive_gains.check_uncoupled(problem)
        drive_gains.check_scale(problem)
        free = drive_gains.motors(problem.robot)
        reduced, optimum, proof = self._optimum(problem, free)
        w, c = optimum.point.of.weights, optimum.point.c
        gained = problem.with_gains(problem.robot.train.gain / c[problem.robot.actuated])
        # efforts are scaled by the gains, so their rows are reduced again, but not the prior's
        system = replace(reduce(gained, self.rtol), prior=reduced.system.prior)
        solution = reduced.solution(system, optimum, np.abs(w * c))
        gains = drive_gains.gains_of(gained)
        white = np.sqrt(np.diag(optimum.white_covariance)) / np.abs(c[free]) * np.abs(gains.values)
        gains = replace(gains, identified=True, white_std=white)
        return Found(gained, system, solution, gains, free, proof)

    def _optimum(
        self, problem: InverseDynamics, free: np.ndarray
    ) -> tuple[_ReducedPayload, GainOptimum, Proof]:
        """The reduced problem with priors on the centre of mass, and its solution."""
        reduced = _ReducedPayload.of(problem, self.rtol, free)
        optimum = reduced.solve(None, self.max_iterations)
        if free.any():
            drive_gains.check_identifiable(problem, optimum, free)
        for _ in range(PRIOR_STEPS if self.center_of_mass is not None else 0):
            assert self.center_of_mass is not None
            # the prior is linear in h only for a given mass: a fixed-point iteration over the mass
            mass = reduced.mass(optimum)
            reduced = reduced.with_center_of_mass(self.center_of_mass, mass)
            optimum = reduced.solve(optimum.point.c, self.max_iterations)
            if abs(reduced.mass(optimum) - mass) <= PRIOR_SETTLED * abs(mass):
                break
        if not self._must_be_possible:
            return reduced, optimum, ()
        optimum, proof = nearest_possible(
            problem,
            reduced.system,
            reduced.R,
            optimum,
            self.constraint or BodyConstraint(),
            self.max_iterations,
        )
        return reduced, optimum, proof

    def _with_mass_checked(self, problem: InverseDynamics, estimate: Estimate, stop: Stop | None) -> Estimate:
        """Where gains and mass are both known, compare the known mass with the estimated one."""
        name = LOAD_NAMES[0]
        if name not in problem.parameters.held:
            return estimate
        known = problem.parameters.held[name]
        # with known gains the mass can be estimated, although it is known too: a consistency check
        open_ = replace(problem, held={key: value for key, value in problem.held.items() if key != name})
        method = replace(self, gains=estimate.extra(DriveGains), gain_std=None, identify_gains=False)
        load = method.solve(open_, stop=stop).extra(Payload)
        assert load is not None
        found = f"{load.mass:.4g} +- {load.mass_std:.2g} kg"
        estimated = f"with these gains, the recordings alone give {found}"
        if abs(load.mass - known) > CONTRADICTION * load.mass_std:
            wrong = f"the load's mass is known as {known:.4g} kg, but {estimated}: the mass or the gains are wrong"
            return estimate.updated(warnings=(*estimate.warnings, wrong))
        note = f"The load's mass is held at {known:.4g} kg; {estimated}."
        return estimate.updated(notes=(*estimate.notes, note))


def check_recordings(problem: InverseDynamics) -> None:
    """Check that there is a load, and recordings with and without it."""
    if problem.attachment is None or not any(problem.loaded):
        raise InvalidMethod(
            "no recording carries the load: mark those that do (loaded = true in [[recordings]], `loaded` in Python)"
        )
    if all(problem.loaded):
        raise NotIdentifiable(
            "every recording carries the load, so none determines the robot alone: add one of the robot without it "
            "(loaded = false)"
        )
    drive_gains.measured_as(problem)
    mass = problem.parameters.held.get(LOAD_NAMES[0], 1.0)
    if not mass > 0:
        raise InvalidMethod(f"the known mass of the load must be above 0, not {mass:g} kg")


@dataclass(frozen=True, eq=False)
class _ReducedPayload:
    """The problem without its rows: R (k, k) of the estimated columns, M (n, k + 2, k + 2) cross products of
    [W R^-1, h, y], and `free` (n,), True where the gain is unknown.
    """

    problem: InverseDynamics
    system: System
    R: Matrix
    M: np.ndarray
    free: np.ndarray

    @classmethod
    def of(cls, problem: InverseDynamics, rtol: float, free: np.ndarray) -> _ReducedPayload:
        system = reduce(problem, rtol)
        R = whitening(system)
        return cls(problem, system, R, total_moments(problem, system.columns, R), free)

    def solve(self, start: Vector | None, max_iterations: int) -> GainOptimum:
        """Optimum by output error, from the initial guess `start`; None: without an initial guess of unknown gains."""
        cost = Cost(self.M, np.ones(len(self.M)), *self.system.whitened_prior(self.R))
        rows = sum(self.problem.row_counts)
        if start is not None or not self.free.any():
            start = np.ones(len(self.free)) if start is None else start
            return output_error(cost, rows, self.free, start, max_iterations)
        try:
            # too small, but of the right order of magnitude
            kappa = gains_by_least_squares(self.M, self.free, cost.P, cost.z)
            size = np.maximum(np.abs(kappa), MIN_START * np.abs(kappa).max())
            # least squares attenuates gains but keeps their signs, of which output error finds the nearest optimum
            start = np.where(self.free, np.where(kappa < 0, -1, 1) / size, 1.0)
            return output_error_of_any_sign(cost, rows, self.free, start, max_iterations)
        except linalg.LinAlgError:
            raise NotIdentifiable(
                "no drive gains explain these recordings: what is known (the load's mass) affects none of the joints; "
                "check link, and which recordings carry the load"
            ) from None

    def theta(self, optimum: GainOptimum) -> Vector:
        """(k,)"""
        return np.asarray(linalg.solve_triangular(self.R, optimum.point.theta, check_finite=False))

    def solution(self, system: System, optimum: GainOptimum, weights: np.ndarray) -> LinearSolution:
        """The optimum, on a system with the same columns."""
        solved = system.solve(weights, variance=1.0)
        return replace(solved, theta=self.theta(optimum), steps=optimum.steps, status=optimum.status)

    def mass(self, optimum: GainOptimum) -> float:
        """Mass of the load [kg]."""
        return float(load_values(self.problem, self.system, self.theta(optimum))[0])

    def with_center_of_mass(self, known: tuple[Normal, Normal, Normal], mass: float) -> _ReducedPayload:
        """The problem with the prior on the centre of mass as three more rows, for a load of this mass."""
        if not mass > 0:
            raise NotIdentifiable(
                "a prior on the load's centre of mass needs its mass, but these recordings give one not above 0"
            )
        base, held = self.problem.base, self.problem.parameters.held
        rows = np.zeros((3, self.system.size + 1))
        for row, name, prior in zip(rows, LOAD_NAMES[1:4], known, strict=True):
            for symbol, coefficient in ((name, 1.0), (LOAD_NAMES[0], -prior.mean)):
                # a held h_i or mass moves to the right-hand side
                if symbol in held:
                    row[-1] -= coefficient * held[symbol]
                else:
                    row[base.index(symbol)] = coefficient
            row /= prior.std * mass
        # these replace the rows of the previous step
        own = self.system.prior[: len(self.problem.priors)]
        return replace(self, system=replace(self.system, prior=np.concatenate([own, rows])))
