"""Mechanisms: bodies, joints, contacts and sensors, in a few lines (docs/concepts/joint_smoothing.md has one).

Everything is given in one *reference configuration*, in which every joint's coordinate is zero: points and axes of
joints in the world, and bodies in their own frames, which there are the world's unless a body's `frame` says otherwise.
`mechanism.model(free=["arm.Jzz", "elbow.drag"])` makes the discrete dynamics of it, with these two as theta.

**The discrete dynamics** are functions of states, controls and theta.
Terms of a step from x_k to x_{k+1} that estimators need, pure functions in JAX, to be differentiated and batched with
`jax.vmap` over a recording (under `double_precision`). A state is a `State` of l bodies; its tangent has 12 numbers a
body, `plus(x, d)`, `minus(x, y)` of `bodies`. The time step h is an argument like the rest, and compliances can be
in theta: sweeps compile nothing again.

**Robot descriptions** become mechanisms as Pinocchio reads them. The reference configuration is that in which all
joints are at zero. A body's frame is its joint's; its mass and centre of mass are the description's, and of its ten
parameters, which are about the frame's origin, the inertia is taken about the centre. Damping, dry friction and rotor
inertia of the description become drag, a `Coulomb` level and a motor's shaft; loops become ball joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from ...arrays import Brief
from ...estimate import Body
from ...exceptions import InvalidModel, check_known
from ...inertia.parameters import center_of_mass, inertia_at_com
from ...quantities import XYZ
from ..gravity import STANDARD_GRAVITY
from . import impulses, lcp, quaternions, reduced
from .bodies import PlaneContact, RigidBody, State, mean_velocity
from .frames import BodyFrame, FrameReading, frame_readings
from .impulses import Instant
from .joints import WORLD, AnyJoint, Ball, Coulomb, Encoder, Hinge, Motor, RateSensor, Slider, Stops
from .precision import (
    Configuration,
    Controls,
    Coordinates,
    JointMotion,
    Numbers,
    Scalar,
    Theta,
    double_precision,
)
from .values import Entry, Structure, Values, branches, law_places

if TYPE_CHECKING:
    from ..robot.articulated import Articulated


AnySensor = Encoder | RateSensor | FrameReading


TORQUES = ("drag", "offset")
"""Numbers of a ball by which torques act in it."""


@dataclass(frozen=True, eq=False, repr=False)
class Model(Brief):
    """A mechanism in discrete time, some of whose numbers are theta.

    Args:
        free: names of theta's parameters, in its order.
        curvature: whether steps follow curved constraints to second order, see `impulses`.
    """

    mechanism: Mechanism
    free: tuple[str, ...] = ()
    curvature: bool = False

    @cached_property
    def structure(self) -> Structure:
        """The constants of the mechanism."""
        return replace(self.mechanism.structure, curvature=self.curvature)

    def __post_init__(self) -> None:
        rows = zip(self.mechanism.joints, self.mechanism.loose, strict=True)
        loose = [joint.name for joint, is_loose in rows if is_loose]
        for name in self.free:
            if self.free.count(name) > 1:
                raise InvalidModel(f"parameter {name!r} is named twice; name each free parameter once")
            joint, _, number = name.rpartition(".")
            if joint in loose and number in TORQUES:
                raise InvalidModel(
                    f"{name} is free, but {joint} closes a loop and turns without torque: give it a {number} above 0"
                )
        _ = self._places

    @cached_property
    def _places(self) -> np.ndarray:
        return np.array([self.mechanism.place(name) for name in self.free], dtype=np.int64)

    @cached_property
    def theta(self) -> Float[np.ndarray, "p"]:
        """Values of the free parameters as the mechanism has them."""
        return self.mechanism.values.flat()[self._places]

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each free parameter."""
        return tuple(self.mechanism.entries[name].unit for name in self.free)

    @cached_property
    def lower(self) -> Float[np.ndarray, "p"]:
        """Lower bounds of the free parameters: 0 or -inf."""
        return np.array([self.mechanism.entries[name].lower for name in self.free], dtype=float)

    def values(self, theta: Theta) -> Values:
        """All numbers of the mechanism, with those of theta."""
        base = self.mechanism.values
        numbers = jnp.asarray(base.flat())
        # in single precision, compliances of 1e-8 beside masses leave no digits
        assert numbers.dtype == jnp.float64, "call this under double_precision"
        return base.from_flat(numbers.at[self._places].set(theta) if len(self.free) else numbers)

    def at(self, x: State, theta: Theta) -> Instant:
        """The mechanism in a state."""
        return Instant(self.structure, self.values(theta), x)

    def step(self, x: State, u: Controls, theta: Theta, h: Scalar) -> State:
        """The state after h [s] under the controls u, phi(x_k, u_k; theta) (3.1)."""
        return self.step_with_report(x, u, theta, h)[0]

    def step_with_report(self, x: State, u: Controls, theta: Theta, h: Scalar) -> tuple[State, lcp.Solution]:
        """The state after h [s], and how the complementarity problem in it was solved."""
        return impulses.forward(self.at(x, theta), u, h)

    def impulse_errors(
        self, x: State, y: State, u: Controls, theta: Theta, h: Scalar
    ) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """The external impulses from x to its successor y: to its velocity (3.7), and to its configuration (3.8)."""
        here = self.at(x, theta)
        ends = jnp.asarray(y.velocity), mean_velocity(x, y, h)
        return impulses.external_impulse(here, ends[0], u, h), impulses.external_impulse(here, ends[1], u, h)

    def implicit_errors(
        self, x: State, y: State, u: Controls, theta: Theta, h: Scalar
    ) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """M (v+ - v*) by velocity and by configuration, v* the velocity after a step (`reduced`)."""
        here = self.at(x, theta)
        expected = impulses.forward(here, u, h)[0].velocity
        ends = jnp.asarray(y.velocity), mean_velocity(x, y, h)
        by_velocity, by_configuration = (impulses.inertia_times(here, end - expected) for end in ends)
        return by_velocity, by_configuration

    def reduced_errors(
        self, before: JointMotion, after: JointMotion, u: Controls, theta: Theta, h: Scalar
    ) -> Float[Array, "2 n"]:
        """Two moments of the external forces in a step, with infinitely stiff constraints [N m s] or [N s].

        Of a ball, along the axes of its parent, in a step of less than half a turn. Forces that close loops are
        eliminated.

        Raises InvalidModel if bodies are not joined to the world.
        """
        return self.balance(before, after, u, theta, h).without_forces()

    def balance(
        self,
        before: JointMotion,
        after: JointMotion,
        u: Controls,
        theta: Theta,
        h: Scalar,
        soft: Float[Numbers, "n"] | float = 0.0,
    ) -> reduced.Balance:
        """These errors, with what forces that close loops are in them.

        Args:
            soft: speed of each coordinate, beyond that of a joint that sticks, up to which dry friction is linear.
        """
        self.needs_joined_bodies("the balance in joint coordinates")
        return reduced.balance(self.structure, self.values(theta), before, after, u, h, soft)

    def joint_inertia(self, y: Configuration, theta: Theta) -> Float[Array, "n n"]:
        """M(y) of a tree, with shafts: momenta are M y' [kg m^2], [kg m] or [kg]."""
        return reduced.joint_inertia(self.structure, self.values(theta), y)

    def surface_errors(self, x: State, theta: Theta) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """-G^+ g and G^+ G v: to the linearized constraints (3.16), and the velocity across them (3.17)."""
        here = self.at(x, theta)
        G, held = here.held_jacobian, np.flatnonzero(self.structure.held)
        off = jnp.stack([-jnp.ravel(here.at.g)[held], G @ jnp.ravel(jnp.asarray(x.velocity))], axis=1)
        back = (G.T @ jnp.linalg.solve(G @ G.T, off)).T.reshape(2, -1, 6)
        return back[0], back[1]

    def projected_mass(self, x: State, theta: Theta, h: Scalar) -> Float[Array, "n n"]:
        """M_Sigma = M + G^T Sigma^-1 G, n = 6 l, with drags and shafts as they are in a step (3.13)."""
        here = self.at(x, theta)
        Sigma = jnp.ravel(impulses.held_rows(here, h)[0])[np.flatnonzero(self.structure.held)]
        G = here.held_jacobian
        return impulses.mass_with_drives(here, h) + G.T @ (G / Sigma[:, None])

    def mass_matrix(self, x: State, theta: Theta) -> Float[Array, "n n"]:
        """M of the bodies alone, n = 6 l."""
        return impulses.mass_matrix(self.at(x, theta))

    def motion(self, x: State, theta: Theta) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
        """y of the joints, and speeds in the free directions.

        Angles in (-pi, pi] [rad], displacements [m], rotation vectors of balls [rad]. The speeds of balls are angular
        velocities along the parent's axes [rad/s], [m/s].
        """
        here = self.at(x, theta)
        return impulses.joint_coordinates(here), jnp.ravel(here.speeds[1])[self.structure.moving]

    def observe(self, x: State, theta: Theta) -> Float[Array, "s"]:
        """h(x; theta), the predicted readings of the sensors (3.2)."""
        here = self.at(x, theta)
        R = here.at.rotation[:-1] if self.structure.read else None
        return self._readings(*self.motion(x, theta), here.values, lambda: (R, x))

    def observe_coordinates(self, y: Configuration, rate: Coordinates, theta: Theta) -> Float[Array, "s"]:
        """The same from joint coordinates [rad], [m], or a configuration, and their rates."""
        structure, values = self.structure, self.values(theta)
        q = reduced.configuration(structure, y)
        return self._readings(q, rate, values, lambda: reduced.placed(structure, values, q, rate))

    def _readings(self, q: Numbers, rate: Numbers, values: Values, placed: Callable[[], Any]) -> Array:
        """From joint coordinates or a configuration; `placed`: axes of bodies and their state, for frames."""
        structure, q, rate = self.structure, jnp.asarray(q), jnp.asarray(rate)
        if not len(structure.order):
            return jnp.zeros(0)
        n, joints = int(structure.free.sum()), structure.observed
        of_joints = structure.order < len(joints)
        sine, cosine = (jnp.asarray(part)[np.flatnonzero(of_joints)] for part in (values.sine, values.cosine))
        first_rate, first = (np.array(each, int)[joints] for each in reduced.starts(structure))
        y = q[first if len(q) > n else first_rate]
        read = y + sine * jnp.sin(y) + cosine * jnp.cos(y)
        read = jnp.where(structure.is_hinge[joints], read, y)
        read = jnp.where(structure.is_rate, rate[first_rate], read)
        if structure.read:
            at_frames = jnp.ravel(frame_readings(structure, values, *placed()))
            read = jnp.concatenate([read, at_frames])[structure.order]
        return read + values.zero

    def reading_errors(self, expected: Float[Numbers, "s"], z: Float[Numbers, "s"]) -> Float[Array, "s"]:
        """Errors h(x; theta) - z of readings; of angles the nearest to zero that differs by full turns (3.6).

        Errors of orientations are rotation vectors about the world's axes.
        """
        error = jnp.asarray(expected - z)
        # constant in derivatives: rounding has none, and its jump is not part of the error
        turns = 2 * jnp.pi * jnp.round(error / (2 * jnp.pi))
        error = error - jnp.where(self.angular, jax.lax.stop_gradient(turns), 0.0)
        for at in self.orientations:
            e, e_z = quaternions.exp(expected[at]), quaternions.exp(z[at])
            error = error.at[at].set(quaternions.minus(e, e_z))
        return error

    def differences(
        self, a: Float[np.ndarray, "*batch s"], b: Float[np.ndarray, "*rest s"], full_turns: bool = False
    ) -> Float[np.ndarray, "*batch s"]:
        """Readings a less readings b, as `reading_errors`, or with full turns of angles; NaN where one is missing."""
        error: np.ndarray = a - b
        if not full_turns:
            error = error - np.where(self.angular, 2 * np.pi * np.round(error / (2 * np.pi)), 0.0)
        for at in self.orientations:
            known = np.isfinite(error[..., at]).all(axis=-1)
            part = np.full((*known.shape, 3), np.nan)
            if known.any():
                to, start = (
                    Rotation.from_rotvec(np.broadcast_to(x, error.shape)[..., at][known]) for x in (a, b)
                )
                part[known] = (to * start.inv()).as_rotvec()
            error[..., at] = part
        return error

    @cached_property
    def angular(self) -> np.ndarray:
        """(s,) which readings are angles."""
        structure = self.structure
        angles = np.zeros(len(structure.order), dtype=bool)
        of_joints = structure.order < len(structure.observed)
        angles[of_joints] = structure.is_hinge[structure.observed] & ~structure.is_rate
        return angles

    @cached_property
    def orientations(self) -> tuple[np.ndarray, ...]:
        """Places, (3,) each, of orientations among the readings."""
        return tuple(at for at in self.mechanism.frame_rows if self.mechanism.sensors[at[0]].is_orientation)

    def assemble(self, y: Configuration, rate: Coordinates, theta: Theta) -> State:
        """The state that closes every joint of the tree, from joint coordinates [rad], [m] and their rates.

        Bodies that no joints connect to the world stay in the reference configuration. Of a ball the rates are
        angular velocities along the parent's axes.
        """
        q = reduced.configuration(self.structure, y)
        return reduced.placed(self.structure, self.values(theta), q, rate)[1]

    @double_precision
    def joint_motion(
        self, states: State, theta: Float[np.ndarray, "p"] | None = None
    ) -> tuple[Float[np.ndarray, "T n"], Float[np.ndarray, "T n"]]:
        """Joint coordinates [rad], [m] of states (T, ...), angles unwrapped, and their rates."""
        y, rate = self._observed(states, self.theta if theta is None else theta)
        structure = self.structure
        y, angular = np.array(y), np.repeat(structure.is_hinge, structure.free.sum(axis=1))
        # angles alone: displacements may change by more than pi in a step, and rotation vectors jump by others
        y[:, angular] = np.unwrap(y[:, angular], axis=0)
        return y, np.array(rate)

    @cached_property
    def _observed(self) -> Any:
        return jax.jit(jax.vmap(self.motion, in_axes=(0, None)))

    def needs_joined_bodies(self, what: str) -> None:
        """Check that joint coordinates determine the state and the forces of all bodies.

        Raises InvalidModel if joints leave a body loose, or loops determine the load of a joint's friction; its message
        begins with `what`.
        """
        structure, reached = self.structure, len(reduced.tree(self.structure))
        for lacking, words in (
            (reached < structure.bodies, "every body joined to the world, at least by a free joint"),
            (structure.load.any() and reached < len(structure.parent), "friction without loads, or no loops"),
        ):
            if lacking:
                raise InvalidModel(f"{what} needs {words}; keep the errors by body for this mechanism")


