"""Frames of a tracked body in the plane, and the noise of its tracker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from ...arrays import Brief, Float, Indices, Matrix, Vector
from ...exceptions import InvalidRecording

GIVEN = np.array([1e-6, 1e-6, 1e-5])
"""Noise of frames that represent given velocities [m], [m], [rad]: their errors are part of the tolerances."""
QUANTILE = 0.3
"""Quantile of third differences from which noise is estimated: low, since differences across impacts are large."""


@dataclass(frozen=True, eq=False, repr=False)
class Drop(Brief):
    """Poses of a tracked body, from release to rest or any part of it.

    Args:
        name: name in results.
        times: (N,) of the frames, increasing [s].
        poses: (N, 3) x and y of the tracked point, y up [m], and the angle, counterclockwise, unwrapped [rad].
        forces: (N - 1, 3) known forces at the center of mass beside gravity, and their moment, each held from one frame
            to the next [N], [N], [N m]; None: there are none.
        flights: indices of the frames of each flight, where they are known; None: they are estimated.

    Raises:
        InvalidRecording: if frames are out of order, not finite, or fewer than four; or forces do not fit them.
    """

    name: str
    times: Float[np.ndarray, "N"]
    poses: Float[np.ndarray, "N 3"]
    forces: Float[np.ndarray, "K 3"] | None = None
    flights: tuple[Indices, ...] | None = None

    def __post_init__(self) -> None:
        for key in ("times", "poses", "forces") if self.forces is not None else ("times", "poses"):
            object.__setattr__(self, key, np.ascontiguousarray(getattr(self, key), dtype=float))
        times, poses, forces = self.times, self.poses, self.forces
        if poses.shape != (len(times), 3) or len(times) < 4:
            raise InvalidRecording(
                f"{self.name}: needs at least four frames of (x, y, angle) with their times"
            )
        if not np.isfinite(times).all() or not np.isfinite(poses).all():
            raise InvalidRecording(f"{self.name}: some frames are not finite; exclude them")
        if not (np.diff(times) > 0).all():
            raise InvalidRecording(f"{self.name}: frames are out of order; sort them by time")
        if forces is not None and (forces.shape != (len(times) - 1, 3) or not np.isfinite(forces).all()):
            raise InvalidRecording(
                f"{self.name}: forces need three finite numbers for each of the {len(times) - 1} intervals between "
                "frames"
            )

    @cached_property
    def noise(self) -> Vector:
        """(3,) standard deviations of a frame, before the motion is known [m], [m], [rad]."""
        return GIVEN if self.flights is not None else tracker_noise([self])


def of_center(drop: Drop, offset: Vector) -> Matrix:
    """(N, 3) poses of the center of mass, of which the tracked point is `offset` (2,) away in the body's frame [m]."""
    return of_point(drop.poses, -offset)


def of_point(poses: Matrix, offset: Vector) -> Matrix:
    """(N, 3) poses of a point that is `offset` (2,) away in the body's frame [m] from the one of poses (N, 3)."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    away = np.column_stack([c * offset[0] - s * offset[1], s * offset[0] + c * offset[1], 0 * c])
    return np.asarray(poses + away)


def tracker_noise(drops: Sequence[Drop]) -> Vector:
    """(3,) standard deviations of x, y and theta in a frame, before motions are known [m], [m], [rad].

    In flight poses are parabolas of time, so third differences are noise alone. x and y have the same standard
    deviation.
    """
    place, angle = (
        noise_of_thirds([(drop.times, drop.poses[:, columns]) for drop in drops])
        for columns in (slice(2), slice(2, 3))
    )
    return np.array([place, place, angle])


def noise_of_thirds(tracks: Sequence[tuple[Vector, Float[np.ndarray, "_ columns"]]]) -> float:
    """Standard deviation of one reading of tracks (times, readings), from a low quantile of their third differences."""
    third = np.concatenate([_third_differences(times, readings).ravel() for times, readings in tracks])
    return max(float(np.quantile(third, QUANTILE) / ndtri(0.5 + QUANTILE / 2)), 1e-12)


def _third_differences(
    times: Vector, poses: Float[np.ndarray, "N columns"]
) -> Float[np.ndarray, "K columns"]:
    """Sizes of divided differences over four frames, by norms that make their noise that of a frame."""
    # frames may be uneven: 1 / product of the differences of times
    t = np.lib.stride_tricks.sliding_window_view(times, 4)
    weights = 1 / np.prod(t[:, :, None] - t[:, None, :] + np.eye(4), axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(poses, 4, axis=0)
    unit = weights / np.linalg.norm(weights, axis=1)[:, None]
    return np.abs(np.einsum("kij,kj->ki", windows, unit))
