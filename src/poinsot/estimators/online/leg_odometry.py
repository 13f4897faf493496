"""Leg odometry: the contact-aided invariant extended Kalman filter (Hartley, Ghaffari, Eustice and Grizzle 2020).

The state of an inertial unit, with the feet d_i that stand and both biases, is X = (R, v, p, d_1, ...), b_g, b_a. With
w and a what it reads less its biases, g gravity, phi = w dt and Gamma_k(phi) = sum_j [phi]x^j / (j + k)!  (Eq. 62),

    R+ = R Gamma_0,  v+ = v + R Gamma_1 a dt + g dt,  p+ = p + v dt + (R Gamma_2 a + g / 2) dt^2,  d+ = d

w and a are means of two readings, at both ends of dt. A foot that is a ball rolls: d+ = d + r Log(R_f+ R_f^T) x e_z with
R_f the orientation of its link. The error xi of X = Exp(xi) X^, zeta of biases, has slopes that depend on the state by
the biases alone: delta x = xi_x - [x]x xi_R, of which there is one for each vector x = v, p, d_i, so

    xi_R+ = xi_R + e,  xi_v+ = xi_v + [g]x xi_R dt + s_v,  xi_p+ = xi_p + xi_v dt + [g]x xi_R dt^2 / 2 + s_p,  xi_d+ = xi_d + s_d
    e = -R_m zeta_g dt,  s_x = [x+]x e + delta x,  R_m = R Exp(phi / 2),  a_w = R_m a
    delta v = -R_m zeta_a dt + [a_w]x R_m zeta_g dt^2 / 2,  delta p = -R_m zeta_a dt^2 / 2 + [a_w]x R_m zeta_g dt^3 / 6

to third order in dt; noise of readings enters as errors of biases do. Encoders give y_i = R^T (d_i - p) + J_i n, whose
innovation in the world is linear in xi with a slope that is constant (Eq. 38):

    z_i = R^ y_i - (d^_i - p^) = xi_d,i - xi_p + R^ J_i n

A foot that touches down is added as d = p + R y, xi_d = xi_p - R J n; its rows are those of p (Eq. 41). One that lifts
off is removed. One that the gate rejects again and again has slipped, and is added anew where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Matrix, Vector
from ...estimate import Estimate
from ...exceptions import InvalidMethod
from ...models.gravity import STANDARD_GRAVITY
from ...models.rotations import log, skew, turning_z_to
from ...solve import ProgressCallback, Stop
from .belief import SampleVerdict
from .gating import Gate

if TYPE_CHECKING:
    from .odometry_problem import LegOdometryProblem

ROTATION, VELOCITY, POSITION, GYRO_BIAS, ACCELEROMETER_BIAS = (slice(3 * k, 3 * k + 3) for k in range(5))
"""Rows of xi_R, xi_v, xi_p and both zeta in the covariance; those of the feet are behind them."""
FEET, BIASES = 15, slice(9, 15)


@dataclass(frozen=True, eq=False)
class OdometrySample:
    """What the sensors of a legged robot read at a time; NaN where there is no reading.

    Args:
        time: [s].
        gyro, accelerometer: (3,), (3,) in the unit's axes [rad/s], [m/s^2].
        feet: (F, 3) y, positions of the feet in the unit's frame, from encoders [m].
        slopes: (F, 3, n) J, of `feet` by what encoders read.
        rotations: (F, 3, 3) orientations of the feet's links in the unit's frame.
        closed: (F,) which feet touch the ground. radii: (F,) of feet that are balls [m], 0 for points.
    """

    time: float
    gyro: Vector
    accelerometer: Vector
    feet: np.ndarray
    slopes: np.ndarray
    rotations: np.ndarray
    closed: np.ndarray
    radii: Vector


@dataclass(frozen=True, eq=False)
class OdometryBelief:
    """State of the filter.

    Args:
        time: [s]. R, v, p: (3, 3), (3,), (3,) orientation, velocity [m/s] and place [m] of the unit in the world.
        gyro_bias, accelerometer_bias: (3,) [rad/s], [m/s^2].
        feet: (F, 3) d, places of the feet that stand [m].
        covariance: (15 + 3 F, 15 + 3 F) of (xi_R, xi_v, xi_p, zeta_g, zeta_a, xi_d); rows of other feet are 0.
        standing: (F,) which feet stand. rejections: (F,) how often in a row the gate has rejected each.
        sample: the last one.
    """

    time: float
    R: Matrix
    v: Vector
    p: Vector
    gyro_bias: Vector
    accelerometer_bias: Vector
    feet: np.ndarray
    covariance: Matrix
    standing: np.ndarray
    rejections: np.ndarray
    sample: OdometrySample


@dataclass(frozen=True, eq=False)
class FootInnovations:
    """What encoders read of the feet that stand, less what was predicted.

    Args:
        verdict: whether the sample was used.
        predicted: (F, 3) positions in the unit's frame [m]. normalized: (F, 3) innovations in standard deviations,
            foot by foot. Both are NaN for a foot that was not compared.
        rejected: (F,) feet that did not pass the gate.
        square, rows: z^T S^-1 z of those that did, chi-square with so many degrees of freedom if all is as assumed.
    """

    verdict: SampleVerdict
    predicted: np.ndarray
    normalized: np.ndarray
    rejected: np.ndarray
    square: float = np.nan
    rows: int = 0


@dataclass(frozen=True, eq=False)
class LegOdometry:
    """Pose, velocity and biases of a legged robot from its inertial unit, its encoders and its contacts.

    Args:
        gyro_noise, accelerometer_noise, position_noise: standard deviations of a reading of the gyro [rad/s], the
            accelerometer [m/s^2] and an encoder [rad] or [m], of white noise.
        foot_walk: random walk of a foot that stands, as ground gives way and feet creep [m/sqrt(s)].
        gyro_bias_std, accelerometer_bias_std: of the biases at the start, about 0 [rad/s], [m/s^2].
        gyro_bias_walk, accelerometer_bias_walk: random walk of the biases [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
        start_std: of tilt and velocity at the start [rad], [m/s]; place and heading are relative to it.
        gate: rejects improbable readings of a foot; its `patience` is the number of rejections in a row after which the
            foot has slipped. None: all are used.
        gravity: (3,) in the world [m/s^2].
    """

    name = "leg-odometry"
    citations = ("hartley2020",)

    gyro_noise: float = 3e-3
    accelerometer_noise: float = 0.03
    position_noise: float = 1e-3
    foot_walk: float = 0.01
    gyro_bias_std: float = 0.02
    accelerometer_bias_std: float = 0.2
    gyro_bias_walk: float = 1e-3
    accelerometer_bias_walk: float = 1e-2
    start_std: tuple[float, float] = (0.05, 0.1)
    gate: Gate | None = field(default_factory=lambda: Gate(patience=20))
    gravity: tuple[float, float, float] = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        levels = {name: value for name, value in vars(self).items() if isinstance(value, float | int)}
        for name, value in {**levels, "start_std": min(self.start_std)}.items():
            if not 0 <= value < np.inf or (value == 0 and name.endswith("_noise")):
                least = "above 0" if name.endswith("_noise") else "of at least 0"
                raise InvalidMethod(f"{name} must be a finite standard deviation {least}, not {value:g}")

    @property
    def bias_std(self) -> Vector:
        """(6,) standard deviations of the biases at the start."""
        return np.repeat([self.gyro_bias_std, self.accelerometer_bias_std], 3)

    def init(self, sample: OdometrySample, p: Vector | None = None, R: Matrix | None = None) -> OdometryBelief:
        """The belief at the first sample.

        Args:
            p, R: (3,), (3, 3) place [m] and orientation of the unit; None: the origin, and the shortest rotation by which
                the accelerometer reads gravity.
        """
        p = np.zeros(3) if p is None else p
        R = turning_z_to(sample.accelerometer).T if R is None else R
        F = len(sample.feet)
        std = np.zeros(FEET + 3 * F)
        std[:2], std[VELOCITY] = self.start_std
        std[BIASES] = self.bias_std
        A = np.eye(len(std))
        # the place is known whatever the tilt is: delta p = xi_p - [p]x xi_R = 0
        A[POSITION, ROTATION] = skew(p)
        P, zero = A @ np.diag(std**2) @ A.T, np.zeros(3)
        standing, rejections = np.zeros(F, dtype=bool), np.zeros(F, dtype=int)
        belief = OdometryBelief(
            sample.time, R, zero, p, zero, zero, np.zeros((F, 3)), P, standing, rejections, sample
        )
        return self._with_feet(belief, sample)

    def predict(self, belief: OdometryBelief, sample: OdometrySample) -> OdometryBelief:
        """The belief at the time of a sample, by what the inertial unit read at both."""
        last, dt = belief.sample, sample.time - belief.time
        w = 0.5 * (last.gyro + sample.gyro) - belief.gyro_bias
        a = 0.5 * (last.accelerometer + sample.accelerometer) - belief.accelerometer_bias
        g, R = np.array(self.gravity), belief.R
        G0, G1, G2 = gammas(w * dt)
        v = belief.v + (R @ G1 @ a + g) * dt
        p = belief.p + belief.v * dt + (R @ G2 @ a + 0.5 * g) * dt**2
        d, standing = belief.feet, belief.standing
        if last.radii.any():
            steps = R @ G0 @ sample.rotations @ np.swapaxes(R @ last.rotations, 1, 2)
            rolled = last.radii[:, None] * np.cross(log(steps), [0.0, 0.0, 1.0])
            d = d + np.where(np.isfinite(rolled) & standing[:, None], rolled, 0.0)
        after = replace(belief, time=sample.time, R=R @ G0, v=v, p=p, feet=d, sample=sample)
        F, G = transition(after, R @ gammas(0.5 * w * dt)[0], a, g, dt)
        # biases and noise of readings move the state alike
        noise = np.repeat([self.gyro_noise, self.accelerometer_noise], 3)
        P = F @ belief.covariance @ F.T + (G * noise**2) @ G.T
        walks = np.zeros(len(P))
        walks[BIASES] = np.repeat([self.gyro_bias_walk, self.accelerometer_bias_walk], 3)
        walks[FEET:] = np.repeat(standing * self.foot_walk, 3)
        P[np.diag_indices(len(P))] += dt * walks**2
        return replace(after, covariance=P)

    def update(
        self, belief: OdometryBelief, sample: OdometrySample
    ) -> tuple[OdometryBelief, FootInnovations]:
        """The belief after a later sample, and the sample's innovations.

        A sample without a reading of the inertial unit is left out; the next one is predicted from the one before.
        """
        F = len(sample.feet)
        nothing = np.full((F, 3), np.nan), np.full((F, 3), np.nan), np.zeros(F, dtype=bool)
        if not sample.time > belief.time:
            return belief, FootInnovations(SampleVerdict.late, *nothing)
        if not np.isfinite([sample.gyro, sample.accelerometer]).all():
            return belief, FootInnovations(SampleVerdict.unusable, *nothing)
        belief = _without_feet(self.predict(belief, sample), ~sample.closed)
        belief, innovations = self._corrected(belief, sample)
        if self.gate is not None:
            slipped = belief.rejections > self.gate.patience
            belief = _without_feet(belief, slipped) if slipped.any() else belief
        return self._with_feet(belief, sample), innovations

    def _corrected(
        self, belief: OdometryBelief, sample: OdometrySample
    ) -> tuple[OdometryBelief, FootInnovations]:
        """Correct by the feet that stand and were read."""
        R, P, F = belief.R, belief.covariance, len(sample.feet)
        predicted, normalized = np.full((2, F, 3), np.nan)
        rejected = np.zeros(F, dtype=bool)
        read = np.flatnonzero(belief.standing & np.isfinite(sample.feet).all(axis=1))
        if not len(read):
            return belief, FootInnovations(SampleVerdict.accepted, predicted, normalized, rejected)
        away = belief.feet[read] - belief.p
        predicted[read] = away @ R
        z = (sample.feet[read] @ R.T - away).ravel()
        H = np.zeros((len(z), len(P)))
        for k, foot in enumerate(read):
            H[3 * k : 3 * k + 3, POSITION] = -np.eye(3)
            H[3 * k : 3 * k + 3, FEET + 3 * foot : FEET + 3 * foot + 3] = np.eye(3)
        N = self._encoder_noise(R, sample, read)
        S = H @ P @ H.T + N
        for k, foot in enumerate(read):
            own = slice(3 * k, 3 * k + 3)
            normalized[foot] = np.linalg.solve(np.linalg.cholesky(S[own, own]), z[own])
            rejected[foot] = self.gate is not None and normalized[foot] @ normalized[foot] > self.gate.threshold(3)
        rejections = np.where(rejected, belief.rejections + 1, 0)
        rows = np.flatnonzero(np.repeat(~rejected[read], 3))
        H, z, N, S = H[rows], z[rows], N[np.ix_(rows, rows)], S[np.ix_(rows, rows)]
        K = np.linalg.solve(S, H @ P).T
        square = float(z @ np.linalg.solve(S, z)) if len(rows) else np.nan
        I_KH = np.eye(len(P)) - K @ H
        corrected = retracted(belief, K @ z)
        return (
            replace(corrected, covariance=I_KH @ P @ I_KH.T + K @ N @ K.T, rejections=rejections),
            FootInnovations(SampleVerdict.accepted, predicted, normalized, rejected, square, len(rows)),
        )

    def _with_feet(self, belief: OdometryBelief, sample: OdometrySample) -> OdometryBelief:
        """The belief with the feet that have touched down and were read."""
        new = np.flatnonzero(sample.closed & ~belief.standing & np.isfinite(sample.feet).all(axis=1))
        if not len(new):
            return belief
        A, d = np.eye(len(belief.covariance)), belief.feet.copy()
        rows = (FEET + 3 * new[:, None] + np.arange(3)).ravel()
        A[rows] = 0.0
        A[rows, np.tile(np.arange(6, 9), len(new))] = 1.0
        d[new] = belief.p + sample.feet[new] @ belief.R.T
        P = A @ belief.covariance @ A.T
        P[np.ix_(rows, rows)] += self._encoder_noise(belief.R, sample, new)
        standing, rejections = belief.standing.copy(), belief.rejections.copy()
        standing[new], rejections[new] = True, 0
        return replace(belief, feet=d, covariance=P, standing=standing, rejections=rejections)

    def _encoder_noise(self, R: Matrix, sample: OdometrySample, feet: np.ndarray) -> Matrix:
        """(3 f, 3 f) covariance of R J n of these feet."""
        J = (R @ sample.slopes[feet]).reshape(3 * len(feet), -1)
        return self.position_noise**2 * J @ J.T

    def solve(
        self, problem: LegOdometryProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """The estimate after all samples of a problem's recordings.

        Args:
            progress: called every 500 samples. stop: asked before each sample.

        Raises:
            NotIdentifiable: if no sample could be used.
        """
        return problem.tracked(self, progress, stop)


def transition(
    after: OdometryBelief, R_m: Matrix, a: Vector, gravity: Vector, dt: float
) -> tuple[Matrix, Matrix]:
    """Slopes of the errors after a step, (d, d) by those before it and (d, 6) by errors of both readings.

    Args:
        after: the step. R_m: (3, 3) orientation in its middle. a: (3,) accelerometer less its bias.
        gravity: (3,). dt: [s].
    """
    d = len(after.covariance)
    F, G, turns = np.eye(d), np.zeros((d, 6)), skew(gravity)
    F[VELOCITY, ROTATION], F[POSITION, ROTATION] = dt * turns, 0.5 * dt**2 * turns
    F[POSITION, VELOCITY] = dt * np.eye(3)
    e, bent = -dt * R_m, skew(R_m @ a) @ R_m
    G[ROTATION, :3] = e
    G[VELOCITY, :3] = skew(after.v) @ e + 0.5 * dt**2 * bent
    G[POSITION, :3] = skew(after.p) @ e + dt**3 / 6 * bent
    G[VELOCITY, 3:], G[POSITION, 3:] = e, 0.5 * dt * e
    for foot in np.flatnonzero(after.standing):
        G[FEET + 3 * foot : FEET + 3 * foot + 3, :3] = skew(after.feet[foot]) @ e
    F[:, GYRO_BIAS] += G[:, :3]
    F[:, ACCELEROMETER_BIAS] += G[:, 3:]
    return F, G


def retracted(belief: OdometryBelief, xi: Vector) -> OdometryBelief:
    """The state Exp(xi) X with both biases moved; its covariance as it was."""
    G0, G1, _ = gammas(xi[ROTATION])
    v, p = (G0 @ x + G1 @ xi[rows] for x, rows in ((belief.v, VELOCITY), (belief.p, POSITION)))
    d = belief.feet @ G0.T + xi[FEET:].reshape(-1, 3) @ G1.T
    return replace(
        belief, R=G0 @ belief.R, v=v, p=p, feet=np.where(belief.standing[:, None], d, belief.feet),
        gyro_bias=belief.gyro_bias + xi[GYRO_BIAS],
        accelerometer_bias=belief.accelerometer_bias + xi[ACCELEROMETER_BIAS],
    )  # fmt: skip


def gammas(phi: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Gamma_0 = Exp(phi), Gamma_1 (its left Jacobian) and Gamma_2, (3, 3) each."""
    t2, S = float(phi @ phi), skew(phi)
    t = np.sqrt(t2)
    if t < 1e-2:
        # rounding of the last quotient is 1e-8 here, and the first terms left out are t^4 / 120
        s = 1 - t2 / 6, 0.5 - t2 / 24, 1 / 6 - t2 / 120, 1 / 24 - t2 / 720
    else:
        s = np.sin(t) / t, (1 - np.cos(t)) / t2, (t - np.sin(t)) / (t2 * t), (0.5 * t2 + np.cos(t) - 1) / t2**2
    S2, one = S @ S, np.eye(3)
    return one + s[0] * S + s[1] * S2, one + s[1] * S + s[2] * S2, 0.5 * one + s[2] * S + s[3] * S2


def _without_feet(belief: OdometryBelief, feet: np.ndarray) -> OdometryBelief:
    """The belief without these feet (F,)."""
    gone = feet & belief.standing
    if not gone.any():
        return belief
    kept = np.concatenate([np.ones(FEET), np.repeat(~gone, 3)])
    return replace(
        belief, covariance=belief.covariance * np.outer(kept, kept), standing=belief.standing & ~gone
    )
