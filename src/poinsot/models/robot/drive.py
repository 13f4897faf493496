"""Drive trains: from motor measurements to joint motion and efforts, and the motors' terms in the dynamics.

Motors turn with p = N (q - q0), N the reduction matrix [motor turns per joint turn]; a row with several entries is a
coupling (the TX40's motor 6 turns with joints 5 and 6). By virtual work tau = N^T c for motor efforts c, and

    q = N^-1 p + q0,     tau_joint = N^T (gain * effort).

The rotors' inertia takes N^T diag(J) N q'' at the joints. Each row scaled by the motor's own joint, C = N / N_kk,
and ia_k = J_k N_kk^2 the rotor's inertia reflected to its own joint, motor k adds ia_k C_k^T C_k q'' , viscous friction
likewise, and dry friction fc_k C_k^T sign(C_k q'). The diagonal of C_k^T C_k acts like the rotor inertia and
viscous friction of the joints' own motors; so a coupled motor's linear columns (iam, fvm) carry only the cross terms:

    iam_k: (C_k^T C_k - diag) q''      fvm_k: (C_k^T C_k - diag) q'      fcm_k: C_k^T sign(C_k q')

as in Brunot et al. (2017, Sect. 4.1). With `coupled_rotor = "tied"` iam_k is not a parameter of its own: the column of
ia_k is the sum of both columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...arrays import JointSamples, Matrix
from ...exceptions import InvalidModel, check_known
from ...ranges import check_ranges


@dataclass(frozen=True)
class Coupling:
    """Motor `motor` also turns `ratio` times for each turn of joint `joint`, beside its own joint."""

    motor: str
    joint: str
    ratio: float


@dataclass(frozen=True)
class Drive:
    """The motors of a robot, one for each joint that is not passive.

    Args:
        reduction: motor turns per joint turn: one for all driven joints, one value a driven joint (in the robot's
            order), or one value a joint. A passive joint without one is measured directly.
        couplings: motors that turn with a second joint too.
        side: where positions and efforts are measured, `"joint"` or `"motor"`.
        position_offset: (n,) or one value, added to the joint position [rad] or [m].
        gain: effort per unit of current or voltage, at the side where it is measured [N m/A], [N/V], ...; as many
            values as `reduction`.
        rotor_inertia: whether each motor's rotor inertia is a parameter.
        coupled_rotor: `"free"`: the cross term of a coupled motor's rotor is its own parameter; `"tied"`: it is the
            rotor inertia itself.
        coupled_friction: whether coupled motors have viscous and dry friction of their own.
        passive: joints without a motor of their own; another joint's motor may be coupled to them.
        elastic: joints with a spring and a damper between motor and link (see `elastic`).
        not_measured: joints with a motor whose effort was not measured: a regression leaves out the equations of motion
            that contain it.
    """

    reduction: Sequence[float] | float = 1.0
    couplings: tuple[Coupling, ...] = ()
    side: Literal["joint", "motor"] = "joint"
    position_offset: Sequence[float] | float = 0.0
    gain: Sequence[float] | float = 1.0
    rotor_inertia: bool = False
    coupled_rotor: Literal["free", "tied"] = "free"
    coupled_friction: bool = True
    passive: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    elastic: tuple[str, ...] = ()

    @property
    def without_effort(self) -> tuple[str, ...]:
        """Joints without a measured effort."""
        return (*self.passive, *self.not_measured)

    def __post_init__(self) -> None:
        check_ranges(self, InvalidModel)

    def resolve(self, joints: tuple[str, ...]) -> DriveTrain:
        """The drive train of a robot with these joints (without its floating base).

        Raises:
            InvalidModel: if a length, name or ratio does not fit, or the reduction matrix is singular.
        """
        for name in (
            *self.without_effort,
            *(c.motor for c in self.couplings),
            *(c.joint for c in self.couplings),
        ):
            check_known(name, joints, "the drive names joint", "the robot has", limit=60)
        for name in self.not_measured:
            if name in self.passive:
                raise InvalidModel(f"joint {name!r} is passive: without a motor, it has no effort to measure")
        driven = np.array([joint not in self.passive for joint in joints], dtype=bool)
        offset = _per_joint("position_offset", self.position_offset, np.ones(len(joints), dtype=bool))
        gain = _per_joint("gain", self.gain, driven)
        if not np.all(gain):
            raise InvalidModel(
                "a drive gain of 0 hides the torque of its joint; leave it out or list the joint as passive"
            )
        reduction = np.diag(_per_joint("reduction", self.reduction, driven))
        for coupling in self.couplings:
            motor, joint = joints.index(coupling.motor), joints.index(coupling.joint)
            if motor == joint:
                raise InvalidModel(
                    f"the coupling of motor {coupling.motor!r} names its own joint; give a second one"
                )
            if not driven[motor]:
                raise InvalidModel(
                    f"joint {coupling.motor!r} is passive: it has no motor to couple to {coupling.joint!r}"
                )
            # row motor, column joint: motor turns per joint turn
            reduction[motor, joint] = coupling.ratio
        # rows are scaled first: a gear and a spindle differ by 19 orders of magnitude
        size = np.abs(reduction).max(axis=1, keepdims=True, initial=0)
        if (
            not np.all(np.isfinite(size))
            or not np.diag(reduction).all()
            or np.linalg.matrix_rank(reduction / size) < len(joints)
        ):
            raise InvalidModel(
                "the reduction matrix is singular: every joint needs a motor with a reduction other than 0, "
                "and couplings must not cancel it"
            )
        return DriveTrain(self, joints, reduction, offset, gain)


@dataclass(frozen=True, eq=False)
class DriveTrain:
    """A `Drive` resolved for the n joints of one robot."""

    drive: Drive
    joints: tuple[str, ...]
    reduction: Matrix
    offset: np.ndarray
    gain: np.ndarray

    @cached_property
    def driven(self) -> np.ndarray:
        """(n,) True where a joint has a motor."""
        return np.array([joint not in self.drive.passive for joint in self.joints], dtype=bool)

    @cached_property
    def velocity_map(self) -> Matrix:
        """(n, n) joint velocity from measured velocity: N^-1 at the motor side, 1 at the joint side."""
        return np.linalg.inv(self.reduction) if self.drive.side == "motor" else np.eye(len(self.joints))

    def joint_positions(self, p: JointSamples) -> JointSamples:
        """(T, n) joint positions from measured ones."""
        return p @ self.velocity_map.T + self.offset

    def joint_velocities(self, p_dot: JointSamples) -> JointSamples:
        """(T, n) joint velocities (or accelerations) from measured ones."""
        return p_dot @ self.velocity_map.T

    def joint_torques(self, effort: JointSamples) -> JointSamples:
        """(T, n) joint torques from measured efforts; numbers of passive joints are ignored."""
        # a log may have numbers for joints without a motor
        torque = effort * self.gain * self.driven
        return torque @ self.reduction if self.drive.side == "motor" else torque

    @cached_property
    def is_incomplete(self) -> np.ndarray:
        """(n,) True where the torque of a joint contains an effort that was not measured."""
        missing = np.array([joint in self.drive.not_measured for joint in self.joints], dtype=bool)
        acts = self.reduction != 0 if self.drive.side == "motor" else np.eye(len(self.joints), dtype=bool)
        return acts[missing].any(axis=0)

    @cached_property
    def scaled(self) -> Matrix:
        """(n, n) C: motor velocity per joint velocity, each motor scaled to its own joint."""
        return self.reduction / np.diag(self.reduction)[:, None]

    @cached_property
    def coupled(self) -> tuple[int, ...]:
        """Motors that turn with more than one joint."""
        return tuple(int(k) for k in np.flatnonzero((self.scaled != 0).sum(axis=1) > 1))

    @cached_property
    def cross(self) -> np.ndarray:
        """(n, n, n) C_k^T C_k for each motor k, without the part of its diagonal that a joint's own motor covers."""
        outer = self.scaled[:, :, None] * self.scaled[:, None, :]
        own = np.flatnonzero(self.driven)
        # a passive joint has no motor of its own that covers the diagonal
        outer[:, own, own] = 0.0
        return outer

    def rotor_inertia_maps(self) -> dict[int, Matrix]:
        """Motor -> (n, n) L with torque L q'' for ia_k = 1."""
        if not self.drive.rotor_inertia:
            return {}
        own = {int(k): np.diag(np.eye(len(self.joints))[k]) for k in np.flatnonzero(self.driven)}
        if self.drive.coupled_rotor == "tied":
            own |= {k: np.outer(self.scaled[k], self.scaled[k]) for k in self.coupled}
        return own


def _per_joint(name: str, value: Sequence[float] | float, given: np.ndarray) -> np.ndarray:
    """(n,) one value a joint, from one value for all `given` joints, one for each of them, or all; others are 1."""
    n = len(given)
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (n,), (int(given.sum()),)):
        driven = "" if given.all() else f", {int(given.sum())} of them driven"
        raise InvalidModel(f"the drive's {name} has {array.size} values; the robot has {n} joints{driven}")
    if not np.isfinite(array).all():
        raise InvalidModel(f"the drive's {name} must be finite, not {value}")
    if array.shape == (n,):
        return array.copy()
    full = np.ones(n)
    full[given] = array
    return full
