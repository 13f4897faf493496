"""Joint coordinates: states that close every joint, and the balance of forces for infinitely stiff constraints.

Along a tree of joints from the world outward, each body is placed by its parent and its joint's coordinate y,

    T_wb = T_wa(parent) motion(y) T_ba^-1,    motion: a turn about z, a displacement along z, Exp(y) of a ball

and moves with its parent and its joint's rate: omega_B = omega_A + R_a (rate), and the velocity of the joint's point is
that of the parent there (plus the slide). Bodies that nothing joins to the world stay where the reference has them.
Joints that close loops are in no tree: the coordinates of the others must close them.

**The balance.** External impulses (2.29) compute the constraints' impulses from their violation, lambda = (...) /
Sigma, so an error e of the state becomes one of e / Sigma: with compliance 1e-9 that dominates. Two forms avoid this.

*Implicit*: with v* the velocity after a step forward from x_k, the constraints solved for as they are there,

    M (v+ - v*)

is the impulse that the bodies would need if no constraint reacted to it. It is M M_Sigma^-1 times the external
impulse, with M_Sigma = M + G^T Sigma^-1 G (3.13): the same where no constraint acts, and bounded elsewhere.

*Reduced*: a tree of joints has no redundant coordinates, and ideal constraint forces do no work. With joint coordinates
y, P = dL/dy' their momenta and F = dL/dy + (controls, drag, friction), the external force is f = P' - F. Over a step in
which y is the cubic of both ends' coordinates and rates, its middle

    y_m = (y_0 + y_1) / 2 + h/8 (y'_0 - y'_1),      y'_m = 3/(2h) (y_1 - y_0) - (y'_0 + y'_1) / 4

the first two moments of f, by Simpson's rule after integrating P' by parts, are

    e_1 = int f dt               = P_1 - P_0 - h/6 (F_0 + 4 F_m + F_1)
    e_2 = 2/h int f (t - t_m) dt = 2/3 (P_0 - 2 P_m + P_1) - h/6 (F_1 - F_0)

two impulses per coordinate, as many as in (3.7, 3.8). They are of fourth order in h, neither brake nor drive a motion,
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

from .bodies import State
from .impulses import drive, momentum, product, weights
from .precision import Controls, Coordinates, JointMotion, Numbers, Scalar
from .quaternions import cross, exp, matrix, multiply, quaternion_of, turn, turn_back
from .values import Structure, Values, friction_parts, gather


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


class _Chain(NamedTuple):
    """Frames of the bodies of a tree at joint coordinates, and what moves them.

    Args:
        rotation: (l, 3, 3) axes of the bodies. origin: (l, 3) of their frames in the world [m].
        axes: (n, 3) axes of the coordinates; points: (n, 3) points on them.
    """

    rotation: Float[Array, "l 3 3"]
    origin: Float[Array, "l 3"]
    axes: Float[Array, "n 3"]
    points: Float[Array, "n 3"]


def _chain(structure: Structure, y: Coordinates) -> _Chain:
    """Frames of all bodies when joints have the coordinates y (n,)."""
    world, place, y = structure.bodies, coordinates(structure), jnp.asarray(y)
    T = [jnp.asarray(each) for each in (*structure.placement, np.eye(4))]
    R, origin = [each[:3, :3] for each in T], [each[:3, 3] for each in T]
    along, points = [jnp.zeros(3)] * len(y), [jnp.zeros(3)] * len(y)
    for body, parent, k, outward in tree(structure):
        # a joint whose child is nearer to the world moves its parent, by the opposite motion
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        near_frame, far_frame = (getattr(structure, f"{end}_frame")[k] for end in (near, far))
        axes = product(R[parent], near_frame)
        arm, psi = turn(R[parent], getattr(structure, f"{near}_point")[k]), [jnp.zeros(())] * 3
        pivot = origin[parent] + arm
        for j, direction in zip(
            range(place[k].start, place[k].stop), np.flatnonzero(structure.free[k]), strict=True
        ):
            along[j], points[j] = sign * axes[:, direction % 3], pivot
            if direction < 3:  # sliders do not turn, so that both frames share the axis of the slide
                pivot = pivot + y[j] * along[j]
            else:
                psi[direction - 3] = sign * y[j]
        if structure.is_hinge[k]:  # without the series of `exp` and its derivatives
            c, s = jnp.cos(psi[2]), jnp.sin(psi[2])
            about_z = c * np.diag([1.0, 1, 0]) + s * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
            turned = product(axes, about_z + np.diag([0.0, 0, 1]))
        else:
            turned = product(axes, matrix(exp(jnp.stack(psi)))) if structure.is_ball[k] else axes
        R[body] = product(turned, far_frame.T)
        origin[body] = pivot - turn(R[body], getattr(structure, f"{far}_point")[k])
    none = jnp.zeros((0, 3))
    return _Chain(
        jnp.stack(R[:world]),
        jnp.stack(origin[:world]),
        jnp.stack(along) if along else none,
        jnp.stack(points) if points else none,
    )


def _beyond(structure: Structure) -> tuple[Float[np.ndarray, "n l"], Float[np.ndarray, "n n"]]:
    """Which bodies each coordinate moves, and which coordinates move the body that carries the axis of each."""
    joints, world = _joints(structure), structure.bodies
    beyond, near = np.zeros((len(structure.free), world + 1)), np.full(len(structure.free), world)
    for body, parent, k, _ in tree(structure):
        beyond[:, body] = beyond[:, parent]
        beyond[k, body], near[k] = 1.0, parent
    return beyond[joints, :world], beyond[joints][:, near[joints]].T


def _joints(structure: Structure) -> np.ndarray:
    """(n,) the joint of each coordinate."""
    return np.repeat(np.arange(len(structure.free)), structure.free.sum(axis=1))


def placed(structure: Structure, values: Values, y: Coordinates, rate: Coordinates) -> State:
    """The state in which joints have the coordinates y and the rates given."""
    # quaternions are the products of those of the joints, so that they are continuous along a motion
    world, place, y = structure.bodies, coordinates(structure), jnp.asarray(y)
    e = [quaternion_of(each[:3, :3]) for each in (*structure.placement, np.eye(4))]
    for body, parent, k, outward in tree(structure):
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        near_frame, far_frame = (getattr(structure, f"{end}_frame")[k] for end in (near, far))
        psi = [jnp.zeros(())] * 3
        for j, direction in zip(
            range(place[k].start, place[k].stop), np.flatnonzero(structure.free[k]), strict=True
        ):
            if direction >= 3:
                psi[direction - 3] = sign * y[j]
        turned = multiply(multiply(e[parent], quaternion_of(near_frame)), exp(jnp.stack(psi)))
        e[body] = multiply(turned, quaternion_of(far_frame.T))
    mechanics = _Mechanics.at(structure, values, y)
    return State(mechanics.centers, jnp.stack(e[:world]), mechanics.velocities(jnp.asarray(rate)))


def _sums(which: np.ndarray, rows: Float[Array, "a b"]) -> Array:
    """Sums of the rows that `which` (c, a) marks, as sums: batches of small matrix products are slow."""
    return jnp.sum(which[:, :, None] * rows, axis=1)


def reduced_errors(
    structure: Structure, values: Values, before: JointMotion, after: JointMotion, u: Controls, h: Scalar
) -> Float[Array, "2 n"]:
    """e_1 and sqrt(3) e_2 [N m s] or [N s] of a step between two motions, under controls that are held over it."""
    (y_0, r_0), (y_1, r_1) = ((jnp.asarray(part) for part in end) for end in (before, after))
    chord = (y_1 - y_0) / h
    y = jnp.stack([y_0, (y_0 + y_1) / 2 + h / 8 * (r_0 - r_1), y_1])
    rate = jnp.stack([r_0, 1.5 * chord - (r_0 + r_1) / 4, r_1])
    bend = jnp.stack([6 * chord - 4 * r_0 - 2 * r_1, r_1 - r_0, 2 * r_0 + 4 * r_1 - 6 * chord]) / h

    def balance(y: Array, rate: Array, bend: Array) -> tuple[Array, Array]:
        return _Mechanics.at(structure, values, y).momenta_and_forces(rate, bend, u)

    P, F = jax.vmap(balance)(y, rate, bend)
    first = P[2] - P[0] - h / 6 * (F[0] + 4 * F[1] + F[2])
    second = 2 / 3 * (P[0] - 2 * P[1] + P[2]) - h / 6 * (F[2] - F[0])
    # sqrt(3): of a white force both moments then have the same variance, and one weight serves for both
    return jnp.stack([first, np.sqrt(3) * second])


def joint_inertia(structure: Structure, values: Values, y: Coordinates) -> Float[Array, "n n"]:
    """M of the momenta P = M y', with shafts [kg m^2], [kg m] or [kg]."""
    mechanics = _Mechanics.at(structure, values, y)
    # momenta are linear in rates: one column per rate
    return jax.vmap(mechanics.momenta)(jnp.eye(len(y)))


