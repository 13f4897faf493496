"""What joints add to the dynamics besides bodies: rotors, friction, couplings, drag of the base, and their slopes.

Of every parameter phi_k in `Articulated.parameters` that is no body's, the effort is linear in it (see `drive`),

    tau = sum_k phi_k (L_k a + V_k v + c_k s(c_k . v) + o_k)

with L_k of a rotor, V_k viscous, c_k the direction of dry friction and o_k an offset. The air's drag on a floating base
is viscous too: a force -drag_x v_x, ... at the base's origin along its axes, in still air. Forward in time s = sign is
too hard: with a `dry_speed` it is tanh(c . v / dry_speed), which has a slope everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..arrays import JointSamples, Matrix, Vector
from ..exceptions import InvalidModel
from ..parameters import Block
from .articulated import Articulated
from .friction import dry_sign


@dataclass(frozen=True, eq=False)
class JointTerms:
    """The terms of a robot's joints.

    Args:
        robot: with its drive and friction.
        dry_speed: speed at which dry friction has 76 % of its size [rad/s] or [m/s]; 0: sign, with the slope 0.
        drag: whether the base's drag is three parameters, `drag_x`, `drag_y`, `drag_z`, after those of the joints.

    Raises:
        InvalidModel: if the robot's friction has a term that is not known here, or there is no base for drag.
    """

    robot: Articulated
    dry_speed: float = 0.0
    drag: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.dry_speed) and self.dry_speed >= 0):
            raise InvalidModel(f"dry_speed must be at least 0, not {self.dry_speed:g}")
        if self.drag and not self.robot.floating_base:
            raise InvalidModel(f"robot {self.robot.name!r} has no floating base that the air could drag")
        _ = self._maps

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the parameters phi."""
        return tuple(name for block in self._blocks for name in block.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Of the parameters phi."""
        return tuple(unit for block in self._blocks for unit in block.units)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The joint of each of them; "" for the base's drag."""
        return tuple(block.owner for block in self._blocks)  # of one parameter each

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """`viscous`, `coulomb`, ... of each of them."""
        return tuple(block.kind for block in self._blocks)

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        own = tuple(block for block in self.robot.parameters if block.kind != "inertia")
        drag = tuple(Block("drag", "", (f"drag_{axis}",), ("N s/m",)) for axis in "xyz")
        return own + drag if self.drag else own

    @cached_property
    def _maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """L, V (K, n, n), c, o (K, n); rows of a floating base are 0."""
        robot, train = self.robot, self.robot.train
        dofs, joints, n = robot.actuated, robot.joints, robot.model.nv
        K = len(self.names)
        L, V, c, o = np.zeros((K, n, n)), np.zeros((K, n, n)), np.zeros((K, n)), np.zeros((K, n))
        inside = np.ix_(dofs, dofs)
        for k, block in enumerate(self._blocks):
            if block.kind == "drag":
                axis = "xyz".index(block.names[0][-1])
                V[k, axis, axis] = 1.0
                continue
            joint = joints.index(block.owner)
            own = np.eye(len(joints))[joint]
            if block.kind == "rotor_inertia":
                L[k][inside] = train.rotor_inertia_maps()[joint]
            elif block.kind == "rotor_coupling":
                L[k][inside] = train.cross[joint]
            elif block.kind == "viscous_coupling":
                V[k][inside] = train.cross[joint]
            elif block.kind == "coulomb_coupling":
                c[k, dofs] = train.scaled[joint]
            elif block.kind == "viscous":
                V[k][inside] = np.diag(own)
            elif block.kind == "coulomb":
                c[k, dofs] = own
            elif block.kind == "offset":
                o[k, dofs] = own
            else:
                raise InvalidModel(
                    f"friction of the kind {block.kind!r} cannot be simulated; viscous, coulomb and offset can"
                )
        return L, V, c, o

    @cached_property
    def described_rotors(self) -> Matrix:
        """(n, n) the rotor inertia that the description gives, of joints where it is no parameter."""
        open_to_theta = {block.owner for block in self._blocks if block.kind == "rotor_inertia"}
        own = np.array([joint not in open_to_theta for joint in self.robot.joints], dtype=bool)
        armature = np.zeros(self.robot.model.nv)
        armature[self.robot.actuated] = self.robot.described_terms["armature"] * own
        return np.diag(armature)

    def rotors(self, phi: Vector) -> Matrix:
        """(n, n) what rotors add to the mass matrix."""
        used = np.flatnonzero(phi)
        return self.described_rotors + np.tensordot(phi[used], self._maps[0][used], 1)

    def friction(self, phi: Vector, v: JointSamples) -> JointSamples:
        """(T, n) efforts that do not depend on accelerations."""
        _, V, c, o = self._maps
        used = np.flatnonzero(phi)
        if not len(used):
            return np.zeros_like(v)
        phi, c = phi[used], c[used]
        dry = self._sign(v @ c.T)
        return v @ np.tensordot(phi, V[used], 1).T + (dry * phi) @ c + phi @ o[used]

    def friction_slope(self, phi: Vector, v: JointSamples) -> Float[np.ndarray, "T n n"]:
        """(T, n, n) of `friction` by v."""
        _, V, c, _ = self._maps
        used = np.flatnonzero(phi)
        phi, c = phi[used], c[used]
        slope = np.broadcast_to(np.tensordot(phi, V[used], 1), (len(v), *V.shape[1:]))
        if self.dry_speed == 0 or not c.any():
            return slope
        steep = phi * (1 - self._sign(v @ c.T) ** 2) / self.dry_speed
        return slope + np.einsum("tk, ki, kj -> tij", steep, c, c)

    def columns(self, chosen: np.ndarray, v: JointSamples, a: JointSamples) -> Float[np.ndarray, "T n _"]:
        """(T, n, chosen) efforts for each of the chosen parameters at 1."""
        L, V, c, o = (part[chosen] for part in self._maps)
        dry = self._sign(v @ c.T)
        return (
            np.einsum("knj, tj -> tnk", L, a) + np.einsum("knj, tj -> tnk", V, v) + dry[:, None] * c.T + o.T
        )

    def rotor_columns(self, chosen: np.ndarray, a: JointSamples) -> Float[np.ndarray, "T n _"]:
        """(T, n, chosen) of those the part that goes with accelerations."""
        return np.einsum("knj, tj -> tnk", self._maps[0][chosen], a)

    def _sign(self, speed: np.ndarray) -> np.ndarray:
        if self.dry_speed > 0:
            return np.tanh(speed / self.dry_speed)
        return dry_sign(speed, getattr(self.robot.friction, "deadband", 0.0))
