"""Align channels that lag behind the others, y(t) <- y(t + delay), and estimate such delays.

A delay of whole samples shifts values; a fraction of a sample is interpolated by a cubic spline. Samples at either end
that have no value after the shift are cut from all channels.

The delay d of a channel relative to another that measures the same, y(t) = g x(t - d) + noise, maximizes their
correlation:

    c(k) = correlation of y(t) with x(t - k dt)                        whole samples k first, over the range
    d = argmax c,  c(d) = sum over f of U*(f) Y(f) e^(2 pi i f d)      then exactly between samples (band-limited)

u is x, low-passed without lag at the frequency above which noise dominates either signal, so that noise does not
correlate with noise. At the peak sum of u'(t - d) y(t) = 0: d solves y = g (x - d x') with the instruments u and u'.
The standard deviation of d is that of a jackknife over stretches of the recording, each longer than the correlation
time of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Samples
from ..exceptions import ChannelNotFound, InvalidSignals
from ..recording import Recording
from .bandwidth import MIN_SAMPLES, noise_hz
from .signals import check_samples

ROUNDING = 1e-6
"""Times that differ by less than this fraction of an interval are equal."""

STRETCHES = 20
"""Number of stretches of a recording whose scores are treated as independent (jackknife)."""


@dataclass(frozen=True)
class Delay:
    """An estimated delay.

    Args:
        seconds: the delay, positive where the channel is late; the value that `align` takes.
        std_s: standard deviation [s], correlated residuals accounted for. rate_hz: sampling rate of the recording.
        unexplained: rms of the residual over the rms of the late signal. unexplained_before: the same without
            correcting the delay.
    """

    seconds: float
    std_s: float
    rate_hz: float
    unexplained: float
    unexplained_before: float

    @property
    def samples(self) -> float:
        return self.seconds * self.rate_hz

    def __str__(self) -> str:
        return (
            f"late by {1e3 * self.seconds:.4g} ms +- {1e3 * self.std_s:.2g} ms ({self.samples:.2f} samples); "
            f"{100 * self.unexplained:.3g} % unexplained, {100 * self.unexplained_before:.3g} % without correcting it"
        )


def align(recording: Recording, delays: Mapping[str, float]) -> Recording:
    """Shift delayed channels of a recording forward in time.

    Args:
        recording: any recording.
        delays: channel (`torque.elbow`) or quantity (`torque`) -> its delay [s]; negative where it leads.

    Raises:
        ChannelNotFound: if there is no such channel or quantity.
        InvalidSignals: if a delay is not finite, or as long as the recording.
    """
    seconds = _delays_by_channel(recording, delays)
    if not seconds or not any(seconds.values()):
        return recording
    from scipy.interpolate import CubicSpline  # slow to import, and most recordings have no delay

    time = recording.time
    near = ROUNDING * float(np.median(np.diff(time)))
    # samples are kept where every delayed channel has a value; all channels are cut alike
    late, early = max(0.0, *seconds.values()), min(0.0, *seconds.values())
    inside = (time + late <= time[-1] + near) & (time + early >= time[0] - near)
    if inside.sum() < 2:
        raise InvalidSignals(
            f"a delay of {late - early:g} s is longer than the recording of {recording.duration_s:g} s"
        )
    channels = {name: values[inside] for name, values in recording.channels.items()}
    valid = {name: mask[inside] for name, mask in recording.valid.items()}
    for name, delay in seconds.items():
        # `near` again: a shift by whole samples must give recorded values, to the last bit
        at = np.clip(time[inside] + delay, time[0], time[-1])
        after = np.minimum(np.searchsorted(time, at - near), len(time) - 1)
        before = np.where(time[after] - at <= near, after, after - 1)
        trusted = recording.mask(name)
        if trusted.sum() < 2:
            raise InvalidSignals(
                f"channel {name!r} has {trusted.sum()} valid samples; two are needed to move it"
            )
        spline = CubicSpline(time[trusted], recording[name][trusted])
        channels[name] = np.where(before == after, recording[name][before], spline(at))
        if name in recording.valid:
            # a spline through a gap is a guess
            valid[name] = trusted[before] & trusted[after]
    cut = len(recording) - int(inside.sum())
    shifts = ", ".join(f"{name} by {1e3 * delay:g} ms" for name, delay in delays.items())
    aligned = Recording(time[inside], channels, recording.units, valid, recording.metadata)
    return aligned.noted(f"corrected delays: {shifts}; {cut} samples cut at the ends")


def _delays_by_channel(recording: Recording, delays: Mapping[str, float]) -> dict[str, float]:
    """Delay of each delayed channel; a channel's own entry overrides the entry of its quantity."""
    seconds: dict[str, float] = {}
    for name, delay in sorted(delays.items(), key=lambda item: item[0] in recording.channels):
        if not np.isfinite(delay):
            raise InvalidSignals(f"the delay of {name!r} must be a number of seconds, not {delay}")
        channels = (
            [name] if name in recording.channels else [f"{name}.{joint}" for joint in recording.joints(name)]
        )
        if not channels:
            raise ChannelNotFound(name, recording.channels)
        seconds |= dict.fromkeys(channels, float(delay))
    return seconds


