"""The motion of a solution: path with standard deviations, forces at contacts, measured against predicted readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from ...arrays import NodeStates, Vector
from ...estimate import Fit
from ...estimate.fit import fit_of
from ...estimate.motions import EstimatedMotion, SensorFit
from ...models.articulated import Articulated
from ...models.rotations import from_quaternion
from ...models.sensors import ContactForce
from ...models.stages import Stages
from ...models.state_channels import channels_of_base, state_channels
from ...quantities import WRENCH
from ...recording import Recording
from .robot import RobotTrajectoryModel
from .robot_log import RobotLog


@dataclass(frozen=True, eq=False)
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


def estimated_motion(
    log: RobotLog,
    theta: Vector,
    x: NodeStates,
    w: Float[np.ndarray, "N m"],
    covariance: Float[np.ndarray, "nodes n n"] | None = None,
) -> RobotMotionEstimate:
    """The motion of a robot in one recording.

    Args:
        log: the recording.
        theta: (p,). x: (N + 1, nx). w: (N, m). All as they were found.
        covariance: (N + 1, 2 n, 2 n) of the states; None: unknown.
    """
    stages, model = log.stages, log.model
    S = len(stages.times)
    sensors = [
        (some, np.empty((S, some.sensor.width)), np.empty((S, some.sensor.size))) for some in stages.readings
    ]
    forces = {contact.frame: np.full((S, contact.size), np.nan) for contact in stages.schedule.contacts}
    # mode by mode, not in the order of time
    for samples, moved in stages.along(x, theta, model.command_noise(w)):
        for some, predicted, normalized in sensors:
            predicted[samples] = some.sensor.predicted(moved)
            normalized[samples] = some.some(samples).normalized(moved)
        for frame, found in forces.items():
            rows = moved.rows(frame)
            if rows is not None:
                found[samples] = moved.forces[:, rows]
    nodes = stages.after_impacts
    robot, std = stages.parameters.robot, None
    if covariance is not None:
        spread, R = covariance[nodes], from_quaternion(x[nodes, 3:7])
        variances = np.einsum("tii -> ti", spread).copy()
        if robot.floating_base:  # the tangent's axes are the base's
            variances[:, :3] = np.einsum("tij, tjk, tik -> ti", R, spread[:, :3, :3], R)
        std = np.sqrt(np.maximum(variances, 0.0))
    channels, units, valid = state_channels(robot, x[nodes], std)
    for frame, found in forces.items():
        for k in range(found.shape[1]):
            channel = f"{ContactForce.quantity}.{frame}.{WRENCH[k]}"
            channels[channel], units[channel] = np.nan_to_num(found[:, k]), "N" if k < 3 else "N m"
            valid[channel] = np.isfinite(found[:, k])
    path = Recording(stages.times, channels, units, valid, {"estimated": log.name})
    return RobotMotionEstimate(
        log.name,
        path,
        tuple(
            SensorFit(
                some.sensor.name,
                some.sensor.channels,
                some.sensor.channel_units,
                some.values,
                predicted,
                some.sensor.components,
                normalized,
            )
            for some, predicted, normalized in sensors
        ),
        tuple(forces),
        _disturbance(stages, model, w),
        nodes=x,
        process_noise=w,
    )


def _disturbance(
    stages: Stages, model: RobotTrajectoryModel, w: Float[np.ndarray, "N m"]
) -> dict[str, float]:
    """Root mean square of each process noise, see `EstimatedMotion`."""
    n, robot = model.manifold.degrees // 2, stages.parameters.robot
    commands = [f"command.{stages.parameters.drive.inputs[k]}" for k in model.noisy_commands.tolist()]
    freedoms = [
        f"{'position' if k < n else 'velocity'}.{robot.effort_names[k % n]}"
        for k in model.noisy_freedoms.tolist()
    ]
    size = np.sqrt(np.mean((w / model.noise_std)[model.noisy] ** 2, axis=0))
    return dict(zip([*commands, *freedoms], size.tolist(), strict=True))


def fit_of_motions(motions: Sequence[tuple[EstimatedMotion, Stages]]) -> Fit:
    """Measured against predicted readings of all sensors, a column a component; NaN where nothing was read.

    Components have different units, so the relative error of all together is of their standard deviations.
    """
    columns: dict[str, str] = {}
    for _, stages in motions:
        for some in stages.readings:
            columns |= dict(zip(some.sensor.components, some.sensor.units, strict=True))
    parts = [_columns(motion, stages, tuple(columns)) for motion, stages in motions]
    predicted, residuals, deviations = (np.concatenate([part[k] for part in parts]) for k in range(3))
    measured = predicted + residuals
    time = np.concatenate([motion.path.time for motion, _ in motions])
    return fit_of(
        time,
        tuple(columns),
        tuple(columns.values()),
        measured,
        predicted,
        speeds=None,
        counts=[len(motion.path) for motion, _ in motions],
        recording=motions[0][0].name if len(motions) == 1 else "",
        noise=deviations,
    )


def _columns(
    motion: EstimatedMotion, stages: Stages, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predicted, measured less predicted, and standard deviation, (S, columns) each; NaN where nothing was read.

    A sensor that this recording does not have is NaN in `predicted` too.
    """
    shape = len(motion.path), len(names)
    predicted, residuals, deviations = np.full(shape, np.nan), np.full(shape, np.nan), np.ones(shape)
    for some, fit in zip(stages.readings, motion.sensors, strict=True):
        sensor = some.sensor
        at = [names.index(name) for name in sensor.components]
        predicted[:, at] = sensor.along(fit.predicted)
        read = np.isfinite(fit.normalized)
        # back from standard deviations to units
        away = np.where(read, fit.normalized, 0.0) @ np.linalg.inv(sensor.whitening).T
        residuals[:, at] = np.where(read, away, np.nan)
        deviations[:, at] = np.sqrt(np.diag(sensor.covariance))
    return predicted, residuals, deviations
