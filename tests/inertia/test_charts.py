"""Laws of every chart, over bodies from 1e-6 to 1e5 kg; then what only one of them promises."""

import math
import re
import sys

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, strategies as st

from inertia.families import (
    CHARTS,
    EPS,
    SHAPES,
    SolidEllipsoid,
    each_chart,
    ellipsoids,
    richardson,
    scale,
    thetas,
    vectors,
)
from poinsot.exceptions import ImpossibleBody, InvalidMethod
from poinsot.inertia import chart_names, charts, find_chart
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.charts.transposed_log_cholesky import TransposedLogCholesky
from poinsot.inertia.parameters import ROUNDING, is_consistent, principal_moments, pseudo_inertia

# A coordinate log x of a mass or length between 1e-6 and 1e5 is below 25, so exp(2 log x) has lost 50 units in the last
# place; the factorizations and the sums of at most five products after them lose some ten more.
BACKWARD = 100 * EPS


# ----------------------------------------------------------------------------------------------------- every chart


@each_chart
@given(body=ellipsoids(shapes=("brick",)))
def test_natural_changes_grow_with_the_body(chart, body):
    """Of a body twice as large, of the same mass: lengths are doubled, and so is what they may change by."""
    larger = body.pi * np.repeat([1.0, 2.0, 4.0], [1, 3, 6])
    one, two = chart.natural_scale(body.pi), chart.natural_scale(larger)
    length = one != 1.0
    np.testing.assert_allclose(two / one, np.where(length, 2.0, 1.0))
    doubled = chart.from_inertial(larger) - 2 * chart.from_inertial(body.pi)
    assert np.all(np.abs(doubled[length]) <= 1e-9 * one[length])


@each_chart
@given(theta=thetas())
def test_every_theta_is_a_physical_body(chart, theta):
    assert np.linalg.eigvalsh(pseudo_inertia(chart.to_inertial(theta)))[0] > 0


@each_chart
@given(theta=thetas(size=8.0))
def test_so_is_every_far_theta_to_rounding(chart, theta):
    assert is_consistent(chart.to_inertial(theta))


@each_chart
@given(body=ellipsoids())
def test_to_from_is_the_same_body(chart, body):
    again = chart.to_inertial(chart.from_inertial(body.pi))
    assert np.all(np.abs(again - body.pi) <= (BACKWARD + ROUNDING) * scale(body.pi))


@each_chart
@given(theta=thetas(), body=ellipsoids(shapes=("ruler", "brick")), start=st.booleans())
def test_from_to_is_the_same_theta(chart, theta, body, start):
    if start:
        theta = chart.from_inertial(body.pi)
    elif isinstance(chart, ExponentialEigenvalue):
        theta[4:7] *= 0.7 / max(1, np.linalg.norm(theta[4:7]))  # below 45 degrees: the closest axes
    pi, D = chart.to_inertial(theta), chart.jacobian(theta)
    assume(np.linalg.matrix_rank(D / scale(pi)[:, None]) == 10)
    # a backward error of pi comes back through the inverse Jacobian, as long as that is all there is to it
    bound = (BACKWARD + ROUNDING) * np.abs(np.linalg.inv(D)) @ scale(pi) + BACKWARD * np.abs(theta)
    assume(bound.max() < 1e-4)
    assert np.all(np.abs(chart.from_inertial(pi) - theta) <= 2 * bound)


