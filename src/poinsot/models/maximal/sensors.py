"""Sensors of a mechanism: readings h(x; theta) (Lacoursiere 2007, Eqs. 3.2 and 3.6).

An encoder on a hinge reads its angle y (a slider: its displacement) with a zero that is off, and on a disc that is not
centred, which adds the first harmonic of the angle:

    z = y + zero + sine sin y + cosine cos y

The angle is the twist about the hinge's axis of the relative rotation e = (x, y, z, w) between the joint's two frames,
2 atan2(z, w), between -pi and pi, so an error h(x) - z of angles is the nearest of those that differ by full turns. A
displacement has no harmonics. A rate sensor reads the speed in the free direction, plus a zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...exceptions import InvalidModel
from .joints import Joint
from .values import Entry


@dataclass(frozen=True)
class Encoder:
    """Reads the coordinate of a hinge [rad] or slider [m].

    Args:
        joint: its name.
        zero: reading where the coordinate is 0 [rad] or [m].
        sine, cosine: eccentricity: amplitudes of the first harmonic, hinges only [rad].
        name: None: that of the joint. recording: the only one that it reads; None: all.
    """

    joint: str
    zero: float = 0.0
    sine: float = 0.0
    cosine: float = 0.0
    name: str | None = None
    recording: str | None = None

    is_rate: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not np.isfinite([self.zero, self.sine, self.cosine]).all():
            raise InvalidModel(f"the encoder of joint {self.joint!r} needs finite numbers")

    def check(self, joint: Joint) -> None:
        """Check that it can read this joint.

        Raises:
            InvalidModel: if it has an eccentricity and the joint slides.
        """
        if joint.slides and (self.sine or self.cosine):
            raise InvalidModel(
                f"sensor {self.label!r} reads a slider, which has no eccentricity; leave out sine and cosine"
            )

    def unit_of(self, position: str) -> str:
        """Unit of its readings, of a joint whose coordinate has the unit `position`."""
        return position

    def entries(self, k: int, joint: Joint) -> list[Entry]:
        """Its numbers, as sensor k of a mechanism."""
        unit = joint.position_unit
        parts = ("zero",) if joint.slides else ("zero", "sine", "cosine")
        return [Entry(self.label, part, unit, part, (k,), getattr(self, part)) for part in parts]

    @property
    def label(self) -> str:
        """The name that its parameters have."""
        return self.name or f"{self.joint} encoder"

    @property
    def channel(self) -> str:
        """The channel of recordings that holds its readings."""
        return f"position.{self.joint}"


@dataclass(frozen=True)
class RateSensor:
    """Reads the speed of a hinge [rad/s] or slider [m/s].

    Args:
        joint: its name.
        zero: reading at rest [rad/s] or [m/s].
        name: None: that of the joint. recording: the only one that it reads; None: all.
    """

    joint: str
    zero: float = 0.0
    name: str | None = None
    recording: str | None = None

    is_rate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not np.isfinite(self.zero):
            raise InvalidModel(f"the rate sensor of joint {self.joint!r} needs a finite zero")

    def check(self, joint: Joint) -> None:
        """Every joint with an axis has a rate."""

    def unit_of(self, position: str) -> str:
        """Unit of its readings, of a joint whose coordinate has the unit `position`."""
        return f"{position}/s"

    def entries(self, k: int, joint: Joint) -> list[Entry]:
        """Its numbers, as sensor k of a mechanism."""
        return [Entry(self.label, "zero", self.unit_of(joint.position_unit), "zero", (k,), self.zero)]

    @property
    def label(self) -> str:
        """The name that its parameters have."""
        return self.name or f"{self.joint} rate"

    @property
    def channel(self) -> str:
        """The channel of recordings that holds its readings."""
        return f"velocity.{self.joint}"
