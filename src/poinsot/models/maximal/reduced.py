"""Joint coordinates: states that close every joint, and the balance of forces for infinitely stiff constraints.

Along a tree of joints from the world outward, each body is placed by its parent and its joint's coordinate y,

    T_wb = T_wa(parent) motion(y) T_ba^-1,    motion: a turn about z, a displacement, or Exp(y) of a ball

and moves with its parent and its joint's rate: omega_B = omega_A + R_a (rate), and the velocity of the joint's point is
that of the parent there (plus the slide). The coordinates of a ball are a rotation vector of at most half a turn, and
its rate is the angular velocity along the parent's axes, which is no derivative of y. Bodies that nothing joins to the
world stay where the reference has them. Joints that close loops are in no tree: the coordinates of the others must
close them.

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

Three coordinates of a rotation are coordinates near one rotation only. So a configuration q has the quaternions e of
balls in place of their rotation vectors, and in each step coordinates of a ball count from its rotation halfway between
both ends: e = Cay(rho) e_m. This holds however far e_m is from the reference and for any number of turns, in steps of
less than half a turn. With (v, w) = e_1 e_0^-1, e_m is e_0 + e_1 of unit length and rho_1 = 2 v / (1 + w) = -rho_0.
Torques of drag and friction along the parent's axes give F the part C(rho)^T torque (`quaternions` has C).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from .bodies import State
from .impulses import Instant, drive, momentum, product, weights
from .precision import Configuration, Controls, JointMotion, Numbers, Scalar
from .quaternions import (
    angular_velocity,
    cayley,
    cayley_rate,
    conjugate,
    cross,
    exp,
    log,
    matrix,
    multiply,
    plus,
    turn,
    unit,
)
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


def configuration(structure: Structure, y: Configuration) -> Float[Array, "_"]:
    """q (n + b,), with quaternions of the b balls, of coordinates y (n,) with their rotation vectors; or q itself."""
    y = jnp.asarray(y)
    if not structure.is_ball.any() or len(y) > structure.free.sum():
        return y
    return jnp.concatenate([exp(y[own]) if turns else y[own] for own, _, turns in structure.parts])


def configurations(structure: Structure, y: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N m"]:
    """The same of many coordinates."""
    columns = [
        Rotation.from_rotvec(np.array(y[:, own])).as_quat() if t else y[:, own]
        for own, _, t in structure.parts
    ]
    return np.concatenate([np.zeros((len(y), 0)), *columns], axis=1)


def rotation_vectors(structure: Structure, q: Float[np.ndarray, "N m"]) -> Float[np.ndarray, "N n"]:
    """Coordinates of many configurations, with rotation vectors of balls."""
    columns = [Rotation.from_quat(q[:, at]).as_rotvec() if t else q[:, at] for _, at, t in structure.parts]
    return np.concatenate([np.zeros((len(q), 0)), *columns], axis=1)


def moved(structure: Structure, q: Numbers, d: Numbers) -> Float[Array, "m"]:
    """q [+] d: a configuration after a change (n,) of its coordinates, of balls a rotation about the parent's axes."""
    q, d = jnp.asarray(q), jnp.asarray(d)
    if not structure.is_ball.any():
        return q + d
    ends = [plus(q[at], d[own]) if turns else q[at] + d[own] for own, at, turns in structure.parts]
    return jnp.concatenate(ends)


class TreeMotion(NamedTuple):
    """Axes of the bodies, centres of mass [m], and velocities, linear [m/s] and angular [rad/s]."""

    axes: Float[Array, "l 3 3"]
    position: Float[Array, "l 3"]
    velocity: Float[Array, "l 6"]