@dataclass(frozen=True, repr=False)
class Mechanism(Brief):
    """Bodies joined to each other and to the world.

    Args:
        bodies: at least one.
        joints: fixed, hinge, slider, ball, free.
        contacts: points of bodies that may not pass planes.
        sensors: sensors of joints and at frames; of a reading at a frame all three components.
        gravity: (3,) [m/s^2].
        frames: points of bodies at which sensors are.
        numbers: values of `entries`, by name, that replace those of bodies, joints, contacts and sensors.

    Raises:
        InvalidModel: if names repeat, or a name that is referred to does not exist.
    """

    bodies: Sequence[RigidBody]
    joints: Sequence[AnyJoint] = ()
    contacts: Sequence[PlaneContact] = ()
    sensors: Sequence[AnySensor] = ()
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    frames: Sequence[BodyFrame] = field(default=(), kw_only=True)
    name: str = field(default="mechanism", kw_only=True)
    numbers: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not self.bodies:
            raise InvalidModel("a mechanism needs at least one body")
        names = [WORLD, *(b.name for b in self.bodies)]
        things = [*names, *(each.name for each in (*self.joints, *self.contacts, *self.frames))]
        things += [s.label for s in self.sensors]
        for name in things:
            if things.count(name) > 1:
                raise InvalidModel(
                    f"the mechanism has {things.count(name)} things called {name!r}; names must be its own for each "
                    f"body, joint, contact, frame and sensor"
                )
        known = "the mechanism has"
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                check_known(end, names, f"joint {joint.name!r} names body", known)
        for contact in self.contacts:
            check_known(contact.body, names[1:], f"contact {contact.name!r} names body", known)
        for frame in self.frames:
            check_known(frame.body, names[1:], f"frame {frame.name!r} names body", known)
        frames = [frame.name for frame in self.frames]
        for sensor in self.sensors:
            if isinstance(sensor, FrameReading):
                check_known(sensor.frame, frames, f"sensor {sensor.label!r} is at frame", known)
                continue
            check_known(sensor.joint, self.readable_joints, f"sensor {sensor.label!r} reads joint", known)
            sensor.entries(0, self._joints)  # checks that its numbers suit the joint
        _ = self.frame_rows
        for number in self.numbers:
            self.entry(number)
        if np.shape(self.gravity) != (3,) or not np.isfinite(self.gravity).all():
            raise InvalidModel("gravity needs three finite numbers [m/s^2], e.g. (0, 0, -9.81)")

    @cached_property
    def described(self) -> tuple[Body, ...]:
        """The bodies with the values that were given, in `Body.prior`, at their places."""
        parents = {joint.child: joint.parent for joint in self.joints}
        return tuple(
            Body(each.name, prior=each.inertial, placement=each.placement, parent=parents.get(each.name, ""))
            for each in self.bodies
        )

    @cached_property
    def readable_joints(self) -> tuple[str, ...]:
        """Joints with one coordinate, which sensors can measure: hinges and sliders."""
        return tuple(joint.name for joint in self.joints if joint.has_axis)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Joints with motors, in the order of u."""
        return tuple(joint.name for joint in self.joints if getattr(joint, "motor", None) is not None)

    @cached_property
    def _joints(self) -> dict[str, AnyJoint]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def sensor_units(self) -> tuple[str, ...]:
        """(s,) units of readings."""
        return tuple(sensor.unit(self._joints) for sensor in self.sensors)

    @cached_property
    def frame_rows(self) -> tuple[np.ndarray, ...]:
        """Places, (3,) each, of the sensors of each reading at a frame."""
        found: dict[tuple[str, str, str | None], list[int]] = {}
        for k, sensor in enumerate(self.sensors):
            if isinstance(sensor, FrameReading):
                found.setdefault((sensor.frame, sensor.quantity, sensor.recording), []).append(k)
        for (frame, quantity, _), places in found.items():
            if [self.sensors[k].axis for k in places] != [0, 1, 2]:  # type: ignore[union-attr]
                raise InvalidModel(
                    f"{quantity} at frame {frame!r} needs three sensors: x, y and z, in this order"
                )
        return tuple(np.array(places) for places in found.values())

    @cached_property
    def readings(self) -> tuple[tuple[str, np.ndarray], ...]:
        """(name, places of its components among the sensors) of each reading; one at a frame has three."""
        at_frames = {int(at[0]): at for at in self.frame_rows}
        found = []
        for k, sensor in enumerate(self.sensors):
            if not isinstance(sensor, FrameReading):
                found.append((sensor.label, np.array([k])))
            elif k in at_frames:
                found.append((sensor.label.removesuffix(f" {XYZ[0]}"), at_frames[k]))
        return tuple(found)

    @cached_property
    def unknown_stops(self) -> tuple[str, ...]:
        """Names of the restitutions and gives of end stops that have no value."""
        stops: list[tuple[str, Stops | None]] = [(j.name, getattr(j, "stops", None)) for j in self.joints]
        unknown = (
            f"{joint}.stop_{name}"
            for joint, each in stops
            for name in ("restitution", "give")
            if each and getattr(each, name) is None
        )
        return tuple(name for name in unknown if name not in self.numbers)

    @cached_property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """(name, unit) of each joint coordinate, in the order of y."""
        names: list[tuple[str, str]] = []
        for joint in (joint for k, joint in enumerate(self.joints) if not self.loose[k]):
            free = [k for k in range(6) if not joint.held[k]]
            for k in free:
                # of a free joint both, displacements and a rotation vector
                axis = ("r" if len(free) == 6 and k > 2 else "") + "xyz"[k % 3]
                names.append(
                    (joint.name if len(free) == 1 else f"{joint.name}.{axis}", "m" if k < 3 else "rad")
                )
        return tuple(names)

    @cached_property
    def loose(self) -> np.ndarray:
        """(j,) balls without friction that close loops: they have no coordinates, which nothing depends on."""
        order = {body.name: i for i, body in enumerate(self.bodies)} | {WORLD: len(self.bodies)}
        parent, child = ([order[getattr(joint, end)] for joint in self.joints] for end in ("parent", "child"))
        balls = [not any(joint.held[3:]) for joint in self.joints]
        in_tree = {k for _, _, k, _ in branches(len(self.bodies), parent, child, balls)}
        return np.array(
            [
                k not in in_tree and isinstance(joint, Ball) and not self._has_torque(joint)
                for k, joint in enumerate(self.joints)
            ],
            dtype=bool,
        )

    def _has_torque(self, joint: Ball) -> bool:
        """Whether anything but its bodies turns a ball."""
        numbers = (self.numbers.get(f"{joint.name}.{name}", getattr(joint, name)) for name in TORQUES)
        return joint.friction is not None or any(numbers)

    @cached_property
    def structure(self) -> Structure:
        """Its constants."""
        l, joints, contacts = len(self.bodies), self.joints, self.contacts
        order_of = {body.name: i for i, body in enumerate(self.bodies)} | {WORLD: l}
        names, at_frames = [joint.name for joint in joints], [frame.name for frame in self.frames]
        # the world is the last body, with its frame at itself
        placement = np.array([*(body.placement for body in self.bodies), np.eye(4)])
        parent, child = (
            np.array([order_of[end] for end in ends], dtype=np.int64)
            for ends in ([j.parent for j in joints], [j.child for j in joints])
        )
        frames = np.tile(np.eye(4), (len(joints), 1, 1))
        for T, j in zip(frames, joints, strict=True):
            T[:3, :3], T[:3, 3] = j.frame, j.point
        at_parent, at_child = (np.linalg.inv(placement[bodies]) @ frames for bodies in (parent, child))
        held = np.array([j.held for j in joints], dtype=bool).reshape(-1, 6)
        laws = [getattr(j, "friction", None) for j in joints]
        weight = [
            np.zeros(6) if law is None else law.load_weight(rows, j.slides)
            for j, law, rows in zip(joints, laws, held, strict=True)
        ]
        driven = [self.inputs.index(name) if name in self.inputs else -1 for name in names]
        by_joint = [sensor for sensor in self.sensors if not isinstance(sensor, FrameReading)]
        sensed = np.array([not isinstance(sensor, FrameReading) for sensor in self.sensors], dtype=bool)
        framed = [self.sensors[at[0]] for at in self.frame_rows]
        order = np.where(sensed, np.cumsum(sensed) - 1, 0)
        for k, at in enumerate(self.frame_rows):
            order[at] = len(by_joint) + 3 * k + np.arange(3)
        return Structure(
            bodies=l,
            placement=placement[:-1],
            parent=parent,
            child=child,
            parent_point=at_parent[:, :3, 3],
            child_point=at_child[:, :3, 3],
            parent_frame=at_parent[:, :3, :3],
            child_frame=at_child[:, :3, :3],
            held=held,
            loose=self.loose,
            driven=np.array(driven, dtype=np.int64),
            dry=np.array([law is not None for law in laws], dtype=bool),
            load=np.array([law is not None and law.depends_on_load for law in laws], dtype=bool),
            stops=np.array([_stops_of(j) for j in joints], dtype=bool).reshape(-1, 2),
            laws=law_places({name for law in laws if law is not None for name in law.laws}),
            weight=np.array(weight, dtype=float).reshape(-1, 6),
            contact_body=np.array([order_of[c.body] for c in contacts], dtype=np.int64),
            contact_point=np.array([c.point for c in contacts], dtype=float).reshape(-1, 3),
            contact_frame=np.array([c.frame for c in contacts], dtype=float).reshape(-1, 3, 3),
            contact_height=np.array([c.height for c in contacts], dtype=float),
            observed=np.array([names.index(s.joint) for s in by_joint], dtype=np.int64),
            is_rate=np.array([s.is_rate for s in by_joint], dtype=bool),
            frame_body=np.array([order_of[frame.body] for frame in self.frames], dtype=np.int64),
            read=tuple((at_frames.index(each.frame), each.quantity) for each in framed),
            order=order,
        )

    @cached_property
    def values(self) -> Values:
        """Its numbers: those of `entries`, replaced by those of `numbers`."""
        parts = self.bodies, self.joints, self.contacts, self.frames, self.sensors
        sizes = (len(part) for part in parts)
        values = Values.blank(*sizes)
        for name, entry in self.entries.items():
            getattr(values, entry.kind)[entry.index] = self.numbers.get(name, entry.value)
        return values

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Name -> every number that it has, in the order of bodies, joints, contacts, frames, sensors, world."""
        # below 1 m/s^2 the weight is no measure of the loads on bearings; masses are then used instead
        weight = sum(body.mass for body in self.bodies) * max(float(np.linalg.norm(self.gravity)), 1.0)
        found = [entry for i, body in enumerate(self.bodies) for entry in body.entries(i)]
        found += [entry for k, joint in enumerate(self.joints) for entry in joint.entries(k, weight)]
        found += [entry for k, contact in enumerate(self.contacts) for entry in contact.entries(k, weight)]
        found += [entry for k, frame in enumerate(self.frames) for entry in frame.entries(k)]
        for k, sensor in enumerate(self.sensors):
            found += sensor.entries(k, self._joints)
        for symbol, unit, numbers in (("gravity", "m/s^2", self.gravity), ("tilt", "rad", np.zeros(3))):
            found += [
                Entry(WORLD, f"{symbol}_{axis}", unit, symbol, (k,), float(numbers[k]))
                for k, axis in enumerate("xyz")
            ]
        return {entry.name: entry for entry in found}

    def entry(self, name: str) -> Entry:
        """A number by its name. Raises InvalidModel if there is none of this name."""
        check_known(name, self.entries, "no parameter", f"{self.name} has", limit=40)
        return self.entries[name]

    def place(self, name: str) -> int:
        """Index of a number in Theta; errors as of `entry`."""
        entry = self.entry(name)
        return self.values.place(entry.kind, *entry.index)

    def starting(self, numbers: Mapping[str, float]) -> Mechanism:
        """The same with other numbers, by the names of `entries`. Raises InvalidModel if there is none of a name."""
        return replace(self, numbers={**self.numbers, **numbers}) if numbers else self

    def model(self, free: Sequence[str] = (), *, curvature: bool = False) -> Model:
        """Its discrete dynamics; theta are the parameters named, in this order.

        Args:
            free: names of theta.
            curvature: whether steps follow curved constraints to second order, which removes most of SPOOK's own
                damping.

        Raises:
            InvalidModel: if one is named twice or does not exist.
        """
        return Model(self, tuple(free), curvature)


