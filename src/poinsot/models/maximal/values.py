"""The numbers of a mechanism: every one has a name, a unit and a place in one flat vector; theta is some of them.

Names are the owner's, then the number's: `arm.mass`, `arm.Jzz`, `shoulder.drag`. A model in which some are free has

    Theta = Theta_0 with Theta[free] = theta,    values = Theta cut into arrays, one a kind

so all of it is differentiable by theta, and numbers that are not estimated (e.g. compliances) can change between calls
without another compilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...arrays import Float
from ..friction.listed import mechanism_laws
from .precision import Numbers


class Values(NamedTuple):
    """All numbers of a mechanism of l bodies, j joints, c contacts and s sensors, in SI units.

    Args:
        mass, center, inertia: (l,), (l, 3), (l, 6) xx, xy, yy, xz, yz, zz about the centre of mass, body axes.
        gravity, tilt: (3,) [m/s^2], and the rotation vector by which the world's floor turns it [rad].
        compliance: (j, 2) of held translations [m/N] and rotations [rad/(N m)]. relaxation: (j,) [s].
        drag, offset: (j,) of the free directions.
        friction: (j, P) parameters of all `mechanism_laws`: of efforts, or coefficients where dry friction depends on
            the load. stick: (j,) drag of a joint that sticks.
        gain, shaft: (j,) motors. contact_compliance, contact_relaxation, contact_friction, contact_stick: (c,).
        zero, sine, cosine: (s,) of sensors [rad] or [m].
    """

    mass: Float[Numbers, "l"]
    center: Float[Numbers, "l 3"]
    inertia: Float[Numbers, "l 6"]
    gravity: Float[Numbers, "3"]
    tilt: Float[Numbers, "3"]
    compliance: Float[Numbers, "j 2"]
    relaxation: Float[Numbers, "j"]
    drag: Float[Numbers, "j"]
    offset: Float[Numbers, "j"]
    friction: Float[Numbers, "j P"]
    stick: Float[Numbers, "j"]
    gain: Float[Numbers, "j"]
    shaft: Float[Numbers, "j"]
    contact_compliance: Float[Numbers, "c"]
    contact_relaxation: Float[Numbers, "c"]
    contact_friction: Float[Numbers, "c"]
    contact_stick: Float[Numbers, "c"]
    zero: Float[Numbers, "s"]
    sine: Float[Numbers, "s"]
    cosine: Float[Numbers, "s"]

    @classmethod
    def blank(cls, bodies: int, joints: int, contacts: int, sensors: int) -> Values:
        """Zeros, to be filled in.

        Compliances and stick drags are 1: equations divide by them also where the result is masked, and the derivative
        of a masked 1 / 0 is NaN.
        """
        sizes: dict[str, Any] = dict.fromkeys(cls._fields, joints)
        sizes |= {"mass": bodies, "center": (bodies, 3), "inertia": (bodies, 6), "gravity": 3, "tilt": 3}
        numbers = sum(len(law.parameters) for law in mechanism_laws().values())
        sizes |= {"compliance": (joints, 2), "friction": (joints, numbers)} | dict.fromkeys(
            ("zero", "sine", "cosine"), sensors
        )
        sizes |= {name: contacts for name in sizes if name.startswith("contact_")}
        ones = ("compliance", "stick")
        return cls(**{name: np.full(sizes[name], 1.0 if name.endswith(ones) else 0.0) for name in sizes})

    def flat(self) -> Float[np.ndarray, "n"]:
        """Theta: all of it in one row."""
        return np.concatenate([np.ravel(field) for field in self])

    def from_flat(self, Theta: Float[Numbers, "n"]) -> Values:
        """The same fields from another Theta."""
        parts = jnp.split(Theta, np.cumsum([np.size(field) for field in self])[:-1])
        return Values(*(part.reshape(np.shape(field)) for part, field in zip(parts, self, strict=True)))

    def place(self, kind: str, *index: int) -> int:
        """Index in Theta of the number `index` of a field."""
        before = self[: self._fields.index(kind)]
        own = np.ravel_multi_index(index, np.shape(getattr(self, kind)))
        return sum(np.size(field) for field in before) + int(own)


@dataclass(frozen=True)
class Entry:
    """A number that may be estimated.

    Args:
        owner: body, joint, contact or sensor that has it, or "world". symbol: its symbol. unit: SI.
        kind: the field of `Values` that it is in. index: its place there. value: its given value.
        lower: bound below which it has no meaning. family: kind of the parameter in the names common to all models.
    """

    owner: str
    symbol: str
    unit: str
    kind: str
    index: tuple[int, ...]
    value: float
    lower: float = -np.inf
    family: str = ""

    def __post_init__(self) -> None:
        if not self.family:
            object.__setattr__(self, "family", FAMILIES.get(self.kind, self.kind))

    @property
    def name(self) -> str:
        """`owner.symbol`."""
        return f"{self.owner}.{self.symbol}"


FAMILIES = {
    "mass": "inertia",
    "center": "inertia",
    "drag": "viscous",
    "shaft": "rotor_inertia",
    "sine": "eccentricity",
    "cosine": "eccentricity",
}
"""Kind of a number of a mechanism -> kind of parameter, where they differ."""
