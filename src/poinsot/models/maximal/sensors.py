"""Sensors of a mechanism: readings h(x; theta) (Lacoursiere 2007, Eqs. 3.2 and 3.6).

An encoder on a hinge reads its angle y (on a slider: its displacement) with a zero offset, and on an eccentric disc,
which adds the first harmonic of the angle:

    z = y + zero + sine sin y + cosine cos y

The angle is the twist about the hinge's axis of the relative rotation e = (x, y, z, w) between the joint's two frames,
2 atan2(z, w), between -pi and pi, so an error h(x) - z of angles is the nearest of those that differ by full turns. A
displacement has no harmonics. A rate sensor reads the speed in the free direction, plus a zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...exceptions import InvalidModel
from .joints import Joint
from .values import Entry


@dataclass(frozen=True)
class AxisSensor:
    """Sensor of the coordinate of a hinge or slider, given by its name, or of its rate.

    Args:
        zero: reading where the coordinate or rate is 0 [rad], [m], [rad/s] or [m/s].
        name: None: that of the joint. recording: the only recording that has it; None: all.
    """

    joint: str
    zero: float = 0.0
    name: str | None = field(default=None, kw_only=True)
    recording: str | None = field(default=None, kw_only=True)

    is_rate: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ("zero",)
    """Names of its numbers."""

    def __post_init__(self) -> None:
        if not np.isfinite([getattr(self, part) for part in self.parts]).all():
            raise InvalidModel(f"the sensor {self.label!r} of joint {self.joint!r} needs finite numbers")

    def unit_of(self, position: str) -> str:
        """Unit of its readings, of a joint whose coordinate has the unit `position`."""
        return f"{position}/s" if self.is_rate else position

    def entries(self, k: int, joint: Joint) -> list[Entry]:
        """Its numbers, as sensor k of a mechanism."""
        if joint.slides and any(getattr(self, part) for part in self.parts[1:]):
            raise InvalidModel(
                f"sensor {self.label!r} reads a slider, which has no eccentricity; leave out sine and cosine"
            )
        unit, parts = self.unit_of(joint.position_unit), self.parts[: 1 if joint.slides else None]
        return [Entry(self.label, part, unit, part, (k,), getattr(self, part)) for part in parts]

    @property
    def label(self) -> str:
        """Prefix of its parameters' names."""
        return self.name or f"{self.joint} {'rate' if self.is_rate else 'encoder'}"

    @property
    def channel(self) -> str:
        """The channel of recordings that holds its readings."""
        return f"{'velocity' if self.is_rate else 'position'}.{self.joint}"


@dataclass(frozen=True)
class Encoder(AxisSensor):
    """Sensor of the coordinate of a hinge [rad] or slider [m].

    Args:
        sine, cosine: eccentricity: amplitudes of the first harmonic, hinges only [rad].
    """

    sine: float = 0.0
    cosine: float = 0.0

    parts: ClassVar[tuple[str, ...]] = ("zero", "sine", "cosine")


@dataclass(frozen=True)
class RateSensor(AxisSensor):
    """Sensor of the speed of a hinge [rad/s] or slider [m/s]."""

    is_rate: ClassVar[bool] = True
