"""Prediction of the motion of an identified body through all impacts, from its measured first flight.

The exact motion (`models.planar.events`) begins in the middle of the flight (`flights.first_flight`). The interval at
each time is that of motions that start from draws of this state and of J/m, friction and restitution. It grows fast
with impacts, which amplify errors of the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Float, Vector
from ...models.planar import PlanarBody
from ...models.planar.body import Wall
from ...models.planar.drop import Drop, of_center, of_point
from ...models.planar.events import moved
from ...models.planar.shapes import Shape
from .flights import FALL, first_flight

FLIGHT_FRAMES = 4
"""Least number of frames that are given; those of the flight may be two, which lie on a line always."""
CENTER = np.zeros(2)
"""Offset of a tracked point that is the center of mass [m]."""
DRAWS = 200
"""Number of motions, whose quantiles are the interval."""


@dataclass(frozen=True, eq=False)
class PredictedThrow:
    """Poses that follow from the first flight of a throw.

    Args:
        poses: (T, 3) [m], [m], [rad]. low, high: (T, 3) 95 % interval. until: time of the last frame that was used [s].
    """

    poses: Float[np.ndarray, "T 3"]
    low: Float[np.ndarray, "T 3"]
    high: Float[np.ndarray, "T 3"]
    until: float


def predict_throw(
    drop: Drop,
    times: Vector,
    shape: Shape,
    walls: Sequence[Wall],
    values: Mapping[str, tuple[float, float]],
    noise: Vector,
    law: str = "complementarity",
    offset: Vector = CENTER,
) -> PredictedThrow:
    """The motion at rising times (T,) [s], from the first flight of a drop.

    Args:
        values: `J/m` [m^2], `friction` and `restitution` with their standard deviations.
        noise: (3,) standard deviations of a frame [m], [m], [rad]. law: of impacts, as in `PlanarBody`.
        offset: (2,) of the tracked point from the center of mass, in the body's frame [m].
    """
    drop = replace(drop, poses=of_center(drop, offset))
    count, state, middle = first_flight(drop.times, drop.poses, noise)
    s = drop.times[:count] - middle
    state_std = np.outer([1 / np.sqrt(count), 1 / np.sqrt(s @ s)], noise)
    center, std = np.array([values[name] for name in ("J/m", "friction", "restitution")]).T
    later = times > middle
    clock, early = np.append(middle, times[later]), times[~later, None] - middle

    def moves(chance: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "T 3"]:
        """Poses (T, 3) with errors of pose, velocity and parameters, in standard deviations."""
        J, friction, restitution = center + std * chance[2]
        bounce = float(np.clip(restitution, 0, 1))
        body = PlanarBody(shape, 1.0, max(J, 0.1 * center[0]), max(friction, 0.0), bounce, law=law)
        q, v = state + state_std * chance[:2]
        return np.vstack([q + v * early + 0.5 * FALL * early**2, moved(body, walls, q, v, clock)[0][1:]])

    def tracked(chance: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "T 3"]:
        """The same of the tracked point."""
        return of_point(moves(chance), offset)

    rng = np.random.default_rng(0)
    drawn = np.array([tracked(rng.standard_normal((3, 3))) for _ in range(DRAWS)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return PredictedThrow(tracked(np.zeros((3, 3))), low, high, float(drop.times[count - 1]))
