"""Parameters that no robot has, or that depend on choices that nobody thinks of.

No robot has friction that drives, negative rotor inertia, or a mass matrix that is not positive definite. The choices
are the filter and the part of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Finding, FullParameters, Severity, Unchecked
from ..exceptions import listing
from ..models.joint_terms import is_nonnegative
from .case import Examination
from .check import Cause, Check
from .description import FACTOR
from .explanations import severity_of
from .fit import POSSIBLE_BODIES, PoorFit

FEWEST_RECORDINGS = 4
"""With fewer, Student's t with less than three degrees of freedom makes intervals that say nothing."""


class Physics(Check):
    """Signs of the estimate's parameters, its mass matrix on the recorded motion, and masses of its links.

    Class variables:
        significant: standard deviations below zero.
        poses: at which the mass matrix is looked at.
        described: standard deviation of a described mass, relative: of its density and its own, see `description`.
        warning, error: factors between a mass less certain than that and the described one. 2 is what a description
            knows; 4 is twice that on a log scale.
    """

    significant = 4.0
    poses = 40
    described = np.sqrt(2) * np.log(FACTOR)
    warning, error = FACTOR, FACTOR**2

    causes = (
        Cause(
            "impossible-sign",
            "Damping, dry friction or rotor inertia is negative by more than its uncertainty.",
            "Check signs of torques and of the reduction; if the fit is good, whether friction holds at low speed.",
            symptom=True,
        ),
        Cause(
            "mass-matrix",
            "The estimated mass matrix is not positive definite at a recorded pose: no bodies have it.",
            "Use the method that finds possible bodies, or a motion with larger accelerations.",
            symptom=True,
        ),
        Cause(
            "undetermined-mass",
            "The mass of a link is less certain than the description's, and far from it: noise moved it there.",
            'Write weighing = "both" in [method], so that the description counts where the data say less than it does.',
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        estimate = case.estimate
        columns = (estimate.names, estimate.kinds, estimate.values, estimate.std, estimate.identifiable)
        negative = [
            (name, float(value), float(deviation))
            for name, kind, value, deviation, seen in zip(*columns, strict=True)
            if seen and is_nonnegative(kind) and value < -self.significant * deviation
        ]
        if negative:
            said = (f"{name} is {value:.3g} +- {1.96 * deviation:.2g}" for name, value, deviation in negative)
            yield self.causes[0].finding(
                Severity.warning,
                f"{', '.join(said)}, and no joint has it below zero.",
                where=", ".join(name for name, _, _ in negative),
                evidence=max(-value / max(deviation, 1e-300) for _, value, deviation in negative),
            )
        yield from self._mass_matrix(case)
        if (full := estimate.extra(FullParameters)) is not None:
            yield from self._masses(full)

    def _masses(self, full: FullParameters) -> Iterator[Finding]:
        """Masses that the estimate knows less well than the description, and has far from it."""
        far = [
            (abs(np.log(max(m, 1e-300) / known)), link, m, std, known)
            for name, link, m, std, known in zip(
                full.names, full.owners, full.values, full.std, full.prior, strict=True
            )
            if name.removeprefix("m").isdigit() and std > self.described * known
        ]
        far = sorted((each for each in far if each[0] > np.log(self.warning)), reverse=True)
        if far:
            said = [
                f"mass of {link} ({m:.3g} +- {1.96 * std:.2g} kg, described {known:.3g} kg)"
                for _, link, m, std, known in far
            ]
            yield self.causes[2].finding(
                severity_of(far[0][0], np.log(self.warning), np.log(self.error)),
                f"The data do not determine the {listing(said, 3)}: noise has moved it from the description.",
                where=far[0][1],
                evidence=far[0][0],
            )

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
        grave: ratio from which on it is a warning (|t| > 4 happens by chance in one parameter of a thousand),
        matters: part of its value that it must be then, and
        shown: part of a joint's torque (rms) by which it changes what is predicted: many parameters are about zero, and
            twice next to nothing is in the interval too.
    """

    dominant = 1.0
    grave = 4.0
    matters = 0.2
    shown = PoorFit.smallest

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
        place, rows = [case.problem.base.index(name) for name in estimate.names], case.declared
        columns = np.sqrt(np.mean(rows.dense.W[:, :, place] ** 2, axis=0)) / rows.size[:, None]
        shown = b * columns.max(axis=0) > self.shown
        grave = (b > self.grave * chance) & (part > self.matters) & shown
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
