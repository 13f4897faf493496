"""Result of one drop: theta with its posterior, the motion, and its impacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Vector
from ...estimate import Finding, Status
from ...models.planar.events import ImpactEvents, moved
from .flights import Drop
from .posterior import MixturePosterior, normalized_jacobian
from .shooting import FRICTION, INERTIA, RESTITUTION, Shooting

if TYPE_CHECKING:
    from .program import ProgramFit


@dataclass(frozen=True, eq=False)
class DropFit:
    """The result of one drop.

    Args:
        drop: what was measured, until it came to rest.
        theta: (p,) see `shooting.NAMES`, at the deepest minimum.
        posterior: of theta. noise_given: whether the tracker's noise was given.
        chi_square: of the residuals. iterations: of program and final fit. status: how the search ended.
        findings: why not to believe it; empty if there is no reason.
        predicted, velocities: (N, 3) at its frames.
        impacts: in their order, impulses by mass [m/s].
        friction_bound: mu is at least that, where it is not identifiable; None where it is.
        mass_identifiable: whether the mass was estimated and a known force shows it.
        program: the solution of the program; None if the search was interrupted before it.
        shooting: residuals, with the noise that was estimated.
    """

    drop: Drop
    theta: Vector
    posterior: MixturePosterior
    noise_given: bool
    chi_square: float
    iterations: int
    status: Status
    findings: tuple[Finding, ...]
    predicted: Float[np.ndarray, "N 3"]
    velocities: Float[np.ndarray, "N 3"]
    impacts: ImpactEvents
    friction_bound: float | None
    mass_identifiable: bool
    program: ProgramFit | None
    shooting: Shooting

    @property
    def distrust(self) -> tuple[str, ...]:
        """Sentences of the findings."""
        return tuple(each.message for each in self.findings)

    @property
    def covariance(self) -> Matrix:
        """(p, p) of the posterior about theta."""
        return self.posterior.covariance

    @property
    def noise(self) -> Vector:
        """(3,) standard deviations of the tracker [m], [m], [rad]."""
        return self.shooting.noise

    @property
    def inertia_to_mass(self) -> float:
        """J/m [m^2]."""
        return float(np.exp(self.theta[INERTIA]))

    @property
    def inertia_std(self) -> float:
        """Of J/m [m^2]."""
        return self.inertia_to_mass * float(np.sqrt(self.covariance[INERTIA, INERTIA]))

    @property
    def inertia_interval(self) -> tuple[float, float]:
        """95 % interval of J/m [m^2]."""
        low, high = self.posterior.interval(INERTIA)
        return float(np.exp(low)), float(np.exp(high))

    @property
    def friction(self) -> float:
        return float(self.theta[FRICTION])

    @property
    def friction_identifiable(self) -> bool:
        """Whether some contact slid."""
        return self.friction_bound is None

    @property
    def restitution(self) -> float:
        return float(self.theta[RESTITUTION])

    @property
    def mass(self) -> float | None:
        """Given or identified [kg]; None where it is neither."""
        if self.mass_sought and not self.mass_identifiable:
            return None
        return self.shooting.mass_of(self.theta)

    @property
    def mass_sought(self) -> bool:
        """Whether a force was given, and no mass."""
        return self.shooting.mass_is_estimated

    @property
    def shares(self) -> Vector:
        """(E,) part of the information on J/m in the frames from each impact to the next, and after the last.

        An impact shows J/m by what comes after it: the spin, and how the body lands or rolls then. Contacts struck at
        the same instant share it evenly.
        """
        J = normalized_jacobian(self.shooting, self.theta).reshape(len(self.drop.times), 3, -1)
        # information of the first n frames, prior included: variance of log J/m after each, in parts of the prior's
        normal = np.eye(len(self.theta)) + np.cumsum(np.einsum("nki,nkj->nij", J, J), axis=0)
        known = np.concatenate([[0.0], 1 / np.linalg.inv(normal)[:, INERTIA, INERTIA] - 1])
        instants, which, counts = np.unique(self.impacts.times, return_inverse=True, return_counts=True)
        ends = np.searchsorted(self.drop.times, [*instants[1:], np.inf])
        gained = np.diff([0.0, *known[ends]])
        return np.asarray((gained / max(known[-1], np.finfo(float).tiny) / counts)[which])

    def motion(self, times: Vector) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3"]]:
        """Poses and velocities at rising times (T,), of which the first is the first frame's [s]."""
        # frames are times of it too: forces are constant from one to the next
        clock = np.union1d(times, self.drop.times)
        forces = self.shooting.forces_by_mass(self.theta)
        if forces is not None:
            held = np.searchsorted(self.drop.times, clock[:-1], side="right") - 1
            forces = forces[np.minimum(held, len(forces) - 1)]
        body, start = self.shooting.body(self.theta), (self.theta[:3], self.theta[3:6])
        poses, velocities, _ = moved(body, self.shooting.walls, *start, clock, forces=forces)
        wanted = np.searchsorted(clock, times)
        return poses[wanted], velocities[wanted]
