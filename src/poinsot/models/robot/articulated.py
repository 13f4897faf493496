"""Robots: a tree of bodies and joints read by Pinocchio, with drive trains and friction.

Pinocchio is imported only here and in the files beside this one that use it for terms of the dynamics, states and
distances. Bodies that fixed joints hold together are one body, as in Pinocchio; it has the name of the first link of
the group, and its ten parameters are about that joint's frame.
"""

from __future__ import annotations

import os
import stat
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from ...arrays import LARGEST, SMALLEST, Brief, Configurations, JointSamples, Vector
from ...estimate import Body
from ...exceptions import InvalidModel, InvalidSignals, UnreadableFile, check_known, listing
from ...parameters import INERTIAL_SYMBOLS, INERTIAL_UNITS, Block, Parameters
from ..efforts import JointEffort, Spring
from ..friction import FrictionColumn, RobotFriction, ViscousCoulomb
from ..friction.listed import COUPLING
from ..gravity import STANDARD_GRAVITY
from . import tree as kinds
from .drive import Drive, DriveTrain
from .elastic import deflection, is_deflection, with_deflections
from .loops import JointCoupling, Loop, add_frames, frames_of, with_followers
from .torque_regressor import dense_regressor
from .tree import Tree, tree_of

if TYPE_CHECKING:
    from .closure import Closure

UNLIMITED = 1e6
"""Limits of this size and above mean that there is none."""
NO_EFFECT = 1e-9
"""Largest share of a motor in an equation of motion that is rounding: constraints are solved to 1e-12."""

MAX_DESCRIPTION_BYTES = 64 * 2**20
MAX_LINKS, MAX_NESTING = 1000, 300
"""Maximum numbers of links and of nested bodies: parsers recurse over both, and C++ runs out of stack (at 20 000)."""


