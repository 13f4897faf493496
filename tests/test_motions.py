"""How well sensors agree with a motion: root mean squares of what was read."""

import numpy as np
import pytest

from poinsot.estimate.motions import SensorFit


def fit_of(normalized):
    S, m = normalized.shape
    names = tuple(f"gyro.imu.{axis}" for axis in "xyz"[:m])
    return SensorFit("gyro", names, ("rad/s",) * m, normalized, np.zeros((S, m)), names, normalized)


def test_root_mean_squares_are_of_what_was_read():
    fit = fit_of(np.array([[3.0, np.nan], [-4.0, 1.0], [np.nan, np.nan]]))
    np.testing.assert_allclose(fit.rms_per_component, [np.sqrt(12.5), 1.0])
    assert fit.rms == pytest.approx(np.sqrt(26 / 3))


def test_a_sensor_that_read_nothing_has_none():
    fit = fit_of(np.full((4, 2), np.nan))
    assert np.isnan(fit.rms) and np.isnan(fit.rms_per_component).all()
