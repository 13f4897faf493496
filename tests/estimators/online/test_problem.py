"""Recordings and a model as a problem: what a filter makes of it, how it ends, and whether its certificate can fail."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimators.online.belief import SampleVerdict
from poinsot.estimators.online.filter import ExtendedKalmanFilter, KalmanFilter
from poinsot.estimators.online.moving_polynomial import MovingPolynomial
from poinsot.estimators.online.problem import TrackingProblem, recording_ticks
from poinsot.estimators.online.tracking import Tracker, TrackingRun
from poinsot.exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.models.robot.link_torques import LinkTorques
from poinsot.recording import Recording
from poinsot_reproductions.simulated_recordings import fourier_motion
from references.robots import chain

NOISE, RATE_HZ, SECONDS = 0.2, 200.0, 6.0
WINDOW = MovingPolynomial(window_s=0.1, sample_hz=20)
ROBOT = chain("zyy", [0, 0.3, 0.4])
TORQUES = LinkTorques(ROBOT, ROBOT.bodies[-1:])
each_filter = pytest.mark.parametrize("make", [KalmanFilter, ExtendedKalmanFilter])


def recording(rng, heavier=1.5, seconds=SECONDS, missing=None, robot=ROBOT):
    """Positions and torques of a motion with a last body that is heavier; `missing`: (T, n) torques without reading."""
    time, q, v, a = fourier_motion(3, seconds, RATE_HZ, rng)
    pi = heavier * TORQUES.described.ravel()
    tau = np.array([known + Y @ pi for Y, known in (TORQUES(*state) for state in zip(q, v, a, strict=True))])
    tau += NOISE * rng.standard_normal(tau.shape)
    channels = {f"position.{joint}": q[:, k] for k, joint in enumerate(robot.joints)}
    channels |= {f"torque.{joint}": tau[:, k] for k, joint in enumerate(robot.joints)}
    valid = {} if missing is None else {f"torque.{j}": ~missing[:, k] for k, j in enumerate(robot.joints)}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    return Recording(time, channels, units, valid)


@each_filter
def test_solving_is_the_loop_over_the_samples(rng, make):
    problem = TrackingProblem(TORQUES, [recording(rng), recording(rng)], WINDOW)
    filter_ = make(TORQUES, NOISE)
    estimate = filter_.solve(problem)
    *_, (belief, _) = filter_.run(each.sample for each in problem.samples())
    np.testing.assert_array_equal(estimate.values, filter_.inertial(belief.x).ravel())
    np.testing.assert_allclose(estimate["m.j3"], 1.5 * TORQUES.described[0, 0], rtol=0.05)
    run = estimate.extra(TrackingRun)
    assert run.samples == sum(run.verdicts.values()) and estimate.problem is problem
    assert {each.recording for each in run.history} == {"recording 1", "recording 2"}
    assert np.all(np.diff([each.sample.time for each in problem.samples()]) > 0)


def test_a_calibration_is_not_processed_again(rng):
    problem = TrackingProblem(TORQUES, [recording(rng, heavier=1.0)], WINDOW, calibrate_s=2.0)
    calibration = problem.calibration
    estimate = ExtendedKalmanFilter(TORQUES, 2 * calibration.std).solve(problem)
    run = estimate.extra(TrackingRun)
    assert run.history[0].time >= 2.0
    assert run.calibration.samples == calibration.samples
    whole = len(list(TrackingProblem(TORQUES, problem.recordings, WINDOW).samples()))
    assert run.samples == whole - calibration.samples
    with pytest.raises(NotIdentifiable, match="give the problem calibrate_s"):
        _ = TrackingProblem(TORQUES, problem.recordings, WINDOW).calibration


def test_progress_is_reported_and_a_stop_keeps_what_was_found(rng):
    problem = TrackingProblem(TORQUES, [recording(rng)], WINDOW)
    reports, asked = [], []

    def stop():
        asked.append(None)
        return len(asked) > 60

    estimate = ExtendedKalmanFilter(TORQUES, NOISE).solve(problem, progress=reports.append, stop=stop)
    assert estimate.status is Status.interrupted
    assert estimate.extra(TrackingRun).samples == 60
    assert len(reports) == 1 and "recording 1" in str(reports[0]) and "kg" in str(reports[0])
    assert estimate.certificate().holds  # of the samples until then
    with pytest.raises(NotIdentifiable, match="no sample to process"):
        ExtendedKalmanFilter(TORQUES, NOISE).solve(problem, stop=lambda: True)


@each_filter
def test_the_certificate_is_of_the_values_that_it_is_asked_of(rng, make):
    problem = TrackingProblem(TORQUES, [recording(rng)], WINDOW)
    estimate = make(TORQUES, NOISE).solve(problem)
    assert estimate.identifiable.any()
    assert estimate.certificate().holds
    assert estimate.certificate().stationarity == 0.0
    for k in np.flatnonzero(estimate.identifiable):
        values = estimate.values.copy()
        values[k] += estimate.std[k]
        certificate = estimate.updated(values=values).certificate()
        assert not certificate.holds
        np.testing.assert_allclose(certificate.stationarity, 1.0)


def test_a_body_that_cannot_exist_is_not_feasible(rng):
    problem = TrackingProblem(TORQUES, [recording(rng)], WINDOW)
    estimate = ExtendedKalmanFilter(TORQUES, NOISE).solve(problem)
    assert estimate.certificate().feasible
    assert not estimate.updated(values=-estimate.values).certificate().feasible


def test_a_certificate_starts_from_the_same_belief(rng):
    problem, filter_ = (
        TrackingProblem(TORQUES, [recording(rng)], WINDOW),
        ExtendedKalmanFilter(TORQUES, NOISE),
    )
    tracker = Tracker(filter_, belief=filter_.init(2 * TORQUES.described))
    tracker.run(problem.samples())
    assert tracker.estimate(problem=problem).certificate().stationarity == 0.0


def test_one_reading_in_sixteen_is_used_and_nothing_is_imputed(rng):
    """Torques of one joint that were read once in 80 ms: the errors are those of the readings."""
    missing = np.zeros((int(SECONDS * RATE_HZ), 3), dtype=bool)
    missing[:, 1] = np.arange(len(missing)) % 16 != 0
    sparse = recording(rng, missing=missing)
    # of windows of 0.5 s a joint has six readings, and gaps of 0.16 of a window
    wide = MovingPolynomial(window_s=0.5, sample_hz=20, degree=3)
    estimate = ExtendedKalmanFilter(TORQUES, NOISE).solve(TrackingProblem(TORQUES, [sparse], wide))
    np.testing.assert_allclose(estimate["m.j3"], 1.5 * TORQUES.described[0, 0], rtol=0.1)
    assert np.all(estimate.fit.readings_per_joint > 0)
    narrow = ExtendedKalmanFilter(TORQUES, NOISE).solve(TrackingProblem(TORQUES, [sparse], WINDOW))
    fit = narrow.fit
    np.testing.assert_array_equal(fit.readings_per_joint, [len(fit.time), 0, len(fit.time)])
    assert narrow.rows == 2 * narrow.extra(TrackingRun).verdicts[SampleVerdict.accepted]
    assert np.isnan(fit.residuals[:, 1]).all() and np.isnan(fit.relative_error_percent_per_joint[1])


def test_a_motor_without_a_reading_leaves_out_the_joints_that_it_drives(rng):
    """Motor 2 turns with joints 1 and 2: only these two torques are unknown where its current is not read."""
    joints = ROBOT.joints
    drive = Drive(reduction=2.0, side="motor", couplings=(Coupling(joints[1], joints[0], 1.0),))
    robot: Articulated = replace(ROBOT, drive=drive)
    missing = np.zeros((int(SECONDS * RATE_HZ), 3), dtype=bool)
    missing[5, 1] = True
    ticks = list(recording_ticks(robot, recording(rng, missing=missing)))
    affected = robot.train.reduction[1] != 0
    assert affected.sum() == 2
    np.testing.assert_array_equal(np.isnan(ticks[5].tau), affected)
    assert all(np.isfinite(tick.tau).all() for k, tick in enumerate(ticks) if k != 5)


def test_a_joint_with_a_motor_but_no_channel_has_no_effort(rng):
    full = recording(rng)
    gone = f"torque.{ROBOT.joints[0]}"
    without = Recording(
        full.time,
        {name: values for name, values in full.channels.items() if name != gone},
        {name: unit for name, unit in full.units.items() if name != gone},
    )
    assert all(
        np.isnan(tick.tau[0]) and np.isfinite(tick.tau[1:]).all() for tick in recording_ticks(ROBOT, without)
    )


def test_problems_that_mean_nothing_are_refused(rng):
    one = recording(rng, seconds=1.0)
    with pytest.raises(InvalidMethod, match="at least one recording"):
        TrackingProblem(TORQUES, [])
    with pytest.raises(InvalidMethod, match="1 recordings but 2 names"):
        TrackingProblem(TORQUES, [one], names=["a", "b"])
    with pytest.raises(InvalidMethod, match="calibrate_s"):
        TrackingProblem(TORQUES, [one], calibrate_s=-1.0)
    other = LinkTorques(ROBOT, ROBOT.bodies[:1])
    with pytest.raises(InvalidMethod, match=r"make the filter from problem\.torques"):
        KalmanFilter(other, NOISE).solve(TrackingProblem(TORQUES, [one]))
    still = Recording(one.time, {"torque.j1": one["torque.j1"]}, {"torque.j1": "N m"})
    with pytest.raises(InvalidSignals):
        KalmanFilter(TORQUES, NOISE).solve(TrackingProblem(TORQUES, [still]))