@dataclass(frozen=True, eq=False, repr=False)
class Articulated(Brief):
    """A robot: kinematic tree, drive trains, friction.

    Args:
        name: name of the robot.
        model: Pinocchio's model.
        drive: motors and gears.
        friction: the law of every joint.
        efforts: further efforts of joints: springs, counterbalances, ...
        floating_base: whether the first joint is a free-flyer that was added to the description.
        source: the file that it was read from.
        locked: joint -> position [rad] or [m] of joints of the file that are held still.
        loops: closed loops, where links of different branches are joined.
        couplings: joints that follow others.
        unrepresented: sentences on what the description has and the robot has not.
    """

    name: str
    model: pin.Model
    drive: Drive
    friction: RobotFriction
    floating_base: bool = False
    source: Path | None = None
    locked: Mapping[str, float] = field(default_factory=dict)
    efforts: tuple[JointEffort, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[JointCoupling, ...] = field(default=(), repr=False)
    unrepresented: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def tree(self) -> Tree:
        """The same robot as plain arrays."""
        return tree_of(self.model)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joint degrees of freedom, without the floating base, in the order of v."""
        return tuple(
            self.model.names[joint] + ("" if size == 1 else f".{k}") for joint, size, k in self._freedoms
        )

    @cached_property
    def _freedoms(self) -> tuple[tuple[int, int, int], ...]:
        """(index of Pinocchio's joint, number of its freedoms, index of the freedom) of each of `joints`."""
        own = list(self.model.joints)[2 if self.floating_base else 1 :]  # without the universe
        # numbers: Pinocchio's joints cannot be sent to another process
        return tuple((joint.id, joint.nv, k) for joint in own for k in range(joint.nv))

    @cached_property
    def actuated(self) -> np.ndarray:
        """(n,) indices in v of `joints`: all but the floating base."""
        return np.arange(6 if self.floating_base else 0, self.model.nv)

    @cached_property
    def train(self) -> DriveTrain:
        """The drive trains of `joints`."""
        return self.drive.resolve(self.joints)

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names of the moving bodies, in the order of the joints that carry them."""
        first: dict[int, str] = {}
        for frame in self.model.frames:
            if frame.type == pin.FrameType.BODY:
                first.setdefault(frame.parentJoint, frame.name)
        return tuple(first.get(i, self.model.names[i]) for i in self.body_joints)

    @cached_property
    def body_joints(self) -> list[int]:
        """Pinocchio's joint that carries each of `bodies`; of several joints in one body, the last."""
        return kinds.body_joints(self.model)

    @cached_property
    def moved_bodies(self) -> tuple[int, ...]:
        """Index in `bodies` of the first body that each of Pinocchio's joints moves; -1 for the world."""
        moved = {joint: body for body, joint in enumerate(self.body_joints)}
        for i in range(self.model.njoints - 1, 0, -1):
            if i not in moved:  # one of several joints in one body
                moved[i] = moved[list(self.model.parents).index(i)]
        return (-1, *(moved[i] for i in range(1, self.model.njoints)))

    @cached_property
    def links(self) -> dict[str, dict[str, np.ndarray]]:
        """Body -> link of the description -> (4, 4) T_bl, its placement in the body's frame; the body's own first."""
        links: dict[str, dict[str, np.ndarray]] = {body: {} for body in self.bodies}
        for frame in self.model.frames:
            if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
                links[self.bodies[self.moved_bodies[frame.parentJoint]]][frame.name] = (
                    frame.placement.homogeneous
                )
        return links

    @cached_property
    def freedoms(self) -> tuple[tuple[str, int], ...]:
        """(body that it moves, index of the freedom among those of the body) of each of `joints`."""
        counts: dict[str, int] = {}
        freedoms = []
        for joint, _, _ in self._freedoms:
            body = self.bodies[self.moved_bodies[joint]]
            freedoms.append((body, counts.get(body, 0)))
            counts[body] = counts.get(body, 0) + 1
        return tuple(freedoms)

    @cached_property
    def described_terms(self) -> dict[str, np.ndarray]:
        """Joint terms of the description, each (n,): damping, dry friction, rotor inertia."""
        model = self.model
        terms = {"damping": model.damping, "friction": model.friction, "armature": model.armature}
        return {name: np.array(values)[self.actuated] for name, values in terms.items()}

    def read_again(self, path: str | Path, content: str | None = None) -> Articulated:
        """The robot of another description, with this one's drive, friction, base, locked joints and gravity.

        `content`: a text to read in place of the file's.
        """
        return load_robot(
            path,
            content=content,
            drive=self.drive,
            friction=self.friction,
            floating_base=self.floating_base,
            locked=self.locked,
            efforts=self.efforts,
            loops=self.loops,
            gravity=self.model.gravity.linear.tolist(),
        )

    @cached_property
    def inertials(self) -> np.ndarray:
        """(l, 10) pi of the moving bodies, as the description gives them, in the order of `bodies`."""
        return np.array([self.model.inertias[i].toDynamicParameters() for i in self.body_joints])

    @cached_property
    def neutral(self) -> Vector:
        """(nq,) the neutral configuration: joints at 0, the base at the origin, upright."""
        return np.array(pin.neutral(self.model))

    @cached_property
    def placements(self) -> np.ndarray:
        """(l, 4, 4) T_wb of the moving bodies' frames at the neutral configuration."""
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, self.neutral)
        return np.array([data.oMi[i].homogeneous for i in self.body_joints])

    @cached_property
    def described(self) -> tuple[Body, ...]:
        """The moving bodies as the description gives them, in `Body.prior`, at their places."""
        described = zip(self.bodies, self.inertials, self.placements, self.parents, strict=True)
        return tuple(Body(name, prior=pi, placement=T_wb, parent=by) for name, pi, T_wb, by in described)

    @cached_property
    def parents(self) -> tuple[str, ...]:
        """Name of the body that carries each of `bodies`; "" for the world."""
        parents, carrying = [], set(self.body_joints)
        for i in self.body_joints:
            above = self.model.parents[i]
            while above and above not in carrying:
                above = self.model.parents[above]
            parents.append(self.bodies[self.moved_bodies[above]] if above else "")
        return tuple(parents)

    def link(self, name: str) -> tuple[int, np.ndarray]:
        """Index in `bodies` of the body that a link is part of, and (4, 4) T_bl, its frame in the body's.

        Raises:
            InvalidModel: if there is no such link, or it does not move.
        """
        frames = {frame.name: frame for frame in self.model.frames if frame.type == pin.FrameType.BODY}
        if name in self.bodies and name not in frames:  # a body without a link has the name of its joint
            return self.bodies.index(name), np.eye(4)
        check_known(name, frames, "no link", "the robot has", limit=20)
        frame = frames[name]
        if frame.parentJoint == 0:
            raise InvalidModel(
                f"link {name!r} does not move, so no load on it can be identified; links that move are on "
                f"{listing(self.bodies, 20)}"
            )
        return self.moved_bodies[frame.parentJoint], frame.placement.homogeneous

    @cached_property
    def closure(self) -> Closure | None:
        """The constraints of the joints' motion; None: there are none, or only loops of a floating base."""
        if not self.couplings and (not self.loops or self.floating_base):
            return None
        # few robots have constraints, and its kernels need SciPy's rotations
        from .closure import Closure

        return Closure(self)

    @property
    def followers(self) -> tuple[str, ...]:
        """Joints that couplings make follow others."""
        return tuple(dict.fromkeys(joint for coupling in self.couplings for joint in coupling.follower))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about each coupling of the description, and about what it lacks, to be read beside a result."""
        coupled = (
            f"{listing(coupling.follower)} {'follows' if len(coupling.follower) == 1 else 'follow'} "
            f"{listing(coupling.leader)} (<mimic> or <equality> of the description): one equation of motion has the "
            "masses and the friction of all."
            for coupling in self.couplings
            if coupling.leader
        )
        return (*coupled, *self.unrepresented)

    @property
    def loop_ends(self) -> tuple[tuple[tuple[str, Vector], ...], ...]:
        """Of each loop its two ends: body, "" for the world, and (3,) point in the world with joints at 0 [m]."""
        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, self.neutral)

        def end(frame: str) -> tuple[str, Vector]:
            number = self.model.getFrameId(frame)
            moved = self.moved_bodies[self.model.frames[number].parentJoint]
            return "" if moved < 0 else self.bodies[moved], np.array(data.oMf[number].translation)

        return tuple(tuple(map(end, frames)) for frames in frames_of(self.loops))

    @property
    def dependent_joints(self) -> tuple[str, ...]:
        """Joints whose positions follow from those of the others, by loops and couplings."""
        if self.closure is None:
            return ()
        return tuple(
            joint for joint, k in zip(self.joints, self.actuated, strict=True) if k in self.closure.dependent
        )

    @cached_property
    def equations(self) -> np.ndarray:
        """Freedoms whose equation of motion is used: all, or with closed loops the independent ones; without those in
        which an effort acts that was not measured.
        """
        independent = np.arange(self.model.nv) if self.closure is None else self.closure.independent
        missing = self.actuated[self.train.is_incomplete]
        if not len(missing):
            return independent
        if self.closure is None:
            return np.setdiff1d(independent, missing)
        q = self.random_states(3, np.random.default_rng(0))[0]
        acts = np.abs(self.closure.projection(q)[:, missing]).max(axis=(0, 1)) > NO_EFFECT
        return independent[~acts]

    @cached_property
    def equation_places(self) -> np.ndarray:
        """Place of each of `equations` among the freedoms, or with closed loops among the independent ones."""
        return (
            self.equations
            if self.closure is None
            else np.searchsorted(self.closure.independent, self.equations)
        )

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """Name of each component of v: its joint, or a freedom of the floating base."""
        return (*(f"base.{k}" for k in range(6)), *self.joints) if self.floating_base else self.joints

    @cached_property
    def effort_names(self) -> tuple[str, ...]:
        """Name of each equation of motion, that of its freedom."""
        return tuple(self.speed_names[k] for k in self.equations)

    @cached_property
    def effort_units(self) -> tuple[str, ...]:
        """Unit of each row of v's effort: N m, or N along a translation."""
        return tuple("N" if unit == "m" else "N m" for unit in self.position_units)

    @cached_property
    def position_units(self) -> tuple[str, ...]:
        """Unit of each degree of freedom: rad, or m along a translation."""
        units: list[str] = []
        for kind in self.tree.kind:
            units += {
                kinds.PRISMATIC: ["m"],
                kinds.TRANSLATION: ["m"] * 3,
                kinds.PLANAR: ["m", "m", "rad"],
                kinds.FREE: ["m"] * 3 + ["rad"] * 3,
                kinds.SPHERICAL: ["rad"] * 3,
            }.get(int(kind), ["rad"])
        return tuple(units)

    @cached_property
    def velocity_limits(self) -> dict[str, float]:
        """Joint -> largest speed that the description allows [rad/s] or [m/s]; finite and positive ones only."""
        limits = self.model.upperVelocityLimit
        return {
            joint: float(limits[k])
            for joint, k in zip(self.joints, self.actuated, strict=True)
            if 0 < limits[k] < UNLIMITED
        }

    @cached_property
    def position_limits(self) -> tuple[Vector, Vector]:
        """(n,) lower and (n,) upper positions of `joints` [rad] or [m]; infinite where the description has none."""
        first, turning = (index[self.actuated] for index in self.coordinates)
        any_turn = (first < 0) | turning
        low, high = self.model.lowerPositionLimit[first], self.model.upperPositionLimit[first]
        low = np.where(any_turn | (low < -UNLIMITED), -np.inf, low)
        return low, np.where(any_turn | (high > UNLIMITED), np.inf, high)

    @cached_property
    def parameters(self) -> Parameters:
        """theta in the order of the regressor: bodies, rotors, couplings, friction.

        Friction and rotors of a joint in a fixed ratio to another are those of this other one.
        """
        inertia = [
            Block("inertia", body, tuple(f"{symbol}{i}" for symbol in INERTIAL_SYMBOLS), INERTIAL_UNITS)
            for i, body in zip(self.body_joints, self.bodies, strict=True)
        ]
        units = [(self.effort_units[k], self.position_units[k]) for k in self.actuated]
        numbers, train = self.joint_numbers, self.train

        def rotor(kind: str, symbol: str, k: int) -> Block:
            unit = "kg" if units[k][1] == "m" else "kg m^2"
            return Block(kind, self.joints[k], (f"{symbol}{numbers[k]}",), (unit,))

        def friction(term: FrictionColumn, k: int, ending: str = "", m: str = "") -> Block:
            row = term.parameter
            name = f"{row.symbol}{m}{numbers[k]}"
            return Block(row.kind + ending, self.joints[k], (name,), (row.unit_of(*units[k]),))

        own = [k for k, joint in enumerate(self.joints) if joint not in self._tied]
        of_joints = [rotor("rotor_inertia", "ia", k) for k in train.rotor_inertia_maps() if k in own]
        if train.drive.rotor_inertia and train.drive.coupled_rotor == "free":
            of_joints += [rotor("rotor_coupling", "iam", k) for k in train.coupled]
        coupled = self.friction.coupled_terms if train.drive.coupled_friction else ()
        of_joints += [friction(term, k, COUPLING, "m") for term in coupled for k in train.coupled]
        of_joints += [
            friction(term, k)
            for k in own
            for term in self.friction.terms
            # a spring has damping, and no other friction
            if term.is_viscous or not is_deflection(self.joints[k], train.drive.elastic)
        ]
        held: dict[str, float] = {}
        for block, value in self._described_blocks(of_joints, rotor, friction):
            of_joints.append(block)
            held[block.names[0]] = value
        efforts: list[Block] = []
        for effort in self.placed_efforts:
            k = self.joints.index(effort.joint)
            of_joint = {"effort": units[k][0], "position": units[k][1]}
            for parameter in effort.parameters:
                name = f"{parameter.symbol}_{numbers[k]}"
                unit = parameter.unit.format(**of_joint)
                efforts.append(Block(parameter.kind, effort.joint, (name,), (unit,)))
                held |= {} if parameter.held is None else {name: parameter.held}
        names = [name for block in efforts for name in block.names]
        if len(set(names)) < len(names):
            raise InvalidModel(
                f"each joint has one effort of a kind; there are the parameters {listing(names)}"
            )
        return Parameters((*inertia, *of_joints, *efforts), held)

    @cached_property
    def _tied(self) -> tuple[str, ...]:
        """Joints in a fixed ratio to others, whose friction and rotors no motion distinguishes from those of these."""
        return tuple(
            joint
            for coupling in self.couplings
            if not any(coupling.polynomial[2:])
            for joint in coupling.follower
        )

    @cached_property
    def described_friction(self) -> tuple[FrictionColumn, ...]:
        """Terms of friction that a description has a place for."""
        return tuple(term for term in ViscousCoulomb(offset=False).terms if term.parameter.described_as)

    def _described_blocks(
        self, estimated: Sequence[Block], rotor: Callable[..., Block], friction: Callable[..., Block]
    ) -> Iterator[tuple[Block, float]]:
        """Rotor inertia, damping and dry friction of the description that are not `estimated`, with their values."""
        described, own = self.described_terms, {(block.kind, block.owner) for block in estimated}
        for k, joint in enumerate(self.joints):
            if described["armature"][k] and ("rotor_inertia", joint) not in own:
                yield rotor("rotor_inertia", "ia", k), float(described["armature"][k])
            for term in self.described_friction:
                value = float(described[str(term.parameter.described_as)][k])
                if value and (term.parameter.kind, joint) not in own:
                    yield friction(term, k), value

    @cached_property
    def placed_efforts(self) -> tuple[JointEffort, ...]:
        """`efforts` with the properties of this robot that they need."""
        return tuple(effort.placed(self) for effort in self.efforts)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Channels of a recording that efforts depend on."""
        return tuple(dict.fromkeys(name for effort in self.efforts for name in effort.inputs))

    @cached_property
    def joint_numbers(self) -> tuple[str, ...]:
        """Number of each of `joints` in names of parameters: Pinocchio's joint index, `7.1` for its second freedom."""
        return tuple(str(joint) if size == 1 else f"{joint}.{k}" for joint, size, k in self._freedoms)

    def configurations(self, positions: JointSamples) -> Configurations:
        """(T, nq) Pinocchio's configurations from joint positions (T, n); continuous joints become cos, sin.

        Raises:
            InvalidModel: for a robot with a floating base or ball joints, whose configurations are no list of angles.
        """
        first, turning = self.coordinates
        if positions.shape[1] != self.model.nv or (first < 0).any():
            raise InvalidModel(
                f"robot {self.name!r} has a floating base or ball joints: "
                f"give its configurations (nq = {self.model.nq}) in Signals"
            )
        q = np.empty((len(positions), self.model.nq))
        q[:, first[~turning]] = positions[:, ~turning]
        q[:, first[turning]] = np.cos(positions[:, turning])
        q[:, first[turning] + 1] = np.sin(positions[:, turning])
        return q

    def joint_positions(self, q: Configurations) -> JointSamples:
        """(T, n) positions of `joints`; continuous ones from -pi to pi, NaN for freedoms of balls."""
        first, turning = self.coordinates
        positions = np.where(first >= 0, q[:, first], np.nan)
        positions[:, turning] = np.arctan2(q[:, first[turning] + 1], q[:, first[turning]])
        return positions[:, self.actuated]

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) index in q of each freedom's position, -1 for balls and floating bases; (n,) whether it is a cosine.

        The sine follows its cosine.
        """
        first, turning = np.full(self.model.nv, -1), np.zeros(self.model.nv, dtype=bool)
        for kind, at, dof in zip(self.tree.kind, self.tree.q_index, self.tree.v_index, strict=True):
            if kind in (kinds.FREE, kinds.SPHERICAL):  # their orientation is not an angle
                continue
            size = int(kinds.DEGREES[kind])
            first[dof : dof + size] = at + np.arange(size)
            turning[dof + size - 1] = kind in (kinds.CONTINUOUS, kinds.PLANAR)
        return first, turning

    def torque_regressor(self, q: Configurations, v: JointSamples, a: JointSamples) -> np.ndarray:
        """(T, n, 10 l) with tau = Y pi, pi the bodies' inertial parameters one after the other.

        Args:
            q, v, a: (T, nq), (T, n), (T, n).

        Raises:
            InvalidSignals: if their numbers of columns are not this robot's.
        """
        nq, n = self.model.nq, self.model.nv
        if (q.shape[1], v.shape[1], a.shape[1]) != (nq, n, n):
            raise InvalidSignals(
                f"robot {self.name!r} has configurations of {nq} numbers and {n} speeds: q, v, a need as many columns, "
                f"not {q.shape[1]}, {v.shape[1]}, {a.shape[1]}"
            )
        return dense_regressor(self.tree, q, v, a)

    def refuse_loops(self, method: str) -> None:
        """Check that there are no loops, for computations that do not support them.

        Raises:
            InvalidModel: if there are loops, with the name of the computation.
        """
        if self.loops:
            raise InvalidModel(
                f"{method} supports no closed loops, and robot {self.name!r} has {len(self.loops)}: least-squares, "
                "essential-parameters, semidefinite and optimal-estimation do"
            )
        self.refuse_couplings(method)

    def refuse_couplings(self, method: str) -> None:
        """Check that no joint follows others, for computations that do not support it; errors as of `refuse_loops`."""
        if self.couplings:
            raise InvalidModel(
                f"{method} supports no joints that follow others, and {listing(self.followers)} of robot {self.name!r} "
                "do: least-squares, essential-parameters, semidefinite, filters and optimal-estimation support them; "
                "or lock these joints ([robot] locked)"
            )

    def random_states(
        self, count: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(count, nq), (count, n), (count, n): configurations anywhere, speeds and accelerations of order 1.

        Constraints hold in them, but for loops of robots with a floating base or balls.
        """
        if self.closure is not None and (self.coordinates[0] >= 0).all():
            return self.closure.random_states(count, rng)
        v, a = rng.standard_normal((2, count, self.model.nv))
        # uniform configurations would be unbounded for joints without limits
        step = rng.uniform(-np.pi, np.pi, (count, self.model.nv))
        q = np.array([pin.integrate(self.model, self.neutral, dq) for dq in step])
        if self.closure is None:
            return q, v, a
        q, v = self.closure.followed(q, v, self.closure.dependent)
        return q, *self.closure.motion(q, v, a)


