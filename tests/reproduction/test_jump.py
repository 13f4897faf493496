"""Localization of jumps: derivatives of its model, what it finds of slip, and the case in short."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimators.online.leg_odometry import LegOdometry, OdometrySample

pytest.importorskip("mujoco")

from poinsot_reproductions.optimal_estimation import jump as case
from poinsot_reproductions.optimal_estimation.localization import MovedBase, interpolated, localize

FEET = np.array([[0.2, 0.1, -0.3], [0.2, -0.1, -0.3], [-0.2, 0.1, -0.3], [-0.2, -0.1, -0.3]])
STILL = np.array([0, 0, 0, 0, 0, 9.81])


def standing(rng, count, slips=0.0, turns=0.0):
    """Samples of a robot that stands; one foot slips along x by so much after half of them [m], links turn [rad]."""
    noise = LegOdometry()
    levels, slopes = np.repeat(noise.inertial_noise, 3), np.eye(12).reshape(4, 3, 12)
    found = []
    for k in range(count):
        feet = FEET + noise.position_noise * rng.standard_normal((4, 3))
        feet[0, 0] += slips * (k >= count // 2)
        turned = Rotation.from_rotvec([0, turns * k, 0]).as_matrix()
        found.append(
            OdometrySample(
                1e-3 * k, STILL + levels * rng.standard_normal(6), feet, slopes, np.tile(turned, (4, 1, 1)),
                np.array([True, True, True, k % 10 > 2]), np.full(4, 0.02),
            )
        )  # fmt: skip
    return found


def test_slopes_of_the_model(rng):
    samples = standing(rng, 6, turns=0.01)
    R = Rotation.from_rotvec([0.2, -0.3, 0.5]).as_matrix()
    samples = [replace(each, inertial=each.inertial + rng.normal(0, 2, 6)) for each in samples]
    model = MovedBase(samples, LegOdometry(foot_creep=(5e-3, 1e-3), foot_compliance=(0.1, 1e-3)), R)
    N, n, m = 5, 27, 26
    x = rng.normal(0, 0.02, (N, n))
    x[:, 6:9] += rng.normal(0, 0.3, (N, 3))
    x[:, 15:] += rng.normal(0, 0.3, (N, n - 15))
    w, theta = rng.normal(0, 0.01, (N, m)), np.zeros(0)
    linear, h = model.linearize(0, x, w, theta), 1e-6
    slopes = {"f_x": (0, n), "f_w": (1, m)}
    for name, (which, size) in slopes.items():
        for k in range(size):
            values = []
            for sign in (1, -1):
                moved = [x.copy(), w.copy(), theta.copy()]
                moved[which][..., k] += sign * h
                values.append(model.evaluate(0, *moved))
            f, r = ((a - b) / (2 * h) for a, b in zip(*values, strict=True))
            # exponentials of small rotations are series to fourth order: 1e-7 at 0.05 rad
            np.testing.assert_allclose(getattr(linear, name)[:, :, k], f, atol=1e-6)
            if name == "f_x":
                np.testing.assert_allclose(linear.r_x[:, :, k], r, rtol=1e-4, atol=1e-2)


def test_a_slip_is_found_and_the_base_stays(rng):
    samples = standing(rng, 200, slips=0.02)
    found = localize(samples, LegOdometry(start_std=(1e-3, 1e-3)), np.zeros(3), np.eye(3))
    assert found.converged
    walks = found.slip[:, 0]
    assert walks.max() > 5 * np.median(walks) and np.argmax(walks) in range(80, 100)
    # three feet that stand hold the base to a few of their readings' standard deviations, 1 mm each
    assert np.abs(found.p).max() < 3e-3


def test_a_lost_encoder_reading_loses_no_roll(rng):
    samples = standing(rng, 6, turns=0.01)
    lost = [
        replace(each, feet=np.full((4, 3), np.nan), rotations=np.full((4, 3, 3), np.nan)) if k == 2 else each
        for k, each in enumerate(samples)
    ]
    rolled, also = (MovedBase(each, LegOdometry(), np.eye(3)).turned.sum(axis=0) for each in (samples, lost))
    # the chord between two rotations 0.02 rad apart is off by the square of that
    np.testing.assert_allclose(also, rolled, atol=4e-4 * np.abs(rolled).max())
    assert np.abs(rolled).max() > 0.02


def test_lost_readings_are_as_uncertain_as_their_neighbours_differ():
    time = np.arange(5.0)
    readings = np.array([[0.0], [1.0], [np.nan], [np.nan], [7.0]])
    filled, doubt = interpolated(time, readings)
    np.testing.assert_allclose(filled[:, 0], [0, 1, 3, 5, 7])
    np.testing.assert_allclose(doubt[:, 0], [0, 0, 3, 3, 0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3])
def test_the_case_in_short(seed, tmp_path):
    result = case.run(seed, quick=True, folder=tmp_path)
    figures = result.figures
    assert 2 * figures["position_error_m"] <= figures["position_error_filter_m"]
    assert figures["orientation_error_rad"] < figures["orientation_error_filter_rad"]
    assert result.rows[0]["converged"] and result.rows[1]["jumps"] == case.FEW
    # four jumps: both means of squared errors are in bands, or below as four may be
    assert all(row["nees_mean"] < row["band"][1] for row in result.rows)
    result.write_page(tmp_path / "jump.html")
    assert (tmp_path / "jump.html").stat().st_size > 1e5


def test_a_bias_of_the_gyro_rolls_no_foot(rng):
    """Feet that are balls roll by how their links turn in the world, not by what a gyro with a bias reads of it."""
    noise = LegOdometry(
        inertial_noise=(1e-4, 1e-3), position_noise=1e-6, foot_walk=1e-5, start_std=(1e-4, 1e-4), bias_std=(0.05, 0.01)
    )  # fmt: skip
    bias = np.array([0.02, -0.03, 0, 0, 0, 0])
    samples = [
        replace(each, inertial=STILL + bias, feet=FEET.copy(), closed=np.ones(4, dtype=bool))
        for each in standing(rng, 400)
    ]
    found = localize(samples, noise, np.zeros(3), np.eye(3))
    np.testing.assert_allclose(found.bias[-1], bias, atol=2e-3)
    # rolling with the bias would be 0.02 m x 0.03 rad/s x 0.4 s, a quarter of a millimetre
    assert np.abs(found.p[-1]).max() < 3 * np.sqrt(np.diag(found.covariance[-1])[:3]).max() < 5e-5
