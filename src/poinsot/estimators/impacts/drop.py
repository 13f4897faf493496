"""J/m, friction and restitution of one drop: the search, and what its motion and its impacts determine.

The flight before the first contact gives pose and velocity of the first frame, from which a search by shooting
(`shooting`) starts. Third differences of frames give the initial value of the tracker's noise, residuals of the best
motion the final one. Where every impact sticks, the least mu that still explains the motion is given in place of mu.

Each impact gives three equations in the mass, the inertia and its two impulses (Gabiccini et al., Sect. 5.2),

    [ dv_x   0        -n_x    -t_x   ]  (m, J, c_n, c_t)^T = 0                                            (28)
    [ dv_y   0        -n_y    -t_y   ]
    [ 0      d omega  -rho_n  -rho_t ]

all together A w = 0 (29). Eliminating the two impulses leaves one row in (m, J) of each impact,
cross(GQ, dv) m - d omega J = 0, which determines J/m (31). Contacts that are struck at the same instant share their
three equations, so two of them leave no row. (m, J) is determined in the directions in which the null space of A does
not change it; A w = 0 can only determine ratios. With a known force f between impacts, or a moment, and dv the change
of the velocity by it,

    dv_x m = int f_x dt        dv_y m = int f_y dt        d omega J = int tau dt

whose right-hand side is not 0: with one of them m and J are determined separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from ...arrays import Float, Matrix, Vector
from ...estimate import (
    NORMAL_95,
    Certificate,
    Direction,
    Estimate,
    EstimatedParameters,
    Finding,
    Provenance,
    Severity,
    Status,
)
from ...estimate.fit import fit_of
from ...estimate.motions import (
    POSE,
    EstimatedMotion,
    EstimatedMotions,
    Impact,
    Impacts,
    SensorFit,
    motions_of,
)
from ...exceptions import InvalidSignals, NotIdentifiable, listing
from ...models.planar.body import GRAVITY, Wall, contacts_at
from ...models.planar.drop import Drop, of_point
from ...models.planar.events import SLOW, ImpactEvents
from ...models.planar.impulses import RESTITUTIONS
from ...models.planar.shapes import Shape
from ...solve import ProgressCallback, Stop, report, stop_requested
from .effects import SimulatedFrames, ThrowUncertainty
from .flights import FALL, FEWEST, first_flight, integrals, moving
from .joint_shooting import JointShooting
from .problem import (
    AGREES,
    WITHOUT_MASS,
    SolvedMotion,
    estimated_parameters,
    impacts_estimate,
    impulse_unit,
    motion_of,
)
from .restitution import AUTO, compared, law_note
from .shooting import (
    FINE,
    FRICTION,
    GEOMETRY,
    INERTIA,
    MASS,
    MAX_FRICTION,
    MIXTURE_SAMPLES,
    RESTITUTION,
    STATIONARY,
    WIDENING,
    WORSE,
    MixturePosterior,
    Shooting,
    ShootingFit,
    further_minima,
    lifted_mass,
)

if TYPE_CHECKING:
    from .problem import ImpactsProblem


TURNED = 1e-9
"""Least singular value that counts for the rank, relative to the largest."""
AXES = (1, 0), (1, 0), (0, 1)
"""Part of (m, J) in the equation of each component of a known force."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Directions of (m, J) that the impacts of a motion determine.

    Args:
        rows: (K, 2) of (m, J) once impulses are eliminated [m/s m], [rad/s]: of impacts, then of known forces.
        rank: of A, with the rows of known forces if there are any, and its columns, 2 + 2 E.
        free: number of directions of (m, J) in its null space. 1: only their ratio is determined; 0: a known force
            determines both.
    """

    rows: Float[np.ndarray, "K 2"]
    rank: int
    columns: int
    free: int


def consistency(
    impacts: ImpactEvents,
    normals: Float[np.ndarray, "E 3"],
    tangents: Float[np.ndarray, "E 3"],
    pushes: Float[np.ndarray, "F 3"] | None = None,
) -> Consistency:
    """Rank and null space of the impacts' equations.

    Args:
        impacts: of a motion. normals, tangents: N and T of each.
        pushes: changes of the velocity by known forces in each flight; None: no forces.
    """
    jump = impacts.after - impacts.before
    moment = sum(u[:, 2] * np.sum(jump[:, :2] * u[:, :2], axis=1) for u in (tangents, normals))
    _, which, counts = np.unique(impacts.times, return_inverse=True, return_counts=True)
    rows = np.column_stack([moment, -jump[:, 2]])[counts[which] == 1]
    if pushes is not None:
        rows = np.concatenate([rows, *(np.outer(f, d) for f, d in zip(pushes.T, AXES, strict=True))])
    # m and J have different units: the rank is that of unit columns
    size = np.linalg.norm(rows, axis=0)
    s = np.linalg.svd(rows / np.where(size > 0, size, 1.0), compute_uv=False)
    determined = int(np.sum(s > TURNED * s.max(initial=np.finfo(float).tiny)))
    # an instant's three equations have the rank of its impulses, three at most
    rank = int(np.minimum(2 * counts, 3).sum()) + determined
    return Consistency(rows, rank, 2 + 2 * len(jump), 2 - determined)


ENERGY_SAMPLES = 400
"""Number of times at which the energy is given."""
CONE_MARGIN = 1e-6
"""An impulse whose relative distance from the side of the friction cone is smaller slides."""


@dataclass(frozen=True, eq=False)
class SimulatedDrop:
    """The motion of one drop.

    Args:
        drop: measured frames until the body came to rest. shooting, theta: its residuals, and its components.
        predicted: (N, 3) poses of the tracked point. center, velocities: (N, 3) of the center of mass.
        impacts: in their order, impulses by mass [m/s].
    """

    drop: Drop
    shooting: Shooting
    theta: Vector
    predicted: Float[np.ndarray, "N 3"]
    center: Float[np.ndarray, "N 3"]
    velocities: Float[np.ndarray, "N 3"]
    impacts: ImpactEvents

    @classmethod
    def of(cls, drop: Drop, shooting: Shooting, theta: Vector) -> SimulatedDrop:
        center, velocities, impacts = shooting.motion(theta, shooting.times)
        predicted = of_point(center, shooting.geometry_of(theta)[2:])
        return cls(drop, shooting, theta, predicted, center, velocities, impacts)

    @cached_property
    def gained(self) -> Vector:
        """(E,) information on log J/m that frames from each impact to the next add, and those after the last.

        An impact determines J/m by the motion after it: the spin, and landing or rolling. Simultaneous contacts
        share it evenly.
        """
        J = self.shooting.jacobian(self.theta, self.shooting.residuals(self.theta))
        J = (J * self.shooting.prior_std).reshape(len(self.drop.times), 3, -1)
        # information of the first n frames, prior included: variance of log J/m after each, in parts of the prior's
        normal = np.eye(len(self.theta)) + np.cumsum(np.einsum("nki,nkj->nij", J, J), axis=0)
        known = np.concatenate([[0.0], 1 / np.linalg.pinv(normal, hermitian=True)[:, INERTIA, INERTIA] - 1])
        instants, which, counts = np.unique(self.impacts.times, return_inverse=True, return_counts=True)
        ends = np.searchsorted(self.drop.times, [*instants[1:], np.inf])
        return np.asarray((np.diff([0.0, *known[ends]]) / counts)[which])

    @property
    def pushes(self) -> Float[np.ndarray, "F 3"] | None:
        """Changes of the velocity by known forces in each flight; None: no forces."""
        forces, times = self.shooting.forces_by_mass(self.theta), self.drop.times
        if forces is None:
            return None
        ends = np.concatenate([times[:1], self.impacts.times, times[-1:]])
        return integrals(times, forces / [1, 1, np.exp(self.theta[INERTIA])], ends)

    def directions(self) -> tuple[Float[np.ndarray, "E 3"], Float[np.ndarray, "E 3"]]:
        """N and T of each impact."""
        walls = self.shooting.walls_of(self.theta)
        touched = [contacts_at(q, self.shooting.shape, walls) for q in self.impacts.poses]
        normals, tangents = (
            np.array([at[k][which] for at, which in zip(touched, self.impacts.contacts, strict=True)])
            for k in (1, 2)
        )
        return normals.reshape(-1, 3), tangents.reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class DropFit(ShootingFit):
    """The result of drops that were simulated: the deepest minimum.

    Args:
        motions: of each drop.
        posterior: of theta. noise_given: whether the tracker's noise was given.
        findings: findings against the result.
        friction_bound: lower bound of mu, where it is not identifiable; None where it is.
        mass_identifiable: whether the mass was estimated and a known force determines it.
        shooting: residuals, with the noise that was estimated.
        likelihoods: log-likelihood of the frames under each law of restitution, at its best motion.
    """

    motions: tuple[SimulatedDrop, ...]
    posterior: MixturePosterior
    noise_given: bool
    findings: tuple[Finding, ...]
    friction_bound: float | None
    mass_identifiable: bool
    shooting: Shooting
    likelihoods: Mapping[str, float]

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
    def velocities(self) -> Float[np.ndarray, "N 3"]:
        """Of the center of mass, in all frames."""
        return np.concatenate([motion.velocities for motion in self.motions])

    def estimate(self, problem: ImpactsProblem) -> Estimate:
        """The estimate of the problem's drops."""
        undetermined = []
        if self.mass is None:
            reason = "unexcited" if self.shooting.mass_is_estimated else "structural"
            undetermined.append(Direction("m and J, of which only J/m acts", reason))
        if self.friction_bound is not None:
            what = "friction, above the least value with which every impact sticks"
            undetermined.append(Direction(what, "unexcited"))
        walls = self.shooting.walls_of(self.theta)
        motions = tuple(map(self._motion, self.motions))
        (parameters, normal, effects), sensors = self._parameters(problem), [of.sensors[0] for of in motions]
        # a fit that failed does not tell where the floor is
        offset = self.shooting.geometry_of(self.theta)[2:]
        there = {} if self.findings else {"walls": walls, "throws": problem.throws_about(offset)}
        measured = np.concatenate([motion.drop.poses for motion in self.motions])
        return impacts_estimate(
            problem,
            parameters,
            self.status,
            normal,
            {
                **there,
                "known": (*self.findings, *self._contradictions()),
                "upper": {"friction": MAX_FRICTION, "restitution": 1.0},
                "effects": None if effects is None else effects.fit,
            },
            (
                EstimatedMotions(motions),
                Impacts(self._impacts(problem)),
                DropSimulation(
                    self.shooting.noise,
                    self.shooting.drag,
                    self.friction,
                    self.shooting.mass_of(self.theta),
                    self.shooting.law,
                    self.shooting.geometry,
                    self.shooting.geometry_std,
                ),
            ),
            (self.friction, np.nan) if self.friction_bound is None else (np.nan, self.friction_bound),
            dict(map(self._energy, self.motions)),
            self.likelihoods,
            walls,
            Provenance(
                warnings=tuple(f"Do not trust this yet: {finding.message}." for finding in self.findings),
                notes=tuple(self._notes()),
            ),
            rows=measured.size,
            iterations=max(self.iterations, 1),
            fit=fit_of(
                np.concatenate([motion.drop.times for motion in self.motions]),
                sensors[0].channels,
                sensors[0].units,
                measured,
                self.predicted,
                counts=[len(motion.drop.times) for motion in self.motions],
                recording=listing([motion.drop.name for motion in self.motions]),
            ),
            undetermined=tuple(undetermined),
        )

    def _energy(self, motion: SimulatedDrop) -> tuple[str, tuple[Vector, Vector]]:
        """Name of a drop, times and energies."""
        times = np.linspace(motion.drop.times[0], motion.drop.times[-1], ENERGY_SAMPLES)
        q, v, _ = motion.shooting.motion(motion.theta, times)
        energy = v**2 @ [0.5, 0.5, 0.5 * self.inertia_to_mass] + GRAVITY * q[:, 1]
        return motion.drop.name, (times, impulse_unit(self.mass)[0] * energy)

    def _parameters(
        self, problem: ImpactsProblem
    ) -> tuple[EstimatedParameters, Matrix, ThrowUncertainty | None]:
        """Parameters, the normal matrix of the identifiable ones, states eliminated, and errors of the laboratory."""
        by, J_m = np.eye(len(self.theta)), self.inertia_to_mass
        # name, unit, kind, value, derivatives by theta, and its component of theta
        rows: list[tuple[str, str, str, float, Vector, int | None]] = [
            ("J/m", "m^2", "inertia", J_m, J_m * by[INERTIA], INERTIA),
            ("friction", "1", "friction", self.friction, by[FRICTION], FRICTION),
            ("restitution", "1", "restitution", self.restitution, by[RESTITUTION], RESTITUTION),
        ]
        for k, which in enumerate(self.shooting.estimated_geometry, self.shooting.own):
            unit = "rad" if GEOMETRY[which] == "floor_slope" else "m"
            rows.append((GEOMETRY[which], unit, "geometry", float(self.theta[k]), by[k], k))
        mass, estimated = self.shooting.mass_of(self.theta), self.shooting.mass_is_estimated
        if mass is not None:
            if estimated:
                rows.append(("m", "kg", "mass", mass, mass * by[MASS], MASS))
            J, of_J = mass * J_m, by[INERTIA] + (by[MASS] if estimated else 0.0)
            rows.append(("J", "kg m^2", "inertia", J, J * of_J, None))
        hidden: set[str] = set() if self.friction_bound is None else {"friction"}
        if estimated and not self.mass_identifiable:
            hidden |= {"m", "J"}
        seen = np.array([row[0] not in hidden for row in rows])
        slopes = np.array([row[4] for row in rows])
        covariance = slopes @ self.posterior.covariance @ slopes.T
        # undetermined parameters must not be shown as numbers with small standard deviations
        covariance[~seen], covariance[:, ~seen] = np.nan, np.nan
        flagged = [
            (*row[:3], row[3] if known else np.nan, known)
            for row, known in zip(rows, seen.tolist(), strict=True)
        ]
        jacobian = self.shooting.jacobian(self.theta, self.shooting.residuals(self.theta))
        # J = m (J/m) is no further parameter
        columns = [
            jacobian[:, row[5]] / row[4][row[5]]
            for row, known in zip(rows, seen, strict=True)
            if known and row[5] is not None
        ]
        states = np.delete(jacobian, np.s_[INERTIA : self.shooting.of_geometry.stop], axis=1)
        R: Matrix = np.linalg.qr(np.column_stack([states, *columns]), mode="r")  # type: ignore[assignment]
        shared = R[states.shape[1] :, states.shape[1] :]
        normal = shared.T @ shared
        systematic = None
        # a force that is known to some percent would be another effect
        if self.shooting.forces is None and self.status is not Status.interrupted:
            at = self.shooting, self.theta, self.predicted, self.velocities, problem.accuracy
            systematic = ThrowUncertainty(SimulatedFrames(*at), slopes, seen)
        parameters = estimated_parameters(
            problem.name, flagged, covariance, coloured=False, systematic=systematic
        )
        return parameters, normal, systematic

    def _contradictions(self) -> Iterator[Finding]:
        """Of the floor and the tracked point, which the frames show to be elsewhere than declared."""
        shooting, std = self.shooting, np.sqrt(np.diag(self.posterior.covariance))
        for cause, what, names in (
            ("wall", "The floor", GEOMETRY[:2]),
            ("tracked-point", "The tracked point", GEOMETRY[2:]),
        ):
            at = [
                k
                for k, which in enumerate(shooting.estimated_geometry, shooting.own)
                if GEOMETRY[which] in names
            ]
            sure = np.abs(self.theta[at]) / std[at]
            if sure.max(initial=0.0) < CONTRADICTED:
                continue
            severity = (
                Severity.warning
                if (np.abs(self.theta[at]) > FAR_OFF * shooting.prior_std[at]).any()
                else Severity.note
            )
            sizes = [
                f"{np.degrees(self.theta[k]):+.2g} degrees"
                if shooting.name_of(k) == "floor_slope"
                else f"{1e3 * self.theta[k]:+.2g} mm ({shooting.name_of(k).rsplit('_', 1)[1]})"
                for k in at
            ]
            yield Finding(
                cause,
                severity,
                f"{what} is not where it is declared, but off by {' and '.join(sizes)}.",
                "The estimate allows for it; measure it again, and declare it.",
                evidence=float(sure.max()),
            )

    def _motion(self, motion: SimulatedDrop) -> EstimatedMotion:
        names, measured = tuple(f"position.{axis}" for axis in POSE), motion.drop.poses
        normalized = (measured - motion.predicted) / self.shooting.noise
        pose = SensorFit("pose", names, tuple(POSE.values()), measured, motion.predicted, names, normalized)
        columns = {"position": motion.center, "velocity": motion.velocities}
        return motion_of(motion.drop.name, motion.drop.times, columns, pose)

    def _impacts(self, problem: ImpactsProblem) -> list[Impact]:
        parts, (factor, unit) = len(problem.shape.parts), impulse_unit(self.mass)
        known, rows = max(float(sum(motion.gained.sum() for motion in self.motions)), TINY), []
        for motion in self.motions:
            impacts, (normals, tangents) = motion.impacts, motion.directions()
            for e, which in enumerate(impacts.contacts.tolist()):
                before, after = impacts.before[e], impacts.after[e]
                c_n, c_t = impacts.impulses[e].tolist()
                came, went = normals[e] @ before, normals[e] @ after
                work = 0.5 * (before + after) @ (c_n * normals[e] + c_t * tangents[e])
                corner = f", corner {which % parts + 1}" if parts > 1 else ""
                rows.append(
                    Impact(
                        motion.drop.name,
                        float(impacts.times[e]),
                        f"wall {which // parts + 1}{corner}",
                        factor * c_n,
                        factor * c_t,
                        unit,
                        float(-went / came) if came < -SLOW else float("nan"),
                        "slides" if abs(c_t) > (1 - CONE_MARGIN) * self.friction * c_n else "sticks",
                        -factor * float(work),
                        float(motion.gained[e] / known),
                    )
                )
        return rows

    def _notes(self) -> list[str]:
        (low, high), noise = self.inertia_interval, self.shooting.noise
        notes = [
            f"J/m is {1e6 * self.inertia_to_mass:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g}; "
            f"{'as given' if self.noise_given else 'as equations'}, the tracker is off by {1e3 * noise[0]:.3g} mm and "
            f"{1e3 * noise[2]:.3g} mrad."
        ]
        others = self.posterior.means[1:, INERTIA], self.posterior.shares[1:]
        if len(others[0]):
            notes.append(
                "Other motions explain the frames about as well, and the interval includes them: J/m of "
                + ", ".join(
                    f"{1e6 * np.exp(inertia):.4g} mm^2 ({100 * share:.0f} %)"
                    for inertia, share in zip(*others, strict=True)
                )
                + f"; the deepest minimum, which is given, has {100 * self.posterior.shares[0]:.0f} %."
            )
        if self.friction_bound is not None:
            notes.append(
                f"No contact slid in a way that determines friction: it is at least {self.friction_bound:.3g}, and no "
                "value is given."
            )
        else:
            least, most = np.maximum(self.posterior.interval(FRICTION), 0.0)
            notes.append(f"Friction is {self.friction:.3g}, 95 % from {least:.3g} to {most:.3g}.")
        if len(self.likelihoods) > 1:
            notes.append(law_note(self.likelihoods, self.law))
        if self.mass_identifiable and self.mass is not None:
            half = np.exp(NORMAL_95 * np.sqrt(self.posterior.covariance[MASS, MASS]))
            notes.append(
                f"The known force determines the mass: {self.mass:.4g} kg, 95 % from {self.mass / half:.4g} to "
                f"{self.mass * half:.4g}."
            )
        elif self.shooting.mass_is_estimated:
            notes.append("The force is too weak to determine the mass: J/m and impulses by mass are given.")
        elif self.mass is None:
            notes.append(WITHOUT_MASS)
        if len(self.motions) == 1:
            (motion,) = self.motions
            equations = consistency(motion.impacts, *motion.directions(), motion.pushes)
            notes.append(
                f"The impacts' equations have rank {equations.rank} in {equations.columns} unknowns"
                + {0: ": m and J are determined by themselves.", 1: ": only ratios are determined."}.get(
                    equations.free, ": not even J/m by these equations."
                )
            )
        return notes


