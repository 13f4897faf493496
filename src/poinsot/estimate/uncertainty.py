"""Parameters with their uncertainty: the table that every estimate has.

`Uncertainty` has a row for each source, and `combined` makes the covariance of them. A family that cannot compute a row
has None there, never a copy.

Unobservable directions are combinations of parameters that may change without changing any residual. A basis of them is
not unique. It is brought to the echelon form in which each combination has few parameters, starting with those that
change most relative to their own size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from ..arrays import Bool, Brief, Matrix, Vector

NARROWED = 0.5
"""The data determine a parameter if they reduce its prior standard deviation to less than this part."""

NEGLIGIBLE = 1e-4
"""Coefficients of a combination below this part of its largest are left out."""
MAX_TERMS = 6
"""Maximum number of terms of a combination that are printed."""


@dataclass(frozen=True)
class Direction:
    """A combination of parameters that the data do not determine. `combination`: in words, e.g. `"m4 + 0.8 mz5"`.
    `reason`: `"structural"` (no motion of this robot excites it), `"unexcited"` (this recording does not), or
    `"removed"` (set to zero as not essential).
    """

    combination: str
    reason: str


def rows_of(table: Any) -> list[dict[str, Any]]:
    """One dict per row of a table whose `json_columns` are key -> attribute: (b,), one value of all rows, or None for a
    column that was not computed; the first is (b,).
    """
    # Columns are computed before: `std` of b parameters inside the loop would cost b^2.
    columns = {key: getattr(table, name) for key, name in table.json_columns.items()}
    length = len(next(iter(columns.values())))
    return [
        {key: c if c is None or isinstance(c, bool) else c[k] for key, c in columns.items()}
        for k in range(length)
    ]


class ParameterColumns(Brief):
    """Values of b parameters with their covariance, column by column. `names`, `units`, `owners`, `kinds`: per
    parameter, (b,). `values`: (b,) in `units`. `covariance`: (b, b).
    """

    json_columns: ClassVar[dict[str, str]] = {
        "name": "names", "value": "values", "std": "std", "unit": "units",
        "kind": "kinds", "owner": "owners", "covariance": "covariance",
    }  # fmt: skip

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
            # Infinite where the value is 0, NaN where both are: intended, without warnings.
            return 100.0 * self.std / np.abs(self.values)

    def as_json(self) -> list[dict[str, Any]]:
        """One row a parameter."""
        return rows_of(self)


class SystematicErrors(Protocol):
    """Systematic errors of b parameters, computed where they are first needed."""

    @property
    def covariance(self) -> Matrix | None:
        """(b, b) with what is by chance; None: these recordings do not determine them."""
        ...

    @property
    def between_blocks(self) -> Vector | None:
        """(b,) variances of the parameters of one more recording, from differences between blocks of these, or None."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Brief):
    """Why b parameters are uncertain: a table with a row for each source, `combined` by one function.

    A row is a (b, b) covariance or (b,) standard deviations; None: the family does not compute it.

    Args:
        readings: noise of the readings, as if residuals were white.
        correlation: noise of the readings with their correlation in time, in place of `readings` unless `is_white`.
        systematic: with systematic errors of laboratory and model, and differences between blocks of the recordings; it
            contains what is by chance.
        model: change of the values beyond chance with the choice of the filter, or between halves of the recording.
        description: errors of the robot's description.
        recordings: (b,) half width of the 95 % interval for the next recording's own parameter, over 1.96; parameters
            differ between recordings (friction from day to day), which `std` does not contain. With fewer than four
            recordings the differences between blocks take its place, where they are known.
        scale: relative standard deviation of a scale that all values share, which `std` does not contain.
        is_white: whether the residuals look white, so that `readings` holds although `correlation` is known.
    """

    readings: Matrix | Vector | None = None
    correlation: Matrix | Vector | None = None
    systematic: SystematicErrors | None = None
    model: Matrix | Vector | None = None
    description: Matrix | Vector | None = None
    recordings: Vector | None = None
    scale: float = 0.0
    is_white: bool = False

    @property
    def std_kind(self) -> str:
        """`"white"` or `"coloured"`: assumption on the residuals."""
        return "white" if self.is_white or self.correlation is None else "coloured"


