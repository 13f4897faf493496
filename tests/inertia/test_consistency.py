"""The verdict on ten numbers, on both sides of the border and on it, and the reasons that come with it."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from inertia.families import ellipsoids, numbers, rotations, scale, vectors
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
    assert reason == "its mass is 0 but its first moment is (0, 0.5, 0) kg m"


principal = st.lists(numbers(-1, 1).filter(lambda L: abs(L) > 1e-6), min_size=3, max_size=3).map(np.array)
masses = numbers(-2, 2).filter(lambda m: abs(m) > 1e-6)


@given(m=masses, L=principal, R=rotations(), c=vectors(1, 3))
def test_the_verdict_is_that_of_the_definition(m, L, R, c):
    # second moments of at least 1e-6 beside tr I < 2 * 3 + 2 * 2 * 3: ROUNDING of that is far less
    pi = from_physical(m, c, R @ np.diag(L.sum() - L) @ R.T)
    reasons = inconsistencies(pi)
    assert bool(is_consistent(pi)) == (m > 0 and L.min() > 0) == (not reasons)
    assert bool(is_consistent(pi)) == (np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0)
    assert any("its mass is" in reason for reason in reasons) == (m < 0)
    if m > 0 and L.min() < 0:
        D = np.sort(L.sum() - L)
        broken = -D[D < 0] if D[0] < 0 else -2 * L[L < 0]
        found = [abs(float(re.findall(r"(?:by|is) (\S+) kg m\^2", reason)[-1])) for reason in reasons]
        # four digits are said, and rounding of I is in them
        atol = 4 * ROUNDING * scale(pi)[-1]
        np.testing.assert_allclose(np.sort(found), np.sort(broken), rtol=6e-4, atol=atol)


def test_which_triangle_inequality_and_by_how_much():
    pi = np.array([2.0, 0, 0, 1, 0.6, 0, 1.0, 0, 0, 0.2])
    (reason,) = inconsistencies(pi)
    assert reason == (
        "about its centre of mass (0, 0, 0.5) m the principal moment Dy = 0.5 kg m^2 exceeds Dx + Dz = 0.3 kg m^2 "
        "by 0.2 kg m^2"
    )


def test_an_axis_that_is_none_of_the_frames_is_told():
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    pi = from_physical(2.0, np.zeros(3), turn @ np.diag([5.0, 1.0, 2.0]) @ turn.T)
    (reason,) = inconsistencies(pi)
    told = "Dx (axis (0.8, 0.6, 0)) = 5 kg m^2 exceeds Dy (axis (-0.6, 0.8, 0)) + Dz = 3 kg m^2"
    assert told in reason


def test_several_reasons_are_all_told():
    pi = np.array([-1.0, 0, 0, 0, -1, 0, 2, 0, 0, -3])
    mass, x, z = inconsistencies(pi)
    assert "its mass is -1 kg" in mass and "Dx is -1 kg m^2" in x and "Dz is -3 kg m^2" in z


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_no_body(wrong):
    pi = np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    for k in range(10):
        broken = pi.copy()
        broken[k] = wrong
        assert not is_consistent(broken)
        assert inconsistencies(broken) == ("some of its ten parameters are not finite",)


def test_just_beyond_the_border_is_told():
    # a thin plate whose Izz is too large by 1e-9
    pi = np.array([1.0, 0, 0, 0, 0.01, 0, 0.02, 0, 0, 0.03 + 1e-9])
    (reason,) = inconsistencies(pi)
    assert "moment Dz = 0.03 kg m^2 exceeds Dx + Dy = 0.03 kg m^2 by 1e-09 kg m^2" in reason
