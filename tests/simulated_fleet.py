"""Logs of a fleet of three-joint arms, simulated with Pinocchio: friction differs between robots and between days."""

import numpy as np
import pinocchio as pin
import polars as pl

RATE_HZ, SECONDS = 200.0, 12.0
JOINTS = ("one", "two", "three")
LINK = """<link name="l{k}"><inertial><origin xyz="0.05 -0.02 {z}"/><mass value="{m}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="l{parent}"/><child link="l{k}"/>
<origin xyz="0 0 0.2" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="50" velocity="9"/></joint>"""
ARM = (
    '<robot name="arm"><link name="l0"/>'
    + "".join(
        LINK.format(k=k + 1, parent=k, joint=joint, z=0.1 * k, m=2.0 - 0.4 * k, roll=1.3 if k else 0.0)
        for k, joint in enumerate(JOINTS)
    )
    + "</robot>"
)
JOB = """[robot]
path = "arm.urdf"

[friction]
law = "viscous-coulomb"

[[recordings]]
path = "logs/*.parquet"
time = { column = "t", unit = "s" }
position = { columns = ["q1", "q2", "q3"], unit = "rad" }
torque = { columns = ["tau1", "tau2", "tau3"], unit = "N m" }

[preprocessing]
method = "butterworth-decimation"
cutoff_hz = 20
decimate_hz = 12

[method]
name = "least-squares"
weighting = "per-joint"
"""
VISCOUS, BETWEEN_ROBOTS, BETWEEN_DAYS = 0.5, 0.06, 0.03
"""Of every joint: mean, and standard deviations between robots and between days of one. [N m s/rad]"""


def write_fleet(folder, robots, days, rng, seconds=SECONDS):
    """The project `job.toml`, and `logs/ROBOT_DAY.parquet`; returns (robots, 3) mean viscous friction of each robot."""
    (folder / "logs").mkdir(parents=True)
    (folder / "arm.urdf").write_text(ARM)
    (folder / "job.toml").write_text(JOB)
    model = pin.buildModelFromXML(ARM)
    data, time = model.createData(), np.arange(0, seconds, 1 / RATE_HZ)
    of_robots = VISCOUS + BETWEEN_ROBOTS * rng.standard_normal((robots, 3))
    for robot, viscous in enumerate(of_robots):
        for day in range(days):
            viscous_today = viscous + BETWEEN_DAYS * rng.standard_normal(3)
            w, phase = rng.uniform(1.0, 9.0, (3, 5)), rng.uniform(0, 6, (3, 5))
            angle = w[..., None] * time + phase[..., None]
            q, v, a = (
                np.einsum("jk, jkt -> tj", 0.2 * c, f(angle))
                for c, f in ((w**0, np.sin), (w, np.cos), (-(w**2), np.sin))
            )
            tau = np.array([pin.rnea(model, data, *each) for each in zip(q, v, a, strict=True)])
            tau += viscous_today * v + 0.3 * np.sign(v) + 0.3 * rng.standard_normal(tau.shape)
            columns = {"t": time} | {f"q{k + 1}": q[:, k] for k in range(3)}
            table = pl.DataFrame(columns | {f"tau{k + 1}": tau[:, k] for k in range(3)})
            table.write_parquet(folder / "logs" / f"unit{robot + 1:02d}_2026-05-{day + 4:02d}.parquet")
    return of_robots
