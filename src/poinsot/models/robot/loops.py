"""Loops of a robot: points of two links that stay together, where the tree of joints is cut open.

`closure` has the consequences for the motion, `loop_constraint` the force that closes a loop.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin
from annotated_types import Len

from ...exceptions import InvalidModel, check_known
from ...ranges import Point

WORLD = "world"
"""The link that does not move, as a link of a loop."""


@dataclass(frozen=True)
class Loop:
    """Points of two links that coincide, as MJCF's `connect`.

    Args:
        links: the two links; "world" is the one that does not move.
        points: the point of each link, in its frame [m].
    """

    links: Annotated[Sequence[str], Len(2, 2)]
    points: Annotated[Sequence[Point], Len(2, 2)]

    def __post_init__(self) -> None:
        if any(len(point) != 3 or not np.isfinite(point).all() for point in self.points):
            raise InvalidModel(
                f"the loop between {self.links[0]!r} and {self.links[1]!r} needs a point of three finite numbers [m] "
                "in the frame of each link: points = [[0, 0, 0.3], [0, 0, 0]]"
            )


def frames_of(loops: Sequence[Loop]) -> list[tuple[str, ...]]:
    """Names of the frames at both points of each loop, which `load_robot` adds to the robot."""
    return [tuple(f"loop{k}.{side}.{loop.links[side]}" for side in range(2)) for k, loop in enumerate(loops)]


def add_frames(model: pin.Model, loops: Sequence[Loop]) -> None:
    """Add a frame to the model at each point of each loop. Raises InvalidModel if a link does not exist."""
    links = _links(model)
    for loop, names in zip(loops, frames_of(loops), strict=True):
        for link, point, name in zip(loop.links, loop.points, names, strict=True):
            check_known(link, links, "a loop needs two links, not", "the robot has", limit=20)
            at = links[link]
            placement = at.placement * pin.SE3(np.eye(3), np.array(point, dtype=float))
            model.addFrame(
                pin.Frame(name, at.parentJoint, model.getFrameId(at.name, at.type), placement, pin.OP_FRAME)
            )


def loops_of(model: pin.Model, description: str) -> Iterator[Loop]:
    """The active `connect` equalities of an MJCF description, between bodies or sites.

    MJCF gives the point in the frame of the first body; the second body's point follows from the neutral configuration.

    Raises InvalidModel if bodies are welded together.
    """
    root, data = ElementTree.fromstring(description), model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    placements = {
        name: data.oMf[model.getFrameId(frame.name, frame.type)] for name, frame in _links(model).items()
    }
    sites = {
        site.get("name"): (body.get("name", ""), _numbers(site.get("pos", "0 0 0")))
        for body in root.iter("body")
        for site in body.findall("site")
    }
    for equality in root.iterfind("equality/*"):
        if equality.get("active", "true") != "true" or equality.tag not in ("connect", "weld"):
            continue
        if equality.tag == "weld":
            raise InvalidModel(
                "the description welds bodies together, which would be lost: make them one body, or give two or three "
                "`connect` on the same bodies"
            )
        if all(ends := (equality.get("site1", ""), equality.get("site2", ""))):
            links, points = zip(*(sites.get(name, (name, (0.0,) * 3)) for name in ends), strict=True)
        else:
            links = equality.get("body1", ""), equality.get("body2", WORLD)
            anchor = _numbers(equality.get("anchor", ""))
            first, second = (placements.get(link, pin.SE3.Identity()) for link in links)
            relative = second.inverse() * first
            other = relative.rotation @ anchor + relative.translation if len(anchor) == 3 else np.zeros(0)
            points = anchor, tuple(other.tolist())
        yield Loop(links, points)


def _numbers(text: str) -> tuple[float, ...]:
    """Numbers of a text; empty where one is not a number."""
    try:
        return tuple(map(float, text.split()))
    except ValueError:
        return ()


def _links(model: pin.Model) -> dict[str, pin.Frame]:
    """Link -> a copy of its frame, the world's among them: adding frames moves those of the model in memory."""
    bodies = {f.name: pin.Frame(f) for f in model.frames if f.type == pin.FrameType.BODY}
    return bodies | {WORLD: pin.Frame(model.frames[0])}