def placed(structure: Structure, values: Values, q: Numbers, rate: Numbers) -> tuple[Array, State]:
    """Axes of the bodies, and the state in which joints have the configuration q and the rates given."""
    motion = along_tree(structure, values, q, rate)
    e: list[Any] = [Rotation.from_matrix(each[:3, :3]).as_quat() for each in structure.placement]
    e.append(np.array([0.0, 0.0, 0.0, 1.0]))
    start, balls = starts(structure, True), _balls(structure, jnp.asarray(q), jnp.asarray(rate), None)
    for body, parent, k, outward in tree(structure):
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        e[body] = multiply(e[parent], _quaternion(getattr(structure, f"{near}_frame")[k]))
        if structure.is_hinge[k]:
            e[body] = multiply(e[body], exp(sign * jnp.asarray(q)[start[k]] * np.array([0.0, 0, 1])))
        elif structure.is_ball[k]:
            e[body] = multiply(e[body], balls[k][0] if outward else conjugate(balls[k][0]))
        e[body] = multiply(e[body], _quaternion(getattr(structure, f"{far}_frame")[k].T))
    quaternions = jnp.stack([jnp.asarray(each) for each in e[: structure.bodies]])
    return motion.axes, State(motion.position, quaternions, motion.velocity)


def along_tree(
    structure: Structure,
    values: Values,
    q: Numbers,
    rate: Numbers,
    about: Sequence[Array] | None = None,
) -> TreeMotion:
    """Motion of the bodies of joints with the configuration q and the rates given.

    Args:
        about: quaternions of balls from which Cayley's coordinates count that q then has in their place, with rates
            that are the derivatives of these; None: the rates of balls are angular velocities.
    """
    # Without the quaternions of bodies, which the balance of forces, differentiated twice, does not need.
    world, place, (q, rate) = structure.bodies, coordinates(structure), (jnp.asarray(q), jnp.asarray(rate))
    # constants while they are the world's: products of these are NumPy's
    T = [*structure.placement, np.eye(4)]
    R: list[Any] = [each[:3, :3] for each in T]
    origin: list[Any] = [each[:3, 3] for each in T]
    speed: list[Any] = [np.zeros(3)] * (world + 1)  # of the frames' origins
    spin: list[Any] = [np.zeros(3)] * (world + 1)
    start, balls = starts(structure, about is None), _balls(structure, q, rate, about)
    for body, parent, k, outward in tree(structure):
        # a joint whose child is nearer to the world moves its parent, by the opposite motion
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        near_frame, far_frame = (getattr(structure, f"{end}_frame")[k] for end in (near, far))
        axes, arm = _turned(R[parent], near_frame), _turned(R[parent], getattr(structure, f"{near}_point")[k])
        turned, spin[body], slide_rate = axes, spin[parent], np.zeros(3)
        if structure.is_hinge[k]:  # without the series of `exp` and its derivatives
            psi, spin[body] = sign * q[start[k]], spin[parent] + rate[place[k].start] * (sign * axes[:, 2])
            c, s = jnp.cos(psi), jnp.sin(psi)
            about_z = c * np.diag([1.0, 1, 0]) + s * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
            turned = product(axes, about_z + np.diag([0.0, 0, 1]))
        elif structure.is_ball[k]:
            relative, omega = balls[k]  # of the child's frame in the parent's
            turned = product(axes, matrix(relative if outward else conjugate(relative)))
            spin[body] = spin[parent] + sign * turn(axes if outward else turned, omega)
        R[body] = _turned(turned, far_frame.T)
        back = _turned(R[body], getattr(structure, f"{far}_point")[k])
        for j, direction in enumerate(np.flatnonzero(structure.free[k, :3]).tolist()):
            along = (axes if outward else turned)[:, direction]  # slides are along the parent's axes
            slide_rate = slide_rate + rate[place[k].start + j] * (sign * along)
            slide = q[start[k] + j] * along
            arm, back = (arm + slide, back) if outward else (arm, back + slide)
        origin[body] = origin[parent] + arm - back
        speed[body] = speed[parent] + slide_rate - cross(spin[body], back)
        if parent != world:  # which does not turn
            speed[body] = speed[body] + cross(spin[parent], arm)
    axes, spins, origins, speeds = (
        jnp.stack([jnp.asarray(each) for each in part[:world]]) for part in (R, spin, origin, speed)
    )
    out = turn(axes, jnp.asarray(values.center))
    return TreeMotion(axes, origins + out, jnp.concatenate([speeds + cross(spins, out), spins], axis=-1))


def _turned(R: Any, constant: np.ndarray) -> Any:
    """R times a constant matrix or vector; a constant if R is one."""
    if isinstance(R, np.ndarray):
        return R @ constant
    return product(R, constant) if constant.ndim == 2 else turn(R, constant)


