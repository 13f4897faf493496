"""Propose filter cutoffs for a recording from the spectrum of its motion (Brunot et al. 2017, Sect. 2.3).

The rule of thumb starts from w_dyn, the highest frequency of the motion that matters, and gives intervals:

    2 w_dyn <= w_q <= 10 w_dyn   cutoff of the positions        w_f >= 2 w_dyn   pass-band of the decimation

w_dyn comes from the motion. The measurement noise selects the values within the intervals:

    S(f)   spectrum of the velocity (Welch), (2 pi f)^2 times that of the position; motion decreases in it with f,
           noise does not
    N(f)   noise: the smallest S at f or above, and at least the noise of rounding to the encoder's steps d,
           (2 pi f)^2 d^2 / 6 rate. Valid for noise that is flat in S (clock, interpolation) or increases (position)
    w_dyn  99.9 % of the power above N lies below this frequency
    w_e    above this frequency S is within 6 dB of N: a wider smoother passes only noise
    w_a    half the frequency up to which the power of the accelerations of N is 0.5 % of the motion's, so that twice
           this cutoff gives the same inertias
    w_q    10 w_dyn, and never above w_e: accelerations of noise increase with the square of the frequency, and bias
           inertias towards zero
    w_f    2 w_dyn, and never above 0.7 w_q, where the smoother attenuates positions by 5 % and the torque not at all;
           however few rows remain

One decimation filters all joints, so their spectra are pooled with equal power. The values for each joint are for a
smoother with one cutoff per joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import JointSamples, Samples, Vector, fast_length
from ..exceptions import InvalidSignals
from ..recording import Recording
from ..statistics import grid_step
from .decimation import PASSBAND, Decimation
from .random_walk import HALF_POWER, GeneralizedRandomWalk, cutoff_hz, nvr_for_cutoff
from .signals import positions

MIN_SAMPLES = 64
"""Minimum number of samples for a spectrum."""

BUTTERWORTH_3_DB = (math.sqrt(2) - 1) ** (1 / 8)
"""Forwards and backwards, a Butterworth filter of order 4 has a gain of 1/2 at its cutoff
and of 1/sqrt(2) at this fraction of it."""

UNATTENUATED = (1 / 0.95 - 1) ** (1 / 8)
"""The same filter has a gain of 0.95 at this fraction of its cutoff."""

SHORT_ORDER = 4
"""A decimation of this order settles within 7 rows; one of order 8 needs 26."""

TWO_PASS = 1 / (2**0.25 - 1) / HALF_POWER
"""Factor on the ratio of a walk that is applied twice, to have the -3 dB frequency of one applied once."""

POWER_SHARE = 0.999
"""Fraction of the velocity's power below w_dyn [1]; on the TX40 recording it gives the 5 Hz of Brunot et al."""

NOISE_SHARE = 0.005
"""Power of the accelerations of noise, relative to the motion's, up to 2 w_a: inertias are less by this part."""

MOTION_RATIO, MOVING_RATIO = 4.0, 100.0
"""Ratio of power to noise above which a band contains motion [1], 6 dB; ratio that a moving joint exceeds in a band."""

MIN_FACTOR, MAX_FACTOR = 2.0, 10.0
"""Factors f: MIN w_dyn <= w_q <= MAX w_dyn, w_f >= MIN w_dyn (Brunot et al. 2017, Sect. 2.3), where noise allows."""

MIN_ROWS = 200
"""Number of rows per joint below which a reason warns: a robot with six joints has about sixty parameters."""

MAX_CUT = 0.1
"""Fraction of the rows that a decimation may cut as transients before a filter of lower order is taken."""


