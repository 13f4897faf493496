import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import ChannelNotFound, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.alignment import align, estimate_delay

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
        "corrected delays: torque.b by 0 ms, torque by 50 ms; 5 samples cut at the ends"
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
    with pytest.raises(InvalidSignals, match=r"is longer than the recording of 3\.99 s"):
        align(recording(), {"torque": 4.0})
    with pytest.raises(InvalidSignals, match="must be a number"):
        align(recording(), {"torque": float("nan")})


def test_a_channel_without_trusted_samples_cannot_be_moved():
    mask = np.arange(400) == 7
    with pytest.raises(InvalidSignals, match=r"'torque\.a' has 1 valid samples; two are needed"):
        align(recording(valid={"torque.a": mask}), {"torque": 0.015})


# ------------------------------------------------------------------------------------------------ delays that are found

RATE_HZ = 1000.0


def pair(rng, samples, noise=(0.01, 0.03), gain=2.5, T=4000):
    """`late` follows `motion`, a random sum of sines, by a known number of samples; both are noisy."""
    w = 2 * np.pi * rng.uniform(0.3, 8.0, 5)
    phase, size = rng.uniform(0, 2 * np.pi, 5), rng.normal(size=5)
    time = np.arange(T) / RATE_HZ

    def motion(t):
        return np.sin(np.multiply.outer(t, w) + phase) @ size

    channels = {
        "motion": motion(time) + noise[0] * rng.normal(size=T),
        "late": gain * motion(time - samples / RATE_HZ) + 1.0 + noise[1] * rng.normal(size=T),
    }
    return Recording(time, channels, {"motion": "rad", "late": "V"})


@pytest.mark.parametrize("samples", [0.3, 1.0, 2.5, 4.9, 7.4, -0.7, -7.4, 88.2])
def test_a_known_delay_is_found(samples, rng):
    measured = pair(rng, samples)
    found = estimate_delay(measured, "late", "motion")
    assert found.std_s * RATE_HZ < 0.1
    assert abs(found.samples - samples) < 4 * found.std_s * RATE_HZ
    assert found.seconds == pytest.approx(found.samples / RATE_HZ)
    assert found.unexplained < 0.1
    back = estimate_delay(measured, "motion", "late")
    assert abs(back.samples + found.samples) < 4 * found.std_s * RATE_HZ
    aligned = align(measured, {"late": found.seconds})
    left = estimate_delay(aligned, "late", "motion")
    assert abs(left.samples) < 0.02  # a cubic spline is exact to 5e-6 here, and the window is another one
    assert left.unexplained_before < 1.05 * found.unexplained


@pytest.mark.parametrize("noise", [(0.0, 0.3), (0.05, 0.0), (0.1, 0.05)], ids=["late", "reference", "both"])
def test_the_uncertainty_is_that_of_the_delay(noise, rng):
    """No pull towards whole or half samples either: noise in one channel does not correlate with that in the other."""
    repetitions = 100
    z = []
    for _ in range(repetitions):
        samples = rng.uniform(-7.4, 7.4)
        found = estimate_delay(pair(rng, samples, noise), "late", "motion", largest_s=0.02)
        z.append((found.samples - samples) / (found.std_s * RATE_HZ))
    # of 20 stretches: a Student variable with 19 degrees of freedom has variance 1.12, and a fourth moment of 4.0
    assert abs(np.mean(np.square(z)) - 1.12) < 4 * np.sqrt((4.0 * 1.12**2 - 1.12**2) / repetitions)
    assert abs(np.mean(z)) < 4 * np.sqrt(1.12 / repetitions)


def test_without_noise_it_is_exact(rng):
    found = estimate_delay(pair(rng, 3.21, noise=(0.0, 0.0)), "late", "motion")
    # the taper does not move with the motion: a few thousandths of what is less than a sample
    assert abs(found.samples - 3.21) < 5e-3
    assert "late by 3.206 ms +- " in str(found)
    assert "(3.21 samples)" in str(found)


def test_delays_that_cannot_be_found(rng):
    measured = pair(rng, 3.0)
    with pytest.raises(ChannelNotFound):
        estimate_delay(measured, "later", "motion")
    with pytest.raises(InvalidSignals, match=r"cannot be estimated from 3\.999 s"):
        estimate_delay(measured, "late", "motion", largest_s=2.0)
    with pytest.raises(InvalidSignals, match=r"raise largest_s, or flip a sign"):
        estimate_delay(pair(rng, 30.0), "late", "motion", largest_s=0.005)
    with pytest.raises(InvalidSignals, match="flip a sign"):
        estimate_delay(pair(rng, 3.0, gain=-1.0), "late", "motion", largest_s=0.005)
    T = 4000
    rest = {"a": rng.normal(size=T), "b": rng.normal(size=T), "c": np.ones(T)}
    rest |= {"m": np.sin(np.arange(T) / 100)}
    others = Recording(np.arange(T) / RATE_HZ, rest, dict.fromkeys(rest, "1"), {"m": np.arange(T) != 9})
    with pytest.raises(InvalidSignals, match="'c' is constant"):
        estimate_delay(others, "a", "c")
    with pytest.raises(InvalidSignals, match="'m' has invalid samples"):
        estimate_delay(others, "a", "m")
    with pytest.raises(InvalidSignals, match=r"does not exceed its noise|correlate most inside"):
        estimate_delay(others, "a", "b")
    jumping = np.arange(T) / RATE_HZ
    jumping[1:] += 0.01
    with pytest.raises(InvalidSignals, match="resample"):
        estimate_delay(Recording(jumping, measured.channels, measured.units), "late", "motion")


def test_emps_follows_its_reference_as_its_gain_says(shared_data):
    """A position loop of gain kp = 160.18 1/s follows a ramp by 1/kp = 6.2 ms."""
    from poinsot import Source, read_recording

    path = shared_data("emps") / "DATA_EMPS.mat"
    channels = {"position.axis": ("qm", "m"), "reference.axis": ("qg", "m")}
    found = estimate_delay(
        read_recording([Source(path, channels)], rate_hz=1000.0), "position.axis", "reference.axis"
    )
    assert found.seconds == pytest.approx(1 / 160.18, rel=0.1)
