"""Accelerations online, from ticks: by central differences of velocities, or by a polynomial through a moving window.

Differences, one tick late:

    a(t_k) = (v(t_k+1) - v(t_k-1)) / (t_k+1 - t_k-1)

The polynomial, half a window late (Savitzky and Golay 1964): with s_i = (t_i - t) / r the times of a window of half
width r about t, V = [1 s s^2 ...] and y the positions,

    min over c of |y - V c|^2       q(t) = c_0,   v(t) = c_1 / r,   a(t) = 2 c_2 / r^2

Efforts and wrenches pass the same filter (c_0), so that all values of a sample have the same delay (Foster et al. 2024,
Sect. III-D; docs/concepts/online.md). Where velocities are measured, they give v = c_0 and a = c_1 / r, and a floating
base keeps the configuration nearest to t. Clocks may jitter.

Missing readings: ticks without positions are ignored, and so are those without velocities where others in the window
have them. An effort is computed from the ticks of the window with its readings, if they suffice by the same rules as
positions; else it is NaN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from ...arrays import JointSamples, Matrix, Vector
from ...ranges import Positive, check_ranges
from .belief import Sample, Tick


def with_accelerations(ticks: Iterable[Tick], longest_gap_s: float = 0.1) -> Iterator[Sample]:
    """Samples by central differences, one tick late; none across a gap, or where clocks run backwards.

    Args:
        ticks: in the order of time; those with a time that is not finite or not later are ignored.
        longest_gap_s: largest time between the two velocities of a difference [s].
    """
    before: Tick | None = None
    now: Tick | None = None
    for after in ticks:
        if not np.isfinite(after.time) or (now is not None and after.time <= now.time):
            continue
        # a difference over a gap would be a mean, not the acceleration in the middle
        if before is not None and now is not None and after.time - before.time <= longest_gap_s:
            a = (after.v - before.v) / (after.time - before.time)
            yield Sample(now.time, now.q, now.v, a, now.tau, now.wrenches, now.trusted)
        before, now = now, after


@dataclass(frozen=True)
class MovingPolynomial:
    """Converts ticks to samples by a polynomial through a moving window.

    Args:
        window_s: the window's whole width [s].
        degree: degree of the polynomial; 2 or more where velocities are not measured.
        sample_hz: rate of the samples [Hz]; None: one at every tick. Overlapping windows share noise, which a filter
            assumes independent: about two samples per window are independent.
        max_gap: longest part of a window without a reading; above, there is no sample. A cubic has up to three
            monotone pieces in a window, and a gap as long as one of them leaves it undetermined.

    Raises:
        InvalidMethod: if a number is out of range.
    """

    window_s: Positive = 0.2
    degree: Annotated[int, Ge(1), Le(7)] = 3
    sample_hz: Positive | None = None
    max_gap: Annotated[float, Gt(0), Le(1)] = 0.3

    def __post_init__(self) -> None:
        check_ranges(self)

    def samples(
        self, ticks: Iterable[Tick], configuration: Callable[[Vector], Vector] = lambda positions: positions
    ) -> Iterator[Sample]:
        """Samples half a window late, none where a window has too few ticks or a gap.

        Args:
            ticks: in the order of time; one whose time or position is not finite, or that is not later than the last,
                is ignored. Those without velocities have joint positions (n,) for `q`.
            configuration: joint positions (n,) -> (nq,).
        """
        window: deque[Tick] = deque()
        ahead: deque[float] = deque()
        due = -np.inf
        for tick in ticks:
            is_later = not window or tick.time > window[-1].time
            # a filter checks and counts other invalid samples
            if not (is_later and np.isfinite(tick.time) and np.isfinite(tick.q).all()):
                continue
            window.append(tick)
            ahead.append(tick.time)
            while ahead and ahead[0] + self.window_s / 2 <= tick.time:
                middle = ahead.popleft()
                if middle < due:
                    continue
                # 1e-9, here and below: rounding must not cut off a tick at the very end of the window
                while window[0].time < middle - self.window_s / 2 * (1 + 1e-9):
                    window.popleft()
                sample = self._at(middle, window, configuration)
                if sample is not None:
                    if self.sample_hz is not None:
                        # half a tick of tolerance, so that a jittering clock keeps the rate
                        tick_s = (window[-1].time - window[0].time) / max(len(window) - 1, 1)
                        due = middle + 1 / self.sample_hz - 0.5 * tick_s
                    yield sample

    def _at(
        self, middle: float, window: deque[Tick], configuration: Callable[[Vector], Vector]
    ) -> Sample | None:
        """The sample of one time; None if its window has too few ticks, or a gap."""
        inside = [tick for tick in window if tick.time <= middle + self.window_s / 2 * (1 + 1e-9)]
        # mixed windows: velocities where there are any, as positions differentiated twice are noisier
        with_velocity = [tick for tick in inside if np.isfinite(tick.v).all()]
        inside = with_velocity or inside
        offsets = np.array([tick.time for tick in inside]) - middle
        if not self._suffices(offsets):
            return None
        value, slope, curvature = self._weights(offsets)
        q = np.array([tick.q for tick in inside])
        if not with_velocity:
            position, v, a = configuration(value @ q), slope @ q, curvature @ q
        else:
            measured = np.array([tick.v for tick in inside])
            v, a = value @ measured, slope @ measured
            # the mean of two quaternions is no rotation
            nearest = inside[int(np.argmin(np.abs(offsets)))].q
            position = configuration(value @ q) if q.shape[1] == len(v) else nearest
        trusted = [tick.trusted for tick in inside if tick.trusted is not None]
        return Sample(
            middle,
            position,
            v,
            a,
            self._values(offsets, value, np.array([tick.tau for tick in inside])),
            {
                # one that a tick lacks and others of its window have is unknown
                body: value @ np.array([tick.wrenches.get(body, np.full(6, np.nan)) for tick in inside])
                for body in dict.fromkeys(chain.from_iterable(tick.wrenches for tick in inside))
            },
            np.logical_and.reduce(trusted) if trusted else None,
        )

    def _suffices(self, offsets: Vector) -> bool:
        """Whether readings at these times from the middle determine the polynomial."""
        # ends of the window count as gaps too: an extrapolated derivative is worthless
        edges = np.concatenate([[-self.window_s / 2], offsets, [self.window_s / 2]])
        return len(offsets) >= self.degree + 2 and bool(np.diff(edges).max() <= self.max_gap * self.window_s)

    def _values(self, offsets: Vector, value: Vector, readings: JointSamples) -> Vector:
        """(n,) values in the middle of readings (m, n), column by column from those that are finite."""
        read = np.isfinite(readings)
        # first as if all were read, in one product; columns with gaps are then done again
        values = value @ np.where(read, readings, 0.0)
        for k in np.flatnonzero(~read.all(axis=0)):
            rows = read[:, k]
            values[k] = np.nan
            if self._suffices(offsets[rows]):
                values[k] = self._weights(offsets[rows])[0] @ readings[rows, k]
        return values

    def _weights(self, offsets: Vector) -> Matrix:
        """(3, m) weights of m readings in value, slope and curvature in the middle."""
        r = self.window_s / 2
        # s in -1 to 1: in seconds the columns of V would differ by powers of the window
        c = np.linalg.pinv(np.vander(offsets / r, self.degree + 1, increasing=True))
        weights = np.zeros((3, len(offsets)))
        weights[: len(c)] = c[:3] * np.array([1, 1 / r, 2 / r**2])[: len(c[:3]), None]
        return weights
