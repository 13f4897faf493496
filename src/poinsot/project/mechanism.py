"""[mechanism] -> bodies and joints, without sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, listing, nearest
from ..inertia.parameters import inertia_matrix
from .settings.mechanism import (
    DryFrictionSettings,
    JointDetails,
    MechanismJointSettings,
    MechanismSettings,
    MotorSettings,
)

if TYPE_CHECKING:
    from ..models.maximal import Coulomb, LoadDependent, Mechanism, Motor


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
    return RigidBody(body.name, body.mass, inertia, body.center)


def _joint(joint: MechanismJointSettings) -> Any:
    from ..models.maximal import JOINT_KINDS

    arguments: dict[str, Any] = {
        key: getattr(joint, key) for key in ("compliance", "rotation_compliance", "relaxation", "child_point")
    }
    arguments |= {"name": joint.name, "parent": joint.parent, "child": joint.child, "point": joint.point}
    kind = JOINT_KINDS[joint.kind]
    moving: dict[str, Any] = {
        "drag": joint.drag,
        "offset": joint.offset,
        "friction": _friction(joint.friction),
        "axis": joint.axis,
        "motor": None if joint.motor is None else _motor(joint.motor),
    }
    known = {field.name for field in fields(kind)}
    return kind(**arguments, **{key: value for key, value in moving.items() if key in known})


def _motor(motor: MotorSettings) -> Motor:
    from ..models.maximal import Motor

    return Motor(motor.gain, motor.shaft_inertia)


def _detailed(joint: Any, details: JointDetails | None) -> Any:
    if details is None:
        return joint
    changes: dict[str, Any] = {
        key: value for key in ("drag", "offset") if (value := getattr(details, key)) is not None
    }
    if details.friction is not None:
        changes["friction"] = _friction(details.friction)
    if details.motor is not None:
        changes["motor"] = _motor(details.motor)
    return replace(joint, **changes)


def _friction(law: DryFrictionSettings | None) -> Coulomb | LoadDependent | None:
    from ..models.maximal import FRICTION_LAWS

    if law is None:
        return None
    kind = FRICTION_LAWS[law.law]
    shared: dict[str, Any] = {key: getattr(law, key) for key in ("excess", "decay", "stick_drag")}
    if kind.depends_on_load:
        shared["radius"] = law.radius
    return kind(law.level, **shared)
