"""Open-loop simulation of a robot's actuators in MuJoCo, from a written file: commands in, positions out.

All joints move together, as the file describes them. What MJCF has no attribute for is applied here. Ramp, delay, lag,
play and the gain on the command's rate depend on the command alone, so they are computed for a whole motion before it
starts; so is the delay, which MuJoCo would interpolate between its time steps. Effects that depend on the state (dead
band, a speed-torque line, friction that varies) change the file's numbers before each time step, in compiled code that
calls MuJoCo's library.
"""

from __future__ import annotations

import copy
import ctypes
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from ..arrays import JointSamples, Times, Vector
from ..exceptions import InvalidModel, UnreadableFile, listing
from ..kernels import njit
from ..models.friction.law import DRY, EFFORT, FIRST, effort_at
from ..models.robot.articulated import Articulated
from ..models.servo.actuator import Actuator
from ..models.servo.kernel import COMPILED, DEAD, FC, KD, KP, KV, LIMIT, NO_LOAD, ZERO, soft
from ..models.servo.mjcf import TIMESTEP_S, actuators_of, mjcf_text
from ..models.servo.rollout import active_laws, parameter_vector, rollout_parameters
from ..models.servo.setpoint import Commands

if TYPE_CHECKING:
    from ..estimators.servo import problem


@dataclass(frozen=True, eq=False)
class Motion:
    """What a simulation of a recorded motion starts from.

    Args:
        name: of the recording.
        time: (T,) from 0, increasing [s].
        commands: (T, n) of the joints with actuators, in the file's order [rad].
        position: (n,) at the first sample [rad]. velocity: (n,) there [rad/s].
        voltage: (T, n) supply of each actuator [V]; None: the nominal one.
        given: (n,) the commands at their own times; None: at those of the samples.
    """

    name: str
    time: Times
    commands: JointSamples
    position: Vector
    velocity: Vector
    voltage: JointSamples | None = None
    given: Sequence[Commands] | None = None


def recorded_motion(
    motion: problem.CommandedMotion, actuators: Sequence[Actuator], start: tuple[Vector, Vector] | None = None
) -> Motion:
    """A recorded motion from a start of (n,) positions and (n,) velocities; None: the measured one."""
    time = motion.steps.time
    position, velocity = (motion.start_position, motion.start_velocity) if start is None else start
    recorded = [motion.voltages.get(each.name) for each in actuators]
    voltage = [
        np.full(len(time), each.nominal_voltage)
        if volts is None
        else np.interp(time, motion.steps.middles, volts)
        for each, volts in zip(actuators, recorded, strict=True)
    ]
    voltages = np.stack(voltage, axis=1) if any(volts is not None for volts in recorded) else None
    given = [each.shifted(-time[0]) for each in motion.commands]
    return Motion(motion.name, time - time[0], motion.command, position, velocity, voltages, given)


