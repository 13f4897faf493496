"""The estimate of one drop: J/m, friction and restitution, the motion, its impacts, and what these determine.

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

import numpy as np

from ...arrays import Float, Matrix, Vector
from ...estimate import (
    NORMAL_95,
    Direction,
    Estimate,
    EstimatedParameters,
    Provenance,
    Status,
    Uncertainty,
    condition_numbers,
    extras_of,
)
from ...estimate.fit import fit_of
from ...estimate.motions import POSE, EstimatedMotion, EstimatedMotions, Impact, Impacts, Scene, SensorFit
from ...models.planar.body import GRAVITY
from ...models.planar.contact import contacts_at, wall_array
from ...models.planar.events import SLOW, ImpactEvents
from ...recording import Recording
from .flights import integrals
from .problem import WITHOUT_MASS, DropFit, DropSimulation, ImpactsProblem, impulse_unit
from .shooting import FRICTION, INERTIA, MASS, MAX_FRICTION, RESTITUTION

TURNED = 1e-9
"""Least singular value that counts for the rank, relative to the largest."""
MOVED = 1e-6
"""Least component of m or J in a direction of the null space that moves them."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Directions of (m, J) that the impacts of a motion determine.

    Args:
        rows: (E, 2) of (m, J) once impulses are eliminated [m/s m], [rad/s]; 0 where several were struck at once.
        rank: of A, with the rows of known forces if there are any, and its columns, 2 + 2 E.
        free: number of directions of (m, J) in its null space. 1: only their ratio is determined; 0: a known force
            determines both.
    """

    rows: Float[np.ndarray, "E 2"]
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
    moments = [u[:, 2] * np.einsum("ei,ei->e", jump[:, :2], u[:, :2]) for u in (tangents, normals)]
    rows = np.column_stack([sum(moments), -jump[:, 2]])
    E = len(rows)
    instants, which, counts = np.unique(impacts.times, return_inverse=True, return_counts=True)
    rows[counts[which] > 1] = 0.0
    A = np.zeros((3 * len(instants), 2 + 2 * E))
    for e, i in enumerate(which):
        A[3 * i : 3 * i + 2, 0], A[3 * i + 2, 1] = jump[e, :2], jump[e, 2]
        A[3 * i : 3 * i + 3, 2 + 2 * e], A[3 * i : 3 * i + 3, 3 + 2 * e] = -normals[e], -tangents[e]
    if pushes is not None:
        flown = np.zeros((3 * len(pushes), A.shape[1]))
        flown[0::3, 0], flown[1::3, 0], flown[2::3, 1] = pushes.T
        A = np.concatenate([A, flown])
    # columns of m, J and impulses have different units: the rank is that of unit columns
    size = np.linalg.norm(A, axis=0)
    _, s, Vt = np.linalg.svd(A / np.where(size > 0, size, 1.0))
    rank = int(np.sum(s > TURNED * s[0]))
    free = np.linalg.matrix_rank(Vt[rank:, :2], tol=MOVED) if rank < 2 + 2 * E else 0
    return Consistency(rows, rank, 2 + 2 * E, int(free))


ENERGY_SAMPLES = 400
"""Number of times at which the energy is given."""
CONE_MARGIN = 1e-6
"""An impulse whose relative distance from the side of the friction cone is smaller slides."""


def drop_estimate(problem: ImpactsProblem, fit: DropFit) -> Estimate:
    """The estimate that a fit of the problem's one drop gives."""
    names, units, kinds, values, slopes = _parameters(fit)
    hit, mass = fit.impacts, fit.mass
    touched = [contacts_at(q, problem.shape, problem.walls) for q in hit.poses]
    normals, tangents = (
        np.array([at[k][which] for at, which in zip(touched, hit.contacts, strict=True)]) for k in (1, 2)
    )
    pushes, forces = None, fit.shooting.forces_by_mass(fit.theta)
    if forces is not None:
        times = fit.drop.times
        ends = np.concatenate([times[:1], hit.times, times[-1:]])
        pushes = integrals(times, forces / [1, 1, fit.inertia_to_mass], ends)
    covariance = slopes @ fit.posterior.covariance @ slopes.T
    hidden = set() if fit.friction_bound is None else {"friction"}
    if fit.shooting.mass_is_estimated and not fit.mass_identifiable:
        hidden |= {"m", "J"}
    seen = np.array([name not in hidden for name in names])
    # undetermined parameters must not be shown as numbers with small standard deviations
    covariance[~seen], covariance[:, ~seen] = np.nan, np.nan
    undetermined = []
    if mass is None:
        reason = "unexcited" if fit.shooting.mass_is_estimated else "structural"
        undetermined.append(Direction("m and J, of which only J/m acts", reason))
    if fit.friction_bound is not None:
        what = "friction, above the least value with which every impact sticks"
        undetermined.append(Direction(what, "unexcited"))
    # energy [J], or by mass [J/kg]
    times = np.linspace(fit.drop.times[0], fit.drop.times[-1], ENERGY_SAMPLES)
    q, v, _ = fit.shooting.motion(fit.theta, times)
    energy = v**2 @ [0.5, 0.5, 0.5 * fit.inertia_to_mass] + GRAVITY * q[:, 1]
    motion = _motion(fit)
    pose = motion.sensors[0]
    condition, scaled = _condition_numbers(fit, names, slopes, seen)
    return Estimate(
        method="",
        robot=problem.name,
        parameters=EstimatedParameters(
            names=names,
            units=units,
            owners=(problem.name,) * len(names),
            kinds=kinds,
            groupings=names,
            values=np.where(seen, values, np.nan),
            identifiable=seen,
            uncertainty=Uncertainty(covariance),
        ),
        status=Status.partly if fit.status is Status.solved and not seen.all() else fit.status,
        condition_number=condition,
        scaled_condition_number=scaled,
        rows=fit.drop.poses.size,
        fit=fit_of(
            fit.drop.times, pose.channels, pose.units, fit.drop.poses, fit.predicted, recording=fit.drop.name
        ),
        undetermined=tuple(undetermined),
        problem=problem,
        examiner=problem.examiner(known=fit.findings, upper={"friction": MAX_FRICTION, "restitution": 1.0}),
        iterations=max(fit.iterations, 1),
        extras=extras_of(
            EstimatedMotions((motion,)),
            Impacts(tuple(_impacts(problem, fit, mass, normals, tangents))),
            Scene(
                problem.shape.outline(),
                wall_array(problem.walls),
                fit.friction if fit.friction_bound is None else float("nan"),
                float("nan") if fit.friction_bound is None else fit.friction_bound,
                {fit.drop.name: (times, impulse_unit(mass)[0] * energy)},
            ),
            DropSimulation(
                fit.shooting.noise, fit.shooting.drag, fit.friction, fit.shooting.mass_of(fit.theta)
            ),
        ),
        provenance=Provenance(
            warnings=tuple(f"Do not trust this yet: {each.message}." for each in fit.findings),
            notes=tuple(_notes(fit, mass, consistency(hit, normals, tangents, pushes))),
        ),
    )