def load_robot(
    path: str | Path,
    *,
    drive: Drive | None = None,
    friction: RobotFriction | None = None,
    floating_base: bool = False,
    locked: Mapping[str, float] | None = None,
    efforts: Sequence[JointEffort] = (),
    loops: Sequence[Loop] = (),
    gravity: Sequence[float] | None = None,
    content: str | None = None,
) -> Articulated:
    """Read a robot description, URDF or MJCF.

    Args:
        path: the file; meshes are only needed where MJCF takes inertia from them.
        drive: motors and gears; None: one motor a joint, measured at the joint, no rotor inertia.
        friction: the law of every joint; None: viscous, Coulomb and offset.
        floating_base: add a free-flyer between the world and the root link.
        locked: joint -> position [rad] or [m] of joints that are held still and become part of their parent.
        efforts: springs, counterbalances and others of single joints.
        loops: loops in addition to the `connect` equalities of an MJCF file.
        gravity: [m/s^2] in the world frame; None: the description's, 9.81 downwards where it gives none.
        content: a text to read in place of the file's, as if it stood there.

    MJCF is compiled by MuJoCo: inertias of shapes, defaults, includes, several joints in a body, reference positions,
    equalities and `<option gravity>` are the simulator's. A free joint at its first root is a floating base, as is a
    `floating` joint of a URDF there.

    Raises:
        UnreadableFile: if there is no such file or it is not a robot description.
        InvalidModel: if nothing moves, or a locked joint or the drive train does not fit.
    """
    path = Path(path)
    # Pinocchio would expand entities and open files that they name
    text, root = read_description(path)
    text = text if content is None else content
    couplings: tuple[JointCoupling, ...]
    if root == "mujoco":
        from .compiled import compiled_description

        compiled = compiled_description(path, content, floating_base)
        model, floating_base, couplings = compiled.model, compiled.floating, compiled.couplings
        loops = (*(loop for loop in compiled.loops if loop not in loops), *loops)
        described_gravity: Sequence[float] = compiled.gravity.tolist()
        ignored = compiled.unrepresented
        sprung = {effort.joint for effort in efforts if isinstance(effort, Spring)} | set(locked or {})
        described_springs = (
            Spring(joint, zero=relaxed, stiffness=stiffness)
            for joint, (stiffness, relaxed) in compiled.springs.items()
            if joint not in sprung
        )
        efforts = (*efforts, *described_springs)
    else:
        model = _urdf_model(path, text, False)
        if _is_free(model):  # a `floating` joint below the world
            floating_base = True
        elif floating_base:
            model = _urdf_model(path, text, True)
        (couplings, ignored), described_gravity = mimics_of(text), STANDARD_GRAVITY
    drive, efforts = drive or Drive(), tuple(efforts)
    if drive.elastic:
        model, drive, efforts = _elastic(model, drive, efforts)
    add_frames(model, loops)
    locked = with_followers(locked or {}, couplings)
    if locked:
        model = _lock(model, locked)
        floating_base = floating_base and _is_free(model)
        left = (coupling.locked(locked) for coupling in couplings)
        couplings = tuple(coupling for coupling in left if coupling is not None)
    if model.nv - (6 if floating_base else 0) < 1 and not floating_base:
        raise InvalidModel(f"the robot in {path} has no moving joint; nothing can be identified")
    g = np.asarray(described_gravity if gravity is None else gravity, dtype=float)
    if g.shape != (3,) or not np.isfinite(g).all():
        raise InvalidModel("gravity needs three finite numbers [m/s^2], e.g. [0, 0, -9.81]")
    # set in the model itself, so that Pinocchio's own functions agree with our kernels
    model.gravity.linear = g
    name = model.name or path.stem
    robot = Articulated(
        name,
        model,
        drive,
        friction or ViscousCoulomb(),
        floating_base,
        path,
        dict(locked or {}),
        tuple(efforts),
        tuple(loops),
        couplings,
        ignored,
    )
    sizes = np.concatenate([robot.inertials.ravel(), *(M.translation for M in model.jointPlacements)])
    masses = np.abs(robot.inertials[:, 0])
    if not (np.abs(sizes) <= LARGEST).all() or ((masses > 0) & (masses < SMALLEST)).any():
        raise InvalidModel(f"{path} has inertia or lengths that no robot has, above {LARGEST:g} in SI units")
    # invalid joints and drives are refused here, not at the first use
    _ = robot.tree, robot.train, robot.placed_efforts, robot.equations
    return robot


