"""The catalogue of friction laws: one contract for robots, servos and mechanisms."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import CATALOGUE, FrictionColumn, NoFriction, ViscousCoulomb
from poinsot.models.friction.law import EFFORT, SLOPES, effort_at, law_table, slopes_at, with_library
from poinsot.models.friction.listed import (
    COUPLING,
    build_robot_friction,
    mechanism_friction,
    parameter_of,
    robot_friction,
    robot_keys,
    servo_friction,
)
from poinsot.models.friction.stribeck import StribeckFriction

each_law = pytest.mark.parametrize("law", CATALOGUE, ids=lambda law: law.name)


def draw(law, rng, count=200):
    """Speeds, torques and positions, and parameters of a law."""
    v, m, l, q = rng.uniform(-2, 2, (4, count))
    return SimpleNamespace(v=v, m=m, l=l, q=q, p=rng.uniform(0.1, 1.5, len(law.parameters)))


@each_law
def test_slopes_are_derivatives_of_efforts(law, rng):
    x, h = draw(law, rng), 1e-6
    slopes = np.zeros((4 + len(x.p), len(x.v)))
    law.slopes(x.v, x.m, x.l, x.q, x.p, slopes)
    given = [x.v, x.m, x.l, x.q, *x.p]
    for k, slope in enumerate(slopes):
        ahead, behind = (
            law.effort(*(shifted := [y + s * h * (i == k) for i, y in enumerate(given)])[:4], shifted[4:])
            for s in (1, -1)
        )
        # rounding: 1e-16 of efforts of order 10 over 2 h, and the third derivative times h^2 / 6
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), atol=1e-7, err_msg=f"derivative {k}")


@each_law
def test_numpy_numba_and_jax_evaluate_the_same_law(law, rng):
    x = draw(law, rng, 20)
    ours = law.effort(x.v, x.m, x.l, x.q, x.p) + 0 * x.v
    with jax.enable_x64(True):
        of_jax = jax.jit(with_library(type(law).effort, jnp))(*map(jnp.asarray, (x.v, x.m, x.l, x.q, x.p)))
        of_jax = np.asarray(of_jax)
    np.testing.assert_allclose(of_jax + 0 * x.v, ours, rtol=1e-12)
    (row,) = law_table((law,), {law.name: 0})
    slopes, out = np.zeros((4 + len(x.p), 20)), np.zeros(4 + len(x.p))
    law.slopes(x.v, x.m, x.l, x.q, x.p, slopes)
    for k in range(20):
        now = x.v[k], x.m[k], x.l[k], x.q[k], x.p.ctypes.data
        assert effort_at(row[EFFORT], *now) == pytest.approx(ours[k], rel=1e-12)
        slopes_at(row[SLOPES], *now, out.ctypes.data)
        np.testing.assert_allclose(out, slopes[:, k], rtol=1e-12, atol=1e-300)


@each_law
def test_dry_levels_are_not_below_0_and_smooth_laws_take_energy(law, rng):
    x = draw(law, rng)
    effort = law.effort(x.v, x.m, x.l, x.q, x.p) + 0 * x.v
    if law.dry:
        assert (effort >= 0).all()
    elif not any(parameter.signed for parameter in law.parameters):
        assert (effort * x.v >= 0).all()


@each_law
def test_a_law_is_absent_at_its_defaults(law, rng):
    x = draw(law, rng)
    defaults = {parameter.name: parameter.default for parameter in law.parameters}
    assert not law.is_active(defaults)
    np.testing.assert_array_equal(law.effort(x.v, x.m, x.l, x.q, list(defaults.values())) + 0 * x.v, 0.0)


@each_law
def test_parameters_have_units_and_words(law):
    for parameter in law.parameters:
        assert parameter.words and parameter.kind
        assert "{" not in parameter.unit_of("N m", "rad")
        if law.by_speed:
            assert parameter.symbol


def test_names_and_kinds_belong_to_one_law():
    names = [parameter.name for law in CATALOGUE for parameter in law.parameters]
    assert len(set(names)) == len(names)
    assert len({law.name for law in CATALOGUE}) == len(CATALOGUE)
    known = {name for law in CATALOGUE if law.in_servos for name in law.names}
    assert all(set(parameters) <= known for parameters in servo_friction().values())
    assert list(mechanism_friction())[:2] == ["coulomb", "load-dependent"]


FRICTION = [
    NoFriction(),
    ViscousCoulomb(),
    ViscousCoulomb(offset=False),
    ViscousCoulomb(coulomb=False),
    ViscousCoulomb(deadband=0.1),
    ViscousCoulomb(further=(StribeckFriction(4.0),)),
]


@pytest.mark.parametrize("friction", FRICTION, ids=repr)
def test_each_joint_has_columns_of_its_own_velocity(friction, rng):
    v = rng.standard_normal((20, 3))
    other = v.copy()
    other[:, 1] = rng.standard_normal(20)
    columns = friction.columns(v)
    assert columns.shape == (20, 3, len(friction.terms))
    np.testing.assert_array_equal(columns[:, [0, 2]], friction.columns(other)[:, [0, 2]])
    for term, forth, back in zip(
        friction.terms, np.moveaxis(columns, -1, 0), np.moveaxis(friction.columns(-v), -1, 0), strict=True
    ):
        assert parameter_of(term.parameter.kind) == parameter_of(term.parameter.kind + COUPLING)
        if term.parameter.kind == "offset":  # a bias, not a friction
            np.testing.assert_array_equal(forth, np.ones_like(v))
        else:
            assert (forth * v >= 0).all()
            np.testing.assert_array_equal(back, -forth)


@pytest.mark.parametrize("term", [term for each in FRICTION for term in each.terms], ids=repr)
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_slopes_of_columns_are_derivatives(term: FrictionColumn, width, rng):
    v, h = rng.uniform(0.2, 2, 50) * rng.choice([-1, 1], 50), 1e-6
    expected = (term.effort(v + h, width) - term.effort(v - h, width)) / (2 * h)
    # rounding: 1e-16 of efforts of order 1 over 2 h, and the third derivative times h^2 / 6
    np.testing.assert_allclose(term.slope(v, width), expected, atol=1e-8)


def test_the_law_of_janot(rng):
    v = rng.standard_normal((30, 2))
    fv, fc, offset = 1.5, 0.7, -0.2
    np.testing.assert_allclose(
        ViscousCoulomb().columns(v) @ [fv, fc, offset], fv * v + fc * np.sign(v) + offset
    )


def test_units_of_hinges_and_slides():
    def units(friction, effort, position):
        return tuple(term.parameter.unit_of(effort, position) for term in friction.terms)

    assert units(ViscousCoulomb(), "N m", "rad") == ("N m s/rad", "N m", "N m")
    assert units(ViscousCoulomb(coulomb=False), "N", "m") == ("N s/m", "N")


@given(st.floats(-10, 10), st.floats(0, 5))
def test_the_sign_is_zero_within_the_deadband(v, deadband):
    sign = ViscousCoulomb(deadband=deadband).columns(np.array([[v]]))[0, 0, 1]
    assert sign == (0 if abs(v) <= deadband else np.sign(v))


@pytest.mark.parametrize("deadband", [-1e-9, np.nan, -np.inf])
def test_a_negative_deadband_is_refused(deadband):
    with pytest.raises(InvalidMethod, match="at least 0"):
        ViscousCoulomb(deadband=deadband)


def test_laws_of_torques_are_for_servos_only():
    gears = next(law for law in CATALOGUE if law.name == "gears")
    with pytest.raises(InvalidMethod, match="for servos only"):
        ViscousCoulomb(further=(gears,))


@pytest.mark.parametrize("name", list(robot_friction()))
def test_project_files_name_the_friction_of_robots(name):
    given = {"offset": False, "deadband": 0.1, "decay": 7.0}
    friction = build_robot_friction(name, given)
    kinds = [term.parameter.kind for term in friction.terms]
    assert kinds == {
        "none": [], "viscous": ["viscous"], "viscous-coulomb": ["viscous", "coulomb"],
        "stribeck": ["viscous", "coulomb", "stribeck"],
    }[name]  # fmt: skip
    assert set(robot_keys(name)) <= {"offset", "deadband", "decay"}
