"""The regression problem: rows are what they say in any stretches, and what does not fit is refused by name."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.models.friction import NoFriction
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.parameters import Normal
from poinsot.regression import base_parameters, inverse_dynamics as module
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.regression.regressor import Regressor
from poinsot.signals.decimation import Decimation
from poinsot.signals.signals import Signals
from references.dense_regression import signals_of, smooth_motion, stacked, torque
from references.robots import chain, own_parameters, random_robot

ARM = chain("zyy", [0, 0.1, 0.4], drive=Drive(rotor_inertia=True))


def problem_of(rng, samples=500, noise=0.1, decimation=None, robot=ARM, **more):
    theta = own_parameters(robot, np.random.default_rng(5))
    errors = noise * rng.standard_normal((samples, robot.model.nv))
    signals = signals_of(robot, theta, smooth_motion(robot, samples, rng), errors, decimation)
    return inverse_dynamics(robot, signals, **more), theta, signals


# -- rows ----------------------------------------------------------------------------------------------------


def test_rows_are_the_base_columns_of_the_dense_regressor(rng):
    problem, _, signals = problem_of(rng)
    W, y = stacked(problem)
    dense = Regressor(ARM, ARM.parameters).dense(ARM.configurations(signals.q), signals.v, signals.a)
    np.testing.assert_array_equal(W, dense[:, :, problem.base.chosen])
    np.testing.assert_array_equal(y, signals.tau)
    assert problem.equations == y.size
    assert problem.row_counts == (500,)


def test_noise_free_torques_are_explained_by_the_true_base_values(rng):
    problem, theta, _ = problem_of(rng, noise=0.0)
    W, y = stacked(problem)
    np.testing.assert_allclose(W @ (problem.base.map @ theta), y, atol=1e-11 * np.abs(y).max())


def test_columns_and_efforts_pass_the_same_filter(rng):
    """Decimation commutes with theta: noise-free rows stay exact. And it is the filter applied to dense columns."""
    decimation = Decimation(5, 4)
    problem, theta, signals = problem_of(rng, noise=0.0, decimation=decimation)
    W, y = stacked(problem)
    np.testing.assert_allclose(W @ (problem.base.map @ theta), y, atol=1e-10 * np.abs(y).max())
    dense = Regressor(ARM, ARM.parameters).dense(ARM.configurations(signals.q), signals.v, signals.a)
    columns = decimation(dense[:, :, problem.base.chosen].reshape(len(dense), -1)).reshape(W.shape)
    np.testing.assert_allclose(W, columns, atol=1e-11)
    np.testing.assert_allclose(y, decimation(signals.tau), atol=1e-11)
    time = np.concatenate([rows.time for rows in problem.rows()])
    np.testing.assert_array_equal(time, signals.time[decimation.kept_indices(500)])


@pytest.mark.parametrize("decimation", [None, Decimation(5, 4)])
def test_the_excess_of_predicted_efforts_is_that_of_the_rows(decimation, rng):
    problem, _, _ = problem_of(rng, decimation=decimation, held={"fv2": 3.0, "m2": 2.0})
    theta = rng.standard_normal(len(problem.base))
    W, y = stacked(problem)
    np.testing.assert_allclose(problem.excess(theta), W @ theta - y, atol=1e-11 * np.abs(y).max())


def test_motor_side_signals_in_any_order_of_joints(rng):
    """Positions, speeds and efforts of motors, columns shuffled: the same rows as at the joints."""
    drive = Drive((20, -30, 40), (Coupling("j3", "j2", 15),), "motor", (0.1, -0.2, 0.3), gain=(1, 2, 0.5))
    robot = replace(ARM, drive=drive)
    theta = own_parameters(robot, rng)
    joint_side = signals_of(robot, theta, smooth_motion(robot, 60, rng))
    N, offset, gain = robot.train.reduction, robot.train.offset, robot.train.gain
    order = [2, 0, 1]
    motor_side = Signals(
        joint_side.time,
        tuple(robot.joints[k] for k in order),
        ((joint_side.q - offset) @ N.T)[:, order],
        (joint_side.v @ N.T)[:, order],
        (joint_side.a @ N.T)[:, order],
        (joint_side.tau @ np.linalg.inv(N) / gain)[:, order],
        effort="current",
    )
    W, y = stacked(inverse_dynamics(robot, motor_side))
    expected = Regressor(robot, robot.parameters).dense(
        robot.configurations(joint_side.q), joint_side.v, joint_side.a
    )
    problem = inverse_dynamics(robot, motor_side)
    np.testing.assert_allclose(W, expected[:, :, problem.base.chosen], atol=1e-10)
    np.testing.assert_allclose(y, joint_side.tau, atol=1e-11)


def test_a_floating_base_has_rows_of_its_own(rng):
    robot = random_robot(rng, 3, floating_base=True, kinds="R", friction=NoFriction())
    theta = own_parameters(robot)
    q, v, a = robot.random_states(80, rng)
    tau = torque(robot, theta, q, v, a)
    problem = inverse_dynamics(robot, Signals(np.arange(80) / 100, robot.joints, q, v, a, tau))
    W, y = stacked(problem)
    assert W.shape == (80, 9, len(problem.base))
    np.testing.assert_allclose(W @ (problem.base.map @ theta), y, atol=1e-11 * np.abs(y).max())
    with pytest.raises(InvalidSignals, match=r"floating base: q needs 10 columns \(base first\), not 3"):
        inverse_dynamics(robot, Signals(np.arange(80) / 100, robot.joints, q[:, 7:], v, a, tau))


def test_what_is_held_is_taken_off_the_efforts_and_put_back_in_the_prediction(rng):
    _, theta, signals = problem_of(rng, noise=0.0)
    names = ("fv2", "fc1", "ia3", "m2", "xx3")
    held = {name: theta[ARM.parameters.index(name)] for name in names}
    problem = inverse_dynamics(ARM, signals, held=held)
    assert not set(names) & set(problem.base.names)
    W, y = stacked(problem)
    dense = Regressor(ARM, ARM.parameters).dense(ARM.configurations(signals.q), signals.v, signals.a)
    rest = theta * problem.parameters.free
    np.testing.assert_allclose(y, dense @ rest, atol=1e-10 * np.abs(signals.tau).max())
    np.testing.assert_allclose(W @ (problem.base.map @ rest), y, atol=1e-10 * np.abs(signals.tau).max())
    _, measured, predicted = problem.predict(problem.base.map @ rest)
    np.testing.assert_allclose(measured, signals.tau, atol=1e-12 * np.abs(signals.tau).max())
    np.testing.assert_allclose(predicted, signals.tau, atol=1e-10 * np.abs(signals.tau).max())
    # held at zero is left out, not taken off
    without = inverse_dynamics(ARM, signals, held={"off1": 0.0})
    assert "off1" not in without.base.names
    np.testing.assert_array_equal(stacked(without)[1], signals.tau)


# -- stretches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimation", [None, Decimation(4), Decimation(25, 4)], ids=["all", "by 4", "by 25"])
@pytest.mark.parametrize("weighting", ["none", "robust"])
def test_stretches_folds_and_what_is_kept_change_nothing(decimation, weighting, rng, monkeypatch):
    method = LeastSquares(weighting)
    signals = [problem_of(rng, samples, decimation=decimation)[2] for samples in (2600, 1501)]

    def solved():
        return method.solve(inverse_dynamics(ARM, signals))

    reference = solved()
    for stretch, kept, fold in ((37, 2**22, 4096), (1024, 0, 4096), (100, 0, 13), (5000, 0, 500)):
        monkeypatch.setattr(module, "SAMPLES_PER_STRETCH", stretch)
        monkeypatch.setattr(module, "KEPT_NUMBERS", kept)
        monkeypatch.setattr(base_parameters, "ROWS_PER_FOLD", fold)
        estimate = solved()
        std = reference.white_std
        np.testing.assert_allclose((estimate.values - reference.values) / std, 0, atol=1e-8)
        np.testing.assert_allclose(estimate.white_std, std, rtol=1e-9)
        np.testing.assert_allclose(estimate.coloured_std, reference.coloured_std, rtol=1e-7)
        np.testing.assert_allclose(estimate.fit.predicted, reference.fit.predicted, atol=1e-8)
        assert estimate.rows == reference.rows == 3 * sum(inverse_dynamics(ARM, signals).row_counts)


def test_factors_are_those_of_the_dense_columns(rng, monkeypatch):
    monkeypatch.setattr(module, "SAMPLES_PER_STRETCH", 100)
    monkeypatch.setattr(base_parameters, "ROWS_PER_FOLD", 70)
    problem, _, _ = problem_of(rng)
    W, y = stacked(problem)
    weights = rng.uniform(0.5, 2.0, y.shape)

    def by_row(rows):
        return weights[rows.first : rows.first + len(rows.time)]

    for R, u in ((problem.factors(), np.ones_like(y)), (problem.factors(by_row), weights)):
        for joint in range(3):
            stack = np.column_stack([W[:, joint], y[:, joint]]) * u[:, joint, None]
            size = np.abs(stack).max() ** 2 * len(stack)
            np.testing.assert_allclose(R[joint].T @ R[joint], stack.T @ stack, atol=1e-13 * size)


def test_several_recordings_are_all_their_rows(rng):
    one, two = problem_of(rng, 300)[2], problem_of(rng, 200)[2]
    both = inverse_dynamics(ARM, [one, two])
    assert both.row_counts == (300, 200)
    W, y = stacked(both)
    for k, (signals, rows) in enumerate(((one, slice(0, 300)), (two, slice(300, 500)))):
        single_W, single_y = stacked(inverse_dynamics(ARM, signals))
        np.testing.assert_array_equal(W[rows], single_W)
        np.testing.assert_array_equal(y[rows], single_y)
        assert {r.part for r in both.rows() if r.part == k} == {k}
    time, measured, _ = both.predict(np.zeros(len(both.base)))
    assert (np.diff(time) >= 0).all()  # one after the other for plots
    np.testing.assert_array_equal(measured, y)
    np.testing.assert_allclose(np.diff(time)[:299], np.diff(one.time), atol=1e-12)


def test_memory_does_not_grow_with_the_recording(monkeypatch):
    """Ten times the samples: the factor needs no more."""
    monkeypatch.setattr(module, "KEPT_NUMBERS", 0)
    monkeypatch.setattr(base_parameters, "ROWS_PER_FOLD", 500)
    generator = np.random.default_rng(0)
    robot = chain("yyy", [0, 0.3, 0.3])
    theta = own_parameters(robot, generator)

    def peak(samples, decimation):
        motion = smooth_motion(robot, samples, generator)
        short = tuple(x[:2] for x in motion)
        tau = generator.standard_normal((samples, 3))
        signals = replace(
            signals_of(robot, theta, short), time=motion[0], q=motion[1], v=motion[2], a=motion[3], tau=tau
        )
        problem = inverse_dynamics(robot, replace(signals, decimation=decimation))
        tracemalloc.start()
        problem.factors()
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    for decimation, few in ((None, 3_000), (Decimation(10, 4), 8_000)):
        peak(few, decimation)  # what is made once
        # rows that are kept would make it ten times as much; stamps of kept rows and uncollected garbage are little
        assert peak(10 * few, decimation) < 1.5 * peak(few, decimation)


# -- certificate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["none", "per-joint", "robust"])
@pytest.mark.parametrize(
    "priors", [{}, {"fv1": Normal(0.5, 0.01), "yy3": Normal(0.2, 0.05)}], ids=["free", "priors"]
)
def test_an_estimate_proves_itself_and_a_changed_one_does_not(weighting, priors, rng):
    problem, _, _ = problem_of(rng, 300, noise=0.5, priors=priors)
    estimate = LeastSquares(weighting).solve(problem)
    assert estimate.certificate().holds
    assert estimate.certificate().stationarity < 1e-9
    for k in range(len(estimate.values)):
        moved = estimate.values.copy()
        moved[k] += 0.01 * estimate.white_std[k]
        certificate = estimate.updated(values=moved).certificate()
        assert not certificate.holds, estimate.names[k]


def test_a_certificate_of_other_data_does_not_hold(rng):
    problem, _, signals = problem_of(rng, 300)
    estimate = LeastSquares().solve(problem)
    other = inverse_dynamics(ARM, replace(signals, tau=signals.tau * 1.001))
    assert not replace(estimate, problem=other).certificate().holds


# -- what is refused -----------------------------------------------------------------------------------------


def test_channels_and_joints_must_match(rng):
    _, _, signals = problem_of(rng, 100)
    with pytest.raises(InvalidSignals, match="joint 'j2' has no position channel; did you mean 'jj2'"):
        inverse_dynamics(ARM, replace(signals, joints=("j1", "jj2", "j3")))
    extra = Signals(
        signals.time,
        (*signals.joints, "hand"),
        *(np.column_stack([x, x[:, 0]]) for x in (signals.q, signals.v, signals.a, signals.tau)),
    )
    with pytest.raises(
        InvalidSignals, match=r"position.hand belongs to no joint of the robot.*the robot has j1, j2, j3"
    ):
        inverse_dynamics(ARM, extra)
    with pytest.raises(InvalidSignals, match="no recording to identify from"):
        inverse_dynamics(ARM, [])


@pytest.mark.parametrize(("value", "what"), [(0.0, "all zero"), (3.0, "constant")])
def test_an_effort_that_says_nothing_is_refused_unless_nothing_drives_the_joint(value, what, rng):
    _, _, signals = problem_of(rng, 100)
    tau = signals.tau.copy()
    tau[:, 1] = value
    with pytest.raises(InvalidSignals, match=f"torque of joint 'j2' is {what}"):
        inverse_dynamics(ARM, replace(signals, tau=tau))
    passive = replace(ARM, drive=Drive(passive=("j2",)))
    _, y = stacked(inverse_dynamics(passive, replace(signals, tau=tau)))
    assert not y[:, 1].any()


# -- efforts that were not measured --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [["j1"], ["j2"], ["j3"], ["j1", "j3"]])
def test_equations_without_their_effort_are_left_out(missing, rng):
    """The estimate is that of the other rows of the dense regressor, by another solver; the effort does not matter."""
    _, _, signals = problem_of(rng)
    tau = signals.tau.copy()
    tau[:, [ARM.joints.index(joint) for joint in missing]] = 1e3 * rng.standard_normal()
    robot = replace(ARM, drive=replace(ARM.drive, not_measured=tuple(missing)))
    problem = inverse_dynamics(robot, replace(signals, tau=tau))
    others = [k for k, joint in enumerate(ARM.joints) if joint not in missing]
    assert robot.effort_names == tuple(ARM.joints[k] for k in others)
    dense = Regressor(ARM, ARM.parameters).dense(ARM.configurations(signals.q), signals.v, signals.a)[
        :, others
    ]
    W, y = stacked(problem)
    np.testing.assert_array_equal(W, dense[:, :, problem.base.chosen])
    np.testing.assert_array_equal(y, signals.tau[:, others])
    rows = dense.reshape(-1, dense.shape[-1])
    theta = np.linalg.lstsq(rows, signals.tau[:, others].ravel(), rcond=1e-9)[0]
    estimate = LeastSquares().solve(problem)
    predicted = rows @ theta
    np.testing.assert_allclose((W @ estimate.values).ravel(), predicted, atol=1e-8 * np.abs(predicted).max())
    anywhere = (
        Regressor(ARM, ARM.parameters)
        .dense(*ARM.random_states(300, rng))[:, others]
        .reshape(-1, rows.shape[1])
    )
    anywhere /= np.maximum(np.linalg.norm(anywhere, axis=0), 1e-3)  # columns that are zero contain rounding
    assert np.linalg.matrix_rank(anywhere, tol=1e-9) == len(problem.base)


def test_what_the_missing_efforts_would_determine_is_said(rng):
    robot = replace(ARM, drive=replace(ARM.drive, not_measured=("j3",)))
    problem = inverse_dynamics(robot, problem_of(rng)[2])
    full = len(problem_of(rng)[0].base)
    (warning,) = problem.warnings
    assert f"determines {len(problem.base)} combinations of parameters, not {full}" in warning
    assert "nothing determines ia3, fv3, fc3, off3" in warning


def test_a_motor_that_was_not_measured_hides_all_equations_in_which_it_acts(rng):
    coupled = Drive((20, 30, 40), (Coupling("j3", "j2", 15),), "motor")
    for missing, names in (("j3", ("j1",)), ("j2", ("j1", "j3"))):
        robot = replace(ARM, drive=replace(coupled, not_measured=(missing,)))
        assert robot.effort_names == names
    _, _, signals = problem_of(rng, 100)
    none = replace(ARM, drive=Drive(not_measured=("j1", "j2", "j3")))
    with pytest.raises(
        InvalidSignals, match="no equation of motion is left without the torque of j1, j2, j3"
    ):
        inverse_dynamics(none, signals)


def test_priors_are_for_base_parameters(rng):
    _, _, signals = problem_of(rng, 100)
    with pytest.raises(
        InvalidMethod, match=r"prior on m3 alone cannot be used: the motion determines .*mx2r = mx2 \+ 0.4 m3"
    ):
        inverse_dynamics(ARM, signals, priors={"m3": Normal(1, 1)})
    with pytest.raises(
        InvalidMethod, match=r"a prior on m1 alone cannot be used: the motion determines nothing of it"
    ):
        inverse_dynamics(ARM, signals, priors={"m1": Normal(1, 1)})
    with pytest.raises(InvalidMethod, match="no base parameter 'fv9'; did you mean"):
        inverse_dynamics(ARM, signals, priors={"fv9": Normal(1, 1)})
    with pytest.raises(InvalidMethod, match="fv1 is held at 2; it cannot have a prior too"):
        inverse_dynamics(ARM, signals, held={"fv1": 2.0}, priors={"fv1": Normal(1, 1)})
    with pytest.raises(InvalidMethod, match="no parameter 'fx1'"):
        inverse_dynamics(ARM, signals, held={"fx1": 2.0})
    for mean, std in ((np.nan, 1), (0, 0), (0, -1), (0, np.inf)):
        with pytest.raises(InvalidMethod, match="finite mean and std > 0"):
            Normal(mean, std)
