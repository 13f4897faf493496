"""Stretches of a recording in which something else than its servos moves a joint.

An external torque moves a joint that its controller holds by torque / stiffness. Dry friction holds it anywhere within
coulomb / stiffness of where the controller wants it, to either side, so that residuals up to twice that are no sign of
anything else. Stretches of larger residuals are left out, parameters are estimated from the others to first order, and
stretches are looked for again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...arrays import Vector
from ...statistics import NORMAL_MEDIAN
from .simulated import SimulatedMotions


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
        return np.array([2 * each.coulomb / each.stiffness for each in self.at.actuators])

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
