"""The augmented cost and its gradient, legs, exchanged times, and going on from anywhere."""

from dataclasses import fields, replace

import numpy as np
import pytest

from poinsot.excitation.design import OptimalExcitation
from poinsot.excitation.problem import excitation_problem
from poinsot.excitation.search import AugmentedCost, MotionSearch
from poinsot.excitation.trajectory import FourierSeries, QuinticSplines


@pytest.mark.parametrize("criterion", ["condition", "d-optimal"])
@pytest.mark.parametrize("basis", [FourierSeries(3), QuinticSplines(5)], ids=repr)
@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("start", [None, [0.1, -0.4, 0.3]])
def test_the_gradient_is_a_finite_difference(arm, criterion, basis, friction, start, rng):
    problem = excitation_problem(arm, duration_s=3.0, friction=friction, start=start, torque_std=0.5)
    search = MotionSearch(problem, OptimalExcitation(criterion, basis))
    begun = search.begin()
    # multipliers on everything make all constraints count, the broken ones and the others
    state = replace(
        begun, multipliers=begun.multipliers + rng.uniform(0, 40, begun.multipliers.shape), penalty=20.0
    )
    cost = AugmentedCost(search, state)
    x = 1.2 * cost.variables(state.coefficients)
    assert len(x) == 3 * (basis.size - (start is not None))
    _, gradient = cost(x)
    for _ in range(6):
        direction = rng.standard_normal(len(x))
        h = 1e-5
        slope = (cost(x + h * direction)[0] - cost(x - h * direction)[0]) / (2 * h)
        # distances, known to 1e-6 m and divided by 0.1 m and h, are what makes this no better
        assert abs(slope - gradient @ direction) <= 1e-3 * np.linalg.norm(gradient)


def test_the_gradient_without_collisions_is_exact_to_rounding(arm, rng):
    from poinsot.models.robot.collisions import Surroundings

    problem = excitation_problem(arm, duration_s=3.0, surroundings=Surroundings(itself=False))
    search = MotionSearch(problem, OptimalExcitation())
    begun = search.begin()
    state = replace(begun, multipliers=begun.multipliers + 10.0, penalty=20.0)
    cost = AugmentedCost(search, state)
    x = 1.2 * cost.variables(state.coefficients)
    _, gradient = cost(x)
    for _ in range(10):
        direction = rng.standard_normal(len(x)) / np.sqrt(len(x))
        h = 1e-6
        slope = (cost(x + h * direction)[0] - cost(x - h * direction)[0]) / (2 * h)
        assert abs(slope - gradient @ direction) <= 1e-7 * np.linalg.norm(gradient)


def test_random_motions_start_free_and_slow(problem, method):
    search = MotionSearch(problem, method)
    for start in range(3):
        c = search._random_motion(start)
        assert problem.free_postures(c[:1])[0]
        _, v, a = search.motion(c, search.samples)
        assert np.all(np.abs(v) <= 0.5 * problem.limits.velocity + 1e-12)
        assert np.all(np.abs(a) <= 0.5 * problem.limits.acceleration + 1e-12)
    assert not np.allclose(search._random_motion(0), search._random_motion(1))


def test_a_start_posture_that_is_asked_for_stays(arm):
    posture = np.array([0.1, -0.4, 0.3])
    problem = excitation_problem(arm, duration_s=3.0, start=posture)
    search = MotionSearch(problem, OptimalExcitation(basis=QuinticSplines(6)))
    state = search.begin()
    for _ in range(3):
        state = search.advance(state)
        q, _, _ = search.motion(state.coefficients, np.zeros(1))
        assert np.array_equal(q[0], posture)


def test_a_check_adds_the_moments_at_which_a_limit_was_broken(problem, method):
    search = MotionSearch(problem, method)
    state = search.begin()
    while not (len(state.times) > len(search.samples)):
        before, state = state, search.advance(state)
        assert state.start == 0, "no check ever added a moment: this test sees nothing"
    g = search.check(state.coefficients)
    broken = problem.checked_time[np.argmax(g, axis=0)[g.max(axis=0) > 0]]
    assert set(broken) <= set(state.times)
    assert len(np.unique(state.times)) == len(state.times)
    assert np.array_equal(state.times[: len(before.times)], before.times)
    assert state.multipliers.shape == (len(state.times), 8 * 3 + len(problem.collisions))


def states_equal(one, other):
    for each in fields(one):
        if each.name != "seconds":
            first, second = getattr(one, each.name), getattr(other, each.name)
            assert np.array_equal(first, second), each.name
    return True


def test_it_goes_on_from_anywhere_as_if_it_had_never_stopped(problem, method, states):
    assert states[-1].done
    for stopped in (len(states) // 2, len(states) - 2):
        rest = list(method.search(problem, states[stopped]))
        assert len(rest) == len(states) - stopped - 1
        assert states_equal(rest[-1], states[-1])


def test_the_best_never_gets_worse_and_always_passes_the_check(problem, method, states):
    search = MotionSearch(problem, method)
    values = []
    for state in states:
        if state.best is not None:
            values.append(state.best_value)
            assert search.check(state.best).max() <= 0
    assert len(values) > 3 and np.all(np.diff(values) <= 0)
    assert values[-1] < values[0]
