"""What all methods of the family share: recordings in, progress and stop, certificates of the values, kinds of std."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import poinsot
from poinsot.estimate import FullParameters, Payload
from poinsot.estimate.uncertainty import without_systematic
from poinsot.exceptions import InvalidSignals
from poinsot.excitation.design import OptimalExcitation
from poinsot.models.robot.drive import Drive
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

FILTER = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=20)
TRUE = {f"{symbol}{k}": value for k in (1, 2, 3) for symbol, value in (("fv", 0.4), ("fc", 1.2))}
METHODS = {
    "ordinary": poinsot.LeastSquares(),
    "by joint": poinsot.LeastSquares(weighting="per-joint"),
    "robust": poinsot.LeastSquares(weighting="robust"),
    "essential": poinsot.EssentialParameters(),
    "semidefinite": poinsot.SemidefiniteLeastSquares(weighting="per-joint"),
    "affine-invariant": poinsot.SemidefiniteLeastSquares(divergence="affine-invariant", weighing="both"),
    "payload": poinsot.PayloadIdentification(resampling=poinsot.Resampling(draws=30)),
    "difference": poinsot.PayloadDifference(),
}
each_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def arm():
    return poinsot.load_robot("examples/arm/arm.urdf", drive=Drive(rotor_inertia=True))


def recorded(robot, seed, load=0.0):
    """A recording with noise; the last body has ten parameters of a load more."""
    rng = np.random.default_rng(seed)
    theta = model_parameters(robot, **TRUE)
    theta[20:30] += load
    motion = fourier_motion(3, 8.0, 200.0, rng, amplitude=1.5)
    return simulate_recording(robot, theta, motion, Sensors(torque_std=0.05), rng)


@pytest.fixture(scope="module")
def problems(arm):
    """With and without a load of 2 kg at the last link."""
    load = np.array([2.0, 0.1, 0.02, 0.06, 0.02, 0, 0.03, 0, 0, 0.025])
    alone, loaded = recorded(arm, 1), recorded(arm, 2, load)
    return {
        False: poinsot.InverseDynamics(arm, [alone], signals=FILTER),
        True: poinsot.InverseDynamics(arm, [alone, loaded], signals=FILTER, loaded=(False, True)),
    }


def problem_of(name, problems):
    return problems[name in ("payload", "difference")]


@pytest.fixture(scope="module")
def estimates(problems):
    return {name: method.solve(problem_of(name, problems)) for name, method in METHODS.items()}


@pytest.mark.parametrize("method", [*METHODS.values(), OptimalExcitation()], ids=lambda it: type(it).__name__)
def test_every_method_is_called_alike(method):
    signature = inspect.signature(method.solve)
    assert next(iter(signature.parameters)) == "problem"
    for name in ("progress", "stop"):
        argument = signature.parameters[name]
        assert argument.kind is inspect.Parameter.KEYWORD_ONLY and argument.default is None


@each_method
def test_progress_is_reported_and_a_stop_keeps_what_was_found(name, problems, estimates):
    seen = []
    problem = problem_of(name, problems)
    estimate = METHODS[name].solve(problem, progress=seen.append, stop=lambda: True)
    assert seen and all(isinstance(each, poinsot.Progress) and str(each) for each in seen)
    if name == "ordinary":  # nothing to stop: one linear solve
        assert estimate.status is not poinsot.Status.interrupted
        return
    assert estimate.status is poinsot.Status.interrupted and not estimate.status.converged
    assert np.isfinite(estimate.values).all() and np.isfinite(estimate.std[estimate.identifiable]).all()
    assert estimates[name].status.converged


@each_method
def test_the_certificate_is_of_the_values(name, estimates):
    """By a standard deviation of one parameter the values are no longer the optimum."""
    estimate = estimates[name]
    certificate = estimate.certificate()
    assert certificate.holds and certificate.feasible
    full = estimate.extra(FullParameters)
    if full is None:
        place = int(np.flatnonzero(estimate.identifiable)[0])
        moved = estimate.values.copy()
        moved[place] += estimate.std[place]
        perturbed = estimate.updated(values=moved)
    else:
        place = full.names.index("fv1")
        moved = full.values.copy()
        moved[place] += full.std[place]
        perturbed = estimate.updated(replace(full, values=moved))
    assert not perturbed.certificate().holds
    moved = estimate.values.copy()  # of the base values alone
    moved[-1] += estimate.std[-1]
    assert not estimate.updated(values=moved).certificate().holds


@each_method
def test_standard_deviations_are_of_their_kind(name, estimates):
    estimate = estimates[name]
    kinds = {"white": estimate.white_std, "coloured": estimate.coloured_std}
    assert kinds[estimate.std_kind] is not None
    chance = np.sqrt(np.diag(without_systematic(estimate.parameters.uncertainty)))
    np.testing.assert_allclose(chance, kinds[estimate.std_kind])
    assert np.all(estimate.std >= 0.999 * chance)
    if kinds["white"] is not None:  # a posterior has one kind
        assert not np.array_equal(kinds["white"], kinds["coloured"])


@each_method
def test_the_condition_number_is_of_the_whitened_jacobian(name, problems, estimates):
    """From the rows, stacked: the ratio of singular values of w W, on the columns that were estimated."""
    estimate = estimates[name]
    problem = estimate.problem
    weights = np.asarray(estimate.settings["joint_weights"])
    place = [problem.base.index(each) for each in estimate.names]
    rows = np.concatenate(
        [(rows.W[:, :, place] * weights[:, None]).reshape(-1, len(place)) for rows in problem.rows()]
    )
    if name == "robust":  # its curvature is that of the rows that are not clipped
        return
    singular = np.linalg.svd(rows, compute_uv=False)
    assert estimate.condition_number == pytest.approx(singular[0] / singular[-1], rel=1e-6)


def test_recordings_and_their_signals_make_one_problem(arm):
    recording = recorded(arm, 1)
    direct = poinsot.InverseDynamics(arm, [recording], signals=FILTER)
    prepared = poinsot.inverse_dynamics(arm, FILTER.apply(recording))
    np.testing.assert_array_equal(direct.factors(), prepared.factors())
    alone = poinsot.InverseDynamics(arm, recording, FILTER, held={"fv1": 0.4})
    assert alone.parameters.held == {"fv1": 0.4} and alone.steps == prepared.steps
    again = replace(alone, held={})
    np.testing.assert_array_equal(again.factors(), prepared.factors())
    with pytest.raises(InvalidSignals, match="give a method, signals=ButterworthDecimation"):
        poinsot.InverseDynamics(arm, [recording])


def test_other_gains_and_signals_leave_the_base_parameters(arm):
    problem = poinsot.inverse_dynamics(arm, FILTER.apply(recorded(arm, 1)))
    doubled = problem.with_gains(np.full(3, 2.0))
    assert doubled.base is problem.base
    one, two = (poinsot.LeastSquares().solve(each) for each in (problem, doubled))
    np.testing.assert_allclose(two.values, 2 * one.values, rtol=1e-9, atol=1e-12)
    other = problem.with_signals([FILTER.apply(recorded(arm, 3))])
    assert other.base is problem.base and len(other.parts[0]) == len(problem.parts[0])


def test_a_stopped_payload_has_a_load(problems):
    method = poinsot.PayloadIdentification(resampling=poinsot.Resampling(draws=200))
    seen = []
    estimate = method.solve(problems[True], progress=seen.append, stop=lambda: len(seen) > 40)
    assert estimate.status is poinsot.Status.interrupted
    load = estimate.extra(Payload)
    assert abs(load.mass - 2.0) < 5 * load.mass_std
    assert 40 < len(seen) < 50


def test_a_stopped_search_for_a_motion_has_one(arm):
    problem = poinsot.excitation_problem(arm, duration_s=4, rate_hz=50, torque_std=0.1)
    seen = []
    method = poinsot.OptimalExcitation(starts=2)
    found = []

    def progress(each):
        seen.append(each)

    for state in method.search(problem):  # how long until there is a first motion
        found.append(state)
        if state.best is not None:
            break
    motion = method.solve(problem, progress=progress, stop=lambda: len(seen) >= len(found))
    assert motion.status is poinsot.Status.interrupted and motion.limits_respected
    assert len(seen) == len(found) and 0 <= seen[0].fraction <= seen[-1].fraction <= 1
    assert any("was stopped" in warning for warning in motion.warnings)
