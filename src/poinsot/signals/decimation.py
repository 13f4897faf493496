"""Zero-phase Chebyshev filter and down-sampling as one block-linear map (Brunot et al. 2017, steps 3 and 4).

Filtering forwards, then backwards, then keeping every M-th sample is linear, so only the kept samples need to be
computed. With the filter in modal form (z: forward state, w: backward state, both of the filter's order),

    forwards    y_k = C z_k + D u_k     z_{k+1} = A z_k + B u_k
    backwards   x_k = C w_k + D y_k     w_{k-1} = A w_k + B y_k

a block of M inputs u, whose last sample e is the kept one, acts only through

    z at the next block   z+  = A^M z + G u                     G = [A^{M-1} B ... A B  B]
    y at the kept sample  y_e = C A^{M-1} z + r u               r = [C A^{M-2} B ... C B  D]
    its addition to w     g   = P z + Q u  (= sum_j A^j B y_j)  w at the previous kept sample = A^M w + g

so [G; Q; r] u is one small matrix product, and the recursions run over blocks instead of samples. With poles
close to 1 a direct form is inaccurate (order 8 at a factor of 200 has no correct digit: MATLAB's `decimate` lowers the
order until its response is right); the modal form is accurate at any factor.

The backward recursion may start from rest a few blocks later than needed: the error has decayed below rounding.
Hence rows are available while the recording is still being read, and memory does not grow with its length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..exceptions import InvalidMethod, InvalidSignals
from ..kernels import njit
from .low_pass import LowPass, check_below_nyquist

RIPPLE_DB = 0.05
PASSBAND = 0.8
"""MATLAB's `decimate`: Chebyshev I, 0.05 dB of ripple up to 0.8 of the new Nyquist frequency."""

# Below the rounding of doubles, with a margin of a hundred for amplification by the states.
FORGOTTEN = 1e-18
# 1 % of a transient in a row is negligible beside residuals of some percent.
SETTLED = 1e-2


