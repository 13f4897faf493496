"""Constraints: violations of joints and contacts, their rates, and the momenta that their impulses give to bodies.

Of a joint with frames a (on A, origin x_a) and b (on B), R_a = [e_1 e_2 e_3], R_b = [b_1 b_2 b_3], d = x_b - x_a, and
arms from the centres of mass s_a = x_a - r_A, s_b = x_b - r_B, the six directions are

    translations  g_i = e_i . d              rate  e_i . (x_b' - x_a' - omega_A x d)
    rotations     g_4 = e_3 . b_2,           rate  n . (omega_B - omega_A),  n = b_2 x e_3
                  g_5 = -e_3 . b_1,                                          n = e_3 x b_1
                  g_6 = e_2 . b_1                                            n = b_1 x e_2

(F.1 with its axis along z). The rate is the Jacobian times the velocities, and an impulse lambda along a direction acts
on B as the force f (f = e_i lambda, or none) and torque s_b x f + n lambda, on A as -f and -(s_a + d) x f - n lambda.
In a free rotation n is the joint's axis e_i itself.

A contact with columns (t1, t2, n) of its frame has rates along them of the point p = r + s, v + omega x s, and its gap
is n . p - height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .bodies import State
from .precision import BodyVelocities, Numbers
from .quaternions import cross, matrix, turn, turn_back
from .structure import Structure, gather
from .values import Values


class Geometry(NamedTuple):
    """Geometry of a mechanism at one configuration, in the world's axes.

    Args:
        rotation: (l + 1, 3, 3) of bodies and world. axes: (j, 3, 3) R_a.
        normals: (j, 3, 3) rows n of the held rotations. parent_arm: (j, 3) s_a + d [m]. child_arm: (j, 3) s_b [m].
        g: (j, 6) [m], [-]. contact_arm: (c, 3) [m]. gap: (c,) [m].
    """

    rotation: Float[Array, "_ 3 3"]
    axes: Float[Array, "j 3 3"]
    normals: Float[Array, "j 3 3"]
    parent_arm: Float[Array, "j 3"]
    child_arm: Float[Array, "j 3"]
    g: Float[Array, "j 6"]
    contact_arm: Float[Array, "c 3"]
    gap: Float[Array, "c"]


def geometry(structure: Structure, values: Values, x: State) -> Geometry:
    """Geometry of the configuration of x."""
    one = jnp.eye(3, dtype=x.position.dtype)[None]
    R = jnp.concatenate([matrix(jnp.asarray(x.quaternion)), one])
    r = jnp.concatenate([jnp.asarray(x.position), jnp.zeros_like(one[0, :1])])
    c = jnp.concatenate([jnp.asarray(values.center), jnp.zeros_like(one[0, :1])])
    A, B = structure.parent, structure.child

    R_A, R_B = gather(R, A), gather(R, B)
    Ra, Rb = product(R_A, structure.parent_frame), product(R_B, structure.child_frame)
    s_a = turn(R_A, structure.parent_point - gather(c, A))
    s_b = turn(R_B, structure.child_point - gather(c, B))
    d = gather(r, B) + s_b - gather(r, A) - s_a
    e2, e3 = Ra[..., 1], Ra[..., 2]
    b1, b2 = Rb[..., 0], Rb[..., 1]
    # products of axes, not angles: smooth everywhere, and small rotations about held axes are equal to them
    rotations = [(e3 * b2).sum(-1), -(e3 * b1).sum(-1), (e2 * b1).sum(-1)]
    normals = jnp.stack([cross(b2, e3), cross(e3, b1), cross(b1, e2)], axis=-2)
    g = jnp.concatenate([turn_back(Ra, d), jnp.stack(rotations, axis=-1)], axis=-1)

    s_c = turn(gather(R, structure.contact_body), structure.contact_point - gather(c, structure.contact_body))
    p_c = gather(r, structure.contact_body) + s_c
    gap = (structure.contact_frame[:, :, 2] * p_c).sum(-1) - structure.contact_height
    return Geometry(R, Ra, normals, s_a + d, s_b, g, s_c, gap)


@dataclass(frozen=True, eq=False)
class Instant:
    """A mechanism with its numbers in one state. Terms of the equations of motion are computed once, on demand."""

    # It belongs to the trace in which it is created. If it is kept for a later call of a compiled function, or first
    # computes a property inside an inner trace (`jvp`, `scan`), it leaks tracers.

    structure: Structure
    values: Values
    x: State

    @cached_property
    def at(self) -> Geometry:
        return geometry(self.structure, self.values, self.x)

    @cached_property
    def speeds(self) -> tuple[Array, Array, Array]:
        """`rates` at the state's own velocities."""
        return rates(self, self.x.velocity)

    @cached_property
    def jacobians(self) -> tuple[Array, Array, Array]:
        """`rates` as matrices (j, 6, n), (j, 6, n) and (c, 3, n), n = 6 l."""
        l = self.structure.bodies
        # rates are linear in velocities: their derivative at any velocity is their matrix
        slopes = jax.jacfwd(partial(rates, self))(jnp.zeros((l, 6), float))
        held, free, contact = (slope.reshape(*slope.shape[:2], 6 * l) for slope in slopes)
        return held, free, contact

    @cached_property
    def held_jacobian(self) -> Float[Array, "h n"]:
        """G: the rows of the held directions."""
        return picked(self.jacobians[0], np.flatnonzero(self.structure.held))


