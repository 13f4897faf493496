"""Gains of the torque: of one joint relative to the others, changing with time, and common to all joints.

The scale of all bodies is the ratio of their estimated and described torques on the recorded motion:

    s_j = rms of the inertial torques of joint j, estimated over described;   s = exp(mean of log s_j)

over the joints with at least a tenth of the largest described torque. A description knows masses to a factor of two:
friction is left out, as the description has none. A wrong unit is a factor of ten or more.

A load is as well known as the drive gains that weigh it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from ..arrays import JointSamples, Vector
from ..estimate import DriveGains, Finding, Payload, Severity, Unchecked
from ..exceptions import listing
from ..regression.inverse_dynamics import InverseDynamics
from .case import Solved, joints_of, mapped, recordings_of, within
from .cause import Cause
from .check import Check
from .description import described_base, placeholders
from .effects.efforts import GAIN, GAIN_CHANGE
from .examination import Examination
from .explanations import UNMOVED, Candidate, Explained, Explanation, local, misfit, severity_of

EXACT = Cause(
    "exact-gains",
    "Drive gains are assumed exact: the load's interval does not contain their uncertainty.",
    "Write gain_std = ... in [method], or gains_from = the job that identified the gains.",
)


class LoadGains(Check):
    """Given drive gains, which scale the load: no recording of this robot can contradict them.

    With all gains times s, robot and load times s fit the recordings as well: only the description's masses, known to a
    factor of two, contradict it (`TorqueScale`).
    """

    causes = (EXACT,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        load, gains = case.estimate.extra(Payload), case.estimate.extra(DriveGains)
        if load is None or "mass" in load.known:
            return
        if gains is None:
            yield Unchecked(
                "the load's scale", "torques are assumed exact: 10 % of error in them is 10 % in the mass"
            )
        elif not np.any(gains.std > 0):
            message = (
                f"The load's mass {load.mass:.4g} +- {1.96 * load.mass_std:.2g} kg assumes exact drive gains: 10 % of "
                "error in them is 10 % in the mass, and these recordings cannot detect it."
            )
            yield EXACT.finding(Severity.warning, message, "", load.link)
        elif not gains.identified:
            percent = 196 * float(np.median(gains.std / np.abs(gains.values)))
            reason = f"gains were given, to +- {percent:.2g} % (median), and these recordings do not determine them"
            yield Unchecked("the load's scale", reason)


def moved_torques(solved: Solved, factors: np.ndarray) -> JointSamples:
    """(N, e) predicted torques of the equations with each joint's channel times a factor (n,) or (N, n).

    The prediction is scaled, not the measurement: that contains the residuals, which it would then explain.
    """
    robot, recorded = solved.problem.robot, joints_of(solved.problem)
    train, used = robot.train, robot.equations
    # of all joints, in the robot's order: joints that follow others need not be recorded
    every = np.zeros((*factors.shape[:-1], len(robot.joints)))
    every[..., [robot.joints.index(joint) for joint in recorded]] = factors
    if train.drive.side != "motor":
        return solved.predicted * every[..., used]
    reduction = train.reduction[:, used]
    return cast("JointSamples", (solved.predicted @ np.linalg.pinv(reduction) * every) @ reduction)


class TorqueGain(Explanation):
    """A factor on each joint's torque relative to the others: reaction torques and inertia couple the joints.

    Class variables:
        warning, error: relative sizes.
        alone: factor, either way, at which a joint is practically decoupled from the others.
        determined: log-likelihood by which the factor must fit better than these two.
    """

    warning, error = 0.1, 0.5
    alone = 1e3
    determined = 12.0

    cause = GAIN

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        passive = case.thin.robot.drive.without_effort
        if len(joints) - len(passive) < 2:
            return
        starts = [(float(x),) for x in np.log([1e-3, 0.01, 0.1, 0.5, 1, 2, 10, 100, 1e3])]
        for k, joint in enumerate(joints):
            if joint not in passive:
                own = np.arange(len(joints)) == k
                yield Candidate(
                    self.cause,
                    (joint,),
                    lambda problem, x, _, own=own: mapped(  # type: ignore[misc]
                        problem, lambda s: replace(s, tau=s.tau * np.where(own, np.exp(x[0]), 1.0))
                    ),
                    self._finding,
                    starts,
                    matters=np.log1p(self.warning),
                    motion=UNMOVED,
                    column=lambda solved, own=own: -moved_torques(solved, own),  # type: ignore[misc]
                )

    def _finding(self, case: Examination, explained: Explained) -> Finding | None:
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        # at extreme factors the joint is decoupled: its torque does not inform parameters of other joints. Any model
        # error makes a joint fit better alone, and then every large or small factor looks better than 1
        effective, thin, candidate = case.effective_rows, case.thin, explained.candidate
        alone = [
            case.solve(candidate.change(thin, far, far), candidate.motion)
            for far in explained.nuisance + np.log([[1 / self.alone], [self.alone]])
        ]
        least = min(misfit(solved, effective) for solved in alone)
        if not least - misfit(explained.solved, effective) > self.determined:
            return None
        (joint,) = explained.candidate.where
        return self.cause.finding(
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"The torque of joint {joint} must be {factor:.4g} +- {1.96 * factor * std:.2g} times the recorded torque "
            f"to agree with the other joints: with it",
            f"Correct the unit or scale of the torque of {joint}, or gain in [drive].",
            joint,
        )


class GainChange(Explanation):
    """A step of the gain at each of several times, the largest of which is refined, and a linear drift.

    Class variables:
        warning, error: relative sizes of the change.
        times: number of steps tried in all recordings together.
        least: least part of a recording before a step and after it: a factor on all of it is another scale.
    """

    warning, error = 0.05, 0.15
    times = 39
    least = 0.1

    cause = GAIN_CHANGE

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        which: list[int | None] = [None, *(range(len(joints)) if len(joints) > 1 else ())]
        for joint in which:  # the step that explains most, to first order
            yield from sorted(self._steps(case, joint), key=lambda step: -local(case, step).explained)[:1]
            for part in range(len(case.thin.parts)):
                yield self._change(case, joint, part)

    def _steps(self, case: Examination, joint: int | None) -> Iterator[Candidate]:
        counts = np.cumsum([0, *case.thin.row_counts])
        for row in np.linspace(0, case.declared.rows, self.times + 2).astype(int)[1:-1]:
            part = int(np.searchsorted(counts, row, side="right") - 1)
            before, after = row - counts[part], counts[part + 1] - row
            if min(before, after) >= self.least * (before + after):
                yield self._change(case, joint, part, before / (before + after))

    def _change(
        self, case: Examination, joint: int | None, part: int, share: float | None = None
    ) -> Candidate:
        """Torques of all joints, or of one, after a share of one recording, divided by e^x; without a share by e^(x s),
        s from 0 to 1.
        """
        joints, signals = joints_of(case.thin), recordings_of(case.thin)[part]
        own = np.array([joint in (None, k) for k in range(len(joints))])

        def profile(count: int) -> np.ndarray:
            k = np.arange(count)[:, None]
            return own * (k / count if share is None else k >= round(share * count))

        def change(problem: InverseDynamics, x: Vector, _: Vector) -> InverseDynamics:
            changed = list(recordings_of(problem))
            tau = changed[part].tau
            changed[part] = replace(changed[part], tau=tau * np.exp(-x[0] * profile(len(tau))))
            return problem.with_signals(changed)

        def column(solved: Solved) -> np.ndarray:
            later, counts = np.zeros((len(solved.predicted), len(joints))), solved.problem.row_counts
            first = sum(counts[:part])
            later[first : first + counts[part]] = profile(counts[part])
            return moved_torques(solved, later)

        return Candidate(
            self.cause,
            () if joint is None else (joints[joint],),
            change,
            partial(
                self._finding, None if share is None else float(signals.time[round(share * len(signals))])
            ),
            starts=[(0.0,)],
            matters=float(np.log1p(self.warning)),
            motion=UNMOVED,
            column=column,
            recording=part,
        )

    def _finding(self, at: float | None, case: Examination, explained: Explained) -> Finding:
        where, number = explained.candidate.where, (explained.candidate.recording or 0) + 1
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        whose = f"Torques of joint {where[0]}" if where else "Torques"
        when = f"at the end of recording {number} as at its beginning: with the drift removed"
        remedy = "Record with a warm drive and sensor, or identify from shorter parts: between_s."
        if at is not None:
            when = f"from about {at:.4g} s of recording {number} on: with the step removed"
            remedy = f"Write between_s to end at {at:.4g} s, or to begin there."
        return self.cause.finding(
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"{whose} are {factor:.3g} +- {1.96 * factor * std:.2g} times as large {when}",
            remedy,
            within(case.problem, number, *where),
        )


class TorqueScale(Check):
    """The estimated weight of the robot relative to the described one.

    Class variables:
        warning, error: factors, either way. 2 is the accuracy of a description; 4 is twice that, on a log scale.
        left: relative error beyond which the motion does not explain the torque, and its scale is meaningless.
    """

    warning, error = 2.0, 4.0
    left = 0.5

    causes = (TorqueGain.cause,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        # the scale of the best explanation is free of the defect that was found
        solved = case.best
        alone, beta0, _ = described_base(solved.problem)
        robot = solved.problem.robot
        if (thin := placeholders(robot.inertials)).any():
            names = listing(name for name, is_thin in zip(robot.bodies, thin, strict=True) if is_thin)
            yield Unchecked(
                f"the described masses of {names}",
                "they are placeholders, spread more thinly than air; nothing is compared with them",
            )
        if solved.relative_error > self.left:
            yield Unchecked("the unit of the torque", "the motion does not explain the torque")
            return
        if not alone.any():
            yield Unchecked(
                "the unit of the torque",
                "the description gives no link a mass: any scale of the torque fits some robot",
            )
            return
        W = solved.dense.W[:, :, alone]
        found, expected = (np.sqrt(np.mean((W @ x) ** 2, axis=0)) for x in (solved.theta[alone], beta0))
        used = expected > 0.1 * expected.max()
        if not expected.max() > 0 or not np.all(found[used] > 0):
            return
        # inertial torques that may be mere noise do not determine the scale
        known = found[used] > 2 * solved.sigma[used] / np.sqrt(solved.rows)
        if not known.any():
            return
        s = float(np.exp(np.mean(np.log(found[used] / expected[used]))))
        size = abs(np.log(s))
        if size < np.log(self.warning):
            common = 1.96 * case.problem.accuracy.of("common_gain_percent")
            yield Unchecked(
                "the gain common to all torques",
                f"it may be off by {max(100 * abs(s - 1), common):.2g} %, and with it every value by as much: no "
                f"recording shows it, and by the description the bodies weigh {s:.3g} times as much as described",
            )
            return
        yield self.causes[0].finding(
            Severity.error if size >= np.log(self.error) else Severity.warning,
            f"The bodies weigh {s:.3g} times as much as described: on this motion, torques of gravity and inertia are "
            f"{found.max():.3g} N m at most, but {expected.max():.3g} N m by the description (rms).",
            f"Correct the unit or scale of torque: scale = {1 / s:.2g} agrees with the description; if the description "
            "is wrong by this factor, correct its masses.",
            evidence=0.5 * (size / np.log(2)) ** 2,
        )
