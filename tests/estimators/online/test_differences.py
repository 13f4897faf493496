"""Accelerations in a loop: of the same moment as everything else."""

from dataclasses import replace

import numpy as np

from poinsot.estimators.online.belief import Tick
from poinsot.estimators.online.moving_polynomial import with_accelerations


def ticks_of(count=200, rate=333.0):
    for t in np.arange(count) / rate:
        yield Tick(t, np.array([np.sin(3 * t)]), np.array([3 * np.cos(3 * t)]), np.array([t]))


def test_samples_are_of_one_moment_and_second_order_exact():
    samples = list(with_accelerations(ticks_of()))
    assert len(samples) == 198
    for each in samples:
        np.testing.assert_allclose(each.tau, each.time)
        np.testing.assert_allclose(each.q, np.sin(3 * each.time))
        # error of a central difference: h^2 / 6 times the third derivative, 27
        np.testing.assert_allclose(each.a, -9 * np.sin(3 * each.time), atol=81 / 6 / 333**2)


def test_gaps_and_clocks_that_run_backwards_give_no_acceleration():
    ticks = list(ticks_of(50))
    late = [replace(each, time=each.time + 5) for each in ticks]
    back = replace(ticks[10], time=ticks[3].time)
    never = replace(ticks[10], time=np.nan)
    samples = list(with_accelerations([*ticks[:10], back, never, *ticks[10:], *late]))
    assert len(samples) == 48 + 48
    assert max(np.abs(each.a).max() for each in samples) < 9.1


def test_repeated_ticks_are_left_out():
    ticks = list(ticks_of(20))
    assert len(list(with_accelerations([each for each in ticks for _ in range(2)]))) == 18
