"""Standard deviations contain what filters do; the next recording's own parameters are within their intervals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.io.results import identify_json
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.statistics import predictive_std
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

ARM = poinsot.load_robot(Path(__file__).parents[3] / "examples" / "arm" / "arm.urdf")
FRICTION = {
    name: {"fv": 2.0, "fc": 1.0, "of": 0.1}[name[:2]] for name in ARM.parameters.names if name[0] in "fo"
}


def signals_of(theta, rng, position_std=1e-6, step=0.0, seconds=15.0, filters=(20, 10), rate_hz=500.0):
    motion = fourier_motion(len(ARM.joints), seconds, rate_hz, rng, harmonics=6)
    recording = simulate_recording(ARM, theta, motion, Sensors(position_std, 0.2, step), rng)
    return ButterworthDecimation(*filters, decimation_order=4).apply(recording)


def solved(*signals, exact=True):
    accuracy = poinsot.Accuracy(exact=exact)
    return poinsot.LeastSquares().solve(poinsot.inverse_dynamics(ARM, list(signals), accuracy=accuracy))


def of_filters(estimate):
    """Standard deviations due to the choice of the filter."""
    return estimate.parameters.uncertainty.model


def missed(estimate, theta):
    """True less estimated values."""
    base = estimate.problem.base
    return (base.map @ theta)[[base.index(name) for name in estimate.names]] - estimate.values


# -------------------------------------------------------------------------------------------------------------- filters


@pytest.mark.parametrize(
    ("position_std", "step", "biased"), [(1e-6, 0.0, False), (2e-3, 0.0, True), (0.0, 6e-3, True)]
)
def test_intervals_hold_the_truth_where_the_filter_lets_noise_in(position_std, step, biased):
    """Errors in variables: white noise of the positions, and an encoder's steps."""
    theta = model_parameters(ARM, **FRICTION)
    within, by_chance, growth = [], [], []
    for seed in range(5):
        estimate = solved(signals_of(theta, np.random.default_rng(seed), position_std, step))
        error, b = np.abs(missed(estimate, theta)), of_filters(estimate)
        chance = estimate.coloured_std
        # blocks may say more than the correlation of the residuals
        assert np.all(estimate.std**2 > 0.99 * (chance**2 + b**2))
        within.append(error < 1.96 * estimate.std)
        by_chance.append(error < 1.96 * chance)
        growth.append(np.hypot(chance, b) / chance)
    # 125 intervals, four binomial standard deviations of 1.9 % below 95 %
    assert np.mean(within) > 0.875
    if biased:
        assert np.mean(by_chance) < 0.85 < np.mean(within) - 0.04
    else:
        # at 95 %, one of two moves is beyond chance in a parameter of ten, and most moves are small ones
        assert np.mean(growth) < 1.08
        assert np.median(growth) == 1.0


def test_a_wide_band_is_found_and_named():
    theta = model_parameters(ARM, **FRICTION)
    estimate = solved(signals_of(theta, np.random.default_rng(0), 3e-3, filters=(60, 20)))
    (finding,) = (each for each in estimate.findings if each.cause == "filter-choice")
    place = estimate.names.index(finding.where)
    assert of_filters(estimate)[place] > 0.7 * estimate.std[place]
    assert "Intervals include it" in finding.message
    assert 'cutoff_hz = "auto"' in finding.remedy
    row = identify_json(estimate)["parameters"][place]
    assert row["std_systematic"] == estimate.systematic_std[place]
    assert row["std_next_recording"] >= row["std"]


def test_signals_without_their_filter_are_repeated_with_half_the_band():
    theta = model_parameters(ARM, **FRICTION)
    signals = signals_of(theta, np.random.default_rng(0), 3e-3, filters=(60, 20))
    bare = replace(signals, method=None, recording=None)
    assert np.count_nonzero(of_filters(solved(bare))) > 3


def test_a_drift_within_the_recording_is_part_of_it():
    """Friction of the second half is a quarter higher: no single value is right to its residuals' interval."""
    rng = np.random.default_rng(4)
    warm = {name: value * (1.25 if name[:2] == "fc" else 1.0) for name, value in FRICTION.items()}
    halves = [signals_of(model_parameters(ARM, **each), rng) for each in (FRICTION, warm)]
    estimate = solved(*halves, exact=False)
    for joint in range(1, 4):
        k = estimate.names.index(f"fc{joint}")
        assert abs(1.125 - estimate.values[k]) < 1.96 * estimate.std[k]
        # half of the difference, and no more than all of it
        assert 0.05 < estimate.systematic_std[k] < 0.25


# -------------------------------------------------------------------------------------------------- the next recording


@pytest.mark.parametrize(
    "recordings", [4, *(pytest.param(count, marks=pytest.mark.slow) for count in (6, 10))]
)
def test_the_next_value_is_within_its_interval(recordings):
    """Random effects drawn from normal distributions, four times and more as large as what is known of each."""
    rng = np.random.default_rng(recordings)
    k = 8000
    for ratio in (2.0, 4.0, 20.0):
        std = np.exp(0.3 * rng.normal(size=(recordings, k)))
        found = 7.0 + ratio * rng.normal(size=(recordings, k)) + std * rng.normal(size=(recordings, k))
        center = np.sum(found / std**2, axis=0) / np.sum(1 / std**2, axis=0)
        inside = (
            np.abs(7.0 + ratio * rng.normal(size=k) - center) < 1.96 * predictive_std(found, std, center)[1]
        )
        assert 0.93 < np.mean(inside) < 0.97
    # equal recordings: the interval is never too short
    found = 7.0 + std * rng.normal(size=std.shape)
    center = np.sum(found / std**2, axis=0) / np.sum(1 / std**2, axis=0)
    assert np.mean(np.abs(7.0 - center) < 1.96 * predictive_std(found, std, center)[1]) > 0.95


@pytest.mark.parametrize("recordings", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_the_friction_of_the_next_recording_of_a_fleet_is_within_its_interval(recordings):
    """Of each recording friction is drawn anew, with a standard deviation of 10 %."""
    within, by_std = [], []
    for fleet in range(12):
        rng = np.random.default_rng(fleet)
        drawn = [
            model_parameters(
                ARM, **{name: value * (1 + 0.1 * rng.normal()) for name, value in FRICTION.items()}
            )
            for _ in range(recordings + 1)
        ]
        estimate = solved(
            *(signals_of(theta, rng, seconds=8.0, filters=(20, 8), rate_hz=250.0) for theta in drawn[:-1])
        )
        seen = np.isin(estimate.kinds, ("viscous", "coulomb"))
        error = np.abs(missed(estimate, drawn[-1]))[seen]
        within.append(error < 1.96 * estimate.next_recording_std[seen])
        by_std.append(error < 1.96 * estimate.coloured_std[seen])
        assert np.all(estimate.next_recording_std >= estimate.std)
    # 72 parameters, three binomial standard deviations of 2.6 % below 95 %
    assert 0.87 < np.mean(within)
    assert np.mean(by_std) < 0.6
    assert "std next" in str(estimate)


def test_of_three_recordings_it_comes_from_blocks():
    theta = model_parameters(ARM, **FRICTION)
    estimate = solved(*(signals_of(theta, np.random.default_rng(k), seconds=8.0) for k in range(3)))
    assert np.all(estimate.next_recording_std > estimate.std)
    assert any("from recording to recording" in each.what for each in estimate.unchecked)
