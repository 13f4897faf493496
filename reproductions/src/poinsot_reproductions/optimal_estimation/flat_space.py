"""States that are numbers without any constraint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Changes, States
from poinsot.models.robot.configuration_space import Manifold


@dataclass(frozen=True)
class FlatSpace(Manifold):
    """A flat space of numbers."""

    size: int

    @property
    def degrees(self) -> int:  # type: ignore[override]
        """As many as numbers."""
        return self.size

    def integrate(self, x: States, d: Changes) -> States:
        return x + d

    def difference(self, x: States, y: States) -> Changes:
        return y - x

    def difference_jacobians(
        self, x: States, y: States
    ) -> tuple[Float[np.ndarray, "T n n"], Float[np.ndarray, "T n n"]]:
        one = np.broadcast_to(np.eye(self.size), (len(x), self.size, self.size))
        return -one, one

    def carry(self, x: States, y: States, *changes: Float[np.ndarray, "T n _"]) -> tuple[np.ndarray, ...]:
        return changes
