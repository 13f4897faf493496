"""Checks of a filter's run: what contradicts the known robot, what the innovations say, what the load is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from ..arrays import JointSamples
from ..estimate import Finding, Severity, Unchecked
from .case import Regression, correlations
from .check import Cause, Check
from .explanations import severity_of
from .tracking import LIKELIER, FilterRun, TrackedMotion, likelier


@dataclass(frozen=True, eq=False)
class Nuisance:
    """One more column of the regression, and what it means.

    Args:
        cause: of a finding. column: (N, n). warning, error: sizes.
        message: of value and 95 % half-width. remedy: what to do. where: joint; "" for all.
    """

    cause: str
    column: JointSamples
    warning: float
    error: float
    message: Callable[[float, float], str]
    remedy: str
    where: str = ""


@dataclass(frozen=True)
class KnownRobot(Check[FilterRun]):
    """Does the torque agree with the robot that the filter takes for known?

    Args:
        gain_warning, gain_error: relative error of the torque's gain; the mass of a load is wrong by as much of all
            that the joint carries.
        step_warning, step_error: the same of a gain that changes.
        zero_warning_deg, zero_error_deg: of a joint.
        clock_warning, clock_error: relative.
        delay_warning_deg, delay_error_deg: phase at the highest frequency of the samples.
        significant: standard deviations. explains: log-likelihood a sample that a defect must explain, beside
            chance: .05 is a tenth of the squared residuals of all joints.
        tried: nuisances that are fitted, of those that explain most to first order.
        noise: adjusted R^2 of a joint's torque below which it is noise.
        fit_warning, fit_error: relative errors of all joints together.
        swapped: factor of the residuals, all joints together, by which another assignment, sign or unit must fit
            better.
        still_rad: range of every joint below which the robot stood still.
    """

    gain_warning: float = 0.1
    gain_error: float = 0.2
    step_warning: float = 0.05
    step_error: float = 0.15
    zero_warning_deg: float = 1.0
    zero_error_deg: float = 5.0
    clock_warning: float = 0.01
    clock_error: float = 0.03
    delay_warning_deg: float = 6.0
    delay_error_deg: float = 30.0
    significant: float = 4.0
    explains: float = 0.02
    tried: int = 12
    noise: float = 0.2
    fit_warning: float = 0.15
    fit_error: float = 0.35
    swapped: float = 1.5
    still_rad: float = 0.01

    causes = (
        Cause(
            "no-excitation",
            "The robot does not move enough to show what is estimated.",
            "Move it, or look at the position columns.",
        ),
    )

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        moved = np.ptp(case.motion.q, axis=0)
        if not case.torques.robot.floating_base and np.all(moved < self.still_rad):
            yield Finding(
                "no-excitation",
                Severity.error,
                f"No joint moved by more than {self.still_rad:g} rad: a posture shows no mass, and positions that do "
                "not move beside torques that do may be stuck.",
                "Look at the position columns, or move the robot.",
                evidence=1e3,
            )
            return
        now, extra, found = case.declared, [], []
        nuisances = list(self._nuisances(case))
        while (best := self._best(case, now, nuisances, extra)) is not None:
            each, better, half = best
            value = float(better.theta[-1])
            severity = severity_of(abs(value), each.warning, each.error)
            said, evidence = each.message(value, half), likelier(now, better)
            found.append(Finding(each.cause, severity, said, each.remedy, each.where, evidence))
            now, extra = better, [*extra, each.column]
            nuisances = [
                other for other in nuisances if (other.cause, other.where) != (each.cause, each.where)
            ]
        other = self._other_channels(case, now)
        yield from [other] if other is not None else [*found, *self._fit(case, now)]

    def _best(
        self, run: FilterRun, now: Regression, nuisances: list[Nuisance], extra: list[JointSamples]
    ) -> tuple[Nuisance, Regression, float] | None:
        """The nuisance that makes the samples likeliest beside those of `extra`, its fit, and its 95 % half-width."""
        scored = []
        for each in nuisances:
            score = now.score(each.column)
            if abs(score.z) > self.significant and abs(score.value) >= each.warning:
                scored.append((score.explained, each, score.std))
        scored.sort(key=lambda found: -found[0])
        best, gain = None, LIKELIER + self.explains * now.rows
        for _, each, std in scored[: self.tried]:
            better = run.fit(run.settled, run.steps, (*extra, each.column))
            value = abs(float(better.theta[-1]))
            # a change at one of many times is one of many chances
            more = likelier(now, better) - (LIKELIER if each.cause == "gain-change" else 0.0)
            if more > gain and value > self.significant * std and value >= each.warning:
                best, gain = (each, better, 1.96 * std), more
        return best

    def _fit(self, run: FilterRun, fitted: Regression) -> Iterator[Finding]:
        names = run.torques.robot.effort_names
        read = np.isfinite(run.motion.tau).any(axis=0) & (np.ptp(np.nan_to_num(run.motion.tau), axis=0) > 0)
        r2 = 1 - (fitted.sigma / fitted.size) ** 2
        noisy = [name for name, x, ok in zip(names, r2, read, strict=True) if ok and x < self.noise]
        if noisy:
            yield Finding(
                "torque-noise",
                Severity.error,
                f"Neither the known robot nor any load explains the torque of {', '.join(noisy)}: it is noise, or "
                "another signal.",
                "Look at the torque columns, and whether they are of the same recording as the positions.",
                ", ".join(noisy) if len(noisy) < read.sum() else "",
                evidence=50.0 * len(noisy),
            )
        error = fitted.relative_error
        if error > self.fit_warning:
            yield Finding(
                "poor-fit",
                severity_of(error, self.fit_warning, self.fit_error),
                f"The known robot with the best load leaves {100 * error:.3g} % of the torque unexplained; of an "
                "industrial arm 4 to 10 %.",
                "Check robot_from, signs and units, or identify the robot again.",
                evidence=100 * error,
            )

    def _nuisances(self, run: FilterRun) -> Iterator[Nuisance]:
        motion, robot = run.settled, run.torques.robot
        known = np.where(np.isfinite(motion.tau), run.known[1], 0.0)
        n, names = known.shape[1], robot.effort_names
        for k in [None, *range(n)]:
            column = known * (np.ones(n) if k is None else np.eye(n)[k])
            whose = "Torques are" if k is None else f"The torque of joint {names[k]} is"
            joint = "" if k is None else names[k]
            yield Nuisance(
                "torque-scale",
                column,
                self.gain_warning,
                self.gain_error,
                lambda s, half, whose=whose: (
                    f"{whose} {1 + s:.4g} +- {half:.2g} times as large as the known robot needs."
                ),
                "Mend the unit of the torque or gain in [drive], or take robot_from of the same drives.",
                joint,
            )
            for row in np.linspace(0.15 * len(known), 0.85 * len(known), 29).astype(int).tolist():
                later = (np.arange(len(known)) >= row)[:, None]
                yield Nuisance(
                    "gain-change",
                    column * later,
                    self.step_warning,
                    self.step_error,
                    lambda s, half, whose=whose, row=row: (
                        f"{whose} {1 + s:.3g} +- {half:.2g} times as large from "
                        f"about {motion.time[row]:.4g} s on, which no load explains: a gain changed."
                    ),
                    "Use the part before or after the change.",
                    joint,
                )
        yield self._delay(run)
        if robot.floating_base:
            return
        v, a = motion.v, motion.a
        yield Nuisance(
            "clock-scale",
            run.slope(lambda h: replace(motion, v=v * (1 + h), a=a * (1 + h) ** 2), 1e-3),
            self.clock_warning,
            self.clock_error,
            lambda c, half: f"The true sampling rate is {1 + c:.4g} +- {half:.2g} times the declared one.",
            "Mend rate_hz, or the unit of the time column.",
        )
        positions = robot.joint_positions(motion.q)
        for joint, axis in zip(robot.joints, np.eye(len(robot.joints)), strict=True):

            def turned(h: float, axis: np.ndarray = axis) -> TrackedMotion:
                return replace(motion, q=robot.configurations(positions + h * axis))

            yield Nuisance(
                "joint-zero",
                run.slope(turned, 1e-4),
                np.radians(self.zero_warning_deg),
                np.radians(self.zero_error_deg),
                lambda x, half, joint=joint: (
                    f"The zero of joint {joint} is off by {np.degrees(x):.3g} +- {np.degrees(half):.2g} deg."
                ),
                "Write the offset of the joint's position in [[recordings]].",
                joint,
            )

    def _delay(self, run: FilterRun) -> Nuisance:
        motion, fitted = run.settled, run.declared
        predicted = np.nan_to_num(motion.tau) - fitted.residuals
        edges = [*motion.starts, len(predicted)]
        parts = [np.gradient(predicted[a:b], motion.time[a:b], axis=0) if b - a > 2 else np.zeros_like(predicted[a:b])
                 for a, b in pairwise(edges)]  # fmt: skip
        column = -np.concatenate(parts)
        column[~np.isfinite(motion.tau)] = 0.0
        highest = 0.4 / float(np.median(np.diff(run.motion.time)))
        return Nuisance(
            "delay",
            column,
            self.delay_warning_deg / 360 / highest,
            self.delay_error_deg / 360 / highest,
            lambda d, half: (
                f"Torques are {1e3 * abs(d):.3g} +- {1e3 * half:.2g} ms {'late' if d > 0 else 'early'} "
                "against the positions."
            ),
            "Shift the torque's time column by that.",
        )

    def _other_channels(self, run: FilterRun, now: Regression) -> Finding | None:
        """Another unit, sign or order of the channels that fits far better."""
        robot, motion = run.torques.robot, run.settled
        if robot.floating_base:
            return None
        joints, n, turn = robot.joints, len(robot.joints), np.pi / 180
        positions = robot.joint_positions(motion.q)

        def moved(x: np.ndarray, v: np.ndarray, a: np.ndarray) -> TrackedMotion:
            return replace(motion, q=robot.configurations(x), v=v, a=a)

        tried: list[tuple[str, str, str, TrackedMotion]] = []
        for factor, truth in ((turn, "degrees"), (1 / turn, "radians")):
            said = f"Positions fit far better as {truth} than as declared."
            tried.append(
                ("angle-unit", "", said, moved(positions * factor, motion.v * factor, motion.a * factor))
            )
        for k, joint in enumerate(joints):
            s = 1 - 2 * np.eye(n)[k]
            tried.append(
                (
                    "sign",
                    joint,
                    f"The torque of joint {joint} fits far better negated.",
                    replace(motion, tau=motion.tau * s),
                )
            )
            said = f"The position of joint {joint} fits far better negated."
            tried.append(("sign", joint, said, moved(positions * s, motion.v * s, motion.a * s)))
        for i, j in combinations(range(n), 2):
            order = np.arange(n)
            order[[i, j]] = j, i
            pair = f"{joints[i]}, {joints[j]}"
            said = f"The torques of {pair} fit far better swapped."
            tried.append(("swapped-channels", pair, said, replace(motion, tau=motion.tau[:, order])))
            said = f"The positions of {pair} fit far better swapped."
            tried.append(
                (
                    "swapped-channels",
                    pair,
                    said,
                    moved(positions[:, order], motion.v[:, order], motion.a[:, order]),
                )
            )
        fits = [(run.fit(each, run.steps), *rest) for *rest, each in tried]
        # of each joint's residuals over its torque: swapped torques take their sizes with them
        ratios = [float(np.log(fit.sigma / fit.size).sum()) for fit, *_ in fits]
        best = int(np.argmin(ratios))
        gain = float(np.log(now.sigma / now.size).sum()) - ratios[best]
        if gain < np.log(self.swapped) or fits[best][0].relative_error > 0.7 * now.relative_error:
            return None
        fit, cause, where, said = fits[best]
        message = (
            f"{said[:-1]}: {100 * fit.relative_error:.3g} % of the torque is left in place of "
            f"{100 * now.relative_error:.3g} %."
        )
        return Finding(
            cause, Severity.error, message, "Mend the columns of [[recordings]].", where, evidence=1e2 * gain
        )


@dataclass(frozen=True)
class Innovations(Check[FilterRun]):
    """Are innovations what the filter believes?

    Args:
        warning, error: y^T S^-1 y of accepted samples per row, beyond the chi-square band of so many.
        rejected: part of the samples that did not pass the gate, above which it is a warning.
        differs: standard deviations between the filter's mass and that of least squares on the same samples.
    """

    warning: float = 1.5
    error: float = 3.0
    rejected: float = 0.3
    differs: float = 4.0

    causes = (
        Cause(
            "innovations",
            "What a filter did not predict is larger than it believes: its intervals are too short.",
            "Give a larger noise, and check the robot that it takes for known.",
        ),
        Cause(
            "rejected-samples",
            "Many samples did not pass the gate of a filter.",
            "Calibrate where the robot moves as later, or give a larger noise_margin.",
        ),
    )

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        squares = case.squares[np.isfinite(case.squares)]
        rho = correlations(squares - squares.mean()) if len(squares) > 50 else np.zeros(0)
        mean = float(squares.mean()) if len(squares) else 1.0
        std = float(squares.std()) * np.sqrt((1 + 2 * max(float(rho.sum()), 0.0)) / max(len(squares), 1))
        if mean - 4 * std > 1 and mean > self.warning:
            yield Finding(
                "innovations",
                severity_of(mean, self.warning, self.error),
                f"Accepted innovations have {mean:.3g} times the variance that the filter believes (chi-square per "
                f"row {mean:.3g} +- {1.96 * std:.2g} in place of at most 1): its intervals are {np.sqrt(mean):.2g} "
                "times too short, or the robot is not as it is known.",
                "Give a larger noise, or noise_margin; check robot_from, signs and units.",
                evidence=10 * mean,
            )
        if case.rejected_part > self.rejected:
            yield Finding(
                "rejected-samples",
                Severity.warning,
                f"{100 * case.rejected_part:.0f} % of the samples did not pass the gate, where noise makes "
                f"{100 * case.gate:.2g} %: noise is larger than the filter believes, or the robot not as it is known.",
                "Calibrate where the robot moves as later (calibrate_s), or give a larger noise_margin.",
                evidence=100 * case.rejected_part,
            )


@dataclass(frozen=True)
class LoadAgainstDescription(Check[FilterRun]):
    """Masses of the open bodies against what they were known as.

    Args:
        lighter_warning, lighter_error: part of its known mass below which a link is lighter than its description can
            be wrong: known to a factor of two, once and twice.
        significant: standard deviations.
    """

    lighter_warning: float = 0.5
    lighter_error: float = 0.25
    significant: float = 3.0

    causes = (
        Cause(
            "link-mass",
            "A link is far lighter than it was known as, or its load heavier than the robot.",
            "Check torque columns and units, and the robot that is taken for known.",
        ),
    )

    def look(self, case: FilterRun) -> Iterator[Finding | Unchecked]:
        whole = float(case.torques.robot.inertials[:, 0].sum())
        for link, mass, std, known in zip(
            case.torques.links, case.mass, case.std, case.described, strict=True
        ):
            ratio = mass / known
            if ratio < self.lighter_warning and known - mass > self.significant * std:
                yield Finding(
                    "link-mass",
                    Severity.error if ratio < self.lighter_error else Severity.warning,
                    f"{link} weighs {mass:.3g} +- {1.96 * std:.2g} kg, {ratio:.2g} times what it was known as "
                    f"({known:.3g} kg): links do not lose mass.",
                    "Check torque columns and units, and whether robot_from had the load on.",
                    link,
                    evidence=-np.log(max(ratio, 1e-9)),
                )
            elif mass - known > whole:
                yield Finding(
                    "link-mass",
                    Severity.error,
                    f"The load on {link} weighs {mass - known:.4g} kg, more than the whole robot ({whole:.3g} kg).",
                    "Check the unit of the torque.",
                    link,
                    evidence=float(np.log(mass / whole)),
                )
        if not case.possible:
            yield Finding(
                "link-mass",
                Severity.error,
                "An open body is physically impossible.",
                'Write chart = "log-cholesky" in [method], whose bodies are all possible.',
            )


RUN_CHECKS: tuple[Check[FilterRun], ...] = (KnownRobot(), Innovations(), LoadAgainstDescription())
