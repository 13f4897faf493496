"""The whole regressor of a robot: bodies, rotors, couplings and friction, without the structural zeros.

    tau = W(q, v, a) theta,     W = [ Y | rotors | couplings | friction ]

A *sample* gives K entries, entry k in row `rows[k]` (degree of freedom) and column `columns[k]` (parameter): filters
and factorizations run over entries, and a dense (T, n, p) array exists only for the rows that are left in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Configurations, JointSamples
from ..models.articulated import Articulated
from ..models.torque_regressor import regressor_entries
from ..parameters import Parameters


@dataclass(frozen=True, eq=False)
class Regressor:
    """tau = W theta for one robot.

    Args:
        robot: with its drive and friction.
        parameters: the columns, `robot.parameters` with what is held.
    """

    robot: Articulated
    parameters: Parameters

    @cached_property
    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the K entries."""
        dofs, bodies = self.robot.tree.pairs
        rows = [np.repeat(dofs, 10)]
        columns = [(10 * bodies[:, None] + np.arange(10)).ravel()]
        for block_rows, block_columns, _ in self._additions(*self._probe):
            rows.append(block_rows)
            columns.append(block_columns)
        return np.concatenate(rows), np.concatenate(columns)

    def entries(
        self, q: Configurations, v: JointSamples, a: JointSamples, out: np.ndarray | None = None
    ) -> np.ndarray:
        """(T, K) entries of a stretch of samples.

        Args:
            q, v, a: (T, nq), (T, n), (T, n), joint side.
            out: (T, at least K) where to write them, in the first K columns; fresh memory is what takes longest.
        """
        if out is None:
            out = np.empty((len(q), len(self.structure[0])))
        end = regressor_entries(self.robot.tree, q, v, a, out).shape[1]
        for _, _, values in self._additions(v, a):
            first, end = end, end + values.shape[1]
            out[:, first:end] = values
        return out[:, :end]

    def dense(self, q: Configurations, v: JointSamples, a: JointSamples) -> np.ndarray:
        """(T, n, p), structural zeros included."""
        return self.scatter(self.entries(q, v, a), np.arange(len(self.parameters)))

    def scatter(self, entries: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """(T, n, len(chosen)) dense columns from entries (T, K).

        Args:
            chosen: columns of the regressor that are wanted, in their order.
        """
        rows, columns = self.structure
        place = np.full(len(self.parameters), -1)
        place[chosen] = np.arange(len(chosen))
        wanted = place[columns] >= 0
        out = np.zeros((len(entries), self.robot.model.nv, len(chosen)))
        out[:, rows[wanted], place[columns[wanted]]] = entries[:, wanted]
        return out

    @cached_property
    def _rotors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joint and rotor of every torque that a rotor makes, and the map (n, ...) to them from q''."""
        n = len(self.robot.actuated)
        maps = np.array(list(self.robot.train.rotor_inertia_maps().values())).reshape(-1, n, n)
        rotors, joints = np.nonzero(maps.any(axis=2))
        return joints, rotors, maps[rotors, joints].T

    @property
    def _probe(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ones((1, self.robot.model.nv)), np.ones((1, self.robot.model.nv))

    def _additions(
        self, v: JointSamples, a: JointSamples
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(rows, columns, (T, ...) values) of rotors, couplings and friction."""
        robot, train = self.robot, self.robot.train
        dofs = robot.actuated
        column = 10 * len(robot.bodies)
        v, a = v[:, dofs], a[:, dofs]
        joints, rotors, torque_map = self._rotors
        yield dofs[joints], column + rotors, a @ torque_map
        column += len(train.rotor_inertia_maps())
        for columns in train.coupling_columns(v, a, getattr(robot.friction, "deadband", 0.0)).values():
            for k, motor in enumerate(train.coupled):
                rows = np.flatnonzero(train.scaled[motor])
                yield dofs[rows], np.full(len(rows), column), columns[:, rows, k]
                column += 1
        friction = robot.friction.columns(v)
        _, n, kinds = friction.shape
        yield np.repeat(dofs, kinds), column + np.arange(n * kinds), friction.reshape(len(v), n * kinds)