@dataclass(frozen=True, eq=False)
class DropSimulation(SolvedMotion):
    """Settings of a drop's simulation beside the estimate's values and its first state.

    Args:
        noise: (3,) standard deviations of the tracker [m], [m], [rad]. drag: linear and angular [1/s].
        friction: of the simulation, also where its value is not identifiable.
        mass: of the simulation [kg]; None where no force acts and none is given.
        law: of impacts, as in `PlanarBody`.
        geometry: (4,) values of `GEOMETRY` that were not estimated. geometry_std: (4,) of the prior of those that were.
    """

    key = "simulation"

    noise: Vector
    drag: tuple[float, float]
    friction: float
    mass: float | None
    law: str = "complementarity"
    geometry: Vector = field(default_factory=lambda: np.zeros(len(GEOMETRY)))
    geometry_std: Vector = field(default_factory=lambda: np.zeros(len(GEOMETRY)))

    def certify(self, problem: ImpactsProblem, estimate: Estimate) -> Certificate:
        """theta consists of the first state of the estimate's motion and of J/m, friction, restitution and mass of its
        parameters, or of these fields where the data do not determine them. The motion is simulated with it:
        stationarity is the descent of steps (`Shooting.descent`). feasible: theta is within its
        bounds, J = m (J/m), and the poses of the motion are the simulated ones.
        """
        drops, paths = tuple(map(moving, problem.drops)), [motion.path for motion in motions_of(estimate)]
        shooting = shooting_of(
            drops,
            self.noise,
            problem.shape,
            problem.walls,
            self.drag,
            problem.mass,
            self.law,
            self.geometry,
            self.geometry_std,
        )
        values = {
            name: float(value)
            for name, value, known in zip(estimate.names, estimate.values, estimate.identifiable, strict=True)
            if known
        }
        m = values.get("m", self.mass)
        friction = values.get("friction", self.friction)
        poses, rates = (
            [path.stack(quantity, tuple(POSE)) for path in paths] for quantity in ("position", "velocity")
        )
        # J/m or a mass that is not positive gives no finite theta, and no certificate below
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = shooting.theta(
                (poses[0][0], rates[0][0]), values["J/m"], friction, values["restitution"], m
            )
        theta[shooting.of_geometry] = [values[GEOMETRY[k]] for k in shooting.estimated_geometry]
        further = [row for q, v in zip(poses[1:], rates[1:], strict=True) for row in (q[0], v[0])]
        theta = np.concatenate([theta[: shooting.of_geometry.stop], *further])
        lower, upper = shooting.bounds()
        if not (np.isfinite(theta).all() and (lower <= theta).all() and (theta <= upper).all()):
            return Certificate(float("inf"), False, STATIONARY)
        derived = "J" not in values or m is None or abs(values["J"] / (m * values["J/m"]) - 1) < AGREES
        simulated = [one.motion(own, one.times)[0] for one, own in shooting.each(theta)]
        away = (np.concatenate(simulated) - np.concatenate(poses)) / self.noise
        moves = bool(np.abs(away).max() < AGREES)
        return Certificate(shooting.descent(theta)[0], derived and moves, STATIONARY)