@dataclass(frozen=True, eq=False)
class Simulator:
    """A robot with position servos, simulated in MuJoCo.

    Args:
        model: MuJoCo's.
        actuators: of its joints, in the order of the file.
        hold: whether a command keeps its value until the next one; else it is linear between samples.

    Raises:
        InvalidModel: if the motion would depend on the time step: a derivative gain on the impulses of held commands.
    """

    model: mujoco.MjModel
    actuators: tuple[Actuator, ...]
    hold: bool = True

    def __post_init__(self) -> None:
        h = self.model.opt.timestep
        for each in self.actuators:
            cut = math.isfinite(each.torque_limit) or each.has_friction_by_torque
            if self.hold and each.derivative_gain > 0 and cut and each.ramp < h * (1 - 1e-9):
                raise InvalidModel(
                    f"the actuator of {each.name!r} has a derivative gain and ramp = {each.ramp:g}: with commands that "
                    f"are held its torque depends on the time step of {h:g} s; write ramp = the seconds between two "
                    "commands, or let commands be linear between samples (hold=False)"
                )

    @staticmethod
    def load(path: str | Path, *, hold: bool = True) -> Simulator:
        """Read a file that `write_mjcf` wrote.

        Raises:
            UnreadableFile: if MuJoCo cannot read it.
            InvalidModel: if it has an actuator that is no position servo of a joint.
        """
        try:
            spec = mujoco.MjSpec.from_file(str(path))
            actuators = actuators_of(spec.compile())
            return Simulator(_without_delays(spec), actuators, hold)
        except ValueError as error:
            raise UnreadableFile(f"MuJoCo cannot read {path}: {error}") from error

    @staticmethod
    def of(
        robot: Articulated, actuators: Sequence[Actuator], *, timestep: float = TIMESTEP_S, hold: bool = True
    ) -> Simulator:
        """The simulator of the file that `write_mjcf` would write.

        Raises:
            InvalidModel: see `mjcf_text`.
        """
        text = mjcf_text(robot, actuators, timestep=timestep)
        try:
            model = _without_delays(mujoco.MjSpec.from_string(text))
        except ValueError as error:
            raise InvalidModel(f"MuJoCo cannot simulate robot {robot.name!r}: {error}") from error
        return Simulator(model, tuple(actuators), hold)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints with actuators."""
        return tuple(actuator.name for actuator in self.actuators)

    @cached_property
    def positions_index(self) -> np.ndarray:
        """(n,) places of the joints in MuJoCo's qpos."""
        return self.model.jnt_qposadr[self.model.actuator_trnid[:, 0]]

    @cached_property
    def velocities_index(self) -> np.ndarray:
        """(n,) places of the joints in MuJoCo's qvel."""
        return self.model.jnt_dofadr[self.model.actuator_trnid[:, 0]]

    def roll_out(self, motion: Motion) -> JointSamples:
        """(T, n) positions at the motion's samples, from its first position and its commands [rad].

        They are NaN from where the simulation has no finite value.

        Raises:
            InvalidModel: if the commands are not one column a joint.
        """
        if motion.commands.shape[1] != len(self.actuators):
            raise InvalidModel(
                f"{motion.name} has commands of {motion.commands.shape[1]} joints; the file has actuators of "
                f"{listing(self.joints)}"
            )
        h = self.model.opt.timestep
        # the last step ends at or after the last sample
        steps = max(int(np.ceil(motion.time[-1] / h - 1e-9)), 1)
        shaped = [
            shaped_command(actuator, commands, h, steps, start=motion.time[0])
            for actuator, commands in zip(self.actuators, self._commands(motion), strict=True)
        ]
        smoothed, rate = (np.column_stack(each) for each in zip(*shaped, strict=True))
        data = mujoco.MjData(self.model)
        data.qpos[self.positions_index], data.qvel[self.velocities_index] = motion.position, motion.velocity
        q = _stepwise(self, data, smoothed, rate, self._supply(motion, h * (np.arange(steps) + 0.5)))
        time = h * np.arange(steps + 1)
        return np.column_stack([np.interp(motion.time, time, column) for column in q.T])

    def _commands(self, motion: Motion) -> Sequence[Commands]:
        if motion.given is not None:
            return motion.given
        return [Commands.of_rows(motion.time, column, hold=self.hold) for column in motion.commands.T]

    def _supply(self, motion: Motion, at: Times) -> JointSamples:
        """(S, n) supply voltage over the nominal one, at times (S,)."""
        nominal = [each.nominal_voltage for each in self.actuators]
        supply = np.ones((len(at), len(nominal)))
        if motion.voltage is not None:
            for k, (volts, column) in enumerate(zip(nominal, motion.voltage.T, strict=True)):
                if volts > 0:
                    supply[:, k] = np.interp(at, motion.time, column) / volts
        return supply


def _without_delays(spec: mujoco.MjSpec) -> mujoco.MjModel:
    for each in spec.actuators:
        each.delay, each.nsample = 0.0, 0
    return spec.compile()


