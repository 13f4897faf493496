"""Single readings far from their neighbours, and what is none."""

import numpy as np

from poinsot.diagnosis.outliers import Outliers, outlying
from poinsot.estimate import Severity
from poinsot.recording import Recording

TIME = np.arange(0, 10, 0.01)


def test_outlying_readings_are_single_and_far(rng):
    e = 1e-3 * rng.standard_normal(1000)
    assert not outlying(e).any()
    e[[100, 400, 401]] += [0.1, -0.1, 0.1]
    assert np.flatnonzero(outlying(e)).tolist() == [100, 400, 401]
    # a step is no single reading, and a gap is no reading
    e[600:] += 0.1
    e[700] = np.nan
    assert np.flatnonzero(outlying(e)).tolist() == [100, 400, 401]


def test_smooth_motion_coarse_readings_and_rest_are_none():
    motion = np.sin(9 * TIME)
    for values in (motion, np.round(motion / 0.05) * 0.05, np.where(TIME > 5, np.round(motion), 0.0)):
        assert not outlying(values).any()


def test_spikes_of_a_gyro_are_found(rng):
    channels = {
        f"gyro.unit.{axis}": 0.2 * np.sin(6 * TIME) + 3e-3 * rng.standard_normal(1000) for axis in "xyz"
    }
    recording = Recording(TIME, channels, dict.fromkeys(channels, "rad/s"))
    assert not list(Outliers().look_at(recording, "walk"))
    channels["gyro.unit.y"][[300, 700]] += [9.0, -9.0]
    (finding,) = Outliers().look_at(Recording(TIME, channels, recording.units), "walk")
    assert (finding.cause, finding.where, finding.severity) == ("outliers", "unit.y", Severity.error)
