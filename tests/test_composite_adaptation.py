"""`examples/composite_adaptation.py`: the task's error of an arm, alone and beside a filter."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from estimators.online.test_filters import CHARTS
from poinsot.estimators.online.belief import Sample
from poinsot.estimators.online.filter import ExtendedKalmanFilter
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.inertia.parameters import is_consistent
from poinsot.models.friction import NoFriction
from poinsot.models.robot.link_torques import LinkTorques
from references.robots import chain, random_inertia

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "composite_adaptation.py"
SPEC = importlib.util.spec_from_file_location("composite_adaptation", EXAMPLE)
example = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = example  # dataclasses look their module up
SPEC.loader.exec_module(example)
CompositeAdaptation, TaskReference = example.CompositeAdaptation, example.TaskReference
reference_regressor = example.reference_regressor

ARM = chain("zyy", [0, 0.1, 0.4], friction=NoFriction(), mass=2.0)
TORQUES = LinkTorques(ARM, ARM.bodies[2:])
LOADED = TORQUES.described + random_inertia(np.random.default_rng(5), mass=4.0).toDynamicParameters()
WHOLE = ExtendedKalmanFilter(LinkTorques(ARM, ARM.bodies), 1.0)
FREQUENCY, SIZE = np.array([2.0, 3.1, 4.3]), np.array([0.6, 0.5, 0.7])
"""Of the sines to follow [rad/s], [rad]."""
RATE = 333.0
GAIN, DAMPING = 5.0, 20.0
"""Of the position's error in v_r [1/s]; K [N m s]."""


def with_body(pi):
    model = ARM.model.copy()
    model.inertias[3] = pin.Inertia.FromDynamicParameters(pi) if pi.any() else pin.Inertia.Zero()
    return model


def followed(adaptation, rng, noise, seconds=2.0, model_error=True):
    """Sliding errors (T, 3), masses (T,) and whether all bodies were possible, of the loaded arm in the loop.

    One tick: the controller's torque from the belief, three steps of the true dynamics, a sample with noisy torques.
    """
    plant = with_body(LOADED[0])
    data, dt = plant.createData(), 1 / RATE
    q, v = np.zeros(3), SIZE * FREQUENCY
    belief, sliding, masses, possible = adaptation.init(), [], [], True
    w, size = FREQUENCY, SIZE
    for k in range(int(seconds * RATE)):
        t = k * dt
        q_d, v_d, a_d = size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)
        reference = TaskReference(v_d - GAIN * (q - q_d), a_d - GAIN * (v - v_d))
        pi = adaptation.filter.inertial(belief.x)
        here = Sample(t, q.copy(), v.copy(), np.zeros(3), np.zeros(3))
        known = reference_regressor(WHOLE, here, reference)[:, :20] @ ARM.inertials[:2].ravel()
        tau = known + reference_regressor(adaptation.filter, here, reference) @ pi[0]
        tau = tau - DAMPING * (v - reference.velocity)
        a = pin.aba(plant, data, q, v, tau)
        sample = Sample(t, q.copy(), v.copy(), a.copy(), tau + noise * rng.standard_normal(3))
        if model_error:
            belief, _ = adaptation.step(belief, sample, reference)
        elif k:
            belief = adaptation.task_update(belief, sample, reference, dt)
        sliding.append(v - reference.velocity)
        masses.append(adaptation.filter.inertial(belief.x)[0, 0])
        if k % 5 == 0:
            possible &= bool(is_consistent(adaptation.filter.inertial(belief.x)).all())
        for _ in range(3):
            a = pin.aba(plant, data, q, v, tau)
            v = v + a * dt / 3
            q = q + v * dt / 3
    return np.array(sliding), np.array(masses), possible


def coriolis_torque(model, q, v, reference):
    """M a_r + C v_r + g with Christoffel's C, by finite differences of the mass matrix: the dense reference."""
    h = 1e-6
    n = len(v)

    def mass(q):
        M = pin.crba(model, model.createData(), q)
        return np.triu(M) + np.triu(M, 1).T

    dM = np.stack([(mass(q + h * e) - mass(q - h * e)) / (2 * h) for e in np.eye(n)], axis=-1)  # i j k
    C = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0)) @ v
    g = pin.computeGeneralizedGravity(model, model.createData(), q)
    return mass(q) @ reference.acceleration + C @ reference.velocity + g


