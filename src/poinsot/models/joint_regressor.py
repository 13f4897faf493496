"""What joints add to the bodies' torques: rotors, couplings and friction, column by column.

    tau_added = [ rotors | couplings | friction ] theta_added

Only entries that are not zero by structure are made: entry k is in row `rows[k]` (degree of freedom) and column
`columns[k]` (parameter, counted behind the bodies').
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import JointSamples, Vector
from .articulated import Articulated


@dataclass(frozen=True, eq=False)
class JointRegressor:
    """tau_added = W theta_added of one robot, theta_added being what `robot.parameters` has behind the bodies."""

    robot: Articulated

    def blocks(self, v: JointSamples, a: JointSamples) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(rows, columns, (T, ...) values) of rotors, couplings and friction.

        Args:
            v, a: (T, n), of all degrees of freedom.
        """
        robot, train = self.robot, self.robot.train
        dofs = robot.actuated
        v, a = v[:, dofs], a[:, dofs]
        joints, rotors, torque_map = self._rotors
        yield dofs[joints], rotors, a @ torque_map
        column = len(train.rotor_inertia_maps())
        for columns in train.coupling_columns(v, a, robot.friction.coupled_terms).values():
            for k, motor in enumerate(train.coupled):
                rows = np.flatnonzero(train.scaled[motor])
                yield dofs[rows], np.full(len(rows), column), columns[:, rows, k]
                column += 1
        friction = robot.friction.columns(v)
        _, n, kinds = friction.shape
        yield np.repeat(dofs, kinds), column + np.arange(n * kinds), friction.reshape(len(v), n * kinds)

    @cached_property
    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of all entries."""
        probe = np.ones((1, self.robot.model.nv))
        rows, columns, _ = zip(*self.blocks(probe, probe), strict=True)
        return np.concatenate(rows), np.concatenate(columns)

    def torque(self, v: Vector, a: Vector, theta: Vector) -> Vector:
        """(n,) of one sample (n,), (n,) and parameters theta_added."""
        rows, columns = self.structure
        values = np.concatenate([values[0] for _, _, values in self.blocks(v[None], a[None])])
        return np.bincount(rows, values * theta[columns], minlength=len(v))

    @cached_property
    def _rotors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joint and rotor of every torque that a rotor makes, and the map (n, ...) to them from q''."""
        n = len(self.robot.actuated)
        maps = np.array(list(self.robot.train.rotor_inertia_maps().values())).reshape(-1, n, n)
        rotors, joints = np.nonzero(maps.any(axis=2))
        return joints, rotors, maps[rotors, joints].T
