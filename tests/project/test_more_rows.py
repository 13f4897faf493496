"""Automatic rates rise above the band of the motion where intervals need equations; positions stay as smooth."""

import numpy as np
import pytest

from poinsot.estimate import Trust
from poinsot.project import Project, identify

URDF = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/>
<mass value="0.6"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""

JOB = """[robot]
path = "pendulum.urdf"
[friction]
law = "viscous-coulomb"
[[recordings]]
path = "log.csv"
time = { column = "t", unit = "s" }
position = { columns = ["q"], unit = "rad" }
torque = { columns = ["tau"], unit = "N m" }
[preprocessing]
method = "butterworth-decimation"
cutoff_hz = "auto"
decimate_hz = "auto"
[method]
name = "least-squares"
"""

INERTIA, MOMENT = 0.16, 0.3
"""About the pivot [kg m^2], and first moment [kg m]."""


def identified(folder, noise):
    rng = np.random.default_rng(3)
    t = np.arange(0, 7, 0.005)
    omega, phase = 2 * np.pi * np.array([0.35, 0.8]), np.array([0.3, 1.1])
    q, v, a = (
        np.sum(np.array([0.9, 0.5]) * omega**n * np.sin(np.outer(t, omega) + phase + n * np.pi / 2), axis=1)
        for n in range(3)
    )
    tau = INERTIA * a + 9.81 * MOMENT * np.sin(q) + 0.02 * v + 0.1 * np.tanh(v / 0.02)
    tau += 0.03 * rng.standard_normal(len(t))
    table = np.column_stack([t, q + noise * rng.standard_normal(len(t)), tau])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q,tau", comments="")
    (folder / "pendulum.urdf").write_text(URDF)
    (folder / "job.toml").write_text(JOB)
    return identify(Project.load(folder / "job.toml"))


@pytest.mark.parametrize("noise", [1e-5, 0.005, 0.02])
def test_more_rows_of_noisy_positions_do_not_bias_an_inertia(noise, tmp_path):
    estimate = identified(tmp_path, noise)
    assert estimate.trust is Trust.trusted
    truth = {"mx1": 0.0, "mz1": -MOMENT, "yy1": INERTIA, "fv1": 0.02, "fc1": 0.1}
    for name, value in truth.items():
        k = estimate.names.index(name)
        assert abs(estimate.values[k] - value) < 2.6 * estimate.std[k], name
    k = estimate.names.index("yy1")
    assert estimate.std[k] < 0.1 * INERTIA
    # five equations for each of six parameters and 25 effects
    assert estimate.rows >= 5 * 31
