"""Read actuators: of a result, of `randomization.json`, or of a project file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..exceptions import InvalidMethod, UnreadableFile, listing
from ..export.randomization import SCHEMA, read_randomization
from ..io.sources import existing_file
from ..models.servo.actuator import Actuator, actuator_parameters, estimated_parameters
from .other_jobs import read_result


def read_actuators(
    path: Path, joints: Sequence[str] | None = None
) -> tuple[tuple[Actuator, ...], dict[str, str]]:
    """Actuators of a file, of all its joints or of some, and the law of friction of each.

    Raises:
        UnreadableFile: if the file is damaged, or has no actuators of these joints.
    """
    path = existing_file(path)
    content = read_result(path, "actuators")
    laws: dict[str, str] = {}
    if content.get("schema") == SCHEMA:
        actuators = read_randomization(path).actuators
    else:
        try:
            rows: list[dict[str, Any]] = content["actuators"]["joints"]
            actuators = tuple(map(_actuator, rows))
            laws = {row["joint"]: str(row["friction_law"]) for row in rows}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UnreadableFile(
                f"actuators: {path} is no result of a servo robot, and no randomization.json"
            ) from None
    known = tuple(each for each in actuators if joints is None or each.name in joints)
    if joints is not None and not known:
        raise UnreadableFile(
            f"actuators: {path} has actuators of {listing([each.name for each in actuators])}, and the robot the "
            f"joints {listing(joints)}"
        )
    return known, laws


def _actuator(row: Mapping[str, Any]) -> Actuator:
    values: dict[str, Any] = {
        name: math.inf if row[name] is None else float(row[name])
        for name in actuator_parameters()
        if name in row
    }
    knots, levels = (tuple(map(float, row[name])) for name in ("friction_positions", "friction_levels"))
    return Actuator(row["joint"], friction_positions=knots, friction_levels=levels, **values)


def described_actuators(
    joints: Sequence[str], *settings: Mapping[str, float], where: str
) -> tuple[Actuator, ...]:
    """Actuators of joints from [held] and `start` of a project file, the last first.

    Raises:
        InvalidMethod: if a joint has no stiffness there.
    """
    found = []
    for joint in joints:
        values: dict[str, Any] = {}
        for each in settings:
            own = {name: each.get(f"{name}.{joint}", each.get(name)) for name in estimated_parameters()}
            values |= {name: float(value) for name, value in own.items() if value is not None}
        if "stiffness" not in values:
            raise InvalidMethod(
                f"{where} says nothing of the stiffness of {joint}, and commands are designed by simulation; give "
                "--actuators RESULT.json of a first recording, or write in [method] "
                "start = { stiffness = 20.0, damping = 0.5, coulomb = 0.1, armature = 0.02, delay = 0.02 }"
            )
        found.append(Actuator(joint, **values))
    return tuple(found)
