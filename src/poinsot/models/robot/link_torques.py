"""Inverse dynamics of a sample with some open bodies: tau = Y_est pi_est + tau_nom.

These are Eqs. 6, 7, 13 and 14 of Foster et al. (2024). Bodies with unknown parameters enter as columns, all others as
numbers, in one recursion over the tree in the joints' own axes (Featherstone 2008, Sect. 5.3). With (R, p) the
placement of joint i in the frame of its parent o, and S its motion subspace,

    outward     V = X V_o + S v,   A = X A_o + S a + V x S v,   X (l, w) = (R^T (l + w x p), R^T w),   A_world = -g
    bodies      f = m c + alpha x h + w x (w x h),   n = h x c + I alpha + w x I w,   c = l' + w x l
    inward      tau = S^T F,   F_o += (R f, R n + p x R f)        F = (f, n) - wrench from outside

for V = (l, w), A = (l', alpha) and a body pi = (m, h, I). An open body has the same f and n, of which freedom j, moving
it with the twist (l, u) in its own axes, takes l . f + u . n. Its columns are those of `torque_regressor`, for the
freedoms on its path to the world only.

What each joint does for itself is computed for L joints at a time, the joints innermost, as samples are in
`torque_regressor`: the wrenches of the bodies, and the placements, of which all but cos q and sin q is constant,

    R = R_0 e e^T + cos q R_0 (1 - e e^T) + sin q R_0 [e]x,    p = p_0 + q R_0 e (pitch, or 1 where the joint slides)

Rotors, couplings and friction are known as well; docs/concepts/online.md says where known parameters come from.

Where loops or couplings join joints, rows are those of independent joints, N^T Y and N^T tau (see `closure`), and
those of the others are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Brief, Matrix, Vector
from ...exceptions import InvalidModel, check_known, listing
from ...inertia.parameters import is_consistent
from ...kernels import njit
from .articulated import Articulated
from .joint_motion import STEP, cross, joint_placement
from .joint_terms import JointTerms
from .torque_regressor import INLINE_KERNEL, L, cos_sin
from .tree import CONTINUOUS, DEGREES, HELICAL, PRISMATIC, REVOLUTE

_P, _V, _A, _F, _ROWS = 9, 12, 18, 24, 30
"""First rows of a joint's p, V, A and F, after R row by row."""
_COS, _SIN, _ALONG, _PI = 12, 21, 30, 33
"""First rows of a joint's constants: factors of cos q, sin q and q, and pi, after the constant parts of R and p."""


_FREE = np.zeros((0, 0))
"""The projection of a robot whose freedoms are all independent."""


