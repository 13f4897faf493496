"""Elastic joints from encoders at their motors: output error in the torque, of links that springs drive.

Nothing reads the deflection d of a spring (see `models.robot.elastic`). But the motor's motion q is read, and with it
as an input the link is a system of its own,

    0 = ks d + fv d' + (torque of the link's motion q + d)          simulated at theta, from the first state x0

The torque that a motor needs is linear in theta once d is known, W(q, d(theta, x0)) theta, so

    theta, x0 = argmin  sum over the motors' rows of w^2 (tau - W(q, d(theta, x0)) theta)^2

by damped Gauss-Newton, with differences as derivatives. Output error of a link that hardly damps has many minima. So
the search begins where it has few: the spring carries the torque L that the motor does not need itself,

    L = tau - ia q'' - friction(q'),      ks d + fv d' = -L          with the noise of tau, low-passed

from the resonance among `FREQUENCIES` that explains the torques best, joint by joint. Standard deviations are those of
the linearization, with coloured residuals, M and H as in `least_squares` with the Jacobian in place of W.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from ...arrays import JointSamples, Matrix, Vector
from ...estimate import Certificate, Estimate, Fit, Status
from ...exceptions import InvalidMethod, listing
from ...models.robot.elastic import ENDING, deflection
from ...models.robot.inverse_dynamics import inverse_dynamics
from ...models.robot.joint_terms import is_nonnegative
from ...ranges import Count, Fraction, Positive
from ...recording import Recording
from ...regression.base_parameters import EXCITATION_TOLERANCE, triangular
from ...regression.inverse_dynamics import InverseDynamics
from ...regression.system import LinearSolution, System, inverse, reduce
from ...signals.butterworth import central_difference
from ...signals.low_pass import LowPass
from ...signals.signals import Signals
from ...simulation.closed_loop import PositionLaw, follow
from ...solve import GaussNewton, Method, ProgressCallback, Stop, report
from ...solve.dense import DenseProblem
from ...statistics import correlated_products, is_spherical, tapered_autocovariance
from .least_squares import finish

FREQUENCIES = np.geomspace(2.0, 40.0, 14)
"""Resonances of a link on its spring, with the motor held, from which the search starts [Hz]."""

DAMPING_RATIO = 0.05
"""Of the springs at the start."""

PRESCRIBED = 1e9
"""Stiffness that makes motors follow their recorded motion [N m/rad]; of the links' own order it is at most 1e4."""

DIFFERENCE = 1e-5
"""Step of differences, as a part of a parameter's size."""

DIVERGED = "The simulated motion diverges."

SWEEPS, REPETITIONS = 2, 3
"""Of the search of the first springs over the joints, and of least squares for each."""

LEAST = 1e-3
"""Least stiffness, as a part of its first guess."""


