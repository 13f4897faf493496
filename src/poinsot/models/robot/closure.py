"""The motion of joints that constraints join: closed kinematic chains and couplings (Featherstone 2008, ch. 8).

Where a loop closes, a point of link a and one of link b coincide, as in a ball joint; a hinge is two loops, with points
on its axis. In the axes of the world

    r(q) = p_a - p_b = 0,     J v = 0,  J = R_a J_a - R_b J_b,     J a + gamma = 0

and joints that follow others have such rows, too (see `coupling_constraint`). Rows can be redundant (a planar loop has
two of three). With the dependent freedoms d and the independent ones i,

    v_d = G v_i,  G = -J_d^+ J_i,     a_d = G a_i - J_d^+ gamma,     v = N v_i

Forces that close a loop do no work in such a motion: N^T (M a + b - tau) = 0 is one equation an independent freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from scipy import linalg

from ...arrays import Configurations, Float, JointSamples, Vector
from ...exceptions import InvalidModel
from . import configuration_space as space
from .coupling_constraint import CouplingConstraint, coupling_constraints
from .frame_motion import frame_motions
from .loop_constraint import RelativeMotion
from .loops import frames_of
from .motion_terms import carriers

if TYPE_CHECKING:
    from .articulated import Articulated

MAX_GAP = 1e-10
"""Largest gap of a closed loop relative to the mechanism's size: rounding of positions."""

DAMPING = 1e-14
"""Damping of normal equations, relative to their trace."""

MAX_ITERATIONS = 50
"""Maximum iterations of Newton's method, which needs five where a loop can be closed."""

STEPS = 20
"""Intermediate positions on the way from the neutral configuration to a sample: a fraction of a radian each."""

MIN_SINGULAR_RATIO = 1e-2
"""Least ratio of smallest to largest singular value of J_d at random states, which determine base parameters."""


