"""Robots of the package example-robot-data."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path

from poinsot.exceptions import UnreadableFile
from poinsot.models.robot.articulated import Articulated, load_robot


def described_robot(
    *path: str, floating_base: bool = False, locked: Mapping[str, float] | None = None
) -> Articulated:
    """The robot of a description, by its folders and file name below `robots`.

    Raises:
        UnreadableFile: if example-robot-data is not installed.
    """
    file = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots", *path)
    if not file.exists():
        raise UnreadableFile(f"{path[-1]} is among the robot descriptions: pip install 'poinsot[robots]'")
    return load_robot(file, floating_base=floating_base, locked=locked)
