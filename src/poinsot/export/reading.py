"""Open a robot description for editing: URDF or MJCF by its root element."""

from __future__ import annotations

from pathlib import Path

from ..models.robot.articulated import read_description
from .description import Description
from .mjcf import Mjcf, expanded
from .urdf import Urdf
from .xml_text import XmlText

FORMATS: dict[str, type[Description]] = {"robot": Urdf, "mujoco": Mjcf}


def open_description(path: str | Path) -> Description:
    """Read a description to inspect or edit its links; `UnreadableFile` if it is not one.

    Files that an MJCF includes become part of its text.
    """
    path = Path(path)
    text, root = read_description(path)
    if root == "mujoco":
        text = expanded(path, text)
    return FORMATS[root](path, XmlText(text.encode()))
