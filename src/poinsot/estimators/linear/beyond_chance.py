"""Systematic errors of an estimate: its change with filters, within the recording, and between recordings.

Noise of the positions in the band of the rows, and motion that the smoother attenuates, bias least squares. With half
the band of the rows noise of accelerations falls to 1/8 or less, with twice the smoother's cutoff attenuation to 1/256
(order 4): the estimate changes by d, about minus the bias. By chance it does so with variance V, if residuals of
different intervals of time g are independent, and the excess is

    b^2 = sum of d^2 - V, where |d| > t sqrt(V)     V = sum over g of (I_cg - I_g)^2
    I_g = H^-1 sum over the rows of g of W^T w^2 e      with instruments Z: Z^T in place of W^T, H = sum of Z^T w^2 W

The halves of the recording differ by 2 d, d = 2 sum over the first half of I_g, V = sum of I_g^2 about the half's mean.
Where half the band leaves too few rows, twice the band and cutoff take its place.

How parameters differ between recordings is `statistics.predictive_std`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Vector
from ...diagnosis.case import LARGEST_SAMPLES, DenseRows, thinned
from ...diagnosis.parameters import FEWEST_RECORDINGS
from ...exceptions import NotIdentifiable, PoinsotError
from ...regression.inverse_dynamics import InverseDynamics
from ...regression.system import LinearSolution, System
from ...signals.decimation import Decimation
from ...signals.signals import Signals
from ...statistics import predictive_std

GROUPS = 20
"""Number of groups of rows, consecutive in time."""

BEYOND_CHANCE, HALVES_BEYOND_CHANCE = 2.09, 3.92
"""Quantiles of |t| at 95 % with GROUPS - 1, and at 99.9 % with GROUPS - 2 degrees of freedom. By chance halves differ
by as much as the interval states: the first quantile would widen it in one parameter of twenty."""

RESOLVED = 2.0
"""Half the band is not used for a parameter whose change by chance exceeds this part of its standard deviation."""

LONGEST = 1_000_000
"""Samples of all recordings together beyond which the smoother is not run again."""

SINGULAR = 1e-12
"""Eigenvalue of H, of columns of unit norm, below which rows do not determine all parameters."""


def beyond_chance(
    problem: InverseDynamics,
    system: System,
    solution: LinearSolution,
    instruments: InverseDynamics | None = None,
) -> tuple[Vector | None, Vector | None]:
    """(k,) b, and half widths of 95 % intervals for the next recording's parameters over 1.96, in their units.

    None for a robot with a load; the second if fewer than four recordings determine all parameters by themselves.
    `instruments`: problem whose regressor multiplies the residuals, with the same filters; None: their own.
    """
    if problem.attachment is not None:
        return None, None
    filtered = Filtered.cached(problem)
    multiplied = filtered if instruments is None else Filtered.cached(instruments)

    def repeated(rows: TimedRows | None, by: TimedRows | None) -> tuple[Vector, np.ndarray] | None:
        try:
            return None if rows is None or by is None else _influence(*rows, by[1], system, solution)
        except PoinsotError:  # too few rows
            return None

    if (as_is := repeated(filtered.as_is, multiplied.as_is)) is None:
        return None, None
    theta, influence = as_is
    chance = np.sum(influence**2, axis=0)

    def excess(which: str) -> tuple[Vector, Vector]:
        """b^2 and V of the rows of this name."""
        if (found := repeated(getattr(filtered, which), getattr(multiplied, which))) is None:
            return np.zeros_like(theta), np.full_like(theta, np.inf)
        V = np.sum((found[1] - influence) ** 2, axis=0)
        return _excess(found[0] - theta, V, BEYOND_CHANCE), V

    narrow, V = excess("half_band")
    halves = influence.reshape(2, GROUPS // 2, -1)
    about_mean = np.sum((halves - halves.mean(axis=1, keepdims=True)) ** 2, axis=(0, 1))
    b2 = narrow + _excess(2 * halves[0].sum(axis=0), about_mean, HALVES_BEYOND_CHANCE)
    if filtered.wide is not None:
        b2 += excess("wide")[0]
        if (blind := RESOLVED**2 * chance < V).any():
            b2[blind] += excess("wide_twice_band")[0][blind]
    pairs = zip(filtered.alone, multiplied.alone, strict=True)
    alone = [found for rows, by in pairs if (found := repeated(rows, by))]
    if len(alone) < FEWEST_RECORDINGS:
        return np.sqrt(b2), None
    stds = np.array([np.sqrt(np.sum(its**2, axis=0)) for _, its in alone])
    return np.sqrt(b2), predictive_std(np.array([values for values, _ in alone]), stds, theta)[1]


TimedRows = tuple[Vector, DenseRows]
"""(N,) time, and rows."""


@dataclass(frozen=True, eq=False)
class Filtered:
    """Rows of a problem with other filters, None where recordings are too short for these.

    They are kept for another solution of the problem, as with another weight of the prior.
    """

    of_one: InverseDynamics
    thin: list[Signals]
    widened: list[Signals]

    @classmethod
    def of(cls, problem: InverseDynamics) -> Filtered:
        signals = cast("tuple[Signals, ...]", problem.recordings)
        share = LARGEST_SAMPLES / sum(map(len, signals))
        thin, widened = ([thinned(one, share) for one in some] for some in (signals, _widened(signals)))
        return cls(problem.with_signals(signals[:1]), thin, widened)

    @classmethod
    def cached(cls, problem: InverseDynamics) -> Filtered:
        """Those of an earlier solution of the same problem, or new ones."""
        if (known := _FILTERED.get(problem)) is None:
            known = _FILTERED[problem] = cls.of(problem)
        return known

    def rows(self, signals: Sequence[Signals]) -> TimedRows | None:
        try:
            problem = self.of_one.with_signals(signals)
            dense = DenseRows.of(problem)
            return problem.predict(np.zeros(len(problem.base)))[0], dense
        except PoinsotError:
            return None

    @cached_property
    def as_is(self) -> TimedRows | None:
        return self.rows(self.thin)

    @cached_property
    def half_band(self) -> TimedRows | None:
        return self.rows([_rows_at(one, 2.0) for one in self.thin])

    @cached_property
    def wide(self) -> TimedRows | None:
        return self.rows(self.widened) if self.widened else None

    @cached_property
    def wide_twice_band(self) -> TimedRows | None:
        return self.rows([_rows_at(one, 0.5) for one in self.widened])

    @cached_property
    def alone(self) -> list[TimedRows | None]:
        return [self.rows([one]) for one in self.thin] if len(self.thin) >= FEWEST_RECORDINGS else []


_FILTERED: WeakKeyDictionary[InverseDynamics, Filtered] = WeakKeyDictionary()


def _widened(signals: tuple[Signals, ...]) -> list[Signals]:
    """Signals with twice the cutoff; empty where the clock does not allow it, or smoothing had no cutoff."""
    cutoffs: list[Any] = [getattr(recording.method, "cutoff_hz", None) for recording in signals]
    if sum(map(len, signals)) > LONGEST or None in cutoffs:
        return []
    try:
        return [
            replace(recording.method, cutoff_hz=np.multiply(cutoff, 2).tolist()).apply(recording.recording)
            for recording, cutoff in zip(signals, cutoffs, strict=True)
        ]
    except PoinsotError:
        return []


def _rows_at(signals: Signals, factor: float) -> Signals:
    """The same signals with `factor` times the interval between rows."""
    D = cast("Decimation", signals.decimation)
    # the edges of a sharper filter would leave little of a short recording
    return replace(signals, decimation=replace(D, factor=round(factor * D.factor), order=min(D.order, 4)))


def _excess(d: Vector, V: Vector, t: float) -> Vector:
    return np.where(np.abs(d) > t * np.sqrt(V), np.maximum(d**2 - V, 0.0), 0.0)


def _influence(
    time: Vector, dense: DenseRows, multiplied: DenseRows, system: System, solution: LinearSolution
) -> tuple[Vector, np.ndarray]:
    """theta (k,) of rows at a solution's weights, and (GROUPS, k) I_g.

    `multiplied`: rows whose regressor multiplies the residuals, their own except with instruments.
    """
    W, Z = (rows.W[:, :, system.columns] for rows in (dense, multiplied))
    N, n, k = W.shape
    w = np.broadcast_to(solution.weights, (N, n))
    e = w * (dense.y - W @ solution.theta)
    if np.isfinite(solution.clip):  # outliers have the same weights as at the robust optimum
        w, e = (array * np.sqrt(solution.clip / np.maximum(np.abs(e), solution.clip)) for array in (w, e))
    prior, mean = system.whitened_prior(np.eye(k))
    A, B = (np.concatenate([(rows * w[:, :, None]).reshape(-1, k), prior]) for rows in (W, Z))
    norms, others = np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0)
    A /= np.where(norms > 0, norms, 1.0)
    B /= np.where(others > 0, others, 1.0)
    H = B.T @ A
    if N * n - k < GROUPS or np.linalg.svd(H, compute_uv=False)[-1] < SINGULAR:
        raise NotIdentifiable("the rows do not determine all parameters")
    inverse = np.linalg.inv(H) / norms[:, None]
    e = np.append(e, mean - prior @ solution.theta)
    step = inverse @ (B.T @ e)
    e -= A @ (step * norms)
    scores = (B * e[:, None])[: N * n].reshape(N, n, k).sum(axis=1)
    group = (GROUPS * (time - time[0]) / (time[-1] - time[0]) * (1 - 1e-9)).astype(np.int64)
    sums = np.zeros((GROUPS, k))
    np.add.at(sums, group, scores)
    # a fit of k parameters reduces its own residuals
    return solution.theta + step, sums @ inverse.T * np.sqrt(N * n / (N * n - k))
