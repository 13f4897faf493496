"""Cross products of a regression for each block of motion, for a block bootstrap.

    M_j = sum over blocks of [W_j h_j y_j]^T [W_j h_j y_j]       of each degree of freedom j

y is the measured effort, h the part of it due to held parameters, W the regressor's columns times R^-1, with R their
triangular factor: then W^T W of all rows together is near 1, and normal equations lose no digits.

Model errors (friction beyond Coulomb's law, elasticity) depend on the motion, and repeat when it is repeated. So
recordings of one motion, with a load and without, are resampled together: common errors cancel in the load, and do not
average out in the robot. A block is twice as long as residuals are correlated (Politis 2003), so that its ends break
few correlations (Kuensch 1989).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ....arrays import Indices, JointSamples, Matrix
from ....exceptions import NotIdentifiable
from ....regression.inverse_dynamics import InverseDynamics
from ....regression.system import System
from ....statistics import autocorrelation, correlation_length, taper_allowance

SAME_MOTION = 0.1
"""Recordings are of one motion if positions differ, row by row, by less than this part of it (rms)."""

FEWEST_BLOCKS, MOST_BLOCKS = 12, 240
"""Least number of blocks of a motion, and largest of all: too few scatter by chance, more add no information."""

MOST_NUMBERS = 2**25
"""Largest number of values in all blocks, or in some draws (256 MiB)."""

DRAWS_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Moments:
    """M of each block.

    Args:
        blocks: (B, n, k + 2, k + 2), columns W, h, y.
        motions: (B,) index of the motion of each block.
        block_s: length of a block [s].
        stretch: largest length of a block relative to its motion.
    """

    blocks: np.ndarray
    motions: Indices
    block_s: float
    stretch: float

    @property
    def widening(self) -> float:
        """Factor by which intervals from few blocks must be wider (Kiefer and Vogelsang 2005)."""
        return float(np.sqrt(taper_allowance(self.stretch)))

    def resampled(self, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """M of bootstrap samples: the blocks of each motion drawn with replacement."""
        B, *shape = self.blocks.shape
        flat = self.blocks.reshape(B, -1)
        at_once = min(DRAWS_AT_ONCE, max(MOST_NUMBERS // flat.shape[1], 1))
        for first in range(0, draws, at_once):
            counts = np.zeros((min(at_once, draws - first), B))
            for motion in np.unique(self.motions):
                own = np.flatnonzero(self.motions == motion)
                # a sum over drawn blocks needs only the number of times that each is drawn
                counts[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), len(counts))
            yield from (counts @ flat).reshape(-1, *shape)


def whitening(system: System) -> Matrix:
    """(k, k) R of the estimated columns, with each degree of freedom's rows in units of its efforts."""
    efforts = np.sqrt(system.residual_squares(np.zeros(system.size)))
    # a joint with only zeros has no size of its own
    return system.curvature(1 / np.where(efforts > 0, efforts, efforts.max()))


def total_moments(problem: InverseDynamics, columns: Indices, R: Matrix) -> np.ndarray:
    """(n, k + 2, k + 2) M of all rows, with R (k, k) and the k base columns that are estimated."""
    return _folded(problem, columns, R, [(np.array([], dtype=int), 0)] * len(problem.parts), 1)[0]


def moments(
    problem: InverseDynamics,
    columns: Indices,
    R: Matrix,
    residuals: JointSamples,
    block_s: float | None = None,
) -> Moments:
    """M block by block.

    Args:
        columns: the k base columns that are estimated. R: (k, k).
        residuals: (N, n) residuals of the fit, whose correlation length determines the length of a block.
        block_s: length of a block in place of that [s].
    """
    motions = same_motions(problem)
    lengths = [min(problem.row_counts[part] for part in parts) for parts in motions]
    factors = [1 if (D := part.signals.decimation) is None else D.factor for part in problem.parts]
    # from row to row, where they are longest
    interval_s = max(
        factor / part.signals.rate_hz for factor, part in zip(factors, problem.parts, strict=True)
    )
    if block_s is None:
        # correlation length of residuals in rows, the largest over joints and recordings
        recordings = np.split(residuals, np.cumsum(problem.row_counts)[:-1])
        rows_of = ((row, len(e)) for e in recordings for row in autocorrelation(e, max(len(e) // 8, 1)))
        length = 2 * max(1, *(correlation_length(*row) for row in rows_of))
    else:
        length = round(block_s / interval_s)
    most = min(MOST_BLOCKS, MOST_NUMBERS // (problem.robot.model.nv * (len(columns) + 2) ** 2))
    # rounded up: longer blocks are better than more blocks than fit into memory
    length = max(length, 1, -(-sum(lengths) // max(most, 1)))
    cuts: list[tuple[np.ndarray, int]] = [(np.array([], dtype=int), 0)] * len(problem.parts)
    owners: list[int] = []
    for motion, (parts, rows) in enumerate(zip(motions, lengths, strict=True)):
        count = max(rows // length, FEWEST_BLOCKS)
        if rows < 2 * count:
            raise NotIdentifiable(
                f"{rows} rows of one recording are too few for standard deviations: record longer, or decimate "
                "less"
            )
        for part in parts:
            # the same edges in all recordings of one motion, so that block k is the same part of it in each
            cuts[part] = np.linspace(0, rows, count + 1).astype(int)[1:-1], len(owners)
        owners += count * [motion]
    blocks = _folded(problem, columns, R, cuts, len(owners))
    counts = np.bincount(owners)
    block_rows = max(rows / count for rows, count in zip(lengths, counts, strict=True))
    return Moments(blocks, np.array(owners), float(block_rows * interval_s), float(1 / counts.min()))


def same_motions(problem: InverseDynamics) -> list[list[int]]:
    """Indices of the recordings, grouped by motion."""
    positions = [part.signals.q[part.kept] for part in problem.parts]
    motions: dict[int, list[int]] = {}
    for part, q in enumerate(positions):
        first = next((known for known in motions if _alike(positions[known], q)), part)
        motions.setdefault(first, []).append(part)
    return list(motions.values())


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    shorter = min(len(a), len(b))
    # a recording with less than half of a motion is not a repetition of it
    if 2 * shorter < max(len(a), len(b)):
        return False
    a, b = a[:shorter], b[:shorter]
    # relative to the range of the motion, not to its position
    return bool(np.linalg.norm(a - b) < SAME_MOTION * np.linalg.norm(a - a.mean(axis=0)))


def _folded(
    problem: InverseDynamics, columns: Indices, R: Matrix, cuts: Sequence[tuple[np.ndarray, int]], count: int
) -> np.ndarray:
    """(count, n, k + 2, k + 2); of each part the rows where blocks begin, but its first, and the number of that."""
    size = len(columns) + 2
    blocks = np.zeros((count, problem.robot.model.nv, size, size))
    for rows in problem.rows():
        W = rows.W[:, :, columns]
        white = linalg.solve_triangular(R, W.reshape(-1, len(columns)).T, trans="T", check_finite=False).T
        # `rows.y` is without the effort of held parameters: add it to get the measured effort y
        known = rows.held[:, :, None]
        Z = np.concatenate([white.reshape(W.shape), known, rows.y[:, :, None] + known], axis=2)
        edges, first = cuts[rows.part]
        # rows come in chunks that are independent of blocks: a chunk may end within a block
        number = np.searchsorted(edges, rows.first + np.arange(len(Z)), side="right")
        for block in np.unique(number):
            z = Z[number == block].transpose(1, 0, 2)
            blocks[first + block] += z.transpose(0, 2, 1) @ z
    return blocks