def _elastic(
    model: pin.Model, drive: Drive, efforts: tuple[JointEffort, ...]
) -> tuple[pin.Model, Drive, tuple[JointEffort, ...]]:
    """Model, drive and efforts with the springs of elastic joints."""
    ends = tuple(deflection(joint) for joint in drive.elastic)
    passive = tuple(dict.fromkeys((*drive.passive, *ends)))
    known = {effort.joint for effort in efforts if isinstance(effort, Spring)}
    springs = tuple(Spring(joint, zero=0.0) for joint in ends if joint not in known)
    return with_deflections(model, drive.elastic), replace(drive, passive=passive), (*efforts, *springs)


def _urdf_model(path: Path, text: str, floating_base: bool) -> pin.Model:
    """Pinocchio's model of a URDF."""
    messages: list[str] = []
    base = (pin.JointModelFreeFlyer(),) if floating_base else ()
    try:
        with _parser_errors(messages):
            model = pin.buildModelFromXML(text, *base)
    except Exception as error:
        why = messages or str(error).strip().splitlines()[-1:]
        raise UnreadableFile(f"{path} is not a valid robot description: {'; '.join(why)}") from None
    if zeros := [message for message in messages if "inertial" in message]:  # the parser only warns of these
        raise UnreadableFile(f"{path} is not a valid robot description: {'; '.join(zeros)}")
    return model


