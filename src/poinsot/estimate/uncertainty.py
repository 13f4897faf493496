"""Parameters with their uncertainty: the table that every estimate has.

    std            sqrt(diag covariance), the one to use; of kind `std_kind`
    white_std      valid if the residuals are white, of equal size and independent between columns
    coloured_std   valid for residuals of any autocorrelation, from an estimate of it
    systematic_std what filters add to either: std^2 = coloured_std^2 + systematic_std^2
    next_recording_std   of the parameter that the next recording of this robot will have

A family that cannot compute one of the last four has None there, never a copy of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector

NORMAL_95 = 1.959963984540054
"""Half width of the 95 % interval of a normal distribution, in standard deviations."""

NARROWED = 0.5
"""A parameter is known from the data if they leave less than this part of the standard deviation assumed before."""


@dataclass(frozen=True)
class Direction:
    """A combination of parameters that the data do not determine.

    Args:
        combination: in words, e.g. `"m4 + 0.8 mz5"`.
        reason: `"structural"` (no motion of this robot excites it), `"unexcited"` (this recording does not), or
            `"removed"` (set to zero as not essential).
    """

    combination: str
    reason: str


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One dict a row of columns (b,) that all have a length, or are None; the first has a length."""
    # Columns come computed: `std` of b parameters inside the loop would cost b^2.
    length = len(next(iter(columns.values())))
    return [{key: c if c is None else c[k] for key, c in columns.items()} for k in range(length)]


@dataclass(frozen=True, eq=False)
class ParameterColumns:
    """Values of b parameters with their covariance, column by column.

    Args:
        names, units, owners, kinds: per parameter, (b,).
        values: (b,) in `units`. covariance: (b, b).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Vector
    covariance: Matrix

    @property
    def std(self) -> Vector:
        """(b,) standard deviation of each parameter, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std_percent(self) -> Vector:
        """(b,) 100 std / |value|; infinite where the value is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            # Infinite where the value is 0, NaN where both are: meant, and no warning.
            return 100.0 * self.std / np.abs(self.values)

    def rows(self, **more: Any) -> list[dict[str, Any]]:
        """One dict a parameter, as JSON has them.

        Args:
            more: further columns, (b,); None for a column that was not computed.
        """
        columns: dict[str, Any] = {"name": self.names, "value": self.values, "std": self.std}
        columns |= {"unit": self.units, "kind": self.kinds, "owner": self.owners} | more
        columns["covariance"] = self.covariance
        return rows_of(columns)


@dataclass(frozen=True, eq=False)
class EstimatedParameters(ParameterColumns):
    """Parameters as an estimate has them; values are NaN where `identifiable` is false and no value is given.

    Args:
        groupings: what each stands for, e.g. `"zz1 + ia1 + yy2 + 0.0506 m3"`; the bare name where nothing is grouped.
        std_kind: `"white"` or `"coloured"`: which assumption on the residuals `covariance` makes.
        identifiable: (b,) whether the data determine the parameter.
        white_std, coloured_std: (b,) standard deviations by chance under each assumption; None where not computed.
        systematic_std: (b,) part of `std` that is no chance: how far the value moves with the choice of the filter and
            from half to half of the recording, beyond chance; None where not computed.
        next_recording_std: (b,) half width of the 95 % interval for the next recording's own parameter, over 1.96;
            parameters differ between recordings (friction from day to day), which `std` does not contain. None: not
            known, as there are fewer than four recordings.
    """

    groupings: tuple[str, ...]
    std_kind: str
    identifiable: np.ndarray
    white_std: Vector | None = None
    coloured_std: Vector | None = None
    systematic_std: Vector | None = None
    next_recording_std: Vector | None = None

    def as_json(self) -> list[dict[str, Any]]:
        """One row a parameter."""
        return self.rows(
            relative_std_percent=self.relative_std_percent,
            identifiable=self.identifiable,
            grouping=self.groupings,
            std_white=self.white_std,
            std_coloured=self.coloured_std,
            std_systematic=self.systematic_std,
            std_next_recording=self.next_recording_std,
        )
