"""The smoothing problem: records of a discrete model, with the parameters to be estimated from them, and its result.

Records are on the steps of the discrete dynamics (Lacoursiere, 4.3). The initial guess of the coordinates is the
readings after a Butterworth filter of second order and 10 Hz, forwards and backwards; rates are its differences,
y'_{k+1} = (y_{k+1} - y_k) / h. Coordinates without a sensor begin at zero, and then move as the mechanism with the
initial guess of the parameters says (`smoothing.RecordEquations.start`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from ...accuracy import CAREFUL, Accuracy
from ...arrays import Brief, Float, Matrix, Vector, interpolated
from ...estimate import Extra, Status
from ...exceptions import InvalidMethod, InvalidSignals, check_known, listing
from ...models.maximal import FRAME_READINGS, Encoder, FrameReading, Mechanism, Model, RateSensor, State
from ...models.maximal.mechanism import AnySensor
from ...parameters import Normal
from ...quantities import FRAME_QUANTITIES, QUATERNION
from ...recording import EFFORTS, Recording
from ...signals.low_pass import LowPass
from ...solve.dense import step_in_box

if TYPE_CHECKING:
    from .sensitivity import Sensitivity
    from .smoothing import Doubt

CUTOFF = 10.0
"""Cutoff of the initial guess's filter: above the frequencies of swinging mechanisms, below those of noise [Hz]."""
MIN_SAMPLES = 4
"""Least number of samples of a record."""
SHORTEST = 8
"""Minimum number of steps of a window."""
LARGEST_PART = 6
"""A window is at most this part of a record: with the history of the first, five windows are left."""
STEP_TOLERANCE = 0.05
"""Largest deviation of a time step from a whole number of samples, in samples."""
MIN_END_SHARE, MIN_VISITS, MIN_VALUES = 0.02, 3, 20
"""A command looks saturated with more than this share of samples at each end of its range, at least this many visits
there, and more different values than this between."""


