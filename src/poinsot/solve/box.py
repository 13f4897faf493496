"""A quadratic program in a box: the step of a damped Gauss-Newton iteration with bounds.

    minimize  d^T S d / 2 + g^T d   subject to  lower <= d <= upper

With S = L L^T scaled to a unit diagonal it is the bounded least-squares problem |L^T d + L^-1 g|^2, solved by the
active-set method of Stark and Parker (1995).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..arrays import Matrix, Vector


def step_in_box(S: Matrix, g: Vector, lower: Vector, upper: Vector) -> Vector:
    """(p,) argmin d^T S d / 2 + g^T d subject to lower <= d <= upper; S (p, p) positive definite.

    Raises:
        numpy.linalg.LinAlgError: if S is not positive definite.
    """
    open_ = upper > lower
    if not open_.all():  # BVLS goes astray where a box is closed
        d = np.where(open_, 0.0, lower)
        d[open_] = step_in_box(S[np.ix_(open_, open_)], (g + S @ d)[open_], lower[open_], upper[open_])
        return d
    if not len(g):
        return np.zeros(0)
    if not (np.diag(S) > 0).all():
        raise np.linalg.LinAlgError("S is not positive definite")
    # BVLS compares gradients of components, which units must not decide
    scale = 1 / np.sqrt(np.diag(S))
    L = np.linalg.cholesky(S * scale[:, None] * scale)
    free = -linalg.cho_solve((L, True), g * scale)
    box = lower / scale, upper / scale
    if (free >= box[0]).all() and (free <= box[1]).all():
        return np.asarray(free * scale)
    target = -linalg.solve_triangular(L, g * scale, lower=True)
    from scipy.optimize import lsq_linear

    found = lsq_linear(
        L.T,
        target,
        bounds=box,
        method="bvls",
        tol=1e-14,
        max_iter=max(100, 10 * len(g)),
    )
    # exactly on the bounds, where scaling back would round
    inside = np.clip(found.x * scale, lower, upper)
    return np.where(found.active_mask < 0, lower, np.where(found.active_mask > 0, upper, inside))
