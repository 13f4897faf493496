"""Choose the recordings to fit: those that visit what the others visit.

A model of an actuator leaves errors that depend on where it works: friction changes with posture, gears with load,
motors with speed. It is trusted where it was fitted. So, with x a joint's position, speed and acceleration at one
sample, each in standard deviations over all recordings, the recordings R are chosen that give the least

    mean over other recordings s, joints and samples x of s:   min over r in R, samples y of r, of |x - y|

(the mean distance to the nearest visited state). Nothing is fitted before, and no parameters are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from poinsot import Recording
from poinsot.exceptions import InvalidMethod
from poinsot.models.servo.mechanics import smoothed

SAMPLES = 500
"""Samples of each recording that are looked at."""


@dataclass(frozen=True)
class Choice:
    """Recordings to fit.

    Args:
        names: of the recordings.
        distance: of the other recordings' states to the nearest one of these [standard deviations].
        typical: the same for a median choice.
        nearest: recording -> part of the others' states to which it is the nearest.
    """

    names: tuple[str, ...]
    distance: float
    typical: float
    nearest: Mapping[str, float]

    def __str__(self) -> str:
        parts = [
            f"{name} (nearest to {100 * share:.0f} % of the others)" for name, share in self.nearest.items()
        ]
        return (
            f"{' and '.join(parts)}: positions, speeds and accelerations of the others are on average "
            f"{self.distance:.2f} standard deviations from theirs, from those of a median choice {self.typical:.2f}"
        )


@dataclass(frozen=True, eq=False)
class Coverage:
    """Distances between the states that recordings visit.

    Args:
        recordings: name -> recording with `position.JOINT` of every joint. joints: names.
    """

    recordings: Mapping[str, Recording]
    joints: tuple[str, ...]

    @cached_property
    def states(self) -> dict[str, np.ndarray]:
        """Recording -> (S, n, 3) scaled positions, speeds and accelerations."""
        found = {}
        for name, recording in self.recordings.items():
            positions = np.stack([recording.channels[f"position.{joint}"] for joint in self.joints], axis=1)
            motion = smoothed(recording.time, positions)
            found[name] = np.stack(motion, axis=2)[:: max(1, len(positions) // SAMPLES)]
        scale = np.concatenate(list(found.values())).std(axis=0)
        return {name: each / np.where(scale > 0, scale, 1.0) for name, each in found.items()}

    @cached_property
    def distances(self) -> dict[tuple[str, str], np.ndarray]:
        """(of, to) -> (S, n) distance of each state of one recording to the nearest one of another."""
        from scipy.spatial import cKDTree

        found = {}
        for to, there in self.states.items():
            trees = [cKDTree(there[:, j]) for j in range(len(self.joints))]
            for of, here in self.states.items():
                found[of, to] = np.stack([tree.query(here[:, j])[0] for j, tree in enumerate(trees)], axis=1)
        return found

    def choose(self, count: int = 2, among: Sequence[str] | None = None) -> Choice:
        """The best `count` of some recordings, for all of these.

        Args:
            among: names; None: all.

        Raises:
            InvalidMethod: if there are not more than `count` recordings.
        """
        names = [name for name in self.recordings if among is None or name in among]
        if len(names) <= count:
            raise InvalidMethod(
                f"{count} recordings are chosen to predict others, and there are only {len(names)}; give more"
            )
        means = {chosen: self._distance(chosen, names) for chosen in combinations(names, count)}
        best = min(means, key=lambda chosen: means[chosen])
        others = [name for name in names if name not in best]
        nearest = np.concatenate(
            [np.argmin([self.distances[of, to] for to in best], axis=0).ravel() for of in others]
        )
        shares = {name: float(np.mean(nearest == k)) for k, name in enumerate(best)}
        return Choice(best, means[best], float(np.median(list(means.values()))), shares)

    def _distance(self, chosen: Sequence[str], names: Sequence[str]) -> float:
        others = [name for name in names if name not in chosen]
        return float(
            np.mean([np.min([self.distances[of, to] for to in chosen], axis=0).mean() for of in others])
        )
