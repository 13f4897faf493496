"""Export an estimate to the description of its robot: inertia, friction and rotor inertia where the format allows.

Links that are joined by fixed (or locked) joints are one body of the estimate, whose parameters are about the frame of
the joint that carries it. With T_bl the placement of link l in it,

    pi_b = sum over l of change_frame(T_bl, pi_l),

only one of its links changes (docs/concepts/export.md: which). The formats support these joint parameters: damping,
dry friction and, in MJCF, rotor inertia (armature):

    tau = (bodies) + damping q' + friction sign(q') + armature q''

Before anything is written the text is read again, and its torques are compared at random states. Differences are
relative to the largest torque of the joint, or to a millionth of its summands if these cancel, as at unloaded joints.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Float, Vector
from ..estimate import Body, Estimate, FullParameters, Trust
from ..exceptions import (
    ImpossibleBody,
    InvalidMethod,
    InvalidModel,
    NotIdentifiable,
    UntrustedResult,
    UnwritableOutput,
    listing,
)
from ..inertia.parameters import change_frame, from_physical, inconsistencies, is_consistent
from ..io.results import plain, write_json
from ..io.writing import check_writable
from ..models.friction.listed import COUPLING, parameter_of
from ..models.robot.articulated import Articulated
from .description import Description, Freedom, JointDynamics
from .differences import Change, differences
from .reading import open_description


class TorqueParameter(NamedTuple):
    """A parameter of a joint or motor, in `unit`."""

    name: str
    value: float
    std: float
    unit: str
    kind: str
    owner: str


def torque_parameters(estimate: Estimate) -> Iterator[TorqueParameter]:
    """Joint parameters that the estimate determines one by one; of base parameters those that are not regrouped."""
    full = estimate.extra(FullParameters)
    known = full or estimate
    chosen = np.isfinite(known.values) & (np.array(known.kinds) != "inertia")
    if full is None:
        # A regrouped base parameter is a sum, and not the joint's own term.
        chosen = chosen & estimate.identifiable & (np.array(estimate.names) == np.array(estimate.groupings))
    numbers = known.values.tolist(), known.std.tolist()
    columns = zip(known.names, *numbers, known.units, known.kinds, known.owners, strict=True)
    return map(TorqueParameter._make, compress(columns, chosen))


def place(
    parameters: Sequence[TorqueParameter], robot: Articulated, source: Description, *, negative: bool
) -> tuple[dict[Freedom, JointDynamics], list[TorqueParameter], list[str]]:
    """New terms by degree of freedom (None keeps it), parameters that the format cannot hold, and sentences about both.

    `negative`: whether values below zero are written.
    """
    freedom_of = dict(zip(robot.joints, robot.freedoms, strict=True))
    terms: dict[Freedom, JointDynamics] = defaultdict(JointDynamics)
    unsupported = []
    for parameter in parameters:
        friction = None if parameter.kind.endswith(COUPLING) else parameter_of(parameter.kind)
        of_friction = None if friction is None else friction.described_as
        term = "armature" if parameter.kind == "rotor_inertia" else of_friction
        freedom = freedom_of.get(parameter.owner)
        # A coupled motor, an offset, a ball joint, a rotor in URDF: none of these has a place.
        if (
            freedom is None
            or freedom not in source.freedoms
            or term is None
            or not source.has_place_for(term)
        ):
            unsupported.append(parameter)
            continue
        if parameter.value < 0 and not negative:
            raise InvalidModel(
                f"{parameter.name} of joint {parameter.owner!r} is {parameter.value:.4g} {parameter.unit}, and no "
                f"joint has a {term} below 0; force=True writes it nevertheless"
            )
        terms[freedom] = terms[freedom]._replace(**{term: parameter.value})
    notes = []
    if unsupported:
        names = listing(parameter.name for parameter in unsupported)
        notes.append(f"{source.format} cannot hold {names}: see the JSON file beside it.")
    return dict(terms), unsupported, notes


PLACEHOLDER = 0.01
"""A link with less than this fraction of its body's mass is a placeholder for a frame."""

UNCHANGED = 1e-13
"""A link whose parameters change by no more than this, relative to m, sqrt(m tr I) >= |h| and tr I, keeps its text."""


