"""Generalized random walk smoother: one banded least-squares problem (Brunot et al. 2017, Eqs. 9-23; Young 2012).

    x_{k+1} = A x_k + G eta_k     y_k = h x_k + e_k     h = [1 0 ...]     var e = sigma_e^2, var eta = sigma_e^2 I

with G = D Q_nvr^(1/2), all noise in units of sigma_e. With a flat prior on x_0 the smoother of Eqs. 13-21 minimizes

    sum_k (y_k - h x_k)^2 + |eta_k|^2     over x_0, eta_0, eta_1, ...

whose QR factor is banded. It is built from the last sample to the first: if |S x_{k+1} - s|^2 is the cost of the
samples after k, rotations from the left give the cost of those from k on (S', s'), and eta_k by x_k (U, V, u):

    [ S G   S A | s   ]     [ U  V  | u  ]      x_0 = S_0^-1 s_0     eta_k = U^-1 (u - V x_k)
    [ I     0   | 0   ]  -> [ 0  S' | s' ]      x_{k+1} = F x_k + B u          F = A - G U^-1 V,   B = G U^-1
    [ 0     h   | y_k ]     [ 0  0  | r  ]      P_0 = (S_0^T S_0)^-1   P_{k+1} = F P_k F^T + B B^T

P is the diagonal of the inverse of the normal matrix (Takahashi's selected inversion of this factor), a sum of squares.
Every r is a whitened prediction error, so with N samples and n_x states (Eq. 22, and the diffuse likelihood)

    sigma_e^2 = sum r^2 / (N - n_x)     log L = -(N - n_x)/2 (log(2 pi sigma_e^2) + 1) - sum_k log|U_k| - log|S_0|

No normal equation is formed, so no digits are lost at small noise variance ratios. A zero row of G (delta = 0) is a
constraint that holds exactly; a missing sample is a zero row in place of [h | y_k]. Once S has converged, all stages
are equal and are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import JointSamples, Matrix
from ..exceptions import InvalidMethod, InvalidSignals
from ..kernels import njit

HALF_POWER = 1 + math.sqrt(2)
"""The smoother passes p / (1 + p) of a signal of spectrum p sigma_e^2: 1/sqrt(2) of it where p is this."""


@dataclass(frozen=True, eq=False)
class GeneralizedRandomWalk:
    """One member of the family of Eq. 12: x_{k+1} = A x_k + G eta_k, per sample, at a noise variance ratio of 1.

    Args:
        A: (n_x, n_x) upper triangular, positive on the diagonal, not zero beside it.
        G: D Q^(1/2), n_x rows, one column for each source of noise.

    Named members have A = [[alpha, 1], [0, gamma]] and G = D Q^(1/2) (Young 2012): the smoothed random walk: gamma = 1
    and noise on the second state only, with alpha from 0 (random walk) to 1 (integrated); the local linear trend:
    alpha = gamma = 1 and noise on both; the damped trend: gamma < 1 besides.

    Raises:
        InvalidMethod: if some state is unobservable from y.
    """

    A: Matrix
    G: Matrix

    def __post_init__(self) -> None:
        diagonal, beside = np.diag(self.A), np.diag(self.A, 1)
        if np.any(diagonal <= 0) or np.any(beside == 0) or np.any(np.tril(self.A, -1)):
            raise InvalidMethod(
                "a random walk needs alpha > 0, gamma > 0 and beta != 0 (Eq. 12), or a state is unobservable; the "
                "walk of a single state is GeneralizedRandomWalk.integrated(1)"
            )
        if not np.any(self.G):
            raise InvalidMethod(
                "a random walk needs a source of noise: delta and Q11, or kappa and Q22, not zero"
            )

    @classmethod
    def integrated(cls, order: int) -> GeneralizedRandomWalk:
        """White noise summed `order` times: 1 random walk, 2 IRW (Eq. 12), 3 the IRWSM 2 of Eq. 23."""
        return cls(np.eye(order) + np.eye(order, k=1), np.eye(order)[:, -1:])

    @property
    def states(self) -> int:
        """n_x."""
        return len(self.A)

    def spectrum(self, omega: float) -> float:
        """p(omega) = |h (e^{i omega} - A)^-1 G|^2 at a ratio of 1; decreasing on 0 < omega <= pi [rad/sample]."""
        response = np.linalg.solve(np.exp(1j * omega) * np.eye(self.states) - self.A, self.G)[0]
        return float(np.sum(np.abs(response) ** 2))


def nvr_for_cutoff(model: GeneralizedRandomWalk, cutoff_hz: float, rate_hz: float) -> float:
    """The noise variance ratio whose smoother passes 1/sqrt(2) (-3 dB) of a motion at `cutoff_hz`.

    Raises InvalidMethod if the cutoff is not between 0 and the Nyquist frequency.
    """
    if not 0 < cutoff_hz <= rate_hz / 2:
        raise InvalidMethod(
            f"cutoff_hz = {cutoff_hz:g} must lie between 0 and the Nyquist frequency {rate_hz / 2:g} Hz"
        )
    return HALF_POWER / model.spectrum(2 * math.pi * cutoff_hz / rate_hz)


def cutoff_hz(model: GeneralizedRandomWalk, nvr: float, rate_hz: float) -> float:
    """Frequency at which the smoother's gain is 1/sqrt(2) (-3 dB) far from the ends, at most the Nyquist frequency."""
    from scipy.optimize import brentq

    def excess(log_omega: float) -> float:
        return nvr * model.spectrum(math.exp(log_omega)) - HALF_POWER

    # in log omega: the spectrum falls as omega^-2n, and brentq needs an equation that is nearly linear
    low, high = math.log(1e-12), math.log(math.pi)
    if excess(low) < 0:
        return 0.0
    log_omega = high if excess(high) > 0 else brentq(excess, low, high)
    return math.exp(log_omega) * rate_hz / (2 * math.pi)