def combined(table: Uncertainty) -> Matrix:
    """(b, b) covariance of the parameters from all sources that these recordings share.

    Of what is by chance and of `systematic`, which contains it, each parameter has the larger variance.
    """
    C = by_chance(table)
    if table.systematic is not None and (wider := table.systematic.covariance) is not None:
        C = wider if C is None else raised(wider, np.diag(C))
    rows = (C, table.model, table.description)
    return np.sum([row if row.ndim == 2 else np.diag(row**2) for row in rows if row is not None], axis=0)


def raised(C: Matrix, least: Vector) -> Matrix:
    """(b, b) C with variances of at least `least` (b,), and close to it in what C determines well.

    A variance is raised along what the parameter moves with, c c^T with c its column of C: a factor on each parameter
    would undo that errors of several cancel in a torque.
    """
    total = C.copy()
    spread = np.diag(C)
    for k in np.argsort(spread - least):
        missing = least[k] - total[k, k]
        if missing > 0 and spread[k] > 0:
            total += missing / spread[k] ** 2 * np.outer(C[k], C[k])
        elif missing > 0:
            total[k, k] += missing
    return total


def without_systematic(table: Uncertainty) -> Matrix:
    """(b, b) covariance without systematic errors, as for differences between estimates that share them."""
    return combined(replace(table, systematic=None))


def of_next_recording(table: Uncertainty) -> Matrix:
    """(b, b) covariance of the parameters with which a next recording of the same rig is predicted.

    What is by chance, with what differs between recordings. Errors of the rig are left out: they shift parameters and
    that recording as they did these, which the values make up for.
    """
    C = without_systematic(table)
    more = None if table.systematic is None else table.systematic.between_blocks
    least = np.diag(C) + (0.0 if more is None else np.nan_to_num(more))
    if table.recordings is not None:
        least = np.where(np.isfinite(table.recordings), np.maximum(np.diag(C), table.recordings**2), least)
    return raised(C, least)


def by_chance(table: Uncertainty) -> Matrix | None:
    """(b, b) covariance from the noise of the readings; None: not computed."""
    row = table.readings if table.std_kind == "white" else table.correlation
    return row if row is None or row.ndim == 2 else np.diag(row**2)


def std_of(*rows: Matrix | Vector | None) -> Vector | None:
    """(b,) standard deviations of rows of the table together; None if none of them was computed."""
    squares = [np.diag(row) if row.ndim == 2 else row**2 for row in rows if row is not None]
    return np.sqrt(np.sum(squares, axis=0)) if squares else None


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedParameters(ParameterColumns):
    """Parameters of an estimate; values are NaN where `identifiable` is false and no value is given.

    `std`, the one to use, is of all sources that `combined` takes together, with residuals of the kind `std_kind`.

    Args:
        groupings: what each stands for, e.g. `"zz1 + ia1 + yy2 + 0.0506 m3"`; the bare name where nothing is grouped.
        identifiable: (b,) whether the data determine the parameter.
        uncertainty: table of the sources of uncertainty.
    """

    json_columns = ParameterColumns.json_columns | {
        "relative_std_percent": "relative_std_percent", "identifiable": "identifiable",
        "grouping": "groupings", "std_white": "white_std", "std_coloured": "coloured_std",
        "std_systematic": "systematic_std", "std_absolute": "absolute_std",
        "std_next_recording": "next_recording_std",
    }  # fmt: skip

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Vector
    groupings: tuple[str, ...]
    identifiable: Bool[np.ndarray, "b"]
    uncertainty: Uncertainty

    @cached_property
    def covariance(self) -> Matrix:  # type: ignore[override]
        """(b, b) covariance of the values."""
        return combined(self.uncertainty)

    @property
    def std_kind(self) -> str:
        return self.uncertainty.std_kind

    @property
    def white_std(self) -> Vector | None:
        """(b,) standard deviations by chance, as if residuals were white."""
        return std_of(self.uncertainty.readings)

    @property
    def coloured_std(self) -> Vector | None:
        """(b,) standard deviations by chance, with the correlation of the residuals."""
        return std_of(self.uncertainty.correlation)

    @property
    def systematic_std(self) -> Vector | None:
        """(b,) part of `std` that is not by chance: of the laboratory, the model and the description."""
        chance = by_chance(self.uncertainty)
        if self.uncertainty.systematic is None or chance is None:
            return std_of(self.uncertainty.model, self.uncertainty.description)
        return np.sqrt(np.maximum(np.diag(self.covariance) - np.diag(chance), 0.0))

    @property
    def absolute_std(self) -> Vector:
        """(b,) standard deviation with that of a scale that all values share."""
        return np.hypot(self.std, self.uncertainty.scale * self.values)

    @property
    def next_recording_std(self) -> Vector | None:
        """(b,) of the next recording's own parameters; NaN where neither recordings nor blocks show them."""
        table = self.uncertainty
        # recordings that differ have large residuals, and so perhaps large standard deviations
        known = None if table.recordings is None else np.maximum(table.recordings, self.std)
        if known is not None and np.isfinite(known).all():
            return known
        if table.systematic is None or (more := table.systematic.between_blocks) is None:
            return known
        from_blocks = np.sqrt(self.std**2 + more)
        return from_blocks if known is None else np.where(np.isfinite(known), known, from_blocks)

    @property
    def between_recordings(self) -> Vector | None:
        """(b,) variances of the parameters between recordings; None: not known.

        NaN where neither recordings nor blocks determine them. From blocks they contain the noise of the readings.
        """
        table = self.uncertainty
        if table.recordings is None and table.systematic is not None:
            return table.systematic.between_blocks
        following = self.next_recording_std
        return None if following is None else np.maximum(following**2 - self.std**2, 0.0)


