"""[robot], [[robot.efforts]], [[robot.loops]], [drive], [friction], [contacts] and [[rotors]]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, field_validator, model_validator
from pydantic_core import PydanticKnownError

from ...exceptions import InvalidModel
from ...models.efforts import EFFORTS, JointEffort
from ...models.friction.listed import robot_friction, robot_keys
from ...models.robot.drive import Drive
from .fields import PerJoint, Point, Positive, SettingsTable, Unit, check_per_joint, refuse, unit_of
from .tables import keys_of, lazy_table


def check_listed(name: str, laws: Iterable[str]) -> str:
    """The name of one of these laws."""
    if name not in laws:
        # Message as for a Literal, which the laws cannot be: another distribution may add one.
        *most, last = map(repr, laws)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(most)} or {last}"})
    return name


check_effort = partial(check_listed, laws=EFFORTS)


def check_law(name: str) -> str:
    """The name of the friction of a robot."""
    return check_listed(name, robot_friction())


class EffortSettings(SettingsTable):
    """An effort of a joint: one of `models.efforts.EFFORTS`, with the fields of that law as keys."""

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True, allow_inf_nan=False, extra="allow")

    law: Annotated[str, AfterValidator(check_effort)]
    joint: str

    @classmethod
    def known_keys(cls, content: dict[str, Any]) -> tuple[str, ...]:
        law = EFFORTS.get(str(content.get("law")))
        own = (
            content
            if law is None
            else (field.name for field in fields(law) if field.init and not field.kw_only)
        )
        return tuple(dict.fromkeys([*cls.model_fields, *own]))

    @model_validator(mode="after")
    def _can_be_built(self) -> EffortSettings:
        try:
            self.build()
        except InvalidModel as error:
            raise refuse("effort", str(error)) from None
        return self

    def build(self) -> JointEffort:
        """The effort of the joint."""
        keys = {key: value for key, value in self.model_dump().items() if key != "law"}
        built: JointEffort = TypeAdapter(EFFORTS[self.law]).validate_python(keys)
        return built


class RobotSettings(SettingsTable):
    """The robot description.

    `path` is searched beside the project file, then in the folder of the recordings. `locked`: joint that is fixed ->
    its position [rad] or [m]. `gravity`: in the world frame [m/s^2]; by default the description's. `efforts`: efforts
    of joints in addition to drive and friction. `loops`: closed loops in addition to those of an MJCF description.
    """

    path: str
    floating_base: bool = False
    locked: dict[str, float] = {}
    gravity: list[float] | None = Field(None, min_length=3, max_length=3)
    efforts: list[EffortSettings] = []
    loops: list[lazy_table(".models.robot.loops:Loop")] = []  # type: ignore[valid-type]


class OffsetSettings(SettingsTable):
    """Positions with their unit."""

    values: PerJoint
    unit: Unit

    @field_validator("unit")
    @classmethod
    def _of_a_position(cls, unit: str) -> str:
        return unit_of("position", unit)


def _offset(value: Any) -> Any:
    return (
        OffsetSettings.model_validate(value)
        if isinstance(value, dict) and "values" in value
        else check_per_joint(value)
    )


@keys_of(Drive, "not_measured")
class DriveSettings(SettingsTable):
    """Motors and gears; the keys are those of `poinsot.Drive`.

    `position_offset` is added at the joint's side: numbers in [rad] or [m], or `{ values = [...], unit = "deg" }`.
    """

    position_offset: Annotated[Any, AfterValidator(_offset)] = 0.0


class FrictionSettings(SettingsTable):
    """The law of every joint: viscous and Coulomb friction, or a law of `models.friction` beside them.

    The fields of that law are keys, too.

    `deadband`: speed below which friction has no sign [rad/s] or [m/s].
    """

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True, allow_inf_nan=False, extra="allow")

    law: Annotated[str, AfterValidator(check_law)] = "viscous-coulomb"
    offset: bool = True
    deadband: float = Field(0.0, ge=0)

    @classmethod
    def known_keys(cls, content: dict[str, Any]) -> tuple[str, ...]:
        name = content.get("law", cls.model_fields["law"].default)
        # an unknown law may have any key: the message then lists the laws
        keys = robot_keys(str(name)) if str(name) in robot_friction() else content
        return tuple(dict.fromkeys([*cls.model_fields, *keys]))


class ContactsSettings(SettingsTable):
    """Possible contacts of a robot with the world.

    `points`, `surfaces`: frames with fixed position in contact, and with fixed orientation too. `balls`: frame at the
    centre of a rolling ball -> its radius [m]. `closes_above`, `opens_below`: thresholds of measured normal forces [N].
    `shortest_s`: shorter contacts, and shorter interruptions of one, are ignored [s].
    """

    points: list[str] = []
    surfaces: list[str] = []
    balls: dict[str, Positive] = {}
    closes_above: Positive | None = None
    opens_below: Positive | None = None
    shortest_s: float = Field(0.0, ge=0)


class RotorSettings(SettingsTable):
    """A rotor of a flying robot: position in the base's frame [m], direction of thrust, and moment per thrust [m].

    `drag`: moment per thrust about the axis, positive along it.
    """

    name: str
    position: Point
    axis: Point = [0.0, 0.0, 1.0]
    drag: float = 0.0

    @field_validator("axis")
    @classmethod
    def _has_a_length(cls, axis: list[float]) -> list[float]:
        if not any(axis):
            raise refuse("axis", "needs a direction, not [0, 0, 0]")
        return axis