def shaped_command(
    actuator: Actuator, commands: Commands, timestep: float, steps: int, *, start: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The command behind ramp, delay, lag and play when each time step begins, and its rate; see `rollout`.

    MuJoCo computes a step's torque from the positions at its beginning, and moves them with the speed at its end. Taken
    for the speed in the middle, that is second order in the step for commands and positions of one time.

    Args:
        commands: that it gets; they are constant before the first.
        timestep: h [s]. steps: S, the first one from `start` [s].

    Returns:
        (S,) r [rad], from its means over the steps before and behind, and (S,) its rate between them [rad/s].
    """
    late = start + timestep * np.arange(steps + 1) - actuator.delay
    setpoint = commands.setpoint(actuator.ramp)
    first = float(Commands(setpoint.time, setpoint.position, setpoint.hold).at(late[:1])[0])
    S = setpoint.integral(late)
    w = np.diff(S) / timestep
    if actuator.lag > 0:
        from scipy.signal import lfilter  # slow to import

        a = float(np.exp(-timestep / actuator.lag))
        w, _ = lfilter([1.0 - a], [1.0, -a], w, zi=[a * first])
    if actuator.backlash > 0:
        w = _play(w, first, 0.5 * actuator.backlash)
    before = np.concatenate([[first], w[:-1]])
    return 0.5 * (before + w), (w - before) / timestep


@njit(cache=True)
def _play(w: np.ndarray, start: float, half: float) -> np.ndarray:
    """What follows w with play of this half-width to either side."""
    r = np.empty_like(w)
    for k in range(len(w)):
        start = min(max(start, w[k] - half), w[k] + half)
        r[k] = start
    return r


def _stepwise(
    simulator: Simulator,
    data: mujoco.MjData,
    smoothed: JointSamples,
    rate: JointSamples,
    supply: JointSamples,
) -> np.ndarray:
    """(S + 1, n) positions; before each step a copy of the model has gains, friction and limits of supply and state."""
    model = copy.copy(simulator.model)
    actuators, step = simulator.actuators, _native_step()
    count = len(rollout_parameters())
    theta = np.array([parameter_vector(each, 0.0, 0.0)[:count] for each in actuators])
    laws = active_laws(theta.sum(axis=0))
    ends = np.cumsum([0, *(len(each.friction_positions) for each in actuators)])
    positions = np.array([x for each in actuators for x in each.friction_positions], dtype=float)
    levels = np.array([x for each in actuators for x in each.friction_levels], dtype=float)
    q = np.full((len(smoothed) + 1, len(actuators)), np.nan)
    mujoco.mj_forward(model, data)
    advance = _advance if step is not None else _advance.py_func
    advance(
        step or (lambda *_: mujoco.mj_step(model, data)), model._address, data._address, theta, laws, ends, positions,
        levels, simulator.positions_index, simulator.velocities_index, smoothed, rate, supply, data.qpos, data.qvel,
        data.qfrc_bias, data.qfrc_applied, data.ctrl, model.dof_frictionloss, model.actuator_forcerange,
        model.actuator_gainprm, model.actuator_biasprm, data.warning.number, q,
    )  # fmt: skip
    return q


@cache
def _native_step() -> Any:
    """`mj_step` of MuJoCo's library for compiled code; None where its file is not found, and Python calls it."""
    folder = Path(mujoco.__file__).parent
    for path in (*folder.glob("libmujoco*"), *folder.glob("mujoco.dll")):
        step = ctypes.CDLL(str(path)).mj_step
        step.argtypes, step.restype = [ctypes.c_size_t, ctypes.c_size_t], None
        return step
    return None


@njit(**COMPILED)
def _advance(
    step, model, data, theta, laws, ends, positions, levels, at, dof, smoothed, rate, supply, qpos, qvel, bias, applied,
    control, loss, forces, gains, biases, warnings, q,
):  # fmt: skip
    """Fill q (S + 1, n); it stays as it is from where MuJoCo starts anew, as its state is not finite or too large.

    `bias` is that of the state one step ago: what it will be is extrapolated from the last two.
    """
    before = bias.copy()
    for k in range(len(q)):
        for j in range(len(theta)):
            q[k, j] = qpos[at[j]]
        if k == len(smoothed):
            break
        for j in range(len(theta)):
            a, x, v = theta[j], qpos[at[j]], qvel[dof[j]]
            l = 2.0 * bias[dof[j]] - before[dof[j]]
            before[dof[j]] = bias[dof[j]]
            e = soft(smoothed[k, j] + a[ZERO] - x, a[DEAD])
            u = supply[k, j]
            high, low = u * a[LIMIT], u * a[LIMIT]
            if np.isfinite(a[NO_LOAD]) and np.isfinite(a[LIMIT]):
                high -= a[LIMIT] * max(v, 0.0) / a[NO_LOAD]
                low += a[LIMIT] * min(v, 0.0) / a[NO_LOAD]
            if np.isfinite(a[LIMIT]):
                forces[j, 0], forces[j, 1] = -low, high
            gains[j, 0], biases[j, 0], biases[j, 1] = u * a[KP], u * a[KP] * a[ZERO], -u * a[KP]
            biases[j, 2] = -u * (a[KD] + a[KV])
            m = min(max(u * (a[KP] * e + a[KD] * (rate[k, j] - v) - a[KV] * v), -low), high)
            level, resistance = a[FC], 0.0
            for n in range(len(laws)):
                effort = effort_at(laws[n, EFFORT], v, m, l, x, a.ctypes.data + 8 * laws[n, FIRST])
                if laws[n, DRY]:
                    level += effort
                else:
                    resistance += effort
            applied[dof[j]] = -resistance
            if ends[j + 1] > ends[j]:
                table = slice(ends[j], ends[j + 1])
                level += np.interp(x, positions[table], levels[table])
            loss[dof[j]] = max(level, 0.0)
            control[j] = e + x - a[ZERO] + a[KD] / a[KP] * rate[k, j]
        step(model, data)
        if warnings.any():
            break


def roll_out_all(jobs: Iterable[tuple[Simulator, Motion]]) -> list[JointSamples]:
    """`simulator.roll_out(motion)` of every job, in as many threads as there are processors, in their order."""
    listed = list(jobs)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda job: job[0].roll_out(job[1]), listed))
