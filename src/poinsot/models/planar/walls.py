"""Straight walls of any slope that a body may strike (Gabiccini et al., Sect. 4.1).

    n = (-sin alpha, cos alpha)   into the free side        t = (cos alpha, sin alpha)   along the wall

A floor has alpha = 0, a wall on the left whose free side is to its right alpha = -pi/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...exceptions import InvalidModel


@dataclass(frozen=True)
class Wall:
    """A half plane that a body stays out of.

    Args:
        x, y: a point of it [m].
        slope: angle alpha of its direction [rad].

    Raises:
        InvalidModel: if one is not finite.
    """

    x: float = 0.0
    y: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.x, self.y, self.slope]).all():
            raise InvalidModel("a wall needs finite x, y and slope")


def floor(height: float = 0.0, slope: float = 0.0) -> Wall:
    """Under x = 0 at this height [m]."""
    return Wall(0.0, height, slope)


def wall_array(walls: Sequence[Wall]) -> Float[np.ndarray, "W 3"]:
    """(x, y, alpha) of each.

    Raises:
        InvalidModel: if there is none.
    """
    if not walls:
        raise InvalidModel("there is nothing to strike; give at least one wall")
    return np.array([[wall.x, wall.y, wall.slope] for wall in walls])
