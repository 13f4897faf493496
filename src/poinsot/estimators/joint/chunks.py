"""Compiled functions of a fixed number of samples, over records of any length: no length compiles anything anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES = 512
"""Samples in one call of a compiled function."""


def in_chunks(
    call: Callable[..., Any],
    count: int,
    *arrays: np.ndarray,
    last: tuple[Any, ...] = (),
    size: int | None = None,
) -> list[np.ndarray]:
    """What `call(*arrays, *last)` gives for all samples; the last chunk is filled with its last sample.

    Args:
        call: of `size` samples, None: `SAMPLES`; gives a tuple of arrays, a row a sample.
        arrays: (count, ...). last: what is the same for all.
    """
    parts, size = [], size or SAMPLES
    for first in range(0, count, size):
        # filled up, not cut off: a shorter array would compile the function again
        cut = np.minimum(np.arange(first, first + size), count - 1)
        found = call(*(array[cut] for array in arrays), *last)
        parts.append([np.asarray(part)[: count - first] for part in found])
    return [np.concatenate(part) for part in zip(*parts, strict=True)]
