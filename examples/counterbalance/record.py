"""Simulate the recordings of this folder: a heavy arm with a hydraulic counterbalance at its second joint.

python examples/counterbalance/record.py [FOLDER]      # writes first.parquet, second.parquet and another.parquet

MuJoCo computes the torques of the bodies, and length and lever of the cylinder as those of a tendon between two sites.
The cylinder pulls with the pressure of a gas accumulator (polytropic, n = 1.3), which the piston compresses:

    F = p0 A (V0 / (V0 - A (L - L0)))^n
"""

import sys
from pathlib import Path

import mujoco
import numpy as np
import polars as pl

HERE = Path(__file__).parent
RATE_HZ, DURATION_S = 100.0, 30.0
FIXED, MOVING = np.array([-0.40, 0.0, -0.16]), np.array([-0.12, 0.0, 0.24])
"""Ends of the cylinder in the frame of the arm, with joint_2 at 0 [m]."""
JOINT_2 = np.array([0.35, 0.0, 0.30])
"""Place of joint_2 in the carousel [m]."""
PRESSURE, AREA, VOLUME = 16e6, 3.2e-3, 1.25e-3
"""[Pa], [m^2], [m^3]"""
VISCOUS = np.array([320.0, 380.0, 240.0, 60.0, 55.0, 30.0])
COULOMB = np.array([210.0, 240.0, 160.0, 50.0, 45.0, 25.0])
AMPLITUDE = np.array([0.9, 1.05, 0.6, 1.0, 0.8, 1.5])
MIDDLE = np.array([0.0, -0.1, 0.2, 0.0, 0.3, 0.0])
NOISE = np.array([25.0, 25.0, 20.0, 6.0, 6.0, 4.0])
"""White noise of the torques [N m]."""
RESOLUTION = 2 * np.pi / 2**19
"""Of the encoders, at the joint [rad]."""


def motion(rng):
    """(T,), and (T, 6) positions, speeds, accelerations: five harmonics each, within its amplitude."""
    t = np.arange(int(DURATION_S * RATE_HZ)) / RATE_HZ
    w = 2 * np.pi * np.arange(1, 6) / 15.0
    a, b = rng.standard_normal((2, 5, 6))
    q = np.sin(np.outer(t, w)) @ a + np.cos(np.outer(t, w)) @ b
    scale = AMPLITUDE / np.abs(q).max(axis=0)
    v = (np.cos(np.outer(t, w)) * w) @ a - (np.sin(np.outer(t, w)) * w) @ b
    acceleration = -(np.sin(np.outer(t, w)) * w**2) @ a - (np.cos(np.outer(t, w)) * w**2) @ b
    return t, MIDDLE + scale * q, scale * v, scale * acceleration


def plant():
    """The arm with the two ends of the cylinder."""
    spec = mujoco.MjSpec.from_file(str(HERE / "robot.urdf"))
    spec.body("carousel").add_site(name="fixed", pos=JOINT_2 + FIXED)
    spec.body("arm").add_site(name="moving", pos=MOVING)
    cylinder = spec.add_tendon(name="cylinder")
    cylinder.wrap_site("fixed")
    cylinder.wrap_site("moving")
    spec.option.gravity = (0, 0, -9.81)
    return spec.compile()


def torques(q, v, a):
    """(T, 6) of the motors."""
    model = plant()
    data = mujoco.MjData(model)
    rest = np.linalg.norm(MOVING - FIXED)
    tau = np.empty_like(q)
    for k in range(len(q)):
        data.qpos, data.qvel, data.qacc = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        moved = data.ten_length[0] - rest
        lever = np.zeros((1, model.nv))
        mujoco.mju_sparse2dense(
            lever, data.ten_J.ravel(), model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind
        )
        force = PRESSURE * AREA * (VOLUME / (VOLUME - AREA * moved)) ** 1.3
        tau[k] = data.qfrc_inverse + VISCOUS * v[k] + COULOMB * np.tanh(v[k] / 2e-3) + force * lever[0]
    return tau


def main(folder):
    rng = np.random.default_rng(3)
    columns = ["time", *(f"{name}{k}" for name in ("q", "tau") for k in range(1, 7))]
    for name in ("first", "second", "another"):
        t, q, v, a = motion(rng)
        tau = torques(q, v, a) + NOISE * rng.standard_normal(q.shape)
        table = np.column_stack([t, RESOLUTION * np.round(q / RESOLUTION), tau.round(1)])
        file = Path(folder) / f"{name}.parquet"
        pl.DataFrame(table.astype(np.float32), schema=columns).write_parquet(file, compression_level=19)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE)
