"""Disagreement of gravity and inertia: gravity, clock, or unit of lengths differs from the declared one.

The base is tilted, or [robot] gravity is wrong. With a clock that runs too fast or too slowly, v -> c v, a -> c^2 a and
they disagree by c^2. A gravity of another size has the same effect: if the declared gravity is the Earth's, the clock
is taken to be wrong. Lengths in millimetres make them disagree by a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity
from ..regression.inverse_dynamics import InverseDynamics
from .case import mapped, recordings_of
from .cause import Cause
from .effects.geometry import CLOCK, GRAVITY
from .examination import Examination
from .explanations import Candidate, Explained, Explanation, severity_of

STANDARD = 9.81

EARTH = (9.76, 9.84)
"""Gravity on the ground, from Mexico City to the poles [m/s^2]."""


def is_earths(gravity: np.ndarray) -> bool:
    """Whether gravity has the size of the Earth's."""
    return bool(EARTH[0] <= np.linalg.norm(gravity) <= EARTH[1])


def with_model(problem: InverseDynamics, model: Any) -> InverseDynamics:
    """The problem with another Pinocchio model, which may have other base parameters."""
    robot = replace(problem.robot, model=model)
    return InverseDynamics(robot, problem.recordings, held=problem.held, priors=problem.priors)


def with_gravity(problem: InverseDynamics, gravity: np.ndarray) -> InverseDynamics:
    """The problem with gravity (3,) in the base's frame [m/s^2]."""
    model = problem.robot.model.copy()
    model.gravity.linear = gravity
    return with_model(problem, model)


def faster(problem: InverseDynamics, x: Vector, _: Vector) -> InverseDynamics:
    """Time runs c = e^x times as fast."""
    c = float(np.exp(x[0]))
    return mapped(problem, lambda s: replace(s, v=s.v * c, a=s.a * c**2))


def in_metres(problem: InverseDynamics) -> InverseDynamics:
    """Lengths of the description are millimetres."""
    model = problem.robot.model.copy()
    for place in model.jointPlacements:
        place.translation = 1e-3 * place.translation
    for body in model.inertias:
        body.lever, body.inertia = 1e-3 * body.lever, 1e-6 * body.inertia
    return with_model(problem, model)


class Gravity(Explanation):
    """Gravity in any direction, of any size.

    Class variables:
        warning_deg, error_deg: angles between gravity as declared and as estimated.
        warning, error: relative differences in size.
    """

    warning_deg, error_deg = 1.0, 5.0
    warning, error = 0.02, 0.06

    cause = GRAVITY

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        declared = np.array(case.thin.robot.model.gravity.linear)
        # initial guesses off the axes, where no derivative vanishes
        starts = (STANDARD * np.concatenate([np.eye(3), -np.eye(3)]) + 1e-3 - declared).tolist()
        if declared.any():  # hung from the ceiling: nothing to estimate
            yield Candidate(
                self.cause, (), lambda problem, *_: with_gravity(problem, -declared), self._finding
            )
            # a driver that compensates gravity publishes the rest of the torque
            yield Candidate(
                self.cause, (), lambda problem, *_: with_gravity(problem, 0 * declared), self._compensated
            )

        def change(problem: InverseDynamics, x: Vector, _: Vector) -> InverseDynamics:
            return with_gravity(problem, declared + x)

        yield Candidate(self.cause, (), change, self._finding, starts=starts, step=1e-2, largest_step=5.0)

    def _compensated(self, case: Examination, explained: Explained) -> Finding:
        return self.cause.finding(
            Severity.error,
            "The torque holds no gravity: at rest it does not depend on the posture, so a driver or a logger has "
            "removed the weight of the links. With gravity = [0, 0, 0]",
            "Log the raw torque, which masses need; or write gravity = [0, 0, 0] in [robot], for friction and inertia.",
        )

    def _finding(self, case: Examination, explained: Explained) -> Finding | None:
        declared = np.array(case.thin.robot.model.gravity.linear)
        g = np.array(explained.solved.problem.robot.model.gravity.linear)
        size, was = float(np.linalg.norm(g)), float(np.linalg.norm(declared))
        cosine = float(g @ declared) / max(size * was, 1e-12)
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))) if was > 0 else 180.0
        severity = severity_of(angle, self.warning_deg, self.error_deg)
        if is_earths(declared):
            # another size of gravity is equivalent to another clock, and the clock is more likely wrong
            if severity == 0:
                return None
            g = g * was / size
        else:
            severity = max(severity, severity_of(abs(size - was) / max(was, 1e-12), self.warning, self.error))
        return self.cause.finding(
            severity,
            f"Gravity is {size:.3g} m/s^2, {angle:.3g} deg from the declared direction: with it",
            f"Write gravity = [{', '.join(f'{x:.3g}' for x in np.round(g, 2) + 0.0)}] in [robot].",
        )


class ClockScale(Explanation):
    """One factor on the rate of all recordings.

    Class variables:
        warning, error: relative sizes; inertia is wrong by twice as much.
    """

    warning, error = 0.01, 0.03

    fixed_base = False
    cause = CLOCK

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        if is_earths(case.thin.robot.model.gravity.linear):
            starts = np.log([[1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 10, 100, 1e3]]).T.tolist()
            yield Candidate(
                self.cause,
                (),
                faster,
                self._finding,
                starts,
                matters=self.warning,
            )

    def _finding(self, case: Examination, explained: Explained) -> Finding:
        c, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        rate = 1 / float(np.median(np.diff(recordings_of(case.problem)[0].time)))
        which = "slower" if c < 1 else "faster"
        return self.cause.finding(
            severity_of(abs(c - 1), self.warning, self.error),
            f"The true rate is {c:.4g} +- {1.96 * c * std:.2g} times the declared one ({which}): with it",
            f"Write rate_hz = {rate * c:.4g} (declared: {rate:.4g}), or scale the time column by {1 / c:.4g}.",
        )


class LengthUnit(Explanation):
    """Millimetres in a description that is read in metres."""

    cause = Cause(
        "length-unit",
        "Lengths of the description are in millimetres: gravity and inertia disagree by a thousand.",
        "Write metres in the description: origins of joints and of inertias, and inertias in kg m^2.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        if np.any(case.thin.robot.model.gravity.linear):
            finding = self.exact("Lengths of the description are in mm: read as such")
            yield Candidate(self.cause, (), lambda problem, *_: in_metres(problem), finding)
