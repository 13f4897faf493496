"""From the parameters of joints to what a description says of them: damping, dry friction, rotor inertia.

    tau = (bodies) + damping q' + friction sign(q') + armature q''

Offsets, and what a coupled motor does to a second joint, have no place in any format; rotor inertia has none in URDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..estimate import Estimate, FullParameters
from ..exceptions import InvalidModel, listing
from ..models.articulated import Articulated
from ..models.friction import term_of
from ..models.friction.listed import COUPLING
from .description import Description, Freedom, JointTerms


class TorqueParameter(NamedTuple):
    """A parameter that is no body's, in `unit`."""

    name: str
    value: float
    std: float
    unit: str
    kind: str
    owner: str


class Placed(NamedTuple):
    """What a description shall say of joints.

    Args:
        terms: of each freedom; None stays.
        homeless: parameters that it has no place for.
        silent: joints whose armature is set to zero, since the estimate knows none.
    """

    terms: dict[Freedom, JointTerms]
    homeless: tuple[TorqueParameter, ...]
    silent: tuple[str, ...]

    def notes(self, source: Description) -> Iterator[str]:
        """What to know of it."""
        if self.homeless:
            names = listing([parameter.name for parameter in self.homeless])
            yield f"{source.format} has no place for {names}: see the file beside it."
        if self.silent:
            yield (
                f"The armature of {listing(self.silent)} is 0 now: the estimate has no rotor inertia, so that of its "
                "bodies contains the rotors'."
            )


def torque_parameters(estimate: Estimate) -> Iterator[TorqueParameter]:
    """All that the estimate knows one by one and that is no body's; of base parameters those that group nothing."""
    full = estimate.extra(FullParameters)
    known = full or estimate
    chosen = np.isfinite(known.values) & (np.array(known.kinds) != "inertia")
    if full is None:
        chosen = chosen & estimate.identifiable & (np.array(estimate.names) == np.array(estimate.groupings))
    for k in np.flatnonzero(chosen):
        yield TorqueParameter(
            known.names[k],
            float(known.values[k]),
            float(known.std[k]),
            known.units[k],
            known.kinds[k],
            known.owners[k],
        )


def place_of(kind: str) -> str | None:
    """Which of the `JointTerms` a parameter of this kind is."""
    if kind == "rotor_inertia":
        return "armature"
    friction = None if kind.endswith(COUPLING) else term_of(kind)
    return None if friction is None else friction.described_as


def place(
    parameters: Sequence[TorqueParameter], robot: Articulated, source: Description, *, negative: bool
) -> Placed:
    """Each parameter where the description has a place for it.

    A joint's rotor inertia that the description gives and the estimate does not know is in the estimate's bodies, so it
    becomes zero.

    Args:
        negative: whether values below zero are written.

    Raises:
        InvalidModel: if there is one, and it is not to be.
    """
    freedom_of = dict(zip(robot.joints, robot.freedoms, strict=True))
    terms: dict[Freedom, JointTerms] = {}
    homeless = []
    for parameter in parameters:
        term, freedom = place_of(parameter.kind), freedom_of.get(parameter.owner)
        if freedom is None or freedom not in source.freedoms or term is None or term not in source.holds:
            homeless.append(parameter)
            continue
        if parameter.value < 0 and not negative:
            raise InvalidModel(
                f"{parameter.name} of joint {parameter.owner!r} is {parameter.value:.4g} {parameter.unit}, and no "
                f"joint has a {term} below 0; force=True writes it all the same"
            )
        terms[freedom] = terms.get(freedom, JointTerms())._replace(**{term: parameter.value})
    silent = [
        joint
        for joint, freedom in freedom_of.items()
        if freedom in source.freedoms
        and source.terms(freedom).armature
        and terms.get(freedom, JointTerms()).armature is None
    ]
    for joint in silent:
        freedom = freedom_of[joint]
        terms[freedom] = terms.get(freedom, JointTerms())._replace(armature=0.0)
    return Placed(terms, tuple(homeless), tuple(silent))
