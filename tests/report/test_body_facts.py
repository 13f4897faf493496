"""How sure a body's mass properties are, and how far the data moved it."""

from dataclasses import replace
from math import isnan, log

import numpy as np
import pytest

from poinsot.estimate import Body
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import center_of_mass, from_physical, inertia_at_com, slopes_at_com
from poinsot.report.bodies import change, prior_of, spread

BODY = from_physical(
    3.0, np.array([0.02, -0.1, 0.15]), np.array([[0.03, 0.002, 0], [0.002, 0.025, 0.001], [0, 0.001, 0.01]])
)


def physical(pi):
    return np.concatenate(
        [pi[..., :1], center_of_mass(pi), inertia_at_com(pi).reshape(*pi.shape[:-1], 9)], axis=-1
    )


def test_slopes_are_those_of_finite_differences():
    step = 1e-6
    for k, row in enumerate(slopes_at_com(BODY)):
        ahead, behind = BODY.copy(), BODY.copy()
        ahead[k] += step
        behind[k] -= step
        # Central differences: curvature / 6 step^2, about 1e-12, and rounding, 1e-16 / 1e-6.
        np.testing.assert_allclose(row, (physical(ahead) - physical(behind)) / (2 * step), atol=1e-9)


def test_standard_deviations_are_those_of_drawn_bodies(rng):
    chart = LogCholesky()
    root = rng.normal(size=(10, 10)) * 2e-4
    body = Body("b", inertial=BODY, covariance=root @ root.T)
    draws = chart.from_inertial(BODY) + rng.normal(size=(20_000, 10)) @ root.T
    found = physical(chart.to_inertial(draws)).std(axis=0)
    said = spread(body)
    # From n draws it is off by 1/sqrt(2 n) = 0.5 %, 4 times that at most; the draws spread over 1 % of the body's size,
    # so that what is not linear adds little.
    np.testing.assert_allclose(said, found, rtol=0.02)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_a_body_that_only_got_heavier_moved_by_its_logarithm(ratio):
    moved = change(Body("b", inertial=ratio * BODY, prior=BODY))
    assert moved.mass_ratio == pytest.approx(ratio)
    assert moved.shift == pytest.approx(0, abs=1e-12)
    assert moved.distance == pytest.approx(2 * abs(log(ratio)), abs=1e-9)


def test_a_body_that_was_pushed_aside_keeps_its_mass():
    inertia = inertia_at_com(BODY)
    aside = from_physical(3.0, center_of_mass(BODY) + np.array([0.03, 0, 0.04]), inertia)
    moved = change(Body("b", inertial=aside, prior=BODY))
    assert moved.shift == pytest.approx(0.05) and moved.mass_ratio == pytest.approx(1) and moved.distance > 0


def test_what_is_not_known_is_not_a_number():
    assert change(Body("b")) is None and change(Body("b", inertial=BODY)) is None
    assert prior_of(Body("b", prior=np.full(10, np.nan))) is None
    weightless = change(Body("b", inertial=BODY, prior=np.zeros(10)))
    assert all(isnan(value) for value in weightless)
    impossible = BODY.copy()
    impossible[4] = 1.0
    moved = change(Body("b", inertial=BODY, prior=impossible))
    assert moved.mass_ratio == 1 and isnan(moved.distance)
    flat = from_physical(3.0, np.zeros(3), np.diag([0.02, 0.03, 0.05]))
    assert change(Body("b", inertial=flat, prior=BODY)).distance == np.inf
    known = Body("b", inertial=BODY, covariance=np.eye(10))
    for body in (
        replace(known, covariance=None),
        replace(known, inertial=None),
        replace(known, inertial=flat),
    ):
        assert np.isnan(spread(body)).all()