@dataclass(frozen=True, eq=False, repr=False)
class Record(Brief):
    """One recording, with one sample per step.

    Args:
        times: (N,) [s], rising; steps may differ.
        u: (N, inputs) controls, each held until the next sample; the last is not used.
        z: (N, s) readings of the mechanism's sensors, in their order; NaN where nothing was measured.

    Raises:
        InvalidSignals: if there are fewer than four samples, shapes differ, times do not rise, or controls are missing.
    """

    name: str
    times: Float[np.ndarray, "N"]
    u: Float[np.ndarray, "N inputs"]
    z: Float[np.ndarray, "N s"]

    def __post_init__(self) -> None:
        if len(self.times) < MIN_SAMPLES:
            message = f"{self.name} has {len(self.times)} samples; it needs at least {MIN_SAMPLES}"
            raise InvalidSignals(message)
        if not (len(self.times) == len(self.u) == len(self.z)):
            raise InvalidSignals(
                f"{self.name} has {len(self.times)} times, {len(self.u)} controls and {len(self.z)} readings; give as "
                "many of each"
            )
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise InvalidSignals(
                f"the times of {self.name} do not increase; sort them and remove repeated ones"
            )
        if not np.isfinite(self.u).all():
            raise InvalidSignals(f"controls of {self.name} are missing; hold the last value")
        if np.isinf(self.z).any():
            raise InvalidSignals(f"readings of {self.name} are infinite; mark them as missing by NaN")

    @classmethod
    def from_recording(
        cls,
        mechanism: Mechanism,
        recording: Recording,
        name: str = "recording",
        step_s: float | None = None,
        read_as: str | None = None,
    ) -> Record:
        """The readings of a mechanism's sensors, NaN where there are none, and the commands of its motors.

        Sensors read the channels `position.<joint>` and `velocity.<joint>`, and those of `FRAME_READINGS` at frames, as
        `frame_position.<frame>.x`; an orientation is a quaternion, `orientation.<frame>.x`, `.y`, `.z` and `.w`, that
        turns vectors of the frame to the world. Commands are torques, currents or voltages;
        an invalid one keeps the value before it.

        Args:
            step_s: time step of the model, a multiple of the recording's interval [s]; None: one sample.
            read_as: name of the recording whose sensors are used; None: this one.

        Raises:
            InvalidSignals: if the command of a motor is missing, or step_s is no multiple.
        """
        times = np.asarray(recording.time, dtype=float)
        z, u = np.full((len(times), len(mechanism.sensors)), np.nan), []
        for k, sensor in enumerate(mechanism.sensors):
            if sensor.recording in (None, read_as or name) and sensor.channel in recording.channels:
                z[:, k] = _readings(recording, sensor)
        for joint in mechanism.inputs:
            channels = (f"{effort}.{joint}" for effort in EFFORTS)
            channel = next((candidate for candidate in channels if candidate in recording.channels), None)
            if channel is None:
                raise InvalidSignals(
                    f"recording {name!r} has no command of the motor of {joint!r}; give a column of its torque, "
                    "current or voltage, or leave the motor out (in a project with a description: motor = false)"
                )
            if not recording.mask(channel).any():
                raise InvalidSignals(
                    f"{channel} of recording {name!r} has no valid value; leave the motor out if it had no command"
                )
            # a drive holds its last command; before the first valid command, this is used
            u.append(recording.filled(channel, hold=True))
        record = cls(name, times, np.column_stack(u) if u else np.zeros((len(times), 0)), z)
        sample = float(np.median(record.steps))
        n = 1 if step_s is None else round(step_s / sample)
        if step_s is not None and (n < 1 or abs(step_s / sample - n) > STEP_TOLERANCE):
            raise InvalidSignals(
                f"step_s is {step_s:g} s, but {name} has a sample every {sample:g} s; give a multiple of it"
            )
        return record.every(n)

    def saturated_commands(self, joints: Sequence[str]) -> list[str]:
        """Warnings about commands of these joints, in the order of u, that look saturated at both ends."""
        warnings = []
        for joint, u in zip(joints, self.u.T, strict=True):
            low, high = u.min(), u.max()
            at_ends = [u == low, u == high]
            between = len(np.unique(u[(u > low) & (u < high)]))
            visits = min(int(np.sum(np.diff(np.r_[False, end].astype(int)) == 1)) for end in at_ends)
            share = [float(np.mean(end)) for end in at_ends]
            if min(share) > MIN_END_SHARE and visits >= MIN_VISITS and between > MIN_VALUES:
                warnings.append(
                    f"The command of {joint} in {self.name} stays at its ends, {low:g} and {high:g}, for "
                    f"{100 * sum(share):.0f} % of the time: if the drive saturates there, record its output, not "
                    "its command."
                )
        return warnings

    @property
    def steps(self) -> Float[np.ndarray, "steps"]:
        """Durations of the steps [s]."""
        return np.diff(self.times)

    def samples(self, cut: slice | np.ndarray) -> Record:
        """Some of the samples."""
        return Record(self.name, self.times[cut], self.u[cut], self.z[cut])

    def every(self, n: int) -> Record:
        """Each n-th sample: longer steps."""
        return self.samples(slice(None, None, n))

    def between(self, start: float, end: float) -> Record:
        """The samples of a window [s]."""
        return self.samples((self.times >= start) & (self.times <= end))


def _readings(recording: Recording, sensor: AnySensor) -> Vector:
    """(T,) readings of a sensor, NaN where there is none."""
    if not isinstance(sensor, FrameReading) or not sensor.is_orientation:
        return recording.readings(sensor.channel)
    channels = [f"{sensor.quantity}.{sensor.frame}.{end}" for end in QUATERNION]
    e = np.column_stack([recording.readings(channel) for channel in channels])
    vectors, length = np.full((len(e), 3), np.nan), np.linalg.norm(e, axis=1)
    known = np.isfinite(length) & (length > 0)
    if known.any():
        vectors[known] = Rotation.from_quat(e[known]).as_rotvec()
    return vectors[:, sensor.axis]


