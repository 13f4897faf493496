"""Dataclasses as tables of the project file: their fields are its keys, with their types, ranges and defaults.

Annotated[float, Gt(0)]                   a number greater than 0
float | Sequence[float]                   numbers: one, a list, or a table by joint
tuple[X, X], tuple[X, X, X]               a pair, a point
tuple[X, ...], Sequence[X]                a list
Mapping[str, X]                           a table
a dataclass                               a table with the fields of that dataclass as keys
several dataclasses                       a table with the keys of one of them
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field as DataclassField, fields, is_dataclass
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from annotated_types import Len
from pydantic import BeforeValidator, SerializeAsAny, create_model

from ...lazy import load
from ...ranges import annotation
from .fields import PerJoint, SettingsTable, pair, refuse

T = TypeVar("T")


def keys_of(kind: type, *without: str) -> Callable[[type[T]], type[T]]:
    """Decorate a table: the fields of a dataclass are keys too, except those in `without`."""
    return lambda table: derived(table.__name__, table, [kind], without, {"becomes": kind})


@cache
def table_of(kind: type, *without: str) -> type[SettingsTable]:
    """The table of a dataclass. `without`: fields that are no keys."""
    constants = {"becomes": kind, "made_by": (table_of, kind, *without)}
    return derived(kind.__name__, SettingsTable, (kind,), without, constants)


def derived(
    name: str,
    base: type[T],
    kinds: Sequence[type],
    without: Sequence[str],
    constants: Mapping[str, Any],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> type[T]:
    """`base` with the fields of dataclasses as further keys, except those that `base` has, and those in `without`.
    `constants`: class variables. `more`: keys with type and default.
    """
    own = cast("type[SettingsTable]", base).model_fields
    keys = dict(more)
    for kind in kinds:
        for field in fields(kind):
            if field.init and not field.kw_only and field.name not in (*own, *without, *keys):
                keys[field.name] = key_type(annotation(kind, field.name)), default(field)
    model: Any = create_model(
        name, __base__=cast("Any", base), __module__=base.__module__, __doc__=base.__doc__, **keys
    )
    for key, value in constants.items():
        setattr(model, key, value)
    return cast("type[T]", model)


def lazy_table(row: str) -> Any:
    """The table of a dataclass `"module:class"` that is imported when a file has the table, and not before."""

    def read(content: Any) -> Any:
        return table_of(load(row)).model_validate(content)

    return Annotated[SerializeAsAny[SettingsTable], BeforeValidator(read)]


def default(field: DataclassField[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return ... if field.default_factory is MISSING else field.default_factory()


def key_type(kind: Any) -> Any:
    """The type of a key, of that of a field."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[key_type(inside[0]), *inside[1:]]
    if origin in (Union, UnionType):
        tables = [option for option in inside if is_dataclass(option)]
        if float in inside and any(get_origin(option) is collections.abc.Sequence for option in inside):
            options: list[Any] = [PerJoint, *([None] if type(None) in inside else [])]
        elif len(tables) > 1:
            options = [one_of(*tables), *(key_type(option) for option in inside if option not in tables)]
        else:
            options = list(map(key_type, inside))
        return Union[tuple(options)]  # noqa: UP007
    if is_dataclass(kind):
        return SerializeAsAny[table_of(cast("type", kind))]  # type: ignore[misc]
    if origin is tuple and ... not in inside:
        if len(inside) == 2:
            return Annotated[kind, BeforeValidator(pair)]
        return Annotated[list[inside[0]], Len(len(inside), len(inside))]  # type: ignore[valid-type]
    if origin in (list, tuple, collections.abc.Sequence):
        return list[key_type(inside[0])]  # type: ignore[misc]
    if origin in (dict, collections.abc.Mapping):
        return dict[str, key_type(inside[1])]  # type: ignore[misc]
    return kind


def one_of(*kinds: Any) -> Any:
    """A table with all keys of one of these dataclasses, which have a `title` for the message."""

    def read(content: Any) -> Any:
        for kind in kinds:
            table = table_of(kind)
            if isinstance(content, table) or (
                isinstance(content, dict) and content.keys() == table.model_fields.keys()
            ):
                return table.model_validate(content)
        options = [f"{kind.title} {{ {', '.join(table_of(kind).model_fields)} }}" for kind in kinds]
        raise refuse("kind", f"must be {', '.join(options[:-1])} or {options[-1]}")

    return Annotated[SerializeAsAny[SettingsTable], BeforeValidator(read)]
