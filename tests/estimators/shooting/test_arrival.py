"""Matrices that see only a part of the space: null spaces, units, bounds."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.toys import tumbling_problem
from poinsot.estimators.shooting.arrival import SemidefiniteFactor, factorize_arrival
from poinsot.estimators.shooting.direction import ShootingIterate, ShootingSearch
from poinsot.estimators.shooting.problem import GaussianPrior
from poinsot.estimators.shooting.riccati import Quadratic
from poinsot.estimators.shooting.rollout import evaluate


@pytest.fixture
def blind(rng):
    """M (6, 6) of rank 4 in units from 1e-4 to 1e4, and b in its range."""
    units = 10.0 ** np.array([-4.0, 0.0, 4.0, 1.0, -2.0, 2.0])
    J = rng.standard_normal((9, 4)) @ rng.standard_normal((4, 6)) * units
    return J.T @ J, J.T @ rng.standard_normal(9)


def test_solutions_are_orthogonal_to_the_null_space(blind):
    M, b = blind
    seen = SemidefiniteFactor.of(M, np.diag(M))
    d = np.sqrt(np.diag(M))
    assert seen.null.shape == (6, 2)
    np.testing.assert_allclose(seen.null.T @ seen.null, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(M @ seen.null / np.outer(d, d[:2]), 0, atol=1e-9)
    for z in (seen.solve(b), seen.solve_indefinite(b)):
        np.testing.assert_allclose((M @ z - b) / d, 0, atol=1e-8)
        np.testing.assert_allclose(seen.null.T @ z, 0, atol=1e-9 * np.abs(z).max())
    half = seen.inverse
    np.testing.assert_allclose((M @ half @ M - M) / np.outer(d, d), 0, atol=1e-8)
    np.testing.assert_allclose(half @ seen.null, 0, atol=1e-9 * np.abs(half).max())


def test_a_bound_that_binds(rng):
    """Stationary on the sphere: M z + b + lambda z / scale^2 = 0 but for the null space, lambda > 0."""
    J = rng.standard_normal((9, 4)) @ rng.standard_normal((4, 6))
    M, b, scale = J.T @ J, J.T @ rng.standard_normal(9), rng.uniform(0.5, 2.0, 6)
    seen = SemidefiniteFactor.of(M, np.diag(M))
    radius = 0.3 * np.linalg.norm(seen.solve(b) / scale)
    z = seen.bounded(b, scale, radius)
    assert np.linalg.norm(z / scale) == pytest.approx(radius, rel=1e-5)
    np.testing.assert_allclose(seen.null.T @ z, 0, atol=1e-12)
    Y = np.linalg.qr(seen.null, mode="complete")[0][:, 2:]
    gradient, normal = Y.T @ (M @ z + b), Y.T @ (z / scale**2)
    shift = -(gradient @ normal) / (normal @ normal)
    assert shift > 0
    np.testing.assert_allclose(gradient + shift * normal, 0, atol=1e-5)


def test_the_trust_region_bounds_theta_alone(rng):
    """Arrival states and noise are optimal for the theta that is left: those of a prior that holds theta there."""
    problem, guess, _ = tumbling_problem(rng, N=12, known=True)
    now = evaluate(problem, guess)
    free = ShootingIterate(ShootingSearch(problem), now).direction()
    radius = 0.3 * np.linalg.norm(free.step.theta)
    bound = ShootingIterate(ShootingSearch(problem, radius=radius), now).direction()
    assert np.linalg.norm(bound.step.theta) == pytest.approx(radius, rel=1e-5)
    assert bound.predicted(1.0) < free.predicted(1.0)
    there = GaussianPrior(now.at.theta + bound.step.theta, 1e9 * np.eye(3))
    held = ShootingIterate(ShootingSearch(replace(problem, prior=there)), now).direction()
    np.testing.assert_allclose(held.step.theta, bound.step.theta, atol=1e-5)
    np.testing.assert_allclose(bound.step.x[0], held.step.x[0], atol=1e-4)
    np.testing.assert_allclose(bound.step.w[0], held.step.w[0], atol=1e-4)
    scaled = replace(problem, scale=np.full(3, 1e3))
    same = ShootingIterate(ShootingSearch(scaled, radius=radius), now).direction()
    np.testing.assert_allclose(same.step.theta, free.step.theta, rtol=1e-9)


def test_parameters_that_hardly_count_are_unseen():
    """Far out in a chart all is flat: no information, information that underflows, and a deviation of 1e10."""
    information = np.array([4.0, 0.0, 1e-250, 1e-20])
    V = Quadratic(
        np.eye(1), np.zeros((1, 4)), np.diag(information), np.ones(1), np.array([1.0, 0.0, 0.0, 1e-20])
    )
    none = np.zeros((4, 4)), np.zeros(4)
    met = factorize_arrival([V], *none, natural=np.ones(4))
    assert met.schur.null.shape == (4, 3)
    np.testing.assert_allclose(met.solve().theta, [-0.25, 0, 0, 0])
    assert factorize_arrival([V], *none).schur.null.shape == (
        4,
        2,
    )  # without natural changes, a small unit may explain it
    # what is left of 1 after subtracting 1 - 1e-17 is rounding
    rounded = factorize_arrival([V], *none, size_t=np.array([4.0, 1.0, 1.0, 1.0]))
    assert rounded.schur.null.shape == (4, 3)
