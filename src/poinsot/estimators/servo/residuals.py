"""What happens for a while, or in single samples, seen in the residuals of simulated positions.

An external torque is named if the residuals of the others fall to less than half without its stretches: a model that
fits nowhere has no such stretch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...diagnosis import Check
from ...diagnosis.disturbance import Disturbance
from ...diagnosis.outliers import outlying
from ...diagnosis.position_samples import PositionJumps
from ...estimate import Finding, Severity
from .case import Case


class OutlyingReadings(Check):
    """Single readings of a position that no motion explains.

    Class variables:
        matters: part of a joint's squared residuals from which they are a warning.
    """

    of_samples = True
    matters = 0.1

    causes = (PositionJumps.causes[1],)

    def look(self, case: Case) -> Iterator[Finding]:
        for motion, residual in zip(case.problem.motions, case.simulated.residuals, strict=True):
            for k, joint in enumerate(case.problem.joints):
                wrong = outlying(residual[:, k])
                if not wrong.any():
                    continue
                share = float(np.sum(residual[wrong, k] ** 2) / np.nansum(residual[:, k] ** 2))
                first = motion.steps.time[np.argmax(wrong)]
                yield self.causes[0].finding(
                    Severity.warning if share > self.matters else Severity.note,
                    f"{int(wrong.sum())} readings of {joint} in {motion.name!r}, the first at {first:.4g} s, are far "
                    f"from their neighbours; {100 * share:.2g} % of the squared error is theirs.",
                    'Mark them as invalid, and write invalid = "mask" in [[recordings]]; or write huber = 1.345 in '
                    "[method].",
                    where=joint,
                    evidence=100 * share,
                )


class ExternalTorque(Check):
    """Stretches in which something else than its servos moves the robot.

    Class variables:
        falls: part to which the other residuals must fall when the stretches are left out.
        saturated: part of the time at the torque limit from which on a joint is not examined: no stiffness holds it.
    """

    of_samples = True
    falls, saturated = 0.5, 0.05

    causes = Disturbance.causes

    def look(self, case: Case) -> Iterator[Finding]:
        if not case.simulated.sensitivities[0].size:
            return
        found = case.errors.stretches
        stretches, left_out, e = found.result
        if not left_out.any() or left_out.mean() > found.most:
            return
        at = case.simulated
        time = np.concatenate([motion.steps.time[:: at.stride] for motion in at.motions])
        edges = np.cumsum([0, *(len(motion.steps.time[:: at.stride]) for motion in at.motions)])
        for k, joint in enumerate(case.problem.joints):
            rows = np.flatnonzero(stretches[:, k])
            before, after = (float(np.sqrt(np.mean(x**2))) for x in (found.before[:, k], e[~left_out, k]))
            at_limit = max(rollouts[k].saturated for rollouts in at.rollouts)
            if not len(rows) or after > self.falls * before or at_limit > self.saturated:
                continue
            parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
            longest = max(parts, key=len)
            name = at.motions[int(np.searchsorted(edges, longest[0], side="right")) - 1].name
            torque = float(np.median(e[longest, k])) * at.actuators[k].stiffness
            begin, end = time[longest[0]], time[longest[-1]]
            yield self.causes[0].finding(
                Severity.warning,
                f"An external torque acts on {joint} in {name!r} from {begin:.4g} to {end:.4g} s, of about "
                f"{torque:.2g} N m: without such stretches the error of the joint falls from {1e3 * before:.2g} to "
                f"{1e3 * after:.2g} mrad.",
                f"Leave it out: one recording with between_s up to {begin:.4g} s, and another from {end:.4g} s on.",
                where=joint,
                evidence=100 * before / max(after, 1e-12),
            )
