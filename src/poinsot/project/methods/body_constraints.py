"""What is certain about a body: settings, and the constraints that they become."""

from __future__ import annotations

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

        if self.low is not None and self.high is not None:
            return Box(self.low, self.high)
        if self.center is not None and self.semi_axes is not None:
            return EllipsoidRegion(self.center, self.semi_axes)
        assert self.points is not None
        return Hull(self.points)


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
        from ...estimators.linear.constraints import BodyConstraint

        return BodyConstraint(
            mass=self.mass,
            center_of_mass=None if self.center_of_mass is None else self.center_of_mass.build(),
            inside=None if self.inside is None else RegionSettings(**self.inside.model_dump()).build(),
            mirror=tuple(self.mirror),
            round=self.round,
        )
