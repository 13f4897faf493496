"""States x = (q, v) of a robot as points of a manifold, and steps in time.

A change d = (dq, dv) of a state adds dq to the configuration along its tangent (Pinocchio's: a floating base's in its
own axes) and dv to the speeds. A step is semi-implicit,

    v+ = v + dt a,      q+ = q [+] dt v+

so with D_q and D_d the slopes of q [+] d, the slopes by any variable y are v+_y = v_y + dt a_y and

    q+_y = D_q q_y + dt D_d v+_y

An impact leaves q and sets v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Configurations, Float, JointSamples, RobotChanges, States
from ..contacts.contact_dynamics import Linearized, RobotMotion
from . import configuration_space as space, tree as kinds
from .articulated import Articulated
from .configuration_space import Manifold


@dataclass(frozen=True, eq=False)
class RobotStates(Manifold):
    """The states of a robot; every call takes T of them.

    Args:
        robot: the robot.
    """

    robot: Articulated

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of components of a state, nq + n."""
        return int(self.robot.model.nq + self.robot.model.nv)

    @property
    def degrees(self) -> int:  # type: ignore[override]
        """Number of components of a change, 2 n."""
        return 2 * int(self.robot.model.nv)

    def split(self, x: States) -> tuple[Configurations, JointSamples]:
        """q and v."""
        return x[:, : self.robot.model.nq], x[:, self.robot.model.nq :]

    def integrate(self, x: States, d: RobotChanges) -> States:
        """x [+] d."""
        (q, v), n = self.split(x), self.robot.model.nv
        return np.concatenate([space.integrate(self.robot.tree, q, d[:, :n]), v + d[:, n:]], axis=1)

    def difference(self, x: States, y: States) -> RobotChanges:
        """y [-] x: the change d for which x [+] d = y."""
        (p, u), (q, v) = self.split(x), self.split(y)
        return np.concatenate([space.difference(self.robot.tree, p, q), v - u], axis=1)

    def difference_jacobians(
        self, x: States, y: States
    ) -> tuple[Float[np.ndarray, "T two_n two_n"], Float[np.ndarray, "T two_n two_n"]]:
        """Slopes of y [-] x by changes of x and of y."""
        by_x, by_y = self._blocks(space.difference_slopes, self.difference(x, y))
        return self._dense(by_x, len(x), -1.0), self._dense(by_y, len(x), 1.0)

    def carry(self, x: States, y: States, *changes: Float[np.ndarray, "T two_n _"]) -> tuple[np.ndarray, ...]:
        """The changes of x that keep y [-] x to first order under changes of y, (T, 2n, ...)."""
        d = self.difference(x, y) if self.curved else x
        (_, back), (_, forth) = (self._blocks(space.integrate_slopes, step) for step in (-d, d))
        # -J_x^-1 J_y, the slopes of a difference being inverses of these
        factors = [by_x @ np.linalg.inv(by_y) for by_x, by_y in zip(back, forth, strict=True)]
        return tuple(self._times(factors, change) for change in changes)

    def disturbed(
        self, step: Linearized, w: RobotChanges
    ) -> tuple[Linearized, Float[np.ndarray, "T two_n two_n"]]:
        """A step with the noise w added, x [+] w, and its slopes by w."""
        by_q, by_d = self._blocks(space.integrate_slopes, w)
        x, by_w = self.integrate(step.value, w), self._dense(by_d, len(w), 1.0)
        if step.by_x is None or step.by_theta is None:
            return Linearized(x), by_w
        if not w[:, : self.robot.model.nv].any():  # noise of speeds alone does not change configurations
            return replace(step, value=x), by_w
        slopes = {name: self._times(by_q, slope) for name, slope in vars(step).items()
                  if name != "value" and slope is not None}  # fmt: skip
        return Linearized(x, **slopes), by_w

    def _times(self, blocks: list[np.ndarray], change: np.ndarray) -> np.ndarray:
        """Slopes times changes of states; the slopes are `blocks` for curved joints, 1 elsewhere."""
        out = change.copy()
        for rows, block in zip(self.curved, blocks, strict=True):
            out[:, rows] = block @ change[:, rows]
        return out

    def step(
        self, motion: RobotMotion, dt: float | Float[np.ndarray, "T"], efforts: bool = False
    ) -> Linearized:
        """States a time dt later [s], with slopes if the motion has them; by tau and w only if `efforts`."""
        T = len(motion)
        h = np.broadcast_to(np.asarray(dt, dtype=float), (T,))[:, None]
        v = motion.v + h * motion.a
        x = np.concatenate([space.integrate(self.robot.tree, motion.q, h * v), v], axis=1)
        if motion.a_by is None:
            return Linearized(x)
        by, n, h = motion.a_by, motion.v.shape[1], h[:, :, None]
        D_q, D_d = self._blocks(space.integrate_slopes, h[:, :, 0] * v)

        def by_of(*parts: np.ndarray, own: bool = False) -> np.ndarray:
            """(T, 2n, ...) of q+ and v+ from slopes of a, side by side; `own`: whether by q and v."""
            out = np.empty((T, 2 * n, sum(part.shape[2] for part in parts)))
            of_q, of_v = out[:, :n], out[:, n:]
            # into the memory of the result, without copies of the largest arrays
            np.multiply(np.concatenate(parts, axis=2) if len(parts) > 1 else parts[0], h, out=of_v)
            if own:
                of_v[:, range(n), range(n, 2 * n)] += 1.0
            np.multiply(of_v, h, out=of_q)
            for rows, along in zip(self.curved, D_d, strict=True):
                of_q[:, rows] = h * (along @ of_v[:, rows])
            if own:
                of_q[:, range(n), range(n)] += 1.0
                for rows, along in zip(self.curved, D_q, strict=True):
                    of_q[:, rows, rows] += along - np.eye(along.shape[1])
            return out

        by_tau, by_w = (by_of(slope) if efforts else None for slope in (by.tau, by.w))
        return Linearized(x, by_of(by.q, by.v, own=True), by_tau, by_of(by.theta), by_w)

    def reset(self, impact: RobotMotion, efforts: bool = False) -> Linearized:
        """States after an impact, with slopes if it has them; by an impulse on the joints only if `efforts`."""
        x = np.concatenate([impact.q, impact.a], axis=1)
        if impact.a_by is None:
            return Linearized(x)
        by, n = impact.a_by, impact.v.shape[1]
        by_x = np.zeros((len(x), 2 * n, 2 * n))
        by_x[:, range(n), range(n)] = 1.0
        by_x[:, n:, :n], by_x[:, n:, n:] = by.q, by.v
        theta, tau, w = (
            np.concatenate([np.zeros_like(slope), slope], axis=1) for slope in (by.theta, by.tau, by.w)
        )
        return Linearized(x, by_x, tau if efforts else None, theta, w if efforts else None)

    @cached_property
    def curved(self) -> tuple[slice, ...]:
        """Freedoms of joints whose configurations are not flat: balls, planes, floating bases."""
        tree = self.robot.tree
        bent = (kinds.SPHERICAL, kinds.PLANAR, kinds.FREE)
        return tuple(
            slice(int(first), int(first) + int(kinds.DEGREES[kind]))
            for kind, first in zip(tree.kind, tree.v_index, strict=True)
            if kind in bent
        )

    def _blocks(
        self, slopes: Callable[[np.ndarray, bool], tuple[np.ndarray, np.ndarray]], d: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(T, k, k) both slopes at d, whose first columns are changes of q, for each of the curved joints."""
        tree = self.robot.tree
        planar = {int(dof) for kind, dof in zip(tree.kind, tree.v_index, strict=True) if kind == kinds.PLANAR}
        both = [slopes(d[:, rows], rows.start in planar) for rows in self.curved]
        return [first for first, _ in both], [second for _, second in both]

    def _dense(self, blocks: list[np.ndarray], T: int, sign: float) -> np.ndarray:
        """(T, 2n, 2n) slopes of changes of states, from those of curved joints; elsewhere they are the sign."""
        n = self.robot.model.nv
        dense = np.zeros((T, 2 * n, 2 * n))
        dense[:, range(2 * n), range(2 * n)] = sign
        for rows, block in zip(self.curved, blocks, strict=True):
            dense[:, rows, rows] = block
        return dense
