"""Terms of the equations of motion at many states, and their slopes.

With q the configuration, v and a in its tangent (Pinocchio's: a floating base's in its own axes) and f the forces of
contacts in the axes of their frames,

    M(q) a + b(q, v) = tau + J(q)^T f,      ID(q, v, a, f) = M a + b - J^T f

Terms are made by kernels, many states in one call (see `inverse_dynamics`, `frame_motion`), and algebra is done on
all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from ...arrays import Columns, Configurations, Float, JointSamples
from ...exceptions import check_known
from ..contacts.contacts import Contact
from .frame_motion import FrameMotion, frame_motions
from .inverse_dynamics import inverse_dynamics

if TYPE_CHECKING:
    from .articulated import Articulated


@dataclass(frozen=True, eq=False)
class MotionTerms:
    """Terms of a robot whose bodies may differ from the description's.

    Args:
        robot: the robot. contacts: contacts whose forces act, in their order.
    """

    robot: Articulated
    contacts: tuple[Contact, ...] = ()

    @cached_property
    def _to_joints(self) -> tuple[np.ndarray, np.ndarray]:
        """(k,) the tree's joints that have contacts, and (k, 6, 6 c) that move the wrenches of c contacts to them."""
        places, placements = carriers(
            self.robot, [name for contact in self.contacts for name in contact.frames]
        )
        joints = np.unique(places[places >= 0])
        maps = np.zeros((len(joints), 6, len(places), 6))
        for k, (place, T_jf) in enumerate(zip(places, placements, strict=True)):
            if place >= 0:  # a contact at a frame of the world has no effect
                maps[np.searchsorted(joints, place), :, k] = pin.SE3(T_jf).toDualActionMatrix()
        return joints, maps.reshape(len(joints), 6, 6 * len(places))

    def mass_and_bias(
        self, inertials: Float[np.ndarray, "l 10"], q: Configurations, v: JointSamples
    ) -> tuple[Float[np.ndarray, "T n n"], JointSamples]:
        """M and b of a robot whose bodies have these ten parameters each."""
        return inverse_dynamics(self.robot.tree, inertials, self.robot.tree.gravity, q, v, np.zeros_like(v))

    def inverse_dynamics_slopes(
        self,
        inertials: Float[np.ndarray, "l 10"],
        q: Configurations,
        v: JointSamples,
        a: JointSamples,
        wrenches: Columns,
        gravity: bool,
    ) -> tuple[Float[np.ndarray, "T n n"], Float[np.ndarray, "T n n"]]:
        """Derivatives of ID by q and by v, with the wrenches (T, 6 c) of contacts constant in their frames."""
        touched, maps = self._to_joints
        of_joints = np.einsum("jrm, tm -> tjr", maps, wrenches)
        g, tree = self.robot.tree.gravity * gravity, self.robot.tree
        return inverse_dynamics(tree, inertials, g, q, v, a, True, (touched, of_joints))

    def frames(
        self,
        names: Sequence[str],
        q: Configurations,
        v: JointSamples,
        a: JointSamples,
        slopes: bool = False,
        jacobians: bool = False,
    ) -> dict[str, FrameMotion]:
        """Motion of frames.

        Args:
            names: links, or other frames of the description.
            q, v, a: (T, nq), (T, n), (T, n).
            slopes: whether their slopes are computed too.
            jacobians: without `slopes`: whether Jacobians are computed.

        Raises:
            InvalidModel: if there is no such frame.
        """
        names = tuple(dict.fromkeys(names))
        if not names:
            return {}
        # frames are looked up in Pinocchio once, not in every call
        if names not in self._carriers:
            self._carriers[names] = carriers(self.robot, names)
        joints, placements = self._carriers[names]
        motions = frame_motions(self.robot.tree, joints, placements, q, v, a, slopes, jacobians)
        return dict(zip(names, motions, strict=True))

    @cached_property
    def _carriers(self) -> dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]]:
        """Cache of the frames looked up so far."""
        return {}


def carriers(robot: Articulated, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(F,) index in the tree of the joint that carries each frame, -1 for the world, and (F, 4, 4) T_jf."""
    frames = [robot.model.frames[frame_index(robot, name)] for name in names]
    bodies = robot.tree.body.tolist()
    # Pinocchio's joint 0 is the world
    moved = [robot.moved_bodies[frame.parentJoint] for frame in frames]
    joints = [bodies.index(body) if body >= 0 else -1 for body in moved]
    return np.array(joints, dtype=np.int64), np.array([frame.placement.homogeneous for frame in frames])


def frame_index(robot: Articulated, name: str) -> int:
    """Pinocchio's index of a frame; where a joint and a link share a name, the link's.

    Raises InvalidModel if there is none of this name.
    """
    frames = robot.model.frames
    check_known(name, [frame.name for frame in frames], "no frame", "the robot has", limit=20)
    matches = [i for i, frame in enumerate(frames) if frame.name == name]
    # a URDF may give a joint the name of its link; sensors and contacts are at links
    return min(matches, key=lambda i: frames[i].type != pin.FrameType.BODY)
