"""Export an estimate to the description of its robot: inertia, friction and rotor inertia where the format allows.

The file that the robot was read from is edited, read again and compared before anything is written. This is a function
and not a method of `Estimate`, which depends neither on files nor on robots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Vector
from ..estimate import Body, Estimate, Trust
from ..exceptions import (
    ImpossibleBody,
    InvalidMethod,
    InvalidModel,
    NotIdentifiable,
    UntrustedResult,
    UnwritableOutput,
    listing,
)
from ..inertia.parameters import from_physical, inconsistencies, is_consistent
from ..io.results import write_json
from ..io.writing import check_writable
from ..models.articulated import Articulated
from .bodies_to_links import share
from .description import Description
from .differences import Change, differences
from .joint_terms import place, torque_parameters
from .reading import open_description
from .reload_check import check_reloaded

EXPORT_SCHEMA = "poinsot.export/1"

ABSOLUTE = ("/", "package://", "file://", "model://")
"""Prefixes of file names that do not depend on the folder of the description."""


@dataclass(frozen=True, eq=False)
class Export:
    """An edited description, checked to have the estimate's torques.

    Args:
        source: the file that was edited.
        description: the edited description.
        changes: old and new values, number by number.
        torque_error: largest relative difference of the bodies' torques, at random states.
        notes: sentences to read before using it.
        elsewhere: bodies with their covariance and all other parameters, for the JSON file.
    """

    source: Path
    description: Description
    changes: tuple[Change, ...]
    torque_error: float
    notes: tuple[str, ...]
    elsewhere: Mapping[str, Any]

    def write(self, path: str | Path) -> None:
        """Write the description, and beside it, with the suffix `.json`, what the format cannot hold.

        Raises:
            UnwritableOutput: if one of them cannot be written there, or would overwrite the source.
        """
        path = Path(path)
        beside = path.with_suffix(".json")
        if path.suffix.lower() == ".json":
            raise UnwritableOutput(
                f"cannot write {path}: a {self.description.format} file ends in .urdf or .xml"
            )
        # Before the description is written: both files or none.
        check_writable(beside)
        self.description.write(path)
        content = {
            "schema": EXPORT_SCHEMA,
            "source": self.source.name,
            "description": path.name,
            "torque_error": self.torque_error,
            "changes": [change._asdict() for change in self.changes],
            "notes": self.notes,
        }
        write_json({**content, **self.elsewhere}, beside)


def export_robot(estimate: Estimate, robot: Articulated, path: str | Path, *, force: bool = False) -> Export:
    """Write the description of a robot with identified inertia, friction and rotor inertia.

    The robot's own file is edited: comments, meshes, order and names survive, and only numbers change. Of URDF these
    are `<inertial>` and `<dynamics>`, of MJCF `<inertial>` and a joint's `damping`, `frictionloss` and `armature`. All
    other parameters go to a file of the same name with the suffix `.json`.

    Args:
        estimate: with all ten parameters of every body.
        robot: the robot of the estimate, from `load_robot`.
        path: where to write, in the format of the robot's file.
        force: also write impossible bodies and negative friction, and results that are not to be used.

    Raises:
        NotIdentifiable: if the estimate does not determine all bodies, as with least squares.
        ImpossibleBody: if a body is physically impossible.
        InvalidModel: if the robot has no file, or the format does not support the estimate.
        UntrustedResult: if the estimate is not to be used.
        UnwritableOutput: if it cannot be written there.
    """
    export = prepare_export(estimate, robot, force=force)
    export.write(path)
    return export


def prepare_export(estimate: Estimate, robot: Articulated, *, force: bool = False) -> Export:
    """Compute and check what `export_robot` writes, without writing it; arguments and errors as there."""
    if not force and estimate.trust is Trust.not_to_be_used:
        worst = estimate.findings[0]
        raise UntrustedResult(
            f"the result is not to be used: {worst} To write a description from it all the same, give --force (in "
            "Python force=True)."
        )
    if robot.source is None:
        raise InvalidModel(f"robot {robot.name!r} has no file to edit; read it from one with load_robot")
    bodies = _bodies(estimate, robot, force)
    source = open_description(robot.source)
    shares = [share(body, pi, robot.links[body], source) for body, pi in bodies.items()]
    parameters = list(torque_parameters(estimate))
    placed = place(parameters, robot, source, negative=force)
    inertials = {link: pi for each in shares for link, pi in each.inertials.items()}
    description = source.edited(inertials, placed.terms)
    # Read again before anything is written: a parser may see more in a file than the editor did.
    error = check_reloaded(robot, description, np.array(list(bodies.values())), placed.terms)
    notes = [*(each.note for each in shares if each.note), *placed.notes(source)]
    files = (
        element.get(name)
        for element in source.text.root.walk()
        for name in ("filename", "file")
        if name in element.attributes
    )
    if not all(file.startswith(ABSOLUTE) for file in files):
        notes.append(
            "The file names meshes relative to itself: keep it in the folder of its source, or copy them along."
        )
    elsewhere = {
        "bodies": [
            {
                "name": body.name,
                "inertial": body.inertial,
                "log_cholesky_covariance": body.covariance,
                "prior_share": body.prior_share,
            }
            for body in estimate.bodies
        ],
        "parameters": [
            {**parameter._asdict(), "written": parameter not in placed.unsupported}
            for parameter in parameters
        ],
    }
    return Export(robot.source, description, differences(source, description), error, tuple(notes), elsewhere)


def _bodies(estimate: Estimate, robot: Articulated, force: bool) -> dict[str, Vector]:
    """Body of the robot -> (10,) pi."""
    known = {body.name: body for body in estimate.bodies}
    if strangers := [name for name in robot.bodies if name not in known]:
        raise InvalidMethod(
            f"the estimate has no bodies {listing(strangers)}; it has {listing(known)}: "
            "export it to the robot that it was identified with"
        )
    found = {name: pi for name in robot.bodies if (pi := _ten(known[name])) is not None}
    if left := [name for name in robot.bodies if name not in found]:
        raise NotIdentifiable(
            f"the estimate does not determine the inertia of {listing(left)}: a description needs all ten parameters "
            "of each body, which the semidefinite method gives"
        )
    for name, pi in found.items():
        if not is_consistent(pi) and not force:
            reasons = [*inconsistencies(pi), "force=True writes it nevertheless"]
            raise ImpossibleBody(reasons, f"body {name!r} is not exported")
    return found


def _ten(body: Body) -> Vector | None:
    """(10,) pi of a body that is determined completely; else None."""
    if body.inertial is not None:
        return body.inertial if np.isfinite(body.inertial).all() else None
    if body.mass is None or body.center_of_mass is None or body.inertia_at_com is None:
        return None
    return from_physical(body.mass, body.center_of_mass, body.inertia_at_com)
