"""Base of all sections: a table with known keys, and the kinds of values in it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ...exceptions import InvalidProject, UnknownUnit, check_known, listing, nearest
from ...inertia import chart_names
from ...io.units import check_quantity, find_unit
from ...ranges import NotNegative as NotNegative, Positive as Positive

T = TypeVar("T")


def refuse(kind: str, message: str, **context: Any) -> PydanticCustomError:
    return PydanticCustomError(kind, "{message}", {"message": message, **context})


def restored(made_by: tuple[Any, ...], state: Any) -> SettingsTable:
    """An unpickled table of a class that `made_by` makes."""
    make, *arguments = made_by
    kind: type[SettingsTable] = make(*arguments)
    table = kind.__new__(kind)
    table.__setstate__(state)
    return table


class SettingsTable(BaseModel):
    """A table of the project file: frozen, and without unknown keys."""

    # strict, as "7" in quotes or a 1 for true are typing errors; TOML can contain nan and inf
    model_config = ConfigDict(frozen=True, strict=True, defer_build=True, allow_inf_nan=False, extra="forbid")

    elsewhere: ClassVar[dict[str, str]] = {}
    """Keys that belong elsewhere, and the advice of the message."""
    aliases: ClassVar[dict[str, str]] = {}
    """Deprecated names of keys, and the keys that replace them."""
    becomes: ClassVar[Any] = None
    """Dataclass whose fields are the keys; None: there is none."""
    made_by: ClassVar[Any] = None
    """(function, *arguments) that makes this class anew in another process; None: it is found by its name."""

    def __reduce__(self) -> Any:
        if self.made_by is None:
            return super().__reduce__()
        return restored, (self.made_by, self.__getstate__())

    def __repr_args__(self) -> Any:
        """Of a representation: what the project file sets."""
        return [pair for pair in super().__repr_args__() if pair[0] in self.model_fields_set]

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            raise refuse("not_a_table", f"must be a table with the keys {listing(cls.model_fields)}")
        # Before the fields are checked: a misspelt key would be reported as missing.
        for old, new in cls.aliases.items():
            if old in content:
                warnings.warn(f"the key {old} is now called {new}: write {new} = ...", FutureWarning, 2)
        content = {cls.aliases.get(key, key): value for key, value in content.items()}
        known = cls.known_keys(content)
        for key in content:
            if key not in known:
                hint = cls.elsewhere.get(key) or f"known are {listing(known, 30)}"
                raise refuse("unknown_key", f"unknown key {key!r}{nearest(key, known)}; {hint}", key=key)
        return content

    def build_as(self, kind: type[T], **more: Any) -> T:
        """The value of this table: its keys are arguments of the dataclass `kind`, by name. `more`: arguments that
        replace keys, and arguments that the table does not contain.
        """
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        # TOML has no null, so None is an omitted key: the default of `kind` applies.
        given = {key: _value(value) for key, value in self if key in names and value is not None}
        return kind(**given | more)

    def value(self, **more: Any) -> Any:
        """The dataclass that this table becomes. `more`: arguments that replace keys, or are none."""
        return self.build_as(self.becomes, **more)

    @classmethod
    def known_keys(cls, content: dict[str, Any]) -> tuple[str, ...]:
        """Keys that a table of this content may have."""
        return tuple(cls.model_fields)


def _value(value: Any) -> Any:
    """An argument of a dataclass, from the value of a key: tables become dataclasses, and lists tuples."""
    if isinstance(value, SettingsTable) and value.becomes is not None:
        return value.value()
    if isinstance(value, dict):
        return {key: _value(inside) for key, inside in value.items()}
    return tuple(map(_value, value)) if isinstance(value, list) else value


def check_unit(unit: str) -> str:
    try:
        find_unit(unit)
    except UnknownUnit as error:
        raise refuse("unit", str(error)) from None
    return unit


def numbers(value: Any) -> list[Any]:
    """The numbers of a value by joint: one for all joints, a list, or a table."""
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]


def check_per_joint(value: Any) -> Any:
    """One number for all joints, a list in the robot's order, or a table by joint."""
    given = numbers(value)
    if not given or not all(
        # TOML's true is an int in Python.
        isinstance(number, (int, float)) and not isinstance(number, bool)
        for number in given
    ):
        raise refuse(
            "per_joint", "must be a number, a list with one number per joint, or a table of numbers by joint"
        )
    return value


def check_columns(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    good = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
    if not names or not good or (not isinstance(value, list) and not isinstance(value, str)):
        raise refuse(
            "columns", 'must be a list of column names, or of indices from 0, like ["q1", "q2"] or [1, 2]'
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refuse("columns", f"names {twice!r} twice; each joint has a column of its own")
    return value


def check_units(value: Any) -> Any:
    for unit in value if isinstance(value, list) else [value]:
        if not isinstance(unit, str):
            raise refuse("unit", f"must be a unit in quotes, or a list of them, not {unit!r}")
    return value


def pair(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2:
        raise refuse("pair", "must be a pair [first, last]")
    return tuple(value)


AUTO = "auto"
"""Value of a filter's key that is determined from the motion."""


RATIOS = (1e-30, 1e6)
"""Smallest and largest noise variance ratio: beyond, the smoother removes everything, or nothing."""


def is_text(value: Any) -> str:
    return "text" if isinstance(value, str) else "number"


if TYPE_CHECKING:
    # The names are listed at run time, where no type checker sees them.
    ChartName: TypeAlias = str
    ChartOrNone: TypeAlias = str
else:
    ChartName, ChartOrNone = Literal[chart_names()], Literal[(*chart_names(), "none")]

Unit = Annotated[str, AfterValidator(check_unit)]
PerJoint = Annotated[Any, AfterValidator(check_per_joint)]
NumberOrAuto = Annotated[
    Annotated[float, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(is_text)
]
PositiveOrAuto = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(is_text)
]
Point = Annotated[list[float], Field(min_length=3, max_length=3)]
"""x, y, z"""
Window = Annotated[tuple[float, float], BeforeValidator(pair)]
Rows = Annotated[tuple[int, int], BeforeValidator(pair)]


def unit_of(quantity: str, unit: str) -> str:
    try:
        check_quantity(f"{quantity}.*", unit)
    except UnknownUnit as error:
        raise refuse("unit", str(error).replace(f" of channel '{quantity}.*'", "")) from None
    return unit


def by_joint(key: str, value: Any, joints: Sequence[str], default: float | None = None) -> Any:
    """A number or a list unchanged; a table by joint as a list in the robot's order, complete without a default."""
    if not isinstance(value, Mapping):
        return value
    for joint in value:
        check_known(joint, joints, f"{key} names", "the robot has", InvalidProject)
    missing = [joint for joint in joints if joint not in value]
    if default is None and missing:
        raise InvalidProject(f"{key} has no value for {listing(missing)}; give one for each joint")
    return [value.get(joint, default) for joint in joints]
