"""Likelihood and prediction at other weights, from the linearization of a fit, without another fit.

Linearized along the fit's motion, with residuals p of steps and e of readings [standard deviations], changes of
states and of theta, c = (d_theta, 1), follow

    d_{k+1} = F_k d_k + G_k c + B_k^-1 w_k       F = -B^-1 A,  G = -B^-1 (P, p),      w ~ N(0, 1 / kappa)
          0 = H_k d_k + E_k c + v_k              E = (derivative of e by theta, e),   v ~ N(0, 1)

A Kalman filter whose state has a column for each of c gives innovations Y_k c of covariance C_k at any kappa, hence

    -2 log L(c, kappa) = sum_k |Y_k c|^2 in the metric C_k^-1 + log det C_k      (Schweppe 1965)

with states integrated out. Its quadratic gives theta from all samples, or from those outside of a part: a record, or a
sixth of the only one. From the filter's states at the beginning of windows of that part the linearization is
propagated: this predicts readings with theta from the other parts, and with states estimated from earlier readings
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arrays import Bool, Float, Vector
from .linearization import RecordLinearization
from .prediction import LARGEST_PART, horizon_of, window_errors
from .problem import JointSmoothingProblem
from .results import JointFit
from .sensitivity import RIDGE, UNOBSERVABLE
from .smoothing import JointSmoothing, RecordEquations

DIFFUSE = 1e2
"""Variance of the change of a first state [rad^2], [m^2], and of its rates: far above that of any reading."""
OVERLAP = 4
"""Windows begin a quarter of one apart: their errors are averaged over more first states."""


class _Tangents(NamedTuple):
    """F, G, covariances of B^-1 w, H, E of R records, see the head of the file, side by side: (N, R, 1, ...) each.

    After the end of a shorter one there are no readings, and no step follows the last state.
    """

    F: np.ndarray
    G: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    E: np.ndarray

    @classmethod
    def of(cls, records: Sequence[RecordLinearization], rows: int) -> _Tangents:
        longest, found = max(len(at.e) for at in records), []
        for at in records:
            columns = np.concatenate([at.by_theta, at.e[:, :, None]], axis=2)
            B = at.by_next[:, :rows].copy()
            B[-1] = np.eye(B.shape[1])
            inverse = np.linalg.inv(B)
            own = (
                -inverse @ at.by_x[:, :rows],
                -inverse @ columns[:, :rows],
                inverse @ inverse.swapaxes(1, 2),
            )
            parts = (*own, at.by_x[:, rows:], columns[:, rows:])
            found.append([np.pad(part, [(0, longest - len(at.e)), (0, 0), (0, 0)]) for part in parts])
        return cls(*(np.stack(part, axis=1)[:, :, None] for part in zip(*found, strict=True)))

    def filtered(
        self, records: Sequence[RecordLinearization], weights: Vector, kept: Bool[np.ndarray, "N"], parts: int
    ) -> tuple[dict[int, np.ndarray], np.ndarray, Vector]:
        """States (R, K, d, q + 1) from readings until each sample that is kept, with a column for each of c.

        Beside them sums of |Y c|^2 over equal parts, (parts, R, K, q + 1, q + 1), and of log det C over all (K,).
        """
        N, R, K, (d, columns) = len(kept), len(records), len(weights), self.G.shape[-2:]
        P, x = np.tile(DIFFUSE * np.eye(d), (R, K, 1, 1)), np.zeros((R, K, d, columns))
        squares, states = np.zeros((parts, R, K, columns, columns)), {}
        determinants: list[np.ndarray] = []

        def update(H: np.ndarray, E: np.ndarray, part: int) -> None:
            nonlocal P, x
            PH, unit = P @ H.swapaxes(-1, -2), np.eye(H.shape[-2])
            C, Y = H @ PH + unit, H @ x + E
            inverse = np.linalg.inv(C) if len(unit) > 1 else 1 / C
            gain = PH @ inverse
            # Joseph's form, which keeps P positive semidefinite where readings have far more weight than steps
            rest = np.eye(d) - gain @ H
            x, P = x - gain @ Y, rest @ P @ rest.swapaxes(-1, -2) + gain @ gain.swapaxes(-1, -2)
            squares[part] += Y.swapaxes(-1, -2) @ inverse @ Y
            determinants.append(np.linalg.det(inverse) if inverse.shape[-1] > 1 else inverse[..., 0, 0])

        starts = [at.start for at in records if at.start is not None]
        if starts:
            e, by_x, by_theta = (np.stack(part)[:, None] for part in zip(*starts, strict=True))
            root = np.sqrt(weights)[:, None, None]
            update(root * by_x, root * np.concatenate([by_theta, e[..., None]], axis=-1), 0)
        noise = 1 / weights[:, None, None]
        for k in range(N):
            update(self.H[k], self.E[k], k * parts // N)
            if kept[k]:
                states[k] = x
            F = self.F[k]
            x, P = F @ x + self.G[k], F @ P @ F.swapaxes(-1, -2) + self.Q[k] * noise
        return states, squares, -np.log(determinants).sum(axis=(0, 1))

    def carried_on(self, r: int, x: np.ndarray, c: np.ndarray, starts: np.ndarray, T: int) -> np.ndarray:
        """(K, W, T, s) residuals of readings of record r over T steps, of states x (K, W, d, 1), c (K, W, q + 1, 1)."""
        found = []
        for at in (starts + k for k in range(T)):
            x = self.F[at, r, 0] @ x + self.G[at, r, 0] @ c
            found.append((self.H[at + 1, r, 0] @ x + self.E[at + 1, r, 0] @ c)[..., 0])
        return np.stack(found, axis=2)


def other_weights(
    method: JointSmoothing, problem: JointSmoothingProblem, fit: JointFit, weights: Vector
) -> tuple[Vector, Float[np.ndarray, "K W"]]:
    """(K,) log likelihood of weights (K,), and (K, W) `window_errors` of readings predicted from others; of a fit at a
    weight near which the linearization holds.
    """
    problem = replace(problem, theta=fit.theta, guess=fit.paths)
    records, model = problem.records, problem.model
    equations = RecordEquations(replace(method, weight=1.0), problem)
    linearized, rows, parameters = equations.start().linearized, equations.form.rows, equations.parameters
    q, parts, N = len(fit.open), LARGEST_PART if len(records) == 1 else 1, max(len(at.e) for at in linearized)
    windows, kept = [], np.zeros(N, dtype=bool)
    for at, T in zip(linearized, horizon_of(model, records, model.theta), strict=True):
        last = len(at.e) - 1
        first = min(T, last - 1)
        starts = np.arange(first, max(last - T, first) + 1, max(T // OVERLAP, 1))
        kept[starts] = True
        windows.append((starts, min(T, last - int(starts[-1]))))
    tangents = _Tangents.of(linearized, rows)
    states, squares, logs = tangents.filtered(linearized, weights, kept, parts)

    def squared_effects(S: np.ndarray) -> Vector:
        """(q,) of the diagonal; 1 of parameters without any effect."""
        diagonal = np.diag(S)[:q]
        return np.where(diagonal > 0, diagonal, 1.0)

    def change(corner: np.ndarray) -> np.ndarray:
        """(d_theta, 1) of least squares."""
        try:
            d = parameters.step(fit.theta, corner[:q], RIDGE * squared_effects(corner))
        except np.linalg.LinAlgError:  # so far away that only rounding errors remain
            d = np.full(q, np.nan)
        return np.append(d, 1.0)

    likely, changes = np.empty(len(weights)), np.empty((len(weights), parts, len(records), q + 1))
    for k in range(len(weights)):
        total = squares[:, :, k].sum(axis=(0, 1))
        S, c = total[:q, :q] + np.diag(parameters.prior_weight), change(total)
        scale = np.sqrt(squared_effects(S))
        # directions that nothing determines have the same part at any weight
        scaled = S / np.outer(scale, scale) + UNOBSERVABLE * np.eye(q)
        width = np.linalg.slogdet(scaled)[1] + 2 * np.log(scale).sum()
        prior = parameters.prior_cost(parameters.moved(fit.theta, c[:-1]))
        likely[k] = -0.5 * (c @ total @ c + prior + logs[k] + width)
        changes[k] = [[change(total - of) for of in row] for row in squares[:, :, k]]
    errors = []
    for r, (at, (starts, T)) in enumerate(zip(linearized, windows, strict=True)):
        c = changes[:, (starts + T // 2) * parts // N, r, :, None]
        x = np.stack([states[int(start)][r] for start in starts], axis=1)
        found = tangents.carried_on(r, x @ c, c, starts, T) * equations.noise
        if at.there is not None:
            found[:, ~at.there[starts[:, None] + np.arange(1, T + 1), rows:]] = np.nan
        errors.append(found)
    return likely, window_errors(model, records, errors)
