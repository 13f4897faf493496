"""Agreement between drops: first-order moves against new solutions, and prediction of what was left out."""

import numpy as np
import pytest

from poinsot.estimators.complementarity import agreement as module
from poinsot.estimators.complementarity.agreement import (
    WAVES,
    agreement,
    assumed,
    bootstrap,
    halves,
    held_out,
    reweighted,
)
from poinsot.exceptions import InvalidMethod


def test_a_first_order_move_is_nearly_a_new_solution(fit):
    """Without two drops: what is left is of second order in their weight."""
    found = fit
    counts = np.ones(found.problem.chain.drops)
    counts[[1, 4]] = 0.0
    at, _ = found.problem.minimized(found.at, counts, enough=1e-6)
    step = reweighted(fit, counts[None])[0] - fit.at.shared
    assert abs(step[0]) > 0
    assert step[0] == pytest.approx(at.shared[0] - fit.shared[0], abs=0.3 * fit.inertia_to_mass_std)


def test_the_bootstrap_has_the_scatter_between_drops(fit):
    drawn = bootstrap(fit, 2000, seed=1)
    # sixteen drops: the bootstrap's n against n - 1, and counts that are not small
    assert np.std(drawn) == pytest.approx(fit.inertia_to_mass_std, rel=0.35)
    assert np.percentile(drawn, 2.5) < fit.inertia_to_mass < np.percentile(drawn, 97.5)


def test_halves_differ_by_twice_the_standard_deviation(fit):
    """The difference of two independent halves has the variance 4 var(J/m); over splits of the same drops too."""
    differences = halves(fit, 2000, seed=2)
    rms = np.sqrt(np.mean(differences**2)) * fit.inertia_to_mass
    assert rms == pytest.approx(2 * fit.inertia_to_mass_std, rel=0.4)


def test_held_out_impacts_are_predicted(fit):
    rows = held_out(fit)
    assert len(rows) >= fit.impacts_used
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
    np.testing.assert_allclose(agreed.interval, np.percentile(bootstrap(fit, seed=3), [2.5, 97.5]))
    assert agreed.halves_difference == np.quantile(halves(fit, seed=3), 0.95)
    assert agreed.assumed == {"no drag": assumed(fit, ["linear_drag", "angular_drag"])}
    assert len(agreed.errors) == len(agreed.errors_from_before) == len(agreed.held_out)
    assert np.median(agreed.errors) < np.median(agreed.errors_from_before)


def test_three_drops_have_no_halves(few, monkeypatch):
    monkeypatch.setattr(module, "ASSUMPTIONS", {})
    assert np.isnan(agreement(few).halves_difference)
    with pytest.raises(InvalidMethod, match="four drops"):
        halves(few)
