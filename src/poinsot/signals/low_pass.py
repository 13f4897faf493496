"""Butterworth and Chebyshev low-pass filters: design, and filtering forwards and backwards.

The analogue prototypes of order N, with cutoff 1 rad/s and phi_m = pi m / 2N for m = -N+1, -N+3, ..., N-1:

    Butterworth   poles -e^(i phi_m)                   |H(i w)|^2 = 1 / (1 + w^2N)
    Chebyshev I   poles -sinh(mu + i phi_m)            |H(i w)|^2 = 1 / (1 + eps^2 T_N(w)^2)
                  mu = asinh(1/eps) / N,  eps^2 = 10^(ripple/10) - 1

The bilinear transform s -> (z - 1) / ((z + 1) tan(w_c / 2)) makes them digital: all zeros lie at z = -1.

`scipy.signal` gives the same filters, as the tests show; its import takes half a second of processor time, because it
imports `scipy.stats` and `scipy.interpolate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np
from annotated_types import Ge, Le

from ..arrays import Samples
from ..exceptions import InvalidMethod
from ..kernels import njit

FilterOrder: TypeAlias = Annotated[int, Ge(1), Le(20)]
"""Order of a filter; above 20 rounding errors dominate."""


@dataclass(frozen=True, eq=False)
class LowPass:
    """A digital low-pass filter H(z) = gain (z + 1)^N / prod_i (z - poles_i).

    Args:
        poles: (N,) complex, in conjugate pairs; a real pole has an imaginary part of exactly zero.
        gain: factor of the highest power of z.
    """

    poles: np.ndarray
    gain: float

    @classmethod
    def butterworth(cls, order: int, cutoff: float) -> LowPass:
        """Filter that passes half of the power at `cutoff`, a fraction of the Nyquist frequency (0 < cutoff < 1)."""
        return cls._digital(-np.exp(1j * _angles(order)), 1.0, cutoff)

    @classmethod
    def chebyshev(cls, order: int, ripple_db: float, cutoff: float) -> LowPass:
        """Filter whose gain lies between -ripple_db and 0 dB up to `cutoff`, a fraction of the Nyquist frequency."""
        eps = np.sqrt(10 ** (ripple_db / 10) - 1)
        poles = -np.sinh(np.arcsinh(1 / eps) / order + 1j * _angles(order))
        return cls._digital(poles, 1.0 if order % 2 else 1 / np.sqrt(1 + eps**2), cutoff)

    @classmethod
    def _digital(cls, poles: np.ndarray, gain_at_zero: float, cutoff: float) -> LowPass:
        """The bilinear transform of an analogue prototype; `gain_at_zero` is H(0) = H(z = 1)."""
        # prewarped: the bilinear transform warps frequencies, and the cutoff must keep its value
        scaled = np.tan(np.pi * cutoff / 2) * poles
        return cls((1 + scaled) / (1 - scaled), gain_at_zero * float(np.real(np.prod(scaled / (scaled - 1)))))

    @property
    def sections(self) -> np.ndarray:
        """(ceil(N / 2), 5) second-order sections b0, b1, b2, a1, a2; the fastest decaying is first.

        The first section carries the gain.
        """
        # slow poles last: fast ones attenuate before the resonance of slow ones amplifies
        upper = [pole for pole in self.poles[np.argsort(np.abs(self.poles))] if pole.imag >= 0]
        rows = [
            (1.0, 1.0, 0.0, -pole.real, 0.0)
            if pole.imag == 0
            else (1.0, 2.0, 1.0, -2 * pole.real, pole.real**2 + pole.imag**2)
            for pole in upper
        ]
        sections = np.array(rows)
        sections[0, :3] *= self.gain
        return sections

    def samples_until(self, size: float) -> float:
        """Samples after which the slowest mode has decayed to `size`."""
        return float(np.log(size) / np.log(np.max(np.abs(self.poles))))

    def forwards_and_backwards(self, x: Samples, padding: int) -> Samples:
        """Filter without lag.

        Args:
            x: (T,), longer than `padding`.
            padding: samples of odd reflection at either end. Each pass starts at rest on its first sample.
        """
        padded = np.concatenate(
            [2 * x[0] - x[padding:0:-1], x, 2 * x[-1] - x[-2 : -padding - 2 : -1]], dtype=np.float64
        )
        sections = self.sections
        state = np.empty((len(sections), 2))
        _run(sections, state, padded)
        # a copy: the kernel is compiled for contiguous arrays
        backwards = padded[::-1].copy()
        _run(sections, state, backwards)
        return backwards[::-1][padding : padding + len(x)]


def check_below_nyquist(name: str, hz: float, rate_hz: float) -> None:
    """Raise `InvalidMethod`, with the name of the cutoff, if it is not between 0 and half the sampling rate."""
    # within 1e-9 of half the rate is half of it; below 1e-7, (pi hz / rate)^2 in a section is rounding error
    if not 1e-7 * rate_hz < hz < (1 - 1e-9) * rate_hz / 2:
        raise InvalidMethod(
            f"{name} = {hz:g} must lie between 0 and the Nyquist frequency {rate_hz / 2:g} Hz"
        )


def _angles(order: int) -> np.ndarray:
    """phi_m, (N,) [rad]; exactly zero in the middle of an odd order."""
    return np.pi * np.arange(1 - order, order, 2) / (2 * order)


@njit(cache=True)
def _run(sections: np.ndarray, z: np.ndarray, x: np.ndarray) -> None:
    """Filter x (T,) in place, each section in transposed direct form II and at rest on the first sample.

    z (sections, 2) is for states.
    """
    # started from zero, the filter would respond to an offset as to a step
    level = x[0]
    for s in range(len(sections)):
        b0, b1, b2, a1, a2 = sections[s]
        steady = level * (b0 + b1 + b2) / (1 + a1 + a2)
        z[s, 1] = b2 * level - a2 * steady
        z[s, 0] = b1 * level - a1 * steady + z[s, 1]
        level = steady
    for k in range(len(x)):
        u = x[k]
        for s in range(len(sections)):
            y = sections[s, 0] * u + z[s, 0]
            z[s, 0] = sections[s, 1] * u - sections[s, 3] * y + z[s, 1]
            z[s, 1] = sections[s, 2] * u - sections[s, 4] * y
            u = y
        x[k] = u
