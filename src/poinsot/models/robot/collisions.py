"""Distances between the links of a robot, to the floor and to the walls of a workspace, and their gradients.

The distance d between two bodies ends at a witness point on each, p_1 and p_2, with the normal n from the first to the
second. To first order a small motion changes d only by moving these material points:

    dd/dq = n . (J_2(p_2) - J_1(p_1))

Where bodies overlap d is minus the depth. Floor and walls are half-spaces. Meshes are replaced by their
convex hulls, which is conservative, a hundred times faster, and gives the depth; but where the hulls of two links
overlap although the links do not (at the neutral configuration, or at postures known to be free), meshes are used.
Links that a joint joins, and links that touch at the neutral configuration, are not checked; links that are close there
by construction cannot keep further apart than that.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from ...arrays import Configurations, Float, JointSamples, Vector
from ...exceptions import InvalidModel, UnreadableFile, check_known, listing
from .articulated import Articulated, read_description
from .loops import WORLD

ENVIRONMENT = "the floor", "the lower wall", "the upper wall"
"""Prefixes of names of objects that are not part of the robot."""

POINT_RADIUS_M = 1e-6
"""Radius of the sphere that represents a point. [m]"""


@dataclass(frozen=True)
class Workspace:
    """A box that frames stay in, in the world frame.

    Args:
        lower, upper: corners (x, y, z) [m]; infinite where a side is open.
        frames: frames whose origins stay inside; empty: the frames of the last links, which carry no other link.
    """

    lower: tuple[float, float, float] = (-np.inf, -np.inf, -np.inf)
    upper: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    frames: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for axis, low, high in zip("xyz", self.lower, self.upper, strict=True):
            if not low < high:
                raise InvalidModel(
                    f"the workspace contradicts itself: its lower bound of {axis}, {low:g} m, is not below its "
                    f"upper one, {high:g} m"
                )


@dataclass(frozen=True)
class Surroundings:
    """Objects that a robot must not touch.

    Args:
        itself: whether its own links are checked against each other.
        floor_m: height of a floor in the world frame [m]; None: none.
        workspace: a box to stay in; None: none.
        packages: folders in which `package://` names of the description are searched, besides its parent folders.
    """

    itself: bool = True
    floor_m: float | None = None
    workspace: Workspace | None = None
    packages: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        top = np.inf if self.workspace is None else self.workspace.upper[2]
        if self.floor_m is not None and self.floor_m >= top:
            raise InvalidModel(
                f"floor and workspace contradict each other: the floor, at {self.floor_m:g} m, is not below the top "
                f"of the workspace, at {top:g} m"
            )

    def resolve(self, robot: Articulated, free: Configurations | None = None) -> Collisions:
        """The pairs to check for one robot.

        Args:
            robot: the robot; missing collision geometry is reported in the warnings.
            free: (k, nq) postures known to be free of collisions.

        Raises:
            InvalidModel: if a frame of the workspace does not exist.
        """
        postures = [pin.neutral(robot.model), *(free if free is not None else ())]
        scene = _Scene.of(robot, self.packages if self.itself or self.floor_m is not None else None)
        if self.itself:
            scene.watch_links(postures)
        if self.floor_m is not None:
            scene.watch_wall("the floor", (0.0, 0.0, 1.0), self.floor_m, scene.moving)
        if self.workspace is not None:
            points = [scene.add_point(frame) for frame in self.workspace.frames or scene.last_frames()]
            for side, bound, sign in (
                ("lower", self.workspace.lower, 1.0),
                ("upper", self.workspace.upper, -1.0),
            ):
                for name, normal, at in zip("xyz", np.eye(3), bound, strict=True):
                    if np.isfinite(at):
                        scene.watch_wall(f"the {side} wall in {name}", sign * normal, sign * at, points)
        if self.floor_m is not None and not scene.moving:
            scene.warnings.append("the robot is not kept above the floor: no link has a shape")
        watched, usual = tuple(scene.watched), np.array(scene.usual)
        return Collisions(robot, scene.geometry, watched, usual, tuple(scene.warnings))


@dataclass(frozen=True, eq=False)
class Collisions:
    """The C pairs that are checked.

    Args:
        robot: the robot. geometry: Pinocchio's geometry model. pairs: (C,) names of both objects.
        usual: (C,) distance of two links at the neutral configuration [m]; infinite for floor and walls.
        warnings: what could not be checked.
    """

    robot: Articulated
    geometry: pin.GeometryModel
    pairs: tuple[tuple[str, str], ...]
    usual: Vector
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def clearances(self, wanted_m: float) -> Vector:
        """(C,) least distance of each pair [m]: the wanted one, or half of the usual one if that is smaller."""
        return np.minimum(wanted_m, 0.5 * self.usual)

    def distances(self, q: Configurations) -> Float[np.ndarray, "T C"]:
        """(T, C) distances [m]; less than 0 where the two overlap."""
        distances = np.empty((len(q), len(self.pairs)))
        if not self.pairs:
            return distances
        model, data, geometry, results = self.robot.model, self._data, self.geometry, self._results
        for row, posture in zip(distances, q, strict=True):
            pin.computeDistances(model, data, geometry, results, posture)
            row[:] = [result.min_distance for result in results.distanceResults]
        return distances

    def pull_back(self, q: Configurations, weights: Float[np.ndarray, "T C"]) -> JointSamples:
        """(T, n) the derivatives of sum over pairs of weights * distance by the motion of each degree of freedom."""
        model, data, gradient = self.robot.model, self._data, np.zeros((len(q), self.robot.model.nv))
        for t in np.flatnonzero(weights.any(axis=1)):
            pin.computeJointJacobians(model, data, q[t])
            pin.updateGeometryPlacements(model, data, self.geometry, self._results)
            J = data.J  # of points at the world's origin
            for k in np.flatnonzero(weights[t]):
                result = pin.computeDistance(self.geometry, self._results, int(k))
                n, points = result.normal, (result.getNearestPoint1(), result.getNearestPoint2())
                for joint, p, sign in zip(self._carriers[k], points, (-1.0, 1.0), strict=True):
                    moved = self._supports[joint]
                    moment = p[1] * n[2] - p[2] * n[1], p[2] * n[0] - p[0] * n[2], p[0] * n[1] - p[1] * n[0]
                    gradient[t, moved] += sign * weights[t, k] * (J[:, moved].T @ np.array([*n, *moment]))
        return gradient

    @cached_property
    def _data(self) -> pin.Data:
        return self.robot.model.createData()

    @cached_property
    def _results(self) -> pin.GeometryData:
        return pin.GeometryData(self.geometry)

    @cached_property
    def _carriers(self) -> list[tuple[int, int]]:
        objects = self.geometry.geometryObjects
        return [
            (objects[pair.first].parentJoint, objects[pair.second].parentJoint)
            for pair in self.geometry.collisionPairs
        ]

    @cached_property
    def _supports(self) -> list[np.ndarray]:
        """Degrees of freedom that move each joint."""
        own = [np.arange(joint.idx_v, joint.idx_v + joint.nv) for joint in self.robot.model.joints]
        own[0] = own[0][:0]  # the world's joint, which reports a degree of freedom
        return [np.concatenate([own[k] for k in path]) for path in self.robot.model.supports]


def spheres(robot: Articulated, links: Iterable[str]) -> dict[str, tuple[tuple[Vector, float], ...]]:
    """Spheres among the collision shapes of links: centres in the link's frame (3,) and radii [m].

    A link without any, and every link of a description that cannot be read again, has none. Meshes are not read.
    """
    found: dict[str, list[tuple[Vector, float]]] = {link: [] for link in links}
    if robot.source is not None:
        root = ElementTree.fromstring(read_description(robot.source)[0])
        if root.tag == "robot":
            for link in root.iter("link"):
                for shape in link.findall("collision"):
                    if shape.find("geometry/sphere") is None:
                        link.remove(shape)
            described = ElementTree.tostring(root, encoding="unicode")
            geometry = pin.buildGeomFromUrdfString(robot.model, described, pin.GeometryType.COLLISION)
        else:
            from .compiled import compiled_shapes

            geometry = compiled_shapes(robot.source, robot.model)
        for shape in geometry.geometryObjects:
            frame = robot.model.frames[shape.parentFrame]
            if isinstance(shape.geometry, coal.Sphere) and frame.name in found:
                centre = (frame.placement.inverse() * shape.placement).translation
                found[frame.name].append((np.array(centre), float(shape.geometry.radius)))
    return {link: tuple(shapes) for link, shapes in found.items()}


class _Scene:
    """Geometry under construction: its shapes, and the pairs of them to check."""

    def __init__(self, robot: Articulated, geometry: pin.GeometryModel, *warnings: str):
        self.robot = robot
        self.warnings = list(warnings)
        self.model = robot.model
        self.geometry = geometry
        self.watched: list[tuple[str, str]] = []
        self.usual: list[float] = []
        self.links = list(range(geometry.ngeoms))  # convex
        self.meshes: dict[int, int] = {}  # convex shape -> the mesh that it is the hull of
        for index in self.links:
            shape = geometry.geometryObjects[index]
            if isinstance(shape.geometry, coal.BVHModelBase):
                mesh = shape.copy()
                mesh.name = f"{shape.name} mesh"
                # "Qt": triangles only: coal takes no other faces
                shape.geometry.buildConvexHull(True, "Qt")
                shape.geometry = shape.geometry.convex
                self.meshes[index] = geometry.addGeometryObject(mesh)

    @classmethod
    def of(cls, robot: Articulated, packages: Sequence[Path] | None) -> _Scene:
        """The shapes of a robot's description, with missing ones as warnings; `packages` None: no shapes are needed."""
        if packages is None:
            return cls(robot, pin.GeometryModel())
        unchecked = "collisions are not checked: "
        if robot.source is None:
            why = f"robot {robot.name!r} has no description to read shapes from"
            return cls(robot, pin.GeometryModel(), unchecked + why)
        root = ElementTree.fromstring(read_description(robot.source)[0])
        is_urdf, kind = root.tag == "robot", pin.GeometryType.COLLISION
        missing = _resolve_meshes(root, robot.source, packages) if is_urdf else {}
        try:
            if is_urdf:
                described = ElementTree.tostring(root, encoding="unicode")
                scene = cls(robot, pin.buildGeomFromUrdfString(robot.model, described, kind))
            else:
                from .compiled import compiled_shapes

                scene = cls(robot, compiled_shapes(robot.source, robot.model))
        except (ValueError, RuntimeError, UnreadableFile) as error:
            why = (str(error).strip().splitlines() or ["no reason given"])[-1]
            return cls(robot, pin.GeometryModel(), f"{unchecked}the shapes cannot be read: {why}")
        if missing:
            scene.warnings.append(
                f"collisions of {listing(missing, 6)} are not checked: their meshes do not exist "
                f"(e.g. {next(iter(missing.values()))}); give their folder with --package-dir"
            )
        elif is_urdf and not scene.links:
            scene.warnings.append(f"{unchecked}the description gives no link a shape (<collision>)")
        return scene

    @property
    def moving(self) -> list[int]:
        return [k for k in self.links if self.geometry.geometryObjects[k].parentJoint]

    def name(self, shape: int) -> str:
        """The link or frame that a shape belongs to, or the world."""
        frame = self.geometry.geometryObjects[shape].parentFrame
        return str(self.model.frames[frame].name) if frame else WORLD

    def watch_links(self, postures: Sequence[np.ndarray]) -> None:
        """Add all pairs of links that no joint joins, and that are apart at the first of these postures."""
        carrier, parents = [shape.parentJoint for shape in self.geometry.geometryObjects], self.model.parents
        candidates = [
            (first, second)
            for k, second in enumerate(self.links)
            for first in self.links[:k]
            if (a := carrier[first]) != (b := carrier[second]) and b != parents[a] and a != parents[b]
        ]
        hulls = self._distances(candidates, postures)
        for pair, distances in zip(candidates, hulls, strict=True):
            meshes = self.meshes.get(pair[0], pair[0]), self.meshes.get(pair[1], pair[1])
            if (distances > 0).all():
                self._watch(pair, distances[0])
            # hulls overlap where the links do not: use the meshes
            elif meshes != pair and (apart := self._distances([meshes], postures[:1])[0, 0]) > 0:
                self._watch(meshes, apart)
            elif distances[0] > 0:
                self._watch(pair, distances[0])

    def watch_wall(
        self, name: str, normal: Sequence[float] | np.ndarray, at: float, shapes: Iterable[int]
    ) -> None:
        """Add the half-space normal . x <= at, to be checked against these shapes."""
        solid = coal.Halfspace(np.asarray(normal, dtype=float), float(at))
        wall = self.geometry.addGeometryObject(pin.GeometryObject(name, 0, pin.SE3.Identity(), solid))
        for shape in shapes:
            self._watch((shape, wall), np.inf, name)

    def add_point(self, frame: str) -> int:
        """Add the origin of a frame as a shape."""
        names = [other.name for other in self.model.frames]
        check_known(frame, names, "the workspace names frame", "the robot has", limit=20)
        index = names.index(frame)
        place = self.model.frames[index]
        point = pin.GeometryObject(
            f"{frame} origin", place.parentJoint, index, place.placement, coal.Sphere(POINT_RADIUS_M)
        )
        return int(self.geometry.addGeometryObject(point))

    def last_frames(self) -> tuple[str, ...]:
        """The links after which no joint follows, one for each place."""
        carrying = set(self.model.parents)
        last_links: dict[tuple[float, ...], str] = {}
        for frame in self.model.frames:
            joint = frame.parentJoint
            if frame.type == pin.FrameType.BODY and joint and joint not in carrying:
                last_links.setdefault((joint, *np.round(frame.placement.translation, 6)), frame.name)
        return tuple(last_links.values())

    def _watch(self, pair: tuple[int, int], usual: float, second: str | None = None) -> None:
        self.geometry.addCollisionPair(pin.CollisionPair(*pair))
        self.watched.append((self.name(pair[0]), second or self.name(pair[1])))
        self.usual.append(float(usual))

    def _distances(
        self, pairs: Sequence[tuple[int, int]], postures: Sequence[np.ndarray]
    ) -> Float[np.ndarray, "P k"]:
        """(P, k) distance of each pair of shapes at each posture."""
        trial = self.geometry.copy()
        trial.removeAllCollisionPairs()
        for pair in pairs:
            trial.addCollisionPair(pin.CollisionPair(*pair))
        collisions = Collisions(self.robot, trial, tuple(("", "") for _ in pairs), np.zeros(len(pairs)))
        return collisions.distances(np.array(postures)).T


def _resolve_meshes(root: ElementTree.Element, source: Path, packages: Sequence[Path]) -> dict[str, str]:
    """Write the path of each mesh into the description, and remove missing ones; return link -> missing mesh."""
    ros = [Path(folder) for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if folder]
    folders = [*packages, *source.absolute().parents, *ros]
    missing: dict[str, str] = {}
    for link in root.iter("link"):
        for shape in link.findall("collision"):
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            inside, places = name.removeprefix("package://"), folders
            if inside == name:  # a path, from the description's folder
                inside, places = name.removeprefix("file://"), [source.absolute().parent]
            path = next((folder / inside for folder in places if (folder / inside).is_file()), None)
            if path is None:
                missing.setdefault(link.get("name", "?"), name)
                link.remove(shape)
            else:
                mesh.set("filename", str(path))
    return missing
