"""The choice of recordings by the states that they visit."""

import numpy as np
import pytest

from poinsot import PoinsotError, Recording
from poinsot_reproductions.actuators.coverage import Coverage

TIME = np.arange(0.0, 20.0, 0.02)


def recording(amplitude, frequency, middle=0.0):
    position = middle + amplitude * np.sin(2 * np.pi * frequency * TIME)
    return Recording(TIME, {"position.a": position}, {"position.a": "rad"})


RECORDINGS = {
    "slow and wide": recording(1.0, 0.1),
    "fast": recording(0.5, 1.0),
    "slow and narrow": recording(0.2, 0.1),
    "fast and narrow": recording(0.1, 1.0),
    "at the side": recording(0.1, 0.2, 0.5),
}


def test_two_recordings_are_chosen_that_visit_what_the_others_visit():
    choice = Coverage(RECORDINGS, ("a",)).choose(2)
    assert set(choice.names) == {"slow and wide", "fast"}
    assert choice.distance < choice.typical
    assert abs(sum(choice.nearest.values()) - 1) < 1e-12
    assert "slow and wide (nearest to" in str(choice)


def test_the_distance_is_that_of_all_pairs_of_states():
    coverage = Coverage(RECORDINGS, ("a",))
    here, there = coverage.states["fast"][:, 0], coverage.states["at the side"][:, 0]
    dense = np.linalg.norm(here[:, None] - there[None], axis=2).min(axis=1)
    np.testing.assert_allclose(coverage.distances["fast", "at the side"][:, 0], dense, atol=1e-12)


def test_some_must_be_left_to_predict():
    with pytest.raises(PoinsotError, match="2 recordings are chosen to predict others, and there are only 2"):
        Coverage(RECORDINGS, ("a",)).choose(2, ["fast", "slow and wide"])
