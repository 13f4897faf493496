"""From commands or measured efforts u to generalized forces tau = A (g * u), with gains g that may be unknown.

For joints u are efforts of motors and A is the drive train (see `drive`). For propellers u are thrusts, or squared
speeds, and A follows from their placements: rotor k pushes along the z axis of its frame, with a drag moment about it,

    f = R_k e_z u_k,    moment = p_k x f + drag_k f         [N], [N m] for a thrust in N and a drag in m
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...arrays import Float, Matrix, Vector
from ...exceptions import InvalidModel, check_known
from .articulated import Articulated


@dataclass(frozen=True, eq=False)
class Actuation:
    """tau = A (g * u).

    Args:
        matrix: (n, m) A. inputs: names of u.
        gains: gain -> the inputs that it multiplies; an input has at most one, and without one its g is 1.
        units: gain -> its unit; "" where not given.
    """

    matrix: Matrix
    inputs: tuple[str, ...]
    gains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.matrix.shape[1] != len(self.inputs) or len(set(self.inputs)) < len(self.inputs):
            raise InvalidModel(
                f"an actuation needs a different name for each of {self.matrix.shape[1]} inputs"
            )
        multiplied = [name for group in self.gains.values() for name in group]
        for name in multiplied:
            check_known(name, self.inputs, "no input", "u is")
        if len(set(multiplied)) < len(multiplied):
            raise InvalidModel("an input has at most one gain")

    @cached_property
    def shares(self) -> Float[np.ndarray, "_ m"]:
        """(gains, m) 1 where a gain multiplies an input."""
        groups = self.gains.values()
        return np.array([[name in group for name in self.inputs] for group in groups], dtype=float).reshape(
            len(groups), len(self.inputs)
        )

    def slope(self, gains: Vector) -> Matrix:
        """(n, m) derivative of tau by u."""
        # an input without a gain has the gain 1
        g = gains @ self.shares + (self.shares.sum(axis=0) == 0)
        return self.matrix * g

    def columns(self, u: Float[np.ndarray, "T m"]) -> Float[np.ndarray, "T n _"]:
        """(T, n, gains) tau for each gain at 1, with other gains and inputs without a gain at 0."""
        return np.einsum("nm, tm, gm -> tng", self.matrix, u, self.shares)


def joint_efforts(robot: Articulated, gains: Mapping[str, Sequence[str]] | None = None) -> Actuation:
    """Motors at the joints, one input a joint, through the robot's drive; a floating base has none.

    Args:
        robot: robot with motors at its joints. gains: gain -> joints whose efforts it multiplies.
    """
    matrix = np.zeros((robot.model.nv, len(robot.joints)))
    matrix[robot.actuated] = robot.train.joint_torques(np.eye(len(robot.joints))).T
    return Actuation(matrix, robot.joints, {name: tuple(group) for name, group in (gains or {}).items()})


def rotor_thrusts(
    robot: Articulated,
    placements: Mapping[str, Matrix],
    drag: Mapping[str, float],
    gain: str = "",
    gain_unit: str = "",
) -> Actuation:
    """Rotors on the floating base, and motors at the joints after them if there are joints.

    Args:
        robot: robot with a floating base.
        placements: rotor -> (4, 4) T_br in the base's frame; it pushes along its z axis.
        drag: rotor -> moment about z per thrust [m], positive along z.
        gain: name of the one gain of all rotors (a thrust coefficient, if u is squared speed); "": none.
        gain_unit: unit of the gain.
    """
    if not robot.floating_base:
        raise InvalidModel(f"robot {robot.name!r} has no floating base for rotors to lift")
    missing = [name for name in placements if name not in drag]
    if missing:
        raise InvalidModel(f"rotor {missing[0]!r} has no drag [m]; give 0 if it makes no moment")
    columns = []
    for name, T_br in placements.items():
        force = T_br[:3, 2]
        column = np.zeros(robot.model.nv)
        column[:3], column[3:6] = force, np.cross(T_br[:3, 3], force) + drag[name] * force
        columns.append(column)
    joints = joint_efforts(robot)
    rotors = tuple(placements)
    return Actuation(
        np.concatenate([np.reshape(columns, (-1, robot.model.nv)).T, joints.matrix], axis=1),
        (*rotors, *joints.inputs),
        {gain: rotors} if gain else {},
        {gain: gain_unit} if gain else {},
    )
