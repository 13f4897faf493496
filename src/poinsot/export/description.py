"""Robot descriptions whose inertia and joint terms are read and replaced link by link, in place.

A link's ten parameters are about the origin and along the axes of the link's own frame here, whatever the file writes:

    pi = (m, m c, I_c + m (|c|^2 1 - c c^T)),   I_c = R I_file R^T

with R the rotation of the file's inertial frame. A joint is identified by the link that it moves and the index of its
freedom there, since the formats name joints differently and a joint of MJCF may have no name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import LARGEST, SMALLEST, Matrix, Vector
from ..exceptions import InvalidModel, UnreadableFile, UnwritableOutput
from ..inertia.parameters import center_of_mass, inertia_at_com, is_consistent
from ..io.writing import write_text
from .xml_text import Edit, Element, XmlText

Freedom = tuple[str, int]
"""The link that a joint moves, and the index of the degree of freedom there."""


class JointDynamics(NamedTuple):
    """Damping [N m s/rad] or [N s/m], dry friction [N m] or [N], and armature, the rotor's inertia [kg m^2] or [kg], of
    a degree of freedom; None: not given, or to be kept.
    """

    damping: float | None = None
    friction: float | None = None
    armature: float | None = None


@dataclass(frozen=True, eq=False)
class Description(ABC):
    """A description as text, and the file that it came from."""

    path: Path
    text: XmlText

    format: ClassVar[str]
    """Name of the format."""

    holds: ClassVar[tuple[str, ...]]
    """The `JointDynamics` that the format supports."""

    @cached_property
    @abstractmethod
    def links(self) -> Mapping[str, Element]:
        """Link -> its element, in document order."""

    @cached_property
    @abstractmethod
    def freedoms(self) -> Mapping[Freedom, Element]:
        """Degree of freedom -> the element of its joint, where the format supports its terms."""

    @abstractmethod
    def inertial(self, link: str) -> Vector | None:
        """(10,) pi of a link in its own frame; None where there is none; `UnreadableFile` if it is incomplete."""

    def has_shape_inertia(self, link: str) -> bool:
        """Whether simulators compute its inertia from its shapes, since the description gives none."""
        return False

    def has_place_for(self, term: str) -> bool:
        """Whether a simulator applies a term of `JointDynamics` that the description has."""
        return term in self.holds

    @abstractmethod
    def terms(self, freedom: Freedom) -> JointDynamics:
        """The joint terms of a degree of freedom."""

    @abstractmethod
    def slides(self, freedom: Freedom) -> bool:
        """Whether it is prismatic."""

    @abstractmethod
    def _inertial_edits(self, link: str, pi: Vector | None) -> list[Edit]:
        """Edits that set a link's pi (10,) in its own frame; None removes the inertia."""

    @abstractmethod
    def _terms_edits(self, freedom: Freedom, terms: JointDynamics) -> list[Edit]:
        """Edits that set these terms, where they are not None."""

    def _by_name(self, links: Iterable[Element]) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for link in links:
            name = link.get("name")
            if name in found:
                raise InvalidModel(
                    f"two links in {self.path} are named {name!r}; give each a name of its own"
                )
            found[name] = link
        return found

    def _changed(self, element: Element, name: str, values: Vector, size: float) -> list[Edit]:
        """The edit that sets an attribute to these numbers, if they differ by more than rounding of this size."""
        text = updated(element.get(name), values, size)
        return [] if text == element.get(name) else [self.text.set_attribute(element, name, text)]

    def write(self, path: str | Path) -> None:
        """Write the text, complete or not at all; `UnwritableOutput` also if it would overwrite its source."""
        path = Path(path)
        if path.exists() and path.resolve() == self.path.resolve():
            raise UnwritableOutput(
                f"cannot write {path}: it is the source, which is kept for comparison; give another name or folder"
            )
        write_text(path, self.text.data.decode())

    def edited(
        self, inertials: Mapping[str, Vector | None], terms: Mapping[Freedom, JointDynamics] | None = None
    ) -> Self:
        """Return the description with new inertia and joint terms. `inertials`: link -> (10,) pi in its own frame; None
        removes the inertia. `terms`: degree of freedom -> its new terms; None keeps one. Raises `InvalidModel` if the
        format does not support them.
        """
        of_links = (self._inertial_edits(link, pi) for link, pi in inertials.items())
        of_joints = (self._terms_edits(freedom, asked) for freedom, asked in (terms or {}).items())
        return type(self)(self.path, self.text.edited(chain.from_iterable((*of_links, *of_joints))))


LEAST = 1e-13
"""Minimum second moment of a flat body, relative to their sum; MuJoCo requires more than rounding error."""

KEPT = 8 * float(np.finfo(float).eps)
"""Relative difference up to which a number keeps its text."""


def written(pi: Vector) -> tuple[float, Vector, Matrix]:
    """Mass [kg], centre of mass (3,) [m] and inertia about it (3, 3), axes of the link [kg m^2], from pi (10,).

    A plate, whose smallest second moment is zero to rounding, gets one of `LEAST`: simulators accept its triangle
    inequality then, and the effect on torques is below rounding.
    """
    if pi[0] == 0 and pi.any():
        raise InvalidModel("a description cannot hold the moments of a body whose mass is 0")
    if pi[0] == 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    I = inertia_at_com(pi)
    I = 0.5 * (I + I.T)
    # Second moments of mass: tr(I)/2 1 - I, positive for every real body.
    L, V = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)
    size = np.abs(L).sum()
    # A plate has one small moment. A rod has two, and raising one of them would make it a plate.
    if L[0] < LEAST * size and L[1] > 1e-3 * size and is_consistent(pi):
        # A second moment s along v adds s (1 - v v^T) to the inertia.
        lift = (LEAST * size - L[0]) * np.outer(V[:, 0], V[:, 0])
        I = I + np.trace(lift) * np.eye(3) - lift
    return float(pi[0]), center_of_mass(pi), I


def numbers(text: str, count: int, where: str) -> Vector:
    """(count,) finite numbers, separated by white space; `UnreadableFile` if they are not."""
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not (np.abs(values) <= LARGEST).all():
        many = "a finite number" if count == 1 else f"{count} finite numbers"
        raise UnreadableFile(f"{where} needs {many}, not {text!r}")
    # smaller numbers underflow when they are squared or divided by a mass
    return np.where(np.abs(values) < SMALLEST, 0.0, values)


def symmetric(entries: Iterable[float], places: Iterable[tuple[int, int]]) -> Matrix:
    """(3, 3) from six entries and their places in the upper triangle."""
    I = np.empty((3, 3))
    for entry, (row, column) in zip(entries, places, strict=True):
        I[row, column] = I[column, row] = entry
    return I


def updated(text: str, values: Vector | float, size: float) -> str:
    """Replace the numbers of a text that differ by more than the rounding of this size; else it is unchanged."""
    values, words = np.ravel(values), text.split()
    # A missing attribute, or one with another number of words, is replaced as a whole.
    if len(words) != len(values):
        return number_text(values)
    kept = np.abs(np.array([float(word) for word in words]) - values) <= KEPT * size
    return text if kept.all() else " ".join(np.where(kept, words, number_text(values).split()))


def number_text(values: Vector | float) -> str:
    """Text with enough digits to read the same numbers again."""
    return " ".join(repr(float(value)) for value in np.ravel(values))