class _Mechanics(NamedTuple):
    """A tree of joints in a posture.

    Args:
        y: (n,) coordinates. centers: (l, 3) of mass in the world [m].
        motions: (n, 6) velocity at the world's origin, and angular velocity, of what a coordinate moves, by its rate.
    """

    structure: Structure
    values: Values
    y: Coordinates
    chain: _Chain
    centers: Float[Array, "l 3"]
    motions: Float[Array, "n 6"]

    @classmethod
    def at(cls, structure: Structure, values: Values, y: Coordinates) -> _Mechanics:
        """The tree with the coordinates y (n,)."""
        chain = _chain(structure, y)
        slides = (np.nonzero(structure.free)[1] < 3)[:, None]
        moment = jnp.where(slides, chain.axes, cross(chain.points, chain.axes))
        motions = jnp.concatenate([moment, jnp.where(slides, 0.0, chain.axes)], axis=1)
        centers = chain.origin + turn(chain.rotation, jnp.asarray(values.center))
        return cls(structure, values, jnp.asarray(y), chain, centers, motions)

    def of(self, name: str) -> Array:
        """(n, ...) values of a kind of joint numbers, by coordinate."""
        return jnp.asarray(getattr(self.values, name))[_joints(self.structure)]

    @property
    def weights(self) -> Float[Array, "l 6"]:
        """At the centres of mass [N], without moments."""
        force = weights(self.values)
        return jnp.concatenate([force, jnp.zeros_like(force)], axis=1)

    def velocities(self, rate: Array) -> Float[Array, "l 6"]:
        """Of the centres of mass, with the angular velocities."""
        beyond, _ = _beyond(self.structure)
        speed, spin = jnp.split(_sums(beyond.T, self.motions * rate[:, None]), 2, axis=1)
        return jnp.concatenate([speed + cross(spin, self.centers), spin], axis=1)

    def carried(self, of_bodies: Float[Array, "l 6"]) -> Float[Array, "n 6"]:
        """Forces, or momenta, at the centres of the bodies, summed about the world's origin over those that each
        coordinate moves.
        """
        beyond, _ = _beyond(self.structure)
        force, moment = jnp.split(of_bodies, 2, axis=1)
        return _sums(beyond, jnp.concatenate([force, moment + cross(self.centers, force)], axis=1))

    def momenta(self, rate: Array) -> Float[Array, "n"]:
        """M y' of the bodies, with shafts."""
        return self.along(self.carried_momenta(rate)) + self.of("shaft") * rate

    def carried_momenta(self, rate: Array) -> Float[Array, "n 6"]:
        """Momenta of the bodies that each coordinate moves, about the world's origin."""
        return self.carried(momentum(self.values, self.chain.rotation, self.velocities(rate)))

    def along(self, carried: Float[Array, "n 6"]) -> Float[Array, "n"]:
        """Components of forces, or momenta, along the coordinates."""
        return jnp.sum(self.motions * carried, axis=1)

    def momenta_and_forces(
        self, rate: Array, acceleration: Array, u: Numbers
    ) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
        """(n,) P, and F with all that acts in joints [N m s], [N m] or [N s], [N]."""
        structure, values = self.structure, self.values
        joint, of = _joints(structure), self.of
        h = self.carried_momenta(rate)
        weight = self.carried(self.weights)
        # dL/dy: axes move with the bodies that carry them, and momenta along them change by that
        _, carried = _beyond(structure)
        speed, spin = jnp.split(_sums(carried, self.motions * rate[:, None]), 2, axis=1)
        along, about = jnp.split(self.motions, 2, axis=1)
        moved = jnp.concatenate([cross(spin, along) + cross(speed, about), cross(spin, about)], axis=1)
        F = jnp.sum(moved * h, axis=1) + self.along(weight)
        F = F + drive(structure, values, u)[joint, 0] - of("drag") * rate
        bound, smooth = friction_parts(structure.laws, of("friction"), rate, jnp)
        F = F - smooth
        if structure.dry.any():
            if structure.load.any():
                load = self.loads(rate, acceleration)
                bound = jnp.where(structure.load[joint], bound * load, bound)
            F = F + jnp.where(structure.dry[joint], jnp.clip(-of("stick") * rate, -bound, bound), 0.0)
        return self.along(h) + of("shaft") * rate, F

    def loads(self, rate: Array, acceleration: Array) -> Float[Array, "n"]:
        """Sizes of the constraints' forces in the joint of each coordinate, as friction weights them [N m] or [N]."""
        structure, values, joint = self.structure, self.values, _joints(self.structure)

        def momenta(y: Array, rate: Array) -> Array:
            there = _Mechanics.at(structure, values, y)
            return momentum(values, there.chain.rotation, there.velocities(rate))

        gained: Array = jax.jvp(momenta, (self.y, rate), (rate, acceleration))[1]
        # constraint forces are the change of momentum less the weight
        force, moment = jnp.split(self.carried(gained - self.weights), 2, axis=1)
        rotation = jnp.concatenate([self.chain.rotation, jnp.eye(3)[None]])
        origin = jnp.concatenate([self.chain.origin, jnp.zeros((1, 3))])
        parent, child = structure.parent[joint], structure.child[joint]
        R_a, R_b = gather(rotation, parent), gather(rotation, child)
        moment = moment - cross(gather(origin, child) + turn(R_b, structure.child_point[joint]), force)
        # axes as in `impulses.rates`: of the parent for translations, of the child for rotations
        held = [
            turn_back(product(R_a, structure.parent_frame[joint]), force),
            turn_back(product(R_b, structure.child_frame[joint]), moment),
        ]
        return jnp.sum(structure.weight[joint] * jnp.abs(jnp.concatenate(held, axis=1)), axis=1)
