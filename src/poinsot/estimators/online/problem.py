"""Tracking problem: recordings of a robot with some open links, in the order in which a filter processes them.

recordings -> ticks -> samples with accelerations, half a window late -> calibration | filter
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...arrays import Brief
from ...estimate import Certificate, Estimate
from ...exceptions import InvalidMethod, NotIdentifiable
from ...inertia.parameters import is_consistent
from ...models.robot.link_torques import LinkTorques
from ...recording import Recording
from ...regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from ...signals.butterworth import ButterworthDecimation
from ...signals.resampling import resample
from .belief import RecordedSample, Sample, Tick
from .calibration import Bias, calibrate_at_start
from .moving_polynomial import MovingPolynomial
from .ticks import configuration_of, recording_ticks
from .tracking import Tracker, TrackingRun

REPLAY_TOLERANCE = 1e-8
"""In standard deviations: a replay repeats the same operations, so differences are at most the rounding of a file."""


@dataclass(frozen=True, eq=False, repr=False)
class TrackingProblem(Brief):
    """Tracking of the mass properties of a few links over recordings.

    `ExtendedKalmanFilter(problem.torques, 2 * problem.calibration.std).solve(problem)` gives the estimate.

    Args:
        torques: the robot with its open links.
        recordings: recordings of positions and efforts of its joints, processed one after the other.
        signals: filter that computes velocities and accelerations.
        calibrate_s: duration at the start in which the open links are as described [s]; these samples give
            `calibration` and are not processed by a filter.
        names: names of the recordings; by default `recording 1` and so on.
        pause_s: time for a filter between two recordings, which their clocks do not determine [s].

    Raises:
        InvalidMethod: if there is no recording, numbers are out of range, or there are not as many names.
    """

    torques: LinkTorques
    recordings: Sequence[Recording]
    signals: MovingPolynomial = field(default_factory=MovingPolynomial)
    calibrate_s: float = 0.0
    names: Sequence[str] = ()
    pause_s: float = 1.0

    def __post_init__(self) -> None:
        if not self.recordings:
            raise InvalidMethod("a tracking problem needs at least one recording")
        if not 0 <= self.calibrate_s < np.inf or not 0 < self.pause_s < np.inf:
            raise InvalidMethod(
                f"calibrate_s must be at least 0 and pause_s above 0, not {self.calibrate_s:g} and {self.pause_s:g}"
            )
        if self.names and len(self.names) != len(self.recordings):
            raise InvalidMethod(f"there are {len(self.recordings)} recordings but {len(self.names)} names")

    @cached_property
    def calibration(self) -> Bias:
        """Constant efforts and their noise in the first `calibrate_s` seconds.

        Raises:
            NotIdentifiable: if `calibrate_s` is 0, or there are too few samples in that time.
        """
        calibration, _ = self.calibrated_samples()
        if calibration is None:
            raise NotIdentifiable(
                "there is no calibration: give the problem calibrate_s, or the filter a noise"
            )
        return calibration

    def samples(self) -> Iterator[RecordedSample]:
        """Samples for a filter, after those of the calibration; each call starts anew."""
        return self.calibrated_samples()[1]

    def calibrated_samples(self) -> tuple[Bias | None, Iterator[RecordedSample]]:
        """The calibration, None if `calibrate_s` is 0, and the samples after it; each call starts anew."""
        names = self.names or [f"recording {k + 1}" for k in range(len(self.recordings))]
        ticks = (
            (name, recording_ticks(self.torques.robot, recording, name))
            for name, recording in zip(names, self.recordings, strict=True)
        )
        return calibrated_samples(self.torques, self.signals, ticks, self.calibrate_s, self.pause_s)

    def as_recorded(self) -> InverseDynamics:
        """The recordings as a regression, for checks of single samples.

        Raises:
            InvalidSignals: if they have gaps or are too short.
        """
        signals = []
        for recording in self.recordings:
            uniform = recording if recording.is_uniform else resample(recording)
            # a polynomial of degree d can represent d + 1 half waves in its window
            band = min((self.signals.degree + 1) / (2 * self.signals.window_s), 0.2 * uniform.rate_hz)
            signals.append(ButterworthDecimation(band, 0.5 * band).apply(uniform))
        return inverse_dynamics(self.torques.robot, signals)

    def certify(self, estimate: Estimate) -> Certificate:
        """Replay the recordings through the estimate's filter and compare with the estimate's values.

        `stationarity` is the largest difference in posterior standard deviations. `feasible`: bodies are physically
        possible if the filter's coordinates are a chart; else values are finite.

        Raises:
            InvalidMethod: if the estimate does not contain the run of a filter.
        """
        run = estimate.extra(TrackingRun)
        if run is None:
            raise InvalidMethod(
                "only the estimate of a filter can be certified by a replay of its recordings"
            )
        replay = Tracker(run.filter, belief=run.start)
        # as many samples as in the run, which may have been interrupted
        replay.run(self.samples(), stop=lambda: replay.samples >= run.samples)
        replayed = replay.estimate()
        # in posterior standard deviations: the coordinates have different units
        difference = np.abs(estimate.values - replayed.values) / replayed.std
        bodies = estimate.values.reshape(-1, 10)
        possible = is_consistent(bodies).all() if run.filter.curved else np.isfinite(bodies).all()
        largest = float(difference.max()) if np.isfinite(difference).all() else np.inf
        return Certificate(largest, bool(possible), REPLAY_TOLERANCE)


def calibrated_samples(
    torques: LinkTorques,
    signals: MovingPolynomial,
    ticks: Iterable[tuple[str, Iterable[Tick]]],
    calibrate_s: float,
    pause_s: float = 1.0,
) -> tuple[Bias | None, Iterator[RecordedSample]]:
    """The calibration and the samples after it, of named ticks, which are read only once; see `TrackingProblem`."""
    configuration = configuration_of(torques.robot)
    runs = ((name, signals.samples(some, configuration)) for name, some in ticks)
    return calibrate_at_start(torques, in_sequence(runs, pause_s), calibrate_s)


def in_sequence(
    recordings: Iterable[tuple[str, Iterable[Sample]]], pause_s: float = 1.0
) -> Iterator[RecordedSample]:
    """Samples of all recordings, one recording after the other.

    Args:
        recordings: name and samples of each.
        pause_s: time from the last sample of one to the first of the next on the filter's clock [s].
    """
    now: float | None = None
    for name, samples in recordings:
        later: float | None = None
        for sample in samples:
            # the first sample of a recording; its own clock may start anywhere
            if later is None:
                later = 0.0 if now is None else now + pause_s - sample.time
            now = sample.time + later
            yield RecordedSample(replace(sample, time=now), name, sample.time)
