"""Unobservable directions in words: combinations of parameters that may change without changing any residual.

A basis of them is not unique. It is brought to the echelon form in which each combination has few parameters, starting
with those that move most relative to their own size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr

from ..arrays import Matrix, Vector
from .uncertainty import Direction

NEGLIGIBLE = 1e-4
"""Coefficients of a combination below this part of its largest are left out."""
MAX_TERMS = 6
"""Terms of a combination that are written."""


def unobservable_directions(
    names: Sequence[str], values: Vector, null_space: Matrix, unknown: Sequence[str]
) -> tuple[Direction, ...]:
    """Combinations along which parameters may move, and single ones whose prior the data do not narrow.

    Args:
        names: of the parameters, (b,). values: (b,) scale of their changes.
        null_space: (b, z) changes of the parameters that change no residual.
        unknown: names of all parameters that are not known.
    """
    found = [Direction(text, "unexcited") for text in _combinations(names, values, null_space)]
    moving = {name for name, row in zip(names, null_space, strict=True) if np.abs(row).max(initial=0.0) > 0}
    return (*found, *(Direction(name, "unexcited") for name in unknown if name not in moving))


def _combinations(names: Sequence[str], values: Vector, null_space: Matrix) -> list[str]:
    z = null_space.shape[1]
    if z == 0:
        return []
    # A parameter of value 0 has no size of its own.
    size = np.where(np.abs(values) > 0, np.abs(values), 1.0)
    scaled = (null_space / size[:, None]).T
    scaled = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    # Pivots are the parameters that move most for their size; by them the basis is brought to echelon
    # form.
    leading = qr(scaled, mode="economic", pivoting=True)[2][:z]
    rows = np.linalg.solve(scaled[:, leading], scaled) * size / size[leading][:, None]
    return [_text(names, row, size) for row in rows]


def _text(names: Sequence[str], row: Vector, size: Vector) -> str:
    weight = np.abs(row) / size
    order = [int(k) for k in np.argsort(-weight, kind="stable") if weight[k] > NEGLIGIBLE * weight.max()]
    terms: list[str] = []
    for k in order[:MAX_TERMS]:
        sign = "-" if row[k] < 0 else "+"
        # `m4 + mz5`, and not `1 m4 + 1 mz5`.
        factor = "" if abs(abs(row[k]) - 1.0) < 1e-6 else f"{abs(row[k]):.3g} "
        terms.append(
            f"{sign} {factor}{names[k]}" if terms else f"{'-' if row[k] < 0 else ''}{factor}{names[k]}"
        )
    more = f" ... ({len(order)} terms)" if len(order) > MAX_TERMS else ""
    return " ".join(terms) + more
