"""How well each parameter will be known: the covariance of weighted least squares before anything is measured.

    cov = M^-1,   M = sum_j W_j^T W_j / sigma_j^2

for white noise of standard deviation sigma_j on each sample of joint j's torque, and a motion that is followed and
measured exactly. Noise that is not white, and errors of the motion, make it larger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import linalg

from ...arrays import Matrix, Vector
from .problem import ExcitationProblem


@dataclass(frozen=True, eq=False)
class Deviations:
    """Of the base parameters, (b,).

    Args:
        names, units, owners, kinds, groupings: of each, as in an estimate.
        nominal: values of the robot's description; NaN where it knows none.
        covariance: (b, b) as predicted.
        noise: (n,) standard deviation of each sample of the torques that it was predicted for [N m] or [N].
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    groupings: tuple[str, ...]
    nominal: Vector
    covariance: Matrix
    noise: Vector

    @property
    def std(self) -> Vector:
        """(b,) in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_percent(self) -> Vector:
        """(b,) 100 std / |nominal|; NaN where no value is known."""
        return 100 * self.std / np.abs(self.nominal)


def predict_deviations(problem: ExcitationProblem, W: Float[np.ndarray, "T n b"]) -> Deviations:
    """Predict the covariance of the parameters from the rows W of a motion."""
    base = problem.base
    weighted = (W / problem.torque_std[:, None]).reshape(-1, len(base))
    norms = np.linalg.norm(weighted, axis=0)
    R = linalg.qr(weighted / norms, mode="r")[0][: len(base)]
    half = linalg.solve_triangular(R, np.eye(len(base))) / norms[:, None]
    return Deviations(
        base.names,
        base.units,
        base.owners,
        base.kinds,
        base.groupings,
        problem.nominal,
        half @ half.T,
        problem.torque_std,
    )
