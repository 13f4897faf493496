"""Drops of a body -> an estimate: J/m, friction and restitution, how it moved, what struck it and how hard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Vector
from ...estimate import NORMAL_95, Certificate, Direction, Estimate, Status, software_versions
from ...exceptions import InvalidMethod, InvalidSignals
from ...fits import fit_of
from ...models.planar.contact import contacts_at
from ...models.planar.events import moved
from ...models.planar.shapes import Shape
from ...models.planar.stepping import GRAVITY
from ...models.planar.walls import Wall, told
from ...motions import EstimatedMotion, Impact, Scene, SensorFit
from ...recording import Recording
from ...stopwatch import Stopwatch
from .checks import check_drop
from .drop import DropFit, DropIdentification, tracker_noise
from .flights import Drop
from .identifiability import Consistency, consistency
from .shooting import FRICTION, INERTIA, RESTITUTION

AXES, UNITS = ("x", "y", "angle"), ("m", "m", "rad")
FINE = 400
"""Times at which energies are told."""
STUCK = 1e-6
"""Of the cone: an impulse nearer to its side slides."""
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ImpactsProblem:
    """What was seen, and what is known.

    Args:
        drops: at least one; angles are unwrapped.
        shape, walls: what strikes what.
        mass: [kg]; None: not known, then J/m and impulses by mass are all that follows (Sect. 5.2).
        name: of the body.

    Raises:
        InvalidSignals: if a drop cannot be right, saying why.
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
        for drop in self.drops:
            check_drop(
                drop.name,
                drop.times,
                drop.poses,
                tracker_noise(drop.times, drop.poses),
                self.shape,
                self.walls,
            )

    def certify(self, estimate: Estimate) -> Certificate:
        """How far a drop's motion is from optimal: the largest cosine between what is left and a slope."""
        raise InvalidMethod(
            "an estimate from drops goes back to its own fits; ask the estimate for its certificate"
        )


@dataclass(frozen=True)
class ImpactsEstimation:
    """The method, for one drop whose motion is simulated through all of its impacts.

    Args:
        identification: of it.
    """

    identification: DropIdentification = field(default_factory=DropIdentification)

    name = "impacts"
    citations = ("gabiccini2019", "stewart1996")

    def solve(self, problem: ImpactsProblem, say: Say = lambda _: None) -> Estimate:
        """
        Raises:
            InvalidSignals, NotIdentifiable: if nothing follows from the drop.
        """
        watch = Stopwatch()
        if len(problem.drops) > 1:
            raise InvalidMethod(
                "one drop is simulated through its impacts; pool several with PooledEstimation"
            )
        drop = problem.drops[0]
        fit = self.identification.solve(drop.name, drop.times, drop.poses, problem.shape, problem.walls, say)
        watch.lap("solve")
        estimate = _Summary(problem, fit).estimate()
        watch.lap("summary")
        return replace(estimate, method=self.name, citations=self.citations, seconds=watch.seconds)


