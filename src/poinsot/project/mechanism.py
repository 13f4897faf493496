"""[mechanism] -> bodies and joints, without sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, listing, nearest
from ..inertia.parameters import inertia_matrix
from .settings.mechanism import JointDetails, MechanismJointSettings, MechanismSettings

if TYPE_CHECKING:
    from ..models.maximal import Mechanism


def build_mechanism(settings: MechanismSettings, find: Callable[[str], Path]) -> Mechanism:
    """[mechanism] -> bodies and joints, without sensors.

    Raises:
        UnreadableFile, InvalidModel, ImpossibleBody: if there is no such mechanism.
        InvalidProject: if details are of a joint that the description does not have.
    """
    from ..models.maximal import Mechanism, load_mechanism

    if settings.path is None:
        bodies = [_body(body) for body in settings.bodies]
        joints = [_joint(joint) for joint in settings.joints]
        return Mechanism(bodies, joints, gravity=settings.gravity, name=settings.name)
    described = load_mechanism(find(settings.path), locked=settings.locked, gravity=settings.gravity)
    names = [joint.name for joint in described.joints]
    for name in settings.details:
        if name not in names:
            raise InvalidProject(
                f"mechanism.details has {name!r}{nearest(name, names)}; {described.name} has {listing(names)}"
            )
    joints = [_detailed(joint, settings.details.get(joint.name)) for joint in described.joints]
    return replace(described, joints=joints, sensors=())


def _body(body: Any) -> Any:
    from ..models.maximal import RigidBody

    inertia = body.inertia
    if len(inertia) == 6:
        inertia = inertia_matrix(np.array([0, 0, 0, 0, *inertia], dtype=float))
    return body.build_as(RigidBody, inertia=inertia)


def _joint(joint: MechanismJointSettings) -> Any:
    from ..models.maximal import JOINT_KINDS

    return joint.build_as(JOINT_KINDS[joint.kind], **_given(joint))


def _given(settings: MechanismJointSettings | JointDetails) -> dict[str, Any]:
    """What is said of dry friction and of the motor."""
    from ..models.maximal import FRICTION_LAWS, Motor

    given: dict[str, Any] = {}
    if settings.friction is not None:
        law = FRICTION_LAWS[settings.friction.law]
        # The laws call the size of their friction, their first field, by its own name.
        size = fields(law)[0].name
        given["friction"] = settings.friction.build_as(law, **{size: settings.friction.level})
    if settings.motor is not None:
        given["motor"] = settings.motor.build_as(Motor)
    return given


def _detailed(joint: Any, details: JointDetails | None) -> Any:
    if details is None:
        return joint
    said = {key: getattr(details, key) for key in ("drag", "offset")}
    return replace(
        joint, **{key: value for key, value in said.items() if value is not None}, **_given(details)
    )
