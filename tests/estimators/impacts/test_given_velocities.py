"""Impacts of which the velocities before and after are given, in place of frames."""

from __future__ import annotations

import numpy as np
import pytest

from poinsot.estimate import Trust
from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.exceptions import InvalidRecording, PoinsotError
from poinsot.models.planar import Ellipse, floor
from poinsot.recording import Recording
from references.impact_table import impact_rows, impact_table

SHAPE, INERTIA, FRICTION, RESTITUTION = Ellipse(0.05, 0.025), 6e-4, 0.25, 0.5


def solved(rows):
    return ImpactIdentification().solve(
        ImpactsProblem.from_recordings([impact_table(rows)], SHAPE, (floor(),))
    )


@pytest.fixture(scope="module")
def rows():
    return impact_rows(SHAPE, INERTIA, FRICTION, RESTITUTION, 24, seed=5)


@pytest.fixture(scope="module")
def estimate(rows):
    return solved(rows)


def test_values_are_within_three_standard_deviations_of_the_truth(estimate):
    for name, truth in (("J/m", INERTIA), ("friction", FRICTION), ("restitution", RESTITUTION)):
        k = estimate.names.index(name)
        assert abs(estimate.values[k] - truth) < 3 * estimate.std[k]
    assert estimate.std[0] < 0.03 * INERTIA
    assert estimate.trust is Trust.trusted


@pytest.mark.slow
def test_intervals_hold_the_truth():
    """Of 40 tables, at least 34: of intervals that hold 95 %, so few would be below by chance once in 70 times."""
    inside = 0
    for seed in range(40):
        found = solved(impact_rows(SHAPE, INERTIA, FRICTION, RESTITUTION, 20, seed))
        low, high = found.interval("J/m")
        inside += low < INERTIA < high
    assert inside >= 34


def changed(rows, columns, factor=1.0, offset=0.0):
    rows = rows.copy()
    rows[:, columns] = factor * rows[:, columns] + offset
    return rows


def exchanged(rows):
    return rows[:, [0, 1, 2, 6, 7, 8, 3, 4, 5]]


WRONG = {
    "speeds in cm/s": (lambda r: changed(r, [3, 4, 6, 7], 100), "length-scale"),
    "rates in degrees": (lambda r: changed(r, [5, 8], 180 / np.pi), "angle-unit"),
    "angles in degrees": (lambda r: changed(r, [2], 180 / np.pi), "angle-unit"),
    "angle 90 degrees off": (lambda r: changed(r, [2], offset=np.pi / 2), "angle-zero"),
    "rates with the other sign": (lambda r: changed(r, [5, 8], -1), "sign"),
    "x with the other sign": (lambda r: changed(r, [0, 3, 6], -1), "sign"),
    "positions in mm": (lambda r: changed(r, [0, 1], 1000), "length-unit"),
    "before and after exchanged": (exchanged, "swapped-channels"),
}


def causes(rows):
    """The cause of a refusal, or those of the first two findings of a result that is not to be used."""
    try:
        found = solved(rows)
    except PoinsotError as why:
        return [str(why).partition("]")[0].removeprefix("[")]
    return [finding.cause for finding in found.findings[:2]] if found.trust is Trust.not_to_be_used else []


LIKE_OTHERS = "rates in degrees", "x with the other sign"
"""Have the cause of another table, and take longer."""


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param(*how, id=name, marks=pytest.mark.slow if name in LIKE_OTHERS else ())
        for name, how in WRONG.items()
    ],
)
def test_a_wrong_table_is_named(rows, change, cause):
    assert cause in causes(change(rows))


def test_a_row_with_a_gap_is_left_out(rows):
    table = impact_table(rows)
    valid = {"velocity_after.y": np.arange(len(rows)) != 3}
    problem = ImpactsProblem.from_recordings(
        [Recording(table.time, table.channels, table.units, valid)], SHAPE, (floor(),)
    )
    assert len(problem.drops) == len(rows) - 1
    assert "drop 1 4" not in [drop.name for drop in problem.drops]


def test_velocities_and_frames_are_not_mixed(rows):
    poses = {name: rows[:10, k] for k, name in enumerate(("position.x", "position.y", "position.angle"))}
    filmed = Recording(np.arange(10) / 100, poses, dict(zip(poses, ("m", "m", "rad"), strict=True)))
    with pytest.raises(InvalidRecording, match="identify them separately"):
        ImpactsProblem.from_recordings({"table": impact_table(rows), "film": filmed}, SHAPE)


def test_a_missing_velocity_is_named(rows):
    table = impact_table(rows)
    kept = {name: values for name, values in table.channels.items() if name != "velocity_after.angle"}
    units = {name: table.units[name] for name in kept}
    with pytest.raises(InvalidRecording, match="velocity_after"):
        ImpactsProblem.from_recordings([Recording(table.time, kept, units)], SHAPE)
