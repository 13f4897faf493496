"""Simulate the recordings of this folder: an arm with noisy torque sensors and quantized encoders.

python examples/arm/record.py      # rewrites identification.csv, validation.csv and picking_up.csv
"""

from pathlib import Path

import numpy as np

import poinsot

HERE = Path(__file__).parent
RATE_HZ = 250.0
FRICTION = {"fv1": 3.0, "fc1": 2.0, "fv2": 2.5, "fc2": 2.4, "off2": 0.3, "fv3": 1.2, "fc3": 1.1}
ROTORS = {"ia1": 0.12, "ia2": 0.15, "ia3": 0.06}
LOAD = {"m3": 1.5, "mx3": 0.48, "mz3": 0.06, "xx3": 0.0064, "xz3": -0.0192, "yy3": 0.162, "zz3": 0.1576}
"""Load of the forearm: 1.5 kg at (0.32, 0, 0.04) m, a ball of 5 cm; added to the forearm's parameters."""
PICKED_UP_S = 6.0
TORQUE_STD, POSITION_STEP = 0.3, 2 * np.pi / 2**14
"""[N m], [rad]"""


def robot():
    """The arm, with a rotor at every joint."""
    return poinsot.load_robot(HERE / "arm.urdf", drive=poinsot.Drive(rotor_inertia=True))


def truth():
    """True parameters, in the order of `robot().parameters`."""
    arm = robot()
    known = dict(zip(arm.parameters.names, arm.inertials.ravel(), strict=False)) | FRICTION | ROTORS
    return np.array([known.get(name, 0.0) for name in arm.parameters.names])


def loaded():
    """True parameters with the load on the forearm."""
    theta = truth()
    for name, value in LOAD.items():
        theta[robot().parameters.index(name)] += value
    return theta


def write(name, *recordings):
    columns = [
        np.hstack([np.degrees(recording.stack("position")), recording.stack("torque")])
        for recording in recordings
    ]
    header = "q1,q2,q3,tau1,tau2,tau3"
    np.savetxt(HERE / name, np.vstack(columns), ["%.4f"] * 3 + ["%.3f"] * 3, ",", header=header, comments="")


def main():
    # only to simulate: the true parameters are to be had without the reproductions
    from poinsot_reproductions.simulated_recordings import Sensors, fourier_motion, simulate_recording

    sensors = Sensors(torque_std=TORQUE_STD, position_step=POSITION_STEP)
    rng = np.random.default_rng(7)
    arm = robot()
    for name in ("identification.csv", "validation.csv"):
        motion = fourier_motion(3, 10.0, RATE_HZ, rng, amplitude=0.8)
        write(name, simulate_recording(arm, truth(), motion, sensors, rng))
    motion = fourier_motion(3, 12.0, RATE_HZ / 2, rng, amplitude=0.8)
    before, after = (simulate_recording(arm, theta, motion, sensors, rng) for theta in (truth(), loaded()))
    write("picking_up.csv", before.between(0.0, PICKED_UP_S), after.between(PICKED_UP_S, 12.0))


if __name__ == "__main__":
    main()
