"""Joints that follow others as a constraint of the motion, with its slopes and the effort between the joints.

With f, l and ref of a coupling over the joints, and x = l . (q - ref),

    r = f . (q - ref) - p(x) = 0,     r' = J v,  J = f - p'(x) l,     r'' = J a - p''(x) (l . v)^2

J changes by -p''(x) l l^T with q. The effort y of the constraint acts on the joints as J^T y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.polynomial import Polynomial

from ...arrays import Columns, ColumnSlopes, Configurations, Float, JointSamples, Vector
from ...exceptions import check_known
from .frame_motion import FrameMotion, FrameSlopes
from .loop_constraint import KeptClosed
from .loops import JointCoupling

if TYPE_CHECKING:
    from .articulated import Articulated


@dataclass(frozen=True, eq=False)
class CoupledMotion(FrameMotion):
    """The motion of a coupling, as that of a point on the x axis, at r.

    Args:
        curvature: (T,) p''(x).
    """

    curvature: Float[np.ndarray, "T"] = field(kw_only=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class CouplingConstraint(KeptClosed):
    """A coupling as a constraint with one row.

    Its effort [N m] or [N] is that on the followers.

    Args:
        frame: its name. robot, coupling: of which joints.
    """

    robot: Articulated
    coupling: JointCoupling

    size: ClassVar[int] = 1

    @property
    def frames(self) -> tuple[str, ...]:
        return ()

    def of_joints(
        self, q: Configurations, v: JointSamples, a: JointSamples, positions: JointSamples | None = None
    ) -> CoupledMotion:
        """Its motion.

        Args:
            q, v, a: (T, nq), (T, n), (T, n).
            positions: (T, joints) positions of `robot.joints`; None: those of q, which count no turns.
        """
        f, l, reference = self._coefficients
        dofs, n = self.robot.actuated, self.robot.model.nv
        away = (self.robot.joint_positions(q) if positions is None else positions) - reference
        x = _times(away, l)
        p, slope, bend, change = (polynomial(x) for polynomial in self._polynomials)
        r, speed = _times(away, f) - p, v[:, dofs] @ l
        J = np.zeros((len(q), n))
        J[:, dofs] = f - slope[:, None] * l
        # slopes by q and v are multiples of l
        multiples = bend * speed, bend * (a[:, dofs] @ l) + change * speed**2, 2 * bend * speed
        slopes = np.zeros((4, len(q), 6, n))
        slopes[0, :, 0] = J
        for slope, multiple in zip(slopes[1:, :, 0], multiples, strict=True):
            slope[:, dofs] = -multiple[:, None] * l
        position, (velocity, acceleration) = np.zeros((len(q), 3)), np.zeros((2, len(q), 6))
        position[:, 0] = self._nearest_turn(r) if positions is None else r
        velocity[:, 0] = (J * v).sum(axis=1)
        acceleration[:, 0] = (J * a).sum(axis=1) - bend * speed**2
        R = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        return CoupledMotion(R, position, velocity, acceleration, FrameSlopes(*slopes), curvature=bend)

    def acceleration(self, motion: FrameMotion) -> Columns:
        return motion.acceleration[:, : self.size]

    def acceleration_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        return motion.by.acceleration_by_q[:, : self.size], motion.by.acceleration_by_v[:, : self.size]

    def wrench(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T 0"]:
        return force[:, :0]

    def effort_by_q(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T n n"]:
        assert isinstance(motion, CoupledMotion), "the motion of a coupling has its curvature"
        dofs, l, n = self.robot.actuated, self._coefficients[1], self.robot.model.nv
        by_q = np.zeros((len(force), n, n))
        by_q[:, dofs[:, None], dofs] = -(motion.curvature * force[:, 0])[:, None, None] * np.outer(l, l)
        return by_q

    def _nearest_turn(self, r: Vector) -> Vector:
        """r less the full turns of joints without limits; 0 where their turns make it anything."""
        if not len(self._turns):
            return r
        turn = self._turns.min()
        ratios = self._turns / turn
        if np.abs(ratios - np.round(ratios)).max() > 1e-9:
            return 0.0 * r
        return r - turn * np.round(r / turn)

    @cached_property
    def _turns(self) -> Vector:
        """What full turns of the joints without limits add to r."""
        turning = self.robot.coordinates[1][self.robot.actuated]
        f, l, _ = self._coefficients
        turns = 2 * np.pi * np.abs(np.concatenate([f[turning], self._polynomials[1](0.0) * l[turning]]))
        return turns[turns > 0]

    @cached_property
    def _polynomials(self) -> tuple[np.poly1d, ...]:
        """p and its first three derivatives."""
        p = Polynomial(self.coupling.polynomial)
        return tuple(np.poly1d(p.deriv(k).coef[::-1]) for k in range(4))

    @cached_property
    def _coefficients(self) -> tuple[Vector, Vector, Vector]:
        """f, l and ref, each over `robot.joints`; InvalidModel if a joint does not exist."""
        for joint in self.coupling.joints:
            check_known(joint, self.robot.joints, "a coupling names joint", "the robot has", limit=20)
        sides = self.coupling.follower, self.coupling.leader, self.coupling.references
        f, l, reference = (np.array([side.get(joint, 0.0) for joint in self.robot.joints]) for side in sides)
        return f, l, reference


def _times(positions: JointSamples, weights: Vector) -> Vector:
    """(T,) weighted sums over the joints that have a weight: the positions of others may be no numbers."""
    used = np.flatnonzero(weights)
    return np.asarray(positions[:, used] @ weights[used])


def coupling_constraints(robot: Articulated) -> tuple[CouplingConstraint, ...]:
    """The couplings of a robot."""
    return tuple(
        CouplingConstraint(f"coupling{k}", robot=robot, coupling=coupling)
        for k, coupling in enumerate(robot.couplings)
    )
