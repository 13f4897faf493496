"""The motors that a robot description names: the joints that they move, and the effort of one unit of their command."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

from .articulated import Articulated, read_description


def described_motors(robot: Articulated, path: Path) -> dict[str, float | None] | None:
    """Joint -> effort per unit of the command of its motor [N m/unit], [N/unit]; None where the command is no effort.
    None if the description names no motor of any joint, so that a joint without one says nothing.

    Of MJCF, actuators of joints, and of tendons that join them; of URDF, joints of `<transmission>`, or without these
    the joints whose `<limit>` has an effort above 0.

    Raises:
        UnreadableFile: if the file cannot be read.
    """
    text, root = read_description(path)
    if root == "mujoco":
        return dict(_actuators(robot, path)) or None
    description = ElementTree.fromstring(text)
    listed = [joint.get("name", "") for joint in description.iterfind("transmission/joint")]
    if not any(joint in robot.joints for joint in listed):
        limits = ((joint, joint.find("limit")) for joint in description.iterfind("joint"))
        listed = [
            joint.get("name", "")
            for joint, limit in limits
            if limit is not None and float(limit.get("effort", "0")) > 0
        ]
    return {joint: 1.0 for joint in listed if joint in robot.joints} or None


def _actuators(robot: Articulated, path: Path) -> Iterator[tuple[str, float | None]]:
    """Joint and gain of the actuators of an MJCF file."""
    import mujoco

    from .compiled import compile_text, object_names

    m, kinds = compile_text(None, path), mujoco.mjtTrn
    joints = object_names(m)[mujoco.mjtObj.mjOBJ_JOINT]
    for k in range(m.nu):
        moved, at = int(m.actuator_trnid[k, 0]), int(m.actuator_trntype[k])
        if at in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            is_effort = (
                m.actuator_gaintype[k] == mujoco.mjtGain.mjGAIN_FIXED
                and m.actuator_biastype[k] == mujoco.mjtBias.mjBIAS_NONE
            )
            yield (
                joints[moved],
                float(m.actuator_gear[k, 0] * m.actuator_gainprm[k, 0]) if is_effort else None,
            )
        elif at == int(kinds.mjTRN_TENDON):
            wraps = range(m.tendon_adr[moved], m.tendon_adr[moved] + m.tendon_num[moved])
            of_joints = (w for w in wraps if m.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT)
            yield from ((joints[m.wrap_objid[w]], None) for w in of_joints)