def _stops_of(joint: AnyJoint) -> list[bool]:
    """Whether it has a lower and an upper stop."""
    stops: Stops | None = getattr(joint, "stops", None)
    return [False, False] if stops is None else [end is not None for end in stops.ends]


def load_mechanism(
    path: str | Path,
    *,
    locked: Mapping[str, float] | None = None,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    **softness: float,
) -> Mechanism:
    """A mechanism from a URDF or MJCF, with an encoder on and a motor of gain 1 in every hinge and slider.

    Args:
        locked: joint -> position [rad] or [m] of joints that are held still.
        gravity: [m/s^2].
        softness: `compliance` [m/N], `rotation_compliance` [rad/(N m)] and `relaxation` [s] of all joints.

    Raises:
        UnreadableFile: if it is no robot description.
        InvalidModel: if a joint is neither revolute, continuous, prismatic nor spherical, or a link has no mass.
    """
    from ..robot.articulated import load_robot

    return mechanism_of(load_robot(path, locked=locked, gravity=gravity), **softness)


def mechanism_of(robot: Articulated, **softness: float) -> Mechanism:
    """A robot as a mechanism; see `load_mechanism`."""
    from ..robot import tree as kinds

    robot.refuse_couplings("a mechanism in maximal coordinates")
    if robot.floating_base:
        raise InvalidModel(
            f"robot {robot.name!r} has a floating base; describe it as bodies and joints instead"
        )
    tree, placements = robot.tree, robot.placements
    if len(tree) != len(robot.bodies):
        raise InvalidModel(
            f"robot {robot.name!r} has a joint made of several; use revolute and prismatic ones"
        )
    bodies = []
    for name, pi, frame in zip(robot.bodies, robot.inertials, placements, strict=True):
        if not pi[0] > 0:
            raise InvalidModel(f"link {name!r} of robot {robot.name!r} moves without a mass; give it one")
        bodies.append(RigidBody(name, float(pi[0]), inertia_at_com(pi), center_of_mass(pi), frame))
    said = robot.described_terms
    joints: list[AnyJoint] = []
    names = list(robot.model.names)[1:]
    for k, name in enumerate(names):
        T = placements[k]  # of the joint's frame, which is its child's
        drag, dry, shaft = (
            float(said[term][tree.v_index[k]]) for term in ("damping", "friction", "armature")
        )
        # joints and links often have the same name; names in a mechanism are unique
        own = f"{name} joint" if name in robot.bodies else name
        parent = robot.parents[k] or WORLD
        friction = Coulomb(dry) if dry > 0 else None
        held = own, parent, robot.bodies[k], T[:3, 3].tolist()
        resisted: Any = {"drag": drag, "friction": friction, **softness}
        axis = (T[:3, :3] @ tree.axis[k]).tolist()
        kind = int(tree.kind[k])
        if kind in (kinds.REVOLUTE, kinds.CONTINUOUS, kinds.PRISMATIC):
            moving = Slider if kind == kinds.PRISMATIC else Hinge
            joints.append(moving(*held, **resisted, axis=axis, motor=Motor(1.0, shaft)))
        elif kind == kinds.SPHERICAL:
            joints.append(Ball(*held, **resisted))
        else:
            raise InvalidModel(
                f"joint {name!r} is neither revolute, continuous, prismatic nor spherical; a mechanism has only these"
            )
    for k, ((first, point), (second, child_point)) in enumerate(robot.loop_ends):
        ends = (first or WORLD, second) if second else (WORLD, first)
        name, soft = f"loop{k + 1 if len(robot.loops) > 1 else ''}", dict[str, Any](softness)
        joints.append(Ball(name, *ends, point.tolist(), child_point=child_point.tolist(), **soft))
    sensors = [Encoder(joint.name) for joint in joints if joint.has_axis]
    gravity = robot.model.gravity.linear.tolist()
    return Mechanism(bodies, joints, sensors=sensors, gravity=gravity, name=robot.name)
