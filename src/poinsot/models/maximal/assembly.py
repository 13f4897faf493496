"""Joint coordinates and maximal ones: from angles and speeds to states that close every joint, and back.

Along a tree of joints from the world outward, each body is placed by its parent and its joint's coordinate y,

    T_wb = T_wa(parent) motion(y) T_ba^-1,    motion: a turn about z, a displacement along z, Exp(y) of a ball

and moves with its parent and its joint's rate: omega_B = omega_A + R_a (rate), and the velocity of the joint's point is
that of the parent there (plus the slide). Bodies that nothing joins to the world stay where the reference has them.
Joints that close loops are in no tree: the coordinates of the others must close them.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .bodies import State
from .constraints import Geometry
from .precision import Numbers
from .quaternions import conjugate, cross, exp, log, matrix, multiply, turn
from .structure import Structure
from .values import Values


def tree(structure: Structure) -> list[tuple[int, int, int, bool]]:
    """(body, its parent, joint, whether the body is the joint's child), parents first."""
    world = structure.bodies
    reached, found = {world}, []
    growing = True
    while growing:
        growing = False
        for k, (a, b) in enumerate(zip(structure.parent.tolist(), structure.child.tolist(), strict=True)):
            if (a in reached) != (b in reached):
                body, parent = (b, a) if a in reached else (a, b)
                found.append((body, parent, k, body == b))
                reached.add(body)
                growing = True
    return found


def coordinates(structure: Structure) -> list[slice]:
    """Where in y the coordinates of each joint are; those that close loops have their places too."""
    ends = np.cumsum(structure.free.sum(axis=1))
    return [slice(int(end - n), int(end)) for end, n in zip(ends, structure.free.sum(axis=1), strict=True)]


def assemble(
    structure: Structure,
    values: Values,
    reference: tuple[np.ndarray, np.ndarray],
    y: Float[Numbers, "n"],
    rate: Float[Numbers, "n"],
) -> State:
    """The state in which joints have the coordinates y and the rates given.

    Args:
        reference: (l, 3) origins [m] and (l, 4) quaternions of the bodies' frames in the reference configuration.
    """
    world = structure.bodies
    place = coordinates(structure)
    origin = {i: jnp.asarray(reference[0][i]) for i in range(world)} | {world: jnp.zeros(3)}
    turned = {i: jnp.asarray(reference[1][i]) for i in range(world)} | {
        world: jnp.array([0.0, 0.0, 0.0, 1.0])
    }
    speed = {i: jnp.zeros(3) for i in range(world + 1)}  # of the frame's origin
    spin = {i: jnp.zeros(3) for i in range(world + 1)}
    for body, parent, k, outward in tree(structure):
        free = structure.free[k]
        motion, motion_rate = jnp.zeros(6), jnp.zeros(6)
        if free.any():
            motion = motion.at[np.flatnonzero(free)].set(y[place[k]])
            motion_rate = motion_rate.at[np.flatnonzero(free)].set(rate[place[k]])
        near, far = ("parent", "child") if outward else ("child", "parent")
        sign = 1 if outward else -1
        step = exp(motion[3:]) if outward else conjugate(exp(motion[3:]))
        e_a = multiply(turned[parent], _quaternion(getattr(structure, f"{near}_frame")[k]))
        e_b = multiply(e_a, step)
        arm = turn(matrix(turned[parent]), jnp.asarray(getattr(structure, f"{near}_point")[k]))
        # the slide is along an axis that both frames share: sliders do not turn
        slide, slide_rate, own_rate = (
            sign * turn(matrix(e_a), x) for x in (motion[:3], motion_rate[:3], motion_rate[3:])
        )
        turned[body] = multiply(e_b, _quaternion(getattr(structure, f"{far}_frame")[k].T))
        back = turn(matrix(turned[body]), jnp.asarray(getattr(structure, f"{far}_point")[k]))
        spin[body] = spin[parent] + own_rate
        origin[body] = origin[parent] + arm + slide - back
        speed[body] = speed[parent] + cross(spin[parent], arm + slide) + slide_rate - cross(spin[body], back)
    quaternion = jnp.stack([turned[i] for i in range(world)])
    out = [turn(matrix(turned[i]), jnp.asarray(values.center)[i]) for i in range(world)]
    position = jnp.stack([origin[i] + out[i] for i in range(world)])
    velocity = jnp.stack(
        [jnp.concatenate([speed[i] + cross(spin[i], out[i]), spin[i]]) for i in range(world)]
    )
    return State(position, quaternion, velocity)


def relative_rotation(structure: Structure, x: State) -> Float[Array, "j 4"]:
    """The rotation from frame b to frame a of each joint, as a quaternion."""
    e = jnp.concatenate([jnp.asarray(x.quaternion), jnp.array([[0.0, 0.0, 0.0, 1.0]])])
    turned = []
    for k, (a, b) in enumerate(zip(structure.parent.tolist(), structure.child.tolist(), strict=True)):
        e_a = multiply(e[a], _quaternion(structure.parent_frame[k]))
        e_b = multiply(e[b], _quaternion(structure.child_frame[k]))
        turned.append(multiply(conjugate(e_a), e_b))
    return jnp.stack(turned) if turned else jnp.zeros((0, 4))


def joint_coordinates(structure: Structure, at: Geometry, x: State) -> Float[Array, "n"]:
    """y: angles in (-pi, pi], displacements, rotation vectors of balls; joint by joint."""
    relative = relative_rotation(structure, x)
    parts = []
    for k, free in enumerate(structure.free):
        if structure.is_hinge[k]:
            e = relative[k]
            half = jnp.where(e[3] < 0, -1.0, 1.0)
            parts.append(2 * jnp.arctan2(half * e[2], half * e[3])[None])
        elif structure.is_ball[k]:
            parts.append(log(relative[k]))
        elif free.any():
            parts.append(at.g[k, np.flatnonzero(free)])
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _quaternion(R: np.ndarray) -> Array:
    """Of a constant rotation."""
    from scipy.spatial.transform import Rotation

    return jnp.asarray(Rotation.from_matrix(R).as_quat())
