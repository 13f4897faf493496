"""Elastic joints: a spring with damping between a motor's output and the link that it moves (Spong 1987).

An elastic joint is two in series about the same axis, the motor's q and the deflection d of the spring; the link turns
by q + d:

    motor         tau = ia q'' + friction(q') + (torque of the link's motion)
    deflection      0 = ks d + fv d' + (torque of the link's motion)          ks stiffness, fv damping

The motor keeps the joint's name and its encoder; the deflection is the joint `NAME_deflection`, without a motor. With
an encoder at the link its position is the difference of both readings; without one nothing reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from ...exceptions import InvalidModel, check_known

ENDING = "_deflection"


def deflection(joint: str) -> str:
    """Name of the joint between an elastic joint's motor and its link."""
    return f"{joint}{ENDING}"


def with_deflections(model: pin.Model, elastic: Sequence[str]) -> pin.Model:
    """The model with a second joint behind each elastic one, which carries its link.

    Raises:
        InvalidModel: if there is no such joint, or it has several degrees of freedom.
    """
    names = list(model.names)[1:]
    for joint in elastic:
        check_known(joint, names, "the drive names the elastic joint", "the robot has")
        if model.joints[model.getJointId(joint)].nv != 1:
            raise InvalidModel(f"joint {joint!r} cannot be elastic: it has several degrees of freedom")
    new, of_link = pin.Model(), {0: 0}
    new.name, new.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        at_q, at_v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
        number = new.addJoint(
            of_link[model.parents[i]], joint, model.jointPlacements[i], name,
            model.upperEffortLimit[at_v], model.upperVelocityLimit[at_v],
            model.lowerPositionLimit[at_q], model.upperPositionLimit[at_q],
        )  # fmt: skip
        own = slice(new.joints[number].idx_v, new.joints[number].idx_v + joint.nv)
        for name_of_term in ("armature", "friction", "damping"):
            values = np.array(getattr(new, name_of_term))
            values[own] = getattr(model, name_of_term)[at_v]
            setattr(new, name_of_term, values)
        of_link[i] = number
        if name in elastic:
            of_link[i] = new.addJoint(number, joint, pin.SE3.Identity(), deflection(name))
        new.appendBodyToJoint(of_link[i], model.inertias[i], pin.SE3.Identity())
    for frame in list(model.frames)[1:]:
        if frame.type != pin.FrameType.JOINT:
            moved = pin.Frame(frame.name, of_link[frame.parentJoint], frame.placement, frame.type)
            new.addFrame(moved, False)
    return new


def is_deflection(joint: str, elastic: Sequence[str]) -> bool:
    """Whether a joint is the deflection of one of the elastic joints."""
    return joint.endswith(ENDING) and joint.removesuffix(ENDING) in elastic
