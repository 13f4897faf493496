"""How a measured position follows a command.

    q(t) = a + b y(t) + e(t),     T y'(t) + y(t) = c(t - s)

c is the command, b its gain, a an offset, s a delay of either sign, T a lag. For each s and T of a grid the error is a
parabola in b (a is eliminated), so that its least value within any range of gains is at hand:

    |e|^2 / N = var(q) - 2 b cov(q, y) + b^2 var(y)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Times, Vector

LONGEST_S = 1.0
"""Largest delay to either side [s], at most a fifth of the recording."""

SHORTEST_S = 0.02
"""Least step of the grid of delays [s]."""

LAGS_S = (0.0, 0.03, 0.1, 0.3)

MOST_SAMPLES = 1500
"""Evenly spaced: more of them do not change what is asked here."""

FOLLOWS = (0.1, 3.0)
"""Gains of a servo that is in order. Dry friction makes that of a small motion smaller than 1."""


@dataclass(frozen=True)
class Predictor:
    """The best of some predictors.

    Args:
        gain, delay, lag: b, s [s], T [s]. error: root mean square of e [rad].
    """

    gain: float
    delay: float
    lag: float
    error: float


@dataclass(frozen=True, eq=False)
class Following:
    """Predictors of a position from a command.

    Args:
        delays, lags: (P,) of each [s]. covariance, variance: (P,) cov(q, y) and var(y) [rad^2].
        spread: standard deviation of the position [rad].
    """

    delays: Vector
    lags: Vector
    covariance: Vector
    variance: Vector
    spread: float

    @classmethod
    def of(cls, time: Times, command: Vector, measured: Vector) -> Following:
        """Args:
        time: (T,) [s]. command: (T,) [rad]. measured: (T,) [rad], NaN where nothing was measured.
        """
        valid = np.flatnonzero(np.isfinite(measured))
        kept = valid[:: max(1, -(-len(valid) // MOST_SAMPLES))]
        t, q = time[kept], measured[kept]
        step = max(float(np.median(np.diff(time))), SHORTEST_S)
        count = int(min(LONGEST_S, 0.2 * (time[-1] - time[0])) / step)
        grid = [(s * step, lag) for lag in LAGS_S for s in range(-count, count + 1)]
        lagged = {lag: _lagged(time, command, lag) for lag in LAGS_S}
        Y = np.stack([np.interp(t - s, time, lagged[lag]) for s, lag in grid])
        Y -= Y.mean(axis=1, keepdims=True)
        delays, lags = np.array(grid).T
        return cls(delays, lags, Y @ (q - q.mean()) / len(q), np.mean(Y * Y, axis=1), float(q.std()))

    def best(self, gains: tuple[float, float] = FOLLOWS, earliest: float = 0.0) -> Predictor:
        """The best predictor with a gain in this range, and a delay of at least `earliest` [s]."""
        b = np.clip(self.covariance / np.maximum(self.variance, 1e-300), *gains)
        squares = self.spread**2 - 2 * b * self.covariance + b * b * self.variance
        k = int(np.argmin(np.where(self.delays >= earliest - 1e-9, squares, np.inf)))
        return Predictor(
            float(b[k]), float(self.delays[k]), float(self.lags[k]), float(np.sqrt(max(squares[k], 0.0)))
        )


def _lagged(time: Times, command: Vector, lag: float) -> Vector:
    """(T,) y of T y' + y = c, from c at the first sample."""
    if lag == 0.0:
        return command
    y = command.copy()
    for k, weight in enumerate(np.exp(-np.diff(time) / lag)):
        y[k + 1] = weight * y[k] + (1 - weight) * command[k]
    return y
