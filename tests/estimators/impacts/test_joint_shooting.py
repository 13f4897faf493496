"""Drops that are simulated together, of a rod thrown by a slow reference."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.accuracy import Accuracy
from poinsot.estimate.motions import motions_of
from poinsot.estimators.impacts.drop import DropFit, fitted_drops, shooting_of
from poinsot.estimators.impacts.method import MOST_SIMULATED, ImpactIdentification
from poinsot.estimators.impacts.pooled import PooledFit
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.estimators.impacts.shooting import GEOMETRY
from poinsot.exceptions import InvalidMethod
from poinsot.models.planar import Wall, rectangle
from poinsot.models.planar.drop import Drop
from references.corner_throws import slow_throw

LENGTH, WIDTH, FRICTION, RESTITUTION = 0.16, 0.02, 0.25, 0.6
INERTIA = (LENGTH**2 + WIDTH**2) / 12
SHAPE = rectangle(LENGTH, WIDTH)
CORNERS = 0.5 * np.array([[-LENGTH, -WIDTH], [LENGTH, -WIDTH], [LENGTH, WIDTH], [-LENGTH, WIDTH]])
WALLS = [(0.0, 0.0, 0.1), (0.45, 0.0, np.pi / 2)]
NOISE = np.array([3e-4, 3e-4, 3e-3])
TIMES = np.arange(110) / 240
EXACT = Accuracy(exact=True)


def thrown(seed: int, law: str = "poisson", restitution: float = RESTITUTION, walls=WALLS) -> Drop:
    rng = np.random.default_rng(seed)
    pose = np.array([rng.uniform(-0.1, 0.1), rng.uniform(0.15, 0.25), rng.uniform(-3, 3)])
    velocity = np.array([rng.uniform(0.5, 2.5), rng.uniform(-2.0, -0.5), rng.uniform(-12, 12)])
    poses = slow_throw(CORNERS, walls, INERTIA, FRICTION, restitution, law, pose, velocity, TIMES)
    noisy = poses + NOISE * rng.standard_normal(poses.shape)
    return Drop(f"throw {seed}", TIMES[: len(poses)], noisy)


@pytest.fixture(scope="module")
def drops() -> list[Drop]:
    return [thrown(seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def walls() -> list[Wall]:
    return [Wall(*wall) for wall in WALLS]


@pytest.fixture(scope="module")
def together(drops, walls) -> DropFit:
    stds = np.array([0.005, 0.0175, 0.005, 0.005])
    return fitted_drops(drops, SHAPE, walls, geometry=np.zeros(4), geometry_std=stds)


def test_values_and_law_are_those_of_the_reference_on_two_walls(together):
    std = np.sqrt(np.diag(together.posterior.covariance))
    assert not together.findings and together.law == "poisson"
    assert together.inertia_to_mass == pytest.approx(INERTIA, rel=4 * std[6]) and std[6] < 0.02
    assert together.friction == pytest.approx(FRICTION, abs=4 * std[7]) and std[7] < 0.02
    assert together.restitution == pytest.approx(RESTITUTION, abs=4 * std[8]) and std[8] < 0.02
    at = together.shooting.of_geometry
    assert (np.abs(together.theta[at]) < 4 * std[at]).all()
    others = [value for law, value in together.likelihoods.items() if law != "poisson"]
    assert together.likelihoods["poisson"] > max(others) + 3


def test_the_jacobian_is_that_of_finite_differences(together):
    shooting, theta = together.shooting, together.theta
    e = shooting.residuals(theta)
    J = shooting.jacobian(theta, e)
    for k, scale in enumerate(shooting.scale()):
        step = np.zeros(len(theta))
        step[k] = 1e-7 * scale
        slope = (shooting.residuals(theta + step) - shooting.residuals(theta - step)) / (2e-7 * scale)
        assert np.linalg.norm(J[:, k] - slope) < 5e-3 * np.linalg.norm(slope)


def test_each_drop_has_its_own_state_and_all_else_in_common(together, drops):
    shooting = together.shooting
    e = shooting.residuals(together.theta)
    assert len(e) == sum(one.poses.size for one, _ in shooting.each(together.theta)) == shooting.readings.size
    (first, own), (second, other), _ = shooting.each(together.theta)
    np.testing.assert_array_equal(own[6:], other[6:])
    assert np.abs(own[:3] - first.poses[0]).max() < 0.02 and np.abs(other[:3] - second.poses[0]).max() < 0.02
    alone = shooting_of(
        drops[1:2], *(getattr(shooting, name) for name in ("noise", "shape", "walls")), shooting.drag
    )
    assert type(alone) is not type(shooting)


def test_an_estimate_has_a_motion_of_each_drop_and_its_certificate(drops, walls):
    problem = ImpactsProblem(tuple(drops), SHAPE, tuple(walls), accuracy=EXACT)
    estimate = ImpactIdentification(restitution="poisson").solve(problem)
    assert estimate.names == ("J/m", "friction", "restitution")  # geometry is exact
    assert [motion.name for motion in motions_of(estimate)] == [drop.name for drop in drops]
    assert estimate.fit is not None and len(estimate.fit.time) == sum(len(drop.times) for drop in drops)
    certificate = estimate.certificate()
    assert certificate.feasible and certificate.stationarity < certificate.tolerance
    wrong = replace(estimate, parameters=replace(estimate.parameters, values=estimate.values * [1.02, 1, 1]))
    assert not wrong.certificate().feasible


def test_drops_that_no_motion_explains_are_pooled(walls):
    """Restitution differs from drop to drop."""
    differing = [thrown(seed, "newton", e, WALLS[:1]) for seed, e in ((1, 0.3), (2, 0.5), (3, 0.7), (4, 0.4))]
    problem = ImpactsProblem(tuple(differing), SHAPE, tuple(walls[:1]))
    assert isinstance(ImpactIdentification(restitution="newton").fit(problem), PooledFit)


def test_drops_that_obey_a_law_on_one_wall_are_simulated():
    drops = tuple(thrown(seed, "newton", walls=WALLS[:1]) for seed in (1, 2, 3))
    fit = ImpactIdentification().fit(ImpactsProblem(drops, SHAPE, (Wall(*WALLS[0]),)))
    assert isinstance(fit, DropFit) and fit.law == "newton"
    assert fit.inertia_to_mass == pytest.approx(INERTIA, rel=0.01)


def test_many_drops_on_several_walls_are_refused(drops, walls):
    many = tuple(replace(drops[0], name=f"{k}") for k in range(MOST_SIMULATED + 1))
    with pytest.raises(InvalidMethod, match=f"at most {MOST_SIMULATED} together"):
        ImpactIdentification().fit(ImpactsProblem(many, SHAPE, tuple(walls)))
    assert len(GEOMETRY) == 4
