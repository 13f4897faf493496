"""Forward dynamics free and in contact, and impacts, with derivatives by state, effort and theta.

(Martinez et al. 2024, Sect. IV.)

With contacts closed (Eq. 2 and its constraint; `contacts` has gamma, and J's rows are theirs),

    [M  J^T] [ a]   [tau - b]                                    [M  J^T]^-1   [P    L^T]
    [J  -mu] [-f] = [-gamma ],         and with the inverse      [J  -mu]    = [L    -G^-1],

    G = J M^-1 J^T + mu,  L = G^-1 J M^-1,  P = M^-1 - M^-1 J^T L

a = P (tau - b) - L^T gamma and f = -L (tau - b) - G^-1 gamma. Every slope uses the same P, L and G: with

    r = M a + b - J^T f - tau,      s = J a + gamma

and r_x, s_x their slopes at constant a and f, a_x = -P r_x - L^T s_x and f_x = L r_x - G^-1 s_x. By tau r_tau = -1. By
theta r is linear in what theta stands for: bodies r_pi = Y(q, v, a) dpi/dtheta, joints' terms their columns, gains
-A u, and s does not depend on theta. (Eq. 18 says this for -f. Eq. 17 lacks its minus sign: heavier bodies are slower.)

An impact (Eq. 19, without restitution) is the same with momentum: M (v+ - v) = J^T impulse, J v+ = mu impulse. Then
r = ID_0(q, 0, v+ - v) - J^T impulse, where ID_0 is without gravity, and r_v = -M.

A closed contact may have noise w, an acceleration [m/s^2], [rad/s^2] that its constraint leaves: J a + gamma = w. Then
gamma - w stands for gamma above, and a_w = L^T, f_w = G^-1.

mu > 0 is a softness of all contacts [1/kg] that makes redundant contacts solvable: they share the indeterminate forces
like springs of equal softness, with the smallest forces that explain the motion. All slopes are
those of the softened problem, exactly. With the default, a contact under 1 kN lets an acceleration of 1e-5 m/s^2 pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Columns, ColumnSlopes, Configurations, Float, JointSamples, Matrix, Vector
from ...exceptions import InvalidModel
from ...kernels import njit
from ..robot.coupling_constraint import CouplingConstraint, coupling_constraints
from ..robot.frame_motion import FrameMotion
from ..robot.loop_constraint import LoopConstraint
from ..robot.loops import frames_of
from ..robot.motion_terms import MotionTerms, frame_index
from ..robot.open_parameters import OpenParameters, ParameterValues
from ..robot.torque_regressor import regressor_entries
from ..sensor_errors import SensorErrors
from .contacts import Contact


@dataclass(frozen=True, eq=False)
class DynamicsJacobians:
    """Derivatives of m components at T states.

    Args:
        q, v, tau: (T, m, n) by the configuration along its tangent, by speeds, by generalized forces.
        theta: (T, m, p) by theta.
        w: (T, m, c) by noise of the constraints, a column a row of J.
    """

    q: ColumnSlopes
    v: ColumnSlopes
    tau: ColumnSlopes
    theta: Float[np.ndarray, "T m p"]
    w: Float[np.ndarray, "T m c"]


@dataclass(frozen=True, eq=False)
class Linearized:
    """m numbers at T states, next states or residuals of sensors, with derivatives along the tangents.

    Args:
        value: (T, m); next states are (T, nq + n), with m = 2 n numbers in their tangent.
        by_x: (T, m, 2n) by changes of the state; None: slopes were not requested.
        by_tau, by_theta: (T, m, n) by generalized forces, if requested, and (T, m, p) by theta.
        by_w: (T, m, c) by noise of contacts, where they have any and `by_tau` was requested.
    """

    value: Float[np.ndarray, "T _"]
    by_x: Float[np.ndarray, "T m two_n"] | None = None
    by_tau: Float[np.ndarray, "T m n"] | None = None
    by_theta: Float[np.ndarray, "T m p"] | None = None
    by_w: Float[np.ndarray, "T m c"] | None = None

    @classmethod
    def zeros(
        cls, value: np.ndarray, m: int, n: int, p: int, slopes: bool, efforts: bool, c: int = 0
    ) -> Linearized:
        """These values with slopes of 0, to be filled in."""
        if not slopes:
            return cls(value)
        by_x, by_theta = np.zeros((len(value), m, 2 * n)), np.zeros((len(value), m, p))
        by_tau, by_w = (np.zeros((len(value), m, k)) if efforts else None for k in (n, c))
        return cls(value, by_x, by_tau, by_theta, by_w)

    def scale(self, rows: slice, factors: Float[np.ndarray, "T _"]) -> None:
        """Multiply some of the m numbers, with their derivatives."""
        self.value[:, rows] *= factors
        for slopes in (self.by_x, self.by_tau, self.by_theta, self.by_w):
            if slopes is not None:
                slopes[:, rows] *= factors[:, :, None]

    def put(self, places: np.ndarray, part: Linearized) -> None:
        """Write every array of a part into the rows at these places."""
        for name, values in vars(part).items():
            if values is not None:
                getattr(self, name)[places] = values


@dataclass(frozen=True, eq=False)
class RobotMotion:
    """Accelerations and contact forces at T states.

    Args:
        q, v: (T, nq), (T, n).
        a: (T, n) acceleration; after an impact v+.
        forces: (T, m) forces of the closed contacts one after another, on the robot in the axes of their frames [N],
            [N m]; for an impact, impulses [N s], [N m s].
        contacts: the closed ones, loops and couplings.
        frames: motion of the requested frames, and of the contacts' frames.
        a_by, forces_by: slopes; None: they were not requested.
        effort_slope: (n, inputs) derivative of tau by u.
        errors: errors of the sensors that measure it.
    """

    q: Configurations
    v: JointSamples
    a: JointSamples
    forces: Columns
    contacts: tuple[Contact, ...]
    effort_slope: Matrix
    frames: Mapping[str, FrameMotion] = field(default_factory=dict)
    a_by: DynamicsJacobians | None = None
    forces_by: DynamicsJacobians | None = None
    errors: SensorErrors = field(default_factory=SensorErrors)

    def __len__(self) -> int:
        return len(self.v)

    @property
    def slopes(self) -> tuple[DynamicsJacobians, DynamicsJacobians]:
        """`a_by` and `forces_by`, which must have been requested."""
        assert self.a_by is not None and self.forces_by is not None, "the motion was evaluated without slopes"
        return self.a_by, self.forces_by

    def rows(self, frame: str) -> slice | None:
        """The rows in `forces` of the contact at a frame; None where it is open."""
        first = 0
        for contact in self.contacts:
            if contact.frame == frame:
                return slice(first, first + contact.size)
            first += contact.size
        return None


@dataclass(frozen=True, eq=False)
class ContactDynamics:
    """The dynamics of one mode: which contacts are closed.

    Args:
        parameters: the robot, its actuation, and the meaning of theta.
        contacts: the closed ones.
        frames: further frames, whose motion sensors need.
        softness: mu [1/kg], above 0 if contacts may be redundant.
    """

    parameters: OpenParameters
    contacts: tuple[Contact, ...] = ()
    frames: tuple[str, ...] = ()
    softness: float = 1e-8

    def __post_init__(self) -> None:
        if not (np.isfinite(self.softness) and self.softness >= 0):
            raise InvalidModel(f"the softness of contacts must be at least 0, not {self.softness:g}")
        for name in (*self._contact_frames, *self.frames):
            frame_index(self.parameters.robot, name)

    def __call__(
        self,
        q: Configurations,
        v: JointSamples,
        u: Float[np.ndarray, "T _"],
        theta: Vector,
        slopes: bool = False,
        w: Float[np.ndarray, "T c"] | None = None,
    ) -> RobotMotion:
        """Accelerations and contact forces.

        Args:
            q, v, u: (T, nq), (T, n), (T, inputs).
            theta: (p,).
            slopes: whether slopes by q, v, tau, theta and w are computed.
            w: (T, c) noise of the rows of `contacts`, in level axes [m/s^2], [rad/s^2]; None: 0.
        """
        terms = self._terms
        values = self.parameters.values(theta)
        joints = self.parameters.joint_terms
        effort = self.parameters.drive.slope(values.gains)
        M, b = terms.mass_and_bias(values.inertials, q, v)
        # without acceleration the residual of a constraint is gamma
        still = self._frames(self._contact_frames, q, v, np.zeros_like(v), jacobians=True)
        J, gamma = self._constraint(still, len(v))
        noise = [] if w is None else self._by_contact(w)
        for contact, rows, own in noise:
            gamma[:, rows] -= contact.from_level(contact.motion(still), own)
        inverse = _Inverse.of(M + joints.rotors(values.joints), J, self.softness)
        held_up, stiffness = joints.stiffness(values.joints, q)
        friction, viscosity = joints.friction(values.joints, v, slopes)
        drive = u @ effort.T - friction - held_up - b
        a, forces = inverse.solve(drive, gamma)
        errors = self.parameters.sensor_errors(theta)
        motion = RobotMotion(q, v, a, forces, self.constraints, effort, errors=errors)
        frames = self._frames((*self._contact_frames, *self.frames), q, v, a, slopes)
        if not slopes:
            return replace(motion, frames=frames)
        r_q, r_v = self._effort_slopes(values.inertials, replace(motion, frames=frames))
        r_q, r_v = r_q + stiffness, r_v + viscosity
        bends = [constraint.residual_slopes(constraint.motion(frames)) for constraint in self.constraints]
        s_q, s_v = (_stacked([bend[k] for bend in bends], *v.shape) for k in range(2))
        for contact, rows, own in noise:
            s_q[:, rows] -= contact.from_level_by_q(contact.motion(frames), own)
        columns = np.concatenate(
            [
                self._body_columns(values, q, v, a, gravity=True),
                joints.columns(self.parameters.joint_places, q, v, a),
                # r = M a + b - tau: efforts of the drive have a minus sign
                -self.parameters.drive.columns(u)[:, :, self.parameters.gain_places],
                np.zeros((*v.shape, len(self.parameters.sensors))),
            ],
            axis=2,
        )
        a_by, forces_by = inverse.slopes(r_q, r_v, s_q, s_v, columns)
        for contact, rows, _ in noise:
            at = contact.motion(frames)
            for by in (a_by, forces_by):
                by.w[:, :, rows] = contact.to_level(at, by.w[:, :, rows].transpose(0, 2, 1)).transpose(
                    0, 2, 1
                )
        return replace(motion, frames=frames, a_by=a_by, forces_by=forces_by)

    def normal_forces(
        self,
        q: Configurations,
        v: JointSamples,
        a: JointSamples,
        u: Float[np.ndarray, "T _"],
        theta: Vector,
        noise: float,
        largest: float,
    ) -> Float[np.ndarray, "T c"]:
        """Vertical forces of the ground on each of `contacts` by the efforts of the joints and their motion [N].

        With J_j the columns of the joints in J, the likeliest forces with M a + b - tau = J^T f in the joints' rows,
        which do not depend on the mass of the base, given noise of efforts and forces of this size.

        Args:
            q, v, a, u: (T, nq), (T, n), (T, n), (T, inputs).
            noise, largest: standard deviations of efforts [N m] and of forces [N].
        """
        values, joints, robot = (
            self.parameters.values(theta),
            self.parameters.joint_terms,
            self.parameters.robot,
        )
        M, b = self._terms.mass_and_bias(values.inertials, q, v)
        still = self._frames(self._contact_frames, q, v, np.zeros_like(v), jacobians=True)
        motions = [(contact, contact.motion(still)) for contact in self.contacts]
        level = [contact.to_level(at, contact.jacobian(at)) for contact, at in motions]
        J = np.concatenate(level, axis=1)[:, :, robot.actuated]
        held_up, _ = joints.stiffness(values.joints, q)
        friction, _ = joints.friction(values.joints, v, False)
        drive = u @ self.parameters.drive.slope(values.gains).T - friction - held_up
        left = (_times(M + joints.rotors(values.joints), a) + b - drive)[:, robot.actuated]
        m = J.shape[1]
        f = np.linalg.solve(
            J @ J.transpose(0, 2, 1) + (noise / largest) ** 2 * np.eye(m), J @ left[:, :, None]
        )[:, :, 0]
        ends = np.cumsum([0, *(contact.size for contact in self.contacts)])[:-1]
        return np.asarray(f[:, ends + 2])

    def _by_contact(
        self, w: Float[np.ndarray, "T c"]
    ) -> list[tuple[Contact, slice, Float[np.ndarray, "T _"]]]:
        """Each of `contacts` with its rows and their noise."""
        ends = np.cumsum([0, *(contact.size for contact in self.contacts)]).tolist()
        rows = [slice(*pair) for pair in pairwise(ends)]
        return [(contact, own, w[:, own]) for contact, own in zip(self.contacts, rows, strict=True)]

    def impact(self, q: Configurations, v: JointSamples, theta: Vector, slopes: bool = False) -> RobotMotion:
        """The velocity after the contacts have closed, as `a` of the result, and impulses as its `forces`.

        Args:
            q, v: (T, nq), (T, n) before.
            theta: (p,).
            slopes: whether slopes by q, v and theta are computed; those by tau are by an impulse on the joints.
        """
        terms = self._terms
        values = self.parameters.values(theta)
        joints = self.parameters.joint_terms
        zero = np.zeros_like(v)
        M = terms.mass_and_bias(values.inertials, q, zero)[0] + joints.rotors(values.joints)
        still = self._frames(self._contact_frames, q, zero, zero, jacobians=True)
        J = self._constraint(still, len(v))[0]
        inverse = _Inverse.of(M, J, self.softness)
        after, impulses = inverse.solve(np.einsum("tij, tj -> ti", M, v), np.zeros(J.shape[:2]))
        effort = self.parameters.drive.slope(values.gains)
        motion = RobotMotion(q, v, after, impulses, self.constraints, effort)
        if not slopes:
            return motion
        # ID_0 of the jump is the momentum from the impulses; speeds are 0 in it, since an impact has no duration
        jump = after - v
        frames = self._frames(self._contact_frames, q, after, zero, slopes=True)
        r_q, _ = self._effort_slopes(values.inertials, replace(motion, v=zero, a=jump, frames=frames), False)
        by_q = [c.velocity_by_q(c.motion(frames)) for c in self.constraints]
        s_q = _stacked(by_q, len(v), v.shape[1])
        columns = np.concatenate(
            [
                self._body_columns(values, q, zero, jump, gravity=False),
                joints.rotor_columns(self.parameters.joint_places, jump),
                np.zeros((*v.shape, len(self.parameters.gains) + len(self.parameters.sensors))),
            ],
            axis=2,
        )
        a_by, forces_by = inverse.slopes(r_q, -M, s_q, np.zeros_like(J), columns)
        return replace(motion, frames=frames, a_by=a_by, forces_by=forces_by)

    @cached_property
    def _terms(self) -> MotionTerms:
        return MotionTerms(self.parameters.robot, self.constraints)

    @cached_property
    def _contact_frames(self) -> tuple[str, ...]:
        return tuple(name for constraint in self.constraints for name in constraint.frames)

    @cached_property
    def constraints(self) -> tuple[Contact, ...]:
        """The closed contacts, and the loops and couplings of the robot."""
        loops = frames_of(self.parameters.robot.loops)
        return (*self.contacts, *(LoopConstraint(ends[0], ends=ends) for ends in loops), *self._couplings)

    @cached_property
    def _couplings(self) -> tuple[CouplingConstraint, ...]:
        return coupling_constraints(self.parameters.robot)

    def _frames(
        self,
        names: tuple[str, ...],
        q: Configurations,
        v: JointSamples,
        a: JointSamples,
        *needed: bool,
        **more: bool,
    ) -> dict[str, FrameMotion]:
        """Motions of frames, as `MotionTerms.frames`, and of couplings."""
        coupled = {coupling.frame: coupling.of_joints(q, v, a) for coupling in self._couplings}
        return {**self._terms.frames(names, q, v, a, *needed, **more), **coupled}

    def _constraint(self, frames: Mapping[str, FrameMotion], T: int) -> tuple[np.ndarray, np.ndarray]:
        """(T, m, n) J and (T, m) gamma of frames without acceleration."""
        n = self.parameters.robot.model.nv
        motions = [(constraint, constraint.motion(frames)) for constraint in self.constraints]
        J = _stacked([constraint.jacobian(motion) for constraint, motion in motions], T, n)
        gamma = [constraint.residual(motion) for constraint, motion in motions]
        return J, np.concatenate([np.zeros((T, 0)), *gamma], axis=1)

    def _effort_slopes(
        self, inertials: np.ndarray, motion: RobotMotion, gravity: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of M a + b - J^T f by q and by v."""
        at = [(c, c.motion(motion.frames), motion.forces[:, motion.rows(c.frame)]) for c in self.constraints]
        wrenches = [np.zeros((len(motion), 0)), *(c.wrench(frame, force) for c, frame, force in at)]
        r_q, r_v = self._terms.inverse_dynamics_slopes(
            inertials, motion.q, motion.v, motion.a, np.concatenate(wrenches, axis=1), gravity
        )
        turning = [c.effort_by_q(frame, force) for c, frame, force in at]
        return r_q - sum(slope for slope in turning if slope is not None), r_v

    @cached_property
    def _entries(self) -> tuple[tuple[slice, np.ndarray], ...]:
        """For each open body the slice of its pairs of the regressor, and their rows."""
        dofs, bodies = self.parameters.robot.tree.pairs
        of_bodies = [np.flatnonzero(bodies == place) for place in self.parameters.places]
        # a slice of the entries is a view, indexed columns would be copied
        assert all(len(pairs) == pairs[-1] + 1 - pairs[0] for pairs in of_bodies)
        return tuple((slice(int(pairs[0]), int(pairs[-1]) + 1), dofs[pairs]) for pairs in of_bodies)

    def _body_columns(
        self, values: ParameterValues, q: Configurations, v: JointSamples, a: JointSamples, gravity: bool
    ) -> Float[np.ndarray, "T n _"]:
        """(T, n, 10 k) Y dpi/dtheta of the open bodies."""
        T, n = v.shape
        k = len(values.bodies)
        if not k:
            return np.empty((T, n, 0))
        tree = self.parameters.robot.tree
        # weight has no effect within an impact
        if not gravity:
            tree = replace(tree, gravity=np.zeros(3))
        entries = regressor_entries(tree, q, v, a).reshape(T, -1, 10)
        Y = np.zeros((T, n, 10 * k))
        for place, (pairs, dofs) in enumerate(self._entries):
            ten = entries[:, pairs].reshape(-1, 10)
            if values.slope is not None:
                ten = ten @ values.slope[place]
            Y[:, dofs, 10 * place : 10 * place + 10] = ten.reshape(T, -1, 10)
        return Y


