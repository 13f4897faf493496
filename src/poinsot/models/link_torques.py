"""Inverse dynamics of a sample with some open bodies: tau = Y_est pi_est + tau_nom.

These are Eqs. 6, 7, 13 and 14 of Foster et al. (2024). Bodies with unknown parameters enter as columns, all others as
numbers, in one recursion over the tree. Outward go twists V = (l, w) and accelerations (c, alpha) as in
`torque_regressor`; inward the wrench of all bodies beyond a joint,

    known bodies      F = (f, n) = (m c + B h,  h x c + I alpha + w x I w) - wrench from outside
    open bodies       F = W pi,  W (6, 10) the matrix of the same function of pi

whose effort on the degree of freedom with twist (l, u) is l . f + u . n. An open body costs its own path to the world
only, so this is faster than a whole regressor by a factor of the number of bodies.

The known parameters may come from base parameters, which give the right torques but no bodies. An open body then starts
from the description, and the torque of the difference stays known. Rotors, couplings and friction are known as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from ..arrays import Matrix, Vector
from ..exceptions import InvalidModel, listing, nearest
from ..inertia.parameters import is_consistent
from .articulated import Articulated
from .joint_regressor import JointRegressor
from .tree import CONTINUOUS, DEGREES, FREE, PLANAR, PRISMATIC, TRANSLATION


@dataclass(frozen=True, eq=False)
class LinkTorques:
    """Torques of a robot with some open bodies, linear in their parameters.

    Args:
        robot: with the inertia of the other bodies, unless `nominal` is given.
        links: names of the open bodies.
        nominal: (l, 10) pi of all bodies, which need not be physically possible; None: the description's.
        added: values of `robot.parameters` after those of the bodies: rotors, couplings, friction; None: zero.

    Raises:
        InvalidModel: if there is no such body, none is open, or numbers do not fit the robot.
    """

    robot: Articulated
    links: tuple[str, ...]
    nominal: np.ndarray | None = None
    added: Vector | None = None

    def __post_init__(self) -> None:
        robot, bodies = self.robot, self.robot.bodies
        for link in self.links:
            if link not in bodies:
                raise InvalidModel(
                    f"no body {link!r}{nearest(link, bodies)}; the robot has {listing(bodies)}"
                )
        if not self.links or len(set(self.links)) < len(self.links):
            raise InvalidModel("name the bodies to estimate, each once")
        if self.nominal is not None and self.nominal.shape != (len(bodies), 10):
            raise InvalidModel(f"nominal parameters need ten numbers for each of {len(bodies)} bodies")
        behind = len(robot.parameters) - 10 * len(bodies)
        if self.added is not None and self.added.shape != (behind,):
            raise InvalidModel(f"the joints of this robot add {behind} parameters, not {self.added.size}")

    @cached_property
    def open_bodies(self) -> np.ndarray:
        """(k,) index of each open body in the robot's bodies."""
        return np.array([self.robot.bodies.index(link) for link in self.links], dtype=np.int64)

    @cached_property
    def described(self) -> np.ndarray:
        """(k, 10) initial guess of the open bodies: nominal where physically possible, else the description's."""
        nominal, described = self._nominal[self.open_bodies], self.robot.inertials[self.open_bodies]
        return np.where(is_consistent(nominal)[:, None], nominal, described)

    @cached_property
    def known(self) -> np.ndarray:
        """(l, 10) known pi of all bodies; of open bodies the nominal ones less `described`, usually 0."""
        pi = self._nominal.copy()
        pi[self.open_bodies] -= self.described
        return pi

    @property
    def _nominal(self) -> np.ndarray:
        return self.robot.inertials if self.nominal is None else self.nominal

    def __call__(
        self, q: Vector, v: Vector, a: Vector, wrenches: Mapping[str, Vector] | None = None
    ) -> tuple[Matrix, Vector]:
        """Y_est (n, 10 k) and tau_nom (n,) of one sample.

        Args:
            q, v, a: (nq,), (n,), (n,) configuration, velocity, acceleration.
            wrenches: body -> (6,) force and moment about its frame's origin that act on it from outside, in that
                frame [N], [N m]; tau_nom is without the torques that balance them.
        """
        n = self.robot.model.nv
        Y, tau = np.zeros((n, 10 * len(self.links))), np.zeros(n)
        self.write(np.ascontiguousarray(q), v, a, self.outside(wrenches), Y, tau)
        return Y, tau

    def outside(self, wrenches: Mapping[str, Vector] | None) -> Matrix:
        """(l, 6) of wrenches by name.

        Raises:
            InvalidModel: if one acts on a body that the robot does not have.
        """
        if not wrenches:
            return self._none
        outside = np.zeros(self._none.shape)  # zeros_like takes four times as long, every tick
        for body, wrench in wrenches.items():
            if body not in self._places:
                raise InvalidModel(
                    f"a wrench acts on {body!r}{nearest(body, self._places)}; the robot has {listing(self._places)}"
                )
            outside[self._places[body]] = wrench
        return outside

    def write(self, q: Vector, v: Vector, a: Vector, outside: Matrix, Y: Matrix, tau: Vector) -> None:
        """The same into Y (n, 10 k) and tau (n,), which begin as zeros; `outside` (l, 6)."""
        kernel: Any = _link_torques
        kernel(*self._tree, self.known, self.open_bodies, q, v, a, outside, Y, tau, *self._memory)
        if self.added is not None:
            tau += self._joints.torque(v, a, self.added)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {body: k for k, body in enumerate(self.robot.bodies)}

    @cached_property
    def _none(self) -> Matrix:
        return np.zeros((len(self.robot.bodies), 6))

    @cached_property
    def _joints(self) -> JointRegressor:
        return JointRegressor(self.robot)

    @cached_property
    def _tree(self) -> tuple[np.ndarray, ...]:
        tree = self.robot.tree
        return (
            tree.parent, tree.kind, tree.rotation, tree.translation, tree.axis, tree.pitch, tree.q_index,
            tree.v_index, tree.body, tree.gravity, tree.subspace,
        )  # fmt: skip

    @cached_property
    def _memory(self) -> tuple[np.ndarray, ...]:
        """R, p, V, A, F of each joint and W of each open body."""
        J, k = len(self.robot.tree), len(self.links)
        return (
            np.empty((J, 3, 3)), np.empty((J, 3)), np.empty((J, 6)), np.empty((J, 6)), np.empty((J, 6)),
            np.empty((k, 6, 10)),
        )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def joint_placement(kind: int, e: Vector, pitch: float, q: Vector, at: int, R: Matrix, p: Vector) -> None:
    """R, p of a joint's moving side on its fixed side."""
    if kind == TRANSLATION or kind == FREE:
        p[0], p[1], p[2] = q[at], q[at + 1], q[at + 2]
        at += 3
    else:
        p[0] = p[1] = p[2] = 0.0
    if kind == TRANSLATION:
        R[:] = np.eye(3)
    elif kind == PLANAR:
        cos, sin = q[at + 2], q[at + 3]
        R[:] = np.eye(3)
        R[0, 0], R[0, 1], R[1, 0], R[1, 1] = cos, -sin, sin, cos
        p[0], p[1] = q[at], q[at + 1]
    elif DEGREES[kind] > 1:
        i, j, k, w = q[at], q[at + 1], q[at + 2], q[at + 3]
        R[0, 0], R[0, 1], R[0, 2] = 1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)
        R[1, 0], R[1, 1], R[1, 2] = 2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)
        R[2, 0], R[2, 1], R[2, 2] = 2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)
    else:
        along = 0.0
        if kind == CONTINUOUS:
            cos, sin = q[at], q[at + 1]
        elif kind == PRISMATIC:
            cos, sin, along = 1.0, 0.0, q[at]
        else:
            cos, sin, along = np.cos(q[at]), np.sin(q[at]), pitch * q[at]
        for r in range(3):
            for c in range(3):
                R[r, c] = (1 - cos) * e[r] * e[c]
            R[r, r] += cos
            p[r] = along * e[r]
        R[0, 1] -= sin * e[2]
        R[0, 2] += sin * e[1]
        R[1, 0] += sin * e[2]
        R[1, 2] -= sin * e[0]
        R[2, 0] -= sin * e[1]
        R[2, 1] += sin * e[0]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def cross(x0: float, x1: float, x2: float, y0: float, y1: float, y2: float) -> tuple[float, float, float]:
    """x x y by components: scalars stay in registers where small arrays would be allocated."""
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _wrench_columns(c0, c1, c2, a0, a1, a2, w0, w1, w2, W):
    """W (6, 10): force and moment of a body as a function of its ten parameters."""
    W[:] = 0.0
    W[0, 0], W[1, 0], W[2, 0] = c0, c1, c2
    # B = [alpha]x + w w^T - |w|^2 1
    W[0, 1], W[0, 2], W[0, 3] = -w1 * w1 - w2 * w2, w0 * w1 - a2, w0 * w2 + a1
    W[1, 1], W[1, 2], W[1, 3] = w0 * w1 + a2, -w0 * w0 - w2 * w2, w1 * w2 - a0
    W[2, 1], W[2, 2], W[2, 3] = w0 * w2 - a1, w1 * w2 + a0, -w0 * w0 - w1 * w1
    # h x c
    W[3, 2], W[3, 3], W[4, 1], W[4, 3], W[5, 1], W[5, 2] = c2, -c1, -c2, c0, c1, -c0
    # I alpha + w x I w, with I x = L(x) (xx, xy, yy, xz, yz, zz)
    W[3, 4], W[3, 5], W[3, 7] = a0, a1, a2
    W[4, 5], W[4, 6], W[4, 8] = a0, a1, a2
    W[5, 7], W[5, 8], W[5, 9] = a0, a1, a2
    W[4, 4], W[5, 4] = W[4, 4] + w2 * w0, W[5, 4] - w1 * w0
    W[3, 5], W[4, 5], W[5, 5] = W[3, 5] - w2 * w0, W[4, 5] + w2 * w1, W[5, 5] + w0 * w0 - w1 * w1
    W[3, 6], W[5, 6] = W[3, 6] - w2 * w1, W[5, 6] + w0 * w1
    W[3, 7], W[4, 7], W[5, 7] = W[3, 7] + w1 * w0, W[4, 7] + w2 * w2 - w0 * w0, W[5, 7] - w1 * w2
    W[3, 8], W[4, 8], W[5, 8] = W[3, 8] + w1 * w1 - w2 * w2, W[4, 8] - w0 * w1, W[5, 8] + w0 * w2
    W[3, 9], W[4, 9] = W[3, 9] + w1 * w2, W[4, 9] - w0 * w2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _carried(R, p, l0, l1, l2, u0, u1, u2, out):
    """Write the parent's twist as the child sees it: R^T (l + u x p), R^T u."""
    d0, d1, d2 = cross(u0, u1, u2, p[0], p[1], p[2])
    l0, l1, l2 = l0 + d0, l1 + d1, l2 + d2
    for r in range(3):
        out[r] = R[0, r] * l0 + R[1, r] * l1 + R[2, r] * l2
        out[3 + r] = R[0, r] * u0 + R[1, r] * u1 + R[2, r] * u2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _own_motion(x, V, A):
    """Add a joint's own motion x = (S v, S a) to its parent's V and A: A += S a + V x S v, V += S v."""
    l0, l1, l2, w0, w1, w2 = V
    e0, e1, e2 = cross(w0, w1, w2, x[0], x[1], x[2])
    f0, f1, f2 = cross(l0, l1, l2, x[3], x[4], x[5])
    g0, g1, g2 = cross(w0, w1, w2, x[3], x[4], x[5])
    A[0] += x[6] + e0 + f0
    A[1] += x[7] + e1 + f1
    A[2] += x[8] + e2 + f2
    A[3] += x[9] + g0
    A[4] += x[10] + g1
    A[5] += x[11] + g2
    for r in range(6):
        V[r] += x[r]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _known_wrench(pi, c0, c1, c2, a0, a1, a2, w0, w1, w2, F):
    """Add force and moment of a body of ten known parameters to F."""
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = pi
    s0, s1, s2 = cross(w0, w1, w2, h0, h1, h2)
    t0, t1, t2 = cross(w0, w1, w2, s0, s1, s2)
    b0, b1, b2 = cross(a0, a1, a2, h0, h1, h2)
    F[0] += m * c0 + b0 + t0
    F[1] += m * c1 + b1 + t1
    F[2] += m * c2 + b2 + t2
    n0, n1, n2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
    t0, t1, t2 = cross(w0, w1, w2, n0, n1, n2)
    b0, b1, b2 = cross(h0, h1, h2, c0, c1, c2)
    F[3] += xx * a0 + xy * a1 + xz * a2 + t0 + b0
    F[4] += xy * a0 + yy * a1 + yz * a2 + t1 + b1
    F[5] += xz * a0 + yz * a1 + zz * a2 + t2 + b2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def outward_pass(
    parent: np.ndarray, kind: np.ndarray, rotation: np.ndarray, translation: Matrix, axis: Matrix, pitch: Vector,
    q_index: np.ndarray, v_index: np.ndarray, gravity: Vector, subspace: np.ndarray, q: Vector, v: Vector, a: Vector,
    R: np.ndarray, p: Matrix, V: Matrix, A: Matrix,
) -> None:  # fmt: skip
    """Write placement R, p, twist V and acceleration A of every joint's frame."""
    R_q, p_q, x = np.empty((3, 3)), np.empty(3), np.empty(12)
    for i in range(len(parent)):
        joint_placement(kind[i], axis[i], pitch[i], q, q_index[i], R_q, p_q)
        for r in range(3):
            p[i, r] = translation[i, r]
            for c in range(3):
                p[i, r] += rotation[i, r, c] * p_q[c]
                R[i, r, c] = 0.0
                for s in range(3):
                    R[i, r, c] += rotation[i, r, s] * R_q[s, c]
        x[:] = 0.0
        for k in range(DEGREES[kind[i]]):
            for r in range(6):
                x[r] += subspace[i, k, r] * v[v_index[i] + k]
                x[6 + r] += subspace[i, k, r] * a[v_index[i] + k]
        if parent[i] >= 0:
            T, D = V[parent[i]], A[parent[i]]
            _carried(R[i], p[i], T[0], T[1], T[2], T[3], T[4], T[5], V[i])
            _carried(R[i], p[i], D[0], D[1], D[2], D[3], D[4], D[5], A[i])
        else:
            V[i] = 0.0
            _carried(R[i], p[i], -gravity[0], -gravity[1], -gravity[2], 0.0, 0.0, 0.0, A[i])
        _own_motion(x, V[i], A[i])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _inward(parent, kind, v_index, subspace, R, p, F, tau):
    """Wrenches to torques, and on to the parent."""
    for i in range(len(parent) - 1, -1, -1):
        for k in range(DEGREES[kind[i]]):
            for r in range(6):
                tau[v_index[i] + k] += subspace[i, k, r] * F[i, r]
        if parent[i] < 0:
            continue
        g0, g1, g2, m0, m1, m2 = _inwards(R[i], p[i], F[i, 0], F[i, 1], F[i, 2], F[i, 3], F[i, 4], F[i, 5])
        onto = F[parent[i]]
        onto[0], onto[1], onto[2] = onto[0] + g0, onto[1] + g1, onto[2] + g2
        onto[3], onto[4], onto[5] = onto[3] + m0, onto[4] + m1, onto[5] + m2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _inwards(R, p, f0, f1, f2, n0, n1, n2):
    """A wrench in the parent's frame: R f, R n + p x R f."""
    g0 = R[0, 0] * f0 + R[0, 1] * f1 + R[0, 2] * f2
    g1 = R[1, 0] * f0 + R[1, 1] * f1 + R[1, 2] * f2
    g2 = R[2, 0] * f0 + R[2, 1] * f1 + R[2, 2] * f2
    d0, d1, d2 = cross(p[0], p[1], p[2], g0, g1, g2)
    m0 = R[0, 0] * n0 + R[0, 1] * n1 + R[0, 2] * n2 + d0
    m1 = R[1, 0] * n0 + R[1, 1] * n1 + R[1, 2] * n2 + d1
    m2 = R[2, 0] * n0 + R[2, 1] * n1 + R[2, 2] * n2 + d2
    return g0, g1, g2, m0, m1, m2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _columns_inward(i, parent, kind, v_index, subspace, R, p, W, Y):
    """The columns (n, 10) of an open body on joint i: W carried along its path to the world."""
    while i >= 0:
        for k in range(DEGREES[kind[i]]):
            for c in range(10):
                effort = 0.0
                for r in range(6):
                    effort += subspace[i, k, r] * W[r, c]
                Y[v_index[i] + k, c] = effort
        for c in range(10):
            W[0, c], W[1, c], W[2, c], W[3, c], W[4, c], W[5, c] = _inwards(
                R[i], p[i], W[0, c], W[1, c], W[2, c], W[3, c], W[4, c], W[5, c]
            )
        i = parent[i]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _link_torques(
    parent, kind, rotation, translation, axis, pitch, q_index, v_index, body, gravity, subspace,
    known, opened, q, v, a, outside, Y, tau, R, p, V, A, F, W,
):  # fmt: skip
    outward_pass(
        parent, kind, rotation, translation, axis, pitch, q_index, v_index, gravity, subspace, q, v, a, R, p, V, A
    )  # fmt: skip
    for i in range(len(parent)):
        F[i] = 0.0
        if body[i] < 0:
            continue
        for r in range(6):
            F[i, r] = -outside[body[i], r]
        l0, l1, l2, w0, w1, w2 = V[i]
        d0, d1, d2 = cross(w0, w1, w2, l0, l1, l2)
        c0, c1, c2 = A[i, 0] + d0, A[i, 1] + d1, A[i, 2] + d2
        a0, a1, a2 = A[i, 3], A[i, 4], A[i, 5]
        _known_wrench(known[body[i]], c0, c1, c2, a0, a1, a2, w0, w1, w2, F[i])
        for k in range(len(opened)):
            if opened[k] == body[i]:
                _wrench_columns(c0, c1, c2, a0, a1, a2, w0, w1, w2, W[k])
                _columns_inward(i, parent, kind, v_index, subspace, R, p, W[k], Y[:, 10 * k : 10 * k + 10])
    _inward(parent, kind, v_index, subspace, R, p, F, tau)
