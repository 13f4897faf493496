"""Moving polynomials: those of Savitzky and Golay on an even clock, exact for polynomials on any, honest about gaps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import savgol_filter

from poinsot.estimators.online.belief import Tick
from poinsot.estimators.online.moving_polynomial import MovingPolynomial
from poinsot.exceptions import InvalidMethod

UNKNOWN = np.full(2, np.nan)


def ticks(time, q, v=None, tau=None):
    tau = np.zeros_like(q) if tau is None else tau
    return [
        Tick(float(t), q[k], UNKNOWN if v is None else v[k], tau[k], {"foot": np.full(6, t)})
        for k, t in enumerate(time)
    ]


def test_on_an_even_clock_it_is_savitzky_and_golay(rng):
    time, q, tau = np.arange(60) / 100, rng.standard_normal((60, 2)), rng.standard_normal((60, 2))
    samples = list(MovingPolynomial(0.2, 3).samples(ticks(time, q, tau=tau)))
    inside = [sample for sample in samples if 0.0999 < sample.time < 0.4901]
    assert len(inside) == 40
    for name, values, derivative in (("q", q, 0), ("v", q, 1), ("a", q, 2), ("tau", tau, 0)):
        expected = savgol_filter(values, 21, 3, deriv=derivative, delta=0.01, axis=0)[10:50]
        scale = np.abs(expected).max()
        np.testing.assert_allclose([getattr(s, name) for s in inside], expected, atol=1e-9 * scale)


def test_on_any_clock_it_is_exact_for_polynomials(rng):
    time = np.sort(rng.uniform(0, 1, 200))
    c = rng.standard_normal((4, 2))
    powers = np.vander(time, 4, increasing=True)
    samples = list(MovingPolynomial(0.2, 3).samples(ticks(time, powers @ c)))
    assert len(samples) > 100
    for sample in samples:
        t = sample.time
        np.testing.assert_allclose(sample.q, [1, t, t**2, t**3] @ c, atol=1e-9)
        np.testing.assert_allclose(sample.v, [0, 1, 2 * t, 3 * t**2] @ c, atol=1e-7)
        np.testing.assert_allclose(sample.a, [0, 0, 2, 6 * t] @ c, atol=1e-5)
        np.testing.assert_allclose(sample.wrenches["foot"], np.full(6, t), atol=1e-9)


def test_measured_velocities_give_velocity_and_acceleration(rng):
    time = np.arange(100) / 200
    v = np.stack([np.sin(time), time**2], axis=1)
    samples = list(MovingPolynomial(0.1, 2).samples(ticks(time, rng.standard_normal((100, 2)), v)))
    for sample in samples:
        # a parabola misses t^3 / 6 of the sine by (0.05 s)^3 / 6 at most
        np.testing.assert_allclose(sample.v, [np.sin(sample.time), sample.time**2], atol=2.1e-5)
        np.testing.assert_allclose(sample.a, [np.cos(sample.time), 2 * sample.time], atol=1e-3)


def test_a_missing_effort_leaves_the_others_and_what_remains_determines_it(rng):
    """Efforts are cubics: exact wherever enough of the window was read, NaN where it was not, never a guess."""
    time = np.arange(200) / 200
    tau = np.vander(time, 4) @ rng.standard_normal((4, 2))
    sparse = tau.copy()
    sparse[rng.random(200) < 1 / 16, 0] = np.nan
    sparse[100:120, 0] = np.nan  # 0.1 s of windows of 0.2 s
    samples = list(MovingPolynomial(0.2, 3).samples(ticks(time, np.zeros((200, 2)), tau=sparse)))
    exact = list(MovingPolynomial(0.2, 3).samples(ticks(time, np.zeros((200, 2)), tau=tau)))
    assert len(samples) == len(exact) > 150
    for found, expected in zip(samples, exact, strict=True):
        np.testing.assert_allclose(found.tau[1], expected.tau[1], atol=1e-12)
        gap = min(0.6, found.time + 0.1) - max(0.495, found.time - 0.1)  # of the window, without a reading
        if np.isfinite(found.tau[0]):
            np.testing.assert_allclose(found.tau[0], expected.tau[0], atol=1e-9)
        else:
            assert gap > 0.3 * 0.2 - 0.02
    unread = sum(np.isnan(sample.tau[0]) for sample in samples)
    assert 20 < unread < 60


def test_ticks_without_velocity_are_left_out_where_others_have_one(rng):
    time = np.arange(100) / 200
    v = np.stack([np.sin(time), time**2], axis=1)
    v[rng.random(100) < 1 / 16] = np.nan
    assert np.isnan(v).any()
    for sample in MovingPolynomial(0.1, 2).samples(ticks(time, rng.standard_normal((100, 2)), v)):
        np.testing.assert_allclose(sample.v, [np.sin(sample.time), sample.time**2], atol=2.1e-5)


def test_a_floating_base_keeps_the_nearest_configuration(rng):
    time = np.arange(50) / 100
    q = rng.standard_normal((50, 3))
    given = [Tick(t, q[k], np.zeros(2), np.zeros(2)) for k, t in enumerate(time)]
    for sample in MovingPolynomial(0.1, 1).samples(given):
        np.testing.assert_array_equal(sample.q, q[round(100 * sample.time)])


def test_the_rate_of_samples_is_kept_on_a_jittering_clock(rng):
    time = np.cumsum(rng.uniform(0.008, 0.012, 1000))
    q = np.stack([np.sin(time), np.cos(time)], axis=1)
    samples = list(MovingPolynomial(0.2, 3, sample_hz=10).samples(ticks(time, q)))
    intervals = np.diff([sample.time for sample in samples])
    assert abs(intervals.mean() - 0.1) < 0.004
    assert intervals.min() > 0.085


def test_no_sample_across_a_gap_and_none_from_rubbish(rng):
    time = np.concatenate([np.arange(50) / 100, 1 + np.arange(50) / 100])
    q = rng.standard_normal((100, 2))
    good = ticks(time, q)
    times = [sample.time for sample in MovingPolynomial(0.2, 2).samples(good)]
    assert not [t for t in times if 0.46 < t < 1.03]
    rubbish = [
        replace(good[10], time=np.nan),
        replace(good[10], q=np.array([np.nan, 0.0])),
        good[5],
        replace(good[19], q=good[20].q),
    ]
    with_rubbish = [*good[:20], *rubbish, *good[20:]]
    for a, b in zip(
        MovingPolynomial(0.2, 2).samples(good), MovingPolynomial(0.2, 2).samples(with_rubbish), strict=True
    ):
        assert a.time == b.time
        np.testing.assert_array_equal(a.a, b.a)


def test_rows_that_are_not_trusted_once_in_a_window_are_not_trusted(rng):
    time = np.arange(40) / 100
    given = ticks(time, rng.standard_normal((40, 2)))
    given[20] = replace(given[20], trusted=np.array([True, False]))
    for sample in MovingPolynomial(0.1, 1).samples(given):
        touched = abs(sample.time - 0.2) < 0.0501
        assert sample.trusted is None or sample.trusted.tolist() == [True, False]
        assert (sample.trusted is not None) == touched


@pytest.mark.parametrize("settings", [{"window_s": 0.0}, {"degree": 0}, {"sample_hz": -1.0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InvalidMethod, match=next(iter(settings))):
        MovingPolynomial(**settings)
