"""Which of m, J and impulses the impacts of a motion determine (Gabiccini et al., Sect. 5.2).

Each impact gives three equations in the mass, the inertia and its two impulses,

    [ dv_x   0        -n_x    -t_x   ]  (m, J, c_n, c_t)^T = 0                                            (28)
    [ dv_y   0        -n_y    -t_y   ]
    [ 0      d omega  -rho_n  -rho_t ]

all together A w = 0 (29). Eliminating the two impulses leaves one row in (m, J) of each impact,
cross(GQ, dv) m - d omega J = 0, which determines J/m (31). Contacts that are struck at the same instant share their
three equations, so two of them leave no row. (m, J) is determined in the directions in which the null space of A does
not move it; A w = 0 can only determine ratios. With a known force f between impacts, or a moment, and dv the change of
the velocity by it,

    dv_x m = int f_x dt        dv_y m = int f_y dt        d omega J = int tau dt

whose right-hand side is not 0: with one of them m and J are determined separately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...models.planar.events import ImpactEvents

TURNED = 1e-9
"""Least singular value that counts for the rank, relative to the largest."""
MOVED = 1e-6
"""Least component of m or J in a direction of the null space that moves them."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """What the impacts of a motion determine of m and J.

    Args:
        rows: (E, 2) of (m, J) once impulses are eliminated [m/s m], [rad/s]; 0 where several were struck at once.
        rank: of A, with the rows of known forces if there are any, and its columns, 2 + 2 E.
        free: in how many directions its null space moves m and J. 1: they scale together, and in no other way; 0: a
            known force determines them by themselves.
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
        pushes: changes of the velocity by known forces in each flight (`pushed`); None: no forces.
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


def pushed(
    times: Vector, accelerations: Float[np.ndarray, "K 3"], impacts: Vector
) -> Float[np.ndarray, "F 3"]:
    """(E + 1, 3) changes of velocity between impacts, by accelerations held from one of times (N,) to the next."""
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(accelerations * np.diff(times)[:, None], axis=0)])
    ends = np.concatenate([times[:1], impacts, times[-1:]])
    return np.diff(np.column_stack([np.interp(ends, times, sums[:, k]) for k in range(3)]), axis=0)
