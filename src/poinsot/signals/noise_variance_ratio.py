"""Maximum-likelihood noise variance ratio of a random walk, with a verdict (Brunot et al. 2017, Sect. 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np

from ..arrays import JointSamples
from ..ranges import Positive
from .bandwidth import encoder_step
from .random_walk import (
    GeneralizedRandomWalk,
    checked_samples,
    cutoff_hz,
    log_likelihood,
    nvr_for_cutoff,
    smooth,
)

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
    rounding = np.array([encoder_step(y[valid[:, j], j]) for j in range(y.shape[1])]) / math.sqrt(12)
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
