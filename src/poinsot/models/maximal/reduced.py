"""The force balance in joint coordinates: its limit for infinitely stiff constraints.

External impulses (2.29) find the constraints' impulses from their violation, lambda = (...) / Sigma, so an error e of
the state becomes one of e / Sigma: with compliance 1e-9 that drowns everything. Two forms do without.

*Implicit*: with v* the velocity after a step forward from x_k, the constraints solved for as they are there,

    M (v+ - v*)

is what the bodies would have had to be given if no constraint had answered to it. It is M M_Sigma^-1 times the external
impulse, with M_Sigma = M + G^T Sigma^-1 G (3.13): the same where constraints say nothing, and bounded where they do.

*Reduced*: a tree of joints has no redundant coordinates, and ideal constraint forces do no work. With joint coordinates
y, P = dL/dy' their momenta and F = dL/dy + (controls, drag, friction), what else acts is f = P' - F. Over a step in
which y is the cubic of both ends' coordinates and rates, its middle

    y_m = (y_0 + y_1) / 2 + h/8 (y'_0 - y'_1),      y'_m = 3/(2h) (y_1 - y_0) - (y'_0 + y'_1) / 4

the first two moments of f, by Simpson's rule after integrating P' by parts, are

    e_1 = int f dt               = P_1 - P_0 - h/6 (F_0 + 4 F_m + F_1)
    e_2 = 2/h int f (t - t_m) dt = 2/3 (P_0 - 2 P_m + P_1) - h/6 (F_1 - F_0)

two impulses a coordinate, as many as (3.7, 3.8) have. They are of fourth order in h, neither brake nor drive a motion,
and of a white force e_1 and sqrt(3) e_2 are independent and as large. F takes controls as held over the step. Dry
friction that depends on the load takes the constraints' forces from G^T lambda + F^T phi = p' - weight, p the momenta
of the bodies, with accelerations of the cubic.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .assembly import assemble, coordinates, tree
from .bodies import State, mean_velocity
from .constraints import geometry, jacobians
from .impulses import drive, gravity, inertia_times, symmetric
from .precision import Numbers, Scalar
from .quaternions import cross, turn, turn_back
from .step import forward
from .structure import Structure
from .values import Values


def implicit_errors(
    structure: Structure, values: Values, x: State, y: State, u: Float[Numbers, "_"], h: Scalar
) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
    """M (v+ - v*) with v+ the velocity of y, and that which moves x to y [N s], [N m s]."""
    expected = forward(structure, values, x, u, h)[0].velocity
    at = geometry(structure, values, x)
    by_velocity = inertia_times(values, at, jnp.asarray(y.velocity) - expected)
    return by_velocity, inertia_times(values, at, mean_velocity(x, y, h) - expected)


def reduced_errors(
    structure: Structure,
    values: Values,
    reference: tuple[np.ndarray, np.ndarray],
    before: tuple[Float[Numbers, "n"], Float[Numbers, "n"]],
    after: tuple[Float[Numbers, "n"], Float[Numbers, "n"]],
    u: Float[Numbers, "_"],
    h: Scalar,
) -> Float[Array, "2 n"]:
    """e_1 and sqrt(3) e_2 [N m s] or [N s]; `before` and `after` are coordinates and rates at both ends."""
    (y_0, r_0), (y_1, r_1) = ((jnp.asarray(part) for part in end) for end in (before, after))
    chord = (y_1 - y_0) / h
    y = jnp.stack([y_0, (y_0 + y_1) / 2 + h / 8 * (r_0 - r_1), y_1])
    rate = jnp.stack([r_0, 1.5 * chord - (r_0 + r_1) / 4, r_1])
    bend = jnp.stack([6 * chord - 4 * r_0 - 2 * r_1, r_1 - r_0, 2 * r_0 + 4 * r_1 - 6 * chord]) / h
    mechanics = _Mechanics(structure, values, reference)
    P, F = jax.vmap(mechanics.momenta_and_forces, in_axes=(0, 0, 0, None))(y, rate, bend, u)
    first = P[2] - P[0] - h / 6 * (F[0] + 4 * F[1] + F[2])
    second = 2 / 3 * (P[0] - 2 * P[1] + P[2]) - h / 6 * (F[2] - F[0])
    return jnp.stack([first, np.sqrt(3) * second])


class _Mechanics(NamedTuple):
    """A tree of joints at an instant."""

    structure: Structure
    values: Values
    reference: tuple[np.ndarray, np.ndarray]

    def momenta_and_forces(
        self, y: Array, rate: Array, acceleration: Array, u: Numbers
    ) -> tuple[Array, Array]:
        """(n,) P, and F with all that acts in joints [N m s], [N m] or [N s], [N]."""
        structure, values = self.structure, self.values
        F, P = jax.grad(self.lagrangian, argnums=(0, 1))(y, rate)
        joint = np.concatenate(
            [np.full(place.stop - place.start, k) for k, place in enumerate(coordinates(structure))]
        ).astype(int)
        of = _OfCoordinates(*(jnp.asarray(getattr(values, name))[joint] for name in _OfCoordinates._fields))
        F = F + drive(structure, values, u)[joint, 0] - of.drag * rate
        if structure.dry.any():
            bound = of.level + of.excess * jnp.exp(-of.decay * rate * rate)
            if structure.load.any():
                load = self.loads(y, rate, acceleration)[joint]
                bound = jnp.where(structure.load[joint], bound * load, bound)
            F = F + jnp.where(structure.dry[joint], jnp.clip(-of.stick * rate, -bound, bound), 0.0)
        return P + of.shaft * rate, F

    def lagrangian(self, y: Array, rate: Array) -> Array:
        """Kinetic less potential energy, without shafts [J]."""
        R, r, T = _placed(self.structure, self.values, y)
        momentum, v = self._momentum(R, T, rate)
        weight = jnp.asarray(self.values.mass)[:, None] * gravity(self.values)
        return 0.5 * jnp.sum(momentum * v) + jnp.sum(weight * r)

    def _momentum(self, R: Array, T: Array, rate: Array) -> tuple[Array, Array]:
        """(l, 6) of the bodies, and their velocities."""
        v = jnp.sum(T * rate[:, None], axis=1)
        spin = turn(R, turn(symmetric(self.values.inertia), turn_back(R, v[:, 3:])))
        return jnp.concatenate([jnp.asarray(self.values.mass)[:, None] * v[:, :3], spin], axis=-1), v

    def loads(self, y: Array, rate: Array, acceleration: Array) -> Array:
        """(j,) sizes of the constraints' forces, as friction weighs them [N m] or [N]."""

        def momentum(y: Array, rate: Array) -> Array:
            R, _, T = _placed(self.structure, self.values, y)
            return self._momentum(R, T, rate)[0]

        gained: Array = jax.jvp(momentum, (y, rate), (rate, acceleration))[1]
        gained = gained.at[:, :3].add(-jnp.asarray(self.values.mass)[:, None] * gravity(self.values))
        x = assemble(self.structure, self.values, self.reference, y, rate)
        held = _held_forces(self.structure, self.values, x, gained)
        return jnp.sum(self.structure.weight * jnp.abs(held), axis=1)


