"""Differences of two descriptions, link by link and joint by joint, as mass, centre of mass and inertia."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import Vector
from ..inertia.parameters import ROUNDING, center_of_mass, inertia_at_com
from ..parameters import INERTIAL_SYMBOLS
from .description import Description, JointDynamics
from .reading import open_description

LOWER = np.tril_indices(3)
"""The entries of an inertia in the order of its parameters: xx, xy, yy, xz, yz, zz."""

UNITS = {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N"), "armature": ("kg m^2", "kg")}
"""Units for revolute and for prismatic joints."""


class Change(NamedTuple):
    """One number of a link or a joint, before and after; None where the description does not give it. `owner`: name of
    the link or joint. `quantity`: e.g. `"mass"`, `"center of mass x"`, `"inertia xx"` (about the centre of mass, axes
    of the link), `"damping"`, `"friction"`, `"armature"`. `unit`: SI. `old`, `new`: in `unit`. `change_percent`:
    relative to the old value; of a centre of mass relative to its distance from the origin, of a product of inertia Ixy
    to sqrt(Ixx Iyy). None where that is zero or unknown.
    """

    owner: str
    quantity: str
    unit: str
    old: float | None
    new: float | None
    change_percent: float | None


def compare_descriptions(old: str | Path, new: str | Path) -> tuple[Change, ...]:
    """Compare two files, URDF or MJCF: ten rows per link that differs, one per joint term; `UnreadableFile` if none."""
    return differences(open_description(old), open_description(new))


def differences(old: Description, new: Description) -> tuple[Change, ...]:
    """`compare_descriptions` for descriptions that have been read."""
    changes = []
    for link in new.links:
        before, after = old.inertial(link) if link in old.links else None, new.inertial(link)
        if before is after or (before is not None and after is not None and np.array_equal(before, after)):
            continue
        values = [None if pi is None else _known(pi) for pi in (before, after)]
        sizes = np.zeros(10) if values[0] is None else _sizes(values[0])
        for k, (quantity, unit) in enumerate(_QUANTITIES):
            a, b = (None if known is None else float(known[k]) for known in values)
            changes.append(Change(link, quantity, unit, a, b, _percent(a, b, float(sizes[k]))))
    for freedom, joint in new.freedoms.items():
        terms = old.terms(freedom) if freedom in old.freedoms else JointDynamics(), new.terms(freedom)
        name = joint.get("name") or f"joint of {freedom[0]}"
        for quantity, units in UNITS.items():
            a, b = (getattr(dynamics, quantity) for dynamics in terms)
            if a != b:
                unit = units[new.slides(freedom)]
                changes.append(Change(name, quantity, unit, a, b, _percent(a, b, abs(a or 0.0))))
    return tuple(changes)


_QUANTITIES = [
    ("mass", "kg"),
    *((f"center of mass {axis}", "m") for axis in "xyz"),
    *((f"inertia {entry}", "kg m^2") for entry in INERTIAL_SYMBOLS[4:]),
]


def _sizes(known: Vector) -> Vector:
    """(10,) reference values of relative changes."""
    diagonal = np.abs(known[[4, 6, 9]])
    entries = np.sqrt(np.outer(diagonal, diagonal))[LOWER]
    return np.array([abs(known[0]), *3 * [np.linalg.norm(known[1:4])], *entries])


def _known(pi: Vector) -> Vector:
    """(10,) mass, centre of mass, inertia about it; all zero for a body without mass."""
    if pi[0] == 0:
        return np.zeros(10)
    return np.array([pi[0], *center_of_mass(pi), *inertia_at_com(pi)[LOWER]])


def _percent(old: float | None, new: float | None, size: float) -> float | None:
    if old is None or new is None or not size:
        return None
    # Another way to write the same number is no change.
    return 0.0 if abs(new - old) <= ROUNDING * size else 100 * (new - old) / size
