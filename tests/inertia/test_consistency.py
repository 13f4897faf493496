"""The verdict on ten numbers, on both sides of the border and on it, and the reasons that come with it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertia.families import EPS, ellipsoids, numbers, rotations, scale, vectors
from poinsot.inertia.parameters import (
    ROUNDING,
    from_physical,
    inconsistencies,
    is_consistent,
    pseudo_inertia,
)


@given(solid=ellipsoids())
def test_a_real_body_is_possible(solid):
    assert is_consistent(solid.pi)
    assert inconsistencies(solid.pi) == ()


@given(solid=ellipsoids(), flat=st.sets(st.sampled_from([0, 1, 2]), min_size=1))
def test_plates_rods_and_points_are_possible(solid, flat):
    solid.semi_axes[list(flat)] = 0
    assert is_consistent(solid.pi)


def test_nothing_is_a_body_and_nothing_with_a_first_moment_is_not():
    assert is_consistent(np.zeros(10))
    (reason,) = inconsistencies(np.array([0, 0, 0.5, 0, 1.0, 0, 1, 0, 0, 1]))
    assert reason.condition == "h = 0 where m = 0" and reason.excess == 0.5


principal = st.lists(numbers(-1, 1).filter(lambda L: abs(L) > 1e-6), min_size=3, max_size=3).map(np.array)
masses = numbers(-2, 2).filter(lambda m: abs(m) > 1e-6)


@given(m=masses, L=principal, R=rotations(), c=vectors(1, 3))
def test_the_verdict_is_that_of_the_definition(m, L, R, c):
    # second moments of at least 1e-6 beside tr I < 2 * 3 + 2 * 2 * 3: ROUNDING of that is far less
    pi = from_physical(m, c, R @ np.diag(L.sum() - L) @ R.T)
    reasons = inconsistencies(pi)
    assert bool(is_consistent(pi)) == (m > 0 and L.min() > 0) == (not reasons)
    assert bool(is_consistent(pi)) == (np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0)
    assert ("m > 0" in [reason.condition for reason in reasons]) == (m < 0)
    assert all(reason.excess > 0 and f"{reason.excess:.4g}" in str(reason) for reason in reasons)
    if m > 0 and L.min() < 0:
        D = np.sort(L.sum() - L)
        broken = -D[D < 0] if D[0] < 0 else -2 * L[L < 0]
        found = [reason.excess for reason in reasons]
        np.testing.assert_allclose(np.sort(found), np.sort(broken), rtol=0, atol=4 * ROUNDING * scale(pi)[-1])


def test_which_triangle_inequality_and_by_how_much():
    pi = np.array([2.0, 0, 0, 1, 0.6, 0, 1.0, 0, 0, 0.2])
    (reason,) = inconsistencies(pi)
    assert reason.condition == "Dy <= Dx + Dz" and reason.unit == "kg m^2"
    assert reason.excess == pytest.approx(0.2, rel=1e-12)
    assert str(reason) == (
        "about its centre of mass (0, 0, 0.5) m the principal moment Dy = 0.5 kg m^2 exceeds Dx + Dz = 0.3 kg m^2 "
        "by 0.2 kg m^2"
    )


def test_an_axis_that_is_none_of_the_frames_is_told():
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    pi = from_physical(2.0, np.zeros(3), turn @ np.diag([5.0, 1.0, 2.0]) @ turn.T)
    (reason,) = inconsistencies(pi)
    assert reason.condition == "Dx <= Dy + Dz"
    told = "Dx (axis (0.8, 0.6, 0)) = 5 kg m^2 exceeds Dy (axis (-0.6, 0.8, 0)) + Dz = 3 kg m^2"
    assert told in str(reason)


def test_several_reasons_are_all_told():
    pi = np.array([-1.0, 0, 0, 0, -1, 0, 2, 0, 0, -3])
    assert [reason.condition for reason in inconsistencies(pi)] == ["m > 0", "Dx >= 0", "Dz >= 0"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_no_body(wrong):
    pi = np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    for k in range(10):
        broken = pi.copy()
        broken[k] = wrong
        assert not is_consistent(broken)
        assert [reason.condition for reason in inconsistencies(broken)] == ["finite"]


def test_just_beyond_the_border_is_told():
    # a thin plate whose Izz is too large by 1e-9
    pi = np.array([1.0, 0, 0, 0, 0.01, 0, 0.02, 0, 0, 0.03 + 1e-9])
    (reason,) = inconsistencies(pi)
    assert reason.condition == "Dz <= Dx + Dy"
    assert reason.excess == pytest.approx(1e-9, abs=4 * EPS)