@dataclass(frozen=True, eq=False)
class FilterProposal:
    """Proposed cutoffs for a recording, with reasons.

    Args:
        joints: the n joints with position channels. rate_hz: sampling rate of the recording.
        bandwidth_hz: w_dyn of all joints together. noise_hz: w_e, above which the noise dominates. widest_hz: w_a, or
            w_e if that is larger.
        cutoff_hz: for `ButterworthDecimation` or `RandomWalkSmoother`. decimate_hz: None: do not decimate.
        decimation_order: order of the decimation filter; lower if a sharp filter would cut most of a short recording.
        bandwidth_hz_per_joint, noise_hz_per_joint, cutoff_hz_per_joint: (n,) values per joint; NaN at rest.
        reasons: one sentence per value.
    """

    joints: tuple[str, ...]
    rate_hz: float
    bandwidth_hz: float
    noise_hz: float
    widest_hz: float
    cutoff_hz: float
    decimate_hz: float | None
    decimation_order: int
    bandwidth_hz_per_joint: Vector
    noise_hz_per_joint: Vector
    cutoff_hz_per_joint: Vector
    reasons: tuple[str, ...]

    def noted(self, recording: Recording) -> Recording:
        """The recording with the reasons among its steps."""
        return recording.noted(*self.reasons)

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def propose_filters(recording: Recording) -> FilterProposal:
    """Propose cutoff and decimation for a recording from the spectrum of its positions.

    This is a rule of thumb: read the reasons, and look at the spectrum where they are unexpected.

    Args:
        recording: has channels `position.<joint>` on a uniform clock; if the robot stands still for most of the
            recording, cut it to the motion first (`between`).

    Raises:
        InvalidSignals: if there are no positions, the clock is not uniform, samples are invalid or too few, or no
            joint moves.
    """
    joints, p = positions(recording)
    if len(p) < MIN_SAMPLES:
        raise InvalidSignals(f"{len(p)} samples are too few for a spectrum: it needs at least {MIN_SAMPLES}")
    rate = recording.rate_hz
    f, S = _velocity_spectrum(p, rate)
    steps = np.array([grid_step(column) for column in p.T])
    single = [_excitation(f, S[:, j], steps[j], rate) or AT_REST for j in range(len(joints))]
    powers = np.array([excitation.power for excitation in single])
    moving = np.isfinite(powers)
    # equal power of each joint: otherwise the fastest joint would dominate the sum
    weights = 1 / (powers[moving] * moving.sum())
    pooled = _excitation(f, S[:, moving] @ weights, np.sqrt(np.sum(weights * steps[moving] ** 2)), rate)
    if pooled is None:
        raise InvalidSignals("no joint moves: the positions do not exceed their noise at any frequency")
    w_dyn = float(f"{pooled.bandwidth_hz:.2g}")
    # from the rounded bandwidth, so that the sentences of the reasons agree with the numbers
    w_q = _rounded_down(_cutoff(pooled.noise_hz, w_dyn, rate))
    w_f, order, why_f = _decimation(w_dyn, w_q, recording.duration_s, rate)
    rounding = f"rounding of the positions, to steps of {span_text(steps[moving], 2)},"
    source = rounding if pooled.rounding else "measurement noise"
    return FilterProposal(
        joints,
        rate,
        bandwidth_hz=w_dyn,
        noise_hz=pooled.noise_hz,
        widest_hz=pooled.widest_hz,
        cutoff_hz=w_q,
        decimate_hz=w_f,
        decimation_order=order,
        bandwidth_hz_per_joint=np.array([joint.bandwidth_hz for joint in single]),
        noise_hz_per_joint=np.array([joint.noise_hz for joint in single]),
        cutoff_hz_per_joint=np.array([_cutoff(joint.noise_hz, joint.bandwidth_hz, rate) for joint in single]),
        reasons=(
            _why_bandwidth(joints, single, w_dyn, rate),
            f"The {source} dominates the motion above {_rounded_down(pooled.noise_hz):g} Hz.",
            _why_cutoff(w_q, w_dyn, rate),
            why_f,
        ),
    )


def too_narrow(
    joints: tuple[str, ...], p: JointSamples, rate_hz: float, cutoff_hz: np.ndarray
) -> tuple[str, ...]:
    """Warn if a smoother's cutoffs (n,) are below 2 w_dyn for some joints, so that it attenuates their motion."""
    if len(p) < MIN_SAMPLES:
        return ()
    f, S = _velocity_spectrum(p, rate_hz)
    single = [_excitation(f, S[:, j], 0.0, rate_hz) for j in range(len(joints))]
    lost = [
        f"{joint} needs {MIN_FACTOR * excitation.bandwidth_hz:.2g} Hz"
        for joint, excitation, cutoff in zip(joints, single, cutoff_hz, strict=True)
        if excitation is not None and cutoff < MIN_FACTOR * excitation.bandwidth_hz
    ]
    if not lost:
        return ()
    return (
        f"the smoother's cutoff of {span_text(cutoff_hz, 2)} Hz is below twice the bandwidth of the motion and "
        f"attenuates it ({', '.join(lost)}); propose_filters computes a cutoff that does not",
    )


def noise_hz(x: Samples, rate_hz: float) -> float | None:
    """Frequency above which the noise of one channel dominates [Hz]; None if it never exceeds its noise."""
    f, S = _velocity_spectrum(x[:, None], rate_hz)
    excitation = _excitation(f, S[:, 0], grid_step(x), rate_hz)
    return None if excitation is None else excitation.noise_hz


