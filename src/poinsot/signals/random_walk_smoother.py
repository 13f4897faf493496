"""Velocity and acceleration by integrated random walks: IRWSM 1 and IRWSM 2 (Brunot et al. 2017, Sects. 3, 4.1).

Maximum-likelihood noise variance ratio of a random walk, with a verdict (Brunot et al. 2017, Sect. 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Literal

import numpy as np

from ..arrays import JointSamples
from ..exceptions import InvalidMethod, InvalidSignals
from ..ranges import Positive, check_ranges
from ..recording import Recording
from ..statistics import grid_step
from .bandwidth import cutoff_for_ratio, ratio_for_cutoff, span_text, too_narrow
from .low_pass import FilterOrder, check_below_nyquist
from .random_walk import (
    GeneralizedRandomWalk,
    SmoothedStates,
    checked_samples,
    cutoff_hz,
    log_likelihood,
    nvr_for_cutoff,
    smooth,
)
from .signals import Signals, finish, unsmoothed

LEAST_NOISE = 0.9
"""Rounding to steps of d has a standard deviation of d / sqrt(12); below this part of it smoothers follow steps."""

BOUND_DECADES = 0.01
"""An optimum within this distance [decades] of a bound of the search is at the bound."""


class RatioVerdict(Enum):
    """Verdict on a maximum-likelihood noise variance ratio; the value is a sentence with advice."""

    credible = "The noise variance ratio is determined by the data."
    undetermined = (
        "The record is too short to determine the ratio to a decade; add a prior, or give cutoff_hz in "
        "place of the ratio."
    )
    at_lower_bound = (
        "The likelihood still rises at the lowest cutoff: the data look like a polynomial; move more."
    )
    at_upper_bound = (
        "The likelihood still rises at the highest cutoff: noise is treated as motion; give cutoff_hz in "
        "place of the ratio."
    )
    below_quantization = (
        "The residual is smaller than the rounding of the samples: the smoother follows the encoder's steps; give "
        "cutoff_hz in place of the ratio."
    )
    wide = (
        "The smoother passes more than highest_cutoff: it follows noise that is not white, or motion smoother than the "
        "walk; give cutoff_hz in place of the ratio, or raise highest_cutoff if the mechanism is that fast."
    )


@dataclass(frozen=True)
class LogNormalPrior:
    """log10 NVR ~ N(log10 median, decades^2).

    A prior matters where a recording is short. With thousands of samples it has little effect, even where the model is
    wrong and the walk follows noise; the verdict reports that.
    """

    median: Positive
    decades: Positive

    def log_density(self, log10_nvr: float | np.ndarray) -> float | np.ndarray:
        """Log density of log10 NVR, up to a constant."""
        return -(((log10_nvr - math.log10(self.median)) / self.decades) ** 2) / 2


@dataclass(frozen=True, eq=False)
class NoiseVarianceRatio:
    """Maximum-likelihood estimate, column by column.

    Args:
        nvr: (n,).
        log10_std: (n,) standard deviation of log10 NVR from the curvature of the likelihood; inf without curvature.
        log_likelihood: (n,) as `SmoothedStates.log_likelihood`, without the prior.
        noise_std: (n,) sigma_e in the unit of y.
        cutoff: (n,) -3 dB frequency of the smoother as a fraction of the Nyquist frequency. verdict: one a column.
    """

    nvr: np.ndarray
    log10_std: np.ndarray
    log_likelihood: np.ndarray
    noise_std: np.ndarray
    cutoff: np.ndarray
    verdict: tuple[RatioVerdict, ...]


def maximum_likelihood_nvr(
    y: JointSamples,
    model: GeneralizedRandomWalk,
    *,
    valid: np.ndarray | None = None,
    prior: LogNormalPrior | None = None,
    search: tuple[float, float] = (3e-4, 0.5),
    max_cutoff: float = 0.04,
) -> NoiseVarianceRatio:
    """Estimate the NVR by maximum likelihood (Brunot et al. 2017, Sect. 3.3), with a verdict per column.

    Args:
        y: (T, n) measurements, uniformly sampled, any unit. model: the walk.
        valid: (T,) or (T, n), True where y is measured. prior: added to the likelihood.
        search: lowest and highest cutoff of the smoother, as fractions of the Nyquist frequency.
        max_cutoff: highest credible cutoff. Robots are usually sampled at 100 times the highest mode that matters and
            filtered at 2 to 10 times that mode (Sect. 2.3), which is 0.04 to 0.2; raise it where sampling is slower.

    Raises InvalidSignals if valid samples are not finite, or too few.
    """
    y, valid = checked_samples(y, model, valid)
    lower, upper = (math.log10(nvr_for_cutoff(model, cutoff, 2.0)) for cutoff in search)
    # the likelihood may have several maxima, of motion and of coloured noise: a coarse grid brackets the highest
    grid = np.linspace(lower, upper, math.ceil((upper - lower) / 1.5) + 1)

    def score(log10_nvr: float, columns: slice = slice(None)) -> np.ndarray:
        """(n,) log-likelihood plus log-prior."""
        value = log_likelihood(y[:, columns], model, 10**log10_nvr, valid[:, columns])
        return value if prior is None else value + prior.log_density(log10_nvr)

    coarse = np.array([score(g) for g in grid])
    log10_nvr, log10_std = np.empty((2, y.shape[1]))
    for j in range(y.shape[1]):
        log10_nvr[j], log10_std[j] = _maximum(partial(score, columns=slice(j, j + 1)), grid, coarse[:, j])
    smoothed = smooth(y, model, 10**log10_nvr, valid)
    noise_std = np.sqrt(smoothed.noise_variance)
    cutoff = np.array([cutoff_hz(model, ratio, rate_hz=2.0) for ratio in 10**log10_nvr])
    rounding = np.array([grid_step(y[valid[:, j], j]) for j in range(y.shape[1])]) / math.sqrt(12)
    # bounds first: there a curvature has no meaning
    conditions = {
        RatioVerdict.at_upper_bound: upper - log10_nvr < BOUND_DECADES,
        RatioVerdict.at_lower_bound: log10_nvr - lower < BOUND_DECADES,
        RatioVerdict.undetermined: log10_std > 1,
        RatioVerdict.below_quantization: noise_std < LEAST_NOISE * rounding,
        RatioVerdict.wide: cutoff > max_cutoff,
        RatioVerdict.credible: np.ones(len(log10_nvr), dtype=bool),
    }
    verdict = tuple(
        next(candidate for candidate, holds in conditions.items() if holds[j]) for j in range(len(log10_nvr))
    )
    return NoiseVarianceRatio(10**log10_nvr, log10_std, smoothed.log_likelihood, noise_std, cutoff, verdict)


def _maximum(f: Callable[[float], np.ndarray], grid: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Maximizer of f (a vector of one), and 1/sqrt(-f'') there; `values` are f on the grid."""
    best = int(np.argmax(values))
    bracket = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    from scipy.optimize import minimize_scalar

    optimum = minimize_scalar(lambda x: -f(x)[0], bounds=bracket, method="bounded", options={"xatol": 1e-3})
    # a tenth of a decade: wider than the optimizer's tolerance, narrower than the maximum
    x, h = float(optimum.x), 0.1
    curvature = float((f(x + h) - 2 * f(x) + f(x - h))[0]) / h**2
    return x, 1 / math.sqrt(-curvature) if curvature < 0 else math.inf


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Position and its time derivatives at the sample times.

    Args:
        q, v, a: (T, n) [unit of y], [unit/s], [unit/s^2].
        covariance: (T, n, 3, 3) of (q, v, a), defined in `differentiate`.
        noise_variance: (n,) sigma_e^2 of the measurement.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    covariance: np.ndarray
    noise_variance: np.ndarray

    @property
    def std(self) -> np.ndarray:
        """(T, n, 3) standard deviations of q, v and a."""
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))


