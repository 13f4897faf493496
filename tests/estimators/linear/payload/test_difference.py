from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate.estimate import validate
from poinsot.estimators.linear.payload.difference import PayloadDifference
from poinsot.estimators.linear.payload.draws import Resampling
from poinsot.estimators.linear.payload.identification import PayloadIdentification
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.inertia.parameters import center_of_mass, inertia_at_com
from poinsot.models.robot.drive import Drive
from poinsot.parameters import Normal
from references.dense_regression import torque
from references.loaded_arm import GAINS, LOAD, arm, carrying, drawn, motion, problem, recorded, truth

KNOWN = replace(arm(), drive=Drive(gain=tuple(GAINS.tolist())))


def torques(noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [
        recorded(each, noise * rng.standard_normal((600, 4)), quantity="torque") for each in (False, True)
    ]


def test_without_noise_the_load_is_found():
    estimate = PayloadDifference().solve(problem(torques(1e-9)))
    load = estimate.payload
    np.testing.assert_allclose(load.inertial, LOAD, atol=1e-7)
    np.testing.assert_allclose(load.center_of_mass, center_of_mass(LOAD), atol=1e-7)
    np.testing.assert_allclose(load.inertia_at_com, inertia_at_com(LOAD), atol=1e-7)
    assert estimate.method == "payload" and "drive_gains" not in estimate.extras
    assert estimate.rows == 600 * 4  # the robot's own, without the load
    assert estimate.certificate().holds


def test_what_stands_alone_is_subtracted():
    """The last body's parameters that are not regrouped: with the load less without it, in the body's own frame."""
    found = problem(torques(0.1), link="link4")
    load = PayloadDifference("none").solve(found).payload
    from poinsot.estimators.linear.least_squares import LeastSquares
    from poinsot.regression.inverse_dynamics import inverse_dynamics

    without, with_ = (LeastSquares().solve(inverse_dynamics(arm(), part.signals)) for part in found.parts)
    alone = [name for name in without.names if name.endswith("4") and not name.startswith(("f", "o"))]
    assert "mz4" in alone and len(alone) >= 5
    for name in alone:
        symbol = f"{name[:-1]}L"
        from poinsot.regression.attachment import LOAD_NAMES

        place = LOAD_NAMES.index(symbol)
        rest = with_[name] - without[name]
        # generalized least squares weighs what the other parameters say of it too
        assert abs(load.inertial[place] - rest) < 2 * np.sqrt(load.covariance[place, place]) + 1e-3


def test_directly_and_by_difference_agree():
    found = problem(torques(0.05))
    direct = PayloadIdentification(resampling=Resampling(200)).solve(found).payload
    apart = PayloadDifference().solve(found).payload
    for one, other, std in (
        (direct.mass, apart.mass, apart.mass_std),
        (direct.center_of_mass, apart.center_of_mass, apart.center_of_mass_std),
        (direct.inertia_at_com, apart.inertia_at_com, apart.inertia_at_com_std),
    ):
        assert np.all(np.abs(np.asarray(one) - other) < 3 * np.asarray(std))
    assert 0.5 < direct.mass_std / apart.mass_std < 2.0


def test_errors_are_as_large_as_they_claim():
    """Mass and centre, 40 runs of four related quantities: 95 % within 1.96 standard deviations, less three errors of
    a share of 40.
    """
    errors = []
    for seed in range(40):
        load = PayloadDifference().solve(problem(torques(0.3, seed))).payload
        center = (load.center_of_mass - center_of_mass(LOAD)) / load.center_of_mass_std
        errors.append([(load.mass - LOAD[0]) / load.mass_std, *center])
    assert np.mean(np.abs(errors) < 1.96) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)
    assert np.all(np.abs(np.sqrt(np.mean(np.square(errors), axis=0)) - 1) < 0.45)


def test_friction_may_change_with_the_load():
    """Twice the friction under load misleads the direct regression, and not the difference."""
    _time, q, v, a = motion()
    theta = carrying(truth())
    friction = np.array([kind in ("viscous", "coulomb") for kind in arm().parameters.kinds])
    theta[friction] *= 2.0
    free, loaded = torques(0.01)
    warm = replace(
        loaded,
        tau=torque(arm(), theta, arm().configurations(q), v, a)
        + loaded.tau
        - recorded(True, quantity="torque").tau,
    )
    found = problem([free, warm])
    apart = PayloadDifference().solve(found).payload
    direct = PayloadIdentification(resampling=Resampling(20)).solve(found).payload
    assert abs(apart.mass - LOAD[0]) < 4 * apart.mass_std < 0.05
    assert abs(direct.mass - LOAD[0]) > 5 * abs(apart.mass - LOAD[0])


def test_a_known_mass_helps_the_rest():
    found = problem(torques(0.3), held={"mL": float(LOAD[0])})
    load = PayloadDifference().solve(found).payload
    free = PayloadDifference().solve(problem(torques(0.3))).payload
    assert load.known == ("mass",) and load.mass == LOAD[0] and load.mass_std == 0
    assert np.all(load.center_of_mass_std < free.center_of_mass_std)


def test_known_gains_are_used():
    estimate = PayloadDifference().solve(problem(drawn(0, white=0.01), robot=KNOWN))
    assert estimate.payload.mass == pytest.approx(3.0, abs=4 * estimate.payload.mass_std)
    np.testing.assert_array_equal(estimate.drive_gains.values, GAINS)
    assert validate(estimate, [("free", recorded(False))]).validation[0].relative_error_percent < 2


def test_unknown_gains_are_refused():
    with pytest.raises(
        NotIdentifiable, match="a load cannot be identified by difference with unknown drive gains"
    ):
        PayloadDifference().solve(problem(held={"mL": 3.0}))


def test_both_recordings_must_show_the_same():
    """Under load the second axis stands still."""
    free, loaded = torques(0.01)
    still = replace(loaded, v=loaded.v * [1, 0, 1, 1], a=loaded.a * [1, 0, 1, 1], q=loaded.q * [1, 0, 1, 1])
    with pytest.raises(NotIdentifiable, match="recordings with and without the load determine different"):
        PayloadDifference().solve(problem([free, still]))


def test_what_is_held_of_the_carrying_body_is_refused():
    with pytest.raises(InvalidMethod, match="mz4 is held, but the load changes it too"):
        PayloadDifference().solve(problem(torques(0.01), held={"mz4": 0.1}))


def test_a_prior_is_on_one_robot_or_the_other():
    with pytest.raises(InvalidMethod, match="the priors on fv1 hold for the robot without the load only"):
        PayloadDifference().solve(problem(torques(0.01), priors={"fv1": Normal(1.0, 0.1)}))


@pytest.mark.parametrize("loaded", [(True, True), (False, False)])
def test_recordings_with_the_load_and_without_are_needed(loaded):
    with pytest.raises((NotIdentifiable, InvalidMethod), match="carries the load"):
        PayloadDifference().solve(problem(torques(0.01), loaded=loaded))