def estimate_delay(recording: Recording, late: str, reference: str, largest_s: float = 0.1) -> Delay:
    """Estimate the delay between two channels of one quantity, equal up to a positive factor and an offset.

    For two sensors of one motion, or a command and its immediate response. For the delay between efforts and positions
    see `poinsot.diagnosis.delay`.

    Args:
        recording: recording with a uniform clock.
        late, reference: channels; the delay is negative if `late` leads.
        largest_s: bound of the search, -largest_s to largest_s [s].

    Raises:
        ChannelNotFound: if a channel does not exist.
        InvalidSignals: if the clock is not uniform, samples are invalid, the recording is too short for the range, or
            the channels correlate nowhere inside it.
    """
    from scipy import signal
    from scipy.optimize import minimize_scalar

    x, y = recording[reference], recording[late]
    dt = recording.duration_s / (len(recording) - 1)
    check_samples(recording, (reference, late))
    for name in (reference, late):
        if np.ptp(recording[name]) == 0:
            raise InvalidSignals(f"channel {name!r} is constant, so no delay can be estimated")
    if not 0 < largest_s < recording.duration_s / 4 or len(recording) < MIN_SAMPLES:
        raise InvalidSignals(
            f"delays up to {largest_s:g} s cannot be estimated from {recording.duration_s:g} s "
            f"({len(recording)} samples)"
        )
    max_lag = int(np.ceil(largest_s / dt))
    # whole samples first: between samples the correlation has one maximum a period of the motion
    correlation = _correlate(x, y, max_lag)
    coarse = int(np.argmax(correlation)) - max_lag
    # at the end of the range it is not a maximum: the correlation increases beyond
    if abs(coarse) == max_lag or correlation.max() <= 0:
        raise InvalidSignals(
            f"{late!r} and {reference!r} do not correlate most inside +-{largest_s:g} s: "
            "raise largest_s, or flip a sign"
        )
    # the remaining delay is less than a sample, so the ends of the recording hardly affect it
    first, last = max(coarse, 0), len(x) + min(coarse, 0)
    x, y = x[first - coarse : last - coarse], y[first:last]
    cutoffs = {name: noise_hz(z, 1 / dt) for name, z in ((reference, x), (late, y))}
    for name, hz in cutoffs.items():
        if hz is None:
            raise InvalidSignals(f"channel {name!r} does not exceed its noise at any frequency")
    cutoff = min(filter(None, cutoffs.values())) * dt
    # the transform assumes a periodic record: without a taper the jump from its end to its start correlates
    taper = signal.windows.tukey(len(x), 0.1)
    X, Y = (np.fft.rfft(taper * signal.detrend(z)) for z in (x, y))
    f = np.fft.rfftfreq(len(x))
    # zero phase, or d would be biased; gradual, since a sharp cutoff rings, and ringing correlates with itself
    U = X / (1 + (f / cutoff) ** 8)

    def c(d: float) -> float:
        return float(np.real(np.vdot(U, Y * np.exp(2j * np.pi * f * d))))

    # the sign: y is late by d where y(t) = x(t - d), whose transform is that of x times e^(-2 pi i f d)
    d = float(minimize_scalar(lambda d: -c(d), bounds=(-1, 1), method="bounded", options={"xatol": 1e-6}).x)
    shift, slope = np.exp(-2j * np.pi * f * d), 2j * np.pi * f
    u, u_slope, x, x_slope, y = (
        np.fft.irfft(Z, len(x)) for Z in (U * shift, U * slope * shift, X * shift, X * slope * shift, Y)
    )
    e = y - x * (u @ y) / (u @ x)
    return Delay(
        (coarse + d) * dt,
        jackknife_std(np.einsum("it, jt -> tij", (u, u_slope), (x, -x_slope, y)), _solve_delay) * dt,
        1 / dt,
        float(np.linalg.norm(e) / np.linalg.norm(y)),
        float(np.sqrt(max(1 - correlation[max_lag] ** 2, 0.0))),
    )


def jackknife_std(terms: np.ndarray, estimate: Callable[[np.ndarray], np.ndarray]) -> float:
    """Standard deviation of an estimate from sums over samples, by leaving out one stretch of them at a time.

    Valid for terms that are correlated within a stretch, and where few stretches hold most of the information.

    Args:
        terms: (T, ...) summands. estimate: (STRETCHES, ...) sums -> (STRETCHES,) estimates.
    """
    # sums, not means: stretches differ by one sample in length, and in their excitation
    sums = np.array([stretch.sum(axis=0) for stretch in np.array_split(terms, STRETCHES)])
    return float(np.sqrt((STRETCHES - 1) * np.var(estimate(sums.sum(axis=0) - sums))))


def _solve_delay(products: np.ndarray) -> np.ndarray:
    """d in y = g (x - d x'), from products (..., 2, 3) of the instruments with x, -x' and y."""
    g, gd = np.linalg.solve(products[..., :2], products[..., 2:])[..., 0].T
    return gd / g


def _correlate(x: Samples, y: Samples, max_lag: int) -> np.ndarray:
    """(2 max_lag + 1,) correlation of y(t) and x(t - k dt), |k| <= max_lag, over the same samples of y."""
    from scipy import signal

    # the same samples of y at each lag, or the correlation at large lags would have fewer samples
    y = y[max_lag : len(y) - max_lag]
    y = y - y.mean()
    x = x - x.mean()
    products = signal.correlate(x, y, mode="valid", method="fft")
    sums, squares = (np.convolve(z, np.ones(len(y)), "valid") for z in (x, x**2))
    spread = np.sqrt(np.maximum(squares - sums**2 / len(y), 0.0) * (y @ y))
    return np.divide(products, spread, out=np.zeros_like(products), where=spread > 0)[::-1]