def _is_free(model: pin.Model) -> bool:
    """Whether its first joint is a free-flyer at the world."""
    return bool(model.njoints > 1 and model.joints[1].shortname() == "JointModelFreeFlyer")


def mimics_of(description: str) -> tuple[tuple[JointCoupling, ...], tuple[str, ...]]:
    """The `<mimic>` of a URDF's joints, and a sentence on each that names no moving joint, which is left out.

    Raises:
        InvalidModel: if one has no number.
    """
    moving = {
        joint.get("name", ""): joint.find("mimic")
        for joint in ElementTree.fromstring(description).iterfind("joint")
        if joint.get("type") != "fixed"
    }
    couplings, ignored = [], []
    for joint, mimic in moving.items():
        if mimic is None:
            continue
        leader = mimic.get("joint", "")
        if leader not in moving or leader == joint:
            ignored.append(
                f"The <mimic> of joint {joint!r} is ignored: it names {leader!r}, which is no other joint that moves."
            )
            continue
        try:
            ratio, offset = (
                float(mimic.get(key, default)) for key, default in (("multiplier", "1"), ("offset", "0"))
            )
        except ValueError:
            raise InvalidModel(
                f"the <mimic> of joint {joint!r} needs numbers as multiplier and offset"
            ) from None
        couplings.append(JointCoupling({joint: 1.0}, {leader: 1.0}, (offset, ratio)))
    return tuple(couplings), tuple(ignored)


