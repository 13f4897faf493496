"""Friction laws: linear in their parameters, odd in the velocity, dissipative."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import NoFriction, ViscousCoulomb, dry_sign

LAWS = [
    NoFriction(),
    ViscousCoulomb(),
    ViscousCoulomb(offset=False),
    ViscousCoulomb(coulomb=False),
    ViscousCoulomb(offset=False, coulomb=False),
    ViscousCoulomb(deadband=0.1),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


@each_law
def test_names_kinds_units_and_columns_belong_together(law, rng):
    v = rng.standard_normal((50, 4))
    count = len(law.symbols)
    assert len(law.kinds) == len(law.units("N m", "rad/s")) == count
    assert len(set(law.symbols)) == count
    assert law.columns(v).shape == (50, 4, count)


@each_law
def test_each_joint_feels_its_own_velocity_only(law, rng):
    v = rng.standard_normal((20, 3))
    other = v.copy()
    other[:, 1] = rng.standard_normal(20)
    np.testing.assert_array_equal(law.columns(v)[:, [0, 2]], law.columns(other)[:, [0, 2]])


@each_law
def test_friction_takes_energy_and_changes_sign_with_the_velocity(law, rng):
    v = rng.standard_normal((200, 2))
    for kind, forth, back in zip(
        law.kinds, np.moveaxis(law.columns(v), -1, 0), np.moveaxis(law.columns(-v), -1, 0), strict=True
    ):
        if kind == "offset":  # a bias, not a friction
            np.testing.assert_array_equal(forth, np.ones_like(v))
            np.testing.assert_array_equal(back, forth)
        else:
            assert (forth * v >= 0).all()
            np.testing.assert_array_equal(back, -forth)


def test_the_law_of_seed_002(rng):
    v = rng.standard_normal((30, 2))
    fv, fc, offset = 1.5, 0.7, -0.2
    np.testing.assert_allclose(
        ViscousCoulomb().columns(v) @ [fv, fc, offset], fv * v + fc * np.sign(v) + offset
    )


def test_units_of_hinges_and_slides():
    assert ViscousCoulomb().units("N m", "rad/s") == ("N m s/rad", "N m", "N m")
    assert ViscousCoulomb().units("N", "m/s") == ("N s/m", "N", "N")
    assert ViscousCoulomb(coulomb=False).units("N", "m/s") == ("N s/m", "N")


@given(st.floats(-10, 10), st.floats(0, 5))
def test_the_sign_is_zero_within_the_deadband(v, deadband):
    sign = dry_sign(np.array([v]), deadband)[0]
    assert sign == (0 if abs(v) <= deadband else np.sign(v))


@pytest.mark.parametrize("deadband", [-1e-9, np.nan, -np.inf])
def test_a_negative_deadband_is_refused(deadband):
    with pytest.raises(InvalidMethod, match="at least 0"):
        ViscousCoulomb(deadband=deadband)
