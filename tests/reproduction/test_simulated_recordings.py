"""Simulated recordings follow the physics of Pinocchio, and start and end at rest."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import poinsot
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

ARM = Path(__file__).parents[2] / "examples" / "arm" / "arm.urdf"


@pytest.fixture(scope="module")
def arm():
    return poinsot.load_robot(ARM, drive=poinsot.Drive(rotor_inertia=True))


def test_motion_is_at_rest_at_both_ends_and_its_derivatives_are_its_own(rng):
    time, q, v, a = fourier_motion(3, 4.0, 500.0, rng)
    for array in (v, a):
        assert np.abs(array[[0, -1]]).max() < 1e-9
    h = time[1]
    # central differences: error h^2/6 of the third derivative, which stays below 1e3 here
    assert np.abs(np.gradient(q, h, axis=0) - v)[1:-1].max() < 1e3 * h**2
    assert np.abs(np.gradient(v, h, axis=0) - a)[1:-1].max() < 1e4 * h**2


def test_torques_are_inverse_dynamics_plus_rotors_and_friction(arm, rng):
    theta = model_parameters(arm, ia2=0.2, fv1=3.0, fc3=1.0, off2=0.5)
    time, q, v, a = fourier_motion(3, 2.0, 100.0, rng)
    recording = simulate_recording(arm, theta, (time, q, v, a), Sensors(), rng)
    data = arm.model.createData()
    expected = np.array([pin.rnea(arm.model, data, *state) for state in zip(q, v, a, strict=True)])
    expected += np.column_stack([3.0 * v[:, 0], 0.2 * a[:, 1] + 0.5, np.sign(v[:, 2])])
    assert np.allclose(recording.stack("torque"), expected, atol=1e-10)
    assert np.array_equal(recording.stack("position"), q)


def test_sensors_round_and_scatter_as_specified(arm, rng):
    motion = fourier_motion(3, 10.0, 1000.0, rng)
    theta = model_parameters(arm)
    read = simulate_recording(arm, theta, motion, Sensors(torque_std=0.5, position_step=0.01), rng)
    clean = simulate_recording(arm, theta, motion, Sensors(), rng)
    steps = read.stack("position") / 0.01
    assert np.abs(steps - np.round(steps)).max() < 1e-9
    scatter = (read.stack("torque") - clean.stack("torque")).std()
    assert abs(scatter / 0.5 - 1) < 5 / np.sqrt(
        2 * 30_000
    )  # five standard deviations of a standard deviation


def test_parameters_of_another_robot_are_refused(arm, rng):
    with pytest.raises(poinsot.PoinsotError, match="5 parameters"):
        simulate_recording(arm, np.zeros(5), fourier_motion(3, 1.0, 100.0, rng), Sensors(), rng)