@dataclass(frozen=True, eq=False, repr=False)
class LinkTorques(Brief):
    """Torques of a robot with some open bodies, linear in their parameters.

    Args:
        robot: robot with the inertia of the other bodies, unless `nominal` is given.
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
        if robot.floating_base and robot.loops:
            robot.refuse_loops("a filter of a robot with a floating base")
        for link in self.links:
            check_known(link, bodies, "no body", "the robot has")
        if not self.links or len(set(self.links)) < len(self.links):
            raise InvalidModel("name the bodies to estimate, each once")
        if self.nominal is not None and self.nominal.shape != (len(bodies), 10):
            raise InvalidModel(f"nominal parameters need ten numbers for each of {len(bodies)} bodies")
        if robot.inputs:
            raise InvalidModel(
                f"a filter reads only motion and efforts, not the channels {listing(robot.inputs)}"
            )
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
        # base parameters are not bodies: the initial guess of an open body is subtracted from them
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
            wrenches: body -> (6,) force and moment about its frame's origin that act on it externally, in that
                frame [N], [N m]; tau_nom is without the torques that balance them.
        """
        n = self.robot.model.nv
        Y, tau = np.zeros((n, 10 * len(self.links))), np.zeros(n)
        self.write(np.ascontiguousarray(q), v, a, self.outside(wrenches), Y, tau)
        return Y, tau

    def outside(self, wrenches: Mapping[str, Vector] | None) -> Matrix:
        """(l, 6) of wrenches given by name. Raises InvalidModel if one acts on a body that the robot does not have."""
        if not wrenches:
            return self._no_wrenches
        outside, places = self._no_wrenches.copy(), self._places
        for body, wrench in wrenches.items():
            try:
                outside[places[body]] = wrench
            except KeyError:
                check_known(body, places, "a wrench acts on", "the robot has")
        return outside

    def write(self, q: Vector, v: Vector, a: Vector, outside: Matrix, Y: Matrix, tau: Vector) -> None:
        """Write Y_est into Y (n, 10 k), which must be zeros, and tau_nom into tau (n,); `outside` (l, 6)."""
        kernel: Any = link_torques
        kernel(*self.constants, q, v, a, outside, Y, tau)
        if self.added is not None:
            tau += self._joints.torque(q, v, a, self.added)
        P = self.projection(q)
        if len(P):
            project(P, Y, tau)

    def joint_torque(self, q: Vector, v: Vector, a: Vector) -> Vector | float:
        """(n,) efforts of rotors, couplings and friction; 0 where there are none."""
        if self.added is None:
            return 0.0
        torque, P = self._joints.torque(q, v, a, self.added), self.projection(q)
        return P.T @ torque if len(P) else torque

    def projection(self, q: Vector) -> Matrix:
        """(n, n) N, with a column of zeros for each dependent freedom; (0, 0) where all are independent."""
        closure = self.robot.closure
        if closure is None:
            return _FREE
        P = np.zeros((self.robot.model.nv,) * 2)
        P[:, closure.independent] = closure.projection(np.asarray(q)[None])[0]
        return P

    def constrained(
        self, q: Vector, v: Vector, a: Vector, tau: Vector
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """A sample in which dependent joints follow the others, with N^T tau in the rows of these, NaN in theirs.

        A dependent joint without a reading, NaN, has no motor.
        """
        closure = self.robot.closure
        if closure is None:
            return q, v, a, tau
        d = closure.dependent
        q_closed, v_closed = closure.followed(q[None], v[None], d)
        v_closed, a_closed = closure.motion(q_closed, v_closed, a[None])
        driven = tau.copy()
        driven[d] = np.nan_to_num(driven[d])
        # a joint that lacks its reading makes no other one unknown, unless they are coupled
        P = self.projection(q_closed[0])
        own = np.where(P != 0, P * driven[:, None], 0.0).sum(axis=0)
        own[d] = np.nan
        return q_closed[0], v_closed[0], a_closed[0], own

    @cached_property
    def constants(self) -> tuple[np.ndarray, ...]:
        """First arguments of `link_torques`: (joints, C, S).

        joints: (J, 6) parent, kind, first component in q and in v, body, and which open body it is, or -1; the world
        is joint J. C: (chunks, 43, L) constants of L joints each. S: (n + 1, 6) the twist of each freedom, and A of the
        world: it accelerates upward, so that gravity is part of the inertial forces.
        """
        tree, J, depths = self.robot.tree, len(self.robot.tree), list[int]()
        for o in tree.parent:
            depths.append(depths[o] + 1 if o >= 0 else 0)
        # neighbours do not depend on each other, so a processor computes them at the same time
        order = np.argsort(depths, kind="stable")
        places = np.append(np.argsort(order), J)
        opened = np.array([next(iter(np.flatnonzero(self.open_bodies == body)), -1) for body in tree.body])
        joints = [places[tree.parent], tree.kind, tree.q_index, tree.v_index, tree.body, opened]
        degrees, R = DEGREES[tree.kind], tree.rotation
        # the placement of a joint with several freedoms is constant but for a factor
        e = tree.axis * (degrees == 1)[:, None]
        slide = np.where(tree.kind == PRISMATIC, 1.0, tree.pitch)[:, None] * e
        R_e, R_cross = R @ (e[:, :, None] * e[:, None]), -R @ np.cross(e[:, None], np.eye(3))
        pi = np.where(tree.body[:, None] >= 0, self.known[tree.body], 0.0)
        parts = [R_e, tree.translation, R - R_e, R_cross, (R @ slide[:, :, None]), pi]
        C = np.zeros(((J // L + 1) * L, _PI + 10))
        C[:J] = np.concatenate([part.reshape(J, -1) for part in parts], axis=1)[order]
        S = [S_i[:count] for S_i, count in zip(tree.subspace, degrees, strict=True)]
        return (
            np.stack(joints, axis=1)[order].astype(np.int64),
            np.ascontiguousarray(np.swapaxes(C.reshape(-1, L, _PI + 10), 1, 2)),
            np.concatenate([*S, [[*-tree.gravity, 0.0, 0.0, 0.0]]]),
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {body: k for k, body in enumerate(self.robot.bodies)}

    @cached_property
    def _no_wrenches(self) -> Matrix:
        return np.zeros((len(self.robot.bodies), 6))

    @cached_property
    def _joints(self) -> JointTerms:
        return JointTerms(self.robot)


@njit(**STEP)
def _vector(M, r, i):
    """Rows r to r + 2 of joint i. Indices of all three axes: slices of arrays would take longer than their use."""
    c, s = i // L, i % L
    return M[c, r, s], M[c, r + 1, s], M[c, r + 2, s]


@njit(**STEP)
def _set(M, r, i, x0, x1, x2):
    c, s = i // L, i % L
    M[c, r, s], M[c, r + 1, s], M[c, r + 2, s] = x0, x1, x2


@njit(**STEP)
def _add(M, r, i, x0, x1, x2):
    c, s = i // L, i % L
    M[c, r, s] += x0
    M[c, r + 1, s] += x1
    M[c, r + 2, s] += x2


@njit(**STEP)
def _into(M, i, x0, x1, x2):
    """R^T x: a vector of the outer frame in the axes of joint i."""
    c, s = i // L, i % L
    return (
        M[c, 0, s] * x0 + M[c, 3, s] * x1 + M[c, 6, s] * x2,
        M[c, 1, s] * x0 + M[c, 4, s] * x1 + M[c, 7, s] * x2,
        M[c, 2, s] * x0 + M[c, 5, s] * x1 + M[c, 8, s] * x2,
    )


@njit(**STEP)
def _out_of(M, i, x0, x1, x2):
    """R x of joint i."""
    c, s = i // L, i % L
    return (
        M[c, 0, s] * x0 + M[c, 1, s] * x1 + M[c, 2, s] * x2,
        M[c, 3, s] * x0 + M[c, 4, s] * x1 + M[c, 5, s] * x2,
        M[c, 6, s] * x0 + M[c, 7, s] * x1 + M[c, 8, s] * x2,
    )


@njit(**INLINE_KERNEL)
def _place(C, x, Q, M):
    """R and p of L joints, from cos q and sin q in Q, and q in the second row of x."""
    assert C.shape[1] == L and x.shape[1] == L and Q.shape[1] == L and M.shape[1] == L
    for s in range(L):
        for r in range(9):
            M[r, s] = C[r, s] + Q[0, s] * C[_COS + r, s] + Q[1, s] * C[_SIN + r, s]
        for r in range(3):
            M[_P + r, s] = C[_P + r, s] + x[1, s] * C[_ALONG + r, s]


@njit(**STEP)
def _placements(joints, C, q, M):
    """R and p of all joints."""
    x, Q, R, p = np.zeros((2, L)), np.empty((2, L)), np.empty((3, 3)), np.empty(3)
    for first in range(0, len(joints), L):
        count = min(L, len(joints) - first)
        for s in range(count):
            kind, at = joints[first + s, 1], joints[first + s, 2]
            x[0, s], x[1, s] = q[at] if kind == REVOLUTE or kind == HELICAL else 0.0, q[at]
        cos_sin(x, 0, Q)
        for s in range(count):
            if joints[first + s, 1] == CONTINUOUS:
                Q[0, s], Q[1, s] = q[joints[first + s, 2]], q[joints[first + s, 2] + 1]
        _place(C[first // L], x, Q, M[first // L])
    for i in range(len(joints)):
        if DEGREES[joints[i, 1]] > 1:
            # p stands for the axis, which joints with several freedoms do not have
            joint_placement(joints[i, 1], p, 0.0, q, joints[i, 2], R, p)
            _add(M, _P, i, *_out_of(M, i, p[0], p[1], p[2]))
            for c in range(3):
                R[0, c], R[1, c], R[2, c] = _out_of(M, i, R[0, c], R[1, c], R[2, c])
            for r in range(3):
                _set(M, 3 * r, i, R[r, 0], R[r, 1], R[r, 2])


@njit(**STEP)
def _motions(joints, S, v, a, M):
    """V and A of all joints."""
    world = len(joints)
    _set(M, _V, world, 0.0, 0.0, 0.0)
    _set(M, _V + 3, world, 0.0, 0.0, 0.0)
    _set(M, _A, world, S[-1, 0], S[-1, 1], S[-1, 2])
    _set(M, _A + 3, world, 0.0, 0.0, 0.0)
    for i in range(len(joints)):
        o, j = joints[i, 0], joints[i, 3]
        # S v = (x, y) and S a = (b, g)
        x0, x1, x2 = S[j, 0] * v[j], S[j, 1] * v[j], S[j, 2] * v[j]
        y0, y1, y2 = S[j, 3] * v[j], S[j, 4] * v[j], S[j, 5] * v[j]
        b0, b1, b2 = S[j, 0] * a[j], S[j, 1] * a[j], S[j, 2] * a[j]
        g0, g1, g2 = S[j, 3] * a[j], S[j, 4] * a[j], S[j, 5] * a[j]
        for k in range(j + 1, j + DEGREES[joints[i, 1]]):
            x0, x1, x2 = x0 + S[k, 0] * v[k], x1 + S[k, 1] * v[k], x2 + S[k, 2] * v[k]
            y0, y1, y2 = y0 + S[k, 3] * v[k], y1 + S[k, 4] * v[k], y2 + S[k, 5] * v[k]
            b0, b1, b2 = b0 + S[k, 0] * a[k], b1 + S[k, 1] * a[k], b2 + S[k, 2] * a[k]
            g0, g1, g2 = g0 + S[k, 3] * a[k], g1 + S[k, 4] * a[k], g2 + S[k, 5] * a[k]
        p0, p1, p2 = _vector(M, _P, i)
        w0, w1, w2 = _vector(M, _V + 3, o)
        l0, l1, l2 = _vector(M, _V, o)
        c0, c1, c2 = cross(w0, w1, w2, p0, p1, p2)
        l0, l1, l2 = _into(M, i, l0 + c0, l1 + c1, l2 + c2)
        w0, w1, w2 = _into(M, i, w0, w1, w2)
        _set(M, _V, i, l0 + x0, l1 + x1, l2 + x2)
        _set(M, _V + 3, i, w0 + y0, w1 + y1, w2 + y2)
        c0, c1, c2 = cross(w0, w1, w2, x0, x1, x2)
        d0, d1, d2 = cross(l0, l1, l2, y0, y1, y2)
        e0, e1, e2 = cross(w0, w1, w2, y0, y1, y2)
        x0, x1, x2, y0, y1, y2 = b0 + c0 + d0, b1 + c1 + d1, b2 + c2 + d2, g0 + e0, g1 + e1, g2 + e2
        l0, l1, l2 = _vector(M, _A, o)
        w0, w1, w2 = _vector(M, _A + 3, o)
        c0, c1, c2 = cross(w0, w1, w2, p0, p1, p2)
        l0, l1, l2 = _into(M, i, l0 + c0, l1 + c1, l2 + c2)
        w0, w1, w2 = _into(M, i, w0, w1, w2)
        _set(M, _A, i, l0 + x0, l1 + x1, l2 + x2)
        _set(M, _A + 3, i, w0 + y0, w1 + y1, w2 + y2)


@njit(**INLINE_KERNEL)
def _wrenches(C, M):
    """F of the bodies of L joints."""
    assert C.shape[1] == L and M.shape[1] == L
    for s in range(L):
        m, h0, h1, h2 = C[_PI, s], C[_PI + 1, s], C[_PI + 2, s], C[_PI + 3, s]
        xx, xy, yy = C[_PI + 4, s], C[_PI + 5, s], C[_PI + 6, s]
        xz, yz, zz = C[_PI + 7, s], C[_PI + 8, s], C[_PI + 9, s]
        l0, l1, l2, w0, w1, w2 = M[12, s], M[13, s], M[14, s], M[15, s], M[16, s], M[17, s]
        a0, a1, a2 = M[21, s], M[22, s], M[23, s]
        c0, c1, c2 = M[18, s] + w1 * l2 - w2 * l1, M[19, s] + w2 * l0 - w0 * l2, M[20, s] + w0 * l1 - w1 * l0
        t0, t1, t2 = w1 * h2 - w2 * h1, w2 * h0 - w0 * h2, w0 * h1 - w1 * h0
        k0 = xx * w0 + xy * w1 + xz * w2
        k1 = xy * w0 + yy * w1 + yz * w2
        k2 = xz * w0 + yz * w1 + zz * w2
        M[24, s] = m * c0 + a1 * h2 - a2 * h1 + w1 * t2 - w2 * t1
        M[25, s] = m * c1 + a2 * h0 - a0 * h2 + w2 * t0 - w0 * t2
        M[26, s] = m * c2 + a0 * h1 - a1 * h0 + w0 * t1 - w1 * t0
        M[27, s] = h1 * c2 - h2 * c1 + xx * a0 + xy * a1 + xz * a2 + w1 * k2 - w2 * k1
        M[28, s] = h2 * c0 - h0 * c2 + xy * a0 + yy * a1 + yz * a2 + w2 * k0 - w0 * k2
        M[29, s] = h0 * c1 - h1 * c0 + xz * a0 + yz * a1 + zz * a2 + w0 * k1 - w1 * k0


@njit(**STEP)
def _efforts(joints, S, outside, M, tau):
    """tau of all freedoms; F less the wrenches from outside is carried inwards."""
    for i in range(len(joints) - 1, -1, -1):
        o, j, body = joints[i, 0], joints[i, 3], joints[i, 4]
        f0, f1, f2 = _vector(M, _F, i)
        n0, n1, n2 = _vector(M, _F + 3, i)
        if body >= 0:
            f0, f1, f2 = f0 - outside[body, 0], f1 - outside[body, 1], f2 - outside[body, 2]
            n0, n1, n2 = n0 - outside[body, 3], n1 - outside[body, 4], n2 - outside[body, 5]
        for k in range(j, j + DEGREES[joints[i, 1]]):
            tau[k] = S[k, 0] * f0 + S[k, 1] * f1 + S[k, 2] * f2 + S[k, 3] * n0 + S[k, 4] * n1 + S[k, 5] * n2
        f0, f1, f2 = _out_of(M, i, f0, f1, f2)
        n0, n1, n2 = _out_of(M, i, n0, n1, n2)
        c0, c1, c2 = cross(*_vector(M, _P, i), f0, f1, f2)
        _add(M, _F, o, f0, f1, f2)
        _add(M, _F + 3, o, n0 + c0, n1 + c1, n2 + c2)


@njit(**STEP)
def _along(axes, x0, x1, x2):
    """Components of a vector along three axes."""
    (e0, e1, e2), (g0, g1, g2), (h0, h1, h2) = axes
    return e0 * x0 + e1 * x1 + e2 * x2, g0 * x0 + g1 * x1 + g2 * x2, h0 * x0 + h1 * x1 + h2 * x2


@njit(**STEP)
def _columns(i, joints, S, M, first, Y):
    """The columns of Y (n, 10 k) from the first on, of an open body on joint i."""
    w0, w1, w2 = _vector(M, _V + 3, i)
    d0, d1, d2 = cross(w0, w1, w2, *_vector(M, _V, i))
    c0, c1, c2 = _vector(M, _A, i)
    c0, c1, c2 = c0 + d0, c1 + d1, c2 + d2
    a0, a1, a2 = _vector(M, _A + 3, i)
    square = w0 * w0 + w1 * w1 + w2 * w2
    # the axes of the body's frame and its origin, in the frame of its joint first, and then of those before it
    axes, p0, p1, p2 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), 0.0, 0.0, 0.0
    while i < len(joints):
        for j in range(joints[i, 3], joints[i, 3] + DEGREES[joints[i, 1]]):
            # the twist of freedom j about the body's origin, in its axes
            d0, d1, d2 = cross(S[j, 3], S[j, 4], S[j, 5], p0, p1, p2)
            l0, l1, l2 = _along(axes, S[j, 0] + d0, S[j, 1] + d1, S[j, 2] + d2)
            u0, u1, u2 = _along(axes, S[j, 3], S[j, 4], S[j, 5])
            Y[j, first] = l0 * c0 + l1 * c1 + l2 * c2
            # B^T l + c x u,  B = [alpha]x + w w^T - |w|^2 1
            along = w0 * l0 + w1 * l1 + w2 * l2
            d0, d1, d2 = cross(l0, l1, l2, a0, a1, a2)
            e0, e1, e2 = cross(c0, c1, c2, u0, u1, u2)
            Y[j, first + 1] = d0 + along * w0 - square * l0 + e0
            Y[j, first + 2] = d1 + along * w1 - square * l1 + e1
            Y[j, first + 3] = d2 + along * w2 - square * l2 + e2
            # u alpha^T + (u x w) w^T, symmetrized
            d0, d1, d2 = cross(u0, u1, u2, w0, w1, w2)
            Y[j, first + 4] = u0 * a0 + d0 * w0
            Y[j, first + 5] = u0 * a1 + d0 * w1 + u1 * a0 + d1 * w0
            Y[j, first + 6] = u1 * a1 + d1 * w1
            Y[j, first + 7] = u0 * a2 + d0 * w2 + u2 * a0 + d2 * w0
            Y[j, first + 8] = u1 * a2 + d1 * w2 + u2 * a1 + d2 * w1
            Y[j, first + 9] = u2 * a2 + d2 * w2
        axes = (_out_of(M, i, *axes[0]), _out_of(M, i, *axes[1]), _out_of(M, i, *axes[2]))
        d0, d1, d2 = _vector(M, _P, i)
        e0, e1, e2 = _out_of(M, i, p0, p1, p2)
        p0, p1, p2 = d0 + e0, d1 + e1, d2 + e2
        i = joints[i, 0]


@njit(**STEP)
def project(P: Matrix, Y: Matrix, tau: Vector) -> None:
    """Put P^T Y and P^T tau in place of Y (n, m) and tau (n,)."""
    n, m = Y.shape
    column = np.empty(n)
    for k in range(m + 1):
        for j in range(n):
            column[j] = Y[j, k] if k < m else tau[j]
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += P[j, i] * column[j]
            if k < m:
                Y[i, k] = total
            else:
                tau[i] = total


@njit(**STEP)
def link_torques(
    joints: np.ndarray, C: np.ndarray, S: Matrix,
    q: Vector, v: Vector, a: Vector, outside: Matrix, Y: Matrix, tau: Vector,
) -> None:  # fmt: skip
    """Write tau_nom (n,), and the columns Y (n, 10 k) of open bodies where they are not zero by structure.

    Args:
        joints, C, S: `LinkTorques.constants`. outside: (l, 6).
    """
    M = np.empty((len(C), _ROWS, L))
    _placements(joints, C, q, M)
    _motions(joints, S, v, a, M)
    for c in range(len(C)):
        _wrenches(C[c], M[c])
    for i in range(len(joints)):
        if joints[i, 5] >= 0:
            _columns(i, joints, S, M, 10 * joints[i, 5], Y)
    _efforts(joints, S, outside, M, tau)
