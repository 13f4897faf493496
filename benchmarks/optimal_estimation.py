"""One iteration of optimal estimation per node, with ten parameters, beside an iteration of FDDP without any.

    python benchmarks/optimal_estimation.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      trajectory and the base's ten parameters from encoders and an IMU, noise on all speeds: contact dynamics
             and residuals with all slopes, linear-quadratic problem, Riccati recursion, step, multiple-shooting rollout
crocoddyl    the same robot, contacts and number of nodes; state and torques are weighed, no sensors, no parameters

ANYmal on four points, Talos on two surfaces, standing, 400 nodes, one thread. Both are measured in their second
iteration, which has the dynamics of the guess already. crocoddyl runs in an environment of its own,

    python -m venv build/crocoddyl && build/crocoddyl/bin/pip install -r benchmarks/peers/crocoddyl.txt

since its wheels want another Pinocchio; CROCODDYL_PYTHON names another interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import support  # noqa: F401  BLAS on one thread, before NumPy
from support.report import Ratio, Row, deliver, options
from support.timing import ONE_THREAD, Program, Seconds, side_by_side

from poinsot.estimators.shooting.direction import (
    ShootingIterate,
    ShootingSearch,
    allocate_policies,
    linearized,
    linearized_end,
)
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.riccati import backward
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.estimators.shooting.rollout import MultipleShooting, stretches
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import Contact, ContactSchedule, PointContact, SurfaceContact
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.robot.robot_states import RobotStates
from poinsot.models.sensors import (
    Accelerometer,
    Gyro,
    JointPosition,
    JointVelocity,
    Orientation,
    Readings,
    frames_of,
    residuals,
)

NODES, STEP = 400, 2e-3
CATALOGUE = "cmeel.prefix/share/example-robot-data/robots"
FEET = tuple(PointContact(f"{leg}_FOOT") for leg in ("LF", "RF", "LH", "RH"))
SOLES = (SurfaceContact("left_sole_link"), SurfaceContact("right_sole_link"))
BENT = {"HFE": 0.7, "KFE": -1.0}
SITTING = {"3_joint": -0.4, "4_joint": 0.8, "5_joint": -0.4}
PEER = Path(__file__).parent / "peers" / "fddp_crocoddyl.py"


@dataclass(frozen=True)
class Robot:
    """A robot of the catalogue that stands.

    Args:
        path: its description. contacts: closed all the time. unit: frame of its IMU.
        posture: joints that are bent [rad]; of ANYmal's hind legs the other way round.
    """

    path: str
    contacts: tuple[Contact, ...]
    unit: str
    posture: Mapping[str, float]

    def load(self) -> Articulated:
        return load_robot(catalogue() / self.path, floating_base=True)

    def home(self, robot: Articulated) -> np.ndarray:
        """(nq,)"""
        q = np.zeros(robot.model.nq)
        q[2], q[6] = 1.0, 1.0
        for place, joint in enumerate(robot.joints):
            for end, angle in self.posture.items():
                if joint.endswith(end) and not joint.startswith("arm"):
                    q[7 + place] = -angle if joint[1] == "H" else angle
        return q


ROBOTS = {
    "ANYmal, four points": Robot("anymal_b_simple_description/robots/anymal.urdf", FEET, "base", BENT),
    "Talos, two surfaces": Robot("talos_data/robots/talos_reduced.urdf", SOLES, "imu_link", SITTING),
}


def main() -> None:
    arguments = options(__doc__)
    rounds = arguments.rounds or 7
    seconds: dict[str, Seconds] = {}
    ratios, rows, notes = [], [], []
    for name, robot in ROBOTS.items():
        case = Case.standing(robot, NODES)
        with Peer(robot) as peer:
            ours, _ = side_by_side(
                {"iteration": Program(case.iteration, 3), "peer": Program(peer.round)}, rounds
            )
        theirs = peer.medians()
        seconds[f"{name}, poinsot"] = ours["iteration"]
        seconds[f"{name}, crocoddyl"] = Seconds(theirs["iteration"], theirs["iteration"])
        ratio = seconds[f"{name}, poinsot"].processor / theirs["iteration"]
        ratios.append(Ratio(f"poinsot / crocoddyl, {name}", ratio, at_most=1))
        rows.append(
            Row(
                f"one iteration, {name}",
                per_node(ours["iteration"].processor),
                f"crocoddyl {peer.versions['crocoddyl']}",
                per_node(theirs["iteration"]),
                ratio,
            )
        )
        mine, _ = side_by_side({part: Program(run, 3) for part, (run, _) in case.parts().items()}, rounds)
        shares = {part: nodes for part, (_, nodes) in case.parts().items()}
        notes += [f"{name}, us a node:", *_table({k: 1e6 * mine[k].processor / shares[k] for k in mine})]
        notes += ["  crocoddyl:", *_table({k: per_node(each) for k, each in theirs.items()})]
    deliver("optimal_estimation", arguments, seconds, ratios, notes=notes, rows=rows)


def _table(values: Mapping[str, float]) -> list[str]:
    return [f"  {name:<46s} {value:6.1f}" for name, value in values.items()]


def per_node(seconds: float) -> float:
    """[us]"""
    return 1e6 * seconds / NODES


def catalogue() -> Path:
    try:
        return Path(str(metadata.distribution("example-robot-data").locate_file(CATALOGUE)))
    except metadata.PackageNotFoundError:
        sys.exit("the robots are read from the package example-robot-data: pip install 'poinsot[robots]'")


# ---------------------------------------------------------------------------------------------------------------- ours


@dataclass(frozen=True)
class Case:
    """A standing robot's recording, and a guess a millimetre off."""

    problem: ShootingProblem
    guess: Trajectories

    @classmethod
    def standing(cls, described: Robot, nodes: int) -> Case:
        robot = described.load()
        rng, n, S = np.random.default_rng(0), robot.model.nv, nodes + 1
        sensors = (
            JointPosition(robot, 1e-3),
            JointVelocity(robot, 5e-3),
            Orientation(robot, 5e-3, frame=described.unit),
            Gyro(robot, 3e-3, frame=described.unit),
            Accelerometer(robot, 0.03, frame=described.unit),
        )
        parameters = OpenParameters(robot, robot.bodies[:1])
        dynamics = ContactDynamics(parameters, described.contacts, frames_of(sensors))
        theta = parameters.nominal_theta
        q, v = described.home(robot)[None], np.zeros((1, n))
        free = dynamics(q, v, np.zeros((1, len(robot.joints))), theta, slopes=True)
        by_u = free.slopes[0].tau[0] @ free.effort_slope
        u = np.linalg.lstsq(by_u, -free.a[0], rcond=1e-6)[0]
        still = dynamics(q, v, u[None], theta)
        readings = []
        for sensor in sensors:
            values = np.repeat(sensor.predicted(still), S, axis=0)
            off = np.sqrt(np.diag(sensor.covariance)) * rng.standard_normal((S, sensor.size))
            if sensor.width == sensor.size:  # an orientation is a quaternion, and exact
                values = values + off
            readings.append(Readings(sensor, values))
        closed = np.ones((S, len(described.contacts)), dtype=bool)
        schedule = ContactSchedule(described.contacts, closed)
        times, commands, noise = STEP * np.arange(S), np.tile(u, (S, 1)), np.repeat([0.0, 1e-2], n)
        motion = RobotTrajectoryModel(parameters, schedule, times, commands, tuple(readings), noise)
        states = RobotStates(robot)
        rest = np.tile(np.concatenate([q[0], v[0]]), (S, 1))
        x = states.integrate(rest, 1e-3 * rng.standard_normal((S, 2 * n)))
        start = GaussianPrior.from_covariance(rest[0], np.full(2 * n, 1e-2))
        problem = ShootingProblem(
            (motion,), (start,), GaussianPrior.from_covariance(theta, np.full(len(theta), 0.1))
        )
        return cls(problem, Trajectories((x,), (np.zeros((nodes, n)),), theta))

    def iteration(self) -> float:
        """Direction and rollout; the cost after it."""
        direction = self.around().direction()
        return MultipleShooting().roll(self.problem, self._now, direction, 1.0).cost

    def around(self) -> ShootingIterate:
        if not hasattr(self, "_room"):
            object.__setattr__(self, "_room", allocate_policies(self.problem))
            object.__setattr__(self, "_now", MultipleShooting().begin(self.problem, self.guess))
        return ShootingIterate(ShootingSearch(self.problem, self._room), self._now)

    def parts(self) -> dict[str, tuple[Callable[[], object], int]]:
        """What an iteration consists of, indented what that consists of, and how many nodes each does."""
        motion, x, w, theta = self.problem.models[0], self.guess.x[0], self.guess.w[0], self.guess.theta
        T = stretches(motion)[0][1]
        direction, now = self.around().direction(), self._now
        stages, end = linearized(motion, x[: T + 1], w[:T], theta, 0), linearized_end(motion, x[-1], theta)
        assert isinstance(motion, RobotTrajectoryModel)
        dynamics, states = motion.modes[0], motion.manifold
        q, v = (np.ascontiguousarray(part) for part in states.split(x[:T]))
        moved = dynamics(q, v, motion.u[:T], theta, True)
        some = [each.some(np.arange(T)) for each in motion.readings]
        there = states.step(moved, STEP)
        noise = np.zeros((T, states.degrees))
        line = motion.linearize(0, x[:T], w[:T], theta)
        terms, inertials = dynamics._terms, motion.parameters.values(theta).inertials
        forces = ((c, moved.forces[:, moved.rows(c.frame)]) for c in dynamics.constraints)
        wrenches = np.concatenate([c.wrench(c.motion(moved.frames), f) for c, f in forces], axis=1)
        frames = (*dynamics._contact_frames, *dynamics.frames)
        return {
            "direction": (lambda: self.around().direction(), NODES),
            "  linear-quadratic problem": (lambda: linearized(motion, x[: T + 1], w[:T], theta, 0), T),
            "    contact dynamics with slopes": (lambda: dynamics(q, v, motion.u[:T], theta, True), T),
            "      mass matrix and bias": (lambda: terms.mass_and_bias(inertials, q, v), T),
            "      frames with slopes": (lambda: terms.frames(frames, q, v, moved.a, slopes=True), T),
            "      slopes of the inverse dynamics": (
                lambda: terms.inverse_dynamics_slopes(inertials, q, v, moved.a, wrenches, True),
                T,
            ),
            "    residuals of the sensors": (lambda: residuals(some, moved), T),
            "    step in time": (lambda: states.step(moved, STEP), T),
            "    noise": (lambda: states.disturbed(there, noise), T),
            "    carried to the next node's tangent": (
                lambda: states.carry(x[1 : T + 1], line.f, line.f_x, line.f_w, line.f_theta),
                T,
            ),
            "    gaps": (lambda: states.difference(x[1 : T + 1], line.f), T),
            "  Riccati recursion": (lambda: backward(stages, end), T),
            "rollout": (lambda: MultipleShooting().roll(self.problem, now, direction, 1.0), NODES),
            "  contact dynamics": (lambda: dynamics(q, v, motion.u[:T], theta), T),
        }


