"""The estimate of a solution: parameters and bodies with their uncertainty, motions, fit, warnings.

The motion of a solution: path with standard deviations, forces at contacts, measured against predicted readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Float, Matrix, NodeStates, Vector
from ...diagnosis import examined
from ...diagnosis.check import look_at
from ...diagnosis.estimated_motion import ASSUMPTION_CHECKS, Assumptions
from ...estimate import (
    NARROWED,
    Body,
    Diagnosis,
    Estimate,
    EstimatedParameters,
    Fit,
    Provenance,
    Status,
    Uncertainty,
    Unchecked,
    extras_of,
    unobservable_directions,
)
from ...estimate.fit import fit_of
from ...estimate.motions import (
    STD,
    ContactChanges,
    Convergence,
    EstimatedMotion,
    EstimatedMotions,
    PathColumn,
    SensorFit,
    path_of,
)
from ...models.robot.articulated import Articulated
from ...models.robot.open_parameters import OpenParameters, body_of
from ...models.sensors import ROTATION, ContactForce, Gyro, Orientation, Position, PreintegratedVelocity
from ...quantities import QUATERNION, WRENCH, XYZ
from .block_covariance import CLOCK_STD, block_covariance, clock_covariance
from .contact_events import EventSearch, contradicted_events
from .ddp import ShootingSolution, TrajectoryPosterior
from .known_parameters import KnownParameters
from .noise_levels import NoiseLevels
from .problem import unit_diagonal
from .robot import RobotTrajectoryModel

WIDENING_THRESHOLD = 1.05
"""Chi-square per degree of freedom up to which standard deviations are not widened: 5 % is one standard deviation of
chi-square itself at 800 degrees of freedom."""
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
    def _of_blocks(self) -> tuple[Matrix, float]:
        """Covariance of theta, and a factor of covariances of states, with residuals that are correlated in time.

        Only where noise levels come from the data: levels that are stated also say what residuals are not.
        """
        has_student = any(model.student_levels for model in self.models)
        if not has_student or self.covariance.unobservable.shape[1] or self.thetas is not None:
            return self.covariance.theta, 1.0
        covariance, growth = block_covariance(self.levels, self.covariance.theta)
        return covariance + clock_covariance(self.levels), growth

    @cached_property
    def slope(self) -> Matrix:
        """(p, p) derivative of the physical parameters by theta."""
        return self.parameters.physical_slope(self.solution.theta)

    @cached_property
    def rows(self) -> int:
        """Number of scalar readings."""
        return sum(int(some.is_read.sum()) for model in self.models for some in model.readings)

    @cached_property
    def unknowns(self) -> int:
        """Number of observable unknowns, without process noise.

        States after the first count nowhere: dynamics make them of process noise.
        """
        unknown = len(self.solution.theta) - self.solution.unobservable.shape[1]
        for model, unobservable in zip(self.models, self.covariance.unobservable_states, strict=True):
            unknown += model.manifold.degrees - unobservable.shape[1]
        return unknown

    @cached_property
    def chi_square_per_reading(self) -> float:
        """Sum of squared residuals of readings and process noise, by the number of readings less unknowns."""
        return self.levels.chi_square / max(self.rows - self.unknowns, 1)

    @cached_property
    def chi_square(self) -> float:
        """Chi-square per degree of freedom; 1 where there is none."""
        solution, problem = self.solution, self.solution.problem
        known = sum(arrival.rank for arrival in problem.arrivals) + problem.prior.rank
        degrees, squares = self.rows + known - self.unknowns, 2.0 * solution.cost
        if any(model.student_levels for model in self.models):
            of_rows = sum(table.chi_square(()) for table in self.levels.tables)
            squares += self.levels.chi_square - of_rows
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
            for model, x, w, states in zip(self.models, at.x, at.w, self._covariances_of_states, strict=True)
        )

    @property
    def _covariances_of_states(self) -> Iterator[np.ndarray]:
        """(N + 1, n, n) of each recording's states, NaN in the first state where it is unobservable.

        Later states are known relative to the first one, which keeps its initial guess there.
        """
        # along which theta changes, chi-square is that of these motions
        factor = self.widening * self._of_blocks[1] if self.thetas is None else 1.0
        for states, unobservable in zip(
            self.covariance.states, self.covariance.unobservable_states, strict=True
        ):
            unknown = np.linalg.norm(unobservable, axis=1) > UNOBSERVABLE_SHARE
            states = factor * states
            if unknown.any():
                states[0, unknown], states[0, :, unknown] = np.nan, np.nan
            yield states

    def estimate(self) -> Estimate:
        """The estimate, without its method and its problem."""
        parameters, theta, slope = self.parameters, self.solution.theta, self.slope
        covariance = self.widening * slope @ self._of_blocks[0] @ slope.T
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
            fit=self._fit(),
            bodies=bodies,
            undetermined=undetermined,
            iterations=self.solution.iterations,
            extras=extras_of(
                EstimatedMotions(self.motions), None if self.thetas is not None else self._convergence()
            ),
            provenance=Provenance(notes=self._notes()),
        )

    def _fit(self) -> Fit:
        fit = fit_of_motions(list(zip(self.motions, self.models, strict=True)))
        # along which theta changes, the problem has other residuals than the motion
        return (
            fit
            if self.thetas is not None
            else replace(fit, chi_square_per_reading=self.chi_square_per_reading)
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
        searched = [
            contradicted_events(model, x[model.after_impacts])
            if model.schedule.margin
            else EventSearch(rounds=1).search(model, solution.theta, x)[1]
            for model, x in zip(self.models, solution.at.x, strict=True)
            if events is None
        ]
        estimated = frozenset[str]().union(*(model.open_levels for model in self.models))
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
            {level: self.slope @ step for level, step in self.levels.moves_without(estimated).items()},
            {} if estimated else self.levels.likelier(np.random.default_rng(0)),
            self._exact_gains(),
            events or tuple(event for changes in searched for event in changes),
            events is not None,
            estimated,
            self.levels.effort_scale(CLOCK_STD) if estimated and not self.parameters.gains else None,
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
        notes = list(self.models[0].parameters.robot.notes)
        for model, unobservable in zip(self.models, self.covariance.unobservable_states, strict=True):
            if unobservable.shape[1]:
                freedoms = "direction" if unobservable.shape[1] == 1 else "directions"
                notes.append(
                    f"The first state of {model.name} is unobservable in {unobservable.shape[1]} {freedoms}, such as "
                    f"the place of {model.parameters.robot.name} on the ground or its heading: it keeps its initial "
                    "guess there."
                )
            notes += [f"{model.name}: {note}." for note in model.schedule.notes()]
        return tuple(notes)


@dataclass(frozen=True, eq=False, repr=False)
class RobotMotionEstimate(EstimatedMotion):
    """A motion with what a certificate needs beside its path.

    Args:
        nodes: (N + 1, nx) states at all nodes; an impact has two, one before and one after it.
        process_noise: (N, m) of each stage.
    """

    nodes: NodeStates = field(default_factory=lambda: np.empty((0, 0)))
    process_noise: Float[np.ndarray, "N m"] = field(default_factory=lambda: np.empty((0, 0)))

    def states_at_nodes(self, robot: Articulated, samples: np.ndarray) -> NodeStates:
        """(N + 1, nx) states: those of the path at its samples, which are these nodes; `nodes` before impacts.

        Orientations of ball joints are not in a path, and are those of `nodes`.
        """
        x, nq, path = self.nodes.copy(), int(robot.model.nq), self.path.channels
        at, (first, turning) = x[samples], robot.coordinates
        if robot.floating_base:
            columns = channels_of_base(robot)
            at[:, :7] = np.stack([path[name] for name in columns[:7]], axis=1)
            at[:, nq : nq + 6] = np.stack([path[name] for name in columns[7:]], axis=1)
        for dof, joint in zip(robot.actuated.tolist(), robot.joints, strict=True):
            at[:, nq + dof], angle, place = path[f"velocity.{joint}"], path[f"position.{joint}"], first[dof]
            if turning[dof]:
                at[:, place], at[:, place + 1] = np.cos(angle), np.sin(angle)
            elif place >= 0:
                at[:, place] = angle
        x[samples] = at
        return x


BASE_QUANTITIES = (Position, XYZ), (Orientation, QUATERNION), (PreintegratedVelocity, XYZ), (Gyro, XYZ)
"""What a path holds of a floating base."""


def channels_of_base(robot: Articulated) -> list[str]:
    """(13,) channels of a floating base in a path: position, quaternion, linear and angular velocity."""
    return [f"{kind.quantity}.{robot.bodies[0]}.{end}" for kind, ends in BASE_QUANTITIES for end in ends]


def estimated_motion(
    model: RobotTrajectoryModel,
    theta: Vector | Float[np.ndarray, "nodes p"],
    x: NodeStates,
    w: Float[np.ndarray, "N m"],
    covariance: Float[np.ndarray, "nodes n n"] | None = None,
) -> RobotMotionEstimate:
    """The motion of a robot in one recording.

    Args:
        model: of the recording.
        theta: (p,), or (N + 1, p) of each node. x: (N + 1, nx). w: (N, m). All of a solution.
        covariance: (N + 1, 2 n, 2 n) of the states; None: unknown.
    """
    S, robot, readings = len(model.times), model.parameters.robot, model.readings
    predicted = [np.empty((S, some.sensor.width)) for some in readings]
    normalized = [np.empty((S, some.sensor.size)) for some in readings]
    forces = {contact.frame: np.full((S, contact.size), np.nan) for contact in model.schedule.contacts}
    # mode by mode, not in the order of time
    for samples, moved in model.along(x, theta, w):
        for some, values, residuals in zip(readings, predicted, normalized, strict=True):
            values[samples] = some.some(samples).predicted(moved)
            own = some.some(samples)
            residuals[samples] = own.normalized(moved) * np.sqrt(own.all_weights)
        for frame, values in forces.items():
            rows = moved.rows(frame)
            if rows is not None:
                values[samples] = moved.forces[:, rows]
    nodes = model.after_impacts
    columns = list(_path(robot, x[nodes], None if covariance is None else covariance[nodes]))
    for frame, values in forces.items():
        names = (f"{ContactForce.quantity}.{frame}.{end}" for end in WRENCH)
        columns += zip(names, ("N",) * 3 + ("N m",) * 3, values.T, repeat(None), strict=False)
    path = path_of(model.name, model.times, columns)
    n = robot.model.nv
    commands = [f"command.{model.parameters.drive.inputs[k]}" for k in model.noisy_commands.tolist()]
    freedoms = [
        f"{'position' if k < n else 'velocity'}.{robot.speed_names[k % n]}"
        for k in model.noisy_freedoms.tolist()
    ]
    moving = [
        f"contact.{contact.frame}.{end}"
        for contact, rows in zip(model.schedule.contacts, model.contact_rows, strict=False)
        for end in (*XYZ, *ROTATION)[: len(rows)]
    ]
    acts = model.level_of >= 0
    squares = np.sum(np.where(acts, w / model.noise_std, 0.0) ** 2, axis=0)
    size = np.sqrt(squares / np.maximum(acts.sum(axis=0), 1))
    fits = (
        SensorFit(s.name, s.channels, s.channel_units, some.values, values, s.components, residuals)
        for some, values, residuals in zip(readings, predicted, normalized, strict=True)
        for s in [some.sensor]
    )
    disturbance = dict(zip([*commands, *freedoms, *moving], size.tolist(), strict=True))
    return RobotMotionEstimate(
        model.name, path, tuple(fits), tuple(forces), disturbance, nodes=x, process_noise=w
    )


def _path(
    robot: Articulated, x: Float[np.ndarray, "S nx"], spread: np.ndarray | None
) -> Iterator[PathColumn]:
    """The base in the world, then joints."""
    n, nq = int(robot.model.nv), int(robot.model.nq)
    q, v = x[:, :nq], x[:, nq:]
    std = None if spread is None else np.sqrt(np.maximum(np.einsum("tii -> ti", spread), 0.0))
    if robot.floating_base:
        turned, names = Rotation.from_quat(q[:, 3:7]), channels_of_base(robot)
        places: Iterable[Vector | None] = repeat(None)
        speeds: Iterable[Vector | None] = repeat(None)
        if spread is not None and std is not None:
            R = turned.as_matrix()  # the tangent's axes are the base's
            places = np.sqrt(np.maximum(np.einsum("tij, tjk, tik -> ti", R, spread[:, :3, :3], R), 0.0)).T
            speeds = std[:, n : n + 6].T
        yield from zip(names[:3], ("m",) * 3, q[:, :3].T, places, strict=False)
        yield from zip(names[3:7], ("1",) * 4, turned.as_quat().T, repeat(None), strict=False)
        # standard deviations of the rotation vector, which a quaternion's components have no names for
        for end, column in zip(ROTATION, [] if std is None else std[:, 3:6].T, strict=False):
            yield f"{STD}{Orientation.quantity}.{robot.bodies[0]}.{end}", "rad", column, None
        yield from zip(names[7:], ("m/s",) * 3 + ("rad/s",) * 3, v[:, :6].T, speeds, strict=False)
    angles = robot.joint_positions(q)
    for k, (joint, dof) in enumerate(zip(robot.joints, robot.actuated.tolist(), strict=True)):
        unit = robot.position_units[dof]
        yield f"position.{joint}", unit, angles[:, k], None if std is None else std[:, dof]
        yield f"velocity.{joint}", f"{unit}/s", v[:, dof], None if std is None else std[:, n + dof]


def fit_of_motions(motions: Sequence[tuple[EstimatedMotion, RobotTrajectoryModel]]) -> Fit:
    """Measured against predicted readings of all sensors, a column a component; NaN where nothing was read.

    Components have different units, so the relative error of all together is of their standard deviations.
    """
    columns: dict[str, str] = {}
    for _, model in motions:
        for some in model.readings:
            columns |= dict(zip(some.sensor.components, some.sensor.units, strict=True))
    parts = [_columns(motion, model, tuple(columns)) for motion, model in motions]
    predicted, residuals, deviations = (np.concatenate(part) for part in zip(*parts, strict=True))
    return fit_of(
        np.concatenate([motion.path.time for motion, _ in motions]),
        tuple(columns),
        tuple(columns.values()),
        predicted + residuals,
        predicted,
        speeds=None,
        counts=[len(motion.path) for motion, _ in motions],
        recording=motions[0][0].name if len(motions) == 1 else "",
        noise=deviations,
    )


def _columns(
    motion: EstimatedMotion, model: RobotTrajectoryModel, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predicted, measured less predicted, and standard deviation, (S, columns) each; NaN where nothing was read.

    A sensor that this recording does not have is NaN in `predicted` too.
    """
    shape = len(motion.path), len(names)
    predicted, residuals, deviations = np.full(shape, np.nan), np.full(shape, np.nan), np.ones(shape)
    for some, fit in zip(model.readings, motion.sensors, strict=True):
        sensor = some.sensor
        at = [names.index(name) for name in sensor.components]
        predicted[:, at] = sensor.along(fit.predicted)
        read = np.isfinite(fit.normalized)
        # back from standard deviations to units
        unweighted = fit.normalized / np.sqrt(some.all_weights)
        away = np.where(read, unweighted, 0.0) @ np.linalg.inv(sensor.whitening).T
        residuals[:, at] = np.where(read, away, np.nan)
        deviations[:, at] = np.sqrt(np.diag(sensor.covariance))
    return predicted, residuals, deviations
