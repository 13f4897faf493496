"""The numbers and the constants of a mechanism.

Every number has a name, a unit and a place in one flat vector; theta is some of them. Names are the owner's, then the
number's: `arm.mass`, `arm.Jzz`, `shoulder.drag`. A model in which some are free has

    Theta = Theta_0 with Theta[free] = theta,    values = Theta cut into arrays, one a kind

so all of it is differentiable by theta, and numbers that are not estimated (e.g. compliances) can change between calls
without another compilation.

The constants say which bodies are joined, and where: plain NumPy, constants of compiled code. The world is body l,
after the others. Values of bodies are gathered by joint as stacks of slices with fixed indices, which compile into
straight-line code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ...arrays import Float
from ..friction.law import FrictionLaw, with_library
from ..friction.listed import mechanism_laws
from .precision import Numbers


class Values(NamedTuple):
    """All numbers of a mechanism of l bodies, j joints, c contacts, f frames and s sensors, in SI units.

    Args:
        mass, center, inertia: (l,), (l, 3), (l, 6) xx, xy, yy, xz, yz, zz about the centre of mass, body axes.
        gravity, tilt: (3,) [m/s^2], and the rotation vector by which the world's floor turns it [rad].
        compliance: (j, 2) of held translations [m/N] and rotations [rad/(N m)]. relaxation: (j,) [s].
        drag, offset: (j,) of the free directions.
        friction: (j, P) parameters of all `mechanism_laws`: of efforts, or coefficients where dry friction depends on
            the load. stick: (j,) drag of a joint that sticks.
        gain, shaft: (j,) motors. stop: (j, 2) positions of lower and upper stops, 0 where there is none [rad] or [m].
        stop_restitution, stop_give: (j,) of both [-], [s].
        contact_compliance, contact_relaxation, contact_friction, contact_stick: (c,).
        frame_point: (f, 3) [m]. zero, sine, cosine: (s,) of sensors, in units of their readings.
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
    stop: Float[Numbers, "j 2"]
    stop_restitution: Float[Numbers, "j"]
    stop_give: Float[Numbers, "j"]
    contact_compliance: Float[Numbers, "c"]
    contact_relaxation: Float[Numbers, "c"]
    contact_friction: Float[Numbers, "c"]
    contact_stick: Float[Numbers, "c"]
    frame_point: Float[Numbers, "f 3"]
    zero: Float[Numbers, "s"]
    sine: Float[Numbers, "s"]
    cosine: Float[Numbers, "s"]

    @classmethod
    def blank(cls, bodies: int, joints: int, contacts: int, frames: int, sensors: int) -> Values:
        """Zeros, to be filled in.

        Compliances and stick drags are 1: equations divide by them also where the result is masked, and the derivative
        of a masked 1 / 0 is NaN.
        """
        sizes: dict[str, Any] = dict.fromkeys(cls._fields, joints)
        sizes |= {"mass": bodies, "center": (bodies, 3), "inertia": (bodies, 6), "gravity": 3, "tilt": 3}
        sizes |= {"frame_point": (frames, 3)}
        numbers = sum(len(law.parameters) for law in mechanism_laws().values())
        sizes |= {"compliance": (joints, 2), "stop": (joints, 2), "friction": (joints, numbers)}
        sizes |= dict.fromkeys(("zero", "sine", "cosine"), sensors)
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
        owner: body, joint, contact, frame or sensor that has it, or "world". symbol: its symbol. unit: SI.
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