def starts(structure: Structure, quaternions: bool) -> list[int]:
    """First place of each joint in a configuration, whose balls are quaternions, or in coordinates."""
    sizes = structure.free.sum(axis=1) + (structure.is_ball if quaternions else 0)
    return [0, *np.cumsum(sizes).tolist()][:-1]


def _balls(
    structure: Structure, q: Array, rate: Array, about: Sequence[Array] | None
) -> dict[int, tuple[Array, Array]]:
    """Joint -> quaternion of the child's frame in the parent's, and angular velocity along its axes, of balls."""
    found = []
    for own, at, turns in structure.parts:
        if turns and about is None:
            found.append((q[at], rate[own]))
        elif turns and about is not None:
            rho = q[own]
            found.append((multiply(cayley(rho), about[len(found)]), angular_velocity(rho, rate[own])))
    return dict(zip(np.flatnonzero(structure.is_ball).tolist(), found, strict=True))


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
        elif free.any():
            parts.append(here.at.g[k, np.flatnonzero(free[:3])])
            parts += [log(relative)] if structure.is_ball[k] else []
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _quaternion(R: np.ndarray) -> Array:
    """Quaternion of a constant rotation matrix."""
    return jnp.asarray(Rotation.from_matrix(R).as_quat())


def reduced_errors(
    structure: Structure, values: Values, before: JointMotion, after: JointMotion, u: Controls, h: Scalar
) -> Float[Array, "2 n"]:
    """e_1 and sqrt(3) e_2 [N m s] or [N s] of a step between two motions, under controls that are held over it."""
    about, (y_0, r_0), (y_1, r_1) = _in_step(structure, before, after)
    chord = (y_1 - y_0) / h
    y = jnp.stack([y_0, (y_0 + y_1) / 2 + h / 8 * (r_0 - r_1), y_1])
    rate = jnp.stack([r_0, 1.5 * chord - (r_0 + r_1) / 4, r_1])
    bend = jnp.stack([6 * chord - 4 * r_0 - 2 * r_1, r_1 - r_0, 2 * r_0 + 4 * r_1 - 6 * chord]) / h
    mechanics = _Mechanics(structure, values, about)
    P, F = jax.vmap(mechanics.momenta_and_forces, in_axes=(0, 0, 0, None))(y, rate, bend, u)
    first = P[2] - P[0] - h / 6 * (F[0] + 4 * F[1] + F[2])
    second = 2 / 3 * (P[0] - 2 * P[1] + P[2]) - h / 6 * (F[2] - F[0])
    # sqrt(3): of a white force both moments then have the same variance, and one weight serves for both
    return jnp.stack([first, np.sqrt(3) * second])


def _in_step(
    structure: Structure, before: JointMotion, after: JointMotion
) -> tuple[list[Array], tuple[Array, Array], tuple[Array, Array]]:
    """Rotations of balls halfway, and both motions in coordinates that count from them, with their derivatives."""
    (q_0, r_0), (q_1, r_1) = ((configuration(structure, q), jnp.asarray(rate)) for q, rate in (before, after))
    if not structure.is_ball.any():
        return [], (q_0, r_0), (q_1, r_1)
    about, ends = [], []
    for own, at, turns in structure.parts:
        rows = [q_0[at], r_0[own], q_1[at], r_1[own]]
        if turns:
            step = multiply(q_1[at], conjugate(q_0[at]))
            same = jnp.where(step[3] < 0, -1.0, 1.0)  # e and -e are the same rotation
            rho = 2 * same * step[:3] / (1 + same * step[3])
            about.append(unit(q_0[at] + same * q_1[at]))
            rows = [-rho, cayley_rate(-rho, r_0[own]), rho, cayley_rate(rho, r_1[own])]
        ends.append(rows)
    y_0, r_0, y_1, r_1 = (jnp.concatenate(part) for part in zip(*ends, strict=True))
    return about, (y_0, r_0), (y_1, r_1)


