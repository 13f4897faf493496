"""A filter's run as an estimate: what is kept does not grow, what was not used is said, numbers are the belief's."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimators.online import tracking
from poinsot.estimators.online.belief import Sample, SampleVerdict
from poinsot.estimators.online.filter import ExtendedKalmanFilter, Gate, KalmanFilter
from poinsot.estimators.online.tracking import RateLimit, Tracker
from poinsot.exceptions import NotIdentifiable
from poinsot.models.robot.link_torques import LinkTorques
from references.robots import chain

NOISE = 0.1


@pytest.fixture
def torques():
    robot = chain("zyy", [0, 0.3, 0.4])
    return LinkTorques(robot, robot.bodies[-1:])


def samples(torques, rng, count, heavier=1.5):
    """Of a last body that is heavier than described."""
    pi = heavier * torques.described.ravel()
    for k in range(count):
        q, v, a = (x[0] for x in torques.robot.random_states(1, rng))
        Y, tau = torques(q, v, a)
        yield Sample(0.01 * k, q, v, a, tau + Y @ pi + NOISE * rng.standard_normal(len(tau)))


def test_the_estimate_is_the_belief(torques, rng):
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE, initial_std=0.5), RateLimit(3.0))
    tracked = [tracker.update(sample) for sample in samples(torques, rng, 300)]
    estimate = tracker.estimate(settings={"some": 1}, notes=("said",))
    truth = 1.5 * torques.described.ravel()
    error = estimate.values - truth
    # chi-square of ten degrees of freedom, 99.99 %
    assert error @ np.linalg.solve(estimate.covariance, error) < 35.6
    np.testing.assert_array_equal(estimate.values, tracked[-1].bodies.ravel())
    belief = np.sqrt(np.diag(estimate.parameters.uncertainty.readings))
    assert belief[0] == pytest.approx(tracked[-1].mass_std[0])
    assert np.all(estimate.std >= belief)  # errors of the laboratory widen it
    (body,) = estimate.bodies
    assert body.mass == estimate["m." + body.name]
    np.testing.assert_array_equal(body.prior, torques.described[0])
    assert estimate.names[0] == f"m.{body.name}"
    assert estimate.fit.relative_error_percent < 20
    assert estimate.notes == ("said",)
    assert estimate.iterations == 1
    assert estimate.rows == 3 * tracker.verdicts[SampleVerdict.accepted]
    np.testing.assert_array_equal(estimate.white_std, belief)
    assert estimate.coloured_std is None
    assert "foster2024" in estimate.citations
    assert estimate.references()
    # in coordinates of log-Cholesky the body's covariance is the filter's own
    np.testing.assert_allclose(body.covariance, tracker.belief.covariance, rtol=1e-6, atol=1e-12)


def test_what_motion_does_not_show_is_not_called_identifiable(torques, rng):
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE))
    still = next(samples(torques, rng, 1))
    for k in range(50):
        zero = np.zeros_like(still.v)
        Y, tau = torques(still.q, zero, zero)
        measured = tau + Y @ torques.described.ravel() + NOISE * rng.standard_normal(len(tau))
        tracker.update(Sample(0.01 * k, still.q, zero, zero, measured))
    estimate = tracker.estimate()
    assert not estimate.identifiable.all()
    assert estimate.status is Status.partly
    assert {each.combination for each in estimate.undetermined} == {
        name for name, known in zip(estimate.names, estimate.identifiable, strict=True) if not known
    }
    assert tracker.estimate(status=Status.interrupted).status is Status.interrupted


def test_what_is_kept_does_not_grow(torques, rng, monkeypatch):
    monkeypatch.setattr(tracking, "MAX_KEPT", 64)
    monkeypatch.setattr(tracking, "MAX_REJECTIONS", 5)
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE, gate=Gate(0.999)))
    for k, sample in enumerate(samples(torques, rng, 1000, heavier=1.0)):
        if k % 10 == 0:
            sample.tau[:] = 1e6
        tracker.update(sample)
    assert 32 <= len(tracker.kept) < 64
    steps = np.diff([each.time for each in tracker.kept])
    np.testing.assert_allclose(steps, steps[0])
    assert len(tracker.rejections) == 5
    assert tracker.samples == 1000
    assert tracker.verdicts[SampleVerdict.gated] >= 100


def test_stretches_of_rejected_samples(torques, rng):
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE, gate=Gate(1 - 1e-9, patience=100)))
    for k, sample in enumerate(samples(torques, rng, 60, heavier=1.0)):
        if k in (20, 21, 22, 40):
            sample.tau[:] = np.nan if k == 40 else 1e6
        tracker.update(sample, "run")
    gated, unusable = tracker.rejections
    assert (gated.verdict, gated.samples, gated.recording) == (SampleVerdict.gated, 3, "run")
    np.testing.assert_allclose([gated.start_s, gated.stop_s], [0.2, 0.22])
    assert (unusable.verdict, unusable.samples) == (SampleVerdict.unusable, 1)


def test_published_masses_keep_the_rate(torques, rng):
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE, initial_std=1.0), RateLimit(3.0))
    masses = [tracker.update(sample).published[0, 0] for sample in samples(torques, rng, 100, heavier=3.0)]
    assert np.abs(np.diff(masses)).max() <= 0.03 * (1 + 1e-9)
    assert np.abs(np.diff(masses)).max() > 0.029


def test_efforts_that_were_not_read_or_not_trusted_count_nowhere(torques, rng):
    """The same figures with one reading in sixteen, whatever stands in the place of those that are missing."""
    tracker, dense = (Tracker(ExtendedKalmanFilter(torques, NOISE, gate=None)) for _ in range(2))
    for k, sample in enumerate(samples(torques, rng, 480)):
        dense.update(sample)
        tau = sample.tau + np.array([0.0 if k % 16 == 0 else np.nan, 1e6 * (k % 2), 0.0])
        tracker.update(replace(sample, tau=tau, trusted=np.array([True, k % 2 == 0, True])))
    estimate, fit = tracker.estimate(), tracker.estimate().fit
    np.testing.assert_array_equal(fit.readings_per_joint, [30, 240, 480])
    assert estimate.rows == 30 + 240 + 480
    residuals, read = fit.residuals, np.isfinite(fit.measured)
    np.testing.assert_array_equal(np.isfinite(residuals), read)
    for k in range(3):
        e, z = residuals[read[:, k], k], fit.measured[read[:, k], k]
        np.testing.assert_allclose(
            fit.relative_error_percent_per_joint[k], 100 * np.linalg.norm(e) / np.linalg.norm(z)
        )
    # of the same noise as those of a run with every reading: to 1 / sqrt(2 * 30), three times
    np.testing.assert_allclose(fit.rms_per_joint / dense.estimate().fit.rms_per_joint, 1, atol=0.4)


def test_the_condition_number_is_that_of_the_whitened_jacobian(torques, rng):
    """Singular values of a regression of all samples, and of the prior, by the body's unit coordinates."""
    filter_ = KalmanFilter(torques, NOISE, drift=0.0, gate=None)
    tracker, rows = Tracker(filter_), [np.linalg.inv(filter_.init().root)]
    for sample in samples(torques, rng, 100):
        tracker.update(sample)
        rows.append(torques(sample.q, sample.v, sample.a)[0] / NOISE)
    J = np.concatenate(rows) @ filter_.init().unit
    estimate = tracker.estimate()
    np.testing.assert_allclose(estimate.condition_number, np.linalg.cond(J), rtol=1e-6)
    scaled = np.linalg.cond(J / np.linalg.norm(J, axis=0))
    np.testing.assert_allclose(estimate.scaled_condition_number, scaled, rtol=1e-6)


def test_no_samples_and_no_used_samples_are_said(torques, rng):
    tracker = Tracker(ExtendedKalmanFilter(torques, NOISE))
    with pytest.raises(NotIdentifiable, match="there was no sample to process"):
        tracker.estimate()
    sample = next(samples(torques, rng, 1))
    sample.tau[:] = np.nan
    tracker.update(sample)
    with pytest.raises(NotIdentifiable, match=r"no sample could be used \(1 not finite"):
        tracker.estimate()
