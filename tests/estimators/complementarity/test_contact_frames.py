"""Frames of contact: which are taken, what they add against dense algebra, and what they say of a body that rocks."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.complementarity.agreement import moved, without_contacts
from poinsot.estimators.complementarity.collisions import HEIGHT, OF_FLIGHTS, SHARED, Outline, S
from poinsot.estimators.complementarity.contact_frames import (
    TILT,
    ContactFrames,
    added,
    contact_frames,
    gaps,
    reweighed,
    weighed,
)
from poinsot.estimators.complementarity.flights import Drop, FlightModel
from poinsot.estimators.complementarity.pooled import inverse_of, theta_step
from poinsot.estimators.complementarity.segmentation import Segmented, divided
from poinsot.models.planar import Ellipse, floor, rectangle
from references.bouncing import SIDE
from references.rocking_frames import rocked, touching

SQUARE, WALL = Outline(rectangle(SIDE, SIDE)), floor(slope=0.02)
TRUE = np.array([4e-4, 5e-3, -2e-4, 1e-4, 0.03, 1e-3, -3e-3, 4e-4, 5e-4, 3e-4, 0.4, 0.4])
MODEL = FlightModel(
    TRUE[OF_FLIGHTS][:2], TRUE[OF_FLIGHTS][2:], np.array([2e-5, 5e-5, 9e-4]), np.array([7e-4, 3e-3, 1.0])
)


def episodes(count, seed):
    return rocked(count, seed, TRUE, SQUARE, WALL)


@pytest.mark.parametrize("outline", [SQUARE, Outline(Ellipse(0.04, 0.03))], ids=["square", "ellipse"])
def test_the_gap_of_a_touching_body_is_the_height_of_the_floor(outline, rng):
    theta, part = rng.uniform(-3, 3, 8), rng.integers(0, len(outline.shape.parts), 8)
    poses = touching(theta, rng.normal(size=8), part, TRUE, outline, WALL)
    of = ContactFrames(np.zeros(8, int), part, np.zeros(8), poses, np.ones(8), 1.0, 1.0, ())
    height = TRUE[HEIGHT] * np.cos(WALL.slope + TRUE[6])
    np.testing.assert_allclose(gaps(of, TRUE, outline, WALL)[0], height, atol=1e-12)


@pytest.mark.parametrize("outline", [SQUARE, Outline(Ellipse(0.04, 0.03))], ids=["square", "ellipse"])
def test_derivatives(outline, rng):
    N = 8
    poses = np.column_stack([rng.normal(size=(N, 2)), rng.uniform(-3, 3, N)])
    part = rng.integers(0, len(outline.shape.parts), N)
    of = ContactFrames(np.zeros(N, int), part, np.zeros(N), poses, np.ones(N), 1.0, 1.0, ())
    by = gaps(of, TRUE, outline, WALL)[1]
    for j in range(S):
        if j == HEIGHT:
            continue
        ends = []
        for sign in (1, -1):
            shared = TRUE.copy()
            shared[j] += sign * 1e-6
            ends.append(gaps(of, shared, outline, WALL)[0])
        np.testing.assert_allclose(by[:, j], (ends[0] - ends[1]) / 2e-6, atol=1e-8)


def test_precision_is_that_of_a_level_that_is_not_known():
    """Against a level with a variance far above all else, and one deviation of the outline for each angle."""
    of = replace(episodes(3, 1), trust=np.tile([1.0, 0.2, 0.7], 15))
    of = weighed(of, 4e-5, 3e-4)
    for (_, here), P in zip(of.slices, of.precision, strict=True):
        theta, n = of.poses[here, 2], here.stop - here.start
        # a walk from the least angle on
        walk = 3e-4**2 * np.minimum(theta[:, None] - theta.min(), theta - theta.min())
        Sigma = walk + np.diag(4e-5**2 / of.trust[here]) + 1.0
        np.testing.assert_allclose(P, np.linalg.inv(Sigma), rtol=1e-5, atol=1e-5 * np.abs(P).max())
        np.testing.assert_allclose(P @ np.ones(n), 0, atol=1e-6 * np.abs(P).max())


def test_what_is_added_is_half_the_derivative_of_the_cost():
    of, shared = episodes(3, 2), TRUE * 1.01
    here = added(of, shared, SQUARE, WALL, 4)
    for j in (1, 2, 4, 6, 8):
        ends = []
        for sign in (1, -1):
            new = shared.copy()
            new[j] += sign * 1e-6
            ends.append(added(of, new, SQUARE, WALL, 4))
        np.testing.assert_allclose(
            here.gradient[:, j], (ends[0].cost - ends[1].cost) / 4e-6, rtol=1e-4, atol=1e-6
        )
    assert (here.cost[:3] > 0).all()
    assert here.cost[3] == 0
    assert not here.normal[:, HEIGHT].any()


def test_components_and_the_radius_come_back():
    """60 episodes of 15 frames: 800 differences tell sigma to 3 %, and 60 walks over some 0.5 rad q to some 10 %."""
    of, known = episodes(60, 3), np.diag(np.full(S, 1e14))
    known[1, 1], known[HEIGHT, HEIGHT] = 1e-2, 0.0
    shared = TRUE.copy()
    for _ in range(12):
        of = reweighed(of, shared, SQUARE, WALL, known, np.zeros(S))
        here = added(of, shared, SQUARE, WALL, 60)
        shared[1] -= here.gradient.sum(axis=0)[1] / here.normal.sum(axis=0)[1, 1]
    assert of.noise == pytest.approx(4e-5, rel=0.15)
    assert of.unevenness == pytest.approx(3e-4, rel=0.3)
    std = here.normal.sum(axis=0)[1, 1] ** -0.5
    assert 5e-5 < std < 3e-4
    assert abs(shared[1] - TRUE[1]) < 3 * std


def test_radii_are_as_far_off_as_they_say():
    """Normalized errors of 40 sets of episodes, components known: chi-square of 40, within its 0.1 % on both sides."""
    scores = []
    for seed in range(40):
        of = weighed(episodes(8, 100 + seed), 4e-5, 3e-4)
        here = added(of, TRUE, SQUARE, WALL, 8)
        g, H = here.gradient.sum(axis=0)[1], here.normal.sum(axis=0)[1, 1]
        scores.append(g * g / H)
    assert 16.9 < np.sum(scores) < 73.4


def test_a_frame_in_the_air_says_nothing():
    of = episodes(20, 4)
    poses = of.poses.copy()
    poses[7, 1] += 5e-3
    known = np.diag(np.where(np.arange(S) == HEIGHT, 0.0, 1e14))
    off = replace(of, poses=poses)
    for _ in range(6):
        off = reweighed(off, TRUE, SQUARE, WALL, known, np.zeros(S))
    assert off.trust[7] < 0.01
    assert np.median(off.trust) > 0.8
    assert off.unevenness < 6e-4


def filmed(tilt, hold=40):
    """A fall of 20 frames onto a corner, then it leans, turning slowly, at most `tilt` from lying flat."""
    rng = np.random.default_rng(9)
    theta = np.linspace(tilt, tilt + 0.3, hold) - TRUE[4]
    leaning = touching(theta, np.full(hold, 0.1), np.zeros(hold, int), TRUE, SQUARE, floor())
    t = np.arange(-20, 0) / 250
    falling = np.tile(leaning[0], (20, 1))
    falling[:, 1] += 4.905 * t * t - 1.5 * t
    poses = np.vstack([falling, leaning]) + rng.normal(size=(20 + hold, 3)) * MODEL.noise
    return Drop("leaning", np.arange(20 + hold) / 250, poses)


def found_in(drop):
    parted = Segmented((drop,), (divided(drop, MODEL),), MODEL)
    return contact_frames(parted, TRUE, 5e-4, SQUARE, floor(), 9.81)


def test_a_leaning_body_is_found_and_a_falling_one_is_not():
    of = found_in(filmed(0.2))
    assert 25 < len(of) <= 40
    assert (of.part == 0).all()
    assert of.times.min() > 19 / 250


def test_a_body_that_lies_is_left_out():
    of = found_in(filmed(0.0))
    tilt = of.poses[:, 2] + TRUE[4]
    # 3 of the tracker's noise
    assert len(of) > 10
    assert tilt.min() > TILT - 3 * MODEL.noise[2]


def test_what_is_taken_does_not_depend_on_the_radius():
    drop = filmed(0.1)
    parted = Segmented((drop,), (divided(drop, MODEL),), MODEL)
    for radius in (0.0, 1e-2):
        other = np.where(np.arange(S) == SHARED.index("corner_radius"), radius, TRUE)
        of = contact_frames(parted, other, 5e-4, SQUARE, floor(), 9.81)
        np.testing.assert_array_equal(of.times, found_in(drop).times)


def test_too_few_frames_are_no_contact():
    drop = filmed(0.2)
    assert len(found_in(replace(drop, times=drop.times[:5], poses=drop.poses[:5]))) == 0


def test_without_them_the_result_is_that_of_impacts_alone(fit, rocking_fit):
    said = without_contacts(rocking_fit)
    # tolerances end at 2 % of themselves
    assert said.inertia_to_mass == pytest.approx(fit.inertia_to_mass, abs=0.1 * fit.inertia_to_mass_std)
    assert said.corner_radius == pytest.approx(fit.value("corner_radius"), abs=0.1 * fit.std("corner_radius"))
    assert np.isnan(without_contacts(fit).apart)


def test_both_sources_of_the_radius_are_told(fit, rocking_fit):
    """The frames were made with the radius that impacts find, so they agree; all together know it better."""
    said = without_contacts(rocking_fit)
    assert abs(said.contact_radius - fit.value("corner_radius")) < 3 * said.contact_radius_std
    assert abs(said.apart) < 3
    found = rocking_fit.solved
    _, H = theta_step(found.by, rocking_fit.shared, found.free, found.prior)
    _, H_o = theta_step(fit.solved.by, fit.shared, found.free, found.prior)
    known, before = (inverse_of(one, found.free)[1, 1] for one in (H, H_o))
    assert 1 / known == pytest.approx(1 / before + said.contact_radius_std**-2, rel=0.1)


def test_a_drop_that_rocks_counts_in_a_half(rocking_fit, fit):
    """With frames in eight of sixteen drops, dropping one of these moves the radius otherwise than without them."""
    counts = np.ones((1, fit.solved.chain.drops))
    counts[0, 2] = 0
    assert len(np.unique(rocking_fit.contacts.drop)) == 8
    step, before = moved(rocking_fit, counts)[0] - rocking_fit.shared, moved(fit, counts)[0] - fit.shared
    assert abs(step[1] - before[1]) > 1e-7
