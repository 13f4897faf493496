"""Units that a file may declare, and their conversion to SI.

    value_SI = factor * value + offset          (the offset is for temperatures only)

A unit that is not in the table is an error that names the nearest one: no later stage would detect a wrong guess.
Cells with dates and times are in `datetime`: readers give them as seconds since 1970.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..exceptions import UnknownUnit
from ..quantities import FRAME_QUANTITIES

STANDARD_GRAVITY = 9.80665
"""Standard gravity, the 1 g of accelerometers. [m/s^2]"""
DATES = "datetime"
"""Unit of cells that hold a date and a time of day."""


@dataclass(frozen=True)
class Unit:
    """A unit as files write it. `si`: the SI unit that it is converted to. `factor`, `offset`: value_SI = factor *
    value + offset.
    """

    si: str
    factor: float = 1.0
    offset: float = 0.0


_TURN = 2.0 * math.pi
_DEG = math.pi / 180.0

_SCALES: Mapping[str, Mapping[str, float]] = {
    "1": {"1": 1.0, "%": 1e-2},
    "rad": {"rad": 1.0, "mrad": 1e-3, "deg": _DEG, "rev": _TURN},
    "rad/s": {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": _DEG, "rev/s": _TURN, "rpm": _TURN / 60.0},
    "rad/s^2": {"rad/s^2": 1.0, "deg/s^2": _DEG, "rev/s^2": _TURN},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "m/s": {"m/s": 1.0, "mm/s": 1e-3},
    "m/s^2": {"m/s^2": 1.0, "mm/s^2": 1e-3, "g": STANDARD_GRAVITY, "mg": 1e-3 * STANDARD_GRAVITY},
    "N m": {"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "N cm": 1e-2, "kN m": 1e3},
    "N": {"N": 1.0, "mN": 1e-3, "kN": 1e3, "gf": 1e-3 * STANDARD_GRAVITY, "kgf": STANDARD_GRAVITY},
    "A": {"A": 1.0, "mA": 1e-3},
    "V": {"V": 1.0, "mV": 1e-3},
    "W": {"W": 1.0},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, DATES: 1.0},
    "Hz": {"Hz": 1.0, "kHz": 1e3},
    "kg": {"kg": 1.0},
    "K": {"K": 1.0, "degC": 1.0},
    "Pa": {"Pa": 1.0, "bar": 1e5},
    "T": {"T": 1.0, "uT": 1e-6},
}
_OFFSETS = {"degC": 273.15}

UNITS: Mapping[str, Unit] = {
    name: Unit(si, factor, _OFFSETS.get(name, 0.0))
    for si, factors in _SCALES.items()
    for name, factor in factors.items()
}
"""Every unit that a file may declare. `Nm`, `N*m`, `°/s`, `µs` and the like are read as `N m`, `deg/s`, `us`."""

QUANTITY_UNITS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("position", "position_command"), ("rad", "m")),
    **dict.fromkeys(("velocity", "velocity_before", "velocity_after"), ("rad/s", "m/s")),
    "acceleration": ("rad/s^2", "m/s^2"),
    "torque": ("N m", "N"),
    "current": ("A",),
    "voltage": ("V",),
    **{name: quantity.units for name, quantity in FRAME_QUANTITIES.items()},
    "contact": ("1", "N"),
    "thrust": ("N",),
}
"""The SI units of each quantity: of joints, revolute or prismatic, and of sensors at frames."""

_SPELLINGS = str.maketrans(
    {"·": " ", "⋅": " ", "*": " ", "²": "^2", "°": "deg", "µ": "u", "μ": "u"}  # micro sign and Greek letter
)
# `Nm`, `mNm`, `Nmm`, `Ncm` and `kNm` are the names of no other unit, so nothing is ambiguous.
_JOINED = {name.replace(" ", ""): name for name in UNITS if " " in name}


def find_unit(unit: str, where: str = "") -> Unit:
    """Look up a unit as a file writes it. `unit`: e.g. `"deg/s"`, `"Nm"`, `"°"`. `where`: for the message, e.g. `" of
    channel 'torque.elbow'"`. Raises `UnknownUnit` with the nearest unit that exists.

    >>> find_unit("Nm").si
    'N m'
    """
    name = unit.replace("**", "^").translate(_SPELLINGS)  # powers first: a single * joins units
    name = re.sub(r"\s+", " ", name).strip()
    name = _JOINED.get(name.replace(" ", ""), name)
    try:
        return UNITS[name]
    except KeyError:
        raise UnknownUnit(unit, UNITS, where) from None


def convert(values: np.ndarray, unit: str) -> tuple[np.ndarray, str]:
    """Values in SI units, and the name of that unit. Values that are in SI units already are not copied.

    >>> convert(np.array([180.0]), "deg")
    (array([3.14159265]), 'rad')
    """
    known = find_unit(unit)
    values = np.asarray(values, dtype=float)
    if known.factor != 1.0:
        values = values * known.factor
    if known.offset != 0.0:
        values = values + known.offset
    return values, known.si


def units_of(quantity: str) -> tuple[str, ...]:
    """The units that a channel of this quantity may declare; all of them for an unknown quantity."""
    allowed: Iterable[str] = QUANTITY_UNITS.get(quantity, ())
    return tuple(name for name, unit in UNITS.items() if unit.si in allowed) or tuple(UNITS)


def check_quantity(channel: str, unit: str) -> None:
    """Check that a channel `quantity.joint` declares a unit of its quantity."""
    where, quantity = f" of channel {channel!r}", channel.partition(".")[0]
    try:
        found = find_unit(unit)
    except UnknownUnit:
        # Again, to name the nearest among the units of this quantity.
        raise UnknownUnit(unit, units_of(quantity), where) from None
    if found.si not in QUANTITY_UNITS.get(quantity, (found.si,)):
        raise UnknownUnit(unit, units_of(quantity), f"{where}: a {quantity} is not measured in it")
