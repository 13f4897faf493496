"""Prior knowledge of bodies that a description gives, as second moments of their pseudo-inertias about it.

With J = m [[V V^T + c c^T, c], [c^T, 1]] and V0, c0, m0 the description's,

    m = m0 e^(std z)              z, and all below, standard normal and unrelated
    V = V0 W                      W = U + shear: log diagonal std / 2, entries above it std / 2^(1/2)
    c = c0 + |c0| tan(direction) n + V0 s std / 2^(1/2)

so masses are log-normal, extents as well, shears as wide as that makes them in other axes, and a centre of mass moves
in any direction by its distance times the tangent, and by a part of the body's extent. Torques are linear in J and none
of this is; of all estimators that are linear in the data, the best and its mean square error follow from second moments
alone, whatever the distribution (Hartigan 1969). They are taken about the description, the median.
"""

from __future__ import annotations

import numpy as np

from ...inertia.log_cholesky import LogCholesky
from ...inertia.parameters import pseudo_inertia
from .conic import vector_of
from .whitening import Whitened

SAMPLES = 4000
"""Of the distribution: second moments are known to a few per cent."""


def prior_moments(coordinates: Whitened, std: float, direction_deg: float) -> np.ndarray:
    """(l, 10, 10) second moments of x about the prior bodies.

    Args:
        std: of the logarithm of a mass, and of a second moment about its centre.
        direction_deg: standard deviation of the direction of a centre of mass [deg].
    """
    L = coordinates.factors
    H = np.tile(np.diag([*4 * [std / 2], *6 * [std / np.sqrt(2)]]), (len(L), 1, 1))
    # L = m^(1/2) [V, c; 0, 1]: in units of the extents a shift of |c| tan(angle), in all directions, is V^-1 times it
    shift = np.tan(np.radians(direction_deg)) * np.linalg.norm(L[:, :3, 3], axis=-1)
    turned = np.linalg.inv(L[:, :3, :3]) * shift[:, None, None]
    H[:, 7:, 7:] = np.linalg.cholesky(turned @ np.swapaxes(turned, 1, 2) + H[:, 7:, 7:] ** 2)
    z = np.random.default_rng(0).standard_normal((SAMPLES, 10))
    X = pseudo_inertia(LogCholesky().to_inertial(z @ np.swapaxes(H, 1, 2)))
    off = vector_of(X - np.eye(4))
    return np.swapaxes(off, 1, 2) @ off / SAMPLES
