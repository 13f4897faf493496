"""A humanoid with an unknown payload goes through a motion with contacts and flights, and its payload is weighed.

The plant is MuJoCo with a quarter of a millisecond a step. The controller solves a quadratic program for the tasks of a
motion at every second one. It takes the payload for the mean one of all seeds; the estimator knows nothing of it.
Motors are as strong as the motion needs. Commands and readings are those of every millisecond.

A contact is closed or open for the estimator as its force says: a sole's normal force, or that of the gripper's motor,
which is `SQUEEZE` while it is closed. The estimator has a node at each millisecond: the base turns by up to half a
degree in one, and a semi-implicit step errs in what depends on speeds by half its duration. How far the result moves
with nodes at each third millisecond is part of its standard deviations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from poinsot.arrays import Vector
from poinsot.models.contacts.contacts import Contact
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..normalized_errors import PHYSICAL_UNITS
from ..online.simulation.legged_robot import LeggedRobot
from ..online.simulation.plant import Grip, Plant
from ..online.simulation.tasks import Task
from ..online.simulation.whole_body import ContactLimits, WholeBodyController
from .robot_sensors import CLEAN, DEFECTS, TrueMotion, moved
from .weighing import CALLED, Carrier, Stated, Weighing, quantity_lines, random_box, weigh, weighing_animation

PERIOD, STEPS, CONTROL_STEPS = 1e-3, 4, 2
"""Of the recording [s], and time steps of the plant in it and in a step of the controller."""
SQUEEZE = 100.0
"""Force of the motor of a closed gripper [N]."""
FINE = Stated(
    torque=0.1, speed=(3e-4, 3e-4, 3e-4), doubt=(10.0, 1e4, 1e4, 1e4), closes_above=50.0, acceleration=0.03,
    node=1, edge=0, unit="base_link",
)  # fmt: skip
COARSE = replace(FINE, speed=(1e-3, 1e-3, 1e-3), node=3)
"""What the estimator is told, with a node at each millisecond, or at each third one.

Torques have the noise that they have; commands that were stated worse would let the estimate follow the noise of
encoders, which is cheapest for bodies without inertia. Where a contact is doubtful, speeds change as they will.
"""
FASTEST = 200.0
"""A joint faster than this has hit something [rad/s]."""
CONTACT = 1e-3
"""Time constant of MuJoCo's contacts [s]: a hard floor."""
EVEN = 100.0
"""Weight of wrenches over the usual one: feet that share a load unevenly take turns, and rattle."""
LIMITS = ContactLimits(friction=0.5, margin=0.6, largest_force=8000.0)
BACKPACK = "torso_2_link"
"""The body that carries the payload."""
MASS = 6.0, 10.0
"""Of the payload [kg]."""
SIZE, PLACE, PLACE_SPREAD = (0.2, 0.3, 0.35), (-0.2, 0.0, 0.15), (0.03, 0.03, 0.05)
"""Of its box on the back [m], and of its centre in the torso's frame, and by how much it is another each time [m]."""

Wanted = tuple[Sequence[Task], Mapping[str, float]]
"""Tasks, and foot or hand -> part of the largest force that it may carry; 0: it is open."""


class Director(ABC):
    """What a robot is to do, at each millisecond of a motion.

    Args:
        plant: the robot, of which hands are closed and opened.
        controller: of the robot, whose kinematics are up to date.
    """

    def __init__(self, plant: Plant, controller: WholeBodyController):
        self.plant, self.controller = plant, controller

    @abstractmethod
    def direct(self, time: float) -> Wanted:
        """What is wanted at a time.

        Args:
            time: since the beginning [s].
        """


