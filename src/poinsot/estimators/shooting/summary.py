"""The estimate of a solution: parameters and bodies with their uncertainty, motions, fit, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Matrix, NodeStates, Vector
from ...diagnosis import examined
from ...diagnosis.check import look_at
from ...diagnosis.estimated_motion import ASSUMPTION_CHECKS, Assumptions
from ...estimate import (
    NARROWED,
    Body,
    Diagnosis,
    Estimate,
    EstimatedParameters,
    Provenance,
    Status,
    Uncertainty,
    Unchecked,
    extras_of,
    unobservable_directions,
)
from ...estimate.motions import ContactChanges, Convergence, EstimatedMotion, EstimatedMotions
from ...models.robot.open_parameters import OpenParameters, body_of
from .contact_events import EventSearch
from .ddp import ShootingSolution
from .known_parameters import KnownParameters
from .motion_report import estimated_motion, fit_of_motions
from .noise_levels import NoiseLevels
from .posterior import TrajectoryPosterior
from .problem import unit_diagonal
from .robot import RobotTrajectoryModel

WIDENING_THRESHOLD = 1.05
"""Chi-square per degree of freedom up to which standard deviations are not widened: 5 % is one standard deviation of
chi-square itself at 800 degrees of freedom."""
NOTED_GROWTH = 3.0
"""Of the noise of speeds at a sample, from which on a note says so."""
UNOBSERVABLE_SHARE = 1e-6
"""Part of the norm of its derivatives by theta by which an unobservable direction may move an observable parameter."""


@dataclass(frozen=True, eq=False)
class EstimateSummary:
    """Makes an estimate of a solution and its covariance.

    Args:
        models: the recordings that were estimated from. known: prior of theta.
        solution: of the solver. covariance: of theta and states there.
        thetas: (N + 1, p) at each node of one recording along which theta changes; None: it is the same in all.
    """

    models: tuple[RobotTrajectoryModel, ...]
    known: KnownParameters
    solution: ShootingSolution
    covariance: TrajectoryPosterior
    thetas: Matrix | None = None

    @property
    def parameters(self) -> OpenParameters:
        return self.known.parameters

    @cached_property
    def widening(self) -> float:
        """Factor of all covariances: chi-square per degree of freedom where that is above its noise."""
        return self.chi_square if self.chi_square > WIDENING_THRESHOLD else 1.0

    @cached_property
    def slope(self) -> Matrix:
        """(p, p) derivative of the physical parameters by theta."""
        return self.parameters.physical_slope(self.solution.theta)

    @cached_property
    def rows(self) -> int:
        """Number of scalar readings."""
        return sum(
            int(np.isfinite(fit.normalized).sum()) for motion in self.motions for fit in motion.sensors
        )

    @cached_property
    def chi_square(self) -> float:
        """Chi-square per degree of freedom; 1 where there is none."""
        solution, problem = self.solution, self.solution.problem
        known = sum(arrival.rank for arrival in problem.arrivals) + problem.prior.rank
        unknown = len(solution.theta) - solution.unobservable.shape[1]
        for model, unobservable in zip(problem.models, self.covariance.unobservable_states, strict=True):
            unknown += model.manifold.degrees - unobservable.shape[1]
        # states after the first and process noise cancel: dynamics make one of the other
        degrees, squares = self.rows + known - unknown, 2.0 * solution.cost
        if self.thetas is not None:
            fits = [fit.normalized for motion in self.motions for fit in motion.sensors]
            noise = [
                (w / m.noise_std[: len(w)])[m.noisy[: len(w)]]
                for m, w in zip(problem.models, solution.at.w, strict=True)
            ]
            squares = sum(float(np.nansum(part**2)) for part in (*fits, *noise))
        return squares / degrees if degrees > 0 else 1.0

    @cached_property
    def motions(self) -> tuple[EstimatedMotion, ...]:
        """The motion in each recording."""
        at, thetas = self.solution.at, self.thetas
        return tuple(
            estimated_motion(model, at.theta if thetas is None else thetas, x, w, states)
            for model, x, w, states in zip(self.models, at.x, at.w, self.covariance.states, strict=True)
        )

    def estimate(self) -> Estimate:
        """The estimate, without its method and its problem."""
        parameters, theta, slope = self.parameters, self.solution.theta, self.slope
        covariance = self.widening * slope @ self.covariance.theta @ slope.T
        identifiable, bodies = self._identifiable(covariance), self._bodies(covariance)
        names = parameters.physical_names
        unknown = [name for name, yes in zip(names, identifiable, strict=True) if not yes]
        undetermined = unobservable_directions(
            names, parameters.physical(theta), slope @ self.covariance.unobservable, unknown
        )
        status = self.solution.status
        # an assumption determines nothing, though the solver saw a minimum
        if status is Status.solved and undetermined:
            status = Status.partly
        moved = self._is_unobservable
        # never a number with a small error bar where nothing is determined
        covariance[moved], covariance[:, moved] = np.nan, np.nan
        condition, scaled = self._condition_numbers()
        return Estimate(
            method="",
            robot=parameters.robot.name,
            described=parameters.robot.described,
            parameters=EstimatedParameters(
                names=names,
                units=parameters.physical_units,
                owners=parameters.owners,
                kinds=parameters.kinds,
                groupings=names,
                values=parameters.physical(theta),
                identifiable=identifiable,
                uncertainty=Uncertainty(covariance),
            ),
            status=status,
            condition_number=condition,
            scaled_condition_number=scaled,
            rows=self.rows,
            fit=fit_of_motions(list(zip(self.motions, self.models, strict=True))),
            bodies=bodies,
            undetermined=undetermined,
            iterations=self.solution.iterations,
            extras=extras_of(
                EstimatedMotions(self.motions), None if self.thetas is not None else self._convergence()
            ),
            provenance=Provenance(notes=self._notes()),
        )

    @cached_property
    def _is_unobservable(self) -> np.ndarray:
        """(b,) whether an unobservable direction changes a parameter."""
        moving = np.linalg.norm(self.slope @ self.covariance.unobservable, axis=1)
        return np.asarray(moving > UNOBSERVABLE_SHARE * np.linalg.norm(self.slope, axis=1))

    def _identifiable(self, covariance: Matrix) -> np.ndarray:
        """(b,) whether data and priors determine a parameter better than `chart_std` does."""
        observable = ~self._is_unobservable
        assumed = np.diag(self.known.assumed)
        if not assumed.any():
            return observable
        with np.errstate(divide="ignore"):
            before = np.sqrt((self.slope**2) @ np.where(assumed > 0, 1 / assumed, 0.0))
        # a parameter that also depends on coordinates without chart_std is judged by the data
        has_assumption = (np.abs(self.slope) @ (assumed == 0)) == 0
        narrowed = np.sqrt(np.diag(covariance)) < NARROWED * before
        return np.asarray(observable & (~has_assumption | narrowed))

    def _condition_numbers(self) -> tuple[float, float]:
        """Of the whitened Jacobian by theta on its observable directions: as it is, and with columns of unit norm.

        The Jacobian is that with states and noise eliminated, so that J^T J is the inverse of theta's covariance.
        """
        unobservable = self.covariance.unobservable
        basis = np.linalg.svd(unobservable, full_matrices=True)[0][:, unobservable.shape[1] :]
        if not basis.shape[1]:
            return 1.0, 1.0
        # covariances are 0 in unobservable directions, so they are inverted on the others only
        information = np.linalg.inv(basis.T @ self.covariance.theta @ basis)
        scaled, _ = unit_diagonal(information)
        return float(np.sqrt(np.linalg.cond(information))), float(np.sqrt(np.linalg.cond(scaled)))

    def _bodies(self, covariance: Matrix) -> tuple[Body, ...]:
        parameters, unobservable = self.parameters, self.covariance.unobservable
        prior = self.solution.problem.prior.information
        bodies = []
        for k, (pi, place) in enumerate(
            zip(parameters.values(self.solution.theta).bodies, parameters.places.tolist(), strict=True)
        ):
            rows = slice(10 * k, 10 * k + 10)
            # the prior's share of the posterior information, averaged over the body's ten directions
            share = np.trace(self.covariance.theta[rows, rows] @ prior[rows, rows]) + np.sum(
                unobservable[rows] ** 2
            )
            known = parameters.robot, place, pi, covariance[rows, rows], parameters.all_inertials[place]
            bodies.append(body_of(*known, prior_share=float(np.clip(share / 10, 0.0, 1.0))))
        return tuple(bodies)

    @cached_property
    def levels(self) -> NoiseLevels:
        """The noise levels that were assumed."""
        return NoiseLevels(self.solution.problem, self.solution.at)

    def noise_moves(self) -> dict[tuple[str, float], Vector]:
        """Change (b,) of the physical parameters with each level times and over a factor."""
        return {level: self.slope @ step for level, step in self.levels.moves.items()}

    def _convergence(self) -> Convergence:
        history, start = self.solution.history, self.solution.start
        thetas = [start.at.theta, *(iteration.theta for iteration in history)]
        return Convergence(
            self.parameters.physical_names,
            np.array(self.solution.costs),
            np.array([start.infeasibility, *(iteration.infeasibility for iteration in history)]),
            np.array([self.parameters.physical(theta) for theta in thetas]),
        )

    def examine(self, estimate: Estimate) -> Diagnosis:
        """Diagnose the estimate: compare its assumptions with what was estimated."""
        if self.thetas is not None:
            reason = "how far values move with them is not computed: run again with others"
            unchecked = Unchecked("the levels of process noise, and the walk of the parameters", reason)
            case = Assumptions(estimate, self.chi_square, unchecked=(unchecked, *self._exact_gains()))
            return examined(estimate, look_at(case, ASSUMPTION_CHECKS))
        solution, prior, quantities = self.solution, self.solution.problem.prior, self.known.quantities
        values, _ = self.known.of(solution.theta)
        events = estimate.extra(ContactChanges)
        searched = [EventSearch(rounds=1).search(model, solution.theta, x)[1]
                    for model, x in zip(self.models, solution.at.x, strict=True) if events is None]  # fmt: skip
        away = solution.theta - prior.mean
        case = Assumptions(
            estimate,
            self.chi_square,
            {
                name: float(value - known.mean) / known.std
                for (name, known), value in zip(quantities.items(), values, strict=True)
            },
            float(away @ prior.information @ away),
            prior.rank,
            self.noise_moves(),
            self.levels.likelier(np.random.default_rng(0)),
            self._exact_gains(),
            events or tuple(event for changes in searched for event in changes),
            events is not None,
        )
        return examined(estimate, look_at(case, ASSUMPTION_CHECKS))

    def _exact_gains(self) -> tuple[Unchecked, ...]:
        """Gains of commands that masses depend on, and that were not open."""
        parameters = self.parameters
        exact = [name for name in parameters.drive.gains if name not in parameters.gains]
        if not exact or not parameters.bodies:
            return ()
        reason = (
            "commands count as exact up to their noise, and masses are as uncertain as the gains: open them with "
            f'gains = ["{exact[0]}"] in [method] and [priors] "{exact[0]}" = {{ mean = 1, std = ... }}'
        )
        return (Unchecked("the gain of commands", reason),)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        for model, unobservable in zip(self.models, self.covariance.unobservable_states, strict=True):
            if unobservable.shape[1]:
                freedoms = "direction" if unobservable.shape[1] == 1 else "directions"
                notes.append(
                    f"The first state of {model.name} is unobservable in {unobservable.shape[1]} {freedoms}, such as "
                    f"the place of {model.parameters.robot.name} on the ground or its heading: it keeps its initial "
                    "guess there."
                )
            notes += [f"{model.name}: {note}." for note in model.schedule.notes()]
        for model, x in zip(self.models, self.solution.at.x, strict=True):
            notes += _slips(model, x)
        return tuple(notes)


def _slips(model: RobotTrajectoryModel, x: NodeStates) -> Iterator[str]:
    """The fastest closed contact after each step whose noise of speeds has grown, with states (N + 1, nx)."""
    if model.growth is None:
        return
    growth, closed = model.growth[:, -1], model.schedule.closed
    speeds = np.linalg.norm(model.contact_velocities(x[model.after_impacts]), axis=2).T * closed
    for k in np.flatnonzero(growth > NOTED_GROWTH).tolist():
        foot = model.schedule.contacts[int(np.argmax(np.abs(speeds[k + 1] - speeds[k])))].frame
        grown = f"the noise of speeds is {growth[k]:.3g} times what was given"
        yield f"{model.name}: {foot} slips at {model.times[k]:.3f} s, where {grown}."
