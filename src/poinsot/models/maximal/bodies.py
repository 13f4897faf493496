"""Bodies and contacts: their description and their states (Lacoursiere 2007, Eqs. 2.1, 2.2, 2.12 to 2.16).

A body has a frame, which in the reference configuration is at `frame` (by default the world's),
and in it a centre of mass c and the inertia about c. Its state is that of the centre of mass,

    q = (r, e),  r in R^3,  e a unit quaternion (x, y, z, w) from the body's axes to the world's,    v = (rdot, omega)

all in the world's axes. A step moves it by q_{k+1} = q_k [+] h v_{k+1}: r + h rdot, Exp(h omega) e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...exceptions import ImpossibleBody, InvalidModel
from ...inertia.parameters import from_physical, inconsistencies
from . import quaternions
from .precision import Numbers, Scalar
from .values import Entry

SIX = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Rows and columns of xx, xy, yy, xz, yz, zz."""
CREEP = 1e-3
"""Speed [rad/s] or [m/s] at which full dry friction lets a joint or contact creep, without a stick drag given."""


def require(value: float, what: str, bound: str, hint: str = "") -> None:
    """Check that a number is finite and within its bound; raise `InvalidModel` otherwise."""
    if not (0 < value < np.inf or (value == 0 and bound.startswith("at least"))):
        raise InvalidModel(f"{what} must be {bound}, not {value}{hint}")


def require_three(values: Sequence[float] | np.ndarray, what: str) -> None:
    """Check that these are three finite numbers."""
    if np.shape(values) != (3,) or not np.isfinite(values).all():
        raise InvalidModel(f"{what} needs three finite numbers, not {values}")


def require_direction(values: Sequence[float], what: str) -> None:
    """Check that these are three finite numbers, not all 0."""
    require_three(values, what)
    if not np.any(values):
        raise InvalidModel(f"{what} is 0 0 0; give it a direction")


class State(NamedTuple):
    """State of l bodies at one time; leading axes are those of a batch.

    Args:
        position: (..., l, 3) centres of mass [m]. quaternion: (..., l, 4) x, y, z, w.
        velocity: (..., l, 6) linear [m/s], angular [rad/s].
    """

    position: Float[Numbers, "*batch l 3"]
    quaternion: Float[Numbers, "*batch l 4"]
    velocity: Float[Numbers, "*batch l 6"]


@dataclass(frozen=True)
class RigidBody:
    """A rigid body.

    Args:
        mass: [kg], > 0.
        inertia: about the centre of mass, axes of the body's frame [kg m^2]: (3,) xx, yy, zz, or a symmetric (3, 3).
        center: (3,) centre of mass in the body's frame [m].
        frame: (4, 4) T_wb of the body's frame in the reference configuration; None: the world's.

    Raises:
        InvalidModel: if these values are not those of a rigid body.
    """

    name: str
    mass: float
    inertia: Sequence[float] | Sequence[Sequence[float]] | np.ndarray
    center: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    frame: np.ndarray | None = None

    def __post_init__(self) -> None:
        require(self.mass, f"the mass of body {self.name!r}", "above 0 kg")
        require_three(self.center, f"the centre of body {self.name!r}")
        J = np.asarray(self.inertia, dtype=float)
        if J.shape not in ((3,), (3, 3)) or (J.ndim == 2 and not np.allclose(J, J.T, rtol=1e-9, atol=0)):
            raise InvalidModel(
                f"the inertia of body {self.name!r} is three numbers or a symmetric 3 x 3 matrix"
            )
        reasons = inconsistencies(from_physical(self.mass, np.zeros(3), self.inertia_matrix))
        if reasons:
            raise ImpossibleBody(reasons, self.name)
        # a rod has none about its axis, and its angular acceleration about it is not defined
        if not np.all(np.linalg.eigvalsh(self.inertia_matrix) > 0):
            raise InvalidModel(f"body {self.name!r} needs an inertia above 0 about every axis; 1e-9 will do")

    @property
    def inertia_matrix(self) -> np.ndarray:
        """(3, 3) about the centre of mass [kg m^2]."""
        J = np.asarray(self.inertia, dtype=float)
        return np.diag(J) if J.ndim == 1 else J

    @property
    def inertial(self) -> np.ndarray:
        """(10,) pi."""
        return from_physical(self.mass, np.asarray(self.center, dtype=float), self.inertia_matrix)

    def entries(self, i: int) -> list[Entry]:
        """Its numbers, as body i of a mechanism."""
        J = self.inertia_matrix
        found = [Entry(self.name, "mass", "kg", "mass", (i,), self.mass, 0.0)]
        for k, axis in enumerate("xyz"):
            found.append(Entry(self.name, f"c{axis}", "m", "center", (i, k), float(self.center[k])))
        for k, (a, b) in enumerate(SIX):
            symbol, lower = f"J{'xyz'[a]}{'xyz'[b]}", 0.0 if a == b else -np.inf
            found.append(Entry(self.name, symbol, "kg m^2", "inertia", (i, k), J[a, b], lower))
        return found

    @property
    def placement(self) -> np.ndarray:
        """(4, 4) T_wb in the reference configuration."""
        return np.eye(4) if self.frame is None else self.frame


