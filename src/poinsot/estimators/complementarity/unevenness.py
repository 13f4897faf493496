"""Deviation of a wall from a straight line: a smooth curve along it, the same in all drops.

Along the wall, at s from its point, it is higher than the line by

    f(s) = sum_j z_j phi_j(s),    phi = B(s) U Lambda^(-1/2)

with B cubic splines on equally spaced knots, D the second differences of their coefficients, and U Lambda U^T = D^T D
without its two eigenvalues of 0: they belong to the line itself, its height and its slope. So all z_j have the same
variance q if second differences have (an integrated random walk), and q is a tolerance (`pooled_problem`). Beyond the
last knots f is constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import BSpline

from ...arrays import Matrix, Vector

DEGREE = 3


@dataclass(frozen=True, eq=False)
class Unevenness:
    """Modes of a wall's deviation.

    Args:
        knots: (n + 4,) of the splines, equally spaced [m]. modes: (n, K) U Lambda^(-1/2).
    """

    knots: Float[np.ndarray, "k"]
    modes: Float[np.ndarray, "n K"]

    @property
    def count(self) -> int:
        return self.modes.shape[1]

    def at(self, s: Vector) -> tuple[Float[np.ndarray, "I K"], Float[np.ndarray, "I K"]]:
        """phi and phi' at (I,) places along the wall [m]."""
        low, high = self.knots[DEGREE], self.knots[-DEGREE - 1]
        inside = np.clip(s, low, high)
        curves = BSpline(self.knots, self.modes, DEGREE)
        slopes = curves.derivative()(inside) * ((s > low) & (s < high))[:, None]
        return np.asarray(curves(inside)), np.asarray(slopes)


def unevenness(low: float, high: float, spacing: float) -> Unevenness:
    """From `low` to `high` along the wall, with knots at most `spacing` apart [m]."""
    steps = max(int(np.ceil((high - low) / spacing)), 2)
    knots = low + (high - low) / steps * np.arange(-DEGREE, steps + DEGREE + 1)
    differences: Matrix = np.diff(np.eye(steps + DEGREE), 2, axis=0)
    values, directions = np.linalg.eigh(differences.T @ differences)
    # eigenvalues rise: the first two are those of height and slope
    return Unevenness(knots, directions[:, 2:] / np.sqrt(values[2:]))
