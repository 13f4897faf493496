"""Motion of a body with its impulses and the work that they do.

Over a step the kinetic energy changes by (v + v+) / 2 . (G c + h f), so impulses do the work

    W_n = (v + v+)^T N c_n / 2,    W_t = (v + v+)^T T c_t / 2

of which W_t is never above 0 where friction opposes the slip before and after, and W_n = -(1 - epsilon^2) (N^T v)^2 /
2 N^T M^-1 N for one contact without friction, in an instant. An impact with epsilon = 0 never adds energy; one with
epsilon > 0 and friction may (Newton's restitution: the impulse that sends the normal velocity back is larger where
friction turns the body into the wall), and then W_t may be above 0, too: friction that holds a point at which the
normal impulse pulls works along with a slip that was there before.

Gravity does the work -m g h (v + v+)_y / 2, while the potential grows by m g h v+_y. So without other forces energy
changes by

    W_n + W_t + m g h (v+ - v)_y / 2

In a flight of T seconds it falls by m g^2 h T / 2, implicit Euler's drift, which the impulses that end the flight give
back; so it does not grow beyond that of one flight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...arrays import Vector


@dataclass(frozen=True, eq=False)
class Motion:
    """Of one body over T steps, with C contacts: wall by wall, in each part by part of the shape.

    Args:
        times: (T + 1,) [s].
        poses, velocities: (T + 1, 3) of the center of mass [m], [m], [rad] and their rates.
        impulses: (T, C, 2) normal and tangential, of the step that begins there [N s].
        gaps: (T + 1, C) [m].
        normal_work, tangential_work: (T,) of the impulses [J].
        kinetic, potential: (T + 1,) energies; potential is 0 at y = 0 [J].
        unsolved: steps whose complementarity was not solved, so that no impulse acted; 0 unless numbers overflow.
    """

    times: Float[np.ndarray, "T1"]
    poses: Float[np.ndarray, "T1 3"]
    velocities: Float[np.ndarray, "T1 3"]
    impulses: Float[np.ndarray, "T C 2"]
    gaps: Float[np.ndarray, "T1 C"]
    normal_work: Float[np.ndarray, "T"]
    tangential_work: Float[np.ndarray, "T"]
    kinetic: Float[np.ndarray, "T1"]
    potential: Float[np.ndarray, "T1"]
    unsolved: int = 0

    @property
    def energy(self) -> Float[np.ndarray, "T1"]:
        """Kinetic and potential [J]."""
        return self.kinetic + self.potential

    @property
    def struck(self) -> np.ndarray:
        """Places of the steps in which an impulse acted."""
        return np.flatnonzero(self.impulses[:, :, 0].max(axis=1) > 0)

    def at(self, times: Vector) -> Float[np.ndarray, "N 3"]:
        """Poses at other times within, on straight lines between the steps'."""
        return np.column_stack([np.interp(times, self.times, self.poses[:, k]) for k in range(3)])
