"""Physically impossible parameters, and parameters that depend on the filter or on the part of the recording.

No robot has negative friction, negative rotor inertia, or a mass matrix that is not positive definite. The dependence
is measured with other filters and with halves of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import chdtrc

from ..estimate import Finding, FullParameters, Severity, Unchecked
from ..estimate.uncertainty import std_of
from ..exceptions import listing
from ..models.robot.joint_terms import is_nonnegative
from .cause import Cause
from .check import Check
from .description import FACTOR
from .examination import Examination
from .explanations import severity_of
from .fit import POSSIBLE_BODIES

FEWEST_RECORDINGS = 4
"""With fewer, Student's t has less than three degrees of freedom, and its intervals are useless."""

SPREAD_NOT_KNOWN = Unchecked(
    "how parameters differ from recording to recording",
    f"{FEWEST_RECORDINGS} recordings are needed that each determine all of them; the interval of the next one is that "
    "of blocks of these recordings, and friction on another day varies more",
)


class Physics(Check):
    """Signs of the estimate's parameters, its mass matrix on the recorded motion, and masses of its links.

    Class variables:
        significant: standard deviations below zero.
        poses: number of poses at which the mass matrix is evaluated.
        described: relative standard deviation of a described mass: of common density and its own, see `description`.
        warning, error: factors between a mass less certain than that and the described one. 2 is the accuracy of a
            description; 4 is twice that on a log scale.
    """

    significant = 4.0
    poses = 40
    described = np.sqrt(2) * np.log(FACTOR)
    warning, error = FACTOR, FACTOR**2

    causes = (
        Cause(
            "impossible-sign",
            "Damping, dry friction or rotor inertia is negative by more than its uncertainty.",
            "Check signs of torques and of the reduction; if the fit is good, check the friction law at low speed.",
            symptom=True,
        ),
        Cause(
            "mass-matrix",
            "The estimated mass matrix is not positive definite at a recorded pose: it is physically impossible.",
            "Use the method that finds possible bodies, or a motion with larger accelerations.",
            symptom=True,
        ),
        Cause(
            "undetermined-mass",
            "The mass of a link is less certain than the described one, and far from it: the difference is noise.",
            'Write weighing = "both" in [method]: the description then determines what the data determine less well.',
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
            texts = (
                f"{name} is {value:.3g} +- {1.96 * deviation:.2g}" for name, value, deviation in negative
            )
            yield self.causes[0].finding(
                Severity.warning,
                f"{', '.join(texts)}, but cannot be negative.",
                where=", ".join(name for name, _, _ in negative),
                evidence=max(-value / max(deviation, 1e-300) for _, value, deviation in negative),
            )
        yield from self._mass_matrix(case)
        if (full := estimate.extra(FullParameters)) is not None:
            yield from self._masses(full)

    def _masses(self, full: FullParameters) -> Iterator[Finding]:
        """Masses less certain in the estimate than in the description, and far from the described ones."""
        far = [
            (abs(np.log(max(m, 1e-300) / known)), link, m, std, known)
            for name, link, m, std, known in zip(
                full.names, full.owners, full.values, full.std, full.prior, strict=True
            )
            if name.removeprefix("m").isdigit() and std > self.described * known
        ]
        far = sorted((row for row in far if row[0] > np.log(self.warning)), reverse=True)
        if far:
            texts = [
                f"mass of {link} ({m:.3g} +- {1.96 * std:.2g} kg, described {known:.3g} kg)"
                for _, link, m, std, known in far
            ]
            yield self.causes[2].finding(
                severity_of(far[0][0], np.log(self.warning), np.log(self.error)),
                f"The data do not determine the {listing(texts, 3)}: its difference from the description is noise.",
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
                f"The mass matrix has an eigenvalue of {value:.3g} +- {1.96 * std:.2g} at a recorded pose: kinetic "
                "energy would be negative.",
                f"{POSSIBLE_BODIES}, or record a more exciting motion.",
                evidence=-z,
            )


class DescribedBodies(Check):
    """The description as a prior of bodies, against the data.

    Class variables:
        level: probability of so large a disagreement by chance, from which on the description is wrong.
    """

    level = 1e-4

    causes = (
        Cause(
            "described-masses",
            "The data contradict the masses of the description, which are this method's prior.",
            'Correct them, or write weighing = "data" in [method]: the description then determines only what the data '
            "do not.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        full, solved = case.estimate.extra(FullParameters), case.best
        if full is None:
            return
        square, count = solved.distance_from_description
        if count and (p := float(chdtrc(count, square))) < self.level:
            yield self.causes[0].finding(
                Severity.warning,
                f"The bodies differ from the described ones by {np.sqrt(square / count):.2g} times what a description "
                f"is known to (p = {p:.1g}).",
                evidence=square / count,
            )


class Filters(Check):
    """The systematic part of standard deviations relative to the random part.

    Class variables:
        dominant: ratio of both from which on a parameter is named: more than half of its interval is systematic.
        grave: ratio from which on it is a warning (|t| > 4 happens by chance in one parameter of a thousand),
        matters: least systematic part relative to the value for a warning, and
        shown: least change of a joint's predicted torque (rms), as part of that torque: many parameters are about zero,
            and a large relative change of them is in the interval too.
    """

    dominant = 1.0
    grave = 4.0
    matters = 0.2
    shown = 0.02

    causes = (
        Cause(
            "filter-choice",
            "Parameters depend on the filter, or differ between halves of the recording, by more than chance; their "
            "intervals include it.",
            "Use the filters that `poinsot inspect` proposes; record a more exciting motion, or finer positions.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        estimate = case.estimate
        if estimate.parameters.uncertainty.recordings is None:
            yield SPREAD_NOT_KNOWN
        b = std_of(estimate.parameters.uncertainty.model)
        if b is None:
            yield Unchecked(
                "how parameters depend on the filter", "signals of this problem cannot be filtered again"
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
            f"{listing([estimate.names[k] for k in named], 6)} change by more than chance with half the band, with "
            "twice the cutoff or between halves of the recording. Intervals include it: the standard deviation of "
            f"{name} is {estimate.std[worst]:.2g} {estimate.units[worst]}, of which noise makes {chance[worst]:.2g}.",
            'Keep to cutoff_hz = "auto" and decimate_hz = "auto", and record a more exciting motion.',
            name,
            evidence=float(part[worst]),
        )
