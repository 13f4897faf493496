"""What moves a robot, from its motion and its description: whether it gains energy, which joints swing freely, and how
large a measured effort is beside the torque of the description.

Without motors a robot only loses energy, whatever its friction.

    d(K + V)/dt = v . tau,    tau = ID(q, v, a)       K: kinetic, V: potential energy; v . ID(q, 0, 0) = dV/dt

Masses of descriptions are wrong, and so is the ratio of K to V. So a motion counts as driven where no ratio c within a
factor of `MAX_RATIO_ERROR` makes c K + V fall.

At a joint without a motor inertial and gravity torque cancel but for friction. At one with a motor they are
independent, and the motor supplies their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
SLOW = 0.05
"""Part of the largest speed within which dry friction changes its sign."""
AGREES = 0.9
"""Least correlation of an effort with the torque of the description from which its size is read: less is friction."""
CANCELLED = 0.5
"""Largest ratio of the rms of the sum of inertial and gravity torque to the sum of their rms where they cancel: the
larger part of them does. It is at least 0.7 where they are independent and of one size."""


def gains_energy(robot: Articulated, q: JointSamples, step_s: float) -> bool:
    """Whether a force other than gravity and friction does work on the robot. `q`: positions of its joints [rad],
    [m], in its order. `step_s`: sampling interval [s].
    """
    if (parts := _torques(robot, q, step_s)) is None:
        return False
    v, inertial, gravity = parts
    potential, kinetic = (step_s * np.cumsum(np.sum(v * tau, axis=1)) for tau in (gravity, inertial))
    rises = []
    for c in np.geomspace(1 / MAX_RATIO_ERROR, MAX_RATIO_ERROR, 9):
        energy = c * kinetic + potential
        rise = np.max(energy - np.minimum.accumulate(energy))
        rises.append(rise / (c * np.ptp(kinetic) + np.ptp(potential) + np.finfo(float).tiny))
    return bool(min(rises) > RISE)


def free_joints(robot: Articulated, q: JointSamples, step_s: float) -> tuple[str, ...]:
    """Joints that move as if no motor acted on them; arguments as of `gains_energy`."""
    if (parts := _torques(robot, q, step_s)) is None:
        return ()
    _, inertial, gravity = parts
    whole, *sizes = (np.sqrt(np.mean(tau**2, axis=0)) for tau in (inertial + gravity, inertial, gravity))
    return tuple(
        joint for joint, is_free in zip(robot.joints, whole < CANCELLED * sum(sizes), strict=True) if is_free
    )


class EffortAgreement(NamedTuple):
    """Of an effort with the torque of the description, beside friction and an offset. `correlation`: between both.
    `factor`: their ratio. `friction_work`: sum over samples of the power of friction. `friction_share`: its part of the
    power of the effort, without signs.
    """

    correlation: float
    factor: float
    friction_work: float
    friction_share: float

    @property
    def agrees(self) -> bool:
        """Whether it is not friction alone."""
        return abs(self.correlation) > AGREES


def agreements(
    robot: Articulated, q: JointSamples, efforts: Mapping[str, np.ndarray], step_s: float
) -> dict[str, EffortAgreement]:
    """Joint -> agreement of its effort (T,) with the description; arguments as of `gains_energy`. None of motions that
    are too short, and of joints that do not move.
    """
    if (parts := _torques(robot, q, step_s)) is None:
        return {}
    v, inertial, gravity = parts
    found: dict[str, EffortAgreement] = {}
    for joint, effort in efforts.items():
        k = robot.joints.index(joint)
        sign = np.tanh(v[:, k] / (SLOW * np.abs(v[:, k]).max() + np.finfo(float).tiny))
        N = np.column_stack([v[:, k], sign, np.ones(len(v))])
        x, y = (z - N @ np.linalg.lstsq(N, z, rcond=None)[0] for z in ((inertial + gravity)[:, k], effort))
        size = np.sqrt((x @ x) * (y @ y))
        if size > 0:
            factor = float(x @ y / (x @ x))
            rest = effort - factor * (inertial + gravity)[:, k]
            friction = N[:, :2] @ np.linalg.lstsq(N, rest, rcond=None)[0][:2]
            work = float(friction @ v[:, k])
            whole = float(np.abs(effort) @ np.abs(v[:, k]))
            found[joint] = EffortAgreement(
                float(x @ y / size), factor, work, abs(work) / whole if whole else 0.0
            )
    return found


def effort_factor(found: Mapping[str, EffortAgreement]) -> float | None:
    """Size of the ratio of efforts to the torque of the description, the median of the joints in which both agree;
    None: they agree in none.
    """
    agree = [abs(each.factor) for each in found.values() if each.agrees]
    return float(np.median(agree)) if agree else None


def opposed_joints(found: Mapping[str, EffortAgreement]) -> tuple[str, ...]:
    """Joints whose efforts oppose the description's torque while friction does positive work: the motor turns the other
    way, or the efforts are those of the load. All joints with an effort where those that agree do so. A robot that
    hangs from the ceiling reverses gravity, but not friction.
    """
    agree = {joint: each for joint, each in found.items() if each.agrees}
    opposed = tuple(joint for joint, each in agree.items() if each.factor < 0 and each.friction_work < 0)
    work = sum(each.friction_work for each in agree.values())
    if agree and work < 0 and all(each.factor < 0 for each in agree.values()):
        return tuple(found)
    return opposed


def _torques(
    robot: Articulated, q: JointSamples, step_s: float
) -> tuple[JointSamples, JointSamples, JointSamples] | None:
    """Speeds, inertial torques and gravity torques of the description; None: the motion is too short."""
    window = min(max(5, 2 * round(SMOOTHED_S / step_s / 2) + 1), (len(q) - 1) // 2 * 2 + 1)
    if window < 5:
        return None
    q, v, a = (savgol_filter(q, window, 3, deriv=k, delta=step_s, axis=0) for k in range(3))
    still, Q, pi = np.zeros_like(q), robot.configurations(q), robot.inertials.ravel()
    gravity, whole = (robot.torque_regressor(Q, *x)[..., : len(pi)] @ pi for x in ((still, still), (v, a)))
    return v, whole - gravity, gravity
