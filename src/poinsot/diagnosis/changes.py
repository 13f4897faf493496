"""Changes of signals that several explanations share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from ..arrays import JointSamples
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.signals import Signals
from .case import Solved
from .explanations import Candidate, Explanation


def recordings_of(problem: InverseDynamics) -> tuple[Signals, ...]:
    return cast("tuple[Signals, ...]", problem.recordings)


def within(problem: InverseDynamics, number: int, what: str = "") -> str:
    """A joint of a recording, or the recording, as `Finding.where` has it: of several the recording is named too."""
    if len(problem.parts) == 1:
        return what
    return f"{what} in recording {number}" if what else f"recording {number}"


def joints_of(problem: InverseDynamics) -> tuple[str, ...]:
    """Columns of the signals, as recorded."""
    return recordings_of(problem)[0].joints


def mapped(problem: InverseDynamics, change: Callable[[Signals], Signals]) -> InverseDynamics:
    """The problem with each recording's signals changed."""
    return problem.with_signals([change(each) for each in recordings_of(problem)])


def scaled(
    explanation: Explanation,
    where: tuple[str, ...],
    position: np.ndarray | float = 1.0,
    torque: np.ndarray | float = 1.0,
) -> Candidate:
    """Positions and torques as recorded, times factors, one for all or one a joint; -1 turns a sign."""
    p, t = position, torque
    return Candidate(
        explanation,
        where,
        lambda problem, *_: mapped(
            problem, lambda s: replace(s, q=s.q * p, v=s.v * p, a=s.a * p, tau=s.tau * t)
        ),
        motion=("scaled", tuple(np.atleast_1d(p).tolist())) if np.any(p != 1.0) else UNMOVED,
    )


UNMOVED = ("motion", "as recorded")
"""`Candidate.motion` of changes of the torque alone."""


def moved_torques(solved: Solved, factors: np.ndarray) -> JointSamples:
    """(N, n) predicted joint torques, with the torque that each channel reads times a factor (n,) or (N, n).

    Of the prediction and not of what was measured: that contains the residuals, which it would then explain.
    """
    train = solved.problem.robot.train
    if train.drive.side != "motor":
        return cast("JointSamples", solved.predicted * factors)
    return cast(
        "JointSamples", (solved.predicted @ np.linalg.inv(train.reduction) * factors) @ train.reduction
    )


def only(joint: int, value: float, count: int, others: float = 1.0) -> np.ndarray:
    """(count,) this value for one joint, and another one for the others."""
    factors = np.full(count, others)
    factors[joint] = value
    return factors