@dataclass(frozen=True, eq=False)
class _Inverse:
    """P (T, n, n), L (T, m, n), G^-1 (T, m, m)."""

    P: np.ndarray
    L: np.ndarray
    G_inverse: np.ndarray

    @classmethod
    def of(cls, M: np.ndarray, J: np.ndarray, softness: float) -> _Inverse:
        m = J.shape[1]
        M_inverse = inverses(M)
        # in flight: LAPACK and BLAS refuse empty matrices or waste time on them
        if not m:
            return cls(M_inverse, J, np.zeros((len(M), 0, 0)))
        through = J @ M_inverse
        # softness also bounds the condition of G where contacts are redundant
        G_inverse = inverses(through @ J.transpose(0, 2, 1) + softness * np.eye(m))
        L = G_inverse @ through
        return cls(M_inverse - through.transpose(0, 2, 1) @ L, L, G_inverse)

    def solve(self, effort: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a and f."""
        a = _times(self.P, effort) - _times(self.L.transpose(0, 2, 1), gamma)
        return a, -_times(self.L, effort) - _times(self.G_inverse, gamma)

    def slopes(
        self, r_q: np.ndarray, r_v: np.ndarray, s_q: np.ndarray, s_v: np.ndarray, r_theta: np.ndarray
    ) -> tuple[DynamicsJacobians, DynamicsJacobians]:
        """Derivatives of a and f."""
        P, L, G_inverse, Lt = self.P, self.L, self.G_inverse, self.L.transpose(0, 2, 1)
        return (
            DynamicsJacobians(-P @ r_q - Lt @ s_q, -P @ r_v - Lt @ s_v, P, -P @ r_theta, Lt.copy()),
            DynamicsJacobians(
                L @ r_q - G_inverse @ s_q, L @ r_v - G_inverse @ s_v, -L, L @ r_theta, G_inverse
            ),
        )


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(T, i) A x at each state."""
    return (A @ x[:, :, None])[:, :, 0]


def _stacked(parts: list[np.ndarray], T: int, n: int) -> np.ndarray:
    """(T, m, n)"""
    return np.concatenate([np.zeros((T, 0, n)), *parts], axis=1)


def inverses(A: Float[np.ndarray, "T n n"]) -> Float[np.ndarray, "T n n"]:
    """A^-1 of symmetric matrices, of which the lower halves are read; NaN where one is not positive definite.

    A = L L^T, W = L^-1 from its first row down, A^-1 = W^T W: every inner loop adds a multiple of one row to another,
    which becomes vector instructions. LAPACK's, called one matrix at a time, is made for larger ones.
    """
    out = np.empty(A.shape)
    kernel: Any = _inverses
    kernel(np.ascontiguousarray(A, dtype=float), out)
    return out


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _inverses(A, out):
    n = A.shape[1]
    L, W = np.empty((n, n)), np.empty((n, n))
    for t in range(len(A)):
        for i in range(n):
            for j in range(i + 1):
                s = A[t, i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                # NaN where s < 0, which makes the whole inverse NaN
                L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
        for i in range(n):
            inverse = 1 / L[i, i]
            for c in range(i):
                W[i, c] = 0.0
            for k in range(i):
                factor = -L[i, k] * inverse
                for c in range(k + 1):
                    W[i, c] += factor * W[k, c]
            W[i, i] = inverse
        B = out[t]
        B[:] = 0.0
        for k in range(n):
            for i in range(k + 1):
                factor = W[k, i]
                for c in range(i + 1):
                    B[i, c] += factor * W[k, c]
        for i in range(n):
            for c in range(i):
                B[c, i] = B[i, c]
