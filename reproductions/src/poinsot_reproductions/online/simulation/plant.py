"""A robot in MuJoCo, an independent simulator, made from the same description as Pinocchio's model.

Both read one URDF. Drawings and collision shapes are left out, and what the description says of damping, dry friction
and rotors, so that both have the same equations of motion; feet are spheres, a sole one at each corner. A free joint
of MuJoCo has its linear velocity in the world and its quaternion as w, x, y, z, Pinocchio's in the base, x, y, z, w:

    v_mj = T v,  T = diag(R, 1, 1)         M = T^T M_mj T
    a_mj = T a + (R (w x l), 0, 0)         c = T^T (c_mj + M_mj (R (w x l), 0, 0)),   v = (l, w, joints)

Everything that leaves a plant is in Pinocchio's conventions and order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from xml.etree import ElementTree

import mujoco
import numpy as np

from poinsot.arrays import Matrix, Vector
from poinsot.exceptions import InvalidModel, listing, nearest
from poinsot.kernels import njit
from poinsot.models.robot import tree as kinds
from poinsot.models.robot.articulated import Articulated, read_description

TIMESTEP = 1e-3
"""[s]"""
CORNER_RADIUS = 0.005
"""Of the spheres at a sole's corners [m]."""
SLAB_DEPTH = 0.5
"""How far a slab goes down, so that whatever touches it is nearest to its top or a side [m]."""


@dataclass(frozen=True)
class Foot(ABC):
    """The part of a body that touches the ground.

    Args:
        body: that it is part of.
    """

    body: str

    size: ClassVar[int]
    """Components of what the ground does to it: 3 is a force, 6 a force and a moment."""
    in_world: ClassVar[bool]
    """Whether these are in the world's axes, else in the body's."""

    @property
    @abstractmethod
    def centre(self) -> Vector:
        """(3,) where a controller places it, in the body's frame [m]."""

    @property
    @abstractmethod
    def extents(self) -> tuple[float, float]:
        """Half its length and half its width, along x and y of its body [m]."""

    @property
    @abstractmethod
    def spheres(self) -> tuple[np.ndarray, float]:
        """(k, 3) centres in the body's frame, and the radius, of the spheres that collide [m]."""


@dataclass(frozen=True)
class Sole(Foot):
    """The rectangle of a foot that touches the ground, level in its body's frame.

    Args:
        height: its z in the body's frame [m]; below the ankle, so negative.
        half_length, half_width: along x and y [m].
    """

    height: float
    half_length: float
    half_width: float

    size, in_world = 6, False

    @property
    def centre(self) -> Vector:
        return np.array([0.0, 0.0, self.height])

    @property
    def extents(self) -> tuple[float, float]:
        return self.half_length, self.half_width

    @property
    def corners(self) -> np.ndarray:
        """(4, 3) in the body's frame [m]."""
        return np.array(
            [(sx * self.half_length, sy * self.half_width, self.height) for sx in (1, -1) for sy in (1, -1)]
        )

    @property
    def spheres(self) -> tuple[np.ndarray, float]:
        return self.corners + np.array([0.0, 0.0, CORNER_RADIUS]), CORNER_RADIUS


@dataclass(frozen=True)
class PointFoot(Foot):
    """A point that feels a force and no moment.

    Args:
        position: (3,) of it in the body's frame [m].
    """

    position: tuple[float, float, float]

    size, in_world = 3, True

    @property
    def centre(self) -> Vector:
        return np.array(self.position)

    @property
    def extents(self) -> tuple[float, float]:
        return 0.0, 0.0


@dataclass(frozen=True)
class Ball(PointFoot):
    """A ball that rolls on the ground, its centre at the point.

    Args:
        radius: [m].
    """

    radius: float

    @property
    def spheres(self) -> tuple[np.ndarray, float]:
        return self.centre[None], self.radius


@dataclass(frozen=True)
class Grip(PointFoot):
    """A hand that holds a bar at the point, while `Plant.grasp` has closed it; it can turn about it, pull and push."""

    @property
    def spheres(self) -> tuple[np.ndarray, float]:
        """None: a hand that is open touches nothing."""
        return np.empty((0, 3)), 0.0


@dataclass(frozen=True)
class Slab:
    """A raised rectangle of ground.

    Args:
        x, y: its middle [m].
        half_length, half_width: along x and y [m].
        height: of its top above the floor [m].
    """

    x: float
    y: float
    half_length: float
    half_width: float
    height: float


