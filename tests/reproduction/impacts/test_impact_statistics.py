"""A few throws, and what is made of them."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from poinsot_reproductions.impacts import statistics
from poinsot_reproductions.normalized_errors import held

FREE, FORCED = statistics.TRIALS


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with ThreadPoolExecutor(1) as executor:
        return statistics.run(1, {FREE: 2, FORCED: 1}, executor, tmp_path_factory.mktemp("kept"))


def test_intervals_and_the_truth(result):
    free, forced = result.rows
    assert free["trials"] == 2 and forced["trials"] == 1 and result.figures["failed"] == 0
    assert (
        set(forced["covered_percent"])
        <= {"J/m", "friction", "restitution", "m", "J"}
        > set(free["covered_percent"])
    )
    assert free["median_std_percent"] < 20 and free["mean_absolute_error_percent"] < 40
    json.dumps([result.rows, result.figures, result.tables, result.notes])


def test_throws_differ_strike_and_are_the_same_again():
    one, other = (statistics.throw(statistics.Job(FREE, k, 0)) for k in (0, 1))
    assert one.inertia_to_mass != other.inertia_to_mass and one.drop.forces is None
    again = statistics.throw(statistics.Job(FREE, 0, 0))
    np.testing.assert_array_equal(one.drop.poses, again.drop.poses)
    pushed = statistics.throw(statistics.Job(FORCED, 0, 0)).drop
    weight = statistics.WEIGHED * 9.81
    assert np.sqrt(np.mean(pushed.forces[:, :2] ** 2)) == pytest.approx(0.5 * weight, rel=0.3)


def test_shares_are_counted():
    good = {"failed": None, "distrust": [], "error_percent": 1.0, "std_percent": 1.0}
    off = [1.0, -1.9, 2.5, 0.3]
    results = [good | {"off": {"J/m": value, "friction": None}} for value in off]
    row = statistics.judged(FREE, [*results, {"failed": "the body hits nothing"}])
    assert row["covered_percent"] == {"J/m": 75.0} and row["failed"] == 1
    assert row["seen_in"] == {"J/m": 4, "friction": 0}
    assert held(off, 1.0) == 0.5


@pytest.mark.slow
def test_errors_are_as_large_as_their_standard_deviations():
    """The sum of z^2 of eight throws is chi-square with eight degrees of freedom: by chance outside once in 1000."""
    z = [statistics.attempt(statistics.Job(FORCED, k, 2))["off"]["J"] for k in range(8)]
    low, high = stats.chi2.ppf([0.0005, 0.9995], len(z))
    assert low < np.sum(np.square(z)) < high


def test_strikes_are_counted():
    """Steps are 0.8 us: five in a row are one impact, half a second later is another."""
    assert statistics.strikes(np.array([5, 6, 7, 8, 9, 600_000])) == 2
    assert statistics.strikes(np.array([], dtype=int)) == 0
