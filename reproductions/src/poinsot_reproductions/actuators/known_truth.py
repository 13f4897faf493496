"""Robots whose actuators are known: intervals of estimates against the truth, over many draws.

Two robots are simulated in MuJoCo, by its own dynamics, all joints coupled, in steps of 0.05 ms: an arm of six joints
(SO-101) at 50 Hz, whose servos interpolate between commands and have a derivative gain on the command error; and a
quadruped of twelve (Go2) with its base fixed in the air at 200 Hz, whose commands are held and whose proportional and
derivative gains are known. Each draw has other parameters, motions and noise. Motions are made of the shapes of
`poinsot excite --commands`, at its speed: slow sines do not tell a delay from damping where a joint is light. Commands
reach the controllers 1.6 samples late. Positions have noise and are rounded to the encoder's steps, as on the real
ones.

The estimator gets commands, positions and the links. Every parameter that it calls identifiable counts; where it says
that a joint's recordings do not show the scale of its torques, their ratios to the stiffness count in their place.
"""

from __future__ import annotations

import sysconfig
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

from poinsot import OPEN, Actuator, ActuatorProblem, Actuators, OutputError, Recording, Search, load_robot
from poinsot.cli.excite import MAX_COMMAND_VELOCITY
from poinsot.estimators.servo.command_design import SHAPES
from poinsot.models.robot.articulated import Articulated
from poinsot.stopwatch import Stopwatch
from poinsot.studies.store import Store
from poinsot.studies.study import Study

from ..case import Reproduction, Say
from .predictions import AS_DESCRIBED

DRAWS = 100
SECONDS = 24.0
AMPLITUDE = (0.2, 0.35)
"""Bounds of the amplitude of each shape of commands [rad]."""

STEP = 5e-5
DELAY_SAMPLES = 1.6
COVERED = 1.959963984540054
"""Half width of a 95 % interval in standard deviations."""


@dataclass(frozen=True)
class Robot:
    """A simulated robot.

    Args:
        path: path of its description in example-robot-data. rate_hz: rate of commands and positions.
        noise, quantum: noise of positions, resolution of positions and commands [rad].
        hold: whether commands are held. center: joint name's ending -> middle of its motion [rad].
        ranges: parameter -> least and largest value that is drawn. known: parameters that the estimator gets.
        open: those that it estimates.
    """

    path: tuple[str, ...]
    rate_hz: float
    noise: float
    quantum: float
    hold: bool
    center: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    known: tuple[str, ...]
    open: tuple[str, ...]


