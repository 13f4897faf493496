"""`[method] name = "semidefinite"`, with its prior, and constraints on a body, which `payload` uses too."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ..settings.fields import Point, Positive, SettingsTable, Window, refuse
from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ...estimators.linear.constraints import BodyConstraint
    from ..job import Job


class RegionSettings(SettingsTable):
    """A region of the body frame [m]: a box, an ellipsoid or a convex hull, depending on its keys."""

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


class ConstraintsSettings(SettingsTable):
    """`poinsot.Constraints`."""

    bodies: dict[str, BodyConstraintSettings] = {}
    total_mass: Window | None = None


class SemidefiniteSettings(InverseDynamicsSettings):
    """`poinsot.SemidefiniteLeastSquares`. `prior` is the file of a robot description with the same bodies."""

    aliases: ClassVar[dict[str, str]] = {"trust": "weighing"}
    sections = ("effort", "friction", "full_parameters")

    name: Literal["semidefinite"]
    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: str | None = None
    weighing: Literal["both", "data"] = "both"
    divergence: Literal["moments", "entropic", "euclidean", "affine-invariant"] | None = None
    prior_std: Positive | None = None
    prior_direction_deg: Annotated[float, Field(ge=0, lt=90)] = 30.0
    allowance: float = Field(0.5, ge=1e-3)
    constraints: ConstraintsSettings = ConstraintsSettings()

    def build(self, job: Job) -> Any:
        from ...estimators.linear.constraints import Constraints
        from ...estimators.linear.semidefinite import SemidefiniteLeastSquares
        from ...models.robot.articulated import load_robot

        prior = None
        if self.prior is not None:
            path = job.project.find_description(self.prior, job.data_dir, "method.prior")
            # With the same joints locked, so that the bodies have the same names.
            described = load_robot(path, locked=job.settings.described.locked)
            prior = dict(zip(described.bodies, described.inertials.tolist(), strict=True))
        bodies = {name: body.build() for name, body in self.constraints.bodies.items()}
        constraints = self.constraints.build_as(Constraints, bodies=bodies)
        return self.build_as(SemidefiniteLeastSquares, prior=prior, constraints=constraints)
