"""MJCF: `<inertial pos mass fullinertia>` of bodies, `damping`, `frictionloss` and `armature` of joints.

A joint's attribute is its own, or that of its default class: the one it names, the innermost `childclass` of the
bodies around it, or the main one; a class inherits from the class around it. So an attribute written at the joint
takes effect.

Some compiler features cannot be combined with edits of single bodies and are refused: generated bodies (`<include>`,
`<frame>`, `<replicate>`, ...), inertia that is overridden by shapes, masses that are scaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Matrix, Vector
from ..exceptions import InvalidModel, UnreadableFile
from ..inertia.parameters import from_physical
from ..models.rotations import from_quaternion, turning_z_to
from .description import Description, Freedom, JointDynamics, number_text, numbers, symmetric, written
from .xml_text import Edit, Element

ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Indices of the entries of `fullinertia`."""

ATTRIBUTES = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
FREEDOMS = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
ZERO_INERTIAL = '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
"""Replaces a removed inertia: without it, MuJoCo computes one from the shapes."""

GENERATED = ("include", "replicate", "attach", "composite", "flexcomp")


class Mjcf(Description):
    """A `<mujoco>`."""

    format: ClassVar[str] = "MJCF"
    holds: ClassVar[tuple[str, ...]] = tuple(ATTRIBUTES)

    @cached_property
    def links(self) -> Mapping[str, Element]:
        for element in self.text.root.walk():
            inside = {each.tag for each in element.walk()} if element.tag == "frame" else set()
            if element.tag in GENERATED or inside & {"body", "joint"}:
                raise InvalidModel(
                    f"{self.path} is put together with <{element.tag}>, so its bodies cannot be edited one by one; "
                    "write them out as nested <body> elements first"
                )
        worlds = self.text.root.all("worldbody")
        bodies = [each for world in worlds for each in world.walk() if each.tag == "body"]
        if not all(body.get("name") for body in bodies):
            raise InvalidModel(
                f"a body in {self.path} has no name, so the parser leaves it out; name every body"
            )
        return self._by_name(bodies)

    @cached_property
    def freedoms(self) -> Mapping[Freedom, Element]:
        # A ball joint has no terms of a single axis; it only shifts the indices of the freedoms after it.
        found: dict[Freedom, Element] = {}
        for name, body in self.links.items():
            first = 0
            for joint in body.children:
                if joint.tag == "joint":
                    kind = self._of_joint(joint, "type") or "hinge"
                    if FREEDOMS.get(kind) == 1:
                        found[name, first] = joint
                    first += FREEDOMS.get(kind, 0)
                elif joint.tag == "freejoint":
                    first += FREEDOMS["free"]
        return found

    def inertial(self, link: str) -> Vector | None:
        element = self.links[link].first("inertial")
        if element is None:
            return None
        where = f"the inertia of body {link!r} in {self.path}"
        m = numbers(element.get("mass"), 1, f"mass of {where}")[0]
        c = numbers(element.get("pos"), 3, f"pos of {where}")
        if "fullinertia" in element.attributes:
            I = symmetric(numbers(element.get("fullinertia"), 6, f"fullinertia of {where}"), ORDER)
        else:
            I = np.diag(numbers(element.get("diaginertia"), 3, f"diaginertia of {where}"))
        R = self._rotation(element, where)
        return from_physical(m, c, R @ I @ R.T)

    def has_shape_inertia(self, link: str) -> bool:
        body = self.links[link]
        return body.first("inertial") is None and body.first("geom") is not None

    def terms(self, freedom: Freedom) -> JointDynamics:
        joint = self.freedoms[freedom]
        where = f"the joint that moves {freedom[0]!r} in {self.path}"
        given = {term: self._of_joint(joint, name) for term, name in ATTRIBUTES.items()}
        # MuJoCo's damping may be a polynomial in the speed; its first number is the linear coefficient
        return JointDynamics(
            **{
                term: float(numbers(text.split()[0], 1, f"{ATTRIBUTES[term]} of {where}")[0])
                for term, text in given.items()
                if text.split()
            }
        )

    def slides(self, freedom: Freedom) -> bool:
        return self._of_joint(self.freedoms[freedom], "type") == "slide"

    def _inertial_edits(self, link: str, pi: Vector | None) -> list[Edit]:
        if self._compiler("inertiafromgeom", "auto") == "true":
            raise InvalidModel(
                f'{self.path} takes all inertia from shapes; set inertiafromgeom="auto" in its <compiler> first'
            )
        # -1: masses are not scaled.
        if float(numbers(self._compiler("settotalmass", "-1"), 1, f"settotalmass in {self.path}")[0]) > 0:
            raise InvalidModel(
                f"{self.path} scales all masses; remove settotalmass from its <compiler> first"
            )
        body = self.links[link]
        element = body.first("inertial")
        if pi is None:
            # The compiler's bounds would raise these zeros, too.
            self._check_bounds(link, 0.0, np.zeros((3, 3)))
            if element is not None:
                return [Edit(element.start, element.end, ZERO_INERTIAL)]
            return [self.text.insert(body, [ZERO_INERTIAL])] if self.has_shape_inertia(link) else []
        m, c, I = written(pi)
        if m <= 0:
            raise InvalidModel(f"MJCF cannot hold the mass {m:.4g} kg of {link!r}, which must be above 0")
        self._check_bounds(link, m, I)
        full = number_text(np.array([I[at] for at in ORDER]))
        if element is None:
            new = f'<inertial pos="{number_text(c)}" mass="{number_text(m)}" fullinertia="{full}"/>'
            return [self.text.insert(body, [new])]
        # In axes of the body: an orientation of the inertial frame would rotate the new inertia.
        edits = [
            self.text.remove_attribute(element, name) for name in ORIENTATIONS if name in element.attributes
        ]
        for name, value in (("pos", c), ("mass", np.array([m]))):
            edits += self._changed(element, name, value, float(np.abs(value).max()))
        if "diaginertia" in element.attributes:
            return [*edits, self.text.replace_attribute(element, "diaginertia", "fullinertia", full)]
        return [*edits, self.text.set_attribute(element, "fullinertia", full)]

    def _terms_edits(self, freedom: Freedom, terms: JointDynamics) -> list[Edit]:
        joint, old = self.freedoms[freedom], self.terms(freedom)
        # "0 0" is a springdamper without effect.
        if terms.damping is not None and self._of_joint(joint, "springdamper").strip("0. "):
            raise InvalidModel(
                f"the joint that moves {freedom[0]!r} in {self.path} has a springdamper, which overrides its damping; "
                "write stiffness and damping instead"
            )
        return [
            self.text.set_attribute(joint, name, number_text(value))
            for term, name in ATTRIBUTES.items()
            for value in [getattr(terms, term)]
            if value is not None
            and (value != (getattr(old, term) or 0.0) or len(self._of_joint(joint, name).split()) > 1)
        ]

    def _compiler(self, name: str, default: str) -> str:
        """An attribute of `<compiler>`; the last one given takes effect."""
        said = [element.get(name) for element in self.text.root.all("compiler") if name in element.attributes]
        return said[-1] if said else default

    def _check_bounds(self, link: str, m: float, I: Matrix) -> None:
        for name, value in (("boundmass", m), ("boundinertia", float(np.linalg.eigvalsh(I)[0]))):
            bound = float(numbers(self._compiler(name, "0"), 1, f"{name} in {self.path}")[0])
            if value < bound:
                raise InvalidModel(
                    f"{self.path} raises what is below {name} = {bound:g}, and {link!r} has {value:.4g}; remove it "
                    "from its <compiler> first"
                )

    def _rotation(self, element: Element, where: str) -> Matrix:
        """(3, 3) R from the frame that an element's orientation describes to its parent's."""
        said = next((name for name in ORIENTATIONS if name in element.attributes), None)
        if said is None:
            return np.eye(3)
        count = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}[said]
        values = numbers(element.get(said), count, f"{said} of {where}")
        turn = np.pi / 180 if self._compiler("angle", "degree") == "degree" else 1.0
        if said == "euler":
            R = np.eye(3)
            # Lower case: about the rotated axes; upper case: about the fixed axes.
            for letter, angle in zip(self._compiler("eulerseq", "xyz"), turn * values, strict=True):
                each = Rotation.from_euler(letter.lower(), angle).as_matrix()
                R = R @ each if letter.islower() else each @ R
            return R
        if not values[:3].any() and (said != "quat" or not values.any()):
            raise UnreadableFile(f"{said} of {where} has no direction: {element.get(said)!r}")
        if said == "quat":
            return from_quaternion(np.roll(values, -1)[None])[0]  # w comes first in MJCF
        if said == "axisangle":
            axis = values[:3] / np.linalg.norm(values[:3])
            return np.asarray(Rotation.from_rotvec(turn * values[3] * axis).as_matrix())
        if said == "zaxis":
            return turning_z_to(values)
        x = values[:3] / np.linalg.norm(values[:3])
        y = values[3:] - (values[3:] @ x) * x
        y /= np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)])

    def _of_joint(self, joint: Element, name: str) -> str:
        """A joint's attribute, its own or its default class's; "" if not given."""
        if name in joint.attributes:
            return joint.get(name)
        around = [joint.get("class")] + [above.get("childclass") for above in _above(joint)]
        chosen = next(filter(None, around), None)
        main = list(self.text.root.all("default"))
        classes = [each for top in main for each in top.walk() if each.tag == "default"]
        own = [each for each in classes if chosen and each.get("class") == chosen]
        # The nearest first: the class itself, the classes around it, then the main one.
        for default in (*own, *(above for each in own for above in _above(each)), *main):
            of_joints = default.first("joint") if default.tag == "default" else None
            if of_joints is not None and name in of_joints.attributes:
                return of_joints.get(name)
        return ""


def _above(element: Element) -> Iterator[Element]:
    """Its ancestors, from the parent to the root."""
    while element.parent is not None:
        element = element.parent
        yield element