ROBOTS = {
    "arm": Robot(
        ("so_arm_description", "urdf", "so101.urdf"), 50.0, 5e-4, 2 * np.pi / 4096, False,
        {"shoulder_lift": -0.3, "elbow_flex": 0.5},
        {"stiffness": (12, 25), "derivative_gain": (0.1, 0.4), "damping": (0.4, 0.8), "coulomb": (0.05, 0.12),
         "armature": (0.015, 0.03), "torque_limit": (0.8, 1.6), "zero": (-0.02, 0.02)},
        (), OPEN,
    ),
    "quadruped": Robot(
        ("go2_description", "urdf", "go2.urdf"), 200.0, 3e-4, 2e-4, True,
        {"thigh_joint": 0.9, "calf_joint": -1.8},
        {"stiffness": (20, 20), "velocity_gain": (1.5, 1.5), "damping": (0.05, 0.4), "coulomb": (0.2, 0.8),
         "armature": (0.005, 0.02), "zero": (-0.02, 0.02)},
        ("stiffness", "velocity_gain"), ("damping", "coulomb", "armature", "delay", "zero"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """One robot, one draw. `seed`: seeds of the case, the robot and the draw."""

    robot: str
    number: int
    seed: int


def run(seed: int, *, say: Say, draws: int = DRAWS) -> Reproduction:
    """Simulate and estimate `draws` times, half of them with each robot."""
    watch = Stopwatch()
    names = tuple(ROBOTS)
    jobs = {f"{names[k % 2]} {k // 2 + 1}": Draw(names[k % 2], k, seed) for k in range(draws)}
    store = Store("actuators-known-truth", {"seed": seed, "draws": draws})
    done = Study(jobs, estimate_draw, unit="draws estimated").run(store=store, say=say)
    watch.lap("draws")
    errors: dict[str, list[float]] = defaultdict(list)
    delays, undetermined = [], 0
    for name, result in done.items():
        for parameter, error in result["errors"]:
            errors[f"{name.split()[0]}: {parameter}"].append(error)
        delays += result["delays"]
        undetermined += result["undetermined"]
    everything = np.concatenate([np.array(values) for values in errors.values()])
    inside = 100 * float(np.mean(np.abs(everything) < COVERED))
    rows: list[dict[str, Any]] = [
        {
            "parameter": name,
            "count": len(values),
            "inside_percent": 100 * float(np.mean(np.abs(values) < COVERED)),
            "rms_normalized_error": float(np.sqrt(np.mean(np.square(values)))),
        }
        for name, values in sorted(errors.items())
    ]
    figures = {
        "inside_percent": inside,
        "least_inside_percent": min(row["inside_percent"] for row in rows),
        "delay_error_ms": 1e3 * float(np.sqrt(np.mean(np.square(delays)))),
        "parameters": len(everything),
        "undetermined": undetermined,
        "draws": draws,
    }
    shown = [{key: (round(v, 2) if isinstance(v, float) else v) for key, v in row.items()} for row in rows]
    return Reproduction(
        "actuators-known-truth",
        "",
        "Actuators of simulated robots whose parameters are known",
        f"{draws} draws of an arm and a quadruped, simulated in MuJoCo: {inside:.1f} % of {len(everything)} parameters "
        "are inside their 95 % intervals.",
        tuple(rows),
        {"Parameters inside their 95 % intervals": shown},
        figures=figures,
        facts={
            "inside their intervals [%]": f"{inside:.1f}",
            "delay [ms rms]": f"{figures['delay_error_ms']:.3f}",
        },
        notes=("A parameter that the estimator calls not identifiable is not counted.",),
        seconds={"total": watch.seconds["draws"]},
    )


def estimate_draw(draw: Draw) -> dict[str, Any]:
    """Normalized errors of the parameters of all joints, errors of the delay [s], how many were not identifiable."""
    about = ROBOTS[draw.robot]
    rng = np.random.default_rng([draw.seed, draw.number])
    robot = robot_of(draw.robot)
    truth = tuple(draw_actuator(about, joint, rng) for joint in robot.joints)
    recording = simulate(draw.robot, truth, rng)
    problem = ActuatorProblem(
        robot,
        {"simulated": recording},
        open=about.open,
        held={name: about.ranges[name][0] for name in about.known},
        hold=about.hold,
        step_s=0.0005,
        **AS_DESCRIBED,
    )
    estimate = OutputError(Search(draws=400, refined=8, finished=3, hops=5)).solve(problem)
    actuators = estimate.extra(Actuators)
    assert actuators is not None
    by_joint = {actuator.name: actuator for actuator in truth}
    errors, delays, undetermined = [], [], 0
    p = estimate.parameters
    for joint, kind, value, std, known in zip(
        p.owners, p.kinds, p.values, p.std, p.identifiable, strict=True
    ):
        error = float(value - by_joint[joint].values[kind])
        if kind == "delay":
            delays.append(error)
        if known:
            errors.append((kind, error / float(std)))
        elif actuators.scale_known[joint] or kind == "stiffness":
            undetermined += 1
    errors += [
        (ratio.name, (ratio.value - ratio.of(by_joint[ratio.joint])) / ratio.std)
        for ratio in actuators.ratios
        if not actuators.scale_known[ratio.joint] and ratio.identifiable
    ]
    return {"errors": errors, "delays": delays, "undetermined": undetermined}


def draw_actuator(about: Robot, joint: str, rng: np.random.Generator) -> Actuator:
    """Parameters of a joint, uniform in their ranges."""
    values: dict[str, Any] = {name: float(rng.uniform(*limits)) for name, limits in about.ranges.items()}
    return Actuator(joint, delay=DELAY_SAMPLES / about.rate_hz, **values)


def draw_commands(about: Robot, joints: tuple[str, ...], rng: np.random.Generator) -> np.ndarray:
    """(T, n) the shapes of `poinsot excite --commands`, each once, in random order; in the encoder's steps [rad]."""
    time = np.arange(round(SECONDS / len(SHAPES) * about.rate_hz)) / about.rate_hz
    commands = []
    for joint in joints:
        center = next((value for ending, value in about.center.items() if joint.endswith(ending)), 0.0)
        waves = [
            SHAPES[name](time, rng.uniform(*AMPLITUDE), MAX_COMMAND_VELOCITY["rad"])
            for name in rng.permutation(list(SHAPES))
        ]
        commands.append(center + np.concatenate(waves))
    return np.round(np.stack(commands, axis=1) / about.quantum) * about.quantum


def simulate(name: str, truth: tuple[Actuator, ...], rng: np.random.Generator) -> Recording:
    """A recording of the robot, simulated in MuJoCo."""
    about, model, joints = ROBOTS[name], model_of(name), tuple(actuator.name for actuator in truth)
    commands = draw_commands(about, joints, rng)
    per_sample = round(1 / (about.rate_hz * STEP))
    samples = np.arange(len(commands)) / about.rate_hz
    # a step with the new speed moves positions as forces at its beginning ask (leapfrog): commands are of then
    begins = np.arange((len(commands) - 1) * per_sample) * STEP
    control = np.empty((len(begins), 2 * len(joints)))
    ids = [model.joint(joint).id for joint in joints]
    for k, actuator in enumerate(truth):
        dof = model.jnt_dofadr[ids[k]]
        model.dof_damping[dof], model.dof_armature[dof] = actuator.damping, actuator.armature
        model.dof_frictionloss[dof] = actuator.coulomb
        model.jnt_actfrcrange[ids[k]] = (
            (-actuator.torque_limit, actuator.torque_limit) if np.isfinite(actuator.torque_limit) else 0
        )
        model.jnt_actfrclimited[ids[k]] = np.isfinite(actuator.torque_limit)
        p, d = model.actuator(f"p_{actuator.name}").id, model.actuator(f"d_{actuator.name}").id
        gain = actuator.derivative_gain + actuator.velocity_gain
        model.actuator_gainprm[p, 0], model.actuator_biasprm[p, 1] = actuator.stiffness, -actuator.stiffness
        model.actuator_gainprm[d, 0], model.actuator_biasprm[d, 2] = gain, -gain
        late = begins - actuator.delay
        if about.hold:
            # forces at the beginning of a step act from half a step before to half a step after
            around = [np.floor((late + side * STEP / 4) * about.rate_hz) for side in (-1, 1)]
            before, after = (np.clip(row.astype(int), 0, len(commands) - 1) for row in around)
            control[:, p] = 0.5 * (commands[before, k] + commands[after, k]) + actuator.zero
            control[:, d] = 0.0
        else:
            now = np.interp(late, samples, commands[:, k])
            change = now - np.interp(late - STEP, samples, commands[:, k])
            control[:, p] = now + actuator.zero
            control[:, d] = change / STEP * (actuator.derivative_gain / max(gain, 1e-12))
    data = mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[ids]] = commands[0]
    # at rest where the motion begins
    first = np.repeat(control[:1], round(1.0 / STEP), axis=0)
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, _ = mujoco.rollout.rollout(model, data, start, np.concatenate([first, control]))
    states = states[0, len(first) - 1 :: per_sample]
    positions = states[:, 1 + model.jnt_qposadr[ids]]
    measured = positions + about.noise * rng.standard_normal(positions.shape)
    measured = np.round(measured / about.quantum) * about.quantum
    channels = {f"position.{joint}": measured[:, k] for k, joint in enumerate(joints)}
    channels |= {f"position_command.{joint}": commands[:, k] for k, joint in enumerate(joints)}
    return Recording(samples, channels, dict.fromkeys(channels, "rad"))


def description(name: str) -> Path:
    """The robot's file in example-robot-data."""
    return Path(
        sysconfig.get_path("purelib"),
        "cmeel.prefix",
        "share",
        "example-robot-data",
        "robots",
        *ROBOTS[name].path,
    )


@cache
def robot_of(name: str) -> Articulated:
    """The robot as the estimator gets it: the links of its description."""
    return load_robot(description(name))


def model_of(name: str) -> mujoco.MjModel:
    """The robot in MuJoCo: only its links, without limits and contacts, with two actuators at each joint."""
    root = ElementTree.parse(description(name)).getroot()
    for link in root.iter("link"):
        for element in (*link.findall("visual"), *link.findall("collision")):
            link.remove(element)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    for joint in list(spec.joints):
        for kind in ("p", "d"):
            actuator = spec.add_actuator(name=f"{kind}_{joint.name}", target=joint.name)
            actuator.trntype, actuator.biastype = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtBias.mjBIAS_AFFINE
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model = spec.compile()
    model.jnt_limited[:] = 0
    # dry friction that holds: no creep
    model.dof_solref[:] = (2 * STEP, 1.0)
    model.dof_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
    return model
