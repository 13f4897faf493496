"""Where feet and centre of mass should be, tick by tick: standing, stepping in place, walking slowly.

Steps are quasi-static: the centre of mass goes over the feet that stay (shift), another foot rises, moves and comes
down (swing) until it feels the ground, early on a slab or late in a hole. Every touchdown is an impact. Shifts and
swings follow

    s(x) = 10 x^3 - 15 x^4 + 6 x^5,   at rest at both ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from poinsot.arrays import Vector

from .plant import Foot
from .tasks import Kinematics
from .whole_body import sole_frame


@dataclass(frozen=True, eq=False)
class Footing:
    """Reference of feet and centre of mass at a tick.

    Args:
        centre, centre_velocity, centre_acceleration: (2,) of the centre of mass.
        swing: the foot in the air, "" for none. placement, velocity, acceleration: what its sole should do.
        loads: foot -> part of the largest normal force that it may carry.
        sinking: feet that should stand and feel no ground -> speed at which to go down [m/s].
    """

    centre: Vector
    centre_velocity: Vector
    centre_acceleration: Vector
    swing: str
    placement: pin.SE3
    velocity: Vector
    acceleration: Vector
    loads: Mapping[str, float]
    sinking: Mapping[str, float] = field(default_factory=dict)


class Gait(ABC):
    """References of feet and centre of mass, tick by tick; it keeps its phase between calls."""

    @abstractmethod
    def __call__(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> Footing:
        """What is wanted now.

        Args:
            kinematics: at the measured state. wrenches: foot -> (6,) measured.
        """


class Standing(Gait):
    """All feet stay, the centre of mass is held where it is."""

    def __init__(self, kinematics: Kinematics, soles: tuple[Foot, ...]):
        self._centre = kinematics.centre_of_mass[:2].copy()
        self._loads = {sole.body: 1.0 for sole in soles}

    def __call__(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> Footing:
        zero = np.zeros(2)
        return Footing(
            self._centre, zero, zero, "", pin.SE3.Identity(), np.zeros(6), np.zeros(6), self._loads
        )


@dataclass(frozen=True)
class Stride:
    """How to step.

    Args:
        length: of a step forward [m]; 0 in place.
        height: of the sole above the higher of where it leaves and where it lands [m].
        shift, swing: how long they take [s]. A centre of mass at height z calls for a centre of pressure z c''/g away
            from it: 0.16 m in 0.9 s takes that 9 cm past the foot, where there is no sole; in 1.4 s, 4 cm.
        start: stand still before the first [s].
        depth: the sole aims this far below where the ground is taken to be, so it lands at speed [m].
        search, settle: speeds at which a foot goes on down that has not found the ground, or lost it again [m/s].
        touch, lost: normal force above which a foot that comes down is on the ground, and below which one that
            stands has lost it [N].
        order: in which feet swing, by their places among the soles.
        reach: how far the centre of mass goes from the middle of all feet to that of those that stay, 1 for all of it.
    """

    length: float = 0.0
    height: float = 0.03
    shift: float = 0.8
    swing: float = 0.6
    start: float = 0.5
    depth: float = 0.01
    search: float = 0.15
    settle: float = 0.05
    touch: float = 40.0
    lost: float = 5.0
    order: tuple[int, ...] = (1, 0)
    reach: float = 1.0


@dataclass(eq=False)
class _Phase:
    name: str
    start: float
    swinging: int
    centre_from: Vector
    centre_to: Vector
    foot_from: pin.SE3 = field(default_factory=pin.SE3.Identity)
    foot_to: Vector = field(default_factory=lambda: np.zeros(3))


class Stepping(Gait):
    """One foot after the other, for ever.

    Args:
        kinematics: standing on all feet.
        soles: of the feet; of a humanoid left, right.
    """

    def __init__(self, kinematics: Kinematics, soles: tuple[Foot, ...], stride: Stride):
        self._soles, self._stride = soles, stride
        self._frames = [kinematics.frame(sole_frame(sole)) for sole in soles]
        centre = kinematics.centre_of_mass[:2].copy()
        self._phase = _Phase("stand", 0.0, 0, centre, centre)
        self._start = [kinematics.placement(frame).translation.copy() for frame in self._frames]
        self._steps = 0

    def __call__(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> Footing:
        self._advance(time, kinematics, wrenches)
        phase = self._phase
        since = time - phase.start
        every = {sole.body: 1.0 for sole in self._soles}
        if phase.name == "stand":
            return self._footing(phase.centre_to, np.zeros(2), np.zeros(2), every, wrenches)
        if phase.name == "shift":
            s, ds, dds = _smooth(since, self._stride.shift)
            way = phase.centre_to - phase.centre_from
            return self._footing(phase.centre_from + s * way, ds * way, dds * way, every, wrenches)
        swinging = self._soles[phase.swinging].body
        loads = every | {swinging: 0.0}
        placement, velocity, acceleration = self._swing(since)
        return Footing(
            phase.centre_to, np.zeros(2), np.zeros(2), swinging, placement, velocity, acceleration, loads
        )

    def _footing(
        self, x: Vector, v: Vector, a: Vector, loads: Mapping[str, float], wrenches: Mapping[str, Vector]
    ) -> Footing:
        sinking = {
            # a foot that lost the ground goes down fast enough for a slab's edge, and too slowly for an impact
            foot: self._stride.settle
            for foot, wrench in wrenches.items()
            if wrench[2] < self._stride.lost
        }
        return Footing(x, v, a, "", pin.SE3.Identity(), np.zeros(6), np.zeros(6), loads, sinking)

    def _advance(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> None:
        phase, stride = self._phase, self._stride
        since = time - phase.start
        if phase.name == "stand" and since >= stride.start:
            self._shift(time, phase.centre_to, kinematics)
        elif phase.name == "shift" and since >= stride.shift:
            swinging = phase.swinging
            sole = kinematics.placement(self._frames[swinging])
            self._steps += 1
            landing = foothold(self._start[swinging], self._steps, stride)
            landing[2] = sole.translation[2]
            level = pin.SE3(sole.rotation.copy(), sole.translation.copy())
            self._phase = _Phase("swing", time, swinging, phase.centre_to, phase.centre_to, level, landing)
        elif phase.name == "swing" and since >= 0.5 * stride.swing:
            foot = self._soles[phase.swinging].body
            if wrenches[foot][2] > stride.touch:
                self._shift(time, phase.centre_to, kinematics)

    def _shift(self, time: float, centre: Vector, kinematics: Kinematics) -> None:
        """Begin to bring the centre of mass over the middle of the feet that stay."""
        swinging = self._stride.order[self._steps % len(self._stride.order)]
        places = np.array([kinematics.placement(frame).translation[:2] for frame in self._frames])
        above = np.delete(places, swinging, axis=0).mean(axis=0)
        above = above + (1 - self._stride.reach) * (places.mean(axis=0) - above)
        self._phase = _Phase("shift", time, swinging, centre, above)

    def _swing(self, since: float) -> tuple[pin.SE3, Vector, Vector]:
        """Up with the first half, down with the second, across with both; then down until there is ground."""
        phase, stride = self._phase, self._stride
        T = stride.swing
        start, end = phase.foot_from.translation, phase.foot_to
        s, ds, dds = _smooth(since, T)
        way = end - start
        p, v, a = start + s * way, ds * way, dds * way
        # two halves: the way up is that of the sole, the way down aims below the ground
        if since < T / 2:
            u, du, ddu = _smooth(since, T / 2)
        else:
            u, du, ddu = _smooth(since - T / 2, T / 2)
            deep = 1 + stride.depth / stride.height
            u, du, ddu = 1 - deep * u, -deep * du, -deep * ddu
        p[2] += stride.height * u
        v[2] += stride.height * du
        a[2] += stride.height * ddu
        # late: in a hole, or the ground is lower than assumed
        if since > T:
            p[2] -= stride.search * (since - T)
            v[2] -= stride.search
        # level at once, and back to straight ahead: a foot that slipped while it carried little is turned
        yaw = pin.rpy.matrixToRpy(phase.foot_from.rotation)[2]
        R = pin.exp3(np.array([0.0, 0.0, (1 - s) * yaw]))
        turning, faster = np.array([0.0, 0.0, -ds * yaw]), np.array([0.0, 0.0, -dds * yaw])
        return pin.SE3(R, p), np.concatenate([v, turning]), np.concatenate([a, faster])


def foothold(start: Vector, step: int, stride: Stride) -> Vector:
    """(3,) where a foot that began at `start` lands with the step of that number, counted from 1 over all feet."""
    return start + np.array([step * stride.length, 0.0, 0.0])


def _smooth(since: float, duration: float) -> tuple[float, float, float]:
    """s, its speed and acceleration, from 0 to 1 in a duration."""
    # beyond its duration a motion rests at its end
    x = min(max(since / duration, 0.0), 1.0)
    return (
        10 * x**3 - 15 * x**4 + 6 * x**5,
        30 * x**2 * (1 - x) ** 2 / duration,
        60 * x * (1 - x) * (1 - 2 * x) / duration**2,
    )
