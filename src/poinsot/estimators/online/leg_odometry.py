"""Leg odometry: the contact-aided invariant extended Kalman filter (Hartley, Ghaffari, Eustice and Grizzle 2020).

The state is X = (R, v, p, d_1, ..., d_F), pose and velocity of an inertial unit and places of feet in the world, and
the biases of both its sensors. With w and a what gyro and accelerometer read less their biases, means of the readings
at both ends of a step, gravity g, and Gamma_k(phi) = sum_j [phi]x^j / (j + k)! at phi = w dt (Eq. 62),

    R+ = R Gamma_0,  v+ = v + (R Gamma_1 a + g) dt,  p+ = p + v dt + (R Gamma_2 a + g / 2) dt^2,  d+ = d

A foot that is a ball rolls: its centre moves by r Log(R_f+ R_f^T) x e_z, R_f the orientation of its link. The error xi
is that of X = Exp(xi) X^, zeta that of the biases. Slopes depend on the state by the biases alone, to third order,
with R_m the orientation in the middle of the step, a_w = R_m a, and x each of v, p, d:

    xi_R+ = xi_R + e                                   e = -R_m zeta_g dt
    xi_v+ = xi_v + [g]x xi_R dt + s_v                  s_x = [x+]x e + delta x
    xi_p+ = xi_p + xi_v dt + [g]x xi_R dt^2 / 2 + s_p  delta v = -R_m zeta_a dt + [a_w]x R_m zeta_g dt^2 / 2
    xi_d+ = xi_d + s_d                                 delta p = -R_m zeta_a dt^2 / 2 + [a_w]x R_m zeta_g dt^3 / 6

Noise of a reading enters as an error of its bias does. Feet walk at random, each by itself. Where a robot pushes they
creep, too, mostly all alike, with a_h and a_z the parts of a_w + g along the ground and normal to it: below the limit
of sliding, friction is viscous, and a foot moves by -c a_h dt; the load presses it in by k a_z; the rest is random,
(a_h n_h + e_z a_z n_z) / |g|, n_h and n_z white. A robot that rests does not creep, one that pushes off follows its
unit. Slopes of the first two, c and k times errors of a_w, are left out: micrometres.

Encoders give y = R^T (d - p) + J n; the innovation in the world has a constant slope (Eq. 38), z = R^ y - (d^ - p^) =
xi_d - xi_p + R^ J n. A foot that touches down is added as d = p + R y with xi_d = xi_p - R J n (Eq. 41), one that lifts
off is removed. One that the gate rejects again and again has slipped: it is added anew where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...accuracy import CAREFUL, Accuracy
from ...arrays import Brief, JointSamples, Matrix, Vector
from ...diagnosis import examined
from ...diagnosis.case import samples_of
from ...diagnosis.check import look_at
from ...diagnosis.outliers import Outliers
from ...diagnosis.position_samples import LostSamples, PositionJumps
from ...diagnosis.tracking_checks import Innovations
from ...estimate import (
    NARROWED,
    Diagnosis,
    Direction,
    Estimate,
    EstimatedParameters,
    Finding,
    Provenance,
    Status,
    Uncertainty,
    Unchecked,
)
from ...estimate.fit import fit_of
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...models.contacts.contacts import BallContact, ContactDetection
from ...models.gravity import STANDARD_GRAVITY
from ...models.robot.articulated import Articulated
from ...models.robot.motion_terms import MotionTerms
from ...models.rotations import from_quaternion, log, skew, to_quaternion, turning_z_to
from ...quantities import XYZ
from ...ranges import Positive
from ...recording import Recording
from ...solve import Method, ProgressCallback, Replay, Stop, report, stop_requested
from .belief import Innovation, SampleVerdict
from .filter import Gate
from .odometry_effects import (
    LegChannels,
    OdometryEffects,
    OdometryErrors,
    OdometryFit,
    SlippingFeet,
    Slips,
    Walker,
    rows_of,
)

STATE = ("position", "orientation", "velocity", "angular_velocity")
"""Of the base: place and quaternion in the world, velocities in the axes of the base."""
KINDS = ("position", "orientation", "velocity", "gyro_bias", "accelerometer_bias")
UNITS = ("m", "rad", "m/s", "rad/s", "m/s^2")
"""Of the parameters: place and rotation vector in the world, velocity in the axes of the base, biases."""
ROTATION, VELOCITY, POSITION, BIASES = slice(0, 3), slice(3, 6), slice(6, 9), slice(-6, None)
"""Rows of xi_R, xi_v, xi_p and zeta in a covariance; those of the feet are between."""


SMOOTHED_S = 0.2
"""Window of a cubic over which encoders are smoothed for the columns of effects [s]: a step of a leg takes as long."""


@dataclass(frozen=True, eq=False, repr=False)
class OdometrySample(Brief):
    """What the sensors of a legged robot read at a time; NaN where there is no reading.

    Args:
        time: [s]. inertial: (6,) of gyro and accelerometer, in the unit's axes [rad/s], [m/s^2].
        feet, slopes: (F, 3), (F, 3, n) places y of the feet in the unit's frame by encoders [m], and their slopes J.
        rotations: (F, 3, 3) orientations of the feet's links in the unit's frame.
        closed: (F,) which feet touch the ground. radii: (F,) of feet that are balls [m], 0 of points.
    """

    time: float
    inertial: Vector
    feet: np.ndarray
    slopes: np.ndarray
    rotations: np.ndarray
    closed: np.ndarray
    radii: Vector


@dataclass(frozen=True, eq=False, repr=False)
class OdometryBelief(Brief):
    """State of the filter at its last sample.

    Args:
        X: (3, 5 + F) R, v [m/s], p [m] and each d [m], side by side. bias: (6,) [rad/s], [m/s^2].
        covariance: (15 + 3 F, 15 + 3 F) of (xi_R, xi_v, xi_p, xi_d, zeta); 0 of feet in the air.
        standing: (F,) which feet stand. rejections: (F,) how often in a row the gate has rejected each.
    """

    X: Matrix
    bias: Vector
    covariance: Matrix
    standing: np.ndarray
    rejections: np.ndarray
    sample: OdometrySample


@dataclass(frozen=True, eq=False, repr=False)
class StepSlopes(Brief):
    """How errors of readings move a step of the filter.

    Args:
        last, sample: before and after the step. F: (d, d) slopes of its errors by those before. G: (d, 6) by errors of
            the inertial readings. H, K, S: (m, d), (d, m), (m, m) of its update, z: (m,) innovation in the world.
        R: (3, 3) orientation before the update. read, used, dropped, new: numbers of feet that were read, that were
            used, that did not stand before this sample, and that touched down.
        velocity: (3,) of the unit in the world. bias: (6,) of its readings. gravity: (3,).
    """

    last: OdometrySample
    sample: OdometrySample
    F: Matrix
    G: Matrix
    H: Matrix
    K: Matrix
    S: Matrix
    R: Matrix
    z: Vector
    read: np.ndarray
    used: np.ndarray
    dropped: np.ndarray
    new: np.ndarray
    velocity: Vector
    bias: Vector
    gravity: Vector

    @property
    def slipped(self) -> np.ndarray:
        """Numbers of feet that touched down without having been lifted."""
        stood = self.last.closed & np.isfinite(self.last.feet).all(axis=1)
        return self.new[stood[self.new]]

    @property
    def inertial(self) -> Vector:
        """(6,) mean of the readings at both ends, less their biases."""
        return 0.5 * (self.last.inertial + self.sample.inertial) - self.bias


@dataclass(frozen=True, eq=False, repr=False)
class LegOdometryProblem(Brief):
    """Follow the base of a legged robot through a recording, from the origin on.

    Args:
        robot: with a floating base.
        recording: with gyro and accelerometer at one frame of the base, positions of all joints, and contacts.
        contacts: feet, and how the recording says when they touch the ground.
        name: of the recording. accuracy: errors that the laboratory may have made.

    Raises:
        InvalidMethod: if the robot has no floating base.
    """

    robot: Articulated
    recording: Recording
    contacts: ContactDetection
    name: str = ""
    accuracy: Accuracy = CAREFUL

    def __post_init__(self) -> None:
        if not self.robot.floating_base:
            raise InvalidMethod("leg odometry follows a floating base: write floating_base = true in [robot]")

    @cached_property
    def samples(self) -> tuple[list[OdometrySample], Matrix]:
        """Samples from the first one with readings of the inertial unit on, and (4, 4) its place in the base.

        Raises:
            InvalidSignals: if the recording lacks a channel, or the unit is not on the base.
        """
        robot, contacts, recording = self.robot, self.contacts.contacts, self.recording
        axes = [f"{quantity}.{self.unit}.{axis}" for quantity in ("gyro", "accelerometer") for axis in XYZ]
        inertial = np.stack([recording.readings(name) for name in axes], axis=1)
        begun = np.flatnonzero(np.isfinite(inertial).all(axis=1))
        if not len(begun):
            raise InvalidSignals("at no sample of the recording both gyro and accelerometer were read")
        encoders = np.stack([recording.readings(f"position.{joint}") for joint in robot.joints], axis=1)
        (y, slopes, turned), T_bu = self.legs(encoders)
        radii = [contact.radius if isinstance(contact, BallContact) else 0.0 for contact in contacts]
        of_feet = y, slopes, turned, self.contacts.schedule(recording).closed
        rolling = np.tile(radii, (len(recording), 1))
        rows = zip(recording.time.tolist(), inertial, *of_feet, rolling, strict=True)
        return [OdometrySample(*row) for row in rows][begun[0] :], T_bu

    @cached_property
    def unit(self) -> str:
        """The frame of the inertial unit; `InvalidSignals` if there is not exactly one."""
        frames = self.recording.frames
        units = [frame for frame in frames("gyro") if frame in frames("accelerometer")]
        if len(units) != 1:
            raise InvalidSignals("leg odometry needs gyro and accelerometer at one frame: name their columns")
        return units[0]

    @cached_property
    def filled_encoders(self) -> JointSamples:
        """(T, n) without gaps."""
        return np.stack([self.recording.filled(f"position.{joint}") for joint in self.robot.joints], axis=1)

    def legs(self, encoders: JointSamples) -> tuple[tuple[np.ndarray, ...], Matrix]:
        """(T, F, 3) places of the feet in the unit's frame, (T, F, 3, n) their slopes by encoders and (T, F, 3, 3)
        orientations of their links; (4, 4) place of the unit in the base.
        """
        robot, contacts = self.robot, self.contacts.contacts
        q, still = np.tile(robot.neutral, (len(encoders), 1)), np.zeros((len(encoders), robot.model.nv))
        first, turning = (column[robot.actuated] for column in robot.coordinates)
        positions = robot.train.joint_positions(encoders)
        q[:, first] = np.where(turning, np.cos(positions), positions)
        q[:, first[turning] + 1] = np.sin(positions[:, turning])
        names = (self.unit, *(contact.frame for contact in contacts))
        frames = MotionTerms(robot).frames(names, q, still, still, jacobians=True)
        unit, *feet = (frames[name] for name in names)
        if unit.by.jacobian[:, :, robot.actuated].any():
            raise InvalidSignals(f"the inertial unit {self.unit!r} must be on the base, not behind a joint")
        T_bu = np.eye(4)
        T_bu[:3, :3], T_bu[:3, 3] = R, p = unit.rotation[0], unit.position[0]
        y = np.stack([(foot.position - p) @ R for foot in feet], axis=1)
        turned = np.stack([R.T @ foot.rotation for foot in feet], axis=1)
        J = turned @ np.stack([foot.by.jacobian[:, :3, robot.actuated] for foot in feet], axis=1)
        return (y, J @ robot.train.velocity_map, turned), T_bu

    @cached_property
    def smooth(self) -> list[tuple[np.ndarray, ...]]:
        """`legs` of each of `samples` without the noise of encoders, which the innovations contain too."""
        encoders = self.filled_encoders
        window = min(
            round(SMOOTHED_S * self.recording.rate_hz) // 2 * 2 + 1, (len(encoders) - 1) // 2 * 2 + 1
        )
        if window > 3:
            from scipy.signal import savgol_filter  # SciPy is slow to import

            encoders = savgol_filter(encoders, window, 3, axis=0)
        return list(zip(*self.legs(encoders)[0], strict=True))[-len(self.samples[0]) :]


@dataclass(frozen=True)
class LegOdometry(Method):
    """Pose, velocity and biases of a legged robot from its inertial unit, its encoders and its contacts.

    Args:
        inertial_noise: standard deviations of a reading of gyro and accelerometer [rad/s], [m/s^2].
        position_noise: of an encoder [rad] or [m].
        foot_walk: random walk of a foot that stands, by itself [m/sqrt(s)].
        foot_creep: random walks of all feet that stand together, and of each by itself, for each g of acceleration:
            where a robot pushes, the ground gives way and feet creep [m/sqrt(s)].
        foot_compliance: c, velocity along the ground against each m/s^2 of the robot's acceleration [s], and k, depth
            for each m/s^2 normal to it [s^2], of feet that stand.
        bias_std: of both biases at the start, about 0 [rad/s], [m/s^2].
        bias_walk: their random walk [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
        start_std: of tilt and velocity at the start [rad], [m/s]; place and heading are relative to it.
        gate: of the readings of a foot; after `patience` rejections in a row it has slipped. None: all are used.
        gravity: (3,) in the world [m/s^2].
    """

    name = "leg-odometry"
    citations = ("hartley2020",)

    inertial_noise: tuple[float, float] = (3e-3, 0.03)
    position_noise: Positive = 1e-3
    foot_walk: Positive = 5e-3
    foot_creep: tuple[float, float] = (0.0, 0.0)
    foot_compliance: tuple[float, float] = (0.0, 0.0)
    bias_std: tuple[float, float] = (0.02, 0.2)
    bias_walk: tuple[float, float] = (1e-3, 1e-2)
    start_std: tuple[float, float] = (0.05, 0.1)
    gate: Gate | None = field(default_factory=lambda: Gate(patience=20))
    gravity: tuple[float, float, float] = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = np.min(value) if name.endswith(("noise", "std", "walk", "creep", "compliance")) else 1.0
            if not 0 <= least < np.inf or (least == 0 and name.endswith("noise")):
                raise InvalidMethod(f"{name} needs finite numbers above 0, not {value}")

    def init(self, sample: OdometrySample, p: Vector, R: Matrix) -> OdometryBelief:
        """The belief at the first sample, which has readings of the inertial unit.

        Args:
            p, R: (3,), (3, 3) place [m] and orientation of the unit.
        """
        F = len(sample.feet)
        std = np.zeros(15 + 3 * F)
        std[:2], std[VELOCITY], std[BIASES] = *self.start_std, np.repeat(self.bias_std, 3)
        A = np.eye(len(std))
        # the place is known whatever the tilt: delta p = xi_p - [p]x xi_R = 0
        A[POSITION, ROTATION] = skew(p)
        X = np.column_stack([R, np.zeros(3), p, np.zeros((3, F))])
        belief = OdometryBelief(
            X, np.zeros(6), A @ np.diag(std**2) @ A.T, np.zeros(F, dtype=bool), np.zeros(F, dtype=int), sample
        )
        return self._with_feet(belief, sample)

    def predict(self, belief: OdometryBelief, sample: OdometrySample) -> OdometryBelief:
        """The belief at the time of a sample, by what the inertial unit read then and before."""
        return self._predicted(belief, sample)[0]

    def _predicted(
        self, belief: OdometryBelief, sample: OdometrySample
    ) -> tuple[OdometryBelief, Matrix, Matrix]:
        """`predict`, and the slopes of its errors by those before it, F, and by errors of both readings, G."""
        last, R, dt = belief.sample, belief.X[:, :3], sample.time - belief.sample.time
        w, a = np.split(0.5 * (last.inertial + sample.inertial) - belief.bias, 2)
        G0, G1, G2 = gammas(w * dt)
        X, g = belief.X.copy(), np.array(self.gravity)
        X[:, :3], X[:, 3] = R @ G0, belief.X[:, 3] + (R @ G1 @ a + g) * dt
        X[:, 4] += belief.X[:, 3] * dt + (R @ G2 @ a + 0.5 * g) * dt**2
        # an orientation that was not read is that of the sample before, so that the next one read has the whole turn
        rotations = np.where(np.isnan(sample.rotations), G0.T @ last.rotations, sample.rotations)
        sample = replace(sample, rotations=rotations)
        turned = log(X[:, :3] @ rotations @ np.swapaxes(R @ last.rotations, 1, 2))
        X[:, 5:] += np.nan_to_num(last.radii[:, None] * np.cross(turned, [0.0, 0.0, 1.0])).T
        along, normal = self.foot_compliance
        X[:2, 5:] -= along * (X[:2, 3:4] - belief.X[:2, 3:4])
        before, after = ((reading.inertial - belief.bias)[3:] for reading in (last, sample))
        X[2, 5:] -= normal * (X[2, :3] @ after - R[2] @ before)
        d, R_m, turns = len(belief.covariance), R @ gammas(0.5 * w * dt)[0], skew(g)
        F, G, e, bent = np.eye(d), np.zeros((d, 6)), -dt * R_m, skew(R_m @ a) @ R_m
        F[VELOCITY, ROTATION], F[POSITION, ROTATION] = dt * turns, 0.5 * dt**2 * turns
        F[POSITION, VELOCITY] = dt * np.eye(3)
        G[ROTATION, :3], G[3:-6, :3] = e, (skew(X[:, 3:].T) @ e).reshape(-1, 3)
        G[VELOCITY, :3] += 0.5 * dt**2 * bent
        G[POSITION, :3] += dt**3 / 6 * bent
        G[VELOCITY, 3:], G[POSITION, 3:] = e, 0.5 * dt * e
        F[:, BIASES] += G
        P = F @ belief.covariance @ F.T
        P += (G * np.repeat(self.inertial_noise, 3) ** 2) @ G.T
        walks = np.zeros(d)
        walks[9:-6], walks[BIASES] = self.foot_walk, np.repeat(self.bias_walk, 3)
        P[np.diag_indices(len(P))] += dt * walks**2
        x, y, z = (R_m @ a + g) / -STANDARD_GRAVITY[2]
        together, alone = np.square(self.foot_creep) * dt
        creep = np.outer([x, y, 0.0], [x, y, 0.0]) + np.diag([0.0, 0.0, z * z])
        P[9:-6, 9:-6] += np.kron(together + alone * np.eye(len(sample.feet)), creep)
        belief = replace(belief, X=X, covariance=P, sample=sample)
        return _with_standing(belief, belief.standing & sample.closed), F, G

    def update(self, belief: OdometryBelief, sample: OdometrySample) -> tuple[OdometryBelief, Innovation]:
        """The belief after a later sample, and the innovation of its feet.

        A sample without readings of the inertial unit is left out: the next one is predicted from the one before.
        """
        return self.step(belief, sample)[:2]

    def step(
        self, belief: OdometryBelief, sample: OdometrySample
    ) -> tuple[OdometryBelief, Innovation, StepSlopes | None]:
        """`update`, and its slopes; None of a sample that was left out."""
        is_later = sample.time > belief.sample.time
        if not (is_later and np.isfinite(sample.inertial).all()):
            verdict = SampleVerdict.unusable if is_later else SampleVerdict.late
            return belief, Innovation(verdict, np.nan, 0), None
        last, bias = belief.sample, belief.bias
        belief, F, G = self._predicted(belief, sample)
        predicted = np.full(sample.feet.shape, np.nan)
        read = np.flatnonzero(belief.standing & np.isfinite(sample.feet).all(axis=1))
        R, v, P, away = (
            belief.X[:, :3],
            belief.X[:, 3],
            belief.covariance,
            (belief.X[:, 5 + read] - belief.X[:, 4:5]).T,
        )
        predicted[read], z = away @ R, sample.feet[read] @ R.T - away
        H = np.zeros((3 * len(read), len(P)))
        H[:, POSITION] = np.tile(-np.eye(3), (len(read), 1))
        H[np.arange(len(H)), rows_of(read)] = 1.0
        N = self._encoder_noise(R, sample, read)
        S, rejected = H @ P @ H.T + N, np.zeros(len(belief.standing), dtype=bool)
        if self.gate is not None:
            own = [S[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] for k in range(len(read))]
            squares = [e @ np.linalg.solve(block, e) for e, block in zip(z, own, strict=True)]
            rejected[read] = np.array(squares) > self.gate.threshold(3)
        passed = np.repeat(~rejected[read], 3)
        z, H, N, S = z.ravel()[passed], H[passed], N[passed][:, passed], S[passed][:, passed]
        K = np.linalg.solve(S, H @ P).T
        xi, left = K @ z, np.eye(len(P)) - K @ H
        G0, G1, _ = gammas(xi[ROTATION])
        X = np.column_stack([G0 @ R, G0 @ belief.X[:, 3:] + G1 @ xi[3:-6].reshape(-1, 3).T])
        # Joseph's form: P stays symmetric and positive
        P = left @ P @ left.T + K @ N @ K.T
        rejections = np.where(rejected, belief.rejections + 1, 0)
        belief = replace(belief, X=X, bias=belief.bias + xi[BIASES], covariance=P, rejections=rejections)
        if self.gate is not None:
            belief = _with_standing(belief, belief.standing & (rejections <= self.gate.patience))
        square = float(z @ np.linalg.solve(S, z)) if len(z) else np.nan
        verdict = SampleVerdict.gated if rejected.any() else SampleVerdict.accepted
        dropped, used = np.flatnonzero(~belief.standing), read[~rejected[read]]
        belief = self._with_feet(belief, sample)
        new = dropped[belief.standing[dropped]]
        standing = read, used, dropped, new
        motion = v, bias, np.array(self.gravity)
        slopes = StepSlopes(last, sample, F, G, H, K, S, R, z, *standing, *motion)
        return belief, Innovation(verdict, square, len(z), predicted=predicted), slopes

    def carried_to(self, belief: OdometryBelief, sample: OdometrySample) -> OdometryBelief:
        """The belief at the time of a sample that `update` left out, by the unit's last reading; else the same."""
        if sample.time <= belief.sample.time:
            return belief
        return self.predict(belief, replace(sample, inertial=belief.sample.inertial))

    def _with_feet(self, belief: OdometryBelief, sample: OdometrySample) -> OdometryBelief:
        """The belief with the feet that have touched down and were read."""
        new = np.flatnonzero(sample.closed & ~belief.standing & np.isfinite(sample.feet).all(axis=1))
        if not len(new):
            return belief
        A, X, rows = np.eye(len(belief.covariance)), belief.X.copy(), rows_of(new)
        R = X[:, :3]
        A[rows] = np.tile(A[POSITION], (len(new), 1))
        X[:, 5 + new] = X[:, 4:5] + R @ sample.feet[new].T
        P = A @ belief.covariance @ A.T
        P[np.ix_(rows, rows)] += self._encoder_noise(R, sample, new)
        standing, rejections = belief.standing.copy(), belief.rejections.copy()
        standing[new], rejections[new] = True, 0
        return replace(belief, X=X, covariance=P, standing=standing, rejections=rejections)

    def _encoder_noise(self, R: Matrix, sample: OdometrySample, feet: np.ndarray) -> Matrix:
        """(3 f, 3 f) covariance of R J n."""
        J = (R @ sample.slopes[feet]).reshape(3 * len(feet), sample.slopes.shape[2])
        return self.position_noise**2 * J @ J.T

    def solve(
        self,
        problem: LegOdometryProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        on_sample: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> Estimate:
        """The estimate after all samples of a recording; `progress`, `stop`: as of `poinsot.solve`.

        Args:
            on_sample: takes the state of the base after each sample, by name.

        Raises:
            NotIdentifiable: if no foot stood at two samples.
        """
        samples, T_bu = problem.samples
        # the base begins at the origin, tilted as gravity is read
        R = turning_z_to(samples[0].inertial[3:]).T
        belief = self.init(samples[0], R @ T_bu[:3, :3].T @ T_bu[:3, 3], R)
        feet, innovations, time, stopped = [], [], [], False
        slips, rejected, stood = np.zeros((3, samples[0].feet.shape[0]), dtype=int)
        feet_of = tuple(contact.frame for contact in problem.contacts.contacts)
        turning = tuple((np.array(problem.robot.position_units)[problem.robot.actuated] == "rad").tolist())
        errors = OdometryErrors(
            Walker(problem.robot.joints, turning, feet_of), problem.accuracy, len(samples)
        )
        for number, sample in enumerate(samples[1:]):
            stopped = stop_requested(stop)
            if stopped:
                break
            if number % 500 == 0:
                done = number / len(samples)
                report(progress, problem.name or "filtering", fraction=done, detail=f"{sample.time:.1f} s")
            belief, innovation, slopes = self.step(belief, sample)
            if slopes is not None:
                if errors.K:
                    errors.add(slopes, problem.smooth[number], problem.smooth[number + 1])
                slips[slopes.slipped] += 1
                stood[slopes.read] += 1
                rejected[np.setdiff1d(slopes.read, slopes.used)] += 1
            if on_sample is not None:
                state, P = base_of(self.carried_to(belief, sample), T_bu, self.inertial_noise[0])
                base = dict(zip(STATE, np.split(state, [3, 7, 10]), strict=True))
                line = {"time": sample.time, "recording": problem.name, "verdict": innovation.verdict.name}
                on_sample(line | base | {"bias": belief.bias, "std": np.sqrt(np.diag(P))})
            if innovation.predicted is not None:
                read = np.where(np.isfinite(innovation.predicted), sample.feet, np.nan)
                feet.append([read, innovation.predicted])
                innovations.append(innovation)
                time.append(sample.time)
        rows = np.array([innovation.rows for innovation in innovations])
        if not rows.any():
            raise NotIdentifiable("no foot stood at two samples: look at columns of contacts and encoders")
        state, P = base_of(belief, T_bu, self.inertial_noise[0])
        std, effects = np.sqrt(np.diag(P)), errors.fit(belief.covariance)
        if effects is not None:
            wider = replace(belief, covariance=belief.covariance + effects.of_belief)
            P = base_of(wider, T_bu, self.inertial_noise[0])[1]
        # place and heading are relative to the start
        known = np.append(np.full(9, True), std[BIASES] < NARROWED * np.repeat(self.bias_std, 3))
        replay = Replay(problem, self)
        slipping = Slips(feet_of, slips, rejected / np.maximum(stood, 1))
        squares = np.array([innovation.square for innovation in innovations]) / np.maximum(rows, 1)
        gated = np.mean([innovation.verdict is SampleVerdict.gated for innovation in innovations])
        chance = 1.0 if self.gate is None else 1 - self.gate.confidence
        kinds, units = (tuple(np.repeat(names, 3).tolist()) for names in (KINDS, UNITS))
        labels = tuple(f"{kind}.{axis}" for kind in KINDS for axis in XYZ)
        turned = log(from_quaternion(state[None, 3:7]))[0]
        values = np.concatenate([state[:3], turned, state[7:10], belief.bias])
        channels = tuple(f"foot_position.{foot}.{axis}" for foot in feet_of for axis in XYZ)
        parameters = EstimatedParameters(
            labels, units, (problem.robot.bodies[0],) * 15, kinds, values, labels, known, Uncertainty(P),
        )  # fmt: skip
        fit = fit_of(
            np.array(time), channels, ("m",) * len(channels), *np.array(feet).swapaxes(0, 1).reshape(2, len(feet), -1),
            speeds=None, counts=[len(time)], recording="one step ahead",
        )  # fmt: skip
        return Estimate(
            self.name, problem.robot.name, parameters,
            Status.interrupted if stopped else Status.solved if known.all() else Status.partly,
            float(np.sqrt(np.linalg.cond(P / np.outer(std, std)))), int(rows.sum()), fit,
            undetermined=tuple(Direction(labels[k], "unexcited") for k in np.flatnonzero(~known)),
            problem=replay,
            described=problem.robot.described,
            examiner=partial(
                examine, squares=squares, rejected_part=float(gated), gate=chance, effects=effects, slips=slipping,
                replay=replay,
            ),
            provenance=Provenance(citations=self.citations),
        )  # fmt: skip


def examine(
    estimate: Estimate,
    squares: Vector,
    rejected_part: float,
    gate: float,
    effects: OdometryFit | None,
    slips: Slips,
    replay: Replay,
) -> Diagnosis:
    """Findings about an estimate; `squares`, `rejected_part`, `gate`: as of `FilterRun`."""
    found: list[Finding | Unchecked] = list(Innovations().look_at(squares, rejected_part, gate))
    samples = samples_of(replay.problem.recording)
    for check in (LostSamples(), PositionJumps()):
        found += check.look_at(samples, "the recording")
    found += Outliers().look_at(replay.problem.recording, "the recording")
    channels = LegChannels(replay.method.position_noise, replay.method.foot_walk)
    found += look_at(replay.problem, [channels])
    found += look_at(slips, [SlippingFeet()])
    if effects is not None:
        found += look_at(effects, [OdometryEffects()])
    return examined(estimate, found)


def base_of(belief: OdometryBelief, T_bu: Matrix, gyro_noise: float) -> tuple[Vector, Matrix]:
    """Place, quaternion and, in its axes, both velocities of the base (13,); covariance of the parameters (15, 15).

    Args:
        T_bu: (4, 4) place of the inertial unit in the base. gyro_noise: of a reading [rad/s].
    """
    R_bu, p_bu, P = T_bu[:3, :3], T_bu[:3, 3], belief.covariance
    R = belief.X[:, :3] @ R_bu.T
    place, turning = belief.X[:, 4] - R @ p_bu, R_bu @ (belief.sample.inertial[:3] - belief.bias[:3])
    B = np.zeros((15, len(P)))
    B[:3, POSITION], B[:3, ROTATION], B[3:6, ROTATION] = np.eye(3), -skew(place), R.T
    # the speed of the base, away from the unit, has the gyro's error too
    lever = -skew(p_bu) @ R_bu
    B[6:9, VELOCITY], B[6:9, -6:-3], B[BIASES, BIASES] = R.T, lever, np.eye(6)
    spread = B @ P @ B.T
    spread[6:9, 6:9] += gyro_noise**2 * lever @ lever.T
    state = [place, to_quaternion(R[None])[0], R.T @ belief.X[:, 3] - np.cross(turning, p_bu), turning]
    return np.concatenate(state), spread


def gammas(phi: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Gamma_0 = Exp(phi), Gamma_1 and Gamma_2, (3, 3) each."""
    t2, S, one = float(phi @ phi), skew(phi), np.eye(3)
    t, S2 = np.sqrt(t2), S @ S
    # what the series leave out is t^4 / 120, and rounding of the last quotient 1e-8 there
    a, b, c, d = 1 - t2 / 6, 0.5 - t2 / 24, 1 / 6 - t2 / 120, 1 / 24 - t2 / 720
    if t > 1e-2:
        a, b = np.sin(t) / t, (1 - np.cos(t)) / t2
        c, d = (1 - a) / t2, (0.5 - b) / t2
    return one + a * S + b * S2, one + b * S + c * S2, 0.5 * one + c * S + d * S2


def _with_standing(belief: OdometryBelief, standing: np.ndarray) -> OdometryBelief:
    """The belief with these feet (F,), less than before."""
    P, rows = belief.covariance.copy(), rows_of(np.flatnonzero(~standing))
    P[rows], P[:, rows] = 0.0, 0.0
    return replace(belief, covariance=P, standing=standing)