class Plant:
    """A robot that is moved by its motors, gravity and the ground.

    Args:
        robot: read from a URDF, with free, revolute, continuous and prismatic joints, none locked.
        soles: its feet.
        ground: slabs on the floor z = 0.
        effort_limits: (n,) what motors can give [N m] or [N], 0 where there is none; None: the description's.
        timestep: [s].
        friction: of feet on the ground, tangential over normal force [1]; rubber on concrete has 0.6 to 0.85.
        contact_time_constant: in which MuJoCo's contacts come to rest [s]; ten time steps, where two are the least
            that it integrates stably.

    Raises:
        InvalidModel: if the robot is none of these.
    """

    def __init__(
        self,
        robot: Articulated,
        *,
        soles: Sequence[Foot] = (),
        ground: Sequence[Slab] = (),
        effort_limits: Vector | None = None,
        timestep: float = TIMESTEP,
        friction: float = 0.8,
        contact_time_constant: float = 0.01,
    ):
        self.robot = robot
        self.soles = tuple(soles)
        self.timestep = timestep
        self.effort_limits = described_efforts(robot) if effort_limits is None else effort_limits
        touch = {"condim": 3, "friction": [friction, 0.0, 0.0], "solref": [contact_time_constant, 1.0]}
        self.model = _compile(robot, self.soles, ground, timestep, touch)
        self.data = mujoco.MjData(self.model)
        self._joints = [self.model.joint(name) for name in list(robot.model.names)[1:]]
        self._bodies = np.array([int(joint.bodyid[0]) for joint in self._joints])
        self._base = robot.floating_base
        self._places()
        for body, pi in zip(robot.bodies, robot.inertials, strict=True):
            if abs(self.model.body_mass[self._body(body)] - pi[0]) > 1e-9 * pi[0]:
                self.set_inertial(body, pi)
        self._sole_bodies = np.array([self._body(sole.body) for sole in self.soles], dtype=np.int64)
        self._in_world = np.array([sole.in_world for sole in self.soles], dtype=np.bool_)
        owner = {int(body): k for k, body in enumerate(self._sole_bodies)}
        self._sole_of_geom = np.array(
            [owner.get(int(body), -1) for body in self.model.geom_bodyid], dtype=np.int64
        )
        mujoco.mj_forward(self.model, self.data)

    def _places(self) -> None:
        """Find the indices of Pinocchio's coordinates among MuJoCo's."""
        q_at, v_at, self._turning = [], [], []
        tree = self.robot.tree
        for kind, at, joint in zip(tree.kind, tree.q_index, self._joints, strict=True):
            q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
            if kind == kinds.FREE:
                # MuJoCo has w first
                q_at += [q, q + 1, q + 2, q + 4, q + 5, q + 6, q + 3]
                v_at += list(range(v, v + 6))
            elif kind == kinds.CONTINUOUS:
                self._turning.append((int(at), q))
                q_at += [q, q]
                v_at += [v]
            else:
                q_at += [q]
                v_at += [v]
        self._q_at, self._v_at = np.array(q_at), np.array(v_at)

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """[s]"""
        return float(self.data.time)

    @time.setter
    def time(self, time: float) -> None:
        self.data.time = time

    @property
    def q(self) -> Vector:
        """(nq,) Pinocchio's configuration."""
        q = self.data.qpos[self._q_at]
        for at, place in self._turning:
            q[at], q[at + 1] = np.cos(self.data.qpos[place]), np.sin(self.data.qpos[place])
        return q

    @property
    def v(self) -> Vector:
        """(n,) Pinocchio's velocity."""
        v = self.data.qvel[self._v_at]
        if self._base:
            # the angular velocity is in the base in both
            v[:3] = self._rotation.T @ v[:3]
        return v

    def reset(self, q: Vector, v: Vector | None = None) -> None:
        """Set the state, at time 0.

        Args:
            q, v: (nq,), (n,) Pinocchio's; at rest if v is None.
        """
        # it also sets the time and what the solver begins with to zero: a run does not depend on those before
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._q_at] = q
        for at, place in self._turning:
            self.data.qpos[place] = np.arctan2(q[at + 1], q[at])
        if v is not None:
            v = v.copy()
            if self._base:
                v[:3] = self._rotation @ v[:3]
            self.data.qvel[self._v_at] = v
        mujoco.mj_forward(self.model, self.data)

    @property
    def _rotation(self) -> Matrix:
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, self.data.qpos[self._q_at[[6, 3, 4, 5]]])
        return R.reshape(3, 3)

    # -- motion ------------------------------------------------------------------------------------------------------

    def step(self, tau: Vector) -> Vector:
        """Move on by one time step; afterwards `wrenches` are those of the step.

        Args:
            tau: (n,) efforts; what motors cannot give is cut off.

        Returns:
            (n,) what the motors gave.
        """
        given = np.clip(tau, -self.effort_limits, self.effort_limits)
        # efforts and not actuators, whose dynamics and limits would be further models
        self.data.qfrc_applied[self._v_at] = given
        if self._base and given[:3].any():
            # MuJoCo's force on a free joint is in the world
            self.data.qfrc_applied[self._v_at[:3]] = self._rotation @ given[:3]
        mujoco.mj_step(self.model, self.data)
        return given

    def wrenches(self) -> dict[str, Vector]:
        """Foot -> (6,) force and moment of the ground about its body's origin [N], [N m].

        In its body's axes, or in the world's, as the foot says.
        """
        data, contact = self.data, self.data.contact
        total = np.zeros((len(self.soles), 6))
        if data.ncon:
            _sum_wrenches(
                contact.efc_address, contact.frame, contact.pos, contact.geom, self._sole_of_geom,
                data.efc_force, data.xpos, data.xmat, self._sole_bodies, self._in_world, total,
            )  # fmt: skip
        return {sole.body: wrench for sole, wrench in zip(self.soles, total, strict=True)}

    @property
    def feet(self) -> np.ndarray:
        """(feet, 3) where their centres are [m]."""
        data = self.data
        return np.array(
            [
                data.xpos[body] + data.xmat[body].reshape(3, 3) @ sole.centre
                for sole, body in zip(self.soles, self._sole_bodies, strict=True)
            ]
        ).reshape(-1, 3)

    def grasp(self, body: str) -> None:
        """Hold the grip of a body where it is now.

        Raises:
            InvalidModel: if the body has none.
        """
        place, sole = self._grip(body)
        # a step leaves places of bodies as they were before it
        mujoco.mj_kinematics(self.model, self.data)
        self.model.eq_data[place, :3] = self.soles[sole].centre
        self.model.eq_data[place, 3:6] = self.feet[sole]
        self.data.eq_active[place] = True

    def release(self, body: str) -> None:
        """Let the grip of a body go."""
        self.data.eq_active[self._grip(body)[0]] = False

    def holds(self, body: str) -> bool:
        """Whether the grip of a body is closed."""
        return bool(self.data.eq_active[self._grip(body)[0]])

    def _grip(self, body: str) -> tuple[int, int]:
        """Places of a body's grip among MuJoCo's constraints and among the feet."""
        grips = {sole.body: k for k, sole in enumerate(self.soles) if isinstance(sole, Grip)}
        if body not in grips:
            raise InvalidModel(f"no grip at body {body!r}; there are {listing(grips)}")
        return int(self.model.equality(body).id), grips[body]

    # -- mass --------------------------------------------------------------------------------------------------------

    def set_inertial(self, body: str, pi: Vector) -> None:
        """Change the inertial parameters of a body.

        Args:
            body: of the robot's bodies.
            pi: (10,) about its frame's origin.

        Raises:
            InvalidModel: if there is no such body.
        """
        at = self._body(body)
        mass, centre = float(pi[0]), pi[1:4] / pi[0]
        about_origin = np.array([[pi[4], pi[5], pi[7]], [pi[5], pi[6], pi[8]], [pi[7], pi[8], pi[9]]])
        # Steiner: MuJoCo takes the inertia about the centre of mass, along principal axes
        about_centre = about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        principal, axes = np.linalg.eigh(about_centre)
        # eigenvectors may be left-handed, which no quaternion is
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
        model = self.model
        more = mass - model.body_mass[at]
        model.body_mass[at], model.body_inertia[at] = mass, principal
        model.body_ipos[at], model.body_iquat[at] = centre, quaternion
        # the only other constants that the equations of motion read; those that contacts scale their softness with stay
        while True:
            model.body_subtreemass[at] += more
            if at == 0:
                break
            at = int(model.body_parentid[at])

    def _body(self, name: str) -> int:
        bodies = self.robot.bodies
        if name not in bodies:
            raise InvalidModel(f"no body {name!r}{nearest(name, bodies)}; the robot has {listing(bodies)}")
        return int(self._bodies[bodies.index(name)])