@dataclass(frozen=True)
class PlaneContact:
    """A point of a body that may not pass a plane of the world; dry friction along it, in a box of two directions.

    The gap is c(q) = normal . p - height, p the point in the world; its two friction impulses lie within +- mu times
    the normal one (Eqs. 2.20 to 2.25). `along` is the first of the two directions.

    Args:
        body: name of the body. point: (3,) in the body's frame [m]. normal: (3,) of the plane, in the world.
        height: of the plane along its normal [m]. friction: coefficient mu.
        along: (3,) a direction in the plane; None: any. compliance: normal [m/N]. relaxation: [s].
        stick_drag: [N s/m] of a contact that sticks; None: it creeps at 1e-3 m/s at the friction limit under
            the weight of all bodies.
    """

    name: str
    body: str
    point: Sequence[float]
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    height: float = 0.0
    friction: float = 0.0
    along: Sequence[float] | None = None
    compliance: float = 1e-8
    relaxation: float = 0.02
    stick_drag: float | None = None

    def __post_init__(self) -> None:
        who = f"of contact {self.name!r}"
        require(self.compliance, f"the compliance {who}", "above 0")
        require(self.relaxation, f"the relaxation time {who}", "at least 0 s")
        require(self.friction, f"the friction {who}", "at least 0")
        if self.stick_drag is not None:
            require(self.stick_drag, f"the stick drag {who}", "above 0")
        require_direction(self.normal, f"the normal {who}")

    def entries(self, k: int, weight: float) -> list[Entry]:
        """Its numbers, as contact k of a mechanism of a weight [N]."""
        stick = self.stick_drag or max(self.friction, 1e-3) * weight / CREEP
        each = (
            ("compliance", "m/N", "contact_compliance", self.compliance),
            ("relaxation", "s", "contact_relaxation", self.relaxation),
            ("friction", "", "contact_friction", self.friction),
            ("stick_drag", "N s/m", "contact_stick", stick),
        )
        return [Entry(self.name, symbol, unit, kind, (k,), value, 0.0) for symbol, unit, kind, value in each]

    @property
    def frame(self) -> np.ndarray:
        """(3, 3) columns: two directions along the plane, its normal; in the world."""
        n = np.asarray(self.normal, dtype=float) / np.linalg.norm(self.normal)
        # without a given direction, the world's axis that is least along the normal
        along = np.eye(3)[np.argmin(np.abs(n))] if self.along is None else np.asarray(self.along, dtype=float)
        t = along - (along @ n) * n
        if np.linalg.norm(t) < 1e-9 * max(float(np.linalg.norm(along)), 1e-300):
            raise InvalidModel(
                f"contact {self.name!r} has `along` normal to its plane; give a direction in it"
            )
        t = t / np.linalg.norm(t)
        return np.stack([t, np.cross(n, t), n], axis=1)


def move(x: State, velocity: Float[Numbers, "*batch l 6"], h: Scalar) -> State:
    """q [+] h v, at the velocity v (2.16)."""
    position = x.position + h * velocity[..., :3]
    return State(position, quaternions.plus(x.quaternion, h * velocity[..., 3:]), velocity)


def mean_velocity(x: State, y: State, h: Scalar) -> Float[Array, "*batch l 6"]:
    """(q_y [-] q_x) / h: the velocity that moves x to y in one step [m/s], [rad/s]."""
    turned = quaternions.minus(y.quaternion, x.quaternion)
    return jnp.concatenate([y.position - x.position, turned], axis=-1) / h


def plus(x: State, d: Float[Numbers, "*batch l 12"]) -> State:
    """x [+] d, d = (dr, psi, dv) of each body, psi about the world's axes [m], [rad], [m/s], [rad/s]."""
    return State(
        x.position + d[..., :3], quaternions.plus(x.quaternion, d[..., 3:6]), x.velocity + d[..., 6:]
    )


def minus(x: State, y: State) -> Float[Array, "*batch l 12"]:
    """x [-] y: the d with y [+] d = x."""
    turned = quaternions.minus(x.quaternion, y.quaternion)
    return jnp.concatenate([x.position - y.position, turned, x.velocity - y.velocity], axis=-1)
