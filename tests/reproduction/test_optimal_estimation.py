"""The simulated cases of state and inertia together: their motions are what they say, and the claims hold in short."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.studies.store import Store
from poinsot.studies.study import Study
from poinsot_reproductions.optimal_estimation import OPTIMAL_ESTIMATION, parametrizations, rollouts
from poinsot_reproductions.optimal_estimation.guesses import HEAVIEST, LIGHTEST, random_guess, theta_of
from poinsot_reproductions.optimal_estimation.systems import START, SYSTEMS, fly
from references.robots import described


@pytest.fixture(autouse=True, scope="module")
def needs_descriptions():
    described("talos_data/robots/talos_reduced.urdf")


@pytest.fixture(params=SYSTEMS, scope="module")
def flown(request):
    return fly(SYSTEMS[request.param](), np.random.default_rng(5))


def test_motion_is_that_of_the_model_with_its_noise(flown):
    """At the truth residuals and w have a variance of 1; resets are exact."""
    parameters = flown.system.parameters(flown.system.open_bodies)
    motion = flown.problem(parameters, parameters.nominal_theta).models[0]
    w = np.zeros(motion.noise_std.shape)
    f, r = motion.evaluate(0, flown.x[:-1], w, parameters.nominal_theta)
    left = motion.manifold.difference(f, flown.x[1:])
    # Commands disturb several freedoms at once, most where the robot is lightest: more scatter than 2000 numbers have.
    assert abs(np.mean(r[motion.noisy] ** 2) - 1) < 0.15
    assert abs(np.mean((left[motion.noisy] / flown.noise) ** 2) - 1) < 0.25
    assert np.abs(left[~motion.noisy]).max(initial=0) < 1e-12
    away = motion.manifold.difference(flown.start.mean[None], flown.x[:1])[0]
    assert np.abs(away / np.repeat(START, len(away) // 2)).max() < 5


def test_feet_push_and_would_hardly_slip(flown):
    """Nearly always: a foot that has just landed and bears little may need more friction."""
    if not flown.system.contacts:
        pytest.skip("a system without contacts")
    force = flown.forces.reshape(-1, len(flown.system.contacts), 3)
    closed = flown.schedule.closed
    assert (force[closed][:, 2] > 0).all() and np.isnan(force[~closed]).all()
    friction = np.hypot(force[closed][:, 0], force[closed][:, 1]) / force[closed][:, 2]
    assert np.quantile(friction, 0.9) < 0.8


def test_anymal_steps_flies_and_lands():
    phases = fly(SYSTEMS["ANYmal"](), np.random.default_rng(8)).schedule.phases
    assert {len(phase.closed) for phase in phases} >= {0, 2, 4}
    assert any(phase.gained for phase in phases) and len(phases[-1].closed) == 4


def test_guesses_are_the_same_for_all_rollouts_and_others_for_each_number():
    flown = rollouts._flown("Quadrotor", 3)
    parameters = flown.system.parameters(flown.system.open_bodies)
    one, same, other = (
        random_guess(flown, parameters, rollouts._stream(3, "Quadrotor", number)) for number in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.x[0], same.x[0])
    np.testing.assert_array_equal(one.theta, same.theta)
    assert np.abs(one.x[0] - other.x[0]).max() > 0.01
    ratio = LogCholesky().to_inertial(other.theta)[0] / parameters.all_inertials[0, 0]
    assert LIGHTEST <= ratio <= HEAVIEST


def test_bodies_of_another_density():
    parameters = SYSTEMS["Kinova"]().parameters(SYSTEMS["Kinova"]().robot.bodies)
    pi = LogCholesky().to_inertial(theta_of(parameters, 0.3).reshape(-1, 10))
    np.testing.assert_allclose(pi, 0.3 * parameters.all_inertials, rtol=1e-9, atol=1e-12)


def test_rollouts_of_the_quadrotor():
    with ThreadPoolExecutor(1) as executor:
        result = rollouts.run(4, guesses=1, robots=("Quadrotor",), executor=executor, quick=True)
    json.dumps([result.rows, result.figures, result.notes])
    assert [row["rollout"] for row in result.rows] == ["single", "feasible", "multiple"]
    asked = {"system", "rollout", "guesses", "solved", "iterations_mean", "iterations_std", "cost_mean"}
    assert all(asked | {"error_mean", "paper"} <= set(row) for row in result.rows)
    multiple = result.rows[2]
    assert multiple["solved"] == multiple["guesses"] == 1 and multiple["iterations_mean"] < 20
    assert result.figures["multiple_has_lowest_cost"]
    assert multiple["paper"] == 16.9 and result.name == "optimal-estimation" and result.seed == "001"
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())


def test_multiple_shooting_solves_anymal_where_single_shooting_does_not(monkeypatch):
    monkeypatch.setattr(rollouts, "MAX_STEPS", 10)
    found = {
        rollout: [rollouts.attempt(rollouts.Job("ANYmal", rollout, guess, 11)) for guess in range(2)]
        for rollout in ("multiple", "single")
    }
    assert all(each["converged"] for each in found["multiple"])
    assert not any(each["converged"] for each in found["single"])
    assert len({round(each["cost"], 4) for each in found["multiple"]}) == 1
    assert all(each["error"] < 0.5 for each in found["multiple"])


def test_rows_count_only_what_was_solved():
    def result(ending, iterations, cost):
        return {"ending": ending, "converged": ending == "solved", "iterations": iterations, "cost": cost,
                "error": 0.5}  # fmt: skip

    row = rollouts._row("ANYmal", "single", [result("solved", 10, 2.0), result("diverged", 0, None)])
    assert (row["guesses"], row["solved"], row["iterations_mean"], row["cost_mean"]) == (2, 1, 10.0, 2.0)
    assert row["endings"] == {"diverged": 1, "solved": 1} and row["paper"] is None
    none = rollouts._row("ANYmal", "single", [result("diverged", 0, None)])
    assert none["solved"] == 0 and none["iterations_mean"] is None and none["cost_mean"] is None


def test_interrupted_solves_go_on_where_they_were(tmp_path):
    asked: list[int] = []
    store = Store("squares", {"seed": 1}, tmp_path)
    jobs = {str(k): k for k in (1, 2, 3, 4)}
    for name in ("1", "2"):
        store.add(name, jobs[name] ** 2)
    with store.path.open("a") as file:
        file.write('["3", 9')  # cut off
    said = []
    with ThreadPoolExecutor(1) as executor:
        done = Study(jobs, lambda job: asked.append(job) or job**2).run(executor, store, say=said.append)
    assert done == {"1": 1, "2": 4, "3": 9, "4": 16} and asked == [3, 4]
    assert said[-1] == "4 of 4 solved, 2 from before" and not store.path.exists()
    assert Store("squares", {"seed": 2}, tmp_path).path != store.path


def test_both_charts_find_the_same_trajectory():
    with ThreadPoolExecutor(1) as executor:
        result = parametrizations.run(2, executor=executor, quick=True)
    json.dumps([result.rows, result.figures])
    asked = {"system", "chart", "iterations", "final_cost", "final_error", "cost_per_iteration"}
    assert all(asked <= set(row) for row in result.rows)
    one, other = result.rows
    assert one["ending"] == other["ending"] == "solved"
    assert abs(one["final_cost"] - other["final_cost"]) < 1e-6
    assert result.figures["trajectories_apart"]["Quadrotor"] < 1e-6
    assert one["cost_per_iteration"][0] > 1e4 * one["final_cost"]
    assert one["iterations"] <= 10 and other["iterations"] <= 10


def test_when_a_cost_has_settled():
    assert parametrizations.settled([100.0, 10.0, 1.005, 1.0], 1.0) == 2
    assert parametrizations.settled([1.0, 5.0, 1.0], 1.0) == 2
    assert parametrizations.settled([100.0, 2.0], 1.0) is None
    assert parametrizations.settled([1.0], 1.0) == 0


def test_the_case_has_its_parts():
    assert set(OPTIMAL_ESTIMATION.parts) == {
        "parametrizations",
        "rollouts",
        "go1-payload",
        "sensor-errors",
        "payload-statistics",
        "jump",
        "loops",
        "moving-horizon",
        "sphere",
        "arm",
        "brachiation",
        "backflip",
        "statistics",
        "crazyflie",
    }
