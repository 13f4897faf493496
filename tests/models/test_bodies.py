"""Bodies of a robot as an estimate shows them."""

import numpy as np

from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.robot.open_parameters import body_of
from references.robots import random_robot


def test_a_body_knows_its_place_and_its_uncertainty(rng):
    robot = random_robot(rng, 3)
    pi, chart = robot.inertials[1], LogCholesky()
    L = 1e-3 * rng.standard_normal((10, 10))
    found = body_of(robot, 1, pi, L @ L.T, robot.inertials[0], 0.25)
    assert found.name == robot.bodies[1] and found.parent == robot.parents[1]
    np.testing.assert_array_equal(found.placement, robot.placements[1])
    np.testing.assert_array_equal(found.prior, robot.inertials[0])
    assert found.prior_share == 0.25 and found.mass == pi[0]
    slope = chart.jacobian(chart.from_inertial(pi))
    np.testing.assert_allclose(slope @ found.covariance @ slope.T, L @ L.T, rtol=1e-6, atol=1e-12)


def test_an_impossible_body_has_no_uncertainty_in_a_chart(rng):
    robot = random_robot(rng, 2)
    found = body_of(robot, 0, -robot.inertials[0], np.eye(10), robot.inertials[0])
    assert not found.physically_consistent and found.covariance is None
    assert found.name == robot.bodies[0]
