"""Instruments: the motion that the robot would make without noise, and least squares of rows that it multiplies.

A controller feeds the noise of the encoders back into the torques, and differentiation amplifies it in the regressor W.
Errors of both are then correlated, and W^T e is not zero on average. The regressor Z of a motion without noise is
correlated with W, and not with the noise (Janot, Vandanjon and Gautier 2014):

    Z^T w^2 (y - W theta) = 0

The same theta is least squares of the regressor that Z explains, V = Z (Z^T w^2 Z)^-1 Z^T w^2 W, with the residuals
of W itself:

    H = V^T w^2 V = A^T G^-1 A      A = Z^T w^2 W,  G = Z^T w^2 Z
    cov = s^2 H^-1                  for white residuals, s^2 = |w (y - W theta)|^2 / (N - k)

**The motion** follows what commands the robot. Only what does not contain the noise of these recordings may do so:

    commands recorded, a law K (c - q) + D (c' - v) + o explains the torques     simulation of the model in that loop
    commands recorded, no such law explains them                                 the commands themselves
    no commands                                                                  the recorded motion, low-passed

A model under computed torque with its own parameters follows commands exactly, which is the second case. In the third
one the noise within the band of the low-pass remains, however wide that of the regressor is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from ...arrays import JointSamples, Matrix, Vector
from ...estimate import Certificate, Estimate
from ...exceptions import InvalidMethod, InvalidSignals, listing
from ...recording import Recording
from ...regression.base_parameters import TriangularFactor, triangular
from ...regression.inverse_dynamics import InverseDynamics, Part, Rows
from ...regression.system import LinearSolution, System
from ...signals.bandwidth import MIN_FACTOR, propose_filters
from ...signals.butterworth import ButterworthDecimation, central_difference
from ...signals.signals import Signals
from ...simulation.closed_loop import PositionLaw, follow

COMMAND = "position_command"

EXPLAINED = 0.9
"""A law is the controller's if it explains this part of the variance of each joint's torque."""


# ---------------------------------------------------------------------------------------------- motion without noise


@dataclass(frozen=True, eq=False)
class NoiseFreeMotion:
    """Motion without noise of the recordings of a problem.

    Args:
        problem: of a robot whose joints all have motors.
        commands: (T, n) commanded positions of each recording, joint side, at the samples of `times`.
        times: (T,) of each recording [s].
        law: of the loop; None: the model follows the commands exactly.
        source: where the commands come from, for people.
    """

    problem: InverseDynamics
    commands: tuple[JointSamples, ...]
    times: tuple[Vector, ...]
    law: PositionLaw | None
    source: str

    @classmethod
    def of(cls, problem: InverseDynamics, motion_hz: float | None) -> NoiseFreeMotion:
        """Motion that follows recorded commands, or positions below `motion_hz`, None: twice the motion's bandwidth.

        Raises:
            InvalidMethod: if the robot has loops, a floating base, a load, or joints without a measured motor.
        """
        _check(problem)
        names = [f"{COMMAND}.{joint}" for joint in problem.robot.joints]
        recordings = [part.signals.recording for part in problem.parts]
        if all(recording is not None and set(names) <= set(recording.channels) for recording in recordings):
            return cls._commanded(problem, [recording for recording in recordings if recording], names)
        motions, times, cutoffs = [], [], []
        for part in problem.parts:
            signals = part.signals
            raw = signals.recording or _positions_only(signals)
            hz = motion_hz or MIN_FACTOR * propose_filters(raw).bandwidth_hz
            hz = min(hz, 0.9 * raw.rate_hz / 2)
            smooth = replace(ButterworthDecimation(hz, cut_edges=False)).apply(_without_efforts(raw, signals))
            motions.append(part.robot.train.joint_positions(smooth.q[:, part.order]))
            times.append(smooth.time)
            cutoffs.append(hz)
        band = listing(sorted({f"{hz:.3g}" for hz in cutoffs}))
        source = (
            f"no commands are recorded: instruments follow the recorded positions below {band} Hz, whose noise in this "
            "band remains in the estimate"
        )
        return cls(problem, tuple(motions), tuple(times), None, source)

    @classmethod
    def _commanded(
        cls, problem: InverseDynamics, recordings: list[Recording], names: list[str]
    ) -> NoiseFreeMotion:
        train = problem.robot.train
        commands = tuple(
            train.joint_positions(np.stack([recording.readings(name) for name in names], axis=1))
            for recording in recordings
        )
        if not all(np.isfinite(command).all() for command in commands):
            raise InvalidSignals(f"channels of {COMMAND} have samples that are not valid: cut or bridge them")
        times = tuple(recording.time for recording in recordings)
        law, explained = fitted_law(problem, times, commands)
        share = f"{100 * explained.min():.3g} % of the torque of each joint at least"
        if law is None:
            source = (
                f"instruments follow the recorded commands exactly: a position loop explains only {share}"
            )
        else:
            source = (
                f"instruments are simulated in the position loop of the recording, which explains {share}"
            )
        return cls(problem, commands, times, law, source)

    def instruments(self, theta: Vector) -> InverseDynamics:
        """The problem with the motion of a model of base values theta (b,) in place of the recorded one.

        The commands themselves where the model is unstable in the loop.
        """
        robot, parameters = self.problem.robot, self.problem.parameters
        full = parameters.held_values.copy()
        full[self.problem.base.chosen] += theta
        signals = []
        for part, time, command in zip(self.problem.parts, self.times, self.commands, strict=True):
            motion = None if self.law is None else follow(robot, full, self.law, time, command)
            signals.append(_moved(part, time, command if motion is None else motion))
        return self.problem.with_signals(signals)


def fitted_law(
    problem: InverseDynamics, times: tuple[Vector, ...], commands: tuple[JointSamples, ...]
) -> tuple[PositionLaw | None, Vector]:
    """The law K (c - q) + D (c' - v) + o of the torques, None if it is none; (n,) part of them that it explains."""
    columns, torques = [], []
    for part, time, command in zip(problem.parts, times, commands, strict=True):
        signals = part.signals
        q, v, _, tau = part.joint_side(0, len(part))
        commanded = _moved(part, time, command)
        c, c_dot = Part(commanded, part.robot, part.order).joint_side(0, len(part))[:2]
        if signals.decimation is None:
            rows = [c - q, c_dot - v, tau]
        else:
            rows = [signals.decimation(x) for x in (c - q, c_dot - v, tau)]
        columns.append(np.stack([rows[0], rows[1], np.ones_like(rows[0])], axis=2))
        torques.append(rows[2])
    A, y = np.concatenate(columns), np.concatenate(torques)
    gains = np.array([np.linalg.lstsq(A[:, j], y[:, j], rcond=None)[0] for j in range(y.shape[1])])
    gains[:, 1] = np.maximum(gains[:, 1], 0.0)
    left = np.mean((y - np.einsum("tjk, jk -> tj", A, gains)) ** 2, axis=0)
    explained = 1 - left / np.maximum(np.var(y, axis=0), 1e-300)
    is_loop = (explained > EXPLAINED).all() and (gains[:, 0] > 0).all()
    return (PositionLaw(*gains.T) if is_loop else None), explained


def _check(problem: InverseDynamics) -> None:
    robot = problem.robot
    robot.refuse_loops("instrumental-variable")
    if robot.floating_base or problem.attachment is not None:
        raise InvalidMethod("instrumental-variable needs a robot with a fixed base and without a load")
    if without := robot.drive.without_effort:
        raise InvalidMethod(
            f"instrumental-variable needs the effort of each joint's motor, and {listing(without)} has none: its "
            "motion cannot be simulated from commands; use least-squares"
        )
    if (robot.coordinates[0] < 0).any():
        raise InvalidMethod("instrumental-variable supports joints of one degree of freedom, and no balls")


def _positions_only(signals: Signals) -> Recording:
    names = [f"position.{joint}" for joint in signals.joints]
    channels = dict(zip(names, signals.q.T, strict=True))
    return Recording(signals.time, channels, dict.fromkeys(names, "rad"))


def _without_efforts(recording: Recording, signals: Signals) -> Recording:
    """Positions of a recording beside efforts of 0, so that a filter of positions runs."""
    names = [f"position.{joint}" for joint in signals.joints]
    efforts = [f"torque.{joint}" for joint in signals.joints]
    channels = {name: recording[name] for name in names} | dict.fromkeys(efforts, np.zeros(len(recording)))
    units = {name: recording.units[name] for name in names} | dict.fromkeys(efforts, "N m")
    return Recording(recording.time, channels, units)


def _moved(part: Part, time: Vector, motion: JointSamples) -> Signals:
    """The signals of a recording with another motion (T, n), joint side, smoothed as the recorded one was."""
    signals, train = part.signals, part.robot.train
    measured = np.empty_like(motion)
    measured[:, part.order] = (motion - train.offset) @ np.linalg.inv(train.velocity_map).T
    if signals.recording is None or signals.method is None:
        interval = 1 / signals.rate_hz
        v = central_difference(measured, interval)
        return replace(signals, q=measured, v=v, a=central_difference(v, interval))
    channels = dict(signals.recording.channels)
    channels |= {
        f"position.{joint}": column for joint, column in zip(signals.joints, measured.T, strict=True)
    }
    smooth: Signals = signals.method.apply(replace(signals.recording, channels=channels))
    if len(smooth) == len(signals):
        return smooth
    first = int(np.searchsorted(smooth.time, signals.time[0] - 0.5 / signals.rate_hz))
    return smooth.cut(first, first + len(signals), "cut as the recorded motion was")


# ------------------------------------------------------------------------------------------------- least squares


@dataclass(frozen=True, eq=False, kw_only=True)
class InstrumentedSystem(System):
    """A `System` whose solutions are those of instruments.

    Args:
        crossed: (n, 2 b + 1, 2 b + 1) triangular factors of [Z W y] of each degree of freedom.
        instruments: the problem with the motion without noise.
    """

    crossed: np.ndarray
    instruments: InverseDynamics

    @classmethod
    def of_motion(
        cls, system: System, problem: InverseDynamics, instruments: InverseDynamics
    ) -> InstrumentedSystem:
        """The system with the rows of `instruments` as Z."""
        known = {each.name: getattr(system, each.name) for each in fields(system)}
        return cls(**known, crossed=crossed_factors(problem, instruments), instruments=instruments)

    def triangular_factor(self, weights: np.ndarray, factors: np.ndarray | None = None) -> Matrix:
        """(k + 1, k + 1) triangular factor of [V y], V the part of the weighted W that Z explains."""
        k = len(self.columns)
        T = self._crossed(weights, factors)
        return triangular(np.concatenate([T[:k, k:], np.zeros((1, k + 1))]))

    def residual_variance(self, data: Matrix, weights: np.ndarray) -> float:
        k = len(self.columns)
        theta = np.zeros(self.size)
        theta[self.columns] = np.linalg.lstsq(data[:k, :k], data[:k, k], rcond=None)[0]
        return float(weights**2 @ self.residual_squares(theta)) / (self.equations - k)

    def sandwich(self, slopes: np.ndarray, scores: np.ndarray) -> tuple[Matrix, Matrix]:
        k, P = len(self.columns), self._prior[:, :-1]
        R = self.curvature(slopes)
        bread = np.linalg.inv(R)
        half = self._crossed(scores)[:k, :k] @ self.explained(slopes)
        inner = np.concatenate([half, P]) @ bread @ bread.T
        return R, inner.T @ inner

    def weighted_factors(self, problem: InverseDynamics, weights: Callable[[Rows], np.ndarray]) -> np.ndarray:
        return crossed_factors(problem, self.instruments, weights)

    def explained(self, weights: np.ndarray, factors: np.ndarray | None = None) -> Matrix:
        """(k, k) the coefficients of V = Z (Z^T w^2 Z)^-1 Z^T w^2 W."""
        k = len(self.columns)
        T = self._crossed(weights, factors)
        return np.asarray(np.linalg.solve(T[:k, :k], T[:k, k : 2 * k]))

    @cached_property
    def strength(self) -> float:
        """Part of the regressor's power that instruments explain, in the direction in which they explain least."""
        ones = np.ones(len(self.factors))
        R = triangular(self.factors[:, :, self.columns].reshape(-1, len(self.columns)))
        k = len(self.columns)
        V = self._crossed(ones)[:k, k : 2 * k] @ np.linalg.inv(R[:k])
        return float(np.linalg.svd(V, compute_uv=False)[-1] ** 2)

    def _crossed(self, weights: np.ndarray, factors: np.ndarray | None = None) -> Matrix:
        """(2 k + 1, 2 k + 1) triangular factor of all weighted rows of [Z W y]."""
        factors = self.crossed if factors is None else factors
        used = np.concatenate([self.columns, self.size + self.columns, [2 * self.size]])
        return triangular((factors[:, :, used] * weights[:, None, None]).reshape(-1, len(used)))


def crossed_factors(
    problem: InverseDynamics,
    instruments: InverseDynamics,
    weights: Callable[[Rows], np.ndarray] | None = None,
) -> np.ndarray:
    """(n, 2 b + 1, 2 b + 1) triangular factors of [Z W y] of each degree of freedom; `weights` as of `factors`."""
    n, b = len(problem.robot.equations), len(problem.base)
    folding = [TriangularFactor(2 * b + 1) for _ in range(n)]
    for rows, others in zip(problem.rows(), instruments.rows(), strict=True):
        block = np.concatenate([others.W, rows.W, rows.y[:, :, None]], axis=2)
        if weights is not None:
            block = block * weights(rows)[:, :, None]
        for dof, factor in enumerate(folding):
            factor.fold(block[:, dof])
    return np.stack([factor.R for factor in folding])


def certify(instruments: InverseDynamics, estimate: Estimate) -> Certificate:
    """Z^T w rho'(w (y - W theta)) + prior, which is 0 at the estimate, relative to |w Z| |w y|, row by row."""
    problem, settings = instruments, estimate.settings
    recorded = estimate.problem
    assert isinstance(recorded, InverseDynamics)
    place = np.array([recorded.base.index(name) for name in estimate.names], dtype=np.int64)
    theta = np.zeros(len(recorded.base))
    theta[place] = estimate.values
    weights, clip = np.asarray(settings["joint_weights"]), float(settings.get("clip", np.inf))
    gradient, columns, efforts = np.zeros(len(theta)), np.zeros(len(theta)), 0.0
    for rows, others in zip(recorded.rows(), problem.rows(), strict=True):
        Z, y = others.W * weights[:, None], rows.y * weights
        x = np.clip(weights * (rows.y - rows.W @ theta), -clip, clip)
        gradient += np.einsum("rnb, rn -> b", Z, x)
        columns += (Z**2).sum(axis=(0, 1))
        efforts += float((y**2).sum())
    scale = np.sqrt(columns[place] * efforts)
    return Certificate(float(np.max(np.abs(gradient[place]) / scale, initial=0.0)), feasible=True)


def influence_factor(solution: LinearSolution, residuals: JointSamples) -> np.ndarray:
    """(n,) weights of the slopes of a solution: w, of which a robust one uses the part that is not clipped."""
    inside = np.mean(np.abs(solution.weights * residuals) <= solution.clip, axis=0)
    return np.asarray(solution.weights * np.sqrt(inside))
