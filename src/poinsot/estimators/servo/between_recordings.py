"""How the actuators of a group differ from recording to recording, and what the next recording may show.

Friction changes with temperature and posture, a supply with its charge. Each recording is estimated alone, from where
the estimate of all of them ended; a value of the next recording has the interval of `predictive_std`, which contains
how much these values vary beyond chance.

Single recordings would end anywhere along a scale of torques that they do not show: it is held at that of all of them,
and torques stand for their ratios to the stiffness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Matrix, Vector
from ...diagnosis.parameters import FEWEST_RECORDINGS
from ...solve import Stop, stop_requested
from ...statistics import predictive_std
from .search import GroupProblem, Search

HELD_SCALE = 1e-4
"""Standard deviation of a log stiffness that is held."""

Quantities = Callable[[Vector], tuple[Vector, Matrix]]
"""(k,) values at coordinates (p,), and their slopes (k, p)."""


@dataclass(frozen=True, eq=False)
class RecordingsAlone:
    """Estimates of each recording alone.

    Args:
        x: (R, p) coordinates of each. covariances: (R, p, p) by chance.
    """

    x: Matrix
    covariances: np.ndarray

    @classmethod
    def of(
        cls,
        group: GroupProblem,
        z: Vector,
        covariance: Callable[[GroupProblem, Vector], Matrix],
        search: Search,
        *,
        scale_known: bool,
        stop: Stop | None = None,
    ) -> RecordingsAlone:
        """Refine each recording of a group; none, where they are too few.

        Args:
            z: coordinates and starts of all recordings together. covariance: of all unknowns of a problem at a point.
            scale_known: whether the recordings show the scale of torques.
        """
        p, joints, x, found = group.coordinates.size, len(group.coordinates.joints), [], []
        if group.coordinates.has_scale and not scale_known:
            k = group.coordinates.columns.index(("stiffness", ""))
            mean, std = group.mean.copy(), group.std.copy()
            mean[k], std[k] = z[k], HELD_SCALE
            group = replace(group, mean=mean, std=std)
        recordings = len(group.strands) // joints
        for first in range(0, len(group.strands) if recordings >= FEWEST_RECORDINGS else 0, joints):
            if stop_requested(stop):
                break
            alone = replace(group, strands=group.strands[first : first + joints])
            own = np.concatenate([z[:p], z[p + 2 * first : p + 2 * (first + joints)]])
            _, minimum = search.refine(alone, own, label=f"recording {first // joints + 1} alone", stop=stop)
            x.append(minimum.at.x[:p])
            found.append(covariance(alone, minimum.at.x)[:p, :p])
        return cls(np.array(x).reshape(-1, p), np.array(found).reshape(-1, p, p))

    def next_std(self, quantities: Quantities, center: Vector, size: Vector) -> Vector:
        """(k,) half widths of the 95 % intervals for the next recording's values, over 1.96.

        NaN where fewer than four recordings show a value: with a standard deviation below its size.

        Args:
            center: (k,) of the intervals. size: (k,) of the values.
        """
        evaluated = [quantities(x) for x in self.x]
        found = np.full(len(center), np.nan)
        if len(evaluated) < FEWEST_RECORDINGS:
            return found
        values = np.array([value for value, _ in evaluated])
        slopes = np.array([slope for _, slope in evaluated])
        std = np.sqrt(np.maximum(np.einsum("rkp,rpq,rkq->rk", slopes, self.covariances, slopes), 0.0))
        for k, seen in enumerate((std < size).T):
            if seen.sum() >= FEWEST_RECORDINGS:
                found[k] = predictive_std(values[seen, k : k + 1], std[seen, k : k + 1], center[k : k + 1])[0]
        return found
