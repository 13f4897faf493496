import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poinsot.exceptions import ChannelNotFound, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.alignment import align

TIME = np.arange(400) * 0.01


def recording(lag=0.0, **options):
    channels = {
        "position.a": np.sin(3 * TIME),
        "torque.a": np.cos(3 * (TIME - lag)),
        "torque.b": np.cos(2 * (TIME - lag)),
    }
    return Recording(TIME, channels, {"position.a": "rad", "torque.a": "N m", "torque.b": "N m"}, **options)


@given(st.integers(-50, 50))
def test_whole_samples_are_moved_exactly(samples):
    original = recording()
    again = align(original, {"torque": 0.01 * samples})
    first = max(0, -samples)
    assert len(again) == len(original) - abs(samples)
    np.testing.assert_array_equal(again.time, TIME[first : first + len(again)])
    np.testing.assert_array_equal(again["position.a"], original["position.a"][first : first + len(again)])
    np.testing.assert_array_equal(
        again["torque.a"], original["torque.a"][first + samples : first + samples + len(again)]
    )


@given(st.floats(-0.2, 0.2))
def test_parts_of_a_sample_are_interpolated(lag):
    again = align(recording(lag), {"torque": lag})
    # Cubic spline, step 0.01: 5/384 h^4 3^4, ten times that near the ends.
    np.testing.assert_allclose(again["torque.a"], np.cos(3 * again.time), atol=10 * 5 / 384 * 0.01**4 * 81)


def test_a_channel_wins_over_its_quantity():
    again = align(recording(), {"torque.b": 0.0, "torque": 0.05})
    np.testing.assert_array_equal(again["torque.b"], recording()["torque.b"][:-5])
    np.testing.assert_array_equal(again["torque.a"], recording()["torque.a"][5:])
    assert again.metadata["steps"] == [
        "brought forward torque.b by 0 ms, torque by 50 ms; 5 samples cut at the ends"
    ]


def test_masks_move_along():
    mask = np.ones(400, dtype=bool)
    mask[100] = False
    again = align(recording(valid={"torque.a": mask}), {"torque.a": 0.1})
    assert np.flatnonzero(~again.mask("torque.a")).tolist() == [90]
    between = align(recording(valid={"torque.a": mask}), {"torque.a": 0.105})
    assert np.flatnonzero(~between.mask("torque.a")).tolist() == [89, 90]


def test_nothing_to_do():
    original = recording()
    assert align(original, {}) is original
    assert align(original, {"torque": 0.0}) is original


def test_delays_that_make_no_sense():
    with pytest.raises(ChannelNotFound, match="no channel 'torqe'"):
        align(recording(), {"torqe": 0.1})
    with pytest.raises(InvalidSignals, match=r"leaves nothing of 3\.99 s"):
        align(recording(), {"torque": 4.0})
    with pytest.raises(InvalidSignals, match="must be a number"):
        align(recording(), {"torque": float("nan")})
