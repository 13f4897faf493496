"""What a tracked drop must be for anything to follow from it, asked before any work is done.

Gravity is the ruler: no body accelerates downwards by more than 9.81 m/s^2, which it does in flight; what it strikes
only pushes. Short windows of frames are fitted with a parabola each, and the lowest of their accelerations, but for a
part that noise may have made, says in which units poses are.
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
"""Of a parabola [s], and frames at least."""
LOWEST = 0.1
"""Part of the windows that fall faster still."""
KNOWN = 0.3
"""Standard deviation of an acceleration, in parts of it, for it to say anything."""
UNITS = {1000.0: "mm", 100.0: "cm", 39.37: "inches", 3.2808: "feet", 1e-3: "km"}
FASTEST, UPRIGHT = 1.25, (0.5, 1.25)
"""Of gravity: what no body falls with, and what it does fall with, as it is found where windows have impacts."""
NEAR = 1.5
"""Factor within which an acceleration is that of a unit."""
INSIDE, SMALL = 4.0, 5.0
"""Standard deviations of the tracker: how far inside a wall a body may begin to be, and how large it must be."""


def check_drop(
    drop: Drop,
    noise: Vector,
    shape: Shape,
    walls: Sequence[Wall],
) -> None:
    """
    Args:
        drop: to be checked; where known forces act gravity is no ruler, and units are not asked for.
        noise: (3,) of its tracker. shape, walls: what strikes what.

    Raises:
        InvalidSignals: if units, the vertical axis, the size or the first pose cannot be right.
    """
    name, poses = drop.name, drop.poses
    fall, certain = acceleration(drop.times, poses[:, 1])
    if certain and drop.forces is None:
        for factor, unit in UNITS.items():
            if 1 / NEAR < -fall / GRAVITY / factor < NEAR:
                raise InvalidSignals(
                    f"{name} falls at {-fall:.4g} m/s^2 in flight, some {factor:g} times gravity: its positions "
                    f"are in {unit}; say so in their unit, or multiply them by {1 / factor:.4g}"
                )
        rise, sure = acceleration(drop.times, -poses[:, 1])
        if sure and -fall > FASTEST * GRAVITY and UPRIGHT[0] < -rise / GRAVITY < UPRIGHT[1]:
            raise InvalidSignals(
                f"{name} accelerates downwards by {-fall:.4g} m/s^2, more than gravity does, and upwards by "
                f"{-rise:.4g}: its y points down; let it point up, with scale = -1 for it and for the angle"
            )
    if shape.size < SMALL * noise[0]:
        raise InvalidSignals(
            f"the body reaches {1e3 * shape.size:.3g} mm and the tracker of {name} is off by {1e3 * noise[0]:.3g} "
            "mm: give the shape in metres, or track it more closely"
        )
    gaps = contacts_at(poses[0], shape, walls)[0]
    allowed = INSIDE * np.hypot(noise[0], shape.size * noise[2])
    if gaps.min() < -allowed:
        flipped = contacts_at(poses[0] * [1.0, -1.0, -1.0], shape, walls)[0].min() > -allowed
        raise InvalidSignals(
            f"in {name} the body begins {-1e3 * gaps.min():.3g} mm inside wall "
            f"{1 + int(gaps.argmin()) // len(shape.parts)}; mend the wall, the shape or the origin of the poses"
            + (", or let y point up, with scale = -1 for it and for the angle" if flipped else "")
        )


def acceleration(times: Vector, y: Vector) -> tuple[float, bool]:
    """Of y in flight [m/s^2]; and whether that is well enough known to say its unit."""
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
