"""How the recordings of this folder came about: a simulated arm, measured by imperfect sensors.

python examples/arm/record.py      # writes identification.csv and validation.csv again
"""

from pathlib import Path

import numpy as np

import poinsot
from poinsot.simulation import Sensors, fourier_motion, model_parameters, simulate_recording

HERE = Path(__file__).parent
RATE_HZ = 250.0
FRICTION = {"fv1": 3.0, "fc1": 2.0, "fv2": 2.5, "fc2": 2.4, "off2": 0.3, "fv3": 1.2, "fc3": 1.1}
ROTORS = {"ia1": 0.12, "ia2": 0.15, "ia3": 0.06}
SENSORS = Sensors(torque_std=0.3, position_step=2 * np.pi / 2**14)


def robot():
    """The arm, with a rotor of its own behind every joint."""
    return poinsot.load_robot(HERE / "arm.urdf", drive=poinsot.Drive(rotor_inertia=True))


def truth():
    """The parameters that the simulation has."""
    return model_parameters(robot(), **FRICTION, **ROTORS)


def main():
    rng = np.random.default_rng(7)
    arm, theta = robot(), truth()
    for name in ("identification.csv", "validation.csv"):
        motion = fourier_motion(3, 10.0, RATE_HZ, rng, amplitude=0.8)
        recording = simulate_recording(arm, theta, motion, SENSORS, rng)
        columns = np.hstack([np.degrees(recording.stack("position")), recording.stack("torque")])
        header = "q1,q2,q3,tau1,tau2,tau3"
        np.savetxt(HERE / name, columns, ["%.4f"] * 3 + ["%.3f"] * 3, ",", header=header, comments="")


if __name__ == "__main__":
    main()
