"""How results of several cases are shown: numbers for tables and JSON, costs over iterations, coverage of intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from scipy import stats

from .case import Curves

LEVELS = np.linspace(0.05, 0.99, 48)
"""Probabilities of intervals in the pictures of coverage."""


def finite(value: float) -> float | None:
    """The number, or None (null in JSON) for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def significant(value: float | None, digits: int = 3) -> float | None:
    """A number rounded to significant digits; None for None, NaN and infinity."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.{digits}g}")


def fixed(value: float | None, digits: int) -> str:
    """A number with so many decimals; "-" for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value: float | None, digits: int) -> str:
    """Percents with so many decimals; "-" for None."""
    return "-" if value is None else f"{value:.{digits}f} %"


def with_std(value: float, std: float) -> str:
    """A value and its standard deviation to two digits; an infinite one reads "not identifiable"."""
    if not np.isfinite(std):
        return f"{value:.3g} (not identifiable)"
    if std <= 0:
        return f"{value:.4g}"
    return f"{value:.4g} +- {std:.2g}"


def counted(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, in alphabetical order."""
    names = list(names)
    return {name: names.count(name) for name in sorted(set(names))}


def costs_by_iteration(costs: Mapping[str, Sequence[float | None]]) -> Curves:
    """Decimal logarithms of costs (name -> one an iteration); the last one is held to the end of the longest."""
    length = max(len(sequence) for sequence in costs.values())
    lines = {}
    for name, sequence in costs.items():
        values = np.array([np.nan if cost is None else cost for cost in sequence], dtype=float)
        lines[name] = np.log10(np.pad(values, (0, length - len(values)), mode="edge"))
    return Curves(np.arange(length, dtype=float), "log10 of the cost", lines, "iteration")


def coverage_curves(names: Iterable[str], share: Callable[[str, float], float]) -> Curves:
    """Shares of intervals that hold the truth, over the intervals' probability.

    Args:
        names: of the quantities.
        share: name and half-width of the intervals in standard deviations -> share.
    """
    widths = stats.norm.ppf(0.5 + 0.5 * LEVELS)
    lines = {name: np.array([share(name, width) for width in widths]) for name in names}
    return Curves(LEVELS, "", {"expected": LEVELS} | lines, "probability of the interval")
