"""Likelihood and prediction at other weights, from the linearization of a fit, without another fit.

Linearized along the fit's motion, with residuals p of steps and e of readings [standard deviations], changes of
states and of theta, c = (d_theta, 1), follow

    d_{k+1} = F_k d_k + G_k c + B_k^-1 w_k       F = -B^-1 A,  G = -B^-1 (P, p),      w ~ N(0, 1 / kappa)
          0 = H_k d_k + E_k c + v_k              E = (derivative of e by theta, e),   v ~ N(0, 1)

A Kalman filter whose state has a column for each of c gives innovations Y_k c of covariance C_k at any kappa, hence

    -2 log L(c, kappa) = sum_k |Y_k c|^2 in the metric C_k^-1 + log det C_k      (Schweppe 1965)

with states integrated out. Its quadratic gives theta from all samples, or from those outside of a part: a record, or a
sixth of the only one. From the filter's states at the beginning of windows of that part the linearization is
propagated: this predicts readings with theta from the other parts, and with states estimated only from earlier
readings.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Float, Vector
from ...kernels import njit
from .linearization import RecordLinearization
from .prediction import LARGEST_PART, horizon_of, window_errors
from .sensitivity import RIDGE, UNOBSERVABLE
from .smoothing import JointIterate

DIFFUSE = 1e2
"""Variance of the change of a first state [rad^2], [m^2], and of its rates: far above that of any reading."""
OVERLAP = 4
"""Windows begin a quarter of one apart: their errors are averaged over more first states."""
Tangents = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""F, G, covariances of B^-1 w, H and E of one record, (N, ...) each; no step follows the last state."""


def _tangents(at: RecordLinearization, rows: int) -> Tangents:
    columns = np.concatenate([at.by_theta, at.e[:, :, None]], axis=2)
    B = at.by_next[:, :rows].copy()
    B[-1] = np.eye(B.shape[1])
    inverse = np.linalg.inv(B)
    F, G, Q = -inverse @ at.by_x[:, :rows], -inverse @ columns[:, :rows], inverse @ inverse.swapaxes(1, 2)
    return F, G, Q, np.ascontiguousarray(at.by_x[:, rows:]), np.ascontiguousarray(columns[:, rows:])


@njit(cache=True)
def _add_product(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """C += A B, in loops: calls of a library cost more than products of small matrices."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@njit(cache=True)
def _process_reading(S: np.ndarray, h: np.ndarray, e: np.ndarray, squares: np.ndarray) -> float:
    """Update S = (P, d), (d, d + q + 1), by a reading 0 = h d + e c + v; add |Y c|^2 to `squares`; log C."""
    d, row = len(S), np.zeros((1, S.shape[1]))  # (h P, Y)
    row[0, d:] = e
    _add_product(row, h, S)
    C = 1.0 + np.sum(row[0, :d] * h[0])
    _add_product(squares, row[:, d:].T / C, row[:, d:])
    gain = row[:, :d].T / C
    _add_product(S, -gain, row)
    # Joseph's form, which keeps P positive semidefinite where readings have far more weight than steps
    rest = gain.copy()
    _add_product(rest, S[:, :d], -h.T)
    _add_product(S[:, :d], rest, gain.T)
    return float(np.log(C))


@njit(cache=True)
def _filtered(
    tangents: Tangents, first: np.ndarray, weights: np.ndarray, chosen: np.ndarray, parts: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(W, K, d, q + 1) states from readings up to each chosen sample (N,), with a column for each entry of c.

    Beside them sums of |Y c|^2 over equal parts, (parts, K, q + 1, q + 1), and of log C, (K,). Readings have unit
    variances and are independent, so they are processed one at a time, and C is a number. `first`: (m_0, 1, d + q + 1)
    H and E of errors of the first state, at weight 1.
    """
    F, G, Q, H, E = tangents
    N, d, columns = G.shape
    states = np.zeros((chosen.sum(), len(weights), d, columns))
    squares, logs = np.zeros((parts, len(weights), columns, columns)), np.zeros(len(weights))
    for j, weight in enumerate(weights):
        S, window, root = np.zeros((d, d + columns)), 0, np.sqrt(weight)
        S[:, :d] = DIFFUSE * np.eye(d)
        for row in first:
            logs[j] += _process_reading(S, root * row[:, :d], root * row[0, d:], squares[0, j])
        for k in range(N):
            for i in range(H.shape[1]):
                logs[j] += _process_reading(S, H[k, i : i + 1], E[k, i], squares[k * parts // N, j])
            if chosen[k]:
                states[window, j] = S[:, d:]
                window += 1
            propagated = np.zeros_like(S)
            _add_product(propagated, F[k], S)
            S[:, :d], S[:, d:] = Q[k] / weight, propagated[:, d:] + G[k]
            _add_product(S[:, :d], propagated[:, :d], F[k].T)
    return states, squares, logs


def other_weights(at: JointIterate, weights: Vector) -> tuple[Vector, Float[np.ndarray, "K W"]]:
    """(K,) log likelihood of weights (K,), and (K, W) `window_errors` of readings predicted from others, by the
    linearization at an iterate, which holds near its own weight.
    """
    equations, theta, weights = at.equations, at.theta, weights / at.equations.method.weight
    model, parameters, records = equations.problem.model, equations.parameters, equations.problem.records
    q, parts = len(parameters.open), LARGEST_PART if len(records) == 1 else 1
    filtered = []
    for linearized, T in zip(at.linearized, horizon_of(model, records, model.theta), strict=True):
        last, tangents = len(linearized.e) - 1, _tangents(linearized, equations.form.rows)
        starts = np.arange(min(T, last - 1), max(last - T, min(T, last - 1)) + 1, max(T // OVERLAP, 1))
        e, *by = linearized.start or (np.zeros(0), np.zeros((0, linearized.by_x.shape[2])), np.zeros((0, q)))
        first, chosen = np.column_stack([*by, e])[:, None], np.isin(np.arange(last + 1), starts)
        windows = starts, min(T, last - int(starts[-1]))
        filtered.append((linearized, tangents, windows, *_filtered(tangents, first, weights, chosen, parts)))
    squares, logs = np.stack([row[4] for row in filtered], axis=1), sum(row[5] for row in filtered)

    def squared_effects(S: np.ndarray) -> Vector:
        """(q,) diagonal of S; 1 for parameters without any effect."""
        diagonal = np.diag(S)[:q]
        return np.where(diagonal > 0, diagonal, 1.0)

    def change(corner: np.ndarray) -> np.ndarray:
        """(d_theta, 1) of least squares."""
        try:
            d = parameters.step(theta, corner[:q], RIDGE * squared_effects(corner))
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
        squared = c @ total @ c + parameters.prior_cost(parameters.moved(theta, c[:-1]))
        likely[k] = -0.5 * (squared + logs[k] + width)
        changes[k] = [[change(total - part) for part in row] for row in squares[:, :, k]]
    errors = []
    for r, (linearized, (F, G, _, H, E), (starts, T), states, *_) in enumerate(filtered):
        c, ahead = changes[:, (starts + T // 2) * parts // len(linearized.e), r, :, None], []
        x = states.swapaxes(0, 1) @ c
        for k in (starts + k for k in range(T)):
            x = F[k] @ x + G[k] @ c
            ahead.append((H[k + 1] @ x + E[k + 1] @ c)[..., 0])
        error = np.stack(ahead, axis=2) * equations.noise
        if linearized.there is not None:
            error[:, ~linearized.there[starts[:, None] + np.arange(1, T + 1), equations.form.rows :]] = np.nan
        errors.append(error)
    return likely, window_errors(model, records, errors)
