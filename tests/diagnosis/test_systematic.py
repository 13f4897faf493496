"""Systematic effects: their columns against changed robots and recordings, and what is made of them against refits."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.accuracy import Accuracy
from poinsot.diagnosis.case import mapped
from poinsot.diagnosis.effects import EFFECTS, RECORDING_EFFECTS, Linearization
from poinsot.diagnosis.systematic import SystematicFit
from poinsot.exceptions import PoinsotError
from poinsot_reproductions.simulated_recordings import model_parameters

SMOOTHING = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=8)


def recording_of(robot, time, q, tau):
    channels = {f"position.{joint}": q[:, k] for k, joint in enumerate(robot.joints)}
    channels |= {f"torque.{joint}": tau[:, k] for k, joint in enumerate(robot.joints)}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    return poinsot.Recording(time, channels, units)


@pytest.fixture(scope="module")
def problem(chain, record):
    robot = chain()
    return poinsot.InverseDynamics(robot, recording_of(robot, *record(3)), signals=SMOOTHING)


@pytest.fixture(scope="module")
def fit(problem):
    return SystematicFit.of(problem, poinsot.LeastSquares("per-joint").solve(problem).values)


def values_of(fit, name, joint=""):
    """(N, n, k) columns of an effect, for sizes of one standard deviation."""
    return next(c.values for c in fit.columns if c.effect.name == name and c.joint == joint)


def changed_rows(at, other, size):
    """(N, n) change of the predicted torque, per size."""
    new, old = other.sampled(at.full), at.problem.sampled(at.full)
    return at.rows([(a - b) / size for a, b in zip(new, old, strict=True)])


def test_the_full_parameters_predict_what_the_base_values_do(fit):
    predicted = fit.at.rows(fit.at.predicted)
    assert np.allclose(predicted, fit.W @ fit.theta, atol=1e-6 * np.abs(predicted).max())


def test_the_column_of_a_zero_is_that_of_an_offset_of_the_drive(fit):
    step, robot = 1e-4, fit.problem.robot
    moved = replace(robot, drive=poinsot.Drive(position_offset=(0.0, step, 0.0, 0.0)))
    expected = np.radians(0.5) * changed_rows(fit.at, fit.problem.with_robot(moved), step)
    column = values_of(fit, "zero", "joint2")[..., 0]
    assert np.abs(column - expected).max() < 1e-3 * np.abs(expected).max()


def test_the_column_of_a_length_is_that_of_another_description(fit, chain):
    step = 1e-4
    longer = chain(change=lambda urdf: urdf.replace('xyz="0.35 0 0"', f'xyz="{0.35 + step} 0 0"'))
    expected = changed_rows(fit.at, fit.problem.with_robot(longer), step)
    sizes = max(3.0, 10 * 0.5 * 0.35) / 1e3
    column = values_of(fit, "length", "joint3")[..., 0]
    assert np.abs(column - sizes * expected).max() < 1e-3 * np.abs(column).max()


def test_the_columns_of_an_axis_and_of_the_base_are_those_of_turned_frames(fit, chain):
    turned = chain(change=lambda urdf: urdf.replace('xyz="0.35 0 0"', 'xyz="0.35 0 0" rpy="1e-4 0 0"'))
    expected = np.radians(0.3) * changed_rows(fit.at, fit.problem.with_robot(turned), 1e-4)
    columns = values_of(fit, "axis", "joint3")
    mix = np.linalg.lstsq(columns.reshape(-1, columns.shape[2]), expected.ravel(), rcond=None)[0]
    assert np.linalg.norm(mix) == pytest.approx(1, abs=1e-2)  # a rotation of the two axes
    assert np.abs(columns @ mix - expected).max() < 1e-2 * np.abs(expected).max()
    tilted = chain(gravity=(9.81e-4, 0, -9.81))
    expected = np.radians(1.0) * changed_rows(fit.at, fit.problem.with_robot(tilted), 1e-4)
    columns = values_of(fit, "tilt")
    mix = np.linalg.lstsq(columns.reshape(-1, 2), expected.ravel(), rcond=None)[0]
    assert np.abs(columns @ mix - expected).max() < 1e-2 * np.abs(expected).max()


def test_the_column_of_the_clock_is_that_of_other_stamps(fit):
    faster = mapped(fit.problem, lambda s: replace(s, v=s.v * 1.0001, a=s.a * 1.0001**2))
    expected = 0.003 * changed_rows(fit.at, faster, 1e-4)
    column = values_of(fit, "clock")[..., 0]
    assert np.abs(column - expected).max() < 1e-2 * np.abs(expected).max()


def test_the_column_of_a_delay_is_that_of_a_late_torque(fit):
    signals = fit.problem.recordings[0]
    tau = np.concatenate(fit.at.predicted)
    late = np.stack([np.interp(signals.time - 1e-3, signals.time, x) for x in tau.T], axis=1)
    expected = 2.0 * fit.at.rows([late - tau])[:, 1]
    column = values_of(fit, "delay", "joint2")[:, 1, 0]
    # linear interpolation, and dry friction that jumps between two samples
    assert np.linalg.norm(column - expected) < 0.1 * np.linalg.norm(expected)


@pytest.mark.parametrize("effect", [*EFFECTS, *RECORDING_EFFECTS], ids=lambda effect: effect.name)
def test_every_effect_has_finite_columns_at_named_joints(effect, fit):
    at = Linearization(fit.problem, fit.theta, Accuracy())
    for column in effect.columns(at):
        assert np.isfinite(column.values).all() and column.size > 0
        assert column.joint in ("", *fit.problem.robot.joints)
        assert effect.sentence.format(joint="x", size="y") and effect.cause.means and effect.cause.advice


def test_blocks_are_predicted_as_by_solving_without_their_fold(fit):
    columns = np.concatenate([fit.own, fit.everything[fit.slices[0]]])
    errors = fit.held_out(columns)
    fold = np.arange(len(errors)) % 5
    A = fit.A[:, :, columns] / fit.sigma[:, None]
    y = fit.y / fit.sigma
    for block in (0, 7, len(errors) - 1):
        used = fit.inner & (fold[fit.blocks] != fold[block])
        M = A[used].reshape(-1, len(columns))
        prior = np.diag(np.sqrt(np.where(columns < fit.b, 0.0, 1.0)))
        x = np.linalg.lstsq(
            np.concatenate([M, prior]), np.append(y[used].ravel(), np.zeros(len(columns))), rcond=None
        )[0]
        inside = fit.inner & (fit.blocks == block)
        assert errors[block] == pytest.approx(np.sum((y[inside] - A[inside] @ x) ** 2), rel=1e-3)


def test_no_two_blocks_are_closer_than_residuals_are_correlated(fit):
    rows = np.flatnonzero(fit.inner)
    other = np.diff(fit.blocks[rows]) > 0
    assert len(np.unique(fit.blocks)) == 20
    assert np.all(np.diff(rows)[other] > min(fit.correlation, 2))


def test_noise_is_known_from_the_samples(fit):
    # 0.1 N m white noise at 200 Hz, of which the rows pass 8 of 100 Hz
    assert np.allclose(fit.noise, 0.1 * np.sqrt(0.08), rtol=0.1)


def test_intervals_of_an_exact_laboratory_are_those_of_noise(chain, record):
    robot, inside = chain(), []
    truth = None
    for seed in range(6):
        problem = poinsot.InverseDynamics(
            robot, recording_of(robot, *record(seed)), signals=SMOOTHING, accuracy=Accuracy(exact=True)
        )
        estimate = poinsot.LeastSquares("per-joint").solve(problem)
        if truth is None:
            friction = {f"fv{k}": 1.5 / k for k in range(1, 5)} | {f"fc{k}": 2.0 / k for k in range(1, 5)}
            truth = problem.base.map @ model_parameters(robot, **friction)
        place = [problem.base.index(name) for name in estimate.names]
        inside.append(np.abs(estimate.values - truth[place]) < 1.96 * estimate.std)
        assert np.array_equal(estimate.parameters.absolute_std, estimate.std)
    # +- 4 %: two standard deviations of six times thirty values
    assert 0.91 <= np.mean(inside) <= 1.0


def test_intervals_allow_for_a_zero_that_nobody_sees(chain, record):
    """0.5 deg of a joint: the estimate is off by many standard deviations of noise, and inside its interval."""
    robot = chain()
    friction = {f"fv{k}": 1.5 / k for k in range(1, 5)} | {f"fc{k}": 2.0 / k for k in range(1, 5)}
    time, q, tau = record(1)
    problem = poinsot.InverseDynamics(
        robot, recording_of(robot, time, q + np.radians([0, 0.5, -0.4, 0]), tau), signals=SMOOTHING
    )
    estimate = poinsot.LeastSquares("per-joint").solve(problem)
    truth = (problem.base.map @ model_parameters(robot, **friction))[
        [problem.base.index(name) for name in estimate.names]
    ]
    z = np.abs(estimate.values - truth)
    assert np.max(z / estimate.coloured_std) > 4
    assert np.max(z / estimate.std) < 3
    assert np.all(estimate.parameters.absolute_std >= estimate.std)
    assert np.all(estimate.next_recording_std >= estimate.std)


def test_a_rise_of_friction_towards_standstill_is_named(chain, record, estimated):
    time, q, tau = record(2)
    v = np.gradient(q, time, axis=0)
    tau = tau + 2.0 * np.tanh(v / 0.02) * np.exp(-((v / 0.15) ** 2))
    found = estimated(time, q, tau).findings
    assert found[0].cause == "missing-term"
    assert "not viscous and Coulomb" in found[0].message


def test_stale_readings_are_named(record, estimated):
    time, q, tau = record(1)
    stale = np.random.default_rng(0).random(len(time)) < 0.3
    for k in np.flatnonzero(stale[1:]) + 1:
        q[k] = q[k - 1]
    assert "stale-samples" in [finding.cause for finding in estimated(time, q, tau).findings[:2]]


def test_a_computed_torque_is_named(chain, record):
    robot = chain(friction=poinsot.ViscousCoulomb(offset=True))
    time, q, _ = record(1)
    signals = SMOOTHING.apply(recording_of(robot, time, q, np.ones_like(q) * np.sin(time)[:, None]))
    full = model_parameters(robot)
    tau = poinsot.InverseDynamics(robot, signals).sampled(full)[0]
    inside = np.isin(np.round(time, 6), np.round(signals.time, 6))
    problem = poinsot.InverseDynamics(
        robot, recording_of(robot, signals.time, q[inside], tau), signals=SMOOTHING
    )
    estimate = poinsot.LeastSquares("per-joint").solve(problem)
    assert "computed-torque" in [finding.cause for finding in estimate.findings[:2]]


def test_project_files_say_how_exact_a_laboratory_is(tmp_path):
    for name in ("arm.urdf", "identification.csv", "validation.csv", "job.toml"):
        shutil.copy(Path("examples/arm") / name, tmp_path / name)
    job = tmp_path / "job.toml"
    text = job.read_text()
    careful = poinsot.identify(poinsot.Project.load(job))
    job.write_text(text + "\n[accuracy]\nexact = true\n")
    exact = poinsot.identify(poinsot.Project.load(job))
    assert np.all(exact.std < careful.std)
    assert np.array_equal(exact.values, careful.values)
    job.write_text(text + "\n[accuracy]\nzero_degrees = 1\n")
    with pytest.raises(PoinsotError, match="zero_deg"):
        poinsot.Project.load(job)
