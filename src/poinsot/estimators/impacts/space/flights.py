"""Division of the frames of a toss into flights: as long as possible, with residuals that are noise.

A flight is fitted with its center on a parabola of known gravity and its spin free of torque. It grows frame by frame
until a frame is further than `STRAY` standard deviations from its prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....arrays import Brief, Float, Vector
from ....exceptions import InvalidRecording
from ....models.planar.drop import noise_of_thirds
from ....models.rotations import log
from ....models.spatial.flights import turned
from .kernels import flight_derivatives, flight_residuals

FEWEST = 4
"""Least number of frames of a flight."""
STRAY, STRAY_SIZE = 5.0, 0.005
"""A frame belongs to a flight if its residual is below so many standard deviations, or this part of the size."""
ROUNDS = 4


@dataclass(frozen=True, eq=False, repr=False)
class Toss(Brief):
    """Frames of a body that is tracked in space.

    Args:
        times: (N,) of the frames, increasing [s]. places: (N, 3) of the tracked point [m]. rotations: (N, 3, 3) from
            the body's frame to the world's.

    Raises:
        InvalidRecording: if frames are out of order, or too few.
    """

    name: str
    times: Float[np.ndarray, "N"]
    places: Float[np.ndarray, "N 3"]
    rotations: Float[np.ndarray, "N 3 3"]

    def __post_init__(self) -> None:
        if len(self.times) < FEWEST:
            raise InvalidRecording(
                f"{self.name}: needs at least {FEWEST} complete frames, not {len(self.times)}"
            )
        if not (np.diff(self.times) > 0).all():
            raise InvalidRecording(f"{self.name}: frames are out of order; sort them by time")


def tracker_noise(tosses: Sequence[Toss]) -> Vector:
    """(2,) standard deviations of a coordinate [m] and of a component of the rotation [rad], before motions are known:
    third differences of both are noise alone in flight.
    """
    places = noise_of_thirds([(toss.times, toss.places) for toss in tosses])
    turns = noise_of_thirds(
        [
            (toss.times, np.vstack([np.zeros(3), np.cumsum(log(_steps(toss.rotations)), axis=0)]))
            for toss in tosses
        ]
    )
    return np.array([places, turns])


def _steps(R: Float[np.ndarray, "N 3 3"]) -> Float[np.ndarray, "M 3 3"]:
    """Rotations from frame to frame."""
    return np.asarray(np.swapaxes(R[:-1], 1, 2) @ R[1:])


@dataclass(eq=False)
class TossFlight:
    """Frames of one flight of a toss, from `begin` to before `end`, and its state at `middle`.

    Args:
        p, v, w: (3,) place and velocity of the center of mass, spin in the body's frame. R: (3, 3) rotation.
    """

    begin: int
    end: int
    middle: float
    p: Vector
    v: Vector
    R: Float[np.ndarray, "3 3"]
    w: Vector

    def moved(self, step: Vector) -> TossFlight:
        """The flight with its state changed by (12,) of place, velocity, rotation (in the body's frame) and spin."""
        R = turned(self.R, step[6:9])
        return TossFlight(
            self.begin, self.end, self.middle, self.p + step[:3], self.v + step[3:6], R, self.w + step[9:]
        )

    @property
    def rates(self) -> Vector:
        """(9,) p, v, w."""
        return np.concatenate([self.p, self.v, self.w])


def window(toss: Toss, flight: TossFlight) -> tuple[Vector, np.ndarray, np.ndarray]:
    """Times from the flight's middle, places and rotations of its frames."""
    part = slice(flight.begin, flight.end)
    return toss.times[part] - flight.middle, toss.places[part], toss.rotations[part]


def _fitted(
    toss: Toss, begin: int, end: int, theta: Vector, g: Vector, noise: Vector
) -> tuple[TossFlight, Float[np.ndarray, "n 6"], np.ndarray]:
    """The flight of these frames, residuals (n, 6) in standard deviations, and covariance (12, 12) of its state."""
    t, middle = toss.times[begin:end], (begin + end) // 2
    at = float(t[middle - begin])
    s = t - at
    fall = 0.5 * s[:, None] ** 2 * g
    X = np.column_stack([np.ones_like(s), s])
    p, v = np.linalg.lstsq(X, toss.places[begin:end] - fall, rcond=None)[0]
    turns = log(np.asarray(toss.rotations[middle].T @ toss.rotations[begin:end]))
    first, w = np.linalg.lstsq(X, turns, rcond=None)[0]
    flight = TossFlight(begin, end, at, p, v, turned(toss.rotations[middle], first), w)
    scale = np.repeat(noise, 3)
    for _ in range(ROUNDS):
        e, by_state, _ = flight_derivatives(
            theta, g, flight.p, flight.v, flight.R, flight.w, *window(toss, flight)
        )
        A, r = (by_state / scale[:, None]).reshape(-1, 12), (e / scale).ravel()
        covariance = np.linalg.inv(A.T @ A)
        step = -covariance @ (A.T @ r)
        flight = flight.moved(step)
        if step @ (A.T @ (A @ step)) < 1e-4:
            break
    e = flight_residuals(theta, g, flight.p, flight.v, flight.R, flight.w, *window(toss, flight)) / scale
    return flight, e, covariance


def flights_of(toss: Toss, theta: Vector, g: Vector, noise: Vector, size: float) -> list[TossFlight]:
    """Flights of a toss in order.

    Args:
        theta: (S,) shared parameters (`kernels`). g: (3,) gravity [m/s^2]. noise: (2,) of the tracker [m], [rad].
        size: of the body [m].
    """
    return list(_grown(toss, theta, g, noise, size))


def _grown(toss: Toss, theta: Vector, g: Vector, noise: Vector, size: float) -> Iterator[TossFlight]:
    """Flights, each as long as possible with frames that are where they are allowed to be."""
    begin, N, scale = 0, len(toss.times), np.repeat(noise, 3)
    model = STRAY_SIZE * np.repeat([size, 1.0], 3)
    while begin + FEWEST <= N:
        flight, e, covariance = _fitted(toss, begin, begin + FEWEST, theta, g, noise)
        if (np.abs(e) > np.hypot(STRAY, model / scale)).any():
            begin += 1
            continue
        end = begin + FEWEST
        while end < N:
            one = slice(end, end + 1)
            frame = toss.times[one] - flight.middle, toss.places[one], toss.rotations[one]
            off, by_state, _ = flight_derivatives(theta, g, flight.p, flight.v, flight.R, flight.w, *frame)
            std = np.sqrt(np.diag(by_state[0] @ covariance @ by_state[0].T) + scale**2)
            if (np.abs(off[0]) > np.hypot(STRAY * std, model)).any():
                break
            grown, e, covariance_of = _fitted(toss, begin, end + 1, theta, g, noise)
            if (np.abs(e) > np.hypot(STRAY, model / scale)).any():
                break
            flight, covariance, end = grown, covariance_of, end + 1
        yield flight
        begin = end
