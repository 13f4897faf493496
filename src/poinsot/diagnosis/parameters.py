"""Parameters that no robot has, or that depend on choices that nobody thinks of.

No robot has friction that drives, negative rotor inertia, or a mass matrix that is not positive definite. The choices
are the filter and the part of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..exceptions import listing
from ..models.joint_terms import is_nonnegative
from .case import Examination
from .check import Cause, Check
from .fit import POSSIBLE_BODIES

FEWEST_RECORDINGS = 4
"""With fewer, Student's t with less than three degrees of freedom makes intervals that say nothing."""


class Physics(Check):
    """Signs of the estimate's parameters, and its mass matrix on the recorded motion.

    Class variables:
        significant: standard deviations below zero.
        poses: at which the mass matrix is looked at.
    """

    significant = 4.0
    poses = 40

    causes = (
        Cause(
            "impossible-sign",
            "Damping, dry friction or rotor inertia is negative by more than its uncertainty.",
            "Check signs of torques and of the reduction; if the fit is good, the friction law is too simple.",
            symptom=True,
        ),
        Cause(
            "mass-matrix",
            "The estimated mass matrix is not positive definite at a recorded pose: no bodies have it.",
            "Use the method that finds possible bodies, or a motion with larger accelerations.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        estimate = case.estimate
        negative = [
            (name, float(value), float(deviation))
            for name, kind, value, deviation, seen in zip(
                estimate.names,
                estimate.kinds,
                estimate.values,
                estimate.std,
                estimate.identifiable,
                strict=True,
            )
            if seen and is_nonnegative(kind) and value < -self.significant * deviation
        ]
        if negative:
            said = (f"{name} is {value:.3g} +- {1.96 * deviation:.2g}" for name, value, deviation in negative)
            yield Finding(
                "impossible-sign",
                Severity.warning,
                f"{', '.join(said)}, and no joint has it below zero.",
                "Check the sign of the joint's torque, and whether its friction law holds at low speed.",
                ", ".join(name for name, _, _ in negative),
                evidence=max(-value / max(deviation, 1e-300) for _, value, deviation in negative),
            )
        yield from self._mass_matrix(case)

    def _mass_matrix(self, case: Examination) -> Iterator[Finding]:
        problem, estimate = case.problem, case.estimate
        if problem.robot.floating_base or not np.isfinite(estimate.covariance).all():
            return
        place = [problem.base.index(name) for name in estimate.names]
        columns = problem.base.chosen[place]
        n, moved, closure = problem.robot.model.nv, problem.robot.equations, problem.robot.closure
        worst = (0.0, 0.0, 0.0)
        part = max(problem.parts, key=len)
        for k in np.linspace(0, len(part) - 1, self.poses).astype(int):
            q, _, _, _ = part.joint_side(int(k), int(k) + 1)
            at = np.repeat(q, len(moved) + 1, axis=0)
            still = np.zeros((len(moved) + 1, n))
            units = np.concatenate([still[:1], np.eye(n)[moved]])
            if closure is not None:
                still, units = closure.motion(at, still, units)
            W = problem.regressor.scatter(problem.regressor.entries(at, still, units), columns)
            A = W[1:] - W[0]  # (n, n, b): row i holds the torques of unit acceleration of joint i
            eigenvalues, V = np.linalg.eigh(0.5 * (A @ estimate.values + (A @ estimate.values).T))
            x = V[:, 0]
            row = np.einsum("i, ijb, j -> b", x, A, x)
            std = float(np.sqrt(max(row @ estimate.covariance @ row, 0.0)))
            if eigenvalues[0] < 0 and (z := eigenvalues[0] / max(std, 1e-300)) < worst[0]:
                worst = (z, float(eigenvalues[0]), std)
        z, value, std = worst
        if z < -self.significant:
            yield Finding(
                "mass-matrix",
                Severity.error,
                f"The mass matrix has an eigenvalue of {value:.3g} +- {1.96 * std:.2g} at a recorded pose, so that "
                "accelerating would give energy away.",
                f"{POSSIBLE_BODIES}, or record a livelier motion.",
                evidence=-z,
            )


class Filters(Check):
    """The systematic part of standard deviations against the rest.

    Class variables:
        dominant: ratio of both from which on a parameter is named: more than half of its interval is no chance.
        grave: ratio from which on it is a warning (|t| > 4 happens by chance in one parameter of a thousand), and
        matters: part of its value that it must be then.
    """

    dominant = 1.0
    grave = 4.0
    matters = 0.2

    causes = (
        Cause(
            "filter-choice",
            "Parameters depend on the filter, or differ between halves of the recording, by more than chance; their "
            "intervals include it.",
            "Take the filters that `poinsot inspect` proposes; record a livelier motion, or finer positions.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        estimate = case.estimate
        if estimate.next_recording_std is None:
            yield Unchecked(
                "how parameters differ from recording to recording",
                f"it takes {FEWEST_RECORDINGS} that each determine all of them; intervals are of these recordings, and "
                "those of friction on another day are wider",
            )
        b = estimate.systematic_std
        if b is None:
            yield Unchecked(
                "how parameters depend on the filter", "signals of this problem are not filtered again"
            )
            return
        chance = np.sqrt(np.maximum(estimate.std**2 - b**2, 0.0))
        named = np.flatnonzero(b > self.dominant * np.maximum(chance, 1e-300))
        if not len(named):
            return
        part = b / np.maximum(np.abs(estimate.values), np.maximum(chance, 1e-300))
        grave = (b > self.grave * chance) & (part > self.matters)
        worst = max(named, key=lambda k: (grave[k], part[k]))
        name = estimate.names[worst]
        yield self.causes[0].finding(
            Severity.warning if grave[worst] else Severity.note,
            f"{listing([estimate.names[k] for k in named], 6)} move by more than chance with half the band, with twice "
            "the cutoff or from half to half of the recording. Intervals include it: the standard deviation of "
            f"{name}, {estimate.std[worst]:.2g} {estimate.units[worst]}, is {chance[worst]:.2g} by chance.",
            'Write cutoff_hz = "auto" and decimate_hz = "auto", and record a livelier motion.',
            name,
            evidence=float(part[worst]),
        )
