"""MJCF: `<inertial pos mass fullinertia>` of bodies, `damping`, `frictionloss` and `armature` of joints.

What a body or joint has is what MuJoCo reads. An `<inertial>` wins over shapes, and an attribute of a joint over
its default class, so what is written there takes effect. Included files become part of the text.

Where the compiler overrides inertia by that of shapes, or scales all masses, every moving body gets the inertia that it
computes, and it does so no more. Generated bodies (`<replicate>`, `<attach>`, ...) are refused: they cannot be edited
one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Matrix, Vector
from ..exceptions import InvalidModel, UnreadableFile
from ..inertia.parameters import from_physical
from ..models.robot.articulated import read_description
from ..models.rotations import from_quaternion
from .description import Description, Freedom, JointDynamics, number_text, symmetric, written
from .xml_text import Edit, Element

ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Indices of the entries of `fullinertia`."""

ATTRIBUTES = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
ZERO_INERTIAL = '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
"""Replaces a removed inertia: without it, MuJoCo computes one from the shapes."""

FREEDOMS = {"mjJNT_HINGE": 1, "mjJNT_SLIDE": 1, "mjJNT_BALL": 3, "mjJNT_FREE": 6}

GENERATED = ("replicate", "attach", "composite", "flexcomp")

INCLUDE = re.compile(r"<include\s+file\s*=\s*[\"']([^\"']+)[\"']\s*(?:/>|>\s*</include\s*>)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Mjcf(Description):
    """A `<mujoco>`."""

    format: ClassVar[str] = "MJCF"
    holds: ClassVar[tuple[str, ...]] = tuple(ATTRIBUTES)

    @cached_property
    def _specification(self) -> Any:
        """MuJoCo's reading of the text, defaults resolved, before anything is computed from shapes."""
        from ..models.robot.compiled import specification

        return specification(self.text.data.decode(), self.path)

    @cached_property
    def links(self) -> Mapping[str, Element]:
        generated = next((e.tag for e in self.text.root.walk() if e.tag in GENERATED), None)
        if generated is not None:
            raise InvalidModel(
                f"{self.path} is put together with <{generated}>, so its bodies cannot be edited one by one; "
                "write them out as nested <body> elements first"
            )
        worlds = self.text.root.all("worldbody")
        bodies = [element for world in worlds for element in world.walk() if element.tag == "body"]
        from ..models.robot.compiled import BODY_NAME, unique_names

        # bodies of the text are in the order of MuJoCo's, of which the first is the world
        names = unique_names([body.name for body in self._specification.bodies], BODY_NAME.format)
        return dict(zip(names[1:], bodies, strict=True))

    @cached_property
    def _bodies(self) -> dict[str, Any]:
        """Link -> its body in MuJoCo's reading."""
        return dict(zip(self.links, self._specification.bodies[1:], strict=True))

    @property
    def _is_overridden(self) -> bool:
        """Whether the compiler changes the inertia that bodies have in the text."""
        compiler = self._specification.compiler
        return bool(compiler.inertiafromgeom == 1 or compiler.settotalmass > 0)  # 1: "true"

    @cached_property
    def _computed(self) -> dict[str, Vector]:
        """Link -> (10,) pi that the compiler gives it; of bodies that move."""
        from ..models.robot.compiled import compile_text, inertial_of

        m = compile_text(self.text.data.decode(), self.path)
        return {
            link: inertial_of(m, b).toDynamicParameters()
            for b, link in enumerate(self.links, start=1)
            if m.body_weldid[b] and m.body_mass[b]
        }

    def edited(
        self, inertials: Mapping[str, Vector | None], terms: Mapping[Freedom, JointDynamics] | None = None
    ) -> Self:
        if not inertials or not self._is_overridden:
            return super().edited(inertials, terms)
        described = super().edited({**self._computed, **inertials}, terms)
        compilers = described.text.root.all("compiler")
        edits = [
            described.text.remove_attribute(element, name)
            for element in compilers
            for name in ("inertiafromgeom", "settotalmass")
            if name in element.attributes
        ]
        return type(self)(self.path, described.text.edited(edits))

    @cached_property
    def _joints(self) -> dict[Freedom, tuple[Element, Any]]:
        """Degree of freedom of an axis -> the element of its joint in the text, and its joint in MuJoCo's reading."""
        joints = {}
        for name, body in self.links.items():
            first = 0
            own = [element for element in _own(body) if element.tag in ("joint", "freejoint")]
            for element, joint in zip(own, self._bodies[name].joints, strict=True):
                size = FREEDOMS[joint.type.name]
                if size == 1:  # a ball has no terms of a single axis; it only shifts the indices after it
                    joints[name, first] = element, joint
                first += size
        return joints

    @cached_property
    def freedoms(self) -> Mapping[Freedom, Element]:
        return {freedom: element for freedom, (element, _) in self._joints.items()}

    def inertial(self, link: str) -> Vector | None:
        if self._is_overridden:
            return self._computed.get(link)
        spec, body = self._specification, self._bodies[link]
        if not body.explicitinertial:
            return None
        if np.isfinite(body.fullinertia[0]):
            I = symmetric(body.fullinertia, ORDER)
        else:
            w, x, y, z = spec.resolve_orientation(
                degree=spec.compiler.degree, sequence=spec.compiler.eulerseq, orientation=body.ialt
            ) if body.ialt.type.value else body.iquat  # fmt: skip
            R = from_quaternion(np.array([[x, y, z, w]]))[0]
            I = R @ np.diag(body.inertia) @ R.T
        return from_physical(float(body.mass), np.array(body.ipos), I)

    def has_shape_inertia(self, link: str) -> bool:
        body = self._bodies[link]
        return not (body.explicitinertial or self._is_overridden) and bool(len(body.geoms))

    def has_place_for(self, term: str) -> bool:
        from ..models.robot.compiled import disabled_terms

        return super().has_place_for(term) and term not in disabled_terms(
            self._specification.option.disableflags
        )

    def terms(self, freedom: Freedom) -> JointDynamics:
        joint = self._joints[freedom][1]
        # MuJoCo's damping may be a polynomial in the speed; its first number is the linear coefficient
        return JointDynamics(
            float(np.ravel(joint.damping)[0]), float(joint.frictionloss), float(joint.armature)
        )

    def slides(self, freedom: Freedom) -> bool:
        return str(self._joints[freedom][1].type.name) == "mjJNT_SLIDE"

    def _inertial_edits(self, link: str, pi: Vector | None) -> list[Edit]:
        body = self.links[link]
        element = body.first("inertial")
        if pi is None:
            # The compiler's bounds would raise these zeros, too.
            self._check_bounds(link, 0.0, np.zeros((3, 3)))
            if element is not None:
                return [Edit(element.start, element.end, ZERO_INERTIAL)]
            return [self.text.insert(body, [ZERO_INERTIAL])] if len(self._bodies[link].geoms) else []
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
        (joint, read), old = self._joints[freedom], self.terms(freedom)
        if terms.damping is not None and np.any(read.springdamper):
            raise InvalidModel(
                f"the joint that moves {freedom[0]!r} in {self.path} has a springdamper, which overrides its damping; "
                "write stiffness and damping instead"
            )
        polynomial = bool(np.any(np.ravel(read.damping)[1:]))
        return [
            self.text.set_attribute(joint, name, number_text(value))
            for term, name in ATTRIBUTES.items()
            for value in [getattr(terms, term)]
            if value is not None and (value != getattr(old, term) or (term == "damping" and polynomial))
        ]

    def _check_bounds(self, link: str, m: float, I: Matrix) -> None:
        for name, value in (("boundmass", m), ("boundinertia", float(np.linalg.eigvalsh(I)[0]))):
            bound = float(getattr(self._specification.compiler, name))
            if value < bound:
                raise InvalidModel(
                    f"{self.path} raises what is below {name} = {bound:g}, and {link!r} has {value:.4g}; remove it "
                    "from its <compiler> first"
                )


def _own(body: Element) -> Iterator[Element]:
    """Elements of a body, also inside frames, but not those of bodies that it carries."""
    for child in body.children:
        yield child
        if child.tag == "frame":
            yield from _own(child)


def expanded(path: Path, text: str, inside: tuple[Path, ...] = ()) -> str:
    """The text of an MJCF file with the files that it includes, as MuJoCo puts them together.

    Raises:
        UnreadableFile: if an included file does not exist or is no MJCF, or files include each other.
    """
    if path in inside:
        raise UnreadableFile(f"{path} includes itself")
    comments = [match.span() for match in COMMENT.finditer(text)]

    def content(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in comments):
            return match[0]
        included = (inside or (path,))[0].parent / match[1]
        part = expanded(included, read_description(included, ("mujoco", "mujocoinclude"))[0], (*inside, path))
        part = COMMENT.sub(lambda comment: comment[0] if "<" not in comment[0][4:] else "", part)
        begin = re.search(r"<(mujoco\w*)[^>]*>", part)
        assert begin is not None, "its root element has been read"
        return part[begin.end() : part.rindex(f"</{begin[1]}")] if f"</{begin[1]}" in part else ""

    return INCLUDE.sub(content, text)
