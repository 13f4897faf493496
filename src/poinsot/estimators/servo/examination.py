"""What may be wrong with an estimate of actuators: findings about its channels, its fit and its parameters.

Checks of commands and positions need no model of the actuator: is each position that of its command, in its unit,
direction and place? Recordings in which a joint does not move say nothing about it. The others compare the simulation
with the motion, and parameters with those of a servo.

How a measured position follows a command (`Following`):

    q(t) = a + b y(t) + e(t),     T y'(t) + y(t) = c(t - s)

c is the command, b its gain, a an offset, s a delay of either sign, T a lag. For each s and T of a grid the error is a
parabola in b (a is eliminated), so that its least value within any range of gains is at hand:

    |e|^2 / N = var(q) - 2 b cov(q, y) + b^2 var(y)

A servo that is in order follows its own command, in its direction, about as far, and after it. Where another range of
gains or delays, or another joint's command, predicts the position far better, columns, signs or units are mistaken.

Channels of effort that are not used (`unused_efforts`): a torque in [N m] that the simulated one explains is used
(`torque_scale`). Servos report an unsigned load. Of a Feetech STS3215 (SO-101) it is the share of the supply that its
own controller puts on the motor: over ten motions of a real arm |command - position| explains 85 % of its variance at
the shoulder and 87 % at the elbow, where it is large, and is not later than it; the torque of gravity explains 0 to
1 %. It repeats what the error shows, in a unit of its own at each joint, and gives torques no scale. Each result says
so of its own recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ... import Recording
from ...arrays import Times, Vector
from ...diagnosis import Cause, Check
from ...diagnosis.check import look_at
from ...diagnosis.parameters import SPREAD_NOT_KNOWN
from ...diagnosis.position_samples import LOST, lost_at, steps
from ...estimate import Diagnosis, Estimate, Finding, Severity, Unchecked
from ...estimate.estimate import unfinished
from ...estimate.finding import ordered
from ...exceptions import listing
from .problem import SCALE_KNOWN, SETTLES_S, ActuatorProblem, CommandedMotion
from .result import Actuators
from .search import GroupProblem
from .torque_scale import CHANNEL

DEGREES = 180 / np.pi


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at: an estimate, its actuators, and the problem with its motions."""

    estimate: Estimate
    found: Actuators
    problem: ActuatorProblem

    def moving(self) -> Iterator[tuple[CommandedMotion, int, Vector, Vector]]:
        """(motion, place of a joint, (T,) its commands, (T,) positions) where both move enough to be compared."""
        for motion in self.problem.all_motions:
            for k, unit in enumerate(self.problem.units):
                c, q = motion.command[:, k], motion.measured[:, k]
                if np.isfinite(q).sum() > 50 and np.ptp(c) > 0 and extent(q) > 2 * least_motion(unit):
                    yield motion, k, c, q


def extent(values: Vector) -> float:
    """Range of values but for a hundredth at either end, those that are NaN left out."""
    finite = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(finite, (0.99, 0.01)))) if len(finite) else 0.0


def least_motion(unit: str) -> float:
    """Below this, dry friction and rounding hide everything else: 0.6 degrees, seven steps of a usual encoder."""
    return 0.01 if unit == "rad" else 1e-3


