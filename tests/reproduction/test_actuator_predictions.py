"""Baselines of open-loop predictions, and the choice of a friction law, on simulated recordings."""

import numpy as np

from poinsot import Recording
from poinsot_reproductions.actuators.go2 import explains_more
from poinsot_reproductions.actuators.predictions import Recorded, delay_and_lag, lagged, timestep_of


def recorded(seconds=20.0, rate=50.0, late=0.0):
    time = np.arange(0.0, seconds, 1 / rate)
    command, position = (
        np.sin(2.0 * (time - shift)) + 0.3 * np.sin(5.3 * (time - shift)) for shift in (0.0, late)
    )
    channels = {"position_command.a": command, "position.a": position}
    return Recorded.of("motion", Recording(time, channels, dict.fromkeys(channels, "rad")), ("a",))


def test_a_pure_delay_is_found():
    # a held command is late by half of its interval by itself; interpolated linearly in time, 0.08 s stay 0.08 s
    each = recorded(late=0.08)
    (found,) = delay_and_lag([each])
    assert abs(found.delay + found.lag + 0.01 - 0.08) < 0.006
    assert each.rms(lagged([found], each))[0] < 0.02 < each.rms(each.motion.commands)[0]


def test_the_start_is_measured():
    motion = recorded().motion
    assert motion.position[0] == 0.0
    assert abs(motion.velocity[0] - (2.0 + 0.3 * 5.3)) < 0.4


def test_time_steps_divide_the_interval():
    assert abs(timestep_of(recorded(rate=50.0)) - 0.004) < 1e-12
    assert abs(timestep_of(recorded(rate=200.0)) - 0.0025) < 1e-12


def test_chance_does_not_ask_for_more_parameters():
    # coloured residuals: three parameters take a tenth of the variance of 1000 white samples by no chance, but of
    # residuals that stay alike for 100 samples they may
    rng = np.random.default_rng(2)
    white = rng.normal(size=1000)
    slow = np.convolve(rng.normal(size=1099), np.ones(100) / 10, mode="valid")
    assert explains_more(white / np.sqrt(0.9), white, 3)
    assert not explains_more(slow / np.sqrt(0.9), slow, 3)
    assert explains_more(5 * slow, slow, 3)