@dataclass(frozen=True, eq=False)
class Maneuver:
    """A motion, and how it is estimated.

    Args:
        title: of the page.
        legged: the robot with the feet or hands of the motion, as it begins.
        contacts: the same for the estimator.
        director: makes the controller's tasks.
        duration: [s].
        held: for how long something holds the robot still before [s]; 0: it stands.
        standing: from when to when it is still [s].
        begins: when estimation does [s].
        unsteady: for how long a contact is doubtful after it closes and before it opens [samples].
        notes: about the motion.
    """

    title: str
    legged: LeggedRobot
    contacts: tuple[Contact, ...]
    director: Callable[[Plant, WholeBodyController], Director]
    duration: float
    held: float
    standing: tuple[float, float]
    begins: float
    unsteady: tuple[int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Performed(TrueMotion):
    """What the robot did; efforts are means over a millisecond.

    Args:
        unsolved: how often the controller had no solution.
        stop_margin: smallest distance of a joint to the end of its range [rad].
    """

    unsolved: int
    stop_margin: float


def critical(stiffness: float) -> float:
    """Critical damping [1/s] of a stiffness [1/s^2]."""
    return 2.0 * float(np.sqrt(stiffness))


def backpack(rng: np.random.Generator) -> Vector:
    """(10,) pi of the payload in the torso's frame."""
    return random_box(float(rng.uniform(*MASS)), SIZE, PLACE, PLACE_SPREAD, rng)


def perform(maneuver: Maneuver, load: Vector) -> Performed:
    """Let the robot go through a motion.

    Args:
        maneuver: the motion.
        load: (10,) pi of the payload in the torso's frame.
    """
    legged = maneuver.legged
    robot, n = legged.robot, legged.robot.model.nv
    own = robot.inertials[robot.bodies.index(BACKPACK)]
    strong = np.repeat([0.0, np.inf], [6, n - 6])
    plant = Plant(
        robot,
        soles=legged.soles,
        effort_limits=strong,
        timestep=PERIOD / STEPS,
        contact_time_constant=CONTACT,
    )
    plant.set_inertial(BACKPACK, own + load)
    plant.reset(legged.home)
    controller = WholeBodyController(
        robot, legged.soles, effort_limits=strong, limits=LIMITS, wrench_weight=EVEN
    )
    mean = random_box(float(np.mean(MASS)), SIZE, PLACE, (0.0, 0.0, 0.0), np.random.default_rng(0))
    controller.kinematics.set_bodies({BACKPACK: own + mean})
    controller.kinematics.update(legged.home, np.zeros(n))
    samples, unsolved = round(maneuver.duration / PERIOD), 0
    q, v, tau = np.empty((samples, n + 1)), np.empty((samples, n)), np.empty((samples, n))
    force = np.empty((samples, len(legged.soles)))
    # the order of sums must not depend on threads
    with threadpool_limits(limits=1, user_api="blas"):
        director = maneuver.director(plant, controller)
        for k in range(samples):
            q[k], v[k] = plant.q, plant.v
            if not np.abs(v[k]).max() < FASTEST:
                raise RuntimeError(f"{maneuver.title}: the robot moves too fast at {k * PERIOD:.3f} s")
            tau[k] = force[k] = 0.0
            for step in range(STEPS):
                if step % CONTROL_STEPS == 0:
                    controller.kinematics.update(plant.q, plant.v)
                    tasks, loads = director.direct(PERIOD * (k + step / STEPS))
                    command = controller.solve(tasks, loads)
                    unsolved += not command.solved
                plant.step(command.tau)
                tau[k] += command.tau / STEPS
                force[k] += [
                    (SQUEEZE * plant.holds(foot.body) if isinstance(foot, Grip) else wrench[2]) / STEPS
                    for foot, wrench in zip(legged.soles, plant.wrenches().values(), strict=True)
                ]
    low, high = robot.model.lowerPositionLimit[7:], robot.model.upperPositionLimit[7:]
    margin = float(np.minimum(q[:, 7:] - low, high - q[:, 7:]).min())
    held = round(maneuver.held / PERIOD)

    def after(values: np.ndarray, before: Any) -> np.ndarray:
        return np.concatenate([np.broadcast_to(before, (held, values.shape[1])), values])

    return Performed(
        PERIOD * np.arange(held + samples),
        after(q, q[0]), after(v, 0.0), after(tau, tau[0]), after(force, force[0]), unsolved, margin,
    )  # fmt: skip


def weighed(maneuver: Maneuver, seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Perform a motion with a payload, and weigh it with clean sensors and with defects.

    Args:
        maneuver: the motion.
        seed: of payload and noise.
        quick: clean sensors alone.
        say: takes sentences about the progress.
    """
    watch = Stopwatch()
    load = backpack(np.random.default_rng([seed, 0]))
    carrier = Carrier(maneuver.legged.robot, BACKPACK, maneuver.contacts, maneuver.standing, maneuver.begins)
    say("motion")
    did = perform(maneuver, load)
    motion = moved(did, np.zeros(3))
    watch.lap("motion")
    found: dict[str, Weighing] = {}
    for number, (name, quality) in enumerate((("clean", CLEAN), ("defects", DEFECTS))):
        if quick and name != "clean":
            continue
        say(f"estimation, {CALLED[name]}")
        rng = np.random.default_rng([seed, 1, number])
        found[name] = weigh(
            carrier, load, motion, quality, replace(FINE, unsteady=maneuver.unsteady), rng,
            replace(COARSE, unsteady=maneuver.unsteady),
        )  # fmt: skip
        watch.lap(name)
    quantities = {name: each.quantities(payload=True) for name, each in found.items()}
    figures = _figures(found["clean"])
    if "defects" in found:
        figures["with_defects"] = _figures(found["defects"])
    return Reproduction(
        "optimal-estimation",
        "001",
        maneuver.title,
        "The payload: " + "; ".join(_sentence(name, each) for name, each in found.items()) + ".",
        tuple(
            {"name": of, "sensors": name, "paper": None, "unit": PHYSICAL_UNITS[of], **each}
            for name, some in quantities.items()
            for of, each in some.items()
        ),
        {
            f"Payload in the frame of {BACKPACK}, {CALLED[name]}": quantity_lines(some)
            for name, some in quantities.items()
        },
        figures,
        {
            "recording": f"{len(did.time)} samples, {did.time[-1]:.2f} s, in MuJoCo",
            "largest effort [N m]": round(float(np.abs(did.tau).max())),
            "without contact [s]": round(PERIOD * float((did.force.max(axis=1) <= 0).sum()), 3),
            **{f"iterations, {name}": each.estimate.iterations for name, each in found.items()},
        },
        curves=_pictures(maneuver, did),
        animations=(weighing_animation(maneuver.legged.robot, BACKPACK, "torso", found["clean"]),),
        notes=(*maneuver.notes, *NOTES),
        seconds=watch.seconds,
    )


def _center_error(weighing: Weighing) -> float:
    """Distance between estimated and true centre of mass of the payload [m]."""
    quantities = weighing.quantities(payload=True)
    return float(np.linalg.norm([quantities[c]["ours"] - quantities[c]["truth"] for c in ("cx", "cy", "cz")]))


def _figures(weighing: Weighing) -> dict[str, Any]:
    estimate = weighing.estimate
    return {
        "mass_error_percent": weighing.mass_error_percent,
        "center_of_mass_error_m": _center_error(weighing),
        "iterations": estimate.iterations,
        "ending": estimate.status.name,
        "converged": estimate.status.converged,
        "outside_intervals": [
            name for name, each in weighing.quantities(payload=True).items() if not each["inside"]
        ],
        **weighing.delay_ms,
    }


def _sentence(name: str, weighing: Weighing) -> str:
    estimate = weighing.estimate
    return (
        f"with {CALLED[name]} its mass of {weighing.load[0]:.2f} kg is estimated as {weighing.mass:.2f} kg "
        f"({weighing.mass_error_percent:+.2f} %) and its centre of mass to {1e3 * _center_error(weighing):.1f} mm, in "
        f"{estimate.iterations} iterations ({estimate.status.name})"
    )


def _pictures(maneuver: Maneuver, did: Performed) -> dict[str, Curves]:
    joints = ("leg_left_3_joint", "leg_left_4_joint", "arm_left_2_joint", "arm_left_4_joint")
    places = [7 + maneuver.legged.robot.joints.index(joint) for joint in joints]
    return {
        "Pelvis": Curves(did.time, "m", {"forward": did.q[:, 0], "height": did.q[:, 2]}),
        "Contact forces, of a closed gripper that of its motor": Curves(
            did.time, "N", {c.frame: f for c, f in zip(maneuver.contacts, did.force.T, strict=True)}
        ),
        "Joints": Curves(
            did.time, "rad", {name: did.q[:, at] for name, at in zip(joints, places, strict=True)}
        ),
    }


NOTES = (
    "The paper shows this case in a video, without numbers, with motions made by Crocoddyl. These are made by a "
    "whole-body controller, whose motors are as strong as they need to be.",
    "MuJoCo's contacts are soft, and it takes four steps in a millisecond; the estimator has rigid contacts and one "
    "step. It knows neither the payload nor what the controller takes it for.",
    "With clean sensors a gyro's bias is its mean while the robot is still. With defects biases, misalignment and "
    "delay are estimated with the payload, from priors of the standard deviations that they have, 5 ms for the delay.",
)
