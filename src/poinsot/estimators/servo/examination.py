"""What may be wrong with an estimate of actuators: findings about its channels, its fit and its parameters.

`channels` has the checks of commands and positions, `effects` what the model lacks. The checks of this file compare the
simulation with the motion, and parameters with those of a servo.

Channels of effort that are not used (`unused_efforts`): a torque in [N m] that the simulated one explains is used
(`torque_scale`). Servos report an unsigned load. Of a Feetech STS3215 (SO-101) it is the share of the supply that its
own controller puts on the motor: over ten motions of a real arm |command - position| explains 85 % of its variance at
the shoulder and 87 % at the elbow, where it is large, and is not later than it; the torque of gravity explains 0 to
1 %. It repeats what the error shows, in a unit of its own at each joint, and gives torques no scale. Each result says
so of its own recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import Vector
from ...diagnosis import Cause, Check
from ...diagnosis.check import look_at
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.fit import HELD_OUT
from ...diagnosis.parameters import SPREAD_NOT_KNOWN
from ...diagnosis.prediction import SystematicEffects
from ...estimate import Diagnosis, Estimate, Finding, Severity, Unchecked
from ...estimate.estimate import unfinished
from ...estimate.finding import ordered
from ...exceptions import listing
from .case import Case, extent, least_motion
from .channels import (
    Assignment,
    AtStops,
    CopiedCommand,
    JointExcitation,
    Jumps,
    LostRows,
    PositionLimits,
    StaleReadings,
)
from .effects import EFFECTS
from .problem import SETTLES_S, ActuatorProblem
from .residuals import ExternalTorque, OutlyingReadings
from .result import Actuators
from .search import GroupProblem
from .simulated import SimulatedMotions
from .torque_scale import CHANNEL

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


def estimated(estimate: Estimate, kind: str) -> Iterator[tuple[str, float, float]]:
    """(joint or group, value, standard deviation) of the parameters of this kind."""
    for owner, each, value, std in zip(
        estimate.owners, estimate.kinds, estimate.values, estimate.std, strict=True
    ):
        if each == kind:
            yield owner, float(value), float(std) if np.isfinite(std) else 0.0


class OpenLoop(Check):
    """The simulation against the motion, and a mere delay and lag.

    Class variables:
        error, warning: part of a joint's spread in all recordings that the simulation leaves: less than half of the
            motion is explained, or less than nine tenths.
    """

    error, warning = 0.7, 0.3

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

            following = [case.following(each, k) for each in motions]
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
        held = case.problem.held_commands
        for owner, value, std in estimated(case.estimate, "delay"):
            if owner in held or len(held) == len(case.problem.joints):
                continue
            longest = value > 0.999 * GroupProblem.longest_delay
            if longest or value - 2 * std > self.warning:
                yield self.causes[0].finding(
                    Severity.error if longest else Severity.warning,
                    f"{owner} moves {value:.3g} s after its command"
                    + (", the longest delay that is tried." if longest else "."),
                    where=owner,
                    evidence=value,
                )


def follows(case: Case, k: int) -> bool:
    """Whether a joint's own command, delayed and lagged, explains more than half of its motion; or it does not move."""
    left, whole = 0.0, 0.0
    for motion, number, _, q in case.moving():
        if number == k:
            following = case.following(motion, k)
            left, whole = left + len(q) * following.best().error ** 2, whole + len(q) * following.spread**2
    return left <= 0.5 * whole


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
            if (
                case.problem.units[k] == "rad"
                and abs(offset) > self.error
                and joint not in named
                and follows(case, k)
            ):
                yield self.causes[0].finding(
                    Severity.error,
                    f"The position of {joint} is {offset:+.2g} rad from its command (median).",
                    where=joint,
                    evidence=abs(offset),
                )


class ServoEffects(SystematicEffects):
    """Effects that the data show, errors of the description that they do not, and prediction of what was not fitted.

    Class variables:
        held_out: part of the motion from which errors of blocks that were not fitted say that the model predicts
            nothing. worse: times what residuals and the number of parameters explain, from which on they are a warning
            above `floor`, the part of the motion that matters to nobody, or twice the noise of the readings.
    """

    held_out, worse, floor = 0.3, 2.0, 0.02

    causes = (*dict.fromkeys(effect.cause for effect in EFFECTS if effect.named), HELD_OUT)

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        at, fit = case.simulated, case.errors.fit
        if fit is None:
            return  # nothing moves in the simulation, which `OpenLoop` says
        beyond = False
        for named in fit.named:
            finding = self._finding(case, named)
            # what a linearization at another point leaves looks like further effects
            yield replace(finding, severity=Severity.note) if beyond else finding
            beyond |= named.sizes > self.grave
        yield from self._unchecked(fit)
        yield from self._prediction(fit, at)

    def _prediction(self, fit: EffectFit, at: SimulatedMotions) -> Iterator[Finding]:
        measured = at.rows([each - np.nanmean(each, axis=0) for each in at.measured])
        motion = float(np.sum((measured / fit.sigma)[fit.inner] ** 2))
        noise = float(np.linalg.norm(at.noise / fit.sigma)) * np.sqrt(fit.inner.sum() / max(motion, 1e-300))
        relative = float(np.sqrt(fit.error.sum() / max(motion, 1e-300)))
        is_worse = fit.beyond_expected > self.worse and relative > max(self.floor, 2 * noise)
        if relative > self.held_out or is_worse:
            yield HELD_OUT.finding(
                Severity.error if relative > self.held_out else Severity.warning,
                f"Parts of the recordings that were not fitted are predicted with an error of {100 * relative:.3g} % "
                f"of their motion, {fit.beyond_expected:.2g} times what the residuals explain.",
                "Look at the residuals, record a motion that shows all parameters, or estimate fewer.",
                evidence=100 * relative,
            )


