"""A designed motion: within all limits by an independent check, better than chance, the same for the same seed."""

from dataclasses import replace

import coal
import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidMethod
from poinsot.excitation.design import OptimalExcitation
from poinsot.excitation.limits import limits_of
from poinsot.excitation.problem import excitation_problem
from poinsot.excitation.search import MotionConstraints, MotionSearch
from poinsot.excitation.trajectory import FourierSeries, QuinticSplines


def finely(problem, designed):
    """time, q, v, a some eight times as often as the check looks."""
    return designed.sampled(1600.0)


def dense_regressor(problem, q, v, a):
    """(T, n, b) the base columns, by Pinocchio alone."""
    model = problem.robot.model
    data = model.createData()
    Y = [pin.computeJointTorqueRegressor(model, data, *each).copy() for each in zip(q, v, a, strict=True)]
    return np.array(Y)[:, :, problem.base.chosen]


def test_it_keeps_within_all_limits(problem, designed):
    _, q, v, a = finely(problem, designed)
    limits, model = problem.limits, problem.robot.model
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *each) for each in zip(q, v, a, strict=True)])
    # between two moments of the check, 5 ms apart, a limit may be passed by (w h)^2 / 8 of it, w = 2 pi 3 / 4 s
    more = 1 + (1.5 * np.pi * 0.005) ** 2 / 8
    assert np.all(q >= limits.lower) and np.all(q <= limits.upper)
    assert np.all(np.abs(v) <= more * limits.velocity)
    assert np.all(np.abs(a) <= more * limits.acceleration)
    assert np.all(np.abs(tau) <= more * limits.torque)
    assert designed.limits_respected


def test_it_stays_away_from_the_floor_and_from_itself(problem, designed):
    """Distances by hand: spheres, a plane and a cylinder."""
    _, q, _, _ = finely(problem, designed)
    _, shoulder, elbow = q.T
    joint = np.column_stack([0.5 * np.cos(shoulder), 0.6 - 0.5 * np.sin(shoulder)])  # along the arm, height
    hand = joint + 0.4 * np.column_stack([np.cos(shoulder + elbow), -np.sin(shoulder + elbow)])
    column = coal.Cylinder(0.1, 0.4)
    placed = coal.Transform3s(np.eye(3), np.array([0, 0, 0.2]))
    for centre in (joint, hand):
        assert np.min(centre[:, 1] - 0.05 - 0.3) >= 0.02 - 1e-4
        for along, height in centre[::40]:
            where = coal.Transform3s(np.eye(3), np.array([along, 0, height]))
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            coal.distance(column, placed, coal.Sphere(0.05), where, request, result)
            assert result.min_distance >= 0.02 - 1e-4
    assert designed.least_distance >= 0.02


def test_it_rests_at_both_ends(designed):
    assert np.abs(designed.v[[0, -1]]).max() < 1e-12 and np.abs(designed.a[[0, -1]]).max() < 1e-11


def test_its_condition_number_is_that_of_pinocchios_regressor(problem, designed):
    W = dense_regressor(problem, designed.q, designed.v, designed.a).reshape(-1, len(problem.base))
    s = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    assert np.isclose(designed.condition_number, s[0] / s[-1], rtol=1e-9)
    M = np.sum([W[k::3].T @ W[k::3] / std**2 for k, std in enumerate(problem.torque_std)], axis=0)
    assert np.isclose(designed.log_determinant, np.linalg.slogdet(M)[1])
    assert np.allclose(designed.covariance, np.linalg.inv(M), rtol=1e-6)


def test_it_is_better_than_chance(problem, designed, method, rng):
    """Than random motions that use all of the limits of speed or acceleration, whatever they hit."""
    chance = []
    for _ in range(50):
        c = rng.standard_normal((method.basis.size, 3))
        _, v, a = method.basis.at(problem.time, 4.0) @ c
        use = np.max(
            [np.abs(v).max(0) / problem.limits.velocity, np.abs(a).max(0) / problem.limits.acceleration],
            axis=0,
        )
        c[1:] /= use
        W = dense_regressor(problem, *(method.basis.at(problem.time, 4.0) @ c)).reshape(-1, len(problem.base))
        chance.append(np.linalg.cond(W / np.linalg.norm(W, axis=0)))
    assert designed.condition_number < 0.7 * np.min(chance)


def test_a_seed_is_a_motion(problem, method):
    short = replace(method, starts=1, legs=3)
    *_, once = short.search(problem)
    *_, again = short.search(problem)
    *_, other = replace(short, seed=1).search(problem)
    assert np.array_equal(once.coefficients, again.coefficients)
    assert not np.allclose(once.coefficients, other.coefficients)


def test_each_criterion_wins_its_own_contest(problem, designed):
    informative = OptimalExcitation("d-optimal", FourierSeries(3), starts=1, legs=9).solve(problem)
    assert informative.limits_respected
    assert informative.log_determinant > designed.log_determinant
    assert informative.condition_number > designed.condition_number


def test_splines_move_too_and_need_not_return(problem):
    motion = OptimalExcitation(basis=QuinticSplines(6), starts=1, legs=9).solve(problem)
    assert motion.limits_respected
    assert np.abs(motion.q[0] - motion.q[-1]).max() > 0.1
    assert motion.condition_number < 15


def test_a_motion_that_shows_a_payload(arm):
    problem = excitation_problem(
        arm,
        duration_s=4.0,
        payload="hand",
        torque_std=0.5,
        start=[0, -0.5, 0.5],
        limits=limits_of(arm, acceleration=12),
    )
    motion = OptimalExcitation(basis=FourierSeries(3), starts=1, legs=9).solve(problem)
    assert motion.limits_respected
    assert np.array_equal(motion.q[0], [0, -0.5, 0.5])
    assert "m3" in motion.predicted_std


def test_time_that_is_up_is_said_and_what_was_found_is_given(problem, method, states):
    hurried = replace(method, max_seconds=1e-9)
    first = next(k for k, state in enumerate(states) if state.best is not None)
    gone_on = list(hurried.search(problem, states[first]))
    assert len(gone_on) == 1 and not gone_on[0].done
    found = hurried.finish(problem, gone_on[0])
    assert found.limits_respected
    assert "depends on the speed of this machine" in found.warnings[-1]
    with pytest.raises(InvalidMethod, match="no motion within all limits was found after"):
        hurried.solve(problem)


def test_nothing_within_all_limits_is_said_with_what_stood_in_the_way(problem, method, states):
    failed = states[0]
    assert failed.best is None
    with pytest.raises(InvalidMethod) as refused:
        method.finish(problem, failed)
    sentence = MotionConstraints(problem).describe(MotionSearch(problem, method).check(failed.coefficients))
    assert f"after {failed.iterations} iterations: {sentence}; widen that limit" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"criterion": "a-optimal"}, "criterion must be 'condition' or 'd-optimal', not 'a-optimal'"),
        ({"starts": 0}, "starts must be at least 1, not 0"),
        ({"legs": 0}, "legs must be at least 1, not 0"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"max_seconds": 0.0}, "max_seconds must be above 0"),
        ({"information_weight": -1.0}, "information_weight must be at least 0 and below"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_that_mean_nothing_are_refused(settings, sentence):
    with pytest.raises(InvalidMethod) as refused:
        OptimalExcitation(**settings)
    assert sentence in str(refused.value)
