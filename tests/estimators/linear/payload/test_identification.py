from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimate.estimate import predict, validate
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.estimators.linear.payload.draws import Resampling, certify
from poinsot.estimators.linear.payload.identification import PayloadIdentification
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.inertia.parameters import center_of_mass, inertia_at_com
from poinsot.models.robot.drive import Drive
from poinsot.parameters import Normal
from references.loaded_arm import GAINS, LOAD, TOOL, arm, drawn, efforts, problem, recorded, truth

FEW = Resampling(draws=20)
KNOWN = replace(arm(), drive=Drive(gain=tuple(GAINS.tolist())))
WEIGHED = {"mL": float(LOAD[0])}


def noise_free(quantity="current"):
    return [recorded(each, quantity=quantity) for each in (False, True)]


@pytest.fixture(scope="module")
def noisy():
    """Gains, load and robot from currents with noise and a known mass."""
    return PayloadIdentification().solve(problem(drawn(0, white=0.02, own=0.03, common=0.05), held=WEIGHED))


def same_as_truth(estimate, tolerance):
    expected = estimate.problem.base.map @ np.concatenate([truth(), LOAD])
    scale = np.abs(expected) + 0.01 * np.abs(expected).max()
    assert np.all(np.abs(estimate.values - expected) < tolerance * scale)


@pytest.mark.parametrize("case", ["torque", "known gains", "known mass"])
def test_without_noise_everything_is_found(case):
    signals = noise_free("torque" if case == "torque" else "current")
    robot = KNOWN if case == "known gains" else arm()
    held = WEIGHED if case == "known mass" else None
    estimate = PayloadIdentification(resampling=FEW).solve(problem(signals, robot=robot, held=held))
    load = estimate.payload
    assert estimate.status in (Status.solved, Status.partly) and estimate.method == "payload"
    assert load.link == "tool"
    np.testing.assert_allclose(load.inertial, LOAD, atol=1e-5)
    np.testing.assert_allclose(load.center_of_mass, center_of_mass(LOAD), atol=1e-5)
    np.testing.assert_allclose(load.inertia_at_com, inertia_at_com(LOAD), atol=1e-5)
    assert load.physically_consistent
    if case == "torque":
        assert "drive_gains" not in estimate.extras
        same_as_truth(estimate, 1e-6)
    else:
        np.testing.assert_allclose(estimate.drive_gains.values, GAINS, rtol=1e-6)
        assert estimate.drive_gains.identified is (case == "known mass")


def test_noise_in_the_currents_does_not_bias_gains():
    """Mean over 12 recordings, against the standard error of that mean."""
    method = PayloadIdentification(resampling=FEW)
    gains = [
        method.solve(problem(drawn(seed, white=0.1), held=WEIGHED)).drive_gains.values for seed in range(12)
    ]
    output = np.array(gains) / GAINS - 1
    error = output.std(axis=0, ddof=1) / np.sqrt(12)
    assert np.all(np.abs(output.mean(axis=0)) < 4 * error) and error.max() < 0.01


def test_gains_held_give_the_mass_in_another_recording(noisy):
    other = problem(drawn(1, white=0.02, own=0.03, common=0.05))
    estimate = PayloadIdentification(gains=noisy.drive_gains).solve(other)
    load = estimate.payload
    assert "mass" in load.identifiable and "mass" not in load.known
    assert abs(load.mass - LOAD[0]) < 4 * load.mass_std < 0.3
    assert not estimate.drive_gains.identified
    np.testing.assert_array_equal(estimate.drive_gains.covariance, noisy.drive_gains.covariance)
    exact = PayloadIdentification(gains=replace(noisy.drive_gains, covariance=np.zeros((4, 4)))).solve(other)
    assert exact.payload.mass == pytest.approx(load.mass, rel=1e-9)
    assert exact.payload.mass_std < load.mass_std  # gains that are not exact add to it


def test_uncertain_gains_make_the_mass_uncertain_by_their_part():
    """var(mass) = what it is with exact gains + sum of (dm/dk std_k)^2, with 1000 draws to 10 %."""
    std = 0.02 * GAINS
    signals = drawn(7, white=0.02)

    def mass(gains, **uncertain):
        robot = replace(arm(), drive=Drive(gain=tuple(gains.tolist())))
        return PayloadIdentification(**uncertain).solve(problem(signals, robot=robot)).payload

    slope = [
        (mass(GAINS + step, resampling=FEW).mass - mass(GAINS - step, resampling=FEW).mass) / (2 * step.sum())
        for step in np.diag(0.005 * GAINS)
    ]
    exact = mass(GAINS, resampling=Resampling(1000)).mass_std
    expected = np.sqrt(exact**2 + np.sum((slope * std) ** 2))
    found = mass(GAINS, gain_std=std.tolist(), resampling=Resampling(1000)).mass_std
    assert exact < 0.5 * expected
    assert found == pytest.approx(expected, rel=0.1)


