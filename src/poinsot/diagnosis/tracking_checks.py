"""Checks of a filter's run: agreement with the known robot, consistency of innovations, plausibility of the load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ..arrays import JointSamples, Vector
from ..estimate import Finding, Severity, Unchecked
from ..statistics import correlation_time
from .case import Regression
from .cause import Cause
from .channels import AngleUnit, Sign, SwappedChannels
from .check import Check
from .delay import TorqueDelay
from .explanations import severity_of
from .fit import POOR_FIT, TorqueNoise
from .gains import GainChange, TorqueGain
from .geometry import JointZero
from .gravity import ClockScale
from .prediction import BlockPrediction, SystematicEffects
from .tracking import LIKELIER, FilterRun, TrackedMotion, likelier

STILL = Cause(
    "no-excitation",
    "The robot does not move enough to determine the parameters.",
    "Check the position columns, or move the robot.",
)
INNOVATIONS = Cause(
    "innovations",
    "Innovations are larger than the filter's covariance: its intervals are too short.",
    "Raise the noise levels (noise_margin); check signs, units and robot_from.",
)
REJECTED = Cause(
    "rejected-samples",
    "Many samples did not pass the gate of a filter.",
    "Raise the noise levels (noise_margin), or calibrate (calibrate_s) on a motion like the later one.",
)
MASS = Cause(
    "link-mass",
    "A link is far lighter than its known mass, or its load heavier than the robot.",
    "Check torque columns and units, and whether the robot of robot_from carried the load.",
)


@dataclass(frozen=True, eq=False)
class RunNuisance:
    """One more column of the regression, and what it means.

    Args:
        cause: cause of its finding. column: (N, n) d torque / d nuisance. warning, error: sizes.
        text: message, formatted with `zero` + `unit` times the value, and the 95 % half-width. where: joint; "": all.
    """

    cause: Cause
    column: JointSamples
    warning: float
    error: float
    text: str
    where: str = ""
    zero: float = 0.0
    unit: float = 1.0

    def message(self, value: float, half: float) -> str:
        x, side = self.zero + self.unit * value, "late" if value > 0 else "early"
        return self.text.format(x, self.unit * half, size=abs(x), side=side, where=self.where)


class RobotAsKnown(Check):
    """Agreement of the torque with the robot that the filter assumes known.

    Thresholds of delay, clock, zero and change of gain are those of their explanations.

    Class variables:
        gain_warning, gain_error: relative error of the torque's gain; the mass of a load is wrong by this part of all
            that the joint carries.
        significant: standard deviations. explains: log-likelihood per sample that a defect must gain, beyond chance:
            0.02 is 4 % of the squared residuals of one joint.
        tried: number of nuisances that are fitted, those that explain most to first order. times: times of a change.
        noise: adjusted R^2 of a joint's torque below which it is noise.
        fit_warning, fit_error: relative errors of all joints together.
        better: factor of the residuals, all joints together, by which another assignment, sign or unit must fit better,
            and of the relative error.
        still_rad: range of every joint below which the robot stood still.
    """

    gain_warning, gain_error = 0.1, 0.2
    significant = 4.0
    explains = 0.02
    tried = 12
    times = 29
    noise = 0.2
    fit_warning, fit_error = 0.15, 0.35
    better = 1.5
    still_rad = 0.01

    causes = (STILL,)

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        floating = case.torques.robot.floating_base
        if not floating and np.all(np.ptp(case.motion.q, axis=0) < self.still_rad):
            text = f"No joint moved by more than {self.still_rad:g} rad: one posture determines no mass."
            yield STILL.finding(Severity.error, text, evidence=1e3)
            return
        now, found = case.declared, []
        extra: list[JointSamples] = []
        nuisances = [self._delay(case), *self._gains(case), *([] if floating else self._motion(case))]
        while (best := self._best(case, now, nuisances, extra)) is not None:
            nuisance, better, half = best
            value = float(better.theta[-1])
            severity = severity_of(abs(value), nuisance.warning, nuisance.error)
            text, evidence = nuisance.message(value, half), likelier(now, better)
            found.append(nuisance.cause.finding(severity, text, "", nuisance.where, evidence))
            now, extra = better, [*extra, nuisance.column]
            nuisances = [
                other for other in nuisances if (other.cause, other.where) != (nuisance.cause, nuisance.where)
            ]
        other = None if floating else self._other_channels(case, now)
        if other is not None:
            case.explained.append(other)
        yield from [*found, *self._fit(case, now)] if other is None else [other]

    def _best(
        self, run: FilterRun, now: Regression, nuisances: list[RunNuisance], extra: list[JointSamples]
    ) -> tuple[RunNuisance, Regression, float] | None:
        """The nuisance that makes the samples likeliest beside those of `extra`, its fit, and its 95 % half-width."""
        scored = [(nuisance, now.score(nuisance.column)) for nuisance in nuisances]
        scored = [(e, s) for e, s in scored if abs(s.z) > self.significant and abs(s.value) >= e.warning]
        best, gain = None, LIKELIER + self.explains * now.rows
        for nuisance, score in sorted(scored, key=lambda pair: -pair[1].explained)[: self.tried]:
            better = run.fit(run.settled, run.steps, (*extra, nuisance.column))
            value = abs(float(better.theta[-1]))
            # a change was tried at many times: correct for multiple tests
            more = likelier(now, better) - (LIKELIER if nuisance.cause is GainChange.cause else 0.0)
            if more > gain and value > self.significant * score.std and value >= nuisance.warning:
                best, gain = (nuisance, better, 1.96 * score.std), more
        return best

    def _fit(self, run: FilterRun, fitted: Regression) -> Iterator[Finding]:
        tau = np.nan_to_num(run.motion.tau)
        r2 = np.where(np.ptp(tau, axis=0) > 0, 1 - fitted.ratio**2, 1.0)
        noisy = ", ".join(np.array(run.torques.robot.speed_names)[r2 < self.noise])
        if noisy:
            text = f"Neither the known robot nor any load explains the torque of {noisy}: noise, or another signal."
            yield TorqueNoise.causes[0].finding(Severity.error, text, where=noisy, evidence=200.0)
        if (error := fitted.relative_error) > self.fit_warning:
            severity = severity_of(error, self.fit_warning, self.fit_error)
            text = f"The known robot with the best-fitting load leaves {100 * error:.3g} % of the torque unexplained."
            remedy = "Check robot_from, signs and units, or identify the robot again."
            yield POOR_FIT.finding(severity, text, remedy, evidence=100 * error)

    def _gains(self, run: FilterRun) -> Iterator[RunNuisance]:
        """Gains of all torques and of one joint's, from the beginning or from some time on."""
        motion, names, size = run.settled, run.torques.robot.speed_names, GainChange()
        known = np.where(np.isfinite(motion.tau), run.known[1], 0.0)
        N, n = known.shape
        for joint, own in [("", np.ones(n)), *zip(names, np.eye(n), strict=True)]:
            whose = "The torque of joint {where} is" if joint else "Torques are"
            text = whose + " {:.4g} +- {:.2g} times that of the known robot."
            sizes = self.gain_warning, self.gain_error
            yield RunNuisance(TorqueGain.cause, known * own, *sizes, text, joint, zero=1.0)
            for row in np.linspace(0.15 * N, 0.85 * N, self.times).astype(int).tolist():
                at = f"from {motion.time[row]:.4g} s on; no load explains this."
                text = whose + " {:.3g} +- {:.2g} times as large " + at
                column = known * own * (np.arange(N) >= row)[:, None]
                yield RunNuisance(GainChange.cause, column, size.warning, size.error, text, joint, zero=1.0)

    def _motion(self, run: FilterRun) -> Iterator[RunNuisance]:
        """Scale of the clock, and zero of each joint."""
        motion, robot, clock, zero = run.settled, run.torques.robot, ClockScale(), JointZero()

        def faster(h: float) -> TrackedMotion:
            return replace(motion, v=motion.v * (1 + h), a=motion.a * (1 + h) ** 2)

        text = "The true sampling rate is {:.4g} +- {:.2g} times the declared one."
        yield RunNuisance(clock.cause, run.slope(faster, 1e-3), clock.warning, clock.error, text, zero=1.0)
        text = "The zero of joint {where} is off by {:.3g} +- {:.2g} deg."
        sizes = np.radians(zero.warning_deg), np.radians(zero.error_deg)
        positions = robot.joint_positions(motion.q)
        for joint, axis in zip(robot.joints, np.eye(len(robot.joints)), strict=True):

            def turned(h: float, axis: np.ndarray = axis) -> TrackedMotion:
                return replace(motion, q=robot.configurations(positions + h * axis))

            yield RunNuisance(zero.cause, run.slope(turned, 1e-4), *sizes, text, joint, unit=np.degrees(1.0))

    def _delay(self, run: FilterRun) -> RunNuisance:
        motion, delay = run.settled, TorqueDelay()
        read = np.isfinite(motion.tau)
        predicted = np.nan_to_num(motion.tau) - run.declared.residuals
        column = np.zeros_like(predicted)
        for a, b in pairwise([*motion.starts, len(predicted)]):
            if b - a > 2:
                column[a:b] = -np.gradient(predicted[a:b], motion.time[a:b], axis=0)
        period_s = float(np.median(np.diff(run.motion.time))) / 0.4  # of the highest frequency of the samples
        sizes = delay.warning_deg / 360 * period_s, delay.error_deg / 360 * period_s
        text = "Torques are {size:.3g} +- {1:.2g} ms {side} against the positions."
        return RunNuisance(delay.cause, np.where(read, column, 0.0), *sizes, text, unit=1e3)

    def _other_channels(self, run: FilterRun, now: Regression) -> Finding | None:
        """Another unit, sign or order of the channels that fits far better."""
        robot, motion = run.torques.robot, run.settled
        joints, n = robot.joints, len(robot.joints)
        positions = robot.joint_positions(motion.q)

        def moved(change: Callable[[np.ndarray], np.ndarray]) -> TrackedMotion:
            q = robot.configurations(change(positions))
            return replace(motion, q=q, v=change(motion.v), a=change(motion.a))

        tried: list[tuple[Cause, str, str, TrackedMotion]] = []
        for factor, unit in ((np.pi / 180, "degrees"), (180 / np.pi, "radians")):
            text = f"Positions fit far better as {unit} than as declared"
            tried.append((AngleUnit.cause, "", text, moved(partial(np.multiply, factor))))
        for joint, s in zip(joints, 1 - 2 * np.eye(n), strict=True):
            text = f"The {{}} of joint {joint} fits far better negated"
            tried.append((Sign.cause, joint, text.format("torque"), replace(motion, tau=motion.tau * s)))
            tried.append((Sign.cause, joint, text.format("position"), moved(partial(np.multiply, s))))
        for i, j in combinations(range(n), 2):
            order = np.arange(n)
            order[[i, j]] = j, i
            pair, cause = f"{joints[i]}, {joints[j]}", SwappedChannels.cause
            text = f"The {{}} of {pair} fit far better swapped"
            tried.append((cause, pair, text.format("torques"), replace(motion, tau=motion.tau[:, order])))
            tried.append(
                (cause, pair, text.format("positions"), moved(partial(np.take, indices=order, axis=1)))
            )
        fits = [run.fit(changed, run.steps) for *_, changed in tried]
        # relative to each joint's torque: swapped torques have swapped sizes
        ratios = [float(np.log(fit.ratio).sum()) for fit in fits]
        best = int(np.argmin(ratios))
        gain = float(np.log(now.ratio).sum()) - ratios[best]
        left, before = fits[best].relative_error, now.relative_error
        if gain < np.log(self.better) or left * self.better > before:
            return None
        cause, where, text, _ = tried[best]
        text += f": {100 * left:.3g} % of the torque is unexplained instead of {100 * before:.3g} %."
        return cause.finding(Severity.error, text, "", where, 1e2 * gain)