def ratio_for_cutoff(cutoff_hz: float, rate_hz: float, order: int) -> float:
    """The noise variance ratio that gives accelerations the bandwidth (-3 dB) of a Butterworth filter of this cutoff.

    Args:
        order: order of the `RandomWalkSmoother`; 2 smooths accelerations twice, 3 once.

    >>> ratio_for_cutoff(50.0, 5000.0, order=2)
    5.30e-05
    """
    walk = GeneralizedRandomWalk.integrated(order)
    return (TWO_PASS if order == 2 else 1.0) * nvr_for_cutoff(walk, BUTTERWORTH_3_DB * cutoff_hz, rate_hz)


def cutoff_for_ratio(ratio: float, rate_hz: float, order: int) -> float:
    """The inverse of `ratio_for_cutoff`. The cutoff of a ratio depends on the sampling rate:

    >>> [cutoff_for_ratio(1e-5, rate_hz, order=2) for rate_hz in (5000.0, 1000.0, 100.0)]
    [32.9, 6.59, 0.659]
    """
    walk = GeneralizedRandomWalk.integrated(order)
    return cutoff_hz(walk, ratio / (TWO_PASS if order == 2 else 1.0), rate_hz) / BUTTERWORTH_3_DB


@dataclass(frozen=True)
class _Excitation:
    """Results of one spectrum: w_dyn, w_e, w_a [Hz], the power of the motion, and whether rounding sets N at w_e."""

    bandwidth_hz: float
    noise_hz: float
    widest_hz: float
    power: float
    rounding: bool


AT_REST = _Excitation(np.nan, np.nan, np.nan, np.nan, rounding=False)