def test_the_certificate_holds_and_notices_changes(noisy):
    certificate = noisy.certificate()
    assert certificate.holds and certificate.stationarity < 1e-10
    changed = noisy.values.copy()
    changed[0] *= 1.01
    assert not noisy.updated(values=changed).certificate().holds
    gains = noisy.problem.robot.train.gain * [1.01, 1, 1, 1]

    found = replace(noisy.certifier.args[0], problem=noisy.problem.with_gains(gains))
    assert not replace(noisy, certifier=partial(certify, found)).certificate().holds


def test_known_gains_are_weighted_least_squares():
    signals = drawn(2, white=0.05, own=0.05)
    found = problem(signals, robot=KNOWN)
    ours = PayloadIdentification(resampling=FEW).solve(found)
    weighted = LeastSquares("per-joint", step_tolerance=1e-9).solve(found)
    np.testing.assert_allclose(ours.values, weighted.values, atol=1e-5 * np.abs(weighted.values).max())
    np.testing.assert_allclose(ours.white_std, weighted.white_std, rtol=1e-5)
    assert ours.certificate().holds


def test_the_link_is_only_a_frame(noisy):
    """The same load in the frame of the body: same mass, centre moved, residuals the same."""
    other = PayloadIdentification(resampling=FEW).solve(replace_link(noisy))
    placed = TOOL.rotation @ noisy.payload.center_of_mass + TOOL.translation
    np.testing.assert_allclose(other.payload.center_of_mass, placed, atol=1e-7)
    turned = TOOL.rotation @ noisy.payload.inertia_at_com @ TOOL.rotation.T
    np.testing.assert_allclose(other.payload.inertia_at_com, turned, atol=1e-7)
    np.testing.assert_allclose(other.drive_gains.values, noisy.drive_gains.values, rtol=1e-8)
    assert other.payload.link == "link4"


def replace_link(estimate):
    return problem([replace(part.signals) for part in estimate.problem.parts], link="link4", held=WEIGHED)


def test_a_prior_on_the_centre_of_mass_is_one_more_measurement():
    """Sure, it decides; vague, it does nothing; as sure as the data, it moves the centre half way."""
    found = problem(drawn(3, white=0.1), robot=KNOWN)
    free = PayloadIdentification(resampling=FEW).solve(found)
    center = free.payload.center_of_mass

    def with_prior(of, mean, std):
        prior = tuple(Normal(float(m), float(s)) for m, s in zip(mean, std, strict=True))
        return PayloadIdentification(center_of_mass=prior, resampling=FEW).solve(of)

    sure = with_prior(found, [0.0, 0.05, 0.1], [1e-7] * 3)
    np.testing.assert_allclose(sure.payload.center_of_mass, [0.0, 0.05, 0.1], atol=1e-5)
    assert sure.certificate().holds
    vague = with_prior(found, [0.0, 0.05, 0.1], [1e3] * 3)
    np.testing.assert_allclose(vague.payload.center_of_mass, center, atol=1e-8)
    weighed = problem([part.signals for part in found.parts], robot=KNOWN, held=WEIGHED)
    free = PayloadIdentification(resampling=FEW).solve(weighed)
    before = float(free.payload.center_of_mass[0])
    same = free.white_std[free.names.index("mxL")] / LOAD[0]
    half = with_prior(weighed, [before + 2 * same, 0, 0], [same, 1e3, 1e3])
    # 5 %: residuals grow a little, and weights with them
    assert half.payload.center_of_mass[0] - before == pytest.approx(same, rel=0.05)


def test_a_prior_on_the_centre_with_unknown_gains(noisy):
    prior = tuple(Normal(float(c), 1e-6) for c in center_of_mass(LOAD))
    signals = [part.signals for part in noisy.problem.parts]
    estimate = PayloadIdentification(center_of_mass=prior, resampling=FEW).solve(
        problem(signals, held=WEIGHED)
    )
    np.testing.assert_allclose(estimate.payload.center_of_mass, center_of_mass(LOAD), atol=1e-5)
    assert estimate.certificate().holds


def test_a_mass_that_is_nearly_known_sets_the_scale():
    """Its uncertainty is that of all gains together."""
    signals = drawn(4, white=0.001)
    prior = {"mL": Normal(float(LOAD[0]), 0.03)}
    estimate = PayloadIdentification().solve(problem(signals, priors=prior))
    gains = estimate.drive_gains
    np.testing.assert_allclose(gains.std / gains.values, 0.01, rtol=0.25)
    assert estimate.payload.mass_std == pytest.approx(0.03, rel=0.25)
    assert np.min(gains.covariance / np.outer(gains.std, gains.std)) > 0.9  # up or down together
    assert estimate.certificate().holds


