"""What the numbers of a column are, whatever its header says.

flag         at most two values: it says whether something is on
supply       of one sign, and never below half of its size: a voltage that does not drive anything
wraps        numbers that count modulo a period: they jump by more than half of it, within a range of one
missing      single samples far from their neighbours, which agree with each other: errors of a bus
first        rows before the first reading: no joint moves, and one then jumps further than it ever moves after that in
             a sample, which a joint at rest cannot do
held         readings that are logged several times: most samples repeat while they should change
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Samples
from ..statistics import grid_step
from .channels import resolution, significant_digits, stale_percent

QUANTILE = 0.99
"""Quantile of magnitudes that is the usual largest one."""
JUMP = 4.0
"""Ratio of a jump to the usual largest step."""
MOST_CODES = 4
"""Maximum number of values that stand for errors."""
REGISTER = 65536
"""Values of a register of 16 bits."""


def is_flag(x: Samples) -> bool:
    """Whether a column has at most two values."""
    return len(np.unique(x[np.isfinite(x)])) <= 2


def is_supply(x: Samples) -> bool:
    """Whether a voltage is that of a supply: a motor that moves both ways has both signs."""
    low, high = np.nanquantile(x, [1 - QUANTILE, QUANTILE])
    return bool(2 * low > high > 0 or 2 * high < low < 0)


def period_of(x: Samples, candidates: tuple[float, ...]) -> float | None:
    """The first period modulo which the readings count; None: they do not wrap."""
    x = x[np.isfinite(x)]
    largest = float(np.max(np.abs(np.diff(x)), initial=0.0))
    steps = (period for period in candidates if largest > period / 2 and np.ptp(x) <= period * (1 + 1e-3))
    return next(steps, None)


def is_register(x: Samples) -> bool:
    """Whether signed integers of 16 bits were logged without their sign: with it they change less."""
    x = x[np.isfinite(x)]
    if not len(x) or np.any(x != np.rint(x)) or x.min() < 0 or not REGISTER / 2 <= x.max() < REGISTER:
        return False
    signed = np.where(x < REGISTER / 2, x, x - REGISTER)
    return bool(np.abs(np.diff(signed)).sum() < np.abs(np.diff(x)).sum())


def error_codes(columns: Sequence[Samples]) -> tuple[float, ...]:
    """Numbers that stand for errors in columns of one quantity: single samples that jump there from one reading and
    back to the next have them more often than all others do.
    """
    counts: dict[float, int] = {}
    for x in columns:
        known = x[np.isfinite(x)]
        steps = np.diff(known)
        limit = JUMP * np.quantile(np.abs(steps), QUANTILE) if len(steps) > 1 else np.inf
        alone = np.minimum(np.abs(steps[:-1]), np.abs(steps[1:])) > limit
        alone &= (np.abs(steps[:-1] + steps[1:]) < limit) & (limit > 0)
        codes, numbers = np.unique(known[1:-1][alone], return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
            counts[code] = counts.get(code, 0) + number
    counts = {
        code: n for code, n in counts.items() if 2 * n > sum(np.count_nonzero(x == code) for x in columns)
    }
    return tuple(sorted(counts)) if len(counts) <= MOST_CODES else ()


def first_reading(columns: np.ndarray) -> int:
    """Number of rows before the first reading. `columns`: (T, n) positions."""
    steps = np.abs(np.diff(columns, axis=0))
    k = int(np.argmax((steps > 0).any(axis=1))) if len(steps) else 0
    jumps = steps[k] > np.max(steps[k + 1 :], axis=0, initial=0.0) if len(steps) > k + 1 else np.zeros(1)
    return k + 1 if k > 0 and np.count_nonzero(jumps) else 0


def held_rows(columns: np.ndarray) -> tuple[int, int]:
    """(n, first): readings change every n-th row, beginning with row `first`; (1, 0) where most rows are new.
    `columns`: (T, n) positions.
    """
    shares = []
    for x in columns.T:
        repeated = np.concatenate([[False], np.diff(x) == 0])
        digits = significant_digits(x)
        steps = resolution(x, digits, grid_step(x, 3) or None if digits is None else None)
        share = stale_percent(x, repeated, np.ones(len(x), bool), steps, steadily=True)
        shares += [] if share is None else [share]
    if not shares or np.median(shares) < 50:
        return 1, 0
    n = round(1 / (1 - np.median(shares) / 100))
    new = np.flatnonzero((np.diff(columns, axis=0) != 0).any(axis=1)) + 1
    return n, int(np.argmax(np.bincount(new % n, minlength=n)))