def described_efforts(robot: Articulated) -> Vector:
    """(n,) the largest efforts that the description allows, 0 of a floating base, infinite where it says nothing."""
    limits = np.array(robot.model.effortLimit)
    limits[~(limits > 0)] = np.inf
    if robot.floating_base:
        limits[:6] = 0.0
    return limits


@njit(cache=True, error_model="numpy")
def _sum_wrenches(address, frame, position, geoms, sole_of_geom, force, xpos, xmat, bodies, in_world, total):
    """Add each contact's (normal, tangential, tangential) force to its foot's, in its body's or the world's axes."""
    for k in range(len(address)):
        at = address[k]
        if at < 0:
            continue
        sign, sole = -1.0, sole_of_geom[geoms[k, 0]]  # MuJoCo's force acts on the second
        if sole < 0:
            sign, sole = 1.0, sole_of_geom[geoms[k, 1]]
        if sole < 0:
            continue
        R, origin = xmat[bodies[sole]].reshape(3, 3), xpos[bodies[sole]]
        if in_world[sole]:
            R = np.eye(3)
        # a frame has the normal first, in its first row
        f = np.zeros(3)
        for i in range(3):
            for j in range(3):
                f[j] += sign * force[at + i] * frame[k, 3 * i + j]
        r = position[k] - origin
        m = np.array([r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2], r[0] * f[1] - r[1] * f[0]])
        for i in range(3):
            for j in range(3):
                total[sole, i] += R[j, i] * f[j]
                total[sole, 3 + i] += R[j, i] * m[j]