class RunEffects(SystematicEffects):
    """The size that systematic effects may have; those that the samples show are found by `RobotAsKnown`."""

    causes = ()

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        if case.systematic is None:
            yield Unchecked(
                "errors of the laboratory", "they are examined for robots with a fixed base and no loops"
            )
        else:
            yield from self._unchecked(case.systematic)


class RunPrediction(BlockPrediction):
    """Prediction of parts of the recordings from the others; `RobotAsKnown` judges the fit."""

    causes = tuple(cause for cause in BlockPrediction.causes if cause is not POOR_FIT)

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        if case.systematic is not None and not case.explained:
            yield from (
                found
                for found in super().look(case)
                if isinstance(found, Unchecked) or found.cause != POOR_FIT.name
            )


class Innovations(Check):
    """Consistency of innovations with the filter's covariance.

    Class variables:
        warning, error: y^T S^-1 y of accepted samples per row, beyond the chi-square interval of so many rows.
        rejected: part of the samples that did not pass the gate, above which it is a warning.
    """

    warning, error = 1.5, 3.0
    rejected = 0.3

    causes = (INNOVATIONS, REJECTED)

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        yield from self.look_at(case.squares, case.rejected_part, case.gate)

    def look_at(self, squares: Vector, rejected_part: float, gate: float) -> Iterator[Finding | Unchecked]:
        """The same for any filter, from only these quantities of a `FilterRun`."""
        squares = squares[np.isfinite(squares)]
        mean = float(squares.mean()) if len(squares) > 50 else 0.0
        if mean > self.warning:
            std = float(squares.std() * np.sqrt(correlation_time(squares - mean) / len(squares)))
            if mean - 4 * std > 1:
                text = (
                    f"Accepted innovations have {mean:.3g} +- {1.96 * std:.2g} times the variance that the filter "
                    f"predicts: its intervals are {np.sqrt(mean):.2g} times too short, or the robot differs."
                )
                yield INNOVATIONS.finding(
                    severity_of(mean, self.warning, self.error), text, evidence=10 * mean
                )
        if (part := rejected_part) > self.rejected:
            text = f"{100 * part:.0f} % of the samples did not pass the gate; {100 * gate:.2g} % are expected of noise."
            yield REJECTED.finding(Severity.warning, text, evidence=100 * part)