class _OfCoordinates(NamedTuple):
    """(n,) numbers of joints, by coordinate."""

    drag: Array
    shaft: Array
    level: Array
    excess: Array
    decay: Array
    stick: Array


def _placed(structure: Structure, values: Values, y: Array) -> tuple[Array, Array, Array]:
    """(l, 3, 3) axes of the bodies, (l, 3) centres of mass, (l, n, 6) what each rate gives to each body's velocity."""
    world, n, place = structure.bodies, int(structure.free.sum()), coordinates(structure)
    axes: dict[int, Array] = {world: jnp.eye(3)}
    origin: dict[int, Array] = {world: jnp.zeros(3)}
    moved_by: dict[int, dict[int, tuple[int, Array, Array]]] = {world: {}}
    centers, columns = {}, {}
    for body, parent, k, outward in tree(structure):
        near, far = ("parent", "child") if outward else ("child", "parent")
        A = _product(axes[parent], getattr(structure, f"{near}_frame")[k])
        p = origin[parent] + turn(axes[parent], getattr(structure, f"{near}_point")[k])
        free, sign = np.flatnonzero(structure.free[k]), 1 if outward else -1
        turned, own = A, {}
        if structure.is_hinge[k]:
            turned = _product(A, _about_z(sign * y[place[k].start]))
        for offset, direction in enumerate(free.tolist()):
            own[place[k].start + offset] = (direction, sign * A[:, direction % 3])
        for coordinate, (direction, along) in own.items():
            p = p + y[coordinate] * along if direction < 3 else p
        axes[body] = _product(turned, getattr(structure, f"{far}_frame")[k].T)
        origin[body] = p - turn(axes[body], getattr(structure, f"{far}_point")[k])
        moved_by[body] = moved_by[parent] | {
            j: (direction, along, p) for j, (direction, along) in own.items()
        }
        r = origin[body] + turn(axes[body], jnp.asarray(values.center)[body])
        centers[body], columns[body] = r, jnp.stack([_column(moved_by[body].get(j), r) for j in range(n)])
    R, r, T = (jnp.stack([part[i] for i in range(world)]) for part in (axes, centers, columns))
    return R, r, T


def _column(by: tuple[int, Array, Array] | None, r: Array) -> Array:
    """(6,) velocity of a body at r for a rate of 1."""
    if by is None:
        return jnp.zeros(6)
    direction, along, p = by
    if direction < 3:
        return jnp.concatenate([along, jnp.zeros(3)])
    return jnp.concatenate([cross(along, r - p), along])


def _about_z(angle: Array) -> Array:
    """(3, 3)."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    return (
        c * np.diag([1.0, 1, 0]) + s * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]]) + np.diag([0.0, 0, 1])
    )


def _product(A: Float[Numbers, "*batch 3 3"], B: Float[Numbers, "*batch 3 3"]) -> Array:
    """A B, as sums: batches of small matrix products are slow."""
    return jnp.sum(jnp.asarray(A)[..., :, :, None] * jnp.asarray(B)[..., None, :, :], axis=-2)


def _held_forces(structure: Structure, values: Values, x: State, gained: Array) -> Array:
    """(j, 6) lambda of the balance [N], [N m]."""
    held, free, _ = jacobians(structure, geometry(structure, values, x))
    every = jnp.where(structure.held[:, :, None], held, free).reshape(-1, 6 * structure.bodies)
    forces = jnp.linalg.solve(every.T, jnp.ravel(gained)).reshape(structure.held.shape)
    return jnp.where(structure.held, forces, 0.0)
