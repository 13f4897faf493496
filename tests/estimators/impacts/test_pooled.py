"""Pooled drops: simulated squares come back, whatever their J/m; what they do not determine has no value."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimators.impacts import pooled as module
from poinsot.estimators.impacts.collisions import HEIGHT
from poinsot.estimators.impacts.flights import divided, segmented
from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.pool import PooledProblem
from poinsot.estimators.impacts.pooled import FlightStates, PooledFit, fitted_pool
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.models.planar import floor, rectangle
from poinsot.models.planar.drop import Drop
from poinsot.report.pages import identify_page
from references.bouncing import SIDE, Throws


def of(throws: Throws, count: int, seed: int) -> PooledFit:
    return fitted_pool(segmented(throws.drops(count, seed)), rectangle(SIDE, SIDE), floor())


def near(fit: PooledFit, true: Throws) -> None:
    """Within 2 % of the truth: a compliant contact is no instant, which is worth up to 1 %; the rest is chance."""
    assert fit.inertia_to_mass == pytest.approx(true.inertia_to_mass, rel=0.02)


def test_a_heavy_middle_comes_back(fit):
    near(fit, Throws(inertia_to_mass=4e-4))


def test_a_heavy_rim_comes_back():
    true = Throws(inertia_to_mass=9e-4)
    near(of(true, 6, 6), true)


def test_what_shapes_the_contact_comes_back(fit):
    true = Throws()
    assert fit.value("corner_radius") == pytest.approx(true.corner_radius, abs=3e-4)
    assert fit.value("angle_offset") == pytest.approx(true.angle_offset, abs=3e-3)
    assert fit.value("shape_offset_x") == pytest.approx(true.shape_offset[0], abs=1e-4)
    assert fit.value("tracked_offset_x") == pytest.approx(true.tracked_offset[0], abs=1e-4)
    assert fit.value("elongation") == pytest.approx(true.elongation, abs=1.5e-3)
    assert true.friction[0] < fit.friction.median < true.friction[1]
    assert fit.unobservable == ()


def test_a_poor_tracker_still_gives_the_inertia():
    """1 mm and 0.02 rad, all else as for the good one: within three of the standard deviations that it states.

    Sixteen drops tell J/m to some 5 % then. Under such noise the lag of a contact does not show how it grows with the
    speed: that has no value, and no standard deviation that could be taken for one.
    """
    true = Throws(inertia_to_mass=6e-4, noise=(1e-3, 1e-3, 0.02))
    fit = of(true, 16, 7)
    assert fit.status is Status.solved
    assert fit.inertia_to_mass_std < 0.08 * true.inertia_to_mass
    assert fit.inertia_to_mass == pytest.approx(true.inertia_to_mass, abs=3 * fit.inertia_to_mass_std)
    assert fit.std("lag_power") == np.inf
    assert any("lag_power" in each for each in fit.unobservable)


def test_a_frame_that_was_lost_at_an_impact_is_found(drops, fit):
    """Its clock says one interval where there were two, as where frames lie inside the fastest blow."""
    blow = max(
        (impact for impact in fit.impacts if impact.used and impact.drop == "drop 1"),
        key=lambda i: i.normal_impulse,
    )
    first = drops[0]
    i = int(np.searchsorted(first.times, blow.time))
    late = np.delete(np.arange(len(first.times)), i)
    lossy = Drop("drop 1", first.times[: len(late)], first.poses[late])
    parted = fit.segmented
    flights = (divided(lossy, parted.model), *parted.flights[1:6])
    again = fitted_pool(
        replace(parted, drops=(lossy, *drops[1:6]), flights=flights), rectangle(SIDE, SIDE), floor()
    )
    found = [
        impact for impact in again.impacts if impact.drop == "drop 1" and abs(impact.time - blow.time) < 6e-3
    ]
    assert found[0].lost_time == pytest.approx(0.004, abs=4e-4)
    assert again.inertia_to_mass == pytest.approx(fit.inertia_to_mass, rel=0.02)


def test_every_impact_has_a_row(drops, fit):
    names = {drop.name for drop in drops}
    assert {impact.drop for impact in fit.impacts} <= names
    assert sum(impact.share for impact in fit.impacts) == pytest.approx(1)
    assert len(fit.used) == sum(impact.verdict == "admitted" for impact in fit.impacts)
    assert all(impact.normal_impulse > 0 for impact in fit.impacts if impact.used)
    assert len({impact.drop for impact in fit.used}) <= len(drops)


def test_a_held_value_stays(fit):
    parted = fit.segmented
    few = replace(parted, drops=parted.drops[:4], flights=parted.flights[:4])
    held = {"corner_radius": 5e-3, "contact_lag": 5e-4}
    fit = fitted_pool(few, rectangle(SIDE, SIDE), floor(), held)
    assert fit.value("corner_radius") == 5e-3
    assert fit.std("contact_lag") == 0
    assert fit.held == ("corner_radius", "contact_lag")


def test_a_name_that_nothing_has_is_refused():
    with pytest.raises(InvalidMethod, match="cannot hold 'mass'"):
        ImpactIdentification(held={"mass": 1.0})


def test_drops_without_an_impact_are_refused():
    up = [replace_time(drop, 8) for drop in Throws().drops(3, seed=8)]
    with pytest.raises(NotIdentifiable, match="no impact"):
        fitted_pool(segmented(up), rectangle(SIDE, SIDE), floor())


def replace_time(drop: Drop, frames: int) -> Drop:
    return replace(drop, times=drop.times[:frames], poses=drop.poses[:frames])


def test_real_squares(shared_data):
    """Six of sixty drops: the law of Eq. 32 holds, and what they say of J/m is sharp."""
    files = sorted(shared_data("square_drops").glob("*.csv"))[::10]
    drops = []
    for file in files:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        drops.append(Drop(file.stem, np.arange(len(table)) / 250, table[:, :3]))
    fit = fitted_pool(segmented(drops), rectangle(0.06, 0.06), floor())
    assert len(fit.used) > 15
    # the law of Eq. 32 holds within half a radian a second where jumps are a dozen
    used = [impact for impact in fit.impacts if impact.used]
    assert np.median([abs(impact.inconsistency) for impact in used]) < 0.5
    assert fit.inertia_to_mass_std < 0.05 * fit.inertia_to_mass


@pytest.fixture(scope="module")
def estimate(drops):
    """With one of the `ASSUMPTIONS`, each of which is a fit; `test_several_drops_are_pooled` has all."""
    problem = ImpactsProblem(tuple(drops), rectangle(SIDE, SIDE), (floor(),), mass=0.04, name="square")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ASSUMPTIONS", {"no drag": ("linear_drag", "angular_drag")})
        return ImpactIdentification().solve(problem)


def test_an_estimate_certifies_its_own_values(estimate):
    """Unperturbed it holds; every estimated value one standard deviation off, up or down, it does not."""
    assert estimate.status.converged
    assert estimate.certificate().holds
    free = np.flatnonzero(estimate.identifiable & np.isfinite(estimate.std) & (estimate.std > 0))
    assert len(free) > 15
    for place in free:
        for sign in (-1, 1):
            values = estimate.values.copy()
            values[place] += sign * estimate.std[place]
            assert not estimate.updated(values=values).certificate().holds, estimate.names[place]


def test_states_that_are_off_are_not_certified(estimate):
    """What is not a parameter counts as well: every instant a tenth of a millisecond late."""
    states = estimate.extra(FlightStates)
    late = replace(states, at=replace(states.at, tau=states.at.tau + 1e-4))
    assert estimate.updated(late).certificate().stationarity > 1


def test_impacts_of_different_drops_have_no_order(estimate):
    """Each has the clock of its own drop: no autocorrelation and no test of whiteness."""
    for fit in (estimate.fit, *estimate.validation):
        assert fit.whiteness == () and fit.autocorrelation.shape == (1, 0)
        assert np.isfinite(fit.relative_error_percent)
    page = str(identify_page(estimate))
    assert "whiteness is not tested" in page and "Ljung-Box p" not in page


def test_standard_deviations_are_of_one_kind(estimate):
    """By the scatter between drops, right whatever the tolerances: coloured, and no copy of it as white."""
    assert estimate.std_kind == "coloured" and estimate.white_std is None
    np.testing.assert_array_equal(estimate.coloured_std, estimate.std)
    assert 1 < estimate.scaled_condition_number < estimate.condition_number < np.inf


def test_a_direction_without_information_has_no_finite_variance(few):
    """Without any prior on the floor's height, and with a column of zeros, nothing is known of it."""
    found = few
    blind = replace(found.by, S_bar=found.by.S_bar.copy())
    blind.S_bar[:, HEIGHT], blind.S_bar[:, :, HEIGHT] = 0.0, 0.0

    class WithoutPrior(PooledProblem):
        prior = np.where(np.arange(len(found.problem.free)) == HEIGHT, 0.0, found.problem.prior)

    _, unobservable = WithoutPrior(**vars(found.problem)).covariance(blind)
    assert np.flatnonzero(unobservable).tolist() == [HEIGHT]


def test_rounds_that_are_stopped_say_so(drops, fit):
    problem = ImpactsProblem(tuple(drops[:6]), rectangle(SIDE, SIDE), (floor(),))
    seen = []
    found = ImpactIdentification().solve(
        problem, progress=seen.append, stop=lambda: sum(each.stage == "tolerances" for each in seen) >= 2
    )
    assert found.status is Status.interrupted
    assert [each.iteration for each in seen if each.stage == "tolerances"] == [1, 2]
    assert found["J/m"] == pytest.approx(4e-4, rel=0.2)
    assert any("not computed, as the search was interrupted" in note for note in found.notes)
