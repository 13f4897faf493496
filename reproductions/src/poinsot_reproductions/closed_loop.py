"""An arm in its position loop: noise of the encoders is fed back, and biases least squares (Janot et al. 2014).

Three joints in MuJoCo follow a sum of sines by a PD law that reads the encoders, at 5 kHz. What is recorded at 1 kHz is
what a drive records: commands, readings of the encoders, and the torque averaged about each sample. One motion is
simulated with noise that differs between draws, and identified with three cutoffs of the low-pass on the positions.

    bias       mean error over the draws, over the standard deviation that one estimate states
    bias_std   its root mean square over the essential parameters, for the worst of the cutoffs

The mean of n draws is itself uncertain by 1 / sqrt(n) of a standard deviation. Essential parameters are those that
backward elimination keeps of a recording without noise, whose torques have the noise of the others' (Janot et al. 2014).
All base parameters are estimated, so that none is wrong because another one is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from poinsot.accuracy import Accuracy
from poinsot.arrays import JointSamples, Vector
from poinsot.estimate import Estimate
from poinsot.estimate.uncertainty import by_chance
from poinsot.estimators.linear.essential import EssentialParameters
from poinsot.estimators.linear.instrumental_variable import InstrumentalVariable
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.stopwatch import Stopwatch

from .case import PartedCase, Reproduction, Say, Simulation
from .simulated_recordings import fourier_motion, model_parameters

DRAWS = 20
DYNAMICS_HZ = 2.0
"""Highest frequency of the motion."""
TIMES = (2.0, 5.0, 10.0)
"""Cutoffs, in units of it."""
DURATION_S, STEP_S, EVERY = 20.0, 2.5e-4, 4
"""Length; step of the simulation and of the loop; steps between recorded samples."""
READING_STD = 5e-4
"""White noise of the encoders [rad]: those of 12 bits have 4.4e-4 by rounding."""
TORQUE_STD = 0.05
"""White noise of the recorded torques [N m]."""
PROPORTIONAL, DERIVATIVE = np.array([400.0, 400.0, 150.0]), np.array([20.0, 20.0, 6.0])
"""Gains [N m/rad] and [N m s/rad]: 4 to 6 Hz."""
WARPED = 1.875
"""Largest speed of the time of `fourier_motion`."""
METHODS: Mapping[str, Any] = {
    "instrumental": InstrumentalVariable(weighting="per-joint"),
    "least_squares": LeastSquares(weighting="per-joint"),
}


def robot() -> Articulated:
    """The arm, as its file describes it."""
    with as_file(files(__package__) / "robots" / "loop_arm.xml") as path:
        return load_robot(path, drive=Drive(rotor_inertia=True))


def truth(arm: Articulated) -> Vector:
    """(p,) its parameters, those of joints as MuJoCo has them."""
    described = arm.described_terms
    symbols = {"ia": "armature", "fv": "damping", "fc": "friction"}
    values = {
        f"{symbol}{number}": float(described[term][k])
        for symbol, term in symbols.items()
        for k, number in enumerate(arm.joint_numbers)
    }
    return model_parameters(arm, **values)


def commanded(rng: np.random.Generator) -> JointSamples:
    """(T, 3) commands at each step of the loop: sines from rest to rest."""
    harmonics = round(DYNAMICS_HZ * DURATION_S / WARPED)
    return fourier_motion(3, DURATION_S, 1 / STEP_S, rng, harmonics=harmonics, amplitude=0.3)[1]


def simulate(c: JointSamples, rng: np.random.Generator, reading_std: float, torque_std: float) -> Recording:
    """The recording of one run of the loop."""
    import mujoco

    with as_file(files(__package__) / "robots" / "loop_arm.xml") as path:
        model = mujoco.MjModel.from_xml_path(str(path))
    data, rate = mujoco.MjData(model), np.gradient(c, STEP_S, axis=0)
    data.qpos[:] = c[0]
    read, tau = np.empty_like(c), np.empty_like(c)
    noise = reading_std * rng.standard_normal(c.shape)
    before = c[0] + noise[0]
    for k in range(len(c)):
        read[k] = data.qpos + noise[k]
        tau[k] = PROPORTIONAL * (c[k] - read[k]) + DERIVATIVE * (rate[k] - (read[k] - before) / STEP_S)
        before = read[k]
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_step(model, data)
    kept = np.arange(EVERY, len(c) - EVERY, EVERY)
    mean = sum(tau[kept + shift] for shift in range(-EVERY // 2, EVERY // 2)) / EVERY
    joints = robot().joints
    columns = {
        "position": read[kept],
        "position_command": c[kept],
        "torque": mean + torque_std * rng.standard_normal(mean.shape),
    }
    channels = {
        f"{quantity}.{joint}": values[:, j] for quantity, values in columns.items() for j, joint in enumerate(joints)
    }
    units = {name: "N m" if name.startswith("torque") else "rad" for name in channels}
    return Recording(STEP_S * kept, channels, units)
