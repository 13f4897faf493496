"""The nearest possible body: what it keeps, that it is possible with room to spare, and that none is nearer."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from inertia.families import CHARTS, EPS, ellipsoids, numbers, placements, rotations, scale, vectors
from poinsot.exceptions import ImpossibleBody, InvalidMethod
from poinsot.inertia.parameters import (
    FLOOR,
    ROUNDING,
    change_frame,
    from_physical,
    inertia_at_com,
    is_consistent,
    nearest_possible,
    pseudo_inertia,
    second_moments,
)

lengths = st.one_of(st.none(), numbers(-2, 1).map(lambda power: 10**power))

anything = st.builds(
    lambda pi, mass, moments: pi * np.repeat([10**mass, 10**moments], [4, 6]),
    vectors(1, 10)
    .map(lambda pi: np.where(np.abs(pi) < 1e-6, 0, pi))
    .filter(lambda pi: np.abs(pi).max() > 1e-3),
    numbers(-3, 3),
    numbers(-3, 3),
)
"""Ten numbers: of mass and first moment, and of inertia, from 1e-3 to 1e3; the centre of mass within 1000 km."""


@st.composite
def heavy_impossible(draw):
    """A mass, a centre of mass, and second moments of which at least one is below zero."""
    L = draw(st.lists(numbers(-1, 1), min_size=3, max_size=3).map(np.array))
    L[draw(st.integers(0, 2))] = -draw(numbers(0.01, 1))
    R, size = draw(rotations()), 10 ** draw(numbers(-4, 2))
    I = size * R @ np.diag(L.sum() - L) @ R.T
    return 10 ** draw(numbers(-3, 3)), 0.3 * draw(vectors(1, 3)), I


# ------------------------------------------------------------------------------------------------- what comes out


@given(solid=ellipsoids(), length=lengths)
def test_a_possible_body_is_itself(solid, length):
    nearest = nearest_possible(solid.pi, length)
    np.testing.assert_array_equal(nearest.inertial, solid.pi)
    assert nearest.distance == 0


@given(solid=ellipsoids(), flat=st.sets(st.sampled_from([0, 1, 2]), min_size=1))
def test_plates_needles_and_points_stay_as_they_are(solid, flat):
    solid.semi_axes[list(flat)] = 0
    np.testing.assert_array_equal(nearest_possible(solid.pi).inertial, solid.pi)


def test_nothing_stays_nothing():
    assert not nearest_possible(np.zeros(10)).inertial.any()


@given(pi=anything, length=lengths)
def test_the_nearest_is_possible_in_every_chart_and_its_own_nearest(pi, length):
    found = nearest_possible(pi, length).inertial
    assert is_consistent(found)
    if not is_consistent(pi):
        for chart in CHARTS:
            back = chart.to_inertial(chart.from_inertial(found))
            # the floor keeps the condition number of J~ below 1e6, and that of its factor below its root
            np.testing.assert_allclose(back / scale(found), found / scale(found), rtol=0, atol=1e-9)
    again = nearest_possible(found, length)
    np.testing.assert_array_equal(again.inertial, found)
    assert again.distance == 0


@given(body=heavy_impossible())
def test_mass_and_center_of_mass_stay_where_there_is_one(body):
    m, c, I = body
    pi = from_physical(m, c, I)
    found = nearest_possible(pi).inertial
    assert found[0] == m
    np.testing.assert_allclose(found[1:4], m * c, rtol=4 * EPS, atol=0)
    L = np.linalg.eigvalsh(second_moments(found) - np.outer(found[1:4], found[1:4]) / m)
    before = np.linalg.eigvalsh(0.5 * np.trace(I) * np.eye(3) - I)
    expected = np.maximum(
        before, max(FLOOR * np.abs(before).sum(), 4 * ROUNDING * np.abs(pi[[4, 6, 9]]).sum())
    )
    # Steiner's term |c|^2 m comes and goes
    np.testing.assert_allclose(L, expected, rtol=0, atol=64 * EPS * (np.abs(before).sum() + m * (c @ c)))


@given(body=heavy_impossible(), T=placements(0.3))
def test_the_nearest_at_the_center_of_mass_is_the_same_in_every_frame(body, T):
    m, c, I = body
    pi = from_physical(m, c, I)
    moved = nearest_possible(change_frame(T, pi)).inertial
    expected = change_frame(T, nearest_possible(pi).inertial)
    # the floor may be 4 ROUNDING tr I in each's own frame, which is 128 EPS
    size = scale(pi) + scale(change_frame(T, pi)) + scale(expected)
    np.testing.assert_allclose(moved / size, expected / size, rtol=0, atol=1e3 * EPS)


def test_a_plate_that_is_too_thin_gets_the_least_thickness():
    # L = (0.4, 0.5, -0.1), so the first two stay
    pi = from_physical(2.0, np.array([0.1, 0, 0]), np.diag([0.4, 0.3, 0.9]))
    nearest = nearest_possible(pi)
    floor = FLOOR * 1.0
    L = np.array([0.4, 0.5, floor])
    np.testing.assert_allclose(inertia_at_com(nearest.inertial), np.diag(L.sum() - L), rtol=0, atol=1e-15)
    assert nearest.distance == pytest.approx((0.1 + floor) / np.sqrt(0.42 + 1.0), rel=1e-12)


def test_a_body_far_from_its_frame_keeps_more_than_rounding():
    pi = from_physical(1.0, np.array([1e5, 0, 0]), np.diag([1.0, 1.0, 3.0]))
    found = nearest_possible(pi).inertial
    assert is_consistent(found)
    CHARTS[0].from_inertial(found)


# --------------------------------------------------------------------------------------------- that none is nearer


def projected(J, floor):
    """argmin |X - J|_F subject to X - floor >= 0, by a semidefinite program."""
    cvxpy = pytest.importorskip("cvxpy")
    size = np.linalg.norm(J)
    X = cvxpy.Variable((4, 4), symmetric=True)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(X - J / size, "fro")), [X - floor / size >> 0])
    problem.solve(solver=cvxpy.CLARABEL)
    return size * X.value


def scaled(pi, length):
    S = np.diag([1 / length, 1 / length, 1 / length, 1])
    return S @ pseudo_inertia(pi) @ S


@pytest.mark.parametrize("seed", range(8))
def test_a_semidefinite_program_finds_the_same_in_the_bodys_frame(seed):
    rng = np.random.default_rng(seed)
    pi, length = rng.standard_normal(10), float(10 ** rng.uniform(-1, 1))
    J = scaled(pi, length)
    nearest = nearest_possible(pi, length)
    floor = FLOOR * np.abs(np.linalg.eigvalsh(J)).sum() * np.eye(4)
    found, best = scaled(nearest.inertial, length), projected(J, floor)
    # the interior point's gap is 1e-8 of the distance, and an optimum is flat: its point is good to the root
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-4 * np.linalg.norm(J))
    assert np.linalg.norm(found - J) <= np.linalg.norm(best - J) * (1 + 1e-7)
    assert nearest.distance == pytest.approx(np.linalg.norm(best - J) / np.linalg.norm(J), rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_semidefinite_program_would_move_neither_mass_nor_center_of_mass(seed):
    rng = np.random.default_rng(seed)
    m, L = rng.uniform(0.1, 10), rng.standard_normal(3)
    L[seed % 3] = -abs(L[seed % 3])
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    pi = from_physical(m, np.zeros(3), R @ np.diag(L.sum() - L) @ R.T)
    nearest = nearest_possible(pi)
    size = np.abs(L).sum()
    length = np.sqrt(size / m)
    J = scaled(pi, length)
    floor = np.diag([*3 * [FLOOR * size / length**2], 0])
    found, best = scaled(nearest.inertial, length), projected(J, floor)
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-4 * np.linalg.norm(J))
    assert np.linalg.norm(found - J) <= np.linalg.norm(best - J) * (1 + 1e-7)
    assert nearest.distance == pytest.approx(np.linalg.norm(best - J) / np.linalg.norm(J), rel=1e-6)


@pytest.mark.parametrize("length", [None, 0.01, 1.0])
def test_a_body_without_mass_is_projected_in_its_frame(length):
    pi = np.array([-0.5, 0, 0, 0.1, 0.2, 0, 0.2, 0, 0, 0.1])
    own = np.sqrt(np.abs(np.linalg.eigvalsh(second_moments(pi))).sum() / 0.5)
    np.testing.assert_allclose(
        nearest_possible(pi, length).inertial, nearest_possible(pi, length or float(own)).inertial, rtol=1e-12
    )
    assert is_consistent(nearest_possible(pi, length).inertial)


@pytest.mark.parametrize("k", range(10))
@pytest.mark.parametrize("sign", [-1, 1])
def test_one_number_alone_has_a_nearest_body_too(k, sign):
    found = nearest_possible(sign * np.eye(10)[k])
    assume_possible = k == 0 and sign > 0
    assert is_consistent(found.inertial)
    assert (found.distance == 0) == assume_possible


# ------------------------------------------------------------------------------------------------- what is refused


def test_what_is_not_finite_has_no_nearest():
    with pytest.raises(ImpossibleBody, match="not finite"):
        nearest_possible(np.array([1.0, 0, 0, 0, np.nan, 0, 1, 0, 0, 1]))


@pytest.mark.parametrize("length", [0.0, -1.0, float("nan"), float("inf")])
def test_a_length_is_positive(length):
    with pytest.raises(InvalidMethod, match="must be positive, not"):
        nearest_possible(np.zeros(10), length)


@given(pi=anything)
def test_the_distance_is_relative(pi):
    assume(not is_consistent(pi))
    distance = nearest_possible(pi).distance
    assert 0 < distance <= 1 + 4 * FLOOR
    assert nearest_possible(8.0 * pi).distance == pytest.approx(distance, rel=1e-9)
