"""What is read of a mechanism: h(x; theta) (seed 000, Eqs. 3.2 and 3.6).

An encoder on a hinge reads its angle y (a slider: its displacement) with a zero that is off, and on a disc that is not
centred, which adds the first harmonic of the angle:

    z = y + zero + sine sin y + cosine cos y

The angle is the twist about the hinge's axis of the relative rotation e = (x, y, z, w) between the joint's two frames,
2 atan2(z, w), between -pi and pi, so an error h(x) - z of angles is the nearest of those that differ by full turns. A
displacement has no harmonics. A rate sensor reads the speed in the free direction, plus a zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidModel


@dataclass(frozen=True)
class Encoder:
    """Reads the coordinate of a hinge [rad] or slider [m].

    Args:
        joint: its name.
        zero: what it reads where the coordinate is 0 [rad] or [m].
        sine, cosine: eccentricity: amplitudes of the first harmonic, hinges only [rad].
        name: None: that of the joint.
    """

    joint: str
    zero: float = 0.0
    sine: float = 0.0
    cosine: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        if not np.isfinite([self.zero, self.sine, self.cosine]).all():
            raise InvalidModel(f"the encoder of joint {self.joint!r} needs finite numbers")

    @property
    def label(self) -> str:
        """The name that its parameters have."""
        return self.name or f"{self.joint} encoder"

    @property
    def channel(self) -> str:
        """What it reads is called so in recordings."""
        return f"position.{self.joint}"


@dataclass(frozen=True)
class RateSensor:
    """Reads the speed of a hinge [rad/s] or slider [m/s].

    Args:
        joint: its name.
        zero: what it reads at rest.
        name: None: that of the joint.
    """

    joint: str
    zero: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.zero):
            raise InvalidModel(f"the rate sensor of joint {self.joint!r} needs a finite zero")

    @property
    def label(self) -> str:
        """The name that its parameters have."""
        return self.name or f"{self.joint} rate"

    @property
    def channel(self) -> str:
        """What it reads is called so in recordings."""
        return f"velocity.{self.joint}"
