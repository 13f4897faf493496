"""A humanoid as a closed loop needs it: a robot, its two soles, where it stands, and what its motors can do; Talos."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from poinsot.arrays import Vector
from poinsot.exceptions import UnreadableFile
from poinsot.models.articulated import Articulated, load_robot

from .plant import Sole, described_efforts

TALOS = Path("talos_data", "robots", "talos_reduced.urdf")
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


@dataclass(frozen=True, eq=False)
class Humanoid:
    """A robot that stands on two feet.

    Args:
        robot: with a floating base, its pelvis.
        soles: left, right.
        home: (nq,) standing on z = 0.
        effort_limits: (n,) of its motors.
        pelvis: name of the base's link.
    """

    robot: Articulated
    soles: tuple[Sole, Sole]
    home: Vector
    effort_limits: Vector
    pelvis: str

    def dofs(self, joints: Sequence[str]) -> np.ndarray:
        """Places in v of joints by name."""
        return np.array([6 + self.robot.joints.index(joint) for joint in joints])


def talos(posture: Mapping[str, float] | None = None, arm_effort: float = 1.0) -> Humanoid:
    """Talos half sitting.

    Args:
        posture: joint -> position, where it is another one [rad].
        arm_effort: the arms' effort limits are multiplied by this.

    Raises:
        UnreadableFile: if example-robot-data is not installed.
    """
    path = (
        Path(sysconfig.get_path("purelib"))
        / "cmeel.prefix"
        / "share"
        / "example-robot-data"
        / "robots"
        / TALOS
    )
    if not path.exists():
        raise UnreadableFile("Talos needs the robot descriptions: pip install 'poinsot[robots]'")
    robot = load_robot(path, floating_base=True)
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
    home = stand_on_ground(robot, q, {left.body: SOLE_HEIGHT, right.body: SOLE_HEIGHT})
    return Humanoid(robot, (left, right), home, limits, "base_link")


def stand_on_ground(robot: Articulated, q: Vector, soles: Mapping[str, float]) -> Vector:
    """The configuration with the base raised or lowered so that the lowest sole touches z = 0.

    Args:
        q: (nq,) of a robot with a floating base.
        soles: foot -> height of its sole in its frame [m].
    """
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    lowest = min(
        float((data.oMi[robot.bodies.index(body) + 1].act(np.array([0.0, 0.0, height])))[2])
        for body, height in soles.items()
    )
    q = q.copy()
    # the lowest sole, so that no corner begins inside the ground
    q[2] -= lowest
    return q