FAR_MORE, OUT_OF_REACH = 3.0, 100.0
"""Factor on friction with which every impact sticks, if one with the estimate may; and chi-square from which no fit
reaches that of the estimate."""
FRICTION_THRESHOLD = float(stats.chi2.ppf(0.95, 1))
"""95 % chi-square threshold of one parameter that the data bound on one side only."""
BISECTIONS = 5
CONTRADICTED, FAR_OFF = 4.0, 2.0
"""Standard deviations of the estimate, and of the prior, from which the floor or the tracked point is not where it is
declared, and from which this is a warning."""
JOINT_SEARCHES = 2
"""Largest number of times that several drops are joined."""
TINY = float(np.finfo(float).tiny)
NEARBY = np.array([0.8, 0.9, 1.1, 1.25])
"""Factors on the coefficient of friction of the deepest minimum from which it is sought again."""
FRICTIONS = np.geomspace(0.5, 2.0, 41)
"""Factors on the coefficient of friction with which motions under other laws of impact are sought."""
LAW_STARTS = 2
"""Number of samples that start a fit under each law of impact, beside the deepest minimum."""
STARTS = (0.25, 0.4), (0.1, 0.8), (0.4, 0.15)
"""J/m in squares of the size, and mu, of each search; the next one follows only if the ones before do not explain the
frames."""
START_RESTITUTION = 0.3
UNKNOWN_NOISE_FACTOR = 1.5
"""Factor on the chi-square threshold up to which frames count as explained while the noise is not known: third
differences give it to some 20 %, its square to 50 %."""
NOISE_UPDATES, NOISE_CHANGE = 3, 1.5
"""Largest number of updates of the noise; a change by more than this factor is followed by another search."""
SIGNIFICANCE = 1e-3
"""Probability of a test below which the result is distrusted."""
NEIGHBOUR_FACTOR, OUTLIER_FACTOR = 2.5, 12.0
"""Ratios above which a result is distrusted: of residuals to the noise between neighbouring frames, and of a frame's
residual to the median: 8 standard deviations."""
IDENTIFIABLE_STD = 0.5
"""Largest standard deviation of mu and of log m with which they count as identifiable."""


