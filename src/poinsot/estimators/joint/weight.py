"""The weight of the model against the readings, chosen by what it foretells (the paper leaves kappa to its user).

Too small, and the states follow noise; too large, and what the model lacks is forced upon theta. So readings are left
out in blocks of time, states and theta are found from the others, and the blocks foretold,

    score(kappa) = mean of ((h(x_k; theta) - z_k) / sigma)^2   over readings that were left out,

each reading once: every other block of a record, then the blocks between. A small kappa has no idea where a mechanism
went while nobody looked, a large one a wrong one. The score is flat where it is lowest, and of weights within
`NEARLY_BEST` of the lowest score the largest is taken: what may be explained by the model should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...models.maximal import Model
from .records import Record, full_turns_off
from .results import JointFit
from .smoothing import JointSmoothing, Say

BLOCKS = 10
"""Left out of a record, and as many between them."""
NEARLY_BEST = 1.05
DECADES = 2.0
"""Between one weight and the next that is tried."""
SPAN = 3
"""Weights on each side of the first."""


@dataclass(frozen=True, eq=False)
class ChosenWeight:
    """A weight and why.

    Args:
        weight: kappa.
        tried: (k,) others, rising. scores: (k,) of each, in variances of a reading.
    """

    weight: float
    tried: Float[np.ndarray, "k"]
    scores: Float[np.ndarray, "k"]


def choose_weight(
    method: JointSmoothing,
    model: Model,
    records: Sequence[Record],
    weights: Sequence[float] | None = None,
    theta: Vector | None = None,
    say: Say = lambda _: None,
    **given: Any,
) -> ChosenWeight:
    """The weight that foretells best.

    Args:
        method: with all else; its weight is in the middle of what is tried.
        model, records, theta: as for `JointSmoothing.fit`.
        weights: to try, rising; None: powers of 100 around the method's own.
        say: is told of each.
        given: whatever else `JointSmoothing.fit` takes.

    Raises:
        InvalidMethod, InvalidSignals: as that.
    """
    if weights is None:
        weights = [method.weight * 10 ** (DECADES * k) for k in range(-SPAN, SPAN + 1)]
    scores, begun = [], method.fit(model, records, theta, **given)
    for weight in weights:
        own = replace(method, weight=float(weight))
        scores.append(score(own, model, records, begun, **given))
        say(f"weight {weight:.3g}: left-out readings are {np.sqrt(scores[-1]):.3g} standard deviations off")
    found = np.array(scores)
    good = np.flatnonzero(found <= NEARLY_BEST * found.min())
    return ChosenWeight(float(weights[good[-1]]), np.array(weights, dtype=float), found)


def score(
    method: JointSmoothing,
    model: Model,
    records: Sequence[Record],
    begun: JointFit,
    **given: Any,
) -> float:
    """Mean squared error of readings that were left out, in variances; `begun` is a fit of all, to begin at."""
    whole = method.fit(model, records, begun.theta, guess=begun.paths, **given)
    noise = method.noise_of(model)
    squares, count = 0.0, 0
    for odd in (0, 1):
        left_out = [_blocks(record, odd) for record in records]
        parts = [
            replace(record, z=np.where(out[:, None], np.nan, record.z))
            for record, out in zip(records, left_out, strict=True)
        ]
        found = method.fit(model, parts, whole.theta, guess=whole.paths, **given)
        for path, record, out in zip(found.paths, records, left_out, strict=True):
            away = full_turns_off(path.expected[out] - record.z[out], model.angular) / noise
            away = away[np.isfinite(away)]
            squares, count = squares + float(np.sum(away**2)), count + len(away)
    return squares / max(count, 1)


def _blocks(record: Record, odd: int) -> np.ndarray:
    """(N,) whether a sample is left out; the first and the last block never are."""
    along = (record.times - record.times[0]) / (record.times[-1] - record.times[0])
    place = np.floor(along * (2 * BLOCKS + 2))
    return np.asarray((place % 2 == odd) & (place > 0) & (place < 2 * BLOCKS + 1))
