"""What a whole-body controller is asked for: each task wants accelerations, A vdot = b (Koolen et al. 2016).

    posture     S vdot = kp (q* - q) + kd (v* - v)
    frame       J vdot = a* + kp log(X* X^-1) + kd (V* - V) - Jdot v
    mass centre J_c vdot = a* + kp (c* - c) + kd (cdot* - cdot) - Jdot_c v
    momentum    A_G vdot = hdot* + k (h* - h) - Adot_G v

The reference may move; a posture's acceleration is not fed forward, as for a person who moves a slider.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from poinsot.arrays import Matrix, Vector
from poinsot.models.robot.articulated import Articulated


def rest_to_rest(s: float, duration: float) -> tuple[float, float, float]:
    """The way of least jerk from 0 to 1, its speed and acceleration, at the part s of a duration [s]."""
    return (
        s**3 * (10 - 15 * s + 6 * s**2),
        30 * s**2 * (1 - s) ** 2 / duration,
        60 * s * (1 - s) * (1 - 2 * s) / duration**2,
    )


class Kinematics:
    """The robot model of a controller, at one state.

    Args:
        robot: whose model is copied.
        frames: name -> (body, position in its frame); frames that tasks and contacts may name besides the links.
    """

    def __init__(self, robot: Articulated, frames: Mapping[str, tuple[str, Vector]] | None = None):
        self.robot = robot
        self.model = pin.Model(robot.model)
        for name, (body, position) in (frames or {}).items():
            joint = robot.bodies.index(body) + 1
            placement = pin.SE3(np.eye(3), np.asarray(position, dtype=float))
            self.model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        self._still = np.zeros(self.model.nv)
        self._upper = np.triu(np.ones((self.model.nv, self.model.nv), dtype=bool))
        self._frames: dict[str, int] = {}
        self.q, self.v = pin.neutral(self.model), self._still

    def set_bodies(self, inertials: Mapping[str, Vector]) -> None:
        """Take these bodies to have these ten parameters."""
        for body, pi in inertials.items():
            # Pinocchio's joint 0 is the universe
            place = self.robot.bodies.index(body) + 1
            self.model.inertias[place] = pin.Inertia.FromDynamicParameters(np.asarray(pi))

    def update(self, q: Vector, v: Vector) -> None:
        """Everything that tasks and the controller read, at a state."""
        model, data = self.model, self.data
        self.q, self.v = q, v
        M = pin.crba(model, data, q)
        self.mass_matrix: Matrix = np.where(self._upper, M, M.T)  # the other half is not written
        self.bias: Vector = pin.nonLinearEffects(model, data, q, v).copy()
        pin.computeJointJacobians(model, data, q)
        pin.jacobianCenterOfMass(model, data, q, False)
        pin.centerOfMass(model, data, q, v, self._still)
        pin.updateFramePlacements(model, data)

    def placement(self, frame: int) -> pin.SE3:
        """T_wf."""
        return self.data.oMf[frame]

    def frame(self, name: str) -> int:
        if name not in self._frames:
            self._frames[name] = int(self.model.getFrameId(name))
        return self._frames[name]

    @property
    def centre_of_mass(self) -> Vector:
        """(3,) [m]"""
        return self.data.com[0]


class Task(ABC):
    """Accelerations that are wished for, and how much.

    `rows` gives A (k, n), b (k,) and the root of each row's weight (k,).
    """

    @abstractmethod
    def rows(self, kinematics: Kinematics) -> tuple[Matrix, Vector, Vector]: ...


@dataclass(eq=False)
class Posture(Task):
    """Joints where they are wanted.

    Args:
        q, v: (j,), (j,) reference of `dofs`, which may be set anew at each tick [rad], [rad/s].
        dofs: (j,) places in v; every one is a joint of one degree of freedom.
        stiffness, damping, weight: (j,) or one value [1/s^2], [1/s].
    """

    q: Vector
    v: Vector
    dofs: np.ndarray
    stiffness: Vector | float
    damping: Vector | float
    weight: Vector | float
    shift: int = 1
    """nq - nv: how much later these joints are in q than in v, 1 behind a free joint."""

    def rows(self, kinematics: Kinematics) -> tuple[Matrix, Vector, Vector]:
        n = kinematics.model.nv
        A = np.zeros((len(self.dofs), n))
        A[np.arange(len(self.dofs)), self.dofs] = 1.0
        q, v = kinematics.q[self.dofs + self.shift], kinematics.v[self.dofs]
        b = self.stiffness * (self.q - q) + self.damping * (self.v - v)
        return A, b, np.broadcast_to(np.sqrt(self.weight), (len(self.dofs),))


@dataclass(eq=False)
class FramePose(Task):
    """A frame where it is wanted: position, then orientation, in the world's axes.

    Args:
        frame: its name.
        placement, velocity, acceleration: of the reference, (6,) linear and angular; set anew at each tick.
        axes: which of x, y, z, rx, ry, rz.
        stiffness: (6,) or one value [1/s^2]; 0 only brakes.
        damping: [1/s].
        weight: of every row.
    """

    frame: str
    stiffness: Vector | float
    damping: float
    weight: float
    axes: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    placement: pin.SE3 = field(default_factory=pin.SE3.Identity)
    velocity: Vector = field(default_factory=lambda: np.zeros(6))
    acceleration: Vector = field(default_factory=lambda: np.zeros(6))

    def rows(self, kinematics: Kinematics) -> tuple[Matrix, Vector, Vector]:
        model, data = kinematics.model, kinematics.data
        at = kinematics.frame(self.frame)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(model, data, at, world)
        # computed with zero joint accelerations: Jdot v
        moving = pin.getFrameClassicalAcceleration(model, data, at, world).vector
        now = data.oMf[at]
        error = np.concatenate(
            [
                self.placement.translation - now.translation,
                pin.log3(self.placement.rotation @ now.rotation.T),
            ]
        )
        b = (
            self.acceleration
            + self.stiffness * error
            + self.damping * (self.velocity - J @ kinematics.v)
            - moving
        )
        axes = list(self.axes)
        return J[axes], b[axes], np.full(len(axes), np.sqrt(self.weight))


@dataclass(eq=False)
class CentreOfMass(Task):
    """The centre of mass where it is wanted, in the plane.

    Args:
        position, velocity, acceleration: (2,) reference along x and y, set anew at each tick.
        stiffness, damping: [1/s^2], [1/s].
        weight: of both rows.
    """

    stiffness: float
    damping: float
    weight: float
    position: Vector = field(default_factory=lambda: np.zeros(2))
    velocity: Vector = field(default_factory=lambda: np.zeros(2))
    acceleration: Vector = field(default_factory=lambda: np.zeros(2))

    def rows(self, kinematics: Kinematics) -> tuple[Matrix, Vector, Vector]:
        data = kinematics.data
        J = data.Jcom[:2]
        b = (
            self.acceleration
            + self.stiffness * (self.position - data.com[0][:2])
            + self.damping * (self.velocity - data.vcom[0][:2])
            - data.acom[0][:2]
        )
        return J.copy(), b, np.full(2, np.sqrt(self.weight))


@dataclass(eq=False)
class PitchMomentum(Task):
    """The angular momentum about the centre of mass, along the world's y.

    Args:
        gain: [1/s].
        weight: of the row, for angular momenta in units of 10 kg m^2/s.
        momentum, rate: reference [kg m^2/s] and its rate, set anew at each tick.
    """

    gain: float
    weight: float
    momentum: float = 0.0
    rate: float = 0.0

    def rows(self, kinematics: Kinematics) -> tuple[Matrix, Vector, Vector]:
        data, v = kinematics.data, kinematics.v
        pin.dccrba(kinematics.model, data, kinematics.q, v)
        wanted = self.rate + self.gain * (self.momentum - data.hg.angular[1])
        b = np.array([wanted]) - data.dAg[4:5] @ v
        return data.Ag[4:5] / 10.0, b / 10.0, np.full(1, np.sqrt(self.weight))
