"""Find links with physically impossible inertia in a description, and replace them by the nearest possible ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..arrays import Brief, Vector
from ..inertia.parameters import (
    center_of_mass,
    inconsistencies,
    inertia_at_com,
    is_consistent,
    nearest_possible,
)
from .description import Description
from .reading import open_description

REPAIR_SCHEMA = "poinsot.repair/1"


@dataclass(frozen=True, eq=False)
class LinkVerdict:
    """A link of a description. `old`: (10,) pi in the link's own frame, from the description; None: not given. `new`:
    (10,) the nearest possible body; `old` where that is possible. `reasons`: why it is impossible, in sentences.
    `distance`: between the two, relative to the size of the old one; 0 where nothing changed.
    """

    name: str
    old: Vector | None
    new: Vector | None
    reasons: tuple[str, ...]
    distance: float

    @property
    def was_consistent(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, eq=False, repr=False)
class Repair(Brief):
    """A file, verdicts on its links in their order, and its description with the nearest possible bodies."""

    source: Path
    links: tuple[LinkVerdict, ...]
    description: Description

    @property
    def impossible(self) -> tuple[LinkVerdict, ...]:
        return tuple(link for link in self.links if not link.was_consistent)

    def write(self, path: str | Path) -> None:
        """Write the source with new numbers in the links that were impossible, see `Description.write`."""
        self.description.write(path)


def repair(path: str | Path, *, length: float | None = None) -> Repair:
    """Find the impossible links of a description and the nearest possible inertia for each.

    Links without inertia and possible links are unchanged.

    Args:
        path: URDF or MJCF; meshes are not needed.
        length: [m], to let mass and centre of mass change too, see `inertia.parameters`; None: both are kept where the
            mass is positive.

    Raises:
        UnreadableFile: if it is no robot description, or the inertia of a link is not numeric.
        InvalidModel: if the description cannot be edited link by link.
    """
    source = open_description(path)
    links = []
    for name in source.links:
        verdict = LinkVerdict(name, pi := source.inertial(name), None, (), 0.0)
        if pi is not None:
            nearest = nearest_possible(pi, length)
            verdict = LinkVerdict(name, pi, nearest.inertial, inconsistencies(pi), nearest.distance)
        links.append(verdict)
    changed = {link.name: link.new for link in links if not link.was_consistent}
    repaired = source.edited(changed)
    for link in changed:
        pi = repaired.inertial(link)
        # Checked as written, with the rounding of the text.
        assert pi is not None and is_consistent(pi), "the floor is far from rounding"
    return Repair(source.path, tuple(links), repaired)


def repair_json(repair: Repair) -> dict[str, Any]:
    """Plain values, schema `poinsot.repair/1`."""
    return {
        "schema": REPAIR_SCHEMA,
        "description": repair.source.name,
        "impossible": len(repair.impossible),
        "bodies": [
            {
                "name": link.name,
                "was_consistent": link.was_consistent,
                "reason": None if link.was_consistent else "; ".join(link.reasons),
                "distance": link.distance,
                "old": _physical(link.old),
                "new": _physical(link.new),
            }
            for link in repair.links
        ],
    }


def _physical(pi: Vector | None) -> dict[str, Any] | None:
    if pi is None:
        return None
    known = pi[0] != 0
    return {
        "mass": float(pi[0]),
        "center_of_mass": center_of_mass(pi) if known else None,
        "inertia_at_com": inertia_at_com(pi) if known else None,
    }
