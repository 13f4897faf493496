"""Where the base of a legged robot was, from its inertial unit, its encoders and its contacts, by optimal estimation.

A trajectory model whose base is moved by what the inertial unit read, with noise w and biases theta = (b_g, b_a); feet
stand while their contacts are closed. With R_k the orientation Exp(r_k) Rbar_k about that of the
integrated gyro, w^ and a^ means of the readings at both ends of a step, and J_k, y_k slopes and positions of feet by
encoders as in `LegOdometry`,

    r+ = r - dt Rbar_m (b_g + w_g)              Rbar+ = Rbar Exp(dt w^),  Rbar_m in the middle of the step
    v+ = v + dt a,   p+ = p + dt v + dt^2 a / 2      a = Exp(r) Rbar_m (a^ - b_a - w_a) + g
    d+ = d + rolled + w_d                       residual: y - R^T (d - p), noise J n of encoders

Feet mostly stand still, and creep where they push: slip is t-distributed with `FREEDOM` degrees of freedom about the
scale `STILL`, one scale for each foot and window of `WINDOW` samples. Its mode is found by solving again with the
variance of each window, dimension 3, by its displacement s in a time T,

    sigma^2 = (FREEDOM STILL^2 + |s|^2 / T) / (FREEDOM + 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Columns, Matrix, States, Vector
from poinsot.estimators.online.leg_odometry import LegOdometry, OdometrySample, gammas
from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.posterior import posterior
from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    LastNodeLinearization,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from poinsot.models.rotations import log, skew, to_quaternion

from .flat_space import FlatSpace

PINNED = 1e-6
"""Standard deviation of the heading and of the place at the start [rad], [m]."""
STILL, FREEDOM, WINDOW = 1.2e-3, 3.0, 20
"""Scale of the slip of a foot [m/sqrt(s)], degrees of freedom of its distribution, and samples of a window."""
SETTLED, ROUNDS = 0.1, 15
"""Largest relative change of a standard deviation of slip at which the rounds end, and their largest number."""
FREE = 0.1
"""Standard deviation by which a foot in the air moves in a step [m]: that it does so is all that is known."""
METHOD = DDP(step_tolerance=1e-2, gap_tolerance=1e-8, max_iterations=30)


class MovedBase(TrajectoryModel):
    """The base of one recording, moved by its inertial unit.

    Args:
        samples: of the recording, all at finite times.
        noise: standard deviations of readings.
        R: (3, 3) orientation of the unit at the first sample.
        bias: (6,) about which the orientation is integrated and the state linear in r is exact.
    """

    def __init__(self, samples: list[OdometrySample], noise: LegOdometry, R: Matrix, bias: Vector):
        self.g = np.array(noise.gravity)
        time = np.array([each.time for each in samples])
        self.dt = np.diff(time)
        readings = np.array([each.inertial for each in samples])
        filled, doubt = interpolated(time, readings)
        mean = 0.5 * (filled[1:] + filled[:-1]) - bias
        turns = [gammas(step)[0] for step in mean[:, :3] * self.dt[:, None]]
        self.Rbar = np.array([*accumulate(turns, np.matmul, initial=R)])
        halves = np.array([gammas(step)[0] for step in 0.5 * mean[:, :3] * self.dt[:, None]])
        self.R_m = self.Rbar[:-1] @ halves
        self.a, self.bias = mean[:, 3:], bias
        F = samples[0].feet.shape[0]
        y = np.array([each.feet for each in samples])
        closed = np.array([each.closed for each in samples])
        read = closed & np.isfinite(y).all(axis=2)
        J = np.array([each.slopes for each in samples])
        N = noise.position_noise**2 * J @ J.transpose(0, 1, 3, 2)
        N = np.where(read[:, :, None, None], N, np.eye(3))
        self.W = np.linalg.inv(np.linalg.cholesky(N)) * read[:, :, None, None]
        self.y, self.read = np.where(read[:, :, None], y, 0.0), read
        self.standing = closed[:-1] & closed[1:]
        R_f = self.Rbar[:, None] @ np.array([each.rotations for each in samples])
        turned = log((R_f[1:] @ R_f[:-1].transpose(0, 1, 3, 2)).reshape(-1, 3, 3)).reshape(-1, F, 3)
        rolled = samples[0].radii[:, None] * np.cross(turned, [0.0, 0.0, 1.0])
        self.rolled = np.where(np.isfinite(rolled) & self.standing[:, :, None], rolled, 0.0)
        levels = np.repeat(noise.inertial_noise, 3)
        self.manifold, self.parameters = FlatSpace(9 + 3 * F), 6
        self.noisy = np.ones(len(self.dt), dtype=bool)
        std = np.hypot(levels, np.hypot(doubt[1:], doubt[:-1]) / np.sqrt(2))
        self.noise_std = np.concatenate([std, np.zeros((len(self.dt), 3 * F))], axis=1)
        self.slip = np.full((len(self.dt), F), STILL)

    @property
    def slip(self) -> Float[np.ndarray, "N F"]:
        """Standard deviation of the slip of each foot [m/sqrt(s)]."""
        return self._slip

    @slip.setter
    def slip(self, slip: Float[np.ndarray, "N F"]) -> None:
        self._slip = slip
        std = np.where(self.standing, slip * np.sqrt(self.dt)[:, None], FREE)
        self.noise_std[:, 6:] = np.repeat(std, 3, axis=1)

    def grown(self, x: States) -> Float[np.ndarray, "N F"]:
        """Standard deviations of slip by how feet move along the states x."""
        moved = np.diff(x[:, 9:].reshape(len(x), -1, 3), axis=0) - self.rolled
        found = np.empty_like(self._slip)
        for begin in range(0, len(moved), WINDOW):
            rows = slice(begin, begin + WINDOW)
            stands = self.standing[rows]
            T = np.maximum((stands * self.dt[rows][:, None]).sum(axis=0), self.dt[begin])
            s = (moved[rows] * stands[:, :, None]).sum(axis=0)
            found[rows] = np.sqrt((FREEDOM * STILL**2 + (s * s).sum(axis=1) / T) / (FREEDOM + 3))
        return found

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        linear = self._step(first, x, w, theta)
        return linear[0], self._residual(first, x)[0]

    def evaluate_last(self, x: Vector, theta: Vector) -> Vector:
        return self._residual(len(self.dt), x[None])[0][0]

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        r, r_x = self._residual(first, x)
        return StageLinearization(*self._step(first, x, w, theta), r, r_x, None, np.zeros((*r.shape, 6)))

    def linearize_last(self, x: Vector, theta: Vector) -> LastNodeLinearization:
        r, r_x = self._residual(len(self.dt), x[None])
        return LastNodeLinearization(r[0], r_x[0], np.zeros((r.shape[1], 6)))

    def _step(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        """f, f_x, f_w, f_theta."""
        T, n = x.shape
        rows = slice(first, first + T)
        dt, R_m = self.dt[rows][:, None], self.R_m[rows]
        E, Jl = _exponentials(x[:, :3])
        bias = theta - self.bias
        specific = np.einsum("tij, tjk, tk -> ti", E, R_m, self.a[rows] - bias[3:] - w[:, 3:6])
        f = x.copy()
        f[:, :3] -= dt * np.einsum("tij, tj -> ti", R_m, bias[:3] + w[:, :3])
        f[:, 3:6] += dt * (specific + self.g)
        f[:, 6:9] += dt * x[:, 3:6] + 0.5 * dt**2 * (specific + self.g)
        f[:, 9:] += self.rolled[rows].reshape(T, -1) + w[:, 6:]
        h = dt[:, :, None]
        f_x, f_u = np.tile(np.eye(n), (T, 1, 1)), np.zeros((T, n, 6))
        f_x[:, 3:6, :3] = -h * skew(specific) @ Jl
        f_x[:, 6:9, :3], f_x[:, 6:9, 3:6] = 0.5 * h * f_x[:, 3:6, :3], h * np.eye(3)
        f_u[:, :3, :3], f_u[:, 3:6, 3:] = -h * R_m, -h * E @ R_m
        f_u[:, 6:9, 3:] = 0.5 * h * f_u[:, 3:6, 3:]
        slips = np.zeros((T, n, n - 9))
        slips[:, 9:] = np.eye(n - 9)
        return f, f_x, np.concatenate([f_u, slips], axis=2), f_u

    def _residual(self, first: int, x: States) -> tuple[np.ndarray, np.ndarray]:
        """r and r_x of the feet, in standard deviations."""
        T, n = x.shape
        rows, F = slice(first, first + T), (n - 9) // 3
        E, Jl = _exponentials(x[:, :3])
        to_unit = (E @ self.Rbar[rows]).transpose(0, 2, 1)
        away = x[:, 9:].reshape(T, F, 3) - x[:, None, 6:9]
        W = self.W[rows]
        r = np.einsum("tfij, tfj -> tfi", W, self.y[rows] - np.einsum("tij, tfj -> tfi", to_unit, away))
        W_R = W @ to_unit[:, None]
        r_x = np.zeros((T, F, 3, n))
        r_x[..., :3] = -W_R @ skew(away) @ Jl[:, None]
        r_x[..., 6:9] = W_R
        for foot in range(F):
            r_x[:, foot, :, 9 + 3 * foot : 12 + 3 * foot] = -W_R[:, foot]
        return r.reshape(T, -1), r_x.reshape(T, 3 * F, n)


def interpolated(time: Vector, readings: Columns) -> tuple[Columns, Columns]:
    """Readings (S, m) without gaps, and the standard deviation of what interpolation may miss, 0 where it was read.

    A reading between two others may be anywhere between them: half of their difference.
    """
    read = np.flatnonzero(np.isfinite(readings).all(axis=1))
    filled = np.stack([np.interp(time, time[read], column[read]) for column in readings.T], axis=1)
    after = np.minimum(np.searchsorted(read, np.arange(len(time))), len(read) - 1)
    before = np.maximum(np.searchsorted(read, np.arange(len(time)), side="right") - 1, 0)
    return filled, 0.5 * np.abs(readings[read[after]] - readings[read[before]])


def _exponentials(r: Columns) -> tuple[np.ndarray, np.ndarray]:
    """(T, 3, 3) Exp(r) and its left Jacobian, of small r: to fourth order."""
    S, one = skew(r), np.eye(3)
    S2 = S @ S
    t2 = (r * r).sum(axis=1)[:, None, None]
    return (
        one + (1 - t2 / 6) * S + (0.5 - t2 / 24) * S2,
        one + (0.5 - t2 / 24) * S + (1 / 6 - t2 / 120) * S2,
    )


@dataclass(frozen=True, eq=False)
class Localization:
    """The inertial unit in the world.

    Args:
        R, p: (S, 3, 3), (S, 3) its orientation and place [m] at each sample.
        covariance: (S, 6, 6) of p, and of the rotation in the world's axes.
        bias, bias_std: (6,) of gyro and accelerometer.
        slip: (S - 1, F) standard deviations of the slip of feet [m/sqrt(s)].
        iterations: of all rounds together. converged: whether the last one did.
    """

    R: Float[np.ndarray, "S 3 3"]
    p: Float[np.ndarray, "S 3"]
    covariance: Float[np.ndarray, "S 6 6"]
    bias: Vector
    bias_std: Vector
    slip: Float[np.ndarray, "_ F"]
    iterations: int
    converged: bool

    def base(self, T_bu: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(S, 3) places and (S, 4) quaternions of the base, (S, 6, 6) covariance, of rotations in the base's axes.

        Args:
            T_bu: (4, 4) place of the unit in the base.
        """
        R = self.R @ T_bu[:3, :3].T
        lever = R @ T_bu[:3, 3]
        B = np.zeros((len(R), 6, 6))
        # p_b = p - R l, and R turned by phi in the world moves it by -phi x R l
        B[:, :3, :3], B[:, :3, 3:], B[:, 3:, 3:] = np.eye(3), skew(lever), R.transpose(0, 2, 1)
        return self.p - lever, to_quaternion(R), B @ self.covariance @ B.transpose(0, 2, 1)


