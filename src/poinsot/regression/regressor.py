"""The whole regressor of a robot: bodies, rotors, couplings and friction, without the structural zeros.

    tau = W(q, v, a) theta,     W = [ Y | rotors | couplings | friction ]

With closed loops there is an equation for each independent freedom, N^T tau = N^T W theta (see `models.closure`).
A *sample* gives K entries, entry k in row `rows[k]` (equation of motion) and column `columns[k]` (parameter): filters
and factorizations run over entries, and a dense (T, n, p) array exists only for the remaining rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Brief, Configurations, JointSamples
from ..models.robot.articulated import Articulated
from ..models.robot.joint_terms import JointTerms
from ..models.robot.torque_regressor import regressor_entries
from ..parameters import Parameters


@dataclass(frozen=True, eq=False, repr=False)
class Regressor(Brief):
    """tau = W theta for one robot.

    Args:
        robot: robot with its drive and friction.
        parameters: the columns, `robot.parameters` with held ones.
    """

    robot: Articulated
    parameters: Parameters

    @cached_property
    def _used(self) -> np.ndarray:
        """(K,) entries of the tree in equations that are used."""
        return np.flatnonzero(np.isin(self._open[0], self.robot.equations))

    @cached_property
    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the K entries."""
        if self.robot.closure is None:
            rows, columns = self._open
            return np.searchsorted(self.robot.equations, rows[self._used]), columns[self._used]
        n, p = len(self.robot.equations), len(self.parameters)
        return np.repeat(np.arange(n), p), np.tile(np.arange(p), n)

    @cached_property
    def _open(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the entries of the tree, loops open."""
        dofs, bodies = self.robot.tree.pairs
        rows, columns = self.joint_terms.structure
        own = (10 * bodies[:, None] + np.arange(10)).ravel()
        columns = np.concatenate([own, 10 * len(self.robot.bodies) + columns])
        return np.concatenate([np.repeat(dofs, 10), rows]), columns

    def entries(
        self,
        q: Configurations,
        v: JointSamples,
        a: JointSamples,
        channels: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(T, K) entries of samples.

        Args:
            q, v, a: (T, nq), (T, n), (T, n), joint side.
            channels: (T, m) of `robot.inputs`; None: efforts that depend on them are left out.
            out: (T, at least K) where to write them, in the first K columns; allocation takes longest.
        """
        closure, K = self.robot.closure, len(self.structure[0])
        if out is None:
            out = np.empty((len(q), K))
        whole = closure is None and K == len(self._open[0])
        of_tree = out if whole else np.empty((len(q), len(self._open[0])))
        end = regressor_entries(self.robot.tree, q, v, a, of_tree).shape[1]
        added = self.joint_terms.entries(q, v, a, channels)
        of_tree[:, end : end + added.shape[1]] = added
        if closure is not None:
            W = np.zeros((len(q), self.robot.model.nv, len(self.parameters)))
            W[:, *self._open] = of_tree
            N = closure.projection(q)[:, :, self.robot.equation_places]
            out[:, :K] = (N.transpose(0, 2, 1) @ W).reshape(len(q), K)
        elif not whole:
            out[:, :K] = of_tree[:, self._used]
        return out[:, :K]

    def dense(
        self, q: Configurations, v: JointSamples, a: JointSamples, channels: np.ndarray | None = None
    ) -> np.ndarray:
        """(T, n, p), structural zeros included."""
        return self.scatter(self.entries(q, v, a, channels), np.arange(len(self.parameters)))

    def scatter(self, entries: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """(T, n, len(chosen)) dense columns from entries (T, K).

        Args:
            chosen: columns of the regressor that are wanted, in their order.
        """
        wanted, place = self.places(chosen)
        out = np.zeros((len(entries), len(self.robot.equations), len(chosen)))
        out[:, self.structure[0][wanted], place] = entries[:, wanted]
        return out

    def places(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the entries in chosen columns, and the place of each one's column among these."""
        _, columns = self.structure
        place = np.full(len(self.parameters), -1)  # a column that is not chosen
        place[chosen] = np.arange(len(chosen))
        wanted = np.flatnonzero(place[columns] >= 0)
        return wanted, place[columns[wanted]]

    @cached_property
    def joint_terms(self) -> JointTerms:
        """The terms of joints."""
        return JointTerms(self.robot)
