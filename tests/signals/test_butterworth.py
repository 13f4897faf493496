"""Butterworth smoothing: exactly the gain that theory gives, and clear words where it cannot be done."""

import numpy as np
import pytest
from scipy import signal

from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.signals.decimation import Decimation

RATE_HZ = 1000.0


def recording_of(positions, efforts=None, rate_hz=RATE_HZ, effort="torque", **more):
    """Joints j1, j2, ... with positions (T, n) and efforts (T, n)."""
    efforts = np.ones_like(positions) if efforts is None else efforts
    channels = {f"position.j{k + 1}": p for k, p in enumerate(positions.T)}
    channels |= {f"{effort}.j{k + 1}": e for k, e in enumerate(efforts.T)}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    return Recording(np.arange(len(positions)) / rate_hz, channels, units, **more)


def tone(frequency_hz, seconds=4.0, amplitude=1.0, phase=0.3):
    time = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return time, amplitude * np.sin(2 * np.pi * frequency_hz * time + phase)[:, None]


@pytest.mark.parametrize(("cutoff_hz", "order"), [(5.0, 4), (50.0, 4), (50.0, 1), (200.0, 5), (499.0, 2)])
def test_equal_to_scipy_and_central_differences(cutoff_hz, order, rng):
    p = rng.standard_normal((2000, 3)).cumsum(axis=0)
    tau = rng.standard_normal((2000, 3))
    signals = ButterworthDecimation(cutoff_hz, order=order, cut_edges=False).apply(recording_of(p, tau))
    b, a = signal.butter(order, cutoff_hz / (RATE_HZ / 2))
    q = signal.filtfilt(b, a, p, axis=0, padlen=3 * order)
    # the direct form of order 4 at 0.01 of Nyquist loses some 8 digits, on positions of size 50
    np.testing.assert_allclose(signals.q, q, atol=1e-6)
    v = (signals.q[2:] - signals.q[:-2]) * RATE_HZ / 2
    np.testing.assert_allclose(signals.v[1:-1], v, atol=1e-10 * np.abs(v).max())
    np.testing.assert_allclose(
        signals.a[2:-2], (v[2:] - v[:-2]) * RATE_HZ / 2, atol=1e-9 * np.abs(signals.a).max()
    )
    np.testing.assert_array_equal(signals.tau, tau)
    np.testing.assert_array_equal(signals.time, recording_of(p).time)
    assert signals.joints == ("j1", "j2", "j3")


@pytest.mark.parametrize(
    ("frequency_hz", "cutoff_hz", "order"), [(1, 50, 4), (5, 50, 4), (30, 50, 4), (80, 50, 2), (3, 20, 6)]
)
def test_a_tone_comes_out_with_the_gain_of_theory(frequency_hz, cutoff_hz, order):
    """|H|^2 = 1 / (1 + (tan(w/2) / tan(w_c/2))^2n), no lag; each central difference has the gain sin(w h) / h."""
    _, p = tone(frequency_hz)
    signals = ButterworthDecimation(cutoff_hz, order=order).apply(recording_of(p))
    w, h = 2 * np.pi * frequency_hz, 1 / RATE_HZ
    ratio = np.tan(w * h / 2) / np.tan(np.pi * cutoff_hz * h)
    gain, slope = 1 / (1 + ratio ** (2 * order)), np.sin(w * h) / h
    # a second inside, transients have died to rounding: the slowest mode decays as e^(-w_c sin(pi/2n) t)
    middle = slice(1000, -1000)
    phase = w * signals.time[middle, None] + 0.3
    np.testing.assert_allclose(signals.q[middle], gain * np.sin(phase), atol=1e-9)
    np.testing.assert_allclose(signals.v[middle], gain * slope * np.cos(phase), atol=1e-9 * slope)
    np.testing.assert_allclose(
        signals.a[middle], -gain * slope**2 * np.sin(phase), atol=1e-9 * slope**2 + 1e-6
    )