@dataclass(frozen=True)
class Decimation:
    """Low-pass filter forwards and backwards, then keep the last sample of each block of `factor`.

    Args:
        factor: M, samples a block; the first block may be shorter, as in MATLAB.
        order: order of the Chebyshev filter (in each direction).
        cut_edges: drop the rows within the transients at both ends (impulse response above 1 %).

    Raises InvalidMethod if the factor is not at least 2 or the order not at least 1.
    """

    factor: int
    order: int = 8
    cut_edges: bool = True

    def __post_init__(self) -> None:
        if self.factor < 2 or self.order < 1:
            raise InvalidMethod(
                "decimation needs a factor of at least 2 and an order of at least 1, "
                f"not {self.factor} and {self.order}"
            )

    @classmethod
    def to_passband(cls, passband_hz: float, rate_hz: float, **settings: Any) -> Decimation | None:
        """Return the decimation whose pass-band ends at `passband_hz`; None if its factor would be 1.

        Raises InvalidMethod if the pass-band is not below the Nyquist frequency.
        """
        check_below_nyquist("decimate_hz", passband_hz, rate_hz)
        # rounded down, so that the pass-band is at least as wide; 1e-9 keeps factors that are integers but for rounding
        factor = int(PASSBAND * rate_hz / 2 / passband_hz * (1 + 1e-9))
        return cls(factor, **settings) if factor >= 2 else None

    def rows(self, samples: int) -> int:
        """Number of rows from `samples` samples, edges cut."""
        return max(-(-samples // self.factor) - 2 * self.edge_rows, 0)

    @cached_property
    def edge_rows(self) -> int:
        """Number of rows cut at either end."""
        return self._blocks_until(SETTLED) if self.cut_edges else 0

    @cached_property
    def memory_rows(self) -> int:
        """Number of blocks after which the effect of the backward filter's initial state is below rounding."""
        return self._blocks_until(FORGOTTEN)

    @property
    def padding(self) -> int:
        """Number of samples of odd reflection at either end, as in MATLAB's `filtfilt`."""
        return 3 * self.order

    def kept_indices(self, samples: int) -> np.ndarray:
        """Indices of the kept samples: the last of each block, the last block ending with the recording."""
        indices = np.arange((samples - 1) % self.factor, samples, self.factor)
        return indices[self.edge_rows : len(indices) - self.edge_rows]

    def spans(self, samples: int, chunk: int) -> Iterator[tuple[int, int]]:
        """Split a recording at block boundaries into pieces of about `chunk` samples.

        Raises InvalidSignals if the recording is too short for the filter.
        """
        if self.rows(samples) < 1 or samples <= self.padding:
            needed = max((2 * self.edge_rows + 1) * self.factor, self.padding + 1)
            raise InvalidSignals(
                f"{samples} samples are too few to decimate by {self.factor} with a filter of order {self.order}: "
                f"at least {needed} are needed; decimate less or record longer"
            )
        first_block = (samples - 1) % self.factor + 1
        step = max(chunk // self.factor, 1) * self.factor
        # the first and the last piece must each hold the samples that are reflected at their end
        edges = [e for e in range(first_block, samples, step) if self.padding < e < samples - self.padding]
        return zip([0, *edges], [*edges, samples], strict=True)

    def apply(self, pieces: Iterable[np.ndarray], samples: int) -> Iterator[tuple[int, np.ndarray]]:
        """Decimate columns given in pieces.

        Args:
            pieces: (size, K) arrays, split by `spans`.
            samples: number of samples of the whole recording.

        Yields:
            (index of the first row, (rows, K)), in total `rows(samples)` rows.
        """
        queue = _BackwardQueue(self, self.rows(samples))
        state, done = np.empty(0), 0
        for piece in pieces:
            short = 0
            if done == 0:
                short = (samples - 1) % self.factor + 1
                # start in steady state at the first value of the odd reflection, then run through it; odd: value and
                # slope are continuous at the end, so that a filter in steady state is nearly settled
                prefix = 2 * piece[0] - piece[self.padding : 0 : -1]
                state, _ = self._run(np.outer(self._steady, prefix[0]), prefix)
            for blocks in (piece[None, :short], piece[short:].reshape(-1, self.factor, piece.shape[1])):
                if blocks.size:
                    state = self._forward(state, blocks, queue)
            done += len(piece)
            if done < samples:
                yield from queue.pop()
            else:
                # backwards from the odd reflection behind the last sample
                _, y = self._run(state, 2 * piece[-1] - piece[-2 : -self.padding - 2 : -1])
                yield from queue.finish(self._run(np.outer(self._steady, y[-1]), y[::-1])[0])
        assert done == samples, "pieces do not cover the recording"

    def __call__(self, u: np.ndarray) -> np.ndarray:
        """Decimate whole columns, (T, K) -> (rows, K)."""
        pieces = (u[first:last] for first, last in self.spans(len(u), len(u)))
        return np.concatenate([rows for _, rows in self.apply(pieces, len(u))])

    @cached_property
    def _low_pass(self) -> LowPass:
        return LowPass.chebyshev(self.order, RIPPLE_DB, PASSBAND / self.factor)

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """A, B, C, D of the filter, one real 2 x 2 block a pair of poles."""
        low_pass = self._low_pass
        poles = low_pass.poles
        order = self.order
        A, B, C = np.zeros((order, order)), np.zeros(order), np.zeros(order)
        row = 0
        for i, pole in enumerate(poles):
            if pole.imag < 0:
                continue
            others = np.delete(poles, i)
            # partial fractions need distinct poles, which a Chebyshev filter has; its zeros lie at -1
            residue = low_pass.gain * (pole + 1) ** order / np.prod(pole - others)
            B[row] = 1.0
            if pole.imag == 0:
                A[row, row], C[row] = pole.real, residue.real
                row += 1
            else:
                A[row : row + 2, row : row + 2] = [[pole.real, -pole.imag], [pole.imag, pole.real]]
                C[row : row + 2] = 2 * residue.real, -2 * residue.imag
                row += 2
        return A, B, C, low_pass.gain

    def _blocks_until(self, size: float) -> int:
        return math.ceil(self._low_pass.samples_until(size) / self.factor)

    @cached_property
    def _steady(self) -> np.ndarray:
        """Steady state of the filter under a constant input of 1."""
        A, B, _, _ = self._modes
        return np.linalg.solve(np.eye(self.order) - A, B)

    def _forward(self, z: np.ndarray, blocks: np.ndarray, queue: _BackwardQueue) -> np.ndarray:
        """Run over (count, M, K) blocks: the state after them; g (count, order, K), y_e (count, K) go to the queue."""
        M, order = blocks.shape[1], self.order
        A_M, C_e, P, W = _block_maps(self, M)
        weighted = np.matmul(W, blocks)
        starts, z = _recurrence(A_M, z, weighted[:, :order].copy())
        queue.g.append(weighted[:, order : 2 * order] + P @ starts)
        queue.y.append(weighted[:, -1] + C_e @ starts)
        return z

    def _run(self, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """State after inputs u (T, K), processed sample by sample, and the outputs."""
        A, B, C, D = self._modes
        inputs = np.multiply(B[:, None], u[:, None], order="C")  # in one layout, compiled once
        before, z = _recurrence(A, z, inputs)
        return z, C @ before + D * u


@lru_cache(maxsize=64)
def _block_maps(decimation: Decimation, M: int) -> tuple[np.ndarray, ...]:
    """A^M, C A^{M-1}, P and [G; Q; r] of a block of M samples (see the top of this file)."""
    A, B, C, D = decimation._modes
    powers_B = np.empty((M, decimation.order))  # A^j B
    C_powers = np.empty((M, decimation.order))  # C A^j
    power = np.eye(decimation.order)
    for j in range(M):
        powers_B[j], C_powers[j] = power @ B, C @ power
        power = A @ power
    response = np.concatenate([[D], C_powers[:-1] @ B])  # of y to an impulse in u
    P = powers_B.T @ C_powers
    Q = np.stack([powers_B[j:].T @ response[: M - j] for j in range(M)], axis=1)
    W = np.concatenate([powers_B[::-1].T, Q, response[None, ::-1]])
    return power, C_powers[-1], P, W


def _recurrence(A: np.ndarray, z: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z <- A z + inputs[i]: before each i (N, order, K), and after the last; A is modal."""
    before, after = np.empty_like(inputs), z.copy()
    _recur(A, after, inputs, before)
    return before, after


@njit(cache=True)
def _recur(A: np.ndarray, z: np.ndarray, inputs: np.ndarray, before: np.ndarray) -> None:
    order, columns = z.shape
    for i in range(len(inputs)):
        for a in range(order):
            for k in range(columns):
                before[i, a, k], z[a, k] = z[a, k], inputs[i, a, k]
        for a in range(order):
            # zero outside blocks of 2 x 2
            for b in range(max(a - 1, 0), min(a + 2, order)):
                for k in range(columns):
                    z[a, k] += A[a, b] * before[i, b, k]


class _BackwardQueue:
    """Queue of blocks for the backward filter, released as soon as enough later samples are known."""

    def __init__(self, decimation: Decimation, rows: int):
        self.decimation = decimation
        self.rows = rows
        self.first = -decimation.edge_rows  # row of the first block in the queue; below 0 in the transient
        self.g: list[np.ndarray] = []
        self.y: list[np.ndarray] = []

    def pop(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield rows with enough later samples, once there are enough of them to justify the overlap."""
        waiting = sum(map(len, self.g))
        # each release filters the overlap again: three times its length bounds this extra cost by a half
        if waiting >= 3 * self.decimation.memory_rows + 1:
            yield from self._run(np.zeros_like(self.g[0][0]), waiting - self.decimation.memory_rows)

    def finish(self, w: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield all remaining rows, from the true state at the end of the recording."""
        yield from self._run(w, sum(map(len, self.g)))

    def _run(self, w: np.ndarray, count: int) -> Iterator[tuple[int, np.ndarray]]:
        g, y = np.concatenate(self.g), np.concatenate(self.y)
        _, _, C, D = self.decimation._modes
        before, _ = _recurrence(_block_maps(self.decimation, self.decimation.factor)[0], w, g[::-1].copy())
        x = C @ before[::-1][:count] + D * y[:count]
        first, self.first = self.first, self.first + count
        self.g, self.y = [g[count:]], [y[count:]]
        # rows in the transients are computed, since others need their states, and dropped
        x = x[max(-first, 0) : max(self.rows - first, 0)]
        if len(x):
            yield max(first, 0), x
