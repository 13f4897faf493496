"""Prediction of a toss in space from its first flight, through impacts, slides and rest.

The interval at each time is that of motions that start from draws of the flight's state, and of the parameters. It
grows fast with impacts, which amplify errors of the state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....arrays import Float, Matrix, Vector
from ....models.rotations import log
from ....models.spatial.flights import spun
from ....models.spatial.impacts import plane_axes
from ....models.spatial.rolling import rolled
from .flights import Toss, TossFlight, first_flight, tracker_noise
from .kernels import (
    FRICTION,
    GRAVITY_RATIO,
    HEIGHT,
    IN_IMPACTS,
    POINT,
    RADIUS,
    RESTITUTION,
    SHIFT,
    TILT_X,
    inertia_of,
    plane_normal,
)
from .pool import ContactScene

DRAWS = 100
"""Number of motions, whose quantiles are the interval."""


@dataclass(frozen=True, eq=False)
class PredictedToss:
    """Poses that follow from the first flight of a toss.

    Args:
        places: (T, 3) of the tracked point [m]. rotations: (T, 3, 3). low, high: (T, 3) 95 % interval of the places.
        turn: (T,) angle that 95 % of the motions stay within of the estimate's [rad]. until: time of the last frame
            that was used [s].
    """

    places: Float[np.ndarray, "T 3"]
    rotations: Float[np.ndarray, "T 3 3"]
    low: Float[np.ndarray, "T 3"]
    high: Float[np.ndarray, "T 3"]
    turn: Vector
    until: float


def predict_toss(
    toss: Toss, times: Vector, scene: ContactScene, theta: Vector, covariance: Matrix, law: int, size: float
) -> PredictedToss:
    """The motion at rising times (T,) [s], from the first flight of a toss.

    Args:
        theta, covariance: (S,), (S, S) of `kernels`. law: index in `LAWS`. size: of the body [m].

    Raises:
        InvalidRecording: if the toss does not begin with a flight.
    """
    flight, of_state = first_flight(toss, theta, scene.gravity, tracker_noise([toss]), size)
    rng = np.random.default_rng(0)
    places, rotations = _moved(flight, times, scene, theta, law)
    states = rng.multivariate_normal(np.zeros(12), of_state, DRAWS, method="eigh")
    others = rng.multivariate_normal(theta, covariance, DRAWS, method="eigh")
    others[:, [FRICTION, RESTITUTION, RADIUS]] = np.maximum(others[:, [FRICTION, RESTITUTION, RADIUS]], 0.0)
    drawn = [_moved(flight.moved(d), times, scene, x, law) for d, x in zip(states, others, strict=True)]
    low, high = np.quantile([own for own, _ in drawn], [0.025, 0.975], axis=0)
    turns = [np.linalg.norm(log(np.swapaxes(rotations, 1, 2) @ own), axis=1) for _, own in drawn]
    until = float(toss.times[flight.end - 1])
    return PredictedToss(places, rotations, low, high, np.quantile(turns, 0.95, axis=0), until)


def _moved(
    flight: TossFlight, times: Vector, scene: ContactScene, theta: Vector, law: int
) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3 3"]]:
    """Places of the tracked point, and rotations."""
    J, g = inertia_of(theta[:6]), theta[GRAVITY_RATIO] * scene.gravity
    J_inverse, n = np.linalg.inv(J), plane_normal(scene.plane[1], scene.plane[2:], theta[TILT_X : TILT_X + 2])
    corners = scene.corners + theta[SHIFT : SHIFT + 3] - theta[RADIUS] * scene.inwards
    height = float(scene.plane[0] @ n + theta[HEIGHT])
    friction = np.array([theta[FRICTION], max(theta[FRICTION] + theta[IN_IMPACTS], 0.0)])
    early = times[times < flight.middle]
    before = [spun(J, J_inverse, flight.R, flight.w, float(t - flight.middle))[0] for t in early]
    s = (early - flight.middle)[:, None]
    after, turned = rolled(
        J,
        corners,
        float(theta[RADIUS]),
        plane_axes(n, scene.plane[2]),
        height,
        g,
        friction,
        float(min(theta[RESTITUTION], 1.0)),
        law,
        flight.p,
        flight.v,
        flight.R,
        flight.w,
        np.append(flight.middle, times[len(early) :]),
    )
    places = np.concatenate([flight.p + s * flight.v + 0.5 * s * s * g, after[1:]])
    rotations = np.concatenate([np.reshape(before, (-1, 3, 3)), turned[1:]])
    return places + rotations @ theta[POINT : POINT + 3], rotations
