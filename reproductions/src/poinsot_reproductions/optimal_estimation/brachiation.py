"""Talos swings along monkey bars with an unknown payload (Martinez et al. 2024, video).

It hangs from a bar by both hands, behind it. Something that held it lets go; it swings forward, opens both hands,
flies, grasps the next bar and swings on, in MuJoCo. A hand holds a bar at a point about which it can turn, three rows
of force for plant and estimator alike. The legs and the torso sway all along, so that inertia shows.

    swing    joints follow their posture, hands stay where they are
    flight   hands go to the next bar along a polynomial of fifth order, at rest at both ends
    hang     as swing, softer

The angle at which it begins, that at which it lets go, the distance between bars, the time of flight, and where the
hands are above the pelvis are the best of a random search over these six, by the hands' distance and speed from the
next bar when they grasp it, the largest effort, and the smallest distance of joints to their stops.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from poinsot.arrays import Vector
from poinsot.models.contacts.contacts import PointContact
from poinsot.models.robot.articulated import Articulated

from ..case import Reproduction, Say
from ..online.simulation.legged_robot import LeggedRobot, talos
from ..online.simulation.plant import Grip, Plant
from ..online.simulation.tasks import FramePose, Posture, rest_to_rest
from ..online.simulation.whole_body import WholeBodyController, sole_frame
from .maneuvers import Director, Maneuver, Wanted, critical, weighed

PALMS = ("gripper_left_base_link", "gripper_right_base_link")
"""Frames at the palms, where hands hold a bar."""
ABOVE = 0.14, 0.25, 0.67
"""Of the hands in the pelvis' frame: forward, to the side, up [m]."""
BEGINS, LETS_GO = np.radians(-51.0), np.radians(27.0)
"""Angle of the centre of mass about the bar, forward of hanging [rad]."""
NEXT_BAR, FLIGHT = 0.32, 0.175
"""Distance between both bars [m], and how long the hands are open [s]."""
BAR_HEIGHT = 2.5
"""[m]"""
DURATION, HELD = 2.0, 0.4
"""[s]"""
STIFFNESS, SOFT, RETURN = 300.0, 40.0, 0.6
"""Of joints in swing and flight, and after it has grasped the next bar [1/s^2], with critical damping; and how long it
takes back to the posture of the swing [s]."""
SWAY = {
    "torso_1_joint": (0.2, 1.3),
    **{
        f"leg_{side}_{k}_joint": sway
        for side in ("left", "right")
        for k, sway in {2: (0.12, 0.9), 3: (0.2, 1.1), 4: (0.25, 1.5)}.items()
    },
}
"""Joint -> amplitude [rad] and frequency [Hz]; sines that grow in half a second."""
BENT = {
    **{
        f"arm_{side}_{k}_joint": sign * position
        for side, sign in (("left", 1.0), ("right", -1.0))
        for k, position in {1: -1.0, 2: 2.3, 3: 0.0}.items()
    },
    **{f"arm_{side}_4_joint": -0.8 for side in ("left", "right")},
    **{f"arm_{side}_7_joint": 0.0 for side in ("left", "right")},
}
"""Of arms overhead, where the search for the posture begins [rad]."""
UNSTEADY = 50, 0
"""Samples after a contact closes, and before it opens, that are doubtful."""


