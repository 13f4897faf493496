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

has as many rows as the mechanism has freedoms and no lambda. v_{k+1} is taken at y_{k+1}, which is what makes the
balance complete: T' y' are the centripetal terms. Dry friction that depends on the load takes lambda from the same one,
G M^-1 G^T lambda = G M^-1 [M (v_{k+1} - v_k) - h (f + f_g)].
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .assembly import assemble, coordinates
from .bodies import State, mean_velocity
from .constraints import geometry, jacobians, rates
from .impulses import drive, forces, friction_level, inertia_times
from .precision import Numbers, Scalar
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
    y, rate = (jnp.asarray(part) for part in before)

    def velocity(rate: Array) -> State:
        return assemble(structure, values, reference, y, rate)

    axes: Any = State(None, None, 0)  # type: ignore[arg-type]
    of_each = jax.vmap(velocity, out_axes=axes)(jnp.eye(len(rate)))
    x = of_each._replace(velocity=jnp.tensordot(rate, of_each.velocity, axes=1))
    T = jnp.asarray(of_each.velocity).reshape(len(rate), -1)
    v_after = assemble(structure, values, reference, *after).velocity
    at = geometry(structure, values, x)
    gained = inertia_times(values, at, v_after - x.velocity) - h * forces(values, at, x.velocity)

    rate_after = jnp.asarray(after[1])
    joint = np.concatenate(
        [np.full(place.stop - place.start, k) for k, place in enumerate(coordinates(structure))]
    )
    joint = joint.astype(int)
    free = np.flatnonzero(structure.free)
    phi = -h * jnp.asarray(values.drag)[joint] * rate_after
    phi = phi - jnp.asarray(values.shaft)[joint] * (rate_after - rate)
    phi = phi + h * drive(structure, values, u)[joint, 0]
    if structure.dry.any():
        speed = rates(structure, at, x.velocity)[1]
        load = jnp.zeros(len(structure.load))
        if structure.load.any():
            load = jnp.sum(structure.weight * jnp.abs(_held_impulses(structure, values, x, gained)), axis=1)
        scale = jnp.where(structure.load, load, h)[joint]
        bound = jnp.ravel(friction_level(values, speed))[free] * scale
        creep = -h * jnp.asarray(values.stick)[joint] * rate_after
        phi = phi + jnp.where(structure.dry[joint], jnp.clip(creep, -bound, bound), 0.0)
    return T @ jnp.ravel(gained) - phi


def _held_impulses(structure: Structure, values: Values, x: State, gained: Array) -> Array:
    """(j, 6) lambda of the balance."""
    at = geometry(structure, values, x)
    held = np.flatnonzero(structure.held)
    G = jacobians(structure, at)[0].reshape(-1, 6 * structure.bodies)[held]
    by_mass = jnp.linalg.solve(mass_matrix(values, at), jnp.stack([*G, jnp.ravel(gained)], axis=1))
    impulses = jnp.linalg.solve(G @ by_mass[:, :-1], G @ by_mass[:, -1])
    return jnp.zeros(structure.held.size).at[held].set(impulses).reshape(structure.held.shape)