def condition_numbers(normal: Matrix) -> tuple[float, float]:
    """Condition numbers of J from J^T J: as it is, and with columns of unit norm; infinite where it is singular."""
    diagonal, found = np.diag(normal), []
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    for matrix in (normal, normal / np.outer(size, size)):
        values = np.linalg.eigvalsh(matrix)
        singular = values[0] <= len(values) * np.finfo(float).eps * values[-1]
        found.append(float("inf") if singular else float(np.sqrt(values[-1] / values[0])))
    return found[0], found[1]


def unobservable_directions(
    names: Sequence[str], values: Vector, null_space: Matrix, unknown: Sequence[str]
) -> tuple[Direction, ...]:
    """Combinations along which parameters may change, and single `unknown` ones whose prior the data do not narrow.

    Values (b,) are the scale of changes; the null space (b, z) are those that change no residual.
    """
    found: list[str] = []
    if null_space.shape[1]:
        # A parameter of value 0 has no size of its own.
        size = np.where(np.abs(values) > 0, np.abs(values), 1.0)
        scaled = (null_space / size[:, None]).T
        scaled = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
        # Pivots of the echelon form are the parameters that change most relative to their size.
        from scipy.linalg import qr  # slow to import, and most estimates determine all

        leading = qr(scaled, mode="economic", pivoting=True)[2][: len(scaled)]
        rows = np.linalg.solve(scaled[:, leading], scaled) * size / size[leading][:, None]
        found = [_text(names, row, size) for row in rows]
    moving = {name for name, row in zip(names, null_space, strict=True) if np.abs(row).max(initial=0.0) > 0}
    still = [name for name in unknown if name not in moving]
    return tuple(Direction(text, "unexcited") for text in (*found, *still))


def _text(names: Sequence[str], row: Vector, size: Vector) -> str:
    weight = np.abs(row) / size
    order = [int(k) for k in np.argsort(-weight, kind="stable") if weight[k] > NEGLIGIBLE * weight.max()]
    text = sum_text(((row[k], names[k]) for k in order[:MAX_TERMS]), 3)
    return text + (f" ... ({len(order)} terms)" if len(order) > MAX_TERMS else "")


def sum_text(terms: Iterable[tuple[float, str]], digits: int) -> str:
    """`zz1 + ia1 - 0.225 my3` from coefficients and names."""
    text = ""
    for value, name in terms:
        sign = (" + " if value > 0 else " - ") if text else ("" if value > 0 else "-")
        size = f"{abs(value):.{digits}g}"
        # `m4 + mz5`, and not `1 m4 + 1 mz5`
        text += f"{sign}{name}" if size == "1" else f"{sign}{size} {name}"
    return text
