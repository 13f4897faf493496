"""The problem of thrown bodies: tracked poses of a body with a known outline, in one drop or many, and known walls.

Units, vertical axis, size and first pose are checked. In flight a body accelerates downwards by 9.81 m/s^2, and by no
more at any time, since walls only push. So a low quantile of the accelerations, from parabolas fitted to short windows
of frames, determines the unit of the poses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Brief, Vector
from ...diagnosis.throws import diagnose_throws, quadratics
from ...estimate import Certificate, Diagnosis, Estimate
from ...exceptions import InvalidMethod, InvalidModel, InvalidRecording, InvalidSignals, listing
from ...models.planar.body import GRAVITY
from ...models.planar.contact import Wall, contacts_at, floor
from ...models.planar.drop import Drop
from ...models.planar.shapes import Shape
from ...recording import IMPACT_VELOCITIES, Recording
from .estimate import SolvedMotion
from .recordings import drop_of, impacts_of

WINDOW, FEWEST = 0.08, 5
"""Length of the window of a parabola [s], and its least number of frames."""
LOWEST = 0.1
"""Quantile of the accelerations: not the lowest, which noise may have made."""
KNOWN = 0.3
"""Largest relative standard deviation of an acceleration that counts as known."""
UNITS = {1000.0: "mm", 100.0: "cm", 39.37: "inches", 1e-3: "km"}
FASTEST, UPRIGHT = 1.25, (0.5, 1.25)
"""In parts of gravity: an acceleration that no body falls with, and the range of what is found where y points down."""
NEAR = 1.5
"""Factor within which an acceleration belongs to a unit."""
INSIDE, SMALL = 4.0, 5.0
"""Standard deviations of the tracker: how far inside a wall a body may begin to be, and how large it must be."""


@dataclass(frozen=True, eq=False, repr=False)
class ImpactsProblem(Brief):
    """Drops of one body, its outline, and the walls that it may hit.

    Args:
        drops: at least one; angles are unwrapped.
        shape: outline about the center of mass. walls: what the body may strike.
        mass: [kg]; None: not known, then only J/m and impulses by mass are identifiable (Gabiccini et al., Sect. 5.2),
            unless a drop has known forces.
        warnings: sentences about the drops that limit how far results can be trusted.

    Raises:
        InvalidSignals: if a drop is implausible; the message says why.
        InvalidMethod, InvalidModel: if the mass is not positive, or the center of mass is outside the outline.
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
            if drop.flights is None:
                self._check(drop)

    def _check(self, drop: Drop) -> None:
        """Raise `InvalidSignals` for a drop with wrong units, vertical axis, size or first pose."""
        name, poses, shape, noise = drop.name, drop.poses, self.shape, drop.noise
        a, std = accelerations(drop)
        fall, rise = np.quantile(a, LOWEST), np.quantile(-a, LOWEST)
        if std < KNOWN * abs(fall) and drop.forces is None:  # known forces accelerate as well
            for factor, unit in UNITS.items():
                if 1 / NEAR < -fall / GRAVITY / factor < NEAR:
                    raise InvalidSignals(
                        f"[length-unit] {name} falls at {-fall:.4g} m/s^2 in flight, some {factor:g} times gravity: "
                        f"its positions are in {unit}; say so, or multiply them by {1 / factor:.4g}"
                    )
            sure = std < KNOWN * abs(rise)
            if sure and -fall > FASTEST * GRAVITY and UPRIGHT[0] < -rise / GRAVITY < UPRIGHT[1]:
                raise InvalidSignals(
                    f"[sign] {name} accelerates downwards by {-fall:.4g} m/s^2, more than gravity does, and upwards by "
                    f"{-rise:.4g}: its y points down; let it point up, with scale = -1 for it and for the angle"
                )
        if shape.size < SMALL * noise[0]:
            raise InvalidSignals(
                f"[length-scale] the body reaches {1e3 * shape.size:.3g} mm and the tracker of {name} is off by "
                f"{1e3 * noise[0]:.3g} mm: give the shape in metres, or track it more closely"
            )
        gaps = contacts_at(poses[0], shape, self.walls)[0]
        allowed = INSIDE * np.hypot(noise[0], shape.size * noise[2])
        if gaps.min() < -allowed:
            flipped = contacts_at(poses[0] * [1.0, -1.0, -1.0], shape, self.walls)[0].min() > -allowed
            raise InvalidSignals(
                f"[wall] in {name} the body begins {-1e3 * gaps.min():.3g} mm inside wall "
                f"{1 + int(gaps.argmin()) // len(shape.parts)}; correct the wall, the shape or the origin of the poses"
                + (", or let y point up, with scale = -1 for it and for the angle" if flipped else "")
            )

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
        """The problem of recordings, a drop each, or a row for each impact; `recordings` says which channels they need.

        Args:
            recordings: of which a mapping gives the names of the drops; else they are `drop 1`, `drop 2`, ...
            walls: none: a level floor at y = 0.
            mass: [kg]. name: of the body.
            markers: points of the body that the tracker follows, in its frame [m]; None: it gives poses.

        Raises:
            InvalidRecording: if a recording lacks what is needed, or cannot be right.
        """
        if not isinstance(recordings, Mapping):
            recordings = {f"drop {k}": each for k, each in enumerate(recordings, 1)}
        drops, warnings = [], []
        given = [title for title, each in recordings.items() if each.joints(IMPACT_VELOCITIES[0])]
        if 0 < len(given) < len(recordings):
            raise InvalidRecording(
                f"{listing(given)} has velocities before and after impacts, but other recordings have frames; identify "
                "them separately"
            )
        for title, recording in recordings.items():
            if given:
                drops += impacts_of(recording, title)
                continue
            drop, found = drop_of(recording, title, markers)
            drops.append(drop)
            warnings += found
        if not walls:
            warnings.append("There are no walls: a level floor at y = 0 was assumed.")
        return cls(tuple(drops), shape, tuple(walls) or (floor(),), mass, name, tuple(warnings))

    def examiner(self, **known: Any) -> Callable[[Estimate], Diagnosis]:
        """The function that diagnoses an estimate of this problem; `known` as in `diagnosis.throws.ThrownBody`."""
        return partial(diagnose_throws, throws=self.throws, shape=self.shape, walls=self.walls, **known)

    @property
    def throws(self) -> list[Drop]:
        """Drops as the diagnosis reads them; those with a known force, which accelerates as well, are left out."""
        return [drop for drop in self.drops if drop.forces is None]

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at the estimate's own values, with its motion (`SolvedMotion.certify`).

        Raises:
            InvalidMethod: if it has none.
        """
        for extra in estimate.extras.values():
            if isinstance(extra, SolvedMotion):
                return extra.certify(self, estimate)
        raise InvalidMethod("this estimate has no motion; certify an estimate of ImpactIdentification")


def accelerations(drop: Drop) -> tuple[Vector, float]:
    """Accelerations of y in short windows of frames, and the standard deviation of one [m/s^2]."""
    N = len(drop.times)
    count = min(max(round(WINDOW / float(np.median(np.diff(drop.times)))), FEWEST), N)
    pieces, left = zip(*(quadratics(drop, k, k + count) for k in range(N - count + 1)), strict=True)
    noise = np.sqrt(np.median(np.sum(np.array(left)[:, :, 1] ** 2, axis=1)) / (count - 3))
    a, std = np.array([(piece.c[2, 1], np.sqrt(piece.covariance[2, 2])) for piece in pieces]).T
    return a, float(noise * np.median(std))
