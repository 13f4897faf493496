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
from .impulses import Instant, drive, momentum, product, weights
from .precision import Controls, Coordinates, JointMotion, Numbers, Scalar
from .quaternions import cross, exp, matrix, multiply, quaternion_of, turn
from .values import Structure, Values, friction_parts


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
    e = [quaternion_of(each[:3, :3]) for each in (*structure.placement, np.eye(4))]
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
            multiply(multiply(e[parent], quaternion_of(near_frame)), exp(jnp.stack(psi))),
            quaternion_of(far_frame.T),
        )
        R[body] = product(turned, far_frame.T)
        back = turn(R[body], getattr(structure, f"{far}_point")[k])
        origin[body] = origin[parent] + arm - back
        speed[body] = speed[parent] + cross(spin[parent], arm) + slide_rate - cross(spin[body], back)
    axes, spins = jnp.stack(R[:world]), jnp.stack(spin[:world])
    out = turn(axes, jnp.asarray(values.center))
    velocity = jnp.concatenate([jnp.stack(speed[:world]) + cross(spins, out), spins], axis=-1)
    return axes, State(jnp.stack(origin[:world]) + out, jnp.stack(e[:world]), velocity)


def reduced_errors(
    structure: Structure, values: Values, before: JointMotion, after: JointMotion, u: Controls, h: Scalar
) -> Float[Array, "2 n"]:
    """e_1 and sqrt(3) e_2 [N m s] or [N s] of a step between two motions, under controls that are held over it."""
    (y_0, r_0), (y_1, r_1) = ((jnp.asarray(part) for part in end) for end in (before, after))
    chord = (y_1 - y_0) / h
    y = jnp.stack([y_0, (y_0 + y_1) / 2 + h / 8 * (r_0 - r_1), y_1])
    rate = jnp.stack([r_0, 1.5 * chord - (r_0 + r_1) / 4, r_1])
    bend = jnp.stack([6 * chord - 4 * r_0 - 2 * r_1, r_1 - r_0, 2 * r_0 + 4 * r_1 - 6 * chord]) / h
    mechanics = _Mechanics(structure, values)
    P, F = jax.vmap(mechanics.momenta_and_forces, in_axes=(0, 0, 0, None))(y, rate, bend, u)
    first = P[2] - P[0] - h / 6 * (F[0] + 4 * F[1] + F[2])
    second = 2 / 3 * (P[0] - 2 * P[1] + P[2]) - h / 6 * (F[2] - F[0])
    # sqrt(3): of a white force both moments then have the same variance, and one weight serves for both
    return jnp.stack([first, np.sqrt(3) * second])


def joint_inertia(structure: Structure, values: Values, y: Coordinates) -> Float[Array, "n n"]:
    """M of the momenta P = M y', with shafts [kg m^2], [kg m] or [kg]."""
    n = len(y)

    def moved(rate: Array) -> tuple[Array, Array]:
        R, x = placed(structure, values, y, rate)
        return jnp.ravel(x.velocity), jnp.ravel(momentum(values, R, x.velocity))

    # velocities are linear in rates: one row per rate
    velocities, momenta = jax.vmap(moved)(jnp.eye(n))
    return velocities @ momenta.T + jnp.diag(_Mechanics(structure, values).of("shaft"))


class _Mechanics(NamedTuple):
    """A tree of joints at an instant."""

    structure: Structure
    values: Values

    def momenta_and_forces(
        self, y: Array, rate: Array, acceleration: Array, u: Numbers
    ) -> tuple[Array, Array]:
        """(n,) P, and F with all that acts in joints [N m s], [N m] or [N s], [N]."""
        structure, values = self.structure, self.values
        F, P = jax.grad(self.lagrangian, argnums=(0, 1))(y, rate)
        joint, of = self.joints, self.of
        F = F + drive(structure, values, u)[joint, 0] - of("drag") * rate
        bound, smooth = friction_parts(structure.laws, of("friction"), rate, jnp)
        F = F - smooth
        if structure.dry.any():
            if structure.load.any():
                load = self.loads(y, rate, acceleration)[joint]
                bound = jnp.where(structure.load[joint], bound * load, bound)
            F = F + jnp.where(structure.dry[joint], jnp.clip(-of("stick") * rate, -bound, bound), 0.0)
        return P + of("shaft") * rate, F

    @property
    def joints(self) -> np.ndarray:
        """(n,) the joint of each coordinate."""
        return np.repeat(np.arange(len(self.structure.free)), self.structure.free.sum(axis=1))

    def of(self, name: str) -> Array:
        """(n, ...) values of a kind of joint numbers, by coordinate."""
        return jnp.asarray(getattr(self.values, name))[self.joints]

    def lagrangian(self, y: Array, rate: Array) -> Array:
        """Kinetic less potential energy, without shafts [J]."""
        R, x = placed(self.structure, self.values, y, rate)
        kinetic = 0.5 * jnp.sum(momentum(self.values, R, x.velocity) * x.velocity)
        return kinetic + jnp.sum(weights(self.values) * x.position)

    def loads(self, y: Array, rate: Array, acceleration: Array) -> Array:
        """(j,) sizes of the constraints' forces, with the weights of friction [N m] or [N]."""
        structure, values = self.structure, self.values

        def momenta(y: Array, rate: Array) -> Array:
            R, x = placed(structure, values, y, rate)
            return momentum(values, R, x.velocity)

        gained: Array = jax.jvp(momenta, (y, rate), (rate, acceleration))[1]
        # constraint forces are the change of momentum less the weight
        gained = gained.at[:, :3].add(-weights(values))
        held, free, _ = Instant(structure, values, placed(structure, values, y, rate)[1]).jacobians
        every = jnp.where(structure.held[:, :, None], held, free).reshape(-1, 6 * structure.bodies)
        # for a tree, held and free rows together are square and regular: the balance determines all joint forces
        forces = jnp.linalg.solve(every.T, jnp.ravel(gained)).reshape(structure.held.shape)
        return jnp.sum(structure.weight * jnp.abs(jnp.where(structure.held, forces, 0.0)), axis=1)
