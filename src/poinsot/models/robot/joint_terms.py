"""Terms of joints in the dynamics: rotors, friction, couplings, efforts, drag of the base, and their slopes.

The effort is linear in every parameter phi_k of `Articulated.parameters` that is not of a body (see `drive`),

    tau = sum_k phi_k (L_k a + V_k v + c_k f_k(c_k . v) + e_j g_k(q_j, v_j, channels))

with L_k of a rotor, V_k of friction that is linear in v, f_k any other term of friction along a direction c_k, and g_k
an effort of joint j (see `efforts`). The regressor takes the same terms entry by entry, without structural zeros.
The air's drag on a floating base is viscous too: a force -drag_x v_x, ... at the base's origin along its axes, in still
air. Terms that jump with the sign of the speed are smoothed over `dry_speed`, so that they have a slope everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Configurations, Float, JointSamples, Matrix, Vector
from ...exceptions import InvalidModel
from ...parameters import Block, Parameters
from ..efforts import JointEffort, nonnegative_kinds
from ..friction import FrictionColumn
from ..friction.listed import COUPLING, parameter_of
from .articulated import Articulated


@dataclass(frozen=True, eq=False)
class JointTerms:
    """The terms of a robot's joints.

    Args:
        robot: robot with its drive and friction.
        dry_speed: speed at which dry friction has 76 % of its size [rad/s] or [m/s]; 0: sign, with the slope 0.
        drag: whether the base's drag is three parameters, `drag_x`, `drag_y`, `drag_z`, after those of the joints.
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
    def parameters(self) -> Parameters:
        """phi: the joints' parameters, one a block, then the base's drag, which has no owner."""
        own = tuple(block for block in self.robot.parameters if block.kind != "inertia")
        drag = tuple(Block("drag", "", (f"drag_{axis}",), ("N s/m",)) for axis in "xyz")
        return Parameters(own + drag if self.drag else own)

    @cached_property
    def _terms(self) -> tuple[FrictionColumn | None, ...]:
        """(K,) the friction term of each parameter, None for rotors and drag."""
        law = self.robot.friction
        own = {term.parameter.kind: term for term in (*self.robot.described_friction, *law.terms)}
        known = own | {f"{term.parameter.kind}{COUPLING}": term for term in law.coupled_terms}
        return tuple(known.get(block.kind) for block in self.parameters)

    @property
    def is_friction(self) -> tuple[bool, ...]:
        """(K,) whether each parameter is one of friction, and no rotor, effort or drag."""
        return tuple(term is not None for term in self._terms)

    @cached_property
    def efforts(self) -> tuple[tuple[JointEffort, int, np.ndarray, np.ndarray], ...]:
        """Each effort of a joint with its degree of freedom, and the indices of its parameters and channels."""
        names, inputs = self.parameters.names, self.robot.inputs
        efforts = []
        for effort in self.robot.placed_efforts:
            k = self.robot.joints.index(effort.joint)
            number = self.robot.joint_numbers[k]
            own = [names.index(f"{parameter.symbol}_{number}") for parameter in effort.parameters]
            channels = np.array([inputs.index(name) for name in effort.inputs], dtype=np.int64)
            efforts.append((effort, int(self.robot.actuated[k]), np.array(own), channels))
        return tuple(efforts)

    @cached_property
    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the K entries that are not zero by structure: degree of freedom and parameter."""
        L, V, c = self._maps
        acts = L.any(axis=2) | V.any(axis=2) | (c != 0)
        for _, dof, places, _ in self.efforts:
            acts[places, dof] = True
        columns, rows = np.nonzero(acts)
        return rows, columns

    @cached_property
    def linear_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, K) each: derivatives of each entry by speeds and by accelerations, where it is linear in them."""
        rows, columns = self.structure
        L, V, _ = self._maps
        return V[columns, rows].T, L[columns, rows].T

    def entries(
        self, q: Configurations, v: JointSamples, a: JointSamples, channels: np.ndarray | None = None
    ) -> np.ndarray:
        """(T, K) efforts for each parameter at 1.

        Args:
            channels: (T, m) of `robot.inputs`; None: efforts that depend on them are left out.
        """
        _, columns = self.structure
        by_v, by_a = self.linear_entries
        out = v @ by_v + a @ by_a
        for term, own_entries, C, own in self.nonlinear_entries:
            out[:, own_entries] += term.effort(v @ C.T, self.dry_speed) * own
        positions = self.robot.joint_positions(q) if self.efforts else v
        for effort, dof, places, read in self.efforts:
            if not len(read) or channels is not None:
                x = np.zeros((len(v), 0)) if channels is None else channels[:, read]
                at = positions[:, np.flatnonzero(self.robot.actuated == dof)[0]]
                out[:, np.searchsorted(columns, places)] = effort.columns(at, v[:, dof], x)
        return out

    def torque(self, q: Vector, v: Vector, a: Vector, phi: Vector) -> Vector:
        """(n,) efforts at one sample."""
        rows, columns = self.structure
        return np.bincount(rows, self.entries(q[None], v[None], a[None])[0] * phi[columns], minlength=len(v))

    def stiffness(self, phi: Vector, q: Configurations) -> tuple[JointSamples, Float[np.ndarray, "T n n"]]:
        """(T, n) torque of efforts that depend on no channel, and (T, n, n) its slope by q."""
        tau = np.zeros((len(q), self.robot.model.nv))
        slope = np.zeros((*tau.shape, tau.shape[1]))
        positions = self.robot.joint_positions(q) if self.efforts else tau
        for effort, dof, places, read in self.efforts:
            if not len(read):
                at = positions[:, np.flatnonzero(self.robot.actuated == dof)[0]]
                tau[:, dof] += effort.columns(at, 0 * at, np.zeros((len(q), 0))) @ phi[places]
                slope[:, dof, dof] += effort.slopes(at) @ phi[places]
        return tau, slope

    @cached_property
    def _maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """L, V (K, n, n), c (K, n); rows of a floating base are 0."""
        robot, train = self.robot, self.robot.train
        dofs, joints, n = robot.actuated, robot.joints, robot.model.nv
        K = len(self.parameters.names)
        L, V, c = np.zeros((K, n, n)), np.zeros((K, n, n)), np.zeros((K, n))
        inside = np.ix_(dofs, dofs)
        of_efforts = {int(place) for _, _, places, _ in self.efforts for place in places}
        for k, (block, term) in enumerate(zip(self.parameters, self._terms, strict=True)):
            if block.kind == "drag":
                axis = "xyz".index(block.names[0][-1])
                V[k, axis, axis] = 1.0
                continue
            if k in of_efforts:
                continue
            joint = joints.index(block.owner)
            own = np.eye(len(joints))[joint]
            of_coupling = block.kind.endswith(COUPLING)
            if term is None:
                # a rotor that the description gives turns with its joint
                maps = train.rotor_inertia_maps()
                L[k][inside] = train.cross[joint] if of_coupling else maps.get(joint, np.diag(own))
            elif term.is_viscous:
                V[k][inside] = train.cross[joint] if of_coupling else np.diag(own)
            else:
                c[k, dofs] = train.scaled[joint] if of_coupling else own
        return L, V, c

    @cached_property
    def _nonlinear(self) -> tuple[tuple[FrictionColumn, np.ndarray], ...]:
        """Each friction term that is not linear in v, and the indices of its parameters."""
        groups: dict[FrictionColumn, list[int]] = {}
        for k, term in enumerate(self._terms):
            if term is not None and not term.is_viscous:
                groups.setdefault(term, []).append(k)
        return tuple((term, np.array(places)) for term, places in groups.items())

    @cached_property
    def nonlinear_entries(self) -> tuple[tuple[FrictionColumn, np.ndarray, Matrix, Vector], ...]:
        """Each such term, its entries, their directions c (k, n), and c at each entry's own row."""
        (rows, columns), terms = self.structure, []
        for term, places in self._nonlinear:
            own_entries = np.flatnonzero(np.isin(columns, places))
            C = self._maps[2][columns[own_entries]]
            terms.append((term, own_entries, C, C[np.arange(len(own_entries)), rows[own_entries]]))
        return tuple(terms)

    def rotors(self, phi: Vector) -> Matrix:
        """(n, n) part of the rotors in the mass matrix."""
        used = np.flatnonzero(phi)
        return np.asarray(np.tensordot(phi[used], self._maps[0][used], 1))

    def friction(
        self, phi: Vector, v: JointSamples, slopes: bool = True
    ) -> tuple[JointSamples, Float[np.ndarray, "T n n"]]:
        """(T, n) friction and drag, and (T, n, n) their slope by v; without `slopes` only that of terms linear in v."""
        _, V, c = self._maps
        used = np.flatnonzero(phi)
        viscous = np.tensordot(phi[used], V[used], 1)
        out, slope = v @ viscous.T, np.broadcast_to(viscous, (len(v), *viscous.shape))
        for term, places in self._nonlinear:
            # tanh of all speeds is expensive, and most robots have no open dry friction
            if not phi[places].any():
                continue
            C = c[places]
            out = out + (term.effort(v @ C.T, self.dry_speed) * phi[places]) @ C
            # sign has the slope 0 everywhere
            if slopes and (by_speed := term.slope(v @ C.T, self.dry_speed) * phi[places]).any():
                slope = slope + np.einsum("tk, ki, kj -> tij", by_speed, C, C)
        return out, slope

    def tabulated_friction(self, phi: Vector, speeds: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """(n, n) viscous matrix V, (m, n) directions c and (m, G) values f of the other terms at speeds (G,).

        Friction is V v + sum over k of c_k f_k(c_k . v).
        """
        _, V, c = self._maps
        used = [(term, places[phi[places] != 0]) for term, places in self._nonlinear]
        directions = [c[places] for _, places in used]
        values = [np.outer(phi[places], term.effort(speeds, self.dry_speed)) for term, places in used]
        none = np.zeros((0, c.shape[1])), np.zeros((0, len(speeds)))
        return (
            np.tensordot(phi, V, 1),
            np.concatenate([none[0], *directions]),
            np.concatenate([none[1], *values]),
        )

    def columns(
        self, chosen: np.ndarray, q: Configurations, v: JointSamples, a: JointSamples
    ) -> Float[np.ndarray, "T n _"]:
        """(T, n, chosen) efforts for each of the chosen parameters at 1."""
        rows, columns = self.structure
        out = np.zeros((*v.shape, len(self.parameters.names)))
        out[:, rows, columns] = self.entries(q, v, a)
        return out[:, :, chosen]

    def rotor_columns(self, chosen: np.ndarray, a: JointSamples) -> Float[np.ndarray, "T n _"]:
        """(T, n, chosen) part of `columns` that is proportional to accelerations."""
        return np.einsum("knj, tj -> tnk", self._maps[0][chosen], a)


def is_nonnegative(kind: str) -> bool:
    """Whether no real joint has a parameter of this kind below zero."""
    # for coupled motors only the whole matrix is positive, not each entry
    parameter = None if kind == "inertia" or kind.endswith(COUPLING) else parameter_of(kind)
    return kind in ("rotor_inertia", *nonnegative_kinds()) or (parameter is not None and parameter.dissipates)
