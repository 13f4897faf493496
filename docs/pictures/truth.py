"""Simulate, identify, compare: whether intervals hold the truth, and what defects of a recording do."""

import sys
from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, GREEN, GREY, ORANGE, RED, axes, picture

import poinsot

sys.path.insert(0, str(EXAMPLES / "arm"))
import record

from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    simulate_recording,
)

DRAWS = 24


@cache
def draws():
    """(DRAWS, b) errors of the estimates of one motion, in standard deviations, their values and the truth."""
    robot, theta = record.robot(), record.truth()
    motion = fourier_motion(3, 10.0, 125.0, np.random.default_rng(1), amplitude=0.8)
    sensors = Sensors(torque_std=0.3, position_step=record.POSITION_STEP)
    estimates = []
    for seed in range(DRAWS):
        recording = simulate_recording(robot, theta, motion, sensors, np.random.default_rng(seed))
        problem = poinsot.InverseDynamics(robot, [recording], signals=poinsot.ButterworthDecimation(20, 10))
        estimates.append(poinsot.LeastSquares("per-joint").solve(problem))
    truth = problem.base.map @ theta
    return estimates, truth


@picture
def coverage():
    estimates, truth = draws()
    errors = np.array([(each.values - truth) / each.std for each in estimates])
    inside = np.mean(np.abs(errors) < 1.96)
    figure, (left, right) = axes(1, 2, 2.7)
    x = np.linspace(-4, 4, 81)
    left.hist(errors.ravel(), bins=np.linspace(-4, 4, 33), density=True, color=BLUE, alpha=0.6)
    left.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=ORANGE)
    left.set_xlabel("estimate less truth, in its standard deviations")
    left.set_title(f"{100 * inside:.0f} % of {errors.size} intervals hold the truth", loc="left")
    levels = np.linspace(0.05, 0.99, 40)
    from scipy.stats import norm

    held = [np.mean(np.abs(errors) < norm.ppf(0.5 + level / 2)) for level in levels]
    right.plot(levels, held, color=BLUE)
    right.plot([0, 1], [0, 1], "--", color=GREY)
    right.set_xlabel("stated probability of the interval")
    right.set_ylabel("part that holds the truth")
    return figure


@picture
def spread_and_stated():
    estimates, truth = draws()
    spread = np.std([each.values for each in estimates], axis=0)
    stated = np.median([each.std for each in estimates], axis=0)
    figure, ax = axes(height=2.8, width=4.6)
    ax.loglog(spread, stated, "o", ms=4, color=BLUE)
    ends = np.array([spread.min() / 2, spread.max() * 2])
    ax.plot(ends, ends, "--", color=GREY)
    ax.set_xlabel(f"spread of {DRAWS} estimates")
    ax.set_ylabel("stated standard deviation (median)")
    assert len(truth) == len(spread)
    return figure


@picture
def one_parameter():
    estimates, truth = draws()
    k = estimates[0].names.index("mx3")
    figure, ax = axes(height=2.6)
    for n, each in enumerate(estimates):
        low, high = each.interval("mx3")
        ax.plot([n, n], [low, high], color=BLUE if low <= truth[k] <= high else RED)
        ax.plot(n, each.values[k], "o", ms=3, color=BLUE)
    ax.axhline(truth[k], color=GREEN, label="truth")
    ax.set_xlabel("simulated recording")
    ax.set_ylabel("mx3 [kg m]")
    ax.legend()
    return figure


@picture
def defects():
    """Relative error of the fit, as recorded and after the defect that the findings name was put in."""
    robot = record.robot()
    recording = poinsot.Project.load(EXAMPLES / "arm" / "job.toml").runs(robot)[0].recording

    def changed(**channels):
        values = {name: recording[name] for name in recording.channels} | {
            name.replace("__", "."): value for name, value in channels.items()
        }
        return poinsot.Recording(recording.time, values, recording.units)

    spikes = recording["torque.elbow"].copy()
    spikes[np.random.default_rng(0).integers(0, len(spikes), 40)] += 80
    cases = {
        "as recorded": recording,
        "sign of the elbow's torque": changed(torque__elbow=-recording["torque.elbow"]),
        "elbow and shoulder exchanged": changed(
            torque__elbow=recording["torque.shoulder"], torque__shoulder=recording["torque.elbow"]
        ),
        "shoulder's zero off by 0.2 rad": changed(position__shoulder=recording["position.shoulder"] + 0.2),
        "torques 12 ms late": poinsot.align(recording, {f"torque.{joint}": -0.012 for joint in robot.joints}),
        "40 spikes": changed(torque__elbow=spikes),
    }
    figure, ax = axes(height=2.6)
    for row, each in enumerate(cases.values()):
        problem = poinsot.InverseDynamics(robot, [each], signals=poinsot.ButterworthDecimation(20, 10))
        estimate = poinsot.LeastSquares("per-joint").solve(problem)
        causes = ", ".join(dict.fromkeys(finding.cause for finding in estimate.findings)) or "no finding"
        error = estimate.fit.relative_error_percent
        ax.barh(row, error, color=GREEN if not estimate.findings else ORANGE, alpha=0.7)
        ax.text(error * 1.1, row, f"{estimate.trust.value}: {causes}", va="center", fontsize=7)
    ax.set_yticks(range(len(cases)), cases, fontsize=8)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(right=1e4)
    ax.set_xlabel("relative error [%], and what the result says")
    assert COLOURS
    return figure
