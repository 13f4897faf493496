"""Laws of friction of one pendulum side by side: kappa chosen over a sweep, each law tuned and cross-validated there.

And what the outcome depends on: kappa itself, how many windows there are and where they end, and the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poinsot.estimators.joint import Record

from ..case import Say
from .pendulum_swings import (
    DRY,
    EVERY,
    SMALLEST,
    STRIBECK,
    VISCOUS,
    WINDOWS,
    ZERO,
    Study,
    chosen,
    study,
    windows,
)
from .recordings import Angles

WEIGHTS = tuple(10.0**power for power in range(7, 12))
"""kappa of the sweep."""
OTHERS = (
    (6, SMALLEST, EVERY),
    (8, SMALLEST, EVERY),
    (WINDOWS, 0.2, EVERY),
    (WINDOWS, SMALLEST, 2 * EVERY),
)
"""Counts of windows, smallest swings [rad] and samples to a step that are tried beside."""


@dataclass(frozen=True, eq=False)
class Swings:
    """All that came of the free swings.

    Args:
        windows: as they were cut. weight: kappa as chosen.
        laws: studies of the laws with a constant level of dry friction, at that weight.
        loaded: the dry law with friction in proportion to the hinge's load.
        centred: the dry law without eccentricity.
        sweep: law -> weight -> study.
        others: (count, smallest swing, samples to a step) -> the dry law's study with eccentricity and without.
    """

    windows: tuple[Record, ...]
    weight: float
    laws: Mapping[str, Study]
    loaded: Study
    centred: Study
    sweep: Mapping[str, Mapping[float, Study]]
    others: Mapping[tuple[int, float, int], tuple[Study, Study]]

    @property
    def dry(self) -> Study:
        """The dry law."""
        return self.laws[DRY]


def compare(
    angles: Angles,
    weights: Sequence[float] = WEIGHTS,
    others: Sequence[tuple[int, float, int]] = OTHERS,
    count: int = WINDOWS,
    every: int = EVERY,
    say: Say = lambda _: None,
) -> Swings:
    """Choose kappa, then tune and cross-validate each law.

    Args:
        weights: of the sweep. others: what is tried beside, see `OTHERS`. count: of windows. every: samples to a step.
    """
    cut = windows(angles, count, every=every)
    sweep: dict[str, dict[float, Study]] = {VISCOUS: {}, DRY: {}}
    for weight in weights:
        for law in sweep:
            say(f"kappa {weight:.0e}, {law} friction")
            sweep[law][weight] = study(cut, weight, law)
    kappa = chosen({weight: study.shares for weight, study in sweep[DRY].items()})
    laws = {law: studies[kappa] for law, studies in sweep.items()}
    say("Stribeck's law")
    laws[STRIBECK] = study(cut, kappa, STRIBECK, level=_level(laws[DRY]))
    say("dry friction in proportion to the load")
    loaded = study(cut, kappa, DRY, "friction")
    say("without eccentricity")
    centred = study(cut, kappa, DRY, sensor=ZERO, crossed=False)
    tried = {}
    for count, smallest, samples in others:
        say(f"{count} windows, swings of {smallest} rad and more, {samples} samples to a step")
        records, weight = windows(angles, count, smallest, samples), kappa * (every / samples) ** 2
        tried[count, smallest, samples] = (
            study(records, weight, DRY, crossed=False),
            study(records, weight, DRY, sensor=ZERO, crossed=False),
        )
    return Swings(cut, kappa, laws, loaded, centred, sweep, tried)


def _level(dry: Study) -> float:
    """Of dry friction in all windows [N m]; what Stribeck's excess may be."""
    return max(dry.together.values["pivot.coulomb"], 1e-9)
