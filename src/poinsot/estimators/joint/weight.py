"""The weight of the model against the readings, from the recordings themselves (Lacoursiere leaves kappa to the user).

By likelihood, then by prediction, as docs/concepts/joint_smoothing.md says; both on the linearization of one fit for a
whole grid of weights (`other_weights`). Each fit starts from another one, the first with the weight of the residuals of
the initial guess: this weight is low, and fits from a far initial guess converge with it.

**Other weights** take no other fit. Linearized along the fit's motion, with residuals p of steps and e of readings
[standard deviations], changes of states and of theta, c = (d_theta, 1), follow

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

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Bool, Float, Vector
from ...exceptions import InvalidMethod
from ...solve import ProgressCallback, Stop, report, stop_requested
from .linearization import RecordLinearization
from .prediction import window_errors
from .problem import LARGEST_PART, JointFit, JointSmoothingProblem, horizon_of
from .sensitivity import RIDGE, UNOBSERVABLE
from .smoothing import Doubt, JointIterate, JointSmoothing, RecordEquations

DIFFUSE = 1e2
"""Variance of the change of a first state [rad^2], [m^2], and of its rates: far above that of any reading."""
OVERLAP = 4
"""Windows begin a quarter of one apart: their errors are averaged over more first states."""
Tangents = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""F, G, B^-1, whether the next state is unknown, H and E of one record, (N, ...) each."""


def _tangents(at: RecordLinearization, rows: int) -> Tangents:
    columns = np.concatenate([at.by_theta, at.e[:, :, None]], axis=2)
    B, unknown = at.by_next[:, :rows].copy(), ~np.asarray(at.there)[:, 0]
    B[unknown] = np.eye(B.shape[1])  # no step follows the last state, and steps at end stops have no errors
    inverse = np.linalg.inv(B)
    F, G = -inverse @ at.by_x[:, :rows], -inverse @ columns[:, :rows]
    return (
        F,
        G,
        inverse,
        unknown,
        np.ascontiguousarray(at.by_x[:, rows:]),
        np.ascontiguousarray(columns[:, rows:]),
    )


