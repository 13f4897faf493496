import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import Record
from poinsot.estimators.joint.problem import first_guess, smoothed
from poinsot.exceptions import InvalidSignals

TIMES = np.arange(300) * 0.01


def test_windows_and_longer_steps():
    record = Record("r", TIMES, np.arange(300.0)[:, None], TIMES[:, None])
    third = record.every(3)
    np.testing.assert_array_equal(third.times, TIMES[::3])
    np.testing.assert_array_equal(third.z[:, 0], third.times)
    np.testing.assert_array_equal(third.u[:, 0], np.arange(0, 300, 3))
    np.testing.assert_allclose(third.steps, 0.03, rtol=1e-9)
    window = third.between(0.3, 0.9)
    assert (window.times[0], window.times[-1]) == (pytest.approx(0.3), pytest.approx(0.9))
    assert window.name == "r"


def test_first_guesses_follow_the_readings(rng):
    """Of a swing of 5 rad/s: two passes through a filter of 10 Hz, whose gain is 1 / (1 + (w / wc)^4), lose 4e-5."""
    motion = swings.exact(swings.theta(), TIMES, 0.3, 1.0)
    theta = swings.theta(zero=0.2)
    record = swings.read("swing", TIMES, motion, rng)
    record.z[:, 0] += 0.2
    y, rate = first_guess(swings.model(), record, theta)
    assert y.shape == rate.shape == (300, 1)
    inside = slice(20, -20)
    assert np.abs(y[inside, 0] - motion[0][inside]).max() < 3e-3
    np.testing.assert_allclose(rate[1:, 0], np.diff(y[:, 0]) / record.steps, rtol=1e-12)
    assert rate[0] == rate[1]

    with_rates = swings.read("swing", TIMES, motion, rng, rates=True)
    with_rates.z[:, 0] += 0.2
    y, rate = first_guess(swings.model(), with_rates, theta)
    assert np.abs(rate[inside, 0] - motion[1][inside]).max() < 2e-2


def test_first_guesses_where_little_is_read(rng):
    """A gap is a straight line, turns of readings before and after it are unwrapped, and nothing read is zero."""
    angle = 8 * TIMES
    z = (angle + np.pi) % (2 * np.pi) - np.pi
    z[100:120] = np.nan
    np.testing.assert_allclose(smoothed(TIMES, z, turns=True), angle, atol=1e-6)
    assert not smoothed(TIMES, np.full(300, np.nan)).any()
    nothing = Record("r", TIMES, np.zeros((300, 1)), np.full((300, 2), np.nan))
    y, rate = first_guess(swings.model(), nothing, swings.model().theta)
    assert not y.any()
    assert not rate.any()
    one = np.full(300, np.nan)
    one[7] = 2.0
    np.testing.assert_allclose(smoothed(TIMES, one), 2.0, rtol=1e-12)


@pytest.mark.parametrize("step", [1e-3, 0.01, 0.04, 0.06, 0.5])
def test_any_step_and_shortest_records_pass_the_filter(step):
    times = step * np.arange(4)
    np.testing.assert_allclose(smoothed(times, 1 + times), 1 + times, rtol=0.2)


def test_uneven_steps_are_filtered_on_even_ones(rng):
    times = np.cumsum(rng.uniform(5e-3, 15e-3, 400))
    np.testing.assert_allclose(
        smoothed(times, np.sin(3 * times))[20:-20], np.sin(3 * times)[20:-20], atol=2e-3
    )


def columns(n):
    return np.zeros((n, 1))


BAD = {
    "short": ((np.arange(3.0), columns(3), columns(3)), "r has 3 samples; it needs at least 4"),
    "lengths": ((TIMES, columns(300), columns(299)), "300 times, 300 controls and 299 readings; give as many of each"),
    "repeated": ((np.array([0, 1.0, 1.0, 2]), columns(4), columns(4)), "do not increase; sort them and remove"),
    "no time": ((np.array([0, 1.0, np.nan, 2]), columns(4), columns(4)), "do not increase"),
    "controls": ((np.arange(4.0), columns(4) + np.nan, columns(4)), "controls of r are missing; hold"),
    "infinite": ((np.arange(4.0), columns(4), columns(4) + np.inf), "readings of r are infinite; mark them"),
}  # fmt: skip


@pytest.mark.parametrize("which", BAD)
def test_what_is_no_record(which, unchecked):
    given, reason = BAD[which]
    with pytest.raises(InvalidSignals, match=reason):
        Record("r", *given)
