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

*Dry friction* is F c(v), c between -1 and 1 the direction of v. Where a joint stops or reverses in a step, Simpson's
rule would take it from three instants. With v linear before its zero and after it, at the part w of the step, c is c_0
until there and then c_1, that of the joint at rest or the way back:

    int c dt = h (c_0 w + c_1 (1 - w)),      2/h int c (t - t_m) dt = h (c_1 - c_0) w (1 - w)

The mean of v is (v_0 w + v_1 (1 - w)) / 2, which gives w. A step with constant other forces is then exact. Where v
changes by less than the speed of a joint that sticks, c is smooth in it, and Simpson's rule is used.

**Loops.** A joint that closes a loop has coordinates as well, and a gap: of the position and the axes of its child
from where its coordinates would put them. (A ball without friction has none, and a gap of its position alone.) With
the gaps g(y) and J = dg/dy, forces J^T lambda close it. With lambda linear over a step, its errors contain G lambda,
columns of G being

    h/6 (J_0 + 2 J_m)^T, h/6 (J_1 + 2 J_m)^T   of e_1,      -h/6 J_0^T, h/6 J_1^T   of e_2

What these forces cannot make up for is the balance; in their place the gap is 0 after the step, and its rate too,

    e - G (G^T G)^-1 (G^T e - h/2 m (g_1 / h, J_1 y'_1))

with a mass m, so that gaps are impulses. These are as many errors as there are coordinates; the inverse has a small
number on its diagonal, as loops in a plane are closed by fewer forces than in space.

Three coordinates of a rotation are coordinates near one rotation only. So a configuration q has the quaternions e of
balls in place of their rotation vectors, and in each step coordinates of a ball count from its rotation halfway between
both ends: e = Cay(rho) e_m. This holds however far e_m is from the reference and for any number of turns, in steps of
less than half a turn. With (v, w) = e_1 e_0^-1, e_m is e_0 + e_1 of unit length and rho_1 = 2 v / (1 + w) = -rho_0.
Torques of drag and friction along the parent's axes give F the part C(rho)^T torque (`quaternions` has C).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.spatial.transform import Rotation

from .bodies import State
from .impulses import drive, momentum, product, weights
from .precision import Configuration, Controls, JointMotion, Numbers, Scalar
from .quaternions import (
    angular_velocity,
    cayley,
    cayley_rate,
    conjugate,
    cross,
    exp,
    matrix,
    multiply,
    plus,
    quaternion_of,
    turn,
    turn_back,
    unit,
)
from .values import Structure, Values, branches, friction_parts, gather

SMALL = 1e-9
"""Part of its trace on the diagonal of a matrix that need not be regular."""
SLOWEST = 1e-9
"""Least speed of a joint that sticks [rad/s] or [m/s], where dry friction has no size."""


def tree(structure: Structure) -> list[tuple[int, int, int, bool]]:
    """(body, its parent, joint, whether the body is the joint's child), parents first."""
    turns = [not any(held) for held in structure.held[:, 3:].tolist()]
    return branches(structure.bodies, structure.parent.tolist(), structure.child.tolist(), turns)


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


def configuration_changes(
    structure: Structure, q: Float[np.ndarray, "N m"], before: Float[np.ndarray, "N m"]
) -> Float[np.ndarray, "N n"]:
    """q [-] before of many configurations."""
    columns = [
        (Rotation.from_quat(q[:, at]) * Rotation.from_quat(before[:, at]).inv()).as_rotvec()
        if turns
        else q[:, at] - before[:, at]
        for _, at, turns in structure.parts
    ]
    return np.concatenate([np.zeros((len(q), 0)), *columns], axis=1)


def moved(structure: Structure, q: Numbers, d: Numbers) -> Float[Array, "m"]:
    """q [+] d: a configuration after a change (n,) of its coordinates, of balls a rotation about the parent's axes."""
    q, d = jnp.asarray(q), jnp.asarray(d)
    if not structure.is_ball.any():
        return q + d
    ends = [plus(q[at], d[own]) if turns else q[at] + d[own] for own, at, turns in structure.parts]
    return jnp.concatenate(ends)


class _Ball(NamedTuple):
    """A ball of a tree.

    Args:
        quaternion: (4,) of the child's frame in the parent's. by_rate: (3, 3) a row an angular velocity along the
            parent's axes by the rate of a coordinate. changed: the change of these rows in a time by the rates.
    """

    quaternion: Array
    by_rate: Float[Array, "3 3"]
    changed: Float[Array, "3 3"]

    @classmethod
    def at(cls, rho: Array, rate: Array, about: Array) -> _Ball:
        """In Cayley's coordinates from the rotation `about`, with rates that are derivatives of these."""

        def by_rate(rho: Array) -> Array:
            return angular_velocity(jnp.broadcast_to(rho, (3, 3)), jnp.eye(3))

        return cls(multiply(cayley(rho), about), *jax.jvp(by_rate, (rho,), (rate,)))


class _Chain(NamedTuple):
    """Frames of the bodies of a tree in a configuration, and what moves them.

    Args:
        rotation: (l, 3, 3) axes of the bodies. origin: (l, 3) of their frames in the world [m].
        axes: (n, 3) axes of the coordinates, of balls the angular velocity by their rates; points: (n, 3) points on
            them. changed: (n, 3) change of the axes of balls in the parent.
    """

    rotation: Float[Array, "l 3 3"]
    origin: Float[Array, "l 3"]
    axes: Float[Array, "n 3"]
    points: Float[Array, "n 3"]
    changed: Float[Array, "n 3"]


def _chain(structure: Structure, q: Array, balls: dict[int, _Ball], firsts: list[int]) -> _Chain:
    """Frames of all bodies; `firsts`: the place in q of the first number of each joint."""
    world, place = structure.bodies, coordinates(structure)
    T = [jnp.asarray(each) for each in (*structure.placement, np.eye(4))]
    R, origin = [each[:3, :3] for each in T], [each[:3, 3] for each in T]
    along, points, changed = ([jnp.zeros(3)] * int(structure.free.sum()) for _ in range(3))
    for body, parent, k, outward in tree(structure):
        # a joint whose child is nearer to the world moves its parent, by the opposite motion
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        near_frame, far_frame = (getattr(structure, f"{end}_frame")[k] for end in (near, far))
        axes = product(R[parent], near_frame)
        pivot = origin[parent] + turn(R[parent], getattr(structure, f"{near}_point")[k])
        turned, first, slides = axes, place[k].start, np.flatnonzero(structure.free[k, :3]).tolist()
        if structure.is_hinge[k]:  # without the series of `exp` and its derivatives
            turned = product(axes, _about_z(sign * q[firsts[k]]))
            along[first], points[first] = sign * axes[:, 2], pivot
        elif structure.is_ball[k]:
            e = balls[k].quaternion
            turned = product(axes, matrix(e if outward else conjugate(e)))
        R[body] = product(turned, far_frame.T)
        own, end = axes if outward else turned, pivot  # coordinates are along the parent's axes
        for j, direction in enumerate(slides):
            along[first + j] = sign * own[:, direction]
            end = end + q[firsts[k] + j] * along[first + j]
        if structure.is_ball[k]:
            for j in range(3):
                at = first + len(slides) + j
                along[at], points[at] = sign * turn(own, balls[k].by_rate[j]), end if outward else pivot
                changed[at] = sign * turn(own, balls[k].changed[j])
        origin[body] = end - turn(R[body], getattr(structure, f"{far}_point")[k])
    rows = (jnp.stack(each) if each else jnp.zeros((0, 3)) for each in (along, points, changed))
    return _Chain(jnp.stack(R[:world]), jnp.stack(origin[:world]), *rows)


def _about_z(angle: Array) -> Array:
    """The rotation by an angle about z."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    turned = c * np.diag([1.0, 1, 0]) + s * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
    return turned + np.diag([0.0, 0, 1])


def beyond(structure: Structure) -> tuple[Float[np.ndarray, "n l"], Float[np.ndarray, "n n"]]:
    """Which bodies each coordinate moves, and which coordinates move the axis of each."""
    joints, world = _joints(structure), structure.bodies
    moved, near = np.zeros((len(structure.free), world + 1)), np.full(len(structure.free), world)
    moves, turns = np.zeros((len(joints), len(joints))), np.nonzero(structure.free)[1] >= 3
    for body, parent, k, outward in tree(structure):
        moved[:, body] = moved[:, parent]
        moved[k, body], near[k] = 1.0, parent
        if structure.is_ball[k]:  # slides move the axes of turns after them, turns those of slides
            own = joints == k
            moves += np.outer(own & turns, own & ~turns) if outward else np.outer(own, own & turns)
    return moved[joints, :world], moved[joints][:, near[joints]].T + moves


def _joints(structure: Structure) -> np.ndarray:
    """(n,) the joint of each coordinate."""
    return np.repeat(np.arange(len(structure.free)), structure.free.sum(axis=1))


def placed(structure: Structure, values: Values, q: Configuration, rate: Numbers) -> tuple[Array, State]:
    """Axes of the bodies, and the state in which joints have the configuration q and the rates given."""
    # quaternions are the products of those of the joints, so that they are continuous along a motion
    mechanics, (_, first) = _Mechanics.at(structure, values, q), starts(structure)
    e = [quaternion_of(each[:3, :3]) for each in (*structure.placement, np.eye(4))]
    for body, parent, k, outward in tree(structure):
        near, far, sign = ("parent", "child", 1) if outward else ("child", "parent", -1)
        e[body] = multiply(e[parent], quaternion_of(getattr(structure, f"{near}_frame")[k]))
        if structure.is_hinge[k]:
            e[body] = multiply(e[body], exp(sign * jnp.asarray(q)[first[k]] * np.array([0.0, 0, 1])))
        elif structure.is_ball[k]:
            turned = mechanics.balls[k].quaternion
            e[body] = multiply(e[body], turned if outward else conjugate(turned))
        e[body] = multiply(e[body], quaternion_of(getattr(structure, f"{far}_frame")[k].T))
    quaternions = jnp.stack(e[: structure.bodies])
    return mechanics.chain.rotation, State(
        mechanics.centers, quaternions, mechanics.velocities(jnp.asarray(rate))
    )


def starts(structure: Structure) -> tuple[list[int], list[int]]:
    """First place of each joint in coordinates, and in a configuration, whose balls are quaternions."""
    sizes = structure.free.sum(axis=1)
    return [0, *np.cumsum(sizes).tolist()][:-1], [0, *np.cumsum(sizes + structure.is_ball).tolist()][:-1]


def _sums(which: np.ndarray, rows: Float[Array, "a b"]) -> Array:
    """Sums of the rows that `which` (c, a) marks, as sums: batches of small matrix products are slow."""
    return jnp.sum(which[:, :, None] * rows, axis=1)


class Balance(NamedTuple):
    """The balance of a step.

    Args:
        errors: (2, n) e_1 and sqrt(3) e_2 [N m s] or [N s], with the forces of loops.
        doubt: (n,) standard deviations of impulses of dry friction whose direction the speeds leave open.
        by_forces: (2 n, 2 c) their change G by these, c gaps. gaps: (2 c,) h/2 m (g_1 / h, J_1 y'_1).
    """

    errors: Float[Array, "2 n"]
    doubt: Float[Array, "n"]
    by_forces: Float[Array, "_ _"]
    gaps: Float[Array, "_"]

    def without_forces(self) -> Float[Array, "2 n"]:
        """Errors without what forces of loops make up for, and with the gaps."""
        G, e = self.by_forces, jnp.ravel(self.errors)
        if not G.shape[1]:
            return self.errors
        square = G.T @ G
        square = square + SMALL * jnp.trace(square) / len(square) * jnp.eye(len(square))
        return (e - G @ jnp.linalg.solve(square, G.T @ e - self.gaps)).reshape(self.errors.shape)


def balance(
    structure: Structure,
    values: Values,
    before: JointMotion,
    after: JointMotion,
    u: Controls,
    h: Scalar,
    soft: Float[Numbers, "n"] | float = 0.0,
) -> Balance:
    """The balance of a step between two motions, under controls that are held over it; `soft` as in `Model.balance`."""
    about, (y_0, r_0), (y_1, r_1) = _in_step(structure, before, after)
    chord = (y_1 - y_0) / h
    y = jnp.stack([y_0, (y_0 + y_1) / 2 + h / 8 * (r_0 - r_1), y_1])
    rate = jnp.stack([r_0, 1.5 * chord - (r_0 + r_1) / 4, r_1])
    bend = jnp.stack([6 * chord - 4 * r_0 - 2 * r_1, r_1 - r_0, 2 * r_0 + 4 * r_1 - 6 * chord]) / h

    def at_instant(y: Array, rate: Array, bend: Array) -> tuple[Array, ...]:
        return _Mechanics.within(structure, values, y, rate, about).momenta_and_forces(rate, bend, u)

    P, F, speed, level = jax.vmap(at_instant)(y, rate, bend)
    doubt = jnp.zeros(len(y_0))
    if structure.dry.any():
        dry, doubt = _dry_friction(
            speed, level, jnp.asarray(values.stick)[_joints(structure)], jnp.asarray(soft)
        )

        def against(y: Array, rate: Array, effort: Array) -> Array:
            return _Mechanics.within(structure, values, y, rate, about).at_balls(effort, transposed=True)

        F = F - jax.vmap(against)(y, rate, dry)
    first = P[2] - P[0] - h / 6 * (F[0] + 4 * F[1] + F[2])
    second = 2 / 3 * (P[0] - 2 * P[1] + P[2]) - h / 6 * (F[2] - F[0])
    # sqrt(3): of a white force both moments then have the same variance, and one weight serves for both
    errors = jnp.stack([first, np.sqrt(3) * second])
    if not loops(structure):
        return Balance(errors, h * doubt, jnp.zeros((errors.size, 0)), jnp.zeros(0))

    def gaps(y: Array) -> Array:
        return _Mechanics.within(structure, values, y, jnp.zeros(len(y)), about).gaps()

    J = jax.vmap(jax.jacfwd(gaps))(y)
    upper = jnp.concatenate([J[0] + 2 * J[1], J[2] + 2 * J[1]]).T
    lower = np.sqrt(3) * jnp.concatenate([-J[0], J[2]]).T
    # a lever of 1 m
    open_after = jnp.concatenate([gaps(y_1) / h, J[2] @ r_1])
    scaled = h / 2 * jnp.mean(jnp.asarray(values.mass)) * open_after
    return Balance(errors, h * doubt, h / 6 * jnp.concatenate([upper, lower]), scaled)


def _dry_friction(
    speed: Float[Array, "3 n"], level: Float[Array, "3 n"], stick: Float[Array, "n"], soft: Array
) -> tuple[Float[Array, "3 n"], Float[Array, "n"]]:
    """Dry friction against the motion at both ends of a step and between, of which Simpson's rule takes both moments,
    and the standard deviation of its mean.

    Args:
        speed, level: of joints, and of friction there. stick: drag of joints that stick. soft: as in `Model.balance`.
    """

    def mean(at: Float[Array, "3 n"]) -> Float[Array, "n"]:
        return (at[0] + 4 * at[1] + at[2]) / 6

    slow = jnp.maximum(level / stick + soft, SLOWEST)  # speeds of joints that stick
    part = jnp.clip(speed / slow, -1.0, 1.0)
    gained, average = speed[2] - speed[0], mean(level)
    # where speeds change by more than these, and by less
    reverses = gained**2 / (gained**2 + mean(slow) ** 2)
    until = (speed[0] + speed[2] - 4 * mean(speed)) * reverses / jnp.where(gained == 0, 1.0, 2 * gained)
    until = 0.5 + jnp.clip(until, -0.5, 0.5)
    two = part[0] * until + part[2] * (1 - until)
    lever = (part[2] - part[0]) * until * (1 - until)
    first, second = average * two, average * lever + (level[2] - level[0]) / 6 * two
    smooth = level * part
    first = mean(smooth) + reverses * (first - mean(smooth))
    last = (smooth[2] - smooth[0]) / 6
    second = 3 * (last + reverses * (second - last))
    doubt = average * jnp.sqrt(jnp.maximum(1 - (part[0] ** 2 + part[2] ** 2) / 2, 0.0))
    return jnp.stack([first - second, first, first + second]), doubt


def loops(structure: Structure) -> list[int]:
    """Joints that close loops."""
    in_tree = {k for _, _, k, _ in tree(structure)}
    return [k for k in range(len(structure.parent)) if k not in in_tree]


def in_loops(structure: Structure) -> list[Bool[np.ndarray, "n"]]:
    """Coordinates of each loop: those that move one of the ends of the joint that closes it, and its own."""
    moves, joints = beyond(structure)[0], _joints(structure)
    moves = np.column_stack([moves, np.zeros(len(moves))]).astype(bool)  # nothing moves the world
    ends = ((k, moves[:, structure.parent[k]], moves[:, structure.child[k]]) for k in loops(structure))
    return [(by_parent != by_child) | (joints == k) for k, by_parent, by_child in ends]


def gaps(structure: Structure, values: Values, q: Configuration) -> Float[Array, "_"]:
    """Gaps of loops [m], [-] in a configuration: of each the position and the axes."""
    return _Mechanics.at(structure, values, q).gaps()


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
    mechanics = _Mechanics.at(structure, values, configuration(structure, y))
    # momenta are linear in rates: one column per rate
    return jax.vmap(mechanics.momenta)(jnp.eye(int(structure.free.sum())))


class _Mechanics(NamedTuple):
    """A tree of joints in a posture.

    Args:
        y: coordinates, or a configuration where rates of balls are angular velocities. centers: (l, 3) of mass in the
            world [m]. motions: (n, 6) velocity at the world's origin, and angular velocity, of what a coordinate moves,
            by its rate. about: as of `within`.
    """

    structure: Structure
    values: Values
    y: Array
    balls: dict[int, _Ball]
    chain: _Chain
    centers: Float[Array, "l 3"]
    motions: Float[Array, "n 6"]
    about: Sequence[Array] = ()

    @classmethod
    def at(cls, structure: Structure, values: Values, q: Configuration) -> _Mechanics:
        """The tree in a configuration; rates of balls are angular velocities along the parent's axes."""
        q, fixed = jnp.asarray(q), jnp.zeros((3, 3))
        balls = [_Ball(q[at], jnp.eye(3), fixed) for _, at, turns in structure.parts if turns]
        return cls._with(structure, values, q, balls, starts(structure)[1])

    @classmethod
    def within(
        cls, structure: Structure, values: Values, y: Array, rate: Array, about: Sequence[Array]
    ) -> _Mechanics:
        """The tree with coordinates y (n,), those of balls Cayley's from the quaternions `about`, and their rates."""
        balls = [
            _Ball.at(y[own], rate[own], e)
            for (own, _, _), e in zip((part for part in structure.parts if part[2]), about, strict=True)
        ]
        return cls._with(structure, values, y, balls, starts(structure)[0])._replace(about=about)

    @classmethod
    def _with(
        cls, structure: Structure, values: Values, y: Array, balls: Sequence[_Ball], firsts: list[int]
    ) -> _Mechanics:
        of_joints = dict(zip(np.flatnonzero(structure.is_ball).tolist(), balls, strict=True))
        chain = _chain(structure, y, of_joints, firsts)
        slides = (np.nonzero(structure.free)[1] < 3)[:, None]
        moment = jnp.where(slides, chain.axes, cross(chain.points, chain.axes))
        motions = jnp.concatenate([moment, jnp.where(slides, 0.0, chain.axes)], axis=1)
        centers = chain.origin + turn(chain.rotation, jnp.asarray(values.center))
        return cls(structure, values, y, of_joints, chain, centers, motions)

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
        moved, _ = beyond(self.structure)
        speed, spin = jnp.split(_sums(moved.T, self.motions * rate[:, None]), 2, axis=1)
        return jnp.concatenate([speed + cross(spin, self.centers), spin], axis=1)

    def carried(self, of_bodies: Float[Array, "l 6"]) -> Float[Array, "n 6"]:
        """Forces, or momenta, at the centres of the bodies, summed about the world's origin over those that each
        coordinate moves.
        """
        moved, _ = beyond(self.structure)
        force, moment = jnp.split(of_bodies, 2, axis=1)
        return _sums(moved, jnp.concatenate([force, moment + cross(self.centers, force)], axis=1))

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
    ) -> tuple[Float[Array, "n"], Float[Array, "n"], Float[Array, "n"], Float[Array, "n"]]:
        """(n,) P, F with all that acts in joints but dry friction, speeds of joints, and the levels of dry friction
        [N m s], [N m], [rad/s], [N m] or [N s], [N], [m/s], [N].
        """
        structure, values = self.structure, self.values
        joint, of = _joints(structure), self.of
        h = self.carried_momenta(rate)
        F = jnp.sum(self.changes(rate) * h, axis=1) + self.along(self.carried(self.weights))
        speed = self.at_balls(rate)
        bound, smooth = friction_parts(structure.laws, of("friction"), speed, jnp)
        effort = drive(structure, values, u)[joint, 0] - of("drag") * speed - smooth
        if structure.dry.any() and structure.load.any():
            load = self.loads(rate, acceleration)
            bound = jnp.where(structure.load[joint], bound * load, bound)
        level = jnp.where(structure.dry[joint], bound, 0.0)
        return self.along(h) + of("shaft") * rate, F + self.at_balls(effort, transposed=True), speed, level

    def changes(self, rate: Array) -> Float[Array, "n 6"]:
        """Change of `motions` in a time by the rates: by dL/dy = changes . momenta, as axes move with the bodies that
        carry them.
        """
        _, carried = beyond(self.structure)
        speed, spin = jnp.split(_sums(carried, self.motions * rate[:, None]), 2, axis=1)
        along, about = jnp.split(self.motions, 2, axis=1)
        moved = jnp.concatenate([cross(spin, along) + cross(speed, about), cross(spin, about)], axis=1)
        if not self.about:
            return moved
        turned = self.chain.changed
        return moved + jnp.concatenate([cross(self.chain.points, turned), turned], axis=1)

    def gaps(self) -> Float[Array, "_"]:
        """Of each joint that closes a loop, the place and the axes of its child in those that it should have."""
        structure, y, found = self.structure, self.y, []
        firsts = starts(structure)[0 if self.about else 1]
        R, origin = [*self.chain.rotation, jnp.eye(3)], [*self.chain.origin, jnp.zeros(3)]
        for k in loops(structure):
            a, b = int(structure.parent[k]), int(structure.child[k])
            axes, far = product(R[a], structure.parent_frame[k]), product(R[b], structure.child_frame[k])
            point = origin[b] + turn(R[b], structure.child_point[k])
            away = turn_back(axes, point - origin[a] - turn(R[a], structure.parent_point[k]))
            for j, direction in enumerate(np.flatnonzero(structure.free[k, :3]).tolist()):
                away = away - y[firsts[k] + j] * np.eye(3)[direction]
            if structure.is_hinge[k]:
                axes = product(axes, _about_z(y[firsts[k]]))
            elif structure.is_ball[k]:
                axes = product(axes, matrix(self.balls[k].quaternion))
            found.append(away)
            if structure.loose[k]:
                continue
            D = product(axes.T, far)
            found += [jnp.stack([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]]) / 2]
        return jnp.concatenate(found)

    def at_balls(self, v: Array, transposed: bool = False) -> Array:
        """(n,) v, with angular velocities C v of rates v of balls; or with C^T v of torques v."""
        if not self.about:
            return v
        balls, found = iter(self.balls.values()), []
        for own, _, turns in self.structure.parts:
            C_t = next(balls).by_rate if turns else None
            found.append(v[own] if C_t is None else (turn if transposed else turn_back)(C_t, v[own]))
        return jnp.concatenate(found)

    def loads(self, rate: Array, acceleration: Array) -> Float[Array, "n"]:
        """Sizes of the constraints' forces in the joint of each coordinate, as friction weights them [N m] or [N]."""
        structure, values, joint = self.structure, self.values, _joints(self.structure)

        def momenta(y: Array, rate: Array) -> Array:
            there = _Mechanics.within(structure, values, y, rate, self.about)
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