@each_chart
@given(theta=thetas(), body=ellipsoids(), start=st.booleans())
def test_jacobian_is_the_derivative(chart, theta, body, start):
    if start:
        theta = chart.from_inertial(body.pi)
    D = chart.jacobian(theta)
    # Lengths and first moments (h, s12, t1, ...) enter at most squared, so a step as large as they are is exact. The
    # others enter as exp(2 x) or as angles: a step of 1e-3 leaves (2e-3)^4 / 120 = 1e-13 of a fourth-order difference.
    # Rounding leaves BACKWARD / step of pi.
    quadratic = [re.fullmatch(r"h[xyz]|[st]\d+", name) is not None for name in chart.theta_names]
    step = 1e-3 * np.where(quadratic, np.maximum(1, np.abs(theta)), 1)
    found = richardson(chart.to_inertial, theta, step)
    size = np.empty(10)
    for rows in (slice(0, 1), slice(1, 4), slice(4, 10)):
        size[rows] = np.abs(D[rows]).max()
    # a step may leave a light body far behind: rounding is that of the bodies at its ends
    ends = theta + np.concatenate([np.diag(step), -np.diag(step)])
    largest = scale(chart.to_inertial(ends)).reshape(2, 10, 10).max(axis=0).T
    rounding = 10 * BACKWARD * np.maximum(largest, scale(chart.to_inertial(theta))[:, None]) / step
    assert np.all(np.abs(found - D) <= 1e-7 * size[:, None] + rounding)


@each_chart
def test_batches_are_the_same_one_by_one(chart, rng):
    theta = rng.normal(size=(2, 3, 10))
    pi = chart.to_inertial(theta)
    assert pi.shape == (2, 3, 10)
    assert chart.jacobian(theta).shape == (2, 3, 10, 10)
    for k in np.ndindex(2, 3):
        np.testing.assert_array_equal(pi[k], chart.to_inertial(theta[k]))
        np.testing.assert_array_equal(chart.jacobian(theta)[k], chart.jacobian(theta[k]))
        np.testing.assert_array_equal(chart.from_inertial(pi)[k], chart.from_inertial(pi[k]))
    assert chart.to_inertial(theta[:0]).shape == (0, 3, 10)
    np.testing.assert_array_equal(chart.to_inertial(theta[:, ::2]), pi[:, ::2])  # memory with gaps


def test_a_file_that_is_added_is_a_chart(tmp_path, monkeypatch):
    code = "from poinsot.inertia.charts.log_cholesky import LogCholesky\n\n\nclass HalfScale(LogCholesky):\n    pass\n"
    (tmp_path / "half_scale.py").write_text(code)
    monkeypatch.setattr(charts, "__path__", [*charts.__path__, str(tmp_path)])
    assert chart_names() == (
        "log-cholesky", "exponential-eigenvalue", "half-scale", "transposed-log-cholesky",
    )  # fmt: skip
    assert type(find_chart("half-scale")).__name__ == "HalfScale"


@each_chart
def test_kernels_for_one_body_are_the_chart(chart, rng):
    module = sys.modules[type(chart).__module__]
    theta = rng.normal(size=10)
    pi, D = np.empty(10), np.empty((10, 10))
    module.to_inertial_kernel(theta, pi)
    module.jacobian_kernel(theta, D)
    # the compiler may join a product and a sum in one of the two, and not in the other
    np.testing.assert_allclose(pi, chart.to_inertial(theta), rtol=0, atol=10 * EPS * np.abs(pi).max())
    np.testing.assert_allclose(D, chart.jacobian(theta), rtol=0, atol=10 * EPS * np.abs(D).max())


@each_chart
def test_ten_names(chart):
    assert len(set(chart.theta_names)) == 10
    assert len({*CHARTS}) == 3 and chart == type(chart)()  # charts are values


IMPOSSIBLE = {
    "mass is -2 kg": [-2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1],
    "Dz = 0.5 kg m.2 exceeds Dx [+] Dy = 0.2 kg m.2 by 0.3 kg m.2": [2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5],
    "the principal moment Dy is -0.1 kg m.2, below 0": [2.0, 0, 0, 0, 0.1, 0, -0.1, 0, 0, 0.1],
    "mass is 0 but its first moment is": [0.0, 1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1],
    "no extent along its principal axis z, to rounding": [2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.2],
    "no extent along its principal axis x, y, z": [2.0, 2, 0, 0, 0, 0, 2, 0, 0, 2],
    "mass is 0, and a chart": [0.0] * 10,
    "not finite": [2.0, 0, 0, np.nan, 0.1, 0, 0.1, 0, 0, 0.1],
}


