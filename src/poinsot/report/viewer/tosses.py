"""A body that was tossed in space, and the plane that it strikes: the hull of its corners."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial import ConvexHull

from ...arrays import Matrix, Times, Vector
from ...estimators.impacts.space.problem import AXES, BODY, toss_of
from ...exceptions import UnreadableFile
from ...models.rotations import from_quaternion
from ...models.spatial.impacts import plane_axes
from ...project import Run
from ...project.prediction import PredictionJob
from ...project.settings.bodies_and_walls import SpatialBodySettings
from ...recording import Recording
from .subject import Subject, Surface, ViewedMotion

ENDS = tuple(f"orientation.{BODY}.{end}" for end in (*AXES, "w"))


class ViewedToss(Subject):
    """A body and its plane, as the result has them. Raises `UnreadableFile` if the result has no corners."""

    def __init__(self, job: PredictionJob, body: SpatialBodySettings):
        scene = job.result.get("scene") or {}
        try:
            corners = np.array(scene["corners"], dtype=np.float64).reshape(-1, 3)
            point, normal = (
                np.array(scene[name], dtype=np.float64).reshape(3) for name in ("point", "normal")
            )
        except (TypeError, KeyError, ValueError):
            raise UnreadableFile(
                f"{job.path} does not say how the body looks: run `poinsot identify JOB.toml --out FOLDER` again"
            ) from None
        self.axes, self.forces = body.axes, body.forces
        self.bodies, self.lines, self.described = (body.name,), {}, {}
        size = float(np.abs(corners).max())
        self.shapes = (Surface(body.name, *hull(corners)), Surface("", *_square(point, normal, 24 * size)))

    def runs(self, job: PredictionJob, data_dir: Path | None) -> Sequence[Run]:
        """The recordings."""
        return job.project.recordings(self.axes, self.forces, data_dir)

    def recorded(self, run: Run) -> ViewedMotion:
        """The tracked poses."""
        toss, _ = toss_of(run.recording, run.name)
        return _motion(run.name, toss.times, toss.places, toss.rotations)

    def estimated(self, name: str, path: Recording) -> ViewedMotion:
        """The motion of the center of mass."""
        places = np.column_stack([path[f"position.{axis}"] for axis in AXES])
        rotations = from_quaternion(np.column_stack([path[end] for end in ENDS]))
        return _motion(name, path.time, places, rotations)


def _motion(name: str, times: Times, places: Matrix, rotations: Float[np.ndarray, "T 3 3"]) -> ViewedMotion:
    T = np.tile(np.eye(4), (len(places), 1, 1, 1))
    T[:, 0, :3, :3], T[:, 0, :3, 3] = rotations, places
    channels = {f"position.{axis}": places[:, k] for k, axis in enumerate(AXES)}
    return ViewedMotion(name, times, T, channels, dict.fromkeys(channels, "m"))


def hull(corners: Float[np.ndarray, "k 3"]) -> tuple[Matrix, np.ndarray]:
    """Vertices and faces of the convex hull of points [m]; faces are turned outwards."""
    found = ConvexHull(corners)
    a, b, c = (corners[found.simplices[:, k]] for k in range(3))
    inwards = np.einsum("fi,fi->f", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    return corners, np.where(inwards[:, None], found.simplices[:, ::-1], found.simplices)


def _square(point: Vector, normal: Vector, length: float) -> tuple[Matrix, np.ndarray]:
    """A square in a plane about a point."""
    across = plane_axes(normal / np.linalg.norm(normal), np.eye(3)[np.argmin(np.abs(normal))])[1:]
    ends = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]]) * 0.5 * length
    return point + ends @ across, np.array([[0, 1, 2], [1, 3, 2]])
