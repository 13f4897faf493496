"""Simulate the recordings of this folder: a rotary pendulum with two encoders and a voltage.

python examples/furuta/record.py      # rewrites pushes.csv and release.csv

An arm turns about a vertical axis, driven by a motor; a pendulum hangs from its end. The inertia, friction and
motor in job.toml differ from the true ones, and its stand is level; the true stand is tilted.
"""

from pathlib import Path

import numpy as np

from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Motor, RigidBody
from poinsot_reproductions.discrete.rollout import read_coordinates, simulate, state_of

HERE = Path(__file__).parent
RATE_HZ, STEP_S = 100, 2e-4
NOISE, ZERO = 1e-3, 0.02
"""Noise of both encoders, and zero of the pendulum's encoder [rad]."""

TRUE = {
    "pendulum.Jxx": 4e-4,
    "shoulder.drag": 2e-3,
    "shoulder.coulomb": 2e-3,
    "elbow.drag": 1e-4,
    "elbow.coulomb": 3e-4,
    "shoulder.gain": 0.03,
    "shoulder.shaft_inertia": 1.2e-3,
    "world.tilt_x": 0.02,
    "elbow encoder.zero": ZERO,
}


def mechanism():
    """The mechanism with the true parameters."""
    bodies = [
        RigidBody("arm", 0.20, (1e-4, 5e-4, 5e-4), center=(0.07, 0, 0)),
        RigidBody("pendulum", 0.12, (4e-4, 4e-4, 2e-5), center=(0.15, 0, -0.10)),
    ]
    joints = [
        Hinge("shoulder", "world", "arm", axis=(0, 0, 1), drag=2e-3, motor=Motor(0.03, 1.2e-3),
              friction=Coulomb(2e-3, stick_drag=1.0)),
        Hinge("elbow", "arm", "pendulum", point=(0.15, 0, 0), axis=(1, 0, 0), drag=1e-4,
              friction=Coulomb(3e-4, stick_drag=0.1)),
    ]  # fmt: skip
    sensors = [Encoder("shoulder"), Encoder("elbow")]
    return Mechanism(bodies, joints, sensors=sensors).starting(TRUE)


def voltage(times):
    """Random steps of voltage [V], 0.35 s each, at `times` [s]."""
    levels = np.random.default_rng(4).uniform(-6, 6, 200)
    return levels[(times / 0.35).astype(int)]


def record(name, start, u, rng):
    """Write a CSV file of the encoders' readings [rad] and the motor's voltage [V]."""
    model = mechanism().model(curvature=True)
    every = round(1 / (RATE_HZ * STEP_S))
    simulation = simulate(model, state_of(model, **start), STEP_S, len(u), u[:, None], every=every)
    y, rates = model.joint_motion(simulation.states)
    z = read_coordinates(model, y, rates, model.theta)[:-1]
    z = z + NOISE * rng.standard_normal(z.shape)
    table = np.column_stack([simulation.times[:-1], z, u])
    header = "t,shoulder,elbow,volts"
    np.savetxt(HERE / name, table, delimiter=",", header=header, comments="", fmt="%.6g")


def main():
    rng = np.random.default_rng(1)
    times = np.arange(0, 8, 1 / RATE_HZ)
    record("pushes.csv", {}, voltage(times), rng)
    record("release.csv", {"elbow": np.pi - 0.2}, np.zeros(len(times)), rng)


if __name__ == "__main__":
    main()