@each_chart
@pytest.mark.parametrize(("reason", "pi"), IMPOSSIBLE.items())
def test_an_impossible_body_is_refused_with_its_reason(chart, reason, pi):
    with pytest.raises(ImpossibleBody, match=reason):
        chart.from_inertial(np.array(pi))


@each_chart
def test_the_first_impossible_body_of_a_batch_is_named(chart):
    good = chart.to_inertial(np.zeros(10))
    with pytest.raises(ImpossibleBody, match=r"body 2 of 4: .*mass is -2 kg"):
        chart.from_inertial(np.array([good, good, IMPOSSIBLE["mass is -2 kg"], good]))


@each_chart
@pytest.mark.usefixtures("unchecked")
def test_a_wrong_shape_is_refused(chart):
    for wrong in (np.zeros(9), np.zeros((10, 9)), np.float64(1)):
        with pytest.raises(InvalidMethod, match="ten numbers a body"):
            chart.to_inertial(wrong)
        with pytest.raises(InvalidMethod, match="ten numbers a body"):
            chart.from_inertial(wrong)


# ----------------------------------------------------------------------------------------------------- log-Cholesky


@given(theta=thetas())
def test_log_cholesky_is_pinocchios(theta):
    reference = pin.LogCholeskyParameters(theta)
    pi, D = LogCholesky().to_inertial(theta), LogCholesky().jacobian(theta)
    assert np.all(np.abs(pi - reference.toDynamicParameters()) <= 1e-12 * scale(pi))
    np.testing.assert_allclose(D, reference.calculateJacobian(), rtol=0, atol=1e-12 * np.abs(D).max())


@given(theta=thetas())
def test_transposed_chart_is_equation_17_of_seed_004(theta):
    by_name = dict(zip(TransposedLogCholesky.theta_names, theta, strict=True))
    a, d1, d2, d3, s12, s13, s23, t1, t2, t3 = (
        by_name[name] for name in ("alpha", "d1", "d2", "d3", "s12", "s13", "s23", "t1", "t2", "t3")
    )
    exp = math.exp
    equation_17 = exp(2 * a) * np.array(
        [
            t1**2 + t2**2 + t3**2 + 1,
            t1 * exp(d1),
            t1 * s12 + t2 * exp(d2),
            t1 * s13 + t2 * s23 + t3 * exp(d3),
            s12**2 + s13**2 + s23**2 + exp(2 * d2) + exp(2 * d3),
            -s12 * exp(d1),
            -s13 * exp(d1),
            s13**2 + s23**2 + exp(2 * d1) + exp(2 * d3),
            -s12 * s13 - s23 * exp(d2),
            s12**2 + exp(2 * d1) + exp(2 * d2),
        ]
    )  # m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    ours = TransposedLogCholesky().to_inertial(theta)[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
    np.testing.assert_allclose(ours, equation_17, rtol=0, atol=BACKWARD * np.abs(ours).max())


@given(theta=thetas())
def test_the_factors_are_the_charts(theta):
    e1, e2, e3 = np.exp(theta[1:4])
    s12, s23, s13, t1, t2, t3 = theta[4:]
    U = np.exp(theta[0]) * np.array([[e1, s12, s13, t1], [0, e2, s23, t2], [0, 0, e3, t3], [0, 0, 0, 1]])
    for chart, J in ((LogCholesky(), U @ U.T), (TransposedLogCholesky(), U.T @ U)):
        found = pseudo_inertia(chart.to_inertial(theta))
        np.testing.assert_allclose(found, J, rtol=0, atol=BACKWARD * np.abs(J).max())


# ------------------------------------------------------------------------------------------- exponential eigenvalue

EXPONENTIAL = ExponentialEigenvalue()
SYMMETRY = {"sphere": 3, "needle": 1, "plate": 1, "ruler": 0, "brick": 0}


def moments(shape):
    """sigma of a body of 1 kg and 1 m."""
    return np.log(np.square(SHAPES[shape]) / 5)


