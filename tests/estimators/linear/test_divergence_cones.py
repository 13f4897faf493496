"""Divergences in cone programs are those of `inertia`, and their models have the right slopes."""

import numpy as np
import pytest

from poinsot.estimators.linear.conic import VIOLATION, matrix_of, vector_of
from poinsot.estimators.linear.divergence_cones import (
    MIN_CURVATURE,
    EntropicTerm,
    QuadraticTerm,
    _curvature,
    physical,
)
from poinsot.estimators.linear.whitening import Whitened
from poinsot.inertia.divergence import AffineInvariant, Entropic, Euclidean
from poinsot.inertia.parameters import from_pseudo_inertia, pseudo_inertia

SIZES = np.array([2.0, 0.3])
WEIGHT = np.array([0.7, 0.2])
NAMES = ("upper", "lower")


def random_bodies(rng, count=2):
    factors = rng.standard_normal((count, 4, 4))
    return from_pseudo_inertia(factors @ np.swapaxes(factors, 1, 2) + 0.1 * np.eye(4))


@pytest.fixture
def coordinates(rng):
    return Whitened(random_bodies(rng), SIZES)


def random_x(rng, coordinates):
    """Other bodies than the prior, and others' values."""
    theta = np.concatenate([random_bodies(rng).ravel(), rng.standard_normal(2)])
    return np.linalg.solve(coordinates.T, theta)


def test_prior_is_the_identity_in_whitened_coordinates(coordinates):
    theta = coordinates.T @ coordinates.center
    np.testing.assert_allclose(theta[:20].reshape(2, 10), coordinates.prior, atol=1e-12)
    for body, pi in zip(coordinates.bodies, coordinates.prior, strict=True):
        x = np.linalg.solve(coordinates.T, np.concatenate([pi, np.zeros(12)]))[body.start : body.start + 10]
        L = np.linalg.cholesky(pseudo_inertia(coordinates.prior[0]))
        np.testing.assert_allclose(L @ matrix_of(x) @ L.T, pseudo_inertia(pi), atol=1e-12)
        break


@pytest.mark.parametrize(
    "divergence", [Entropic(), Euclidean(), AffineInvariant()], ids=lambda it: type(it).__name__
)
def test_terms_are_the_divergences_of_bodies(rng, coordinates, divergence):
    x = random_x(rng, coordinates)
    pi = (coordinates.T @ x)[:20].reshape(2, 10)
    others = (coordinates.T @ x)[20:] / SIZES
    expected = np.sum(divergence.between(pi, coordinates.prior)) + 0.5 * np.sum(WEIGHT * others**2)
    entropic = isinstance(divergence, Entropic)
    term = (
        EntropicTerm(coordinates, WEIGHT)
        if entropic
        else QuadraticTerm(coordinates, WEIGHT, divergence, NAMES)
    )
    np.testing.assert_allclose(term.value(x), expected, rtol=1e-9)
    program = term.program(x)
    np.testing.assert_allclose(program.cost(term.augmented(x)), expected, rtol=1e-9)
    for each in program.memberships:  # on their border, to rounding
        assert VIOLATION[each.cone](each.F @ term.augmented(x) + each.g) < 1e-9


def test_log_det_cannot_be_had_for_less(rng, coordinates):
    """With X fixed the auxiliaries' optimum is log det X: the program's optimum over x alone is the prior."""
    optimum = EntropicTerm(coordinates, WEIGHT).program(coordinates.center).solve()
    np.testing.assert_allclose(optimum.x[: len(coordinates.center)], coordinates.center, atol=1e-4)


@pytest.mark.parametrize("divergence", [Euclidean(), AffineInvariant()], ids=lambda it: type(it).__name__)
def test_models_have_the_slope_of_their_divergence(rng, coordinates, divergence):
    x, dx = random_x(rng, coordinates), rng.standard_normal(22)
    term = QuadraticTerm(coordinates, WEIGHT, divergence, NAMES)
    program = term.program(x)
    h = 1e-6
    slope = (term.value(x + h * dx) - term.value(x - h * dx)) / (2 * h)
    np.testing.assert_allclose((program.P @ x + program.q) @ dx, slope, rtol=1e-5)
    if term.divergence.convex:
        np.testing.assert_allclose(program.cost(x + dx), term.value(x + dx), rtol=1e-9)


def test_curvature_is_that_of_log_squared_where_it_is_convex(rng):
    X = np.eye(4) + 0.1 * np.cov(rng.standard_normal((4, 20)))

    def f(s):
        return np.sum(np.log(np.linalg.eigvalsh(matrix_of(s))) ** 2)

    s, h = vector_of(X), 1e-4
    steps = h * np.eye(10)
    H = np.array(
        [
            [(f(s + a + b) - f(s + a - b) - f(s - a + b) + f(s - a - b)) / (4 * h * h) for a in steps]
            for b in steps
        ]
    )
    np.testing.assert_allclose(_curvature(X), H, atol=2e-6)


def test_curvature_is_positive_where_log_squared_is_not_convex(rng):
    X = np.diag([20.0, 20.0, 0.01, 1.0])
    assert np.linalg.eigvalsh(_curvature(X))[0] > 0.99 * 2 * MIN_CURVATURE / 20**2


def test_a_body_at_its_prior_is_possible_and_one_without_mass_is_not(coordinates):
    members = physical(coordinates, NAMES)
    assert [each.name for each in members] == [
        "physical possibility of upper",
        "physical possibility of lower",
    ]
    assert VIOLATION[members[0].cone](members[0].F @ coordinates.center + members[0].g) == 0
    assert VIOLATION[members[0].cone](members[0].g) > 0
