"""Random effects: against dense likelihood, and intervals that contain what was simulated as often as they say."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, chi2

from poinsot.studies.random_effects import generalized_q, random_effects, solve_spread


def labels(robots, days, logs):
    """Robot and day of each log."""
    robot = np.repeat(np.arange(robots), days * logs).astype(str)
    return list(robot), list(np.tile(np.repeat(np.arange(days), logs), robots).astype(str))


def simulate(rng, robots, days, logs, between_robots, between_days):
    """Estimates around 5 with standard deviations of .02 to .15."""
    std = rng.uniform(0.02, 0.15, robots * days * logs)
    u = np.repeat(between_robots * rng.standard_normal(robots), days * logs)
    d = np.repeat(between_days * rng.standard_normal(robots * days), logs)
    return 5.0 + u + d + std * rng.standard_normal(len(std)), std


def test_generalized_q_is_that_of_dense_least_squares():
    rng = np.random.default_rng(0)
    parent, m, v, t = np.array([0, 0, 1, 1, 1]), rng.standard_normal(5), rng.uniform(0.5, 2.0, 5), 0.7
    design = np.equal.outer(parent, [0, 1]).astype(float)
    weight = np.diag(1 / (v + t))
    means = np.linalg.solve(design.T @ weight @ design, design.T @ weight @ m)
    expected = (m - design @ means) @ weight @ (m - design @ means)
    Q, slope = generalized_q(m[None], v[None], parent, np.array([[t]]))
    assert Q[0] == pytest.approx(expected, rel=1e-12)
    ahead, behind = (
        generalized_q(m[None], v[None], parent, np.array([[t + h]]))[0][0] for h in (1e-6, -1e-6)
    )
    assert slope[0] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 30.0))
def test_solutions_are_solutions_or_zero(seed, q):
    rng = np.random.default_rng(seed)
    m, v, parent = 3 * rng.standard_normal((1, 6)), 10.0 ** rng.uniform(-4, 2, (1, 6)), np.zeros(6, int)
    t = solve_spread(m, v, parent, np.array([q]))
    assert t[0, 0] >= 0
    Q = generalized_q(m, v, parent, t)[0][0]
    assert pytest.approx(q, rel=1e-6) == Q if t[0, 0] > 0 else q * (1 + 1e-9) >= Q


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    robots, days = labels(5, 3, 1)
    y, std = simulate(rng, 5, 3, 1, 0.3, 0.1)
    one, milli = random_effects(y, std, robots, days), random_effects(1e-6 * y, 1e-6 * std, robots, days)
    assert milli.mean == pytest.approx(1e-6 * one.mean)
    assert milli.interval_95 == pytest.approx([1e-6 * each for each in one.interval_95])
    for level, spread in one.spreads.items():
        assert milli.spreads[level].interval_95 == pytest.approx(
            [1e-6 * each for each in spread.interval_95], rel=1e-6, abs=1e-14
        )


def test_levels_that_cannot_be_separated_are_absent():
    rng = np.random.default_rng(2)
    for shape, expected in (
        ((4, 3, 2), {"log", "day", "robot"}),
        ((4, 3, 1), {"day", "robot"}),
        ((4, 1, 1), {"robot"}),
    ):
        found = random_effects(*simulate(rng, *shape, 0.3, 0.1), *labels(*shape))
        assert set(found.spreads) == expected
    assert set(random_effects(*simulate(rng, 1, 3, 1, 0.3, 0.1), *labels(1, 3, 1)).spreads) == {"day"}


def test_a_common_error_is_not_pooled_away():
    rng = np.random.default_rng(3)
    y, std = simulate(rng, 40, 1, 1, 0.0, 0.0)
    found = random_effects(y, std, *labels(40, 1, 1), common_std=0.5)
    assert found.std == pytest.approx(0.5, rel=0.01)
    assert np.diff(found.interval_95)[0] == pytest.approx(2 * 1.96 * 0.5, rel=0.05)


def coverage(trials, shape, between_robots, between_days):
    """Level -> number of intervals that contain the truth."""
    rng, hits = np.random.default_rng(4), {"mean": 0, "robot": 0, "day": 0, "next": 0}
    for _ in range(trials):
        found = random_effects(*simulate(rng, *shape, between_robots, between_days), *labels(*shape))
        new = 5.0 + np.hypot(between_robots, between_days) * rng.standard_normal()
        truth = {"robot": between_robots, "day": between_days}
        hits["mean"] += found.interval_95[0] <= 5.0 <= found.interval_95[1]
        hits["next"] += found.next_interval_95[0] <= new <= found.next_interval_95[1]
        for level, tau in truth.items():
            low, high = found.spreads[level].interval_95
            hits[level] += low <= tau <= high
    return hits


def is_95_percent(hits, trials, at_most=True):
    """Whether so many hits have a probability above .1 %; fewer than that never, more only if `at_most`."""
    low, high = binom.ppf([0.001, 0.999], trials, 0.95)
    return hits >= low and (hits <= high or not at_most)


def test_intervals_contain_what_was_simulated():
    hits = coverage(60, (8, 3, 1), 0.2, 0.1)
    assert all(is_95_percent(each, 60) for each in hits.values()), hits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "between_robots", "between_days"),
    [
        ((6, 4, 2), 0.1, 0.05),
        ((12, 5, 1), 0.3, 0.1),
        ((20, 3, 1), 0.1, 0.3),
        ((8, 3, 2), 0.2, 0.0),
        ((12, 5, 1), 0.0, 0.1),
    ],
)
def test_intervals_contain_what_was_simulated_in_95_of_100(shape, between_robots, between_days):
    trials = 1000
    hits = coverage(trials, shape, between_robots, between_days)
    # next to the bound 0 an interval that reaches it contains the truth more often
    exact = min(between_robots, between_days) > 0
    for level, each in hits.items():
        # percentages of the fiducial distribution are exact for the finest level, to some percent elsewhere
        assert is_95_percent(each, trials, exact and level == "day") or 0.93 < each / trials, (level, each)


@pytest.mark.slow
def test_probabilities_of_no_difference_are_uniform():
    rng = np.random.default_rng(5)
    found = [
        random_effects(*simulate(rng, 10, 1, 1, 0.0, 0.0), *labels(10, 1, 1)).spreads["robot"].p_value
        for _ in range(1000)
    ]
    counts, _ = np.histogram(found, 10, (0, 1))
    assert chi2.sf(((counts - 100) ** 2 / 100).sum(), 9) > 1e-3
