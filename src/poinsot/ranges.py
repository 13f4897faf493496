"""Ranges and choices of the fields of dataclasses, as their annotations state them.

    tolerance: Positive                              Annotated[float, Gt(0)]
    weighting: Literal["none", "robust"]

They are checked where a value is made, and by Pydantic where a project file is read, with the line of the key.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import get_annotations
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Len, Lt

from .exceptions import InvalidMethod

Positive: TypeAlias = Annotated[float, Gt(0)]
NotNegative: TypeAlias = Annotated[float, Ge(0)]
Fraction: TypeAlias = Annotated[float, Gt(0), Lt(1)]
Seed: TypeAlias = Annotated[int, Ge(0)]
Count: TypeAlias = Annotated[int, Ge(1)]
Point: TypeAlias = Annotated[Sequence[float], Len(3, 3)]
"""x, y, z"""

BOUNDS = {Gt: ("gt", "above"), Ge: ("ge", "at least"), Lt: ("lt", "below"), Le: ("le", "at most")}


def annotation(kind: type, name: str, names: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """The type of a field or property of a class, None if it has none. `names`: what names in the annotation stand
    for, besides those of the module of the class that defines it.
    """
    for base in kind.__mro__:
        found = get_annotations(base).get(name)
        if found is None and isinstance(getter := vars(base).get(name), property):
            found = get_annotations(getter.fget).get("return")  # type: ignore[arg-type]
        found = getattr(found, "__forward_arg__", found)  # as named tuples keep it
        if found is not None:
            known = {**vars(sys.modules[base.__module__]), **names}
            return eval(found, known) if isinstance(found, str) else found
    return None


@cache
def _restricted(kind: type) -> Mapping[str, Any]:
    """Field -> its type, of those with a range or with choices."""
    found = {}
    for field in fields(kind):
        try:
            found[field.name] = annotation(kind, field.name)
        except NameError:  # a name that only type checkers import is that of a class, without a range
            continue
    return {name: it for name, it in found.items() if get_origin(_present(it)) in (Annotated, Literal)}


def _present(kind: Any) -> Any:
    """The type where a value is not None."""
    inside = [option for option in get_args(kind) if option is not type(None)]
    return inside[0] if get_origin(kind) in (Union, UnionType) and len(inside) == 1 else kind


def check_ranges(value: Any, error: type[Exception] = InvalidMethod) -> None:
    """Raise `error` if a field of a dataclass is not in the range, or none of the choices, of its annotation."""
    table: Any = type(value)
    for name, restricted in _restricted(table).items():
        number, kind = getattr(value, name), _present(restricted)
        if number is None:
            continue
        if get_origin(kind) is Literal:
            *most, last = map(repr, get_args(kind))
            if number not in get_args(kind):
                raise error(f"{name} must be {', '.join(most)} or {last}, not {number!r}")
            continue
        bounds = [(bound, *BOUNDS[type(bound)]) for bound in kind.__metadata__ if type(bound) in BOUNDS]
        tests = {"gt": float.__gt__, "ge": float.__ge__, "lt": float.__lt__, "le": float.__le__}
        limits = [(getattr(bound, key), key, words) for bound, key, words in bounds]
        if not all(tests[key](float(number), float(limit)) for limit, key, _ in limits):
            asked = " and ".join(f"{words} {limit:g}" for limit, _, words in limits)
            raise error(f"{name} must be {asked}, not {number:g}")