def friction_effort(speed: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Effort against the motion at these speeds, of friction that depends on speed only [N m] or [N].

    Args:
        numbers: (1 + P,) drag, and the parameters of `mechanism_laws`.
    """
    places = law_places(mechanism_laws())
    level, smooth = friction_parts(places, numbers[1:], speed)
    return np.asarray(numbers[0] * speed + smooth + np.sign(speed) * level)


LawPlaces = tuple[tuple[FrictionLaw, int], ...]
"""Laws, and the place of the first parameter of each among those of `mechanism_laws`."""


def law_places(names: Collection[str]) -> LawPlaces:
    """The laws of these names."""
    found, place = [], 0
    for name, law in mechanism_laws().items():
        if name in names:
            found.append((law, place))
        place += len(law.parameters)
    return tuple(found)


def friction_parts(laws: LawPlaces, numbers: Any, speed: Any, library: Any = np) -> tuple[Any, Any]:
    """(...) the sum of the levels of dry laws, and of the efforts of smooth ones, at speeds (...).

    Args:
        numbers: (..., P) parameters of `mechanism_laws`. library: of the arrays, NumPy or JAX's.
    """
    level = smooth = library.zeros_like(speed)
    for law, place in laws:
        p = [numbers[..., place + i] for i in range(len(law.parameters))]
        effort = with_library(type(law).effort, library)(speed, 0.0, 0.0, 0.0, p)
        level, smooth = (level + effort, smooth) if law.dry else (level, smooth + effort)
    return level, smooth


class End(NamedTuple):
    """An end stop of a joint.

    Args:
        joint: its index. side: 0 of a lower, 1 of an upper stop. sign: -1 or 1, the direction of the coordinate towards
            the stop. coordinate: place of the joint's coordinate in y.
    """

    joint: int
    side: int
    sign: float
    coordinate: int


def branches(
    bodies: int, parent: Sequence[int], child: Sequence[int], balls: Sequence[bool]
) -> list[tuple[int, int, int, bool]]:
    """A tree of joints from the world, body number `bodies`: (body, its parent, joint, whether the body is the joint's
    child), parents first. Joints that are in no row close loops; these are balls where they can be.
    """
    reached, found = {bodies}, []
    for with_balls in (False, True):
        growing = True  # joints may be listed in any order: pass over them until none adds a body
        while growing:
            growing = False
            for k, (a, b) in enumerate(zip(parent, child, strict=True)):
                # if both are reached, the joint closes a loop
                if (a in reached) != (b in reached) and (with_balls or not balls[k]):
                    body, near = (b, a) if a in reached else (a, b)
                    found.append((body, near, k, body == b))
                    reached.add(body)
                    growing = True
    return found


@dataclass(frozen=True, eq=False)
class Structure:
    """The constants of a mechanism of l bodies, j joints, c contacts.

    Args:
        bodies: l. placement: (l, 4, 4) T_wb of the bodies' frames in the reference configuration.
        parent, child: (j,) bodies of joints, l for the world.
        parent_point, child_point: (j, 3) the joint's frames in those of its bodies [m].
        parent_frame, child_frame: (j, 3, 3) their axes. held: (j, 6) which translations and rotations are held.
        loose: (j,) balls without friction that close loops: they have no coordinates, which nothing depends on.
        driven: (j,) place in u of its motor's signal; -1 for none.
        dry, load: (j,) whether it has dry friction, and whether of the law that depends on its load.
        laws: laws of friction of any joint, and the place of the first parameter of each.
        stops: (j, 2) whether it has a lower and an upper stop.
        weight: (j, 6) lengths with which held impulses enter that law [m] or [1/m] or 1. contact_body: (c,).
        contact_point: (c, 3) in the body's frame [m].
        contact_frame: (c, 3, 3) columns: two directions along the plane, its normal. contact_height: (c,) [m].
        observed: (a,) joints that sensors read; `is_rate`: (a,) whether they read the speed.
        frame_body: (f,) body of each frame. read: (frame, quantity) of each reading of three components at a frame.
        order: (s,) places of sensors among the a readings of joints and then those at frames.
        curvature: whether steps follow held directions to second order.
    """

    bodies: int
    placement: Float[np.ndarray, "l 4 4"]
    parent: Int[np.ndarray, "j"]
    child: Int[np.ndarray, "j"]
    parent_point: Float[np.ndarray, "j 3"]
    child_point: Float[np.ndarray, "j 3"]
    parent_frame: Float[np.ndarray, "j 3 3"]
    child_frame: Float[np.ndarray, "j 3 3"]
    held: Bool[np.ndarray, "j 6"]
    loose: Bool[np.ndarray, "j"]
    driven: Int[np.ndarray, "j"]
    dry: Bool[np.ndarray, "j"]
    load: Bool[np.ndarray, "j"]
    laws: LawPlaces
    stops: Bool[np.ndarray, "j 2"]
    weight: Float[np.ndarray, "j 6"]
    contact_body: Int[np.ndarray, "c"]
    contact_point: Float[np.ndarray, "c 3"]
    contact_frame: Float[np.ndarray, "c 3 3"]
    contact_height: Float[np.ndarray, "c"]
    observed: Int[np.ndarray, "a"]
    is_rate: Bool[np.ndarray, "a"]
    frame_body: Int[np.ndarray, "f"]
    read: tuple[tuple[int, str], ...]
    order: Int[np.ndarray, "s"]
    curvature: bool = False

    @cached_property
    def free(self) -> np.ndarray:
        """(j, 6) directions of coordinates; none of a fixed joint."""
        return ~self.held & ~self.loose[:, None]

    @cached_property
    def is_hinge(self) -> np.ndarray:
        """(j,) joints whose one coordinate is an angle."""
        return np.asarray(self.free[:, 5] & (self.free.sum(axis=1) == 1))

    @cached_property
    def is_ball(self) -> np.ndarray:
        """(j,)."""
        return np.asarray(self.free[:, 3:].all(axis=1))

    @cached_property
    def parts(self) -> tuple[tuple[slice, slice, bool], ...]:
        """Slices of coordinates y and of configurations q, and whether they are a ball's: a vector, a quaternion."""
        found, n, m = [], 0, 0
        for free, ball in zip(self.free.sum(axis=1).tolist(), self.is_ball.tolist(), strict=True):
            for size, width, turns in ((free - 3 * ball, free - 3 * ball, False), (3 * ball, 4 * ball, True)):
                if size:
                    found.append((slice(n, n + size), slice(m, m + width), turns))
                n, m = n + size, m + width
        return tuple(found)

    @cached_property
    def places(self) -> np.ndarray:
        """(n,) place of each coordinate in a configuration; of balls that of a component of the quaternion."""
        return np.concatenate(
            [np.zeros(0, dtype=int)]
            + [at.start + np.arange(own.stop - own.start) for own, at, _ in self.parts]
        )

    @cached_property
    def end_rows(self) -> np.ndarray:
        """(e,) row 6 joint + direction of the free direction of each of `ends`."""
        return np.array([6 * end.joint + self.free[end.joint].argmax() for end in self.ends], dtype=int)

    # rows 6 joint + direction of the constraints that are unknowns of a step, see `impulses`

    @cached_property
    def bilateral(self) -> np.ndarray:
        """(a,) held rows of joints whose dry friction does not depend on their load."""
        return np.flatnonzero(self.held & ~self.load[:, None])

    @cached_property
    def load_rows(self) -> np.ndarray:
        """(m,) held rows whose size friction depends on."""
        return np.flatnonzero(self.held & self.load[:, None])

    @cached_property
    def dry_rows(self) -> np.ndarray:
        """(f,) free rows with dry friction."""
        return np.flatnonzero(self.free & self.dry[:, None])

    @cached_property
    def moving(self) -> np.ndarray:
        """(n,) all free rows."""
        return np.flatnonzero(self.free)

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """All end stops."""
        first = np.cumsum([0, *self.free.sum(axis=1)])
        ends = np.argwhere(self.stops).tolist()
        return tuple(End(joint, side, 2.0 * side - 1.0, int(first[joint])) for joint, side in ends)

    @cached_property
    def controls(self) -> int:
        """Number of signals in u."""
        return int(self.driven.max(initial=-1)) + 1


def gather(by_body: Float[Array, "_ *rest"], indices: Int[np.ndarray, "k"]) -> Float[Array, "k *rest"]:
    """Rows of bodies, one a joint or contact."""
    if not len(indices):
        return jnp.zeros((0, *by_body.shape[1:]), by_body.dtype)
    return jnp.stack([by_body[i] for i in indices.tolist()])
