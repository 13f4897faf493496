"""Go1 walks with an unknown payload on its trunk: four cycles of a crawl in MuJoCo (Martinez et al. 2024, Sect. VI-C).

One foot after the other swings while three stand, and the trunk sways. The whole-body controller takes the trunk for
some body: the one of the description, as if there were no payload, or an estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from poinsot.arrays import Vector
from poinsot.estimators.online.belief import Tick

from ..online.simulation.closed_loop import FixedModel, Gains, Scenario, Trace, simulate
from ..online.simulation.gait import Stepping, Stride
from ..online.simulation.legged_robot import LeggedRobot, go1
from ..online.simulation.loads import Attached
from ..online.simulation.measurements import StateSensors
from ..online.simulation.whole_body import ContactLimits
from .robot_sensors import TrueMotion
from .weighing import random_box

TRUNK = "base"
"""The link of the description that trunk and payload are part of."""
PAYLOAD_MASS = 7.2
"""[kg]"""
SIZE = 0.24, 0.16, 0.10
"""Of the box on the trunk [m], up to 20 % different in each direction."""
PLACE, PLACE_SPREAD = (0.02, 0.0, 0.11), (0.03, 0.02, 0.01)
"""Of its centre in the trunk's frame, and by how much it is another each time [m]."""

DURATION = 14.0
"""[s]"""
STRIDE = Stride(
    length=0.02,
    height=0.05,
    shift=0.46,
    swing=0.34,
    start=1.1,
    search=0.15,
    settle=0.1,
    touch=1.5,
    lost=0.5,
    order=(2, 0, 3, 1),
    reach=0.7,
)
GAINS = Gains(
    height=250.0, turning=1500.0, centre=100.0, swing=600.0, joints=100.0, braking=30.0, holding=300.0
)
LIMITS = ContactLimits(friction=0.45, smallest_force=12.0, largest_force=400.0)
SWAY, SWAY_HZ = (0.08, 0.08, 0.08), (0.9, 0.7, 0.5)
"""Amplitudes [rad] and frequencies [Hz] with which the trunk rolls, pitches and yaws, so that its inertia shows."""
CONTROLLER_SENSORS = StateSensors(force=0.2)


def sway(time: float) -> tuple[Vector, Vector, Vector]:
    """Rotation vector of the trunk [rad], its rate and acceleration: sines that grow in a second from the first step.

    Its acceleration is that of sines of constant size.
    """
    since = max(time - STRIDE.start, 0.0)
    grown = min(since, 1.0)
    omega = 2 * np.pi * np.array(SWAY_HZ)
    size, phase = np.array(SWAY) * grown**2 * (3 - 2 * grown), omega * since
    return size * np.sin(phase), size * omega * np.cos(phase), -size * omega**2 * np.sin(phase)


def payload(rng: np.random.Generator) -> Vector:
    """(10,) pi of a box on the trunk, in the trunk's frame: another place, size and orientation each time."""
    return random_box(PAYLOAD_MASS, SIZE, PLACE, PLACE_SPREAD, rng)


@dataclass(frozen=True, eq=False)
class Walk(TrueMotion):
    """What the robot did.

    Args:
        robot: as it is described.
        trace: of the controller.
    """

    robot: LeggedRobot
    trace: Trace


def walk(
    load: Vector,
    assumed: Vector | None,
    rng: np.random.Generator,
    duration: float = DURATION,
    progress: Callable[[float], None] | None = None,
    start: float = 0.0,
) -> Walk:
    """Let Go1 walk with a load.

    Args:
        load: (10,) pi of what is on the trunk, in the trunk's frame.
        assumed: (10,) pi of what the controller takes the trunk for; None: the description's.
        rng: of the noise of the controller's sensors.
        duration: [s].
        progress: takes the simulated time at each full second [s].
        start: from when on the load is there [s].
    """
    robot = go1()
    own = robot.robot.inertials[robot.robot.bodies.index(TRUNK)]
    scenario = Scenario(
        robot,
        {TRUNK: Attached(own, load, start)},
        duration,
        gait=partial(Stepping, stride=STRIDE),
        turning=sway,
        sensors=CONTROLLER_SENSORS,
        gains=GAINS,
        limits=LIMITS,
    )
    ticks: list[Tick] = []
    model = FixedModel({TRUNK: own if assumed is None else assumed})
    trace = simulate(scenario, model, rng, progress, ticks.append)
    return Walk(
        np.array([tick.time for tick in ticks]),
        np.array([tick.q for tick in ticks]),
        np.array([tick.v for tick in ticks]),
        np.array([tick.tau for tick in ticks]),
        np.array([[wrench[2] for wrench in tick.wrenches.values()] for tick in ticks]),
        robot,
        trace,
    )


def swing_error(trace: Trace) -> float:
    """Root mean square distance of swinging feet from their reference [m]."""
    away = trace.feet - trace.swing
    return float(np.sqrt(np.nanmean(np.sum(away**2, axis=2))))


def height_error(trace: Trace) -> float:
    """Root mean square distance of the trunk from its height [m]."""
    return float(np.sqrt(np.mean(trace.height_error() ** 2)))