def joint_inertia(structure: Structure, values: Values, y: Configuration) -> Float[Array, "n n"]:
    """M of the momenta P = M y', with shafts [kg m^2], [kg m] or [kg]."""
    n, q = int(structure.free.sum()), configuration(structure, y)

    def motion(rate: Array) -> tuple[Array, Array]:
        bodies = along_tree(structure, values, q, rate)
        return jnp.ravel(bodies.velocity), jnp.ravel(momentum(values, bodies.axes, bodies.velocity))

    # velocities are linear in rates: one row per rate
    velocities, momenta = jax.vmap(motion)(jnp.eye(n))
    return velocities @ momenta.T + jnp.diag(_Mechanics(structure, values).of("shaft"))


class _Mechanics(NamedTuple):
    """A tree of joints at an instant; `about` as of `placed`."""

    structure: Structure
    values: Values
    about: Sequence[Array] = ()

    def momenta_and_forces(
        self, y: Array, rate: Array, acceleration: Array, u: Numbers
    ) -> tuple[Array, Array]:
        """(n,) P, and F with all that acts in joints [N m s], [N m] or [N s], [N]."""
        structure, values = self.structure, self.values
        F, P = jax.grad(self.lagrangian, argnums=(0, 1))(y, rate, weights(values))
        joint, of, speed = self.joints, self.of, self.at_balls(y, rate)
        bound, smooth = friction_parts(structure.laws, of("friction"), speed, jnp)
        effort = drive(structure, values, u)[joint, 0] - of("drag") * speed - smooth
        if structure.dry.any():
            if structure.load.any():
                load = self.loads(y, rate, acceleration)[joint]
                bound = jnp.where(structure.load[joint], bound * load, bound)
            dry = jnp.clip(-of("stick") * speed, -bound, bound)
            effort = effort + jnp.where(structure.dry[joint], dry, 0.0)
        # C^T of torques
        return P + of("shaft") * rate, F + self.at_balls(-y, effort)

    def at_balls(self, y: Array, v: Array) -> Array:
        """(n,) v, with C(y) v for balls."""
        if not self.about:
            return v
        parts = self.structure.parts
        return jnp.concatenate(
            [angular_velocity(y[own], v[own]) if turns else v[own] for own, _, turns in parts]
        )

    @property
    def joints(self) -> np.ndarray:
        """(n,) the joint of each coordinate."""
        return np.repeat(np.arange(len(self.structure.free)), self.structure.free.sum(axis=1))

    def of(self, name: str) -> Array:
        """(n, ...) values of a kind of joint numbers, by coordinate."""
        return jnp.asarray(getattr(self.values, name))[self.joints]

    def lagrangian(self, y: Array, rate: Array, weight: Array) -> Array:
        """Kinetic less potential energy, without shafts, of bodies with these weights (l, 3) [J]."""
        bodies = along_tree(self.structure, self.values, y, rate, self.about)
        kinetic = 0.5 * jnp.sum(momentum(self.values, bodies.axes, bodies.velocity) * bodies.velocity)
        return kinetic + jnp.sum(weight * bodies.position)

    def loads(self, y: Array, rate: Array, acceleration: Array) -> Array:
        """(j,) sizes of the constraints' forces, with the weights of friction [N m] or [N]."""
        structure, values = self.structure, self.values

        def momenta(y: Array, rate: Array) -> Array:
            bodies = along_tree(structure, values, y, rate, self.about)
            return momentum(values, bodies.axes, bodies.velocity)

        gained: Array = jax.jvp(momenta, (y, rate), (rate, acceleration))[1]
        # constraint forces are the change of momentum less the weight
        gained = gained.at[:, :3].add(-weights(values))
        held, free, _ = Instant(structure, values, self.state(y, rate)).jacobians
        every = jnp.where(structure.held[:, :, None], held, free).reshape(-1, 6 * structure.bodies)
        # for a tree, held and free rows together are square and regular: the balance determines all joint forces
        forces = jnp.linalg.solve(every.T, jnp.ravel(gained)).reshape(structure.held.shape)
        return jnp.sum(structure.weight * jnp.abs(jnp.where(structure.held, forces, 0.0)), axis=1)

    def state(self, y: Array, rate: Array) -> State:
        """State of the bodies."""
        parts, balls = self.structure.parts, iter(self.about)
        q = [multiply(cayley(y[own]), next(balls)) if turns else y[own] for own, _, turns in parts]
        return placed(self.structure, self.values, jnp.concatenate(q), self.at_balls(y, rate))[1]