def test_slow_motion_is_differentiated_to_the_error_of_central_differences():
    """Far below the cutoff: (f / f_c)^8 from the filter, (w h)^2 / 6 and (w h)^2 / 3 from the differences."""
    frequency_hz, cutoff_hz = 1.0, 50.0
    _, p = tone(frequency_hz)
    signals = ButterworthDecimation(cutoff_hz).apply(recording_of(p))
    middle = slice(500, -500)
    w, phase = 2 * np.pi * frequency_hz, 2 * np.pi * frequency_hz * signals.time[middle, None] + 0.3
    small = (w / RATE_HZ) ** 2
    np.testing.assert_allclose(signals.q[middle], np.sin(phase), atol=1e-9)
    np.testing.assert_allclose(signals.v[middle], w * np.cos(phase), atol=w * small / 6 * 1.001)
    np.testing.assert_allclose(signals.a[middle], -(w**2) * np.sin(phase), atol=w**2 * small / 3 * 1.001)


def test_edges_are_cut_where_the_transient_is_above_a_percent():
    _, p = tone(2.0)
    whole = ButterworthDecimation(20, cut_edges=False).apply(recording_of(p))
    cut = ButterworthDecimation(20).apply(recording_of(p))
    edge = (len(whole) - len(cut)) // 2
    assert 10 < edge < 200
    np.testing.assert_array_equal(cut.q, whole.q[edge:-edge])
    np.testing.assert_array_equal(cut.tau, whole.tau[edge:-edge])
    np.testing.assert_array_equal(cut.time, whole.time[edge:-edge])
    assert f"({edge} samples) of filter transient" in cut.steps[-1]
    # a blow to the first sample: what is left of it is a percent of its peak
    blow = np.zeros((2000, 1))
    blow[0] = 1.0
    left, hit = (ButterworthDecimation(20, cut_edges=c).apply(recording_of(blow)) for c in (True, False))
    for name in ("q", "v", "a"):
        assert np.abs(getattr(left, name)).max() <= 0.03 * np.abs(getattr(hit, name)).max()


def test_efforts_are_left_raw_and_the_decimation_travels_along(rng):
    p, tau = rng.standard_normal((2, 5000, 2))
    signals = ButterworthDecimation(50, 10, decimation_order=4, cut_edges=False).apply(recording_of(p, tau))
    assert signals.decimation == Decimation(40, 4, cut_edges=False)
    np.testing.assert_array_equal(signals.tau, tau)
    assert "Butterworth of order 4 at 50 Hz" in signals.steps[0]
    assert "by 40 to 25 Hz" in signals.steps[-1]
    assert ButterworthDecimation(50).apply(recording_of(p)).decimation is None
    assert ButterworthDecimation(50, 450).apply(recording_of(p)).decimation is None  # would keep every sample


def test_the_window_is_kept_after_smoothing(rng):
    """Seed 002's data want it so: filter the whole record, then cut out the motion."""
    p = rng.standard_normal((4000, 1)).cumsum(axis=0)
    whole = ButterworthDecimation(30).apply(recording_of(p))
    window = ButterworthDecimation(30, window_s=(1.0, 2.5)).apply(recording_of(p))
    kept = (whole.time >= 1.0) & (whole.time < 2.5)
    np.testing.assert_array_equal(window.time, whole.time[kept])
    np.testing.assert_array_equal(window.a, whole.a[kept])
    assert len(window) == 1500


def test_a_joint_without_effort_is_zero_and_an_effort_without_position_is_refused():
    time, p = tone(1.0)
    channels = {"position.a": p[:, 0], "position.b": 2 * p[:, 0], "torque.b": p[:, 0] + 1}
    units = {"position.a": "rad", "position.b": "rad", "torque.b": "N m"}
    signals = ButterworthDecimation(50).apply(Recording(time, channels, units))
    assert signals.joints == ("a", "b")
    assert not signals.tau[:, 0].any()
    assert signals.tau[:, 1].any()
    channels["torque.c"] = channels["torque.b"]
    with pytest.raises(InvalidSignals, match="joint 'c' has a torque channel but no position channel"):
        ButterworthDecimation(50).apply(Recording(time, channels, units | {"torque.c": "N m"}))


