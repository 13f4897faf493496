"""Smoothing without knowing the bandwidth: the integrated random walk as a smoother of recordings (seed 002, Sect. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..exceptions import InvalidMethod
from ..recording import Recording
from .differentiation import differentiate
from .noise_variance_ratio import LogNormalPrior, NoiseVarianceRatio, RatioVerdict, maximum_likelihood_nvr
from .preparation import finish, position_and_effort, recording_steps
from .random_walk import GeneralizedRandomWalk, cutoff_hz
from .signals import Signals

PAPER_RATIO = 1e-5
"""The noise variance ratio that seed 002 settles on at 5 kHz (Sect. 4.3)."""


@dataclass(frozen=True)
class RandomWalkSmoother:
    """Integrated-random-walk smoother: q, v, a with their standard deviations from noisy positions.

    Args:
        order: 2: the walk of order 2 applied twice (IRWSM 1); 3: the walk of order 3 once (IRWSM 2).
        ratio: noise variance ratio, one for all or one a joint, or `"maximum-likelihood"`.
        highest_cutoff: upper bound of the search for the ratio, as the smoother's cutoff over the Nyquist frequency.
        prior: of the ratio, where the data should not decide alone.
        decimate_hz, decimation_order, cut_edges, window_s: as in `ButterworthDecimation`.

    Source: seed 002, Sect. 3 and 4.1.
    """

    order: int = 2
    ratio: float | Sequence[float] | Literal["maximum-likelihood"] = PAPER_RATIO
    highest_cutoff: float = 0.5
    prior: LogNormalPrior | None = None
    decimate_hz: float | None = None
    decimation_order: int = 8
    cut_edges: bool = True
    window_s: tuple[float, float] | None = None

    def apply(self, recording: Recording) -> Signals:
        """Smooth the positions and attach the efforts.

        Raises:
            InvalidSignals: if the clock is not uniform, samples are marked invalid, or the recording is too short.
            InvalidMethod: if the order is not 2 or 3, or the ratios are not positive or not one a joint.
        """
        p, joints, effort, tau = position_and_effort(recording)
        ratio, how, warnings = self._ratio(p, joints)
        rate_hz = recording.rate_hz
        smoothed = differentiate(p, rate_hz, order=self.order, nvr=ratio)
        model = GeneralizedRandomWalk.integrated(self.order)
        cutoffs = [cutoff_hz(model, value, rate_hz) for value in np.unique(ratio)]
        step = (
            f"integrated random walk of order {self.order}{' applied twice' if self.order == 2 else ''} "
            f"with noise variance ratio {how}, a low-pass at {_span(cutoffs)} Hz"
        )
        q_std, v_std, a_std = np.moveaxis(smoothed.std, -1, 0)
        signals = Signals(
            recording.time, joints, smoothed.q, smoothed.v, smoothed.a, tau, effort, q_std, v_std, a_std,
            steps=(*recording_steps(recording), step), warnings=warnings,
        )  # fmt: skip
        edge = int(np.ceil(rate_hz / min(cutoffs))) if self.cut_edges else 0
        edge = min(edge, (len(signals) - 2) // 4)
        return finish(signals, edge, self.window_s, self.decimate_hz, self.decimation_order, self.cut_edges)

    def _ratio(self, p: np.ndarray, joints: tuple[str, ...]) -> tuple[np.ndarray, str, tuple[str, ...]]:
        """(n,) ratios, how they came about, and what to think of them."""
        if isinstance(self.ratio, str):
            if self.ratio != "maximum-likelihood":
                raise InvalidMethod(f"ratio must be a number, one a joint, or 'maximum-likelihood', not {self.ratio!r}")
            found = self.maximum_likelihood(p)
            warnings = tuple(
                f"noise variance ratio of {joint} by maximum likelihood ({nvr:.2g}): {verdict.value}"
                for joint, nvr, verdict in zip(joints, found.nvr, found.verdict, strict=True)
                if verdict is not RatioVerdict.credible
            )
            return found.nvr, f"{_span(found.nvr)} by maximum likelihood", warnings
        ratio = np.asarray(self.ratio, dtype=float)
        if ratio.ndim and ratio.shape != (len(joints),):
            raise InvalidMethod(
                f"{ratio.size} noise variance ratios for {len(joints)} joints; give one for all or one for each"
            )
        if not (np.isfinite(ratio).all() and (ratio > 0).all()):
            raise InvalidMethod("noise variance ratios must be positive and finite, e.g. 1e-5")
        return np.broadcast_to(ratio, len(joints)).copy(), _span(np.atleast_1d(ratio)), ()

    def maximum_likelihood(self, p: np.ndarray) -> NoiseVarianceRatio:
        """The ratios of (T, n) positions by maximum likelihood, with a verdict on each."""
        return maximum_likelihood_nvr(
            p, GeneralizedRandomWalk.integrated(self.order), prior=self.prior, search=(3e-4, self.highest_cutoff)
        )


def _span(values: Sequence[float] | np.ndarray) -> str:
    low, high = min(values), max(values)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
