"""Channels of load, current and torque beside commands and positions: those that are not used, with the evidence.

A torque in [N m] that the simulated one explains is used (`torque_scale`). Servos report an unsigned load. Of a Feetech
STS3215 (SO-101) it is the share of the supply that its own controller puts on the motor: over ten motions of a real arm
|command - position| explains 85 % of its variance at the shoulder and 87 % at the elbow, where it is large, and is not
later than it; the torque of gravity explains 0 to 1 %. It repeats what the error shows, in a unit of its own at each
joint, and gives torques no scale. Each result says so of its own recordings.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Vector
from ...estimate import Unchecked
from .problem import ActuatorProblem
from .torque_scale import CHANNEL

QUANTITIES = ("load", "current", "torque")
"""Prefixes of channels of effort, before the joint's name."""


def unused_efforts(problem: ActuatorProblem) -> tuple[Unchecked, ...]:
    """One entry for each quantity of effort that recordings have and the estimate does not use."""
    found = []
    for quantity in QUANTITIES:
        shares: dict[str, float] = {}
        for k, joint in enumerate(problem.joints):
            name, parts = f"{quantity}.{joint}", []
            if quantity == CHANNEL and any(
                joint in j and g in problem.torque_scales for g, j in problem.groups
            ):
                continue
            for motion in problem.motions:
                recording = problem.recordings[motion.name]
                if name in recording.channels:
                    error = np.abs(motion.command[:, k] - motion.measured[:, k])
                    valid = recording.valid.get(name, np.ones(len(recording), dtype=bool))
                    effort = np.abs(np.asarray(recording[name], dtype=float))
                    parts.append(np.stack([error, effort], axis=1)[valid & np.isfinite(error + effort)])
            if parts:
                shares[joint] = explained_share(*np.concatenate(parts).T)
        if shares:
            shown = ", ".join(f"{100 * share:.0f} % at {joint}" for joint, share in shares.items())
            found.append(
                Unchecked(
                    f"the {quantity} of {', '.join(shares)}",
                    "it is not used. The part of the variance of its magnitude that |command - position| explains is "
                    f"{shown}; where that is much, it is the output of the position controller, and shows no scale of "
                    "torques. A torque of the motor in N m, as torque = ..., gives one; of a current, with scale = "
                    "torque constant times gear ratio",
                )
            )
    return tuple(found)


def explained_share(x: Vector, y: Vector) -> float:
    """Part of the variance of y (N,) that a line in x (N,) explains."""
    spread = np.std(x) * np.std(y)
    return float(np.mean((x - x.mean()) * (y - y.mean())) / spread) ** 2 if spread > 0 else 0.0
