"""Alignment: channels that lag behind the others are brought forward, y(t) <- y(t + delay).

A delay of whole samples moves values; a part of a sample is taken from a cubic spline. What the shift leaves without
a value at either end is cut from all channels.

How late one channel is against another that shows the same, y(t) = g x(t - d) + noise, is where they correlate most:

    c(k) = correlation of y(t) with x(t - k dt)                        whole samples k first, over the range
    d = argmax c,  c(d) = sum over f of X*(f) Y(f) e^(2 pi i f d)      then exactly between samples (band-limited)

x and y are first low-passed, alike and without lag, where the signal of either sinks into its noise. With
e = y - g x(t - d) and x' the slope of x(t - d), the peak is where sum of x' e = 0, hence

    d + sum of x' e / g sum of x'^2        over all of the recording but one stretch after the other

scatters as d does (jackknife), if a stretch is long enough to hold the correlation of e.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import signal
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar

from ..arrays import Samples
from ..exceptions import ChannelNotFound, InvalidSignals
from ..recording import Recording
from .bandwidth import FEWEST, noise_hz

ROUNDING = 1e-6
"""Times that differ by less than this part of an interval are the same."""

STRETCHES = 20
"""Stretches of a recording whose scores are taken for independent."""


@dataclass(frozen=True)
class Delay:
    """By how much something lags.

    Args:
        seconds: positive: it is late; what `align` takes.
        std_s: standard deviation [s], correlated residuals accounted for.
        rate_hz: of the recording.
        unexplained: rms of the late signal that the other leaves unexplained, over its rms. unexplained_before: the
            same without correcting the delay.
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
    """The recording with delayed channels brought forward.

    Args:
        recording: any.
        delays: channel (`torque.elbow`) or quantity (`torque`) -> by how much it lags [s]; negative: it leads.

    Raises:
        ChannelNotFound: if there is no such channel or quantity.
        InvalidSignals: if the delay is no number, or leaves nothing of the recording.
    """
    seconds = _by_channel(recording, delays)
    if not seconds or not any(seconds.values()):
        return recording
    time = recording.time
    near = ROUNDING * float(np.median(np.diff(time)))
    late, early = max(0.0, *seconds.values()), min(0.0, *seconds.values())
    kept = (time + late <= time[-1] + near) & (time + early >= time[0] - near)
    if kept.sum() < 2:
        raise InvalidSignals(f"a delay of {late - early:g} s leaves nothing of {recording.duration_s:g} s")
    channels = {name: values[kept] for name, values in recording.channels.items()}
    valid = {name: mask[kept] for name, mask in recording.valid.items()}
    for name, delay in seconds.items():
        at = np.clip(time[kept] + delay, time[0], time[-1])
        after = np.minimum(np.searchsorted(time, at - near), len(time) - 1)
        before = np.where(time[after] - at <= near, after, after - 1)
        trusted = recording.mask(name)
        if trusted.sum() < 2:
            raise InvalidSignals(f"channel {name!r} has {trusted.sum()} trusted samples; two are needed to move it")
        spline = CubicSpline(time[trusted], recording[name][trusted])
        channels[name] = np.where(before == after, recording[name][before], spline(at))
        if name in recording.valid:
            valid[name] = trusted[before] & trusted[after]
    cut = len(recording) - int(kept.sum())
    said = ", ".join(f"{name} by {1e3 * delay:g} ms" for name, delay in delays.items())
    steps = [*recording.metadata.get("steps", ()), f"brought forward {said}; {cut} samples cut at the ends"]
    return Recording(time[kept], channels, recording.units, valid, {**recording.metadata, "steps": steps})


def _by_channel(recording: Recording, delays: Mapping[str, float]) -> dict[str, float]:
    """Delay of each delayed channel; a channel's own wins over its quantity's."""
    seconds: dict[str, float] = {}
    for name, delay in sorted(delays.items(), key=lambda item: item[0] in recording.channels):
        if not np.isfinite(delay):
            raise InvalidSignals(f"the delay of {name!r} must be a number of seconds, not {delay}")
        found = (
            [name] if name in recording.channels else [f"{name}.{joint}" for joint in recording.joints(name)]
        )
        if not found:
            raise ChannelNotFound(name, recording.channels)
        seconds |= dict.fromkeys(found, float(delay))
    return seconds