@dataclass(frozen=True, eq=False)
class Closure:
    """The loops and couplings of a robot; with loops, each of its n joints has one freedom.

    Args:
        robot: robot with a frame at each end of each loop.

    Raises InvalidModel if the loops cannot be closed near the neutral configuration.
    """

    robot: Articulated

    @cached_property
    def closed(self) -> Vector:
        """(n,) positions near `neutral` at which the loops are closed."""
        closed, gap = self._close_loops(self.robot.joint_positions(self.robot.neutral[None]))
        if not gap[0] <= self.tolerance:
            raise InvalidModel(
                f"the loops cannot be closed near the neutral configuration: {1e3 * gap[0]:.3g} mm stay open"
            )
        return np.asarray(closed[0])

    @cached_property
    def tolerance(self) -> float:
        """Largest gap of a closed loop [m], and of a coupling [rad] or [m]."""
        arms = np.abs(self._ends[1][:, :3, 3]).max() if self.robot.loops else 0.0
        return float(
            MAX_GAP * (arms + np.abs(self.robot.tree.translation).max() + bool(self.robot.couplings))
        )

    @cached_property
    def dependent(self) -> np.ndarray:
        """Freedoms that follow from the others, in rising order; passive ones first."""
        # slightly off, since a mechanism can be singular in its neutral configuration
        rng = np.random.default_rng(0)
        if self.robot.loops and not self.robot.floating_base:
            away = self.closed + rng.uniform(-0.1, 0.1, len(self.closed))
            near = self.robot.configurations(self._close_loops(away[None])[0])
        else:
            step = rng.uniform(-0.1, 0.1, self.robot.model.nv)
            near = pin.integrate(self.robot.model, self.robot.neutral, step)[None]
        # pivoting chooses the largest column first
        weights = np.ones(self.robot.model.nv)
        weights[self.robot.actuated] = np.where(self.robot.train.driven, 1.0, 1e6)
        following = [self.robot.joints.index(joint) for joint in self.robot.followers]
        weights[self.robot.actuated[following]] *= 1e3
        J = self._constraints(near)[1][0]
        R, order = linalg.qr(J * weights, mode="r", pivoting=True)
        pivots = np.abs(np.diag(R))
        sizes = pivots / weights[order[: len(pivots)]]
        return np.sort(order[: np.count_nonzero(sizes > 1e-8 * sizes.max())])

    @cached_property
    def independent(self) -> np.ndarray:
        """The other freedoms: one equation of motion each."""
        return np.setdiff1d(np.arange(self.robot.model.nv), self.dependent)

    def jacobian(self, q: Configurations) -> Float[np.ndarray, "T r n"]:
        """J."""
        return self._constraints(q)[1]

    def projection(self, q: Configurations) -> Float[np.ndarray, "T n i"]:
        """N, whose columns are the motions that the loops allow."""
        J, d, i = self.jacobian(q), self.dependent, self.independent
        N = np.zeros((len(q), self.robot.model.nv, len(i)))
        N[:, i] = np.eye(len(i))
        N[:, d] = -_least_squares(J[:, :, d], J[:, :, i])
        return N

    def positions(self, positions: JointSamples) -> tuple[JointSamples, Vector]:
        """(T, n) positions whose dependent ones close the loops, and (T,) the gap that stays [m].

        Args:
            positions: of all joints; dependent ones are initial guesses, NaN where they were not measured: the search
                then goes from the neutral configuration to each sample in small steps.
        """
        d, i = self.dependent, self.independent
        given = np.isfinite(positions[:, d]).all()
        closed, gap = positions.copy() if given else np.tile(self.closed, (len(positions), 1)), np.zeros(0)
        for part in [1.0] if given else np.arange(1, STEPS + 1) / STEPS:
            closed[:, i] = self.closed[i] + part * (positions[:, i] - self.closed[i])
            closed, gap = self._close_loops(closed, d)
        return closed, gap

    def followed(
        self, q: Configurations, v: JointSamples, moved: np.ndarray
    ) -> tuple[Configurations, JointSamples]:
        """(T, nq) q and (T, n) v with these freedoms moved, as far as they can, to where the constraints hold."""
        for _ in range(MAX_ITERATIONS):
            r, J, _ = self._constraints(q)
            if np.all(np.abs(r) <= self.tolerance):
                break
            step = np.zeros_like(v)
            step[:, moved] = -_least_squares(J[:, :, moved], r[:, :, None])[:, :, 0]
            if self.robot.loops:  # couplings are linear in the joints that follow
                step /= np.maximum(1, 2 * np.abs(step).max(axis=1, keepdims=True))
            q = space.integrate(self.robot.tree, q, step)
        J, v = self.jacobian(q), v.copy()
        v[:, moved] -= _least_squares(J[:, :, moved], J @ v[:, :, None])[:, :, 0]
        return q, v

    def motion(
        self, q: Configurations, v: JointSamples, a: JointSamples
    ) -> tuple[JointSamples, JointSamples]:
        """(T, n) v and a whose dependent columns follow from the independent ones."""
        d, i = self.dependent, self.independent
        N = self.projection(q)
        v = np.einsum("tni, ti -> tn", N, v[:, i])
        a = np.einsum("tni, ti -> tn", N, a[:, i])
        _, J, gamma = self._constraints(q, v)
        a[:, d] -= _least_squares(J[:, :, d], gamma[:, :, None])[:, :, 0]
        return v, a

    def random_states(
        self, count: int, rng: np.random.Generator
    ) -> tuple[Configurations, JointSamples, JointSamples]:
        """(count, nq), (count, n), (count, n): closed configurations, speeds and accelerations of order 1."""
        positions = np.empty((0, self.robot.model.nv))
        for attempt in range(1, MAX_ITERATIONS):
            drawn = self.closed + rng.uniform(-np.pi, np.pi, (2 * count, self.robot.model.nv)) / attempt
            tried, gap = self._close_loops(drawn)
            J_d = self.jacobian(self.robot.configurations(tried))[:, :, self.dependent]
            sizes = np.linalg.svd(J_d, compute_uv=False)
            regular = (gap <= self.tolerance) & (sizes[:, -1] > MIN_SINGULAR_RATIO * sizes[:, 0])
            positions = np.concatenate([positions, tried[regular]])
            if len(positions) >= count:
                break
        else:
            raise InvalidModel("no regular configurations of the loops were found: check their points")
        q = self.robot.configurations(positions[:count])
        return q, *self.motion(q, *rng.standard_normal((2, count, self.robot.model.nv)))

    def _close_loops(
        self, positions: JointSamples, moved: np.ndarray | slice = slice(None)
    ) -> tuple[JointSamples, Vector]:
        """Newton's method over these freedoms, or all: positions and the gap that stays [m]."""
        positions = positions.copy()
        for _ in range(MAX_ITERATIONS):
            r, J, _ = self._constraints(self.robot.configurations(positions), positions=positions)
            if np.all(np.abs(r) <= self.tolerance):
                break
            step = _least_squares(J[:, :, moved], r[:, :, None])[:, :, 0]
            # a joint turns by half a radian at most: farther, the linearization does not hold
            positions[:, moved] -= step / np.maximum(1, 2 * np.abs(step).max(axis=1, keepdims=True))
        return positions, np.abs(r).max(axis=1)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(2 L,) joint of the tree and (2 L, 4, 4) T_jf of the frames a and b of each loop."""
        return carriers(self.robot, [name for ends in frames_of(self.robot.loops) for name in ends])

    def _constraints(
        self, q: Configurations, v: JointSamples | None = None, positions: JointSamples | None = None
    ) -> tuple[Float[np.ndarray, "T r"], Float[np.ndarray, "T r n"], Float[np.ndarray, "T r"]]:
        """r, J and gamma. `positions` (T, n) of joints: those of q, not wrapped to a turn."""
        robot = self.robot
        still = np.zeros((len(q), robot.model.nv))
        v = still if v is None else v
        r, J, gamma = (
            [np.zeros((len(q), 0))],
            [np.zeros((len(q), 0, robot.model.nv))],
            [np.zeros((len(q), 0))],
        )
        if robot.loops:
            frames = frame_motions(robot.tree, *self._ends, q, v, still, False, True)
            for ends in zip(frames[::2], frames[1::2], strict=True):
                gap = RelativeMotion.of(ends)
                r.append(gap.position)
                J.append(gap.by.jacobian[:, :3])
                gamma.append(gap.point_acceleration)
        for coupling in self._couplings:
            motion = coupling.of_joints(q, v, still, positions)
            r.append(motion.position[:, :1])
            J.append(motion.by.jacobian[:, :1])
            gamma.append(motion.acceleration[:, :1])
        return np.concatenate(r, axis=1), np.concatenate(J, axis=1), np.concatenate(gamma, axis=1)

    @cached_property
    def _couplings(self) -> tuple[CouplingConstraint, ...]:
        return coupling_constraints(self.robot)


def _least_squares(
    A: Float[np.ndarray, "T r n"], b: Float[np.ndarray, "T r k"]
) -> Float[np.ndarray, "T n k"]:
    """A^+ b by normal equations; damped at the level of rounding: all joints together can close loops in many ways."""
    H = A.transpose(0, 2, 1) @ A
    damping = DAMPING * np.trace(H, axis1=1, axis2=2)[:, None, None]
    return np.linalg.solve(H + damping * np.eye(H.shape[1]), A.transpose(0, 2, 1) @ b)
