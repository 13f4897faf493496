import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import ChannelNotFound, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.resampling import resample


def jittered(rng, rate_hz=100.0, samples=400, jitter=0.2):
    time = (np.arange(samples) + jitter * rng.uniform(-1, 1, samples)) / rate_hz
    return Recording(time, {"x": np.sin(2 * np.pi * time)}, {"x": "rad"})


@given(st.integers(2, 200), st.floats(0.5, 2000))
def test_a_uniform_recording_stays_as_it_is(samples, rate_hz):
    time = np.arange(samples) / rate_hz
    recording = Recording(time, {"x": np.cos(np.arange(samples))}, {"x": "m"})
    again = resample(recording)
    assert len(again) == samples
    assert again.is_uniform or samples == 2
    # The spline goes through its samples; stamps move by rounding only.
    np.testing.assert_allclose(again["x"], recording["x"], atol=1e-9)
    assert again.metadata["resampled"]["largest_shift_s"] <= 1e-9 * recording.duration_s
    assert not again.valid


def test_jitter_is_taken_out_and_reported(rng):
    recording = jittered(rng)
    again = resample(recording, 100.0)
    assert again.is_uniform
    assert not recording.is_uniform
    # Cubic interpolation: error below (5/384) h^4 max|x''''| with h up to 1.4 intervals, ten times that near the ends.
    np.testing.assert_allclose(
        again["x"], np.sin(2 * np.pi * again.time), atol=10 * 5 / 384 * 0.014**4 * (2 * np.pi) ** 4
    )
    figures = again.metadata["resampled"]
    # Stamps are off by +-0.2 intervals, counted from a first one that is off too.
    assert 0.001 < figures["largest_shift_s"] <= 0.0041
    assert 0 < figures["rms_shift_s"] < figures["largest_shift_s"]
    assert figures["largest_jitter_s"] <= 0.0081
    assert "samples moved by up to" in again.metadata["steps"][-1]


def test_linear_is_between_its_neighbours(rng):
    recording = jittered(rng)
    again = resample(recording, 333.0, "linear")
    np.testing.assert_array_equal(again["x"], np.interp(again.time, recording.time, recording["x"]))


def test_a_gap_is_masked_not_invented():
    time = np.concatenate([np.arange(0, 50), np.arange(80, 120)]) * 0.01
    again = resample(Recording(time, {"x": time**2}, {"x": "m"}))
    assert len(again) == 120
    inside = (again.time > 0.495) & (again.time < 0.795)
    np.testing.assert_array_equal(again.mask("x"), ~inside)
    assert again.metadata["resampled"]["masked_samples"] == inside.sum()
    assert "30 samples in gaps were masked" in again.metadata["steps"][-1]
    np.testing.assert_allclose(again["x"][~inside], again.time[~inside] ** 2, atol=1e-12)


def test_masked_samples_are_bridged_when_few_and_masked_when_many():
    time = np.arange(100) * 0.01
    trusted = np.ones(100, dtype=bool)
    trusted[[20, 21]] = False  # two missing: three intervals
    trusted[50:60] = False
    values = np.where(trusted, np.sin(time), np.nan)
    again = resample(Recording(time, {"x": values}, {"x": "rad"}, {"x": trusted}))
    expected = np.ones(100, dtype=bool)
    expected[50:60] = False
    np.testing.assert_array_equal(again.mask("x"), expected)
    np.testing.assert_allclose(again["x"][expected], np.sin(time[expected]), atol=1e-7)
    assert np.isfinite(again["x"]).all()


def test_outside_the_trusted_samples_nothing_is_known():
    time = np.arange(20) * 0.1
    trusted = (time > 0.35) & (time < 1.55)
    again = resample(Recording(time, {"x": np.ones(20)}, {"x": "m"}, {"x": trusted}))
    np.testing.assert_array_equal(again.mask("x"), trusted)


def test_a_command_is_held():
    time = np.array([0.0, 1.0, 2.0, 3.0])
    recording = Recording(time, {"voltage.a": np.array([0.0, 2.0, 2.0, -1.0])}, {"voltage.a": "V"})
    again = resample(recording, 2.0, hold=["voltage.a"])
    np.testing.assert_array_equal(again["voltage.a"], [0, 0, 2, 2, 2, 2, -1])


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, np.inf, np.nan, 0.001, 1e9])
def test_rates_that_make_no_sense(rng, rate_hz):
    with pytest.raises(InvalidSignals, match="Hz"):
        resample(jittered(rng), rate_hz)


def test_a_channel_without_samples(rng):
    recording = jittered(rng)
    blind = Recording(recording.time, recording.channels, recording.units, {"x": np.zeros(400, dtype=bool)})
    with pytest.raises(InvalidSignals, match="'x' has 0 valid samples"):
        resample(blind)
    with pytest.raises(ChannelNotFound):
        resample(recording, hold=["y"])


def test_the_uneven_clock_of_a_real_robot(shared_data):
    from poinsot import read_recording

    path = shared_data("ur10e") / "free.csv"
    recording = read_recording(
        path, {"position.elbow": (3, "rad")}, time=(0, "s"), header=False, rows=(194, 4966)
    )
    again = resample(recording, 100.0)
    assert again.is_uniform
    assert again.metadata["resampled"]["largest_shift_s"] < 0.016  # half of the longest gap, 30 ms
