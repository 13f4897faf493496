"""The problem that checks examine: decimated, changed by a hypothetical defect, and solved again.

A defect is a change of the problem: signals, robot or drive as they would be without it. Under a change the regression
is solved again, with each joint's residuals at unit variance, and

    L = -1/2 sum over joints of N_j log(|e_j|^2 / |tau_j|^2)      N_j: effective number of rows, of coloured residuals

is its log-likelihood with every joint's noise profiled out. It does not depend on the unit of the torque.

Smoothed motion has no content above its filter's cutoff, so every M-th sample carries all of it; torques are filtered
and thinned by the same factor M. What remains of the decimation follows as in the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from ..arrays import JointSamples, Matrix, Vector
from ..models.robot.joint_terms import is_nonnegative
from ..recording import EFFORTS, Recording
from ..regression.inverse_dynamics import InverseDynamics, Part
from ..regression.system import ReducedRows, inverse, solve_triangular
from ..signals.decimation import Decimation
from ..signals.signals import Signals
from ..statistics import independent_squares, sum_variance
from .description import described_base

SAMPLES_PER_ROW = 12
"""Thinned samples to a row. Motion has 2 to 5 times the bandwidth of the rows. Dry friction changes its sign between
two samples, and each reversal is uncertain by 1 / sqrt(12) of one: 3.5 deg of phase at the end of the pass-band."""

LARGEST_SAMPLES = 8_000
"""Thinned samples of all recordings together: what the checks may cost."""

SHOWN = 1e-5
"""A nuisance of size 1 is unobservable if it changes torque by a smaller part: descriptions round angles to this."""

TAILS = 4.0
"""nu, degrees of freedom of Student's t for disagreement with the description and for impossible signs."""

REWEIGHTINGS = 3

EXACT = 1e-8
"""Residuals below this part of the torque are rounding errors of noise-free data."""


@dataclass(frozen=True, eq=False)
class DenseRows:
    """The rows of a problem.

    Args:
        W: (N, n, b). y: (N, n) torques less those of held parameters. held: (N, n) torques of held parameters.
        gram: (n, b, b) W_j^T W_j; None: computed from W.
    """

    W: np.ndarray
    y: JointSamples
    held: JointSamples
    gram: np.ndarray | None = None

    @classmethod
    def of(cls, problem: InverseDynamics) -> DenseRows:
        rows = list(problem.rows())
        held = [np.broadcast_to(chunk.held, chunk.y.shape) for chunk in rows]
        return cls(*map(np.concatenate, ([chunk.W for chunk in rows], [chunk.y for chunk in rows], held)))

    @cached_property
    def reduced(self) -> ReducedRows:
        """Their products, of which `regression.system` makes the solution for any weights of the joints."""
        N, n, b = self.W.shape
        products = np.empty((n, b + 1, b + 1))
        if self.gram is None:
            products[:, :b, :b] = self.W.transpose(1, 2, 0) @ self.W.transpose(1, 0, 2)
        else:
            products[:, :b, :b] = self.gram
        products[:, :b, b] = products[:, b, :b] = np.einsum("tjb, tj -> jb", self.W, self.y)
        products[:, b, b] = np.sum(self.y**2, axis=0)
        return ReducedRows(products, np.arange(b), np.zeros((0, b + 1)), N * n, products=True)

    def with_torques(self, problem: InverseDynamics) -> DenseRows:
        """The same motion with other torques; products of the regressor are reused."""
        torques = []
        for part in problem.parts:
            tau = part.joint_side(0, len(part))[3]
            decimation = part.signals.decimation
            torques.append(tau if decimation is None else decimation(tau))
        gram = self.reduced.factors[:, :-1, :-1]
        return replace(self, y=np.concatenate(torques) - self.held, gram=gram)

    def some(self, rows: np.ndarray) -> DenseRows:
        """Some of them, by number."""
        return DenseRows(self.W[rows], self.y[rows], self.held[rows])