class LoadAgainstDescription(Check):
    """Masses of the open bodies against their prior masses.

    Class variables:
        lighter_warning, lighter_error: part of its known mass below which a link is lighter than the error of a
            description explains: a factor of two, once and twice.
        significant: standard deviations.
    """

    lighter_warning, lighter_error = 0.5, 0.25
    significant = 3.0

    causes = (MASS,)

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        whole = float(case.torques.robot.inertials[:, 0].sum())
        masses = case.bodies[:, 0], case.std[::10], case.torques.described[:, 0]
        for link, mass, std, known in zip(case.torques.links, *masses, strict=True):
            if mass < self.lighter_warning * known and known - mass > self.significant * std:
                severity = Severity.error if mass < self.lighter_error * known else Severity.warning
                text = (
                    f"{link} weighs {mass:.3g} +- {1.96 * std:.2g} kg, {mass / known:.2g} times its known mass "
                    f"({known:.3g} kg): links do not lose mass."
                )
                yield MASS.finding(severity, text, "", link, float(known / max(mass, 1e-3 * known)))
            elif mass - known > whole:
                text = f"The load on {link} weighs {mass - known:.4g} kg, more than the whole robot ({whole:.3g} kg)."
                yield MASS.finding(Severity.error, text, "", link, float(mass / whole))
        if not case.possible:
            remedy = 'Write chart = "log-cholesky" in [method]: all its bodies are physically possible.'
            yield MASS.finding(Severity.error, "An open body is physically impossible.", remedy)


RUN_CHECKS: tuple[Check, ...] = (
    RobotAsKnown(),
    RunEffects(),
    RunPrediction(),
    Innovations(),
    LoadAgainstDescription(),
)
