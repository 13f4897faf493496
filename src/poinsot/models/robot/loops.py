"""Constraints between the joints of a robot: loops, where points of two links stay together, and joints that follow.

`closure` has the consequences for the motion, `loop_constraint` the force that closes a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import pinocchio as pin
from annotated_types import Len
from numpy.polynomial import Polynomial

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


@dataclass(frozen=True)
class JointCoupling:
    """Joints that follow others: sum_j f_j (q_j - ref_j) = p(sum_k l_k (q_k - ref_k)), p(x) = c_0 + c_1 x + ...

    URDF's `<mimic>` and MJCF's equalities of joints and of fixed tendons.

    Args:
        follower: f, joint -> coefficient. leader: l, joint -> coefficient; empty: the followers are held.
        polynomial: c [rad] or [m], in powers of the leaders' [rad] or [m].
        references: ref, joint -> position [rad] or [m]; 0 where there is none.
    """

    follower: Mapping[str, float]
    leader: Mapping[str, float]
    polynomial: Sequence[float]
    references: Mapping[str, float] = field(default_factory=dict)

    @property
    def joints(self) -> tuple[str, ...]:
        """All joints that it couples."""
        return (*self.follower, *self.leader)

    def locked(self, positions: Mapping[str, float]) -> JointCoupling | None:
        """The coupling that is left when some joints are held at positions [rad] or [m]; None: nothing follows."""
        if all(joint in positions for joint in self.follower):
            return None
        held = {joint: at - self.references.get(joint, 0.0) for joint, at in positions.items()}
        of_leader, of_follower = (
            sum(weight * held[joint] for joint, weight in side.items() if joint in held)
            for side in (self.leader, self.follower)
        )
        polynomial = Polynomial(self.polynomial)(Polynomial([of_leader, 1.0])).coef
        follower, leader = (
            {joint: weight for joint, weight in side.items() if joint not in held}
            for side in (self.follower, self.leader)
        )
        polynomial[0] -= of_follower
        return JointCoupling(
            follower, leader, tuple(polynomial if leader else polynomial[:1]), self.references
        )


def with_followers(locked: Mapping[str, float], couplings: Sequence[JointCoupling]) -> dict[str, float]:
    """Joint -> position of locked joints, and of joints that follow only these [rad] or [m]."""
    positions = dict(locked)
    for _ in couplings:  # a joint may follow one that follows
        for coupling in couplings:
            left = coupling.locked(positions)
            if left is None or left.leader or len(left.follower) > 1:
                continue
            ((joint, weight),) = left.follower.items()
            positions[joint] = left.references.get(joint, 0.0) + left.polynomial[0] / weight
    return positions


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


def _links(model: pin.Model) -> dict[str, pin.Frame]:
    """Link -> a copy of its frame, the world's among them: adding frames moves those of the model in memory."""
    bodies = {f.name: pin.Frame(f) for f in model.frames if f.type == pin.FrameType.BODY}
    return bodies | {WORLD: pin.Frame(model.frames[0])}