def _parameters(fit: DropFit) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Vector, Matrix]:
    """Names, units, kinds, values, and their derivatives by the fit's theta."""
    by = np.eye(len(fit.theta))
    found = [
        ("J/m", "m^2", "inertia", fit.inertia_to_mass, fit.inertia_to_mass * by[INERTIA]),
        ("friction", "1", "friction", fit.friction, by[FRICTION]),
        ("restitution", "1", "restitution", fit.restitution, by[RESTITUTION]),
    ]
    mass = fit.shooting.mass_of(fit.theta)
    if mass is not None:
        J, of_J = mass * fit.inertia_to_mass, by[INERTIA].copy()
        if fit.shooting.mass_is_estimated:
            found.append(("m", "kg", "mass", mass, mass * by[MASS]))
            of_J += by[MASS]
        found.append(("J", "kg m^2", "inertia", J, J * of_J))
    names, units, kinds, values, slopes = zip(*found, strict=True)
    return names, units, kinds, np.array(values), np.array(slopes)


def _condition_numbers(
    fit: DropFit, names: tuple[str, ...], slopes: Matrix, seen: np.ndarray
) -> tuple[float, float]:
    """Of the whitened Jacobian by the identifiable parameters, states eliminated, unscaled and with unit columns."""
    shooting, theta = fit.shooting, fit.theta
    J = shooting.jacobian(theta, shooting.residuals(theta))
    # J = m (J/m) is no further parameter
    columns = {"J/m": INERTIA, "friction": FRICTION, "restitution": RESTITUTION, "m": MASS}
    chosen = [(k, columns[name]) for k, name in enumerate(names) if seen[k] and name in columns]
    by_parameters = [J[:, column] / slopes[k, column] for k, column in chosen]
    R = np.asarray(np.linalg.qr(np.column_stack([J[:, :INERTIA], *by_parameters]), mode="r"))[
        INERTIA:, INERTIA:
    ]
    return condition_numbers(R.T @ R)


