"""A small arm with a known truth, recorded with noise: Pinocchio's dynamics, stepped as the estimator's are.

The post turns about the vertical, the forearm swings about a horizontal axis through the same point. So nothing shows
the forearm's mass `m` nor its first moment `my` along the second axis: eight of its ten parameters are seen. The
description that the project reads has another forearm than the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

PERIOD = 0.01
FRICTION = {"fv1": 0.3, "fv2": 0.2}
NOISE = {"position": 1e-3, "velocity": 1e-2, "gyro": 5e-3, "accelerometer": 0.05}
SPEED_NOISE = 1e-3

ROD = {"mass": 1.5, "center": (0.10, 0.0, 0.0), "inertia": (0.010, 0.020, 0.020, 0.0, 0.0, 0.0)}
"""The forearm as the description has it: mass, centre of mass, and xx, yy, zz, xy, xz, yz about it."""
TRUE_ROD = {
    "mass": 2.0,
    "center": (0.15, 0.02, -0.03),
    "inertia": (0.015, 0.030, 0.025, 0.002, -0.001, 0.0015),
}

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="stand"/>
  <link name="post"><inertial><mass value="3"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial></link>
  <link name="fore"><inertial><origin xyz="{center}"/><mass value="{mass}"/>
    <inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial></link>
  <link name="imu"/>
  <joint name="turn" type="revolute"><parent link="stand"/><child link="post"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" velocity="30" effort="100"/></joint>
  <joint name="swing" type="revolute"><parent link="post"/><child link="fore"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" velocity="30" effort="100"/></joint>
  <joint name="glue" type="fixed"><parent link="fore"/><child link="imu"/>
    <origin xyz="0.2 0 0.02" rpy="0.1 0 0.2"/></joint>
</robot>
"""


def urdf(mass: float, center: tuple[float, ...], inertia: tuple[float, ...]) -> str:
    moments = dict(zip(("xx", "yy", "zz", "xy", "xz", "yz"), inertia, strict=True))
    return ARM.format(mass=mass, center=" ".join(map(str, center)), **moments)


def true_inertial() -> np.ndarray:
    """(10,) of the forearm."""
    model = pin.buildModelFromXML(urdf(**TRUE_ROD))
    return np.array(model.inertias[2].toDynamicParameters())


@dataclass(frozen=True, eq=False)
class Recorded:
    """(S,) or (S, k) of what was read, and (S, 2) positions and speeds as they were; `clean` is read without noise."""

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    readings: dict[str, np.ndarray]
    torque: np.ndarray
    clean: dict[str, np.ndarray]


def record(rng: np.random.Generator, samples: int = 121, phase: float = 0.0, noise: float = 1.0) -> Recorded:
    """The arm on sines, its speeds disturbed at each step; `noise` multiplies all noise."""
    model = pin.buildModelFromXML(urdf(**TRUE_ROD))
    data, friction = model.createData(), np.array(list(FRICTION.values()))
    imu, gravity = model.getFrameId("imu"), model.gravity.linear
    time = PERIOD * np.arange(samples)
    clean = {name: np.empty((samples, 2 if "i" in name[:4] or name == "velocity" else 3)) for name in NOISE}
    q, v, torque = np.array([0.1, 0.4]), np.zeros(2), np.empty((samples, 2))
    for k, t in enumerate(time):
        wanted = np.array([0.9 * np.sin(5.0 * t + phase), 0.3 + 0.8 * np.sin(7.0 * t + 0.5 + phase)])
        torque[k] = np.array([25.0, 30.0]) * (wanted - q) - np.array([0.5, 0.6]) * v
        a = pin.aba(model, data, q, v, torque[k] - friction * v)
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacement(model, data, imu)
        clean["position"][k], clean["velocity"][k] = q, v
        clean["gyro"][k] = pin.getFrameVelocity(model, data, imu, pin.LOCAL).angular
        point = pin.getFrameClassicalAcceleration(model, data, imu, pin.LOCAL).linear
        clean["accelerometer"][k] = point - data.oMf[imu].rotation.T @ gravity
        v = v + PERIOD * a
        q = q + PERIOD * v
        v = v + noise * SPEED_NOISE * rng.standard_normal(2)
    readings = {
        name: values + noise * NOISE[name] * rng.standard_normal(values.shape)
        for name, values in clean.items()
    }
    return Recorded(time, clean["position"], clean["velocity"], readings, torque, clean)


COLUMNS = ("t", "q1", "q2", "v1", "v2", "gx", "gy", "gz", "ax", "ay", "az", "tau1", "tau2")


def write(path: Path, recorded: Recorded, blank: dict[str, np.ndarray] | None = None) -> None:
    """As CSV; positions in degrees, and `blank` cells empty: column -> (S,) where."""
    read = recorded.readings
    table = np.column_stack(
        [recorded.time, np.rad2deg(read["position"]), read["velocity"], read["gyro"], read["accelerometer"],
         recorded.torque]
    )  # fmt: skip
    cells = [[f"{value:.12g}" for value in row] for row in table]
    for column, where in (blank or {}).items():
        for k in np.flatnonzero(where):
            cells[k][COLUMNS.index(column)] = ""
    path.write_text("\n".join([",".join(COLUMNS), *(",".join(row) for row in cells)]) + "\n")


RECORDING = """
[[recordings]]
name = "run"
path = "run.csv"
time = { column = "t", unit = "s" }
position = { columns = ["q1", "q2"], unit = "deg" }
velocity = { columns = ["v1", "v2"], unit = "rad/s" }
torque = { columns = ["tau1", "tau2"], unit = "N m" }
gyro = { frame = "imu", columns = ["gx", "gy", "gz"], unit = "rad/s" }
accelerometer = { frame = "imu", columns = ["ax", "ay", "az"], unit = "m/s^2" }
"""

METHOD = """
[method]
name = "optimal-estimation"
contact_model = "rigid"
bodies = ["fore"]
noise = { position = 1e-3, velocity = 1e-2, gyro = 5e-3, accelerometer = 0.05 }
speed_noise = 1e-3
"""

JOB = f"""[robot]
path = "arm.urdf"
{RECORDING}{METHOD}
[held]
fv1 = 0.3
fv2 = 0.2
"""

KNOWN = """
[priors]
"m.fore" = { mean = 2.05, std = 0.1 }
"cy.fore" = { mean = 0.025, std = 0.01 }
"""
"""What the recording does not see, from a scale and a ruler."""