def share(
    body: str, pi: Vector, placements: Mapping[str, np.ndarray], source: Description
) -> tuple[dict[str, Vector | None], list[str]]:
    """New (10,) pi of the links of a body that change, each in its own frame (None: removed); and sentences about it.
    `body`: its name. `pi`: (10,) about the frame of its joint. `placements`: link -> (4, 4) T_bl, the body's own link
    first. `source`: the description with the present parameters.
    """
    missing = [link for link in placements if link not in source.links]
    if missing:
        raise InvalidModel(
            f"{source.path} has no link {listing(missing)}, which the robot had when it was read"
        )
    own = {link: inertial for link in placements if (inertial := source.inertial(link)) is not None}
    shaped = [link for link in placements if source.has_shape_inertia(link)]
    masses = {link: float(own[link][0]) if link in own else 0.0 for link in placements}
    main, heaviest = next(iter(placements)), max(masses, key=lambda link: masses[link])
    # The link at a joint's frame is often a placeholder of a gram, which should not carry the difference.
    carrier = heaviest if masses[main] < PLACEHOLDER * masses[heaviest] else main
    others = [l for l in placements if l != carrier and (l in shaped or (l in own and own[l].any()))]
    T_lb = np.linalg.inv(placements[carrier])
    if set(others).isdisjoint(shaped):
        rest = pi - sum((change_frame(placements[l], own[l]) for l in others), np.zeros(10))
        # An impossible body, which only force=True allows here, has no possible remainder.
        if (is_consistent(rest) and rest[0] > 0) or not is_consistent(pi):
            return _changed_link(carrier, change_frame(T_lb, rest), own), []
        why = "since the remainder would be physically impossible"
    else:
        why = "since it was computed from shapes, not given as numbers"
    note = (
        f"{carrier} has the inertia of the whole body {body}; that of {listing(others)}, fixed to it, is removed, "
        f"{why}."
    )
    whole = change_frame(T_lb, pi)
    return {**_changed_link(carrier, whole, own), **dict.fromkeys(others)}, [note] if others else []


def _changed_link(link: str, pi: Vector, own: Mapping[str, Vector]) -> dict[str, Vector | None]:
    """The link's new parameters, if they differ from the present ones."""
    m, trace = abs(pi[0]), np.abs(pi[[4, 6, 9]]).sum()
    size = np.array([m, *3 * [np.sqrt(m * trace)], *6 * [trace]])
    kept = np.all(np.abs(pi - own.get(link, np.zeros(10))) <= UNCHANGED * size)
    return {} if kept else {link: pi}


STATES = 32
TOLERANCE = 1e-9


def check_reloaded(
    robot: Articulated,
    description: Description,
    inertials: Float[np.ndarray, "l 10"],
    terms: Mapping[Freedom, JointDynamics],
) -> float:
    """Largest relative torque error of the description, read with the same options as `robot`.

    Expected are inertials (l, 10), in the order of `robot.bodies`, and these joint terms.
    """
    again = robot.read_again(description.path, description.text.data.decode())
    if (again.joints, again.bodies) != (robot.joints, robot.bodies):
        raise _changed(description, "it has other joints or bodies")
    states = robot.random_states(STATES, np.random.default_rng(0))
    # Checked before the regressor, which would fail on states of another size.
    if again.model.nq != robot.model.nq:
        raise _changed(description, "its joints are of other types")
    Y, pi = robot.torque_regressor(*states), inertials.ravel()
    asked, found = Y @ pi, again.torque_regressor(*states) @ again.inertials.ravel()
    size = np.maximum(np.abs(asked).max(axis=0), 1e-6 * (np.abs(Y) @ np.abs(pi)).max(axis=0))
    error = np.abs(found - asked).max(axis=0)
    relative = np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0)
    # Not `>`: NaN must fail too.
    if not relative.max() <= TOLERANCE:
        worst = int(np.argmax(relative))
        k = worst - int(robot.actuated[0])
        joint = robot.joints[k] if k >= 0 else "the floating base"
        how = f"{joint} has torques that differ by {relative[worst]:.2g} of the largest"
        raise _changed(description, how)
    for k, (joint, freedom) in enumerate(zip(robot.joints, robot.freedoms, strict=True)):
        given = terms.get(freedom, JointDynamics())._asdict()
        for name, values in again.described_terms.items():
            before = float(robot.described_terms[name][k])
            meant = before if given[name] is None else float(given[name])
            if not np.isclose(values[k], meant, rtol=1e-12, atol=0):
                raise _changed(description, f"the {name} of {joint} is {values[k]:g} and not {meant:g}")
    return float(relative.max())


def _changed(description: Description, what: str) -> InvalidModel:
    return InvalidModel(
        f"{description.path} with the new inertia, read again, differs from the identified robot: {what}; "
        "if the file has changed since it was read, identify again with the present file"
    )


EXPORT_SCHEMA = "poinsot.export/1"
BODY = "name", "inertial", "log_cholesky_covariance", "prior_share"
"""Fields of each body in the JSON file beside a description."""

ABSOLUTE = ("/", "package://", "file://", "model://")
"""Prefixes of file names that do not depend on the folder of the description."""


