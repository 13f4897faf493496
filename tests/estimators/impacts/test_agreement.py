"""Agreement between drops: first-order moves against new solutions, and prediction of what was left out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from poinsot.estimators.impacts import pooled as module
from poinsot.estimators.impacts.pool import PooledProblem
from poinsot.estimators.impacts.pooled import (
    WAVES,
    agreement,
    assumed,
    halves,
    held_out,
)
from poinsot.exceptions import InvalidMethod


def test_a_first_order_move_is_nearly_a_new_solution(fit):
    """Without two drops: what is left is of second order in their weight."""
    counts = np.ones(fit.problem.chain.drops)
    counts[[1, 4]] = 0.0
    at, _ = without(fit.problem, counts).minimized(fit.at, enough=1e-6)
    step = fit.problem.reweighted(fit.by, fit.at.shared, counts[None])[0] - fit.at.shared
    assert abs(step[0]) > 0
    assert step[0] == pytest.approx(at.shared[0] - fit.shared[0], abs=0.3 * fit.inertia_to_mass_std)


def without(problem: PooledProblem, counts: np.ndarray) -> PooledProblem:
    """The problem in which nothing of the drops with count 0 counts; their states stay where they are."""
    chain, lying = problem.chain, problem.chain.resting
    kept = counts > 0
    few = kept[chain.drop[chain.before]]
    rests = kept[lying.drop]
    lying = replace(lying, drop=lying.drop[rests], part=lying.part[rests], poses=lying.poses[rests])
    chain = replace(
        chain,
        innovations_normal=counts[:, None, None] * chain.innovations_normal,
        innovations_gradient=counts[:, None] * chain.innovations_gradient,
        resting=lying,
    )
    return replace(problem, chain=chain, use=problem.use & few, turning=problem.turning & few)


def test_the_covariance_is_that_of_leaving_out_drops(fit):
    """Each drop left out by a step of its own; of Student's t with n - 1 degrees of freedom 95 % are inside."""
    left = fit.problem.reweighted(fit.by, fit.at.shared, 1.0 - np.eye(16))[:, 0]
    std = np.sqrt(15 / 16 * np.sum((left - left.mean()) ** 2))
    inverse = np.sqrt(fit.problem.covariance(fit.by)[0][0, 0])
    assert fit.scattered
    assert fit.inertia_to_mass_std == pytest.approx(
        max(std * stats.t.ppf(0.975, 15) / 1.96, inverse), rel=1e-3
    )
    low, high = fit.inertia_interval
    assert high - low == pytest.approx(2 * 1.96 * fit.inertia_to_mass_std, rel=1e-3)


def test_halves_differ_by_twice_the_standard_deviation(fit):
    """The difference of two independent halves has the variance 4 var(J/m); over splits of the same drops too."""
    differences = halves(fit, 2000, seed=2)
    rms = np.sqrt(np.mean(differences**2)) * fit.inertia_to_mass
    assert rms == pytest.approx(2 * fit.inertia_to_mass_std, rel=0.4)


def test_held_out_impacts_are_predicted(fit):
    rows = held_out(fit)
    assert len(rows) >= len(fit.used)
    error = np.array([abs(row.from_jump - row.jump_of_omega) for row in rows])
    scale = np.median([abs(row.jump_of_omega) for row in rows])
    assert np.median(error) < 0.05 * scale
    # restitution is drawn anew in each contact, so the state before tells much less
    blind = np.array([abs(row.from_before - row.jump_of_omega) for row in rows])
    assert np.median(error) < np.median(blind) < 0.5 * scale


def test_sharp_corners_would_move_the_inertia(fit):
    """Levers are longer by r with sharp corners, so J/m is larger, by about r over what is left of half a side."""
    assert assumed(fit, ["corner_radius"]) > 1.08 * fit.inertia_to_mass
    assert assumed(fit, ["linear_drag", "angular_drag"]) == pytest.approx(fit.inertia_to_mass, rel=0.02)


def test_an_assumption_about_nothing_is_refused(fit):
    with pytest.raises(InvalidMethod, match="cannot hold 'inertia_to_mass'"):
        assumed(fit, ["inertia_to_mass"])


def test_a_level_floor_would_move_the_inertia_a_little(fit):
    """Waves of 0.2 mm, on a lever of 25 mm."""
    assert assumed(fit, [WAVES]) == pytest.approx(fit.inertia_to_mass, rel=0.03)
    assert assumed(fit, [WAVES]) != fit.inertia_to_mass


def test_all_of_it_at_once(fit, monkeypatch):
    monkeypatch.setattr(module, "ASSUMPTIONS", {"no drag": ("linear_drag", "angular_drag")})
    agreed = agreement(fit, seed=3)
    assert agreed.halves_difference == np.quantile(halves(fit, seed=3), 0.95)
    assert agreed.assumed == {"no drag": assumed(fit, ["linear_drag", "angular_drag"])}
    assert len(agreed.errors) == len(agreed.held_out)
    from_before = [abs(each.from_before - each.jump_of_omega) for each in agreed.held_out]
    assert np.median(agreed.errors) < np.median(from_before)


def test_three_drops_have_no_halves(few, monkeypatch):
    monkeypatch.setattr(module, "ASSUMPTIONS", {})
    assert np.isnan(agreement(few).halves_difference)
    with pytest.raises(InvalidMethod, match="four drops"):
        halves(few)
