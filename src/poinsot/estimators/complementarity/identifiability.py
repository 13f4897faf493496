"""Which of m, J and impulses the impacts of a motion determine (seed 003, Sect. 5.2).

Each impact gives three equations in the mass, the inertia and its two impulses,

    [ dv_x   0        -n_x    -t_x   ]  (m, J, c_n, c_t)^T = 0                                            (28)
    [ dv_y   0        -n_y    -t_y   ]
    [ 0      d omega  -rho_n  -rho_t ]

all together A w = 0 (29). Impulses are two unknowns of three equations, so what is left of each impact is one row in
(m, J): cross(GQ, dv) m - d omega J = 0. Stacked, rank 1 says the ratio J/m alone; rank 2 that impacts contradict each
other; rank 0 that nothing turned. All that A w = 0 can say are ratios. A known force f between impacts, or a moment,
says more: with dv what it changed the velocity by, there

    dv_x m = int f_x dt        dv_y m = int f_y dt        d omega J = int tau dt

whose right-hand side is not 0, and with one of them m and J are determined separately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...models.planar.events import Impacts

TURNED = 1e-9
"""Of the largest singular value: what is rank."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Of the impacts of a motion.

    Args:
        rows: (E, 2) of (m, J) once impulses are eliminated [m/s m], [rad/s].
        rank: of A, with the rows of known forces if there are any, and its columns, 2 + 2 E.
        shares: (E,) part of each in what is known of J/m, by (d omega)^2.
    """

    rows: Float[np.ndarray, "E 2"]
    rank: int
    columns: int
    shares: Vector

    @property
    def only_ratios(self) -> bool:
        """Whether A has a null space of one dimension, along which all scales together."""
        return self.rank == self.columns - 1

    @property
    def all_determined(self) -> bool:
        """Whether a known force leaves no null space."""
        return self.rank == self.columns


def consistency(
    impacts: Impacts,
    normals: Float[np.ndarray, "E 3"],
    tangents: Float[np.ndarray, "E 3"],
    pushes: Float[np.ndarray, "F 3"] | None = None,
) -> Consistency:
    """
    Args:
        impacts: of a motion. normals, tangents: N and T of each.
        pushes: what known forces changed the velocity by in each flight (`pushed`); None: there are none.
    """
    jump = impacts.after - impacts.before
    levers = tangents[:, 2], normals[:, 2]
    along = (
        np.einsum("ei,ei->e", jump[:, :2], tangents[:, :2]),
        np.einsum("ei,ei->e", jump[:, :2], normals[:, :2]),
    )
    rows = np.column_stack([levers[0] * along[0] + levers[1] * along[1], -jump[:, 2]])
    E = len(rows)
    A = np.zeros((3 * E, 2 + 2 * E))
    for e in range(E):
        A[3 * e : 3 * e + 2, 0], A[3 * e + 2, 1] = jump[e, :2], jump[e, 2]
        A[3 * e : 3 * e + 3, 2 + 2 * e], A[3 * e : 3 * e + 3, 3 + 2 * e] = -normals[e], -tangents[e]
    if pushes is not None:
        flown = np.zeros((3 * len(pushes), A.shape[1]))
        flown[0::3, 0], flown[1::3, 0], flown[2::3, 1] = pushes.T
        A = np.concatenate([A, flown])
    size = np.linalg.norm(A, axis=0)
    s = np.linalg.svd(A / np.where(size > 0, size, 1.0), compute_uv=False)
    turned = jump[:, 2] ** 2
    return Consistency(
        rows,
        int(np.sum(s > TURNED * s[0])),
        2 + 2 * E,
        turned / turned.sum() if turned.any() else np.zeros(E),
    )


def pushed(
    times: Vector, accelerations: Float[np.ndarray, "K 3"], impacts: Vector
) -> Float[np.ndarray, "F 3"]:
    """(E + 1, 3) changes of velocity between impacts, by accelerations held from one of times (N,) to the next."""
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(accelerations * np.diff(times)[:, None], axis=0)])
    ends = np.concatenate([times[:1], impacts, times[-1:]])
    return np.diff(np.column_stack([np.interp(ends, times, sums[:, k]) for k in range(3)]), axis=0)