class TorqueLimit(Check):
    """Torque limits that the motion reached, and joints that stay away from their command and do not follow it.

    Class variables:
        often: part of the time beyond which it is a warning: it is then more often at its limit than under control.
        far: median distance from the command, where the joint does not follow it [rad].
    """

    often, far = 0.5, 0.5

    causes = (
        Cause(
            "torque-limit",
            "A servo reached its largest torque: the limit is estimated, and the joint is then not in its control.",
            "No action is required where this is the limit of the motor; else look at the supply and the settings.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding]:
        at = case.simulated
        limited = {
            owner for owner, value, _ in estimated(case.estimate, "torque_limit") if np.isfinite(value)
        }
        groups = {joint: name for name, joints in case.problem.groups for joint in joints}
        for k, joint in enumerate(case.problem.joints):
            share = max(rollouts[k].saturated for rollouts in at.rollouts)
            if groups[joint] in limited and share > 0:
                yield self.causes[0].finding(
                    Severity.warning if share > self.often else Severity.note,
                    f"{joint} is at its torque limit of {case.found[joint].torque_limit:.3g} N m for "
                    f"{100 * share:.2g} % of the time.",
                    where=joint,
                    evidence=100 * share,
                )
                continue
            e = np.concatenate([motion.measured[:, k] - motion.command[:, k] for motion in at.motions])
            if (
                case.problem.units[k] == "rad"
                and abs(float(np.nanmedian(e))) > self.far
                and not follows(case, k)
            ):
                yield self.causes[0].finding(
                    Severity.error,
                    f"{joint} does not follow its command, and is {float(np.nanmedian(e)):+.2g} rad from it (median): "
                    "its torque does not suffice, or something holds it.",
                    where=joint,
                    evidence=1e3,
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

    Intervals contain what such errors do to the numbers; `ServoEffects` looks for a description that errs by more.
    """

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
        if p.systematic_std is None or p.coloured_std is None or not any(case.problem.description_std):
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
            Severity.note,
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
        if estimate.parameters.uncertainty.recordings is None:
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


CHANNEL_CHECKS: tuple[Check, ...] = (
    CopiedCommand(),
    JointExcitation(),
    PositionLimits(),
    Assignment(),
)
"""Whether columns are what they are declared to be. Where they are not, all else that is seen is a consequence."""

EFFECT_CHECKS: tuple[Check, ...] = (OutlyingReadings(), ExternalTorque(), ServoEffects(), TorqueLimit())
"""What the residuals show of a model that is right but for what they name."""

OTHER_CHECKS: tuple[Check, ...] = (
    Jumps(),
    LostRows(),
    StaleReadings(),
    AtStops(),
    Zero(),
    LongDelay(),
    OpenLoop(),
    TorqueUnit(),
    HeldDescription(),
    CommandStamps(),
    Velocities(),
    Length(),
    Notes(),
)

CHECKS = (*CHANNEL_CHECKS, *OTHER_CHECKS, *EFFECT_CHECKS)


def examine(estimate: Estimate, problem: ActuatorProblem) -> Diagnosis:
    """Findings about an estimate of the actuators of this problem."""
    found = estimate.extra(Actuators)
    assert found is not None
    case = Case(estimate, found, problem)
    looked = look_at(case, CHANNEL_CHECKS)
    mistaken = [
        each.cause for each in looked if isinstance(each, Finding) and each.severity is Severity.error
    ]
    looked += look_at(case, OTHER_CHECKS)
    if mistaken:
        reason = f"channels are not what they are declared to be: {listing(mistaken, 6)}"
        looked.append(
            Unchecked("effects that the model lacks, and prediction of what was not fitted", reason)
        )
    else:
        looked += look_at(case, EFFECT_CHECKS)
    findings = [*unfinished(estimate), *(each for each in looked if isinstance(each, Finding))]
    unchecked = (*(each for each in looked if isinstance(each, Unchecked)), *unused_efforts(problem))
    symptoms = {cause.name for check in CHECKS for cause in check.causes if cause.symptom}
    return Diagnosis(
        ordered(findings, symptoms), unchecked, complete=not any(each.failed for each in unchecked)
    )
