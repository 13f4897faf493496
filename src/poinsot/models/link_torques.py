"""Inverse dynamics of a sample with some open bodies: tau = Y_est pi_est + tau_nom.

These are Eqs. 6, 7, 13 and 14 of Foster et al. (2024). Bodies with unknown parameters enter as columns, all others as
numbers, in one recursion over the tree. Outward go twists V and accelerations A of joints (`joint_motion`); inward the
wrench of all bodies beyond a joint (`inverse_dynamics`),

    known bodies      F = Y A + V x* Y V - wrench from outside
    open bodies       F = W pi,  W (10, 6) the wrenches of the same body for one parameter at 1 each

whose effort on freedom j is J_j . F. An open body costs its own path to the world only, so this is faster than a whole
regressor by a factor of the number of bodies.

Rotors, couplings and friction are known as well; docs/concepts/online.md says where known parameters come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Brief, Matrix, Vector
from ..exceptions import InvalidModel, check_known, listing
from ..inertia.parameters import is_consistent
from ..kernels import njit
from .articulated import Articulated
from .inverse_dynamics import add_needed_wrench, add_turned
from .joint_motion import STEP, cross, dot, outward, shift_wrench
from .joint_terms import JointTerms
from .tree import DEGREES


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
        robot.refuse_loops("a filter")
        for link in self.links:
            check_known(link, bodies, "no body", "the robot has")
        if not self.links or len(set(self.links)) < len(self.links):
            raise InvalidModel("name the bodies to estimate, each once")
        if self.nominal is not None and self.nominal.shape != (len(bodies), 10):
            raise InvalidModel(f"nominal parameters need ten numbers for each of {len(bodies)} bodies")
        if robot.inputs:
            raise InvalidModel(
                f"a filter reads motion and efforts alone, and not the channels {listing(robot.inputs)}"
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
            return self._none
        outside = np.zeros(self._none.shape)  # zeros_like takes four times as long, every tick
        for body, wrench in wrenches.items():
            if body not in self._places:
                check_known(body, self._places, "a wrench acts on", "the robot has")
            outside[self._places[body]] = wrench
        return outside

    def write(self, q: Vector, v: Vector, a: Vector, outside: Matrix, Y: Matrix, tau: Vector) -> None:
        """Write the same into Y (n, 10 k) and tau (n,), which must be zeros; `outside` (l, 6)."""
        kernel: Any = _link_torques
        tree = self.robot.tree
        kernel(tree.arrays, tree.gravity, self.known, self.open_bodies, q, v, a, outside, Y, tau)
        if self.added is not None:
            tau += self._joints.torque(q, v, a, self.added)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {body: k for k, body in enumerate(self.robot.bodies)}

    @cached_property
    def _none(self) -> Matrix:
        return np.zeros((len(self.robot.bodies), 6))

    @cached_property
    def _joints(self) -> JointTerms:
        return JointTerms(self.robot)


@njit(**STEP)
def _unit_wrenches(R, V, A, W):
    """W (10, 6): Y A + V x* Y V of a body with each of its ten parameters at 1, from the axes R[:, r] of its frame."""
    w0, w1, w2, a0, a1, a2 = V[3], V[4], V[5], A[3], A[4], A[5]
    c0, c1, c2 = cross(w0, w1, w2, V[0], V[1], V[2])
    c0, c1, c2 = c0 + A[0], c1 + A[1], c2 + A[2]
    W[0, 0], W[0, 1], W[0, 2] = c0, c1, c2
    W[0, 3] = W[0, 4] = W[0, 5] = 0.0
    k = 4
    for r in range(3):
        e0, e1, e2 = R[0, r], R[1, r], R[2, r]
        t0, t1, t2 = cross(w0, w1, w2, e0, e1, e2)
        f0, f1, f2 = cross(w0, w1, w2, t0, t1, t2)
        b0, b1, b2 = cross(a0, a1, a2, e0, e1, e2)
        W[1 + r, 0], W[1 + r, 1], W[1 + r, 2] = b0 + f0, b1 + f1, b2 + f2
        W[1 + r, 3], W[1 + r, 4], W[1 + r, 5] = cross(e0, e1, e2, c0, c1, c2)
        along_w, along_a = e0 * w0 + e1 * w1 + e2 * w2, e0 * a0 + e1 * a1 + e2 * a2
        for s in range(r + 1):  # I = e d^T + d e^T, or e e^T
            d0, d1, d2 = R[0, s], R[1, s], R[2, s]
            by_w, by_a = d0 * w0 + d1 * w1 + d2 * w2, d0 * a0 + d1 * a1 + d2 * a2
            if r == s:
                by_w = by_a = 0.0
            x0, x1, x2 = e0 * by_w + d0 * along_w, e1 * by_w + d1 * along_w, e2 * by_w + d2 * along_w
            t0, t1, t2 = cross(w0, w1, w2, x0, x1, x2)
            W[k, 0] = W[k, 1] = W[k, 2] = 0.0
            W[k, 3] = e0 * by_a + d0 * along_a + t0
            W[k, 4] = e1 * by_a + d1 * along_a + t1
            W[k, 5] = e2 * by_a + d2 * along_a + t2
            k += 1


@njit(**STEP)
def _columns_inward(i, parent, kind, v_index, p, J, W, Y):
    """The columns (n, 10) of an open body on joint i: W carried along its path to the world."""
    while i >= 0:
        for j in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
            for c in range(10):
                Y[j, c] = dot(J[j], W[c])
        for c in range(10):
            shift_wrench(W[c], p[i])
        i = parent[i]


@njit(**STEP)
def _link_torques(tree, gravity, known, opened, q, v, a, outside, Y, tau):
    parent, kind, _, _, _, _, _, v_index, body, _ = tree
    R, p, J, W = (
        np.empty((len(parent), 3, 3)),
        np.empty((len(parent), 3)),
        np.empty((len(v), 6)),
        np.empty((10, 6)),
    )
    V, A, F = np.empty((len(parent), 6)), np.empty((len(parent), 6)), np.zeros((len(parent), 6))
    none, V_b, A_b, f, P = np.empty((0, 6)), np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    # no slopes
    outward(tree, gravity, q, v, a, R, p, V, A, J, none, none, none)
    for i in range(len(parent)):
        if body[i] < 0:
            continue
        for r in range(6):
            f[r] = -outside[body[i], r]
        for r in range(3):  # to the body's axes and back: fewer products than turning its inertia
            for x, y in ((V[i], V_b), (A[i], A_b)):
                y[r] = R[i, 0, r] * x[0] + R[i, 1, r] * x[1] + R[i, 2, r] * x[2]
                y[3 + r] = R[i, 0, r] * x[3] + R[i, 1, r] * x[4] + R[i, 2, r] * x[5]
        add_needed_wrench(known[body[i]], V_b, A_b, P, f)
        add_turned(R[i], 1.0, f, F[i])
        for k in range(len(opened)):
            # an open body has known parameters too: nominal ones less `described`
            if opened[k] == body[i]:
                _unit_wrenches(R[i], V[i], A[i], W)
                _columns_inward(i, parent, kind, v_index, p, J, W, Y[:, 10 * k : 10 * k + 10])
    for i in range(len(parent) - 1, -1, -1):
        for j in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
            tau[j] += dot(J[j], F[i])
        if parent[i] >= 0:
            shift_wrench(F[i], p[i])
            for r in range(6):
                F[parent[i], r] += F[i, r]
