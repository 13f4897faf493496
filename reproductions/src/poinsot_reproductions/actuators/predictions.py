"""Open-loop predictions of recorded motions, and what they are compared with.

command        "position = command"
lag            the command behind a delay and a first-order lag, both fitted for each joint to the motions of the fit
published      the actuators of a published simulation model, in the same mechanism
ours           the written file, loaded again
MuJoCo alone   an estimate without what MJCF has no attribute for: its file, in MuJoCo and nothing else
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from poinsot import Recording
from poinsot.accuracy import Accuracy
from poinsot.arrays import JointSamples, Vector
from poinsot.estimators.servo.output_error import OutputError
from poinsot.estimators.servo.search import Search
from poinsot.models.robot.articulated import Articulated
from poinsot.models.servo.actuator import Actuator
from poinsot.models.servo.mechanics import smoothed
from poinsot.models.servo.mjcf import mjcf_text, write_mjcf
from poinsot.models.servo.setpoint import Commands
from poinsot.simulation.actuators import Motion, Simulator, roll_out_all, shaped_command

from ..case import Curves

LONGEST_STEP_S = 0.0045
LAG_STEP_S = 0.005
AS_DESCRIBED: dict[str, Any] = {"accuracy": Accuracy(exact=True)}
"""Settings of problems whose estimates are compared with simulations or estimates of the same description: what is
wrong with it is the same in both."""

FROM_START = OutputError(search=Search(draws=0, refined=1, finished=1), rounds=1)
"""From the start that the problem names, and no other."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recorded motion of all joints.

    Args:
        motion: commands and start. measured: (T, n) [rad].
    """

    motion: Motion
    measured: JointSamples

    @staticmethod
    def of(name: str, recording: Recording, joints: Sequence[str]) -> Recorded:
        """From `position_command.JOINT` and `position.JOINT` of every joint."""
        time = recording.time - recording.time[0]
        command, measured = (
            np.stack([recording.channels[f"{quantity}.{joint}"] for joint in joints], axis=1)
            for quantity in ("position_command", "position")
        )
        _, velocity, _ = smoothed(time, measured)
        return Recorded(Motion(name, time, command, measured[0], velocity[0]), measured)

    def curves(self, simulated: JointSamples, j: int) -> Curves:
        """Commanded, measured and simulated positions of joint j."""
        positions = {"commanded": self.motion.commands, "measured": self.measured, "simulated": simulated}
        return Curves(self.motion.time, "rad", {name: q[:, j] for name, q in positions.items()})

    def rms(self, predicted: JointSamples) -> Vector:
        """(n,) root mean square errors [rad]."""
        return np.sqrt(np.mean((predicted - self.measured) ** 2, axis=0))


def timestep_of(recorded: Recorded) -> float:
    """The time step of a simulation: a whole part of the median interval, at most `LONGEST_STEP_S` [s]."""
    interval = round(float(np.median(np.diff(recorded.motion.time))), 4)
    return interval / int(np.ceil(interval / LONGEST_STEP_S - 1e-9))


def predict(
    robot: Articulated, actuators: Sequence[Actuator], recorded: Sequence[Recorded]
) -> tuple[list[JointSamples], tuple[str, ...]]:
    """Positions (T, n) of every motion, from a file that is written and loaded again, and what it cannot hold."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        beyond = write_mjcf(robot, actuators, path, timestep=timestep_of(recorded[0]))
        simulator = Simulator.load(path)
    return roll_out_all((simulator, recording.motion) for recording in recorded), beyond


def predict_in_mujoco_alone(
    robot: Articulated, actuators: Sequence[Actuator], recorded: Sequence[Recorded]
) -> list[JointSamples]:
    """Positions (T, n) of every motion from the file and MuJoCo's own step, each command written as it comes."""
    import mujoco

    h = timestep_of(recorded[0])
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot, actuators, timestep=h))
    positions = []
    for motion in (recording.motion for recording in recorded):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = motion.position, motion.velocity
        for k in np.flatnonzero(model.actuator_delay):
            count = int(model.actuator_history[k, 0])
            mujoco.mj_initCtrlHistory(model, data, k, None, np.full((count, 1), motion.commands[0, k]))
        time = h * np.arange(int(np.ceil(motion.time[-1] / h - 1e-9)) + 1)
        held = np.clip(np.searchsorted(motion.time, time, side="right") - 1, 0, None)
        q = np.empty((len(time), model.nq))
        for row, at in zip(q, held, strict=True):
            row[:], data.ctrl[:] = data.qpos, motion.commands[at]
            mujoco.mj_step(model, data)
        positions.append(np.column_stack([np.interp(motion.time, time, column) for column in q.T]))
    return positions


def delay_and_lag(recorded: Sequence[Recorded]) -> tuple[Actuator, ...]:
    """For each joint the delay and the lag of its command that come closest to its motions."""
    from scipy.optimize import minimize

    joints = recorded[0].measured.shape[1]
    actuators = []
    for j in range(joints):

        def cost(x: Vector, j: int = j) -> float:
            actuator = Actuator("", 1.0, delay=abs(float(x[0])), lag=abs(float(x[1])))
            return sum(
                float(np.sum((_lagged(actuator, recording, j) - recording.measured[:, j]) ** 2))
                for recording in recorded
            )

        best = minimize(cost, [0.05, 0.05], method="Nelder-Mead", options={"maxiter": 60, "xatol": 1e-4})
        actuators.append(Actuator("", 1.0, delay=abs(float(best.x[0])), lag=abs(float(best.x[1]))))
    return tuple(actuators)


def lagged(actuators: Sequence[Actuator], recorded: Recorded) -> JointSamples:
    """(T, n) commands behind delay and lag."""
    return np.stack([_lagged(actuator, recorded, j) for j, actuator in enumerate(actuators)], axis=1)


def _lagged(actuator: Actuator, recorded: Recorded, j: int) -> Vector:
    motion = recorded.motion
    steps = int(np.ceil(motion.time[-1] / LAG_STEP_S))
    commands = Commands.of_rows(motion.time, motion.commands[:, j], hold=True)
    w, _ = shaped_command(actuator, commands, LAG_STEP_S, steps, start=motion.time[0])
    return np.interp(
        motion.time, LAG_STEP_S * np.arange(steps + 1), np.concatenate([motion.commands[:1, j], w])
    )


def published(joints: Sequence[str], numbers: Mapping[str, float]) -> tuple[Actuator, ...]:
    """The same actuator for every joint."""
    return tuple(replace(Actuator("", numbers["stiffness"]), name=joint).updated(numbers) for joint in joints)