def test_a_mass_and_gains_that_are_both_known_are_compared():
    signals = drawn(5, white=0.02)
    agree = PayloadIdentification(resampling=FEW).solve(problem(signals, robot=KNOWN, held=WEIGHED))
    assert any(
        "The load's mass is held at 3 kg; with these gains, the recordings alone give" in note
        for note in agree.notes
    )
    wrong = PayloadIdentification(resampling=FEW).solve(problem(signals, robot=KNOWN, held={"mL": 4.0}))
    assert any(
        "the load's mass is known as 4 kg, but with these gains, the recordings alone give" in each
        for each in wrong.warnings
    )
    identified = PayloadIdentification(identify_gains=True, resampling=FEW)
    again = identified.solve(problem(signals, robot=KNOWN, held=WEIGHED))
    assert again.drive_gains.identified
    np.testing.assert_allclose(again.drive_gains.values, GAINS, rtol=0.05)


def test_poorly_known_gains_are_named_with_the_reason():
    estimate = PayloadIdentification().solve(problem(drawn(6, white=0.3, own=0.3), held=WEIGHED))
    assert estimate.drive_gains.poorly_known[0] and not estimate.drive_gains.by_gravity[0]
    said = [note for note in estimate.notes if note.startswith("The drive gain of j1 is poorly known, to +-")]
    assert said and "gravity does not act on this joint, only inertia does" in said[0]


def test_the_efforts_of_other_recordings_are_predicted(noisy):
    """In N m, by the gains that were found."""
    free, loaded = drawn(9, white=0.01)
    estimate = validate(noisy, [("free", free), ("loaded", loaded)], loaded=["loaded"])
    for fit, carries in zip(estimate.validation, (False, True), strict=True):
        assert fit.units == ("N m",) * 4
        assert np.linalg.norm(fit.predicted - efforts(carries)) < 0.05 * np.linalg.norm(efforts(carries))
        assert all(moving > 0 for moving in fit.moving_error_percent_per_joint)
    wrong = predict(noisy, loaded, "loaded", loaded=False)
    assert wrong.relative_error_percent > 5 * estimate.validation[1].relative_error_percent


def test_an_estimate_without_a_load_cannot_predict_one():
    from poinsot.regression.inverse_dynamics import inverse_dynamics

    estimate = LeastSquares().solve(inverse_dynamics(arm(), recorded(False, quantity="torque")))
    with pytest.raises(InvalidMethod, match="carries a load in recording 'run', but this estimate is of"):
        predict(estimate, recorded(True, quantity="torque"), "run", loaded=True)


# ------------------------------------------------------------------------------------------ what cannot be


def test_neither_gains_nor_mass_is_only_ratios():
    with pytest.raises(NotIdentifiable, match="not identifiable: only ratios"):
        PayloadIdentification().solve(problem())


@pytest.mark.parametrize("loaded", [(True, True), (False, False)])
def test_recordings_with_the_load_and_without_are_needed(loaded):
    kind = NotIdentifiable if all(loaded) else InvalidMethod
    sentence = "every recording carries the load" if all(loaded) else "no recording carries the load"
    with pytest.raises(kind, match=sentence):
        PayloadIdentification().solve(problem(loaded=loaded, held=WEIGHED))


def test_a_load_must_weigh_something():
    with pytest.raises(InvalidMethod, match="the known mass of the load must be above 0, not -1 kg"):
        PayloadIdentification().solve(problem(held={"mL": -1.0}))


def test_gains_of_another_robot_are_refused(noisy):
    other = replace(noisy.drive_gains, joints=("a", "b", "c", "d"))
    with pytest.raises(InvalidMethod, match=r"those of a, b, c, d, the motors those of j1, j2, j3, j4"):
        PayloadIdentification(gains=other).solve(problem())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"estimator": "least-squares"},
            'estimator must be "output-error", not .*benchmarks/ur10e_payload.py',
        ),
        ({"max_iterations": 0}, "max_iterations must be at least 1"),
        ({"identify_gains": True, "gain_std": 1.0}, "gains are given or identified, not both"),
    ],
)
def test_settings_that_contradict_themselves(settings, sentence, unchecked):
    with pytest.raises(InvalidMethod, match=sentence):
        PayloadIdentification(**settings)


def test_gains_come_with_their_own_covariance(noisy):
    with pytest.raises(InvalidMethod, match="give gains, which come with their covariance, or gain_std"):
        PayloadIdentification(gains=noisy.drive_gains, gain_std=0.1)
