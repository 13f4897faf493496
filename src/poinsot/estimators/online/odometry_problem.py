"""Leg odometry of recordings: samples for the filter, and its run as an estimate of motions and biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import Matrix, Vector
from ...diagnosis import diagnose_innovations
from ...diagnosis.tracking import InnovationStatistics
from ...estimate import NARROWED, Certificate, Diagnosis, Direction, Estimate, EstimatedParameters, Provenance, Status, fit_of
from ...estimate.extras import Extra, extras_of
from ...estimate.motions import EstimatedMotion, EstimatedMotions, SensorFit
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...models.articulated import Articulated
from ...models.contacts import ContactDetection
from ...models.motion_terms import MotionTerms
from ...models.rotations import skew, to_quaternion
from ...models.state_channels import state_channels
from ...quantities import XYZ
from ...recording import Recording
from ...solve import ProgressCallback, Stop, report, stop_requested
from .leg_odometry import (
    BIASES,
    GYRO_BIAS,
    POSITION,
    ROTATION,
    VELOCITY,
    FootInnovations,
    LegOdometry,
    OdometryBelief,
    OdometrySample,
)

REPLAY_TOLERANCE = 1e-8
"""In standard deviations, of a replay by the same operations."""
MOST_STATES = 1000
"""States of a recording in JSON at most; at least half as many of a long one."""


@dataclass(frozen=True, eq=False)
class LegOdometryProblem:
    """Follow the base of a legged robot through recordings, each from its own start.

    Args:
        robot: with a floating base.
        recordings: with gyro and accelerometer at one frame of the base, positions of all joints, and contacts.
        contacts: feet, and how the recordings say when they touch the ground.
        names: of the recordings; by default `recording 1` and so on.
        start: (3,), (3, 3) place [m] and orientation of the base at the start; None: the origin, at the tilt that the
            accelerometer shows.

    Raises:
        InvalidMethod: if the robot has no floating base, or there is no recording.
    """

    robot: Articulated
    recordings: Sequence[Recording]
    contacts: ContactDetection
    names: Sequence[str] = ()
    start: tuple[Vector, Matrix] | None = None

    def __post_init__(self) -> None:
        if not self.robot.floating_base:
            raise InvalidMethod("leg odometry follows a floating base: write floating_base = true in [robot]")
        if not self.recordings or len(self.names) not in (0, len(self.recordings)):
            raise InvalidMethod("leg odometry needs a recording, and one name for each or none")

    @property
    def feet(self) -> tuple[str, ...]:
        """Frames of the feet."""
        return tuple(each.frame for each in self.contacts.contacts)

    def samples(
        self, recording: Recording, where: str = "the recording"
    ) -> tuple[list[OdometrySample], Matrix, Matrix]:
        """Samples for the filter, from the first one with readings of the inertial unit on.

        Returns:
            The samples; (S, nq) configurations with the base at the origin; (4, 4) place of the unit in the base.

        Raises:
            InvalidSignals: if the recording lacks a channel, or the unit is not on the base.
        """
        robot, radii = self.robot, [getattr(each, "radius", 0.0) for each in self.contacts.contacts]
        units = [frame for frame in recording.frames("gyro") if frame in recording.frames("accelerometer")]
        missing = [joint for joint in robot.joints if joint not in recording.joints("position")]
        if len(units) != 1 or missing:
            lacks = f"position of joint {missing[0]!r}" if missing else "gyro and accelerometer at one frame"
            raise InvalidSignals(f"{where} needs {lacks}: name the columns")
        readings = [
            np.stack([recording.readings(f"{quantity}.{units[0]}.{axis}") for axis in XYZ], axis=1)
            for quantity in ("gyro", "accelerometer")
        ]
        started = np.flatnonzero(np.isfinite(readings).all(axis=(0, 2)))
        if not len(started):
            raise NotIdentifiable(f"{where} has no sample at which both gyro and accelerometer were read")
        encoders = np.stack([recording.readings(f"position.{joint}") for joint in robot.joints], axis=1)
        q, still = np.tile(robot.neutral, (len(recording), 1)), np.zeros((len(recording), robot.model.nv))
        (first, turning), moving = robot.coordinates, robot.actuated
        for angle, dof in zip(robot.train.joint_positions(encoders).T, moving.tolist(), strict=True):
            q[:, first[dof]] = np.cos(angle) if turning[dof] else angle
            if turning[dof]:
                q[:, first[dof] + 1] = np.sin(angle)
        frames = MotionTerms(robot).frames((units[0], *self.feet), q, still, still, jacobians=True)
        unit, feet = frames[units[0]], [frames[foot] for foot in self.feet]
        if unit.by.jacobian[:, :, moving].any():
            raise InvalidSignals(f"{where}: the inertial unit {units[0]!r} must be on the base, not behind a joint")
        T_bu = np.eye(4)
        T_bu[:3, :3], T_bu[:3, 3] = R, p = unit.rotation[0], unit.position[0]
        y = np.stack([(foot.position - p) @ R for foot in feet], axis=1)
        turned = np.stack([R.T @ foot.rotation for foot in feet], axis=1)
        J = turned @ np.stack([foot.by.jacobian[:, :3, moving] for foot in feet], axis=1) @ robot.train.velocity_map
        closed = self.contacts.schedule(recording, where).closed
        rows = zip(recording.time.tolist(), *readings, y, J, turned, closed, strict=True)
        samples = [OdometrySample(*row, np.array(radii)) for row in rows]
        return samples[started[0] :], q[started[0] :], T_bu

    def motion(
        self, filter_: LegOdometry, name: str, recording: Recording, progress: ProgressCallback | None, stop: Stop | None
    ) -> OdometryMotion:
        """The filter's run over a recording; `stop` ends it early."""
        samples, q, T_bu = self.samples(recording, f"recording {name!r}")
        p = R = None
        if self.start is not None:
            p, R = self.start[0] + self.start[1] @ T_bu[:3, 3], self.start[1] @ T_bu[:3, :3]
        belief, robot, n = filter_.init(samples[0], p, R), self.robot, self.robot.model.nv
        bases, found = [base_of(filter_, belief, T_bu)], []
        for number, sample in enumerate(samples[1:]):
            if stop_requested(stop):
                break
            if number % 500 == 0:
                report(progress, name, detail=f"{sample.time:.1f} s")
            belief, innovations = filter_.update(belief, sample)
            bases.append(base_of(filter_, belief, T_bu))
            found.append(innovations)
        S, nq = len(bases), q.shape[1]
        x, std = np.full((S, nq + n), np.nan), np.full((S, 2 * n), np.nan)
        x[:, :nq] = q[:S]
        x[:, :7], x[:, nq : nq + 6] = np.split(np.array([state for state, _ in bases]), [7], axis=1)
        covariance = np.array([spread for _, spread in bases])
        std[:, :6], std[:, n : n + 6] = np.split(np.sqrt(np.einsum("tii -> ti", covariance)), 2, axis=1)
        std[:, robot.actuated] = filter_.position_noise
        path = Recording(
            np.array([sample.time for sample in samples[:S]]), *state_channels(robot, x, std), {"estimated": name}
        )
        nothing = np.full((1, *samples[0].feet.shape), np.nan)
        predicted, normalized = (
            np.concatenate([nothing, *(getattr(each, key)[None] for each in found)]) for key in ("predicted", "normalized")
        )
        measured = np.where(np.isfinite(normalized), [sample.feet for sample in samples[:S]], np.nan)
        fits = []
        for k, foot in enumerate(self.feet):
            channels = tuple(f"foot_position.{foot}.{axis}" for axis in XYZ)
            columns = (each[:, k] for each in (measured, predicted))
            fits.append(
                SensorFit(f"foot position {foot!r}", channels, ("m",) * 3, *columns, channels, normalized[:, k])
            )
        return OdometryMotion(name, path, tuple(fits), belief=belief, covariance=covariance[-1], innovations=tuple(found))

    def tracked(
        self, filter_: LegOdometry, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """The estimate of a filter's run; see `LegOdometry.solve`."""
        names = self.names or [f"recording {k + 1}" for k in range(len(self.recordings))]
        motions = [
            self.motion(filter_, name, recording, progress, stop)
            for name, recording in zip(names, self.recordings, strict=True)
        ]
        last = motions[-1].belief
        covariance = last.covariance[BIASES, BIASES]
        std, prior = np.sqrt(np.diag(covariance)), filter_.bias_std
        known = std < NARROWED * prior
        parameters = tuple(f"{quantity}_bias.{axis}" for quantity in ("gyro", "accelerometer") for axis in XYZ)
        scaled = covariance / np.outer(prior, prior)
        fits = [fit for motion in motions for fit in motion.sensors]
        measured, predicted = (
            np.concatenate([np.concatenate([getattr(fit, key) for fit in motion.sensors], axis=1) for motion in motions])
            for key in ("measured", "predicted")
        )
        channels = sum((fit.channels for fit in motions[0].sensors), ())
        rows = sum(each.rows for motion in motions for each in motion.innovations)
        if not rows:
            raise NotIdentifiable("no foot stood for two samples: look at the columns of contacts, and at the encoders")
        ended = stop_requested(stop)
        status = Status.interrupted if ended else Status.solved if known.all() else Status.partly
        return Estimate(
            method=filter_.name,
            robot=self.robot.name,
            parameters=EstimatedParameters(
                parameters, ("rad/s",) * 3 + ("m/s^2",) * 3, ("inertial unit",) * 6, ("bias",) * 6,
                np.concatenate([last.gyro_bias, last.accelerometer_bias]), covariance,
                groupings=parameters, std_kind="white", identifiable=known, white_std=std,
            ),
            status=status,
            condition_number=float(np.sqrt(np.linalg.cond(scaled))),
            rows=rows,
            fit=fit_of(
                np.concatenate([motion.path.time for motion in motions]), channels, ("m",) * len(channels), measured,
                predicted, speeds=None, counts=[len(motion.path) for motion in motions], recording="one step ahead",
            ),
            undetermined=tuple(Direction(each, "unexcited") for each, yes in zip(parameters, known, strict=True) if not yes),
            extras=extras_of(EstimatedMotions(motions), OdometryRun(filter_, tuple(motions))),
            problem=self,
            examiner=examine,
            provenance=Provenance(citations=filter_.citations),
        )

    def certify(self, estimate: Estimate) -> Certificate:
        """Replay the recordings and compare with the estimate's values, as `TrackingProblem.certify`."""
        run = estimate.extra(OdometryRun)
        if run is None:
            raise InvalidMethod("only the estimate of leg odometry can be certified by a replay of its recordings")
        replayed = self.tracked(run.filter)
        difference = np.abs(estimate.values - replayed.values) / replayed.std
        return Certificate(float(difference.max()), True, REPLAY_TOLERANCE)


def base_of(filter_: LegOdometry, belief: OdometryBelief, T_bu: Matrix) -> tuple[Vector, Matrix]:
    """Place, quaternion, velocity and angular velocity of the base, (13,), both in its axes; their (12, 12) covariance.

    Args:
        T_bu: (4, 4) place of the inertial unit in the base.
    """
    R_bu, p_bu, P = T_bu[:3, :3], T_bu[:3, 3], belief.covariance
    R = belief.R @ R_bu.T
    place, turning = belief.p - R @ p_bu, R_bu @ (belief.sample.gyro - belief.gyro_bias)
    velocity = R.T @ belief.v - np.cross(turning, p_bu)
    B = np.zeros((12, len(P)))
    B[:3, POSITION], B[:3, ROTATION], B[3:6, ROTATION] = np.eye(3), -skew(place), R.T
    B[6:9, VELOCITY], B[6:9, GYRO_BIAS], B[9:, GYRO_BIAS] = R.T, -skew(p_bu) @ R_bu, -R_bu
    noise = filter_.gyro_noise * B[:, GYRO_BIAS]
    quaternion = to_quaternion(R[None])[0]
    return np.concatenate([place, quaternion, velocity, turning]), B @ P @ B.T + noise @ noise.T


@dataclass(frozen=True, eq=False)
class OdometryMotion(EstimatedMotion):
    """A motion with what leg odometry knows besides.

    Args:
        belief: the last one. covariance: (12, 12) of the base at the end: place in the world, rotation, velocity and
            angular velocity in its own axes. innovations: of each sample but the first.
    """

    belief: OdometryBelief | None = None
    covariance: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    innovations: tuple[FootInnovations, ...] = ()


@dataclass(frozen=True, eq=False)
class OdometryRun(Extra):
    """The run of a leg-odometry filter.

    Args:
        filter: that processed the samples. motions: in each recording.
    """

    key = "odometry"

    filter: LegOdometry
    motions: tuple[OdometryMotion, ...]

    def as_json(self) -> list[dict[str, Any]]:
        found = []
        for motion in self.motions:
            every = -(-len(motion.path) // MOST_STATES)
            kept = slice((len(motion.path) - 1) % every, None, every)
            rejected = np.sum([each.rejected for each in motion.innovations], axis=0).tolist()
            found.append(
                {
                    "recording": motion.name,
                    "rejected": dict(zip([fit.name for fit in motion.sensors], rejected, strict=True)),
                    "covariance": motion.covariance,
                    "states": {"time": motion.path.time[kept]} | {
                        name: motion.path.readings(name)[kept] for name in motion.path.channels
                    },
                }
            )
        return found


def examine(estimate: Estimate) -> Diagnosis:
    """What is wrong with a run, by its innovations."""
    run = estimate.extra(OdometryRun)
    assert run is not None
    found = [each for motion in run.motions for each in motion.innovations]
    squares = np.array([each.square / each.rows if each.rows else np.nan for each in found])
    compared = sum(int(np.isfinite(each.normalized[:, 0]).sum()) for each in found)
    rejected = sum(int(each.rejected.sum()) for each in found) / max(compared, 1)
    gate = run.filter.gate
    seen = InnovationStatistics(squares, rejected, 1.0 if gate is None else 1 - gate.confidence)
    return diagnose_innovations(estimate, seen)
