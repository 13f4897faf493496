"""What stands around a filter: published rates, bias, what the motion shows, and which link changed."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.online.test_filters import ARM, LINK, NOISE, own, samples_of
from poinsot.estimators.online.attribution import LinkBank
from poinsot.estimators.online.belief import Sample
from poinsot.estimators.online.filter import ExtendedKalmanFilter
from poinsot.estimators.online.problem import calibrate_bias
from poinsot.estimators.online.tracking import RateLimit, excitation
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.inertia.parameters import is_consistent
from poinsot.models.friction import NoFriction
from poinsot.models.robot.link_torques import LinkTorques
from references.robots import chain, random_inertia

TEN = chain("zyyzyyzyxz", [0, 0.1, 0.3, 0.1, 0.3, 0.1, 0.2, 0.1, 0.1, 0.1], friction=NoFriction(), mass=2.0)


# -- published ---------------------------------------------------------------------------------------------------


def test_published_mass_changes_no_faster_than_allowed_and_arrives(rng):
    start, target = (random_inertia(rng, mass=m).toDynamicParameters()[None] for m in (1.0, 8.0))
    published, masses = start, [start[0, 0]]
    for _ in range(4000):
        published = RateLimit(3.0).next(published, target, 0.003)
        assert is_consistent(published).all()
        masses.append(published[0, 0])
    assert np.abs(np.diff(masses)).max() <= 3.0 * 0.003 * (1 + 1e-9)
    np.testing.assert_allclose(published, target)


def test_every_rate_is_kept(rng):
    start, target = (random_inertia(rng, mass=m).toDynamicParameters()[None] for m in (1.0, 8.0))
    step = RateLimit(None, 0.1, 0.05).next(start, target, 0.01) - start
    assert np.abs(step[0, 1:4]).max() <= 0.001 * (1 + 1e-9)
    assert np.abs(step[0, 4:]).max() <= 0.0005 * (1 + 1e-9)
    np.testing.assert_allclose(RateLimit(None).next(start, target, 0.01), target, rtol=1e-14)
    np.testing.assert_array_equal(RateLimit().next(start, np.full((1, 10), np.nan), 0.01), start)
    with pytest.raises(InvalidMethod, match="rate of mass"):
        RateLimit(0.0)


# -- bias --------------------------------------------------------------------------------------------------------


def test_bias_of_a_window_is_found_with_the_noise_about_it(rng):
    torques, bias = LinkTorques(ARM, LINK), np.array([1.0, -2.0, 0.5])
    window = [replace(s, tau=s.tau + bias) for s in samples_of(torques, own(torques), rng, 500)]
    window[3] = replace(window[3], tau=np.full(3, np.nan))
    found = calibrate_bias(torques, window)
    assert found.samples == 499
    np.testing.assert_allclose(found.value, bias, atol=5 * NOISE / np.sqrt(500))
    np.testing.assert_allclose(found.std, NOISE, rtol=0.15)
    with pytest.raises(NotIdentifiable, match="two finite samples"):
        calibrate_bias(torques, window[3:4])


def test_a_bias_in_the_state_cannot_be_told_from_what_looks_like_one(rng):
    """Standing still, every parameter looks like a bias; moving, only what never shows as anything else."""
    torques = LinkTorques(ARM, LINK)
    still = list(samples_of(torques, own(torques), rng, 30, still=True))
    moving = list(samples_of(torques, own(torques), rng, 30))
    missing = [
        13
        - np.linalg.matrix_rank(
            np.concatenate([np.hstack([torques(s.q, s.v, s.a)[0], np.eye(3)]) for s in run])
        )
        for run in (still, moving)
    ]
    assert missing[0] == 10 > missing[1]


@pytest.mark.parametrize("links", [(9,), (0,), (2, 9), (0, 1, 2)], ids=str)
def test_with_a_bias_in_the_state_the_observability_matrix_lacks_ranks(rng, links):
    """Of any links as many as they have parameters, at every sample and at rest (Foster et al. 2024, Sect. IV-B).

    x = (pi, bias) does not change, so the observability matrix is the stack of the samples' [Y 1]. One sample has rank
    n. Motion gives ranks back, all of them for links behind three joints; on the first joint gravity never shows.
    """
    torques = LinkTorques(TEN, tuple(TEN.bodies[k] for k in links))
    size, n = 10 * len(links), TEN.model.nv
    missing = {}
    for still in (True, False):
        states = list(samples_of(torques, own(torques), rng, 60, still=still))
        stacked = np.concatenate([np.hstack([torques(s.q, s.v, s.a)[0], np.eye(n)]) for s in states])
        missing[still] = size + n - np.linalg.matrix_rank(stacked)
    assert missing[True] == size
    assert missing[False] < size
    assert (missing[False] == 0) == (0 not in links)


# -- what the motion shows ---------------------------------------------------------------------------------------


def test_standing_still_shows_first_moments_and_moving_shows_inertia(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = ExtendedKalmanFilter(torques, NOISE, gate=None)

    def seen(still):
        run = list(filter_.run(samples_of(torques, own(torques), rng, 600, still=still)))
        (found,) = excitation(filter_, run[-1][0])
        return found

    resting, moving = seen(True), seen(False)
    assert not resting.inertia.any()
    assert moving.mass
    assert moving.inertia[1]  # the joint's own axis is y
    assert moving.mass_std < resting.mass_std
    assert "not known" in str(resting) or "not at all" in str(resting)


def test_what_was_seen_is_forgotten(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = ExtendedKalmanFilter(torques, NOISE, gate=None, memory_s=0.5)
    belief = list(filter_.run(samples_of(torques, own(torques), rng, 300)))[-1][0]
    (fresh,) = excitation(filter_, belief)
    (later,) = excitation(filter_, filter_.predict(belief, belief.time + 10))
    assert later.mass_std > 10 * fresh.mass_std


def test_adaptive_drift_follows_a_step_that_was_not_expected(rng):
    torques = LinkTorques(ARM, LINK)
    samples = [
        *samples_of(torques, own(torques), rng, 300),
        *(replace(s, time=s.time + 1) for s in samples_of(torques, 1.5 * own(torques), rng, 100)),
    ]
    errors = {}
    for adaptive in (False, True):
        filter_ = ExtendedKalmanFilter(torques, NOISE, drift=0.005, gate=None, adaptive=adaptive)
        belief = list(filter_.run(samples))[-1][0]
        errors[adaptive] = abs(filter_.inertial(belief.x)[0, 0] / (1.5 * own(torques)[0, 0]) - 1)
    assert errors[True] < 0.5 * errors[False]


# -- which link --------------------------------------------------------------------------------------------------


def loaded_motion(robot, link, load, rng, seconds=3.0, rate=100.0, noise=1.0):
    """Sines in every joint, with a load on one link from the beginning; None: nothing is loaded."""
    torques = LinkTorques(robot, robot.bodies)
    pi = robot.inertials.copy()
    if link is not None:
        c = pi[link, 1:4] / pi[link, 0] + 0.05 * rng.standard_normal(3)
        I = load * ((c @ c + 0.001) * np.eye(3) - np.outer(c, c))  # a ball of 5 cm
        pi[link] += [load, *(load * c), *I[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    n = robot.model.nv
    f, phase = rng.uniform(0.2, 0.6, n), rng.uniform(0, 6.3, n)
    amplitude, middle = rng.uniform(0.2, 0.5, n), rng.uniform(-1, 1, n)
    w = 2 * np.pi * f
    for t in np.arange(1, seconds * rate) / rate:
        s, c = np.sin(w * t + phase), np.cos(w * t + phase)
        q, v, a = middle + amplitude * s, amplitude * w * c, -amplitude * w**2 * s
        Y, tau = torques(q, v, a)
        yield Sample(t, q, v, a, Y @ pi.ravel() + tau + noise * rng.standard_normal(n))


@pytest.mark.parametrize("link", [2, 5, 9])
def test_a_load_is_found_on_the_link_that_carries_it(link):
    rng = np.random.default_rng(link)
    bank = LinkBank(TEN, TEN.bodies, 1.0)
    suspicion = bank.init()
    for sample in loaded_motion(TEN, link, 3.0, rng):
        suspicion, _ = bank.step(suspicion, sample)
    found, probability = bank.most_probable(suspicion)
    assert (found, probability > 0.95) == (TEN.bodies[link], True)
    assert suspicion.probabilities.sum() == pytest.approx(1)


def test_nothing_is_suspected_where_nothing_changed():
    bank = LinkBank(TEN, TEN.bodies[2:6], 1.0)
    suspicion = bank.init()
    for sample in loaded_motion(TEN, None, 0.0, np.random.default_rng(1)):
        suspicion, _ = bank.step(suspicion, sample)
    assert bank.most_probable(suspicion)[0] is None


def test_a_bank_of_one_is_refused():
    with pytest.raises(InvalidMethod, match="two candidate links"):
        LinkBank(TEN, TEN.bodies[:1], 1.0)
