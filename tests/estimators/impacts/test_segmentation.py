"""Division of drops into flights, on drops whose contacts are known."""

from dataclasses import replace

import numpy as np

from poinsot.estimators.impacts.flights import FlightModel, divided, segmented
from poinsot.models.planar.drop import Drop
from references.bouncing import Throws

TRUE = Throws()
MODEL = FlightModel(
    np.array(TRUE.tracked_offset), np.array(TRUE.drag), np.array(TRUE.noise), np.array(TRUE.wander)
)


def test_flights_break_where_the_body_touches_and_nowhere_else():
    """By the true path: a flight spans no frames between which the velocity jumps by more than a meter a second."""
    for drop in TRUE.drops(6, seed=2):
        flights = divided(drop, MODEL)
        assert flights[0][0] == 0
        assert len(flights[0]) > 8
        climb = np.diff(drop.poses[:, 1]) / np.diff(drop.times)
        jumps = set(np.flatnonzero(np.abs(np.diff(climb)) > 1.0) + 1)
        for frames in flights:
            # the frame beside an impact may belong to either flight, no frame inside may jump
            assert not jumps & set(frames[2:-2])


def test_a_misread_frame_does_not_end_a_flight():
    drop = TRUE.drops(1, seed=3)[0]
    longest = max(divided(drop, MODEL), key=len)
    poses = drop.poses.copy()
    middle = longest[len(longest) // 2]
    poses[middle, 0] += 1e-3
    again = max(divided(Drop("misread", drop.times, poses), MODEL), key=len)
    assert len(again) >= len(longest) - 2
    assert middle not in again


def test_rest_is_no_flight(rng):
    t = np.arange(60) / 250
    still = np.array([0.1, 0.03, 0.0]) + MODEL.noise * rng.normal(size=(60, 3))
    assert divided(Drop("rest", t, still), MODEL) == ()


def test_what_flights_share_comes_out_of_the_division():
    throws = replace(TRUE, seconds=0.5)
    found = segmented(throws.drops(12, seed=4)).model
    np.testing.assert_allclose(found.offset, MODEL.offset, atol=6e-5)
    np.testing.assert_allclose(found.noise, MODEL.noise, rtol=0.15)
    np.testing.assert_allclose(found.drag, MODEL.drag, atol=0.15)
