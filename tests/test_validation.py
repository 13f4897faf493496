"""Held-out prediction: an estimate predicts motions that it has not seen, and says when it does not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

ARM = Path(__file__).parents[1] / "examples" / "arm" / "arm.urdf"
SMOOTHING = poinsot.ButterworthDecimation(cutoff_hz=30, decimate_hz=10)


@pytest.fixture(scope="module")
def arm():
    return poinsot.load_robot(ARM)


def signals(arm, rng, **values):
    theta = model_parameters(arm, fv1=2.0, fc1=1.0, fv2=2.0, fc2=1.0, fv3=1.0, fc3=0.5, **values)
    motion = fourier_motion(3, 8.0, 500.0, rng)
    return SMOOTHING.apply(simulate_recording(arm, theta, motion, Sensors(torque_std=0.2), rng))


def test_an_unseen_motion_is_predicted_to_the_noise(arm, rng):
    estimate = poinsot.LeastSquares().solve(poinsot.inverse_dynamics(arm, signals(arm, rng)))
    validated = poinsot.validate(estimate, [("another motion", signals(arm, rng))])
    (fit,) = validated.validation
    assert fit.recording == "another motion"
    # 0.2 N m of white noise, passed by the decimation's 0.8 / 20 of the band, both ways
    assert fit.rms_per_joint.max() < 0.2
    assert fit.relative_error_percent < 3 * estimate.fit.relative_error_percent


def test_a_changed_robot_is_noticed(arm, rng):
    estimate = poinsot.LeastSquares().solve(poinsot.inverse_dynamics(arm, signals(arm, rng)))
    heavier = signals(arm, rng, m3=4.0)
    assert poinsot.predict(estimate, heavier).relative_error_percent > 5 * estimate.fit.relative_error_percent


def test_an_estimate_without_its_problem_cannot_predict(arm, rng):
    estimate = poinsot.LeastSquares().solve(poinsot.inverse_dynamics(arm, signals(arm, rng)))
    with pytest.raises(poinsot.PoinsotError, match="by regression"):
        poinsot.predict(replace(estimate, problem=None), signals(arm, rng))
    assert np.isfinite(estimate.fit.relative_error_percent)
