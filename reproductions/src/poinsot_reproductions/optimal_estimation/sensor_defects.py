"""Defects of real sensors, which simulated readings get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

DELAY_STD = 0.005
"""Of a delay of all sensors, about 0 [s]."""


@dataclass(frozen=True)
class Defects:
    """What is wrong with sensors beside their noise, and what the estimator is not told.

    Args:
        position_step: of encoders [rad].
        gyro_bias [rad/s], accelerometer_bias [m/s^2]: standard deviation of a constant error of each axis.
        misalignment: standard deviation of the rotation vector by which the inertial unit is turned [rad].
        delay: samples by which readings are late.
        dropped: share of the readings of each sensor that are missing.
    """

    position_step: float = 0.0
    gyro_bias: float = 0.0
    accelerometer_bias: float = 0.0
    misalignment: float = 0.0
    delay: int = 0
    dropped: float = 0.0

    def quantized(self, positions: np.ndarray) -> np.ndarray:
        """Positions as encoders with these steps read them [rad]."""
        if not self.position_step:
            return positions
        return np.asarray(self.position_step * np.round(positions / self.position_step))

    def turn(self, rng: np.random.Generator) -> Rotation:
        """By how much an inertial unit is turned against its frame."""
        return Rotation.from_rotvec(self.misalignment * rng.standard_normal(3))

    def errors(self, unit: str) -> dict[str, float]:
        """Errors of sensors that an estimator may open, with the inertial unit at a frame -> standard deviation."""
        stds = {f"bias.gyro.{unit}": self.gyro_bias, f"bias.accelerometer.{unit}": self.accelerometer_bias}
        stds[f"misalignment.{unit}"] = self.misalignment
        found = {f"{name}.{axis}": std for name, std in stds.items() if std for axis in "xyz"}
        return found | ({"delay.all": DELAY_STD} if self.delay else {})

    def drop(self, readings: np.ndarray, rng: np.random.Generator) -> None:
        """Make some of the readings (S, m) NaN, in place."""
        readings[rng.random(len(readings)) < self.dropped] = np.nan


IDEAL = Defects()
"""None."""
USUAL = Defects(
    position_step=2 * np.pi / 2**14,
    gyro_bias=0.01,
    accelerometer_bias=0.05,
    misalignment=float(np.radians(0.5)),
    delay=2,
    dropped=0.02,
)
"""Encoders of 14 bits, an inertial unit with biases and misalignment, 2 ms of delay at 1 kHz, 2 % of readings lost."""