@dataclass(frozen=True, eq=False)
class Export:
    """An edited description, checked to have the estimate's torques. `source`: the file that was edited. `description`:
    after the edit. `changes`: old and new values, number by number. `torque_error`: largest relative difference of the
    bodies' torques, at random states. `notes`: sentences to read before using it. `elsewhere`: content of the
    JSON file: bodies with their covariance, and all other parameters.
    """

    source: Path
    description: Description
    changes: tuple[Change, ...]
    torque_error: float
    notes: tuple[str, ...]
    elsewhere: Mapping[str, Any]

    def write(self, path: str | Path) -> None:
        """Write the description, and beside it, with the suffix `.json`, what the format cannot hold. Raises
        `UnwritableOutput` if one of them cannot be written there, or would overwrite the source.
        """
        path = Path(path)
        beside = path.with_suffix(".json")
        if path.suffix.lower() == ".json":
            raise UnwritableOutput(
                f"cannot write {path}: a {self.description.format} file ends in .urdf or .xml"
            )
        # Checked before the description is written: both files or none.
        check_writable(beside)
        self.description.write(path)
        write_json(self.content(path.name), beside)

    def content(self, description: str | None = None) -> dict[str, Any]:
        """The JSON file beside a description of this name; None: there is none."""
        return {
            "schema": EXPORT_SCHEMA,
            "source": self.source.name,
            "description": description,
            "torque_error": self.torque_error,
            "changes": [change._asdict() for change in self.changes],
            "notes": self.notes,
            **self.elsewhere,
        }


def export_robot(estimate: Estimate, robot: Articulated, path: str | Path, *, force: bool = False) -> Export:
    """Write the description of a robot with identified inertia, friction and rotor inertia.

    The robot's own file is edited: comments, meshes, order and names survive, and only numbers change. Of URDF these
    are `<inertial>` and `<dynamics>`, of MJCF `<inertial>` and a joint's `damping`, `frictionloss` and `armature`. All
    other parameters go to a file of the same name with the suffix `.json`.

    Args:
        estimate: estimate of all ten parameters of every body.
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


def refuse_untrusted(estimate: Estimate, force: bool) -> None:
    """Raise `UntrustedResult` if the estimate is not to be used, unless `force`."""
    if not force and estimate.trust is Trust.not_to_be_used:
        worst = estimate.findings[0]
        raise UntrustedResult(
            f"the result is not to be used: {worst} To export it nevertheless, give --force (in Python force=True)."
        )


def parameters_json(estimate: Estimate, robot: Articulated, why: str) -> dict[str, Any]:
    """The JSON file of an estimate without a description: all values that it determines, sums of parameters too.

    `why`: there is no description.
    """
    columns = estimate.values.tolist(), estimate.std.tolist(), estimate.units, estimate.kinds, estimate.owners
    rows = map(TorqueParameter._make, zip(estimate.groupings, *columns, strict=True))
    return {
        "schema": EXPORT_SCHEMA,
        "source": "" if robot.source is None else robot.source.name,
        "description": None,
        "torque_error": None,
        "changes": [],
        "notes": [f"No description has these values: {why}."],
        "bodies": [{key: plain(body)[key] for key in BODY} for body in estimate.bodies],
        "parameters": [{**row._asdict(), "written": False} for row in compress(rows, estimate.identifiable)],
    }


def prepare_export(estimate: Estimate, robot: Articulated, *, force: bool = False) -> Export:
    """Compute and check what `export_robot` writes, without writing it; arguments and errors as there."""
    refuse_untrusted(estimate, force)
    if robot.source is None:
        raise InvalidModel(f"robot {robot.name!r} has no file to edit; read it from one with load_robot")
    bodies = _bodies(estimate, robot, force)
    source = open_description(robot.source)
    shares = [share(body, pi, robot.links[body], source) for body, pi in bodies.items()]
    parameters = list(torque_parameters(estimate))
    terms, unsupported, notes = place(parameters, robot, source, negative=force)
    inertials = {link: pi for changed, _ in shares for link, pi in changed.items()}
    description = source.edited(inertials, terms)
    # Read again before anything is written: a parser may find more in a file than the editor did.
    error = check_reloaded(robot, description, np.array(list(bodies.values())), terms)
    notes = [*(note for _, said in shares for note in said), *notes, *robot.unrepresented]
    files = (each.get(name, "/") for each in source.text.root.walk() for name in ("filename", "file"))
    if not all(file.startswith(ABSOLUTE) for file in files):
        notes.append(
            "The file names meshes relative to itself: keep it in the folder of its source, or copy the meshes too."
        )
    elsewhere = {
        "bodies": [{key: plain(body)[key] for key in BODY} for body in estimate.bodies],
        "parameters": [
            {**parameter._asdict(), "written": parameter not in unsupported} for parameter in parameters
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
