"""An arm with elastic joints in MuJoCo, whose stiffness is known: identified with link-side encoders, and without.

Two joints with springs and dampers behind their motors, resonances of 7 to 12 Hz with the motors held, follow slow
sines and a little of faster ones by a PD law at the motors. Of each seed one recording is identified from and one held
out; the description's bodies are wrong by up to 40 %.

    stiffness_error_percent    largest error of a stiffness, with encoders at the links or at the motors only
    elastic_heldout_percent    rms error of the motors' torques in the held-out recording over their rms, the larger one
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file, files

import mujoco
import numpy as np

from poinsot.accuracy import Accuracy
from poinsot.arrays import JointSamples
from poinsot.estimate import Estimate, Fit
from poinsot.estimators.linear.hidden_deflections import HiddenDeflections
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.elastic import deflection
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say, shown
from ..simulated_recordings import fourier_motion

JOINTS = ("shoulder", "elbow")
STIFFNESS, DAMPING = (1200.0, 350.0), (1.4, 0.3)
"""Of the springs [N m/rad], [N m s/rad]."""
ROTORS, VISCOUS, COULOMB = (0.3, 0.1), (2.0, 0.6), (1.5, 0.5)
PROPORTIONAL, DERIVATIVE = np.array([600.0, 200.0]), np.array([25.0, 8.0])
"""Of the motors: rotor inertia [kg m^2], friction; gains of their law [N m/rad], [N m s/rad]."""
STEP_S, EVERY, DURATION_S, FROM_S = 2.5e-4, 4, 12.0, 1.0
"""Step of the simulation and of the loop; steps between recorded samples; length; start of the recording."""
READING_STD, TORQUE_STD = 2e-5, np.array([0.15, 0.05])
"""White noise of the encoders [rad], 17 bits, and of the torques [N m], 0.2 % of the largest."""
SPEED_HZ = 100.0
"""Cutoff of the law's low-pass on its speeds, of first order."""
WRONG = 0.4
"""Largest error of the description's masses and inertias, relative."""
SMOOTHER = ButterworthDecimation(cutoff_hz=30, decimate_hz=21)
"""A cutoff of three times the resonances."""


