"""Pooled drops: simulated squares come back, whatever their J/m, and what cannot be told is not."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.complementarity.flights import Drop
from poinsot.estimators.complementarity.pooled import PooledImpacts
from poinsot.estimators.complementarity.result import PooledFit
from poinsot.estimators.complementarity.segmentation import divided
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.models.planar import floor, rectangle
from references.bouncing import SIDE, Throws


def of(throws: Throws, count: int, seed: int, rounds: int = 40) -> PooledFit:
    return PooledImpacts(rounds=rounds).solve(throws.drops(count, seed), rectangle(SIDE, SIDE), floor())


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
    assert fit.unseen == ()


def test_a_poor_tracker_still_gives_the_inertia():
    """1 mm and 0.02 rad; 5 % is two of the standard deviations that are told. Few rounds, since tolerances do not
    settle under so much noise, and a floor off which it bounces often, of which a millimeter hides all else."""
    true = Throws(
        inertia_to_mass=6e-4,
        noise=(1e-3, 1e-3, 0.02),
        wander=(0.0, 0.0, 0.0),
        loss=0.0,
        hardening=1.0,
        floor_roughness=0.0,
        corner_spread=0.0,
    )
    fit = of(true, 8, 7, rounds=6)
    assert fit.inertia_to_mass_std < 0.03 * true.inertia_to_mass
    assert fit.inertia_to_mass == pytest.approx(true.inertia_to_mass, rel=0.05)


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
    parted = fit.solved.segmented
    flights = (divided(lossy, parted.model), *parted.flights[1:6])
    again = PooledImpacts().of_flights(
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
    assert fit.impacts_used == sum(impact.verdict == "admitted" for impact in fit.impacts)
    assert all(impact.normal_impulse > 0 for impact in fit.impacts if impact.used)
    assert fit.drops_used <= len(drops)


def test_a_held_value_stays(fit):
    parted = fit.solved.segmented
    fit = PooledImpacts(held={"corner_radius": 5e-3, "contact_lag": 5e-4}).of_flights(
        replace(parted, drops=parted.drops[:4], flights=parted.flights[:4]), rectangle(SIDE, SIDE), floor()
    )
    assert fit.value("corner_radius") == 5e-3
    assert fit.std("contact_lag") == 0
    assert fit.held == ("corner_radius", "contact_lag")


def test_a_name_that_nothing_has_is_refused():
    with pytest.raises(InvalidMethod, match="cannot hold 'mass'"):
        PooledImpacts(held={"mass": 1.0})


def test_drops_without_an_impact_are_refused():
    up = [replace_time(drop, 8) for drop in Throws().drops(3, seed=8)]
    with pytest.raises(NotIdentifiable, match="no impact"):
        PooledImpacts().solve(up, rectangle(SIDE, SIDE), floor())


def replace_time(drop: Drop, frames: int) -> Drop:
    return replace(drop, times=drop.times[:frames], poses=drop.poses[:frames])


def test_real_squares(shared_data):
    """Six of sixty drops: the law of Eq. 32 holds, and what they say of J/m is sharp."""
    files = sorted(shared_data("square_drops").glob("*.csv"))[::10]
    drops = []
    for file in files:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        drops.append(Drop(file.stem, np.arange(len(table)) / 250, table[:, :3]))
    fit = PooledImpacts().solve(drops, rectangle(0.06, 0.06), floor())
    assert fit.impacts_used > 15
    # the law of Eq. 32 holds within half a radian a second where jumps are a dozen
    used = [impact for impact in fit.impacts if impact.used]
    assert np.median([abs(impact.inconsistency) for impact in used]) < 0.5
    assert fit.inertia_to_mass_std < 0.05 * fit.inertia_to_mass
