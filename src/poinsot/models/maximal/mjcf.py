"""A mechanism as a file of MuJoCo that moves as it does.

Bodies of a tree of joints are nested from the world outward; joints that close loops are equalities. Damping, dry
friction, rotor inertia and gains of motors are attributes; the control of an actuator is the recorded command.

Dry friction is a constraint in MuJoCo, whose impedance is as near to 1 as MuJoCo takes, so that a joint that sticks
does not creep. It acts after two time steps, which are therefore short.

An end stop is a spring with a damper that MuJoCo lets push only. With the roots s_1, s_2 of s^2 + 2 zeta s + 1 = 0 its
force ends at

    t = 2 log(s_2 / s_1) / (s_1 - s_2),      restitution e(zeta) = -(s_1 exp(s_1 t) - s_2 exp(s_2 t)) / (s_1 - s_2)

(Schwager and Poeschel 2007), so that the damping ratio follows from the restitution. Motions before and after meet at
(x(t) + e t) / (1 + e) = g (1 + e), which gives the frequency of a stop with a give g (`Stops`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from ...exceptions import InvalidModel
from ...inertia.parameters import inertia_matrix
from .joints import JOINT_KINDS, AnyJoint, Ball, Fixed
from .mechanism import Mechanism
from .reduced import tree

LONGEST_STEP = 5e-5
"""Longest time step: dry friction takes two of them to act, by which motions are off [s]."""
STIFF = "0.9999 0.9999 0.001"
"""Impedance of dry friction and of loops (`solimp`), nearly that of rigid ones."""
FARTHEST = 1e6
"""Where an end stop is written that a joint lacks [rad], [m]."""
STOPPING = 20
"""Fewest time steps of an impact on an end stop."""
LEAST_RESTITUTION, MOST_RESTITUTION = 0.01, 0.99
"""Restitutions for which there is a damping ratio of moderate size."""
KINDS = {"hinge": "hinge", "slider": "slide", "ball": "ball"}


def time_step(interval: float) -> float:
    """Longest time step up to `LONGEST_STEP` of which the sampling interval has a whole number [s]."""
    return interval / int(np.ceil(interval / LONGEST_STEP - 1e-9))


def mechanism_mjcf(mechanism: Mechanism, interval: float) -> tuple[str, tuple[str, ...]]:
    """The text, and sentences about what the format cannot hold.

    Args:
        interval: between commands [s], a whole number of time steps.

    Raises:
        InvalidModel: if a slider closes a loop, or the mechanism has contacts.
    """
    if mechanism.contacts:
        raise InvalidModel(f"contacts of {mechanism.name} are not written to MJCF")
    step = time_step(interval)
    writer = _Writer(mechanism, step)
    lines = [
        f"<mujoco model={quoteattr(mechanism.name)}>",
        '  <compiler angle="radian"/>',
        f'  <option timestep="{step!r}" integrator="RK4" gravity="{_numbers(writer.gravity)}" '
        'iterations="50" tolerance="1e-12">',
        '    <flag contact="disable"/>',
        "  </option>",
        "  <default>",
        f'    <joint solimpfriction="{STIFF}" solreffriction="{2 * step!r} 1"/>',
        f'    <equality solimp="{STIFF}" solref="{2 * step!r} 1"/>',
        "  </default>",
        "  <worldbody>",
        *writer.bodies(len(mechanism.bodies), "    "),
        "  </worldbody>",
        *_section("equality", writer.loops()),
        *_section("actuator", writer.motors()),
        "</mujoco>",
    ]
    return "\n".join(lines) + "\n", tuple(writer.beyond())


def impact(ratio: float) -> tuple[float, float, float]:
    """Restitution, and duration and give times the frequency, of a spring with a damping ratio above 0, not 1."""
    root = np.sqrt(complex(ratio**2 - 1))
    first, second = -ratio + root, -ratio - root
    # the first instant after 0: of complex roots the angle between them is that outside of the left half
    apart = np.log(second / first) if ratio > 1 else 2j * (np.pi - np.angle(first))
    t = 2 * apart / (first - second)
    speed = (first * np.exp(first * t) - second * np.exp(second * t)) / (first - second)
    e, depth = float(-speed.real), ((np.exp(first * t) - np.exp(second * t)) / (first - second)).real
    return e, float(t.real), float(depth + e * t.real) / (1 + e) ** 2


def stop_settings(restitution: float, give: float, step: float) -> tuple[float, float]:
    """Time constant [s] and damping ratio of an end stop with a restitution and a give [s], at a time step [s]."""
    wanted = min(max(restitution, LEAST_RESTITUTION), MOST_RESTITUTION)
    ratio = float(brentq(lambda ratio: impact(ratio)[0] - wanted, 1e-4, 50.0))
    _, duration, own_give = impact(ratio)
    return max(STOPPING * step / duration, give / own_give) / ratio, ratio


def _section(tag: str, lines: Iterator[str]) -> list[str]:
    """An element with these lines, if there are any."""
    inside = [f"    {line}" for line in lines]
    return [f"  <{tag}>", *inside, f"  </{tag}>"] if inside else []


class _Writer:
    """Elements of a mechanism."""

    def __init__(self, mechanism: Mechanism, step: float):
        self.mechanism, self.step, self.structure, self.values = (
            mechanism,
            step,
            mechanism.structure,
            mechanism.values,
        )
        self.placement = [*self.structure.placement, np.eye(4)]
        self.names = [*(body.name for body in mechanism.bodies), "world"]
        self.branches = tree(self.structure)

    @property
    def gravity(self) -> np.ndarray:
        """With the tilt of the floor."""
        return np.asarray(Rotation.from_rotvec(self.values.tilt).apply(self.values.gravity))

    def bodies(self, parent: int, indent: str) -> Iterator[str]:
        """Bodies that a body carries, with all beyond them; around the world also those that no joint holds."""
        reached = {body for body, *_ in self.branches}
        carried = [(body, k, outward) for body, at, k, outward in self.branches if at == parent]
        if parent == len(self.mechanism.bodies):
            carried += [(body, -1, True) for body in range(parent) if body not in reached]
        for body, k, outward in carried:
            T = np.linalg.inv(self.placement[parent]) @ self.placement[body]
            pose = f'pos="{_numbers(T[:3, 3])}" quat="{_quaternion(T[:3, :3])}"'
            yield f"{indent}<body name={quoteattr(self.names[body])} {pose}>"
            yield f"{indent}  {self.joint(body, k, outward)}" if k >= 0 else f"{indent}  <freejoint/>"
            yield f"{indent}  {self.inertial(body)}"
            yield from self.bodies(body, indent + "  ")
            yield f"{indent}</body>"

    def inertial(self, body: int) -> str:
        """Mass, centre of mass and inertia about it."""
        six = np.concatenate([np.zeros(4), np.asarray(self.values.inertia)[body]])
        J = inertia_matrix(six)
        six = J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        return (
            f'<inertial pos="{_numbers(self.values.center[body])}" mass="{_numbers(self.values.mass[body])}" '
            f'fullinertia="{_numbers(six)}"/>'
        )

    def joint(self, body: int, k: int, outward: bool) -> str:
        """The joint that moves a body, with the body's frame as it is where the coordinate is 0."""
        joint, values = self.mechanism.joints[k], self.values
        if isinstance(joint, Fixed):
            return f"<!-- {joint.name}: fixed -->"
        end = "child" if outward else "parent"
        attributes: dict[str, str] = {"name": quoteattr(joint.name), "type": f'"{KINDS[_kind(joint)]}"'}
        attributes["pos"] = f'"{_numbers(getattr(self.structure, f"{end}_point")[k])}"'
        if not isinstance(joint, Ball):
            # a joint whose child is nearer to the world moves its parent the other way
            axis = getattr(self.structure, f"{end}_frame")[k][:, 2] * (1 if outward else -1)
            attributes["axis"] = f'"{_numbers(axis)}"'
        level = self.level(k)
        for name, value in (
            ("damping", values.drag[k]),
            ("frictionloss", level),
            ("armature", values.shaft[k]),
        ):
            if value:
                attributes[name] = f'"{float(value)!r}"'
        stops = np.array([-FARTHEST, FARTHEST])
        for each in self.structure.ends:
            if each.joint == k:
                stops[each.side] = np.asarray(values.stop)[k, each.side]
        if (np.abs(stops) < FARTHEST).any():
            e, g = float(values.stop_restitution[k]), float(values.stop_give[k])
            constant, ratio = stop_settings(e, g, self.step)
            attributes |= {
                "limited": '"true"',
                "range": f'"{_numbers(stops)}"',
                "solreflimit": f'"{constant!r} {ratio!r}"',
                "solimplimit": f'"{STIFF}"',
            }
        return f"<joint {' '.join(f'{name}={value}' for name, value in attributes.items())}/>"

    def level(self, k: int) -> float:
        """Dry friction of a joint that depends on nothing [N m], [N]."""
        name = f"{self.mechanism.joints[k].name}.coulomb"
        return self.number(name) if name in self.mechanism.entries else 0.0

    def number(self, name: str) -> float:
        """One of the mechanism's numbers."""
        entry = self.mechanism.entries[name]
        return float(self.mechanism.numbers.get(name, entry.value))

    def loops(self) -> Iterator[str]:
        """Joints that close loops."""
        in_tree = {k for _, _, k, _ in self.branches}
        for k, joint in enumerate(self.mechanism.joints):
            if k in in_tree:
                continue
            bodies = f"body1={quoteattr(joint.child)} body2={quoteattr(joint.parent)}"
            point, axis = self.structure.child_point[k], self.structure.child_frame[k][:, 2]
            kind = _kind(joint)
            if kind == "fixed":
                yield f"<weld name={quoteattr(joint.name)} {bodies}/>"
            elif kind == "ball":
                yield f'<connect name={quoteattr(joint.name)} {bodies} anchor="{_numbers(point)}"/>'
            elif kind == "hinge":
                for number, place in enumerate((point, point + 0.1 * axis)):
                    name = quoteattr(f"{joint.name} {number + 1}")
                    yield f'<connect name={name} {bodies} anchor="{_numbers(place)}"/>'
            else:
                raise InvalidModel(f"slider {joint.name!r} closes a loop, which MJCF has no element for")

    def motors(self) -> Iterator[str]:
        """An actuator for each motor, in the order of the commands."""
        names = [joint.name for joint in self.mechanism.joints]
        for name in self.mechanism.inputs:
            k = names.index(name)
            gain, offset = float(self.values.gain[k]), float(self.values.offset[k])
            yield (
                f'<general name={quoteattr(name)} joint={quoteattr(name)} gainprm="{gain!r}" '
                f'biastype="affine" biasprm="{offset!r} 0 0"/>'
                if offset
                else f'<motor name={quoteattr(name)} joint={quoteattr(name)} gear="{gain!r}"/>'
            )

    def beyond(self) -> Iterator[str]:
        """What is not written."""
        plain = {"coulomb", "stick_drag"}
        for joint in self.mechanism.joints:
            law = getattr(joint, "friction", None)
            entries: Mapping[str, float] = {
                entry.symbol: self.number(name)
                for name, entry in self.mechanism.entries.items()
                if entry.owner == joint.name and entry.kind == "friction"
            }
            lost = [
                f"{joint.name}.{symbol}" for symbol, value in entries.items() if symbol not in plain and value
            ]
            if law is not None and lost:
                yield f"MJCF has no attribute for {', '.join(lost)}: the file moves without this friction."
            if getattr(joint, "offset", 0.0) and joint.name not in self.mechanism.inputs:
                yield f"MJCF has no attribute for the constant effort {joint.name}.offset: the file moves without it."


def _kind(joint: AnyJoint) -> str:
    """Its name in project files."""
    return next(name for name, kind in JOINT_KINDS.items() if isinstance(joint, kind))


def _numbers(values: Any) -> str:
    return " ".join(f"{float(value):.17g}" for value in np.ravel(values))


def _quaternion(R: np.ndarray) -> str:
    """w first, as MuJoCo has it."""
    return _numbers(np.roll(Rotation.from_matrix(R).as_quat(), 1))
