"""What happens for a while, or in single samples, seen in the residuals of simulated positions.

An external torque moves a joint that its controller holds by torque / stiffness. Dry friction holds it anywhere within
coulomb / stiffness of where the controller wants it, to either side, so that residuals up to twice that are no sign of
anything else. Stretches of larger residuals are left out, parameters are estimated from the others to first order, and
stretches are looked for again. An external torque is named if the residuals of the others fall to less than half by
this: a model that fits nowhere has no such stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...arrays import Vector
from ...diagnosis import Check
from ...diagnosis.disturbance import Disturbance
from ...diagnosis.effect_fit import NORMAL_MEDIAN
from ...diagnosis.outliers import outlying
from ...diagnosis.position_samples import PositionJumps
from ...estimate import Finding, Severity
from .case import Case
from .simulated import SimulatedMotions


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


@dataclass(frozen=True, eq=False)
class Stretches:
    """Rows with residuals beyond what dry friction explains, and residuals with parameters from the others.

    Args:
        at: the motions. wrong: (N, n) rows of outlying readings.

    Class variables:
        rounds: of leaving out and estimating again. most: part of the rows that may be left out.
        shortest_s: least duration of a stretch [s]. settles_s: margin left out before and after it [s].
    """

    at: SimulatedMotions

    rounds, most = 4, 0.25
    shortest_s, settles_s = 0.1, 0.2

    @cached_property
    def before(self) -> np.ndarray:
        """(N, n) residuals of the estimate, without outlying readings."""
        return self.at.rows(self.at.regular)

    @cached_property
    def band(self) -> Vector:
        """(n,) residuals that dry friction explains."""
        found = [self.at.found[joint] for joint in self.at.problem.joints]
        return np.array([2 * each.coulomb / each.stiffness for each in found])

    @cached_property
    def interval(self) -> float:
        """Between rows [s]."""
        return self.at.stride * float(np.median(np.diff(self.at.motions[0].steps.time)))

    def beyond(self, e: np.ndarray) -> np.ndarray:
        """(N, n) runs of residuals of one sign that are beyond the band and noise for long enough."""
        noise = np.median(np.abs(e), axis=0) / NORMAL_MEDIAN
        found, least = np.zeros(e.shape, dtype=bool), max(2, round(self.shortest_s / self.interval))
        for k in range(e.shape[1]):
            sign = np.sign(e[:, k]) * (np.abs(e[:, k]) > self.band[k] + 4 * noise[k])
            edges = np.flatnonzero(np.diff(np.concatenate([[np.nan], sign, [np.nan]])) != 0)
            for first, last in pairwise(edges):
                if sign[first] and last - first >= least:
                    found[first:last, k] = True
        return found

    @cached_property
    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(N, n) stretches, (N,) rows that are left out with them, (N, n) residuals."""
        W, _ = self.at.sensitivities
        e, left_out = self.before, np.zeros(len(self.before), dtype=bool)
        scale = np.sqrt(np.mean(self.before**2, axis=0)) + 1e-300
        stretches = self.beyond(e)
        for _ in range(self.rounds):
            wide = np.ones(2 * max(1, round(self.settles_s / self.interval)) + 1)
            left_out = np.convolve(stretches.any(axis=1).astype(float), wide, mode="same") > 0.5
            if not left_out.any() or left_out.mean() > self.most:
                break
            A, b = (W[~left_out] / scale[:, None]).reshape(-1, W.shape[2]), self.before[~left_out] / scale
            norms = np.linalg.norm(A, axis=0) + 1e-300
            x = np.linalg.lstsq(A / norms, b.reshape(-1), rcond=1e-8)[0] / norms
            e = self.before - W @ x
            scale = np.sqrt(np.mean(e[~left_out] ** 2, axis=0)) + 1e-300
            stretches = self.beyond(e)
        return stretches, left_out, e


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
        found = Stretches(case.simulated)
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
            torque = float(np.median(e[longest, k])) * at.found[joint].stiffness
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
