"""The initial guess of coordinates in loops: they follow from those that are read, as the loops stay closed.

Newton's iteration on the gaps finds the coordinates that nothing reads at a sample from those at the sample before, so
that a loop keeps the way in which it is assembled. The first sample is reached in short steps from the reference, in
which all loops are closed. Where readings do not determine them, coordinates move as little as possible.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from ...arrays import Bool, Float, Matrix, Vector
from ...models.maximal import Model
from ...models.maximal.expressions import column, symbols, traced
from ...models.maximal.reduced import (
    configuration_changes,
    configurations,
    gaps,
    in_loops,
    moved,
    rotation_vectors,
)

ITERATIONS, CLOSED = 20, 1e-10
"""Most iterations of a sample, and the gap at which they end [m], [-]."""
REACH = 0.05
"""Largest change of a read coordinate in a step from the reference [rad], [m]."""
Closing = Callable[[Vector, Vector, Vector], tuple[Vector, Matrix, Vector]]
"""Function of a configuration, a change of coordinates and theta, see `_closing`."""


def closed(
    model: Model, theta: Vector, y: Float[np.ndarray, "N n"], read: Bool[np.ndarray, "n"], steps: Vector
) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N n"]]:
    """Coordinates (N, n), and their rates, in which loops are closed, from those that are read.

    Args:
        y: coordinates; those of loops that are not `read` do not count. steps: (N - 1,) time steps [s].
    """
    structure, given = model.structure, configurations(model.structure, y)
    free = np.logical_or.reduce(in_loops(structure)) & ~read
    places, closing = structure.places[~free], _closing(model)
    q = configurations(structure, _reference(model))[0]
    away = np.abs(given[0, places] - q[places]).max(initial=0.0)
    parts = np.linspace(0, 1, int(away / REACH) + 2)[1:-1]
    path = [q[places] + part * (given[0, places] - q[places]) for part in parts]
    found = np.empty_like(given)
    for k, row in enumerate([*path, *given[:, places]], -len(path)):
        q[places] = row
        for _ in range(ITERATIONS):
            gap, J, _ = closing(q, np.zeros(len(free)), theta)
            if np.abs(gap).max() < CLOSED:
                break
            d = np.zeros(len(free))
            d[free] = np.linalg.lstsq(J[:, free], -gap, rcond=1e-9)[0]
            q = closing(q, d, theta)[2]
        if k >= 0:
            found[k] = q
    changes = configuration_changes(structure, found[1:], found[:-1]) / steps[:, None]
    rates = np.concatenate([changes[:1], (changes[1:] + changes[:-1]) / 2, changes[-1:]])
    return rotation_vectors(structure, found), rates


@lru_cache(maxsize=16)
def _closing(model: Model) -> Closing:
    """Gaps of loops, their derivative by changes d of the coordinates at 0, and a configuration after d."""
    structure = model.structure
    n, m = len(structure.places), len(configurations(structure, _reference(model))[0])
    q, d, theta = (symbols(name, count) for name, count in (("q", m), ("d", n), ("t", len(model.free))))

    def after(q: Any, d: Any, theta: Any) -> tuple[Any, Any]:
        end = moved(structure, q, d)
        return gaps(structure, model.values(theta), end), end

    gap, end = (column(part) for part in traced(after, q, d, theta))
    inputs = [column(part) for part in (q, d, theta)]
    function = ca.Function("closing", inputs, [gap, ca.densify(ca.jacobian(gap, inputs[1])), end])

    def numbers(q: Vector, d: Vector, theta: Vector) -> tuple[Vector, Matrix, Vector]:
        gap, J, end = (np.asarray(part.full()) for part in function(q, d, theta))
        return gap[:, 0], J, end[:, 0]

    return numbers


def _reference(model: Model) -> Float[np.ndarray, "1 n"]:
    """Coordinates in the reference configuration."""
    return np.zeros((1, len(model.structure.places)))
