"""Whether a robot gains energy along a motion: without motors it only loses energy, whatever its friction.

    d(K + V)/dt = v . tau,    tau = ID(q, v, a)       K: kinetic, V: potential energy; v . ID(q, 0, 0) = dV/dt

Masses of descriptions are wrong, and so is the ratio of K to V. So a motion counts as driven where no ratio c within a
factor of `MAX_RATIO_ERROR` makes c K + V fall.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter

from ..arrays import JointSamples
from ..models.robot.articulated import Articulated

SMOOTHED_S = 0.1
"""Length of the windows in which cubics smooth the positions [s]."""
MAX_RATIO_ERROR = 3.0
"""Factor by which the ratio of kinetic to potential energy of a description may be wrong."""
RISE = 0.5
"""Least rise of a driven robot's energy, as a fraction of the changes of kinetic and potential energy."""


def gains_energy(robot: Articulated, q: JointSamples, step_s: float) -> bool:
    """Whether a force other than gravity and friction does work on the robot. `q`: positions of its joints [rad],
    [m], in its order. `step_s`: sampling interval [s].
    """
    window = min(max(5, 2 * round(SMOOTHED_S / step_s / 2) + 1), (len(q) - 1) // 2 * 2 + 1)
    if window < 5:
        return False
    q, v, a = (savgol_filter(q, window, 3, deriv=k, delta=step_s, axis=0) for k in range(3))
    still, Q, pi = np.zeros_like(q), robot.configurations(q), robot.inertials.ravel()

    def torques(v: JointSamples, a: JointSamples) -> JointSamples:
        return robot.torque_regressor(Q, v, a)[..., : len(pi)] @ pi

    gravity = torques(still, still)
    potential, kinetic = (
        step_s * np.cumsum(np.sum(v * tau, axis=1)) for tau in (gravity, torques(v, a) - gravity)
    )
    rises = []
    for c in np.geomspace(1 / MAX_RATIO_ERROR, MAX_RATIO_ERROR, 9):
        energy = c * kinetic + potential
        rise = np.max(energy - np.minimum.accumulate(energy))
        rises.append(rise / (c * np.ptp(kinetic) + np.ptp(potential) + np.finfo(float).tiny))
    return bool(min(rises) > RISE)
