"""URDF: `<inertial>` of links, `<dynamics damping friction>` of joints; rotor inertia is not supported."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Matrix, Vector
from ..exceptions import UnreadableFile
from ..inertia.parameters import from_physical
from .description import Description, Freedom, JointDynamics, number_text, numbers, symmetric, written
from .xml_text import Edit, Element

ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


class Urdf(Description):
    """A `<robot>`."""

    format: ClassVar[str] = "URDF"
    holds: ClassVar[tuple[str, ...]] = ("damping", "friction")

    @cached_property
    def links(self) -> Mapping[str, Element]:
        return self._by_name(self.text.root.all("link"))

    @cached_property
    def freedoms(self) -> Mapping[Freedom, Element]:
        # For a joint with several freedoms `<dynamics>` does not name one.
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
        I, R = symmetric(entries, ENTRIES.values()), _rotation(element, where)
        return from_physical(m, _of_origin(element, "xyz", where), R @ I @ R.T)

    def terms(self, freedom: Freedom) -> JointDynamics:
        dynamics = self.freedoms[freedom].first("dynamics")
        if dynamics is None:
            return JointDynamics()
        where = f"<dynamics> of the joint that moves {freedom[0]!r} in {self.path}"
        return JointDynamics(
            **{
                term: float(numbers(dynamics.get(term), 1, where)[0])
                for term in self.holds
                if term in dynamics.attributes
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
            entries = " ".join(f'{name}="{number_text(I[at])}"' for name, at in ENTRIES.items())
            inside = [_origin(c), f'<mass value="{number_text(m)}"/>', f"<inertia {entries}/>"]
            new = ["<inertial>", *(f"  {line}" for line in inside), "</inertial>"]
            return [self.text.insert(self.links[link], new)]
        R = _rotation(element, f"the inertia of link {link!r} in {self.path}")
        # Into the axes of the file's inertial frame, so that its rpy stays unchanged.
        I = R.T @ I @ R
        mass, inertia = element.first("mass"), element.first("inertia")
        assert mass is not None and inertia is not None, "inertial() has read it"
        edits = self._changed(mass, "value", np.array([m]), abs(m))
        rounded = float(np.abs(np.diag(I)).sum() + abs(m) * (c @ c))
        for name, (row, column) in ENTRIES.items():
            # R^T I R is symmetric to rounding only.
            entry = 0.5 * (I[row, column] + I[column, row])
            edits += self._changed(inertia, name, np.array([entry]), rounded)
        origin = element.first("origin")
        if origin is None:
            return [*edits, *([self.text.insert(element, [_origin(c)])] if c.any() else [])]
        return [*edits, *self._changed(origin, "xyz", c, float(np.abs(c).max()))]

    def _terms_edits(self, freedom: Freedom, terms: JointDynamics) -> list[Edit]:
        joint = self.freedoms[freedom]
        values = {name: value for name in self.holds if (value := getattr(terms, name)) is not None}
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


def _of_origin(inertial: Element, name: str, where: str) -> Vector:
    """(3,) an attribute of `<origin>`, zero by default."""
    origin = inertial.first("origin")
    return numbers("0 0 0" if origin is None else origin.get(name, "0 0 0"), 3, f"{name} of {where}")


def _rotation(inertial: Element, where: str) -> Matrix:
    """(3, 3) R = Rz(yaw) Ry(pitch) Rx(roll), from the inertial frame to the link's."""
    # Lower case means fixed axes in SciPy, as in URDF.
    return Rotation.from_euler("xyz", _of_origin(inertial, "rpy", where)).as_matrix()


def _origin(c: Vector) -> str:
    return f'<origin xyz="{number_text(c)}" rpy="0 0 0"/>'