def test_one_kind_of_effort():
    time, p = tone(1.0)
    with pytest.raises(InvalidSignals, match=r"exactly one of torque.<joint>.*it has none"):
        ButterworthDecimation(50).apply(Recording(time, {"position.a": p[:, 0]}, {"position.a": "rad"}))
    channels = dict.fromkeys(("position.a", "torque.a", "current.a"), p[:, 0])
    with pytest.raises(InvalidSignals, match="it has torque, current"):
        ButterworthDecimation(50).apply(Recording(time, channels, dict.fromkeys(channels, "rad")))
    with pytest.raises(InvalidSignals, match=r"no channel named position.<joint>"):
        ButterworthDecimation(50).apply(Recording(time, {"torque.a": p[:, 0]}, {"torque.a": "N m"}))
    assert ButterworthDecimation(50).apply(recording_of(p, effort="current")).effort == "current"


@pytest.mark.parametrize("cutoff_hz", [0.0, -5.0, 500.0, 800.0, np.nan, np.inf])
def test_cutoffs_beyond_nyquist_are_refused(cutoff_hz):
    _, p = tone(1.0)
    with pytest.raises(
        InvalidMethod, match=r"cutoff_hz = .* must lie between 0 and the Nyquist frequency 500 Hz"
    ):
        ButterworthDecimation(cutoff_hz).apply(recording_of(p))
    with pytest.raises(
        InvalidMethod, match=r"decimate_hz = .* must lie between 0 and the Nyquist frequency 500 Hz"
    ):
        ButterworthDecimation(50, cutoff_hz).apply(recording_of(p))


def test_an_order_below_one_is_refused():
    _, p = tone(1.0)
    with pytest.raises(InvalidMethod, match="order of at least 1, not 0"):
        ButterworthDecimation(50, order=0).apply(recording_of(p))
    with pytest.raises(InvalidMethod, match="order of at least 1"):
        ButterworthDecimation(50, 10, decimation_order=0).apply(recording_of(p))


@pytest.mark.parametrize("cut_edges", [True, False])
def test_too_few_samples_are_refused_with_the_number_that_would_do(cut_edges, rng):
    method = ButterworthDecimation(20, cut_edges=cut_edges)
    with pytest.raises(
        InvalidSignals, match=r"5 samples at 1000 Hz are too few .* at least (\d+) are needed"
    ) as info:
        method.apply(recording_of(rng.standard_normal((5, 1))))
    needed = int(str(info.value).split("at least ")[1].split()[0])
    assert len(method.apply(recording_of(rng.standard_normal((needed, 1))))) >= 2
    with pytest.raises(InvalidSignals, match="too few"):
        method.apply(recording_of(rng.standard_normal((needed - 1, 1))))


def test_invalid_samples_and_jitter_are_refused():
    time, p = tone(1.0)
    mask = np.ones(len(time), dtype=bool)
    mask[700:] = False
    with pytest.raises(InvalidSignals, match=r"'torque.j1' has invalid samples, the first at 0.7 s"):
        ButterworthDecimation(50).apply(recording_of(p, valid={"torque.j1": mask}))
    channels = {"position.a": p[:, 0], "torque.a": p[:, 0]}
    jittered = Recording(
        time + 1e-4 * np.sin(np.arange(len(time))), channels, {"position.a": "rad", "torque.a": "N m"}
    )
    with pytest.raises(InvalidSignals, match=r"not uniform .*resample"):
        ButterworthDecimation(50).apply(jittered)
