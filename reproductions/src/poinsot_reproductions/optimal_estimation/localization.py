"""Where the base of a legged robot was, from its inertial unit, its encoders and its contacts, by optimal estimation.

A trajectory model whose base is moved by what the inertial unit read, with noise w and biases b = (b_g, b_a) that walk;
feet stand while their contacts are closed. With R_k the orientation Exp(r_k) Rbar_k about that of the
integrated gyro, w^ and a^ means of the readings at both ends of a step, and J_k, y_k slopes and positions of feet by
encoders as in `LegOdometry`,

    r+ = r - dt Rbar_m (b_g + w_g)              Rbar+ = Rbar Exp(dt w^),  Rbar_m in the middle of the step
    v+ = v + dt a,   p+ = p + dt v + dt^2 a / 2      a = Exp(r) Rbar_m (a^ - b_a - w_a) + g
    b+ = b + w_b,   d+ = d + rolled + crept + w_d     residual: y - R^T (d - p), noise J n of encoders
    rolled = radius (Exp(r) Log(Rbar_f+ Rbar_f^T) + r+ - r) x e_z,   Rbar_f orientation of a foot's link by Rbar

Feet creep as in `LegOdometry`, together and each by itself, and walk. But a foot may slip, too: what each does by
itself is t-distributed with `FREEDOM` degrees of freedom about the scale S of that walk and creep, one for each foot
and window of `WINDOW` samples. Its mode is found by solving again with the variance of each window, in which it moves
by s,

    lambda^2 = max(1, (FREEDOM + s^T S^-1 s) / (FREEDOM + 3))       times S

A foot never counts as firmer than others were.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Columns, Matrix, States, Vector
from poinsot.estimators.online.leg_odometry import LegOdometry, OdometrySample, gammas
from poinsot.estimators.shooting.ddp import DDP, posterior
from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from poinsot.models.contacts.contact_dynamics import Linearized
from poinsot.models.rotations import log, skew, to_quaternion

from .flat_space import FlatSpace

PINNED = 1e-6
"""Standard deviation of the heading and of the place at the start [rad], [m]."""
FREEDOM, WINDOW = 3.0, 20
"""Degrees of freedom of the slip of a foot, and samples of a window."""
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
    """

    def __init__(self, samples: list[OdometrySample], noise: LegOdometry, R: Matrix):
        self.g = np.array(noise.gravity)
        time = np.array([each.time for each in samples])
        self.dt = np.diff(time)
        readings = np.array([each.inertial for each in samples])
        filled, doubt = map(
            np.hstack, zip(*(interpolated(time, each) for each in np.split(readings, 2, axis=1)), strict=True)
        )
        mean = 0.5 * (filled[1:] + filled[:-1])
        turns = [gammas(step)[0] for step in mean[:, :3] * self.dt[:, None]]
        self.Rbar = np.array([*accumulate(turns, np.matmul, initial=R)])
        halves = np.array([gammas(step)[0] for step in 0.5 * mean[:, :3] * self.dt[:, None]])
        self.R_m = self.Rbar[:-1] @ halves
        self.a = mean[:, 3:]
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
        links = self.Rbar[:, None] @ np.array([each.rotations for each in samples])
        # chords between neighbouring samples are rotations to the square of the turn between them
        R_f = np.stack(
            [interpolated(time, link.reshape(-1, 9))[0].reshape(-1, 3, 3) for link in links.swapaxes(0, 1)],
            axis=1,
        )
        turned = log((R_f[1:] @ R_f[:-1].transpose(0, 1, 3, 2)).reshape(-1, 3, 3)).reshape(-1, F, 3)
        rolls = np.isfinite(turned) & self.standing[:, :, None]
        self.turned = np.where(rolls, turned, 0.0)
        self.radii = np.where(rolls[..., 0], samples[0].radii, 0.0)
        levels = np.repeat(noise.inertial_noise, 3)
        # along the ground and normal to it, of feet that stand
        pushed = np.zeros((len(self.dt), F, 3, 2))
        along = (np.einsum("tij, tj -> ti", self.R_m, self.a) + self.g) / np.linalg.norm(self.g)
        pushed[..., :2, 0], pushed[..., 2, 1] = along[:, None, :2], along[:, None, 2]
        viscous, elastic = noise.foot_compliance
        still = self.standing[:, :, None]
        self.dragged = np.kron(still, np.diag([-viscous, -viscous, 0.0]))
        depth = -elastic * np.diff(np.einsum("tj, tj -> t", self.Rbar[:, 2], filled[:, 3:]))
        self.pressed = (depth[:, None, None] * still * [0.0, 0.0, 1.0]).reshape(len(self.dt), 3 * F)
        self.creeps = (pushed * self.standing[:, :, None, None]).reshape(len(self.dt), 3 * F, 2)
        self.manifold, self.theta_size = FlatSpace(15 + 3 * F), 0
        self.noisy = np.ones(len(self.dt), dtype=bool)
        std = np.hypot(levels, np.hypot(doubt[1:], doubt[:-1]) / np.sqrt(2))
        walks = (
            np.repeat([*noise.bias_walk, max(noise.foot_creep[0], PINNED)], [3, 3, 2])
            * np.sqrt(self.dt)[:, None]
        )
        self.noise_std = np.concatenate([std, walks, np.zeros((len(self.dt), 3 * F))], axis=1)
        _, alone = noise.foot_creep
        self.scale = np.sqrt(noise.foot_walk**2 + (alone * along) ** 2)
        self.slip = np.ones((len(self.dt), F))

    @property
    def slip(self) -> Float[np.ndarray, "N F"]:
        """How many times as large the walk of each foot is as its scale."""
        return self._slip

    @slip.setter
    def slip(self, slip: Float[np.ndarray, "N F"]) -> None:
        self._slip = slip
        std = slip[:, :, None] * (self.scale * np.sqrt(self.dt)[:, None])[:, None]
        self.noise_std[:, 14:] = np.where(self.standing[:, :, None], std, FREE).reshape(len(slip), -1)

    def grown(self, w: Columns) -> Float[np.ndarray, "N F"]:
        """The same by how feet move with the noise w."""
        moved = w[:, 14:].reshape(len(w), -1, 3)
        found = np.empty_like(self._slip)
        for begin in range(0, len(moved), WINDOW):
            rows = slice(begin, begin + WINDOW)
            stands = self.standing[rows][:, :, None]
            step = (self.dt[rows, None] * self.scale[rows] ** 2)[:, None]
            S = np.maximum((stands * step).sum(axis=0), step[0])
            s = (moved[rows] * stands).sum(axis=0)
            found[rows] = np.sqrt(np.maximum((FREEDOM + (s * s / S).sum(axis=1)) / (FREEDOM + 3), 1.0))
        return found

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        linear = self._step(first, x, w)
        return linear[0], self._residual(first, x)[0]

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        r, r_x = self._residual(first, x)
        return StageLinearization(*self._step(first, x, w), r, r_x, None, np.zeros((*r.shape, 0)))

    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        return Linearized(*self._residual(len(self.dt), x[None]))

    def _step(self, first: int, x: States, w: Columns) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        """f, f_x, f_w, f_theta."""
        T, n = x.shape
        rows = slice(first, first + T)
        dt, R_m = self.dt[rows][:, None], self.R_m[rows]
        E, Jl = _exponentials(x[:, :3])
        bias = x[:, 9:15]
        specific = np.einsum("tij, tjk, tk -> ti", E, R_m, self.a[rows] - bias[:, 3:] - w[:, 3:6])
        f = x.copy()
        f[:, :3] -= dt * np.einsum("tij, tj -> ti", R_m, bias[:, :3] + w[:, :3])
        f[:, 3:6] += dt * (specific + self.g)
        f[:, 6:9] += dt * x[:, 3:6] + 0.5 * dt**2 * (specific + self.g)
        f[:, 9:15] += w[:, 6:12]
        crept = np.einsum("tij, tj -> ti", self.creeps[rows], w[:, 12:14]) + self.pressed[rows]
        crept += np.einsum("tij, tj -> ti", self.dragged[rows], f[:, 3:6] - x[:, 3:6])
        turned = np.einsum("tij, tfj -> tfi", E, self.turned[rows])
        of_link = turned + (f[:, :3] - x[:, :3])[:, None]
        rolled = self.radii[rows][:, :, None] * np.cross(of_link, [0.0, 0.0, 1.0])
        f[:, 15:] += rolled.reshape(T, -1) + crept + w[:, 14:]
        h = dt[:, :, None]
        f_x, f_w = np.tile(np.eye(n), (T, 1, 1)), np.zeros((T, n, n - 1))
        f_x[:, 3:6, :3] = -h * skew(specific) @ Jl
        f_x[:, 6:9, :3], f_x[:, 6:9, 3:6] = 0.5 * h * f_x[:, 3:6, :3], h * np.eye(3)
        f_w[:, :3, :3], f_w[:, 3:6, 3:6] = -h * R_m, -h * E @ R_m
        f_w[:, 6:9, 3:6] = 0.5 * h * f_w[:, 3:6, 3:6]
        # of rolled, by how the foot's link turns: u x e_z = -[e_z]x u
        by_turn = -self.radii[rows][:, :, None, None] * skew(np.array([0.0, 0.0, 1.0]))
        tilted = -skew(turned) @ Jl[:, None]
        f_x[:, 15:, :3] = (by_turn @ tilted).reshape(T, -1, 3)
        f_w[:, 15:, :3] = (by_turn @ f_w[:, None, :3, :3]).reshape(T, -1, 3)
        f_x[:, 15:, 9:12] = f_w[:, 15:, :3]
        f_x[:, :9, 9:15] = f_w[:, :9, :6]
        f_x[:, 15:, :3] += self.dragged[rows] @ f_x[:, 3:6, :3]
        f_x[:, 15:, 12:15] = f_w[:, 15:, 3:6] = self.dragged[rows] @ f_w[:, 3:6, 3:6]
        f_w[:, 9:15, 6:12], f_w[:, 15:, 12:14] = np.eye(6), self.creeps[rows]
        f_w[:, 15:, 14:] = np.eye(n - 15)
        return f, f_x, f_w, np.zeros((T, n, 0))

    def _residual(self, first: int, x: States) -> tuple[np.ndarray, np.ndarray]:
        """r and r_x of the feet, in standard deviations."""
        T, n = x.shape
        rows, F = slice(first, first + T), (n - 15) // 3
        E, Jl = _exponentials(x[:, :3])
        to_unit = (E @ self.Rbar[rows]).transpose(0, 2, 1)
        away = x[:, 15:].reshape(T, F, 3) - x[:, None, 6:9]
        W = self.W[rows]
        r = np.einsum("tfij, tfj -> tfi", W, self.y[rows] - np.einsum("tij, tfj -> tfi", to_unit, away))
        W_R = W @ to_unit[:, None]
        r_x = np.zeros((T, F, 3, n))
        r_x[..., :3] = -W_R @ skew(away) @ Jl[:, None]
        r_x[..., 6:9] = W_R
        for foot in range(F):
            r_x[:, foot, :, 15 + 3 * foot : 18 + 3 * foot] = -W_R[:, foot]
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
        bias: (S, 6) of gyro and accelerometer.
        slip: (S - 1, F) standard deviations of the slip of feet [m/sqrt(s)].
        iterations: of all rounds together. converged: whether the last one did.
    """

    R: Float[np.ndarray, "S 3 3"]
    p: Float[np.ndarray, "S 3"]
    covariance: Float[np.ndarray, "S 6 6"]
    bias: Columns
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
    model = MovedBase(samples, noise, R)
    F = samples[0].feet.shape[0]
    d = np.where(np.isfinite(samples[0].feet), samples[0].feet, 0.0)
    start = np.concatenate([np.zeros(6), p, np.zeros(6), (p + d @ R.T).ravel()])
    tilt, speed = noise.start_std
    std = np.concatenate(
        [[tilt, tilt, PINNED], np.repeat([speed, PINNED, *noise.bias_std, 1.0], [3, 3, 3, 3, 3 * F])]
    )
    arrival, none = GaussianPrior.from_covariance(start, std**2), np.zeros(0)
    at = Trajectories((np.tile(start, (len(samples), 1)),), (np.zeros(model.noise_std.shape),), none)
    iterations = 0
    for _ in range(ROUNDS):
        problem = ShootingProblem((model,), (arrival,), GaussianPrior(none, np.zeros((0, 0))), none)
        solution = METHOD.solve(problem, at)
        at, iterations = solution.at, iterations + solution.iterations
        before, model.slip = model.slip, model.grown(at.w[0])
        if np.abs(np.log(model.slip / before)).max() < SETTLED:
            break
    found = posterior(problem, at)
    x = at.x[0]
    P = found.states[0][:, [6, 7, 8, 0, 1, 2]][:, :, [6, 7, 8, 0, 1, 2]]
    return Localization(
        _exponentials(x[:, :3])[0] @ model.Rbar,
        x[:, 6:9],
        P,
        x[:, 9:15],
        model.slip * np.sqrt((model.scale**2).mean(axis=1))[:, None],
        iterations,
        solution.status.converged,
    )