@contextmanager
def _parser_errors(messages: list[str]) -> Iterator[None]:
    """Append the error messages that the C++ parser writes to standard error to `messages`."""
    try:
        terminal = os.dup(2)
    except OSError:  # standard error is closed, so there is nothing to redirect
        yield
        return
    with TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
            file.seek(0)
            lines = file.read().decode(errors="replace").splitlines()
            messages += [line.removeprefix("Error:").strip() for line in lines if line.startswith("Error:")]


class _Elements(ElementTree.TreeBuilder):
    """The elements of a text without a document type, which could declare entities."""

    def doctype(self, *declared: object) -> None:
        raise UnreadableFile("it declares a document type or entities, which no robot needs; remove them")


def read_description(path: Path, roots: Sequence[str] = ("robot", "mujoco")) -> tuple[str, str]:
    """The text of a description and its root element, one of `roots`; data only, nothing is expanded.

    Raises:
        UnreadableFile: if there is no such file, or it is not a robot description.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableFile(f"cannot read the robot description {path}: it is not a regular file")
        if path.suffix.lower() in (".usd", ".usda", ".usdc", ".usdz"):
            raise UnreadableFile(
                f"{path} is USD; convert it to URDF first (in Isaac Sim: File, Export to URDF) or to MJCF"
            )
        if path.stat().st_size > MAX_DESCRIPTION_BYTES:
            raise UnreadableFile(
                f"{path} is larger than {MAX_DESCRIPTION_BYTES >> 20} MiB; that is no robot description"
            )
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise UnreadableFile(f"there is no robot description at {path}") from None
    except UnicodeDecodeError:
        raise UnreadableFile(f"cannot read the robot description {path}: it is not text in UTF-8") from None
    except OSError as error:
        raise UnreadableFile(f"cannot read the robot description {path}: {error.strerror or error}") from None
    root = _root_element(path, text)
    if _is_xacro(root):
        text = _expanded_xacro(path)
        root = _root_element(path, text)
    if root.tag == "sdf":
        raise UnreadableFile(
            f"{path} is SDF; convert it to MJCF first (`pip install sdformat-mjcf`, `sdf2mjcf {path.name} robot.xml`)"
        )
    if root.tag not in roots:
        raise UnreadableFile(
            f"{path} is neither URDF (<robot>) nor MJCF (<mujoco>): its root element is <{root.tag}>"
        )
    return text, root.tag


def _root_element(path: Path, text: str) -> ElementTree.Element:
    """Parse a text of reasonable size; `UnreadableFile` if it is none."""
    # UTF-8 whatever the file declares, so that all parsers read the same text
    parser = ElementTree.XMLParser(target=_Elements(), encoding="utf-8")
    try:
        root = ElementTree.fromstring(text.encode(), parser)
    except ElementTree.ParseError as error:
        raise UnreadableFile(f"{path} is not well-formed XML: {error}") from None
    except UnreadableFile as error:
        raise UnreadableFile(f"{path}: {error}") from None
    level = [root]
    for _ in range(MAX_NESTING):
        level = [child for element in level for child in element]
    if level:
        raise UnreadableFile(f"{path} has elements that are nested more than {MAX_NESTING} deep")
    if sum(element.tag in ("link", "body") for element in root.iter()) > MAX_LINKS:
        raise UnreadableFile(f"{path} has more than {MAX_LINKS} links; that is no robot")
    return root


def _is_xacro(root: ElementTree.Element) -> bool:
    # expanded files still declare the namespace
    return any("/xacro}" in element.tag for element in root.iter())


def _expanded_xacro(path: Path) -> str:
    """The text of a xacro file with default arguments, as the package xacro expands it.

    Raises:
        UnreadableFile: if the package is not installed, or cannot expand the file.
    """
    command = f"`xacro {path.name} > robot.urdf`"
    try:
        from xacro import process_file
    except ImportError:
        raise UnreadableFile(
            f"{path} is a xacro file; `pip install xacro` lets it be read, or expand it first ({command})"
        ) from None
    try:
        return str(process_file(str(path)).toxml())
    except Exception as error:
        why = " ".join(str(error).split())
        raise UnreadableFile(
            f"{path} cannot be expanded: xacro says: {why}; expand it where its packages are ({command})"
        ) from None


def _lock(model: pin.Model, locked: Mapping[str, float]) -> pin.Model:
    q = pin.neutral(model)
    names = list(model.names)[1:]  # without the universe
    for name, position in locked.items():
        check_known(name, names, "cannot lock joint", "the robot has")
        joint = model.joints[model.getJointId(name)]
        if joint.nv != 1:
            if position == 0:  # as described
                continue
            raise InvalidModel(
                f"cannot lock joint {name!r} at {position}: it has {joint.nv} degrees of freedom, so write 0, which "
                "holds it as described"
            )
        if not np.isfinite(position):
            raise InvalidModel(
                f"cannot lock joint {name!r} at {position}; give a finite position [rad] or [m]"
            )
        # a joint without limits has cosine and sine
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else (np.cos(position), np.sin(position))
        )
    return pin.buildReducedModel(model, [model.getJointId(name) for name in locked], q)
