"""[robot], [drive] and [friction] -> the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import InvalidProject
from ..io import convert
from .settings.fields import by_joint
from .settings.robot import DriveSettings, OffsetSettings

if TYPE_CHECKING:
    from ..models.articulated import Articulated
    from ..models.drive import Drive
    from .settings import Settings


def build_robot(settings: Settings, path: Path) -> Articulated:
    """[robot], [drive] and [friction] -> the robot.

    Raises:
        UnreadableFile, InvalidModel: if the description or the drive train does not work.
        InvalidProject: if a table by joint names one that the robot does not have.
    """
    from ..models.articulated import load_robot
    from ..models.friction import LAWS

    law = LAWS[settings.friction.law].build(settings.friction.model_dump())
    robot = load_robot(
        path,
        friction=law,
        floating_base=settings.described.floating_base,
        locked=settings.described.locked,
        gravity=settings.described.gravity,
    )
    if settings.drive is None:
        return robot
    # Tables by joint need the robot's joints, so the drive comes second.
    robot = replace(robot, drive=build_drive(settings.drive, robot.joints))
    _ = robot.train
    if set(robot.joints) <= set(settings.drive.passive) and not settings.held:
        raise InvalidProject(
            "drive.passive lists every joint: without a motor, and without a parameter in [held], a motion only shows "
            "the ratios of parameters"
        )
    return robot


def build_drive(drive: DriveSettings, joints: Sequence[str]) -> Drive:
    """[drive] -> the drive trains of these joints."""
    from ..models.drive import Coupling, Drive

    offset = drive.position_offset
    if isinstance(offset, OffsetSettings):
        values = by_joint("drive.position_offset", offset.values, joints, 0.0)
        offset = np.asarray(convert(np.asarray(values), offset.unit)[0]).tolist()
    tables = {
        "reduction": by_joint("drive.reduction", drive.reduction, joints, 1.0),
        "position_offset": by_joint("drive.position_offset", offset, joints, 0.0),
        "gain": by_joint("drive.gain", drive.gain, joints, 1.0),
    }
    couplings = tuple(each.build_as(Coupling) for each in drive.couplings)
    return drive.build_as(Drive, couplings=couplings, passive=tuple(drive.passive), **tables)
