"""A small job with a known truth: two axes (one prismatic, one revolute) on a horizontal table, in CSV files."""

from pathlib import Path

import numpy as np

RATE = 500.0
DURATION = 8.0

URDF = """<?xml version="1.0"?>
<robot name="table">
  <link name="base"/>
  <link name="carriage"><inertial><mass value="4"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="disc"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="20" effort="100"/></joint>
  <joint name="turn" type="revolute"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" velocity="30" effort="100"/></joint>
</robot>
"""

TRUTH = {"m1": 4.0, "fv1": 7.0, "fc1": 2.0, "off1": 0.3, "zz2": 0.8, "fv2": 1.5, "fc2": 0.9, "off2": -0.2}

JOB = """[robot]
path = "table.urdf"

[[recordings]]
name = "run"
path = "run.csv"
time = { column = "t", unit = "ms" }
position = { columns = ["x", "phi"], unit = ["mm", "deg"] }
torque = { columns = ["f", "tau"], unit = ["N", "mN m"] }

[[recordings]]
name = "held out"
role = "validation"
path = "other.csv"
time = { column = "t", unit = "ms" }
position = { columns = ["x", "phi"], unit = ["mm", "deg"] }
torque = { columns = ["f", "tau"], unit = ["N", "mN m"] }

[preprocessing]
method = "butterworth-decimation"
cutoff_hz = 40
decimate_hz = 20

[method]
name = "least-squares"
"""


def motion(time: np.ndarray, phase: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T, 2) positions, velocities, accelerations: three sines a joint."""
    q, v, a = (np.zeros((len(time), 2)) for _ in range(3))
    for joint, (amplitude, base) in enumerate(((0.2, 0.5), (0.9, 0.7))):
        for harmonic in (1, 2, 3):
            w = 2 * np.pi * base * harmonic
            shift = phase + 1.3 * joint + 0.7 * harmonic
            q[:, joint] += amplitude / harmonic * np.sin(w * time + shift)
            v[:, joint] += amplitude / harmonic * w * np.cos(w * time + shift)
            a[:, joint] -= amplitude / harmonic * w**2 * np.sin(w * time + shift)
    return q, v, a


def write_run(path: Path, phase: float, noise: float, rng: np.random.Generator) -> None:
    time = np.arange(int(RATE * DURATION)) / RATE
    q, v, a = motion(time, phase)
    effort = np.stack(
        [
            TRUTH[inertia] * a[:, k] + TRUTH[f"fv{k + 1}"] * v[:, k] + TRUTH[f"fc{k + 1}"] * np.sign(v[:, k])
            + TRUTH[f"off{k + 1}"]
            for k, inertia in enumerate(("m1", "zz2"))
        ],
        axis=1,
    )  # fmt: skip
    effort += noise * rng.standard_normal(effort.shape)
    table = np.column_stack(
        [1e3 * time, 1e3 * q[:, 0], np.rad2deg(q[:, 1]), effort[:, 0], 1e3 * effort[:, 1]]
    )
    np.savetxt(path, table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g")


def write_job(folder: Path, job: str = JOB, noise: float = 0.05) -> Path:
    """The job's files in a folder; returns the project file."""
    rng = np.random.default_rng(7)
    (folder / "table.urdf").write_text(URDF)
    write_run(folder / "run.csv", 0.0, noise, rng)
    write_run(folder / "other.csv", 2.0, noise, rng)
    (folder / "job.toml").write_text(job)
    return folder / "job.toml"
