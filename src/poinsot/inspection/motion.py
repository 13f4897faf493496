"""Facts and findings of the clock (rate, jitter, gaps) and of the motion (peak speeds, standstills of the joints)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Mask, Samples, Times
from ..estimate import Finding, Setting, Severity
from ..recording import EFFORTS, UNIFORM_TOLERANCE, Recording, clock_text, window_indices
from ..signals.resampling import BRIDGED_INTERVALS
from ..statistics import white_noise

if TYPE_CHECKING:
    from ..models.robot.articulated import Articulated

LATE_START_S = 1e8
"""A clock that starts later than this (three years) counts from a date. [s]"""

RESAMPLED_JITTER = 0.1
"""Jitter with an rms up to this fraction of an interval is resampled automatically by smoothers."""


@dataclass(frozen=True)
class ClockFacts:
    """Facts of the clock. `start_s`: the time of the first sample. `interval_s`: the median interval. `rms_jitter_s`,
    `largest_jitter_s`: deviations of intervals from it, without gaps. `gaps_s`: (start, stop) of each gap.
    """

    samples: int
    start_s: float
    duration_s: float
    rate_hz: float
    interval_s: float
    rms_jitter_s: float
    largest_jitter_s: float
    uniform: bool
    gaps_s: tuple[tuple[float, float], ...]

    @property
    def even_rate_hz(self) -> float:
        """Rate of the uniform clock to resample to, to three digits: an interval of 1.0003 ms means 1 kHz."""
        return float(f"{self.rate_hz:.3g}")

    @property
    def has_small_jitter(self) -> bool:
        """Whether it may be resampled without a finding: little jitter, and no interval that misses a sample."""
        lost = 2 * self.largest_jitter_s > self.interval_s
        return not lost and self.rms_jitter_s <= RESAMPLED_JITTER * self.interval_s


def clock_facts(recording: Recording) -> ClockFacts:
    intervals = np.diff(recording.time)
    median = float(np.median(intervals))
    gaps = recording.gaps
    # Gaps are reported separately; one of them would mask the jitter of all other intervals.
    jitter = np.delete(intervals, gaps) - median
    return ClockFacts(
        samples=len(recording),
        start_s=float(recording.time[0]),
        duration_s=recording.duration_s,
        rate_hz=1.0 / median,
        interval_s=median,
        rms_jitter_s=float(np.sqrt(np.mean(jitter**2))),
        largest_jitter_s=float(np.max(np.abs(jitter))),
        uniform=recording.is_uniform,
        gaps_s=tuple((float(recording.time[k]), float(recording.time[k + 1])) for k in gaps),
    )


def clock_findings(
    clock: ClockFacts, even: bool = True, arrival_hz: float | None = None
) -> Iterator[Finding]:
    """Findings of the clock. `even`: whether the method needs equal intervals. `arrival_hz`: rate of samples that were
    stamped when they arrived.
    """
    if arrival_hz is not None:
        message = f"Samples are stamped when they arrive, in bursts: their rate is {arrival_hz:.5g} Hz."
        remedy = f"Write rate_hz = {arrival_hz:.5g} in [[recordings]], in place of time = {{ ... }}."
        yield Finding("uneven-clock", Severity.error, message, remedy)
        return
    propose = Setting("[preprocessing]", "resample_hz", f"{clock.even_rate_hz:g}")
    if clock.gaps_s:
        yield _gap_finding(clock, propose)
    if clock.largest_jitter_s > UNIFORM_TOLERANCE * clock.interval_s:
        uneven = even and not clock.has_small_jitter
        message = (
            f"The clock is uneven: intervals of {1e3 * clock.interval_s:.4g} ms vary by up to "
            f"{1e3 * clock.largest_jitter_s:.3g} ms, rms {1e3 * clock.rms_jitter_s:.3g} ms."
        )
        severity = Severity.warning if uneven else Severity.note
        remedy = (
            f"Set {propose}." if uneven else f"It is resampled to {clock.even_rate_hz:g} Hz." if even else ""
        )
        settings = (propose,) if uneven else ()
        yield Finding("uneven-clock", severity, message, remedy, settings=settings)
    if clock.start_s > LATE_START_S:
        origin = clock_text(clock.start_s, clock.interval_s)
        message = f"The clock starts at {origin} s, so it counts from a date."
        remedy = "With start_s = 0 in [[recordings]] times are easier to read and windows easier to write."
        yield Finding("clock-origin", Severity.note, message, remedy)


def _gap_finding(clock: ClockFacts, propose: Setting) -> Finding:
    """The finding of gaps: bridge short ones by resampling, split the recording at long ones."""
    gaps, interval = clock.gaps_s, clock.interval_s
    one = len(gaps) == 1
    start, stop = max(gaps, key=lambda gap: gap[1] - gap[0])
    intervals = (stop - start) / interval
    a, b = clock_text(start, interval), clock_text(stop, interval)
    place = (
        f"The clock has {'one gap,' if one else f'{len(gaps)} gaps, the longest'} "
        f"from {a} s to {b} s ({intervals:.1f} intervals)."
    )
    remedy = f"Set {propose}, which bridges {'it' if one else 'them'}."
    settings: tuple[Setting, ...] = (propose,)
    if intervals > BRIDGED_INTERVALS:
        ends = [clock.start_s, *(after for _, after in gaps), clock.start_s + clock.duration_s]
        parts = [f"[{clock_text(x, interval)}, {clock_text(y, interval)}]" for x, y in pairwise(ends)]
        settings = ()
        remedy = (
            f"If nothing happened meanwhile, set {propose} and bridge_intervals = {math.ceil(intervals) + 1}; "
            f"else list the recording {'twice' if one else f'{len(parts)} times'}, with between_s = {parts[0]} and "
            f"{parts[1]}{'' if one else ' and so on'}."
        )
    return Finding("lost-samples", Severity.warning, place, remedy, settings=settings)


SPEED_OVER_S = 0.02
"""Duration of the position differences that give speeds; shorter ones amplify noise, longer ones lag. [s]"""

STILL = 0.01
"""A joint stands still below this fraction of its own peak speed."""

RESTS, STEPS = 2.0, 3.0
"""A joint rests if the standard deviation of its positions is below RESTS times their noise, or their range is at most
STEPS steps of the encoder."""

SETTLES_S = 1.0
"""Servos settle in less [s]."""

RESTS_S = 0.5
"""A rest while the command moves is longer than dead times [s]."""
FREE = 0.98
"""Quantile of distances from a moving command that is the largest one of a joint that is free: a few samples before a
stop are further away.
"""
BEYOND_NOISE = 5.0
"""Standard deviations of a reading beyond which a distance is no noise, for the largest of some 1e5 samples."""

MIN_SAMPLES = 16
"""Minimum number of samples to distinguish noise from motion."""

SHORTEST_STILL_S = 0.1
"""A shorter standstill is a turning point. [s]"""

MAX_SLIVER_SHARE = 0.05
"""Largest part of the motion that is cut with the standstill that parts it from the rest, if that is longer: the end of
an earlier motion, or the beginning of a later one."""

MIN_CUT_SHARE = 0.01
"""Minimum share of the recording that standstills at its ends must have to propose a window."""


@dataclass(frozen=True, eq=False)
class MotionFacts:
    """Speeds and standstills. `joints`: joints with a position channel. `resting`: joints whose positions are only
    noise. `peak_speeds`: (n,) at the joints' side [rad/s] or [m/s]. `joint_moving`: (T, n) True where a joint
    moves. `still_s`: (start, stop) of each standstill of all joints, 0.1 s or longer. `window_s`: proposed window
    without standstills at the beginning and end; None: nothing to cut.
    """

    joints: tuple[str, ...]
    resting: tuple[str, ...]
    peak_speeds: np.ndarray
    joint_moving: np.ndarray
    still_s: tuple[tuple[float, float], ...]
    window_s: tuple[float, float] | None

    @property
    def moves(self) -> bool:
        """Whether some joint moves."""
        return len(self.resting) < len(self.joints)

    @property
    def moving(self) -> Mask:
        """(T,) True where some joint moves, or no joint was read."""
        return np.asarray(self.joint_moving.any(axis=1) | (not self.joints))


def motion_facts(recording: Recording, velocity_map: np.ndarray | None = None) -> MotionFacts:
    """Speeds and standstills; `velocity_map` (n, n) takes measured velocities to the joints' side."""
    joints = recording.joints("position")
    time = recording.time
    if not joints:
        return MotionFacts((), (), np.empty(0), np.empty((len(time), 0), dtype=bool), (), None)
    velocities = np.stack([_velocity(recording, f"position.{joint}") for joint in joints], axis=1)
    resting = resting_joints(recording)
    peaks = np.abs(velocities).max(axis=0)
    # A joint at rest has noise only, which relative to its own peak would never stand still.
    at_least = STILL * np.where([joint in resting for joint in joints], np.inf, peaks)
    joint_moving = np.abs(velocities) > at_least
    moving = joint_moving.any(axis=1)
    still = _still_periods(time, ~moving)
    at_joints = velocities if velocity_map is None else velocities @ velocity_map.T
    peak_speeds = np.abs(at_joints).max(axis=0)
    return MotionFacts(joints, resting, peak_speeds, joint_moving, still, _window(time, moving, still))


