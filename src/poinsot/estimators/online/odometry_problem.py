"""Leg odometry of recordings: samples for the filter, and its run as an estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Matrix, Vector
from ...diagnosis import diagnose_innovations
from ...diagnosis.tracking import InnovationStatistics
from ...estimate import NARROWED, Certificate, Direction, Estimate, EstimatedParameters, Provenance, Status
from ...estimate.fit import fit_of
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...models.articulated import Articulated
from ...models.contacts import BallContact, ContactDetection
from ...models.motion_terms import MotionTerms
from ...models.rotations import from_quaternion, log, skew, to_quaternion, turning_z_to
from ...models.sensors.placement import ROTATION as TURNS
from ...quantities import XYZ
from ...recording import Recording
from ...solve import ProgressCallback, Stop, report, stop_requested
from .belief import Innovation, SampleVerdict
from .leg_odometry import BIASES, POSITION, ROTATION, VELOCITY, LegOdometry, OdometryBelief, OdometrySample
from .problem import REPLAY_TOLERANCE

PARAMETERS = (
    ("position", "m", XYZ),
    ("orientation", "rad", TURNS),
    ("velocity", "m/s", XYZ),
    ("gyro_bias", "rad/s", XYZ),
    ("accelerometer_bias", "m/s^2", XYZ),
)
"""Kind, unit and components: place and rotation vector in the world, velocity in the axes of the base, biases."""


@dataclass(frozen=True, eq=False)
class LegOdometryProblem:
    """Follow the base of a legged robot through recordings, each from its own start.

    Args:
        robot: with a floating base.
        recordings: with gyro and accelerometer at one frame of the base, positions of all joints, and contacts.
        contacts: feet, and how the recordings say when they touch the ground.
        names: of the recordings; by default `recording 1` and so on.
        start: (3,), (3, 3) place [m] and orientation of the base at the start; None: the origin, tilted as the
            accelerometer reads gravity.
        filter: that ran over them, to be run again by `certify`; None: none has.

    Raises:
        InvalidMethod: if the robot has no floating base, or there is no recording.
    """

    robot: Articulated
    recordings: Sequence[Recording]
    contacts: ContactDetection
    names: Sequence[str] = ()
    start: tuple[Vector, Matrix] | None = None
    filter: LegOdometry | None = None

    def __post_init__(self) -> None:
        if not self.robot.floating_base:
            raise InvalidMethod("leg odometry follows a floating base: write floating_base = true in [robot]")
        if not self.recordings or len(self.names) not in (0, len(self.recordings)):
            raise InvalidMethod("leg odometry needs a recording, and a name for each or for none")

    def samples(
        self, recording: Recording, where: str = "the recording"
    ) -> tuple[list[OdometrySample], Matrix]:
        """Samples from the first one with readings of the inertial unit on, and (4, 4) its place in the base.

        Raises:
            InvalidSignals: if the recording lacks a channel, or the unit is not on the base.
        """
        robot, contacts = self.robot, self.contacts.contacts
        units = [frame for frame in recording.frames("gyro") if frame in recording.frames("accelerometer")]
        if len(units) != 1:
            raise InvalidSignals(f"{where} needs gyro and accelerometer at one frame: name their columns")
        axes = [f"{quantity}.{units[0]}.{axis}" for quantity in ("gyro", "accelerometer") for axis in XYZ]
        inertial = np.stack([recording.readings(name) for name in axes], axis=1)
        begun = np.flatnonzero(np.isfinite(inertial).all(axis=1))
        if not len(begun):
            raise InvalidSignals(f"{where} has no sample at which both gyro and accelerometer were read")
        encoders = np.stack([recording.readings(f"position.{joint}") for joint in robot.joints], axis=1)
        q, still = np.tile(robot.neutral, (len(recording), 1)), np.zeros((len(recording), robot.model.nv))
        first, turning = (column[robot.actuated] for column in robot.coordinates)
        positions = robot.train.joint_positions(encoders)
        q[:, first] = np.where(turning, np.cos(positions), positions)
        q[:, first[turning] + 1] = np.sin(positions[:, turning])
        frames = MotionTerms(robot).frames(
            (units[0], *(each.frame for each in contacts)), q, still, still, jacobians=True
        )
        unit, feet = frames[units[0]], [frames[each.frame] for each in contacts]
        if unit.by.jacobian[:, :, robot.actuated].any():
            raise InvalidSignals(
                f"{where}: the inertial unit {units[0]!r} must be on the base, not behind a joint"
            )
        T_bu = np.eye(4)
        T_bu[:3, :3], T_bu[:3, 3] = R, p = unit.rotation[0], unit.position[0]
        y = np.stack([(foot.position - p) @ R for foot in feet], axis=1)
        turned = np.stack([R.T @ foot.rotation for foot in feet], axis=1)
        J = turned @ np.stack([foot.by.jacobian[:, :3, robot.actuated] for foot in feet], axis=1)
        radii = np.array([each.radius if isinstance(each, BallContact) else 0.0 for each in contacts])
        rows = zip(
            recording.time.tolist(), inertial, y, J @ robot.train.velocity_map, turned,
            self.contacts.schedule(recording, where).closed, strict=True,
        )  # fmt: skip
        return [OdometrySample(*row, radii) for row in rows][begun[0] :], T_bu

    def tracked(
        self,
        filter_: LegOdometry,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        on_sample: Callable[[Callable[[], dict[str, Any]]], object] | None = None,
    ) -> Estimate:
        """The estimate of a filter's run: `LegOdometry.solve`.

        Args:
            on_sample: takes, after each sample, a function that says the state of the base.
        """
        names = self.names or [f"recording {k + 1}" for k in range(len(self.recordings))]
        feet, found, time, counts, stopped = [], [], [], [], False
        for name, recording in zip(names, self.recordings, strict=True):
            samples, T_bu = self.samples(recording, f"recording {name!r}")
            upright = turning_z_to(samples[0].inertial[3:]).T @ T_bu[:3, :3].T
            p, R = self.start or (np.zeros(3), upright)
            belief = filter_.init(samples[0], p + R @ T_bu[:3, 3], R @ T_bu[:3, :3])
            counts.append(0)
            for number, sample in enumerate(samples[1:]):
                stopped = stopped or stop_requested(stop)
                if stopped:
                    break
                if number % 500 == 0:
                    report(progress, name, detail=f"{sample.time:.1f} s")
                belief, innovation = filter_.update(belief, sample)
                if on_sample is not None:
                    on_sample(partial(_line, name, innovation, belief, T_bu, filter_.inertial_noise[0]))
                predicted = innovation.predicted
                if predicted is not None:
                    feet.append([np.where(np.isfinite(predicted), sample.feet, np.nan), predicted])
                    found.append(innovation)
                    time.append(sample.time)
                    counts[-1] += 1
        rows = np.array([each.rows for each in found])
        if not rows.any():
            raise NotIdentifiable(
                "no foot stood at two samples: look at the columns of contacts and encoders"
            )
        state, P = base_of(belief, T_bu, filter_.inertial_noise[0])
        std = np.sqrt(np.diag(P))
        # place and heading are relative to the start
        known = np.append(np.full(9, True), std[BIASES] < NARROWED * np.repeat(filter_.bias_std, 3))
        squares = np.array([each.square for each in found]) / np.maximum(rows, 1)
        gated = np.mean([each.verdict is SampleVerdict.gated for each in found])
        chance = 1.0 if filter_.gate is None else 1 - filter_.gate.confidence
        statistics = InnovationStatistics(squares=squares, rejected_part=float(gated), gate=chance)
        kinds, labels, units = zip(
            *[(k, f"{k}.{end}", u) for k, u, ends in PARAMETERS for end in ends], strict=True
        )
        turned = log(from_quaternion(state[None, 3:7]))[0]
        values = np.concatenate([state[:3], turned, state[7:10], belief.bias])
        feet_of = [each.frame for each in self.contacts.contacts]
        channels = tuple(f"foot_position.{foot}.{axis}" for foot in feet_of for axis in XYZ)
        parameters = EstimatedParameters(
            labels, units, (self.robot.bodies[0],) * 15, kinds, values, P, labels, "white", known, std,
        )  # fmt: skip
        fit = fit_of(
            np.array(time), channels, ("m",) * len(channels), *np.array(feet).swapaxes(0, 1).reshape(2, len(feet), -1),
            speeds=None, counts=counts, recording="one step ahead",
        )  # fmt: skip
        return Estimate(
            filter_.name, self.robot.name, parameters,
            Status.interrupted if stopped else Status.solved if known.all() else Status.partly,
            float(np.sqrt(np.linalg.cond(P / np.outer(std, std)))), int(rows.sum()), fit,
            undetermined=tuple(Direction(labels[k], "unexcited") for k in np.flatnonzero(~known)),
            problem=replace(self, filter=filter_), examiner=partial(diagnose_innovations, seen=statistics),
            provenance=Provenance(citations=filter_.citations),
        )  # fmt: skip

    def certify(self, estimate: Estimate) -> Certificate:
        """Run the filter again and compare with the estimate's values, in its standard deviations."""
        assert self.filter is not None
        replayed = self.tracked(self.filter)
        difference = np.abs(estimate.values - replayed.values) / replayed.std
        return Certificate(float(difference.max()), True, REPLAY_TOLERANCE)


def base_of(belief: OdometryBelief, T_bu: Matrix, gyro_noise: float) -> tuple[Vector, Matrix]:
    """Place, quaternion and, in its axes, both velocities of the base (13,); covariance of `PARAMETERS` (15, 15).

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


def _line(
    recording: str, innovation: Innovation, belief: OdometryBelief, T_bu: Matrix, gyro_noise: float
) -> dict[str, Any]:
    """The base after a sample, for a consumer."""
    state, P = base_of(belief, T_bu, gyro_noise)
    said = {"time": belief.sample.time, "recording": recording, "verdict": innovation.verdict.name}
    keys = ("position", "orientation", "velocity", "angular_velocity")
    values = dict(zip(keys, np.split(state, [3, 7, 10]), strict=True))
    return {**said, **values, "bias": belief.bias, "std": np.sqrt(np.diag(P))}