class Jumps(Check):
    """Single readings, and angles that are wrapped: no servo moves so far in one sample."""

    of_samples = True
    causes = (
        Cause(
            "position-jump",
            "A position jumps: a wrong reading, or an angle that is wrapped.",
            'Unwrap angles before; or leave wrong readings empty, with invalid = "mask" in [[recordings]].',
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for motion, k, c, q in case.moving():
            valid = np.flatnonzero(np.isfinite(q))
            moves = np.abs(np.diff(q[valid]))
            # degrees that are declared as radians are no jumps
            far = np.flatnonzero((moves > max(np.ptp(c), 0.5 * extent(q))) & (np.diff(valid) == 1))
            if len(far):
                joint, unit = case.problem.joints[k], case.problem.units[k]
                more = f" and {len(far) - 1} more times" if len(far) > 1 else ""
                yield self.causes[0].finding(
                    Severity.error,
                    f"The position of {joint} in {motion.name!r} jumps by {moves[far[0]]:.3g} {unit} at "
                    f"{motion.steps.time[valid[far[0] + 1]]:.4g} s{more}: in one sample farther than its command "
                    "in the whole recording.",
                    where=joint,
                )


class LostRows(Check):
    """Rows that are missing without a gap in the clock: commands of smooth motions show them, as they have no noise.

    Class variables:
        ratio: see `poinsot.diagnosis.position_samples`. least: places; at one or two a command may jump.
    """

    of_samples = True
    ratio, least = 40.0, 3

    causes = (LOST,)

    def look(self, case: Case) -> Iterator[Finding]:
        for motion in case.problem.all_motions:
            commands = {
                f"position.{joint}": motion.command[:, k] for k, joint in enumerate(case.problem.joints)
            }
            units = dict(zip(commands, case.problem.units, strict=True))
            recording = Recording(motion.steps.time, commands, units)
            at, count = lost_at(recording, self.ratio)
            if not len(at):
                continue
            # a row that is missing is missing for all joints, and for what they measure; a command alone may jump
            whole = [k for k in range(len(commands)) if np.isfinite(motion.measured[:, k]).all()]
            measured = {f"position.measured {k}": motion.measured[:, k] for k in whole}
            found = steps(
                Recording(motion.steps.time, commands | measured, dict.fromkeys(measured, "rad") | units)
            )
            assert found is not None
            own, usual, noise = found
            single = (np.abs(usual[at]) > 5 * noise) & (np.abs(own[at]) < 1.4 * np.abs(usual[at]))
            at = at[~single.any(axis=1)]
            if len(at) >= self.least:
                yield LOST.finding(
                    Severity.error,
                    f"About {count} rows or more are missing in {motion.name!r}, the first at "
                    f"{motion.steps.time[at[0]]:.4g} s: commands move by several periods in one, and the "
                    "clock has no gap.",
                    "Record a time stamp with each row, and name its column: time = { column = ... }.",
                )


class CopiedCommand(Check):
    """Positions that are the commands of the same row, or of one a few rows before."""

    causes = (
        Cause(
            "copied-command",
            "A position repeats its command: it is a target that was logged, and no measurement.",
            "Give the column with measured positions in position.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for motion, k, c, q in case.moving():
            tolerance = 1e-6 * np.ptp(c)
            if any(np.nanquantile(np.abs(q[n:] - c[: len(c) - n]), 0.99) <= tolerance for n in range(6)):
                joint = case.problem.joints[k]
                yield self.causes[0].finding(
                    Severity.error,
                    f"The position of {joint} in {motion.name!r} repeats its command: it was not measured.",
                    where=joint,
                )


class JointExcitation(Check):
    """Joints that hardly move in any recording, or whose command stays."""

    causes = (
        Cause(
            "no-excitation",
            "A joint does not move enough to show its actuator.",
            "Record a motion of this joint, slow and fast, small and large; look at its columns and their unit; or "
            "leave the joint out of position_command.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for k, (joint, unit) in enumerate(zip(case.problem.joints, case.problem.units, strict=True)):
            motions = case.problem.motions
            if all(np.ptp(motion.command[:, k]) == 0 for motion in motions):
                what = "The command of {} stays at one value in every recording."
            elif (most := max(extent(motion.measured[:, k]) for motion in motions)) < least_motion(unit):
                what = f"The position of {{}} moves by {most:.2g} {unit} at most."
            else:
                continue
            yield self.causes[0].finding(Severity.error, what.format(joint), where=joint)


class PositionLimits(Check):
    """Positions beyond the limits that the description gives the joint.

    Class variables:
        margin: of a limit that may be imprecise, part of the travel. far: beyond, as part of it, no zero explains it.
    """

    margin, far = 0.05, 2.0

    causes = (
        Cause(
            "joint-limits",
            "A position is beyond the joint's limits in the description.",
            "Correct the zero (offset = ...) or the sign (scale = -1) of its position and command; gravity depends on "
            "the posture.",
        ),
        Cause(
            "angle-unit",
            "Positions or commands in degrees are declared as radians, or the reverse.",
            'Write the unit that the file has: unit = "deg" or unit = "rad".',
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        model = case.problem.robot.model
        for k, joint in enumerate(case.problem.joints):
            place = model.joints[model.getJointId(joint)].idx_q
            lower, upper = float(model.lowerPositionLimit[place]), float(model.upperPositionLimit[place])
            travel = upper - lower
            if not 0 < travel < 100:
                continue
            for motion in case.problem.motions:
                q = motion.measured[np.isfinite(motion.measured[:, k]), k]
                if not len(q):
                    continue
                beyond = max(float(np.quantile(q, 0.99)) - upper, lower - float(np.quantile(q, 0.01)))
                if beyond <= self.margin * travel:
                    continue
                limits, unit = self.causes
                is_unit = case.problem.units[k] == "rad" and beyond > self.far * travel
                yield (unit if is_unit else limits).finding(
                    Severity.error if is_unit else Severity.warning,
                    f"The position of {joint} in {motion.name!r} is up to {beyond:.2g} {case.problem.units[k]} beyond "
                    f"its limits in the description, {lower:.3g} and {upper:.3g}.",
                    "It is in degrees: write unit = \"deg\" in position and position_command." if is_unit else "",
                    where=joint,
                    evidence=beyond / travel,
                )  # fmt: skip
                break


class Stops(Check):
    """Positions that stay at one end of their range while commands go beyond by more than dry friction explains.

    A joint that dry friction holds at the end of a motion is as far from its command as one that moves; one at a stop
    comes back to the same place, and is as far from its command as that asks for.

    Class variables:
        least_s: shortest rest [s]. leaving_s: its end, when the joint is about to leave [s]. times: rests at one end.
        farther: distance from commands at the end over that elsewhere (95th percentiles); where the joint is there for
            more than `share` of the recording, `far`.
    """

    least_s, leaving_s, times, farther, share, far = 0.3, 0.2, 3, 1.2, 0.2, 0.6

    causes = (
        Cause(
            "stop",
            "A joint stays at one position while its command goes on: it is at a stop, or touches something.",
            "Record a motion within the joint's range, away from obstacles; or leave the stretches out with between_s.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for motion, k, c, q in case.moving():
            if not np.isfinite(q).all():
                continue
            time, joint = motion.steps.time, case.problem.joints[k]
            tolerance = max(1.5 * min(resolution(q), 0.2 * least_motion(case.problem.units[k])), 1e-4)
            distance = c - q - np.median(c - q)
            rests = [rest for rest in rests_of(q, tolerance) if time[rest[1]] - time[rest[0]] >= self.least_s]
            for side, end in ((1.0, float(q.max())), (-1.0, float(q.min()))):
                there = [(i, j) for i, j in rests if np.abs(q[i : j + 1] - end).min() <= tolerance]
                at = np.zeros(len(q), dtype=bool)
                for i, j in there:
                    at |= (time >= time[i]) & (time <= time[j] - self.leaving_s)
                if len(there) < self.times or at.mean() < 0.05 or at.all():
                    continue
                ratio = float(
                    np.quantile(side * distance[at], 0.95) / np.quantile(np.abs(distance[~at]), 0.95)
                )
                if ratio > (self.far if at.mean() > self.share else self.farther):
                    yield self.causes[0].finding(
                        Severity.warning,
                        f"{joint} in {motion.name!r} stays at {end:.4g} {case.problem.units[k]} for "
                        f"{100 * at.mean():.0f} % of the time while its command goes beyond.",
                        where=joint,
                        evidence=ratio,
                    )


def resolution(q: Vector) -> float:
    """Usual distance between neighbouring values."""
    apart = np.diff(np.unique(q))
    return float(np.median(apart)) if len(apart) else 0.0


def rests_of(q: Vector, tolerance: float) -> Iterator[tuple[int, int]]:
    """(first, last) sample of stretches in which values stay within a tolerance."""
    first, low, high = 0, q[0], q[0]
    for k in range(1, len(q) + 1):
        if k < len(q) and max(high, q[k]) - min(low, q[k]) <= tolerance:
            low, high = min(low, q[k]), max(high, q[k])
            continue
        yield first, k - 1
        if k < len(q):
            first, low, high = k, q[k], q[k]


class Assignment(Check):
    """Columns, signs, units and clocks: which exchange predicts a position far better than its own command?

    Class variables:
        better: part of the error of the command as declared that may remain; in time: where only the clock differs,
            which dry friction hides. fair: the same of the position's spread.
        early_s: least advance of a position on its command [s].
    """

    better, in_time, fair, early_s = 0.5, 0.75, 0.6, 0.05

    causes = (
        *PositionLimits.causes[1:],
        Cause(
            "sign",
            "A position and its command count in opposite directions.",
            "Turn the one whose direction is not that of the joint's axis in the description: scale = -1.",
        ),
        Cause(
            "swapped-channels",
            "A position follows another joint's command.",
            "Exchange the entries of columns in position_command or in position.",
        ),
        Cause(
            "command-clock",
            "A position moves before its command: their clocks differ.",
            "Give commands and positions stamps of one clock.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        unit, sign, swapped, clock = self.causes
        joints = case.problem.joints
        low, high = FOLLOWS
        for motion, k, c, q in case.moving():
            joint, time = joints[k], motion.steps.time
            own = Following.of(time, c, q)
            declared = own.best()
            tried: list[tuple[Predictor, Cause, str, str]] = []
            if case.problem.units[k] == "rad":
                for factor, what in ((DEGREES, "position"), (1 / DEGREES, "position_command")):
                    tried.append(
                        (
                            own.best((low * factor, high * factor)), unit,
                            f"The {what} of {joint} in {motion.name!r} is 57 times too large: it is in degrees, or the "
                            "other in radians,",
                            f'Write the unit that the file has: unit = "deg" in {what}, or unit = "rad" in the other.',
                        )
                    )  # fmt: skip
            tried.append(
                (own.best((-high, -low)), sign, f"{joint} in {motion.name!r} moves against its command,", "")
            )
            early = own.best(earliest=-np.inf)
            if early.delay <= -self.early_s:
                tried.append(
                    (
                        early,
                        clock,
                        f"{joint} in {motion.name!r} moves {-early.delay:.2g} s before its command,",
                        "",
                    )
                )
            if declared.error > self.better * own.spread:
                for other, name in enumerate(joints):
                    if other != k and np.ptp(motion.command[:, other]) > 0:
                        best = Following.of(time, motion.command[:, other], q).best()
                        said = f"The position of {joint} in {motion.name!r} follows the command of {name},"
                        tried.append((best, swapped, said, ""))
            best, cause, said, remedy = min(tried, key=lambda each: each[0].error)
            better = self.in_time if cause is clock else self.better
            if best.error < better * declared.error and best.error < self.fair * own.spread:
                yield cause.finding(
                    Severity.error,
                    f"{said} which explains {100 * (1 - (best.error / own.spread) ** 2):.0f} % of its motion; as "
                    f"declared, {100 * max(1 - (declared.error / own.spread) ** 2, 0):.0f} %.",
                    remedy,
                    where=joint,
                    evidence=float(np.log(declared.error / max(best.error, 1e-12))),
                )


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


QUANTITIES = ("load", "current", "torque")
"""Prefixes of channels of effort, before the joint's name."""


def unused_efforts(problem: ActuatorProblem) -> tuple[Unchecked, ...]:
    """One entry for each quantity of effort that recordings have and the estimate does not use."""
    found = []
    for quantity in QUANTITIES:
        shares: dict[str, float] = {}
        for k, joint in enumerate(problem.joints):
            name, parts = f"{quantity}.{joint}", []
            if quantity == CHANNEL and any(
                joint in j and g in problem.torque_scales for g, j in problem.groups
            ):
                continue
            for motion in problem.motions:
                recording = problem.recordings[motion.name]
                if name in recording.channels:
                    error = np.abs(motion.command[:, k] - motion.measured[:, k])
                    valid = recording.valid.get(name, np.ones(len(recording), dtype=bool))
                    effort = np.abs(np.asarray(recording[name], dtype=float))
                    parts.append(np.stack([error, effort], axis=1)[valid & np.isfinite(error + effort)])
            if parts:
                shares[joint] = explained_share(*np.concatenate(parts).T)
        if shares:
            shown = ", ".join(f"{100 * share:.0f} % at {joint}" for joint, share in shares.items())
            found.append(
                Unchecked(
                    f"the {quantity} of {', '.join(shares)}",
                    "it is not used. The part of the variance of its magnitude that |command - position| explains is "
                    f"{shown}; where that is much, it is the output of the position controller, and shows no scale of "
                    "torques. A torque of the motor in N m, as torque = ..., gives one; of a current, with scale = "
                    "torque constant times gear ratio",
                )
            )
    return tuple(found)


def explained_share(x: Vector, y: Vector) -> float:
    """Part of the variance of y (N,) that a line in x (N,) explains."""
    spread = np.std(x) * np.std(y)
    return float(np.mean((x - x.mean()) * (y - y.mean())) / spread) ** 2 if spread > 0 else 0.0


def root_mean_square(values: Vector) -> float:
    """Of those that are not NaN; 0 if none is."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else 0.0


def estimated(estimate: Estimate, kind: str) -> Iterator[tuple[str, float, float]]:
    """(joint or group, value, standard deviation) of the parameters of this kind."""
    for owner, each, value, std in zip(
        estimate.owners, estimate.kinds, estimate.values, estimate.std, strict=True
    ):
        if each == kind:
            yield owner, float(value), float(std) if np.isfinite(std) else 0.0


class OpenLoop(Check):
    """The simulation against the motion, "position = command", and a delay and a lag.

    Class variables:
        error, warning: part of a joint's spread in all recordings that the simulation leaves: less than half of the
            motion is explained, or less than nine tenths.
        command: part of the error of "position = command".
    """

    error, warning, command = 0.7, 0.3, 0.5

    causes = (
        Cause(
            "unmodelled-motion",
            "The simulation from commands alone does not follow the measured motion.",
            "Look at the residuals: the joint may touch something, or commands and positions have other units or "
            "zeros; open more parameters with estimate = [...] in [method].",
            symptom=True,
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        (cause,) = self.causes
        for k, (joint, unit) in enumerate(zip(case.problem.joints, case.problem.units, strict=True)):
            motions = [each for each in case.problem.motions if np.isfinite(each.measured[:, k]).sum() > 50]
            counts = np.array([np.isfinite(each.measured[:, k]).sum() for each in motions], dtype=float)
            if not motions or max(extent(each.measured[:, k]) for each in motions) < least_motion(unit):
                continue

            def pooled(values: list[float], counts: Vector = counts) -> float:
                return float(np.sqrt(np.sum(counts * np.square(values)) / counts.sum()))

            following = [
                Following.of(each.steps.time, each.command[:, k], each.measured[:, k]) for each in motions
            ]
            rms = pooled([case.found.rms[each.name][joint] for each in motions])
            spread = pooled([each.spread for each in following])
            lag = pooled([each.best((1.0, 1.0)).error for each in following])
            if rms > self.warning * spread:
                yield cause.finding(
                    Severity.error if rms > self.error * spread else Severity.warning,
                    f"{joint}: the simulation is off by {1e3 * rms:.2g} mrad of a motion of {1e3 * spread:.2g} mrad "
                    f"(standard deviation): it explains {100 * max(1 - (rms / spread) ** 2, 0):.0f} % of it.",
                    where=joint,
                    evidence=rms / spread,
                )
            elif rms > lag:
                yield cause.finding(
                    Severity.warning,
                    f"{joint}: the simulation is off by {1e3 * rms:.2g} mrad, and a mere delay and lag by "
                    f"{1e3 * lag:.2g} mrad.",
                    where=joint,
                    evidence=rms / lag,
                )
            else:
                yield from self._against_commands(case, k)

    def _against_commands(self, case: Case, k: int) -> Iterator[Finding]:
        joint = case.problem.joints[k]
        for motion in case.problem.motions:
            command = root_mean_square(motion.measured[:, k] - motion.command[:, k])
            rms = case.found.rms[motion.name][joint]
            if rms > self.command * command:
                yield self.causes[0].finding(
                    Severity.warning,
                    f"{joint} in {motion.name!r}: the simulation is off by {1e3 * rms:.2g} mrad, and the command "
                    f"itself by {1e3 * command:.2g} mrad.",
                    where=joint,
                    evidence=rms / max(command, 1e-12),
                )


class LongDelay(Check):
    """Delays that are longer than those of a bus and a control loop.

    Class variables:
        warning: [s].
    """

    warning = 0.1

    causes = (
        Cause(
            "command-delay",
            "The delay between commands and motion is longer than that of a servo: clocks differ, or rows are shifted.",
            "Give commands and positions stamps of one clock.",
            symptom=True,
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for owner, value, std in estimated(case.estimate, "delay"):
            longest = value > 0.999 * GroupProblem.longest_delay
            if longest or value - 2 * std > self.warning:
                yield self.causes[0].finding(
                    Severity.error if longest else Severity.warning,
                    f"{owner} moves {value:.3g} s after its command"
                    + (", the longest delay that is tried." if longest else "."),
                    where=owner,
                    evidence=value,
                )


class Zero(Check):
    """Positions and commands with different zeros.

    Class variables:
        warning, error: beyond two standard deviations [rad].
    """

    warning, error = 0.1, 0.5

    causes = (
        Cause(
            "joint-zero",
            "Commands and positions of a joint have different zeros.",
            "Correct one of them with offset = ...; that which agrees with the description stays, as gravity depends "
            "on the posture. A wrong direction of gravity, wrong masses or exchanged joints look so too.",
            symptom=True,
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        named = set()
        for owner, value, std in estimated(case.estimate, "zero"):
            size = abs(value) - 2 * std
            if size > self.warning:
                if size > self.error:
                    named.add(owner)
                yield self.causes[0].finding(
                    Severity.error if size > self.error else Severity.warning,
                    f"{owner} rests {value:+.2g} rad from its command, beside what gravity and friction do.",
                    where=owner,
                    evidence=size,
                )
        for k, joint in enumerate(case.problem.joints):
            e = np.concatenate([each.measured[:, k] - each.command[:, k] for each in case.problem.motions])
            offset = float(np.nanmedian(e))
            if case.problem.units[k] == "rad" and abs(offset) > self.error and joint not in named:
                yield self.causes[0].finding(
                    Severity.error,
                    f"The position of {joint} is {offset:+.2g} rad from its command (median).",
                    where=joint,
                    evidence=abs(offset),
                )


class TorqueUnit(Check):
    """Measured torques against those that gravity, inertia or what is held ask for.

    Class variables:
        off: from 1 of their ratio, beyond three standard deviations; torque constants are hardly known better.
    """

    off = 0.2

    causes = (
        Cause(
            "torque-unit",
            "Measured torques are larger or smaller than those that move the robot.",
            "Correct their unit, torque constant or gear ratio with scale = ...; or the masses of the description.",
        ),
        Cause(
            "scale-from-torque",
            "The scale of torques comes from measured torques.",
            "It is as right as their unit, torque constant and gear ratio are.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        wrong, used = self.causes
        for name, scale in case.problem.torque_scales.items():
            said = (
                f"the simulated torque of {name} explains {100 * scale.explained:.0f} % of the measured one"
            )
            if f"stiffness.{dict(case.problem.groups)[name][0]}" in case.problem.priors:
                yield used.finding(
                    Severity.note,
                    f"The scale of the torques of {name} is that of the measured torque; {said}.",
                    where=name,
                )
            elif abs(scale.factor - 1) > self.off + 3 * scale.std:
                yield wrong.finding(
                    Severity.warning,
                    f"The measured torque of {name} is {scale.factor:.3g} times the one that moves it; {said}.",
                    where=name,
                    evidence=abs(np.log(abs(scale.factor))),
                )


class HeldDescription(Check):
    """Torques whose scale is that of the description's masses and of its direction of gravity.

    Class variables:
        grave: relative standard deviation of a stiffness from which on its scale is not known (`SCALE_KNOWN`).
    """

    grave = SCALE_KNOWN

    causes = (
        Cause(
            "held-description",
            "The scale of torques is that of the description's masses and of its direction of gravity.",
            "Give what is known of the controller as stiffness = ... in [held]; or weigh the "
            "links, level the base, and say how well in [method], as in link_inertia_std = 0.03 and "
            "gravity_tilt_std = 0.01.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        p = case.estimate.parameters
        if p.systematic_std is None or p.coloured_std is None:
            return
        rows = zip(
            p.names, p.kinds, p.values, p.std, p.systematic_std, p.coloured_std, p.identifiable, strict=True
        )
        found = [
            (part / value, name, value, part, chance)
            for name, kind, value, std, part, chance, known in rows
            if kind == "stiffness" and known and part > 0.5 * std
        ]
        if not found:
            return
        share, name, value, part, chance = max(found)
        problem = case.problem
        yield self.causes[0].finding(
            Severity.warning if share > self.grave else Severity.note,
            f"Torques of {listing([each[1].rpartition('.')[0] for each in found], 6)} have the scale of the masses of "
            f"the description, which are taken for right to {100 * problem.link_inertia_std:.2g} % a link, and of its "
            f"direction of gravity, to {np.degrees(problem.gravity_tilt_std):.2g} degrees. Intervals contain it: of "
            f"{name} = {value:.3g} it makes a standard deviation of {part:.2g}, and the motion one of {chance:.2g}.",
            where=name,
            evidence=share,
        )


class CommandStamps(Check):
    """Commands that change on a clock of their own, less often than they are logged."""

    causes = (
        Cause(
            "command-stamps",
            "Commands are logged on another clock than theirs.",
            "Log commands with the time at which they were sent.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        fitted = {
            joint: commands.period
            for motion in case.problem.motions
            for joint, commands in zip(case.problem.joints, motion.commands, strict=True)
            if commands.clock == "fitted"
        }
        if fitted:
            period = 1e3 * max(fitted.values())
            yield self.causes[0].finding(
                Severity.note,
                f"Commands of {', '.join(fitted)} change every {period:.3g} ms, and samples of the log are on another "
                "clock: the times of changes are those of the regular clock that fits their stamps, which are half an "
                "interval of the log late on average.",
            )


class Velocities(Check):
    """Measured velocities: how late they are, or why they are not used."""

    causes = (
        Cause(
            "measured-velocity",
            "Measured velocities are measurements of their own, or contradict positions.",
            "Correct unit, sign or column of one that is not used, or leave it out.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for motion in case.problem.motions:
            for joint, each in motion.velocities.items():
                said = (
                    f"is not used: {each.problem}."
                    if each.problem
                    else f"is used; it is {1e3 * each.late:.1f} ms late, which is taken out."
                )
                yield self.causes[0].finding(
                    Severity.warning if each.contradicts else Severity.note,
                    f"The measured velocity of {joint} in {motion.name!r} {said}",
                    where=joint,
                )


class Size(Check):
    """Servos that no one builds.

    Class variables:
        slowest: time constant (gains and damping over stiffness) [s]. loosest: dry friction over stiffness [rad].
    """

    slowest, loosest = 1.0, 1.0

    causes = (
        Cause(
            "improbable-size",
            "No servo has such parameters: the recording does not show what a command does.",
            "Look at columns, units and signs of commands and positions, or record a larger motion.",
            symptom=True,
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        for each in case.found.actuators:
            slow = (each.derivative_gain + each.velocity_gain + each.damping) / each.stiffness
            loose = each.coulomb / each.stiffness
            if slow > self.slowest:
                said = f"{each.name} follows its command with a time constant of {slow:.2g} s."
            elif loose > self.loosest:
                said = f"Dry friction stops {each.name} up to {loose:.2g} rad from its command."
            else:
                continue
            yield self.causes[0].finding(Severity.warning, said, where=each.name, evidence=max(slow, loose))


class Length(Check):
    """Recordings that are too short, and stretches without commands.

    Class variables:
        least_s: of all recordings together [s].
    """

    least_s = 5.0

    causes = (
        Cause(
            "short-motion",
            "The recordings are so short that intervals are hardly known.",
            "Record a minute in which every joint moves slowly and fast, small and large.",
        ),
        Cause(
            "missing-commands",
            "A recording has no commands for a while.",
            "Log all commands; or cut the recording there, with between_s.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        short, missing = self.causes
        total = sum(float(np.ptp(motion.steps.time)) for motion in case.problem.motions)
        if total < self.least_s:
            yield short.finding(Severity.warning, f"The recordings last {total:.2g} s.")
        for motion in case.problem.motions:
            for joint, seconds in motion.without_command.items():
                yield missing.finding(
                    Severity.warning,
                    f"{joint} in {motion.name!r} has no command for {seconds:.2g} s; its positions there, and for "
                    f"{SETTLES_S:g} s after, are not used.",
                    where=joint,
                )


class Notes(Check):
    """Parameters at a bound, and torques without a scale."""

    causes = (
        Cause(
            "at-bound",
            "A value ended at its bound.",
            "Its interval is one-sided; a faster motion may show it.",
        ),
        Cause(
            "torque-scale",
            "Positions show only ratios of torques.",
            "A simulator moves alike with any scale as long as nothing pushes the robot. Give what is known as "
            "stiffness = ... in [held], or record with a load of known mass.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding | Unchecked]:
        at_bound, scale = self.causes
        estimate = case.estimate
        if estimate.next_recording_std is None:
            yield SPREAD_NOT_KNOWN
        edges = [
            name
            for name, kind, value in zip(estimate.names, estimate.kinds, estimate.values, strict=True)
            if value == 0.0 and kind != "zero"
        ]
        if edges:
            yield at_bound.finding(
                Severity.note,
                f"{', '.join(edges)}: 0 explains the recordings best, and less is impossible.",
                "Their intervals are one-sided; with a faster motion they may show.",
            )
        free = [joint for joint, known in case.found.scale_known.items() if not known]
        if free:
            yield scale.finding(
                Severity.note,
                f"The recordings do not show the scale of the torques of {', '.join(free)}, only their ratios to the "
                "stiffness.",
                where=free[0] if len(free) == 1 else "",
            )


CHECKS: tuple[Check, ...] = (
    Jumps(),
    LostRows(),
    CopiedCommand(),
    JointExcitation(),
    PositionLimits(),
    Assignment(),
    Stops(),
    Zero(),
    LongDelay(),
    OpenLoop(),
    TorqueUnit(),
    HeldDescription(),
    CommandStamps(),
    Velocities(),
    Size(),
    Length(),
    Notes(),
)


def examine(estimate: Estimate, problem: ActuatorProblem) -> Diagnosis:
    """Findings about an estimate of the actuators of this problem."""
    found = estimate.extra(Actuators)
    assert found is not None
    looked = look_at(Case(estimate, found, problem), CHECKS)
    findings = [*unfinished(estimate), *(each for each in looked if isinstance(each, Finding))]
    unchecked = (*(each for each in looked if isinstance(each, Unchecked)), *unused_efforts(problem))
    symptoms = {cause.name for check in CHECKS for cause in check.causes if cause.symptom}
    return Diagnosis(
        ordered(findings, symptoms), unchecked, complete=not any(each.failed for each in unchecked)
    )
