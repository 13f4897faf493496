"""Mechanisms: bodies, joints, contacts and sensors, in a few lines (docs/concepts/joint_smoothing.md has one).

Everything is given in one *reference configuration*, in which every joint's coordinate is zero: points and axes of
joints in the world, and bodies in their own frames, which there are the world's unless a body's `frame` says otherwise.
`mechanism.model(free=["arm.Jzz", "elbow.drag"])` makes the discrete dynamics of it, with these two as theta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...arrays import Brief
from ...estimate import Body
from ...exceptions import InvalidModel, check_known
from .bodies import PlaneContact, RigidBody
from .joints import WORLD, AnyJoint, law_places
from .model import Model
from .sensors import Encoder, RateSensor
from .structure import Structure
from .values import Entry, Values


@dataclass(frozen=True, repr=False)
class Mechanism(Brief):
    """Bodies joined to each other and to the world.

    Args:
        bodies: at least one.
        joints: fixed, hinge, slider, ball.
        contacts: points of bodies that may not pass planes.
        sensors: sensors of joints.
        gravity: (3,) [m/s^2].
        numbers: values of `entries`, by name, that replace those of bodies, joints, contacts and sensors.

    Raises:
        InvalidModel: if names repeat, or a name that is referred to does not exist.
    """

    bodies: Sequence[RigidBody]
    joints: Sequence[AnyJoint] = ()
    contacts: Sequence[PlaneContact] = ()
    sensors: Sequence[Encoder | RateSensor] = ()
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    name: str = field(default="mechanism", kw_only=True)
    numbers: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not self.bodies:
            raise InvalidModel("a mechanism needs at least one body")
        names = [WORLD, *(b.name for b in self.bodies)]
        things = [*names, *(j.name for j in self.joints), *(c.name for c in self.contacts)]
        things += [s.label for s in self.sensors]
        for name in things:
            if things.count(name) > 1:
                raise InvalidModel(
                    f"the mechanism has {things.count(name)} things called {name!r}; names must be its own for each "
                    f"body, joint, contact and sensor"
                )
        known = "the mechanism has"
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                check_known(end, names, f"joint {joint.name!r} names body", known)
        for contact in self.contacts:
            check_known(contact.body, names[1:], f"contact {contact.name!r} names body", known)
        for sensor in self.sensors:
            check_known(sensor.joint, self.readable_joints, f"sensor {sensor.label!r} reads joint", known)
            sensor.entries(0, self._joint(sensor.joint))  # checks that its numbers suit the joint
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

    def _joint(self, name: str) -> AnyJoint:
        return next(joint for joint in self.joints if joint.name == name)

    @cached_property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """(name, unit) of each joint coordinate, in the order of y."""
        names: list[tuple[str, str]] = []
        for joint in self.joints:
            free = [k for k in range(6) if not joint.held[k]]
            for k in free:
                name = joint.name if len(free) == 1 else f"{joint.name}.{'xyz'[k % 3]}"
                names.append((name, "m" if k < 3 else "rad"))
        return tuple(names)

    @cached_property
    def structure(self) -> Structure:
        """Its constants."""
        l, joints, contacts = len(self.bodies), self.joints, self.contacts
        order = {body.name: i for i, body in enumerate(self.bodies)} | {WORLD: l}
        names = [joint.name for joint in joints]
        # the world is the last body, with its frame at itself
        placement = np.array([*(body.placement for body in self.bodies), np.eye(4)])
        parent, child = (
            np.array([order[end] for end in ends], dtype=np.int64)
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
            driven=np.array(driven, dtype=np.int64),
            dry=np.array([law is not None for law in laws], dtype=bool),
            load=np.array([law is not None and law.depends_on_load for law in laws], dtype=bool),
            laws=law_places({name for law in laws if law is not None for name in law.laws}),
            weight=np.array(weight, dtype=float).reshape(-1, 6),
            contact_body=np.array([order[c.body] for c in contacts], dtype=np.int64),
            contact_point=np.array([c.point for c in contacts], dtype=float).reshape(-1, 3),
            contact_frame=np.array([c.frame for c in contacts], dtype=float).reshape(-1, 3, 3),
            contact_height=np.array([c.height for c in contacts], dtype=float),
            observed=np.array([names.index(s.joint) for s in self.sensors], dtype=np.int64),
            is_rate=np.array([s.is_rate for s in self.sensors], dtype=bool),
        )

    @cached_property
    def values(self) -> Values:
        """Its numbers: those of `entries`, replaced by those of `numbers`."""
        sizes = (len(part) for part in (self.bodies, self.joints, self.contacts, self.sensors))
        values = Values.blank(*sizes)
        for name, entry in self.entries.items():
            getattr(values, entry.kind)[entry.index] = self.numbers.get(name, entry.value)
        return values

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Name -> every number that it has, in the order of bodies, joints, contacts, sensors, world."""
        # below 1 m/s^2 the weight is no measure of the loads on bearings; masses are then used instead
        weight = sum(body.mass for body in self.bodies) * max(float(np.linalg.norm(self.gravity)), 1.0)
        found = [entry for i, body in enumerate(self.bodies) for entry in body.entries(i)]
        found += [entry for k, joint in enumerate(self.joints) for entry in joint.entries(k, weight)]
        found += [entry for k, contact in enumerate(self.contacts) for entry in contact.entries(k, weight)]
        for k, sensor in enumerate(self.sensors):
            found += sensor.entries(k, self._joint(sensor.joint))
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
