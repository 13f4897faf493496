"""Regressor and torques of a motion, and how they change with it.

    W   the columns of the base parameters
    tau = W_full theta   with the parameters that the description gives, friction and rotors where they are held

All entries are linear in what the bodies' kernel is the adjoint of, in a (rotors), in v (viscous friction, couplings),
or they are another function of one joint's speed (the other terms of friction). A jump has no slope to follow, so while
a motion is being designed terms are smoothed over s, a small part of the largest speed (see `models.friction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import JointSamples, Vector
from ...models.friction import FrictionTerm, term_of
from ...models.regressor_adjoint import regressor_adjoint
from ...parameters import Parameters
from ..base_parameters import BaseParameters
from ..regressor import Regressor


@dataclass(frozen=True, eq=False)
class Terms:
    """Regressor and torques of one robot along a motion.

    Args:
        regressor: all of its columns.
        base: those that count.
        theta: (p,) parameters that its torques are made with.
        rounding: (n,) speed s below which dry friction is rounded; 0: it is not.
    """

    regressor: Regressor
    base: BaseParameters
    theta: Vector
    rounding: Vector

    def entries(self, q: JointSamples, v: JointSamples, a: JointSamples) -> np.ndarray:
        """(T, K) entries of the regressor at positions, speeds and accelerations of the joints."""
        E = self.regressor.entries(self.regressor.robot.configurations(q), v, a)
        for term, entries, joints in self._smoothed:
            E[:, entries] = term.effort(v[:, joints], self.rounding[joints])
        return E

    def W(self, entries: np.ndarray) -> np.ndarray:
        """(T, n, b) columns of the base parameters."""
        return self.regressor.scatter(entries, self.base.chosen)

    def torques(self, entries: np.ndarray) -> JointSamples:
        """(T, n) [N m] or [N]."""
        return (entries * self._theta) @ self._rows

    def pull_back(
        self,
        q: JointSamples,
        v: JointSamples,
        a: JointSamples,
        by_W: np.ndarray | None,
        by_torque: JointSamples,
    ) -> tuple[JointSamples, JointSamples, JointSamples]:
        """(T, n) each: the derivatives by q, v, a of a function of the first samples' W and of all torques.

        Args:
            by_W: (T_W <= T, n, b) its derivative by W of the first T_W samples. by_torque: (T, n) by torques.
        """
        rows, _ = self.regressor.structure
        G = by_torque[:, rows] * self._theta
        if by_W is not None:
            chosen, place = self._places
            G[: len(by_W), chosen] += by_W[:, rows[chosen], place]
        robot = self.regressor.robot
        bodies = 10 * len(robot.tree.pairs[0])
        configurations = robot.configurations(q)
        dq, dv, da = regressor_adjoint(robot.tree, configurations, v, a, G[:, :bodies])
        by_v, by_a = self.regressor.joint_terms.linear_entries
        dv, da = dv + G[:, bodies:] @ by_v.T, da + G[:, bodies:] @ by_a.T
        for term, entries, joints in self._smoothed:
            slope = term.slope(v[:, joints], self.rounding[joints])
            # a joint may be named more than once, which `+=` with an index would count once
            np.add.at(dv.T, joints, (G[:, entries] * slope).T)
        columns = self.regressor.joint_terms.structure[1]
        for effort, dof, places, read in self.regressor.joint_terms.efforts:
            if not len(read):
                own = G[:, bodies + np.searchsorted(columns, places)]
                dq[:, dof] += np.sum(own * effort.slopes(q[:, dof]), axis=1)
        return dq, dv, da

    @cached_property
    def _rows(self) -> np.ndarray:
        """(K, n) 1 where an entry belongs to a degree of freedom."""
        rows, _ = self.regressor.structure
        return np.eye(self.regressor.robot.model.nv)[rows]

    @cached_property
    def _theta(self) -> np.ndarray:
        """(K,) the parameter of each entry."""
        return np.asarray(self.theta[self.regressor.structure[1]])

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Every entry that belongs to a base column, and its place among them."""
        return self.regressor.places(self.base.chosen)

    @cached_property
    def _smoothed(self) -> tuple[tuple[FrictionTerm, np.ndarray, np.ndarray], ...]:
        """Of each term that is not linear in v: it, its entries of joints whose speeds are rounded, these joints."""
        rows, columns = self.regressor.structure
        kinds = np.array(self.regressor.parameters.kinds)[columns]
        found = []
        for term in self.regressor.robot.friction.terms:
            entries = np.flatnonzero((kinds == term.kind) & (self.rounding[rows] > 0))
            if not term.linear and len(entries):
                found.append((term, entries, rows[entries]))
        return tuple(found)


def with_friction_held(parameters: Parameters) -> Parameters:
    """The parameters with friction held at 0, so that it is not in the base."""
    friction = {
        name: 0.0
        for name, kind in zip(parameters.names, parameters.kinds, strict=True)
        if term_of(kind) is not None and name not in parameters.held
    }
    return parameters.hold(**friction)
