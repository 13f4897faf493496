"""Friction laws: linear in their parameters, odd in the velocity, dissipative."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import NoFriction, ViscousCoulomb, dry_sign, term_of

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
    count = len(law.terms)
    for each in ({term.symbol for term in law.terms}, {term.kind for term in law.terms}):
        assert len(each) == count
    assert all(term.unit("N m", "rad/s") for term in law.terms)
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
    kinds = [term.kind for term in law.terms]
    for kind, forth, back in zip(
        kinds, np.moveaxis(law.columns(v), -1, 0), np.moveaxis(law.columns(-v), -1, 0), strict=True
    ):
        if kind == "offset":  # a bias, not a friction
            np.testing.assert_array_equal(forth, np.ones_like(v))
            np.testing.assert_array_equal(back, forth)
        else:
            assert (forth * v >= 0).all()
            np.testing.assert_array_equal(back, -forth)


@each_law
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_slopes_are_derivatives_of_efforts(law, width, rng):
    v, h = rng.uniform(0.2, 2, 50) * rng.choice([-1, 1], 50), 1e-6
    for term in law.terms:
        expected = (term.effort(v + h, width) - term.effort(v - h, width)) / (2 * h)
        # rounding: 1e-16 of efforts of order 1 over 2 h, and the third derivative times h^2 / 6
        np.testing.assert_allclose(term.slope(v, width), expected, atol=1e-8)


@each_law
def test_every_term_is_found_by_its_kind(law):
    for term in law.terms:
        assert term_of(term.kind) is type(term) and term_of(f"{term.kind}_coupling") is type(term)
        assert type(term) in law.term_types
    assert term_of("inertia") is None and term_of("rotor_coupling") is None


def test_the_law_of_janot(rng):
    v = rng.standard_normal((30, 2))
    fv, fc, offset = 1.5, 0.7, -0.2
    np.testing.assert_allclose(
        ViscousCoulomb().columns(v) @ [fv, fc, offset], fv * v + fc * np.sign(v) + offset
    )


def units(law, effort, velocity):
    return tuple(term.unit(effort, velocity) for term in law.terms)


def test_units_of_hinges_and_slides():
    assert units(ViscousCoulomb(), "N m", "rad/s") == ("N m s/rad", "N m", "N m")
    assert units(ViscousCoulomb(), "N", "m/s") == ("N s/m", "N", "N")
    assert units(ViscousCoulomb(coulomb=False), "N", "m/s") == ("N s/m", "N")


@given(st.floats(-10, 10), st.floats(0, 5))
def test_the_sign_is_zero_within_the_deadband(v, deadband):
    sign = dry_sign(np.array([v]), deadband)[0]
    assert sign == (0 if abs(v) <= deadband else np.sign(v))


@pytest.mark.parametrize("deadband", [-1e-9, np.nan, -np.inf])
def test_a_negative_deadband_is_refused(deadband):
    with pytest.raises(InvalidMethod, match="at least 0"):
        ViscousCoulomb(deadband=deadband)
