"""Shapes of commands for one joint: what each shows of a servo.

chirp      a sine that becomes faster: inertia, damping, delay, and the torque limit at its fast end
steps      sudden changes: delay, gains, the torque limit
sweep      constant slow speed there and back: dry friction in every posture
holds      standing still far from the middle: gravity, and with it the scale of torques

Every shape begins and ends at rest in the middle of its range, and is never faster than it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ...arrays import Times, Vector

TAPER_S = 0.5
LEVELS = (0.4, -0.5, 1.0, -0.2, -1.0, 0.7, 0.0)
"""Of steps, as parts of their amplitude."""

Shape = Callable[[Times, float, float], Vector]
"""(T,) times from 0 [s], amplitude [rad], largest speed [rad/s] -> (T,) distances from the middle [rad]."""


def chirp(time: Times, amplitude: float, speed: float, *, from_hz: float, to_hz: float) -> Vector:
    """A sine whose frequency grows exponentially, smaller where its speed is at the limit."""
    growth = np.log(to_hz / from_hz) / time[-1]
    frequency = from_hz * np.exp(growth * time)
    ends = np.clip(np.minimum(time, time[-1] - time) / TAPER_S, 0.0, 1.0)
    wave = np.minimum(amplitude, 0.8 * speed / (2 * np.pi * frequency)) * ends * ends * (3 - 2 * ends)
    return limited(wave * np.sin(2 * np.pi * (frequency - from_hz) / growth), time, speed)


def steps(time: Times, amplitude: float, speed: float) -> Vector:
    """Sudden changes, each held for a part of the time."""
    seconds = time[-1] / len(LEVELS)
    widest = max(abs(b - a) for a, b in zip((0.0, *LEVELS), LEVELS, strict=False))
    part = np.minimum((time / seconds).astype(int), len(LEVELS) - 1)
    # each level is reached within half of its time
    wave = min(amplitude, 0.5 * speed * seconds / widest) * np.array(LEVELS)[part]
    return limited(wave, time, speed)


def sweep(time: Times, amplitude: float, speed: float, *, part: float) -> Vector:
    """There and back at this part of the largest speed, or as fast as one period needs."""
    periods = max(1, round(time[-1] * part * speed / (4 * amplitude)))
    amplitude = min(amplitude, 0.9 * speed * time[-1] / (4 * periods))
    wave = 2 / np.pi * np.arcsin(np.sin(2 * np.pi * periods * time / time[-1]))
    return limited(amplitude * wave, time, speed)


def holds(time: Times, amplitude: float, speed: float) -> Vector:
    """To one side and to the other at half of the largest speed, and held there."""
    amplitude = min(amplitude, 0.05 * speed * time[-1])
    goal = amplitude * np.where(time < 0.4 * time[-1], 1.0, np.where(time < 0.8 * time[-1], -1.0, 0.0))
    return limited(goal, time, 0.5 * speed)


SHAPES: Mapping[str, Shape] = {
    "slow chirp": partial(chirp, from_hz=0.1, to_hz=1.0),
    "fast chirp": partial(chirp, from_hz=0.5, to_hz=4.0),
    "steps": steps,
    "slow sweep": partial(sweep, part=0.1),
    "sweep": partial(sweep, part=0.4),
    "holds": holds,
}


def limited(wave: Vector, time: Times, speed: float) -> Vector:
    """(T,) that follows a wave from 0 with at most this speed."""
    found, at = np.empty_like(wave), 0.0
    largest = speed * np.diff(time, prepend=time[0])
    for k, goal in enumerate(wave):
        at += min(max(goal - at, -largest[k]), largest[k])
        found[k] = at
    return found
