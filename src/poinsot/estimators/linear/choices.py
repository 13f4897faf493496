"""The systematic part of standard deviations: how far an estimate moves with its filters and within its recording.

Least squares takes the regressor as exact. Noise of the positions in the band of the rows, and motion that the smoother
attenuates, bias it, and no residual shows how much. So the estimate is repeated, on as few samples as the motion needs,

    narrow   with half the band of the rows         noise of accelerations falls to 1/8 or less
    wide     with twice the smoother's cutoff       attenuation falls to 1/256 (Butterworth of order 4)

and moves by d, about minus the bias. By chance it does so with variance V, if residuals of different stretches of time
g are independent, and the excess is

    b^2 = sum of d^2 - V, where |d| > t sqrt(V)     V = sum over g of (I_cg - I_g)^2     (Liang and Zeger 1986)
    I_g = H^-1 sum over the rows of g of W^T w^2 e

The halves of the recording differ by 2 d, d = 2 sum over the first half of I_g, V = sum of I_g^2. Where half the band
leaves too few rows, twice the band and cutoff take its place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from ...arrays import Vector
from ...diagnosis.case import LARGEST_SAMPLES, RIDGE, DenseRows, thinned
from ...exceptions import PoinsotError
from ...regression.inverse_dynamics import InverseDynamics
from ...signals.decimation import Decimation
from ...signals.signals import Signals
from .system import LinearSolution, System

GROUPS = 20
"""Groups of rows, one after the other in time."""

BEYOND_CHANCE, HALVES_BEYOND_CHANCE = 2.09, 3.88
"""Quantiles of |t| at 95 and 99.9 %, with GROUPS - 1 degrees of freedom. Chance alone makes halves differ, in one
parameter of twenty, by more than the first; a filter's own noise is small."""

RESOLVED = 2.0
"""Half the band says nothing of a parameter whose move by chance is more than this part of its standard deviation."""

LONGEST = 1_000_000
"""Samples of all recordings together beyond which the smoother is not run again."""


def systematic_part(problem: InverseDynamics, system: System, solution: LinearSolution) -> Vector | None:
    """(k,) b of a solution's parameters, in their units; None for a robot with a load."""
    if problem.attachment is not None:
        return None
    signals = cast("tuple[Signals, ...]", problem.recordings)
    share = LARGEST_SAMPLES / sum(map(len, signals))
    thin = [thinned(each, share) for each in signals]
    theta, influence = _influence(problem.with_signals(thin), system, solution)
    chance = np.sum(influence**2, axis=0)

    def excess(others: list[Signals]) -> tuple[Vector, Vector]:
        """b^2 and V; V is infinite where the recordings are too short."""
        try:
            other = problem.with_signals(others)
            if other.equations - len(theta) >= GROUPS:  # with fewer residuals no group has one
                moved, its = _influence(other, system, solution)
                V = np.sum((its - influence) ** 2, axis=0)
                return _excess(moved - theta, V, BEYOND_CHANCE), V
        except PoinsotError:
            pass
        return np.zeros_like(theta), np.full_like(theta, np.inf)

    narrow, V = excess([_rows_at(each, 2.0) for each in thin])
    b2 = narrow + _excess(2 * influence[: GROUPS // 2].sum(axis=0), chance, HALVES_BEYOND_CHANCE)
    if wide := [thinned(each, share) for each in _widened(signals)]:
        b2 += excess(wide)[0]
        if (blind := RESOLVED**2 * chance < V).any():
            b2[blind] += excess([_rows_at(each, 0.5) for each in wide])[0][blind]
    return np.sqrt(b2)


def _widened(signals: tuple[Signals, ...]) -> list[Signals]:
    """With twice the cutoff; none where the clock does not allow it, or signals were not smoothed with a cutoff."""
    cutoffs = [getattr(each.method, "cutoff_hz", None) for each in signals]
    if sum(map(len, signals)) > LONGEST or None in cutoffs:
        return []
    try:
        return [
            replace(each.method, cutoff_hz=np.multiply(cutoff, 2).tolist()).apply(each.recording)
            for each, cutoff in zip(signals, cutoffs, strict=True)
        ]
    except PoinsotError:
        return []


def _rows_at(signals: Signals, factor: float) -> Signals:
    """The same signals with so many times the interval between rows."""
    D = cast("Decimation", signals.decimation)
    # the edges of a sharper filter would leave little of a short recording
    return replace(signals, decimation=replace(D, factor=round(factor * D.factor), order=min(D.order, 4)))


def _excess(d: Vector, V: Vector, t: float) -> Vector:
    return np.where(np.abs(d) > t * np.sqrt(V), np.maximum(d**2 - V, 0.0), 0.0)


def _influence(
    problem: InverseDynamics, system: System, solution: LinearSolution
) -> tuple[Vector, np.ndarray]:
    """theta (k,) of a problem at a solution's weights, and (GROUPS, k) I_g."""
    W = DenseRows.of(problem).W[:, :, system.columns]
    time, measured, held = problem.predict(np.zeros(system.size))
    N, n, k = W.shape
    w = np.broadcast_to(solution.weights, (N, n))
    e = w * (measured - held - W @ solution.theta)
    if np.isfinite(solution.clip):  # an outlier counts as little as at the robust optimum
        w, e = (each * np.sqrt(solution.clip / np.maximum(np.abs(e), solution.clip)) for each in (w, e))
    prior, mean = system.whitened_prior(np.eye(k))
    A = np.concatenate([(W * w[:, :, None]).reshape(-1, k), prior])
    norms = np.linalg.norm(A, axis=0)
    A /= np.where(norms > 0, norms, 1.0)
    e = np.append(e, mean - prior @ solution.theta)
    inverse = np.linalg.inv(A.T @ A + RIDGE * np.eye(k)) / np.where(norms > 0, norms, 1.0)[:, None]
    step = A.T @ e @ inverse.T
    e -= A @ (step * norms)
    scores = (A * e[:, None])[: N * n].reshape(N, n, k).sum(axis=1)
    group = (GROUPS * (time - time[0]) / (time[-1] - time[0]) * (1 - 1e-9)).astype(np.int64)
    sums = np.zeros((GROUPS, k))
    np.add.at(sums, group, scores)
    # a fit of k parameters makes its own residuals smaller
    return solution.theta + step, sums @ inverse.T * np.sqrt(N * n / max(N * n - k, 1))
