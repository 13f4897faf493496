"""What is known of a robot in physical terms becomes a mean and an information of theta, against differences."""

import numpy as np
import pytest

from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.exceptions import InvalidMethod
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.robot.actuation import joint_efforts
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.parameters import Normal
from references.robots import random_robot
from references.state_differences import assert_slope, by_vector

CHARTS = {"log-cholesky": LogCholesky(), "exponential-eigenvalue": ExponentialEigenvalue(), "pi": None}
BOX = {
    "m.j2": Normal(3.0, 0.5),
    "cx.j2": Normal(0.10, 0.02),
    "cy.j2": Normal(-0.05, 0.02),
    "cz.j2": Normal(0.02, 0.02),
}
MORE = {"m.j1": Normal(2.0, 0.3), "zz.j2": Normal(0.2, 0.05), "fv2": Normal(0.7, 0.1), "k": Normal(1.2, 0.05)}


@pytest.fixture
def robot(rng):
    return random_robot(rng, 2, kinds="R")


def opened(robot, chart):
    return OpenParameters(
        robot,
        robot.bodies,
        CHARTS[chart],
        joints=("fv2",),
        gains=("k",),
        actuation=joint_efforts(robot, {"k": robot.joints[:1]}),
        nominal={"fv2": 0.2},
    )


def meaning(parameters, theta, quantities):
    """g, from pi as a user would compute it."""
    values = dict(zip(parameters.physical_names, parameters.physical(theta), strict=True))
    for body in parameters.bodies:
        values |= {f"c{axis}.{body}": values[f"m{axis}.{body}"] / values[f"m.{body}"] for axis in "xyz"}
    return np.array([values[name] for name in quantities])


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize(
    "quantities", [BOX, MORE, BOX | {"fv2": Normal(0.7, 0.1)}], ids=["box", "more", "both"]
)
def test_the_means_are_met_and_the_information_is_that_of_the_quantities(robot, chart, quantities):
    parameters = opened(robot, chart)
    known = KnownParameters(parameters, quantities).known()
    means = np.array([each.mean for each in quantities.values()])
    std = np.array([each.std for each in quantities.values()])
    np.testing.assert_allclose(meaning(parameters, known.mean, quantities), means, atol=1e-9 * std.min())
    G = by_vector(lambda theta: meaning(parameters, theta, quantities), known.mean)
    assert_slope(KnownParameters(parameters, quantities).of(known.mean)[1], G)
    expected = G.T @ np.diag(std**-2.0) @ G
    np.testing.assert_allclose(known.information, expected, atol=1e-6 * np.abs(expected).max())
    assert np.linalg.matrix_rank(known.information) == len(quantities)


def test_the_standard_deviation_given_comes_back(robot):
    """Of the mass, with everything else assumed: 1 / sqrt of the information along it is its standard deviation."""
    parameters = opened(robot, "log-cholesky")
    known = KnownParameters(parameters, BOX, chart_std=100.0).known()
    covariance = np.linalg.inv(known.information + 1e-8 * np.eye(parameters.size))
    G = KnownParameters(parameters, BOX).of(known.mean)[1]
    found = np.sqrt(np.diag(G @ covariance @ G.T))
    np.testing.assert_allclose(found, [each.std for each in BOX.values()], rtol=1e-3)


def test_nothing_known_is_the_description(robot):
    parameters = opened(robot, "log-cholesky")
    known = KnownParameters(parameters).known()
    np.testing.assert_array_equal(known.mean, parameters.nominal_theta)
    assert not known.information.any()


def test_what_is_assumed_is_of_bodies_alone(robot):
    parameters = opened(robot, "log-cholesky")
    assumed = KnownParameters(parameters, chart_std=0.3)
    expected = np.diag([0.3**-2.0] * 20 + [0.0] * 2)
    np.testing.assert_allclose(assumed.assumed, expected)
    np.testing.assert_allclose(assumed.known().information, expected)


@pytest.mark.parametrize(
    ("quantities", "message"),
    [
        ({"m.j2": Normal(-1.0, 0.1)}, r"no possible body has m\.j2 = -1: mend"),
        (
            {"xx.j2": Normal(9.0, 0.1), "yy.j2": Normal(1.0, 0.1), "zz.j2": Normal(1.0, 0.1)},
            "no possible body has",
        ),
        (
            {"m.j2": Normal(1.0, 0.1), "mx.j2": Normal(2.0, 0.1), "cx.j2": Normal(0.5, 0.1)},
            "no possible body has",
        ),
        ({"m.j3": Normal(1.0, 0.1)}, r"nothing can be known of 'm\.j3'; did you mean 'm\.j[12]'"),
        ({"fv1": Normal(1.0, 0.1)}, "nothing can be known of 'fv1'; did you mean 'fv2'"),
    ],
    ids=["negative", "moments", "contradiction", "no body", "not open"],
)
@pytest.mark.parametrize("chart", ["log-cholesky", "exponential-eigenvalue"])
def test_what_cannot_be_is_refused(robot, chart, quantities, message):
    with pytest.raises(InvalidMethod, match=message):
        KnownParameters(opened(robot, chart), quantities).known()


@pytest.mark.parametrize("std", [0.0, -1.0, np.nan, np.inf])
def test_an_assumption_needs_a_width(robot, std):
    with pytest.raises(InvalidMethod, match="standard deviation assumed must be above 0"):
        KnownParameters(opened(robot, "log-cholesky"), chart_std=std)


def test_nothing_open_has_nothing_to_be_known(robot):
    with pytest.raises(InvalidMethod, match=r"nothing can be known of 'm\.j1': no parameters are open"):
        KnownParameters(OpenParameters(robot), {"m.j1": Normal(1.0, 0.1)})