def resting_joints(recording: Recording, window_s: tuple[float, float] | None = None) -> tuple[str, ...]:
    """Joints whose positions are only noise, in a window of the recording or in all of it."""
    first, last = (0, len(recording)) if window_s is None else window_indices(recording.time, *window_s)
    return tuple(
        joint
        for joint in recording.joints("position")
        if _rests(recording[f"position.{joint}"][first:last], recording.mask(f"position.{joint}")[first:last])
    )


def find_unfollowed(recording: Recording) -> list[tuple[float, float, str]]:
    """Intervals in which a joint does not follow its command [s], with the cause, in their order.

    A servo is nearer to a command that is constant than to one that moves, or than it was when the command became
    constant. So its motor is off, or somebody moves the joint, where all commands are constant for longer than
    `SETTLES_S` and its distance from the command becomes larger than both. And something stops it where it rests while
    its command moves further away than that, and comes back: a joint that dry friction holds starts when it is furthest
    from its command.
    """
    joints = [
        joint for joint in recording.joints("position_command") if joint in recording.joints("position")
    ]
    time, found = recording.time, []
    u = recording.stack("position_command", tuple(joints)) if joints else np.zeros((len(time), 0))
    constant = _runs(time, ~(np.diff(u, axis=0) != 0).any(axis=1), SETTLES_S)
    moving = np.ones(len(time), dtype=bool)
    for a, b in constant:
        moving[a:b] = False
    for k, joint in enumerate(joints if moving.any() else ()):
        q = recording[f"position.{joint}"]
        error = np.abs(q - u[:, k])
        steps = np.abs(np.diff(q))
        step = float(np.min(steps[steps > 0], initial=np.inf))
        rests = steps <= step
        noise = white_noise(q, order=4)
        margin = BEYOND_NOISE * noise + (step if np.isfinite(step) else 0.0)
        for a, b in constant:
            if error[a:b].max() > max(error[moving].max(), error[a]) + margin:
                off = (
                    f"{joint} does not follow its constant command: its motor is off, or it is moved by hand"
                )
                found.append((float(time[a]), float(time[min(b, len(q) - 1)]), off))
        stopped = [
            run
            for run in _runs(time, rests, RESTS_S)
            if np.ptp(u[slice(*run), k]) > 0 and run not in constant
        ]
        free = moving.copy()
        for a, b in stopped:
            free[a:b] = False
        largest = np.quantile(error[free], FREE) if free.any() else np.inf
        for a, b in stopped:
            further, comes_back = error[a:b].max() > largest + margin, error[b - 1] <= largest + margin
            if further and (comes_back or b == len(q)):
                at = f"{joint} is stopped at {np.median(q[a:b]):.4g} {recording.units[f'position.{joint}']}"
                found.append((float(time[a]), float(time[min(b, len(q) - 1)]), at))
    return sorted(found)


