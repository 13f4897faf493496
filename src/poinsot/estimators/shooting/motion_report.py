"""The motion of a solution: path with standard deviations, forces at contacts, measured against predicted readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Float, NodeStates, Vector
from ...estimate import Fit
from ...estimate.fit import fit_of
from ...estimate.motions import STD, EstimatedMotion, SensorFit
from ...models.robot.articulated import Articulated
from ...models.sensors import ContactForce, Gyro, Orientation, Position, PreintegratedVelocity
from ...models.sensors.placement import ROTATION
from ...quantities import QUATERNION, WRENCH, XYZ
from ...recording import Recording
from .robot import RobotTrajectoryModel


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
            residuals[samples] = some.some(samples).normalized(moved)
        for frame, values in forces.items():
            rows = moved.rows(frame)
            if rows is not None:
                values[samples] = moved.forces[:, rows]
    nodes = model.after_impacts
    channels, units, valid = _path(robot, x[nodes], None if covariance is None else covariance[nodes])
    for frame, values in forces.items():
        for k, column in enumerate(values.T):
            channel = f"{ContactForce.quantity}.{frame}.{WRENCH[k]}"
            channels[channel], units[channel] = np.nan_to_num(column), "N" if k < 3 else "N m"
            valid[channel] = np.isfinite(column)
    path = Recording(model.times, channels, units, valid, {"estimated": model.name})
    n = robot.model.nv
    commands = [f"command.{model.parameters.drive.inputs[k]}" for k in model.noisy_commands.tolist()]
    freedoms = [
        f"{'position' if k < n else 'velocity'}.{robot.effort_names[k % n]}"
        for k in model.noisy_freedoms.tolist()
    ]
    size = np.sqrt(np.mean((w / model.noise_std)[model.noisy] ** 2, axis=0))
    fits = (
        SensorFit(s.name, s.channels, s.channel_units, some.values, values, s.components, residuals)
        for some, values, residuals in zip(readings, predicted, normalized, strict=True)
        for s in [some.sensor]
    )
    disturbance = dict(zip([*commands, *freedoms], size.tolist(), strict=True))
    return RobotMotionEstimate(
        model.name, path, tuple(fits), tuple(forces), disturbance, nodes=x, process_noise=w
    )


def _path(
    robot: Articulated, x: Float[np.ndarray, "S nx"], spread: np.ndarray | None
) -> tuple[dict[str, np.ndarray], dict[str, str], dict[str, np.ndarray]]:
    """Channels of a recording, their units and masks: the base in the world, then joints."""
    n, nq = int(robot.model.nv), int(robot.model.nq)
    q, v = x[:, :nq], x[:, nq:]
    std = None if spread is None else np.sqrt(np.maximum(np.einsum("tii -> ti", spread), 0.0))
    channels: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}

    def add(names: Sequence[str], unit: str, values: np.ndarray, deviations: np.ndarray | None) -> None:
        for k, name in enumerate(names):
            channels[name], units[name] = values[:, k], unit
            if deviations is not None:
                channels[STD + name], units[STD + name] = deviations[:, k], unit

    if robot.floating_base:
        turned, names = Rotation.from_quat(q[:, 3:7]), channels_of_base(robot)
        in_world = speeds = None
        if spread is not None and std is not None:
            R = turned.as_matrix()  # the tangent's axes are the base's
            in_world = np.sqrt(np.maximum(np.einsum("tij, tjk, tik -> ti", R, spread[:, :3, :3], R), 0.0))
            speeds = std[:, n : n + 6]
        add(names[:3], "m", q[:, :3], in_world)
        add(names[3:7], "1", turned.as_quat(), None)
        if std is not None:  # of the rotation vector, which a quaternion's components have no names for
            turns = [f"{STD}{Orientation.quantity}.{robot.bodies[0]}.{end}" for end in ROTATION]
            add(turns, "rad", std[:, 3:6], None)
        for rows, unit in ((slice(0, 3), "m/s"), (slice(3, 6), "rad/s")):
            add(names[7:][rows], unit, v[:, rows], None if speeds is None else speeds[:, rows])
    angles = robot.joint_positions(q)
    for k, (joint, dof) in enumerate(zip(robot.joints, robot.actuated.tolist(), strict=True)):
        unit = robot.position_units[dof]
        for quantity, of, values, at in (
            ("position", unit, angles[:, k], dof),
            ("velocity", f"{unit}/s", v[:, dof], n + dof),
        ):
            add([f"{quantity}.{joint}"], of, values[:, None], None if std is None else std[:, at : at + 1])
    missing = {name: ~np.isfinite(values) for name, values in channels.items()}
    valid = {name: ~mask for name, mask in missing.items() if mask.any()}
    return {name: np.nan_to_num(values) for name, values in channels.items()}, units, valid


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
        away = np.where(read, fit.normalized, 0.0) @ np.linalg.inv(sensor.whitening).T
        residuals[:, at] = np.where(read, away, np.nan)
        deviations[:, at] = np.sqrt(np.diag(sensor.covariance))
    return predicted, residuals, deviations