@pytest.mark.parametrize("shape", SHAPES)
@given(omega=vectors(2, 3))
def test_the_jacobian_has_a_null_direction_for_each_axis_of_symmetry(shape, omega):
    theta = np.concatenate([[0.0, 0.1, -0.2, 0.3], omega, moments(shape)])
    singular_values = np.linalg.svd(EXPONENTIAL.jacobian(theta), compute_uv=False)
    # what is not null moves I by at least the thinnest second moment, 1e-6 / 5, times J_r's least singular value, > 0.4
    assert np.sum(singular_values < 1e-12) == SYMMETRY[shape]
    assert np.sum(singular_values > 1e-8) == 10 - SYMMETRY[shape]


def test_omega_of_a_whole_turn_is_singular_for_every_shape():
    axis = np.array([0.6, 0, 0.8])
    theta = np.concatenate([np.zeros(4), 2 * np.pi * axis, moments("brick")])
    # sin(pi) is EPS / 2, which J_r leaves of directions across the axis
    across = EXPONENTIAL.jacobian(theta)[:, 4:7] @ (np.eye(3) - np.outer(axis, axis))
    np.testing.assert_allclose(across, 0, atol=20 * EPS)
    theta[4:7] *= 0.9
    assert np.linalg.matrix_rank(EXPONENTIAL.jacobian(theta)) == 10


@given(body=ellipsoids(shapes=("brick",)))
def test_coordinates_are_what_they_are_called(body):
    theta = EXPONENTIAL.from_inertial(body.pi)
    # Second moments are as exact as tr I times rounding, at worst 2 (1 + .5^2 + .3^2 + 5 * 300) = 3e3 times the largest
    # and 4e4 times the smallest.
    kept = 4e4 * (BACKWARD + ROUNDING)
    assert theta[0] == pytest.approx(np.log(body.mass), abs=BACKWARD)
    np.testing.assert_allclose(theta[1:4], body.mass * body.center, rtol=BACKWARD, atol=0)
    L = body.mass * body.semi_axes**2 / 5
    np.testing.assert_allclose(np.sort(theta[7:]), np.sort(np.log(L)), rtol=0, atol=kept)
    D, _ = principal_moments(body.pi)
    L = np.exp(theta[7:])
    np.testing.assert_allclose(np.sort(L.sum() - L), np.sort(D), rtol=0, atol=kept * D.max())


@given(body=ellipsoids())
def test_the_axes_are_the_closest_to_the_body_frames(body):
    # no orientation of a cube is further than this from one of its 24: acos((2 sqrt(2) - 1) / 4)
    largest = np.arccos((2 * np.sqrt(2) - 1) / 4)
    assert np.linalg.norm(EXPONENTIAL.from_inertial(body.pi)[4:7]) <= largest + 1e-6


@given(theta=thetas())
def test_a_sphere_keeps_the_axes_of_its_frame(theta):
    sphere = SolidEllipsoid(3.0, np.full(3, 0.1), np.eye(3), theta[:3])
    np.testing.assert_allclose(EXPONENTIAL.from_inertial(sphere.pi)[4:7], 0, atol=EPS)


@pytest.mark.parametrize("omega", [0.0, 1e-200, 1e-12, 1e-5, 0.499, 0.501, 3.14159, np.pi, 6.2])
def test_turning_is_exact_for_all_angles(omega):
    axis = np.array([2.0, -1, 2]) / 3
    theta = np.concatenate([[0.2, 0, 0, 0], omega * axis, [0.1, 0.5, -1]])
    L = np.exp(theta[7:])
    R = pin.exp3(theta[4:7])
    I = R @ np.diag(L.sum() - L) @ R.T
    pi = EXPONENTIAL.to_inertial(theta)
    np.testing.assert_allclose(pi[4:], I[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]], rtol=0, atol=20 * EPS)
    dI = R @ (_skew(pin.Jexp3(theta[4:7])[:, 1]) @ np.diag(L.sum() - L)) @ R.T
    expected = (dI + dI.T)[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    # Pinocchio's own series near 0 and pi is good to about 1e-10
    np.testing.assert_allclose(EXPONENTIAL.jacobian(theta)[4:, 5], expected, rtol=0, atol=1e-9)


def _skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