def _motion(fit: DropFit) -> EstimatedMotion:
    channels, units = {}, {}
    for k, (axis, unit) in enumerate(POSE.items()):
        channels[f"position.{axis}"], units[f"position.{axis}"] = fit.predicted[:, k], unit
        channels[f"velocity.{axis}"], units[f"velocity.{axis}"] = fit.velocities[:, k], f"{unit}/s"
    names, read = tuple(f"position.{axis}" for axis in POSE), fit.drop.poses
    left = (read - fit.predicted) / fit.shooting.noise
    pose = SensorFit("pose", names, tuple(POSE.values()), read, fit.predicted, names, left)
    motion = Recording(fit.drop.times, channels, units, {}, {"estimated": fit.drop.name})
    return EstimatedMotion(fit.drop.name, motion, (pose,))


def _impacts(
    problem: ImpactsProblem, fit: DropFit, mass: float | None, normals: Matrix, tangents: Matrix
) -> list[Impact]:
    parts, shares, rows, (factor, unit) = len(problem.shape.parts), fit.shares, [], impulse_unit(mass)
    for e, which in enumerate(fit.impacts.contacts.tolist()):
        before, after = fit.impacts.before[e], fit.impacts.after[e]
        c_n, c_t = fit.impacts.impulses[e].tolist()
        came, went = normals[e] @ before, normals[e] @ after
        work = 0.5 * (before + after) @ (c_n * normals[e] + c_t * tangents[e])
        corner = f", corner {which % parts + 1}" if parts > 1 else ""
        rows.append(
            Impact(
                fit.drop.name,
                float(fit.impacts.times[e]),
                f"wall {which // parts + 1}{corner}",
                factor * c_n,
                factor * c_t,
                unit,
                float(-went / came) if came < -SLOW else float("nan"),
                "slides" if abs(c_t) > (1 - CONE_MARGIN) * fit.friction * c_n else "sticks",
                -factor * float(work),
                float(shares[e]),
            )
        )
    return rows


def _notes(fit: DropFit, mass: float | None, found: Consistency) -> list[str]:
    (low, high), noise = fit.inertia_interval, fit.shooting.noise
    notes = [
        f"J/m is {1e6 * fit.inertia_to_mass:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g}; "
        f"{'as given' if fit.noise_given else 'as found'}, the tracker is off by {1e3 * noise[0]:.3g} mm and "
        f"{1e3 * noise[2]:.3g} mrad."
    ]
    others = fit.posterior.means[1:, INERTIA], fit.posterior.shares[1:]
    if len(others[0]):
        notes.append(
            "Other motions explain the frames about as well, and the interval includes them: J/m of "
            + ", ".join(
                f"{1e6 * np.exp(inertia):.4g} mm^2 ({100 * share:.0f} %)"
                for inertia, share in zip(*others, strict=True)
            )
            + f"; the deepest minimum, which is given, has {100 * fit.posterior.shares[0]:.0f} %."
        )
    if fit.friction_bound is not None:
        notes.append(
            f"No contact slid in a way that determines friction: it is at least {fit.friction_bound:.3g}, and no "
            "value is given."
        )
    else:
        least, most = np.maximum(fit.posterior.interval(FRICTION), 0.0)
        notes.append(f"Friction is {fit.friction:.3g}, 95 % from {least:.3g} to {most:.3g}.")
    if fit.mass_identifiable and fit.mass is not None:
        half = np.exp(NORMAL_95 * np.sqrt(fit.posterior.covariance[MASS, MASS]))
        notes.append(
            f"The known force determines the mass: {fit.mass:.4g} kg, 95 % from {fit.mass / half:.4g} to "
            f"{fit.mass * half:.4g}."
        )
    elif fit.shooting.mass_is_estimated:
        notes.append("The force is too weak to determine the mass: J/m and impulses by mass are given.")
    elif mass is None:
        notes.append(WITHOUT_MASS)
    notes.append(
        f"The impacts' equations have rank {found.rank} in {found.columns} unknowns"
        + {0: ": m and J are determined by themselves.", 1: ": ratios alone are determined."}.get(
            found.free, ": not even J/m, by these alone."
        )
    )
    return notes
