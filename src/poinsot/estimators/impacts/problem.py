"""The problem of thrown bodies, and the result of one drop: tracked poses of a body with a known outline, known walls.

Units, vertical axis, size and first pose are checked. In flight a body accelerates downwards by 9.81 m/s^2, and by no
more at any time, since walls only push. So a low quantile of the accelerations, from parabolas fitted to short windows
of frames, determines the unit of the poses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Brief, Float, Vector
from ...diagnosis.throws import Throw, diagnose_throws
from ...estimate import Certificate, Diagnosis, Estimate, Finding, motions_of
from ...estimate.extras import Extra
from ...estimate.motions import POSE
from ...exceptions import InvalidMethod, InvalidModel, InvalidRecording, InvalidSignals, listing
from ...models.planar.body import GRAVITY
from ...models.planar.contact import Wall, contacts_at, floor
from ...models.planar.events import ImpactEvents
from ...models.planar.shapes import Shape
from ...recording import IMPACT_VELOCITIES, Recording
from .flights import Drop
from .posterior import MixturePosterior
from .recordings import drop_of, impacts_of
from .segmentation import moving
from .shooting import FRICTION, INERTIA, PRIOR_STD, RESTITUTION, STATIONARY, Shooting, ShootingFit

if TYPE_CHECKING:
    from .program import ProgramFit


@dataclass(frozen=True, eq=False)
class DropFit(ShootingFit):
    """The result of one drop: the deepest minimum; iterations of the program included.

    Args:
        drop: measured frames until the body came to rest.
        posterior: of theta. noise_given: whether the tracker's noise was given.
        findings: findings against the result. velocities: (N, 3) at its frames.
        impacts: impacts in their order, impulses by mass [m/s].
        friction_bound: lower bound of mu, where it is not identifiable; None where it is.
        mass_identifiable: whether the mass was estimated and a known force determines it.
        program: the solution of the program; None if the search was interrupted before it.
        shooting: residuals, with the noise that was estimated.
    """

    drop: Drop
    posterior: MixturePosterior
    noise_given: bool
    findings: tuple[Finding, ...]
    velocities: Float[np.ndarray, "N 3"]
    impacts: ImpactEvents
    friction_bound: float | None
    mass_identifiable: bool
    program: ProgramFit | None
    shooting: Shooting

    @property
    def inertia_to_mass(self) -> float:
        """J/m [m^2]."""
        return float(np.exp(self.theta[INERTIA]))

    @property
    def inertia_interval(self) -> tuple[float, float]:
        """95 % interval of J/m [m^2]."""
        low, high = self.posterior.interval(INERTIA)
        return float(np.exp(low)), float(np.exp(high))

    @property
    def friction(self) -> float:
        return float(self.theta[FRICTION])

    @property
    def restitution(self) -> float:
        return float(self.theta[RESTITUTION])

    @property
    def mass(self) -> float | None:
        """Given or identified [kg]; None where it is neither."""
        if self.shooting.mass_is_estimated and not self.mass_identifiable:
            return None
        return self.shooting.mass_of(self.theta)

    @property
    def shares(self) -> Vector:
        """(E,) part of the information on J/m in the frames from each impact to the next, and after the last.

        An impact determines J/m by the motion after it: the spin, and landing or rolling. Simultaneous contacts
        share it evenly.
        """
        J = self.shooting.jacobian(self.theta, self.shooting.residuals(self.theta))
        J = (J * PRIOR_STD[: len(self.theta)]).reshape(len(self.drop.times), 3, -1)
        # information of the first n frames, prior included: variance of log J/m after each, in parts of the prior's
        normal = np.eye(len(self.theta)) + np.cumsum(np.einsum("nki,nkj->nij", J, J), axis=0)
        known = np.concatenate([[0.0], 1 / np.linalg.inv(normal)[:, INERTIA, INERTIA] - 1])
        instants, which, counts = np.unique(self.impacts.times, return_inverse=True, return_counts=True)
        ends = np.searchsorted(self.drop.times, [*instants[1:], np.inf])
        gained = np.diff([0.0, *known[ends]])
        return np.asarray((gained / max(known[-1], np.finfo(float).tiny) / counts)[which])


@dataclass(frozen=True, eq=False)
class DropSimulation(Extra):
    """Settings of a drop's simulation beside the estimate's values and its first state.

    Args:
        noise: (3,) standard deviations of the tracker [m], [m], [rad]. drag: linear and angular [1/s].
        friction: of the simulation, also where its value is not identifiable.
        mass: of the simulation [kg]; None where no force acts and none is given.
    """

    key = "simulation"

    noise: Vector
    drag: tuple[float, float]
    friction: float
    mass: float | None


AGREES = 1e-6
"""Relative differences below this, of derived values and of poses in standard deviations, are rounding."""
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
    def throws(self) -> list[Throw]:
        """Drops as the diagnosis reads them; those with a known force, which accelerates as well, are left out."""
        free = [drop for drop in self.drops if drop.forces is None]
        return [Throw(drop.name, drop.times, drop.poses, drop.noise, drop.flights) for drop in free]

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality and feasibility of one drop at the estimate's own values.

        theta consists of the first state of the estimate's motion and of J/m, friction, restitution and mass of its
        parameters, or of `DropSimulation` where the data do not determine them. The motion is simulated with it:
        stationarity is the descent that one-sided slopes promise (`Shooting.descent`). feasible: theta is within its
        bounds, J = m (J/m), and the poses of the motion are the simulated ones.

        Raises:
            InvalidMethod: if it is no estimate of one simulated drop.
        """
        simulation, motions = estimate.extra(DropSimulation), motions_of(estimate)
        if simulation is None or len(motions) != 1:
            raise InvalidMethod(
                "this estimate has no simulated motion of one drop; certify an estimate of DropIdentification"
            )
        drop, path = moving(self.drops[0]), motions[0].path
        known = self.shape, self.walls, simulation.drag, drop.forces, self.mass
        shooting = Shooting(drop.times, drop.poses, simulation.noise, *known)
        values = {
            name: float(value)
            for name, value, known in zip(estimate.names, estimate.values, estimate.identifiable, strict=True)
            if known
        }
        m = values.get("m", simulation.mass)
        poses, rates = (path.stack(quantity, tuple(POSE)) for quantity in ("position", "velocity"))
        friction = values.get("friction", simulation.friction)
        # J/m or a mass that is not positive gives no finite theta, and no certificate below
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = shooting.theta((poses[0], rates[0]), values["J/m"], friction, values["restitution"], m)
        lower, upper = shooting.bounds()
        if not (np.isfinite(theta).all() and (lower <= theta).all() and (theta <= upper).all()):
            return Certificate(float("inf"), False, STATIONARY)
        derived = "J" not in values or m is None or abs(values["J"] / (m * values["J/m"]) - 1) < AGREES
        simulated = shooting.residuals(theta).reshape(-1, 3) + drop.poses / simulation.noise
        moves = bool(np.abs(simulated - poses / simulation.noise).max() < AGREES)
        return Certificate(shooting.descent(theta)[0], derived and moves, STATIONARY)


def accelerations(drop: Drop) -> tuple[Vector, float]:
    """Accelerations of y in short windows of frames, and the standard deviation of one [m/s^2]."""
    throw, N = Throw(drop.name, drop.times, drop.poses, np.ones(3)), len(drop.times)
    count = min(max(round(WINDOW / float(np.median(np.diff(drop.times)))), FEWEST), N)
    pieces, left = zip(*(throw.piece(k, k + count) for k in range(N - count + 1)), strict=True)
    noise = np.sqrt(np.median(np.sum(np.array(left)[:, :, 1] ** 2, axis=1)) / (count - 3))
    a, std = np.array([(each.c[2, 1], each.fall[1][1]) for each in pieces]).T
    return a, float(noise * np.median(std))


def impulse_unit(mass: float | None) -> tuple[float, str]:
    """Factor and unit of impulses that are computed for a body of mass 1; without a known mass they stay by mass."""
    return (1.0, "m/s") if mass is None else (mass, "N s")


WITHOUT_MASS = "Without a known mass or force only J/m and impulses by mass result; give mass for J and N s."