def hanging() -> LeggedRobot:
    """Talos with its hands on a bar along y at (0, 0, BAR_HEIGHT), at the angle where it begins."""
    legged = talos(BENT)
    robot = legged.robot
    q = with_hands_at(robot, legged.home, np.array(ABOVE))
    model, data = robot.model, robot.model.createData()
    q[:7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    centre = pin.centerOfMass(model, data, q)
    hands = np.array([ABOVE[0], 0.0, ABOVE[2]])
    away = centre - hands
    # a turn about -y swings the centre of mass forward
    R = pin.exp3(np.array([0.0, np.arctan2(away[0], -away[2]) - BEGINS, 0.0]))
    q[:3] = np.array([0.0, 0.0, BAR_HEIGHT]) - R @ hands
    q[3:7] = pin.Quaternion(R).coeffs()
    grips = tuple(
        Grip(f"arm_{side}_7_link", tuple(model.frames[model.getFrameId(palm)].placement.translation.tolist()))
        for side, palm in zip(("left", "right"), PALMS, strict=True)
    )
    return replace(legged, soles=grips, home=q)


def with_hands_at(robot: Articulated, q: Vector, above: Vector) -> Vector:
    """The configuration with both palms at a point in the pelvis' frame, the right one mirrored, by the arms alone.

    Args:
        robot: Talos.
        q: (nq,) where the search begins. above: (3,) of the left palm [m].
    """
    model, data = robot.model, robot.model.createData()
    q = q.copy()
    q[:7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    rest = q.copy()
    arms = np.array([6 + k for k, joint in enumerate(robot.joints) if joint.startswith("arm")])
    palms = [model.getFrameId(palm) for palm in PALMS]
    wanted = np.concatenate([above, above * [1.0, -1.0, 1.0]])
    low, high = robot.model.lowerPositionLimit[arms + 1], robot.model.upperPositionLimit[arms + 1]
    for _ in range(200):
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = np.concatenate([pin.getFrameJacobian(model, data, palm, world)[:3, arms] for palm in palms])
        off = wanted - np.concatenate([data.oMf[palm].translation for palm in palms])
        step = J.T @ np.linalg.solve(J @ J.T + 1e-4 * np.eye(6), off)
        # what does not move the palms goes back to where the search began
        null = np.eye(len(arms)) - np.linalg.pinv(J, 1e-3) @ J
        q[arms + 1] += step + 0.02 * null @ (rest[arms + 1] - q[arms + 1])
        # away from the stops
        q[arms + 1] = np.clip(q[arms + 1], low + 0.05, high - 0.05)
    return q


class Brachiation(Director):
    """From one bar to the next."""

    def __init__(self, plant: Plant, controller: WholeBodyController):
        super().__init__(plant, controller)
        joints, home = plant.robot.joints, plant.q[7:]
        self.hands = [grip.body for grip in plant.soles]
        for hand in self.hands:
            plant.grasp(hand)
        self.home = home
        dofs = np.arange(6, 6 + len(joints))
        self.posture = Posture(home, np.zeros(len(home)), dofs, STIFFNESS, critical(STIFFNESS), 1.0)
        self.holding = [FramePose(sole_frame(g), 0.0, 30.0, 1000.0, (0, 1, 2)) for g in plant.soles]
        self.reaching = [FramePose(sole_frame(g), 900.0, 60.0, 300.0, (0, 1, 2)) for g in plant.soles]
        # in flight arms go where the hands go
        reach = [joint.startswith("arm") and joint[-7] in "1234" for joint in joints]
        self.in_flight = np.where(reach, 0.01, 10.0)
        self.let_go: float | None = None
        self.grasped: float | None = None
        self.bar = plant.feet
        self.caught = home

    def direct(self, time: float) -> Wanted:
        plant, posture = self.plant, self.posture
        x, _, z = self.controller.kinematics.centre_of_mass - self.bar.mean(axis=0)
        if self.let_go is None and np.arctan2(x, -z) > LETS_GO:
            self.let_go = time
            self.bar = plant.feet
            for hand in self.hands:
                plant.release(hand)
        if self.let_go is not None and self.grasped is None and time >= self.let_go + FLIGHT:
            self.grasped = time
            for hand in self.hands:
                plant.grasp(hand)
            posture.stiffness, posture.damping = SOFT, critical(SOFT)
            self.caught = plant.q[7:]
        posture.q, posture.v = self.home.copy(), np.zeros(len(self.home))
        if self.grasped is not None:
            # from the posture in which it caught the bar back to that of the swing
            s = min((time - self.grasped) / RETURN, 1.0)
            posture.q += (1 - s) ** 2 * (1 + 2 * s) * (self.caught - self.home)
        grown = min(1.0, 2.0 * time)
        for joint, (amplitude, frequency) in SWAY.items():
            at, omega = plant.robot.joints.index(joint), 2 * np.pi * frequency
            posture.q[at] += grown * amplitude * np.sin(omega * time)
            posture.v[at] += grown * amplitude * omega * np.cos(omega * time)
        if self.let_go is None or self.grasped is not None:
            posture.weight = 1.0
            return [posture, *self.holding], dict.fromkeys(self.hands, 1.0)
        posture.weight = self.in_flight
        self._reach(time - self.let_go)
        return [posture, *self.reaching], dict.fromkeys(self.hands, 0.0)

    def _reach(self, since: float) -> None:
        """Put the hands' reference on their way to the next bar."""
        way = NEXT_BAR * np.array(rest_to_rest(min(since / FLIGHT, 1.0), FLIGHT))
        for task, begin in zip(self.reaching, self.bar, strict=True):
            task.placement = pin.SE3(np.eye(3), begin + np.array([way[0], 0.0, 0.0]))
            task.velocity, task.acceleration = np.zeros(6), np.zeros(6)
            task.velocity[0], task.acceleration[0] = way[1:]


def maneuver() -> Maneuver:
    """The motion."""
    return Maneuver(
        "Brachiation: Talos swings along monkey bars with an unknown payload",
        hanging(),
        tuple(PointContact(palm) for palm in PALMS),
        Brachiation,
        DURATION,
        HELD,
        (0.0, HELD),
        HELD,
        UNSTEADY,
        NOTES,
    )


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Swing with a payload, and weigh it.

    Args:
        seed: of payload and noise.
        quick: clean sensors alone.
        say: takes sentences about the progress.
    """
    return weighed(maneuver(), seed, quick, say)


NOTES = (
    f"Something holds the robot still for {HELD:g} s before it swings; only the gyro's bias is taken from there.",
    "A hand that closes holds where it is, within some millimetres of the bar.",
)
