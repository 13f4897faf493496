"""An arm with elastic joints in MuJoCo, whose stiffness is known."""

from __future__ import annotations

from importlib.resources import as_file, files

import mujoco
import numpy as np

from poinsot.arrays import JointSamples
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.elastic import deflection
from poinsot.recording import Recording

from ..simulated_recordings import fourier_motion

JOINTS = ("shoulder", "elbow")
STIFFNESS, DAMPING = (1200.0, 350.0), (1.4, 0.3)
"""Of the springs [N m/rad], [N m s/rad]."""
ROTORS, VISCOUS, COULOMB = (0.3, 0.1), (2.0, 0.6), (1.5, 0.5)
PROPORTIONAL, DERIVATIVE = np.array([600.0, 200.0]), np.array([25.0, 8.0])
STEP_S, EVERY, DURATION_S = 2.5e-4, 4, 12.0
READING_STD, TORQUE_STD = 2e-5, np.array([0.15, 0.05])
SPEED_HZ = 100.0


def description() -> Articulated:
    """The arm as its user describes it: which joints are elastic, and nothing of their springs."""
    with as_file(files(__package__.rpartition(".")[0]) / "robots" / "elastic_arm.xml") as path:
        return load_robot(path, drive=Drive(rotor_inertia=True, elastic=JOINTS))


def simulator() -> mujoco.MjModel:
    """The arm in MuJoCo, with springs."""
    with as_file(files(__package__.rpartition(".")[0]) / "robots" / "elastic_arm.xml") as path:
        spec = mujoco.MjSpec.from_file(str(path))
    for k, name in enumerate(JOINTS):
        motor = spec.joint(name)
        motor.armature, motor.damping[0], motor.frictionloss = ROTORS[k], VISCOUS[k], COULOMB[k]
        spring = motor.parent.add_joint(name=deflection(name), type=motor.type, axis=motor.axis, pos=motor.pos)
        spring.stiffness[0], spring.damping[0] = STIFFNESS[k], DAMPING[k]
    spec.option.timestep = STEP_S
    model = spec.compile()
    model.dof_solref[:] = (0.002, 1.0)
    return model


def commanded(rng: np.random.Generator) -> JointSamples:
    slow = fourier_motion(2, DURATION_S, 1 / STEP_S, rng, harmonics=10, amplitude=0.5)[1]
    quick = fourier_motion(2, DURATION_S, 1 / STEP_S, rng, harmonics=80, amplitude=0.02)[1]
    return slow + quick


def simulate(rng: np.random.Generator) -> Recording:
    """Motor-side encoders, deflections by encoders at the links, and torques, at 1 kHz."""
    model, c = simulator(), commanded(rng)
    data, rate = mujoco.MjData(model), np.gradient(c, STEP_S, axis=0)
    motors = np.array([model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j)] for j in JOINTS])
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
    kept = np.arange(EVERY + 4000, len(c) - EVERY, EVERY)
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