@dataclass(frozen=True, eq=False)
class Regression:
    """Least squares with each joint's residuals at unit variance.

    Args:
        dense: its rows. theta: (b,) values. R: (b, b) triangular, R^T R = H of the weighted rows.
        sigma: (n,) rms of each joint's residuals. size: (n,) rms of each joint's torque.
    """

    dense: DenseRows
    theta: Vector
    R: Matrix
    sigma: Vector
    size: Vector

    @classmethod
    def of(cls, dense: DenseRows, size: Vector, counts: int | np.ndarray, *more: Any) -> Self:
        """Solve, estimate the spread, weight, and solve again; counts: readings of each joint."""
        rows, sigma = dense.reduced, size
        n, b = len(size), rows.size
        for _ in range(REWEIGHTINGS):
            data = rows.triangular_factor(1 / sigma)
            R, theta = data[:b, :b], solve_triangular(data[:b, :b], data[:b, b])
            mean = rows.residual_squares(theta) / np.maximum(counts - b / n, 1.0)
            sigma = np.maximum(np.sqrt(mean), EXACT * size)
        return cls(dense, theta, R, sigma, size, *more)

    @cached_property
    def covariance(self) -> Matrix:
        """(b, b) for white residuals."""
        return inverse(self.R)

    @property
    def rows(self) -> int:
        """Per joint."""
        return len(self.dense.y)

    @property
    def ratio(self) -> Vector:
        """(n,) residuals relative to torque, joint by joint."""
        return np.maximum(self.sigma / self.size, EXACT)

    @property
    def relative_error(self) -> float:
        """Residuals relative to torque, all joints together."""
        return float(np.linalg.norm(self.sigma) / np.linalg.norm(self.size))

    @cached_property
    def predicted(self) -> JointSamples:
        return cast("JointSamples", self.dense.W @ self.theta)

    @cached_property
    def residuals(self) -> JointSamples:
        return cast("JointSamples", self.dense.y - self.predicted)

    @cached_property
    def effective_rows(self) -> Vector:
        """(n,) number of independent squared residuals."""
        return independent_squares(self.residuals)

    @cached_property
    def whitened_basis(self) -> np.ndarray:
        """(N n, r) orthonormal columns that span W / sigma."""
        W = (self.dense.W / self.sigma[:, None]).reshape(-1, len(self.theta))
        norms = np.linalg.norm(W, axis=0)
        W = W[:, norms > 0] / norms[norms > 0]
        if not W.shape[1]:  # nothing is loaded
            return W
        eigenvalues, V = np.linalg.eigh(W.T @ W)
        kept = eigenvalues > 1e-9 * eigenvalues[-1]
        return cast("np.ndarray", W @ (V[:, kept] / np.sqrt(eigenvalues[kept])))

    @property
    def inflation(self) -> float:
        """Factor on covariances for correlated residuals."""
        return float(np.mean(self.rows / self.effective_rows))

    @property
    def whitened_residuals(self) -> Vector:
        """(N n,) residuals / sigma."""
        return cast("Vector", (self.residuals / self.sigma).reshape(-1))

    def whitened_columns(self, columns: Sequence[JointSamples]) -> tuple[Matrix, Matrix]:
        """(N n, k) columns / sigma, and their part outside the span of W / sigma."""
        C, Q = np.stack([(c / self.sigma).reshape(-1) for c in columns], axis=1), self.whitened_basis
        return C, C - Q @ (Q.T @ C)

    def score(self, column: JointSamples) -> Score:
        """Test whether (N, n) d torque / d nuisance explains residuals, with all parameters free.

        g = column less its part in the span of W, delta = g.e / g.g; its standard deviation allows for correlated
        residuals (Newey and West 1987).
        """
        c = (column / self.sigma).reshape(-1)
        Q = self.whitened_basis
        g = c - Q @ (Q.T @ c)
        g -= Q @ (Q.T @ g)
        e = self.whitened_residuals
        information = float(g @ g)
        y = (self.dense.y / self.sigma).reshape(-1)
        if information <= SHOWN**2 * float(y @ y) or information <= 1e-8 * float(c @ c):
            return Score(0.0, np.inf, 0.0, 0.0)
        s = (g * (e - g * float(g @ e) / information)).reshape(self.dense.y.shape).sum(axis=1)
        delta = float(g @ e) / information
        explained = float(np.sum((delta * g) ** 2) / max(float(e @ e), 1e-300))
        sensitivity = float(np.sqrt(np.max(np.mean(g.reshape(self.dense.y.shape) ** 2, axis=0))))
        return Score(delta, float(np.sqrt(sum_variance(s)) / information), explained, sensitivity)


@dataclass(frozen=True, eq=False)
class Solved(Regression):
    """A changed problem, solved for its base values."""

    problem: InverseDynamics

    @cached_property
    def distance_from_description(self) -> tuple[float, int]:
        """Q = (beta - beta0)^T (S + C)^-1 (beta - beta0), and the number of values in beta."""
        alone, beta0, S = described_base(self.problem)
        if not alone.any():
            return 0.0, 0
        e, M = self.theta[alone] - beta0, S + self.covariance[np.ix_(alone, alone)] * self.inflation
        scale = np.sqrt(np.diag(M)) + 1e-300
        M = M / scale[:, None] / scale + 1e-9 * np.eye(len(e))
        return float((e / scale) @ np.linalg.solve(M, e / scale)), len(e)

    @property
    def disagreement(self) -> float:
        """With the description, (nu + b)/2 log(1 + Q/nu)."""
        Q, count = self.distance_from_description
        return 0.5 * (TAILS + count) * float(np.log1p(Q / TAILS))

    @cached_property
    def impossible(self) -> float:
        """Signs of friction and rotor inertia that no robot has, sum of (nu + 1)/2 log(1 + z^2/nu)."""
        std = np.sqrt(np.diag(self.covariance) * self.inflation) + 1e-300
        nonnegative = np.array([is_nonnegative(kind) for kind in self.problem.base.kinds])
        z = np.maximum(-self.theta / std, 0.0)[nonnegative]
        return 0.5 * (TAILS + 1) * float(np.sum(np.log1p(z**2 / TAILS)))

    def some(self, rows: np.ndarray) -> Solved:
        """The same problem, solved of some of its rows."""
        return solve(self.problem, self.dense.some(rows))


