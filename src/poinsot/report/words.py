"""Words for parameters, from symbol, kind and owner (see `parameters.py` for the symbols)."""

from __future__ import annotations

import re

from ..models.friction.listed import COUPLING, words_of
from ..parameters import INERTIAL_SYMBOLS

KINDS = {
    "inertia": "inertial parameter",
    "rotor_inertia": "rotor inertia",
    "rotor_coupling": "cross term of the coupled rotor inertia",
    "payload": "payload",
    "gain": "drive gain",
    "bias": "bias of a sensor",
    "misalignment": "misalignment of the sensors at a frame",
    "delay": "delay of sensors",
    "zero": "zero of the sensor",
    "eccentricity": "eccentricity of the sensor",
    "tilt": "tilt of the floor",
    "stick": "drag of a joint that sticks",
}

INERTIAL = {
    "m": "mass",
    **{f"m{axis}": f"first moment of mass along {axis}" for axis in "xyz"},
    **{2 * axis: f"moment of inertia about {axis}" for axis in "xyz"},
    **{pair: f"product of inertia {pair}" for pair in ("xy", "xz", "yz")},
    # of a body of a mechanism, about its centre of mass, and of a thrown body
    **{f"J{2 * axis}": f"moment of inertia about {axis}" for axis in "xyz"},
    **{f"J{pair}": f"product of inertia {pair}" for pair in ("xy", "xz", "yz")},
    **{f"c{axis}": f"centre of mass along {axis}" for axis in "xyz"},
    "mass": "mass",
    "J": "moment of inertia",
    "J/m": "moment of inertia over mass",
}

# Long symbols first: `mx` must not be read as an `m` with something behind it. `L` is a load.
_INERTIAL_NAME = re.compile(
    rf"({'|'.join(sorted(INERTIAL_SYMBOLS, key=len, reverse=True))})(?:(?:\d+|L)[a-z]*|\..+)"
)

_EFFORTS = {"N m": "torque", "N": "force", "A": "current", "V": "voltage"}


def meaning(name: str, kind: str) -> str:
    """What the parameter is, without its owner.

    >>> meaning("zz1r", "inertia"), meaning("fv3", "viscous"), meaning("k2", "joint_stiffness")
    ('moment of inertia about z', 'viscous friction', 'joint stiffness')
    >>> meaning("mL", "payload"), meaning("mx.trunk", "inertia")
    ('mass, of the load', 'first moment of mass along x')
    >>> meaning("pendulum.Jxx", "inertia"), meaning("J/m", "inertia")
    ('moment of inertia about x', 'moment of inertia over mass')
    """
    symbol = _symbol(name)
    if kind in ("inertia", "payload") and symbol in INERTIAL:
        return INERTIAL[symbol] + (", of the load" if kind == "payload" else "")
    # Friction laws define their own words.
    return KINDS.get(kind) or words_of(kind)


def _symbol(name: str) -> str:
    """The symbol in the name of an inertial parameter: `mx` of `mx3`, `Jxx` of `pendulum.Jxx`."""
    match = _INERTIAL_NAME.fullmatch(name)
    return match[1] if match else name.rpartition(".")[2]


def family(name: str, kind: str) -> str:
    """The heading under which parameters of one kind are compared.

    >>> family("zz1r", "inertia"), family("my2", "inertia")
    ('Moments and products of inertia', 'First moments of mass')
    >>> family("fv3", "viscous"), family("fvm6", "viscous_coupling")
    ('Viscous friction', 'Viscous friction')
    """
    symbol = _symbol(name)
    if kind in ("inertia", "payload") and symbol in INERTIAL and symbol[0] != "c" and symbol != "J/m":
        if symbol in ("m", "mass"):
            return "Masses"
        return "First moments of mass" if symbol.startswith("m") else "Moments and products of inertia"
    return capitalized(
        meaning(name, "rotor_inertia" if kind == "rotor_coupling" else kind.removesuffix(COUPLING))
    )


FAMILIES = ("Masses", "First moments of mass", "Moments and products of inertia", "Rotor inertia")
"""The order in which families are shown; others follow in order of appearance."""


def effort_word(unit: str) -> str:
    """`torque` for `N m`, `force` for `N`; other units are readings of a sensor."""
    return _EFFORTS.get(unit, "reading")


def capitalized(words: str) -> str:
    """The words with the first letter in upper case, the others unchanged."""
    return words[:1].upper() + words[1:]


def number_of(count: int, singular: str, plural: str = "") -> str:
    """`1 joint`, `3 joints`."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def series(words: list[str] | tuple[str, ...], limit: int = 8) -> str:
    """`a, b and c`; the first few and `... (40 in all)` where there are many."""
    words = list(words)
    if len(words) > limit:
        return f"{', '.join(words[:limit])}, ... ({len(words)} in all)"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)
