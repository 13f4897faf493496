"""Times at which a row's readings are taken, and levels of noise, from a log whose motion is known."""

import numpy as np
import pytest

from poinsot.estimators.shooting.recordings import _between_steps, _late

DT = 0.002
TIMES = np.arange(800) * DT


def motion(t):
    """Position and velocity of a joint of a leg."""
    position = 0.4 * np.sin(9 * t) + 0.1 * np.sin(23 * t + 1)
    return position, 3.6 * np.cos(9 * t) + 2.3 * np.cos(23 * t + 1)


@pytest.mark.parametrize("late", [-0.4, 0.0, 0.35, 2.0])
def test_late_velocities_are_told_by_positions(late, rng):
    q, z = motion(TIMES)[0], motion(TIMES - late * DT)[1]
    q, z = q + 3e-4 * rng.standard_normal(800), z + 6e-3 * rng.standard_normal(800)
    z[100:112] += 2.0  # a landing
    assert _late(q, z, DT) == pytest.approx(late, abs=0.06)


def test_a_joint_that_stands_tells_nothing(rng):
    q, z = 3e-4 * rng.standard_normal(800), 6e-3 * rng.standard_normal(800)
    assert abs(_late(q, z, DT)) < 0.2
    assert _late(np.zeros(800), np.zeros(800), DT) == 0.0
    assert _late(q[:4], z[:4], DT) == 0.0


@pytest.mark.parametrize("part", [0.15, 0.5, 0.8])
def test_readings_between_steps_are_those_of_a_line(part):
    """To a tenth of what the curvature of the motion makes of it."""
    speeds = motion(TIMES - 0.5 * DT)[1]
    line = (1 - part) * speeds[:-1] + part * speeds[1:]
    read = motion(TIMES + (part - 0.5) * DT)[1]
    moved = _between_steps(np.stack([read, read], axis=1), np.full(2, part))
    inside = slice(5, -5)
    off = np.abs(read[:-1] - line)[inside].max()
    assert np.abs(moved[:-1, 0] - line)[inside].max() < 0.1 * off
    short = read[:4, None]
    assert _between_steps(short, np.full(1, part)) is short