def _runs(time: Times, holds: np.ndarray, longer_s: float) -> list[tuple[int, int]]:
    """(first, one after the last) sample of each time longer than `longer_s` in which all steps (T - 1,) hold."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8)))
    ends = zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True)
    return [(a, b) for a, b in ends if time[b - 1] - time[a] > longer_s]


def _rests(x: Samples, trusted: Mask) -> bool:
    """Whether positions are only noise: second differences of white noise have six times its variance."""
    x = x[trusted]
    if len(x) < 2 or np.ptp(x) == 0:
        return True
    if len(x) < MIN_SAMPLES:
        return False
    steps = np.diff(x)
    noise = np.sqrt(np.mean(np.diff(steps) ** 2) / 6)
    return bool(x.std() <= RESTS * noise or np.ptp(x) <= 1.001 * STEPS * np.min(np.abs(steps[steps != 0])))


def _velocity(recording: Recording, name: str) -> np.ndarray:
    """(T,) central differences over `SPEED_OVER_S`, interpolated across masked samples."""
    time, trusted = recording.time, recording.mask(name)
    if trusted.sum() < 2:
        return np.zeros(len(time))
    # Masked samples are interpolated, so that they do not appear as a standstill.
    x = recording.filled(name)
    half = max(1, round(0.5 * SPEED_OVER_S * recording.rate_hz))
    after = np.minimum(np.arange(len(time)) + half, len(time) - 1)
    # One-sided at the ends of the recording.
    before = np.maximum(np.arange(len(time)) - half, 0)
    return (x[after] - x[before]) / (time[after] - time[before])


def _still_periods(time: Times, still: Mask) -> tuple[tuple[float, float], ...]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8)))
    periods = zip(time[edges[::2]].tolist(), time[edges[1::2] - 1].tolist(), strict=True)
    # A short standstill at an end of the recording is not a turning point.
    at_end, inside = 0.5 * SPEED_OVER_S, SHORTEST_STILL_S
    return tuple(
        (start, stop)
        for start, stop in periods
        if stop - start >= (at_end if start == time[0] or stop == time[-1] else inside)
    )


def _window(time: Times, moving: Mask, still: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Interval from first to last motion, rounded inwards to hundredths of a second."""
    if not still or not moving.any():
        return None
    moving = moving.copy()
    for (start, stop), outer in ((still[0], time < still[0][0]), (still[-1], time > still[-1][1])):
        sliver = float(np.mean(outer) * (time[-1] - time[0]))
        if stop - start > sliver and np.sum(moving & outer) < MAX_SLIVER_SHARE * np.sum(moving):
            moving &= ~(outer | ((time >= start) & (time <= stop)))
    first, last = float(time[np.argmax(moving)]), float(time[len(moving) - 1 - np.argmax(moving[::-1])])
    # Inwards, since the samples just before and after may be at rest.
    start, stop = math.ceil(100 * first) / 100, math.floor(100 * last) / 100
    worth_it = 0 < stop - start < (1 - MIN_CUT_SHARE) * (time[-1] - time[0])
    return (start, stop) if worth_it else None


