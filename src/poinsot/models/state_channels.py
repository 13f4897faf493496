"""States of a robot as channels of a recording: a floating base in the world, then joints, with standard deviations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..estimate.motions import STD
from ..quantities import QUATERNION, XYZ
from .articulated import Articulated
from .sensors import Gyro, Orientation, Position, PreintegratedVelocity
from .sensors.placement import ROTATION

BASE_QUANTITIES = (Position, XYZ), (Orientation, QUATERNION), (PreintegratedVelocity, XYZ), (Gyro, XYZ)
"""What a path holds of a floating base."""


def channels_of_base(robot: Articulated) -> list[str]:
    """(13,) channels of a floating base in a path: position, quaternion, linear and angular velocity."""
    return [f"{kind.quantity}.{robot.bodies[0]}.{end}" for kind, ends in BASE_QUANTITIES for end in ends]


def state_channels(
    robot: Articulated, x: Float[np.ndarray, "S nx"], std: Float[np.ndarray, "S two_n"] | None
) -> tuple[dict[str, np.ndarray], dict[str, str], dict[str, np.ndarray]]:
    """Channels of a recording, their units and masks.

    Args:
        x: (S, nq + n) states, NaN where one is not known.
        std: (S, 2 n) of the base's place in the world, its rotation and all speeds in its own axes, and of joints; None:
            unknown.
    """
    n, nq = int(robot.model.nv), int(robot.model.nq)
    q, v = x[:, :nq], x[:, nq:]
    channels: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}

    def add(names: Sequence[str], unit: str, values: np.ndarray, deviations: slice | None) -> None:
        of = None if std is None or deviations is None else std[:, deviations]
        for k, name in enumerate(names):
            channels[name], units[name] = values[:, k], unit
            if of is not None:
                channels[STD + name], units[STD + name] = of[:, k], unit

    if robot.floating_base:
        names = channels_of_base(robot)
        add(names[:3], "m", q[:, :3], slice(0, 3))
        add(names[3:7], "1", q[:, 3:7] / np.linalg.norm(q[:, 3:7], axis=1, keepdims=True), None)
        if std is not None:  # of the rotation vector, which a quaternion's components have no names for
            turns = [f"{STD}{Orientation.quantity}.{robot.bodies[0]}.{end}" for end in ROTATION]
            channels |= dict(zip(turns, std[:, 3:6].T, strict=True))
            units |= dict.fromkeys(turns, "rad")
        add(names[7:10], "m/s", v[:, :3], slice(n, n + 3))
        add(names[10:], "rad/s", v[:, 3:6], slice(n + 3, n + 6))
    angles = robot.joint_positions(q)
    for k, (joint, dof) in enumerate(zip(robot.joints, robot.actuated.tolist(), strict=True)):
        unit = robot.position_units[dof]
        add([f"position.{joint}"], unit, angles[:, k : k + 1], slice(dof, dof + 1))
        add([f"velocity.{joint}"], f"{unit}/s", v[:, dof : dof + 1], slice(n + dof, n + dof + 1))
    missing = {name: ~np.isfinite(values) for name, values in channels.items()}
    valid = {name: ~mask for name, mask in missing.items() if mask.any()}
    return {name: np.nan_to_num(values) for name, values in channels.items()}, units, valid
