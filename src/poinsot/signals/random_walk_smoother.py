"""Velocity and acceleration by integrated random walks: IRWSM 1 and IRWSM 2 (Brunot et al. 2017, Sects. 3, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..arrays import JointSamples
from ..exceptions import InvalidMethod, InvalidSignals
from ..ranges import Positive, check_ranges
from ..recording import Recording
from .bandwidth import cutoff_for_ratio, ratio_for_cutoff, span_text, too_narrow
from .low_pass import FilterOrder, check_below_nyquist
from .noise_variance_ratio import LogNormalPrior, NoiseVarianceRatio, RatioVerdict, maximum_likelihood_nvr
from .preparation import finish, unsmoothed
from .random_walk import GeneralizedRandomWalk, SmoothedStates, smooth
from .signals import Signals


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
