"""Essential parameters: what is nothing goes, what is something stays, and what is left is least squares on it."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate.uncertainty import without_systematic
from poinsot.estimators.linear.essential import EssentialParameters
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.models.friction.listed import dissipating_kinds
from poinsot.models.robot.drive import Drive
from poinsot.regression.inverse_dynamics import inverse_dynamics
from references.dense_regression import least_squares, signals_of, smooth_motion, stacked
from references.robots import chain, own_parameters

ARM = chain("zyy", [0, 0.1, 0.4], drive=Drive(rotor_inertia=True))
NOTHING = ("off1", "off2", "off3", "xy2", "yz2", "xy3", "yz3", "mz3")


def problem_of(seed=0, samples=400, noise=0.3, zero=NOTHING):
    generator = np.random.default_rng(seed)
    theta = own_parameters(ARM, np.random.default_rng(5))
    theta[[ARM.parameters.index(name) for name in zero]] = 0.0
    noise = noise * generator.standard_normal((samples, 3))
    problem = inverse_dynamics(ARM, signals_of(ARM, theta, smooth_motion(ARM, samples, generator), noise))
    return problem, problem.base.map @ theta


@pytest.mark.parametrize("weighting", ["none", "per-joint", "robust"])
def test_what_is_nothing_goes_and_what_is_well_seen_stays(weighting):
    problem, truth = problem_of()
    full = LeastSquares(weighting).solve(problem)
    estimate = EssentialParameters(weighting=weighting).solve(problem)
    gone = set(full.names) - set(estimate.names)
    assert gone
    # of the truly zero ones 99 in 100 go; what stands ten deviations from zero stays, friction in any case
    zeros = {name for name, value in zip(full.names, truth, strict=True) if abs(value) < 1e-12}
    assert len(zeros - gone) <= 1
    standing = {
        n for n, value, std in zip(full.names, full.values, full.std, strict=True) if abs(value) > 10 * std
    }
    assert not gone & standing
    assert {
        name for name, kind in zip(full.names, full.kinds, strict=True) if kind in dissipating_kinds()
    } <= set(estimate.names)
    assert estimate.certificate().holds
    removed = {d.combination.split(",")[0] for d in estimate.undetermined if d.reason == "removed"}
    assert removed == gone
    assert f"{len(estimate.names)} essential parameters of {len(full.names)}" in estimate.notes[0]


def test_what_is_left_is_least_squares_on_it():
    problem, _ = problem_of()
    estimate = EssentialParameters().solve(problem)
    W, y = stacked(problem)
    columns = [problem.base.index(name) for name in estimate.names]
    theta, _, covariance = least_squares(W[:, :, columns], y)
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((estimate.values - theta) / std, 0, atol=1e-8)
    np.testing.assert_allclose(estimate.white_std, std, rtol=1e-8)
    poorly_seen = (estimate.white_std > 0.3 * np.abs(estimate.values)) & ~np.isin(
        estimate.kinds, dissipating_kinds()
    )
    refused = {note.split(" ")[0] for note in estimate.notes[1:]}
    assert {name for name, poor in zip(estimate.names, poorly_seen, strict=True) if poor} <= refused


def test_leaving_out_what_matters_a_little_is_refused():
    """A value of three deviations is above the threshold of 30 % and yet no zero, at one percent."""
    problem, _ = problem_of(noise=0.02, zero=())
    full = LeastSquares().solve(problem)
    k = problem.base.index("off1")
    W = np.concatenate([rows.W for rows in problem.rows()])
    (part,) = problem.parts
    std = np.sqrt(np.diag(without_systematic(full.parameters.uncertainty)))
    shift = W[:, :, k] * (3.0 * std[k] - full.values[k])
    problem = replace(problem, recordings=replace(part.signals, tau=part.signals.tau + shift))
    found = LeastSquares().solve(problem)
    np.testing.assert_allclose(found["off1"], 3 * std[k], rtol=1e-6)
    estimate = EssentialParameters(significance=0.01).solve(problem)
    assert "off1" in estimate.names
    assert any(note.startswith("off1 is poorly known, but removing it") for note in estimate.notes)
    assert "off1" not in EssentialParameters(significance=1e-6).solve(problem).names


def test_kinds_and_names_to_keep():
    problem, _ = problem_of()
    kept = EssentialParameters(keep=("off1", "offset", "inertia")).solve(problem)
    names = {name.removesuffix("r") for name in kept.names}
    assert {"off1", "off2", "off3"} <= names
    assert set(NOTHING) - {"off1", "off2", "off3"} <= names
    for keep in (("fv7",), ("coulombs",)):
        with pytest.raises(
            InvalidMethod, match=f"keep names {keep[0]!r}, not a parameter or kind; did you mean"
        ):
            EssentialParameters(keep=keep).solve(problem)


def test_nothing_is_removed_where_everything_is_sure():
    problem, _ = problem_of(noise=1e-6, zero=())
    estimate = EssentialParameters().solve(problem)
    assert estimate.names == LeastSquares().solve(problem).names
    assert estimate.notes == ("every parameter is essential: none was removed",)


def test_an_empty_set_is_an_error():
    problem, _ = problem_of()
    (part,) = problem.parts
    noise = np.random.default_rng(2).standard_normal(part.signals.tau.shape)
    problem = replace(problem, recordings=replace(part.signals, tau=noise))
    with pytest.raises(NotIdentifiable, match="no parameter has a relative standard deviation below 3 %"):
        EssentialParameters(3.0, keep=(), significance=1e-12).solve(problem)


@pytest.mark.parametrize(
    "settings", [{"max_relative_std_percent": 0.0}, {"significance": 0.0}, {"significance": 1.0}]
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(InvalidMethod, match="must be above 0"):
        EssentialParameters(**settings)
