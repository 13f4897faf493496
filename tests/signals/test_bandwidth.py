"""Proposed cutoffs: right where the spectrum is known, free of units, inside the rule's limits, good on real data."""

import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.bandwidth import (
    cutoff_for_ratio,
    noise_hz,
    propose_filters,
    ratio_for_cutoff,
    too_narrow,
)
from poinsot.signals.butterworth import ButterworthDecimation

SEEDS = st.integers(0, 2**32 - 1)


def recording_of(positions, rate_hz):
    channels = {f"position.j{k + 1}": p for k, p in enumerate(positions.T)}
    return Recording(np.arange(len(positions)) / rate_hz, channels, dict.fromkeys(channels, "rad"))


def sines(rng, top_hz, rate_hz=500.0, seconds=30.0, joints=1, lines=6):
    """(T, joints) positions: lines up to `top_hz`, equally strong in velocity."""
    time = np.arange(int(seconds * rate_hz)) / rate_hz
    w = 2 * np.pi * top_hz * np.arange(1, lines + 1) / lines
    phases = rng.uniform(0, 2 * np.pi, (lines, joints))
    return np.sum(np.sin(w[:, None, None] * time[:, None] + phases[:, None]) / w[:, None, None], axis=0)


# ------------------------------------------------------------------------------------------------------- the bandwidth


@given(SEEDS, st.floats(2.0, 12.0))
def test_of_equally_strong_lines_it_is_the_last(seed, top_hz):
    rng = np.random.default_rng(seed)
    q = sines(rng, top_hz)
    found = propose_filters(recording_of(q + 1e-5 * rng.normal(size=q.shape), 500.0))
    # a Hann window over a third of 30 s spreads a line by +-0.2 Hz; two digits are given
    assert abs(found.bandwidth_hz_per_joint[0] - top_hz) < 0.2
    assert abs(found.bandwidth_hz - top_hz) < 0.2 + 0.05 * top_hz


def test_noise_begins_where_a_known_spectrum_sinks_into_it(rng):
    rate, T, sigma, corner = 500.0, 60_000, 1e-4, 20.0
    f = np.fft.rfftfreq(T, 1 / rate)
    # velocity flat up to the corner, then falling as f^-8: power where motion is 4 times the noise in (2 pi f)^2 S_p
    velocity = 300 * (rng.normal(size=len(f)) + 1j * rng.normal(size=len(f)))
    velocity[1:] *= np.minimum(1, (corner / f[1:]) ** 4)
    position = np.fft.irfft(np.append(0, velocity[1:] / (2j * np.pi * f[1:])), T)
    level = 2 * np.mean(np.abs(velocity[1:100]) ** 2) / (T * rate)  # of the velocity's one-sided spectrum
    noise = 2 * sigma**2 / rate  # of the position's
    crossing = (level * corner**8 / (3 * noise * (2 * np.pi) ** 2)) ** (1 / 10)
    found = noise_hz(position + sigma * rng.normal(size=T), rate)
    assert crossing > 2 * corner
    # a band is a third of an octave; the noise taken is the quietest band's, the fall is 6 dB in a quarter octave
    assert abs(math.log2(found / crossing)) < 2 / 3
    assert noise_hz(1e-3 * rng.normal(size=4000), rate) is None


def test_noise_lowers_the_cutoff_within_the_rule(rng):
    q = sines(rng, 2.0)
    found = [
        propose_filters(recording_of(q + s * rng.normal(size=q.shape), 500.0)) for s in (0.0, 1e-4, 3e-2)
    ]
    cutoffs = [proposal.cutoff_hz for proposal in found]
    assert cutoffs[0] > cutoffs[1] >= cutoffs[2]
    # where there is no noise, the window's leakage is
    assert found[0].cutoff_hz == pytest.approx(10 * found[0].bandwidth_hz, rel=0.06)
    assert "upper end of 2 to 10 times" in str(found[0])
    assert "although that is less than 2 to 10 times" in str(found[2])
    for it in found:
        assert it.decimate_hz <= it.cutoff_hz <= it.noise_hz
        assert it.cutoff_hz <= 10.05 * it.bandwidth_hz  # two digits
        assert it.decimate_hz == pytest.approx(min(2 * it.bandwidth_hz, 0.7 * it.cutoff_hz), rel=0.07)


