"""[robot], [drive] and [friction] -> the robot; [mechanism] -> bodies and joints, without sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, check_known
from ..inertia.parameters import inertia_matrix
from ..io.units import convert
from .settings.fields import by_joint
from .settings.mechanism import JointDetails, MechanismJointSettings, MechanismSettings
from .settings.robot import DriveSettings, OffsetSettings

if TYPE_CHECKING:
    from ..models.maximal import Mechanism
    from ..models.robot.articulated import Articulated
    from ..models.robot.drive import Drive
    from .settings import Settings


def build_robot(settings: Settings, path: Path) -> Articulated:
    """[robot], [drive] and [friction] -> the robot."""
    from ..models.friction.listed import build_robot_friction
    from ..models.robot.articulated import load_robot

    law = build_robot_friction(settings.friction.law, settings.friction.model_dump())
    robot = load_robot(
        path,
        friction=law,
        floating_base=settings.described.floating_base,
        locked=settings.described.locked,
        gravity=settings.described.gravity,
        efforts=[effort.build() for effort in settings.described.efforts],
        loops=[loop.value() for loop in settings.described.loops],
    )
    missing = tuple(dict.fromkeys(name for each in settings.recordings for name in each.not_measured))
    if settings.drive is None and not missing:
        return robot
    # Tables by joint need the robot's joints, so the drive comes second.
    drive = robot.drive if settings.drive is None else build_drive(settings.drive, robot.joints)
    robot = replace(robot, drive=replace(drive, not_measured=missing))
    # Computed here, so that an error of a drive train names this file.
    _ = robot.train
    if set(robot.joints) <= set(drive.passive) and not settings.held:
        raise InvalidProject(
            "drive.passive lists every joint: without a motor, and without a parameter in [held], a motion determines "
            "only the ratios of parameters"
        )
    return robot


def build_drive(settings: DriveSettings, joints: Sequence[str]) -> Drive:
    """[drive] -> the drive trains of these joints."""
    drive: Any = settings  # its keys are the fields of `Drive`
    offset = drive.position_offset
    if isinstance(offset, OffsetSettings):
        values = by_joint("drive.position_offset", offset.values, joints, 0.0)
        offset = np.asarray(convert(np.asarray(values), offset.unit)[0]).tolist()
    tables = {
        "reduction": by_joint("drive.reduction", drive.reduction, joints, 1.0),
        "position_offset": by_joint("drive.position_offset", offset, joints, 0.0),
        "gain": by_joint("drive.gain", drive.gain, joints, 1.0),
    }
    trains: Drive = drive.value(**tables)
    return trains


def build_mechanism(settings: MechanismSettings, find: Callable[[str], Path]) -> Mechanism:
    """[mechanism] -> bodies and joints, without sensors."""
    from ..models.maximal import JOINT_KINDS, BodyFrame, Mechanism, RigidBody, load_mechanism

    frames = [each.build_as(BodyFrame) for each in settings.frames]
    if settings.path is None:
        bodies = []
        for each in settings.bodies:
            inertia: Any = each.inertia
            if len(inertia) == 6:
                # Only I of (m, m c, I) is used here.
                inertia = inertia_matrix(np.array([0, 0, 0, 0, *inertia], dtype=float))
            bodies.append(each.build_as(RigidBody, inertia=inertia))
        joints: list[Any] = [
            each.build_as(JOINT_KINDS[each.kind], **_given(each)) for each in settings.joints
        ]
        return Mechanism(bodies, joints, gravity=settings.gravity, frames=frames, name=settings.name)
    described = load_mechanism(find(settings.path), locked=settings.locked, gravity=settings.gravity)
    names = [joint.name for joint in described.joints]
    for name in settings.details:
        check_known(name, names, "mechanism.details has", f"{described.name} has", InvalidProject)
    joints = list(described.joints)
    for k, joint in enumerate(joints):
        if (details := settings.details.get(joint.name)) is not None:
            said = {key: value for key in ("drag", "offset") if (value := getattr(details, key)) is not None}
            joints[k] = replace(joint, **said, **_given(details))
    # The channels of the recordings determine the sensors.
    return replace(described, joints=joints, frames=frames, sensors=())


def _given(settings: MechanismJointSettings | JointDetails) -> dict[str, Any]:
    """Arguments for dry friction, motor and end stops."""
    from ..models.maximal import Motor, Stops, dry_friction

    given: dict[str, Any] = {}
    if settings.friction is not None:
        further = settings.friction.model_extra or {}
        own = settings.friction.model_dump(exclude=set(further))
        given["friction"] = dry_friction(**own, further=further)
    if settings.motor is not None:
        given["motor"] = settings.motor.build_as(Motor) if settings.motor else None
    if settings.stops is not None:
        given["stops"] = settings.stops.build_as(Stops)
    return given
