"""Convert joint parameters to the terms of a description: damping, dry friction, rotor inertia.

    tau = (bodies) + damping q' + friction sign(q') + armature q''

No format supports offsets and the terms of coupled motors; URDF does not support rotor inertia.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from ..estimate import Estimate, FullParameters
from ..exceptions import InvalidModel, listing
from ..models.articulated import Articulated
from ..models.friction import term_of
from ..models.friction.listed import COUPLING
from .description import Description, Freedom, JointDynamics


class TorqueParameter(NamedTuple):
    """A parameter that belongs to no body, in `unit`."""

    name: str
    value: float
    std: float
    unit: str
    kind: str
    owner: str


class Placed(NamedTuple):
    """Joint terms to write into a description.

    Args:
        terms: of each degree of freedom; None is kept.
        unsupported: parameters that the format cannot hold.
        zeroed: joints whose armature is set to zero, since the estimate has none.
    """

    terms: dict[Freedom, JointDynamics]
    unsupported: tuple[TorqueParameter, ...]
    zeroed: tuple[str, ...]

    def notes(self, source: Description) -> Iterator[str]:
        """Sentences for the user."""
        if self.unsupported:
            names = listing([parameter.name for parameter in self.unsupported])
            yield f"{source.format} cannot hold {names}: see the JSON file beside it."
        if self.zeroed:
            yield (
                f"The armature of {listing(self.zeroed)} is set to 0: the estimate has no rotor inertia, so that of "
                "its bodies includes the rotors."
            )


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


def place_of(kind: str) -> str | None:
    """Which of the `JointDynamics` a parameter of this kind is."""
    if kind == "rotor_inertia":
        return "armature"
    friction = None if kind.endswith(COUPLING) else term_of(kind)
    return None if friction is None else friction.described_as


def place(
    parameters: Sequence[TorqueParameter], robot: Articulated, source: Description, *, negative: bool
) -> Placed:
    """Assign each parameter to a term of the description.

    Where the description gives a joint's rotor inertia and the estimate has none, the estimate's bodies include it, so
    the armature is set to zero.

    Args:
        negative: whether values below zero are written.

    Raises:
        InvalidModel: if one is negative and `negative` is False.
    """
    freedom_of = dict(zip(robot.joints, robot.freedoms, strict=True))
    terms: dict[Freedom, JointDynamics] = defaultdict(JointDynamics)
    unsupported = []
    for parameter in parameters:
        term, freedom = place_of(parameter.kind), freedom_of.get(parameter.owner)
        # A coupled motor, an offset, a ball joint, a rotor in URDF: none of these has a place.
        if freedom is None or freedom not in source.freedoms or term is None or term not in source.holds:
            unsupported.append(parameter)
            continue
        if parameter.value < 0 and not negative:
            raise InvalidModel(
                f"{parameter.name} of joint {parameter.owner!r} is {parameter.value:.4g} {parameter.unit}, and no "
                f"joint has a {term} below 0; force=True writes it nevertheless"
            )
        terms[freedom] = terms[freedom]._replace(**{term: parameter.value})
    zeroed = []
    for joint, freedom in freedom_of.items():
        described = freedom in source.freedoms and source.terms(freedom).armature
        if described and terms[freedom].armature is None:
            zeroed.append(joint)
            terms[freedom] = terms[freedom]._replace(armature=0.0)
    return Placed(dict(terms), tuple(unsupported), tuple(zeroed))
