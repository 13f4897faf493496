"""Constraints: how far joints and contacts are from where they should be, how fast that changes, and who feels it.

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

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .bodies import State
from .precision import Numbers
from .quaternions import cross, matrix, turn, turn_back
from .structure import Structure, gather, scatter
from .values import Values


class Geometry(NamedTuple):
    """Where everything is at one configuration, in the world's axes.

    Args:
        rotation: (l + 1, 3, 3) of bodies and world.
        axes: (j, 3, 3) R_a.
        normals: (j, 3, 3) rows n of the held rotations.
        parent_arm: (j, 3) s_a + d [m].
        child_arm: (j, 3) s_b [m].
        g: (j, 6) [m], [-].
        contact_arm: (c, 3) [m].
        gap: (c,) [m].
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
    """Of the configuration of x."""
    one = jnp.eye(3, dtype=x.position.dtype)[None]
    R = jnp.concatenate([matrix(jnp.asarray(x.quaternion)), one])
    r = jnp.concatenate([jnp.asarray(x.position), jnp.zeros_like(one[0, :1])])
    c = jnp.concatenate([jnp.asarray(values.center), jnp.zeros_like(one[0, :1])])
    A, B = structure.parent, structure.child

    R_A, R_B = gather(R, A), gather(R, B)
    Ra, Rb = _product(R_A, structure.parent_frame), _product(R_B, structure.child_frame)
    s_a = turn(R_A, structure.parent_point - gather(c, A))
    s_b = turn(R_B, structure.child_point - gather(c, B))
    d = gather(r, B) + s_b - gather(r, A) - s_a
    e2, e3 = Ra[..., 1], Ra[..., 2]
    b1, b2 = Rb[..., 0], Rb[..., 1]
    rotations = [(e3 * b2).sum(-1), -(e3 * b1).sum(-1), (e2 * b1).sum(-1)]
    normals = jnp.stack([cross(b2, e3), cross(e3, b1), cross(b1, e2)], axis=-2)
    g = jnp.concatenate([turn_back(Ra, d), jnp.stack(rotations, axis=-1)], axis=-1)

    s_c = turn(gather(R, structure.contact_body), structure.contact_point - gather(c, structure.contact_body))
    p_c = gather(r, structure.contact_body) + s_c
    gap = (structure.contact_frame[:, :, 2] * p_c).sum(-1) - structure.contact_height
    return Geometry(R, Ra, normals, s_a + d, s_b, g, s_c, gap)


def rates(
    structure: Structure, at: Geometry, velocity: Float[Numbers, "l 6"]
) -> tuple[Float[Array, "j 6"], Float[Array, "j 6"], Float[Array, "c 3"]]:
    """Speeds in the held directions, in the free ones (the translations are the same), and of contacts."""
    v = jnp.concatenate([jnp.asarray(velocity), jnp.zeros((1, 6), float)])
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
    structure: Structure,
    at: Geometry,
    held: Float[Array, "j 6"],
    free: Float[Array, "j 6"],
    contact: Float[Array, "c 3"],
) -> Float[Array, "l 6"]:
    """What impulses along the directions of `rates` give to the bodies: the transpose of `rates` [N s], [N m s]."""
    force = turn(at.axes, held[:, :3] + free[:, :3])
    torque = turn_back(at.normals, held[:, 3:]) + turn(at.axes, free[:, 3:])
    on_child = jnp.concatenate([force, cross(at.child_arm, force) + torque], axis=-1)
    on_parent = -jnp.concatenate([force, cross(at.parent_arm, force) + torque], axis=-1)
    push = turn(structure.contact_frame, contact)
    on_contact = jnp.concatenate([push, cross(at.contact_arm, push)], axis=-1)
    return scatter(
        [
            (on_child, structure.child),
            (on_parent, structure.parent),
            (on_contact, structure.contact_body),
        ],
        structure.bodies,
    )


def jacobians(
    structure: Structure, at: Geometry
) -> tuple[Float[Array, "j 6 n"], Float[Array, "j 6 n"], Float[Array, "c 3 n"]]:
    """`rates` as matrices, n = 6 l."""
    l = structure.bodies
    e = jnp.swapaxes(at.axes, -1, -2)  # rows e_i
    nothing = jnp.zeros_like(e)

    def joined(child: Array, parent: Array) -> Array:
        """(j, 6, n) from the blocks (j, 6, 6) of the child and the parent."""
        to_child, to_parent = (
            np.eye(l + 1)[i][:, None, :l, None] for i in (structure.child, structure.parent)
        )
        return (child[:, :, None, :] * to_child + parent[:, :, None, :] * to_parent).reshape(-1, 6, 6 * l)

    def block(arm: Array, normals: Array) -> Array:
        moments = cross(jnp.broadcast_to(arm[:, None, :], e.shape), e)
        translations, rotations = (
            jnp.concatenate(pair, axis=-1) for pair in ((e, moments), (nothing, normals))
        )
        return jnp.concatenate([translations, rotations], axis=-2)

    held = joined(block(at.child_arm, at.normals), -block(at.parent_arm, at.normals))
    free = joined(block(at.child_arm, e), -block(at.parent_arm, e))
    t = np.swapaxes(structure.contact_frame, -1, -2)
    arm = jnp.broadcast_to(at.contact_arm[:, None, :], t.shape)
    rows = jnp.concatenate([jnp.asarray(t), cross(arm, jnp.asarray(t))], axis=-1)
    to_body = np.eye(l + 1)[structure.contact_body][:, None, :l, None]
    return held, free, (rows[:, :, None, :] * to_body).reshape(-1, 3, 6 * l)


def _product(A: Array, B: np.ndarray) -> Array:
    """A B of batches of 3 x 3 matrices, as sums."""
    return jnp.sum(A[..., :, :, None] * B[..., None, :, :], axis=-2)
