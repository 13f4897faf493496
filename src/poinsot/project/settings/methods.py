"""[method]: the estimators."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import (
    Field,
)

from .fields import (
    Positive,
    Section,
)


class LeastSquaresSettings(Section):
    """`poinsot.LeastSquares`."""

    name: Literal["least-squares"] = "least-squares"
    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"


class EssentialSettings(Section):
    """`poinsot.EssentialParameters`."""

    name: Literal["essential-parameters"]
    max_relative_std_percent: Positive = 30.0
    significance: float = Field(0.01, gt=0, lt=1)
    keep: list[str] | None = None
    weighting: Literal["none", "per-joint", "robust"] = "none"


def default_method(value: Any) -> Any:
    return {"name": "least-squares", **value} if isinstance(value, dict) and "name" not in value else value