def figures(seed: int, say: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """`stiffness_error_percent` and `elastic_heldout_percent` of one seed, and what they are the largest of."""
    rng = np.random.default_rng([seed, 43])
    arm = description(rng)
    say("simulating elastic joints")
    used, held_out = (simulate(rng) for _ in range(2))
    say("elastic joints with encoders at the links")
    both = _problem(arm, used)
    sensed = LeastSquares(weighting="per-joint").solve(both)
    say("elastic joints from the encoders of the motors")
    hidden = HiddenDeflections().solve(_problem(arm, motor_side(used)))
    found = {
        "stiffness_error_with_link_encoders_percent": stiffness_error_percent(arm, sensed),
        "stiffness_error_from_motors_percent": stiffness_error_percent(arm, hidden),
        "heldout_with_link_encoders_percent": motor_error_percent(arm, sensed.predict(held_out)),
        "heldout_from_motors_percent": motor_error_percent(arm, hidden.predict(motor_side(held_out))),
    }
    stiffness, error = (
        max(value for name, value in found.items() if name.startswith(start))
        for start in ("stiffness", "heldout")
    )
    return {"stiffness_error_percent": stiffness, "elastic_heldout_percent": error, **found}


def run(seed: int, *, say: Say) -> Reproduction:
    """Identify the stiffness with both kinds of encoders."""
    watch = Stopwatch()
    found = figures(seed, say)
    watch.lap("identification")
    rows = tuple(
        {
            "name": name,
            "stiffness": found[f"stiffness_error_{key}_percent"],
            "held out": found[f"heldout_{key}_percent"],
            "unit": "%",
        }
        for name, key in (("at the links", "with_link_encoders"), ("at the motors only", "from_motors"))
    )
    return Reproduction(
        "controller-elastic",
        str(seed),
        "Elastic joints",
        f"Stiffness is off by at most {found['stiffness_error_percent']:.2f} %, and the motors' torques of a held-out "
        f"recording are predicted to {found['elastic_heldout_percent']:.2f} %.",
        rows,
        {"Errors by the place of the encoders [%]": shown(rows)},
        found,
        {"stiffness off by [%]": f"{found['stiffness_error_percent']:.2f}"},
        seconds=watch.seconds,
    )  # fmt: skip


def _problem(arm: Articulated, recording: Recording) -> InverseDynamics:
    return inverse_dynamics(arm, SMOOTHER.apply(recording), accuracy=Accuracy(exact=True))


def motor_side(recording: Recording) -> Recording:
    """The recording without the encoders at the links."""
    channels = {
        name: values for name, values in recording.channels.items() if not name.endswith("_deflection")
    }
    return replace(recording, channels=channels, units={name: recording.units[name] for name in channels})


def stiffness_error_percent(arm: Articulated, estimate: Estimate) -> float:
    """Largest relative error of a stiffness."""
    values = dict(zip(estimate.names, estimate.values, strict=True))
    numbers = dict(zip(arm.joints, arm.joint_numbers, strict=True))
    errors = [
        abs(values[f"ks_{numbers[deflection(joint)]}"] / true - 1)
        for joint, true in zip(JOINTS, STIFFNESS, strict=True)
    ]
    return float(100 * max(errors))


def motor_error_percent(arm: Articulated, fit: Fit) -> float:
    """rms error of the motors' torques over their rms."""
    motors = [name in JOINTS for name in arm.effort_names]
    return float(100 * np.linalg.norm(fit.residuals[:, motors]) / np.linalg.norm(fit.measured[:, motors]))


def description(rng: np.random.Generator) -> Articulated:
    """The arm as its user describes it: which joints are elastic, nothing of their springs, and wrong bodies."""
    with as_file(files(__package__.rpartition(".")[0]) / "robots" / "elastic_arm.xml") as path:
        root = ElementTree.parse(path).getroot()
        for inertial in root.iter("inertial"):
            factor = 1 + rng.uniform(-WRONG, WRONG)
            for key in ("mass", "diaginertia"):
                inertial.set(key, " ".join(repr(factor * float(x)) for x in inertial.get(key, "").split()))
        content = ElementTree.tostring(root, encoding="unicode")
        return load_robot(path, content=content, drive=Drive(rotor_inertia=True, elastic=JOINTS))


def simulator() -> mujoco.MjModel:
    """The arm in MuJoCo, with springs."""
    with as_file(files(__package__.rpartition(".")[0]) / "robots" / "elastic_arm.xml") as path:
        spec = mujoco.MjSpec.from_file(str(path))
    for k, name in enumerate(JOINTS):
        motor = spec.joint(name)
        motor.armature, motor.damping[0], motor.frictionloss = ROTORS[k], VISCOUS[k], COULOMB[k]
        spring = motor.parent.add_joint(
            name=deflection(name), type=motor.type, axis=motor.axis, pos=motor.pos
        )
        spring.stiffness[0], spring.damping[0] = STIFFNESS[k], DAMPING[k]
    spec.option.timestep = STEP_S
    model = spec.compile()
    model.dof_solref[:] = (0.002, 1.0)
    return model


def commanded(rng: np.random.Generator) -> JointSamples:
    """(T, 2) commands at each step of the loop."""
    slow = fourier_motion(2, DURATION_S, 1 / STEP_S, rng, harmonics=10, amplitude=0.5)[1]
    quick = fourier_motion(2, DURATION_S, 1 / STEP_S, rng, harmonics=80, amplitude=0.02)[1]
    return slow + quick


def simulate(rng: np.random.Generator) -> Recording:
    """Motor-side encoders, deflections by encoders at the links, and torques, at 1 kHz."""
    model, c = simulator(), commanded(rng)
    data, rate = mujoco.MjData(model), np.gradient(c, STEP_S, axis=0)
    motors = np.array([model.joint(name).qposadr[0] for name in JOINTS])
    data.qpos[motors] = c[0]
    q, d, tau = np.empty_like(c), np.empty_like(c), np.empty_like(c)
    noise = READING_STD * rng.standard_normal((2, *c.shape))
    part = 1 - np.exp(-2 * np.pi * SPEED_HZ * STEP_S)
    before, speed = c[0] + noise[0, 0], np.zeros(2)
    for k in range(len(c)):
        q[k], d[k] = data.qpos[motors], data.qpos[motors + 1]
        read = q[k] + noise[0, k]
        speed += part * ((read - before) / STEP_S - speed)
        before = read
        tau[k] = PROPORTIONAL * (c[k] - read) + DERIVATIVE * (rate[k] - speed)
        data.qfrc_applied[motors] = tau[k]
        mujoco.mj_step(model, data)
    kept = np.arange(round(FROM_S / STEP_S), len(c) - EVERY, EVERY)
    mean = np.mean([tau[kept + shift] for shift in range(-EVERY // 2, EVERY // 2 + 1)], axis=0)
    columns = {
        "position": q[kept] + noise[0, kept],
        "torque": mean + TORQUE_STD * rng.standard_normal(mean.shape),
        "position_command": c[kept],
    }
    channels = {f"{key}.{j}": x[:, k] for key, x in columns.items() for k, j in enumerate(JOINTS)}
    between = d[kept] + noise[1, kept] - noise[0, kept]
    channels |= {f"position.{deflection(j)}": between[:, k] for k, j in enumerate(JOINTS)}
    units = {name: "N m" if name.startswith("torque") else "rad" for name in channels}
    return Recording(STEP_S * kept, channels, units)