def localize(samples: list[OdometrySample], noise: LegOdometry, p: Vector, R: Matrix) -> Localization:
    """Estimate where the base was at all samples.

    Args:
        samples: of a recording that begins with a known pose.
        noise: standard deviations of readings, biases and the start.
        p, R: (3,), (3, 3) place and orientation of the inertial unit at the first sample.
    """
    model = MovedBase(samples, noise, R, np.zeros(6))
    F = samples[0].feet.shape[0]
    d = np.where(np.isfinite(samples[0].feet), samples[0].feet, 0.0)
    start = np.concatenate([np.zeros(6), p, (p + d @ R.T).ravel()])
    tilt, speed = noise.start_std
    std = np.concatenate([[tilt, tilt, PINNED], np.full(3, speed), np.full(3, PINNED), np.full(3 * F, 1.0)])
    arrival = GaussianPrior.from_covariance(start, std**2)
    scale = np.repeat(noise.bias_std, 3)
    prior = GaussianPrior.from_covariance(np.zeros(6), scale**2)
    at = Trajectories((np.tile(start, (len(samples), 1)),), (np.zeros(model.noise_std.shape),), np.zeros(6))
    iterations = 0
    for _ in range(ROUNDS):
        problem = ShootingProblem((model,), (arrival,), prior, scale)
        solution = METHOD.solve(problem, at)
        at, iterations = solution.at, iterations + solution.iterations
        before, model.slip = model.slip, model.grown(at.x[0])
        if np.abs(np.log(model.slip / before)).max() < SETTLED:
            break
    found = posterior(problem, at)
    x = at.x[0]
    P = found.states[0][:, [6, 7, 8, 0, 1, 2]][:, :, [6, 7, 8, 0, 1, 2]]
    return Localization(
        _exponentials(x[:, :3])[0] @ model.Rbar,
        x[:, 6:9],
        P,
        at.theta,
        np.sqrt(np.diag(found.theta)),
        model.slip,
        iterations,
        solution.status.converged,
    )