@dataclass(frozen=True, eq=False)
class _Summary:
    """A fit as an estimate."""

    problem: ImpactsProblem
    fit: DropFit

    @property
    def scale(self) -> float:
        """Of impulses by mass: the mass, if it is known."""
        return 1.0 if self.problem.mass is None else self.problem.mass

    def estimate(self) -> Estimate:
        fit, found = self.fit, self.consistency()
        names, units, values, slopes = self.parameters()
        covariance = slopes @ np.where(np.isfinite(fit.covariance), fit.covariance, 0.0) @ slopes.T
        seen = np.array([name != "friction" or fit.friction_identifiable for name in names])
        covariance[~seen], covariance[:, ~seen] = np.nan, np.nan
        std = np.sqrt(np.diag(covariance))
        status = Status.solved if seen.all() else Status.partly
        motion = self.motion()
        pose = motion.sensors[0]
        scaled = np.array([s if np.isfinite(s) and s > 0 else 1.0 for s in np.sqrt(np.diag(fit.covariance))])
        correlation = np.where(np.isfinite(fit.covariance), fit.covariance, 0.0) / np.outer(scaled, scaled)
        seen_ones = np.isfinite(np.diag(fit.covariance))
        return Estimate(
            method="",
            names=names,
            units=units,
            owners=(self.problem.name,) * len(names),
            kinds=("inertia", "friction", "restitution", "inertia")[: len(names)],
            groupings=names,
            values=np.where(seen, values, np.nan),
            covariance=covariance,
            std_kind="white",
            white_std=std,
            coloured_std=std,
            identifiable=seen,
            status=status if not any("did not end" in each for each in fit.distrust) else Status.step_limit,
            condition_number=float(np.sqrt(np.linalg.cond(fit.covariance[np.ix_(seen_ones, seen_ones)]))),
            scaled_condition_number=float(np.sqrt(np.linalg.cond(correlation[np.ix_(seen_ones, seen_ones)]))),
            rows=fit.poses.size,
            fit=fit_of(
                fit.times,
                pose.channels,
                pose.units,
                fit.poses,
                fit.expected,
                speeds=None,
                counts=[len(fit.times)],
                recording=fit.name,
            ),
            undetermined=tuple(self.undetermined()),
            problem=Solved(self.problem, fit),
            motions=(motion,),
            impacts=tuple(self.impacts(found)),
            scene=Scene(
                self.problem.shape.outline(),
                told(self.problem.walls),
                fit.friction if fit.friction_identifiable else float("nan"),
                float("nan") if fit.friction_bound is None else fit.friction_bound,
                {fit.name: self.energy()},
            ),
            iterations=fit.program.iterations,
            robot=self.problem.name,
            warnings=tuple(f"Do not trust this yet: {reason}." for reason in fit.distrust),
            notes=tuple(self.notes(found)),
            versions=software_versions(),
        )

    def parameters(self) -> tuple[tuple[str, ...], tuple[str, ...], Vector, Matrix]:
        """Names, units, values, and their derivatives by the fit's nine."""
        fit = self.fit
        slopes = np.zeros((3, 9))
        slopes[0, INERTIA], slopes[1, FRICTION], slopes[2, RESTITUTION] = fit.inertia_to_mass, 1.0, 1.0
        values = np.array([fit.inertia_to_mass, fit.friction, fit.restitution])
        names: tuple[str, ...] = ("J/m", "friction", "restitution")
        units: tuple[str, ...] = ("m^2", "1", "1")
        if self.problem.mass is None:
            return names, units, values, slopes
        J = self.problem.mass * fit.inertia_to_mass
        return (
            (*names, "J"),
            (*units, "kg m^2"),
            np.append(values, J),
            np.concatenate([slopes, self.problem.mass * slopes[:1]]),
        )

    def undetermined(self) -> list[Direction]:
        found = []
        if self.problem.mass is None:
            found.append(Direction("m and J, of which only J/m acts", "structural"))
        if not self.fit.friction_identifiable:
            found.append(Direction("friction, beyond that it lets every impact stick", "unexcited"))
        return found

    def motion(self) -> EstimatedMotion:
        fit = self.fit
        channels, units = {}, {}
        for k, (axis, unit) in enumerate(zip(AXES, UNITS, strict=True)):
            channels[f"position.{axis}"], units[f"position.{axis}"] = fit.expected[:, k], unit
            channels[f"velocity.{axis}"], units[f"velocity.{axis}"] = fit.velocities[:, k], f"{unit}/s"
        names = tuple(f"position.{axis}" for axis in AXES)
        pose = SensorFit(
            "pose", names, UNITS, fit.poses, fit.expected, names, (fit.poses - fit.expected) / fit.noise
        )
        return EstimatedMotion(
            fit.name, Recording(fit.times, channels, units, {}, {"estimated": fit.name}), (pose,)
        )

    def directions(self) -> tuple[Float[np.ndarray, "E 3"], Float[np.ndarray, "E 3"]]:
        """N and T of each impact."""
        hit = self.fit.impacts
        normals, tangents = np.empty((len(hit.times), 3)), np.empty((len(hit.times), 3))
        for e, (q, which) in enumerate(zip(hit.poses, hit.contacts.tolist(), strict=True)):
            _, N, T = contacts_at(q, self.problem.shape, self.problem.walls)
            normals[e], tangents[e] = N[which], T[which]
        return normals, tangents

    def consistency(self) -> Consistency:
        return consistency(self.fit.impacts, *self.directions())

    def impacts(self, found: Consistency) -> list[Impact]:
        fit, scale, rows = self.fit, self.scale, []
        normals, _ = self.directions()
        parts = len(self.problem.shape.parts)
        weights = np.array([1.0, 1.0, fit.inertia_to_mass])
        for e, (time, which) in enumerate(
            zip(fit.impacts.times.tolist(), fit.impacts.contacts.tolist(), strict=True)
        ):
            before, after = fit.impacts.before[e], fit.impacts.after[e]
            c_n, c_t = fit.impacts.impulses[e].tolist()
            corner = f", corner {which % parts + 1}" if parts > 1 else ""
            rows.append(
                Impact(
                    fit.name,
                    time,
                    f"wall {which // parts + 1}{corner}",
                    scale * c_n,
                    scale * c_t,
                    "m/s" if self.problem.mass is None else "N s",
                    float(-(normals[e] @ after) / (normals[e] @ before)),
                    "slides" if abs(c_t) > (1 - STUCK) * fit.friction * c_n else "sticks",
                    scale * 0.5 * float(weights @ (before**2 - after**2)),
                    float(found.shares[e]),
                )
            )
        return rows

    def energy(self) -> tuple[Vector, Vector]:
        """At many times: kinetic and potential [J], or by mass [J/kg]."""
        fit = self.fit
        times = np.linspace(fit.times[0], fit.times[-1], FINE)
        q, v, _ = moved(fit.body, self.problem.walls, fit.theta[:3], fit.theta[3:6], times)
        weights = np.array([0.5, 0.5, 0.5 * fit.inertia_to_mass])
        return times, self.scale * (v**2 @ weights + GRAVITY * q[:, 1])

    def notes(self, found: Consistency) -> list[str]:
        fit = self.fit
        low, high = fit.inertia_interval
        notes = [
            f"J/m is {1e6 * fit.inertia_to_mass:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g}; "
            f"{'as given' if fit.noise_given else 'as found'}, the tracker is off by {1e3 * fit.noise[0]:.3g} mm and "
            f"{1e3 * fit.noise[2]:.3g} mrad."
        ]
        if fit.friction_bound is not None:
            notes.append(
                f"No contact slid in a way that shows friction: it is at least {fit.friction_bound:.3g}, and no "
                "number is given."
            )
        else:
            half = NORMAL_95 * fit.friction_std
            notes.append(
                f"Friction is {fit.friction:.3g}, 95 % from {fit.friction - half:.3g} to {fit.friction + half:.3g}."
            )
        if self.problem.mass is None:
            notes.append(
                "Without a known mass or force only J/m and impulses by mass follow; give mass for J and N s."
            )
        notes.append(
            f"The impacts' equations have rank {found.rank} in {found.columns} unknowns"
            + (": ratios alone are determined." if found.only_ratios else ".")
        )
        return notes


@dataclass(frozen=True, eq=False)
class Solved:
    """Problem and fit, to go back to."""

    problem: ImpactsProblem
    fit: DropFit

    def certify(self, estimate: Estimate) -> Certificate:
        """The largest cosine between what is left and its slope by a parameter that is seen."""
        from .shooting import Shooting

        fit = self.fit
        shooting = Shooting(fit.times, fit.poses, fit.noise, fit.body.shape, fit.walls, fit.body.drag)
        e = shooting.errors(fit.theta, len(fit.times))
        J = shooting.slopes(fit.theta, e, len(fit.times))
        size = np.linalg.norm(J, axis=0)
        cosines = np.abs(J.T @ e) / np.where(size > 0, size, np.inf) / np.linalg.norm(e)
        low, high = shooting.bounds()
        inside = (fit.theta > low) & (fit.theta < high)
        return Certificate(
            float(cosines[inside].max()), bool((low <= fit.theta).all() and (fit.theta <= high).all()), 1e-2
        )
