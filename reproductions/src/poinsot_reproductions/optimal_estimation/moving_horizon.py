"""Go1 walks, and in mid-walk a payload is put on its trunk: a moving horizon of 50 nodes weighs it as it goes.

The paper names moving-horizon estimation as future work (Martinez et al. 2024, Sect. VIII). Walk, sensors and noise
levels are those of `go1_payload`, clean sensors. Of the trunk the description is known well, and that its parameters
may change: the standard deviation of their random walk is a factor exp(`WALK`) in a second. Each node, 7 ms after the
one before, is one step of the estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from poinsot.arrays import Times, Vector
from poinsot.estimators.shooting.moving_horizon import MovingHorizon
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.report import Figure
from poinsot.report.figures.animation import ESTIMATED, TRUE, DrawnBodies, robot_animation
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..presentation import with_std
from .go1_payload import TOLERANT, carrier
from .go1_walk import PAYLOAD_MASS, TRUNK, Walk, payload, walk
from .robot_sensors import CLEAN, IMU, NODE, moved, read
from .weighing import problem

ATTACHED, DURATION, QUICK_DURATION = 3.5, 6.5, 5.0
"""When the payload is put on, and how long the robot walks [s]."""
KNOWN_STD = 0.02
"""Of each coordinate of the trunk's chart about the description."""
WALK = 0.3
"""Of each of them in a second: a payload like the trunk itself moves them by half of it to twice."""
FIRST_STATE = 0.02, 0.1
"""How well the first state is known: configuration [m], [rad] and speeds."""
NODES = 50
AFTER = 1.0
"""When the error is taken, after the payload was put on [s]."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """The payload as it was known at each node.

    Args:
        time: (K,) [s]. mass: (K,) of the payload [kg]. std: (K,) every `NODES` nodes, NaN between.
        pi: (K, 10) of trunk and payload. q: (K, nq) of the robot.
        milliseconds: (K,) of processor time that the step took.
    """

    time: Times
    mass: Vector
    std: Vector
    pi: np.ndarray
    q: np.ndarray
    milliseconds: Vector

    def at(self, time: float) -> int:
        """The last node not after a time [s]."""
        return int(np.searchsorted(self.time, time + 1e-9)) - 1


def weigh(walked: Walk, rng: np.random.Generator, say: Say = lambda _: None) -> Weighed:
    """Run the moving horizon over what clean sensors read."""
    robot = walked.robot.robot
    frame = robot.model.frames[robot.model.getFrameId(IMU)]
    motion = moved(walked, frame.placement.translation)
    readings, parameters = read(motion, CLEAN, rng), OpenParameters(robot, (TRUNK,))
    # each window takes one step, and right after the load is attached its model is far off
    chain = problem(carrier(robot), readings, CLEAN, TOLERANT).models[0]
    times = chain.times[chain.samples]
    durations, own = np.diff(times), robot.inertials[robot.bodies.index(TRUNK)]
    theta, p = parameters.nominal_theta, parameters.size
    estimator = MovingHorizon(WALK * np.ones(p), NODES)
    first = GaussianPrior.from_covariance(
        chain.initial_states[0], np.repeat(FIRST_STATE, robot.model.nv) ** 2
    )
    known = GaussianPrior.from_covariance(theta, np.full(p, KNOWN_STD**2))
    horizon = estimator.init(ShootingProblem((chain,), (first,), known))
    found: list[tuple[Any, ...]] = []
    for stage in range(1, chain.stages):
        begun = process_time()
        horizon = estimator.update(chain, horizon, float(durations[stage]))
        spent = 1e3 * (process_time() - begun)
        pi, std = parameters.physical(horizon.at.theta)[:10], np.nan
        if stage % NODES == 0:
            slope = parameters.physical_slope(horizon.at.theta)[0]
            std = float(np.sqrt(slope @ horizon.system.covariances()[0] @ slope))
            say(f"{times[stage + 1]:.2f} s: {pi[0] - own[0]:.3f} kg")
        found.append(
            (times[stage + 1], pi[0] - own[0], std, pi, horizon.at.x[0][-1, : robot.model.nq], spent)
        )
    return Weighed(*(np.array(column) for column in zip(*found, strict=True)))


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Walk, put the payload on, and weigh it sample by sample.

    Args:
        seed: of payload and noise.
        quick: a shorter walk.
    """
    watch = Stopwatch()
    load = payload(np.random.default_rng([seed, 0]))
    duration = QUICK_DURATION if quick else DURATION
    walked = walk(load, None, np.random.default_rng([seed, 1]), duration, start=ATTACHED)
    watch.lap("walk")
    weighed = weigh(walked, np.random.default_rng([seed, 2]), say)
    watch.lap("estimation")
    then = weighed.at(ATTACHED + AFTER)
    full = weighed.milliseconds[NODES:]
    error = 100 * (weighed.mass[then] / PAYLOAD_MASS - 1)
    before = weighed.mass[(weighed.time > 1.5) & (weighed.time < ATTACHED)]
    known = np.isfinite(weighed.std)
    rows: tuple[dict[str, Any], ...] = tuple(
        {
            "name": f"payload at {time:.2f} s",
            "paper": None,
            "ours": float(mass),
            "std": float(std),
            "truth": PAYLOAD_MASS if time >= ATTACHED else 0.0,
            "unit": "kg",
        }
        for time, mass, std in zip(weighed.time[known], weighed.mass[known], weighed.std[known], strict=True)
    )
    within = np.abs(weighed.mass - PAYLOAD_MASS) <= 0.05 * PAYLOAD_MASS
    since = weighed.time[(weighed.time >= ATTACHED) & ~within]
    figures = {
        "mass_error_percent_after_1s": float(error),
        "milliseconds_per_step": float(full.mean()),
        "milliseconds_per_step_p99": float(np.quantile(full, 0.99)),
        "seconds_to_5_percent": float(since[-1] - ATTACHED) if len(since) else 0.0,
        "largest_before_kg": float(np.abs(before).max()),
    }
    return Reproduction(
        "optimal-estimation",
        "001",
        "Moving horizon: Go1 gets a payload in mid-walk",
        f"A second after the payload of {PAYLOAD_MASS:g} kg was put on, it is known to {abs(error):.2f} %; 5 % are "
        f"reached after {figures['seconds_to_5_percent']:.2f} s. A step of {NODES} nodes takes "
        f"{figures['milliseconds_per_step']:.1f} ms of processor time; nodes are {NODE} ms apart.",
        rows,
        {
            "Payload": [
                {
                    "time": row["name"],
                    "truth [kg]": row["truth"],
                    "ours [kg]": with_std(row["ours"], row["std"]),
                }
                for row in rows
            ]
        },
        figures,
        {"nodes": f"{NODES}, every {NODE} ms", "payload put on": f"at {ATTACHED:g} s"},
        curves={
            "Mass of the payload": Curves(
                weighed.time,
                "kg",
                {"estimated": weighed.mass, "true": np.where(weighed.time >= ATTACHED, PAYLOAD_MASS, 0.0)},
            )
        },
        animations=(_animation(walked, weighed, load),),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _animation(walked: Walk, weighed: Weighed, load: Vector) -> Figure:
    robot = walked.robot.robot
    own = robot.inertials[robot.bodies.index(TRUNK)]
    place = (robot.bodies.index(TRUNK),)
    return robot_animation(
        "The walk as it was estimated at each node; trunk and payload as they were known at the end",
        robot,
        weighed.q,
        weighed.time,
        (
            DrawnBodies.known(robot),
            DrawnBodies("true trunk and payload", place, (own + load)[None], TRUE, 0.35),
            DrawnBodies("estimated", place, weighed.pi[-1:], ESTIMATED, 0.8),
        ),
    )


NOTES = (
    "The paper has no moving horizon; this case is ours.",
    "The time of a step is processor time on one core. On a machine on which it takes longer than the 7 ms between "
    "nodes, as may be here, the estimator would run behind the robot, or on every second node.",
)
