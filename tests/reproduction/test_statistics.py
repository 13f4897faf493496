"""Errors against their covariance: recordings are of the estimator's model, the measures can tell, the case holds."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import linalg, stats

from poinsot.inertia.parameters import is_consistent
from poinsot_reproductions.normalized_errors import (
    PHYSICAL,
    coverage,
    covered_band,
    errors_in_std,
    inertial_error,
    mean_in_band,
    physical,
    physical_slopes,
    squared_error,
)
from poinsot_reproductions.optimal_estimation import statistics
from poinsot_reproductions.optimal_estimation.systems import START, fly, quadrotor
from references.robots import described


@pytest.fixture(autouse=True, scope="module")
def needs_descriptions():
    described("kinova_description/robots/kinova.urdf")


@pytest.fixture(scope="module")
def parameters():
    system = quadrotor()
    return system.parameters(system.open_bodies)


def information(rng, rank=10, size=10):
    J = rng.standard_normal((3 * size, rank)) @ rng.standard_normal((rank, size))
    return J.T @ J


# ---------------------------------------------------------------------------------------------------------- recordings


@pytest.mark.parametrize("name", statistics.MOVED)
def test_recordings_are_of_the_model_with_the_noise_that_it_is_told(name):
    """At the truth w, residuals and the first state are chi-square; 1e-4 of chance would fail each."""
    described = statistics._described(name)
    rng = np.random.default_rng(2)
    flown = fly(statistics.another(described, rng), rng, equivalent=False)
    parameters = flown.system.parameters(described.open_bodies)
    motion = flown.motion(parameters)
    off, theta = flown.commanded - flown.u, parameters.nominal_theta
    w = np.zeros(motion.noise_std.shape)
    w[:, : len(motion.noisy_commands)] = off[: len(w), motion.noisy_commands]
    f, r = motion.evaluate(0, flown.x[:-1], w, theta)
    left = motion.manifold.difference(f, flown.x[1:]) / flown.noise
    away = motion.manifold.difference(flown.start.mean[None], flown.x[:1])[0]
    by_commands = (w / motion.noise_std)[:, : len(motion.noisy_commands)]
    assert by_commands.shape[1] == off.shape[1]
    for each in (left, r, by_commands, away / np.repeat(START, len(away) // 2)):
        assert 5e-5 < stats.chi2.cdf(np.sum(each**2), each.size) < 1 - 5e-5
    # what one is disturbed by does not show in another
    every = np.hstack([left, r, by_commands])
    assert np.abs(np.corrcoef(every.T) - np.eye(every.shape[1])).max() < 5.5 / np.sqrt(len(left))


def test_another_body_is_another_each_time():
    system = statistics._described("Quadrotor")
    own = system.parameters(()).all_inertials
    bodies = [statistics.another(system, np.random.default_rng(k)).inertials for k in range(50)]
    assert all(is_consistent(pi).all() for pi in bodies)
    half_logs = 0.5 * np.log([pi[0, 0] / own[0, 0] for pi in bodies])
    assert 0.07 < np.std(half_logs) < 0.13 and abs(half_logs.mean()) < 0.06


# ------------------------------------------------------------------------------------------------------------ measures


def test_squared_errors_are_those_of_what_is_seen(rng):
    e, S = rng.standard_normal(10), information(rng)
    value, degrees = squared_error(e, np.linalg.inv(S))
    assert value == pytest.approx(e @ S @ e) and degrees == 10
    S = information(rng, rank=7)
    value, degrees = squared_error(e, linalg.pinvh(S), linalg.null_space(S))
    assert value == pytest.approx(e @ S @ e) and degrees == 7


def test_slopes_of_physical_quantities(parameters):
    pi = parameters.all_inertials[0]
    ahead, behind = (np.array([physical(pi + s * 1e-6 * d) for d in np.eye(10)]) for s in (1, -1))
    np.testing.assert_allclose(physical_slopes(pi), (ahead - behind).T / 2e-6, rtol=1e-6, atol=1e-8)


def test_inertial_errors_and_their_slopes(parameters, rng):
    theta = parameters.nominal_theta + 0.01 * rng.standard_normal(10)
    e, D = inertial_error(parameters, theta)
    np.testing.assert_allclose(e, parameters.chart.to_inertial(theta) - parameters.all_inertials[0])
    differences = [
        (inertial_error(parameters, theta + d)[0] - inertial_error(parameters, theta - d)[0]) / 2e-6
        for d in 1e-6 * np.eye(10)
    ]
    np.testing.assert_allclose(D, np.transpose(differences), rtol=1e-6, atol=1e-8)


def test_what_moves_along_unseen_combinations_has_no_interval(parameters, rng):
    """Of a body whose density is not seen: mass and inertia have none, the centre of mass and the shape have."""
    theta, P = parameters.nominal_theta + 0.01, np.diag(np.linspace(0.01, 0.1, 10) ** 2)
    every = errors_in_std(parameters, theta, P, np.zeros((10, 0)))
    assert None not in every.values() and set(PHYSICAL) < set(every) and len(every) == 20
    assert every["alpha"] == pytest.approx(1.0) and every["t3"] == pytest.approx(0.1)
    # m = e^(2 alpha), the centre of mass is t
    assert every["mass"] == pytest.approx((1 - np.exp(-0.02)) / (2 * 0.01)) and every["cz"] == pytest.approx(
        0.1
    )
    seen = errors_in_std(parameters, theta, P, np.eye(10)[:, :1])
    inertia = [name for name in PHYSICAL if name.startswith("I")]
    assert [name for name, value in seen.items() if value is None] == ["alpha", "mass", *inertia]


def test_the_measures_tell_a_wrong_covariance(rng):
    """With a standard deviation that is a quarter too small, or too large, both are outside their bands."""
    z = rng.standard_normal((200, 10))
    for factor, fits in ((1.0, True), (1.25, False), (0.8, False)):
        row = mean_in_band([(float(np.sum((factor * e) ** 2)), 10) for e in z])
        assert (row["band"][0] < row["nees_mean"] < row["band"][1]) is fits
        assert (row["chi_square_p"] > 0.01) is fits
        shares = coverage([{"off": {str(k): factor * e[k] for k in range(10)}} for e in z])
        low, high = covered_band(200)
        assert all(low <= share <= high for share in shares.values()) is fits
    assert covered_band(200) == [0.905, 0.985]
    low, high = stats.chi2.ppf([0.005, 0.995], 3000) / 200
    assert mean_in_band([(10.0, 10), (20.0, 20)] * 100)["band"] == pytest.approx([low, high])


def test_coverage_leaves_out_what_some_recording_does_not_see():
    assert coverage([{"off": {"a": 1.0, "b": None}}, {"off": {"a": 3.0, "b": 0.1}}]) == {"a": 0.5}


def test_errors_of_pi_are_chi_square_where_those_of_a_chart_are_not(parameters):
    """One combination is known a hundred times worse than all others: straight in pi, it is bent in the chart."""
    rng = np.random.default_rng(3)
    theta, chart = parameters.nominal_theta, parameters.chart
    scale = parameters.natural_scale(theta)
    weak = scale * rng.standard_normal(10)
    weak /= np.linalg.norm(weak / scale)
    D = chart.jacobian(theta)
    P_pi = D @ (0.05**2 * np.outer(weak, weak) + np.diag((5e-4 * scale) ** 2)) @ D.T
    pairs = {"theta": [], "pi": []}
    for pi in rng.multivariate_normal(parameters.all_inertials[0], P_pi, 500):
        found = chart.from_inertial(pi)
        e, slope = inertial_error(parameters, found)
        back = np.linalg.inv(slope)
        pairs["theta"].append(squared_error(found - theta, back @ P_pi @ back.T))
        pairs["pi"].append(squared_error(e, P_pi))
    low, high = mean_in_band(pairs["pi"])["band"]
    assert low < mean_in_band(pairs["pi"])["nees_mean"] < high
    assert mean_in_band(pairs["theta"])["nees_mean"] > high


# ------------------------------------------------------------------------------------------------------------ the case


def test_errors_are_as_large_as_the_covariance_says():
    with ThreadPoolExecutor(1) as executor:
        result = statistics.run(5, recordings=6, robots=("Quadrotor",), executor=executor, quick=True)
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    asked = {"system", "recordings", "solved", "degrees", "nees_mean", "band", "coverage", "covered_band"}
    (row,) = result.rows
    assert asked < set(row) and row["solved"] == row["recordings"] == 6 and row["degrees"] == 10
    for judged in (row, *row["others"].values()):
        assert judged["band"][0] < judged["nees_mean"] < judged["band"][1]
    assert set(row["others"]) == {"pi", "middle state", "last state"}
    assert len(row["coverage"]) == 20 and min(row["coverage"].values()) >= row["covered_band"][0]
    assert result.name == "optimal-estimation" and all(result.figures["nees_in_band"].values())
    assert result.figures["outside_band"] == result.figures["outside_band_of_all"] == {"Quadrotor": []}
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())
    assert [line["of"] for line in result.tables["Squared errors"]][:2] == ["theta", "pi"]


def test_the_arm_is_solved_from_the_description():
    """From the hand as it is described to one 2 cm off."""
    found = statistics.attempt(statistics.Job("Kinova", 0, 5))
    assert found["ending"] == "solved" and found["iterations"] < 20
    assert stats.chi2.cdf(*found["squares"]["theta"]) < 1 - 1e-4


def test_rows_count_only_what_was_solved():
    pairs = dict.fromkeys(("theta", "pi"), (10.0, 10))
    solved = {"converged": True, "ending": "solved", "iterations": 5, "squares": pairs, "off": {"mass": 0.5}}
    failed = {"converged": False, "ending": "step_limit", "iterations": 60}
    row = statistics.judged("Quadrotor", [solved, failed])
    assert (row["recordings"], row["solved"], row["coverage"]) == (2, 1, {"mass": 1.0})
    none = statistics.judged("Quadrotor", [failed])
    assert none["solved"] == 0 and none["nees_mean"] is None and none["coverage"] is None
    assert statistics._figures([none])["solved_fraction"] == {"Quadrotor": 0.0}
    assert "none of 1 recordings" in statistics._lead([none])
    assert statistics._errors_table(none) == [] and statistics._pictures({"Quadrotor": [failed]}) == {}
