"""Delays of the efforts that are known come back, by dynamics alone, with an uncertainty that is theirs."""

import numpy as np
import pytest

from poinsot.diagnosis.delay import estimate_effort_delay
from poinsot.exceptions import InvalidSignals
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.regression.regressor import Regressor
from poinsot.signals.alignment import align
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.signals.random_walk_smoother import RandomWalkSmoother
from references.robots import own_parameters, random_robot

RATE_HZ = 500.0
SMOOTHING = ButterworthDecimation(cutoff_hz=20, decimate_hz=10, decimation_order=4)


def robot_of(rng):
    return random_robot(rng, joints=2, kinds="R")


def recorded(rng, robot, samples, *, noise=(1e-5, 0.05), seconds=8.0):
    """Efforts of a random motion, late by a known number of samples."""
    theta = own_parameters(robot, rng)
    time = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    w = 2 * np.pi * rng.uniform(0.2, 2.5, (6, 2))
    phase, size = rng.uniform(0, 2 * np.pi, (6, 2)), rng.normal(size=(6, 2)) / w

    def motion(t):
        angle = w * t[:, None, None] + phase
        return (
            (size * np.sin(angle)).sum(axis=1),
            (size * w * np.cos(angle)).sum(axis=1),
            -(size * w**2 * np.sin(angle)).sum(axis=1),
        )

    q = motion(time)[0]
    q_late, v_late, a_late = motion(time - samples / RATE_HZ)
    W = Regressor(robot, robot.parameters).dense(robot.configurations(q_late), v_late, a_late)
    tau = W @ theta
    q = q + noise[0] * rng.normal(size=q.shape)
    tau = tau + noise[1] * rng.normal(size=tau.shape)
    channels = {f"position.{joint}": q[:, k] for k, joint in enumerate(robot.joints)}
    channels |= {f"torque.{joint}": tau[:, k] for k, joint in enumerate(robot.joints)}
    return Recording(time, channels, {name: "rad" if name[0] == "p" else "N m" for name in channels})


@pytest.mark.parametrize("samples", [0.3, 1.0, 2.5, 4.9, 7.4, -3.3])
@pytest.mark.parametrize(
    "smoothing", [SMOOTHING, RandomWalkSmoother(3, cutoff_hz=20)], ids=["decimated", "not"]
)
def test_a_known_delay_is_found(samples, smoothing, rng):
    robot = robot_of(rng)
    recording = recorded(rng, robot, samples)
    found = estimate_effort_delay(inverse_dynamics(robot, smoothing.apply(recording)))
    assert found.std_s * RATE_HZ < 0.1
    # an encoder's noise through a filter at 20 Hz pulls by a few thousandths of a sample
    assert abs(found.samples - samples) < 4 * found.std_s * RATE_HZ + 5e-3
    assert found.unexplained < found.unexplained_before
    aligned = align(recording, {"torque": found.seconds})
    left = estimate_effort_delay(inverse_dynamics(robot, smoothing.apply(aligned)))
    assert abs(left.seconds) < 4 * left.std_s
    # nothing to gain any more, up to the sample at which dry friction changes its sign
    assert left.unexplained == pytest.approx(left.unexplained_before, rel=0.1)


def test_the_uncertainty_is_that_of_the_delay(rng):
    repetitions = 60
    z = []
    for _ in range(repetitions):
        robot, samples = robot_of(rng), rng.uniform(-7.4, 7.4)
        recording = recorded(rng, robot, samples, noise=(1e-6, 0.3), seconds=6.0)
        found = estimate_effort_delay(inverse_dynamics(robot, SMOOTHING.apply(recording)))
        z.append((found.samples - samples) / (found.std_s * RATE_HZ))
    # of 20 stretches: a Student variable with 19 degrees of freedom has variance 1.12, and a fourth moment of 4.0
    assert abs(np.mean(np.square(z)) - 1.12) < 4 * np.sqrt((4.0 * 1.12**2 - 1.12**2) / repetitions)
    assert abs(np.mean(z)) < 4 * np.sqrt(1.12 / repetitions)


def test_several_recordings_share_one_delay(rng):
    robot = robot_of(rng)
    state = rng.bit_generator.state
    parts = []
    for seconds in (6.0, 9.0):
        rng.bit_generator.state = state  # the same robot and motion, longer
        parts.append(SMOOTHING.apply(recorded(rng, robot, 3.3, seconds=seconds)))
    alone = estimate_effort_delay(inverse_dynamics(robot, parts[0]))
    both = estimate_effort_delay(inverse_dynamics(robot, parts))
    assert both.std_s < alone.std_s
    assert abs(both.samples - 3.3) < 4 * both.std_s * RATE_HZ + 5e-3


def test_a_delay_that_friction_imitates_has_a_wide_interval(rng):
    """Of one sine on one axis, a late force is an inertia with viscous friction."""
    robot = random_robot(rng, joints=1, kinds="P")
    time = np.arange(4000) / RATE_HZ
    w = 2 * np.pi * 1.5
    q, tau = np.sin(w * time), -3.0 * w**2 * np.sin(w * (time - 0.004)) + 5 * np.cos(w * (time - 0.004))
    tau += 0.5 * rng.normal(size=len(tau))
    recording = Recording(time, {"position.j1": q, "torque.j1": tau}, {"position.j1": "m", "torque.j1": "N"})
    try:
        found = estimate_effort_delay(inverse_dynamics(robot, SMOOTHING.apply(recording)))
    except InvalidSignals:  # no smallest residual at all
        return
    assert abs(found.seconds - 0.004) < 4 * found.std_s
    assert found.std_s > 1e-3


def test_delays_that_cannot_be_found(rng):
    robot = robot_of(rng)
    late = SMOOTHING.apply(recorded(rng, robot, 30.0))
    with pytest.raises(InvalidSignals, match="the end of the range"):
        estimate_effort_delay(inverse_dynamics(robot, late), largest_s=0.02)
    assert abs(estimate_effort_delay(inverse_dynamics(robot, late), largest_s=0.1).samples - 30) < 0.1
    with pytest.raises(InvalidSignals, match="too short to look for delays up to 5 s"):
        estimate_effort_delay(inverse_dynamics(robot, late), largest_s=5.0)
    few = ButterworthDecimation(cutoff_hz=20, decimate_hz=1.2, decimation_order=4).apply(
        recorded(rng, robot, 1.0)
    )
    with pytest.raises(InvalidSignals, match="leave no residuals that determine a delay"):
        estimate_effort_delay(inverse_dynamics(robot, few))


def test_real_arms_were_recorded_without_much_delay(shared_data):
    from poinsot_reproductions import emps, tx40

    folder = shared_data("staubli_tx40")
    signals = ButterworthDecimation(50, 10, window_s=tx40.WINDOW_S).apply(tx40.recording(folder))
    found = estimate_effort_delay(inverse_dynamics(tx40.robot(folder), signals))
    assert abs(found.seconds) < 2e-3
    signals = ButterworthDecimation(69, 14).apply(emps.recording(shared_data("emps")))
    found = estimate_effort_delay(inverse_dynamics(emps.robot(), signals))
    assert abs(found.seconds) < 1e-3