# ---------------------------------------------------------------------------------------------------------------- peer


class Peer:
    """crocoddyl's process, while it lives."""

    def __init__(self, described: Robot):
        robot = described.load()
        state = [*described.home(robot), *np.zeros(robot.model.nv)]
        self.case = {
            "path": str(catalogue() / described.path),
            "frames": [contact.frame for contact in described.contacts],
            "rows": described.contacts[0].size,
            "x": list(map(float, state)),
            "nodes": NODES,
            "dt": STEP,
        }
        self.rounds: list[dict[str, list[float]]] = []

    def __enter__(self) -> Peer:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        try:
            self.process = subprocess.Popen(
                [interpreter(), str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=environment | ONE_THREAD,
            )  # fmt: skip
        except OSError as error:
            sys.exit(f"the interpreter of crocoddyl's environment does not start: {error}")
        self.versions = self.ask(json.dumps(self.case))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()

    def ask(self, line: str) -> dict[str, Any]:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"crocoddyl ended with status {self.process.wait()}; its environment is {interpreter()}")
        return json.loads(answer)

    def round(self) -> None:
        """One more, in turn with ours."""
        self.rounds.append(self.ask("round"))

    def medians(self) -> dict[str, float]:
        """Processor seconds of each part; the first round is not counted."""
        counted = self.rounds[1:]
        return {name: median(one for each in counted for one in each[name]) for name in counted[0]}


def interpreter() -> str:
    """Of the environment that has crocoddyl."""
    own = Path(__file__).parents[1] / "build" / "crocoddyl" / "bin" / "python"
    found = os.environ.get("CROCODDYL_PYTHON") or (str(own) if own.exists() else "")
    if not found:
        sys.exit(
            "crocoddyl is the peer of this benchmark, in an environment of its own: python -m venv build/crocoddyl && "
            "build/crocoddyl/bin/pip install -r benchmarks/peers/crocoddyl.txt"
        )
    return found


if __name__ == "__main__":
    main()
