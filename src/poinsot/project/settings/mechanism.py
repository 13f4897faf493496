"""[mechanism]: bodies and joints, from a robot description or listed one by one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from ...models.friction.listed import mechanism_friction
from .fields import NotNegative, Point, Positive, SettingsTable, refuse
from .robot import check_listed


def check_law(name: str) -> str:
    """The name of the dry friction of a joint of a mechanism."""
    return check_listed(name, mechanism_friction())


class DryFrictionSettings(SettingsTable):
    """`poinsot.models.maximal.Coulomb`, or `LoadDependent`; or a law of `models.friction` beside `Coulomb`.

    The parameters of that law are keys, too.

    `level` [N m] or [N], or as a coefficient of the joint's own forces [-]; `excess`: additional level at rest;
    `decay`: its decay with speed squared [s^2/rad^2] or [s^2/m^2]; `stick_drag`: viscous drag of a joint that sticks.
    """

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True, allow_inf_nan=False, extra="allow")

    law: Annotated[str, AfterValidator(check_law)] = "coulomb"
    level: NotNegative = 0.0
    radius: Positive = 1.0
    excess: NotNegative = 0.0
    decay: NotNegative = 0.0
    stick_drag: Positive | None = None

    @classmethod
    def known_keys(cls, content: dict[str, Any]) -> tuple[str, ...]:
        # an unknown law may have any key: the message then lists the laws
        return (*cls.model_fields, *mechanism_friction().get(str(content.get("law", "coulomb")), content))


class MotorSettings(SettingsTable):
    """`poinsot.models.maximal.Motor`: effort per unit of its command, and the inertia of its shaft at the joint."""

    gain: float = 1.0
    shaft_inertia: NotNegative = 0.0


class StopsSettings(SettingsTable):
    """`poinsot.models.maximal.Stops`: positions [rad] or [m] that a joint does not pass.

    `lower`, `upper`: either may be left out. `restitution`: speed after an impact by the speed before it. `give` [s] of
    a stop that gives way: motions before and after an impact meet beyond it by `give` times the change of speed. Both
    are estimated if they are left out.
    """

    lower: float | None = None
    upper: float | None = None
    restitution: float | None = Field(None, ge=0, le=1)
    give: float | None = Field(None, ge=0)


class MechanismBodySettings(SettingsTable):
    """`poinsot.models.maximal.RigidBody`.

    `mass` [kg]; `center`: centre of mass [m]; `inertia`: about it, xx, yy, zz, or xx, xy, yy, xz, yz, zz [kg m^2];
    all in the world's axes with every joint at zero.
    """

    name: str
    mass: Positive
    center: Point = [0.0, 0.0, 0.0]
    inertia: Annotated[list[float], Field(min_length=3, max_length=6)]

    @model_validator(mode="after")
    def _three_or_six(self) -> MechanismBodySettings:
        if len(self.inertia) not in (3, 6):
            raise refuse(
                "inertia",
                "must be three numbers, xx, yy, zz, or six, xx, xy, yy, xz, yz, zz [kg m^2]",
                key="inertia",
            )
        return self


class MechanismJointSettings(SettingsTable):
    """`poinsot.models.maximal.Hinge`, `Slider`, `Ball`, `Free` or `Fixed`.

    `point`: its position [m], and `axis`: its axis, in the world with every joint at zero; `child_point`: the same
    point as measured on the child. `drag` [N m s/rad] or [N s/m]; `offset`: constant effort [N m] or [N]. `compliance`
    [m/N], `rotation_compliance` [rad/(N m)] and `relaxation` [s] are used by the forms that have them.
    """

    name: str
    kind: Literal["hinge", "slider", "ball", "free", "fixed"] = "hinge"
    parent: str = "world"
    child: str
    point: Point = [0.0, 0.0, 0.0]
    child_point: Point | None = None
    axis: Point = [0.0, 0.0, 1.0]
    drag: NotNegative = 0.0
    offset: float = 0.0
    friction: DryFrictionSettings | None = None
    motor: MotorSettings | None = None
    stops: StopsSettings | None = None
    compliance: Positive = 1e-8
    rotation_compliance: Positive = 1e-8
    relaxation: NotNegative = 0.02

    @model_validator(mode="after")
    def _only_what_it_has(self) -> MechanismJointSettings:
        lacking = {
            "fixed": ("axis", "drag", "offset", "friction", "motor", "stops"),
            "free": (
                "axis",
                "drag",
                "offset",
                "friction",
                "motor",
                "compliance",
                "rotation_compliance",
                "stops",
            ),
            "ball": ("axis", "motor", "stops"),
        }.get(self.kind, ())
        for key in lacking:
            if key in self.model_fields_set:
                raise refuse("joint", f"a {self.kind} joint has no {key}; delete it", key=key)
        return self


class MechanismFrameSettings(SettingsTable):
    """`poinsot.models.maximal.BodyFrame`.

    `point`: its position in the world with every joint at zero [m]; its axes are then the world's.
    """

    name: str
    body: str
    point: Point = [0.0, 0.0, 0.0]


class JointDetails(SettingsTable):
    """Properties of a joint that a description lacks: dry friction, motor, end stops.

    `motor = false`: none, or it has no command.
    """

    drag: NotNegative | None = None
    offset: float | None = None
    friction: DryFrictionSettings | None = None
    motor: MotorSettings | Literal[False] | None = None
    stops: StopsSettings | None = None


class MechanismSettings(SettingsTable):
    """`poinsot.models.maximal.Mechanism`.

    `path`: path of a robot description, or `bodies` and `joints`. `frames`: points of bodies at which sensors are.
    `details`: joint -> properties that the description
    lacks. `locked`: joint of the description that is fixed -> its position [rad] or [m]. `gravity` [m/s^2].
    """

    name: str = "mechanism"
    path: str | None = None
    details: dict[str, JointDetails] = {}
    locked: dict[str, float] = {}
    bodies: list[MechanismBodySettings] = []
    joints: list[MechanismJointSettings] = []
    frames: list[MechanismFrameSettings] = []
    gravity: list[float] = Field([0.0, 0.0, -9.81], min_length=3, max_length=3)

    @model_validator(mode="after")
    def _one_source(self) -> MechanismSettings:
        is_listed = bool(self.bodies or self.joints)
        if (self.path is None) != is_listed:
            raise refuse("mechanism", "give path (robot description), or bodies and joints", key="path")
        if is_listed and (self.details or self.locked):
            key = "details" if self.details else "locked"
            raise refuse(
                "mechanism", f"{key} is for joints of a description; use [[mechanism.joints]]", key=key
            )
        return self
