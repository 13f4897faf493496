import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import ChannelNotFound, InvalidRecording
from poinsot.recording import Recording, window_indices

TIME = np.arange(5) * 0.1


def recording(time=TIME, **options):
    channels = {
        "position.a": np.arange(len(time)) * 1.0,
        "position.b": np.ones(len(time)),
        "torque.a": -np.ones(len(time)),
    }
    units = {"position.a": "rad", "position.b": "rad", "torque.a": "N m"}
    return Recording(time, **{"channels": channels, "units": units, **options})


def test_what_it_says_about_itself():
    r = recording()
    assert len(r) == 5
    assert r.rate_hz == pytest.approx(10)
    assert r.duration_s == pytest.approx(0.4)
    assert r.is_uniform
    assert r.joints("position") == ("a", "b")
    np.testing.assert_array_equal(r.stack("position"), np.stack([np.arange(5.0), np.ones(5)], axis=1))
    np.testing.assert_array_equal(r.stack("position", ("b",)), np.ones((5, 1)))
    assert r.mask("torque.a").all()


def test_it_is_frozen_and_keeps_its_own_copy():
    time = TIME.copy()
    r = recording(time)
    time[0] = 99.0
    assert r.time[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        r["position.a"][0] = 1.0
    with pytest.raises(TypeError):
        r.channels["new"] = TIME
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.time = TIME


def test_it_can_be_sent_to_another_process():
    here = recording(valid={"torque.a": np.arange(5) > 1}, metadata={"steps": ("cut",)})
    there = pickle.loads(pickle.dumps(here))
    assert list(there.channels) == list(here.channels) and dict(there.units) == dict(here.units)
    assert np.array_equal(there.time, here.time) and np.array_equal(there["torque.a"], here["torque.a"])
    assert np.array_equal(there.valid["torque.a"], here.valid["torque.a"])
    assert there.metadata == here.metadata


def test_an_uneven_clock_is_not_uniform():
    assert not recording(np.array([0.0, 0.1, 0.2, 0.35, 0.4])).is_uniform


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": np.array([0.0, 0.1, 0.1, 0.2, 0.3])}, "clock repeats at row 2"),
        ({"time": np.array([0.0, 0.1, 0.05, 0.2, 0.3])}, "clock runs backwards at row 2"),
        ({"time": np.array([0.0, 0.1, np.nan, 0.2, 0.3])}, "clock is not finite at row 2"),
        ({"time": np.array([0.0])}, "at least two samples"),
        ({"channels": {"x": np.ones(4)}, "units": {"x": "m"}}, r"'x': its values have shape \(4,\)"),
        (
            {"channels": {"x": np.array([1, np.inf, 1, np.nan, 1])}, "units": {"x": "m"}},
            "'x' is inf at row 1 .* 2 rows in all",
        ),
        ({"units": {"position.a": "rad", "position.b": "rad"}}, "'torque.a' has no unit"),
        ({"channels": {}, "units": {}}, "at least one channel"),
        ({"valid": {"torque.c": np.ones(5, dtype=bool)}}, "no channel 'torque.c'; did you mean"),
        ({"valid": {"torque.a": np.ones(4, dtype=bool)}}, "'torque.a': its mask have shape"),
    ],
)
def test_contradictions_are_refused(options, sentence, unchecked):
    with pytest.raises(InvalidRecording, match=sentence):
        recording(**options)


def test_masked_values_may_be_anything():
    mask = np.array([True, False, True, True, False])
    r = Recording(TIME, {"x": np.array([1, np.nan, 2, 3, np.inf])}, {"x": "m"}, {"x": mask})
    np.testing.assert_array_equal(r.mask("x"), mask)


def test_missing_channels_name_the_nearest():
    with pytest.raises(ChannelNotFound, match=r"no channel 'torqe.a'; did you mean 'torque.a'\?"):
        recording()["torqe.a"]
    with pytest.raises(ChannelNotFound):
        recording().mask("x")
    with pytest.raises(ChannelNotFound):
        recording().stack("velocity")


@given(st.integers(2, 60), st.floats(0.5, 5000), st.data())
def test_neighbouring_windows_share_no_sample_and_lose_none(samples, rate_hz, data):
    time = np.arange(samples) / rate_hz
    cut = data.draw(st.integers(2, max(samples - 2, 2)))
    if samples < 4:
        return
    first = window_indices(time, time[0], time[cut])
    second = window_indices(time, time[cut], time[-1] + 1 / rate_hz)
    assert first == (0, cut)
    assert second == (cut, samples)


def test_a_window_outside_the_recording():
    with pytest.raises(
        InvalidRecording, match=r"window 3 s to 4 s holds 0 samples; the recording runs from 0 s to 0.4 s"
    ):
        recording().between(3.0, 4.0)


def test_a_window_cuts_everything_alike():
    mask = np.array([True, False, True, True, True])
    part = recording(valid={"torque.a": mask}, metadata={"name": "x"}).between(0.1, 0.3)
    np.testing.assert_allclose(part.time, [0.1, 0.2])
    np.testing.assert_array_equal(part["position.a"], [1, 2])
    np.testing.assert_array_equal(part.mask("torque.a"), [False, True])
    assert part.metadata == {"name": "x"}


def test_frames_that_have_a_sensor():
    names = (
        "gyro.imu.x",
        "gyro.imu.y",
        "gyro.arm.imu.x",
        "gyro.speed",
        "force.foot.mx",
        "gyro.imu.mx",
        "position.gyro.x",
    )
    recording = Recording(np.arange(3.0), {name: np.zeros(3) for name in names}, dict.fromkeys(names, "1"))
    assert recording.frames("gyro") == (
        "imu",
        "arm.imu",
    )  # a frame's name may have points; mx is no axis of a gyro
    assert recording.frames("force") == ("foot",) and recording.frames("orientation") == ()


def test_gaps_are_interpolated_or_held():
    values, valid = np.array([9.0, 1.0, 9.0, 9.0, 4.0, 9.0]), np.array([0, 1, 0, 0, 1, 0], dtype=bool)
    recording = Recording(np.arange(6.0), {"a": values}, {"a": "1"}, {"a": valid})
    np.testing.assert_allclose(recording.filled("a"), [1, 1, 2, 3, 4, 4])
    np.testing.assert_array_equal(recording.filled("a", hold=True), [1, 1, 1, 1, 4, 4])
    nothing = Recording(np.arange(6.0), {"a": values}, {"a": "1"}, {"a": np.zeros(6, dtype=bool)})
    with pytest.raises(InvalidRecording, match="'a' has no valid sample"):
        nothing.filled("a")
