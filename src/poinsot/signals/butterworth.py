"""Butterworth filter, central differences, parallel decimation (Brunot et al. 2017, Sect. 2.3).

Step 1  position through a Butterworth low-pass of order n_d + 2, forwards and backwards; then central differences
Step 2  the regressor is built from q, v, a (elsewhere)
Step 3  regressor columns and torques pass the same low-pass ...
Step 4  ... and are down-sampled: `Decimation`, a field of the signals

Gautier's rule of thumb for both filters is in `bandwidth`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import InvalidMethod, InvalidSignals
from ..ranges import Positive
from ..recording import Recording
from .bandwidth import too_narrow
from .low_pass import FilterOrder, LowPass, check_below_nyquist
from .signals import Signals, finish, unsmoothed

SETTLED = 1e-2


@dataclass(frozen=True)
class ButterworthDecimation:
    """Zero-phase Butterworth filter, central differences, then the parallel decimation filter.

    Args:
        cutoff_hz: cutoff of the Butterworth filter in each direction.
        decimate_hz: end of the decimation filter's pass-band, 0.8 of the new Nyquist frequency; None: no decimation.
        order: order of the Butterworth filter; n_d + 2 = 4 for accelerations.
        decimation_order: order of the Chebyshev filter.
        cut_edges: drop the samples (and rows) within the filters' transients at both ends.
        window_s: keep start <= time < stop of the smoothed signals, before decimation.

    Source: Brunot et al. (2017), Sect. 2.3.
    """

    cutoff_hz: Positive
    decimate_hz: Positive | None = None
    order: FilterOrder = 4
    decimation_order: FilterOrder = 8
    cut_edges: bool = True
    window_s: tuple[float, float] | None = None

    def apply(self, recording: Recording) -> Signals:
        """Smooth the positions and attach the efforts.

        Raises:
            InvalidSignals: if the clock is not uniform, samples are marked invalid, or the recording is too short.
            InvalidMethod: if a cutoff is not below the Nyquist frequency.
        """
        raw = unsmoothed(recording, self)
        q, joints, rate_hz = raw.q, raw.joints, recording.rate_hz
        check_below_nyquist("cutoff_hz", self.cutoff_hz, rate_hz)
        if self.order < 1:
            raise InvalidMethod(f"the Butterworth filter needs an order of at least 1, not {self.order}")
        low_pass = LowPass.butterworth(self.order, 2 * self.cutoff_hz / rate_hz)
        # as in MATLAB's filtfilt
        padding = 3 * self.order
        edge = math.ceil(low_pass.samples_until(SETTLED)) if self.cut_edges else 0
        if len(q) <= max(padding, 2 * edge + 2):
            raise InvalidSignals(
                f"{len(q)} samples at {rate_hz:g} Hz are too few for a Butterworth filter at {self.cutoff_hz:g} Hz: "
                f"at least {max(padding, 2 * edge + 2) + 1} are needed; raise cutoff_hz or record longer"
            )
        # before the filter, which writes into q
        warnings = too_narrow(joints, q, rate_hz, np.full(len(joints), self.cutoff_hz))
        # column by column and in place: the filter needs several times the memory of its input
        for column in q.T:
            column[:] = low_pass.forwards_and_backwards(column, padding)
        v = central_difference(q, 1 / rate_hz)
        a = central_difference(v, 1 / rate_hz)
        step = (
            f"Butterworth of order {self.order} at {self.cutoff_hz:g} Hz on the positions, forwards and backwards; "
            "velocity and acceleration by central differences"
        )
        return finish(replace(raw, v=v, a=a, steps=(*raw.steps, step), warnings=warnings), edge)


def central_difference(x: np.ndarray, dt: float) -> np.ndarray:
    """(x_{k+1} - x_{k-1}) / (2 dt) of (T, n) samples, one-sided at the ends: `np.gradient` without its temporaries."""
    v = np.empty_like(x)
    np.subtract(x[2:], x[:-2], out=v[1:-1])
    v[1:-1] /= 2 * dt
    v[0], v[-1] = (x[1] - x[0]) / dt, (x[-1] - x[-2]) / dt
    return v
