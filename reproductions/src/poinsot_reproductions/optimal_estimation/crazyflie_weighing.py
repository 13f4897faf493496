"""How sure a mass from a flight is: what its noise leaves open, and what the calibration of the thrust leaves open.

- statistical: from masses of four stretches of a flight, each estimated alone, with Student's t; noise that lasts
  longer than a step, of which the posterior knows nothing, is in it. Where the posterior is wider, it counts.
- systematic: the stand's, from the smallest to the largest coefficient of all sensible treatments. Masses and inertias
  are proportional to it.

Both are combined as root sums of squares, on each side. With the weighed mass given instead, a flight says the
coefficient, whose statistical part is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from poinsot.arrays import Vector

from .crazyflie_flight import read_flight
from .crazyflie_model import FlightEstimate, estimate
from .crazyflie_stand import ThrustCoefficient

WEIGHED = 0.0347
"""With battery [kg]."""
STRETCHES = 4
LEVEL = 0.975
"""Of both ends of an interval of 95 %."""

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Weighing:
    """A flight, and how sure its mass is.

    Args:
        free: estimate with the stand's coefficient. still: the same without drag.
        given: with the mass as weighed.
        stretches: (K,) masses of stretches [kg].
        stand: the coefficient that it rests on.
    """

    free: FlightEstimate
    still: FlightEstimate
    given: FlightEstimate
    stretches: Vector
    stand: ThrustCoefficient

    @property
    def statistical(self) -> float:
        """Half of the interval of the mass, without the stand's systematic [kg]."""
        return half_width(self.free.mass_std, self.stretches)

    @property
    def mass_interval(self) -> Interval:
        """In all [kg]."""
        return total_interval(self.free.mass, self.statistical, self.stand)

    def inertia_interval(self, axis: int) -> Interval:
        """Of Jx, Jy or Jz with the stand's coefficient, in all [kg m^2]."""
        half = student.ppf(LEVEL, np.inf) * self.free.inertia_std[axis]
        return total_interval(float(self.free.inertia[axis]), half, self.stand)

    @property
    def coefficient_interval(self) -> Interval:
        """With the mass as weighed [N s^2]."""
        c = self.given.coefficient
        scatter = c * self.statistical / self.free.mass
        half = float(np.hypot(student.ppf(LEVEL, np.inf) * self.given.coefficient_std, scatter))
        return c - half, c + half


def half_width(posterior_std: float, stretches: Vector) -> float:
    """Half of the 95 % interval of a mean.

    Args:
        posterior_std: of the whole flight.
        stretches: (K,) the same from stretches of it.
    """
    spread = np.std(stretches, ddof=1) / np.sqrt(len(stretches))
    between = student.ppf(LEVEL, len(stretches) - 1) * spread
    return float(max(between, student.ppf(LEVEL, np.inf) * posterior_std))


def total_interval(value: float, statistical: float, stand: ThrustCoefficient) -> Interval:
    """Of what is proportional to the coefficient, from the half width of its statistical interval."""
    low, high = (value * (edge / stand.value - 1) for edge in stand.interval)
    return value - float(np.hypot(low, statistical)), value + float(np.hypot(high, statistical))


def weigh(folder: Path, name: str, stand: ThrustCoefficient) -> Weighing:
    """Estimate a flight, its stretches, and the flight once more as weighed.

    Args:
        folder: with its files.
        name: with which they begin.
        stand: coefficient of the thrust.
    """
    flight = read_flight(folder, name)
    parts = [estimate(part, stand.value).mass for part in flight.stretches(STRETCHES)]
    return Weighing(
        estimate(flight, stand.value),
        estimate(flight, stand.value, drag=False),
        estimate(flight, stand.value, WEIGHED),
        np.array(parts),
        stand,
    )
