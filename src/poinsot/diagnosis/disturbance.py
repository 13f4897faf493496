"""An interval that the model does not fit while it fits the rest: someone leans on the arm, or it hits something.

Of stretches of N/m rows, with coloured residuals worth nu = (N/m) N_eff/N independent ones, the largest of n m ratios

    (mean square of a stretch) / (median of all stretches)

exceeds chi2_nu(1 - alpha / (n m)) / median chi2_nu by chance in a share alpha of all recordings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity, Unchecked
from ..estimate.fit import MOVING
from ..statistics import independent_squares
from .case import Solved
from .cause import Cause
from .check import Check
from .examination import Examination


class Disturbance(Check):
    """Residuals in one interval compared with those in the others, joint by joint.

    Class variables:
        stretches: number of intervals, each tested separately.
        alpha: false alarm rate for noise, per recording.
        times: rms of the stretch over that of all others, at least, with parameters from the others: friction that is
            not as modelled does as much. A stretch whose motion is livelier must be worse by as much more.
        matters: rms of the residuals in the stretch, as part of the joint's torque (rms).
        falls: part to which the joint's other residuals must fall when the stretch is left out, and
        fits: part of the joint's torque that they are at most: a model that fits nowhere has no such stretch.
        large: relative error of the joint from which it is an error.
    """

    stretches = (10, 20)
    alpha = 1e-3
    times = 3.0
    matters = 0.15
    falls = 0.5
    fits = 0.15
    large = 0.1

    of_samples = True
    causes = (
        Cause(
            "disturbance",
            "An external torque acts for a while: someone leans on the arm, or it touches something.",
            "Exclude the interval: between_s, or two recordings.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        solved = case.declared
        speeds = case.joint_motion[1]
        if case.problem.robot.floating_base or len(speeds) != solved.rows:
            return
        moving = np.mean((speeds / np.maximum(np.abs(speeds).max(axis=0), 1e-12)) ** 2, axis=1)
        for k, joint in enumerate(case.problem.robot.effort_names):
            # at a standstill dry friction takes any value up to its size, and would explain a push
            rows = np.flatnonzero(np.abs(speeds[:, k]) > MOVING)
            if len(rows) < 5 * max(self.stretches):
                continue
            e = solved.residuals[rows, k]
            before = float(np.sqrt(np.mean(e**2)))
            stretch = self._stretch(e, float(solved.size[k]), len(solved.sigma))
            if stretch is None:
                continue
            e = _residuals_without(solved, slice(rows[stretch.start], rows[stretch.stop - 1] + 1))[rows, k]
            stretch = _extent(e, stretch)
            after = float(np.sqrt(np.mean(np.delete(e, stretch) ** 2)))
            inside = float(np.sqrt(np.mean(e[stretch] ** 2)))
            size = float(solved.size[k])
            lively = moving[rows]
            livelier = max(float(lively[stretch].mean() / np.delete(lively, stretch).mean()), 1.0)
            if inside < self.times * np.sqrt(livelier) * after:
                continue
            if after > min(self.falls * before, self.fits * size) or inside < self.matters * size:
                continue
            begin, end = (float(case.time[rows[at]]) for at in (stretch.start, stretch.stop - 1))
            error, rest = 100 * float(solved.ratio[k]), 100 * after / size
            yield self.causes[0].finding(
                Severity.error if solved.ratio[k] > self.large else Severity.warning,
                f"An external torque acts on joint {joint} from {begin:.4g} to {end:.4g} s: residuals "
                f"are {inside:.3g} N m there and {after:.3g} N m elsewhere (rms). Without this interval, the error of "
                f"the joint falls from {error:.3g} to {rest:.3g} %.",
                f"Exclude it: one recording with between_s up to {begin:.4g} s, and another from {end:.4g} s on.",
                joint,
                evidence=error,
            )

    def _stretch(self, e: Vector, size: float, n: int) -> slice | None:
        """The interval with the largest residuals of a joint, if these are larger than by chance.

        Args:
            e: (N,) residuals while the joint moves. size: rms of its torque. n: number of joints examined.
        """
        from scipy.special import chdtri  # SciPy is slow to import

        N = len(e)
        worst, found = 1.0, None
        for m in self.stretches:
            edges = np.linspace(0, N, m + 1).astype(int)
            length = np.diff(edges)
            squares = np.add.reduceat(e**2, edges[:-1]) / length
            ratio = squares / max(float(np.median(squares)), 1e-300)
            at = int(np.argmax(ratio))
            stretch = slice(int(edges[at]), int(edges[at + 1]))
            rest = np.delete(e, stretch)  # the disturbance itself is strongly correlated
            independent = float(independent_squares(rest[:, None])[0]) / len(rest)
            nu = max(float(length[at]) * independent, 1.0)
            chance = float(chdtri(nu, self.alpha / (n * m)) / chdtri(nu, 0.5))
            over = float(ratio[at]) / chance
            if over > worst and squares[at] > (self.matters * size) ** 2:
                worst, found = over, stretch
        return found


def _residuals_without(solved: Solved, stretch: slice) -> np.ndarray:
    """(N, n) residuals of all rows, with parameters estimated without the rows around an interval."""
    W, y = solved.dense.W, solved.dense.y
    width = stretch.stop - stretch.start
    kept = np.ones(len(y), dtype=bool)
    kept[max(stretch.start - width, 0) : stretch.stop + width] = False
    A = (W[kept] / solved.sigma[:, None]).reshape(-1, W.shape[2])
    norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    # of least norm: parameters that only the interval determines must not be extrapolated into it
    theta = np.linalg.lstsq(A / norms, (y[kept] / solved.sigma).reshape(-1), rcond=1e-8)[0] / norms
    return np.asarray(y - W @ theta)


def _extent(e: np.ndarray, stretch: slice) -> slice:
    """The rows about an interval, up to where residuals, smoothed over five rows, are half as large as in it."""
    smooth = np.sqrt(np.convolve(e**2, np.full(5, 0.2), mode="same"))
    high = smooth > 0.5 * float(np.sqrt(np.mean(e[stretch] ** 2)))
    low = np.concatenate([[-1], np.flatnonzero(~high), [len(e)]])
    after = int(np.searchsorted(low, stretch.start + int(np.argmax(smooth[stretch]))))
    return slice(int(low[after - 1]) + 1, int(low[after]))
