"""The decimation filter without a filter: its gain in closed form, applied to the spectrum of a pulse in a silence."""

import numpy as np
from scipy import signal

RIPPLE_DB = 0.05
PASSBAND = 0.8


def gain(frequency, factor, order):
    """Forwards and backwards, so |H|^2; frequency in cycles a sample.

    The bilinear transform takes an analog frequency W to tan(w / 2), so a Chebyshev filter has exactly
    |H|^2 = 1 / (1 + e^2 T_n(tan(w / 2) / tan(w_edge / 2))^2).
    """
    ripple = 10 ** (RIPPLE_DB / 10) - 1
    x = np.tan(np.pi * frequency) / np.tan(np.pi * PASSBAND / factor / 2)
    inside = np.cos(order * np.arccos(np.minimum(x, 1)))
    outside = np.cosh(np.minimum(order * np.arccosh(np.clip(x, 1, 1e30)), 300))
    return 1 / (1 + ripple * np.where(x <= 1, inside, outside) ** 2)


def low_passed(u, factor, order):
    """(T, K) columns that begin and end with a silence long enough for the filter to die away."""
    spectrum = np.fft.rfft(u, axis=0) * gain(np.fft.rfftfreq(len(u)), factor, order)[:, None]
    return np.fft.irfft(spectrum, len(u), axis=0)


def matlab_order(factor, order=8):
    """The order that MATLAB's `decimate` falls back to: the highest whose direct form still has the right ripple."""
    edge = PASSBAND / factor
    while order > 1:
        b, a = signal.cheby1(order, RIPPLE_DB, edge)
        _, response = signal.freqz(b, a, [np.pi * edge])
        with np.errstate(divide="ignore", invalid="ignore"):
            ripple = -20 * np.log10(np.abs(response[0]))
        if abs(ripple - RIPPLE_DB) <= 1e-6:
            break
        order -= 1
    return order
