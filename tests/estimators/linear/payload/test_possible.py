from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.linear.constraints import BodyConstraint, Box
from poinsot.estimators.linear.payload.draws import Resampling
from poinsot.estimators.linear.payload.identification import PayloadIdentification
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.inertia.parameters import is_consistent, pseudo_inertia
from poinsot.models.robot.drive import Drive
from references.dense_regression import stacked
from references.loaded_arm import GAINS, LOAD, arm, drawn, problem, recorded
from references.robots import chain, own_parameters

FEW = Resampling(draws=20)
KNOWN = replace(arm(), drive=Drive(gain=tuple(GAINS.tolist())))
POSSIBLE = PayloadIdentification(possible=True, resampling=FEW)


@pytest.fixture(scope="module")
def impossible():
    """A recording whose noise makes the unconstrained load impossible."""
    for seed in range(20):
        signals = drawn(seed, white=0.3)
        load = PayloadIdentification(resampling=FEW).solve(problem(signals, robot=KNOWN)).payload
        if not load.physically_consistent:
            return signals
    raise AssertionError("no noise makes the load impossible")


def test_a_load_that_is_possible_stays_as_it_is():
    found = problem(drawn(0, white=0.001), robot=KNOWN)
    free = PayloadIdentification(resampling=FEW).solve(found)
    assert free.payload.physically_consistent
    possible = POSSIBLE.solve(found)
    np.testing.assert_array_equal(possible.payload.inertial, free.payload.inertial)
    assert possible.certificate().holds


def test_it_is_the_optimum_that_another_formulation_finds(impossible):
    """CVXPY on the stacked rows, at the same weights."""
    cvxpy = pytest.importorskip("cvxpy")
    found = problem(impossible, robot=KNOWN)
    estimate = POSSIBLE.solve(found)
    W, y = stacked(found)
    w = np.asarray(estimate.settings["joint_weights"])
    A, b = (W * w[:, None]).reshape(-1, W.shape[2]), (y * w).ravel()
    theta = cvxpy.Variable(W.shape[2])
    unit = pseudo_inertia(np.eye(10))
    J = sum(theta[W.shape[2] - 10 + k] * unit[k] for k in range(10))
    Q, R = np.linalg.qr(A)
    free = PayloadIdentification(resampling=FEW).solve(found).payload  # the margin is in units of its size
    size = np.diag([1 / np.linalg.norm(free.center_of_mass)] * 3 + [1.0]) / np.sqrt(free.mass)
    scaled = size @ J @ size
    cost = cvxpy.sum_squares(R @ theta - Q.T @ b)
    cvxpy.Problem(cvxpy.Minimize(cost), [(scaled + scaled.T) / 2 - 1e-6 * np.eye(4) >> 0]).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    error = np.linalg.norm(R @ (estimate.values - theta.value))  # in standard deviations
    assert error < 1e-3
    assert np.linalg.norm(R @ (estimate.values - np.linalg.lstsq(A, b, rcond=None)[0])) > 0.3


@pytest.mark.parametrize("case", ["known gains", "known mass"])
def test_an_impossible_load_becomes_the_nearest_that_can_be(impossible, case):
    known = case == "known gains"
    held = None if known else {"mL": float(LOAD[0])}
    found = problem(impossible, robot=KNOWN if known else arm(), held=held)
    free = PayloadIdentification(resampling=FEW).solve(found)
    estimate = POSSIBLE.solve(found)
    assert any("the load is physically impossible" in warning for warning in free.warnings)
    assert estimate.payload.physically_consistent and is_consistent(estimate.payload.inertial)
    assert estimate.payload.min_pseudo_inertia_eigenvalue > 0
    assert not any("physically impossible" in warning for warning in estimate.warnings)
    certificate = estimate.certificate()
    assert certificate.holds and certificate.stationarity < 1e-6
    assert estimate.fit.relative_error_percent >= free.fit.relative_error_percent - 1e-6
    if not known:
        assert np.all(np.abs(estimate.drive_gains.values / free.drive_gains.values - 1) < 0.1)


def test_another_possible_load_is_not_as_good(impossible):
    """The certificate notices a load that is possible but not the best."""
    found = problem(impossible, robot=KNOWN)
    estimate = POSSIBLE.solve(found)
    values = estimate.values.copy()
    values[-10:] = LOAD
    assert not estimate.updated(values=values).certificate().holds
    values[-10:] = PayloadIdentification(resampling=FEW).solve(found).values[-10:]
    assert not estimate.updated(values=values).certificate().feasible


def test_a_constraint_is_obeyed_and_proved(impossible):
    box = Box((-0.01, -0.01, -0.01), (0.01, 0.01, 0.11))
    method = PayloadIdentification(constraint=BodyConstraint(center_of_mass=box), resampling=FEW)
    estimate = method.solve(problem(impossible, robot=KNOWN))
    center = estimate.payload.center_of_mass
    assert np.all(center >= np.array(box.low) - 1e-6) and np.all(center <= np.array(box.high) + 1e-6)
    assert center[1] == pytest.approx(0.01, abs=1e-6)  # 0.1 in truth: it is at the wall
    assert estimate.payload.physically_consistent and estimate.certificate().holds


def test_constraints_that_no_load_satisfies_are_named():
    method = PayloadIdentification(constraint=BodyConstraint(mass=(1.0, 2.0)), resampling=FEW)
    with pytest.raises(InvalidMethod, match=r"no load satisfies all of: .*a mass between 1 and 2 kg of"):
        method.solve(problem([recorded(False), recorded(True)], held={"mL": 3.0}))


def test_where_the_motion_shows_less_than_ten_that_remains_open():
    from poinsot.regression.inverse_dynamics import inverse_dynamics
    from references.dense_regression import signals_of, smooth_motion

    robot, rng = chain("zy", [0.0, 0.4]), np.random.default_rng(1)
    signals = signals_of(robot, own_parameters(robot, rng), smooth_motion(robot, 300, rng))
    noisy = [
        replace(signals, tau=signals.tau + 0.1 * rng.standard_normal(signals.tau.shape)) for _ in range(2)
    ]
    found = inverse_dynamics(robot, noisy, loaded=(False, True))
    with pytest.raises(
        NotIdentifiable, match=r"do not determine .*, so physical possibility of the load cannot be"
    ):
        POSSIBLE.solve(found)
    load = PayloadIdentification(resampling=FEW).solve(found).payload
    assert load.physically_consistent is None and np.isnan(load.inertial).any()
