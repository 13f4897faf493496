"""A thrown body that moves in the plane, and the walls that it hits: its outline, with some depth, y upwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from ...arrays import Matrix, Times
from ...estimate.motions import POSE
from ...estimators.impacts.problem import FORCES, drop_of, pose_channels
from ...exceptions import InvalidRecording, UnreadableFile
from ...project import Run
from ...project.prediction import PredictionJob
from ...project.settings.bodies_and_walls import PlanarBodySettings
from ...recording import Recording
from .subject import Subject, Surface, ViewedMotion


class ViewedThrow(Subject):
    """A thrown body and its walls, as the result has them. Raises `UnreadableFile` if the result has no outline."""

    def __init__(self, job: PredictionJob):
        body, scene = job.project.settings.body, job.result.get("scene") or {}
        assert isinstance(body, PlanarBodySettings)
        try:
            outline = np.array(scene["outline"], dtype=np.float64).reshape(-1, 2)
            walls = np.array(scene["walls"], dtype=np.float64).reshape(-1, 3)
        except (TypeError, KeyError, ValueError):
            raise UnreadableFile(
                f"{job.path} does not say how the body and its walls look: it was written by an earlier version; "
                "run `poinsot identify JOB.toml --out FOLDER` again"
            ) from None
        self.markers, self.bodies, self.lines, self.described = body.markers, (body.name,), {}, {}
        size = float(np.abs(outline).max())
        self.shapes = (
            Surface(body.name, *prism(outline, 0.4 * size)),
            *(Surface("", *_wall(wall, 24 * size, 4 * size)) for wall in walls),
        )

    def runs(self, job: PredictionJob, data_dir: Path | None) -> Sequence[Run]:
        """The recordings."""
        return job.project.recordings(pose_channels(self.markers), tuple(FORCES), data_dir)

    def recorded(self, run: Run) -> ViewedMotion | None:
        """The tracked poses; None for a table of impacts, which has no motion."""
        try:
            drop, _ = drop_of(run.recording, run.name, self.markers)
        except InvalidRecording:
            return None
        return _motion(run.name, drop.times, np.asarray(drop.poses))

    def estimated(self, name: str, path: Recording) -> ViewedMotion:
        """The motion of the centre of mass."""
        return _motion(name, path.time, np.column_stack([path[f"position.{axis}"] for axis in POSE]))


def _motion(name: str, times: Times, poses: Float[np.ndarray, "T 3"]) -> ViewedMotion:
    """The motion of poses (x, y, angle) [m], [rad]: counterclockwise from x to z, the world's axis upwards."""
    T = np.tile(np.eye(4), (len(poses), 1, 1, 1))
    T[:, 0, :3, :3] = Rotation.from_rotvec(np.outer(poses[:, 2], [0.0, -1.0, 0.0])).as_matrix()
    T[:, 0, 0, 3], T[:, 0, 2, 3] = poses[:, 0], poses[:, 1]
    channels = {f"position.{axis}": poses[:, k] for k, axis in enumerate(POSE)}
    return ViewedMotion(name, times, T, channels, {f"position.{axis}": unit for axis, unit in POSE.items()})


def prism(outline: Float[np.ndarray, "k 2"], half_depth: float) -> tuple[Matrix, np.ndarray]:
    """Vertices and faces of a convex outline with depth, its y along z [m]; faces are turned outwards."""
    k = len(outline)
    front, back = (
        np.column_stack([outline[:, 0], np.full(k, y), outline[:, 1]]) for y in (-half_depth, half_depth)
    )
    i, after = np.arange(k), np.roll(np.arange(k), -1)
    sides = np.concatenate([np.column_stack([i, i + k, after]), np.column_stack([after, i + k, after + k])])
    fan = np.column_stack([np.zeros(k - 2, dtype=int), i[1:-1], i[2:]])
    return np.concatenate([front, back]), np.concatenate([sides, fan, fan[:, ::-1] + k])


def _wall(wall: np.ndarray, length: float, depth: float) -> tuple[Matrix, np.ndarray]:
    """A plane through a point, with this slope: (x, y, slope) [m], [rad]."""
    along = np.array([np.cos(wall[2]), 0.0, np.sin(wall[2])])
    ends = np.array([wall[0], 0.0, wall[1]]) + np.outer([-0.5, 0.5], length * along)
    across = np.array([0.0, 0.5 * depth, 0.0])
    vertices = np.concatenate([ends - across, ends + across])
    return vertices, np.array([[0, 1, 2], [1, 3, 2]])
