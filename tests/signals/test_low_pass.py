"""Low-pass filters: equal to SciPy's design and to its filtering forwards and backwards."""

import numpy as np
import pytest
from scipy import fft, signal

from poinsot.signals.bandwidth import welch
from poinsot.signals.low_pass import LowPass

RIPPLE_DB = 0.05
CUTOFFS = (0.001, 0.02, 0.3, 0.5, 0.998)


def designs(order, cutoff):
    """Ours and SciPy's zeros, poles and gain."""
    yield LowPass.butterworth(order, cutoff), signal.butter(order, cutoff, output="zpk")
    yield LowPass.chebyshev(order, RIPPLE_DB, cutoff), signal.cheby1(order, RIPPLE_DB, cutoff, output="zpk")


@pytest.mark.parametrize("order", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_poles_gain_and_sections_are_those_of_scipy(order, cutoff):
    for low_pass, (zeros, poles, gain) in designs(order, cutoff):
        # both evaluate the same products of N factors, each rounded to 1e-16
        np.testing.assert_array_equal(zeros, -1)
        np.testing.assert_allclose(low_pass.poles, poles, rtol=1e-14)
        np.testing.assert_allclose(low_pass.gain, gain, rtol=1e-14)
        upper = np.sort_complex(low_pass.poles[low_pass.poles.imag >= 0])
        roots = np.concatenate([np.roots([1, a1, a2]) for _, _, _, a1, a2 in low_pass.sections])
        assert len(low_pass.sections) == (order + 1) // 2 == len(upper)
        # the roots of a section whose pair of poles is 1e-3 apart lose half of the digits of that distance
        np.testing.assert_allclose(np.sort_complex(roots[roots.imag > 0]), upper[upper.imag > 0], rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_filtering_is_that_of_scipy(order, cutoff, rng):
    x = 5 + rng.standard_normal(3000).cumsum()
    padding = 3 * order
    for low_pass, design in designs(order, cutoff):
        expected = signal.sosfiltfilt(signal.zpk2sos(*design), x, padlen=padding)
        # A section's gain at rest is b / (1 + a1 + a2), where 1e-16 of rounding is divided by (pi cutoff)^2: 1e-12 is
        # reached from a hundredth of the Nyquist frequency on, and 1e-10 at a thousandth.
        rtol = max(1e-12, 1e-16 / cutoff**2)
        found = low_pass.forwards_and_backwards(x, padding)
        np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(x).max())


def test_a_constant_passes_unchanged():
    for low_pass, _ in designs(3, 0.2):
        np.testing.assert_allclose(low_pass.forwards_and_backwards(np.full(50, 7.0), 9), 7.0, rtol=1e-14)


def test_samples_until_is_the_slowest_modes_decay():
    low_pass = LowPass.butterworth(1, 0.1)
    pole = low_pass.poles[0].real
    np.testing.assert_allclose(pole ** low_pass.samples_until(1e-2), 1e-2, rtol=1e-12)


@pytest.mark.parametrize("samples", [64, 65, 999, 5000])
def test_welch_is_that_of_scipy(samples, rng):
    x, rate_hz, length = 5 + rng.standard_normal(samples).cumsum(), 123.0, (samples - 1) // 3
    padded = fft.next_fast_len(length, real=True)
    frequencies, expected = signal.welch(x, rate_hz, "hann", length, nfft=padded)
    np.testing.assert_allclose(np.arange(len(expected)) * rate_hz / padded, frequencies, rtol=1e-12)
    # a density far below the largest has lost the digits between them
    np.testing.assert_allclose(welch(x, rate_hz, length), expected, rtol=1e-12, atol=1e-16 * expected.max())