def estimate_delay(recording: Recording, late: str, reference: str, largest_s: float = 0.1) -> Delay:
    """By how much one channel lags behind another that shows the same quantity, up to a positive factor and an offset.

    Two sensors of one motion, a command and what follows it at once. Efforts do not show what positions show: for
    those see `poinsot.estimate_effort_delay`.

    Args:
        recording: with a uniform clock.
        late, reference: channels; the delay is negative if `late` leads.
        largest_s: delays between -largest_s and largest_s are tried [s].

    Raises:
        ChannelNotFound: if a channel does not exist.
        InvalidSignals: if the clock is not uniform, samples are invalid, the recording is too short for the range, or
            the channels correlate nowhere inside it.
    """
    x, y, dt = _comparable(recording, reference, late, largest_s)
    most = int(np.ceil(largest_s / dt))
    correlation = _correlations(x, y, most)
    coarse = int(np.argmax(correlation)) - most
    if abs(coarse) == most or correlation.max() <= 0:
        raise InvalidSignals(
            f"{late!r} and {reference!r} do not correlate most inside +-{largest_s:g} s: raise largest_s, or flip a sign"
        )
    # what is left of the delay is less than a sample, so that the ends of the recording weigh nothing in it
    first, last = max(coarse, 0), len(x) + min(coarse, 0)
    x, y = x[first - coarse : last - coarse], y[first:last]
    x, y = _without_noise(x, y, min(_noise_hz(name, z, dt) for name, z in ((reference, x), (late, y))) * dt)
    X, Y = np.fft.rfft(x), np.fft.rfft(y)
    omega = 2 * np.pi * np.fft.rfftfreq(len(x))
    found = minimize_scalar(
        lambda d: -float(np.real(np.vdot(X, Y * np.exp(1j * omega * d)))), bounds=(-1, 1), method="bounded",
        options={"xatol": 1e-6},
    )  # fmt: skip
    d = float(found.x)
    x = np.fft.irfft(X * np.exp(-1j * omega * d), len(x))
    slope = np.fft.irfft(1j * omega * X * np.exp(-1j * omega * d), len(x))
    g = float(x @ y / (x @ x))
    e = y - g * x
    return Delay(
        (coarse + d) * dt,
        _delay_std(x, slope, y) * dt,
        1 / dt,
        float(np.linalg.norm(e) / np.linalg.norm(y)),
        float(np.sqrt(max(1 - correlation[most] ** 2, 0.0))),
    )


def jackknife_std(score: Samples, information: Samples) -> float:
    """Standard deviation of d = sum of score / sum of information, from leaving out one stretch after the other.

    Honest for scores that are correlated within a stretch, and where few stretches hold most of the information.
    """
    S, I = (np.array([part.sum() for part in np.array_split(z, STRETCHES)]) for z in (score, information))
    return _scatter((S.sum() - S) / (I.sum() - I))


def _scatter(without: np.ndarray) -> float:
    """Standard deviation of a value from those that are found without one stretch each."""
    return float(np.sqrt((STRETCHES - 1) * np.var(without)))


def _delay_std(x: Samples, slope: Samples, y: Samples) -> float:
    """Of d in y = g (x - d slope), from leaving out one stretch after the other."""
    C = np.column_stack([x, -slope, y])
    grams = np.array([part.T @ part for part in np.array_split(C, STRETCHES)])
    without = grams.sum(axis=0) - grams
    solved = np.linalg.solve(without[:, :2, :2], without[:, :2, 2:])[..., 0]
    return _scatter(solved[:, 1] / solved[:, 0])


def _comparable(
    recording: Recording, reference: str, late: str, largest_s: float
) -> tuple[Samples, Samples, float]:
    """x, y and the interval dt [s]."""
    x, y = recording[reference], recording[late]
    dt = recording.duration_s / (len(recording) - 1)
    for name in (reference, late):
        if not recording.mask(name).all():
            raise InvalidSignals(f"channel {name!r} has invalid samples; choose a window without them")
        if np.ptp(recording[name]) == 0:
            raise InvalidSignals(f"channel {name!r} is constant: it shows no delay")
    if not recording.is_uniform:
        raise InvalidSignals("the clock is not uniform: resample the recording before looking for a delay")
    if not 0 < largest_s < recording.duration_s / 4 or len(recording) < FEWEST:
        raise InvalidSignals(
            f"delays up to {largest_s:g} s cannot be looked for in {recording.duration_s:g} s ({len(recording)} samples)"
        )
    return x, y, dt


def _correlations(x: Samples, y: Samples, most: int) -> np.ndarray:
    """(2 most + 1,) correlation of y(t) and x(t - k dt), k from -most to most, over the same samples of y."""
    y = y[most : len(y) - most]
    y = y - y.mean()
    x = x - x.mean()
    products = signal.correlate(x, y, mode="valid", method="fft")
    sums, squares = (np.convolve(z, np.ones(len(y)), "valid") for z in (x, x**2))
    spread = np.sqrt(np.maximum(squares - sums**2 / len(y), 0.0) * (y @ y))
    return np.divide(products, spread, out=np.zeros_like(products), where=spread > 0)[::-1]


def _noise_hz(name: str, x: Samples, dt: float) -> float:
    found = noise_hz(x, 1 / dt)
    if found is None:
        raise InvalidSignals(f"nothing in channel {name!r} stands above its noise")
    return found


def _without_noise(x: Samples, y: Samples, cutoff: float) -> tuple[Samples, Samples]:
    """x and y, tapered and low-passed at `cutoff` [1/sample], forwards and backwards in effect."""
    gain = 1 / (1 + (np.fft.rfftfreq(len(x)) / cutoff) ** 8)
    taper = signal.windows.tukey(len(x), 0.1)
    filtered = [np.fft.irfft(gain * np.fft.rfft(taper * signal.detrend(z)), len(x)) for z in (x, y)]
    return filtered[0], filtered[1]