def motion_findings(motion: MotionFacts, recording: Recording, standstills: bool = True) -> Iterator[Finding]:
    """Findings of the motion. `standstills`: whether standstills are reported."""
    # the only finding: a window and standstills of a recording without motion would repeat it
    if motion.joints and not motion.moves:
        message = "No joint moves in this recording, so nothing can be identified."
        yield Finding("no-motion", Severity.error, message, "Check columns and units of the positions.")
        return
    yield from _early_motion(motion, recording)
    if motion.window_s is not None and standstills:
        start, stop = motion.window_s
        share = 100 * (1 - (stop - start) / recording.duration_s)
        outside = (recording.time < start) | (recording.time > stop)
        briefly = float(np.mean(motion.moving & outside) * recording.duration_s)
        but = f", but for {briefly:.2g} s" if briefly > SHORTEST_STILL_S else ""
        message = (
            f"No joint moves before {start:.2f} s or after {stop:.2f} s{but} ({share:.0f} % of the recording), where "
            "dry friction is indeterminate."
        )
        window = Setting("[[recordings]]", "window_s", f"[{start:.2f}, {stop:.2f}]")
        yield Finding("standstill", Severity.warning, message, f"Set {window}.", settings=(window,))
    ends = (recording.time[0], recording.time[-1])
    inside = [(start, stop) for start, stop in motion.still_s if start != ends[0] and stop != ends[1]]
    if inside and standstills:
        total = sum(stop - start for start, stop in inside)
        start, stop = inside[0]
        times = "once" if len(inside) == 1 else f"{len(inside)} times"
        message = (
            f"All joints stand still {times} on the way, {total:.2g} s in all, first from {start:.2f} s to "
            f"{stop:.2f} s: the sign of friction is unknown there."
        )
        yield Finding("standstill", Severity.note, message, "")


