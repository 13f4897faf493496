"""A Solo12 that stands, flies and lands: its base is found from half its weight, within what the posterior says."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.shooting.ddp import DDP, certify, posterior
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.models.contacts.contacts import ContactSchedule, PointContact
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Gyro, JointPosition, JointVelocity, Pose, Readings
from references.robots import described

FEET = tuple(PointContact(f"{leg}_FOOT") for leg in ("FL", "FR", "HL", "HR"))
SPEEDS_ONLY = np.concatenate([np.zeros(18), np.full(18, 2e-3)])


@pytest.fixture(scope="module")
def solo():
    return described("solo_description/robots/solo12.urdf", floating_base=True)


def recording(robot, closed, u, rng, step=4e-3):
    S = len(closed)
    pose = Pose(robot, np.array([2e-3] * 3 + [4e-3] * 3), frame="base_link")
    sensors = [
        JointPosition(robot, 1e-3),
        JointVelocity(robot, 2e-2),
        Gyro(robot, 0.02, frame="base_link"),
        pose,
    ]
    empty = tuple(Readings(sensor, np.full((S, sensor.width), np.nan)) for sensor in sensors)
    parameters = OpenParameters(robot, robot.bodies[:1])
    times = step * np.arange(S)
    return RobotTrajectoryModel(parameters, ContactSchedule(FEET, closed), times, u, empty, SPEEDS_ONLY)


def standing(robot):
    """Legs bent, feet below the hips."""
    q = np.zeros(robot.model.nq)
    q[2], q[6] = 0.24, 1.0
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    return np.concatenate([q, np.zeros(robot.model.nv)])


def test_a_robot_that_stands_flies_and_lands(solo, rng):
    """No prior, chi-square of errors and residuals as they should be."""
    S = 60
    closed = np.ones((S, 4), dtype=bool)
    closed[25:35] = False
    model = recording(solo, closed, np.zeros((S, 12)), rng)
    theta, states = model.parameters.nominal_theta, model.manifold
    u, x = np.zeros((S, 12)), [standing(solo)]
    for k in range(model.stages):
        sample = model.samples[k]
        if not model.resets[k]:
            target = standing(solo)[7:19] + 0.3 * np.sin(12 * model.times[sample] + np.arange(12))
            u[sample] = 6 * (target - x[-1][7:19]) - 0.2 * x[-1][25:]
        driven = replace(model, u=u)
        state = driven.steps(k, x[-1][None], theta)[0].value
        if not model.resets[k]:
            state = states.integrate(state, SPEEDS_ONLY * rng.standard_normal((1, 36)))
        x.append(state[0])
    x = np.array(x)
    readings = []
    for some in model.readings:
        values = np.zeros((S, some.sensor.width))
        for samples, moved in driven.along(x, theta):
            values[samples] = some.sensor.predicted(moved)
        if some.sensor.width == some.sensor.size:
            values += np.asarray(some.sensor.noise) * rng.standard_normal(values.shape)
        readings.append(Readings(some.sensor, values))
    motion = replace(driven, readings=tuple(readings))
    first = model.parameters.chart.from_inertial(0.5 * solo.inertials[0])
    problem = ShootingProblem((motion,), (GaussianPrior.flat(x[0], 36),), GaussianPrior.flat(first))
    rough = states.integrate(x, 0.01 * rng.standard_normal((len(x), 36)))
    guess = Trajectories((rough,), (np.zeros((motion.stages, 18)),), first)
    solution = DDP(max_iterations=40).solve(problem, guess)
    assert solution.status.converged
    assert certify(solution.problem, solution.at).holds
    error = solution.theta - theta
    covariance = posterior(problem, solution.at).theta
    # chi-square of ten degrees of freedom, 99.99 %
    assert error @ np.linalg.solve(covariance, error) < 35.6
    # the pose was read without noise: chi-square is that of the other rows at most
    assert 2 * solution.cost < 1.2 * S * 33