def with_sensors(mechanism: Mechanism, recordings: Iterable[Recording]) -> Mechanism:
    """The mechanism with an encoder or a rate sensor for each joint's position or velocity that a recording has, with
    sensors for the readings at frames, and with gains of its motors in units of the commands that were recorded.
    """
    recordings = tuple(recordings)
    sensors: list[AnySensor] = []
    for quantity, kind in (("position", Encoder), ("velocity", RateSensor)):
        read = {joint for recording in recordings for joint in recording.joints(quantity)}
        sensors += [kind(joint) for joint in mechanism.readable_joints if joint in read]
    frames = [frame.name for frame in mechanism.frames]
    read_at = {
        (quantity, name.removeprefix(f"{quantity}.").rpartition(".")[0])
        for recording in recordings
        for name in recording.channels
        if (quantity := name.partition(".")[0]) in FRAME_QUANTITIES
    }
    for quantity, frame in sorted(read_at):
        check_known(frame, frames, f"{quantity} names the frame", "[[mechanism.frames]] has", InvalidSignals)
        check_known(quantity, FRAME_READINGS, "a mechanism reads no", "at frames it reads", InvalidSignals)
    sensors += [
        FrameReading(frame, quantity, axis)
        for frame in frames
        for quantity in FRAME_READINGS
        if (quantity, frame) in read_at
        for axis in range(3)
    ]
    if not sensors:
        raise InvalidSignals(
            "no recording has a position or velocity of a joint, or of a frame; name their columns"
        )
    units = {name: unit for recording in recordings for name, unit in recording.units.items()}
    joints = []
    for joint in mechanism.joints:
        motor: Any = getattr(joint, "motor", None)
        commands = [units[name] for effort in EFFORTS if (name := f"{effort}.{joint.name}") in units]
        changed: Any = {"motor": replace(motor, unit=commands[0])} if motor and commands else {}
        joints.append(replace(joint, **changed))
    return replace(mechanism, sensors=sensors, joints=joints)


def first_guess(
    model: Model, record: Record, theta: Vector
) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N n"]]:
    """(N, n) coordinates and (N, n) rates from smoothed readings of joints; `tracking` has those at frames."""
    mechanism = model.mechanism
    if record.z.shape[1] != len(mechanism.sensors) or record.u.shape[1] != len(mechanism.inputs):
        raise InvalidSignals(
            f"{record.name} has {record.u.shape[1]} controls and {record.z.shape[1]} readings; {mechanism.name} has "
            f"{len(mechanism.inputs)} motors and {len(mechanism.sensors)} sensors"
        )
    known = dict(zip(model.free, theta, strict=True))
    names = [name for name, _ in mechanism.coordinates]
    y, rate = np.zeros((len(record.times), len(names))), np.full((len(record.times), len(names)), np.nan)
    for column, sensor in enumerate(mechanism.sensors):
        if isinstance(sensor, FrameReading) or np.isnan(record.z[:, column]).all():
            continue
        read = record.z[:, column] - known.get(f"{sensor.label}.zero", sensor.zero)
        values = smoothed(record.times, read, bool(model.angular[column]))
        (rate if sensor.is_rate else y)[:, names.index(sensor.joint)] = values
    for place in np.flatnonzero(np.isnan(rate).any(axis=0)).tolist():
        rate[1:, place] = np.diff(y[:, place]) / record.steps
        rate[0, place] = rate[1, place]  # differences have one value less than coordinates
    return y, rate


