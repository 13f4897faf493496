"""Dataclasses as tables of a project file: types, ranges, nested tables, and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest
from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from poinsot.models.robot.drive import Coupling, Drive
from poinsot.project.methods import METHODS, find_method
from poinsot.project.settings.tables import keys_of, lazy_table, table_of
from poinsot.ranges import Point, Positive


@dataclass(frozen=True)
class Ball:
    title: ClassVar = "a ball"

    radius: Positive


@dataclass(frozen=True)
class Brick:
    title: ClassVar = "a brick"

    low: Point
    high: Point


@dataclass(frozen=True)
class Everything:
    shape: Ball | Brick
    order: Annotated[int, Ge(1), Le(7)] = 3
    gain: float | Sequence[float] = 1.0
    window: tuple[float, float] | None = None
    names: tuple[str, ...] = ()
    side: Literal["left", "right"] = "left"
    inside: Mapping[str, Ball] = field(default_factory=dict)
    state: np.ndarray | None = None


EVERYTHING = table_of(Everything, "state")
BALL = {"shape": {"radius": 2.0}}


def test_a_table_becomes_its_dataclass():
    read = EVERYTHING.model_validate(
        {
            "shape": {"low": [0, 0, 0], "high": [1.0, 1, 1]},
            "gain": [1.0, 2.0],
            "window": [0.5, 2],
            "names": ["a", "b"],
            "inside": {"core": {"radius": 0.5}},
        }
    )
    assert read.value() == Everything(
        Brick((0, 0, 0), (1.0, 1, 1)), 3, (1.0, 2.0), (0.5, 2), ("a", "b"), "left", {"core": Ball(0.5)}
    )
    assert EVERYTHING.model_validate(BALL).value(order=5, state=None) == Everything(Ball(2.0), 5)
    assert read.model_dump(exclude_unset=True)["inside"] == {"core": {"radius": 0.5}}


@pytest.mark.parametrize(
    ("content", "place", "sentence"),
    [
        ({}, ("shape",), "Field required"),
        (BALL | {"order": 8}, ("order",), "less than or equal to 7"),
        (BALL | {"order": True}, ("order",), "valid integer"),
        (BALL | {"gain": "1"}, ("gain",), "must be a number, a list"),
        (BALL | {"window": [1.0]}, ("window",), "pair"),
        (BALL | {"side": "top"}, ("side",), "'left' or 'right'"),
        (BALL | {"state": []}, (), "unknown key 'state'"),
        (BALL | {"inside": {"core": {"radius": 0}}}, ("inside", "core", "radius"), "greater than 0"),
        (BALL | {"inside": {"core": {"radiu": 1}}}, ("inside", "core"), "did you mean 'radius'"),
        ({"shape": {"radius": -1}}, ("shape", "radius"), "greater than 0"),
        ({"shape": {"low": [0, 0, 0]}}, ("shape",), "must be a ball { radius } or a brick { low, high }"),
        ({"shape": {"low": [0, 0], "high": [1, 1, 1]}}, ("shape", "low"), "at least 3 items"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(content, place, sentence):
    with pytest.raises(ValidationError) as caught:
        EVERYTHING.model_validate(content)
    (error,) = caught.value.errors()
    assert tuple(key for key in error["loc"] if not str(key).startswith(("function", "constrained"))) == place
    assert sentence in error["msg"]


def test_a_decorated_table_has_further_keys():
    @keys_of(Drive, "side")
    class Motors(table_of(Coupling)):
        gain: float = 2.0

    assert list(Motors.model_fields)[:4] == ["motor", "joint", "ratio", "gain"]
    read = Motors.model_validate({"motor": "m", "joint": "j", "ratio": 3.0, "passive": ["j"]})
    assert read.build_as(Drive) == Drive(gain=2.0, passive=("j",))


def test_a_lazy_table_is_imported_when_it_is_read():
    adapter = TypeAdapter(lazy_table("poinsot.models.robot.drive:Coupling"))
    assert adapter.validate_python({"motor": "m", "joint": "j", "ratio": 3.0}).value() == Coupling(
        "m", "j", 3.0
    )


@pytest.mark.parametrize("name", METHODS)
def test_fields_of_a_row_that_are_no_keys_exist(name):
    from dataclasses import fields

    from poinsot.lazy import load

    row = METHODS[name]
    known = {field.name for kind in row.keys for field in fields(load(kind))}
    assert {*row.without} <= known
    assert not {*row.without} & find_method(name).model_fields.keys()
