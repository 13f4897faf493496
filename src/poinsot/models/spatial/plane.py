"""The plane that a body in space strikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidModel


@dataclass(frozen=True)
class Plane:
    """A plane that a body strikes in space.

    Args:
        point: (3,) of it [m]. normal: (3,) into the free side, of any length.

    Raises:
        InvalidModel: if the normal is zero, or a number is not finite.
    """

    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if not np.isfinite([*self.point, *self.normal]).all() or not np.linalg.norm(self.normal) > 0:
            raise InvalidModel("a plane needs a finite point and a normal that is not zero")
