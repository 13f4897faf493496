"""Regressor and torques of a motion, and how they change with it.

    W   the columns of the base parameters
    tau = W_full theta   with the parameters that the description gives, friction and rotors where they are held

All entries are linear in what the bodies' kernel is the adjoint of, in a (rotors), in v (viscous friction, couplings),
or they jump with the sign of v (dry friction). A jump has no slope to follow, so while a motion is being designed
sign(v) is rounded to tanh(v / s), with s a small part of the largest speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import JointSamples, Vector
from ...models.regressor_adjoint import regressor_adjoint
from ...parameters import Parameters
from ..base_parameters import BaseParameters
from ..regressor import Regressor

DRY = ("coulomb", "coulomb_coupling")


@dataclass(frozen=True, eq=False)
class Terms:
    """What a motion shows of one robot.

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
        joints = self._rounded
        if len(joints):
            E[:, self._dry] = np.tanh(v[:, joints] / self.rounding[joints])
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
            place, chosen = self._places
            G[: len(by_W), chosen] += by_W[:, rows[chosen], place]
        robot = self.regressor.robot
        bodies = 10 * len(robot.tree.pairs[0])
        configurations = robot.configurations(q)
        dq, dv, da = regressor_adjoint(robot.tree, configurations, v, a, G[:, :bodies])
        by_v, by_a = self._linear
        dv, da = dv + G[:, bodies:] @ by_v.T, da + G[:, bodies:] @ by_a.T
        joints = self._rounded
        if len(joints):
            slope = 1 - np.tanh(v[:, joints] / self.rounding[joints]) ** 2
            np.add.at(dv.T, joints, (G[:, self._dry] * slope / self.rounding[joints]).T)
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
        """Place among the base columns, and index, of every entry that belongs to one."""
        _, columns = self.regressor.structure
        place = np.full(len(self.regressor.parameters), -1)
        place[self.base.chosen] = np.arange(len(self.base))
        chosen = np.flatnonzero(place[columns] >= 0)
        return place[columns[chosen]], chosen

    @cached_property
    def _dry(self) -> np.ndarray:
        """Entries of the joints' own dry friction, where it is rounded."""
        rows, columns = self.regressor.structure
        own = np.array([kind == "coulomb" for kind in self.regressor.parameters.kinds])[columns]
        return np.flatnonzero(own & (self.rounding[rows] > 0))

    @cached_property
    def _rounded(self) -> np.ndarray:
        """Joint of each of `_dry`."""
        return np.asarray(self.regressor.structure[0][self._dry])

    @cached_property
    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, K') each: what speeds and accelerations add to the entries that are none of the bodies'."""
        n, bodies = self.regressor.robot.model.nv, 10 * len(self.regressor.robot.tree.pairs[0])
        zeros, ones = np.zeros((n + 1, n)), np.eye(n + 1, n)  # the last row at rest
        q = self.regressor.robot.configurations(zeros)
        by_v = self.regressor.entries(q, ones, zeros)[:, bodies:]
        by_a = self.regressor.entries(q, zeros, ones)[:, bodies:]
        kinds = np.array(self.regressor.parameters.kinds)[self.regressor.structure[1][bodies:]]
        by_v = (by_v[:-1] - by_v[-1]) * ~np.isin(kinds, DRY)
        return by_v, by_a[:-1] - by_a[-1]


FRICTION = ("viscous", "coulomb", "offset", "viscous_coupling", "coulomb_coupling")


def with_friction_held(parameters: Parameters) -> Parameters:
    """Friction is known, and out of the base."""
    friction = {
        name: 0.0
        for name, kind in zip(parameters.names, parameters.kinds, strict=True)
        if kind in FRICTION and name not in parameters.held
    }
    return parameters.hold(**friction)
