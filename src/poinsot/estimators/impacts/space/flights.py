"""Division of the frames of a toss into flights and slides: as long as possible, with residuals that are noise.

A flight is fitted with its center on a parabola of known gravity and its spin free of torque. It grows frame by frame
until a frame is further than `STRAY` standard deviations from its prediction. A slide is a stretch in which the center
has a constant acceleration along the plane, and the body hardly turns; flights are between slides.
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
FEWEST_SLIDING = 7
"""Least number of frames of a slide."""
TURNING, SLOWING, LIFTING = 0.15, 0.25, 0.05
"""A body slides if its rim turns at no more than the first part of its speed, the last frame has at least the second
part of the speed in the middle, and speed and acceleration off the plane are below the third part of speed and gravity,
noise aside."""


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


def flights_of(
    toss: Toss, slides: Sequence[TossSlide], theta: Vector, g: Vector, noise: Vector, size: float
) -> list[TossFlight]:
    """Flights of a toss in order.

    Args:
        slides: of the toss, in order.
        theta: (S,) shared parameters (`kernels`). g: (3,) gravity [m/s^2]. noise: (2,) of the tracker [m], [rad].
        size: of the body [m].
    """
    begins, ends = (
        [0, *(slide.end for slide in slides)],
        [*(slide.begin for slide in slides), len(toss.times)],
    )
    between = zip(begins, ends, strict=True)
    return [flight for begin, end in between for flight in _grown(toss, begin, end, theta, g, noise, size)]


def _grown(
    toss: Toss, begin: int, N: int, theta: Vector, g: Vector, noise: Vector, size: float
) -> Iterator[TossFlight]:
    """Flights among these frames, each as long as possible with frames that are where they are allowed to be."""
    scale = np.repeat(noise, 3)
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


def first_flight(
    toss: Toss, theta: Vector, g: Vector, noise: Vector, size: float
) -> tuple[TossFlight, Float[np.ndarray, "12 12"]]:
    """The first flight of a toss, and the covariance of its state (`TossFlight.moved`); arguments as of `flights_of`.

    Raises:
        InvalidRecording: if there is no flight.
    """
    flight = next(_grown(toss, 0, len(toss.times), theta, g, noise, size), None)
    if flight is None:
        raise InvalidRecording(f"{toss.name} does not begin with a flight of at least {FEWEST} frames")
    _, _, covariance = _fitted(toss, flight.begin, flight.end, theta, g, noise)
    return flight, covariance


@dataclass(frozen=True, eq=False)
class TossSlide:
    """A stretch of a toss, from `begin` to before `end`, in which the body slides along the plane.

    Args:
        velocity: (3,) in its middle [m/s]. acceleration: (3,), and `std` of each component [m/s^2].
    """

    begin: int
    end: int
    velocity: Vector
    acceleration: Vector
    std: float


def slides_of(toss: Toss, normal: Vector, g: Vector, noise: Vector, size: float) -> list[TossSlide]:
    """Slides of a toss in order, each as long as possible.

    Args:
        normal: (3,) of the plane. g, noise, size: as in `flights_of`.
    """
    return list(_slides(toss, normal, g, noise, size))


def _slides(toss: Toss, normal: Vector, g: Vector, noise: Vector, size: float) -> Iterator[TossSlide]:
    begin = 0
    while begin + FEWEST_SLIDING <= len(toss.times):
        slide = None
        for end in range(begin + FEWEST_SLIDING, len(toss.times) + 1):
            longer = _slid(toss, begin, end, normal, g, noise, size)
            if longer is None:
                break
            slide = longer
        # a few noisy frames may be of a flight as well
        if slide is None or abs((slide.acceleration - g) @ normal) < STRAY * slide.std:
            begin += 1
        else:
            yield slide
            begin = slide.end


def _slid(
    toss: Toss, begin: int, end: int, normal: Vector, g: Vector, noise: Vector, size: float
) -> TossSlide | None:
    """The slide of these frames; None if they are of none."""
    part = slice(begin, end)
    s = toss.times[part] - toss.times[part].mean()
    X = np.column_stack([np.ones_like(s), s, 0.5 * s**2])
    C = np.linalg.inv(X.T @ X)
    _, v, a = c = C @ X.T @ toss.places[part]
    off = np.abs(toss.places[part] - X @ c)
    turns = log(np.asarray(toss.rotations[begin].T @ toss.rotations[part]))
    spin = np.linalg.lstsq(X[:, :2], turns, rcond=None)[0][1]
    _, of_v, of_a = noise[0] * np.sqrt(np.diag(C))
    speed = float(np.linalg.norm(v))
    last = float(v @ (v + s[-1] * a)) / max(speed, 1e-300)
    slides = (
        off.max() < np.hypot(STRAY * noise[0], STRAY_SIZE * size)
        and speed > STRAY * of_v
        and size * np.linalg.norm(spin) < TURNING * speed
        and last > SLOWING * speed
        and abs(v @ normal) < STRAY * of_v + LIFTING * speed
        and abs(a @ normal) < STRAY * of_a + LIFTING * np.linalg.norm(g)
    )
    return TossSlide(begin, end, v, a, float(of_a)) if slides else None
