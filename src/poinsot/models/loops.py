"""Loops of a robot: points of two links that stay together, where the tree of joints is cut open.

`closure` has what follows for the motion, `loop_constraint` the force that closes a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..exceptions import InvalidModel, listing, nearest

WORLD = "world"
"""The link that does not move, as a link of a loop."""


@dataclass(frozen=True)
class Loop:
    """Points of two links that coincide, as MJCF's `connect`.

    Args:
        links: the two links; "world" is the one that does not move.
        points: of each, in its frame [m].
    """

    links: Sequence[str]
    points: Sequence[Sequence[float]]

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
    """Add a frame to the model at each point of each loop.

    Raises:
        InvalidModel: if a link does not exist.
    """
    links = {f.name: f for f in model.frames if f.type == pin.FrameType.BODY} | {WORLD: model.frames[0]}
    for loop, names in zip(loops, frames_of(loops), strict=True):
        for link, point, name in zip(loop.links, loop.points, names, strict=True):
            at = links.get(link)
            if at is None:
                raise InvalidModel(
                    f"a loop needs two links, not {link!r}{nearest(link, links)}; the robot has {listing(links, 20)}"
                )
            placement = at.placement * pin.SE3(np.eye(3), np.array(point, dtype=float))
            model.addFrame(
                pin.Frame(name, at.parentJoint, model.getFrameId(at.name, at.type), placement, pin.OP_FRAME)
            )


def loops_of(
    model: pin.Model,
    points: Iterable[pin.PointAnchorConstraintModel],
    welds: Iterable[pin.FrameAnchorConstraintModel],
) -> Iterator[Loop]:
    """The equalities `connect` of an MJCF description, as Pinocchio reads them.

    Raises:
        InvalidModel: if there are others, `weld`.
    """
    if len(list(welds)):
        raise InvalidModel(
            "the description welds bodies together, which would be lost: make them one body, or give two or three "
            "`connect` on the same bodies"
        )
    for point in points:
        ends = [(point.joint1_id, point.joint1_placement), (point.joint2_id, point.joint2_placement)]
        links, at = zip(*(_seen_from_link(model, joint, T) for joint, T in ends), strict=True)
        yield Loop(links, at)


def _seen_from_link(model: pin.Model, joint: int, placement: pin.SE3) -> tuple[str, tuple[float, ...]]:
    """The first link that a joint carries, and a point in its frame."""
    link = next(
        (f for f in model.frames if f.parentJoint == joint and f.type == pin.FrameType.BODY), model.frames[0]
    )
    return (link.name if joint else WORLD), tuple((link.placement.actInv(placement)).translation.tolist())
