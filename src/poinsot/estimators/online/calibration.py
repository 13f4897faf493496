"""Efforts that the model does not explain, before a filter runs: a constant bias (seed 004, Sect. IV-B).

Other links are never quite as described (cables, covers), and what they lack enters the filter as if it were the open
links'. Over a window in which the open links are as described, it is estimated as constant,

    bias = mean of tau - tau_nom - Y pi

and from then on taken off. Within the state it cannot be told from the parameters: what moves Y pi by the same effort
at every sample looks like a bias. `confounded` names those combinations for a motion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...arrays import Vector
from ...estimate import Direction
from ...exceptions import NotIdentifiable
from ...models.link_torques import LinkTorques
from ...parameters import columns_of
from ...regression.base_parameters import combination
from .belief import Sample

ALIKE = 1e-8
"""Singular values below this part of the largest are combinations that the motion does not tell apart."""


ROUNDING = 1e-12
"""A column smaller than this part of the largest is rounding of one that is zero."""


@dataclass(frozen=True, eq=False)
class Bias:
    """A constant effort.

    Args:
        value: (n,). std: (n,) of a sample about it, by which to choose a filter's noise. samples: how many there were.
    """

    value: Vector
    std: Vector
    samples: int


def calibrate_bias(torques: LinkTorques, samples: Iterable[Sample], pi: np.ndarray | None = None) -> Bias:
    """The constant effort that is left over a window.

    Args:
        torques: the robot with its open bodies.
        samples: of the window; those that are not finite are left out.
        pi: (k, 10) what the open bodies are during it; None: the description's.

    Raises:
        NotIdentifiable: if fewer than two samples are finite.
    """
    pi = torques.described if pi is None else pi
    left = []
    for each in samples:
        Y, tau = torques(each.q, each.v, each.a, each.wrenches)
        left.append(each.tau - tau - Y @ np.ravel(pi))
    rows = np.array(left)
    rows = rows[np.isfinite(rows).all(axis=1)] if len(rows) else rows
    if len(rows) < 2:
        raise NotIdentifiable(f"a bias needs two finite samples at least; the window has {len(rows)}")
    return Bias(rows.mean(axis=0), rows.std(axis=0, ddof=1), len(rows))


def confounded(torques: LinkTorques, samples: Iterable[Sample]) -> tuple[Direction, ...]:
    """Combinations of the open links' parameters and a constant bias that a motion does not tell apart.

    They are the null space of the stacked [Y_k 1]: with the bias in the state, the observability matrix of these
    samples lacks that many of its ranks (seed 004, Sect. IV-B): of one sample, or at rest, as many as there are
    parameters, and fewer in motion.
    """
    stacked = []
    for each in samples:
        Y, _ = torques(each.q, each.v, each.a, each.wrenches)
        stacked.append(np.hstack([Y, np.eye(len(Y))]))
    rows = np.concatenate(stacked)
    norms = np.linalg.norm(rows, axis=0)
    felt = norms > ROUNDING * norms.max()
    scale = np.where(felt, norms, 1.0)
    null = linalg.null_space(np.linalg.qr(felt * rows / scale)[1], rcond=ALIKE) / scale[:, None]
    names = (
        *columns_of(torques.links),
        *(f"bias.{k}" for k in range(rows.shape[1] - 10 * len(torques.links))),
    )
    return tuple(Direction(combination(direction, names), "unexcited") for direction in _sparse(null).T)


def _sparse(null: np.ndarray) -> np.ndarray:
    """The same space with a 1 for a different coordinate in each column: fewer terms to read."""
    if not null.shape[1]:
        return null
    _, _, order = linalg.qr(null.T, pivoting=True)
    chosen = order[: null.shape[1]]
    return null @ np.linalg.inv(null[chosen])
