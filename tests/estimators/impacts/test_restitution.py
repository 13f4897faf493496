"""Laws of restitution of pooled impacts: impulses that obey one of them, and drops whose impacts obey one."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate.motions import likely_law
from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.estimators.impacts.restitution import (
    AUTO,
    PooledImpulses,
    compared,
    fitted_laws,
    law_note,
    predicted_impulses,
)
from poinsot.models.planar import PlanarBody, floor, rectangle
from poinsot.models.planar.drop import Drop
from poinsot.models.planar.events import moved
from poinsot.models.planar.impulses import LAWS

INERTIA, FRICTION, RESTITUTION, NOISE = 2e-3, 0.3, 0.6, np.array([0.01, 0.01, 0.1])


def impulses(law, count=40, seed=0, sliding=False):
    """Of a body of 0.1 m that strikes a floor, with velocities that are known up to `NOISE`."""
    rng = np.random.default_rng(seed)
    lever = rng.uniform([-0.1, -0.1], [0.1, -0.02], (count, 2))
    N, T = (
        np.column_stack([np.tile(u, (count, 1)), lever[:, k] * (1, -1)[k]])
        for k, u in enumerate(np.eye(2)[::-1])
    )
    v = rng.uniform([-2, -3, -10], [2, -1, 10], (count, 3))
    if sliding:
        v[:, 0] = 20.0
    closing = np.sum(N * v, axis=1) < -0.3
    N, T, v = N[closing], T[closing], v[closing]
    c = predicted_impulses(N, T, INERTIA, v, FRICTION, RESTITUTION, LAWS.index(law))
    C = np.tile(np.diag(NOISE**2), (len(v), 1, 1))
    before, after = (NOISE * rng.standard_normal(v.shape) for _ in range(2))
    seen = c + (after - before)[:, [1, 0]]
    return PooledImpulses(N, T, INERTIA, v + before, seen, C, C, np.arange(len(v)) % 5)


@pytest.mark.parametrize("law", ["newton", "poisson", "energetic"])
def test_the_law_of_the_impulses_is_the_likeliest(law):
    fits = fitted_laws(impulses(law), compared(AUTO))
    assert len(fits) == 3 and fits[0].name == law == likely_law({fit.name: fit.likelihood for fit in fits})
    assert fits[0].friction == pytest.approx(FRICTION, abs=0.01)
    assert fits[0].restitution == pytest.approx(RESTITUTION, abs=0.02)
    # impacts scatter as their velocities do: s of 30 impacts is known to some 13 %
    assert fits[0].scale == pytest.approx(1, abs=0.4)


def test_impulses_that_slide_throughout_decide_nothing():
    fits = fitted_laws(impulses("poisson", sliding=True), compared(AUTO))
    likelihoods = {fit.name: fit.likelihood for fit in fits}
    assert np.ptp(list(likelihoods.values())) < 1e-3 and likely_law(likelihoods) is None
    assert law_note(likelihoods, fits[0].name).startswith("The laws of restitution explain the frames alike")


def test_impulses_of_other_drops_are_those_that_are_left():
    every = impulses("newton")
    rest = every.without(2, 3e-3)
    assert rest.inertia == 3e-3 and not (rest.drop == 2).any()
    assert len(rest.N) == len(rest.before_covariance) == (every.drop != 2).sum()
    (fit,) = fitted_laws(replace(every, inertia=INERTIA), compared("newton"))
    (other,) = (fit.refitted(every.without(2, INERTIA)),)
    assert other.scale == fit.scale and other.friction == pytest.approx(fit.friction, abs=0.02)


def test_distances_are_chi_square_at_the_truth():
    total = sum(
        impulses("energetic", seed=seed).distances(LAWS.index("energetic"), FRICTION, RESTITUTION)[0].mean()
        for seed in range(20)
    )
    # two components each, of some 600 impacts; kinks of the law add to the tails
    assert total / 20 == pytest.approx(2.0, abs=0.4)


ROD, ROD_INERTIA, ROD_NOISE = rectangle(0.2, 0.02), 3.4e-3, np.array([5e-4, 5e-4, 3e-3])


def rods(law, count):
    """Throws of a rod of at least two impacts, each cut before its fourth."""
    rng, drops = np.random.default_rng(1), []
    body, times = PlanarBody(ROD, 1.0, ROD_INERTIA, FRICTION, RESTITUTION, law=law), np.arange(180) / 240
    while len(drops) < count:
        pose = np.array([0.0, rng.uniform(0.2, 0.35), rng.uniform(-1.5, 1.5)])
        velocity = np.array([rng.uniform(-1.5, 1.5), rng.uniform(-2, -0.5), rng.uniform(-8, 8)])
        poses, _, impacts = moved(body, [floor()], pose, velocity, times)
        ends = np.searchsorted(times, impacts.times)
        if len(ends) < 3 or np.diff(ends[:4]).min() < 8:
            continue
        until = int(ends[3]) if len(ends) > 3 else len(times)
        noise = ROD_NOISE * rng.standard_normal((until, 3))
        drops.append(Drop(f"rod {len(drops)}", times[:until], poses[:until] + noise))
    return tuple(drops)


def test_the_law_of_pooled_drops_gives_their_friction_and_restitution():
    problem = ImpactsProblem(rods("energetic", 6), ROD, (floor(),))
    estimate = ImpactIdentification(held={"corner_radius": 0.0}).solve(problem)
    assert estimate.scene.restitution_law == "energetic" and len(estimate.scene.restitution_laws) == 3
    for name, truth in (("friction", FRICTION), ("restitution", RESTITUTION)):
        std = estimate.std[estimate.names.index(name)]
        assert abs(estimate[name] - truth) < 4 * std and std < 0.1 * truth
    assert estimate.certificate().holds
    values = estimate.values.copy()
    values[estimate.names.index("restitution")] += estimate.std[estimate.names.index("restitution")]
    assert not estimate.updated(values=values).certificate().holds
    assert any(note.startswith("The law of restitution is energetic") for note in estimate.notes)
