"""Laws of every divergence; then each against matrix functions that know nothing of its algebra."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, strategies as st

from inertia.families import (
    EPS,
    each_chart,
    each_divergence,
    ellipsoids,
    from_factor,
    placements,
    richardson,
    thetas,
    vectors,
)
from poinsot.exceptions import ImpossibleBody
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.divergence import AffineInvariant, Entropic, Euclidean, metric
from poinsot.inertia.parameters import change_frame, from_pseudo_inertia, pseudo_inertia

CHART = LogCholesky()
INVARIANT = (Entropic(), AffineInvariant())
each_invariant = pytest.mark.parametrize("divergence", INVARIANT, ids=lambda it: type(it).__name__)

# At size 1 |U| |U^-1| stays below 3e2, so the eigenvalues of J spread over at most 1e5; those of J0^-1 J, and with them
# the value, are then good to 100 EPS * 1e5 = 2e-9 of the largest.
bodies = thetas(size=1.0).map(from_factor)
CLOSE = 2e-9


def same(found, expected):
    """Batched matrix products and single ones round differently."""
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def spread(pi, reference):
    return np.linalg.eigvals(np.linalg.solve(pseudo_inertia(reference), pseudo_inertia(pi))).real.max()


# ------------------------------------------------------------------------------------------------ every divergence


@each_divergence
@given(pi=bodies, other=bodies)
def test_zero_between_the_same_bodies_and_positive_between_others(divergence, pi, other):
    assert divergence.between(pi, pi) == 0
    assert not divergence.gradient(pi, pi).any()
    # below 1e-150 the square of a difference is zero
    assert (divergence.between(pi, other) > 0) or np.abs(pi - other).max() < 1e-150


@each_divergence
@given(pi=bodies, reference=bodies)
def test_gradient_is_the_derivative(divergence, pi, reference):
    D = CHART.jacobian(CHART.from_inertial(pi))
    found = richardson(lambda x: divergence.between(pi + x @ D.T, reference), np.zeros(10), 1e-3)
    exact = divergence.gradient(pi, reference) @ D
    # A step along a column of the Jacobian changes lambda by a part in a thousand, whatever the body's size: a
    # fourth-order difference leaves 1e-11 of the value's size; rounding leaves CLOSE / 1e-3 of 1e-3 times the slope.
    size = 1 + np.abs(exact).max() + divergence.between(pi, reference) + spread(pi, reference)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-7 * size)


@each_chart
@each_divergence
@given(theta=thetas(size=1.0), reference=bodies)
def test_gradient_in_a_chart_is_the_derivative(chart, divergence, theta, reference):
    pi = chart.to_inertial(theta)
    value, gradient = (
        divergence.between(pi, reference),
        chart.jacobian(theta).T @ divergence.gradient(pi, reference),
    )
    found = richardson(lambda x: divergence.between(chart.to_inertial(x), reference), theta, 1e-3)
    size = 1 + np.abs(gradient).max() + value + spread(chart.to_inertial(theta), reference)
    np.testing.assert_allclose(found, gradient, rtol=0, atol=1e-7 * size)


@each_divergence
def test_batches_are_the_same_one_by_one(divergence, rng):
    pi, reference = (CHART.to_inertial(rng.normal(size=(3, 4, 10))) for _ in range(2))
    values, gradients = divergence.between(pi, reference), divergence.gradient(pi, reference)
    assert values.shape == (3, 4) and gradients.shape == (3, 4, 10)
    for k in np.ndindex(3, 4):
        same(values[k], divergence.between(pi[k], reference[k]))
        same(gradients[k], divergence.gradient(pi[k], reference[k]))
    one = pi[0, 0], reference[0, 0]
    same(divergence.between(pi, one[1])[2, 3], divergence.between(pi[2, 3], one[1]))
    same(divergence.between(one[0], reference)[2, 3], divergence.between(one[0], reference[2, 3]))


@pytest.mark.parametrize("divergence", [Euclidean(), Entropic()], ids=lambda it: type(it).__name__)
@given(one=bodies, other=bodies, reference=bodies, share=st.floats(0, 1))
def test_convex_where_it_says_so(divergence, one, other, reference, share):
    below = divergence.between(share * one + (1 - share) * other, reference)
    assert divergence.convex
    chord = share * divergence.between(one, reference) + (1 - share) * divergence.between(other, reference)
    assert below <= chord + CLOSE * (1 + chord)


def test_affine_invariant_is_not_convex():
    assert not AffineInvariant.convex
    reference = CHART.to_inertial(np.zeros(10))
    at = [AffineInvariant().between(scale * reference, reference) for scale in (10, 55, 100)]
    assert at[1] > (at[0] + at[2]) / 2


# ---------------------------------------------------------------------------------------------- invariance, distances


@each_invariant
@given(pi=bodies, reference=bodies, A=vectors(1, 16).map(lambda a: a.reshape(4, 4)))
def test_no_affine_map_changes_it(divergence, pi, reference, A):
    A = 3 * np.eye(4) + 0.5 * A  # condition at most (3 + 2) / (3 - 2)
    moved = [from_pseudo_inertia(A @ pseudo_inertia(each) @ A.T) for each in (pi, reference)]
    expected = divergence.between(pi, reference)
    tolerance = 25 * CLOSE * (1 + expected + spread(pi, reference))
    assert divergence.between(*moved) == pytest.approx(expected, rel=0, abs=tolerance)


@each_invariant
@given(solid=ellipsoids(shapes=("sphere", "brick"), offset=1.0), dtheta=thetas(size=0.3), T_ab=placements())
def test_no_frame_and_no_unit_changes_it(divergence, solid, dtheta, T_ab):
    theta = CHART.from_inertial(solid.pi)
    size = np.linalg.norm(solid.semi_axes)
    pi = CHART.to_inertial(theta + dtheta * np.array([*4 * (1.0,), *6 * (size,)]))
    expected = divergence.between(pi, solid.pi)
    T_ab = T_ab.copy()
    T_ab[:3, 3] *= size
    moved = divergence.between(change_frame(T_ab, pi), change_frame(T_ab, solid.pi))
    in_grams_and_millimetres = np.array([1e3, *3 * (1e6,), *6 * (1e9,)])
    rescaled = divergence.between(in_grams_and_millimetres * pi, in_grams_and_millimetres * solid.pi)
    # a brick's second moments are 1e-2 of tr I, and a frame one size away makes that 1e-3: a loss of 1e4 at most
    assert moved == pytest.approx(expected, rel=0, abs=1e5 * 100 * EPS)
    assert rescaled == pytest.approx(expected, rel=0, abs=1e5 * 100 * EPS)


@pytest.mark.parametrize("divergence", [Euclidean(), AffineInvariant()], ids=lambda it: type(it).__name__)
@given(a=bodies, b=bodies, c=bodies)
def test_roots_of_two_are_distances(divergence, a, b, c):
    ab, ba = (np.sqrt(divergence.between(*pair)) for pair in ((a, b), (b, a)))
    ac, bc = (np.sqrt(divergence.between(*pair)) for pair in ((a, c), (b, c)))
    slack = 1e-6 * (1 + ab + bc)  # lambda as small as 1e-5 is good to CLOSE / 1e-5, and so is its logarithm
    assert abs(ab - ba) <= slack
    assert ac <= ab + bc + slack


@given(pi=bodies, reference=bodies)
def test_values_are_those_of_matrix_functions(pi, reference):
    J, J0 = pseudo_inertia(pi), pseudo_inertia(reference)
    assert Euclidean().between(pi, reference) == pytest.approx(np.linalg.norm(J - J0) ** 2, rel=1e-12)
    entropic = np.trace(np.linalg.solve(J0, J)) - 4 - np.linalg.slogdet(J)[1] + np.linalg.slogdet(J0)[1]
    largest = 1 + spread(pi, reference)
    assert Entropic().between(pi, reference) == pytest.approx(entropic, rel=0, abs=10 * CLOSE * largest)
    geodesic = np.sum(np.log(scipy.linalg.eigvalsh(J, J0)) ** 2)
    assert AffineInvariant().between(pi, reference) == pytest.approx(geodesic, rel=0, abs=1e-6 * largest)


@given(solid=ellipsoids(shapes=("sphere", "brick"), offset=1.0), dtheta=thetas(size=1.0))
def test_near_the_reference_all_agree_with_the_metric(solid, dtheta):
    lengths = np.array([*4 * (1.0,), *6 * (solid.semi_axes.min(),)])
    dpi = 1e-5 * CHART.jacobian(CHART.from_inertial(solid.pi)) @ (dtheta * lengths)
    pi, quadratic = solid.pi + dpi, dpi @ metric(solid.pi) @ dpi
    # The third-order term is a part mu of it, |mu| < 1e-4. Adding dpi to pi rounds pi, and a second moment of a brick
    # and so mu, by up to 1e3 EPS.
    tolerance = 1e-4 * quadratic + 2 * np.sqrt(quadratic) * 1e3 * EPS + (1e3 * EPS) ** 2
    assert AffineInvariant().between(pi, solid.pi) == pytest.approx(quadratic, rel=0, abs=tolerance)
    assert 2 * Entropic().between(pi, solid.pi) == pytest.approx(quadratic, rel=0, abs=tolerance)


@pytest.mark.parametrize("mu", [1e-12, -1e-12, 1e-5, 9.9e-3, -9.9e-3, 1.01e-2, -1.01e-2, 0.5, -0.5])
def test_entropic_is_exact_however_close(mu):
    pi = CHART.to_inertial(np.zeros(10))
    heavier = pi + np.array([mu, *9 * (0.0,)])
    rounded = Decimal(float(heavier[0])) - 1
    with localcontext(prec=60):
        exact = rounded - (1 + rounded).ln()
    # just beyond the series the difference loses EPS / (mu / 2)
    assert Entropic().between(heavier, pi) == pytest.approx(float(exact), rel=1e3 * EPS)


def test_metric_takes_batches_and_is_the_inverse_squared_of_a_mass(rng):
    pi = CHART.to_inertial(rng.normal(size=(3, 2, 10)))
    G = metric(pi)
    assert G.shape == (3, 2, 10, 10)
    np.testing.assert_allclose(G[2, 1], metric(pi[2, 1]), rtol=1e-9, atol=1e-9 * np.abs(G[2, 1]).max())
    assert np.linalg.eigvalsh(metric(CHART.to_inertial(np.zeros(10))))[0] > 0
    assert metric(CHART.to_inertial(np.zeros(10)))[0, 0] == pytest.approx(1.0)


# ------------------------------------------------------------------------------------------------------- no bodies

SPHERE = np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
FLAT = np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.2])
IMPOSSIBLE = np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5])


@each_invariant
def test_beyond_the_border_it_is_infinite(divergence):
    pi = np.stack([IMPOSSIBLE, SPHERE, -SPHERE, np.full(10, np.nan)])
    beyond = [True, False, True, True]
    np.testing.assert_array_equal(np.isinf(divergence.between(pi, SPHERE)), beyond)
    np.testing.assert_array_equal(np.isnan(divergence.gradient(pi, SPHERE)).all(axis=1), beyond)


@each_invariant
def test_it_grows_without_bound_towards_the_border(divergence):
    gaps = np.zeros((11, 10))
    gaps[:, 9] = 10.0 ** -np.arange(1, 12)
    assert np.all(np.diff(divergence.between(FLAT - gaps, SPHERE)) > 1)


@each_invariant
def test_an_impossible_reference_is_refused_with_its_reason(divergence):
    with pytest.raises(ImpossibleBody, match=r"the reference: .*Dz = 0.5 kg m\^2 exceeds Dx \+ Dy"):
        divergence.between(SPHERE, IMPOSSIBLE)
    with pytest.raises(ImpossibleBody, match="flat or a point"):
        divergence.gradient(SPHERE, FLAT)
    with pytest.raises(ImpossibleBody, match="not finite"):
        divergence.gradient(SPHERE, np.stack([SPHERE, np.full(10, np.nan)]))


def test_euclidean_has_no_border():
    assert Euclidean().between(IMPOSSIBLE, FLAT) == pytest.approx(0.3**2 * 0.75)