@dataclass(frozen=True, eq=False)
class SmoothedStates:
    """States given all samples, with their covariance under the model.

    Args:
        states: (T, n, n_x), per sample: x, Delta x, Delta^2 x, ... in the unit of y. Delta x(k), a forward difference,
            belongs half a sample after t_k, Delta^2 x(k) a whole one; `differentiate` centres them.
        noise_variance: (n,) sigma_e^2 of each column (Eq. 22).
        log_likelihood: (n,) concentrated, diffuse log-likelihood given NVR, at the best sigma_e^2, for a flat x_0.
        unit_covariance: (groups, T, n_x, n_x) at sigma_e^2 = 1: columns with the same NVR and gaps share one.
        group: (n,) index of each column's covariance.
    """

    states: np.ndarray
    noise_variance: np.ndarray
    log_likelihood: np.ndarray
    unit_covariance: np.ndarray
    group: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """(T, n, n_x, n_x), P* of Eq. 21."""
        return self.noise_variance[:, None, None] * np.moveaxis(self.unit_covariance, 0, 1)[:, self.group]


def smooth(
    y: JointSamples, model: GeneralizedRandomWalk, nvr: float | np.ndarray, valid: np.ndarray | None = None
) -> SmoothedStates:
    """Fixed-interval smoother of Eqs. 13-22 with a flat prior on x_0.

    Args:
        y: (T, n) measurements, uniformly sampled, any unit.
        model: the walk.
        nvr: scalar or (n,), >= 0: variance of its noise over sigma_e^2. 0 fits one solution of x_{k+1} = A x_k.
        valid: (T,) or (T, n), True where y is measured; gaps are bridged. None: everywhere.

    Each state is accurate to 1e-10 of its largest value for NVR from 1e-24 to 1e8 and orders 1 to 3: measured against
    arithmetic of 60 digits on 34 000 samples.

    Raises:
        InvalidMethod: if an NVR is negative or not finite.
        InvalidSignals: if valid samples are not finite, or too few.
    """
    y, valid = checked_samples(y, model, valid)
    T, n = y.shape
    states, log_likelihood = np.empty((T, n, model.states)), np.empty(n)
    noise_variance, group = np.empty(n), np.empty(n, dtype=int)
    unit_covariance: list[np.ndarray] = []
    for ratio, mask, columns in _groups(nvr, valid):
        factor = _Factor.of(model, ratio, mask)
        u, s, noise_variance[columns], log_likelihood[columns] = factor.eliminate(y[:, columns])
        x = np.empty((T, len(columns), model.states))
        x[0] = np.linalg.solve(factor.S, s).T
        _propagate_states(factor.F, factor.B, factor.stage, u, x)
        states[:, columns], group[columns] = x, len(unit_covariance)
        # by group, not by column: (T, n_x, n_x) is the largest array here
        unit_covariance.append(factor.covariance())
    return SmoothedStates(states, noise_variance, log_likelihood, np.array(unit_covariance), group)