def differentiate(y: JointSamples, rate_hz: float, *, order: int, nvr: float | np.ndarray) -> Derivatives:
    """Differentiate measured positions twice (Brunot et al. 2017, Sect. 4.1).

    order 2, IRWSM 1: the integrated random walk twice, from position to velocity and from velocity to acceleration. Its
    covariance is that of the measurement noise after both passes, computed from the response to an impulse in the
    middle of the record: the scatter between repetitions of one motion. It does not contain the larger values near the
    ends, nor the smoothing error of the motion, for which the walk of order 2, whose acceleration is white, has no
    bound. sigma_e^2 is the variance that the first pass rejects: Eq. 22 at a given NVR would count motion that is
    unlikely under the walk as noise.

    order 3, IRWSM 2: the walk of order 3 once. Its covariance is that of the state given all samples (Eqs. 21, 22), at
    every sample; it contains the ends and the smoothing error.

    The forward differences Delta x(k), Delta^2 x(k) of the model belong to t_k + dt/2 and t_k + dt. Here they are
    centred on the sample: v = (x_{k+1} - x_{k-1}) / (2 dt) and, for order 3, a = (x_{k+1} - 2 x_k + x_{k-1}) / dt^2.

    Args:
        y: (T, n) positions, uniformly sampled. rate_hz: sampling rate. order: 2 or 3.
        nvr: scalar or (n,), for both passes; 1e-5 at 5 kHz in Brunot et al..

    Raises:
        InvalidMethod: if the order is not 2 or 3, or an NVR is negative or not finite.
        InvalidSignals: if samples are not finite, or too few.
    """
    if order not in (2, 3):
        raise InvalidMethod(f"differentiation needs a walk of order 2 (IRWSM 1) or 3 (IRWSM 2), not {order}")
    q_v_a, covariance, noise_variance = (_twice if order == 2 else _once)(y, nvr)
    scale = rate_hz ** np.arange(3)
    q, v, a = np.moveaxis(q_v_a * scale, -1, 0)
    return Derivatives(q, v, a, covariance * np.outer(scale, scale), noise_variance)


