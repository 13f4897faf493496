"""Masses that change while a robot moves: waveforms in time, and what they make of a body (Table I of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poinsot.arrays import Vector

Waveform = Callable[[float], float]
"""Mass [kg] at a time [s]."""


@dataclass(frozen=True)
class Square:
    """offset + amplitude in the first half of each period, offset - amplitude in the second [kg], [Hz]."""

    offset: float
    amplitude: float
    frequency: float

    def __call__(self, time: float) -> float:
        return self.offset + (self.amplitude if (time * self.frequency) % 1 < 0.5 else -self.amplitude)


@dataclass(frozen=True)
class Sine:
    """offset + amplitude sin(2 pi frequency time) [kg], [Hz]."""

    offset: float
    amplitude: float
    frequency: float

    def __call__(self, time: float) -> float:
        return self.offset + self.amplitude * float(np.sin(2 * np.pi * self.frequency * time))


@dataclass(frozen=True)
class Then:
    """One waveform up to a time [s], another after."""

    first: Waveform
    switch: float
    second: Waveform

    def __call__(self, time: float) -> float:
        return self.first(time) if time < self.switch else self.second(time)


@dataclass(frozen=True, eq=False)
class ScaledBody:
    """A body whose density changes: shape and centre of mass stay, its mass follows a waveform.

    Args:
        pi: (10,) of the body.
    """

    pi: Vector
    mass: Waveform

    def __call__(self, time: float) -> np.ndarray:
        return self.pi * (self.mass(time) / self.pi[0])


@dataclass(frozen=True, eq=False)
class Attached:
    """A body to which another is fixed at a time.

    Args:
        pi, load: (10,) both about the body's frame's origin.
        start: [s].
    """

    pi: Vector
    load: Vector
    start: float = 0.0

    def __call__(self, time: float) -> np.ndarray:
        return self.pi + self.load if time >= self.start else self.pi


def point_mass(mass: float, position: Vector, radius: float = 0.05) -> np.ndarray:
    """(10,) pi of a ball about the frame's origin.

    Args:
        mass: [kg]. position: (3,) of its centre [m]. radius: [m].
    """
    about_centre = 0.4 * mass * radius**2 * np.eye(3)
    inertia = about_centre + mass * (position @ position * np.eye(3) - np.outer(position, position))
    xx, xy, xz, yy, yz, zz = inertia[np.triu_indices(3)]
    return np.array([mass, *(mass * position), xx, xy, yy, xz, yz, zz])
