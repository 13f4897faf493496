"""Conversion of a recording of a tracked body to a drop.

docs/concepts/impacts.md and docs/project_file.md say which channels it has. A frame of which a reading is missing is
left out; forces [N], [N], [N m] of a row are held to the next. Each row of a table of impacts becomes a drop of six
frames, three of the flight that ends with its pose and velocity and three of the one that begins with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...arrays import Float, Indices, Vector
from ...estimate.motions import POSE
from ...exceptions import InvalidRecording, listing
from ...models.planar.body import GRAVITY
from ...models.planar.drop import Drop
from ...recording import IMPACT_VELOCITIES, Recording
from .flights import FEWEST, integrals

QUARTER_TURN, FREQUENT = np.pi / 2, 0.25
"""An angle that changes by more than a quarter turn, between more than this part of the frames, is not in radians."""
FORCES = {"x": "N", "y": "N", "angle": "N m"}
"""Known forces beside gravity, and their units."""
FEWEST_IMPACTS = 4
"""Least number of rows of a table of impacts."""
INTERVAL, INSTANT = 1e-3, 1e-6
"""Between frames that stand for a velocity, and between the last one before an impact and the first one after [s]."""


def pose_channels(markers: Mapping[str, Sequence[float]] | None) -> tuple[str, ...]:
    """Names after `position.` of the channels that a drop is made of."""
    return tuple(f"{marker}.{axis}" for marker in markers or () for axis in "xy") or tuple(POSE)


def drop_of(
    recording: Recording,
    name: str,
    markers: Mapping[str, Sequence[float]] | None = None,
    fewest: int = FEWEST,
) -> tuple[Drop, list[str]]:
    """The drop of a recording, and warnings about it.

    Args:
        name: of the drop. markers: name -> (x, y) in the body's frame [m]; None: the recording has poses.
        fewest: least number of frames.
    """
    if markers:
        poses = _poses_of_markers(recording, markers, name)
    else:
        columns = (_values(recording, f"position.{axis}", unit, name) for axis, unit in POSE.items())
        poses = np.column_stack(list(columns))
    whole, warnings = np.isfinite(poses).all(axis=1), []
    forces = _forces(recording, np.flatnonzero(whole), name)
    times, poses = np.asarray(recording.time, dtype=float)[whole], poses[whole]
    if len(poses) < fewest:
        raise InvalidRecording(
            f"recording {name!r} has {len(poses)} complete frames of {len(whole)}; it needs at least {fewest}"
        )
    if np.mean(np.abs(np.diff(poses[:, 2])) > QUARTER_TURN) > FREQUENT:
        raise InvalidRecording(
            f"[angle-unit] recording {name!r}: the angle changes by more than a quarter turn from frame to frame; if "
            'it is in degrees, write unit = "deg"'
        )
    if not whole.all():
        warnings.append(
            f"{int((~whole).sum())} of {len(whole)} frames of {name} are incomplete and excluded."
        )
    unwrapped = np.unwrap(poses[:, 2])
    if not markers and np.abs(unwrapped - poses[:, 2]).max(initial=0.0) > np.pi:
        warnings.append(
            f"The angle of {name} wraps; it was unwrapped, assuming less than half a turn per frame."
        )
    return Drop(name, times, np.column_stack([poses[:, :2], unwrapped]), forces), warnings


def impacts_of(recording: Recording, name: str) -> list[Drop]:
    """A drop for each row, an impact of which the velocities on both sides are known; rows with gaps are left out."""
    pose, before, after = (
        np.column_stack(
            [_values(recording, f"{what}.{axis}", unit + per, name) for axis, unit in POSE.items()]
        )
        for what, per in (("position", ""), *((quantity, "/s") for quantity in IMPACT_VELOCITIES))
    )
    whole = np.isfinite(np.hstack([pose, before, after])).all(axis=1)
    fall, drops = np.array([0.0, -GRAVITY, 0.0]), []
    for row in np.flatnonzero(whole):
        flown = [
            pose[row] + v * s + 0.5 * fall * s**2
            for v, times in ((before[row], (-2, -1, 0)), (after[row], (0, 1, 2)))
            for s in INTERVAL * np.array(times)
        ]
        clock = np.append(INTERVAL * np.arange(-2, 1), INSTANT + INTERVAL * np.arange(3))
        flights = np.arange(3), np.arange(3, 6)
        drops.append(Drop(f"{name} {row + 1}", recording.time[row] + clock, np.array(flown), flights=flights))
    if len(drops) < FEWEST_IMPACTS:
        raise InvalidRecording(
            f"recording {name!r} has {len(drops)} complete impacts; it needs at least "
            f"{FEWEST_IMPACTS}, since the scatter between them is the uncertainty"
        )
    return drops


def _values(recording: Recording, channel: str, unit: str, name: str) -> Vector:
    """(T,) of a channel, NaN where it is invalid."""
    if channel not in recording.channels:
        raise InvalidRecording(
            f"recording {name!r} has no position of {channel.removeprefix('position.')!r}, only of "
            f"{listing(recording.joints('position'))}; give columns for all that is needed, or name them with "
            "joints = [...]"
        )
    if recording.units[channel] != unit:
        raise InvalidRecording(
            f"recording {name!r}: {channel} is in {recording.units[channel]}, but must be in {unit}: correct "
            "its unit"
        )
    return recording.readings(channel)


def _forces(recording: Recording, frames: Indices, name: str) -> Float[np.ndarray, "K 3"] | None:
    """(N - 1, 3) means over the intervals between frames (N,), rows of the recording; None if there are no forces."""
    if not len(frames) or not any(f"torque.{axis}" in recording.channels for axis in FORCES):
        return None
    rows = np.zeros((len(recording), 3))
    for k, (axis, unit) in enumerate(FORCES.items()):
        if f"torque.{axis}" in recording.channels:
            rows[:, k] = _values(recording, f"torque.{axis}", unit, name)
    rows = rows[frames[0] : frames[-1]]
    missing = ~np.isfinite(rows).all(axis=1)
    if missing.any():
        raise InvalidRecording(
            f"recording {name!r}: forces are missing in {int(missing.sum())} rows; give them in all, or write hold = "
            "true if they are recorded only when they change"
        )
    time = np.asarray(recording.time[frames[0] : frames[-1] + 1], dtype=float)
    ends = time[frames - frames[0]]
    return np.asarray(integrals(time, rows, ends) / np.diff(ends)[:, None])


def _poses_of_markers(
    recording: Recording, markers: Mapping[str, Sequence[float]], name: str
) -> Float[np.ndarray, "N 3"]:
    """(N, 3) poses that bring the markers nearest to their measured positions (least squares)."""
    # the plane as complex numbers: the best rotation is the phase of the sum of products with conjugate places
    x, y = (
        np.stack([_values(recording, f"position.{marker}.{axis}", "m", name) for marker in markers], axis=1)
        for axis in "xy"
    )
    measured = x + 1j * y
    places = np.array([complex(*place) for place in markers.values()])
    middle, center = measured.mean(axis=1), places.mean()
    turned = (measured - middle[:, None]) @ np.conj(places - center)
    # without any phase, as where all markers coincide, there is no angle: the frame is left out
    turned = np.where(turned == 0, np.nan, turned)
    position = middle - turned / np.abs(turned) * center
    return np.column_stack([position.real, position.imag, np.angle(turned)])