def rates(
    here: Instant, velocity: BodyVelocities
) -> tuple[Float[Array, "j 6"], Float[Array, "j 6"], Float[Array, "c 3"]]:
    """Speeds in the held directions, in the free ones (the translations are the same), and of contacts."""
    structure, at = here.structure, here.at
    v = jnp.concatenate([jnp.asarray(velocity), jnp.zeros((1, 6), float)])  # the world, body l, is at rest
    v_a, v_b = gather(v, structure.parent), gather(v, structure.child)
    spin = v_b[:, 3:] - v_a[:, 3:]
    # x_b' - x_a' - omega_A x d = v_B + omega_B x s_b - v_A - omega_A x (s_a + d)
    slip = v_b[:, :3] + cross(v_b[:, 3:], at.child_arm) - v_a[:, :3] - cross(v_a[:, 3:], at.parent_arm)
    along = turn_back(at.axes, slip)
    held = jnp.concatenate([along, turn(at.normals, spin)], axis=-1)
    free = jnp.concatenate([along, turn_back(at.axes, spin)], axis=-1)
    v_c = gather(v, structure.contact_body)
    contact = turn_back(structure.contact_frame, v_c[:, :3] + cross(v_c[:, 3:], at.contact_arm))
    return held, free, contact


def momenta(
    here: Instant, held: Float[Array, "j 6"], free: Float[Array, "j 6"], contact: Float[Array, "c 3"]
) -> Float[Array, "l 6"]:
    """Momenta of the bodies from impulses along the directions of `rates`: the transpose of `rates` [N s], [N m s]."""
    # the transpose by reverse mode, so that it cannot differ from `rates` by a sign
    at_rest = jnp.zeros((here.structure.bodies, 6), float)
    given: Array = jax.vjp(partial(rates, here), at_rest)[1]((held, free, contact))[0]
    return given


def picked(rows: Float[Array, "j 6 n"], places: np.ndarray) -> Float[Array, "_ n"]:
    """Rows 6 joint + direction."""
    return rows.reshape(-1, rows.shape[-1])[places]


def product(A: Float[Numbers, "*batch 3 3"], B: Float[Numbers, "*batch 3 3"]) -> Array:
    """A B, as sums: batches of small matrix products are slow."""
    return jnp.sum(jnp.asarray(A)[..., :, :, None] * jnp.asarray(B)[..., None, :, :], axis=-2)
