"""Checks of an estimate of motion and parameters: what was assumed of noise and priors against what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ..arrays import Vector
from ..estimate import Estimate, Finding, Severity, Unchecked, motions_of
from .check import Cause, Check
from .explanations import severity_of


@dataclass(frozen=True, eq=False)
class Assumptions:
    """What an estimate assumed, and what came of it.

    Args:
        estimate: with the motions. chi_square: of all residuals, per degree of freedom.
        surprises: prior -> distance of its posterior in the prior's standard deviations.
        distance, priors: squared distance of all of them together, and how many they are.
        moves: noise level -> (b,) change of the values with three times or a third of it.
        likelier: disturbance -> factor of a step towards the likeliest level, and how many of its values the data show.
        exact: sentence on each gain that was taken for exact, by name.
    """

    estimate: Estimate
    chi_square: float
    surprises: Mapping[str, float]
    distance: float
    priors: int
    moves: Mapping[str, Vector]
    likelier: Mapping[str, tuple[float, float]]
    exact: Mapping[str, str]


@dataclass(frozen=True)
class StatedNoise(Check[Assumptions]):
    """Residuals against the noise that was stated.

    Args:
        warning, error: root mean square in stated standard deviations, or one over it.
        doubtful: chi-square per degree of freedom, or one over it.
    """

    warning: float = 1.5
    error: float = 5.0
    doubtful: float = 1.5

    causes = (
        Cause(
            "stated-noise",
            "Residuals are larger or smaller than the noise that was stated.",
            "State the noise of the sensor that is named; if it is right, its frame, axes or clock is wrong.",
        ),
    )

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        chi = case.chi_square
        if not 1 / self.doubtful <= chi <= self.doubtful:
            doubt = (
                "sensors are noisier than was said, or the model is incomplete; standard deviations are widened by "
                f"{np.sqrt(chi):.2g}"
                if chi > 1
                else "sensors are less noisy than was said, so standard deviations are too large"
            )
            yield Finding(
                "stated-noise",
                Severity.warning,
                f"Residuals have a chi-square of {chi:.2g} per degree of freedom: {doubt}.",
                'State other levels in noise, or let process noise be estimated: process_noise = "auto".',
                evidence=abs(np.log(chi)),
            )
        for motion in motions_of(case.estimate):
            for fit in motion.sensors:
                if fit.rms > self.warning:
                    yield Finding(
                        "stated-noise",
                        severity_of(fit.rms, self.warning, self.error),
                        f"Residuals of {fit.name} in {motion.name} are {fit.rms:.2g} of its standard deviations: its "
                        f"noise looks {fit.rms:.2g} times as large as stated.",
                        "Check its frame, axes and clock, or state that noise.",
                        fit.name,
                        evidence=fit.rms,
                    )
            for name, rms in motion.disturbance.items():
                if rms > self.warning:
                    yield Finding(
                        "stated-noise",
                        Severity.warning,
                        f"The motion in {motion.name} needs {rms:.2g} times the disturbance stated for {name}.",
                        'Write process_noise = "auto" in [method], or state that level.',
                        name,
                        evidence=rms,
                    )


@dataclass(frozen=True)
class PriorSurprise(Check[Assumptions]):
    """Posteriors against their priors.

    Args:
        warning, error: distance of one, in the prior's standard deviations.
        chance: probability of the distance of all together.
    """

    warning: float = 3.0
    error: float = 5.0
    chance: float = 1e-4

    causes = (
        Cause(
            "prior-surprise",
            "What was known before is improbable after the data.",
            "The prior, the noise or the model is wrong: look at the quantity that is named.",
        ),
    )

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        for name, away in case.surprises.items():
            if abs(away) > self.warning:
                yield Finding(
                    "prior-surprise",
                    severity_of(abs(away), self.warning, self.error),
                    f"{name} is {abs(away):.2g} standard deviations of its prior away from the prior's mean.",
                    "Mend the prior, or the noise levels and the model that contradict it.",
                    name,
                    evidence=abs(away),
                )
        if case.priors and (p := float(chdtrc(case.priors, case.distance))) < self.chance:
            yield Finding(
                "prior-surprise",
                Severity.warning,
                f"All priors together are {np.sqrt(case.distance / case.priors):.2g} standard deviations away (rms of "
                f"{case.priors}), which has a probability of {p:.1g}.",
                "Mend the priors, or the noise levels and the model that contradict them.",
                evidence=float(np.sqrt(case.distance / case.priors)),
            )


@dataclass(frozen=True)
class AssumedNoise(Check[Assumptions]):
    """Values that an assumed noise level decides, and not the data.

    Args:
        warning, error: moves with three times or a third of a level, in half-widths of the 95 % interval: two estimates
            of the same readings that are both right differ by less than a width (Hausman 1978).
        large: part of the value, or of the body's mass and largest moment, from which a move is an error.
        significant: standard deviations of a chi-square by which process noise must miss its likeliest level.
        too_small: factor on the level from which that is an error.
    """

    warning: float = 1.5
    error: float = 4.0
    large: float = 0.3
    significant: float = 4.0
    too_small: float = 2.0

    causes = (
        Cause(
            "assumed-noise",
            "A value moves by more than its interval with a noise level that was assumed, or the level is not what the "
            "readings say.",
            'Measure the level, or let process noise be estimated: process_noise = "auto".',
        ),
    )

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        for level, (factor, count) in case.likelier.items():
            z = (factor**2 - 1) * np.sqrt(count / 2)
            if abs(z) > self.significant:
                severity = Severity.note if factor < 1 else severity_of(factor, 1.0, self.too_small)
                consequence = "wider than need be" if factor < 1 else "too short"
                yield Finding(
                    "assumed-noise",
                    severity,
                    f"The readings make a process noise of {level} likelier that is {factor:.2g} times the one assumed, "
                    f"or further from it: intervals are {consequence}.",
                    'Write process_noise = "auto" in [method].',
                    level,
                    evidence=abs(float(z)),
                )
        estimate = case.estimate
        half, sizes = 1.96 * estimate.std, _sizes(estimate)
        for level, move in case.moves.items():
            with np.errstate(divide="ignore", invalid="ignore"):
                wide = np.where(estimate.identifiable & (half > 0), np.abs(move) / half, 0.0)
            matters = np.flatnonzero(wide > self.warning)
            if not len(matters):
                continue
            order = matters[np.argsort(-np.abs(move / sizes)[matters])]
            worst = int(order[0])
            large = (np.abs(move) > self.large * sizes) & (wide > self.warning)
            grave = bool(np.any((wide > self.error) | large))
            others = ", ".join(estimate.names[k] for k in order[1:6])
            yield Finding(
                "assumed-noise",
                Severity.error if grave else Severity.warning,
                f"With 3 times or a third of the noise assumed for {level}, {estimate.names[worst]} moves from "
                f"{estimate.values[worst]:.3g} +- {half[worst]:.2g} to {estimate.values[worst] + move[worst]:.3g} "
                f"{estimate.units[worst]}, beyond its interval{f'; so do {others}' if others else ''}.",
                f'Measure the noise of {level}, or write process_noise = "auto" in [method].',
                level,
                evidence=float(wide.max()),
            )


def _sizes(estimate: Estimate) -> Vector:
    """(b,) what a change of each value is compared with."""
    sizes = np.abs(estimate.values)
    for body in dict.fromkeys(
        owner for owner, kind in zip(estimate.owners, estimate.kinds, strict=True) if kind == "inertia"
    ):
        own = [
            k
            for k, (owner, kind) in enumerate(zip(estimate.owners, estimate.kinds, strict=True))
            if (owner, kind) == (body, "inertia")
        ]
        pi = sizes[own]
        moment = float(max(pi[4], pi[6], pi[9]))
        # a first moment has no size of its own: of the mass at the radius of gyration
        sizes[own[1:4]] = np.sqrt(pi[0] * moment)
        sizes[np.array(own)[[5, 7, 8]]] = moment
    return np.maximum(sizes, 1e-300)


@dataclass(frozen=True)
class ExactGains(Check[Assumptions]):
    """Gains that count as exact, though masses are only as good as they are."""

    causes = ()

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        for name, reason in case.exact.items():
            yield Unchecked(name, reason)


ASSUMPTION_CHECKS: tuple[Check[Assumptions], ...] = (
    StatedNoise(),
    PriorSurprise(),
    AssumedNoise(),
    ExactGains(),
)
