"""What is asked of drops: what was seen, what is known of the body and of what it strikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...estimate import Certificate, Estimate
from ...exceptions import InvalidMethod, InvalidModel, InvalidSignals
from ...models.planar.shapes import Shape
from ...models.planar.walls import Wall
from .checks import check_drop
from .flights import Drop
from .noise import tracker_noise


@dataclass(frozen=True, eq=False)
class ImpactsProblem:
    """What was seen, and what is known.

    Args:
        drops: at least one; angles are unwrapped.
        shape, walls: what strikes what.
        mass: [kg]; None: not known, then J/m and impulses by mass are all that follows (Sect. 5.2), unless a drop has
            known forces.
        name: of the body.

    Raises:
        InvalidSignals: if a drop cannot be right, saying why.
        InvalidMethod, InvalidModel: if the mass cannot be, or the center of mass is outside.
    """

    drops: tuple[Drop, ...]
    shape: Shape
    walls: tuple[Wall, ...]
    mass: float | None = None
    name: str = "body"

    def __post_init__(self) -> None:
        if not self.drops:
            raise InvalidSignals("there is no drop; give at least one")
        if self.mass is not None and not 0 < self.mass < np.inf:
            raise InvalidMethod(f"the mass of a body must be above 0 kg, not {self.mass:g}")
        here, edge = (
            self.shape.outline(),
            np.diff(self.shape.outline(), axis=0, append=self.shape.outline()[:1]),
        )
        beside = here[:, 0] * edge[:, 1] - here[:, 1] * edge[:, 0]
        if np.min(beside[np.hypot(*edge.T) > 0]) <= 0:
            raise InvalidModel(
                f"the origin of {self.name}'s frame is not inside its outline; it is the center of mass, so move the "
                "outline to it"
            )
        for drop in self.drops:
            check_drop(drop, tracker_noise(drop.times, drop.poses), self.shape, self.walls)

    def certify(self, estimate: Estimate) -> Certificate:
        """Nothing by itself.

        Raises:
            InvalidMethod: always: how near a drop's motion is to the best is told by its own fit.
        """
        raise InvalidMethod(
            "an estimate from drops goes back to its own fits; ask the estimate for its certificate"
        )


@dataclass(frozen=True)
class ByMass:
    """Turns what is by mass into what it is, where the mass is known.

    Args:
        mass: [kg], or None.
    """

    mass: float | None

    @property
    def factor(self) -> float:
        return 1.0 if self.mass is None else self.mass

    @property
    def impulses(self) -> str:
        """Their unit."""
        return "m/s" if self.mass is None else "N s"


WITHOUT_MASS = "Without a known mass or force only J/m and impulses by mass follow; give mass for J and N s."
