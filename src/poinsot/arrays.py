"""Array aliases and the vocabulary of dimensions.

T  samples of a recording            n  joint degrees of freedom (nv)
m  motors                            nq components of the configuration
p  parameters                        b  base parameters
N  rows of a regression              l  bodies
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool as Bool, Float as Float, Inexact as Inexact, Int as Int
else:

    class Float:
        """Stand-in for jaxtyping's arrays, which only tests and type checkers read: it takes 40 ms to import."""

        def __class_getitem__(cls, item: tuple[type, str]) -> type:
            return item[0]

    Bool = Inexact = Int = Float

SMALLEST, LARGEST = 1e-30, 1e30
"""Size limits of numbers other than 0 in SI units: beyond them, squares and products under- or overflow."""
MODE_STEPS = 10
"""Steps of a search for a mode."""


def is_plausible(value: float) -> bool:
    """Whether a number, of any type, is infinite or of a size that a quantity in SI units can have."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST or abs(value) == np.inf


Times: TypeAlias = Float[np.ndarray, "T"]
"""Sample times, strictly increasing. [s]"""

Samples: TypeAlias = Float[np.ndarray, "T"]
"""One channel, one value a sample, in the channel's SI unit."""

Mask: TypeAlias = Bool[np.ndarray, "T"]
"""True where a sample is valid."""

JointSamples: TypeAlias = Float[np.ndarray, "T n"]
"""One column a joint: [rad] or [m] and their derivatives, or [N m] or [N]."""

Configurations: TypeAlias = Float[np.ndarray, "T nq"]
"""Configurations as Pinocchio orders them; quaternions (x, y, z, w)."""

Inertial: TypeAlias = Float[np.ndarray, "*batch 10"]
"""pi = (m, m c, I) at the body frame's origin, Pinocchio's order. [kg], [kg m], [kg m^2]"""

States: TypeAlias = Float[np.ndarray, "T nx"]
"""States, one a row; a robot's state is its configuration and its speeds."""

NodeStates: TypeAlias = Float[np.ndarray, "nodes nx"]
"""States at all nodes of a recording, one a row."""

Changes: TypeAlias = Float[np.ndarray, "T n"]
"""Changes of states in their tangent, one a row."""

RobotChanges: TypeAlias = Float[np.ndarray, "T two_n"]
"""Changes of a robot's positions and speeds, one a row."""

Columns: TypeAlias = Float[np.ndarray, "T m"]
"""m components at each sample: noise, forces, differences of readings."""

ColumnSlopes: TypeAlias = Float[np.ndarray, "T m n"]
"""Derivatives of m components by n degrees of freedom at each sample."""

ReadingRows: TypeAlias = Float[np.ndarray, "T width"]
"""Readings of a sensor, one a row; an orientation has four numbers."""

PseudoInertia: TypeAlias = Float[np.ndarray, "*batch 4 4"]
"""J = [[Sigma, h], [h^T, m]]. [kg m^2], [kg m], [kg]"""

Vector: TypeAlias = Float[np.ndarray, "_"]
"""A vector of the length given in the docstring."""

Matrix: TypeAlias = Float[np.ndarray, "_ _"]
"""A matrix of the shape given in the docstring."""

Indices: TypeAlias = Int[np.ndarray, "_"]


@cache
def fast_length(samples: int) -> int:
    """Smallest length of at least `samples` without prime factors above 5: its real Fourier transform is fast."""
    odd = (3**i * 5**j for i in range(samples.bit_length()) for j in range(samples.bit_length()))
    return min(number << (-(-samples // number) - 1).bit_length() for number in odd)


def interpolated(times: Vector, values: Vector, turns: bool = False) -> Vector:
    """Interpolate missing values (NaN) linearly, 0 if none is known; `turns`: whether values are angles to unwrap."""
    known = np.isfinite(values)
    if not known.any():
        return np.zeros_like(values)
    # unwrapped first: a line between 3.1 and -3.1 rad would pass through 0
    return np.interp(times, times[known], np.unwrap(values[known]) if turns else values[known])


def mode_near(values: Vector, start: float, width: float) -> float:
    """Where values are dense near `start`: the median of those within `width`, found again from there `MODE_STEPS`
    times; `start` where there are none.
    """
    for _ in range(MODE_STEPS):
        near = values[np.abs(values - start) < width]
        start = float(np.median(near)) if len(near) else start
    return start


def carried_on(values: Float[np.ndarray, "T"], before: float) -> Float[np.ndarray, "T"]:
    """Replace each NaN by the last value before it, or by `before` where there is none."""
    if not len(values):
        return values
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.asarray(np.where(last < 0, before, values[last]))


class Brief:
    """A dataclass (`repr=False`) printed as one line per field: the shape of an array, the keys of a mapping."""

    def __repr__(self) -> str:
        shown: Any = self
        names = (field.name for field in fields(shown) if field.repr)
        lines = (f"  {name}: {_brief(getattr(shown, name))}" for name in names)
        return "\n".join((type(self).__name__, *lines))


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array of {value.shape}"
    if isinstance(value, Brief):
        return f"{type(value).__name__} {getattr(value, 'name', '')}".rstrip()
    if isinstance(value, tuple) and any(isinstance(item, Brief | np.ndarray) for item in value):
        text = ", ".join(map(_brief, value))
    else:
        text = ", ".join(map(str, value)) if isinstance(value, Mapping) else " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
