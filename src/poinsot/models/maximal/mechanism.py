"""Mechanisms: bodies, joints, contacts and sensors, in a few lines.

    furuta = Mechanism(
        bodies=[RigidBody("arm", 0.238, (1e-4, 3e-3, 3e-3), center=(0.128, 0, 0)),
                RigidBody("pendulum", 0.428, (4e-3, 4e-3, 1e-4), center=(0.248, 0, -0.092))],
        joints=[Hinge("shoulder", "world", "arm", axis=(0, 0, 1), drag=1e-3),
                Hinge("elbow", "arm", "pendulum", point=(0.248, 0, 0), axis=(1, 0, 0), drag=1e-4)],
        sensors=[Encoder("shoulder"), Encoder("elbow")],
    )

Everything is said in one *reference configuration*, in which every joint's coordinate is zero: points and axes of
joints in the world, and bodies in their own frames, which there are the world's unless a body's `frame` says otherwise.
`mechanism.model(free=["arm.Jzz", "elbow.drag"])` makes the discrete dynamics of it, with these two as theta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...exceptions import InvalidModel, listing, nearest
from ...parameters import Block, Parameters
from .bodies import PlaneContact, RigidBody
from .joints import CREEP, WORLD, AnyJoint, Coulomb
from .model import Model
from .sensors import Encoder, RateSensor
from .structure import Structure
from .values import Entry, Values

SIX = ("xx", "xy", "yy", "xz", "yz", "zz")


@dataclass(frozen=True)
class Mechanism:
    """Bodies joined to each other and to the world.

    Args:
        bodies: at least one.
        joints: fixed, hinge, slider, ball.
        contacts: points of bodies that may not pass planes.
        sensors: what is measured.
        gravity: (3,) [m/s^2].
        name: of it all.
        numbers: of `entries`, by name, that are not as bodies, joints, contacts and sensors say.

    Raises:
        InvalidModel: if names repeat, or something names what is not there.
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
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                _known(f"joint {joint.name!r} names body", end, names)
        for contact in self.contacts:
            _known(f"contact {contact.name!r} names body", contact.body, names[1:])
        for sensor in self.sensors:
            _known(f"sensor {sensor.label!r} reads joint", sensor.joint, self.readable_joints)
            sensor.check(self._joint(sensor.joint))
        for number in self.numbers:
            self.place(number)
        if np.shape(self.gravity) != (3,) or not np.isfinite(self.gravity).all():
            raise InvalidModel("gravity needs three finite numbers [m/s^2], e.g. (0, 0, -9.81)")

    @cached_property
    def readable_joints(self) -> tuple[str, ...]:
        """Joints with one coordinate, which sensors can read: hinges and sliders."""
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
        l = len(self.bodies)
        order = {body.name: i for i, body in enumerate(self.bodies)} | {WORLD: l}
        to_body = [np.linalg.inv(body.placement) for body in self.bodies] + [np.eye(4)]
        joints = self.joints
        parent = np.array([order[j.parent] for j in joints], dtype=np.int64)
        child = np.array([order[j.child] for j in joints], dtype=np.int64)
        frames = [_homogeneous(j.frame, j.point) for j in joints]
        at_parent = np.array([to_body[a] @ T for a, T in zip(parent, frames, strict=True)]).reshape(-1, 4, 4)
        at_child = np.array([to_body[b] @ T for b, T in zip(child, frames, strict=True)]).reshape(-1, 4, 4)
        friction = [getattr(j, "friction", None) for j in joints]
        sensed = [[j.name for j in joints].index(s.joint) for s in self.sensors]
        return Structure(
            bodies=l,
            parent=parent,
            child=child,
            parent_point=at_parent[:, :3, 3],
            child_point=at_child[:, :3, 3],
            parent_frame=at_parent[:, :3, :3],
            child_frame=at_child[:, :3, :3],
            held=np.array([j.held for j in joints], dtype=bool).reshape(-1, 6),
            driven=np.array(
                [self.inputs.index(j.name) if j.name in self.inputs else -1 for j in joints], dtype=np.int64
            ),
            dry=np.array([law is not None for law in friction], dtype=bool),
            load=np.array([law is not None and law.depends_on_load for law in friction], dtype=bool),
            weight=np.array(
                [
                    np.zeros(6) if law is None else law.load_weight(np.array(j.held), j.slides)
                    for j, law in zip(joints, friction, strict=True)
                ],
                dtype=float,
            ).reshape(-1, 6),
            contact_body=np.array([order[c.body] for c in self.contacts], dtype=np.int64),
            contact_point=np.array([c.point for c in self.contacts], dtype=float).reshape(-1, 3),
            contact_frame=np.array([c.frame for c in self.contacts], dtype=float).reshape(-1, 3, 3),
            contact_height=np.array([c.height for c in self.contacts], dtype=float),
            observed=np.array(sensed, dtype=np.int64),
            is_rate=np.array([s.is_rate for s in self.sensors], dtype=bool),
        )

    @cached_property
    def values(self) -> Values:
        """Its numbers."""
        values = self._said
        Theta = values.flat()
        for name, number in self.numbers.items():
            Theta[self.place(name)] = number
        return values.from_flat(Theta)

    @cached_property
    def _said(self) -> Values:
        """As bodies, joints, contacts and sensors have them."""
        weight = sum(body.mass for body in self.bodies) * max(float(np.linalg.norm(self.gravity)), 1.0)
        friction = [getattr(j, "friction", None) or Coulomb() for j in self.joints]
        motors = [getattr(j, "motor", None) for j in self.joints]

        def column(numbers: Sequence[float]) -> np.ndarray:
            return np.array(numbers, dtype=float)

        return Values(
            mass=column([b.mass for b in self.bodies]),
            center=np.array([b.center for b in self.bodies], dtype=float),
            inertia=np.array([b.inertia_matrix[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]] for b in self.bodies]),
            gravity=column(list(self.gravity)),
            tilt=np.zeros(3),
            compliance=np.array([(j.compliance, j.rotation_compliance) for j in self.joints]).reshape(-1, 2),
            relaxation=column([j.relaxation for j in self.joints]),
            drag=column([getattr(j, "drag", 0.0) for j in self.joints]),
            offset=column([getattr(j, "offset", 0.0) for j in self.joints]),
            level=column([law.level for law in friction]),
            excess=column([law.excess for law in friction]),
            decay=column([law.decay for law in friction]),
            stick=column([law.creep_drag(weight) for law in friction]),
            gain=column([0.0 if m is None else m.gain for m in motors]),
            shaft=column([0.0 if m is None else m.shaft_inertia for m in motors]),
            contact_compliance=column([c.compliance for c in self.contacts]),
            contact_relaxation=column([c.relaxation for c in self.contacts]),
            contact_friction=column([c.friction for c in self.contacts]),
            contact_stick=column(
                [c.stick_drag or max(c.friction, 1e-3) * weight / CREEP for c in self.contacts]
            ),
            zero=column([s.zero for s in self.sensors]),
            sine=column([s.sine for s in self.sensors]),
            cosine=column([s.cosine for s in self.sensors]),
        )

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Name -> every number that it has, in the order of bodies, joints, contacts, sensors, world."""
        found = [entry for i, body in enumerate(self.bodies) for entry in _body_entries(i, body)]
        found += [entry for k, joint in enumerate(self.joints) for entry in joint.entries(k)]
        for k, contact in enumerate(self.contacts):
            for symbol, unit in (
                ("compliance", "m/N"), ("relaxation", "s"), ("friction", ""), ("stick", "N s/m")
            ):  # fmt: skip
                name = "stick_drag" if symbol == "stick" else symbol
                found.append(Entry(contact.name, name, unit, f"contact_{symbol}", (k,), 0.0))
        for k, sensor in enumerate(self.sensors):
            found += sensor.entries(k, self._joint(sensor.joint))
        for k, axis in enumerate("xyz"):
            found.append(Entry(WORLD, f"gravity_{axis}", "m/s^2", "gravity", (k,)))
        for k, axis in enumerate("xyz"):
            found.append(Entry(WORLD, f"tilt_{axis}", "rad", "tilt", (k,)))
        return {entry.name: entry for entry in found}

    @cached_property
    def parameters(self) -> Parameters:
        """All of them as blocks, all held at their values."""
        blocks: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries.values():
            blocks.setdefault((entry.family, entry.owner), []).append(entry)
        theta = self.values.flat()
        held = {name: float(theta[self.place(name)]) for name in self.entries}
        return Parameters(
            tuple(
                Block(kind, owner, tuple(e.name for e in group), tuple(e.unit for e in group))
                for (kind, owner), group in blocks.items()
            ),
            held,
        )

    def place(self, name: str) -> int:
        """Where in Theta a number is.

        Raises:
            InvalidModel: if there is none of this name.
        """
        if name not in self.entries:
            raise InvalidModel(
                f"no parameter {name!r}{nearest(name, self.entries)}; {self.name} has {listing(self.entries, 40)}"
            )
        entry = self.entries[name]
        return self._said.place(entry.kind, *entry.index)

    def starting(self, numbers: Mapping[str, float]) -> Mechanism:
        """The same with other numbers, by the names of `entries`.

        Raises:
            InvalidModel: if there is none of a name.
        """
        return replace(self, numbers={**self.numbers, **numbers}) if numbers else self

    def model(self, free: Sequence[str] = (), *, curvature: bool = False) -> Model:
        """Its discrete dynamics; theta are the parameters named, in this order.

        Args:
            free: names of theta.
            curvature: whether steps follow curved constraints to second order, which takes most of SPOOK's own
                damping away.

        Raises:
            InvalidModel: if one is named twice or does not exist.
        """
        return Model(self, tuple(free), curvature)


def _known(who: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise InvalidModel(f"{who} {name!r}{nearest(name, names)}; the mechanism has {listing(names)}")


def _homogeneous(R: np.ndarray, p: Sequence[float]) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _body_entries(i: int, body: RigidBody) -> list[Entry]:
    return [
        Entry(body.name, "mass", "kg", "mass", (i,), 0.0),
        *(Entry(body.name, f"c{axis}", "m", "center", (i, k)) for k, axis in enumerate("xyz")),
        *(
            Entry(body.name, f"J{two}", "kg m^2", "inertia", (i, k), 0.0 if two[0] == two[1] else -np.inf)
            for k, two in enumerate(SIX)
        ),
    ]
