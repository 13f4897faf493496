"""Files of a result for simulators, which `poinsot identify --out` writes beside its page.

ROBOT_actuators.xml    MuJoCo: bodies, joints and actuators; it moves as the estimate predicts
ROBOT_actuators.urdf   the robot's own URDF with `<dynamics>` and `<limit>` of joints whose scale of torques is known
randomization.json     ranges for the next recording
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import Estimate
from ..estimators.servo.result import Actuators
from ..exceptions import listing
from ..models.robot.articulated import Articulated
from ..models.servo.actuator import Actuator
from ..models.servo.mjcf import beyond_mjcf, write_mjcf
from .description import Description, JointDynamics, number_text
from .randomization import randomization_of, write_randomization
from .reading import open_description

Files = Mapping[str, Callable[[Path], Any]]


def simulator_files(
    estimate: Estimate, found: Actuators, robot: Articulated
) -> tuple[Files, tuple[str, ...]]:
    """Name -> what writes the file, and a sentence for each file on what it cannot hold.

    Raises:
        UnreadableFile: if the robot's description is no longer what it was.
    """
    stem = robot.source.stem if robot.source is not None else robot.name
    mjcf = f"{stem}_actuators.xml"
    files: dict[str, Callable[[Path], Any]] = {mjcf: partial(write_mjcf, robot, found.actuators)}
    notes = []
    if lost := [f"{each.name}.{name}" for each in found.actuators for name in beyond_mjcf(each)]:
        notes.append(
            f"{mjcf}: MJCF has no attribute for {listing(lost)}; they are <numeric> elements, which "
            "poinsot.simulation.actuators.Simulator applies and MuJoCo alone does not."
        )
    if robot.source is not None and robot.source.suffix.lower() == ".urdf":
        urdf = f"{stem}_actuators.urdf"
        known = [each for each in found.actuators if found.scale_known[each.name]]
        if known:
            files[urdf] = with_dynamics(open_description(robot.source), known).write
            named = listing([each.name for each in known])
            notes.append(
                f"{urdf}: URDF holds damping, dry friction and limits of {named}; no gain, delay or armature."
            )
        if unknown := [each.name for each in found.actuators if not found.scale_known[each.name]]:
            notes.append(f"{urdf}: without {listing(unknown)}, as the scale of their torques is not known.")

    def write_ranges(path: Path) -> None:
        write_randomization(randomization_of(estimate, force=True), path)

    return files | {"randomization.json": write_ranges}, tuple(notes)


def with_dynamics(description: Description, actuators: Sequence[Actuator]) -> Description:
    """A URDF whose joints have damping, dry friction and limits of these actuators, and everything else as it was."""
    freedoms = {element.get("name"): freedom for freedom, element in description.freedoms.items()}
    terms = {freedoms[each.name]: JointDynamics(each.damping, each.coulomb) for each in actuators}
    changed = description.edited({}, terms)
    edits = []
    for each in actuators:
        limits = {"effort": each.torque_limit, "velocity": each.no_load_speed}
        limit = changed.freedoms[freedoms[each.name]].first("limit")
        if limit is not None:
            for name, value in limits.items():
                if np.isfinite(value):
                    edits.append(changed.text.set_attribute(limit, name, number_text(value)))
    return type(description)(description.path, changed.text.edited(edits))
