"""URDF: `<inertial>` of links, `<dynamics damping friction>` of joints; rotor inertia has no place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Matrix, Vector
from ..exceptions import UnreadableFile
from ..inertia.parameters import from_physical
from .description import Description, Freedom, JointTerms, number_text, numbers, symmetric, written
from .xml_text import Edit, Element

ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
ATTRIBUTES = {"damping": "damping", "friction": "friction"}


class Urdf(Description):
    """A `<robot>`."""

    format: ClassVar[str] = "URDF"
    holds: ClassVar[tuple[str, ...]] = ("damping", "friction")

    @cached_property
    def links(self) -> Mapping[str, Element]:
        return self._by_name(self.text.root.all("link"))

    @cached_property
    def freedoms(self) -> Mapping[Freedom, Element]:
        # Of a joint with several freedoms `<dynamics>` does not say of which it is.
        one = ("revolute", "continuous", "prismatic")
        found: dict[Freedom, Element] = {}
        for joint in self.text.root.all("joint"):
            child = joint.first("child")
            if joint.get("type") in one and child is not None:
                found[child.get("link"), 0] = joint
        return found

    def inertial(self, link: str) -> Vector | None:
        element = self.links[link].first("inertial")
        if element is None:
            return None
        where = f"the inertia of link {link!r} in {self.path}"
        mass, inertia = element.first("mass"), element.first("inertia")
        if mass is None or inertia is None:
            raise UnreadableFile(f"{where} has no <{'mass' if mass is None else 'inertia'}>; add it")
        m = numbers(mass.get("value"), 1, f"<mass> of {where}")[0]
        entries = [numbers(inertia.get(name), 1, f"{name} of {where}")[0] for name in ENTRIES]
        I, R = symmetric(entries, ENTRIES.values()), self._rotation(element, where)
        return from_physical(m, self._center(element, where), R @ I @ R.T)

    def has_shape_inertia(self, link: str) -> bool:
        return False

    def terms(self, freedom: Freedom) -> JointTerms:
        dynamics = self.freedoms[freedom].first("dynamics")
        if dynamics is None:
            return JointTerms()
        where = f"<dynamics> of the joint that moves {freedom[0]!r} in {self.path}"
        return JointTerms(
            **{
                term: float(numbers(dynamics.get(name), 1, where)[0])
                for term, name in ATTRIBUTES.items()
                if name in dynamics.attributes
            }
        )

    def slides(self, freedom: Freedom) -> bool:
        return self.freedoms[freedom].get("type") == "prismatic"

    def _inertial_edits(self, link: str, pi: Vector | None) -> list[Edit]:
        element = self.links[link].first("inertial")
        if pi is None:
            return [] if element is None else [self.text.remove(element)]
        m, c, I = written(pi)
        if element is None:
            return [self.text.insert(self.links[link], _new_inertial(m, c, I))]
        where = f"the inertia of link {link!r} in {self.path}"
        R = self._rotation(element, where)
        I = R.T @ I @ R
        mass, inertia = element.first("mass"), element.first("inertia")
        assert mass is not None and inertia is not None, "inertial() has read it"
        edits = self._changed(mass, "value", np.array([m]), abs(m))
        rounded = float(np.abs(np.diag(I)).sum() + abs(m) * (c @ c))
        for name, (row, column) in ENTRIES.items():
            entry = 0.5 * (I[row, column] + I[column, row])
            edits += self._changed(inertia, name, np.array([entry]), rounded)
        origin = element.first("origin")
        if origin is None:
            return [*edits, *([self.text.insert(element, [_origin(c)])] if c.any() else [])]
        return [*edits, *self._changed(origin, "xyz", c, float(np.abs(c).max()))]

    def _terms_edits(self, freedom: Freedom, terms: JointTerms) -> list[Edit]:
        joint = self.freedoms[freedom]
        asked = {ATTRIBUTES[name]: getattr(terms, name) for name in ATTRIBUTES}
        values = {name: value for name, value in asked.items() if value is not None}
        dynamics = joint.first("dynamics")
        if not values:
            return []
        if dynamics is None:
            attributes = " ".join(f'{name}="{number_text(value)}"' for name, value in values.items())
            return [self.text.insert(joint, [f"<dynamics {attributes}/>"])]
        return [
            edit
            for name, value in values.items()
            for edit in self._changed(dynamics, name, np.array([value]), abs(value))
        ]

    @staticmethod
    def _center(inertial: Element, where: str) -> Vector:
        origin = inertial.first("origin")
        return numbers("0 0 0" if origin is None else origin.get("xyz", "0 0 0"), 3, f"xyz of {where}")

    @staticmethod
    def _rotation(inertial: Element, where: str) -> Matrix:
        """(3, 3) R = Rz(yaw) Ry(pitch) Rx(roll), from the inertial frame to the link's."""
        origin = inertial.first("origin")
        rpy = numbers("0 0 0" if origin is None else origin.get("rpy", "0 0 0"), 3, f"rpy of {where}")
        return Rotation.from_euler("xyz", rpy).as_matrix()


def _origin(c: Vector) -> str:
    return f'<origin xyz="{number_text(c)}" rpy="0 0 0"/>'


def _new_inertial(m: float, c: Vector, I: Matrix) -> list[str]:
    entries = " ".join(f'{name}="{number_text(I[at])}"' for name, at in ENTRIES.items())
    inside = [_origin(c), f'<mass value="{number_text(m)}"/>', f"<inertia {entries}/>"]
    return ["<inertial>", *(f"  {line}" for line in inside), "</inertial>"]
