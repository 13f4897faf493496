"""The systematic part of standard deviations: how far an estimate moves with its filters and within its recording.

Least squares takes the regressor as exact. Noise of the positions within the band of the rows, and motion that the
smoother attenuates, bias it, and no residual shows how much. So the estimate is repeated, on as few samples as the
motion needs, each time without most of one of them:

    narrow   half the band of the rows, the same smoother      noise of accelerations falls to 1/8 or less
    wide     the same band, twice the smoother's cutoff        attenuation falls to 1/256 (Butterworth of order 4)

The move d = theta_c - theta is then about minus the bias. Its variance by chance, with time in groups g between which
residuals are independent, and its excess are

    V = sum over g of (I_cg - I_g)^2,   I_g = H^-1 sum over the rows of g of W^T w^2 e       (Liang and Zeger 1986)
    b^2 = sum over c of d_c^2 - V_c     where |d_c| > t sqrt(V_c), for Student's t

The halves of the recording differ by 2 d with d = 2 sum over the first half of I_g and V = sum of I_g^2: another c.
Where half the band says nothing, since too few rows are left, twice the band and cutoff take its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
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

    def move(filtered: Callable[[], list[Signals]]) -> tuple[Vector, Vector]:
        """d and V of other signals; V is infinite where the recordings are too short for them, or slow."""
        try:
            other = problem.with_signals(filtered())
            if other.equations - len(theta) >= GROUPS:  # with fewer residuals no group has one
                moved, its = _influence(other, system, solution)
                return moved - theta, np.sum((its - influence) ** 2, axis=0)
        except PoinsotError:
            pass
        return np.zeros_like(theta), np.full_like(theta, np.inf)

    b2 = _excess(2 * influence[: GROUPS // 2].sum(axis=0), chance, HALVES_BEYOND_CHANCE)
    narrow = move(lambda: [_rows_at(each, 2.0) for each in thin])
    b2 += _excess(*narrow, BEYOND_CHANCE)
    blind = narrow[1] > RESOLVED**2 * chance
    if sum(map(len, signals)) <= LONGEST and all(each.recording is not None for each in signals):
        wide = cache(lambda: [thinned(each.method.widened().apply(each.recording), share) for each in signals])
        b2 += _excess(*move(wide), BEYOND_CHANCE)
        if blind.any():
            twice = move(lambda: [_rows_at(each, 0.5) for each in wide()])
            b2[blind] += _excess(*twice, BEYOND_CHANCE)[blind]
    return np.sqrt(b2)


def _rows_at(signals: Signals, factor: float) -> Signals:
    """The same signals with so many times the interval between rows."""
    decimation = cast("Decimation", signals.decimation)
    # the edges of a sharper filter would leave little of a short recording
    return replace(
        signals,
        decimation=replace(
            decimation, factor=round(factor * decimation.factor), order=min(decimation.order, 4)
        ),
    )


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
