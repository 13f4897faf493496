"""[body] and [[walls]]: the shape of a thrown body, and the walls that it hits, in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from .fields import NotNegative, Positive, SettingsTable, refuse

if TYPE_CHECKING:
    from ...models.planar import Shape

Pair = Annotated[list[float], Field(min_length=2, max_length=2)]


class AnyBodySettings(SettingsTable):
    """`mass` [kg]: where it is known, inertia and impulses are absolute, not only per mass. `markers`: tracked points
    in the body's frame [m], two or more, from which poses are computed.
    """

    name: str = "body"
    mass: Positive | None = None
    markers: dict[str, Pair] = {}

    @model_validator(mode="after")
    def _two_markers(self) -> AnyBodySettings:
        if len(self.markers) == 1:
            raise refuse("markers", "one marker determines no angle; give two, or a pose", key="markers")
        if len({tuple(place) for place in self.markers.values()}) < len(self.markers):
            raise refuse("markers", "two markers are at the same point of the body", key="markers")
        return self

    def outline(self) -> Shape:
        """The shape of `poinsot.models.planar` with the name of this table."""
        from ...models import planar

        shape: Shape = self.build_as(getattr(planar, type(self).__name__.removesuffix("Settings")))
        return shape


class EllipseSettings(AnyBodySettings):
    """`half_axes` [m], along x and y of its frame."""

    shape: Literal["ellipse"]
    half_axes: Annotated[list[Positive], Field(min_length=2, max_length=2)]

    def outline(self) -> Shape:
        from ...models.planar import Ellipse

        return Ellipse(*self.half_axes)


class CircleSettings(AnyBodySettings):
    """`radius` [m]."""

    shape: Literal["circle"]
    radius: Positive

    def outline(self) -> Shape:
        from ...models.planar import Ellipse

        return Ellipse(self.radius, self.radius)


class RectangleSettings(AnyBodySettings):
    """`sides` [m], along x and y of its frame; one number for a square."""

    shape: Literal["rectangle"]
    sides: Annotated[
        Annotated[Positive, Tag("number")]
        | Annotated[list[Positive], Field(min_length=2, max_length=2), Tag("list")],
        Discriminator(lambda value: "list" if isinstance(value, list) else "number"),
    ]
    corner_radius: NotNegative = 0.0

    def outline(self) -> Shape:
        from ...models.planar import rectangle

        width, height = self.sides if isinstance(self.sides, list) else (self.sides, self.sides)
        return rectangle(width, height, self.corner_radius)


class PolygonSettings(AnyBodySettings):
    """`vertices` [m], one after the other, about the center of mass."""

    shape: Literal["polygon"]
    vertices: Annotated[list[Pair], Field(min_length=3)]
    corner_radius: NotNegative = 0.0

    def outline(self) -> Shape:
        import numpy as np

        from ...models.planar import Polygon

        return self.build_as(Polygon, vertices=np.array(self.vertices, dtype=float))


class SmoothCurveSettings(AnyBodySettings):
    """`poinsot.models.planar.SmoothCurve`: the Fourier series of its support, from the second harmonic on [m]."""

    shape: Literal["smooth-curve"]
    mean: Positive
    cosines: list[float] = []
    sines: list[float] = []
    center: Pair = [0.0, 0.0]


BodySettings = Annotated[
    EllipseSettings | CircleSettings | RectangleSettings | PolygonSettings | SmoothCurveSettings,
    Field(discriminator="shape"),
]