def _velocity_spectrum(p: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (k,) and S (k, n) per Hz, up to 0.9 of the Nyquist frequency: mean over five stretches of a third."""
    length = (len(p) - 1) // 3
    # the velocity leaks less than the position, whose spectrum is steeper; column by column, which needs less memory
    S = np.stack([welch(np.diff(column) * rate, rate, length) for column in p.T], axis=1)
    f = np.arange(len(S)) * rate / fast_length(length)
    # without the last tenth below the Nyquist frequency, where anti-aliasing filters act and aliases fold
    in_range = (f > 0) & (f <= 0.45 * rate)
    # np.diff has the gain sin(half) / half of a derivative
    half = np.pi * f[in_range] / rate
    return f[in_range], S[in_range] * ((half / np.sin(half)) ** 2)[:, None]


def welch(x: Samples, rate_hz: float, length: int) -> np.ndarray:
    """Power spectral density, one-sided, the mean of stretches that overlap by half (Welch 1967).

    Each stretch loses its mean, passes a Hann window and is padded with zeros to a length that is fast to transform.

    Args:
        x: (T,) samples. length: number of samples a stretch, at most T.

    Returns:
        (k,) per Hz, at multiples of the rate over the padded length.
    """
    # periodic Hann window: with the symmetric one stretches that overlap by half have unequal weights
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    stretches = np.lib.stride_tricks.sliding_window_view(x, length)[:: length - length // 2]
    padded = fast_length(length)
    power = np.mean([np.abs(np.fft.rfft(window * (s - s.mean()), padded)) ** 2 for s in stretches], axis=0)
    power[1 : (padded + 1) // 2] *= 2  # the negative frequencies' share; zero and Nyquist's have none
    return power / (rate_hz * (window @ window))


def _excitation(f: np.ndarray, S: np.ndarray, step: float, rate: float) -> _Excitation | None:
    """w_dyn and w_e of one spectrum; None if it contains no motion. Bands are thirds of an octave."""
    band = np.floor(3 * np.log2(f / f[0]) + 1e-9).astype(np.int64)
    first = np.flatnonzero(np.diff(band, prepend=-1))
    last = np.append(first[1:], len(f))
    mean = np.add.reduceat(S, first) / (last - first)
    # the median of a band: a single line of the motion in it is not noise
    median = np.array([np.median(S[a:b]) for a, b in zip(first, last, strict=True)])
    centre = np.sqrt(f[first] * f[last - 1])
    # from the highest band down: noise does not decrease with frequency, so smaller values above bound it
    quietest = np.minimum.accumulate(median[::-1])[::-1]
    rounding = (2 * np.pi * centre) ** 2 * step**2 / (6 * rate)
    N = np.maximum(quietest, rounding)
    motion = mean > MOTION_RATIO * N
    # one of thirty bands reaches 6 dB by chance; none is 20 dB above its own noise
    if not np.any(mean > MOVING_RATIO * N):
        return None
    power = np.cumsum(np.repeat(motion, last - first) * S)
    w_dyn = float(np.interp(POWER_SHARE * power[-1], power, f))
    sunk = ~(motion | np.append(motion[1:], False)) & (f[first] > w_dyn)  # this band and the next
    end = int(np.argmax(sunk)) if sunk.any() else len(first) - 1
    w_e = float(f[first[end]] if sunk.any() else f[-1])
    of_motion, of_noise = (
        (2 * np.pi * f) ** 2 * np.repeat(spectrum, last - first)
        for spectrum in (np.where(motion, mean, 0.0), N)
    )
    biased = np.cumsum(of_noise) > NOISE_SHARE * np.sum(of_motion)
    return _Excitation(
        w_dyn,
        w_e,
        max(w_e, 0.5 * float(f[np.argmax(biased)] if biased.any() else f[-1])),
        float(power[-1]),
        bool(rounding[end] >= quietest[end]),
    )


def _cutoff(noise_hz: float, w_dyn: float, rate: float) -> float:
    """10 w_dyn, at most w_e, and below the Nyquist frequency."""
    return float(min(noise_hz, MAX_FACTOR * w_dyn, 0.45 * rate))


def _decimation(w_dyn: float, w_q: float, duration_s: float, rate: float) -> tuple[float | None, int, str]:
    """w_f, the order of the decimation's filter, and the reason."""
    wanted = MIN_FACTOR * w_dyn
    w_f = min(wanted, _rounded_down(UNATTENUATED * w_q))
    if PASSBAND * rate / 2 < 2 * w_f:
        return (
            None,
            Decimation.order,
            f"No decimation: {rate:.4g} Hz are less than twice the rate that a pass-band of {w_f:.3g} Hz needs.",
        )
    less, since = ("less than ", ", since above it the smoother attenuates") if w_f < wanted else ("", "")
    why = (
        f"decimate_hz = {w_f:.3g}: {less}twice {w_dyn:.3g} Hz{since} "
        "(Brunot et al. 2017, Sect. 2.3: at least twice the bandwidth)"
    )
    samples = int(duration_s * rate)
    order, decimation = Decimation.order, Decimation.to_passband(w_f, rate)
    assert decimation is not None
    if decimation.rows(samples) * decimation.factor < (1 - MAX_CUT) * samples:
        order, decimation = SHORT_ORDER, replace(decimation, order=SHORT_ORDER)
        why += f"; decimation_order = {order}: the edges of a sharper filter exceed {100 * MAX_CUT:g} % of the rows"
    rows = decimation.rows(samples)
    few = f"; {duration_s:.3g} s leave only {rows} rows a joint: record longer" if rows < MIN_ROWS else ""
    return w_f, order, f"{why}{few}."


def _rounded_down(value: float) -> float:
    """Round down to two digits: a rule of thumb has no more, and must not exceed its bounds.

    >>> [_rounded_down(value) for value in (6.58, 118.5, 0.3)]
    [6.5, 110.0, 0.3]
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    # 1e-9: 13 must not become 12 by rounding of a product
    return float(f"{unit * math.floor(value / unit * (1 + 1e-9)):.2g}")


def _why_bandwidth(joints: tuple[str, ...], single: list[_Excitation], w_dyn: float, rate: float) -> str:
    bandwidths = ", ".join(
        f"{joint} {'at rest' if excitation is AT_REST else f'{excitation.bandwidth_hz:.2g}'}"
        for joint, excitation in zip(joints, single, strict=True)
    )
    details = f" ({bandwidths})" if len(joints) > 1 else ""
    slow = (
        f"; {rate:.4g} Hz is only {rate / w_dyn:.0f} times that, where 100 is usual"
        if rate < 20 * w_dyn
        else ""
    )
    return f"{100 * POWER_SHARE:g} % of the power of the velocities lies below {w_dyn:.3g} Hz{details}{slow}."


def _why_cutoff(w_q: float, w_dyn: float, rate: float) -> str:
    limits = f"{MIN_FACTOR:g} to {MAX_FACTOR:g} times {w_dyn:.3g} Hz (Brunot et al. 2017, Sect. 2.3)"
    if w_q >= 0.95 * MAX_FACTOR * w_dyn:
        return f"cutoff_hz = {w_q:.3g}: the upper end of {limits}, since the noise is low enough."
    if w_q >= 0.43 * rate:
        return f"cutoff_hz = {w_q:.3g}: the largest value of {limits} that the rate of {rate:.4g} Hz allows."
    within = "within" if w_q >= MIN_FACTOR * w_dyn else "although that is less than"
    return f"cutoff_hz = {w_q:.3g}: the frequency where the noise dominates, {within} {limits}."


def span_text(values: np.ndarray, digits: int = 3) -> str:
    """The smallest and the largest value in words; one number if they are equal."""
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.{digits}g}" if low == high else f"{low:.{digits}g} to {high:.{digits}g}"
