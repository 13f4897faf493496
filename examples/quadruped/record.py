"""Simulate the recordings of this folder: a robot on four point feet, with noisy sensors.

python examples/quadruped/record.py      # rewrites four_steps.csv and other_steps.csv

It sways on its feet and lifts one after the other. The trunk in quadruped.urdf differs from the true one.
"""

from pathlib import Path

import numpy as np

import poinsot
from poinsot.models.sensors import Accelerometer, Gyro, JointPosition, JointVelocity, Orientation
from poinsot_reproductions.optimal_estimation.systems import System, fly

HERE = Path(__file__).parent
RATE_HZ, SECONDS = 100.0, 1.2
LEGS = ("lf", "rf", "lh", "rh")
IMU = "imu"

MASS, CENTRE = 8.0, np.array([0.02, 0.0, 0.01])
"""Mass [kg] and centre of mass [m] of the true trunk; the description has 5.6 kg at its frame's origin."""
ABOUT_CENTRE = np.array([[0.055, 0.001, -0.004], [0.001, 0.180, 0.0], [-0.004, 0.0, 0.210]])
"""Its inertia about its centre of mass [kg m^2]."""
ROTOR = 0.02
"""Known inertia of each motor's rotor, reflected to its joint [kg m^2]."""

ENCODER, ENCODER_SPEED = 1e-3, 5e-3
ORIENTATION, GYRO, ACCELEROMETER = 5e-3, 3e-3, 0.03
"""Standard deviations, as in job.toml [rad], [rad/s], [m/s^2]."""
TORQUE = 0.02
"""Standard deviation of measured torques [N m]; `fly` adds a thousandth of the largest, so job.toml has 0.025."""

STANCE = {"roll": 0.0, "pitch": 0.7, "knee": -1.4}
"""Joint of a leg -> its position [rad], with the feet below the hips."""
FIRST_S, EACH_S, SWING_S = 0.1, 0.26, 0.14
"""Time of the first lift-off, time between two lift-offs, and duration of a swing."""
FLEX, REACH = 0.5, 0.3
"""Bending of the knee in the swing, and stretching after it until touch-down [rad]."""

AMPLITUDE = np.array([0.02, 0.02, 0.015, 0.08, 0.08, 0.08])
"""Amplitudes of the trunk's sway [m], [rad]."""


def robot():
    """The robot as described in quadruped.urdf."""
    return poinsot.load_robot(
        HERE / "quadruped.urdf", floating_base=True, drive=poinsot.Drive(rotor_inertia=True)
    )


def trunk():
    """Inertial parameters (10,) of the true trunk: m, m c, and I about the frame's origin."""
    I = ABOUT_CENTRE + MASS * (CENTRE @ CENTRE * np.eye(3) - np.outer(CENTRE, CENTRE))
    return np.array([MASS, *(MASS * CENTRE), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def system(order, sway):
    """The true robot and its reference motion: sway, and lift the feet in the given order.

    Args:
        order: names of the legs. sway: (6,) frequencies of the trunk [Hz].
    """
    described = robot()
    inertials = described.inertials.copy()
    inertials[described.bodies.index("trunk")] = trunk()
    home = np.zeros(described.model.nq)
    home[2], home[6] = 0.4 * np.cos(STANCE["pitch"]), 1.0
    home[7:] = [STANCE[joint.split("_")[1]] for joint in described.joints]
    lifts = {leg: FIRST_S + EACH_S * k for k, leg in enumerate(order)}

    def reference(time):
        change = np.zeros(described.model.nv)
        change[:6] = AMPLITUDE * np.sin(2 * np.pi * sway * time) * np.tanh(4 * time)
        for k, joint in enumerate(described.joints):
            leg, kind = joint.split("_")
            phase = np.clip((time - lifts[leg]) / SWING_S, 0.0, 3.0)
            bend = (
                FLEX * np.sin(np.pi * phase) ** 2 if phase < 1 else -REACH * np.cos(0.5 * np.pi * phase) ** 2
            )
            change[6 + k] += {"roll": 0.0, "pitch": 0.5, "knee": -1.0}[kind] * bend
        return change

    return System(
        "Quadruped",
        described,
        home,
        (
            JointPosition(described, ENCODER),
            JointVelocity(described, ENCODER_SPEED),
            Gyro(described, GYRO, frame=IMU),
            Accelerometer(described, ACCELEROMETER, frame=IMU),
            Orientation(described, ORIENTATION, frame=IMU),
        ),
        ("trunk",),
        reference,
        np.concatenate([np.ones(6), np.full(12, 0.3)]),
        round(SECONDS * RATE_HZ) + 1,
        1 / RATE_HZ,
        inertials=inertials,
        friction={f"ia{number}": ROTOR for number in range(2, 14)},
        contacts=tuple(poinsot.PointContact(f"{leg}_foot") for leg in LEGS),
        lifts={f"{leg}_foot": (time,) for leg, time in lifts.items()},
        stiffness=400.0,
        damping=40.0,
    )


def write(name, flown, rng):
    """Write one recording as CSV, one row per sample."""
    joints = flown.system.robot.joints
    torque = flown.u + TORQUE * rng.standard_normal(flown.u.shape)
    columns = [*(some.values for some in flown.readings), torque, flown.schedule.closed]
    header = [f"{quantity}_{joint}" for quantity in ("q", "v") for joint in joints]
    header += [f"gyro_{axis}" for axis in "xyz"] + [f"acc_{axis}" for axis in "xyz"]
    header += [f"quat_{axis}" for axis in "xyzw"]
    header += [f"tau_{joint}" for joint in joints] + [f"{leg}_contact" for leg in LEGS]
    digits = ["%.4f"] * 24 + ["%.4f"] * 3 + ["%.3f"] * 3 + ["%.5f"] * 4 + ["%.3f"] * 12 + ["%d"] * 4
    np.savetxt(HERE / name, np.hstack(columns), digits, ",", header=",".join(header), comments="")


def main():
    rng = np.random.default_rng(1)
    for name, order in (
        ("four_steps.csv", ("lf", "rh", "rf", "lh")),
        ("other_steps.csv", ("rf", "lh", "lf", "rh")),
    ):
        sway = rng.uniform(1.0, 3.0, 6)
        write(name, fly(system(order, sway), rng), rng)


if __name__ == "__main__":
    main()
