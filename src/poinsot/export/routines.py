"""The dynamics of a result as routines of straight-line code, for any language.

Newton and Euler's equations, in the axes of each body (Featherstone 2008, Sect. 5.3). With R, p the placement of joint
i in its parent o, S = (S_l, S_w) its motion subspace, u = S_l v, and (w, a, c) the angular velocity, its derivative,
and the acceleration of the joint's origin, where c_world = -g,

    outward     w = w' + S_w v,   a = R^T a_o + S_w v' + w' x S_w v,   w' = R^T w_o
                c = R^T (c_o + B_o p) + S_l v' + (w + w') x u,         B = [a]x + w w^T - (w . w) 1
    bodies      f = m c + B h,    n = h x c + (I a + w x I w)
    inward      tau = S_l . f + S_w . n,   f_o += R f,   n_o += R n + p x R f

for a body pi = (m, h, I). Products of components of w are in B already, so that the first component of I a + w x I w is

    I_xx a_x + (I_zz - I_yy) w_y w_z - I_xy B_zx + I_xz B_yx + I_yz (w_y^2 - w_z^2)

and the others follow by x -> y -> z -> x. A joint's rotation is R = K_0 + cos(q) K_c + sin(q) K_s with known matrices,
of which most entries are 0 or 1. What is 0 leaves no code: the mass matrix is the effort of unit accelerations without
gravity and speeds, and a column of the regressor is that of one parameter at 1.

Base parameters suffice: the value of a sum stands at the parameter of its name, others of the sum are 0 (see
`regression.dynamics`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InvalidModel
from ..models.efforts import JointEffort
from ..models.friction import FrictionColumn
from ..models.robot import tree as kinds
from ..models.robot.articulated import Articulated
from ..models.robot.joint_terms import JointTerms
from ..regression.dynamics import IdentifiedDynamics
from .expressions import Expression, Value, cross, dot, inputs, plus, times

SNAPPED = 1e-15
"""Entries of rotations that differ from 0, 1 or -1 by less have rounding errors of sines of right angles."""

PARAMETERS = "parameters"
"""Name of the argument with all parameters."""

Vector3 = Sequence[Value]


class Routine(NamedTuple):
    """A function of the generated code. `name`: without its prefix. `arguments`: arrays that are read, name -> size.
    `result`: name of the array that is written. `values`: its elements. `meaning`: a sentence.
    """

    name: str
    arguments: Mapping[str, int]
    result: str
    values: Sequence[Value]
    meaning: str


class LinkMotion(NamedTuple):
    """Motion of a joint's link in its own axes: w, B, a and c; its place R, p in its parent."""

    w: Vector3
    B: Sequence[Vector3]
    a: Vector3
    c: Vector3
    R: Sequence[Vector3]
    p: Vector3


