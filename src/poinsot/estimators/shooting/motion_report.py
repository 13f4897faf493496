"""What a solution says of a motion: its path with standard deviations, forces at contacts, and sensors beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from ...arrays import Vector
from ...estimate import Fit
from ...estimate.fit import fit_of
from ...estimate.motions import STD, EstimatedMotion, SensorFit
from ...models.articulated import Articulated
from ...models.contact_dynamics import RobotMotion as Moved
from ...models.sensors import (
    AXES,
    ContactForce,
    Gyro,
    Orientation,
    Position,
    PreintegratedVelocity,
    Sensor,
    components_read,
)
from ...models.stages import Stages
from ...recording import Recording
from .robot import RobotMotion


def estimated_motion(
    name: str,
    stages: Stages,
    motion: RobotMotion,
    theta: Vector,
    x: Float[np.ndarray, "nodes nx"],
    w: Float[np.ndarray, "N m"],
    spread: Float[np.ndarray, "nodes n n"] | None = None,
) -> EstimatedMotion:
    """How a robot moved.

    Args:
        name: of the recording.
        stages, motion: it, and as the solver sees it.
        theta: (p,). x: (N + 1, nx). w: (N, m). All as they were found.
        spread: (N + 1, 2 n, 2 n) covariances of the states; None: they are not known.
    """
    S = len(stages.times)
    fits = [_Reading(some.sensor, some.values, S) for some in stages.readings]
    forces = {contact.frame: np.full((S, contact.size), np.nan) for contact in stages.schedule.contacts}
    for samples, moved in stages.along(x, theta, motion.told(w)):
        for fit in fits:
            fit.hear(samples, moved)
        for frame, found in forces.items():
            rows = moved.rows(frame)
            if rows is not None:
                found[samples] = moved.forces[:, rows]
    nodes = stages.after_impacts
    channels, units, valid = _path(
        stages.parameters.robot, x[nodes], None if spread is None else spread[nodes]
    )
    for frame, found in forces.items():
        for k in range(found.shape[1]):
            channel = f"{ContactForce.quantity}.{frame}.{AXES[k]}"
            channels[channel], units[channel] = np.nan_to_num(found[:, k]), "N" if k < 3 else "N m"
            valid[channel] = np.isfinite(found[:, k])
    path = Recording(stages.times, channels, units, valid, {"estimated": name})
    return EstimatedMotion(
        name, path, tuple(fit.result() for fit in fits), tuple(forces), _disturbance(stages, motion, w)
    )


class _Reading:
    """A sensor's fit, in the making."""

    def __init__(self, sensor: Sensor, measured: Float[np.ndarray, "S width"], S: int):
        self.sensor, self.measured = sensor, measured
        self.expected = np.empty((S, sensor.width))
        self.normalized = np.empty((S, sensor.size))

    def hear(self, samples: np.ndarray, moved: Moved) -> None:
        sensor = self.sensor
        self.expected[samples] = sensor.expected(moved)
        away = sensor.difference(self.measured[samples], moved)
        read = components_read(sensor, away)
        self.normalized[samples] = np.where(read, np.where(read, away, 0.0) @ sensor.whitening.T, np.nan)

    def result(self) -> SensorFit:
        sensor = self.sensor
        return SensorFit(
            sensor.name,
            sensor.channels,
            sensor.channel_units,
            self.measured,
            self.expected,
            sensor.components,
            self.normalized,
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

    def of_base(quantity: str, ends: Sequence[str]) -> list[str]:
        return [f"{quantity}.{robot.bodies[0]}.{end}" for end in ends]

    if robot.floating_base:
        turned = Rotation.from_quat(q[:, 3:7])
        in_world = None
        if spread is not None:
            R = turned.as_matrix()
            in_world = np.sqrt(np.maximum(np.einsum("tij, tjk, tik -> ti", R, spread[:, :3, :3], R), 0.0))
        add(of_base(Position.quantity, AXES[:3]), "m", q[:, :3], in_world)
        add(of_base(Orientation.quantity, ("x", "y", "z", "w")), "1", turned.as_quat(), None)
        if std is not None:
            for k, end in enumerate(("rx", "ry", "rz")):
                name = STD + of_base(Orientation.quantity, (end,))[0]
                channels[name], units[name] = std[:, 3 + k], "rad"
        speeds = None if std is None else std[:, n : n + 6]
        add(
            of_base(PreintegratedVelocity.quantity, AXES[:3]),
            "m/s",
            v[:, :3],
            None if speeds is None else speeds[:, :3],
        )
        add(of_base(Gyro.quantity, AXES[:3]), "rad/s", v[:, 3:6], None if speeds is None else speeds[:, 3:])
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


def _disturbance(stages: Stages, motion: RobotMotion, w: Float[np.ndarray, "N m"]) -> dict[str, float]:
    """See `EstimatedMotion`."""
    n, robot = motion.manifold.degrees // 2, stages.parameters.robot
    commands = [f"command.{stages.parameters.drive.inputs[k]}" for k in motion.doubted.tolist()]
    freedoms = [
        f"{'position' if k < n else 'velocity'}.{robot.effort_names[k % n]}" for k in motion.free.tolist()
    ]
    size = np.sqrt(np.mean((w / motion.noise_std)[motion.noisy] ** 2, axis=0))
    return dict(zip([*commands, *freedoms], size.tolist(), strict=True))


def fit_of_motions(motions: Sequence[tuple[EstimatedMotion, Stages]]) -> Fit:
    """What all sensors read beside what they should have read, a column a component; what is missing is as expected.

    The relative error of all together is of standard deviations, since units differ.
    """
    columns: dict[str, str] = {}
    for _, stages in motions:
        for some in stages.readings:
            columns |= dict(zip(some.sensor.components, some.sensor.units, strict=True))
    parts = [_columns(motion, stages, tuple(columns)) for motion, stages in motions]
    predicted, away, deviations = (np.concatenate([part[k] for part in parts]) for k in range(3))
    time = np.concatenate([motion.path.time for motion, _ in motions])
    fit = fit_of(
        time,
        tuple(columns),
        tuple(columns.values()),
        predicted + away,
        predicted,
        speeds=None,
        counts=[len(motion.path) for motion, _ in motions],
        recording=motions[0][0].name if len(motions) == 1 else "",
    )
    size = np.linalg.norm((predicted + away) / deviations)
    relative = 100.0 * float(np.linalg.norm(away / deviations) / size) if size > 0 else np.nan
    return replace(fit, relative_error_percent=relative)


def _columns(
    motion: EstimatedMotion, stages: Stages, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predicted, measured less predicted, and standard deviation, (S, columns) each."""
    S = len(motion.path)
    place: Mapping[str, int] = {name: k for k, name in enumerate(names)}
    predicted, away, deviations = (
        np.zeros((S, len(names))),
        np.zeros((S, len(names))),
        np.ones((S, len(names))),
    )
    for some, fit in zip(stages.readings, motion.sensors, strict=True):
        sensor = some.sensor
        at = [place[name] for name in sensor.components]
        predicted[:, at] = sensor.along(fit.predicted)
        normalized = np.where(np.isfinite(fit.normalized), fit.normalized, 0.0)
        away[:, at] = normalized @ np.linalg.inv(sensor.whitening).T
        deviations[:, at] = np.sqrt(np.diag(sensor.covariance))
    return predicted, away, deviations