def test_the_reference_regressor_is_that_of_christoffels_coriolis_matrix(rng):
    filter_ = ExtendedKalmanFilter(TORQUES, 1.0)
    for _ in range(5):
        q, v, v_r, a_r = rng.standard_normal((4, 3))
        reference, sample = TaskReference(v_r, a_r), Sample(0.0, q, v, np.zeros(3), np.zeros(3))
        closed = coriolis_torque(with_body(np.zeros(10)), q, v, reference)
        expected = coriolis_torque(ARM.model, q, v, reference) - closed
        found = reference_regressor(filter_, sample, reference) @ TORQUES.described[0]
        # second differences of a function of size 1 with h = 1e-6: rounding 1e-16 / 1e-6
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_the_term_is_minus_gamma_p_times_the_power_that_the_error_takes(rng):
    """s^T Y_r pi(x) by finite differences in x, so signs and units are those of the derivation."""
    filter_ = ExtendedKalmanFilter(TORQUES, 1.0)
    belief = filter_.init()
    q, v, v_r, a_r = rng.standard_normal((4, 3))
    sample, reference = Sample(0.0, q, v, np.zeros(3), np.zeros(3)), TaskReference(v_r, a_r)
    Y, h = reference_regressor(filter_, sample, reference), 1e-6
    slope = [
        (v - v_r) @ Y @ (filter_.inertial(belief.x + e) - filter_.inertial(belief.x - e))[0] / (2 * h)
        for e in h * np.eye(10)
    ]
    moved = CompositeAdaptation(filter_, 0.02).task_update(belief, sample, reference, 0.01)
    np.testing.assert_allclose(moved.x - belief.x, -0.02 * 0.01 * belief.covariance @ slope, atol=1e-9)
    np.testing.assert_array_equal(moved.root, belief.root)


@pytest.mark.parametrize("chart", CHARTS, ids=[type(c).__name__ for c in CHARTS])
def test_the_task_alone_brings_the_error_down_with_bodies_that_can_be(chart):
    filter_ = ExtendedKalmanFilter(TORQUES, 1.0, initial_std=0.5, drift=0.0, chart=chart)
    rng = np.random.default_rng(0)
    alone, _, possible = followed(CompositeAdaptation(filter_, 2.0), rng, 0.0, model_error=False)
    never, _, _ = followed(CompositeAdaptation(filter_, 0.0), rng, 0.0, model_error=False)
    assert possible
    last = slice(-333, None)
    assert rms(alone[last]) < 0.2 * rms(never[last])
    assert rms(alone[last]) < 0.5 * rms(alone[:333])


def test_the_error_of_the_model_and_of_the_task_together_are_faster():
    """Efforts so noisy that the filter alone takes seconds."""
    filter_ = ExtendedKalmanFilter(TORQUES, 200.0, initial_std=0.5, drift=0.0, gate=None)
    (both, mass, possible), (alone, mass_alone, _) = (
        followed(CompositeAdaptation(filter_, gain), np.random.default_rng(1), 200.0) for gain in (1.0, 0.0)
    )
    assert possible
    assert rms(both) < 0.6 * rms(alone)
    assert abs(mass[-1] - LOADED[0, 0]) < abs(mass_alone[-1] - LOADED[0, 0])


def test_what_is_not_finite_changes_nothing_and_wrong_lengths_are_named():
    adaptation = CompositeAdaptation(ExtendedKalmanFilter(TORQUES, 1.0), 1.0)
    belief = adaptation.init()
    sample = Sample(0.0, np.zeros(3), np.ones(3), np.zeros(3), np.zeros(3))
    for bad in (np.nan, np.inf, 1e300):
        moved = adaptation.task_update(belief, sample, TaskReference(np.full(3, bad), np.zeros(3)), 0.003)
        assert np.isfinite(adaptation.filter.inertial(moved.x)).all()
    with pytest.raises(InvalidSignals, match="3 velocities"):
        adaptation.task_update(belief, sample, TaskReference(np.zeros(2), np.zeros(3)), 0.003)
    with pytest.raises(InvalidMethod, match="at least 0"):
        CompositeAdaptation(adaptation.filter, -1.0)


def rms(x):
    return float(np.sqrt(np.mean(x**2)))
