"""[body] and [[walls]]: the shape of a thrown body, and the walls that it hits, in the plane or in space."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, SerializeAsAny, Tag, model_validator

from ...lazy import load
from .fields import NotNegative, Positive, SettingsTable, refuse
from .tables import table_of

if TYPE_CHECKING:
    from ...models.planar import Shape
    from ...models.spatial import Corners

Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Triple = Annotated[list[float], Field(min_length=3, max_length=3)]


class AnyBodySettings(SettingsTable):
    """`mass` [kg]: where it is known, inertia and impulses are absolute, not only per mass."""

    name: str = "body"
    mass: Positive | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """Names after `position.` of the channels of its recordings."""
        return ("x", "y", "z")

    @property
    def forces(self) -> tuple[str, ...]:
        """Axes of known forces that its recordings may have."""
        return ()


class PlanarBodySettings(AnyBodySettings):
    """A body that moves in a plane. `markers`: tracked points in its frame [m], two or more, from which poses are
    computed.
    """

    markers: dict[str, Pair] = {}

    @property
    def axes(self) -> tuple[str, ...]:
        from ...estimators.impacts.problem import pose_channels

        return pose_channels(self.markers)

    @property
    def forces(self) -> tuple[str, ...]:
        from ...estimators.impacts.problem import FORCES

        return tuple(FORCES)

    @model_validator(mode="after")
    def _two_markers(self) -> PlanarBodySettings:
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


class EllipseSettings(PlanarBodySettings):
    """`half_axes` [m], along x and y of its frame."""

    shape: Literal["ellipse"]
    half_axes: Annotated[list[Positive], Field(min_length=2, max_length=2)]

    def outline(self) -> Shape:
        from ...models.planar import Ellipse

        return Ellipse(*self.half_axes)


class CircleSettings(PlanarBodySettings):
    """`radius` [m]."""

    shape: Literal["circle"]
    radius: Positive

    def outline(self) -> Shape:
        from ...models.planar import Ellipse

        return Ellipse(self.radius, self.radius)


class RectangleSettings(PlanarBodySettings):
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


class PolygonSettings(PlanarBodySettings):
    """`vertices` [m], one after the other, about the center of mass."""

    shape: Literal["polygon"]
    vertices: Annotated[list[Pair], Field(min_length=3)]
    corner_radius: NotNegative = 0.0

    def outline(self) -> Shape:
        import numpy as np

        from ...models.planar import Polygon

        return self.build_as(Polygon, vertices=np.array(self.vertices, dtype=float))


class SmoothCurveSettings(PlanarBodySettings):
    """`poinsot.models.planar.SmoothCurve`: the Fourier series of its support, from the second harmonic on [m]."""

    shape: Literal["smooth-curve"]
    mean: Positive
    cosines: list[float] = []
    sines: list[float] = []
    center: Pair = [0.0, 0.0]


class SpatialBodySettings(AnyBodySettings):
    """A body that moves in space, by its corners about the center of mass. `corner_radius` [m]: where the search
    begins.
    """

    corner_radius: NotNegative = 0.0

    def corners(self, folder: Path) -> Corners:
        """Its corners; `folder`: of the project file. Raises as `poinsot.models.spatial.corners_of`."""
        raise NotImplementedError


class BoxSettings(SpatialBodySettings):
    """`sides` [m], along x, y and z of its frame."""

    shape: Literal["box"]
    sides: Annotated[list[Positive], Field(min_length=3, max_length=3)]

    def corners(self, folder: Path) -> Corners:
        from ...models.spatial import box

        return box(self.sides, self.corner_radius)


class PointsSettings(SpatialBodySettings):
    """`vertices` [m], of which the hull is the body."""

    shape: Literal["points"]
    vertices: Annotated[list[Triple], Field(min_length=4)]

    def corners(self, folder: Path) -> Corners:
        from ...models.spatial import corners_of

        return corners_of(self.vertices, self.corner_radius)


class MeshSettings(SpatialBodySettings):
    """`path`: an STL or OBJ file of which the hull is the body; `scale`: of its numbers, as 0.001 for millimetres."""

    shape: Literal["mesh"]
    path: str
    scale: Positive = 1.0

    def corners(self, folder: Path) -> Corners:
        from ...models.spatial import mesh

        return mesh(folder / self.path, self.scale, self.corner_radius)


BodySettings = Annotated[
    EllipseSettings
    | CircleSettings
    | RectangleSettings
    | PolygonSettings
    | SmoothCurveSettings
    | BoxSettings
    | PointsSettings
    | MeshSettings,
    Field(discriminator="shape"),
]


def _read_wall(content: Any) -> Any:
    """A wall in the plane, or a plane in space, by its keys."""
    spatial = isinstance(content, dict) and bool({"point", "normal"} & content.keys())
    row = ".models.spatial.plane:Plane" if spatial else ".models.planar.body:Wall"
    return table_of(load(row)).model_validate(content)


AnyWall = Annotated[SerializeAsAny[SettingsTable], BeforeValidator(_read_wall)]
