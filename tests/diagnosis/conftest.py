"""A simulated robot that is not the example's arm: a Panda-like chain of four joints, its recordings and estimates."""

import numpy as np
import pytest

import poinsot
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

LINKS = (  # mass [kg], centre of mass [m], axis, place of the joint in its parent [m]
    (4.0, (0.02, 0.01, 0.1), "0 0 1", "0 0 0.2"),
    (3.0, (0.15, 0.02, 0.03), "0 1 0", "0 0.05 0.15"),
    (2.0, (0.12, -0.02, 0.01), "0 1 0", "0.35 0 0"),
    (1.0, (0.05, 0.01, 0.04), "1 0 0", "0.25 0 0.02"),
)


def description(masses=1.0):
    """URDF of the chain, its masses times a factor."""
    parts = ['<robot name="chain"><link name="base"/>']
    for k, (m, c, axis, place) in enumerate(LINKS, start=1):
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{c[0]} {c[1]} {c[2]}"/><mass value="{masses * m}"/>'
            f'<inertia ixx="{masses * m * 0.006}" iyy="{masses * m * 0.008}" izz="{masses * m * 0.007}" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        parts.append(
            f'<joint name="joint{k}" type="revolute"><parent link="{f"link{k - 1}" if k > 1 else "base"}"/>'
            f'<child link="link{k}"/><origin xyz="{place}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="6"/></joint>'
        )
    return "".join(parts) + "</robot>"


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """Return the robot with masses times a factor, and its description changed."""
    folder = tmp_path_factory.mktemp("chain")

    def load(masses=1.0, change=str, **settings):
        text = change(description(masses))
        path = folder / f"chain_{hash(text)}.urdf"
        path.write_text(text)
        return poinsot.load_robot(path, **{"friction": poinsot.ViscousCoulomb(offset=True), **settings})

    return load


@pytest.fixture(scope="session")
def record(chain):
    """Return (time, q, tau) of 12 s at 200 Hz with 1 % of noise, by a seed."""

    def make(seed=0):
        rng = np.random.default_rng(seed)
        robot = chain()
        friction = {f"fv{k}": 1.5 / k for k in range(1, 5)} | {f"fc{k}": 2.0 / k for k in range(1, 5)}
        motion = fourier_motion(4, 12.0, 200.0, rng, harmonics=8, amplitude=0.8)
        recording = simulate_recording(
            robot,
            model_parameters(robot, **friction),
            motion,
            Sensors(position_std=1e-5, torque_std=0.1),
            rng,
        )
        return recording.time, recording.stack("position"), recording.stack("torque")

    return make


@pytest.fixture(scope="session")
def estimated_together(chain):
    """Return the estimate of several (time, q, tau)."""

    def solve(*recorded, robot=None):
        robot = chain() if robot is None else robot
        recordings = []
        for time, q, tau in recorded:
            channels = {f"position.{joint}": q[:, k] for k, joint in enumerate(robot.joints)}
            channels |= {f"torque.{joint}": tau[:, k] for k, joint in enumerate(robot.joints)}
            units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
            recordings.append(poinsot.Recording(time, channels, units))
        smoothing = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=8)
        return poinsot.LeastSquares("per-joint").solve(
            poinsot.InverseDynamics(robot, recordings, signals=smoothing)
        )

    return solve


@pytest.fixture(scope="session")
def estimated(estimated_together):
    """Return the estimate of one recording (time, q, tau)."""
    return lambda time, q, tau, robot=None: estimated_together((time, q, tau), robot=robot)