def log_likelihood(
    y: JointSamples, model: GeneralizedRandomWalk, nvr: float | np.ndarray, valid: np.ndarray | None = None
) -> np.ndarray:
    """(n,) log-likelihood as in `SmoothedStates`, without computing the states; arguments as in `smooth`."""
    y, valid = checked_samples(y, model, valid)
    result = np.empty(y.shape[1])
    for ratio, mask, columns in _groups(nvr, valid):
        *_, result[columns] = _Factor.of(model, ratio, mask).eliminate(y[:, columns])
    return result


def checked_samples(
    y: np.ndarray, model: GeneralizedRandomWalk, valid: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    if valid is None:
        valid = np.ones(len(y), dtype=bool)
    valid = np.broadcast_to(valid.reshape(len(y), -1), y.shape)
    if np.any(np.count_nonzero(valid, axis=0) <= model.states):
        raise InvalidSignals(
            f"a random walk of {model.states} states needs at least {model.states + 1} valid samples"
        )
    y = np.where(valid, y, 0.0)
    if not np.isfinite(y).all():
        row, column = np.argwhere(~np.isfinite(y))[0]
        raise InvalidSignals(f"column {column} is not finite at sample {row}: mark it in `valid`")
    return y, valid


def _groups(nvr: float | np.ndarray, valid: np.ndarray) -> Iterator[tuple[float, np.ndarray, list[int]]]:
    """Columns that share one factorization: NVR, (T,) mask and their indices."""
    ratios = np.broadcast_to(np.asarray(nvr, dtype=float), valid.shape[1:])
    if not (np.isfinite(ratios).all() and np.all(ratios >= 0)):
        raise InvalidMethod(f"the noise variance ratio must be finite and not negative, not {nvr}; try 1e-5")
    # joints of one recording have one clock, most often one ratio and no gaps: one factorization for all
    groups: dict[tuple[float, bytes], list[int]] = {}
    for column, ratio in enumerate(ratios.tolist()):
        groups.setdefault((ratio, valid[:, column].tobytes()), []).append(column)
    for (ratio, _), columns in groups.items():
        yield ratio, np.ascontiguousarray(valid[:, columns[0]]), columns


@dataclass(frozen=True, eq=False)
class _Factor:
    """The banded QR factor: matrices of the distinct stages, and which stage each sample has."""

    F: np.ndarray
    B: np.ndarray
    rotations: np.ndarray
    stage: np.ndarray
    S: np.ndarray
    log_determinant: float
    residuals: int

    @classmethod
    def of(cls, model: GeneralizedRandomWalk, nvr: float, valid: np.ndarray) -> _Factor:
        A, G = model.A, math.sqrt(nvr) * model.G
        n_x, m = G.shape
        stages, stage = _triangularize(A, G, valid)
        U, V, S = stages[:, :m, :m], stages[:, :m, m : m + n_x], stages[-1, m : m + n_x, m : m + n_x]
        log_det_U = np.log(np.diagonal(U, axis1=1, axis2=2)).sum(axis=1)
        return cls(
            # U is triangular and at least 1 on its diagonal, as the rows of eta_k are unit vectors
            F=A - G @ np.linalg.solve(U, V),
            B=G @ np.linalg.inv(U),
            rotations=np.ascontiguousarray(stages[:, :, m + n_x :]),
            stage=stage,
            S=S,
            log_determinant=float(log_det_U[stage].sum() + np.log(np.abs(np.diagonal(S))).sum()),
            residuals=int(np.count_nonzero(valid)) - n_x,
        )

    def eliminate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Right-hand sides u (T, m, n) and s_0 (n_x, n), sigma_e^2 (n,) and log L (n,)."""
        u, s, r2 = _rotate(self.rotations, self.stage, np.ascontiguousarray(y))
        variance = r2 / self.residuals
        # the residuals of an exact fit are rounding errors, not noise
        rounding = (100 * np.finfo(float).eps * np.abs(y).max(axis=0)) ** 2 + np.finfo(float).tiny
        scatter = np.log(2 * np.pi * np.maximum(variance, rounding)) + 1
        log_L = -self.residuals / 2 * scatter - self.log_determinant
        return u, s, variance, log_L

    def covariance(self) -> np.ndarray:
        """P (T, n_x, n_x)."""
        root = np.linalg.inv(self.S)
        P = np.empty((len(self.stage), *root.shape))
        P[0] = root @ root.T
        _propagate_covariances(self.F, self.B @ self.B.transpose(0, 2, 1), self.stage, P)
        return P


@njit(cache=True)
def _triangularize(A, G, valid):
    """Stages [U V | Q_s Q_y; 0 S' | ...; 0 0 | ...]; Q^T = [... Q_s ... Q_y] are the rotations applied to s and y."""
    T = len(valid)
    n_x, m = G.shape
    rows, pivots, columns = n_x + m + 1, m + n_x, m + 2 * n_x + 1
    stages, stage = np.empty((T, rows, columns)), np.empty(T, np.int64)
    S = np.zeros((n_x, n_x))
    count, settled = 0, False
    for k in range(T - 1, -1, -1):
        # a gap is another stage: the recursion has to converge again after it
        if not (settled and valid[k] == valid[k + 1]):
            M = stages[count]
            M[:] = 0.0
            for i in range(n_x):
                for l in range(i, n_x):
                    for j in range(m):
                        M[i, j] += S[i, l] * G[l, j]
                    for j in range(l, n_x):
                        M[i, m + j] += S[i, l] * A[l, j]
                M[i, pivots + i] = 1.0
            for i in range(m):
                M[n_x + i, i] = 1.0
            if valid[k]:
                M[rows - 1, m] = M[rows - 1, columns - 1] = 1.0
            for j in range(pivots):
                for i in range(j + 1, rows):
                    # most entries below the diagonal are zero from the start
                    if M[i, j] != 0.0:
                        # positive, so that S keeps its sign and can converge
                        radius = math.hypot(M[j, j], M[i, j])
                        c, s = M[j, j] / radius, M[i, j] / radius
                        for l in range(j, columns):
                            upper, lower = M[j, l], M[i, l]
                            M[j, l] = c * upper + s * lower
                            M[i, l] = c * lower - s * upper
            settled = True
            for i in range(n_x):
                for j in range(i, n_x):
                    new = M[m + i, m + j]
                    # relative to the diagonal, to rounding: S converges, and later stages repeat this one
                    settled = settled and abs(new - S[i, j]) <= 4e-16 * M[m + j, m + j]
                    S[i, j] = new
            count += 1
        stage[k] = count - 1
    return stages[:count].copy(), stage


@njit(cache=True)
def _rotate(rotations, stage, y):
    """[u; s'; r] = Q^T [s; 0; y] from the last sample to the first: u, s_0 and the sum of r^2."""
    T, n = y.shape
    n_x = rotations.shape[2] - 1
    m = rotations.shape[1] - n_x - 1
    u, s, r2 = np.empty((T, m, n)), np.zeros((n_x, n)), np.zeros(n)
    rotated = np.empty(m + n_x + 1)
    for k in range(T - 1, -1, -1):
        Q = rotations[stage[k]]
        for j in range(n):
            for i in range(m + n_x + 1):
                rotated[i] = Q[i, n_x] * y[k, j]
                for l in range(n_x):
                    rotated[i] += Q[i, l] * s[l, j]
            for i in range(m):
                u[k, i, j] = rotated[i]
            for i in range(n_x):
                s[i, j] = rotated[m + i]
            r2[j] += rotated[m + n_x] * rotated[m + n_x]
    return u, s, r2


@njit(cache=True)
def _propagate_states(F, B, stage, u, x):
    """x_{k+1} = F x_k + B u_k, filling x after x_0."""
    T, n, n_x = x.shape
    m = u.shape[1]
    for k in range(T - 1):
        F_k, B_k = F[stage[k]], B[stage[k]]
        for j in range(n):
            for i in range(n_x):
                total = 0.0
                for l in range(n_x):
                    total += F_k[i, l] * x[k, j, l]
                for l in range(m):
                    total += B_k[i, l] * u[k, l, j]
                x[k + 1, j, i] = total


@njit(cache=True)
def _propagate_covariances(F, BB, stage, P):
    """P_{k+1} = F P_k F^T + B B^T, filling P after P_0."""
    T, n_x, _ = P.shape
    FP = np.empty((n_x, n_x))
    for k in range(T - 1):
        F_k, BB_k = F[stage[k]], BB[stage[k]]
        for i in range(n_x):
            for j in range(n_x):
                FP[i, j] = 0.0
                for l in range(n_x):
                    FP[i, j] += F_k[i, l] * P[k, l, j]
        for i in range(n_x):
            for j in range(i + 1):
                total = BB_k[i, j]
                for l in range(n_x):
                    total += FP[i, l] * F_k[j, l]
                P[k + 1, i, j] = P[k + 1, j, i] = total