def _filtered(
    tangents: Tangents,
    first: tuple[np.ndarray, np.ndarray],
    weights: Vector,
    variances: np.ndarray,
    chosen: Bool[np.ndarray, "N"],
    parts: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(W, K, d, q + 1) states from readings up to each chosen sample, with a column for each entry of c.

    Beside them sums of |Y c|^2 over equal parts, (parts, K, q + 1, q + 1), and of log C, (K,). `first`: (m_0, d) and
    (m_0, q + 1) H and E of errors of the first state, at relative weight 1. `variances`: (K, N, m) of errors of steps.
    """
    F, G, inverse, unknown, H, E = tangents
    (N, d, columns), K = G.shape, len(weights)
    squares, logs, states = np.zeros((parts, K, columns, columns)), np.zeros(K), []
    P, S = np.tile(DIFFUSE * np.eye(d), (K, 1, 1)), np.zeros((K, d, columns))

    def process(H: np.ndarray, E: np.ndarray, part: int) -> None:
        """Update S and its covariance P by readings 0 = H d + E c + v of unit variance."""
        nonlocal P, S
        H_t = H.swapaxes(-1, -2)
        innovation = H @ S + E
        C = H @ P @ H_t + np.eye(H.shape[-2])
        weight = np.linalg.inv(C)
        gain = P @ H_t @ weight
        rest = np.eye(d) - gain @ H
        # Joseph's form, which keeps P positive semidefinite where readings have far more weight than steps
        P, S = rest @ P @ rest.swapaxes(1, 2) + gain @ gain.swapaxes(1, 2), S - gain @ innovation
        squares[part] += innovation.swapaxes(1, 2) @ (weight @ innovation)
        logs[:] += np.linalg.slogdet(C)[1]

    root = np.sqrt(weights)[:, None, None]
    process(root * first[0], root * first[1], 0)
    for k in range(N):
        process(H[k], E[k], k * parts // N)
        if chosen[k]:
            states.append(S)
        S = F[k] @ S + G[k]
        if unknown[k]:
            P = np.tile(DIFFUSE * np.eye(d), (K, 1, 1))
        else:
            P = F[k] @ P @ F[k].T + (inverse[k] * variances[:, k, None]) @ inverse[k].T
    return np.array(states), squares, logs


def other_weights(at: JointIterate, weights: Vector) -> tuple[Vector, Float[np.ndarray, "K W"]]:
    """(K,) log likelihood of weights (K,), and (K, W) `window_errors` of readings predicted from others, by the
    linearization at an iterate, which holds near its own weight.
    """
    equations, theta, relative = at.equations, at.theta, weights / at.equations.method.weight
    own, every = equations.roots(), [equations.roots(weight) for weight in weights.tolist()]
    model, parameters, records = equations.problem.model, equations.parameters, equations.problem.records
    q, parts = len(parameters.open), LARGEST_PART if len(records) == 1 else 1
    filtered = []
    lengths = horizon_of(model, records, model.theta)
    for linearized, T, here, *others in zip(at.linearized, lengths, own, *every, strict=True):
        last, tangents = len(linearized.e) - 1, _tangents(linearized, equations.form.rows)
        starts = np.arange(min(T, last - 1), max(last - T, min(T, last - 1)) + 1, max(T // OVERLAP, 1))
        e, *by = linearized.start or (np.zeros(0), np.zeros((0, linearized.by_x.shape[2])), np.zeros((0, q)))
        first = np.asarray(by[0]), np.column_stack([by[1], e])
        chosen = np.isin(np.arange(last + 1), starts)
        windows = starts, min(T, last - int(starts[-1]))
        m = equations.form.rows
        variances = np.array([(here[:, :m] / other[:, :m]) ** 2 for other in others])
        filtered.append(
            (linearized, tangents, windows, *_filtered(tangents, first, relative, variances, chosen, parts))
        )
    squares, logs = (
        np.stack([row[4] for row in filtered], axis=1),
        np.sum([row[5] for row in filtered], axis=0),
    )

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
    for r, (linearized, (F, G, _, unknown, H, E), (starts, T), states, *_) in enumerate(filtered):
        c, ahead = changes[:, (starts + T // 2) * parts // len(linearized.e), r, :, None], []
        x = states.swapaxes(0, 1) @ c
        for at_once in (starts + k for k in range(T)):
            x = F[at_once] @ x + G[at_once] @ c
            x[:, unknown[at_once]] = np.nan  # no prediction passes a contact
            ahead.append((H[at_once + 1] @ x + E[at_once + 1] @ c)[..., 0])
        error = np.stack(ahead, axis=2) * equations.noise
        if linearized.there is not None:
            error[:, ~linearized.there[starts[:, None] + np.arange(1, T + 1), equations.form.rows :]] = np.nan
        errors.append(error)
    return likely, window_errors(model, records, errors)


@dataclass(frozen=True, eq=False)
class ChosenWeight:
    """A weight and why.

    Args:
        method: method with the weight, and with the reference of its residuals.
        fit: fit of this method.
        likeliest: weight with the largest likelihood of the readings.
        tried: (k,) weights whose predictions were compared, rising. scores: (k,) rms errors of predicted readings,
            relative to the spread of the readings.
        fits: number of fits for the choice.
    """

    method: JointSmoothing
    fit: JointFit
    likeliest: float
    tried: Float[np.ndarray, "k"]
    scores: Float[np.ndarray, "k"]
    fits: int

    @property
    def weight(self) -> float:
        """kappa."""
        return self.method.weight

    @property
    def reason(self) -> str:
        """Why this weight, in sentences."""
        if not len(self.scores):
            return "No weight was compared: the motions of the first fit cannot be linearized."
        own, best = np.abs(np.log(self.tried / self.weight)).argmin(), self.scores.argmin()
        sentence = (
            f"If process noise is white, {self.likeliest:.2g} is the most likely weight. Readings are predicted, from "
            f"states and parameters estimated without them, best with {self.tried[best]:.2g}, to "
            f"{100 * self.scores[best]:.3g} % of their spread"
        )
        if own == best:
            return sentence + "."
        return (
            f"{sentence}; with the chosen {self.weight:.2g} to {100 * self.scores[own]:.3g} %. Of the weights whose "
            "predictions are worse by no more than the standard error of the difference it is the most likely."
        )


@dataclass(frozen=True)
class WeightChoice:
    """Choice of the weight by marginal likelihood and prediction.

    Args:
        rounds: largest number of fits in the search for the most likely weight, and of as many from there.
        step: step of the grid of log10 of the weight. reach: range of the grid from a fit's weight.
        settled: change of log10 of the weight at which the search for the most likely one ends.
        higher: step from a fit to the next one above it, in log10 of the weight: a linearization must hold for half
            of it.
        as_likely: drop of the log likelihood of a 95 % interval (Wilks 1938). Within it the lowest weight is chosen:
            without model errors all large ones are as likely, and fits with low ones converge.
        iterations, tolerance: settings of the fits of the search, see `JointSmoothing`; a linearization needs no more.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    rounds: int = 4
    step: float = 0.5
    reach: float = 3.0
    settled: float = 1.0
    higher: float = 3.0
    as_likely: float = 1.92
    iterations: int = 10
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not (self.rounds >= 1 and self.reach >= self.step > 0):
            raise InvalidMethod("a choice of weights needs rounds >= 1 and reach >= step > 0")

    def choose(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> ChosenWeight:
        """The weight with its fit; if stopped, the last one. Errors are those of `JointSmoothing.solve`."""
        quick = replace(method, tolerance=max(method.tolerance, self.tolerance))
        quick = replace(quick, max_iterations=min(method.max_iterations, self.iterations))
        away = np.arange(-self.reach, self.reach + self.step / 2, self.step)
        # log10 of a weight, that of its fit, its log likelihood, and errors of windows
        rows: list[np.ndarray] = []
        # states, theta and doubt of the fit with a weight, by its log10
        fits: dict[float, tuple[list[np.ndarray], Vector, Doubt | None]] = {}

        latest = RecordEquations(method, problem).start()

        def ended(x: list[np.ndarray], theta: Vector, doubt: Doubt | None) -> JointIterate:
            """Where a fit ended, with its inertia as the reference."""
            equations = RecordEquations(
                replace(method, reference=theta), replace(problem, theta=theta), doubt
            )
            return JointIterate(equations, x, theta)

        def start(at: float) -> JointIterate:
            """Where the fit nearest to the weight 10^at ended, with this weight."""
            nearest = min(fits, key=lambda log_weight: abs(log_weight - at), default=None)
            ends = latest.theta if nearest is None else fits[nearest][1]
            begun = latest if nearest is None or ends is latest.theta else ended(*fits[nearest])
            return begun.weighing(10**at)

        def fit_weight(at: float) -> np.ndarray:
            nonlocal latest
            end = quick.minimize(start(at), stop=stop).at
            fits[at] = end.x, end.theta, end.equations.doubt
            latest = ended(*fits[at])
            likely, errors = other_weights(latest, 10 ** (at + away))
            rows.append(np.column_stack([at + away, np.full(len(away), at), likely, errors]))
            report(progress, "choosing the weight", detail=f"weight {10**at:.3g}")
            return rows[-1]

        at = float(np.log10(latest.own_weight))
        for _ in range(self.rounds):
            grid, before = fit_weight(at), at
            at = self.most_likely(grid)
            if not abs(at - before) > self.settled or stop_requested(stop):
                break
        # with larger weights as likely steps are as good as rigid
        rigid = not grid[-1, 2] <= grid[:, 2].max() - self.as_likely
        likeliest, best = at, grid[len(away) // 2, 3:]
        for _ in range(0 if rigid else self.rounds):
            if stop_requested(stop):
                break
            before += self.higher
            errors = fit_weight(before)[len(away) // 2, 3:]
            known = np.isfinite(errors) & np.isfinite(best)
            if not known.any() or as_good(best[None, known], errors[known])[0]:
                break
            best = errors
        table = np.concatenate(rows)
        # for each weight the values of the nearest fit
        table = table[np.argsort(np.abs(table[:, 0] - table[:, 1]), kind="stable")]
        table = table[np.unique(np.round(table[:, 0] / self.step), return_index=True)[1]]
        errors = table[:, 3:][:, np.isfinite(table[:, 3:]).any(axis=0)]
        usable = np.isfinite(np.c_[table[:, 2], errors]).all(axis=1)
        table, errors, at = table[usable], errors[usable], min(fits)
        if usable.any():  # none is where even the first fit has diverged
            at = self.most_likely(table[as_good(errors, errors[np.argmin(errors.mean(axis=1))])])
        begun = start(at)
        fit = begun.equations.result(begun, method.minimize(begun, stop=stop))
        tried, scores = 10 ** table[:, 0], np.exp(errors.mean(axis=1))
        return ChosenWeight(begun.equations.method, fit, 10**likeliest, tried, scores, len(fits) + 1)

    def most_likely(self, rows: np.ndarray) -> float:
        """log10 of the lowest weight that is as likely as any."""
        finite = rows[np.isfinite(rows[:, 2])]
        near = finite[:, 2] > finite[:, 2].max(initial=-np.inf) - self.as_likely
        return float(finite[near, 0].min()) if len(finite) else float(np.nan)


def as_good(errors: Float[np.ndarray, "K W"], best: Vector) -> Bool[np.ndarray, "K"]:
    """Whether errors of windows exceed others (W,) on average by no more than the standard error of the difference."""
    worse = errors - best
    return np.asarray(worse.mean(axis=1) <= worse.std(axis=1) / np.sqrt(max(len(best) / OVERLAP, 1)))