def _compile(
    robot: Articulated, soles: Sequence[Foot], ground: Sequence[Slab], timestep: float, touch: dict[str, Any]
) -> mujoco.MjModel:
    _check(robot, soles)
    spec = mujoco.MjSpec.from_string(_bare_description(robot))
    # Pinocchio's equations of motion have none of these
    for joint in spec.joints:
        joint.damping, joint.frictionloss, joint.armature = np.zeros((3, 1)), 0.0, 0.0
    if robot.floating_base:
        spec.worldbody.first_body().add_freejoint(name=robot.model.names[1])
    spec.option.timestep = timestep
    spec.option.gravity = np.array(robot.model.gravity.linear)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # stiffer friction: feet creep less
    spec.option.impratio = 10.0
    # its boxes lie in inertial frames, which `set_inertial` turns: contacts would be missed
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    floor, foot = {"contype": 1, "conaffinity": 2}, {"contype": 2, "conaffinity": 1}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **touch, **floor)
    for slab in ground:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[slab.x, slab.y, slab.height - SLAB_DEPTH / 2],
            size=[slab.half_length, slab.half_width, SLAB_DEPTH / 2],
            **touch,
            **floor,
        )
    for sole in soles:
        if isinstance(sole, Grip):
            spec.add_equality(
                name=sole.body,
                type=mujoco.mjtEq.mjEQ_CONNECT,
                objtype=mujoco.mjtObj.mjOBJ_BODY,
                name1=sole.body,
                name2="world",
                active=False,
                # as stiff as MuJoCo integrates stably
                solref=[2 * timestep, 1.0],
                solimp=[0.9999, 0.9999, 0.001, 0.5, 2.0],
            )
        centres, radius = sole.spheres
        for centre in centres:
            spec.body(sole.body).add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                pos=centre,
                size=[radius, 0, 0],
                mass=0.0,
                **touch,
                **foot,
            )
    return spec.compile()


def _check(robot: Articulated, soles: Sequence[Foot]) -> None:
    allowed = {kinds.FREE, kinds.CONTINUOUS, kinds.PRISMATIC, kinds.REVOLUTE}
    if robot.source is None or robot.source.suffix != ".urdf" or robot.locked:
        raise InvalidModel(f"a plant of {robot.name!r} needs its URDF, with no joint locked")
    if not set(robot.tree.kind.tolist()) <= allowed:
        raise InvalidModel("a plant has free, revolute, continuous and prismatic joints only")
    for sole in soles:
        if sole.body not in robot.bodies:
            raise InvalidModel(
                f"no body {sole.body!r}{nearest(sole.body, robot.bodies)}; the robot has {listing(robot.bodies)}"
            )


def _is_impossible(part: ElementTree.Element) -> bool:
    """Whether it is an inertia that MuJoCo refuses; what the link is welded to gets its own from Pinocchio's model."""
    if part.tag != "inertial" or (inertia := part.find("inertia")) is None:
        return False
    xx, xy, xz, yy, yz, zz = (
        float(inertia.get(name, 0.0)) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    return bool(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[0] <= 0)


def _bare_description(robot: Articulated) -> str:
    """The URDF with links, joints and inertia alone."""
    assert robot.source is not None
    text, _ = read_description(robot.source)
    root = ElementTree.fromstring(text.encode())
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
        for part in list(element):
            if part.tag in ("visual", "collision", "mimic") or _is_impossible(part):
                element.remove(part)
    # without these MuJoCo changes inertias that it finds unlikely, and welds are bodies of their own
    compiler = {"balanceinertia": "false", "fusestatic": "true", "boundmass": "0", "boundinertia": "0"}
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", compiler)
    return ElementTree.tostring(root, encoding="unicode")
