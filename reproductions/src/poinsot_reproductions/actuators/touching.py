"""Find the recordings in which a robot touches what lies below it, from how it moved and how it should have moved.

A floor only pushes up. Where the lowest point of the robot, at height z, is held above the height z' that it has in the
simulated free motion,

    d = z - z'

is large and positive as long as the robot touches. Errors of the model move d too. How far they do is seen in the half
of the recordings whose lowest points stay highest: these are taken for free. With e the 99th percentile of |d| in each
of them, a recording of the other half touches where d is above twice the 90th percentile of e, for longer than
`LEAST_S` in total. So recordings of which more than half touch are not told apart.

Heights need the shapes of the links. Where the description names meshes that cannot be found, the origins of the links'
frames stand for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from poinsot.arrays import JointSamples, Matrix, Times, Vector
from poinsot.exceptions import InvalidRecording
from poinsot.models.robot.articulated import Articulated

LEAST_S, INTERVAL_S = 0.5, 0.2
"""Shortest contact, in total, and the time between the postures that are looked at [s]."""

DIRECTIONS = 200
"""Directions in which the outermost point of each link's shapes is kept."""


@dataclass(frozen=True)
class Touch:
    """Contact that was found in a recording.

    Args:
        seconds: for which the robot is held up. height: median height of its lowest point meanwhile [m].
        lifted: 95th percentile of how far it is held above the free motion [m].
    """

    seconds: float
    height: float
    lifted: float

    def __str__(self) -> str:
        lifted, height = 1e3 * self.lifted, 1e3 * self.height
        return f"held up by {lifted:.0f} mm for {self.seconds:.1f} s, at a height of {height:.0f} mm"


def find_touching(
    robot: Articulated,
    motions: Mapping[str, tuple[Times, JointSamples, JointSamples]],
) -> dict[str, Touch]:
    """The recordings in which the robot touches something below it, by name.

    Args:
        robot: with a fixed base.
        motions: name -> times (T,) [s], measured (T, n) and simulated (T, n) positions of the robot's joints [rad].

    Raises:
        InvalidRecording: if there is no motion.
    """
    if not motions:
        raise InvalidRecording("there is no motion in which contact could be found")
    points = outermost_points(robot)
    heights: dict[str, tuple[Vector, Vector, float]] = {}
    for name, (time, measured, simulated) in motions.items():
        step = _stride(time)
        usable = np.isfinite(measured).all(axis=1) & np.isfinite(simulated).all(axis=1)
        at = np.flatnonzero(usable)[::step]
        z, free = lowest_heights(robot, points, measured[at]), lowest_heights(robot, points, simulated[at])
        heights[name] = z, z - free, float(step * np.median(np.diff(time)))
    lowest = {name: float(z.min()) for name, (z, _, _) in heights.items()}
    middle = float(np.median(list(lowest.values())))
    errors = [np.quantile(np.abs(d), 0.99) for name, (_, d, _) in heights.items() if lowest[name] >= middle]
    # 0.5 mm: the height of an arm of 0.3 m is known no better from encoders with 4096 steps a turn
    threshold = max(2.0 * float(np.quantile(errors, 0.9)), 5e-4)
    found = {}
    for name, (z, d, interval) in heights.items():
        held = d > threshold
        if lowest[name] < middle and interval * held.sum() > LEAST_S:
            found[name] = Touch(
                float(interval * held.sum()), float(np.median(z[held])), float(np.quantile(d[held], 0.95))
            )
    return found


def lowest_of_recordings(
    robot: Articulated,
    motions: Mapping[str, tuple[Times, JointSamples]],
) -> dict[str, float]:
    """Height of the robot's lowest point in each recording [m]: those that stay high touch nothing below.

    Args:
        motions: name -> times (T,) [s] and measured (T, n) positions of the robot's joints [rad].
    """
    points = outermost_points(robot)
    return {
        name: float(lowest_heights(robot, points, measured[:: _stride(time)]).min())
        for name, (time, measured) in motions.items()
    }


def _stride(time: Times) -> int:
    """Samples from one posture that is looked at to the next."""
    return max(1, round(INTERVAL_S / float(np.median(np.diff(time)))))


def outermost_points(robot: Articulated) -> dict[int, Matrix]:
    """Number of a joint -> (P, 3) outermost points of the shapes that it carries, in its frame [m].

    Without shapes, the origins of the frames there.
    """
    points: dict[int, list[Matrix]] = {}
    for joint, vertices in _shape_points(robot):
        points.setdefault(joint, []).append(vertices)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(DIRECTIONS, 3))
    found = {}
    for joint, lists in points.items():
        all_points = np.vstack(lists)
        found[joint] = all_points[np.unique(np.argmax(all_points @ directions.T, axis=0))]
    if not found:
        for frame in robot.model.frames:
            if frame.parentJoint > 0:
                origin = np.array(frame.placement.translation)[None]
                found[frame.parentJoint] = np.vstack([found.get(frame.parentJoint, origin), origin])
    return found


def lowest_heights(robot: Articulated, points: Mapping[int, Matrix], positions: JointSamples) -> Vector:
    """(T,) height of the lowest of the points at each posture, against gravity [m].

    Args:
        positions: (T, n) of the robot's joints [rad].
    """
    gravity = np.array(robot.model.gravity.linear)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    data, configurations = robot.model.createData(), robot.configurations(positions)
    n = len(positions)
    directions, offsets = {j: np.empty((n, 3)) for j in points}, {j: np.empty(n) for j in points}
    for k, q in enumerate(configurations):
        pin.forwardKinematics(robot.model, data, q)
        for j in points:
            T_wb = data.oMi[j]
            directions[j][k], offsets[j][k] = T_wb.rotation.T @ up, up @ T_wb.translation
    lowest = np.full(n, np.inf)
    for j, own in points.items():
        lowest = np.minimum(lowest, (directions[j] @ own.T).min(axis=1) + offsets[j])
    return lowest


def _shape_points(robot: Articulated) -> list[tuple[int, Matrix]]:
    """(joint, (P, 3) vertices in its frame) of every mesh of moving links; none where meshes cannot be found."""
    if robot.source is None or robot.source.suffix.lower() != ".urdf":
        return []
    folders = [str(each) for each in robot.source.resolve().parents]
    try:
        geometry = pin.buildGeomFromUrdf(
            robot.model, str(robot.source), pin.GeometryType.COLLISION, package_dirs=folders
        )
    except ValueError:
        return []
    found = []
    for each in geometry.geometryObjects:
        if each.parentJoint == 0 or not hasattr(each.geometry, "vertices"):
            continue
        vertices = np.asarray(each.geometry.vertices()) * each.meshScale
        found.append((each.parentJoint, vertices @ each.placement.rotation.T + each.placement.translation))
    return found
