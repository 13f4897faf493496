"""The result of one drop: J/m, friction and restitution, the motion, its impacts, and what these determine.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Float, Matrix, Vector
from ...estimate import (
    NORMAL_95,
    Certificate,
    Direction,
    Estimate,
    EstimatedParameters,
    Finding,
    Provenance,
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
from ...models.planar.body import GRAVITY
from ...models.planar.contact import contacts_at
from ...models.planar.drop import Drop
from ...models.planar.events import SLOW, ImpactEvents
from .estimate import (
    AGREES,
    WITHOUT_MASS,
    SolvedMotion,
    estimated_parameters,
    impacts_estimate,
    impulse_unit,
    motion_of,
)
from .flights import integrals
from .posterior import MixturePosterior
from .segmentation import moving
from .shooting import (
    FRICTION,
    INERTIA,
    MASS,
    MAX_FRICTION,
    PRIOR_STD,
    RESTITUTION,
    STATIONARY,
    Shooting,
    ShootingFit,
)

if TYPE_CHECKING:
    from .problem import ImpactsProblem
    from .program import ProgramFit

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

    def estimate(self, problem: ImpactsProblem) -> Estimate:
        """The estimate of the problem's one drop."""
        drop = self.drop
        undetermined = []
        if self.mass is None:
            reason = "unexcited" if self.shooting.mass_is_estimated else "structural"
            undetermined.append(Direction("m and J, of which only J/m acts", reason))
        if self.friction_bound is not None:
            what = "friction, above the least value with which every impact sticks"
            undetermined.append(Direction(what, "unexcited"))
        touched = [contacts_at(q, problem.shape, problem.walls) for q in self.impacts.poses]
        normals, tangents = (
            np.array([at[k][which] for at, which in zip(touched, self.impacts.contacts, strict=True)])
            for k in (1, 2)
        )
        times = np.linspace(drop.times[0], drop.times[-1], ENERGY_SAMPLES)
        q, v, _ = self.shooting.motion(self.theta, times)
        energy = v**2 @ [0.5, 0.5, 0.5 * self.inertia_to_mass] + GRAVITY * q[:, 1]
        motion, (parameters, normal) = self._motion(), self._parameters(problem.name)
        pose = motion.sensors[0]
        return impacts_estimate(
            problem,
            parameters,
            self.status,
            normal,
            {"known": self.findings, "upper": {"friction": MAX_FRICTION, "restitution": 1.0}},
            (
                EstimatedMotions((motion,)),
                Impacts(self._impacts(problem, normals, tangents)),
                DropSimulation(
                    self.shooting.noise,
                    self.shooting.drag,
                    self.friction,
                    self.shooting.mass_of(self.theta),
                ),
            ),
            (self.friction, np.nan) if self.friction_bound is None else (np.nan, self.friction_bound),
            {drop.name: (times, impulse_unit(self.mass)[0] * energy)},
            Provenance(
                warnings=tuple(f"Do not trust this yet: {finding.message}." for finding in self.findings),
                notes=tuple(self._notes(consistency(self.impacts, normals, tangents, self._pushes()))),
            ),
            rows=drop.poses.size,
            iterations=max(self.iterations, 1),
            fit=fit_of(
                drop.times, pose.channels, pose.units, drop.poses, self.predicted, recording=drop.name
            ),
            undetermined=tuple(undetermined),
        )

    def _pushes(self) -> Float[np.ndarray, "F 3"] | None:
        """Changes of the velocity by known forces in each flight; None: no forces."""
        forces, times = self.shooting.forces_by_mass(self.theta), self.drop.times
        if forces is None:
            return None
        ends = np.concatenate([times[:1], self.impacts.times, times[-1:]])
        return integrals(times, forces / [1, 1, self.inertia_to_mass], ends)

    def _parameters(self, owner: str) -> tuple[EstimatedParameters, Matrix]:
        """Parameters, and the normal matrix of the identifiable ones, states eliminated."""
        by, J_m = np.eye(len(self.theta)), self.inertia_to_mass
        # name, unit, kind, value, derivatives by theta, and its component of theta
        rows: list[tuple[str, str, str, float, Vector, int | None]] = [
            ("J/m", "m^2", "inertia", J_m, J_m * by[INERTIA], INERTIA),
            ("friction", "1", "friction", self.friction, by[FRICTION], FRICTION),
            ("restitution", "1", "restitution", self.restitution, by[RESTITUTION], RESTITUTION),
        ]
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
        R: Matrix = np.linalg.qr(np.column_stack([jacobian[:, :INERTIA], *columns]), mode="r")  # type: ignore[assignment]
        shared = R[INERTIA:, INERTIA:]
        normal = shared.T @ shared
        return estimated_parameters(owner, flagged, covariance, coloured=False), normal

    def _motion(self) -> EstimatedMotion:
        names, measured = tuple(f"position.{axis}" for axis in POSE), self.drop.poses
        normalized = (measured - self.predicted) / self.shooting.noise
        pose = SensorFit("pose", names, tuple(POSE.values()), measured, self.predicted, names, normalized)
        columns = {"position": self.predicted, "velocity": self.velocities}
        return motion_of(self.drop.name, self.drop.times, columns, pose)

    def _impacts(self, problem: ImpactsProblem, normals: Matrix, tangents: Matrix) -> list[Impact]:
        parts, shares, (factor, unit) = len(problem.shape.parts), self.shares, impulse_unit(self.mass)
        rows = []
        for e, which in enumerate(self.impacts.contacts.tolist()):
            before, after = self.impacts.before[e], self.impacts.after[e]
            c_n, c_t = self.impacts.impulses[e].tolist()
            came, went = normals[e] @ before, normals[e] @ after
            work = 0.5 * (before + after) @ (c_n * normals[e] + c_t * tangents[e])
            corner = f", corner {which % parts + 1}" if parts > 1 else ""
            rows.append(
                Impact(
                    self.drop.name,
                    float(self.impacts.times[e]),
                    f"wall {which // parts + 1}{corner}",
                    factor * c_n,
                    factor * c_t,
                    unit,
                    float(-went / came) if came < -SLOW else float("nan"),
                    "slides" if abs(c_t) > (1 - CONE_MARGIN) * self.friction * c_n else "sticks",
                    -factor * float(work),
                    float(shares[e]),
                )
            )
        return rows

    def _notes(self, equations: Consistency) -> list[str]:
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
    """

    key = "simulation"

    noise: Vector
    drag: tuple[float, float]
    friction: float
    mass: float | None

    def certify(self, problem: ImpactsProblem, estimate: Estimate) -> Certificate:
        """theta consists of the first state of the estimate's motion and of J/m, friction, restitution and mass of its
        parameters, or of these fields where the data do not determine them. The motion is simulated with it:
        stationarity is the descent that one-sided slopes promise (`Shooting.descent`). feasible: theta is within its
        bounds, J = m (J/m), and the poses of the motion are the simulated ones.
        """
        drop, path = moving(problem.drops[0]), motions_of(estimate)[0].path
        known = problem.shape, problem.walls, self.drag, drop.forces, problem.mass
        shooting = Shooting(drop.times, drop.poses, self.noise, *known)
        values = {
            name: float(value)
            for name, value, known in zip(estimate.names, estimate.values, estimate.identifiable, strict=True)
            if known
        }
        m = values.get("m", self.mass)
        poses, rates = (path.stack(quantity, tuple(POSE)) for quantity in ("position", "velocity"))
        friction = values.get("friction", self.friction)
        # J/m or a mass that is not positive gives no finite theta, and no certificate below
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = shooting.theta((poses[0], rates[0]), values["J/m"], friction, values["restitution"], m)
        lower, upper = shooting.bounds()
        if not (np.isfinite(theta).all() and (lower <= theta).all() and (theta <= upper).all()):
            return Certificate(float("inf"), False, STATIONARY)
        derived = "J" not in values or m is None or abs(values["J"] / (m * values["J/m"]) - 1) < AGREES
        simulated = shooting.residuals(theta).reshape(-1, 3) + drop.poses / self.noise
        moves = bool(np.abs(simulated - poses / self.noise).max() < AGREES)
        return Certificate(shooting.descent(theta)[0], derived and moves, STATIONARY)
