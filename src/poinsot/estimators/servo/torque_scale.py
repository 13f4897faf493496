"""The scale of torques from a measured torque of the motor, where positions show ratios alone.

    y(t) = f m(t - T) + b + noise        y measured, m simulated torque of the motor [N m], f the scale

with an offset b and the time T by which the sensor is late, which is found too: torques fall by a percent in a fraction
of a millisecond after a command.

With `torque.JOINT` in [N m] in the recordings, f times the stiffness that positions were fitted with is the stiffness,
known as well as f is; its standard deviation is for residuals that stay like themselves. Where only the magnitude was
logged, |m| takes the place of m. A torque from a current is the current times torque constant and gear ratio
(`scale = ...` beside the columns): its error is one of the unit, and in no interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arrays import Matrix, Times, Vector
from ...parameters import Normal
from .intervals import coloured_covariance
from .problem import ActuatorProblem
from .result import Actuators
from .search import is_torque

CHANNEL = "torque"

EXPLAINED = 0.5
"""Part of the variance of a measured torque that the simulated one must explain to give it a scale."""


LATENESS_S = np.arange(-0.01, 0.0501, 0.001)
"""Values of T that are tried [s]."""


@dataclass(frozen=True)
class MeasuredScale:
    """f of one group of joints, with its standard deviation; `explained`: part of the variance of y."""

    factor: float
    std: float
    explained: float


def torque_scales(problem: ActuatorProblem, found: Actuators) -> dict[str, MeasuredScale]:
    """Name of a group -> its scale, where its torque was measured in every recording of one of its joints."""
    strands: dict[str, list[TorqueTrace]] = {}
    for motion in problem.motions:
        recording = problem.recordings[motion.name]
        channels = {joint: f"{CHANNEL}.{joint}" for joint in problem.joints}
        measured = {
            joint: name
            for joint, name in channels.items()
            if name in recording.channels and recording.units[name] in ("N m", "N")
        }
        if not measured:
            continue
        rollouts, _, _ = problem.simulate(motion, found.actuators, start=found.starts[motion.name])
        for name, joints in problem.groups:
            for joint in (each for each in joints if each in measured):
                k, channel = problem.joints.index(joint), measured[joint]
                y = np.array(recording[channel], dtype=float)
                good = recording.mask(channel) & np.isfinite(y + motion.measured[:, k])
                strands.setdefault(name, []).append(
                    TorqueTrace(recording.time[good], y[good], motion.steps.middles, rollouts[k].torque)
                )
    scales = {name: _scale(each) for name, each in strands.items()}
    return {name: each for name, each in scales.items() if each is not None and each.explained > EXPLAINED}


class TorqueTrace(NamedTuple):
    """Measured torques y (N,) at `time` (N,), and simulated ones m (K,) at `middles` (K,) [s], [N m]."""

    time: Times
    y: Vector
    middles: Times
    m: Vector

    def simulated(self, late: float) -> Vector:
        """(N,) m(t - late)."""
        return np.interp(self.time - late, self.middles, self.m)


def _scale(strands: list[TorqueTrace]) -> MeasuredScale | None:
    """Least squares of y on m, its rate and an offset, at the lateness that fits best; None where nothing varies."""
    if min(float(np.min(each.y, initial=0.0)) for each in strands) >= 0.0:
        strands = [each._replace(m=np.abs(each.m)) for each in strands]
    y = np.concatenate([each.y for each in strands])
    if len(y) < 50 or np.ptp(y) == 0.0 or max(np.ptp(each.m) for each in strands) == 0.0:
        return None

    def columns(late: float) -> Matrix:
        m = np.concatenate([each.simulated(late) for each in strands])
        return np.stack([m, np.ones(len(m))], axis=1)

    def cost(late: float) -> float:
        A = columns(late)
        return float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))

    late, step = float(min(LATENESS_S, key=cost)), float(LATENESS_S[1] - LATENESS_S[0])
    # the lateness between those that were tried, and its part in the interval of the scale
    A = np.column_stack([columns(late), columns(late - step)[:, 0] - columns(late + step)[:, 0]])
    x = np.linalg.lstsq(A, y, rcond=None)[0]
    ends = np.cumsum([len(each.y) for each in strands])[:-1]
    residuals = y - A @ x
    # white noise has coloured covariances that are too small by chance as often as too large
    variance = max(
        each[0, 0]
        for each in coloured_covariance(np.split(A, ends), np.split(residuals, ends), 1e-14 * np.eye(3))
    )
    explained = 1.0 - float(residuals @ residuals) / float(np.sum((y - y.mean()) ** 2))
    return MeasuredScale(float(x[0]), float(np.sqrt(variance)), explained)


def needs_scale(problem: ActuatorProblem, found: Actuators, joints: Sequence[str]) -> bool:
    """Whether positions have left the scale of these joints open."""
    return "stiffness" in problem.open_of(joints[0]) and not all(found.scale_known[joint] for joint in joints)


def rescaled(
    problem: ActuatorProblem, found: Actuators, scales: Mapping[str, MeasuredScale]
) -> ActuatorProblem:
    """The problem with these scales as priors of stiffnesses that need them, beginning where the actuators are."""
    used = {
        n: scales[n] for n, joints in problem.groups if n in scales and needs_scale(problem, found, joints)
    }
    priors, start = dict(problem.priors), dict(problem.start)
    for name, joints in problem.groups:
        f = used[name].factor if name in used else 1.0
        for joint in joints:
            actuator = found[joint]
            start |= {
                f"{parameter}.{joint}": value * (f if is_torque(parameter) else 1.0)
                for parameter, value in actuator.values.items()
                if np.isfinite(value) and parameter in problem.open_of(joint)
            }
            if name in used:
                priors[f"stiffness.{joint}"] = Normal(
                    f * actuator.stiffness, used[name].std * actuator.stiffness
                )
    return replace(problem, priors=priors, start=start, torque_scales=scales)
