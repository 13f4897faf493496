"""Extras: results that only one family of estimators has, each a typed value with its JSON form.

An estimate keeps its extras in one mapping from `key` to value. A new one is a subclass of `Extra`, here or in its
family; a section of `report.sections` that requests it by its class shows it on a page. Those
of joints are here: drive gains, friction curves, and every single parameter of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Bool, Brief, Matrix, Vector
from ..statistics import NORMAL_95
from .uncertainty import ParameterColumns, rows_of


class MainNumber(NamedTuple):
    """A number that stands for itself: what it is, value, standard deviation, and unit."""

    name: str
    value: float
    std: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.3g} +- {NORMAL_95 * self.std:.2g} {self.unit}"


class Extra:
    """A typed part of an estimate that not every family has.

    `key` names it in `estimate.extras`, as an attribute of the estimate and in the JSON.
    """

    key: ClassVar[str]

    def as_json(self) -> Any:
        """What the documented JSON holds under `key`: plain values, arrays, mappings, dataclasses and their tuples."""
        return self

    def as_text(self) -> str:
        """Lines for `print(estimate)`; empty: nothing is printed."""
        return ""

    def main_numbers(self) -> Iterable[MainNumber]:
        """What a reader looks for first; empty: the parameters say it."""
        return ()

    def found(self) -> str:
        """What was found, as a sentence of the headline in place of the number of known parameters; empty: that."""
        return ""

    def files(self, estimate: Any) -> tuple[Mapping[str, Callable[[Path], Any]], tuple[str, ...]]:
        """File name -> function that writes it for other programs; and sentences on what these files cannot hold."""
        return {}, ()


def extras_of(*values: Extra | None) -> Mapping[str, Extra]:
    """The mapping that an estimate keeps; None and empty sequences are left out."""
    return {value.key: value for value in filter(None, values)}


@dataclass(frozen=True, eq=False)
class DriveGains(Extra):
    """Effort per unit of current or voltage, motor by motor. `joints`, `units`: (m,) of each motor. `values`: (m,) in
    `units`. `covariance`: (m, m); zero where values were taken as exact. `white_std`: (m,) standard deviations for
    white residuals; None where nothing was estimated. `identified`: whether they were estimated here. `by_gravity`:
    (m,) whether gravity loads the joint; a gain determined by inertial torques alone is uncertain.
    """

    key = "drive_gains"
    json_columns: ClassVar[dict[str, str]] = {
        "joint": "joints", "value": "values", "std": "std", "interval": "intervals", "unit": "units",
        "identified": "identified", "poorly_known": "poorly_known", "by_gravity": "by_gravity",
        "std_white": "white_std", "covariance": "covariance",
    }  # fmt: skip

    joints: tuple[str, ...]
    units: tuple[str, ...]
    values: Vector
    covariance: Matrix
    white_std: Vector | None = None
    identified: bool = False
    by_gravity: Bool[np.ndarray, "m"] | None = None

    @property
    def std(self) -> Vector:
        """(m,) standard deviation of each, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def intervals(self) -> Matrix:
        """(m, 2) 95 % confidence intervals, in `units`."""
        half = NORMAL_95 * self.std
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def poorly_known(self) -> Bool[np.ndarray, "m"]:
        """(m,) whether the standard deviation is above 5 % of the value, with which all efforts scale."""
        # Not a ratio, since a gain may be zero.
        return self.std > 0.05 * np.abs(self.values)

    def as_text(self) -> str:
        width = max(len(joint) for joint in self.joints)
        lines = [f"{'drive gain of':<{width}}  {'value':>11} {'std':>10}"]
        for joint, value, std, unit, poor in zip(
            self.joints, self.values, self.std, self.units, self.poorly_known, strict=True
        ):
            lines.append(
                f"{joint:<{width}}  {value:>11.5g} {std:>10.2g}  {unit}{', poorly known' if poor else ''}"
            )
        return "\n".join(lines)

    __str__ = as_text

    def as_json(self) -> list[dict[str, Any]]:
        """One row per motor."""
        return rows_of(self)


@dataclass(frozen=True, eq=False, repr=False)
class FrictionCurve(Brief):
    """Friction of a joint as a function of its speed, against the motion. `unit`: SI unit of the effort. `speed`: (k,)
    [rad/s] or [m/s]. `effort`, `std`: (k,) in `unit`.
    """

    joint: str
    unit: str
    speed: Vector
    effort: Vector
    std: Vector


class FrictionCurves(tuple[FrictionCurve, ...], Extra):
    """One curve per joint with dry or viscous friction."""

    key = "friction_curves"


@dataclass(frozen=True, eq=False, repr=False)
class FullParameters(ParameterColumns, Extra):
    """All parameters of the model: values from the data, and from prior knowledge where the data do not determine them.
    `prior`: (p,) values before the data; NaN where nothing was known. `prior_share`: (p,) posterior over prior
    variance: 0 all from the data, 1 all from the prior. `interval`: (p, 2) 95 % intervals, within the physically
    possible set.
    """

    key = "full_parameters"
    json_columns = ParameterColumns.json_columns | {key: key for key in ("prior", "prior_share", "interval")}

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Vector
    covariance: Matrix
    prior: Vector
    prior_share: Vector
    interval: Matrix | None = None
