"""Readings of sensors, and their whitened residuals along a motion.

Readings are NaN where there is none: any mix of sensors at any rate, with gaps. Their residuals are 0 there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ...arrays import Columns, ReadingRows, Vector
from ...exceptions import InvalidSignals
from ..contacts.contact_dynamics import Linearized, RobotMotion
from .sensor import Sensor


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of one sensor at the samples of a recording.

    Args:
        sensor: the sensor.
        values: (T, width), NaN where there is no reading.
        rates: (T, m) derivative by time of the predicted reading along a motion, for readings that are late; None:
            they have no delay.
        knots: suffix of the name of each knot of a random-walk bias -> (T,) weight of the bias there.

    Raises:
        InvalidSignals: if readings are of another width, or infinite.
    """

    sensor: Sensor
    values: ReadingRows
    rates: Columns | None = None
    knots: Mapping[str, Vector | float] = field(default_factory=lambda: {"": 1.0})

    def __post_init__(self) -> None:
        if self.values.shape[1] != self.sensor.width:
            raise InvalidSignals(
                f"a reading of {self.sensor.name} has {self.sensor.width} numbers, not {self.values.shape[1]}"
            )
        # NaN means missing; infinity is an error in the file
        if np.isinf(self.values).any():
            raise InvalidSignals(
                f"the readings of {self.sensor.name} are infinite somewhere; leave out what is missing as NaN"
            )

    def without_last_effort(self) -> Readings:
        """Readings without the last sample if they depend on efforts: no step there determines its noise."""
        if not self.sensor.depends_on_efforts:
            return self
        values = self.values.copy()
        values[-1] = np.nan
        return replace(self, values=values)

    def __len__(self) -> int:
        return len(self.values)

    def some(self, samples: slice | np.ndarray) -> Readings:
        """The readings at some of the samples."""
        rates = None if self.rates is None else self.rates[samples]
        knots = {knot: np.broadcast_to(weight, len(self))[samples] for knot, weight in self.knots.items()}
        return Readings(self.sensor, self.values[samples], rates, knots)

    def error(self, motion: RobotMotion) -> Columns:
        """(T, m) offset of readings from predicted ones by bias and delay."""
        sensor, errors, offset = self.sensor, motion.errors, np.zeros((len(motion), self.sensor.size))
        if sensor.width == sensor.size:
            for knot, weight in self.knots.items():
                offset += np.multiply.outer(weight, errors.of(errors.at_knot(sensor.channels, knot)))
        if self.rates is not None:
            offset -= errors.of(errors.delays(sensor.quantity, sensor.frames)).sum() * self.rates
        return offset

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        """(T, width) predicted readings, of sensors without quaternions with bias and delay."""
        predicted = self.sensor.predicted(motion)
        return predicted + self.error(motion) if self.sensor.width == self.sensor.size else predicted

    def normalized(self, motion: RobotMotion) -> Columns:
        """(T, m) W (z [-] h), NaN where nothing was read; correlated components count only where all were."""
        sensor, difference = self.sensor, self.sensor.difference(self.values, motion) - self.error(motion)
        read = np.isfinite(difference)
        if not sensor.independent:
            read[:] = read.all(axis=1, keepdims=True)
        # NaN times 0 is NaN: missing readings are masked before the product and after it
        return np.where(read, np.where(read, difference, 0.0) @ sensor.whitening.T, np.nan)


def frames_of(sensors: Sequence[Sensor]) -> tuple[str, ...]:
    """All frames that sensors need, for `ContactDynamics`."""
    return tuple(dict.fromkeys(frame for sensor in sensors for frame in sensor.frames))


def residuals(readings: Sequence[Readings], motion: RobotMotion, efforts: bool = False) -> Linearized:
    """W (z [-] h) of all sensors, one after the other, in standard deviations; 0 where there is no reading.

    With slopes if the motion has them, by tau only if `efforts`.

    Raises:
        InvalidSignals: if there are not as many readings as states.
    """
    T, n = motion.v.shape
    for series in readings:
        if len(series) != T:
            raise InvalidSignals(f"{series.sensor.name} has {len(series)} samples, the motion {T}")
    ends = np.cumsum([0, *(series.sensor.size for series in readings)]).tolist()
    p = motion.slopes[0].theta.shape[2] if motion.a_by is not None else 0
    linearized = Linearized.zeros(np.zeros((T, ends[-1])), ends[-1], n, p, motion.a_by is not None, efforts)
    for series, (first, last) in zip(readings, pairwise(ends), strict=True):
        rows, value = slice(first, last), series.normalized(motion)
        missing = np.isnan(value)
        linearized.value[:, rows] = np.where(missing, 0.0, value)
        if motion.a_by is not None:
            _write_slopes(linearized, motion, series, missing, rows)
    return linearized


def _write_slopes(
    linearized: Linearized, motion: RobotMotion, series: Readings, missing: np.ndarray, rows: slice
) -> None:
    """Write slopes by q, v, a and f, chained to x, tau and theta, in standard deviations where there is a reading."""
    assert linearized.by_x is not None and linearized.by_theta is not None
    slopes, whitened = series.sensor.difference_slopes(series.values, motion), series.sensor.whitened
    n = motion.v.shape[1]
    by_x, by_theta = linearized.by_x[:, rows], linearized.by_theta[:, rows]
    by_tau = None if linearized.by_tau is None else linearized.by_tau[:, rows]
    for slope, out in ((slopes.q, by_x[:, :, :n]), (slopes.v, by_x[:, :, n:])):
        if slope is not None:
            out += whitened(slope[..., :n])
    _write_slopes_by_errors(by_theta, motion, series, slopes.q)
    for part, through in zip((slopes.a, slopes.forces), motion.slopes, strict=True):
        if part is None or not part.shape[-1]:
            continue
        part = whitened(part[..., : through.q.shape[1]])
        by_x[:, :, :n] += part @ through.q
        by_x[:, :, n:] += part @ through.v
        by_theta += part @ through.theta
        if by_tau is not None:
            by_tau += part @ through.tau
    if missing.any():
        for written in (by_x, by_theta, by_tau):
            if written is not None:
                written[missing] = 0.0


def _write_slopes_by_errors(
    by_theta: np.ndarray, motion: RobotMotion, series: Readings, by_q: np.ndarray | None
) -> None:
    """Write slopes by a sensor's open errors; its slopes by q have those by rotations of its frame as last columns."""
    sensor, n, places = series.sensor, motion.v.shape[1], motion.errors.places
    for knot, weight in series.knots.items():
        for k, name in enumerate(motion.errors.at_knot(sensor.channels, knot)):
            if name in places:
                by_theta[:, :, places[name]] -= np.multiply.outer(weight, sensor.whitening[:, k])
    if by_q is not None and by_q.shape[-1] > n:
        for place, turn in motion.errors.open_alignment(sensor.frames[0]).items():
            by_theta[:, :, place] += sensor.whitened(by_q[..., n:]) @ turn
    delays = motion.errors.delays(sensor.quantity, sensor.frames)
    for name in delays if series.rates is not None else ():
        if name in places:
            by_theta[:, :, places[name]] += series.rates @ sensor.whitening.T