@dataclass(frozen=True)
class HiddenDeflections(Method):
    """Stiffness and damping of elastic joints, and all base parameters, from the encoders of the motors.

    Args:
        rtol: as in `LeastSquares`.
        max_iterations: largest number of Gauss-Newton steps.
        step_tolerance: the search ends when a step is shorter than this, in standard deviations.
    """

    rtol: Fraction = EXCITATION_TOLERANCE
    max_iterations: Count = 50
    step_tolerance: Positive = 0.05

    name = "hidden-deflections"
    citations = ("spong1987",)

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Estimate the parameters.

        Raises:
            InvalidMethod: if the robot has no elastic joint without an encoder at its link, or has loops or a load.
            NotIdentifiable: if the motion does not determine the parameters.
        """
        hidden = HiddenMotion(problem)
        carried = HiddenMotion(problem, simulated=False)
        report(progress, "looking for resonances")
        x = carried.start()
        search = GaussNewton(
            max_iterations=self.max_iterations,
            relative_tolerance=0.0,
            absolute_tolerance=0.5 * self.step_tolerance**2,
        )
        steps, status = 0, Status.solved
        # weights need residuals, and these an estimate
        for motion in (carried, hidden, hidden):
            spread = motion.spread(x)
            # what the motion determines depends on the deflections
            columns = reduce(problem.with_signals(motion.signals(x)), self.rtol).columns
            least_squares = motion.least_squares(x, columns, 1 / spread)
            minimum = search.minimize(least_squares.at(motion.free(x, columns)), progress=progress, stop=stop)
            x = motion.with_free(x, columns, minimum.at.theta)
            if motion is carried:
                x[hidden.b :] = hidden.first_states(carried.signals(x))
            steps, status = steps + minimum.iterations, minimum.status
        spread = hidden.spread(x)
        system = reduce(problem.with_signals(hidden.signals(x)), self.rtol)
        system = system.restricted(np.intersect1d(system.columns, columns))
        return _estimate(self, hidden, x, system, 1 / spread, steps, status)


@dataclass(frozen=True, eq=False)
class HiddenMotion:
    """Motion of the links behind springs that no encoder reads, from x = (base values, first states of recordings).

    `simulated`: whether deflections are those of a simulation; else those of the torques that the springs carry, which
    contain the noise of the torques, and no first states.

    Raises:
        InvalidMethod: if the robot has no such joint, or has loops or a load.
    """

    problem: InverseDynamics
    simulated: bool = True

    def __post_init__(self) -> None:
        robot = self.problem.robot
        robot.refuse_loops("hidden-deflections")
        if robot.floating_base or self.problem.attachment is not None:
            raise InvalidMethod("hidden-deflections needs a robot with a fixed base and without a load")
        if not len(self.unread):
            raise InvalidMethod(
                "hidden-deflections needs an elastic joint whose deflection was not recorded, and the elastic joints "
                f"are {listing(robot.drive.elastic) or 'none'}: name them in elastic of the drive; where encoders read "
                "the links, least-squares identifies the springs"
            )

    @cached_property
    def unread(self) -> np.ndarray:
        """(h,) places of the deflections among the robot's joints."""
        robot, recordings = self.problem.robot, cast("tuple[Signals, ...]", self.problem.recordings)
        names = (deflection(joint) for joint in robot.drive.elastic)
        missing = [name for name in names if name not in recordings[0].joints]
        return np.array([robot.joints.index(name) for name in missing], dtype=np.int64)

    @cached_property
    def motors(self) -> np.ndarray:
        """Equations whose effort was measured."""
        passive = self.problem.robot.drive.passive
        return np.flatnonzero([name not in passive for name in self.problem.robot.effort_names])

    @cached_property
    def of_motors(self) -> frozenset[int]:
        """Base columns of what motors need themselves, whose torque is linear where their motion is an input."""
        base, passive = self.problem.base, self.problem.robot.drive.passive
        rows = enumerate(zip(base.kinds, base.owners, base.alone, strict=True))
        return frozenset(
            k for k, (kind, owner, alone) in rows if alone and kind != "inertia" and owner not in passive
        )

    @property
    def b(self) -> int:
        return len(self.problem.base)

    # -------------------------------------------------------------------------------------------- x and its parts

    def free(self, x: Vector, columns: np.ndarray) -> Vector:
        """(k + 2 h R,) the values that are searched."""
        return np.concatenate([x[columns], x[self.b :] if self.simulated else []])

    def with_free(self, x: Vector, columns: np.ndarray, values: Vector) -> Vector:
        """x with these values."""
        x = x.copy()
        x[columns] = values[: len(columns)]
        if self.simulated:
            x[self.b :] = values[len(columns) :]
        return x

    def full(self, x: Vector) -> Vector:
        """(p,) all parameters; 0 where one is grouped into another."""
        theta = self.problem.parameters.held_values.copy()
        theta[self.problem.base.chosen] += x[: self.b]
        return theta

    def first_states(self, signals: Sequence[Signals]) -> Vector:
        """(2 h R,) deflections and their rates at the first sample of signals with deflections."""
        order = self.problem.parts[0].order[self.unread]
        return np.concatenate([np.concatenate([one.q[0, order], one.v[0, order]]) for one in signals])

    # ----------------------------------------------------------------------------------------------- simulation

    def signals(self, x: Vector) -> list[Signals]:
        """Signals with the deflections of x; not a number where they diverge."""
        starts = x[self.b :].reshape(len(self.problem.parts), 2, -1)
        full = self.full(x)
        return [self._moved(k, full, *start) for k, start in enumerate(starts)]

    def _simulated(self, number: int, full: Vector, d: Vector, rate: Vector) -> JointSamples:
        """(T, h) deflections of links that springs drive, from a first state (h,), (h,); NaN where they diverge."""
        part = self.problem.parts[number]
        robot, signals = part.robot, part.signals
        command = part.positions.copy()
        command[:, self.unread] = 0.0
        q, v = command[0].copy(), part.joint_side(0, 1)[1][0].copy()
        q[self.unread], v[self.unread] = d, rate
        proportional = np.full(len(q), PRESCRIBED)
        proportional[self.unread] = 0.0
        law = PositionLaw(proportional, np.zeros(len(q)), np.zeros(len(q)))
        motion = follow(robot, full, law, signals.time, command, (q, v))
        deflections = np.full((len(signals), len(d)), np.nan) if motion is None else motion[:, self.unread]
        return deflections

    def _moved(self, number: int, full: Vector, d: Vector, rate: Vector) -> Signals:
        part = self.problem.parts[number]
        signals, interval = part.signals, 1 / part.signals.rate_hz
        deflections = (
            self._simulated(number, full, d, rate) if self.simulated else self._carried(number, full)
        )
        rates = central_difference(deflections, interval)
        moved = {"q": deflections, "v": rates, "a": central_difference(rates, interval)}
        arrays = {}
        for name, columns in moved.items():
            arrays[name] = getattr(signals, name).copy()
            arrays[name][:, part.order[self.unread]] = np.nan_to_num(columns)
        diverged = not np.isfinite(deflections).all()
        return replace(signals, **arrays, warnings=(DIVERGED,) if diverged else signals.warnings)

    def residuals(self, x: Vector) -> JointSamples:
        """(N, m) torque of the motors that x needs, less the recorded one; infinite where the motion diverges."""
        signals = self.signals(x)
        if any(one.warnings == (DIVERGED,) for one in signals):
            return np.full((sum(self.problem.row_counts), len(self.motors)), np.inf)
        return self.problem.with_signals(signals).excess(x[: self.b])[:, self.motors]

    def spread(self, x: Vector) -> Vector:
        """(m,) rms of the residuals of each motor."""
        return np.asarray(np.sqrt(np.mean(self.residuals(x) ** 2, axis=0)))

    # ------------------------------------------------------------------------------------------------- least squares

    def least_squares(self, x: Vector, columns: np.ndarray, weights: Vector) -> DenseProblem:
        """The problem of `free` values near x."""

        def residuals(values: Vector) -> Vector:
            return np.asarray((self.residuals(self.with_free(x, columns, values)) * weights).ravel())

        def jacobian(values: Vector, _: Vector) -> Matrix:
            J = self.jacobian(self.with_free(x, columns, values), columns)
            return np.asarray((J * weights[:, None]).reshape(-1, J.shape[2]))

        kinds = np.array(self.problem.base.kinds)[columns]
        alone = np.array(self.problem.base.alone)[columns]
        bounded = np.array([is_nonnegative(kind) for kind in kinds], dtype=bool)
        lower = np.where(alone & bounded, 0.0, -np.inf)
        stiff = kinds == "spring_stiffness"
        lower[stiff] = LEAST * x[columns][stiff]
        lower = np.concatenate([lower, np.full(len(self.free(x, columns)) - len(columns), -np.inf)])
        return DenseProblem(residuals, jacobian, lower, np.full(len(lower), np.inf))

    def jacobian(self, x: Vector, columns: np.ndarray) -> np.ndarray:
        """(N, m, k + 2 h R) derivatives of `residuals` by `free` values, by differences."""
        values = self.free(x, columns)
        # a first state has no size of its own: that of the deflections
        deflection = np.std(np.concatenate([one.q for one in self.signals(x)]), axis=0)
        order = self.problem.parts[0].order[self.unread]
        states = np.tile(np.maximum(deflection[order], 1e-9), 2 * len(self.problem.parts))
        sizes = np.concatenate([np.maximum(np.abs(values[: len(columns)]), LEAST), states])[: len(values)]
        W = None
        if self.simulated:
            rows = self.problem.with_signals(self.signals(x)).rows()
            W = np.concatenate([chunk.W for chunk in rows])[:, self.motors]
        changed = []
        for k, size in enumerate(sizes):
            if W is not None and k < len(columns) and columns[k] in self.of_motors:
                changed.append(W[:, :, columns[k]])
                continue
            ahead, behind = values.copy(), values.copy()
            ahead[k] += DIFFERENCE * size
            behind[k] -= DIFFERENCE * size
            e_ahead, e_behind = (self.residuals(self.with_free(x, columns, each)) for each in (ahead, behind))
            changed.append((e_ahead - e_behind) / (2 * DIFFERENCE * size))
        return np.stack(changed, axis=2)

    # ------------------------------------------------------------------------------------ start, by the springs' torque

    def start(self) -> Vector:
        """x of the stiffnesses that explain the torques best, with deflections of the torques that springs carry."""
        theta = self.problem.parameters.held_values.copy()
        theta[: self.problem.robot.inertials.size] = self.problem.robot.inertials.ravel()
        inertias = self._link_inertias(theta)
        hz = dict.fromkeys(inertias, float(FREQUENCIES[-1]))
        best, least = np.zeros(0), np.inf
        for _ in range(SWEEPS):
            for place in inertias:
                for frequency in FREQUENCIES:
                    tried = {**hz, place: float(frequency)}
                    x, cost = self._with_springs(theta, inertias, tried)
                    if cost < least:
                        best, least, hz = x, cost, tried
        return best

    def _with_springs(
        self, theta: Vector, inertias: Mapping[int, float], hz: Mapping[int, float]
    ) -> tuple[Vector, float]:
        """x of springs of these resonances, all else by least squares; and the cost of its residuals."""
        problem, names = self.problem, list(self.problem.parameters.names)
        theta = theta.copy()
        for place, frequency in hz.items():
            number, w = problem.robot.joint_numbers[place], 2 * np.pi * frequency
            theta[names.index(f"ks_{number}")] = w**2 * inertias[place]
            theta[names.index(f"fv{number}")] = 2 * DAMPING_RATIO * w * inertias[place]
        x = np.concatenate([problem.base.map @ theta, np.zeros(2 * len(self.unread) * len(problem.parts))])
        cost = np.inf
        for _ in range(REPETITIONS):  # what motors need themselves is not carried by springs
            rows = list(problem.with_signals(self.signals(x)).rows())
            W = np.concatenate([chunk.W for chunk in rows])[:, self.motors]
            y = np.concatenate([chunk.y for chunk in rows])[:, self.motors]
            own = np.flatnonzero(W.any(axis=(0, 1)))
            sizes = np.sqrt(np.mean(y**2, axis=0))
            A = (W[:, :, own] / sizes[:, None]).reshape(-1, len(own))
            x[own] = np.linalg.lstsq(A, (y / sizes).ravel(), rcond=EXCITATION_TOLERANCE)[0]
            cost = float(np.sum(np.log(np.mean((y - W @ x[: self.b]) ** 2, axis=0))))
        return x, cost

    def _link_inertias(self, full: Vector) -> dict[int, float]:
        """Inertia that each unread deflection turns, on average over the motion."""
        robot, part = self.problem.robot, self.problem.parts[0]
        q = robot.configurations(part.positions[:: max(len(part) // 50, 1)])
        still = np.zeros((len(q), robot.model.nv))
        bodies = full[: robot.inertials.size].reshape(-1, 10)
        M, _ = inverse_dynamics(robot.tree, bodies, np.zeros(3), q, still, still)
        return {int(place): float(np.mean(M[:, place, place])) for place in self.unread}

    def _carried(self, number: int, full: Vector) -> JointSamples:
        """(T, h) deflections by the torque of each motor less what it needs itself, ks d + fv d' = -L."""
        from scipy.signal import lfilter  # slow to import

        part, robot = self.problem.parts[number], self.problem.robot
        q, v, a, tau = part.joint_side(0, len(part))
        terms = self.problem.regressor.joint_terms
        rows, columns = terms.structure
        phi = full[robot.inertials.size :]
        owners = np.array([block.owner for block in terms.parameters])
        entries, names = terms.entries(q, v, a), list(self.problem.parameters.names)
        rate = part.signals.rate_hz
        cutoff = getattr(part.signals.method, "cutoff_hz", None) or rate / 10
        low_pass = LowPass.butterworth(4, min(2 * float(np.max(cutoff)) / rate, 0.9))
        deflections = []
        for place in self.unread:
            motor = robot.joints.index(robot.joints[place].removesuffix(ENDING))
            own = (owners[columns] == robot.joints[motor]) & (rows == motor)
            L = low_pass.forwards_and_backwards(tau[:, motor] - entries[:, own] @ phi[columns[own]], 12)
            stiffness, damping = (
                full[names.index(f"{symbol}{robot.joint_numbers[place]}")] for symbol in ("ks_", "fv")
            )
            first = -L[0] / stiffness
            gain = stiffness + damping * rate
            deflections.append(
                lfilter([-1.0], [gain, -damping * rate], L, zi=[damping * rate / gain * first])[0]
            )
        return np.stack(deflections, axis=1)


class HiddenDynamics(InverseDynamics):
    """The problem of an estimate whose deflections are simulated, which predicts by simulation too."""

    @classmethod
    def of(cls, problem: InverseDynamics) -> HiddenDynamics:
        """The same problem."""
        other = object.__new__(cls)
        other.__dict__.update(problem.__dict__)
        return other

    def predicted(
        self, estimate: Estimate, recording: Signals | Recording, name: str = "", *, loaded: bool = False
    ) -> Fit:
        """Measured against predicted effort of another recording; its deflections are simulated from first states that
        are estimated.
        """
        method = self.parts[0].signals.method
        hidden = HiddenMotion(InverseDynamics(self.robot, recording, method, held=self.parameters.held))
        none = np.zeros(0, dtype=np.int64)
        theta = hidden.problem.base.map @ self.dynamics(estimate).theta
        carried = HiddenMotion(hidden.problem, simulated=False)
        x = np.concatenate([theta, np.zeros(2 * len(hidden.unread))])
        x[hidden.b :] = hidden.first_states(carried.signals(x))
        states = hidden.least_squares(x, none, 1 / carried.spread(x))
        search = GaussNewton(max_iterations=10, relative_tolerance=1e-4)
        x = hidden.with_free(x, none, search.minimize(states.at(hidden.free(x, none))).at.theta)
        return hidden.problem.with_signals(hidden.signals(x)).fit(x[: hidden.b], name)


def _estimate(
    method: HiddenDeflections,
    hidden: HiddenMotion,
    x: Vector,
    system: System,
    weights: Vector,
    steps: int,
    status: Status,
) -> Estimate:
    """The estimate of x: that of a regression whose regressor is the Jacobian."""
    problem, columns = HiddenDynamics.of(hidden.problem.with_signals(hidden.signals(x))), system.columns
    J = hidden.jacobian(x, columns)
    N, m, size = J.shape
    R = triangular((J * weights[:, None]).reshape(-1, size))
    C = inverse(R)
    # first states are nuisances: only the parameters' own block is stated
    k = len(columns)
    own = triangular(np.linalg.inv(np.linalg.cholesky(C[:k, :k])))
    every = np.ones(len(problem.robot.equations))
    every[hidden.motors] = weights
    solution = LinearSolution(x[columns], C[:k, :k], own, every, 1.0, steps=steps, status=status)
    influence = C[:k] @ (J * weights[:, None]).reshape(-1, size).T

    def coloured(
        problem: InverseDynamics, fit: Fit, solution: LinearSolution, columns: np.ndarray, scale: np.ndarray
    ) -> tuple[Matrix, bool]:
        e = fit.residuals[:, hidden.motors] * weights * np.sqrt(N * m / max(N * m - size, 1))
        Gamma, allowance = tapered_autocovariance(e, problem.row_counts)
        rows = influence.T.reshape(N, m, k)
        parts = np.split(rows, np.cumsum(problem.row_counts)[:-1])
        M = correlated_products(enumerate(parts), Gamma) * allowance
        bread = np.linalg.inv(C[:k, :k])
        return bread @ M @ bread, is_spherical(e.T @ e, N)

    estimate = finish(
        method,
        problem,
        system,
        solution,
        notes=("Deflections were not read: they are those of a simulation that the motors' motion drives.",),
        coloured=coloured,
        systematic=False,
    )
    return estimate.updated(certifier=partial(_certify, hidden, x, columns, weights))


def _certify(
    hidden: HiddenMotion, x: Vector, columns: np.ndarray, weights: Vector, estimate: Estimate
) -> Certificate:
    """Gradient of the sum of squares at the estimate's values, relative to |w J| |w tau|, column by column."""
    x = x.copy()
    x[columns] = estimate.values
    J = hidden.jacobian(x, columns) * weights[:, None]
    r = hidden.residuals(x) * weights
    scale = np.sqrt(np.sum(J**2, axis=(0, 1)) * np.sum(r**2))
    gradient = np.abs(np.einsum("nmk, nm -> k", J, r)) / scale
    return Certificate(float(gradient[: len(columns)].max(initial=0.0)), feasible=True)
