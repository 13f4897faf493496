"""Tracking problem: recordings of a robot with some open links, in the order in which a filter processes them.

recordings -> ticks -> samples with accelerations, half a window late -> calibration | filter

**Ticks** have the joint side, complete configurations and efforts. A missing reading is NaN, and so is the effort of a
joint whose motor has no channel; a joint without a motor has a known effort of zero.

**Calibration** (Foster et al. 2024, Sect. IV-B). Other links differ from their description (cables, covers), and a
filter attributes the difference to the open links. Over a window in which the open links are as described, the
difference is estimated as constant,

    bias = mean of tau - tau_nom - Y pi

and subtracted from then on. Within the state it cannot be distinguished from the parameters: a change of them that
changes Y pi by the same effort at every sample is equivalent to a bias. Such changes are in the null space of the
stacked [Y 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from ...accuracy import CAREFUL, Accuracy
from ...arrays import Brief, JointSamples, Vector
from ...estimate import Certificate, Estimate
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...inertia.parameters import is_consistent
from ...io.json_lines import Layout, SampleLine
from ...models.robot.articulated import Articulated
from ...models.robot.link_torques import LinkTorques
from ...recording import Recording
from ...regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from ...signals.butterworth import ButterworthDecimation
from ...signals.resampling import resample
from ...signals.signals import effort_of
from .belief import NO_SAMPLES, Bias, RecordedSample, Sample, Tick
from .moving_polynomial import MovingPolynomial
from .tracking import Tracker, TrackingRun

MIN_CALIBRATION_SAMPLES = 10
"""With ten samples the standard deviation of the noise is known to about a quarter, 1 / sqrt(2 (10 - 1))."""


def line_layout(robot: Articulated) -> Layout:
    """The values that every line of a stream must have."""
    return Layout(len(robot.joints), int(robot.train.driven.sum()), robot.floating_base, robot.bodies)


def recording_ticks(robot: Articulated, recording: Recording, name: str = "") -> Iterator[Tick]:
    """Ticks of a recording; samples that are not valid are NaN.

    Args:
        recording: recording with `position.<joint>` of all joints, `velocity.<joint>` of all or none, and one kind of
            effort. name: name of the recording, for messages.

    Raises:
        InvalidSignals: if the robot has a floating base, a joint has no position, or there is not exactly one kind of
            effort.
    """
    where = f"recording {name!r}" if name else "the recording"
    if robot.floating_base:
        raise InvalidSignals(
            f"{where}: the robot has a floating base, for which recordings have no columns; "
            "give its samples as JSON lines with --stream"
        )
    train, joints = robot.train, robot.joints
    quantity, with_effort = effort_of(recording)
    following = robot.dependent_joints
    missing = [joint for joint in joints if joint not in (*recording.joints("position"), *following)]
    if missing:
        raise InvalidSignals(f"{where} has no position of joint {missing[0]!r}: give its column")

    def measured(quantity: str, names: tuple[str, ...]) -> JointSamples:
        columns = np.full((len(recording), len(joints)), np.nan)
        for joint in names:
            channel = f"{quantity}.{joint}"
            columns[:, joints.index(joint)] = recording.readings(channel)
        return columns

    def joint_side(quantity: str, convert: Callable[[JointSamples], JointSamples]) -> JointSamples:
        unread = np.isin(joints, [joint for joint in following if joint not in recording.joints(quantity)])
        values = measured(quantity, tuple(np.array(joints)[~unread]))
        return np.where(unread, np.nan, convert(np.where(unread, 0.0, values)))

    position = joint_side("position", train.joint_positions)
    effort = _joint_efforts(robot, measured(quantity, with_effort))
    # if only some joints have velocities, none are used: all of v must have the same origin
    velocity = np.full_like(position, np.nan)
    if set(joints) <= {*recording.joints("velocity"), *following}:
        velocity = joint_side("velocity", train.joint_velocities)
    if robot.closure is not None:
        known = np.isfinite(position[:, robot.closure.independent]).all(axis=1)
        position[known] = robot.closure.positions(position[known])[0]
        velocity = robot.closure.motion(robot.configurations(position), velocity, np.zeros_like(velocity))[0]
    for k, time in enumerate(recording.time):
        yield Tick(float(time), position[k], velocity[k], effort[k])


def stream_ticks(robot: Articulated, lines: Iterable[SampleLine]) -> Iterator[Tick]:
    """Ticks of the lines of a stream.

    Raises InvalidSignals if the robot has a floating base and a line no velocities.
    """
    train, driven = robot.train, np.flatnonzero(robot.train.driven)
    for line in lines:
        efforts = np.full((1, len(robot.joints)), np.nan)
        # a stream has efforts of driven joints only, in the order of the joints
        efforts[0, driven] = line.effort
        effort = _joint_efforts(robot, efforts)[0]
        position = train.joint_positions(line.position[None])[0]
        velocity = np.full(len(position), np.nan)
        if line.velocity is not None:
            velocity = train.joint_velocities(line.velocity[None])[0]
        if robot.floating_base:
            if line.velocity is None:
                raise InvalidSignals("a robot with a floating base needs the velocities of its joints too")
            base = line.base
            position = np.concatenate([base["base_position"], base["base_orientation"], position])
            velocity = np.concatenate([base["base_velocity"], velocity])
            # zero effort of the base is a measurement too: six rows of the filter
            effort = np.concatenate([np.zeros(6), effort])
        yield Tick(line.time, position, velocity, effort, line.wrenches)


def _joint_efforts(robot: Articulated, efforts: JointSamples) -> JointSamples:
    """(T, n) joint torques of measured efforts; NaN for joints that a motor without a reading drives, and no others."""
    train = robot.train
    missing = np.isnan(efforts) & train.driven
    # on the motor side a coupled joint needs the readings of all motors that drive it
    drives = train.reduction != 0 if train.drive.side == "motor" else np.eye(len(robot.joints))
    torques = train.joint_torques(np.where(np.isnan(efforts), 0.0, efforts))
    return np.where(missing.astype(float) @ drives > 0, np.nan, torques)


def calibrate_bias(torques: LinkTorques, samples: Iterable[Sample], pi: np.ndarray | None = None) -> Bias:
    """Mean and standard deviation of the residuals over a window, from the available readings of each effort.

    Args:
        torques: the robot with its open bodies.
        samples: samples of the window; readings that are not finite are ignored.
        pi: (k, 10) parameters of the open bodies during it; None: the description's.

    Raises:
        NotIdentifiable: if no effort was read at least twice.
    """
    pi = torques.described if pi is None else pi
    residuals = []
    for sample in samples:
        Y, tau = torques(sample.q, sample.v, sample.a, sample.wrenches)
        residuals.append(sample.tau - tau - Y @ np.ravel(pi))
    # efforts may be read at some samples only, or never: each column has its own number
    rows = np.ma.masked_invalid(np.reshape(residuals, (-1, torques.robot.model.nv)))
    most = int(rows.count(axis=0).max(initial=0))
    if most < 2:
        raise NotIdentifiable(f"a bias needs two finite samples at least; the window has {most}")
    # ddof = 1: the mean is from the same samples
    std = rows.std(axis=0, ddof=1)
    # joints that follow others have no efforts of their own
    spread = std.filled(0.0)
    if torques.robot.closure is not None:
        spread[torques.robot.closure.dependent] = spread.max()
    return Bias(rows.mean(axis=0).filled(0.0), spread, int(rows.count(axis=1).astype(bool).sum()))


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
        accuracy: errors that the laboratory may have made.

    Raises:
        InvalidMethod: if there is no recording, numbers are out of range, or there are not as many names.
    """

    torques: LinkTorques
    recordings: Sequence[Recording]
    signals: MovingPolynomial = field(default_factory=MovingPolynomial)
    calibrate_s: float = 0.0
    names: Sequence[str] = ()
    pause_s: float = 1.0
    accuracy: Accuracy = CAREFUL

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
    """The bias of the first seconds of named ticks, and the samples after them; ticks are read only once.

    Args:
        ticks: name and ticks of each recording. The others: see `TrackingProblem`.

    Raises NotIdentifiable if there are fewer seconds than `calibrate_s`, or too few samples in them.
    """
    robot = torques.robot

    def configuration(q: Vector) -> Vector:
        # a floating base's ticks have whole configurations, others positions of joints
        return q if robot.floating_base else robot.configurations(q[None])[0]

    def constrained(samples: Iterator[Sample]) -> Iterator[Sample]:
        for sample in samples:
            q, v, a, tau = torques.constrained(sample.q, sample.v, sample.a, sample.readings)
            yield replace(sample, q=q, v=v, a=a, tau=tau)

    def read(ticks: Iterable[Tick]) -> Iterator[Sample]:
        samples = signals.samples(ticks, configuration)
        return samples if robot.closure is None else constrained(samples)

    samples = in_sequence(((name, read(some)) for name, some in ticks), pause_s)
    if calibrate_s == 0:
        return None, samples
    window: list[Sample] = []
    for recorded in samples:
        if window and recorded.sample.time - window[0].time >= calibrate_s:
            if len(window) < MIN_CALIBRATION_SAMPLES:
                raise NotIdentifiable(
                    f"the calibration has {len(window)} samples in {calibrate_s:g} s but needs "
                    f"{MIN_CALIBRATION_SAMPLES}: give a larger calibrate_s or sample_hz, or noise"
                )
            # this sample is after the window: the filter processes it
            return calibrate_bias(torques, window), chain([recorded], samples)
        window.append(recorded.sample)
    if not window:
        raise NotIdentifiable(NO_SAMPLES)
    raise NotIdentifiable(
        f"the calibration needs {calibrate_s:g} s, but there were only {window[-1].time - window[0].time:.3g} s: "
        "give a smaller calibrate_s, or noise"
    )


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
