"""A step of a filter by one sample in one compiled call: drift, inverse dynamics, linearization, update, safeguards.

    P <- e^(-2 c dt) P + (1 - e^(-2 c dt)) P_max                                         filter, Eqs. 10, 12, 18
    y = tau - bias - tau_nom - Y pi(x_i) - H (x - x_i),   H = Y D,  D = dpi/dx at x_i    Eqs. 14, 15, 19, 21
    x_i+1 = x + K y, B_i+1                                                               below, Eq. 11
    info+ = e^(-dt / memory) info + H^T R^-1 H

with the equations of Foster et al. (2024). With x_0 = x this is the extended filter; repeated until x_i converges, it
is the iterated one (Bell and Cathey 1993), whose x and B are the mode of the posterior and the curvature there. The
plain extended filter is overconfident after the first samples on a chart, which change the coordinates by much.

Rows of freedoms that carry no open body have H = 0: they enter y^T S^-1 y and the likelihood alone.

**The update** keeps a triangular root of the covariance, P = B B^T, by orthogonal transformations. A measurement row z
= h^T x + nu, nu ~ N(0, 1 / w), with innovation e = z - h^T x and f = sqrt(w) B^T h, is one array

    [ 1  f^T ]           [ r     0  ]     Theta: d Givens rotations of column 0 with each of the others, last first
    [ 0  B   ] Theta  =  [ k     B+ ]

    r^2 = 1 + f^T f            w times the variance of e
    x+ = x + k sqrt(w) e / r   Kalman's update, Eq. 11 of the paper
    B+ B+^T = P+

(Bierman 1977, Ch. V; Kaminski, Bryson and Schmidt 1971.) Rows with independent noise are processed one after the other,
so that

    y^T S^-1 y = sum of w e^2 / r^2       the normalized innovation squared (Eq. 22)
    log det S  = sum of log(r^2 / w)

are sums of terms that are not negative. Nothing is squared: 1 + f^T f, or 1 + B^T H^T W H B of all rows at once, loses
the 1 where a measurement is 1e8 times more exact than the prior; r and the rotations keep it up to 1e16. A row costs
3 d^2 operations, as a lower triangular B stays one.

Process noise makes B the triangular factor of [a B, b U]^T, P = a^2 B B^T + b^2 U U^T.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np

from ...arrays import Matrix, Vector
from ...inertia.parametrization import Kernels
from ...kernels import njit
from ...models.robot.link_torques import link_torques, project

ACCEPTED, GATED, UNUSABLE, IMPLAUSIBLE = range(4)
"""What a step did with a sample."""
LOG_2_PI = float(np.log(2 * np.pi))

_FAST: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_FAST)
def update(B: Matrix, H: Matrix, y: Vector, w: Vector, step: Vector) -> tuple[float, float]:
    """Write x+ - x to `step`, and B+ to `B`.

    Args:
        B: (d, d) lower triangular root of the covariance.
        H: (n, d) measurement rows.
        y, w: (n,) innovations at x, and inverse variances of the measurements; 0 for rows that are not used.
        step: (d,).

    Returns:
        y^T S^-1 y, and log det S + sum of log w.
    """
    d = len(B)
    f, cos, sin = np.empty(d), np.empty(d), np.empty(d)
    square, log_det = 0.0, 0.0
    step[:] = 0.0
    for m in range(len(y)):
        # not read or not trusted
        if w[m] == 0.0:
            continue
        root, e = np.sqrt(w[m]), y[m]
        f[:] = 0.0
        for i in range(d):
            # rows are processed in turn: the innovation of each is after the steps of those before
            e -= H[m, i] * step[i]
            for j in range(i + 1):
                f[j] += H[m, i] * B[i, j]
        # r^2 is at least 1 and grows: no division by zero, and no cancellation
        r_2, per_r = 1.0, 1.0
        for j in range(d - 1, -1, -1):
            r = r_2 * per_r
            f[j] *= root
            r_2 += f[j] * f[j]
            per_r = 1 / np.sqrt(r_2)
            cos[j], sin[j] = r * per_r, f[j] * per_r
        z = root * e * per_r
        square += z * z
        log_det += np.log(r_2)
        for i in range(d):
            k = 0.0
            for j in range(i, -1, -1):
                b = B[i, j]
                B[i, j], k = cos[j] * b - sin[j] * k, cos[j] * k + sin[j] * b
            step[i] += z * k
    return square, log_det


@njit(**_FAST)
def enlarge(B: Matrix, kept: float, U: Matrix, added: float) -> None:
    """Make B a root of kept^2 B B^T + added^2 U U^T, by Householder's reflections.

    Args:
        B, U: (d, d) lower triangular.
    """
    d = len(B)
    X = added * U
    for j in range(d):
        # reflect row j of [B, X] onto its first entry; triangular factors stay triangular
        head = kept * B[j, j]
        square = head * head
        for k in range(j + 1):
            square += X[j, k] * X[j, k]
        # the sign that adds: the other one cancels
        alpha = -np.sqrt(square) if head > 0 else np.sqrt(square)
        head -= alpha
        size = -alpha * head  # half of |v|^2, v = x - alpha e
        B[j, j] = alpha
        for r in range(j + 1, d):
            B[r, j] *= kept
            if size == 0.0:
                continue
            total = head * B[r, j]
            for k in range(j + 1):
                total += X[j, k] * X[r, k]
            total /= size
            B[r, j] -= total * head
            for k in range(j + 1):
                X[r, k] -= total * X[j, k]


@njit(**_FAST)
def predict(
    before: float, time: float, surprise: float, drift: float, largest_std: float, memory: float,
    largest_surprise: float, state: Matrix, U: Matrix, after: Matrix,
) -> float:  # fmt: skip
    """Write the state at a later time to `after`; return the average surprise then.

    Args:
        before, time: of the state, NaN before the first sample, and of that after [s].
        drift, largest_std, memory: as in `Filter`. largest_surprise: by which drift may grow; 1 where it does not.
        state, after: (2 d + 1, d) as in `Belief`. U: (d, d) `InitialBelief.unit`.
    """
    # before the first sample no time has passed: drift begins with it
    dt = time - before if time > before else 0.0
    d, remembered = len(U), np.exp(-dt / memory)
    for i in range(len(state)):
        kept = remembered if i > d else 1.0
        for j in range(d):
            after[i, j] = kept * state[i, j]
    if drift > 0 and dt > 0:
        c_dt = 0.5 * dt * min(max(surprise, 1.0), largest_surprise) * (drift / largest_std) ** 2
        # expm1: 1 - e^-x of a tick at 1 kHz loses six digits
        enlarge(after[1 : d + 1], np.exp(-c_dt), U, largest_std * np.sqrt(-np.expm1(-2 * c_dt)))
    # towards 1, its value if assumptions hold: after a pause it is unknown
    return 1 + remembered * (surprise - 1)


@njit(**_FAST)
def _is_finite(x):
    total = 0.0
    for value in x:
        # infinity times 0 is not a number
        total += 0.0 * value
    return total == 0.0


@njit(**_FAST)
def _residuals(tau, rows, e, carrying):
    """Write e = tau - bias - tau_nom over tau_nom, and the freedoms that carry an open body; add up the others.

    Return the number of each, and the parts of the others in y^T S^-1 y and log det S.
    """
    carry, count, square, log_det = 0, 0, 0.0, 0.0
    for j in range(len(e)):
        e[j] = tau[j] - rows[0, j] - e[j]
        if rows[3, j]:
            carrying[carry] = j
            carry += 1
        elif np.isfinite(e[j]):
            count += 1
            square += rows[1, j] * e[j] * e[j]
            log_det -= rows[2, j]
    return carry, count, square, log_det


@njit(**_FAST)
def _linearize(Y, carrying, e, pi, D, x, at, H, y):
    """H = Y D and y = e - Y pi - H (x - at) of the rows that carry an open body."""
    for m in range(len(y)):
        j, innovation = carrying[m], e[carrying[m]]
        for b in range(len(pi)):
            for c in range(10):
                h = 0.0
                for r in range(10):
                    h += Y[j, 10 * b + r] * D[b, r, c]
                H[m, 10 * b + c] = h
                innovation -= Y[j, 10 * b + c] * pi[b, c] + h * (x[10 * b + c] - at[10 * b + c])
        y[m] = innovation


@njit(**_FAST)
def _move(x, at, step, longest, x_next):
    """Add a step from x, at most the longest from `at`; `step` is then that from `at`. Return whether it was cut."""
    for j in range(len(x)):
        step[j] += x[j] - at[j]
    cut = _shorten(step, longest)
    for j in range(len(x)):
        x_next[j] = at[j] + step[j]
    return cut


@njit(**_FAST)
def _bend(B, step):
    """The nonlinearity of a chart along a step: the largest of step^2 / 2 in posterior standard deviations."""
    largest = 0.0
    for j in range(len(B)):
        variance = 0.0
        for k in range(j + 1):
            variance += B[j, k] * B[j, k]
        # a chart is e^x in its coordinates, whose second order is step^2 / 2
        largest = max(largest, 0.5 * step[j] ** 2 / np.sqrt(variance))
    return largest


@njit(**_FAST)
def _shorten(step, longest):
    """Scale a step so that no coordinate changes by more than the longest; return whether it was longer."""
    furthest = 0.0
    for each in step:
        furthest = max(furthest, abs(each))
    if furthest < longest:
        return False
    # all coordinates are scaled alike: the direction of the step is kept
    for j in range(len(step)):
        step[j] *= longest / furthest
    return True


@njit(**_FAST)
def _add_information(H, w, state):
    """Add H^T diag(w) H to the information."""
    d = state.shape[1]
    for i in range(d):
        for j in range(i + 1):
            total = state[d + 1 + i, j]
            for m in range(len(w)):
                total += w[m] * H[m, i] * H[m, j]
            state[d + 1 + i, j] = state[d + 1 + j, i] = total


@njit(**_FAST)
def plausible(W: np.ndarray, pi: np.ndarray, least: float, largest: float) -> bool:
    """Whether the eigenvalues of J0^-1 J, those of M = W^T J W, lie between two bounds for all bodies.

    They do if and only if M - least 1 and largest 1 - M have Cholesky factors.

    Args:
        W: (k, 4, 4) with W^T J0 W = 1; none: all bodies are plausible. pi: (k, 10).
    """
    work = np.empty((3, 4, 4))
    J, C, M = work[0], work[1], work[2]
    for b in range(len(W)):
        half = 0.5 * (pi[b, 4] + pi[b, 6] + pi[b, 9])
        J[0, 0], J[1, 1], J[2, 2], J[3, 3] = half - pi[b, 4], half - pi[b, 6], half - pi[b, 9], pi[b, 0]
        J[0, 1] = J[1, 0] = -pi[b, 5]
        J[0, 2] = J[2, 0] = -pi[b, 7]
        J[1, 2] = J[2, 1] = -pi[b, 8]
        for r in range(3):
            J[r, 3] = J[3, r] = pi[b, 1 + r]
        X = W[b]
        for r in range(4):
            for c in range(4):
                C[r, c] = J[r, 0] * X[0, c] + J[r, 1] * X[1, c] + J[r, 2] * X[2, c] + J[r, 3] * X[3, c]
        for r in range(4):
            for c in range(4):
                M[r, c] = X[0, r] * C[0, c] + X[1, r] * C[1, c] + X[2, r] * C[2, c] + X[3, r] * C[3, c]
        if not (_is_positive(M, 1.0, -least, C) and _is_positive(M, -1.0, largest, C)):
            return False
    return True


@njit(**_FAST)
def _is_positive(M: Matrix, sign: float, shift: float, L: Matrix) -> bool:
    """Whether sign M + shift 1 is finite and positive definite; its Cholesky factor is written to L."""
    for c in range(4):
        for r in range(c, 4):
            total = sign * M[r, c] + (shift if r == c else 0.0)
            for k in range(c):
                total -= L[r, k] * L[c, k]
            # false of NaN too
            if r == c and not 0.0 < total < np.inf:
                return False
            L[r, c] = np.sqrt(total) if r == c else total / L[c, c]
    return True


_F1, _F2, _F3 = (numba.types.Array(numba.float64, k, "C") for k in (1, 2, 3))
_ANY = numba.types.Array(numba.float64, 1, "A", readonly=True, aligned=False)
_SIGNATURE = (
    numba.types.Array(numba.int64, 2, "C"), _F3, _F2, _F2, _F1, _ANY, _ANY, _ANY, _ANY, _F2, _F2,
    numba.float64, numba.float64, numba.float64, numba.int64, _F2, _F2, _F3, _F2,
)  # fmt: skip
"""Types of the arguments of a step."""


@cache
def step_kernel(chart: Kernels) -> Any:
    """The compiled step of filters on a chart.

    It writes the state after a sample to `after`; where the sample was not accepted, that of before, with drift. Its
    arguments are

        joints, C, S                     `LinkTorques.constants`
        rows (5, n)                      bias; 1 / R; log of it; whether the freedom carries an open body; the threshold
                                         of y^T S^-1 y for 1, 2, ... n rows
        settings (13,)                   of `Filter` and `Safeguards`, infinite where there is no limit; size of q
        q, v, a, tau, outside            the sample; efforts that are not finite are not used
        P                                `LinkTorques.projection`
        time                             of the sample [s]
        before, surprise, unchecked, state   as in `Belief`
        U, whitening                     as in `InitialBelief`

    and it returns what it did with the sample, the average surprise, and four fields of `Innovation`.
    """
    to_inertial, jacobian = chart.to_inertial, chart.jacobian

    @njit(**_FAST)
    def step(
        joints, C, S, rows, settings, q, v, a, tau, outside, P,
        time, before, surprise, unchecked, state, U, whitening, after,
    ):  # fmt: skip
        drift, largest_std, memory, adapted = settings[0], settings[1], settings[2], settings[3]
        longest_step, largest_bend, iterations = settings[4], settings[5], settings[6]
        share, largest_surprise, lost_surprise = settings[7], settings[8], settings[9]
        lightest, body_factor = settings[10], settings[11]
        n, d = len(tau), len(U)
        if len(q) != settings[12] or not len(v) == len(a) == n == rows.shape[1]:
            raise ValueError("a sample of another robot")
        surprise = predict(before, time, surprise, drift, largest_std, memory, adapted, state, U, after)
        # unknown motion of one joint affects the efforts of all: no row of the sample can be used
        if not (_is_finite(q) and _is_finite(v) and _is_finite(a)):
            return UNUSABLE, surprise, np.nan, 0, np.inf, np.nan
        x, x_next, B, B_0 = state[0], after[0], after[1 : d + 1], after[1 : d + 1].copy()
        Y, e, carrying = np.zeros((n, d)), np.empty(n), np.empty(n, np.int64)
        link_torques(joints, C, S, q, v, a, outside, Y, e)
        if len(P):
            project(P, Y, e)
        K, count, square, log_det = _residuals(tau, rows, e, carrying)
        H, y, w, step, at = np.empty((K, d)), np.empty(K), np.empty(K), np.empty(d), x.copy()
        pi, D = np.empty((d // 10, 10)), np.empty((d // 10, 10, 10))
        to_inertial(at.reshape(-1, 10), pi)
        jacobian(at.reshape(-1, 10), D)
        _linearize(Y, carrying, e, pi, D, x, at, H, y)
        for m in range(K):
            w[m] = 0.0
            if np.isfinite(y[m]):
                w[m] = rows[1, carrying[m]]
                count += 1
                log_det -= rows[2, carrying[m]]
        found = update(B, H, y, w, step)
        square, log_det = square + found[0], log_det + found[1]
        # a covariance or coordinates that overflowed must not be kept
        if count == 0 or not np.isfinite(square):
            B[:] = B_0
            return UNUSABLE, surprise, np.nan, count, np.inf, np.nan
        # one accident must not raise the average surprise for long, so it counts up to a bound
        surprise += share * (min(square / count, largest_surprise) - surprise)
        threshold, likelihood = rows[4, count - 1], -0.5 * (square + log_det + count * LOG_2_PI)
        if square > threshold and not unchecked:
            B[:] = B_0
            return GATED, surprise, square, count, threshold, likelihood
        cut, bend, repeated = _move(x, at, step, longest_step, x_next), _bend(B, step), 0
        while not bend <= largest_bend and repeated < iterations:
            at[:], B[:] = x_next, B_0
            to_inertial(at.reshape(-1, 10), pi)
            jacobian(at.reshape(-1, 10), D)
            _linearize(Y, carrying, e, pi, D, x, at, H, y)
            update(B, H, y, w, step)
            _move(x, at, step, longest_step, x_next)
            bend, repeated = _bend(B, step), repeated + 1
        if repeated or iterations == 0:
            step[:] = x_next - x
            # the information of a step that was cut short belongs to another x; where x does not settle, the mode is
            # not found, and its curvature says nothing: the covariance stays
            if _move(x, x, step, longest_step, x_next) or (
                cut if iterations == 0 else not bend <= largest_bend
            ):
                B[:] = B_0
        to_inertial(x_next.reshape(-1, 10), pi)
        least = lightest if surprise > lost_surprise else 1 / body_factor
        if not plausible(whitening, pi, least, body_factor):
            return IMPLAUSIBLE, surprise, square, count, threshold, likelihood
        _add_information(H, w, after)
        return ACCEPTED, surprise, square, count, threshold, likelihood

    step.compile(_SIGNATURE)
    # arrays of any layout are taken as they are, not compiled for again
    step.disable_compile()
    return step
