"""The scale of all bodies: the torque that they make against that of the described ones, on the recorded motion.

s_j = rms of the inertial torques of joint j, estimated over described; s = exp(mean of log s_j) over the joints with at
least a tenth of the largest described torque. A description knows masses to a factor of two: friction is left out, as
it says nothing of it. A unit is wrong by a factor of ten or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Examination
from .check import Check
from .description import Described
from .torque_gain import TorqueGain


@dataclass(frozen=True)
class TorqueScale(Check):
    """The estimated weight of the robot against the described one.

    Args:
        warning, error: factors, either way. 2 is what a description knows; 4 is twice that, on a log scale.
        left: relative error beyond which the motion does not explain the torque, and its scale says nothing.
    """

    warning: float = 2.0
    error: float = 4.0
    left: float = 0.5

    causes = (TorqueGain.cause,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        # what explains the recording best has its own scale, freed of the defect that it found
        solved = case.best
        described = Described(solved.problem)
        alone, beta0, _ = described.base(solved.problem.base)
        if solved.relative_error > self.left:
            yield Unchecked("the unit of the torque", "the motion does not explain the torque")
            return
        if not described.says_something or not alone.any():
            yield Unchecked(
                "the unit of the torque",
                "the description gives no link a mass, so that every scale of the torque fits some robot",
            )
            return
        W = solved.dense.W[:, :, alone]
        found, expected = (np.sqrt(np.mean((W @ x) ** 2, axis=0)) for x in (solved.theta[alone], beta0))
        used = expected > 0.1 * expected.max()
        if not expected.max() > 0 or not np.all(found[used] > 0):
            return
        # what noise alone would make of the inertial torques says nothing of their scale
        known = found[used] > 2 * solved.sigma[used] / np.sqrt(solved.rows)
        if not known.any():
            return
        s = float(np.exp(np.mean(np.log(found[used] / expected[used]))))
        size = abs(np.log(s))
        if size < np.log(self.warning):
            return
        yield Finding(
            "torque-scale",
            Severity.error if size >= np.log(self.error) else Severity.warning,
            f"The bodies weigh {s:.3g} times what the description says: on this motion gravity and inertia take "
            f"{found.max():.3g} N m at most, and {expected.max():.3g} N m as described (rms).",
            f"Mend the unit or scale of torque: scale = {1 / s:.2g} would agree with the description; if that is wrong "
            "by this factor, mend its masses.",
            evidence=0.5 * (size / np.log(2)) ** 2,
        )
