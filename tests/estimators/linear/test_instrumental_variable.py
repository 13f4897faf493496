"""Instrumental variables beside dense algebra, and their errors beside the standard deviations that they state."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from poinsot.accuracy import Accuracy
from poinsot.estimate.uncertainty import by_chance
from poinsot.estimators.linear.instrumental_variable import InstrumentalVariable
from poinsot.estimators.linear.instruments import NoiseFreeMotion
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.drive import Drive
from poinsot.parameters import Normal
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from references.dense_regression import smooth_motion, torque
from references.robots import chain, own_parameters

ROBOT = chain("zy", [0, 0.3], drive=Drive(rotor_inertia=True), friction=ViscousCoulomb(coulomb=False))
THETA = own_parameters(ROBOT, np.random.default_rng(5))
SMOOTHER = ButterworthDecimation(cutoff_hz=20, decimate_hz=14)
SAMPLES, RATE = 6000, 500.0
READING_STD = 2e-3
"""Wide enough a filter for so much noise biases least squares by several standard deviations."""
STIFFNESS, DAMPING = 200.0, 20.0
EXACTLY = Accuracy(exact=True)


@pytest.fixture(scope="module")
def motion():
    return smooth_motion(ROBOT, SAMPLES, np.random.default_rng(11), rate_hz=RATE)


def recorded(motion, generator, *, noise=READING_STD, commands=True, law=False):
    """A log of encoders whose noise the controller feeds back into the torque, which the joints do not follow.

    With `law` the commands are those of a position loop that made the motion.
    """
    time, q, v, a = motion
    tau = torque(ROBOT, THETA, q, v, a)
    error = noise * generator.standard_normal(q.shape)
    read = q + error
    tau_read = tau - STIFFNESS * error + 0.3 * generator.standard_normal(q.shape)
    channels = {f"position.{joint}": read[:, k] for k, joint in enumerate(ROBOT.joints)}
    channels |= {f"torque.{joint}": tau_read[:, k] for k, joint in enumerate(ROBOT.joints)}
    if commands:
        c = q + (behind(tau) if law else 0.0)
        channels |= {f"position_command.{joint}": c[:, k] for k, joint in enumerate(ROBOT.joints)}
    units = {name: "N m" if name.startswith("torque") else "rad" for name in channels}
    return Recording(time, channels, units)


def behind(tau):
    """e of K e + D e' = tau."""
    e = np.empty_like(tau)
    e[0] = tau[0] / STIFFNESS
    for k in range(1, len(tau)):
        middle = 0.5 * (tau[k - 1] + tau[k])
        e[k] = middle / STIFFNESS + (e[k - 1] - middle / STIFFNESS) * np.exp(-STIFFNESS / DAMPING / RATE)
    return e


def problem_of(recording, **more):
    return inverse_dynamics(ROBOT, SMOOTHER.apply(recording), accuracy=EXACTLY, **more)


def chance(estimate):
    return np.sqrt(np.diag(by_chance(estimate.parameters.uncertainty)))


@pytest.mark.parametrize("weighting", ["none", "per-joint"])
def test_the_estimate_is_that_of_dense_algebra(motion, weighting):
    problem = problem_of(recorded(motion, np.random.default_rng(0)))
    estimate = InstrumentalVariable(weighting=weighting).solve(problem)
    instruments = NoiseFreeMotion.of(problem, None).instruments(np.zeros(len(problem.base)))
    w = np.array(estimate.settings["joint_weights"])
    W, Z = (np.concatenate([rows.W for rows in each.rows()]) for each in (problem, instruments))
    y = np.concatenate([rows.y for rows in problem.rows()])
    k = W.shape[2]
    W, Z, y = (W * w[:, None]).reshape(-1, k), (Z * w[:, None]).reshape(-1, k), (y * w).ravel()
    assert estimate.values == pytest.approx(np.linalg.solve(Z.T @ W, Z.T @ y), rel=1e-8, abs=1e-8)
    e = y - W @ estimate.values
    s2 = e @ e / (len(e) - k) if weighting == "none" else 1.0
    A = np.linalg.inv(Z.T @ W)
    white = s2 * A @ (Z.T @ Z) @ A.T
    assert estimate.white_std == pytest.approx(np.sqrt(np.diag(white)), rel=1e-6)
    assert estimate.certificate().stationarity < 1e-12


def test_robust_weights_are_at_their_optimum(motion):
    recording = recorded(motion, np.random.default_rng(0))
    torques = np.array(recording["torque.j1"])
    torques[1000:1050] += 40.0
    wrong = replace(recording, channels={**recording.channels, "torque.j1": torques})
    estimate = InstrumentalVariable(weighting="robust").solve(problem_of(wrong))
    assert estimate.certificate().stationarity < 1e-7
    truth = estimate.problem.base.map @ THETA
    plain = InstrumentalVariable(weighting="per-joint").solve(problem_of(wrong))
    assert np.linalg.norm((estimate.values - truth) / chance(estimate)) < np.linalg.norm(
        (plain.values - truth) / chance(estimate)
    )


