"""Checks of a tracked drop before the identification: units, vertical axis, size, first pose.

In flight a body accelerates downwards by 9.81 m/s^2, and by no more at any time, since walls only push. So a low
quantile of the accelerations, from parabolas fitted to short windows of frames, tells the unit of the poses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Vector
from ...exceptions import InvalidSignals
from ...models.planar.contact import contacts_at
from ...models.planar.shapes import Shape
from ...models.planar.stepping import GRAVITY
from ...models.planar.walls import Wall
from .flights import Drop

WINDOW, FEWEST = 0.08, 5
"""Length of the window of a parabola [s], and its least number of frames."""
LOWEST = 0.1
"""Quantile of the accelerations: not the lowest, which noise may have made."""
KNOWN = 0.3
"""Largest relative standard deviation of an acceleration that counts as known."""
UNITS = {1000.0: "mm", 100.0: "cm", 39.37: "inches", 1e-3: "km"}
FASTEST, UPRIGHT = 1.25, (0.5, 1.25)
"""In parts of gravity: an acceleration that no body falls with, and the range of what is found where y points down."""
NEAR = 1.5
"""Factor within which an acceleration belongs to a unit."""
INSIDE, SMALL = 4.0, 5.0
"""Standard deviations of the tracker: how far inside a wall a body may begin to be, and how large it must be."""


def check_drop(
    drop: Drop,
    noise: Vector,
    shape: Shape,
    walls: Sequence[Wall],
) -> None:
    """Refuse a drop that cannot be right.

    Args:
        drop: to be checked; its units only if no known forces act, since these accelerate it as well.
        noise: (3,) of its tracker. shape, walls: outline of the body, and walls that it may strike.

    Raises:
        InvalidSignals: if units, the vertical axis, the size or the first pose cannot be right.
    """
    name, poses = drop.name, drop.poses
    fall, certain = acceleration(drop.times, poses[:, 1])
    if certain and drop.forces is None:
        for factor, unit in UNITS.items():
            if 1 / NEAR < -fall / GRAVITY / factor < NEAR:
                raise InvalidSignals(
                    f"[length-unit] {name} falls at {-fall:.4g} m/s^2 in flight, some {factor:g} times gravity: its "
                    f"positions are in {unit}; say so, or multiply them by {1 / factor:.4g}"
                )
        rise, sure = acceleration(drop.times, -poses[:, 1])
        if sure and -fall > FASTEST * GRAVITY and UPRIGHT[0] < -rise / GRAVITY < UPRIGHT[1]:
            raise InvalidSignals(
                f"[sign] {name} accelerates downwards by {-fall:.4g} m/s^2, more than gravity does, and upwards by "
                f"{-rise:.4g}: its y points down; let it point up, with scale = -1 for it and for the angle"
            )
    if shape.size < SMALL * noise[0]:
        raise InvalidSignals(
            f"[length-scale] the body reaches {1e3 * shape.size:.3g} mm and the tracker of {name} is off by "
            f"{1e3 * noise[0]:.3g} mm: give the shape in metres, or track it more closely"
        )
    gaps = contacts_at(poses[0], shape, walls)[0]
    allowed = INSIDE * np.hypot(noise[0], shape.size * noise[2])
    if gaps.min() < -allowed:
        flipped = contacts_at(poses[0] * [1.0, -1.0, -1.0], shape, walls)[0].min() > -allowed
        raise InvalidSignals(
            f"[wall] in {name} the body begins {-1e3 * gaps.min():.3g} mm inside wall "
            f"{1 + int(gaps.argmin()) // len(shape.parts)}; mend the wall, the shape or the origin of the poses"
            + (", or let y point up, with scale = -1 for it and for the angle" if flipped else "")
        )


def acceleration(times: Vector, y: Vector) -> tuple[float, bool]:
    """Acceleration of y in flight [m/s^2], and whether it is known well enough to tell the unit."""
    count = min(max(round(WINDOW / float(np.median(np.diff(times)))), FEWEST), len(y))
    windows = range(len(y) - count + 1)
    found, squares, deviation = np.empty(len(windows)), np.empty(len(windows)), np.empty(len(windows))
    for k in windows:
        t = times[k : k + count] - times[k]
        basis = np.column_stack([np.ones(count), t, 0.5 * t**2])
        solved, *_ = np.linalg.lstsq(basis, y[k : k + count], rcond=None)
        found[k], squares[k] = solved[2], np.sum((basis @ solved - y[k : k + count]) ** 2)
        deviation[k] = np.sqrt(np.linalg.inv(basis.T @ basis)[2, 2])
    lowest = float(np.quantile(found, LOWEST))
    noise = float(np.sqrt(np.median(squares) / (count - 3)))
    return lowest, bool(noise * np.median(deviation) < KNOWN * abs(lowest))