@dataclass(frozen=True, eq=False)
class Routines:
    """All routines of a result.

    Args:
        dynamics: of the result.
        effort_units: of the equations of motion, where they are those of the result's fit; empty: N m and N.

    Raises:
        InvalidModel: if the robot has a floating base, ball joints, loops or joints that follow others, or an effort
            that cannot be written.
    """

    dynamics: IdentifiedDynamics
    effort_units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        robot = self.robot
        robot.refuse_loops("generated code")
        if robot.floating_base or (robot.coordinates[0] < 0).any():
            raise InvalidModel(
                f"robot {robot.name!r} has a floating base or ball joints: code is generated for joints with positions"
            )
        q, (v,) = inputs("q", self.size), inputs("v", 1)
        tried: list[tuple[str, Callable[[], Any]]] = [
            (f"the friction law {term.law.name!r}", partial(_friction, term, v))
            for term, *_ in self.terms.nonlinear_entries
        ]
        springs = self._springs.values()
        tried += [(f"the effort of joint {e.joint!r}", partial(_effort, e, q[at])) for e, _, at in springs]
        for what, write in tried:
            try:
                write()
            except (TypeError, AttributeError):
                raise InvalidModel(
                    f"{what} branches on its argument, or uses what is no formula; generated code has formulas only"
                ) from None

    @property
    def robot(self) -> Articulated:
        return self.dynamics.robot

    @cached_property
    def terms(self) -> JointTerms:
        return JointTerms(self.robot)

    @property
    def size(self) -> int:
        """n, the number of joints."""
        return int(self.robot.model.nv)

    def all(self, regressor: bool = False) -> list[Routine]:
        """Every routine; with `regressor` that of the efforts' derivatives by all parameters as well.

        Inverse dynamics take the parameters: a payload that is found while the robot moves is added to its link's.
        """
        n, theta = self.size, [float(x) for x in self.dynamics.theta]
        q, v, a = (inputs(name, n) for name in "qva")
        free = inputs(PARAMETERS, len(theta))
        motion, rows = dict.fromkeys("qva", n), self.robot.equations
        still: list[Value] = [0.0] * n
        of_bodies = [
            float(x) if kind == "inertia" else 0.0 for x, kind in zip(theta, self._kinds, strict=True)
        ]
        mass = [self._efforts(theta, q, still, unit, None) for unit in np.eye(n)[rows].tolist()]
        found = [
            Routine(
                "inverse_dynamics_with",
                {PARAMETERS: len(theta), **motion},
                "tau",
                self._efforts(free, q, v, a),
                "Efforts that a motion takes, with friction, for these parameters.",
            ),
            Routine(
                "gravity",
                {"q": n},
                "tau",
                self._efforts(of_bodies, q, still, still),
                "Efforts that hold the bodies against gravity.",
            ),
            Routine(
                "friction",
                {"v": n},
                "tau",
                self._of_joints(self._only(theta, self.terms.is_friction), q, v, still),
                "Friction with its offsets, part of the efforts of a motion.",
            ),
            Routine(
                "mass_matrix",
                {"q": n},
                "M",
                [mass[max(i, j)][min(i, j)] for i in range(len(rows)) for j in range(len(rows))],
                "Mass matrix with rotors, row by row.",
            ),
        ]
        if self._springs:
            found.append(
                Routine(
                    "springs",
                    {"q": n},
                    "tau",
                    self._of_joints(self._only(theta, self._are_springs), q, still, still),
                    "Springs and other efforts of position, part of the efforts of a motion.",
                )
            )
        if self._has_drive:
            found.append(
                Routine(
                    "motor_torque",
                    {"tau": n},
                    "motor",
                    self._motors(inputs("tau", n)),
                    "Efforts of the motors as they were measured, from efforts of the joints.",
                )
            )
        if regressor:
            columns = self._columns(q, v, a)
            found.append(
                Routine(
                    "torque_regressor",
                    motion,
                    "W",
                    [column[k] for k in range(len(rows)) for column in columns],
                    "Derivatives of the efforts by all parameters, row by row.",
                )
            )
        return found

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Channels of a recording that efforts depend on, which are left out as in predictions without them."""
        return tuple(dict.fromkeys(name for effort in self.robot.placed_efforts for name in effort.inputs))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each effort, and so of the parameters: N m or N; without a gain that converts them A or V."""
        return self.effort_units or tuple(self.robot.effort_units[k] for k in self.robot.equations)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return self.robot.parameters.kinds

    def _efforts(
        self,
        theta: Sequence[Value],
        q: Sequence[Value],
        v: Sequence[Value],
        a: Sequence[Value],
        gravity: Sequence[float] | None = (),
    ) -> list[Value]:
        """Efforts of the equations of motion. `gravity`: None: without it, and without friction and springs."""
        l = 10 * len(self.robot.bodies)
        g = [0.0] * 3 if gravity is None else self.robot.tree.gravity.tolist()
        of_bodies = self._inward(self._outward(q, v, a, g), theta[:l])
        phi = theta[l:] if gravity is not None else self._only(theta, self._are_rotors)
        return plus([of_bodies[k] for k in self.robot.equations], self._of_joints(phi, q, v, a))

    def _columns(self, q: Sequence[Value], v: Sequence[Value], a: Sequence[Value]) -> list[list[Value]]:
        """Efforts for each parameter at 1."""
        motions, l = self._outward(q, v, a, self.robot.tree.gravity.tolist()), 10 * len(self.robot.bodies)
        units: list[list[float]] = np.eye(l).tolist()
        of_bodies = [
            [tau[k] for k in self.robot.equations] for tau in (self._inward(motions, e) for e in units)
        ]
        p = len(self._kinds) - l
        return [*of_bodies, *(self._of_joints(e, q, v, a) for e in np.eye(p).tolist())]

    def _outward(
        self, q: Sequence[Value], v: Sequence[Value], a: Sequence[Value], gravity: Sequence[float]
    ) -> list[LinkMotion]:
        tree, motions = self.robot.tree, list[LinkMotion]()
        none: list[Value] = [0.0] * 3
        world = LinkMotion(none, [none] * 3, none, [-x for x in gravity], [none] * 3, none)
        for i, o in enumerate(tree.parent.tolist()):
            before = motions[o] if o >= 0 else world
            R, p = self._placement(i, q)
            back = list(zip(*R, strict=True))
            degrees = int(kinds.DEGREES[tree.kind[i]])
            own = range(int(tree.v_index[i]), int(tree.v_index[i]) + degrees)
            S = tree.subspace[i, :degrees].T.tolist()
            u, turning = (times(rows, [v[j] for j in own]) for rows in (S[:3], S[3:]))
            u_dot, turning_dot = (times(rows, [a[j] for j in own]) for rows in (S[:3], S[3:]))
            w_o = times(back, before.w)
            w = plus(w_o, turning)
            a_i = plus(times(back, before.a), turning_dot, cross(w_o, turning))
            c = plus(times(back, plus(before.c, times(before.B, p))), u_dot, cross(plus(w, w_o), u))
            motions.append(LinkMotion(w, _spin(w, a_i), a_i, c, R, p))
        return motions

    def _placement(self, i: int, q: Sequence[Value]) -> tuple[list[list[Value]], list[Value]]:
        """R and p of a joint in its parent."""
        tree, at = self.robot.tree, int(self.robot.tree.v_index[i])
        kind, axis, pitch = int(tree.kind[i]), tree.axis[i], float(tree.pitch[i])
        R_0, p_0 = _snapped(tree.rotation[i]), tree.translation[i].tolist()
        moved: list[Value] = [0.0] * 3
        if kind in (kinds.PRISMATIC, kinds.HELICAL):
            slide = 1.0 if kind == kinds.PRISMATIC else pitch
            moved = [q[at] * float(x) for x in slide * axis]
        elif kind in (kinds.PLANAR, kinds.TRANSLATION):
            moved = [*q[at : at + 2], q[at + 2] if kind == kinds.TRANSLATION else 0.0]
        p = plus(p_0, times(R_0.tolist(), moved))
        if kind in (kinds.PRISMATIC, kinds.TRANSLATION):
            return R_0.tolist(), p
        e = np.eye(3)[2] if kind == kinds.PLANAR else axis
        along = np.outer(e, e)
        K = np.stack([R_0 @ along, R_0 @ (np.eye(3) - along), R_0 @ np.cross(np.eye(3), e)], axis=2)
        angle: Any = q[at + 2] if kind == kinds.PLANAR else q[at]
        factors: list[Value] = [1.0, np.cos(angle), np.sin(angle)]
        return [[dot(entry, factors) for entry in row] for row in K.tolist()], p

    def _inward(self, motions: Sequence[LinkMotion], pi: Sequence[Value]) -> list[Value]:
        """Efforts of all freedoms for bodies pi."""
        tree, tau = self.robot.tree, list[Value]([0.0] * self.size)
        f: list[list[Value]] = [[0.0] * 3 for _ in motions]
        n: list[list[Value]] = [[0.0] * 3 for _ in motions]
        for i in range(len(motions) - 1, -1, -1):
            here, body, o = motions[i], int(tree.body[i]), int(tree.parent[i])
            if body >= 0:
                force, moment = _needed(here, pi[10 * body : 10 * body + 10])
                f[i], n[i] = plus(f[i], force), plus(n[i], moment)
            for k in range(int(kinds.DEGREES[tree.kind[i]])):
                S = tree.subspace[i, k].tolist()
                tau[int(tree.v_index[i]) + k] = dot(S[:3], f[i]) + dot(S[3:], n[i])
            if o >= 0:
                force = times(here.R, f[i])
                f[o] = plus(f[o], force)
                n[o] = plus(n[o], times(here.R, n[i]), cross(here.p, force))
        return tau

    def _of_joints(
        self, phi: Sequence[Value], q: Sequence[Value], v: Sequence[Value], a: Sequence[Value]
    ) -> list[Value]:
        """Efforts of rotors, friction and springs, of the equations of motion."""
        rows, columns = (x.tolist() for x in self.terms.structure)
        by_v, by_a = (x.T.tolist() for x in self.terms.linear_entries)
        entries = [dot(V, v) + dot(L, a) for V, L in zip(by_v, by_a, strict=True)]
        for term, own, C, signs in self.terms.nonlinear_entries:
            for k, direction, sign in zip(own.tolist(), C.tolist(), signs.tolist(), strict=True):
                if not _is_zero(phi[columns[k]]):
                    entries[k] = entries[k] + sign * _friction(term, dot(direction, v))
        for k, (effort, place, at) in self._springs.items():
            if not _is_zero(phi[columns[k]]):
                entries[k] = _effort(effort, q[at])[place]
        tau: list[Value] = [0.0] * self.size
        for row, column, entry in zip(rows, columns, entries, strict=True):
            tau[row] = tau[row] + phi[column] * entry
        return [tau[k] for k in self.robot.equations]

    @cached_property
    def _springs(self) -> dict[int, tuple[JointEffort, int, int]]:
        """Entry -> effort of position, its parameter and the joint's freedom."""
        columns = self.terms.structure[1]
        found: dict[int, tuple[JointEffort, int, int]] = {}
        for effort, dof, places, read in self.terms.efforts:
            if not len(read):
                entries = np.searchsorted(columns, places).tolist()
                found |= {k: (effort, place, dof) for place, k in enumerate(entries)}
        return found

    def _only(self, theta: Sequence[Value], chosen: Sequence[bool]) -> list[Value]:
        """Parameters after those of the bodies, with 0 for those that are not chosen."""
        own = theta[10 * len(self.robot.bodies) :]
        return [x if yes else 0.0 for x, yes in zip(own, chosen, strict=True)]

    @cached_property
    def _are_rotors(self) -> list[bool]:
        return [kind.startswith("rotor") for kind in self.terms.parameters.kinds]

    @cached_property
    def _are_springs(self) -> list[bool]:
        """Neither rotors nor friction."""
        pairs = zip(self._are_rotors, self.terms.is_friction, strict=True)
        return [not rotor and not friction for rotor, friction in pairs]

    @property
    def _has_drive(self) -> bool:
        train = self.robot.train
        acts = train.drive.side == "motor" or bool(np.any(train.gain != 1))
        return acts and len(self.robot.equations) == self.size

    def _motors(self, tau: Sequence[Value]) -> list[Value]:
        """Efforts as they are measured; 0 of joints without a motor."""
        train = self.robot.train
        efforts = train.driven[:, None] * (train.velocity_map.T / train.gain[:, None])
        efforts[np.abs(efforts) < SNAPPED * np.abs(efforts).max()] = 0.0
        return times(efforts.tolist(), tau)


