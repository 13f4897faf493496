"""A legged robot as a closed loop needs it: its feet, where it stands, and what its motors can do; Talos and Go1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from poinsot.arrays import Vector
from poinsot.models.robot.articulated import Articulated

from ...described import described_robot
from .plant import Ball, Foot, Sole, described_efforts

TALOS = "talos_data", "robots", "talos_reduced.urdf"
SOLE_HEIGHT, HALF_LENGTH, HALF_WIDTH = -0.107, 0.1025, 0.061  # [m], of the description's soles

HALF_SITTING = {
    "arm_left_1_joint": 0.25847, "arm_left_2_joint": 0.173046, "arm_left_3_joint": -0.0002,
    "arm_left_4_joint": -0.525366, "arm_left_7_joint": 0.1, "arm_right_1_joint": -0.25847,
    "arm_right_2_joint": -0.173046, "arm_right_3_joint": 0.0002, "arm_right_4_joint": -0.525366,
    "arm_right_7_joint": 0.1, "leg_left_3_joint": -0.411354, "leg_left_4_joint": 0.859395,
    "leg_left_5_joint": -0.448041, "leg_left_6_joint": -0.001708, "leg_right_3_joint": -0.411354,
    "leg_right_4_joint": 0.859395, "leg_right_5_joint": -0.448041, "leg_right_6_joint": -0.001708,
    "torso_2_joint": 0.006761,
    "gripper_left_joint": -0.3, "gripper_right_joint": -0.3,  # away from the ends of their range
}  # fmt: skip
"""Joint -> position [rad]; all others 0."""


GO1 = "go1_description", "urdf", "go1.urdf"
GO1_LEGS = ("FL", "FR", "RL", "RR")
GO1_STANCE = {"hip": 0.0, "thigh": 0.85, "calf": -1.7}
"""Part of a leg -> position of its joint [rad]; its feet are then under its hips."""
GO1_FOOT = (0.0, 0.0, -0.213), 0.02
"""Centre in the calf's frame, and radius, of a foot [m]."""


@dataclass(frozen=True, eq=False)
class LeggedRobot:
    """A robot that stands on its feet.

    Args:
        robot: with a floating base.
        soles: of its feet; of a humanoid left, right.
        home: (nq,) standing on z = 0.
        effort_limits: (n,) of its motors.
        base: name of the base's link; a humanoid's pelvis.
        legs: joints that follow the feet.
    """

    robot: Articulated
    soles: tuple[Foot, ...]
    home: Vector
    effort_limits: Vector
    base: str
    legs: tuple[str, ...]

    def dofs(self, joints: Sequence[str]) -> np.ndarray:
        """Places in v of joints by name."""
        return np.array([6 + self.robot.joints.index(joint) for joint in joints])


def talos(posture: Mapping[str, float] | None = None, arm_effort: float = 1.0) -> LeggedRobot:
    """Talos half sitting.

    Args:
        posture: joint -> position, where it is another one [rad].
        arm_effort: the arms' effort limits are multiplied by this.

    Raises:
        UnreadableFile: if example-robot-data is not installed.
    """
    robot = described_robot(*TALOS, floating_base=True)
    q = pin.neutral(robot.model)
    for joint, position in (HALF_SITTING | dict(posture or {})).items():
        q[7 + robot.joints.index(joint)] = position
    left, right = (
        Sole(f"leg_{side}_6_link", SOLE_HEIGHT, HALF_LENGTH, HALF_WIDTH) for side in ("left", "right")
    )
    limits = described_efforts(robot)
    for k, joint in enumerate(robot.joints):
        if joint.startswith("arm"):
            # in plant and controller alike, which both take them from here
            limits[6 + k] *= arm_effort
    legs = tuple(joint for joint in robot.joints if joint.startswith("leg"))
    home = stand_on_ground(robot, q, (left, right))
    return LeggedRobot(robot, (left, right), home, limits, "base_link", legs)


def go1() -> LeggedRobot:
    """Go1 on its four balls.

    Raises:
        UnreadableFile: if example-robot-data is not installed.
    """
    robot = described_robot(*GO1, floating_base=True)
    q = pin.neutral(robot.model)
    for k, joint in enumerate(robot.joints):
        q[7 + k] = GO1_STANCE[joint.split("_")[1]]
    feet = tuple(Ball(f"{leg}_calf", *GO1_FOOT) for leg in GO1_LEGS)
    return LeggedRobot(
        robot, feet, stand_on_ground(robot, q, feet), described_efforts(robot), "base", robot.joints
    )


def stand_on_ground(robot: Articulated, q: Vector, soles: Sequence[Foot]) -> Vector:
    """The configuration with the base raised or lowered so that the lowest sole touches z = 0.

    Args:
        q: (nq,) of a robot with a floating base.
        soles: of its feet.
    """
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    q = q.copy()
    # the lowest sole, so that no corner begins inside the ground
    q[2] -= min(_lowest(data.oMi[robot.bodies.index(sole.body) + 1], sole) for sole in soles)
    return q


def _lowest(placement: pin.SE3, sole: Foot) -> float:
    """Height of a sole's centre, or of the lowest point of a ball [m]."""
    return float(placement.act(sole.centre)[2]) - (sole.spheres[1] if sole.in_world else 0.0)
