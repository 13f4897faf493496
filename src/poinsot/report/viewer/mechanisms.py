"""A mechanism of bodies and joints that moves: bodies along its tree of joints, by their coordinates y.

    T_wb = T_wa frame(a) motion(y) frame(b)^-1,    motion: a turn about z, a displacement along z, or Exp(y) of a ball

(`poinsot.models.maximal.reduced` has the same in JAX, with rates.) Results have only coordinates of joints: bodies
that no joint connects to the world are not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from ...arrays import JointSamples
from ...exceptions import listing
from ...models.maximal import Mechanism
from ...models.maximal.reduced import coordinates, tree
from ...project import Run
from ...project.prediction import PredictionJob
from ...recording import Recording
from .subject import Subject, ViewedMotion, shown_channels


class ViewedMechanism(Subject):
    """A mechanism, with lines from each body's centre of mass to its joints."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism, self.structure = mechanism, mechanism.structure
        self.tree = tree(self.structure)
        reached = sorted(body for body, *_ in self.tree)
        names = [body.name for body in mechanism.bodies]
        self.places, self.bodies = reached, tuple(names[k] for k in reached)
        self.described = {body.name: body.prior for body in mechanism.described if body.prior is not None}
        self.lines = {}
        for k in reached:
            joints = [
                point
                for bodies, points in (
                    (self.structure.parent, self.structure.parent_point),
                    (self.structure.child, self.structure.child_point),
                )
                for point in points[bodies == k]
            ]
            center = mechanism.values.center[k]
            self.lines[names[k]] = np.array([[point, center] for point in joints])
        if loose := [name for name in names if name not in self.bodies]:
            self.described = {name: pi for name, pi in self.described.items() if name in self.bodies}
            self.remarks = (
                f"{listing(loose)}: no joint connects this to the world, and the result has only the coordinates of "
                "joints, so it is not drawn",
            )

    def runs(self, job: PredictionJob, data_dir: Path | None) -> Sequence[Run]:
        """The recordings."""
        mechanism = self.mechanism
        return job.project.recordings(mechanism.readable_joints, mechanism.inputs, data_dir)

    def recorded(self, run: Run) -> ViewedMotion | None:
        """The motion from the readings, if every joint between the world and the bodies was measured."""
        needed = [name for name, used in zip(self._channels, self._used, strict=True) if used]
        if not set(needed) <= set(run.recording.channels):
            return None
        read = np.logical_and.reduce([run.recording.mask(name) for name in needed])
        if read.sum() < 2:
            return None
        return self._motion(run.name, run.recording, read)

    def estimated(self, name: str, path: Recording) -> ViewedMotion:
        """The motion by the estimated coordinates."""
        return self._motion(name, path, np.full(len(path), True))

    @property
    def _channels(self) -> list[str]:
        return [f"position.{name}" for name, _ in self.mechanism.coordinates]

    @property
    def _used(self) -> np.ndarray:
        """(n,) coordinates of joints of the tree; others close loops."""
        used = np.zeros(len(self._channels), dtype=bool)
        for _, _, k, _ in self.tree:
            used[coordinates(self.structure)[k]] = True
        return used

    def _motion(self, name: str, recording: Recording, rows: np.ndarray) -> ViewedMotion:
        zeros = np.zeros(len(recording))
        y = np.column_stack([recording.channels.get(channel, zeros) for channel in self._channels])[rows]
        channels = {channel: values[rows] for channel, values in shown_channels(recording).items()}
        return ViewedMotion(name, recording.time[rows], self.placements(y), channels, recording.units)

    def placements(self, y: JointSamples) -> Float[np.ndarray, "T l 4 4"]:
        """T_wb of each drawn body at joint coordinates y (T, n) [rad], [m]."""
        structure, own = self.structure, coordinates(self.structure)
        T = {structure.bodies: np.broadcast_to(np.eye(4), (len(y), 4, 4))}  # the world's
        for body, parent, k, outward in self.tree:
            displacement = np.zeros((len(y), 6))
            displacement[:, np.flatnonzero(structure.free[k])] = y[:, own[k]]
            motion = np.tile(np.eye(4), (len(y), 1, 1))
            motion[:, :3, :3] = Rotation.from_rotvec(displacement[:, 3:]).as_matrix()
            motion[:, :3, 3] = displacement[:, :3]
            a, b = np.eye(4), np.eye(4)
            a[:3, :3], a[:3, 3] = structure.parent_frame[k], structure.parent_point[k]
            b[:3, :3], b[:3, 3] = structure.child_frame[k], structure.child_point[k]
            T_ab = a @ motion @ np.linalg.inv(b)  # from the joint's parent to its child
            T[body] = T[parent] @ (T_ab if outward else np.linalg.inv(T_ab))
        return np.stack([T[k] for k in self.places], axis=1)
