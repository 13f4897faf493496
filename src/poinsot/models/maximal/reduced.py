"""The force balance in joint coordinates: what is left of it when constraints are infinitely stiff.

External impulses (2.29) find the constraints' impulses from their violation, lambda = (...) / Sigma, so an error e of
the state becomes one of e / Sigma: with compliance 1e-9 that drowns everything. Two forms do without.

*Implicit*: with v* the velocity after a step forward from x_k, the constraints solved for as they are there,

    M (v+ - v*)

is what the bodies would have had to be given if no constraint had answered to it. It is M M_Sigma^-1 times the external
impulse, with M_Sigma = M + G^T Sigma^-1 G (3.13): the same where constraints say nothing, and bounded where they do.

*Reduced*: a tree of joints has no redundant coordinates. With y its joint coordinates and v = T(y) y' the velocities of
its bodies, ideal constraint impulses do no work, T^T G^T = 0, so

    T(y_k)^T [M (v_{k+1} - v_k) - h (f + f_g)] - phi,     v_k = T(y_k) y'_k

has as many rows as the mechanism has freedoms and no lambda. A column of T is a joint's: (0, axis) and (axis x (r - p))
for the bodies beyond a hinge through p, (axis, 0) beyond a slider. v_{k+1} is taken at y_{k+1}, which is what makes the
balance complete: T' y' are the centripetal terms. Dry friction that depends on the load takes lambda from the same one,
G M^-1 G^T lambda = G M^-1 [M (v_{k+1} - v_k) - h (f + f_g)].
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
from .quaternions import cross, exp, matrix, turn
from .step import forward, mass_matrix
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


def reduced_error(
    structure: Structure,
    values: Values,
    reference: tuple[np.ndarray, np.ndarray],
    before: tuple[Float[Numbers, "n"], Float[Numbers, "n"]],
    after: tuple[Float[Numbers, "n"], Float[Numbers, "n"]],
    u: Float[Numbers, "_"],
    h: Scalar,
) -> Float[Array, "n"]:
    """The balance in joint coordinates [N m s] or [N s]; `before` and `after` are coordinates and rates."""
    rate, rate_after = jnp.asarray(before[1]), jnp.asarray(after[1])
    both = jnp.stack([jnp.asarray(before[0]), jnp.asarray(after[0])])
    R, T = jax.vmap(lambda y: _placed(structure, values, y))(both)
    v, v_after = _sum(T[0] * rate[:, None]), _sum(T[1] * rate_after[:, None])
    J = _product(_product(R[0], symmetric(values.inertia)), jnp.swapaxes(R[0], 1, 2))
    m, spin = jnp.asarray(values.mass)[:, None], turn(J, v[:, 3:])
    linear = m * (v_after[:, :3] - v[:, :3]) - h * m * gravity(values)
    angular = turn(J, v_after[:, 3:] - v[:, 3:]) + h * cross(v[:, 3:], spin)
    gained = jnp.concatenate([linear, angular], axis=-1)

    joint = np.concatenate(
        [np.full(place.stop - place.start, k) for k, place in enumerate(coordinates(structure))]
    ).astype(int)
    of = _OfCoordinates(*(jnp.asarray(getattr(values, name))[joint] for name in _OfCoordinates._fields))
    phi = (
        -h * of.drag * rate_after - of.shaft * (rate_after - rate) + h * drive(structure, values, u)[joint, 0]
    )
    if structure.dry.any():
        bound = h * (of.level + of.excess * jnp.exp(-of.decay * rate * rate))
        if structure.load.any():
            x = assemble(structure, values, reference, both[0], rate)
            load = jnp.sum(structure.weight * jnp.abs(_held_impulses(structure, values, x, gained)), axis=1)
            bound = jnp.where(structure.load[joint], bound / h * load[joint], bound)
        creep = -h * of.stick * rate_after
        phi = phi + jnp.where(structure.dry[joint], jnp.clip(creep, -bound, bound), 0.0)
    return jnp.sum(T[0] * gained[:, None, :], axis=(0, 2)) - phi


class _OfCoordinates(NamedTuple):
    """(n,) numbers of joints, by coordinate."""

    drag: Array
    shaft: Array
    level: Array
    excess: Array
    decay: Array
    stick: Array


def _placed(structure: Structure, values: Values, y: Array) -> tuple[Array, Array]:
    """(l, 3, 3) axes of the bodies, and (l, n, 6) T^T: what each coordinate's rate gives to each body's velocity."""
    world, n, place = structure.bodies, int(structure.free.sum()), coordinates(structure)
    axes: dict[int, Array] = {world: jnp.eye(3)}
    origin: dict[int, Array] = {world: jnp.zeros(3)}
    moved_by: dict[int, dict[int, tuple[int, Array, Array]]] = {world: {}}
    columns = {}
    for body, parent, k, outward in tree(structure):
        near, far = ("parent", "child") if outward else ("child", "parent")
        A = _product(axes[parent], getattr(structure, f"{near}_frame")[k])
        p = origin[parent] + turn(axes[parent], getattr(structure, f"{near}_point")[k])
        free, sign = np.flatnonzero(structure.free[k]), 1 if outward else -1
        turned, own = A, {}
        if structure.is_ball[k]:
            step = matrix(exp(y[place[k]]))
            turned = _product(A, step if outward else step.T)
        elif structure.is_hinge[k]:
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
        columns[body] = jnp.stack([_column(moved_by[body].get(j), r) for j in range(n)])
    return jnp.stack([axes[i] for i in range(world)]), jnp.stack([columns[i] for i in range(world)])


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


def _sum(by_coordinate: Array) -> Array:
    """(l, 6) velocities, from (l, n, 6)."""
    return jnp.sum(by_coordinate, axis=1)


def _held_impulses(structure: Structure, values: Values, x: State, gained: Array) -> Array:
    """(j, 6) lambda of the balance."""
    at = geometry(structure, values, x)
    held = np.flatnonzero(structure.held)
    G = jacobians(structure, at)[0].reshape(-1, 6 * structure.bodies)[held]
    by_mass = jnp.linalg.solve(mass_matrix(values, at), jnp.stack([*G, jnp.ravel(gained)], axis=1))
    impulses = jnp.linalg.solve(G @ by_mass[:, :-1], G @ by_mass[:, -1])
    return jnp.zeros(structure.held.size).at[held].set(impulses).reshape(structure.held.shape)