@dataclass(frozen=True)
class Score:
    """A nuisance at its best value to first order.

    Args:
        value: delta. std: standard deviation of delta; infinite where the motion does not determine it.
        explained: part of the squared residuals that the nuisance explains.
        sensitivity: rms that one unit adds to the residuals of the most sensitive joint, relative to these residuals.
    """

    value: float
    std: float
    explained: float
    sensitivity: float

    @property
    def z(self) -> float:
        return self.value / self.std if self.std > 0 else 0.0


def recordings_of(problem: InverseDynamics) -> tuple[Signals, ...]:
    return cast("tuple[Signals, ...]", problem.recordings)


def within(problem: InverseDynamics, number: int, what: str = "") -> str:
    """`Finding.where` for a joint of a recording, or a recording; with several recordings, the number is included."""
    if len(problem.parts) == 1:
        return what
    return f"{what} in recording {number}" if what else f"recording {number}"


def joints_of(problem: InverseDynamics) -> tuple[str, ...]:
    """Names of the joints, in the order of the recorded columns."""
    return recordings_of(problem)[0].joints


def mapped(problem: InverseDynamics, change: Callable[[Signals], Signals]) -> InverseDynamics:
    """The problem with each recording's signals changed."""
    return problem.with_signals([change(signals) for signals in recordings_of(problem)])


def thinned(signals: Signals, share: float = 1.0) -> Signals:
    """Signals at every M-th sample; `share`: largest part of the samples that is kept."""
    decimation = signals.decimation
    least = max(int(np.ceil(1 / share)), 1)
    if decimation is None:
        # dry friction must not change its sign at a single sample
        rest = Decimation(4, order=4, cut_edges=True)
        M = least
    else:
        M = min(max(decimation.factor // SAMPLES_PER_ROW, least), max(decimation.factor // 2, 1))
        rest = replace(decimation, factor=round(decimation.factor / M))
    if M == 1:
        return replace(signals, decimation=rest)
    return replace(
        at_rows(replace(signals, decimation=Decimation(M, order=4, cut_edges=False))), decimation=rest
    )


def at_rows(signals: Signals) -> Signals:
    """Decimated torques, and the motion at their samples."""
    if (decimation := signals.decimation) is None:
        return signals
    kept = decimation.kept_indices(len(signals))
    motion = {name: getattr(signals, name)[kept] for name in ("time", "q", "v", "a")}
    tau = decimation(signals.tau)
    return replace(signals, **motion, tau=tau, q_std=None, v_std=None, a_std=None, decimation=None)


def recorded(part: Part) -> Recording:
    """The recording from which signals were computed; if it was not kept, smoothed positions and the efforts."""
    signals, passive = part.signals, part.robot.drive.without_effort
    if (recording := signals.recording) is not None:
        used = recording.between(float(signals.time[0]), float(signals.time[-1]) + 1 / signals.rate_hz)
        return samples_of(used, passive)
    channels: dict[str, np.ndarray] = {}
    for k, joint in enumerate(signals.joints, start=-len(signals.joints)):  # a floating base comes first
        channels |= {f"position.{joint}": signals.q[:, k], f"{signals.effort}.{joint}": signals.tau[:, k]}
    return samples_of(Recording(signals.time, channels, dict.fromkeys(channels, "1")), passive)


def samples_of(recording: Recording, passive: Sequence[str] = ()) -> Recording:
    """Positions and efforts without those of `passive` joints; invalid samples are linearly interpolated."""
    channels = {}
    for name in recording.channels:
        quantity, _, joint = name.partition(".")
        used = quantity == "position" or (quantity in EFFORTS and joint not in passive)
        if used and recording.mask(name).any():
            channels[name] = recording.filled(name)
    return replace(
        recording,
        channels=channels or {"": recording.time},
        units=dict.fromkeys(channels or [""], "1"),
        valid={},
    )


def solve(problem: InverseDynamics, rows: DenseRows | None = None) -> Solved:
    """Least squares with each joint's residuals at unit variance.

    Products of the rows are accurate enough here: only the size of residuals is used.
    """
    rows = DenseRows.of(problem) if rows is None else rows
    N = len(rows.y)
    size = np.sqrt(np.sum(rows.y**2, axis=0) / N)
    # a passive joint has no torque of its own: its residuals are compared with the others' torques
    size = np.where(size > 0, size, max(float(np.linalg.norm(size)), 1e-300))
    return Solved.of(rows, size, N, problem)
