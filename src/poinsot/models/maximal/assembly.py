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
from scipy.spatial.transform import Rotation

from .bodies import State
from .constraints import Instant, product
from .precision import Coordinates
from .quaternions import conjugate, cross, exp, log, matrix, multiply, turn
from .structure import Structure
from .values import Values


def tree(structure: Structure) -> list[tuple[int, int, int, bool]]:
    """(body, its parent, joint, whether the body is the joint's child), parents first."""
    world = structure.bodies
    reached, found = {world}, []
    growing = True  # joints may be listed in any order: pass over them until none adds a body
    while growing:
        growing = False
        for k, (a, b) in enumerate(zip(structure.parent.tolist(), structure.child.tolist(), strict=True)):
            if (a in reached) != (b in reached):  # if both are, the joint closes a loop
                body, parent = (b, a) if a in reached else (a, b)
                found.append((body, parent, k, body == b))
                reached.add(body)
                growing = True
    return found


def coordinates(structure: Structure) -> list[slice]:
    """Slices of y of each joint's coordinates, those of joints that close loops included."""
    ends = np.cumsum(structure.free.sum(axis=1))
    return [slice(int(end - n), int(end)) for end, n in zip(ends, structure.free.sum(axis=1), strict=True)]


def placed(
    structure: Structure, values: Values, y: Coordinates, rate: Coordinates
) -> tuple[Float[Array, "l 3 3"], State]:
    """Axes of the bodies, and the state in which joints have the coordinates y and the rates given."""
    # Axes and quaternions are both computed along the tree. The reduced form needs the axes alone, many times per step:
    # compilation then leaves out the quaternions, which cost more.
    world, place, (y, rate) = structure.bodies, coordinates(structure), (jnp.asarray(y), jnp.asarray(rate))
    T = [jnp.asarray(each) for each in (*structure.placement, np.eye(4))]
    R, origin = [each[:3, :3] for each in T], [each[:3, 3] for each in T]
    e = [_quaternion(each[:3, :3]) for each in (*structure.placement, np.eye(4))]
    speed, spin = [jnp.zeros(3)] * (world + 1), [jnp.zeros(3)] * (world + 1)  # speeds of the frames' origins
    for body, parent, k, outward in tree(structure):
        # a joint whose child is nearer to the world moves its parent, by the opposite motion
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        near_frame, far_frame = (getattr(structure, f"{end}_frame")[k] for end in (near, far))
        axes = product(R[parent], near_frame)
        arm = turn(R[parent], getattr(structure, f"{near}_point")[k])
        spin[body], slide_rate, psi = spin[parent], jnp.zeros(3), [jnp.zeros(())] * 3
        for j, direction in zip(
            range(place[k].start, place[k].stop), np.flatnonzero(structure.free[k]), strict=True
        ):
            along = sign * axes[:, direction % 3]
            if direction < 3:  # sliders do not turn, so that both frames share the axis of the slide
                arm, slide_rate = arm + y[j] * along, slide_rate + rate[j] * along
            else:
                spin[body], psi[direction - 3] = spin[body] + rate[j] * along, sign * y[j]
        if structure.is_hinge[k]:  # without the series of `exp` and its derivatives
            c, s = jnp.cos(psi[2]), jnp.sin(psi[2])
            about_z = c * np.diag([1.0, 1, 0]) + s * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
            turned = product(axes, about_z + np.diag([0.0, 0, 1]))
        else:
            turned = product(axes, matrix(exp(jnp.stack(psi)))) if structure.is_ball[k] else axes
        e[body] = multiply(
            multiply(multiply(e[parent], _quaternion(near_frame)), exp(jnp.stack(psi))),
            _quaternion(far_frame.T),
        )
        R[body] = product(turned, far_frame.T)
        back = turn(R[body], getattr(structure, f"{far}_point")[k])
        origin[body] = origin[parent] + arm - back
        speed[body] = speed[parent] + cross(spin[parent], arm) + slide_rate - cross(spin[body], back)
    axes, spins = jnp.stack(R[:world]), jnp.stack(spin[:world])
    out = turn(axes, jnp.asarray(values.center))
    velocity = jnp.concatenate([jnp.stack(speed[:world]) + cross(spins, out), spins], axis=-1)
    return axes, State(jnp.stack(origin[:world]) + out, jnp.stack(e[:world]), velocity)


def joint_coordinates(here: Instant) -> Float[Array, "n"]:
    """y: angles in (-pi, pi], displacements, rotation vectors of balls; joint by joint."""
    structure, parts = here.structure, []
    e = jnp.concatenate([jnp.asarray(here.x.quaternion), jnp.array([[0.0, 0.0, 0.0, 1.0]])])
    for k, free in enumerate(structure.free):
        e_a = multiply(e[int(structure.parent[k])], _quaternion(structure.parent_frame[k]))
        e_b = multiply(e[int(structure.child[k])], _quaternion(structure.child_frame[k]))
        relative = multiply(conjugate(e_a), e_b)  # from frame b to frame a
        if structure.is_hinge[k]:
            # e and -e are the same rotation; with w >= 0 the angle is in [-pi, pi]
            half = jnp.where(relative[3] < 0, -1.0, 1.0)
            parts.append(2 * jnp.arctan2(half * relative[2], half * relative[3])[None])
        elif structure.is_ball[k]:
            parts.append(log(relative))
        elif free.any():
            parts.append(here.at.g[k, np.flatnonzero(free)])
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _quaternion(R: np.ndarray) -> Array:
    """Quaternion of a constant rotation matrix."""
    return jnp.asarray(Rotation.from_matrix(R).as_quat())
