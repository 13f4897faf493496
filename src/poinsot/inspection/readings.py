"""What the numbers of a column are, whatever its header says.

flag         at most two values: it says whether something is on
supply       of one sign, and never below half of its size: a voltage that does not drive anything
noise        it does not move
wraps        numbers that count modulo a period: they jump by more than half of it, within a range of one
missing      single samples far from their neighbours, which agree with each other: errors of a bus
first        rows before the first reading: no joint moves, and one then jumps further than it ever moves after that in
             a sample, which a joint at rest cannot do
held         readings that are logged several times: most samples repeat while they should change
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..arrays import Samples
from ..statistics import grid_step
from .channels import resolution, significant_digits, stale_percent
from .motion import SPEED_OVER_S

QUANTILE = 0.99
"""Quantile of magnitudes that is the usual largest one."""
FREQUENT = 0.9
"""The same where up to one sample in twenty is an error, each with two steps."""
MOST_IN_A_ROW = 3
"""Maximum number of successive errors."""
JUMP = 4.0
"""Ratio of a jump to the usual largest step."""
MOST_CODES = 4
"""Maximum number of values that stand for errors."""
PROPORTIONAL = 0.95
"""Least correlation of a rate with the derivative of a position."""
REGISTER = 65536
"""Values of a register of 16 bits."""


def is_flag(x: Samples) -> bool:
    """Whether a column has at most two values."""
    return len(np.unique(x[np.isfinite(x)])) <= 2


def is_supply(x: Samples) -> bool:
    """Whether a voltage is that of a supply: a motor that moves both ways has both signs."""
    low, high = np.nanquantile(x, [1 - QUANTILE, QUANTILE])
    return bool(2 * low > high > 0 or 2 * high < low < 0)


def is_noise(x: Samples) -> bool:
    """Whether successive readings are independent of each other, as those of a sensor that does not move: the mean
    square of their differences then is twice their variance. So is a constant.
    """
    x = x[np.isfinite(x)]
    return bool(len(x) < 2 or np.mean(np.diff(x) ** 2) >= np.var(x))


def rate_ratio(position: Samples, rate: Samples, interval_s: float) -> float | None:
    """Ratio of a rate to the derivative of a position, by the changes of the position in many short times and the
    integrals of the rate in them; None: they are not proportional, as of a joint at rest. `interval_s`: of samples [s].
    """
    n = max(1, round(SPEED_OVER_S / interval_s))
    known = np.isfinite(position) & np.isfinite(rate)
    x, v = position[known], rate[known]
    if len(x) < 4 * n + 2:
        return None
    changes = x[n:] - x[:-n]
    integrals = np.convolve(0.5 * (v[1:] + v[:-1]), np.ones(n), "valid") * interval_s
    size = float(np.sqrt((changes @ changes) * (integrals @ integrals)))
    if size == 0 or abs(changes @ integrals) < PROPORTIONAL * size:
        return None
    return float(changes @ integrals / (changes @ changes))


def period_of(x: Samples, candidates: tuple[float, ...]) -> float | None:
    """The first period modulo which the readings count; None: they do not wrap."""
    x = x[np.isfinite(x)]
    largest = float(np.max(np.abs(np.diff(x)), initial=0.0))
    steps = (period for period in candidates if largest > period / 2 and np.ptp(x) <= period * (1 + 1e-3))
    return next(steps, None)


def is_register(x: Samples) -> bool:
    """Whether signed integers of 16 bits were logged without their sign: with it they change less."""
    x = x[np.isfinite(x)]
    signed = np.where(x < REGISTER / 2, x, x - REGISTER)
    return bool(_fits_register(x) and np.abs(np.diff(signed)).sum() < np.abs(np.diff(x)).sum())


def are_registers(columns: Sequence[Samples]) -> bool:
    """Whether columns of one quantity are `is_register`: one is, and the others hold what such numbers can be."""
    known = [x[np.isfinite(x)] for x in columns]
    return any(map(is_register, known)) and all(map(_fits_register, known))


def _fits_register(x: Samples) -> bool:
    return bool(len(x) and np.all(x == np.rint(x)) and x.min() >= 0 and x.max() < REGISTER)


def error_codes(columns: Sequence[Samples], fewest: int = 1) -> tuple[float, ...]:
    """Numbers that stand for errors in columns of one quantity: a few samples that jump there from one reading and back
    to the next have them more often than all others do. Frequent ones are found first, since they hide the size of the
    usual steps, and neighbours of two errors look like one. `fewest`: samples of a number, in the second search.
    """
    codes: set[float] = set()
    for quantile, least in ((FREQUENT, 2), (QUANTILE, fewest)):
        counts: dict[float, int] = {}
        for x in columns:
            for code, number in _jumps_there_and_back(x, codes, quantile).items():
                counts[code] = counts.get(code, 0) + number
        total = {code: sum(np.count_nonzero(x == code) for x in columns) for code in counts}
        new = {code for code, n in counts.items() if n >= least and 2 * n > total[code]}
        codes |= new if len(new) <= MOST_CODES else set()
    return tuple(sorted(codes))


def _jumps_there_and_back(x: Samples, without: Collection[float], quantile: float) -> dict[float, int]:
    """Number -> samples at which readings jump to it and back, of a column without its missing values. A jump is larger
    than the usual largest step between other readings, the quantile of all.
    """
    x = x[np.isfinite(x) & ~np.isin(x, [*without])]
    begins = np.concatenate([[True], np.diff(x) != 0])[: len(x)]
    lengths = np.diff(np.flatnonzero(np.append(begins, True)))
    known, steps = x[begins], np.diff(x[begins])
    if len(steps) < 2 or (limit := JUMP * np.quantile(np.abs(np.diff(x)), quantile)) == 0:
        return {}
    short = np.minimum(np.abs(steps[:-1]), np.abs(steps[1:])) > limit
    short &= (np.abs(steps[:-1] + steps[1:]) < limit) & (lengths[1:-1] <= MOST_IN_A_ROW)
    counts: dict[float, int] = {}
    for code, number in zip(known[1:-1][short].tolist(), lengths[1:-1][short].tolist(), strict=True):
        counts[code] = counts.get(code, 0) + number
    return counts


def first_reading(columns: np.ndarray) -> int:
    """Number of rows before the first reading. `columns`: (T, n) positions. No reading is held so long later on."""
    steps = np.abs(np.diff(columns, axis=0))
    new = np.flatnonzero((steps > 0).any(axis=1))
    if len(new) < 2 or new[0] <= np.quantile(np.diff(new), QUANTILE):
        return 0
    jumps = steps[new[0]] > np.max(steps[new[0] + 1 :], axis=0)
    return int(new[0]) + 1 if np.count_nonzero(jumps) else 0


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
