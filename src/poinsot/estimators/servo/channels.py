"""Channels of commands and positions: is each position that of its command, in its unit, direction and place?

These checks need no model of the actuator. Recordings in which a joint does not move say nothing about it.

A servo that is in order follows its own command, in its direction, about as far, and after it. Where another range of
gains or delays, or another joint's command, predicts the position far better, columns, signs or units are mistaken.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import Recording
from ...accuracy import CAREFUL
from ...arrays import JointSamples, Vector
from ...diagnosis import Cause, Check
from ...diagnosis.channels import AngleUnit, Sign, SwappedChannels
from ...diagnosis.position_samples import LOST, LostSamples, lost_at, steps
from ...diagnosis.stale_samples import StaleSamples
from ...estimate import Finding, Severity, Unchecked
from ...exceptions import listing
from .case import Case, extent, least_motion
from .following import FOLLOWS, Following, Predictor
from .problem import CommandedMotion

DEGREES = 180 / np.pi

TURN = "Turn the one whose direction is not that of the joint's axis in the description: scale = -1."
EXCHANGE = "Exchange the entries of columns in position_command or in position."


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
    """Rows that are missing without a gap in the clock.

    Commands of smooth motions show them, as they have no noise. Where commands change less often than rows are logged,
    the positions of all joints together do.

    Class variables:
        least: places; at one or two a command may jump.
    """

    of_samples = True
    least = 3

    causes = (LOST,)

    def look(self, case: Case) -> Iterator[Finding]:
        for motion in case.problem.all_motions:
            measured = motion.measured[:, np.isfinite(motion.measured).all(axis=0)]
            for what, moves in (("commands", motion.command), ("positions", measured)):
                at, count = lost_at(_recording(motion, moves), LostSamples.ratio)
                if len(at) and (found := steps(_recording(motion, np.hstack([moves, measured])))):
                    # a row is missing for all joints, and for what they measure; one of them may jump
                    own, usual, noise = found
                    single = (np.abs(usual[at]) > 5 * noise) & (np.abs(own[at]) < 1.4 * np.abs(usual[at]))
                    at = at[~single.any(axis=1)]
                if len(at) >= self.least:
                    yield LOST.finding(
                        Severity.error,
                        f"About {count} rows or more are missing in {motion.name!r}, the first at "
                        f"{motion.steps.time[at[0]]:.4g} s: {what} move by several periods in one, and the "
                        "clock has no gap.",
                        "Record a time stamp with each row, and name its column: time = { column = ... }.",
                        evidence=1e5 * count / len(motion.steps.time),
                    )
                    break


def _recording(motion: CommandedMotion, moves: JointSamples) -> Recording:
    columns = {f"position.{k}": np.ascontiguousarray(column) for k, column in enumerate(moves.T)}
    return Recording(motion.steps.time, columns, dict.fromkeys(columns, "rad"))


class StaleReadings(Check):
    """Positions that repeat while the joint moves, and then catch up.

    A joint that dry friction holds repeats them too, and moves on from there.

    Class variables:
        least: share of readings that is worth a note. late_s: mean age beyond which it is a warning: that of the delays
            of a careful laboratory. catches_up: usual steps in the step after a repeat, between that of a joint that
            starts to move, at most 1, and that of a reading that is renewed late, at least 2.
    """

    of_samples = True
    least, late_s, catches_up = 0.01, 1e-3 * CAREFUL.delay_ms, 1.5

    causes = StaleSamples.causes

    def look(self, case: Case) -> Iterator[Finding]:
        for motion, k, _, q in case.moving():
            readings = without_rests(q[np.isfinite(q)])
            share = min(StaleSamples().share(readings), 0.99)
            if share < self.least or catches_up(readings) < self.catches_up:
                continue
            joint, interval = case.problem.joints[k], float(np.median(np.diff(motion.steps.time)))
            age = share / (1 - share) * interval
            yield self.causes[0].finding(
                Severity.warning if age > self.late_s else Severity.note,
                f"The position of {joint} in {motion.name!r} repeats {100 * share:.2g} % of its readings while it "
                f"moves: they are {1e3 * age:.2g} ms old on average.",
                where=joint,
                evidence=1e3 * share,
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
    """Joints that hardly move in any recording, or keep moving while their command stays.

    Class variables:
        settled: part of its range by which a joint that moves to a command may still move in the second half.
    """

    settled = 0.5

    causes = (
        Cause(
            "no-excitation",
            "A joint does not move enough to show its actuator.",
            "Record a motion of this joint, slow and fast, small and large; look at its columns and their unit; or "
            "leave the joint out of position_command.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding | Unchecked]:
        motions, held = case.problem.motions, case.problem.held_commands
        for k, (joint, unit) in enumerate(zip(case.problem.joints, case.problem.units, strict=True)):
            if (most := max(extent(motion.measured[:, k]) for motion in motions)) < least_motion(unit):
                text = f"The position of {joint} moves by {most:.2g} {unit} at most."
            elif joint in held and any(
                extent(q[len(q) // 2 :]) > self.settled * extent(q)
                for q in (m.measured[:, k] for m in motions)
            ):
                text = f"The command of {joint} stays at one value in every recording, while the joint keeps moving."
            else:
                continue
            yield self.causes[0].finding(Severity.error, text, where=joint)
        if held:
            yield Unchecked(
                f"the delay of {listing(sorted(held), 12)}",
                "the command stays at one value in every recording, and the joint moves to it from elsewhere",
            )


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
        AngleUnit.cause,
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


class AtStops(Check):
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


def without_rests(q: Vector, longest: int = StaleSamples.around) -> Vector:
    """The values without repeats of those that stay longer than so many samples: a joint at rest repeats readings."""
    moving = np.ones(len(q), dtype=bool)
    for first, last in rests_of(q, 0.0):
        if last - first > longest:
            moving[first + 1 : last + 1] = False
    return q[moving]


def catches_up(q: Vector, following: int = 4) -> float:
    """Size of steps that follow repeats, relative to the mean of so many steps after these."""
    steps = np.abs(np.diff(q))
    after = 1 + np.flatnonzero((steps[:-1] == 0) & (steps[1:] > 0))
    after = after[after + following < len(steps)]
    usual = np.convolve(steps, np.full(following, 1 / following), mode="valid")[after + 1]
    return float(steps[after].sum() / max(usual.sum(), 1e-300)) if len(after) else 0.0


class Assignment(Check):
    """Columns, signs, units and clocks: which exchange predicts a position far better than its own command?

    Class variables:
        better: part of the error of the command as declared that may remain; in time: where only the clock differs,
            which dry friction hides. fair: the same of the position's spread.
        early_s: least advance of a position on its command [s].
    """

    better, in_time, fair, early_s = 0.5, 0.75, 0.6, 0.05

    causes = (
        AngleUnit.cause,
        Sign.cause,
        SwappedChannels.cause,
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
        for motion, k, _, q in case.moving():
            joint, time = joints[k], motion.steps.time
            where = f"of {joint} in {motion.name!r}"
            own = case.following(motion, k)
            declared, early = own.best(), own.best(earliest=-np.inf)
            tried: list[tuple[Predictor, Cause, str, str]] = [
                (own.best((-high, -low)), sign, f"The motion {where} is against its command,", TURN)
            ]
            for factor, what in ((DEGREES, "position"), (1 / DEGREES, "position_command")):
                if case.problem.units[k] == "rad":
                    said = f"The {what} {where} is 57 times too large: it is in degrees, or the other in radians,"
                    remedy = f'Write the unit that the file has: unit = "deg" in {what}, or unit = "rad" in the other.'
                    tried.append((own.best((low * factor, high * factor)), unit, said, remedy))
            if early.delay <= -self.early_s:
                said = f"The motion {where} is {-early.delay:.2g} s before its command,"
                tried.append((early, clock, said, ""))
            if declared.error > self.better * own.spread:
                for other, name in enumerate(joints):
                    if other != k and np.ptp(motion.command[:, other]) > 0:
                        best = Following.of(time, motion.command[:, other], q).best()
                        tried.append(
                            (best, swapped, f"The position {where} follows the command of {name},", "")
                        )
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
