"""Types of JSON, from the annotations of the dataclasses that are written."""

from __future__ import annotations

import collections.abc
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, NotRequired, TypeAlias, Union, get_args, get_origin

from typing_extensions import TypedDict  # Pydantic asks for this one below Python 3.12

from ..io.results import json_keys
from ..ranges import annotation

Number: TypeAlias = float | None
"""Null where a value does not exist (NaN, infinity)."""

LIST: Any = list
DICT: Any = dict
_typed_dict: Any = TypedDict


class _Array:
    """Stands for the array types of jaxtyping in annotations: lists of lists, one level for each dimension."""

    def __init__(self, element: Any):
        self.element = element

    def __getitem__(self, item: tuple[Any, str]) -> Any:
        kind = self.element
        for _ in item[1].split():
            kind = LIST[kind]
        return kind


NAMES = {"float": Number, "Float": _Array(Number), "Bool": _Array(bool), "Int": _Array(int)}
NAMES |= {"Vector": list[Number], "Matrix": list[list[Number]]}
"""Names in annotations -> what JSON holds in their place."""


def _json_annotation(kind: type, name: str) -> Any:
    """What JSON holds of an attribute; an attribute that a part holds has the type of the part's."""
    found = annotation(kind, name, NAMES)
    if found is None and (part := getattr(getattr(kind, name, None), "part", None)) is not None:
        return _json_annotation(annotation(kind, part), name)
    return found


def keys_of(kind: type, *names: str) -> dict[str, Any]:
    """Key -> type, of these attributes of a class; without names of all keys that its JSON has."""
    keys = {name: name for name in names} or json_keys(kind)
    return {key: _json_annotation(kind, name) for key, name in keys.items()}


def row_of(kind: Any) -> dict[str, Any]:
    """Key -> type, of one row of a class that is written as a table."""
    return {key: _element(_json_annotation(kind, name)) for key, name in kind.json_columns.items()}


def _element(column: Any) -> Any:
    inside = get_args(column)
    if isinstance(column, UnionType):
        return Union[*map(_element, inside)]
    return inside[0] if inside else column


def json_type(kind: Any, name: str = "Output") -> Any:
    """A type as Pydantic reads it. Mappings of keys (`key?`: it may be missing) and dataclasses become typed
    dictionaries, a list of one item is a list of it, enumerations are written by name.
    """
    if isinstance(kind, tuple):
        return Union[tuple(json_type(each, name) for each in kind)]  # noqa: UP007
    if isinstance(kind, Mapping) and "*" in kind:
        return DICT[str, json_type(kind["*"], name)]
    if isinstance(kind, Mapping):
        keys = {key.rstrip("?"): json_type(value, key.rstrip("?")) for key, value in kind.items()}
        keys |= {key[:-1]: NotRequired[keys[key[:-1]]] for key in kind if key.endswith("?")}
        return _typed_dict(name, keys)
    if isinstance(kind, list):
        return LIST[json_type(kind[0], name)]
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields")):
        return json_type(keys_of(kind), kind.__name__)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return str
    origin, inside = get_origin(kind), get_args(kind)
    types = tuple(json_type(each, name) for each in inside if each is not ...)
    if origin in (Union, UnionType):
        return Union[types]  # noqa: UP007
    if origin in (dict, collections.abc.Mapping):
        return DICT[types]
    if origin in (list, tuple, collections.abc.Sequence):
        return tuple.__class_getitem__(types) if origin is tuple and ... not in inside else LIST[types[0]]
    return kind