def test_a_prior_is_a_measurement(motion):
    problem = problem_of(recorded(motion, np.random.default_rng(0)))
    free = InstrumentalVariable(weighting="per-joint").solve(problem)
    name, value = free.names[0], float(free.values[0])
    tight = Normal(value + 1.0, 1e-6)
    held = InstrumentalVariable(weighting="per-joint").solve(
        problem_of(recorded(motion, np.random.default_rng(0)), priors={name: tight})
    )
    assert held.values[0] == pytest.approx(value + 1.0, abs=1e-4)
    assert held.std[0] < 1.1e-6


def test_noise_that_the_controller_feeds_back_biases_least_squares_and_not_this(motion):
    """The mean of 12 errors is within 4 / sqrt(12) of its standard deviation, in each of the parameters."""
    errors = {LeastSquares: [], InstrumentalVariable: []}
    for seed in range(12):
        problem = problem_of(recorded(motion, np.random.default_rng(100 + seed)))
        for method, found in errors.items():
            estimate = method(weighting="per-joint").solve(problem)
            found.append((estimate.values - problem.base.map @ THETA) / chance(estimate))
    bias = {method: np.abs(np.mean(found, axis=0)).max() for method, found in errors.items()}
    assert bias[InstrumentalVariable] <= 4 / np.sqrt(12)
    assert bias[LeastSquares] > 3 * bias[InstrumentalVariable]


@pytest.mark.slow
def test_errors_are_as_large_as_their_standard_deviations_say(motion):
    """Normalized squared errors, and coverage of 95 % intervals, over independent noise; bands of 99 %."""
    runs, squares, inside = 100, [], []
    for seed in range(runs):
        problem = problem_of(recorded(motion, np.random.default_rng(1000 + seed)))
        estimate = InstrumentalVariable(weighting="per-joint").solve(problem)
        e, C = estimate.values - problem.base.map @ THETA, by_chance(estimate.parameters.uncertainty)
        squares.append(e @ np.linalg.solve(C, e))
        inside.append(np.mean(np.abs(e) <= 1.96 * np.sqrt(np.diag(C))))
    b = len(e)
    low, high = stats.chi2.ppf([0.005, 0.995], b * runs) / runs
    # variances of coloured residuals are widened by `taper_allowance`, a few percent
    assert 0.8 * low <= np.mean(squares) <= high
    low, high = stats.binom.ppf([0.005, 0.995], runs, 0.95) / runs
    assert low <= np.mean(inside) <= min(high + 0.02, 1.0)


def test_the_loop_is_found_and_the_model_simulated_in_it(motion):
    problem = problem_of(recorded(motion, np.random.default_rng(0), noise=1e-4, law=True))
    found = NoiseFreeMotion.of(problem, None)
    assert found.law is not None
    assert found.law.proportional == pytest.approx(np.full(2, STIFFNESS), rel=0.02)
    assert found.law.derivative == pytest.approx(np.full(2, DAMPING), rel=0.05)
    estimate = InstrumentalVariable(weighting="per-joint").solve(problem)
    assert estimate.status.converged
    assert "simulated in the position loop" in estimate.provenance.notes[0]
    assert np.abs((estimate.values - problem.base.map @ THETA) / chance(estimate)).max() < 5


def test_without_commands_the_recorded_motion_is_followed_in_a_band(motion):
    recording = recorded(motion, np.random.default_rng(0), commands=False)
    problem = problem_of(recording)
    estimate = InstrumentalVariable(weighting="per-joint", motion_hz=4.0).solve(problem)
    assert "below 4 Hz" in estimate.provenance.notes[0]
    truth = problem.base.map @ THETA
    least_squares = LeastSquares(weighting="per-joint").solve(problem)
    off = [np.linalg.norm((each.values - truth) / chance(estimate)) for each in (estimate, least_squares)]
    assert off[0] < 0.5 * off[1]


def test_signals_without_a_recording_are_low_passed(motion):
    time, q, v, a = motion
    from poinsot.signals.signals import Signals

    tau = torque(ROBOT, THETA, q, v, a)
    problem = inverse_dynamics(ROBOT, Signals(time, ROBOT.joints, q, v, a, tau), accuracy=EXACTLY)
    estimate = InstrumentalVariable().solve(problem)
    assert estimate.values == pytest.approx(problem.base.map @ THETA, rel=1e-6, abs=1e-6)


def test_a_joint_without_a_motor_is_refused(motion):
    robot = chain("zy", [0, 0.3], drive=Drive(passive=("j2",)), friction=ViscousCoulomb(coulomb=False))
    problem = inverse_dynamics(robot, SMOOTHER.apply(recorded(motion, np.random.default_rng(0))))
    with pytest.raises(InvalidMethod, match="needs the effort of each joint's motor, and j2 has none"):
        InstrumentalVariable().solve(problem)


def test_it_stops_when_asked(motion):
    problem = problem_of(recorded(motion, np.random.default_rng(0)))
    estimate = InstrumentalVariable(weighting="per-joint").solve(problem, stop=lambda: True)
    assert not estimate.status.converged
