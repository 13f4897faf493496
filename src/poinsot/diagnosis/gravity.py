"""Gravity of another direction or size: the base is tilted, or [robot] gravity is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination
from .check import Cause
from .clock_scale import is_earths
from .explanations import Candidate, Explained, Explanation, improvement, severity_of

STANDARD = 9.81


def with_gravity(problem: InverseDynamics, gravity: np.ndarray) -> InverseDynamics:
    """The problem with gravity (3,) in the base's frame [m/s^2]."""
    model = problem.robot.model.copy()
    model.gravity.linear = gravity
    robot = replace(problem.robot, model=model)
    return InverseDynamics(robot, problem.recordings, held=problem.held, priors=problem.priors)


@dataclass(frozen=True)
class Gravity(Explanation):
    """Gravity in any direction, of any size.

    Args:
        warning_deg, error_deg: angles between gravity as declared and as estimated.
        warning, error: relative differences in size.
    """

    warning_deg: float = 1.0
    error_deg: float = 5.0
    warning: float = 0.02
    error: float = 0.06

    cause = Cause(
        "gravity",
        "Gravity has another direction (a base that is tilted or hangs) or another size than declared.",
        "Mend gravity in [robot]: [m/s^2] in the frame of the robot's base.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        declared = np.array(case.thin.robot.model.gravity.linear)
        # off the axes, where nothing vanishes
        starts = STANDARD * np.concatenate([np.eye(3), -np.eye(3)]) + 1e-3 - declared
        if case.thin.robot.floating_base:
            return
        if declared.any():  # hung from the ceiling: nothing to estimate
            yield Candidate(self, (), lambda problem, *_: with_gravity(problem, -declared))
        yield Candidate(
            self,
            (),
            lambda problem, x, _: with_gravity(problem, declared + x),
            starts.tolist(),
            step=1e-2,
            largest_step=5.0,
        )

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        declared = np.array(case.thin.robot.model.gravity.linear)
        found = np.array(explained.solved.problem.robot.model.gravity.linear)
        size, was = float(np.linalg.norm(found)), float(np.linalg.norm(declared))
        cosine = float(found @ declared) / max(size * was, 1e-12)
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))) if was > 0 else 180.0
        tilt = severity_of(angle, self.warning_deg, self.error_deg)
        if is_earths(declared) and tilt == 0:
            return (
                None  # another size of gravity looks like another clock, and the clock is more likely wrong
            )
        change = 0.0 if is_earths(declared) else abs(size - was) / max(was, 1e-12)
        severity = max(tilt, severity_of(change, self.warning, self.error))
        g = found if not is_earths(declared) else found * was / size
        return Finding(
            self.cause.name,
            severity,
            f"Gravity is {size:.3g} m/s^2, {angle:.3g} deg from the direction declared: with it, "
            f"{improvement(case, explained)}.",
            f"Write gravity = [{', '.join(f'{x:.3g}' for x in np.round(g, 2))}] in [robot].",
        )
