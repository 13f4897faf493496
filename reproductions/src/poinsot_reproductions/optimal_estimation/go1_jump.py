"""Go1 jumps forward in MuJoCo: it crouches, pushes off with all feet, flies, lands and comes to rest.

Of a unit of mass the ground pushes by g (1 - s) + C s (1 - s), s = t / T, so that the feet leave the ground unloaded.
From rest, over the height h of the push, that ends at the speed v = (v_x, 0, v_z) with

    v_z^2 = 2 g rise,   v_x = length g / (2 v_z),    C = 6 (v / T + g / 2),    v_z T / 2 + g T^2 / 12 = h

In flight the joints run out and go back to where they stood; after touchdown the base comes to rest above its feet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from poinsot.arrays import Vector
from poinsot.models.gravity import STANDARD_GRAVITY

from ..online.simulation.closed_loop import CONTROL_TICKS, SETTLING
from ..online.simulation.legged_robot import LeggedRobot, go1
from ..online.simulation.plant import Plant
from ..online.simulation.tasks import FramePose, Posture, Task, rest_to_rest
from ..online.simulation.whole_body import ContactLimits, WholeBodyController, sole_frame
from .robot_sensors import TrueMotion

G = -STANDARD_GRAVITY[2]
RISE, LENGTH = (0.10, 0.20), (0.20, 0.45)
"""Of the base in flight [m], other ones in each jump."""
STANDING, CROUCHING, RESTING = 0.6, 0.4, 0.7
"""How long the robot stands and crouches, and for how long it is followed after it lands [s]."""
DEPTH, STRETCH, LOW = 0.09, 0.05, 0.04
"""Depth of the crouch, height of the base at take-off above where it stood, and below that after landing [m]."""
RUN_OUT, RETURN = 0.03, 0.2
"""Time constant in which joints run out after take-off, and time in which they go back to the posture [s]."""
LIMITS = ContactLimits(friction=0.6, smallest_force=2.0, largest_force=400.0)
LANDS_ABOVE = 5.0
"""Normal force of a foot that has touched down [N]."""
LEAVING = 0.05
"""How long after take-off a foot that still scuffs has not landed [s]."""
LONGEST = 4.0
"""[s]"""


@dataclass(frozen=True, eq=False)
class Jump(TrueMotion):
    """What the robot did.

    Args:
        robot: as it is described.
        take_off, landing: samples at which no foot touched the ground any more, and every foot had touched down again.
    """

    robot: LeggedRobot
    take_off: int
    landing: int


def jump(rng: np.random.Generator) -> Jump:
    """A jump of a random height and length."""
    with threadpool_limits(limits=1, user_api="blas"):  # the order of sums must not depend on threads
        return _Jumping(go1(), float(rng.uniform(*RISE)), float(rng.uniform(*LENGTH))).jump()


class _Jumping:
    def __init__(self, legged: LeggedRobot, rise: float, length: float):
        self.legged, n = legged, legged.robot.model.nv
        self.plant = Plant(legged.robot, soles=legged.soles, effort_limits=legged.effort_limits)
        self.controller = WholeBodyController(
            legged.robot, legged.soles, effort_limits=legged.effort_limits, limits=LIMITS
        )
        v = np.sqrt(2 * G * rise)
        self.speed = np.array([length * G / (2 * v), 0.0, v])
        self.pushing = (np.sqrt(v**2 / 4 + G * (DEPTH + STRETCH) / 3) - v / 2) * 6 / G
        self.posture = Posture(legged.home[7:].copy(), np.zeros(n - 6), np.arange(6, n), 400.0, 40.0, 1.0)
        kinematics = self.controller.kinematics
        kinematics.update(legged.home, np.zeros(n))
        base = kinematics.placement(kinematics.frame(legged.base)).copy()
        self.base = FramePose(legged.base, np.repeat([200.0, 400.0], 3), 30.0, 100.0, placement=base)
        self.feet = [FramePose(sole_frame(sole), 0.0, 30.0, 1000.0, (0, 1, 2)) for sole in legged.soles]
        self.home = base.translation.copy()
        self.left: tuple[float, Vector, Vector] | None = None
        self.landed: tuple[float, Vector] | None = None

    def jump(self) -> Jump:
        plant, rows = self.plant, []
        plant.reset(self.legged.home)
        plant.time = -SETTLING
        tau, force = np.zeros(self.legged.robot.model.nv), np.zeros(4)
        for tick in range(-round(SETTLING / plant.timestep), round(LONGEST / plant.timestep)):
            time, q, v = plant.time, plant.q, plant.v
            if tick % CONTROL_TICKS == 0:
                self._notice(time, q, v, force)
                tau = self._command(time, q, v)
            given = plant.step(tau)
            force = np.array([wrench[2] for wrench in plant.wrenches().values()])
            if tick >= 0:
                rows.append((time, q, v, given, force))
            if self.landed is not None and time > self.landed[0] + RESTING:
                break
        times, q, v, given, force = (np.array(column) for column in zip(*rows, strict=True))
        flying = int(np.flatnonzero((force <= 0).all(axis=1))[0])
        begun = flying + round(LEAVING / plant.timestep)
        # the first touch of the foot that lands last
        landing = begun + int(np.argmax(force[begun:] > LANDS_ABOVE, axis=0).max())
        return Jump(times, q, v, given, force, self.legged, flying, landing)

    def _notice(self, time: float, q: Vector, v: Vector, force: Vector) -> None:
        """Take-off, by the time, and landing, by the force on any foot."""
        pushed = time - STANDING - CROUCHING - self.pushing
        if self.left is None and pushed > 0:
            self.left = time, q[7:].copy(), v[6:].copy()
        if self.landed is None and pushed > LEAVING and (force > LANDS_ABOVE).any():
            self.landed = time, q[:3].copy()

    def _command(self, time: float, q: Vector, v: Vector) -> Vector:
        """(n,) efforts."""
        kinematics = self.controller.kinematics
        kinematics.update(q, v)
        if self.left is not None and self.landed is None:
            since = time - self.left[0]
            s = min(since / RETURN, 1.0)
            w, dw, _ = rest_to_rest(s, RETURN)
            fading = np.exp(-since / RUN_OUT)
            out, speed = self.left[1] + self.left[2] * RUN_OUT * (1 - fading), self.left[2] * fading
            way = self.legged.home[7:] - out
            self.posture.q, self.posture.v = out + w * way, speed * (1 - w) + dw * way
            self.posture.weight = 1.0
            return self.controller.solve([self.posture], {sole.body: 0.0 for sole in self.legged.soles}).tau
        p, velocity, acceleration = self._reference(time)
        self.base.placement = pin.SE3(self.base.placement.rotation, p)
        self.base.velocity[:3], self.base.acceleration[:3] = velocity, acceleration
        self.posture.weight = 0.01
        tasks: list[Task] = [self.base, *self.feet, self.posture]
        return self.controller.solve(tasks).tau

    def _reference(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Place, velocity and acceleration of the base while feet are on the ground."""
        zero, depth = np.zeros(3), np.array([0.0, 0.0, -DEPTH])
        if self.landed is not None:
            return np.array([*self.landed[1][:2], self.home[2] - LOW]), zero, zero
        since = time - STANDING
        if since < CROUCHING:
            w, dw, ddw = rest_to_rest(max(since, 0.0) / CROUCHING, CROUCHING)
            return self.home + w * depth, dw * depth, ddw * depth
        s, T = min((since - CROUCHING) / self.pushing, 1.0), self.pushing
        fall = np.array([0.0, 0.0, G])
        C = 6 * (self.speed / T + fall / 2)
        p = T**2 * (C * (s**3 / 6 - s**4 / 12) - fall * s**3 / 6)
        return (
            self.home + depth + p,
            T * (C * (s**2 / 2 - s**3 / 3) - fall * s**2 / 2),
            C * s * (1 - s) - fall * s,
        )
