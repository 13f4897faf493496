"""Directions that nothing sees, in words: combinations of parameters that may change without any residual noticing.

A basis of them is not unique. It is brought to the echelon form in which each combination has few parameters, starting
with those that move most relative to their own size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr

from .arrays import Matrix, Vector
from .estimate import Direction

SMALL = 1e-4
"""Parts of a combination below this are left out."""
LONGEST = 6
"""Terms that are written."""


def directions(
    names: Sequence[str], values: Vector, unseen: Matrix, unknown: Sequence[str]
) -> tuple[Direction, ...]:
    """Combinations along which parameters may move, and single ones that the data leave as wide as was assumed.

    Args:
        names: of the parameters, (b,). values: (b,) by which changes are measured.
        unseen: (b, z) changes that nothing sees.
        unknown: names of all parameters that are not known.
    """
    found = [Direction(text, "unexcited") for text in _combinations(names, values, unseen)]
    moving = {name for name, row in zip(names, unseen, strict=True) if np.abs(row).max(initial=0.0) > 0}
    return (*found, *(Direction(name, "unexcited") for name in unknown if name not in moving))


def _combinations(names: Sequence[str], values: Vector, unseen: Matrix) -> list[str]:
    z = unseen.shape[1]
    if z == 0:
        return []
    size = np.where(np.abs(values) > 0, np.abs(values), 1.0)
    scaled = (unseen / size[:, None]).T
    scaled = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    leading = qr(scaled, mode="economic", pivoting=True)[2][:z]
    rows = np.linalg.solve(scaled[:, leading], scaled) * size / size[leading][:, None]
    return [_text(names, row, size) for row in rows]


def _text(names: Sequence[str], row: Vector, size: Vector) -> str:
    weight = np.abs(row) / size
    order = [int(k) for k in np.argsort(-weight, kind="stable") if weight[k] > SMALL * weight.max()]
    terms: list[str] = []
    for k in order[:LONGEST]:
        sign = "-" if row[k] < 0 else "+"
        factor = "" if abs(abs(row[k]) - 1.0) < 1e-6 else f"{abs(row[k]):.3g} "
        terms.append(
            f"{sign} {factor}{names[k]}" if terms else f"{'-' if row[k] < 0 else ''}{factor}{names[k]}"
        )
    more = f" ... ({len(order)} terms)" if len(order) > LONGEST else ""
    return " ".join(terms) + more