def test_rounding_to_steps_is_noise_that_is_known(rng):
    q = sines(rng, 2.0)
    step = 2e-3
    found = propose_filters(recording_of(step * np.round(q / step), 500.0))
    assert found.cutoff_hz < 10 * found.bandwidth_hz
    assert "rounding of the positions, to steps of 0.002" in str(found)
    # at rest but for a few steps: what is left of the spectrum is far from the rounding of one step
    still = step * (np.abs(rng.normal(size=(15_000, 1))) > 3.5)
    with pytest.raises(InvalidSignals, match="no joint moves"):
        propose_filters(recording_of(still, 500.0))


@given(SEEDS, st.floats(-3, 3), st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_units_do_not_matter_and_time_only_scales(seed, decades, faster):
    rng = np.random.default_rng(seed)
    q = sines(rng, 3.0, joints=2) + 1e-3 * rng.normal(size=(15_000, 2))
    one = propose_filters(recording_of(q, 500.0))
    other = propose_filters(recording_of(q * 10**decades, 500.0))
    np.testing.assert_allclose(other.cutoff_hz_per_joint, one.cutoff_hz_per_joint)
    assert other.cutoff_hz == one.cutoff_hz
    scaled = propose_filters(recording_of(q, 500.0 * faster))
    np.testing.assert_allclose(scaled.bandwidth_hz_per_joint, faster * one.bandwidth_hz_per_joint)
    assert scaled.cutoff_hz == pytest.approx(faster * one.cutoff_hz, rel=0.1)  # two digits, down


def test_joints_are_pooled_at_the_same_power(rng):
    slow, fast = sines(rng, 1.0), sines(rng, 6.0)
    both = propose_filters(recording_of(np.hstack([100 * slow, fast]), 500.0))
    np.testing.assert_allclose(both.bandwidth_hz_per_joint, [1.0, 6.0], atol=0.2)
    assert both.bandwidth_hz == pytest.approx(6.0, abs=0.3)  # the last line has 1/12 of the power, not 1e-5
    assert "(j1 1.1, j2 6.1)" in str(both)


def test_a_joint_at_rest_has_no_say(rng):
    q = sines(rng, 3.0)
    still = np.zeros_like(q)
    noise = 1e-4 * rng.normal(size=q.shape)
    alone = propose_filters(recording_of(q, 500.0))
    found = propose_filters(recording_of(np.hstack([still, q, noise]), 500.0))
    assert found.bandwidth_hz == alone.bandwidth_hz
    assert found.cutoff_hz == alone.cutoff_hz
    np.testing.assert_array_equal(np.isnan(found.cutoff_hz_per_joint), [True, False, True])
    assert "j1 at rest" in found.reasons[0]
    with pytest.raises(InvalidSignals, match="no joint moves"):
        propose_filters(recording_of(np.hstack([still, noise]), 500.0))


# ------------------------------------------------------------------------------------------------------ the decimation


def test_decimation_does_not_widen_the_band_for_more_rows(rng):
    short = propose_filters(recording_of(sines(rng, 1.0, seconds=10.0), 500.0))
    assert short.decimate_hz == pytest.approx(2 * short.bandwidth_hz)
    # 2 2.8 Hz / 0.8 10 s are 71 rows; 7 are cut at either end, and of order 8 it were 26
    assert short.decimation_order == 4
    assert "10 s leave only 57 rows a joint: record longer" in short.reasons[-1]
    long = propose_filters(recording_of(sines(rng, 1.0, seconds=100.0), 500.0))
    assert long.decimate_hz == pytest.approx(2 * long.bandwidth_hz)
    slow = propose_filters(recording_of(sines(rng, 3.0, rate_hz=10.0), 10.0))
    assert slow.decimate_hz is None
    assert "No decimation" in slow.reasons[-1]
    assert "10 Hz is only 3 times that" in slow.reasons[0]


# ----------------------------------------------------------------------------------------------------- the random walk


@given(st.sampled_from([2, 3]), st.floats(0.2, 40.0), st.floats(100.0, 5000.0))
def test_ratio_and_cutoff_are_inverse(order, cutoff_hz, rate_hz):
    assert cutoff_for_ratio(ratio_for_cutoff(cutoff_hz, rate_hz, order), rate_hz, order) == pytest.approx(
        cutoff_hz
    )


@pytest.mark.parametrize("order", [2, 3])
def test_the_ratio_of_a_cutoff_passes_accelerations_as_the_butterworth_filter_does(order):
    """A sine at the frequency at which either must pass 1/sqrt(2) of its acceleration."""
    from poinsot.signals.random_walk_smoother import differentiate

    cutoff_hz, rate_hz = 20.0, 1000.0
    frequency = cutoff_hz * (math.sqrt(2) - 1) ** (1 / 8)
    time = np.arange(4000) / rate_hz
    q = np.sin(2 * np.pi * frequency * time)[:, None]
    a = differentiate(q, rate_hz, order=order, nvr=ratio_for_cutoff(cutoff_hz, rate_hz, order)).a[1000:3000]
    # differences instead of derivatives: (omega dt)^2 / 6 = 0.2 % each, twice
    assert np.abs(a).max() / (2 * np.pi * frequency) ** 2 == pytest.approx(math.sqrt(0.5), rel=0.01)
    channels = {"position.j": q[:, 0], "torque.j": q[:, 0]}
    recording = Recording(time, channels, {"position.j": "rad", "torque.j": "N m"})
    b = ButterworthDecimation(cutoff_hz, cut_edges=False).apply(recording).a[1000:3000]
    assert np.abs(b).max() / (2 * np.pi * frequency) ** 2 == pytest.approx(math.sqrt(0.5), rel=0.01)


def test_a_cutoff_that_smooths_the_motion_away_is_told(rng):
    q = np.hstack([sines(rng, 1.0), sines(rng, 5.0)])
    assert too_narrow(("a", "b"), q, 500.0, np.array([3.0, 11.0])) == ()
    (text,) = too_narrow(("a", "b"), q, 500.0, np.array([3.0, 3.0]))
    assert "cutoff of 3 Hz is below twice" in text
    assert "(b needs 10 Hz)" in text
    assert too_narrow(("a",), q[:50, :1], 500.0, np.array([1e-3])) == ()


# ------------------------------------------------------------------------------------------------------------ the door


def test_reasons_go_with_the_recording(rng):
    recording = recording_of(sines(rng, 2.0), 500.0)
    found = propose_filters(recording)
    noted = found.noted(recording)
    assert noted.metadata["steps"] == list(found.reasons)
    assert isinstance(noted.metadata, MappingProxyType)
    assert found.noted(noted).metadata["steps"] == [*found.reasons, *found.reasons]


def test_recordings_without_a_spectrum(rng):
    q = sines(rng, 2.0)
    with pytest.raises(InvalidSignals, match=r"no channel named position\.<joint>"):
        propose_filters(Recording(np.arange(100.0), {"a": np.arange(100.0)}, {"a": "1"}))
    with pytest.raises(InvalidSignals, match="at least 64"):
        propose_filters(recording_of(q[:50], 500.0))
    time = np.arange(len(q)) / 500.0
    time[1:] += 1e-3
    with pytest.raises(InvalidSignals, match="resample"):
        propose_filters(Recording(time, {"position.j": q[:, 0]}, {"position.j": "rad"}))
    mask = {"position.j1": np.arange(len(q)) != 7}
    with pytest.raises(InvalidSignals, match=r"'position\.j1' has invalid samples"):
        propose_filters(
            Recording(np.arange(len(q)) / 500.0, {"position.j1": q[:, 0]}, {"position.j1": "rad"}, mask)
        )
    with pytest.raises(InvalidMethod, match="Nyquist"):
        ratio_for_cutoff(600.0, 1000.0, 2)


# -------------------------------------------------------------------------------------------------- simulated and real


@pytest.mark.parametrize(("seconds", "harmonics"), [(10.0, 5), (30.0, 12)])
@pytest.mark.parametrize("sensors", [(0.0, 0.0), (1e-3, 0.0), (0.0, 1e-3)], ids=["exact", "noise", "steps"])
def test_identification_is_nearly_as_good_as_with_the_best_filter(seconds, harmonics, sensors, rng):
    from pathlib import Path

    import poinsot
    from poinsot_reproductions.simulated_recordings import (
        Sensors,
        fourier_motion,
        model_parameters,
        simulate_recording,
    )

    arm = poinsot.load_robot(Path(__file__).parents[2] / "examples" / "arm" / "arm.urdf")
    friction = {
        name: {"fv": 2.0, "fc": 1.0, "of": 0.1}[name[:2]] for name in arm.parameters.names if name[0] in "fo"
    }
    theta = model_parameters(arm, **friction)
    noise, step = sensors

    def errors():
        """Of the filter found, and of others, from one recording."""
        motion = fourier_motion(len(arm.joints), seconds, 500.0, rng, harmonics=harmonics)
        recording = simulate_recording(arm, theta, motion, Sensors(noise, 0.2, step), rng)

        def error(cutoff_hz, decimate_hz, order=8):
            signals = ButterworthDecimation(cutoff_hz, decimate_hz, decimation_order=order).apply(recording)
            problem = poinsot.inverse_dynamics(arm, signals)
            try:
                estimate = poinsot.LeastSquares().solve(problem)
            except poinsot.PoinsotError:
                return np.inf
            places = [problem.base.index(name) for name in estimate.names]
            return np.linalg.norm(estimate.values - (problem.base.map @ theta)[places])

        found = propose_filters(recording)
        w = found.bandwidth_hz
        tried = [error(c * w, d * w) for c in (2, 5, 10, 20) for d in (2, 5, 10) if d <= 2 * c]
        return error(found.cutoff_hz, found.decimate_hz, found.decimation_order), *tried

    # of several recordings, since the best filter of many for one draw of the noise is the luckiest, too
    mine, *tried = np.sqrt(np.mean(np.square([errors() for _ in range(4)]), axis=0))
    assert mine < 2.5 * min(tried)
    assert mine <= np.median(tried) * 1.5


def test_tx40(shared_data):
    from poinsot.estimators.linear.least_squares import LeastSquares
    from poinsot.regression.inverse_dynamics import inverse_dynamics
    from poinsot_reproductions import tx40
    from poinsot_reproductions.tx40_tables import TABLE_1

    folder = shared_data("staubli_tx40")
    recording = tx40.recording(folder)
    found = propose_filters(recording)
    assert (found.bandwidth_hz, found.cutoff_hz, found.decimate_hz) == (5.0, 50.0, 10.0)  # the paper's own
    signals = ButterworthDecimation(
        found.cutoff_hz,
        found.decimate_hz,
        decimation_order=tx40.DECIMATION_ORDER,
        cut_edges=False,
        window_s=tx40.WINDOW_S,
    ).apply(found.noted(recording))
    estimate = LeastSquares().solve(inverse_dynamics(tx40.robot(folder), signals))
    values = {
        name.removesuffix("r"): value for name, value in zip(estimate.names, estimate.values, strict=True)
    }
    assert max(abs(values[name] - cells[0][0]) for name, cells in TABLE_1.items()) < 0.05
    assert estimate.fit.relative_error_percent == pytest.approx(5.06, abs=0.1)
    assert found.reasons[0] in estimate.steps


def test_emps(shared_data):
    from poinsot.estimators.linear.least_squares import LeastSquares
    from poinsot.regression.inverse_dynamics import inverse_dynamics
    from poinsot_reproductions import emps

    recording = emps.recording(shared_data("emps"))
    found = propose_filters(recording)
    assert 50 <= found.cutoff_hz <= 100
    signals = ButterworthDecimation(found.cutoff_hz, found.decimate_hz).apply(recording)
    estimate = LeastSquares().solve(inverse_dynamics(emps.robot(), signals))
    for symbol, published in emps.PUBLISHED.values():
        assert estimate[symbol] == pytest.approx(published, rel=0.01)