def shooting_of(drops: Sequence[Drop], *known: Any) -> Shooting:
    """Residuals of drops, one or several.

    Args:
        known: noise, shape, walls, drag, mass, law, geometry, and the deviations of its prior, as in `Shooting`.
    """
    first, *further = drops
    noise, shape, walls, drag, *rest = known
    one = Shooting(first.times, first.poses, noise, shape, walls, drag, first.forces, *rest)
    return JointShooting.of(one, further) if further else one


def fitted_drops(
    drops: Sequence[Drop],
    shape: Shape,
    walls: Sequence[Wall],
    mass: float | None = None,
    noise: Sequence[float] | Vector | None = None,
    drag: tuple[float, float] = (0.0, 0.0),
    seed: int = 0,
    restitution: str = AUTO,
    geometry: Vector | None = None,
    geometry_std: Vector | None = None,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> DropFit:
    """J/m, mu, restitution and the motions; and m, if the one drop has known forces and the mass is not given.

    Args:
        drops: frames, poses of the center of mass; several without forces.
        shape, walls: outline of the body, and walls that it may strike.
        mass: [kg], if it is known; without known forces it acts in no way.
        noise, drag, seed, restitution: as in `ImpactIdentification`.
        geometry, geometry_std: as in `Shooting`; None: walls and tracked point are exact.

    Raises:
        InvalidSignals: if there are too few frames.
        NotIdentifiable: if the body hits nothing.
    """
    for drop in drops:
        if len(drop.times) < FEWEST:
            raise InvalidSignals(f"{drop.name} has {len(drop.times)} frames; it takes at least {FEWEST}")
    # frames at rest add no information, and each would have to be simulated
    drops, given = tuple(map(moving, drops)), noise is not None
    name = listing([drop.name for drop in drops])
    noise = (
        np.median([drop.noise for drop in drops], axis=0) if noise is None else np.asarray(noise, dtype=float)
    )
    laws = [law for kind in compared(restitution) for law in RESTITUTIONS[kind]]
    exact = np.zeros(len(GEOMETRY))
    surveyed = (exact if values is None else values for values in (geometry, geometry_std))
    shooting = shooting_of(drops, noise, shape, walls, drag, mass, laws[0], *surveyed)
    rng = np.random.default_rng(seed)
    search = partial(_searched, laws=laws, given=given, rng=rng, progress=progress, stop=stop)
    fits = further_minima(shooting, search(drops, shooting), rng, stop)
    for _ in range(NOISE_UPDATES if not given else 0):
        if stop_requested(stop):
            break
        report(progress, "noise of the tracker", cost=0.5 * fits[0].chi_square, detail=name)
        after = residual_noise(shooting, fits[0])
        # a wrong noise may hide the right motion among those that "explain" the frames: then search again
        change = max(np.max(after / noise), np.max(noise / after))
        noise, shooting = after, replace(shooting, noise=after)
        if change > NOISE_CHANGE:
            fits = search(drops, shooting, first=fits[0])
            fits = further_minima(shooting, fits, rng, stop)
        else:
            minima = (shooting.under_law_of(minimum).fit(minimum.theta) for minimum in fits)
            fits = shooting.distinct(list(minima))
        if change < 1.02:
            break
    report(progress, "laws of impact", detail=name)
    fits, likelihoods = compared_laws(shooting, fits, laws, rng, stop)
    return _result(drops, shooting, fits, likelihoods, given, stop_requested(stop))


def _searched(
    drops: Sequence[Drop],
    shooting: Shooting,
    first: ShootingFit | None = None,
    *,
    laws: Sequence[str],
    given: bool,
    rng: np.random.Generator,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> list[ShootingFit]:
    """Minima under each law, the deepest first; `first`: a motion that the search begins with, None: the first flights.

    Drops are searched one by one, and again about the values of all of them where these do not explain their frames.
    """

    def limit(one: Shooting) -> float:
        return float(stats.chi2.ppf(1 - SIGNIFICANCE, one.degrees)) * (1.0 if given else UNKNOWN_NOISE_FACTOR)

    def about(one: Shooting, theta: Vector, law: str) -> list[ShootingFit]:
        return under_other_laws(one, replace(one, law=law).search(theta, limit(one), rng, stop), laws)

    if not isinstance(shooting, JointShooting):
        if first is not None:
            return about(shooting, first.theta, first.law)
        return _first_fits(drops[0].name, shooting, laws, limit(shooting), rng, progress, stop)
    minima = [
        _first_fits(drop.name, one, laws, limit(one), rng, progress, stop)
        for drop, one in zip(drops, shooting.drops, strict=True)
    ]
    fits = [] if first is None else [shooting.under_law_of(first).fit(first.theta)]
    for _ in range(JOINT_SEARCHES):
        for law in laws:
            if not stop_requested(stop) or not fits:
                report(progress, "drops together", detail=law)
                under = replace(shooting, law=law)
                fits += under.fits(under.starts(minima))
        fits = shooting.distinct(fits)
        apart = [
            k
            for k, (one, theta) in enumerate(shooting.under_law_of(fits[0]).each(fits[0].theta))
            if float(np.sum(one.residuals(theta) ** 2)) > limit(one)
        ]
        # where no drop is explained, the model does not hold
        if stop_requested(stop) or not 0 < len(apart) < len(drops):
            break
        for k in apart:
            one, theta = list(shooting.each(fits[0].theta))[k]
            minima[k] = one.distinct([*minima[k], *about(one, theta, fits[0].law)])
    return fits


def _first_fits(
    name: str,
    shooting: Shooting,
    laws: Sequence[str],
    limit: float,
    rng: np.random.Generator,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> list[ShootingFit]:
    """Searches from the first flight and different values of the rest, until one of them explains the frames."""
    _, (pose, velocity), middle = first_flight(shooting.times, shooting.poses, shooting.noise)
    early = shooting.times[0] - middle
    fits: list[ShootingFit] = []
    # motions under the other laws are found from those under these two
    searched = dict.fromkeys((laws[0], laws[-1]))
    state = pose + early * velocity + 0.5 * early**2 * FALL, velocity + early * FALL
    mass = lifted_mass(shooting.forces, shooting.shape) if shooting.forces is not None else None
    for inertia, friction in STARTS:
        report(progress, "shooting", detail=name)
        known = inertia * shooting.shape.size**2, friction, START_RESTITUTION, mass
        for law in searched:
            found = replace(shooting, law=law).search(shooting.theta(state, *known), limit, rng, stop)
            fits = under_other_laws(shooting, shooting.distinct([*fits, *found]), laws)
            if fits[0].chi_square <= limit or stop_requested(stop):
                return fits
    return fits


def under_other_laws(
    shooting: Shooting, fits: Sequence[ShootingFit], laws: Sequence[str]
) -> list[ShootingFit]:
    """The minima and those near them under the other laws of impact, the deepest first."""
    others = []
    for fit in fits:
        for law in laws:
            if not _moves_alike(shooting, fit, law):
                others += replace(shooting, law=law).fits([fit.theta])
    return shooting.distinct([*fits, *others])


def _moves_alike(shooting: Shooting, fit: ShootingFit, law: str) -> bool:
    """Whether a law of impact gives the motion of a fit, as where slip neither stops nor reverses within an impact."""
    change = replace(shooting, law=law).residuals(fit.theta) - shooting.under_law_of(fit).residuals(fit.theta)
    return fit.law == law or bool(np.abs(change).max() < AGREES)


def compared_laws(
    shooting: Shooting,
    fits: Sequence[ShootingFit],
    laws: Sequence[str],
    rng: np.random.Generator,
    stop: Stop | None = None,
) -> tuple[list[ShootingFit], dict[str, float]]:
    """The minima with those of each law of impact, the deepest first; and log-likelihoods of the laws of restitution.

    Each law is fitted from the deepest minimum, and from the best of widened samples of the posterior and of other
    coefficients of friction; that of the minimum again from coefficients near its own.
    """
    posterior, found = MixturePosterior.of(shooting, fits), list(fits)
    least = {fit.law: fit.chi_square for fit in reversed(fits)}
    for law in laws:
        if law == fits[0].law and not stop_requested(stop):
            # along kinks of friction a search ends beside the minimum
            starts = np.tile(fits[0].theta, (len(NEARBY), 1))
            starts[:, FRICTION] *= NEARBY
            found += shooting.under_law_of(fits[0]).fits(np.clip(starts, *shooting.bounds()))
            least[law] = min(fit.chi_square for fit in found if fit.law == law)
        elif _moves_alike(shooting, fits[0], law):
            least[law] = fits[0].chi_square
        elif not stop_requested(stop):
            under = replace(shooting, law=law)
            points = posterior.samples(MIXTURE_SAMPLES, WIDENING, rng)
            # laws of friction that explain one impact alike do so with different coefficients
            slipping = np.tile(fits[0].theta, (len(FRICTIONS), 1))
            slipping[:, FRICTION] *= FRICTIONS
            points = np.clip(np.concatenate([points, slipping]), *shooting.bounds())
            best = points[np.argsort(under.sums_of_squares(points))[:LAW_STARTS]]
            own = under.fits([fits[0].theta, *best], WORSE * fits[0].chi_square)
            found += own
            least[law] = min(least.get(law, np.inf), *(fit.chi_square for fit in own))
    density = len(shooting.readings) * float(np.sum(np.log(np.sqrt(2 * np.pi) * shooting.noise)))
    likelihoods = {
        name: -0.5 * min(least[law] for law in its if law in least) - density
        for name, its in RESTITUTIONS.items()
        if any(law in least for law in its)
    }
    return shooting.distinct(found), likelihoods


def _result(
    drops: Sequence[Drop],
    shooting: Shooting,
    fits: Sequence[ShootingFit],
    likelihoods: Mapping[str, float],
    noise_given: bool,
    interrupted: bool,
) -> DropFit:
    posterior, fit = MixturePosterior.of(shooting, fits), fits[0]
    shooting = shooting.under_law_of(fit)
    motions = tuple(
        SimulatedDrop.of(drop, one, theta)
        for drop, (one, theta) in zip(drops, shooting.each(fit.theta), strict=True)
    )
    if not any(len(motion.impacts.times) for motion in motions):
        raise NotIdentifiable(
            f"the body hits nothing in {listing([drop.name for drop in drops])}"
            + (" in the motion found until the interruption" if interrupted else "")
            + ", so there is nothing to identify: only impacts determine J/m and friction"
        )
    std = np.sqrt(np.diag(posterior.covariance))
    return DropFit(
        motions=motions,
        theta=fit.theta,
        posterior=posterior,
        noise_given=noise_given,
        chi_square=fit.chi_square,
        iterations=fit.iterations,
        status=Status.interrupted if interrupted else fit.status,
        law=fit.law,
        findings=tuple(_distrust(motions, shooting, fit, noise_given)),
        predicted=np.concatenate([motion.predicted for motion in motions]),
        friction_bound=_least_friction(shooting, fit)
        if std[FRICTION] >= IDENTIFIABLE_STD
        or any(_sticks(shooting, other, fit.chi_square) for other in fits)
        else None,
        mass_identifiable=shooting.mass_is_estimated and bool(std[MASS] < IDENTIFIABLE_STD),
        shooting=shooting,
        likelihoods=likelihoods,
    )


def _distrust(
    motions: Sequence[SimulatedDrop], shooting: Shooting, fit: ShootingFit, noise_given: bool
) -> Iterator[Finding]:
    warning, error, degrees = Severity.warning, Severity.error, shooting.degrees
    poor = partial(Finding, "poor-fit", remedy="See the other findings, the outline and the walls.")
    if fit.status is not Status.solved:
        yield poor(warning, f"the iteration ended before a minimum ({fit.status.name})")
    if noise_given and stats.chi2.sf(fit.chi_square, degrees) < SIGNIFICANCE:
        ratio = np.sqrt(fit.chi_square / degrees)
        yield poor(
            error if ratio > NEIGHBOUR_FACTOR else warning,
            f"residuals are {ratio:.2g} times the noise: the model does not hold, or the search found a wrong "
            "motion",
        )
    for motion in motions:
        e, where = motion.predicted - motion.drop.poses, motion.drop.name if len(motions) > 1 else ""
        within = f" in {where}" if where else ""
        for axis, what in enumerate(("x", "y", "the angle")):
            # three tests at once, of each drop: a share of the significance each
            if von_neumann_probability(e[:, axis]) < SIGNIFICANCE / 3 / len(motions):
                message = f"residuals of {what} are correlated{within}, as after a wrong sequence of impacts"
                yield poor(warning, message, where=where)
        ratio = noise_of(e, len(fit.theta) / fit.predicted.size) / motion.drop.noise
        if not noise_given and ratio.max() > NEIGHBOUR_FACTOR:
            yield poor(
                error,
                f"residuals are {ratio.max():.2g} times the noise between neighbouring frames{within}: the floor, the "
                "outline or a frame is wrong",
                where=where,
            )
        relative = np.abs(e) / np.median(np.abs(e), axis=0)
        if relative.max() > OUTLIER_FACTOR:
            time = motion.drop.times[int(np.argmax(relative.max(axis=1)))]
            message = f"the frame at {time:.4g} s{within} is far from all others; exclude it if misread"
            yield Finding("outliers", warning, message, "", where, evidence=float(relative.max()))


def residual_noise(shooting: Shooting, fit: ShootingFit) -> Vector:
    """(3,) standard deviations of the residuals, x and y alike; degrees of freedom are shared evenly."""
    return noise_of(fit.predicted - shooting.readings, len(fit.theta) / fit.predicted.size)


def noise_of(e: Float[np.ndarray, "N 3"], used: float) -> Vector:
    """(3,) standard deviations of residuals, of which a part `used` of the degrees of freedom is used."""
    place, angle = np.sqrt(np.mean(e[:, :2] ** 2) / (1 - used)), np.sqrt(np.mean(e[:, 2] ** 2) / (1 - used))
    return np.array([place, place, angle])


def von_neumann_probability(e: Vector) -> float:
    """Probability of successive differences as small as these if e is white (von Neumann's ratio, 2 on average)."""
    # normal for n above some ten; its variance is that of white normal residuals
    n = len(e)
    ratio = np.sum(np.diff(e) ** 2) / np.sum(e**2)
    return float(stats.norm.cdf((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))


def _sticks(shooting: Shooting, fit: ShootingFit, least: float) -> bool:
    """Whether a motion near that of a fit explains the frames as well as chi-square `least` with far more friction."""
    shooting, theta = shooting.under_law_of(fit), fit.theta.copy()
    theta[FRICTION] = min(FAR_MORE * theta[FRICTION], MAX_FRICTION)
    if float(np.sum(shooting.residuals(theta) ** 2)) > least + OUT_OF_REACH:
        return False
    method = replace(FINE, max_iterations=12)
    return shooting.fit(theta, method=method, held=[FRICTION]).chi_square < least + FRICTION_THRESHOLD


def _least_friction(shooting: Shooting, fit: ShootingFit) -> float:
    """The least mu whose chi-square, all else free, is within `FRICTION_THRESHOLD` of the minimum."""
    # chi-square falls as mu rises, up to where every impact sticks: bisection finds the threshold
    low, high = 0.0, float(fit.theta[FRICTION])
    method = replace(FINE, max_iterations=12)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        theta = fit.theta.copy()
        theta[FRICTION] = middle
        if (
            shooting.fit(theta, method=method, held=[FRICTION]).chi_square
            < fit.chi_square + FRICTION_THRESHOLD
        ):
            high = middle
        else:
            low = middle
    return high