def _early_motion(motion: MotionFacts, recording: Recording) -> Iterator[Finding]:
    """Joints with a motor that move before the first effort: a command was given before the log of commands."""
    efforts = {f"{quantity}.{joint}": joint for quantity in EFFORTS for joint in recording.joints(quantity)}
    acting = [recording[name] != 0 for name in efforts]
    first = min((int(np.argmax(active)) for active in acting if active.any()), default=0)
    driven = [joint for joint in motion.joints if joint in efforts.values() and joint not in motion.resting]
    starts = {joint: int(np.argmax(motion.joint_moving[:, motion.joints.index(joint)])) for joint in driven}
    if not driven or recording.time[first] - recording.time[begin := min(starts.values())] < SHORTEST_STILL_S:
        return
    a, b, end = (clock_text(recording.time[k], 1 / recording.rate_hz) for k in (begin, first, -1))
    joint = min(starts, key=starts.__getitem__)
    message = (
        f"Joint {joint} moves from {a} s on, {recording.time[first] - recording.time[begin]:.3g} s before the first "
        f"effort, at {b} s: what moved it was not logged."
    )
    remedy = f"Cut the beginning off: between_s = [{b}, {end}] in [[recordings]], or complete the file."
    yield Finding("early-motion", Severity.warning, message, remedy, joint)


def carrier_of_imu(
    robot: Articulated, positions: np.ndarray, gyro: np.ndarray, accelerometer: np.ndarray, interval_s: float
) -> str:
    """The body that turns, and turns against gravity, as an IMU does while the base stands still; "": none does.

    The sensor's axes are a constant rotation from the body's, the one that fits its rates best (Wahba 1965); with it,
    rates and directions of gravity must agree. A base that turns about a foot on the ground turns at the rates of that
    leg, but not against gravity. `robot`: with a fixed base. `positions`: (T, n) of its joints in its order, angles in
    rad or in deg. `gyro`, `accelerometer`: (T, 3) in any unit. `interval_s`: time between two samples [s].
    """
    from ..models.robot.motion_terms import MotionTerms  # slow to import, and few logs have an IMU

    h = max(1, round(SPEED_OVER_S / interval_s))
    rows = np.arange(h, len(positions) - h)
    rows = rows[np.isfinite(positions[rows - h] + positions[rows + h]).all(axis=1)]
    rows = rows[np.isfinite(gyro[rows] + accelerometer[rows]).all(axis=1)]
    rows = rows[:: max(1, len(rows) // MOST_COMPARED)]
    if len(rows) < FEWEST_COMPARED:
        return ""
    best = ALIKE, ""
    for unit in (1.0, np.pi / 180):
        q = robot.configurations(unit * positions[rows])
        v = unit * (positions[rows + h] - positions[rows - h]) / (2 * h * interval_s)
        for body, frame in MotionTerms(robot).frames(robot.bodies, q, v, np.zeros_like(v)).items():
            rates, down = frame.velocity[:, 3:], frame.rotation[:, 2]
            U, _, Vt = np.linalg.svd(gyro[rows].T @ rates)
            mounted = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
            pairs = ((gyro, rates), (accelerometer, down))
            alike = min(_alike(read[rows], predicted @ mounted.T) for read, predicted in pairs)
            best = max(best, (alike, body))
    return best[1]


def _alike(x: np.ndarray, y: np.ndarray) -> float:
    """Correlation of two vectors (T, 3) that vary about their means; 0: one does not."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(np.sum(x * y)) / size if size else 0.0


ALIKE = 0.8
"""Correlation from which readings are of one body: the rest is noise, and the acceleration of the sensor's place."""
MOST_COMPARED, FEWEST_COMPARED = 1000, 50
"""Numbers of samples that are compared."""
