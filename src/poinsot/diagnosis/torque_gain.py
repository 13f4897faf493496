"""One joint's torque in another unit than the others'."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Unchecked
from .case import Examination
from .changes import UNMOVED, joints_of, mapped, moved_torques
from .check import Cause
from .explanations import SMALLER, Candidate, Explained, Explanation, improvement, misfit, severity_of


@dataclass(frozen=True)
class TorqueGain(Explanation):
    """A factor on each joint's torque, against the others': reaction torques and inertia couple the joints.

    Args:
        warning, error: relative sizes.
        alone: factor, either way, at which a joint shares nothing with the others.
        determined: log-likelihood by which the factor must fit better than these.
    """

    warning: float = 0.1
    error: float = 0.5
    alone: float = 1e3
    determined: float = 12.0

    cause = Cause(
        "torque-scale",
        "The torque of one joint, or of all, is in another unit than declared, or its gain is wrong.",
        "Mend the unit or scale of torque, or gain in [drive].",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        passive = case.thin.robot.drive.passive
        if len(joints) - len(passive) < 2 or case.thin.robot.floating_base:
            return
        starts = [(float(x),) for x in np.log([1e-3, 0.01, 0.1, 0.5, 1, 2, 10, 100, 1e3])]
        for k, joint in enumerate(joints):
            if joint not in passive:
                own = np.arange(len(joints)) == k
                yield Candidate(
                    self,
                    (joint,),
                    lambda problem, x, _, own=own: mapped(  # type: ignore[misc]
                        problem, lambda s: replace(s, tau=s.tau * np.where(own, np.exp(x[0]), 1.0))
                    ),
                    starts,
                    matters=np.log1p(self.warning),
                    motion=UNMOVED,
                    column=lambda solved, own=own: -moved_torques(solved, own),  # type: ignore[misc]
                )

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        if not self._is_determined(case, explained):
            return None
        (joint,) = explained.candidate.where
        return Finding(
            self.cause.name,
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"The torque of joint {joint} must be {factor:.4g} +- {1.96 * factor * std:.2g} times what is recorded to "
            f"agree with the other joints: with it, {improvement(case, explained)}.",
            f"Mend the unit or scale of the torque of {joint}, or gain in [drive].",
            joint,
        )

    def _is_determined(self, case: Examination, explained: Explained) -> bool:
        """Whether another factor, far away on either side, fits worse.

        Far away the joint is alone: its torque says nothing of parameters that other joints share. Whatever else the
        model lacks makes a joint fit better alone, and then every large or small factor looks better than 1.
        """
        effective, thin, candidate = case.effective_rows, case.thin, explained.candidate
        alone = [
            case.solve(candidate.change(thin, far, far), candidate.motion)
            for far in explained.nuisance + np.log([[1 / self.alone], [self.alone]])
        ]
        least = min(misfit(each, effective) for each in alone)
        return least - misfit(explained.solved, effective) > self.determined

    def unobservable(self, candidate: Candidate, size: float) -> Unchecked | None:
        if size < np.log1p(self.error):
            return None
        return Unchecked(
            f"the torque unit of joint {candidate.where[0]} against the other joints'",
            f"this motion shows factors of more than {np.exp(size):.2g}; {SMALLER}"
            if size < np.log(10)
            else "no inertia that it shares with another joint shows in this motion",
        )