def _once(y: np.ndarray, nvr: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a per sample: x_{k-1}, x_k and x_{k+1} follow from the state at k - 1 without noise."""
    # from states before k: x_k = x + Dx, and the central difference (x_{k+1} - x_{k-1}) / 2 = Dx + D2x / 2
    C = np.array([[1, 1, 0], [0, 1, 0.5], [0, 0, 1]])
    smoothed = _smooth_from_before(y, 3, nvr)
    P = (C @ smoothed.unit_covariance[:, :-1] @ C.T).swapaxes(0, 1)[:, smoothed.group]
    return smoothed.states[:-1] @ C.T, smoothed.noise_variance[:, None, None] * P, smoothed.noise_variance


def _twice(y: np.ndarray, nvr: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a per sample, each derivative the mean of the forward differences on both sides."""
    ratios, group = np.unique(np.broadcast_to(nvr, y.shape[1:]), return_inverse=True)
    impulse = np.zeros((len(y), len(ratios)))
    impulse[len(y) // 2] = 1.0
    q_v_a, response = _two_passes(y, nvr), _two_passes(impulse, ratios)
    # trace of (1 - H)^T (1 - H) per sample, H the smoother: far from the ends it is a convolution
    rejected = np.sum((impulse - response[..., 0]) ** 2, axis=0)[group]
    noise_variance = np.mean((y - q_v_a[..., 0]) ** 2, axis=0) / rejected
    P = np.einsum("tgi, tgj -> gij", response, response)[group]
    covariance = np.broadcast_to(noise_variance[:, None, None] * P, (*y.shape, 3, 3))
    return q_v_a, covariance, noise_variance


def _two_passes(y: np.ndarray, nvr: float | np.ndarray) -> np.ndarray:
    """(T, n, 3) q, v, a."""
    position = _smooth_from_before(y, 2, nvr).states
    # forward differences refer to half a sample later: the mean of two is centred
    v = (position[1:, :, 1] + position[:-1, :, 1]) / 2
    velocity = _smooth_from_before(v, 2, nvr).states
    a = (velocity[1:, :, 1] + velocity[:-1, :, 1]) / 2
    return np.stack([position[1:, :, 0], v, a], axis=-1)


def _smooth_from_before(y: np.ndarray, order: int, nvr: float | np.ndarray) -> SmoothedStates:
    """Smooth the samples with one missing sample put before the first."""
    # with one sample before the first, each sample has a forward difference on either side
    measured = np.arange(-1, len(y)) >= 0
    return smooth(np.concatenate([y[:1], y]), GeneralizedRandomWalk.integrated(order), nvr, measured)


PAPER_RATIO = 1e-5
"""The noise variance ratio of Brunot et al. (2017, Sect. 4.3), for a robot sampled at 5 kHz."""

LOWEST_CUTOFF = 3e-4
"""Lower bound of the maximum-likelihood search, as a fraction of the Nyquist frequency."""

SETTLED = {2: 6.64, 3: 4.61}
"""Time constants until a transient has decayed to 1 %: (1 + x) e^-x = 0.01 if it is smoothed twice, e^-x if once."""


@dataclass(frozen=True)
class RandomWalkSmoother:
    """Integrated-random-walk smoother: q, v, a with their standard deviations from noisy positions.

    The ratio is a bandwidth *in samples*: 1e-5 smooths like a cutoff of 33 Hz at 5 kHz, but of 0.7 Hz at 100 Hz. Take
    `cutoff_hz` from `propose_filters` where the rate is not 5 kHz, or where the result must not depend on it.
    Maximum likelihood needs neither, but it treats coloured noise (encoders read late, steps) as motion: read the
    warnings. A cutoff below twice the bandwidth of the motion gives a warning, too.

    Args:
        order: 2: the walk of order 2 applied twice (IRWSM 1); 3: the walk of order 3 once (IRWSM 2).
        ratio: noise variance ratio, one for all or one a joint, or `"maximum-likelihood"`.
        highest_cutoff: upper bound of the search for the ratio, as the smoother's cutoff over the Nyquist frequency.
        prior: prior of the ratio for maximum likelihood; None: none.
        decimate_hz, decimation_order, cut_edges, window_s: as in `ButterworthDecimation`.
        cutoff_hz: instead of a ratio: smooth like a `ButterworthDecimation` of this cutoff, one for all or one a joint.

    The standard deviations are those of `differentiate`: for order 2 the propagated measurement noise, for order 3
    the posterior of the walk.

    Source: Brunot et al. (2017), Sect. 3 and 4.1.
    """

    order: Literal[2, 3] = 2
    ratio: float | Sequence[float] | Literal["maximum-likelihood"] = PAPER_RATIO
    highest_cutoff: float = 0.5
    prior: LogNormalPrior | None = None
    decimate_hz: Positive | None = None
    decimation_order: FilterOrder = 8
    cut_edges: bool = True
    window_s: tuple[float, float] | None = None
    cutoff_hz: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_ranges(self)
        if isinstance(self.ratio, str) and self.ratio != "maximum-likelihood":
            raise InvalidMethod(
                f"ratio must be a number, one a joint, or 'maximum-likelihood', not {self.ratio!r}"
            )
        if not LOWEST_CUTOFF < self.highest_cutoff <= 1:
            raise InvalidMethod(
                f"highest_cutoff must lie between {LOWEST_CUTOFF:g} and 1, not {self.highest_cutoff:g}"
            )
        # the default ratio counts as not given: a dataclass cannot distinguish the two
        if self.cutoff_hz is not None and not (isinstance(self.ratio, float) and self.ratio == PAPER_RATIO):
            raise InvalidMethod("give ratio or cutoff_hz, not both: each sets the bandwidth")

    def apply(self, recording: Recording) -> Signals:
        """Smooth the positions and attach the efforts.

        Raises:
            InvalidSignals: if the clock is not uniform, samples are marked invalid, or the recording is too short.
            InvalidMethod: if ratios or cutoffs are not positive, or not one per joint.
        """
        raw = unsmoothed(recording, self)
        p, joints, rate_hz = raw.q, raw.joints, recording.rate_hz
        ratio, how, warnings = self._ratio(p, joints, rate_hz)
        smoothed = differentiate(p, rate_hz, order=self.order, nvr=ratio)
        cutoffs = np.array([cutoff_for_ratio(value, rate_hz, self.order) for value in ratio.tolist()])
        step = (
            f"integrated random walk of order {self.order}{' applied twice' if self.order == 2 else ''} with noise "
            f"variance ratio {how}: accelerations smoothed as by a Butterworth filter at {span_text(cutoffs)} Hz"
        )
        q_std, v_std, a_std = np.moveaxis(smoothed.std, -1, 0)
        signals = replace(
            raw, q=smoothed.q, v=smoothed.v, a=smoothed.a, q_std=q_std, v_std=v_std, a_std=a_std,
            steps=(*raw.steps, step), warnings=(*warnings, *too_narrow(joints, p, rate_hz, cutoffs)),
        )  # fmt: skip
        # the smallest ratio has the longest transient, and all joints are cut alike
        edge = settling_samples(float(ratio.min()), self.order) if self.cut_edges else 0
        if len(p) < 2 * edge + 2:
            raise InvalidSignals(
                f"{len(p)} samples at {rate_hz:g} Hz are too few for a random walk with a cutoff of "
                f"{span_text(cutoffs)} Hz: at least {2 * edge + 2} are needed; raise the ratio or record longer"
            )
        return finish(signals, edge)

    def _ratio(
        self, p: JointSamples, joints: tuple[str, ...], rate_hz: float
    ) -> tuple[np.ndarray, str, tuple[str, ...]]:
        """(n,) ratios, their origin in words, and warnings."""
        if self.cutoff_hz is not None:
            cutoffs = _one_per_joint("cutoff_hz", self.cutoff_hz, joints)
            check_below_nyquist("cutoff_hz", float(cutoffs.max()), rate_hz)
            ratio = np.array([ratio_for_cutoff(cutoff, rate_hz, self.order) for cutoff in cutoffs.tolist()])
            return ratio, f"{span_text(ratio)}, for cutoff_hz = {span_text(cutoffs)}", ()
        if isinstance(self.ratio, str):
            estimate = self.maximum_likelihood(p)
            doubts = tuple(
                f"noise variance ratio of {joint} by maximum likelihood ({nvr:.2g}): {verdict.value}"
                for joint, nvr, verdict in zip(joints, estimate.nvr, estimate.verdict, strict=True)
                if verdict is not RatioVerdict.credible
            )
            return estimate.nvr, f"{span_text(estimate.nvr)} by maximum likelihood", doubts
        ratio = _one_per_joint("ratio", self.ratio, joints)
        return ratio, span_text(ratio), ()

    def maximum_likelihood(self, p: JointSamples) -> NoiseVarianceRatio:
        """The ratios of (T, n) positions by maximum likelihood, with a verdict on each."""
        return maximum_likelihood_nvr(
            p,
            GeneralizedRandomWalk.integrated(self.order),
            prior=self.prior,
            search=(LOWEST_CUTOFF, self.highest_cutoff),
        )


def settling_samples(ratio: float, order: int) -> int:
    """Number of samples until the smoother's slowest transient has decayed to 1 %.

    Far from the ends the normal equations are (1 + D^T D / ratio) x = y with the differences D of this order, whose
    solutions without y are z^k, (2 - z - 1/z)^order = -ratio.
    """
    w = ratio ** (1 / order) * np.exp(1j * np.pi * (2 * np.arange(order) + 1) / order)
    # both roots z and 1 / z solve it; the smaller one decays forwards
    z = 1 - w / 2 + np.sqrt(w**2 / 4 - w)
    slowest = np.max(np.minimum(np.abs(z), 1 / np.abs(z)))
    return int(np.ceil(SETTLED[order] / -np.log(slowest)))


def _one_per_joint(name: str, values: float | Sequence[float], joints: tuple[str, ...]) -> np.ndarray:
    """(n,) positive numbers from one for all joints, or one for each."""
    array = np.asarray(values, dtype=float)
    if array.ndim and array.shape != (len(joints),):
        raise InvalidMethod(
            f"{array.size} values of {name} for {len(joints)} joints; give one for all or one for each"
        )
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise InvalidMethod(f"{name} must be positive and finite, not {values}")
    return np.broadcast_to(array, len(joints)).copy()
