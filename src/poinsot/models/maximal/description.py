"""Mechanisms from robot descriptions: bodies and joints as Pinocchio reads them.

The reference configuration is that in which all joints are at zero. A body's frame is its joint's; its mass and centre
of mass are the description's, and of its ten parameters, which are about the frame's origin, the inertia is taken about
the centre. Damping, dry friction and rotor inertia of the description become drag, a `Coulomb` level and a motor's
shaft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...exceptions import InvalidModel
from ...inertia.parameters import center_of_mass, inertia_at_com
from ..gravity import STANDARD_GRAVITY
from .bodies import RigidBody
from .joints import WORLD, AnyJoint, Ball, Coulomb, Encoder, Hinge, Motor, Slider
from .mechanism import Mechanism

if TYPE_CHECKING:
    from ..robot.articulated import Articulated


def load_mechanism(
    path: str | Path,
    *,
    locked: Mapping[str, float] | None = None,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    **softness: float,
) -> Mechanism:
    """A mechanism from a URDF or MJCF, with an encoder on and a motor of gain 1 in every hinge and slider.

    Args:
        locked: joint -> position [rad] or [m] of joints that are held still.
        gravity: [m/s^2].
        softness: `compliance` [m/N], `rotation_compliance` [rad/(N m)] and `relaxation` [s] of all joints.

    Raises:
        UnreadableFile: if it is no robot description.
        InvalidModel: if a joint is neither revolute, continuous, prismatic nor spherical, or a link has no mass.
    """
    from ..robot.articulated import load_robot

    return mechanism_of(load_robot(path, locked=locked, gravity=gravity), **softness)


def mechanism_of(robot: Articulated, **softness: float) -> Mechanism:
    """A robot as a mechanism; see `load_mechanism`."""
    from ..robot import tree as kinds

    robot.refuse_loops("a mechanism in maximal coordinates")
    if robot.floating_base:
        raise InvalidModel(
            f"robot {robot.name!r} has a floating base; describe it as bodies and joints instead"
        )
    tree, placements = robot.tree, robot.placements
    if len(tree) != len(robot.bodies):
        raise InvalidModel(
            f"robot {robot.name!r} has a joint made of several; use revolute and prismatic ones"
        )
    bodies = []
    for name, pi, frame in zip(robot.bodies, robot.inertials, placements, strict=True):
        if not pi[0] > 0:
            raise InvalidModel(f"link {name!r} of robot {robot.name!r} moves without a mass; give it one")
        bodies.append(RigidBody(name, float(pi[0]), inertia_at_com(pi), center_of_mass(pi), frame))
    said = robot.described_terms
    joints: list[AnyJoint] = []
    names = list(robot.model.names)[1:]
    for k, name in enumerate(names):
        T = placements[k]  # of the joint's frame, which is its child's
        drag, dry, shaft = (
            float(said[term][tree.v_index[k]]) for term in ("damping", "friction", "armature")
        )
        # joints and links often have the same name; names in a mechanism are unique
        own = f"{name} joint" if name in robot.bodies else name
        parent = robot.parents[k] or WORLD
        friction = Coulomb(dry) if dry > 0 else None
        held = own, parent, robot.bodies[k], T[:3, 3].tolist()
        resisted: Any = {"drag": drag, "friction": friction, **softness}
        axis = (T[:3, :3] @ tree.axis[k]).tolist()
        kind = int(tree.kind[k])
        if kind in (kinds.REVOLUTE, kinds.CONTINUOUS, kinds.PRISMATIC):
            moving = Slider if kind == kinds.PRISMATIC else Hinge
            joints.append(moving(*held, **resisted, axis=axis, motor=Motor(1.0, shaft)))
        elif kind == kinds.SPHERICAL:
            joints.append(Ball(*held, **resisted))
        else:
            raise InvalidModel(
                f"joint {name!r} is neither revolute, continuous, prismatic nor spherical; a mechanism has only these"
            )
    sensors = [Encoder(joint.name) for joint in joints if joint.has_axis]
    gravity = robot.model.gravity.linear.tolist()
    return Mechanism(bodies, joints, sensors=sensors, gravity=gravity, name=robot.name)
