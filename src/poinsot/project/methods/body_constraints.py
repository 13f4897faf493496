"""What is certain about a body: settings, and the constraints that they become."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from ..settings.fields import Point, SettingsTable, Window, refuse

if TYPE_CHECKING:
    from ...estimators.linear.constraints import BodyConstraint


class RegionSettings(SettingsTable):
    """A region of the body frame [m]: a box, an ellipsoid or a convex hull, whichever the keys are of."""

    low: Point | None = None
    high: Point | None = None
    center: Point | None = None
    semi_axes: Point | None = None
    points: list[Point] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> RegionSettings:
        kinds = ({"low", "high"}, {"center", "semi_axes"}, {"points"})
        if self.model_fields_set not in kinds:
            raise refuse(
                "region",
                "must be a box { low, high }, an ellipsoid { center, semi_axes } or a convex hull { points }",
            )
        return self

    def build(self) -> Any:
        """The box, the ellipsoid or the hull."""
        from ...estimators.linear.constraints import Box, EllipsoidRegion, Hull

        given = self.model_fields_set
        kinds: tuple[Any, ...] = (Box, EllipsoidRegion, Hull)
        return next(self.build_as(kind) for kind in kinds if {each.name for each in fields(kind)} == given)


class EllipsoidSettings(SettingsTable):
    """An ellipsoid along the axes of the body frame [m]."""

    center: Point
    semi_axes: Point


class BodyConstraintSettings(SettingsTable):
    """`poinsot.BodyConstraint`."""

    mass: Window | None = None
    center_of_mass: RegionSettings | None = None
    inside: EllipsoidSettings | None = None
    mirror: list[Literal["x", "y", "z"]] = []
    round: Literal["x", "y", "z"] | None = None

    def build(self) -> BodyConstraint:
        from ...estimators.linear.constraints import BodyConstraint, EllipsoidRegion

        more: dict[str, Any] = {"mirror": tuple(self.mirror)}
        if self.center_of_mass is not None:
            more["center_of_mass"] = self.center_of_mass.build()
        if self.inside is not None:
            more["inside"] = self.inside.build_as(EllipsoidRegion)
        return self.build_as(BodyConstraint, **more)