def horizon_of(model: Model, records: Sequence[Record], theta: Vector) -> list[int]:
    """Steps of a window of each record, see the head of the file."""
    horizons = []
    for record in records:
        y, rate = (np.std(part, axis=0) for part in first_guess(model, record, theta))
        fastest = float((rate / np.maximum(y, 1e-12)).max(initial=0.0))
        for at in model.mechanism.frame_rows:
            # all components together: one of them may turn twice as fast
            columns = vector_readings(model, record.z, at).T
            read = np.array([smoothed(record.times, column) for column in columns])
            rates = np.diff(read, axis=1) / record.steps
            size = max(float(np.linalg.norm(read.std(axis=1))), 1e-12)
            fastest = max(fastest, float(np.linalg.norm(rates.std(axis=1))) / size)
        period = 2 * np.pi / max(fastest, 1e-12) / float(np.median(record.steps))
        horizons.append(int(np.clip(period, SHORTEST, max(len(record.times) // LARGEST_PART, 2))))
    return horizons


def vector_readings(model: Model, z: Float[np.ndarray, "N s"], at: np.ndarray) -> Float[np.ndarray, "N k"]:
    """A reading at a frame, without jumps: its components, or a quaternion whose sign is that of the one before."""
    if not model.mechanism.sensors[at[0]].is_orientation:
        return z[:, at]
    e, known = np.full((len(z), 4), np.nan), np.isfinite(z[:, at]).all(axis=1)
    if known.any():
        read = Rotation.from_rotvec(z[known][:, at]).as_quat()
        same = np.sum(read[1:] * read[:-1], axis=1) >= 0
        e[known] = read * np.cumprod(np.append(1.0, np.where(same, 1.0, -1.0)))[:, None]
    return e


def smoothed(times: Vector, values: Vector, turns: bool = False) -> Vector:
    """Filter forwards and backwards, after interpolating missing values."""
    h = float(np.median(np.diff(times)))
    # a filter needs even samples; steps of a record may differ
    even = np.arange(times[0], times[-1] + 0.5 * h, h)
    line = np.interp(even, times, interpolated(times, values, turns))
    if 2 * CUTOFF * h >= 1:  # sampled below twice the cutoff: there is nothing to filter
        return np.interp(times, even, line)
    low_pass = LowPass.butterworth(2, 2 * CUTOFF * h)
    pad = min(int(3 / (CUTOFF * h)), len(line) - 1)
    return np.interp(times, even, low_pass.forwards_and_backwards(line, pad))


def with_own_zeros(mechanism: Mechanism, names: Sequence[str], recordings: Sequence[str]) -> Mechanism:
    """The mechanism with one sensor per recording in place of each sensor whose zero is named."""
    zeros = [f"{sensor.label}.zero" for sensor in mechanism.sensors]
    of_joints = [
        zero
        for zero, sensor in zip(zeros, mechanism.sensors, strict=True)
        if not isinstance(sensor, FrameReading)
    ]
    for name in names:
        check_known(name, of_joints, "per_recording names", "it may name", InvalidSignals)
    sensors, numbers = [], dict(mechanism.numbers)
    for sensor, zero in zip(mechanism.sensors, zeros, strict=True):
        if zero not in names:
            sensors.append(sensor)
            continue
        value = numbers.pop(zero, sensor.zero)
        sensors += [
            replace(sensor, name=f"{sensor.label} in {recording}", recording=recording, zero=value)
            for recording in recordings
        ]
    return replace(mechanism, sensors=sensors, numbers=numbers)


@dataclass(frozen=True, eq=False)
class RecordFit:
    """The motion of a mechanism in one record, with its residuals.

    Args:
        times: (N,) [s].
        coordinates, rates: (N, n) of joints, angles unwrapped [rad], [m].
        states: (N, ...) of bodies in maximal coordinates; None in the reduced form.
        expected: (N, s) predicted readings.
        observation_errors: (N, s) predicted minus measured; NaN where nothing was measured.
        step_errors: (N - 1, m) residuals of the steps: unmodelled impulses [N s], [N m s], or state errors.
        std: (N, d) standard deviations of the states' tangents, weights taken as 1 / variances; None: not requested.
        cost: sum of the weighted squares of all residuals.
    """

    name: str
    times: Float[np.ndarray, "N"]
    coordinates: Float[np.ndarray, "N n"]
    rates: Float[np.ndarray, "N n"]
    states: State | None
    expected: Float[np.ndarray, "N s"]
    observation_errors: Float[np.ndarray, "N s"]
    step_errors: Float[np.ndarray, "steps m"]
    std: Float[np.ndarray, "N d"] | None = None
    cost: float = float("nan")

    @classmethod
    def at(cls, record: Record, coordinates: Matrix, rates: Matrix, states: State | None) -> RecordFit:
        """States as an initial guess; residuals are NaN."""
        unknown = np.full(record.z.shape, np.nan)
        steps = np.full((len(record.times) - 1, 0), np.nan)
        return cls(record.name, record.times, coordinates, rates, states, unknown, unknown, steps)

    def samples(self, cut: slice) -> RecordFit:
        """The states of some of the samples, as an initial guess."""
        states = None if self.states is None else type(self.states)(*(part[cut] for part in self.states))
        record = Record(self.name, self.times[cut], np.zeros((len(self.times[cut]), 0)), self.expected[cut])
        return RecordFit.at(record, self.coordinates[cut], self.rates[cut], states)


@dataclass(frozen=True)
class AcceptedStep:
    """A step that lowered the cost; the first one is the initial guess.

    The cost is the weighted squares of all residuals by the number of samples; theta (p,) is after the step.
    """

    cost: float
    theta: Vector
    tried: int


@dataclass(frozen=True, eq=False)
class JointFit:
    """Parameters and motions of a `JointSmoothingProblem`.

    Args:
        names: names of all p parameters. theta: (p,). open: (q,) indices of the estimated ones.
        status: how the iteration ended. remaining: predicted relative decrease of the cost by another step, where a
            kink stopped the iteration within a small part of the standard deviations; else 0.
        history: one entry per accepted step, the initial guess first.
        paths: motion of each record.
        sensitivity: uncertainty of the open parameters.
        doubt: about dry friction, with which the residuals were weighted.
    """

    names: tuple[str, ...]
    theta: Vector
    open: np.ndarray
    status: Status
    history: tuple[AcceptedStep, ...]
    paths: tuple[RecordFit, ...]
    sensitivity: Sensitivity = field(repr=False)
    remaining: float = 0.0
    doubt: Doubt | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the iteration passed its stopping test."""
        return self.status.converged

    @property
    def iterations(self) -> int:
        """Accepted steps."""
        return len(self.history) - 1

    @property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.theta.tolist(), strict=True))

    @property
    def covariance(self) -> Matrix:
        """(p, p) for white residuals (Lacoursiere, Eqs. 3.30 to 3.32); 0 for held, NaN for unobservable parameters."""
        return self._expand(self.sensitivity.covariance)

    @property
    def robust_covariance(self) -> Matrix:
        """(p, p) for autocorrelated residuals."""
        return self._expand(self.sensitivity.robust)

    @property
    def std(self) -> Vector:
        """(p,) from `covariance`."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def robust_std(self) -> Vector:
        """(p,) from `robust_covariance`."""
        return np.asarray(np.sqrt(np.diag(self.robust_covariance)))

    @property
    def unobservable(self) -> list[dict[str, float]]:
        """Combinations of open parameters that change no residual: name -> part."""
        names = np.array(self.names)[self.open].tolist()
        return [
            {name: float(part) for name, part in zip(names, direction, strict=True) if abs(part) > 0.05}
            for direction in self.sensitivity.unobservable
        ]

    @property
    def cost(self) -> float:
        """Weighted squares of all errors, by the number of samples."""
        return sum(path.cost for path in self.paths) / sum(len(path.times) for path in self.paths)

    def _expand(self, part: Matrix) -> Matrix:
        # rows of held parameters are 0: they are assumed known
        every = np.zeros((len(self.names), len(self.names)))
        every[np.ix_(self.open, self.open)] = part
        return every


class BodyMotions(tuple[State, ...], Extra):
    """States (N, ...) of all bodies in each recording, where they were estimated in maximal coordinates."""

    key = "body_motions"

    def as_json(self) -> list[dict[str, int]]:
        """Sizes only: the motions hold the joint coordinates."""
        return [{"samples": len(states.position), "bodies": states.position.shape[1]} for states in self]


STILL = 5.0
"""Multiple of a sensor's noise: readings with a smaller spread contain no motion."""


@dataclass(frozen=True, eq=False)
class BoundedParameters:
    """Initial guess of theta, its estimated components, bounds and priors.

    Args:
        theta: (p,) initial guess.
        open: (q,) indices in theta of the parameters that are estimated.
        lower, upper: (p,) bounds.
        prior_mean: (q,). prior_weight: (q,) 1 / standard deviation^2; 0 without a prior.
    """

    theta: Vector
    open: np.ndarray
    lower: Vector
    upper: Vector
    prior_mean: Vector
    prior_weight: Vector

    @property
    def size(self) -> Vector:
        """(q,) magnitudes of the open parameters' initial guesses; 1 where that is 0."""
        return np.where(self.theta == 0, 1.0, np.abs(self.theta))[self.open]

    def prior_cost(self, theta: Vector) -> float:
        """Weighted squared distance of the open parameters of theta (p,) to their priors."""
        return float(self.prior_weight @ (theta[self.open] - self.prior_mean) ** 2)

    def prior_gradient(self, theta: Vector) -> Vector:
        """(q,) half of the derivative of `prior_cost`."""
        return self.prior_weight * (theta[self.open] - self.prior_mean)

    def step(self, theta: Vector, corner: Matrix, damping: Vector) -> Vector:
        """(q,) step of the open parameters from theta (p,) in their bounds; `corner` (q, q + 1) is S_bar and g_bar."""
        room = ((bound - theta)[self.open] for bound in (self.lower, self.upper))
        S = corner[:, :-1] + np.diag(damping + self.prior_weight)
        return step_in_box(S, corner[:, -1] + self.prior_gradient(theta), *room)

    def prior_decrease(self, theta: Vector, d: Vector) -> float:
        """Decrease of `prior_cost` by a step d (q,) from theta (p,)."""
        return -float(self.prior_weight @ d**2 + 2 * self.prior_gradient(theta) @ d)

    def moved(self, theta: Vector, d: Vector) -> Vector:
        """(p,) theta after a step d (q,) of the open parameters."""
        theta, places = theta.copy(), self.open
        # rounding of the sum may leave the box by a bit
        theta[places] = np.clip(theta[places] + d, self.lower[places], self.upper[places])
        return theta

    def holds(self, theta: Vector) -> bool:
        """Whether the open parameters of theta (p,) are finite and within their bounds."""
        inside = (self.lower <= theta) & (theta <= self.upper)
        return bool(np.isfinite(theta).all() and inside[self.open].all())


@dataclass(frozen=True, eq=False, repr=False)
class JointSmoothingProblem(Brief):
    """Records of one model, with the parameters that are estimated beside their states.

    Args:
        model: model with p free parameters, theta.
        records: at least one; they share theta.
        theta: (p,) initial guess; None: the mechanism's values.
        open: names of the free parameters that are estimated, the others are held; None: all.
        lower, upper: bounds by name, in addition to those of the model.
        priors: priors by name; those of parameters that are not open have no effect.
        guess: initial guess of the states of each record, such as another fit's; None: filtered readings.
        held_out: records only for validation.
        accuracy: errors that the laboratory may have made.

    Raises:
        InvalidMethod: if a name, a bound or a number of values is wrong.
        InvalidSignals: if there is no record.
    """

    model: Model
    records: Sequence[Record]
    theta: Vector | None = None
    open: Sequence[str] | None = None
    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, Normal] = field(default_factory=dict)
    guess: Sequence[RecordFit] | None = None
    held_out: Sequence[Record] = ()
    accuracy: Accuracy = CAREFUL

    def __post_init__(self) -> None:
        if not self.records:
            raise InvalidSignals("there is no record to fit; give at least one record")
        lengths = [len(record.times) for record in self.records]
        if self.guess is not None and lengths != [len(fit.times) for fit in self.guess]:
            raise InvalidMethod(
                "the initial guesses of states do not fit these records; give one per record, of the same length"
            )
        _ = self.parameters

    @classmethod
    def from_recordings(
        cls,
        mechanism: Mechanism,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        parameters: Sequence[str],
        *,
        held_out: Sequence[Recording] | Mapping[str, Recording] = (),
        step_s: float | None = None,
        per_recording: Sequence[str] = (),
        accuracy: Accuracy = CAREFUL,
        **known: Any,
    ) -> JointSmoothingProblem:
        """From recordings with channels `position.<joint>`, `velocity.<joint>`, those at frames, and commands.

        Args:
            mechanism: mechanism; without sensors it gets one for each such channel.
            recordings: recordings to estimate from, optionally by name. held_out: recordings only for validation.
            parameters: names of the parameters that are estimated.
            step_s: time step of the model, a multiple of the recordings' interval [s]; None: one sample.
            per_recording: zeros of sensors, as `"elbow encoder.zero"`, that are estimated for each recording. A
                held-out recording uses the sensors of the first one.
            accuracy: errors that the laboratory may have made.
            known: `priors`, `lower` and `upper`.

        Raises:
            InvalidMethod, InvalidSignals, InvalidModel: if a recording or a name does not fit the mechanism.
        """
        used, validation = _named(recordings, "recording"), _named(held_out, "held-out recording")
        if not mechanism.sensors:
            mechanism = with_sensors(mechanism, (*used.values(), *validation.values()))
        if per_recording:
            names = tuple(used)
            mechanism = with_own_zeros(mechanism, per_recording, names)

            def own_names(name: str) -> list[str]:
                if name not in per_recording:
                    return [name]
                return [f"{name.removesuffix('.zero')} in {recording}.zero" for recording in names]

            parameters = [own_name for name in parameters for own_name in own_names(name)]
            known = {
                key: {own_name: value for name, value in named.items() for own_name in own_names(name)}
                for key, named in known.items()
            }
        first = next(iter(used), None)
        records = (
            tuple(
                Record.from_recording(mechanism, recording, name, step_s, read_as)
                for name, recording in group.items()
            )
            for group, read_as in ((used, None), (validation, first))
        )
        if not parameters:
            raise InvalidMethod("there is no parameter to estimate; name at least one")
        unknown = [name for name in mechanism.unknown_stops if name not in parameters]
        parameters = [*parameters, *unknown]
        known["upper"] = dict.fromkeys(unknown, 1.0) | dict(known.get("upper", {}))
        for name in (name for names in known.values() for name in names):
            if name not in parameters:
                raise InvalidMethod(
                    f"{name!r} has a prior or a bound but is not estimated; add it to the parameters"
                )
        fitted, unfitted = records
        return cls(mechanism.model(parameters), fitted, held_out=unfitted, accuracy=accuracy, **known)

    @cached_property
    def parameters(self) -> BoundedParameters:
        """Initial guess, bounds and priors as arrays."""
        model, free = self.model, self.model.free
        theta = np.array(model.theta if self.theta is None else self.theta, dtype=float)
        if theta.shape != (len(free),) or not np.isfinite(theta).all():
            raise InvalidMethod(f"theta needs {len(free)} finite numbers: {listing(free, 40)}")
        open_ = free if self.open is None else self.open
        places = np.array([self.place(name) for name in open_], dtype=int)
        if len(again := np.flatnonzero(np.bincount(places) > 1)):
            raise InvalidMethod(f"{free[again[0]]!r} is named twice; name each parameter once")
        # the model's own bounds limit values to meaningful ones, such as a mass above 0
        lower, upper = model.lower.copy(), np.full(len(free), np.inf)
        for bounds, given in ((lower, self.lower), (upper, self.upper)):
            for name, bound in given.items():
                bounds[self.place(name)] = bound
        outside = places[~((lower <= theta) & (theta <= upper))[places]]
        if len(outside):
            raise InvalidMethod(
                f"the guess of {free[int(outside[0])]!r} is outside its bounds; change either"
            )
        mean, weight = np.zeros(len(free)), np.zeros(len(free))
        for name, prior in self.priors.items():
            mean[self.place(name)], weight[self.place(name)] = prior.mean, 1 / prior.std**2
        return BoundedParameters(theta, places, lower, upper, mean[places], weight[places])

    def held_out_by_own_zeros(self, method: Any, theta: Vector) -> tuple[Record, ...]:
        """Held-out records corrected to the sensor zeros in theta (p,): their own zeros are estimated."""
        sensors, free = self.model.mechanism.sensors, self.model.free
        mine = ((k, f"{s.label}.zero") for k, s in enumerate(sensors) if s.recording == self.records[0].name)
        zeros = {k: name for k, name in mine if name in free}
        if not zeros:
            return tuple(self.held_out)
        corrected = []
        for record in self.held_out:
            fit = method.solve(JointSmoothingProblem(self.model, [record], theta, [*zeros.values()]))
            z = record.z.copy()
            for k, name in zeros.items():
                z[:, k] -= fit.values[name] - theta[free.index(name)]
            corrected.append(replace(record, z=z))
        return tuple(corrected)

    def place(self, name: str) -> int:
        """The index of a free parameter in theta; `InvalidMethod` if there is none of this name."""
        return check_known(name, self.model.free, "no free parameter", "the model has", InvalidMethod, 40)

    def check_motion(self, noise: Vector) -> None:
        """Check that each recording shows motion beyond the noise (s,), else `InvalidSignals`."""
        for record in self.records:
            read = (column[np.isfinite(column)] for column in record.z.T)
            if all(not len(z) or np.std(z) < STILL * level for z, level in zip(read, noise, strict=True)):
                raise InvalidSignals(
                    f"nothing moves in {record.name}: no sensor's readings spread by more than {STILL:g} times its "
                    "noise; record a motion, or state a smaller noise if it is one"
                )


def _named(recordings: Sequence[Recording] | Mapping[str, Recording], word: str) -> Mapping[str, Recording]:
    if isinstance(recordings, Mapping):
        return recordings
    return {f"{word} {k + 1}": recording for k, recording in enumerate(recordings)}