def _spin(w: Vector3, a: Vector3) -> list[list[Value]]:
    """B = [a]x + w w^T - (w . w) 1"""
    x, y, z = w
    return [
        [-(y * y + z * z), x * y - a[2], x * z + a[1]],
        [x * y + a[2], -(x * x + z * z), y * z - a[0]],
        [x * z - a[1], y * z + a[0], -(x * x + y * y)],
    ]


def _needed(motion: LinkMotion, pi: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """f and n of a body that moves."""
    m, h, (xx, xy, yy, xz, yz, zz) = pi[0], pi[1:4], pi[4:]
    (x, y, z), B, a = motion.w, motion.B, motion.a
    f = plus([m * c for c in motion.c], times(B, h))
    turning = [
        xx * a[0] + (zz - yy) * (y * z) - xy * B[2][0] + xz * B[1][0] + yz * (y * y - z * z),
        yy * a[1] + (xx - zz) * (z * x) - yz * B[0][1] + xy * B[2][1] + xz * (z * z - x * x),
        zz * a[2] + (yy - xx) * (x * y) - xz * B[1][2] + yz * B[0][2] + xy * (x * x - y * y),
    ]
    return f, plus(cross(h, motion.c), turning)


def _friction(term: FrictionColumn, v: Value) -> Value:
    """Effort for the parameter at 1, as `FrictionColumn.effort`."""
    size = term.law.effort(v, 0.0, 0.0, 0.0, term.law.known(term.place))
    if not term.law.dry:
        return size + 0.0
    return size * ((v > term.deadband) * 1.0 - (v < (-term.deadband or 0.0)) * 1.0)


def _effort(effort: JointEffort, q: Value) -> list[Value]:
    """(k,) effort of a position for each parameter at 1."""
    position = np.array([q], dtype=object)
    columns: list[Value] = effort.columns(position, np.zeros(1), np.zeros((1, 0)))[0].tolist()
    return columns


def _snapped(R: np.ndarray) -> np.ndarray:
    whole = np.round(R)
    return np.where(np.abs(R - whole) < SNAPPED, whole, R)


def _is_zero(x: Value) -> bool:
    return not isinstance(x, Expression) and x == 0
