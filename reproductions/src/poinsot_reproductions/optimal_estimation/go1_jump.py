"""Go1 jumps forward in MuJoCo: it crouches, pushes off with all feet, flies, lands and comes to rest.

The base follows a height z(t) and a way forward x(t) while it pushes off, each with the constant acceleration that ends
at the take-off speed,

    v_z = sqrt(2 g rise),    v_x = length / flight,    flight = 2 v_z / g

In flight the joints go to the landing posture. After touchdown the base is braked and brought back to its height.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from poinsot.arrays import Times, Vector
from poinsot.models.gravity import STANDARD_GRAVITY

from ..online.simulation.closed_loop import CONTROL_TICKS
from ..online.simulation.legged_robot import LeggedRobot, go1
from ..online.simulation.plant import Plant
from ..online.simulation.tasks import FramePose, Posture, Task
from ..online.simulation.whole_body import ContactLimits, WholeBodyController, sole_frame

RISE, LENGTH = (0.10, 0.20), (0.20, 0.45)
"""Of the base in flight [m], different in each jump."""
STANDING, CROUCHING, RESTING = 0.6, 0.4, 0.7
"""How long the robot stands, how long it takes to crouch, and how long it is followed after the last touchdown [s]."""
DEPTH, STRETCH = 0.09, 0.05
"""Of the crouch below the standing height, and the height of take-off above it [m]."""
LIMITS = ContactLimits(friction=0.6, smallest_force=2.0, largest_force=400.0)
LANDS_ABOVE = 5.0
"""Normal force of a foot that has touched down [N]."""
LONGEST_FLIGHT = 0.8
"""[s]"""


@dataclass(frozen=True, eq=False)
class Jump:
    """What the robot did, without noise.

    Args:
        robot: as it is described.
        time: (S,) [s]. q, v, tau: (S, nq), (S, n), (S, n) states, and efforts in the step from each.
        force: (S, 4) normal forces on its feet in that step [N].
        take_off, landing: samples at which the last foot left the ground, and the last one touched down.
    """

    robot: LeggedRobot
    time: Times
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    force: np.ndarray
    take_off: int
    landing: int


def jump(rng: np.random.Generator) -> Jump:
    """A jump of a random height and length."""
    with threadpool_limits(limits=1, user_api="blas"):  # the order of sums must not depend on threads
        return _Jumping(go1(), float(rng.uniform(*RISE)), float(rng.uniform(*LENGTH))).jump()


class _Jumping:
    def __init__(self, legged: LeggedRobot, rise: float, length: float):
        self.legged = legged
        self.plant = Plant(legged.robot, soles=legged.soles, effort_limits=legged.effort_limits)
        self.plant.reset(legged.home)
        self.controller = WholeBodyController(
            legged.robot, legged.soles, effort_limits=legged.effort_limits, limits=LIMITS
        )
        g = -STANDARD_GRAVITY[2]
        self.speed = np.array([length * g / (2 * np.sqrt(2 * g * rise)), 0.0, np.sqrt(2 * g * rise)])
        # T of v T / 2 + g T^2 / 12 = h
        v, h = self.speed[2], DEPTH + STRETCH
        self.pushing = (np.sqrt(v**2 / 4 + g * h / 3) - v / 2) * 6 / g
        n = legged.robot.model.nv
        dofs = np.arange(6, n)
        self.posture = Posture(legged.home[7:].copy(), np.zeros(n - 6), dofs, 400.0, 40.0, 1.0)
        kinematics = self.controller.kinematics
        kinematics.update(legged.home, np.zeros(n))
        base = kinematics.placement(kinematics.frame(legged.base)).copy()
        self.base = FramePose(legged.base, np.repeat([200.0, 400.0], 3), 30.0, 100.0, placement=base)
        self.feet = [FramePose(sole_frame(sole), 0.0, 30.0, 1000.0, (0, 1, 2)) for sole in legged.soles]
        self.left = None
        self.home = base.translation.copy()

    def jump(self) -> Jump:
        rows, begin, phase, touched = [], 0.0, "stand", None
        tau = np.zeros(self.legged.robot.model.nv)
        take_off = landing = 0
        force = np.zeros(4)
        ends = np.inf
        tick = -300
        self.plant.time = -0.3
        while True:
            time = self.plant.time
            q, v = self.plant.q, self.plant.v
            if tick % CONTROL_TICKS == 0:
                start = STANDING + CROUCHING
                flying = time > start + self.pushing and touched is None
                if flying and time > start + self.pushing + 0.05 and (force > LANDS_ABOVE).any():
                    touched, flying = time, False
                    self.landed = q[:3].copy(), pin.Quaternion(q[3:7]).matrix(), v.copy()
                tau = self._command(q, v, time, flying, touched)
            given = self.plant.step(tau)
            force = np.array([wrench[2] for wrench in self.plant.wrenches().values()])
            if tick >= 0:
                rows.append((time, q, v, given, force))
            if touched is not None and time > touched + RESTING:
                break
            if time > 5:
                raise RuntimeError("no landing")
            tick += 1
        time, q, v, tau, force = (np.array(column) for column in zip(*rows, strict=True))
        flying = np.flatnonzero((force <= 0).all(axis=1))
        down = force > LANDS_ABOVE
        landing = max(int(np.flatnonzero(down[flying[0] + 50 :, k])[0]) + flying[0] + 50 for k in range(4))
        return Jump(self.legged, time, q, v, tau, force, int(flying[0]), landing)

    def _command(self, q, v, time, flying, touched) -> Vector:
        kinematics = self.controller.kinematics
        kinematics.update(q, v)
        if flying:
            if self.left is None:
                self.left = time, q[7:].copy(), v[6:].copy()
            s = min((time - self.left[0]) / 0.2, 1.0)
            w, dw = 10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 * (1 - s) ** 2 / 0.2
            # from where the joints are, with the speed that they have, which dies away
            u = time - self.left[0]
            gone = self.left[1] + self.left[2] * 0.03 * (1 - np.exp(-u / 0.03))
            speed = self.left[2] * np.exp(-u / 0.03)
            way = self.legged.home[7:] - gone
            self.posture.q, self.posture.v = gone + w * way, speed * (1 - w) + dw * way
            loads = {sole.body: 0.0 for sole in self.legged.soles}
            return self.controller.solve([self.posture], loads).tau
        loads = {sole.body: 1.0 for sole in self.legged.soles}
        p, u, a = self._reference(time, touched)
        self.base.placement = pin.SE3(self.base.placement.rotation, p)
        self.base.velocity[:3], self.base.acceleration[:3] = u, a
        tasks: list[Task] = [self.base, *self.feet]
        self.posture.weight = 0.01
        tasks.append(self.posture)
        tau = self.controller.solve(tasks, loads).tau
        self.posture.weight = 1.0
        return tau

    def _reference(self, time, touched):
        zero = np.zeros(3)
        down = self.home - [0, 0, DEPTH]
        if touched is not None:
            p0, _, v0 = self.landed
            # brake in 0.15 s, then rise
            since = time - touched
            target = p0.copy()
            target[2] = self.home[2] - 0.04
            return target, zero, zero
        if time < STANDING:
            return self.home, zero, zero
        since = time - STANDING
        if since < CROUCHING:
            s = since / CROUCHING
            w, dw, ddw = s**2 * (3 - 2 * s), 6 * s * (1 - s) / CROUCHING, (6 - 12 * s) / CROUCHING**2
            w = 10 * s**3 - 15 * s**4 + 6 * s**5
            dw = 30 * s**2 * (1 - s) ** 2 / CROUCHING
            ddw = 60 * s * (1 - s) * (1 - 2 * s) / CROUCHING**2
            way = np.array([0.0, 0.0, -DEPTH])
            return self.home + w * way, dw * way, ddw * way
        T, g = self.pushing, -STANDARD_GRAVITY[2]
        s = min((since - CROUCHING) / T, 1.0)
        # the ground's force on a unit of mass: g (1 - s) + C s (1 - s)
        C = 6 * (self.speed / T + [0, 0, g / 2])
        fall = np.array([0.0, 0.0, g])
        a = C * s * (1 - s) - fall * s
        v = T * (C * (s**2 / 2 - s**3 / 3) - fall * s**2 / 2)
        p = T**2 * (C * (s**3 / 6 - s**4 / 12) - fall * s**3 / 6)
        return down + p, v, a
