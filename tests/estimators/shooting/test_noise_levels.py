"""Sensitivity to assumed noise levels against solving again, and process noise against the truth of many recordings."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.problems import dense_jacobian
from poinsot.estimators.shooting.ddp import DDP, posterior
from poinsot.estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.estimators.shooting.noise_levels import NoiseLevels
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.models.contacts.contacts import ContactSchedule
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Accelerometer, Gyro, JointPosition, JointVelocity, Readings
from references.recorded_arm import FRICTION, NOISE, ROD, SPEED_NOISE, record, urdf


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(urdf(**ROD))
    return OpenParameters(load_robot(path), ("fore",), nominal=FRICTION)


def problem_of(parameters, gyro=1.0, speeds=1.0, seed=1, samples=121, chart_std=None):
    recorded = record(np.random.default_rng(seed), samples, phase=0.3 * seed)
    robot = parameters.robot
    sensors = (
        JointPosition(robot, NOISE["position"]),
        JointVelocity(robot, NOISE["velocity"]),
        Gyro(robot, gyro * NOISE["gyro"], frame="imu"),
        Accelerometer(robot, NOISE["accelerometer"], frame="imu"),
    )
    readings = tuple(
        Readings(sensor, values) for sensor, values in zip(sensors, recorded.readings.values(), strict=True)
    )
    schedule = ContactSchedule((), np.zeros((samples, 0), dtype=bool))
    noise = speeds * np.array([0.0, 0.0, SPEED_NOISE, SPEED_NOISE])
    model = RobotTrajectoryModel(parameters, schedule, recorded.time, recorded.torque, readings, noise)
    return OptimalEstimationProblem((model,), KnownParameters(parameters, chart_std=chart_std))


def solved(problem):
    return DDP(step_tolerance=1e-8).solve(problem.shooting, problem.guess)


def test_moves_are_those_of_another_solution(parameters):
    problem = problem_of(parameters)
    solution = solved(problem)
    levels = NoiseLevels(problem.shooting, solution.at)
    assert levels.sensors == ("position", "velocity", "gyro", "accelerometer")
    assert set(levels.disturbances) == set(parameters.robot.joints)
    for name, again in (
        ("gyro", problem_of(parameters, gyro=1.05)),
        ("speeds", problem_of(parameters, speeds=1.05)),
    ):
        factors = {name: 1.05} if name == "gyro" else dict.fromkeys(levels.disturbances, 1.05)
        # from the same point, as unobservable directions stay where they are
        expected = DDP(step_tolerance=1e-8).solve(again.shooting, solution.at).theta - solution.theta
        seen = np.abs(expected) > 1e-3 * np.abs(expected).max()
        # a small change, of which a Gauss-Newton step leaves out only second derivatives of the residuals
        np.testing.assert_allclose(
            levels.moved(factors)[seen], expected[seen], rtol=0.1, atol=0.02 * np.abs(expected).max()
        )


def test_moves_with_three_times_and_a_third_of_a_level_are_those_of_other_solutions(parameters):
    """Of all that the data determine, in its standard deviations."""
    problem = problem_of(parameters)
    solution = solved(problem)
    levels = NoiseLevels(problem.shooting, solution.at)
    sure, slope = posterior(problem.shooting, solution.at), parameters.physical_slope(solution.theta)
    observable = np.linalg.norm(slope @ sure.unobservable, axis=1) < 1e-6 * np.linalg.norm(slope, axis=1)
    in_std = (slope / np.sqrt(np.diag(slope @ sure.theta @ slope.T))[:, None])[observable]
    assert observable.sum() == 8
    for name in ("gyro", "speeds"):
        for s in (3.0, 1 / 3):
            factors = {name: s} if name == "gyro" else dict.fromkeys(levels.disturbances, s)
            again = problem_of(parameters, **{name: s})
            expected = DDP(step_tolerance=1e-6).solve(again.shooting, solution.at).theta - solution.theta
            assert np.abs(in_std @ expected).max() > 0.3  # standard deviations
            # a Gauss-Newton step leaves out second derivatives of the residuals, as above
            found, expected = in_std @ levels.moved(factors), in_std @ expected
            np.testing.assert_allclose(found, expected, rtol=0.1, atol=0.02 * np.abs(expected).max())
    assert {level for level, _ in levels.moves} == {*levels.sensors, *levels.disturbances}
    np.testing.assert_allclose(levels.moves["gyro", 3.0], levels.moved({"gyro": 3.0}))


def test_all_levels_share_one_linearization(parameters, monkeypatch):
    problem = problem_of(parameters)
    levels = NoiseLevels(problem.shooting, solved(problem).at)
    calls, linearize = [], RobotTrajectoryModel.linearize

    def counted(model, first, *more):
        calls.append(first)
        return linearize(model, first, *more)

    monkeypatch.setattr(RobotTrajectoryModel, "linearize", counted)
    assert len(levels.moves) == 2 * len(levels.sensors + levels.disturbances)
    assert len(calls) == len(set(calls)) > 0
    # nothing is kept of a recording that is too long
    monkeypatch.setattr("poinsot.estimators.shooting.noise_levels.KEPT_STAGES", 0)
    again = NoiseLevels(problem.shooting, levels.at)
    for level, step in levels.moves.items():
        np.testing.assert_array_equal(again.moves[level], step)


def test_the_likeliest_process_noise_is_the_true_one(parameters):
    """Of ten recordings: a step from the truth is a factor of 1 within the chi-square noise of gamma values."""
    z = []
    for seed in range(10):
        problem = problem_of(parameters, seed=seed)
        found = NoiseLevels(problem.shooting, solved(problem).at).likelier(np.random.default_rng(0))
        z += [(factor**2 - 1) * np.sqrt(gamma / 2) for factor, gamma in found.values()]
    # 60 normal errors, of four sensors and two joints: rms within 1 +- 3 / sqrt(120), and the mean within 3 / sqrt(60)
    assert len(z) == 60
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.3
    assert abs(np.mean(z)) < 0.39


def test_traces_are_those_of_the_dense_influence(parameters):
    """tr J H^-1 J^T of each group: the mean over random signs has an error of at most sqrt(2 tr / draws)."""
    problem = problem_of(parameters, samples=21, chart_std=1.0)
    levels, shooting = NoiseLevels(problem.shooting, solved(problem).at), problem.shooting
    (x,), (w,), theta = levels.at.x, levels.at.w, levels.at.theta
    (table,) = levels.tables
    J = dense_jacobian(shooting, x, w, theta)
    # rows of theta's prior, of each stage's readings and noise, of the last node's readings
    names = ["prior"] * len(theta)
    for of_readings, of_noise in zip(table.of_readings[:-1], table.of_noise, strict=True):
        names += [*of_readings, *of_noise]
    names = np.array([*names, *table.of_readings[-1]])
    exact, draws, rng = np.einsum("ij, ji -> i", J, np.linalg.pinv(J)), 200, np.random.default_rng(3)
    traces = np.mean([levels._traces(rng) for _ in range(draws)], axis=0)
    for group, trace in zip(levels.groups, traces, strict=True):
        own = exact[names == group].sum()
        assert abs(trace - own) < 4 * np.sqrt(2 * exact.sum() / draws), group


@pytest.mark.parametrize("start", [0.1, 10.0])
def test_levels_are_those_of_the_recording_wherever_their_search_begins(parameters, start):
    """Of 600 readings of each sensor, whose spread is known to 3 %."""
    problem, method = problem_of(parameters, samples=601), OptimalEstimation(DDP(step_tolerance=0.1))
    (model,) = problem.models
    wrong = model.with_levels(dict.fromkeys(model.quantities, start))
    wrong = replace(wrong, open_levels=frozenset(model.quantities))
    estimate = method.solve(replace(problem, models=(wrong,)))
    assert estimate.status.converged
    for some, true in zip(estimate.problem.models[0].readings, model.readings, strict=True):
        assert 0.85 < float(some.sensor.noise) / float(true.sensor.noise) < 1.15, some.sensor.name


def test_weights_leave_the_level_of_clean_residuals(rng):
    clean = rng.standard_normal(100_000)
    assert NoiseLevels._factor(clean, len(clean), True) == pytest.approx(1.0, abs=0.01)
    outliers = np.where(rng.random(len(clean)) < 0.03, 30 * clean, clean)
    assert (
        NoiseLevels._factor(outliers, len(clean), True)
        < 1.15
        < 5
        < NoiseLevels._factor(outliers, len(clean), False)
    )


def test_levels_are_replaced_by_name(parameters):
    (model,) = problem_of(parameters).models
    first, second = parameters.robot.joints
    changed = model.with_levels({second: 3.0})
    np.testing.assert_allclose(changed.noise, model.noise * np.array([1, 1, 1, 3.0]))
    assert changed.disturbances == (first, second)
    assert replace(changed, noise=model.noise).disturbances == model.disturbances
