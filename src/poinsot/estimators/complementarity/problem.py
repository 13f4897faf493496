"""The problem of thrown bodies: tracked drops of a body with a known outline that strikes known walls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...diagnosis.throws import Throw, diagnose_throws
from ...estimate import Certificate, Diagnosis, Estimate
from ...exceptions import InvalidMethod, InvalidModel, InvalidSignals
from ...models.planar.shapes import Shape
from ...models.planar.walls import Wall, floor
from ...recording import Recording
from .certificate import certify_drop
from .checks import check_drop
from .flights import Drop, tracker_noise
from .recordings import drop_of


@dataclass(frozen=True, eq=False)
class ImpactsProblem:
    """Drops of one body, its outline, and the walls that it may strike.

    Args:
        drops: at least one; angles are unwrapped.
        shape: outline about the center of mass. walls: what the body may strike.
        mass: [kg]; None: not known, then only J/m and impulses by mass are identifiable (Gabiccini et al., Sect. 5.2),
            unless a drop has known forces.
        name: of the body.
        warnings: sentences about the drops that limit how far results can be trusted.

    Raises:
        InvalidSignals: if a drop cannot be right, saying why.
        InvalidMethod, InvalidModel: if the mass cannot be right, or the center of mass is outside the outline.
    """

    drops: tuple[Drop, ...]
    shape: Shape
    walls: tuple[Wall, ...]
    mass: float | None = None
    name: str = "body"
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.drops:
            raise InvalidSignals("there is no drop; give at least one")
        if self.mass is not None and not 0 < self.mass < np.inf:
            raise InvalidMethod(f"the mass of a body must be above 0 kg, not {self.mass:g}")
        outline = self.shape.outline()
        sides = np.diff(outline, axis=0, append=outline[:1])
        # the outline runs counterclockwise: the origin is to the left of every side of positive length
        beside = outline[:, 0] * sides[:, 1] - outline[:, 1] * sides[:, 0]
        if np.min(beside[np.hypot(*sides.T) > 0]) <= 0:
            raise InvalidModel(
                f"the origin of {self.name}'s frame is not inside its outline; it is the center of mass, so move the "
                "outline to it"
            )
        for drop in self.drops:
            check_drop(drop, tracker_noise(drop.times, drop.poses), self.shape, self.walls)

    @classmethod
    def from_recordings(
        cls,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        shape: Shape,
        walls: Sequence[Wall] = (),
        *,
        mass: float | None = None,
        name: str = "body",
        markers: Mapping[str, Sequence[float]] | None = None,
    ) -> ImpactsProblem:
        """The problem of recordings, a drop each; `recordings.drop_of` says which channels they need.

        Args:
            recordings: of which a mapping gives the names of the drops; else they are `drop 1`, `drop 2`, ...
            walls: none: a level floor at y = 0.
            mass: [kg]. name: of the body.
            markers: points of the body that the tracker follows, in its frame [m]; None: it gives poses.

        Raises:
            InvalidRecording: if a recording lacks what is needed, or cannot be right.
        """
        named = recordings if isinstance(recordings, Mapping) else {}
        named = named or {f"drop {k}": each for k, each in enumerate(recordings, 1)}  # type: ignore[misc]
        drops, warnings = [], []
        for title, recording in named.items():
            drop, found = drop_of(recording, title, markers)
            drops.append(drop)
            warnings += found
        if not walls:
            warnings.append("There are no walls, so the floor was taken to be level, at y = 0.")
        return cls(tuple(drops), shape, tuple(walls) or (floor(),), mass, name, tuple(warnings))

    def examiner(self, **known: Any) -> Callable[[Estimate], Diagnosis]:
        """What looks at an estimate of this problem; `known` as in `diagnosis.throws.ThrownBody`."""
        # a known force accelerates as well: such drops say nothing of gravity
        throws = [
            Throw(drop.name, drop.times, drop.poses, tracker_noise(drop.times, drop.poses))
            for drop in self.drops
            if drop.forces is None
        ]
        return partial(diagnose_throws, throws=throws, shape=self.shape, walls=self.walls, **known)

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at an estimate's values, see `certificate`.

        Raises:
            InvalidMethod: if it is no estimate of one simulated drop.
        """
        return certify_drop(self.drops[0], self.shape, self.walls, self.mass, estimate)


@dataclass(frozen=True)
class ImpulseUnit:
    """Factor and unit of impulses and energies that are computed for a body of mass 1.

    Args:
        mass: [kg]; None: not known, then they stay by mass.
    """

    mass: float | None

    @property
    def factor(self) -> float:
        return 1.0 if self.mass is None else self.mass

    @property
    def name(self) -> str:
        return "m/s" if self.mass is None else "N s"


WITHOUT_MASS = "Without a known mass or force only J/m and impulses by mass follow; give mass for J and N s."
