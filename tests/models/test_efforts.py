"""Efforts of joints: slopes are differences, energy is conserved, and simulated truth is found again."""

from dataclasses import replace

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import InvalidModel, InvalidSignals
from poinsot.excitation.problem import Terms
from poinsot.models.efforts import (
    EFFORTS,
    Counterbalance,
    CurrentCurve,
    KnownEffort,
    Ripple,
    Spring,
    WarmingFriction,
)
from poinsot.models.robot.joint_terms import JointTerms
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.regressor import Regressor
from references.robots import chain, own_parameters

POSITIONAL = [
    Spring("j2"),
    Spring("j2", zero=0.4),
    Counterbalance("j2", fixed=(-0.3, 0.1, 0.05), moving=(0.1, 0.02, 0.4), degree=3),
    Ripple("j2", harmonics=(1, 6, 12)),
    KnownEffort("j2", positions=(-4.0, 0.0, 1.0, 4.0), efforts=(1.0, 2.0, -1.0, 0.5)),
]
ALL = [
    *POSITIONAL,
    CurrentCurve("j2"),
    WarmingFriction("j2"),
    KnownEffort("j2", channel="pressure", free=True),
]
each_positional = pytest.mark.parametrize("effort", POSITIONAL, ids=lambda effort: type(effort).__name__)


def robot_with(*efforts, **more):
    return replace(chain("zyy", [0, 0.1, 0.4], **more), efforts=efforts)


def test_every_law_is_tested():
    assert {type(effort) for effort in ALL} == set(EFFORTS.values())


@each_positional
def test_slopes_are_differences(effort, rng):
    effort, q, h = effort.placed(robot_with()), rng.uniform(-3, 3, 20), 1e-6
    none = np.zeros((20, 0))
    ahead, behind = effort.columns(q + h, 0 * q, none), effort.columns(q - h, 0 * q, none)
    # a table bends at its positions, from which 20 random ones keep away
    np.testing.assert_allclose(effort.slopes(q), (ahead - behind) / (2 * h), atol=1e-7)


def test_a_counterbalance_does_the_work_of_its_force():
    """The integral of torque over angle is that of force over length, for each power."""
    effort = POSITIONAL[2].placed(robot_with())
    q = np.linspace(-0.5, 2.0, 20001)
    columns = effort.columns(q, 0 * q, np.zeros((len(q), 0)))
    a, b = np.array(effort.fixed), np.array(effort.moving)

    def length(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.linalg.norm(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ b - a)  # j2 turns about y

    first, last, zero = length(q[0]), length(q[-1]), length(0.0)
    for k in range(4):
        work = zero * ((last / zero - 1) ** (k + 1) - (first / zero - 1) ** (k + 1)) / (k + 1)
        assert np.trapezoid(columns[:, k], q) == pytest.approx(work, rel=1e-6)


@pytest.mark.parametrize("effort", ALL, ids=lambda effort: type(effort).__name__)
def test_the_regressor_has_its_columns_behind_friction(effort, rng):
    robot = robot_with(effort, drive=poinsot.Drive(rotor_inertia=True, gain=(1, 3, 1)))
    q, v, a = robot.random_states(5, rng)
    channels = rng.uniform(280, 320, (5, len(robot.inputs)))
    W = Regressor(robot, robot.parameters).dense(q, v, a, channels)
    placed = effort.placed(robot)
    expected = placed.columns(q[:, 1], v[:, 1], channels)
    k = expected.shape[1]
    np.testing.assert_allclose(W[:, 1, -k:], expected)
    assert not W[:, [0, 2], -k:].any()
    assert all(name.endswith("_2") for name in robot.parameters.names[-k:])
    if effort.inputs:
        assert not Regressor(robot, robot.parameters).dense(q, v, a)[:, :, -k:].any()


@each_positional
def test_it_is_simulated_and_a_motion_is_designed_with_its_slope(effort, rng):
    robot = robot_with(effort)
    terms = JointTerms(robot)
    phi = rng.uniform(0.1, 1, len(terms.parameters.names))
    q, v, a = rng.standard_normal((3, 4, 3))
    tau, slope = terms.stiffness(phi, q)
    dense = terms.columns(np.arange(len(phi)), q, v, a) @ phi
    np.testing.assert_allclose(dense, a @ terms.rotors(phi).T + terms.friction(phi, v)[0] + tau, atol=1e-12)
    h = 1e-6
    ahead, behind = (terms.stiffness(phi, q + step * np.eye(3)[1])[0] for step in (h, -h))
    np.testing.assert_allclose(slope[:, :, 1], (ahead - behind) / (2 * h), atol=1e-6)
    regressor = Regressor(robot, robot.parameters)
    design = Terms(regressor, structural_base(regressor), own_parameters(robot, rng), np.full(3, 0.1))
    by_torque = rng.standard_normal((4, 3))
    dq, _, _ = design.pull_back(q, v, a, None, by_torque)
    for joint, step in enumerate(h * np.eye(3)):
        ahead, behind = (design.torques(design.entries(q + s, v, a)) for s in (step, -step))
        np.testing.assert_allclose(
            dq[:, joint], np.sum(by_torque * (ahead - behind), axis=1) / (2 * h), atol=1e-5
        )


def test_a_known_effort_acts_in_simulations(rng):
    from poinsot_reproductions.simulated_recordings import model_parameters

    robot = robot_with(KnownEffort("j2", positions=(-4.0, 4.0), efforts=(7.0, 7.0)))
    assert model_parameters(robot)[-1] == 1
    parameters = OpenParameters(robot)
    tau, _ = parameters.joint_terms.stiffness(parameters.nominal_joints, rng.standard_normal((2, 3)))
    np.testing.assert_allclose(tau, [[0, 7, 0]] * 2)


def test_a_spring_slows_what_moves_freely():
    """M a = -ks q: optimal estimation simulates it."""
    from poinsot.models.contacts.contact_dynamics import ContactDynamics

    robot = replace(chain("z", [0.0]), efforts=(Spring("j1", zero=0.0),), friction=poinsot.NoFriction())
    parameters = OpenParameters(robot, joints=("ks_1",))
    motion = ContactDynamics(parameters)(
        np.array([[0.3]]), np.zeros((1, 1)), np.zeros((1, 1)), np.array([5.0]), True
    )
    M = float(robot.inertials[0][9])
    assert motion.a[0, 0] == pytest.approx(-5 * 0.3 / M)
    assert motion.a_by.q[0, 0, 0] == pytest.approx(-5 / M)


def test_what_no_motion_distinguishes_is_named():
    """A spring of constant stiffness between two points is a weight under a level axis, so it is regrouped into it."""
    robot = replace(
        chain("y", [0.0]), efforts=(Counterbalance("j1", (0.2, 0, 0.1), (0.3, 0, 0.4), degree=1),)
    )
    base = structural_base(Regressor(robot, robot.parameters))
    # (cb0, cb1) of f = c L are (c L0, c L0): one combination is gravity, the other is not
    grouped = [grouping for grouping in base.groupings if "cb" in grouping]
    assert len(base) < len(structural_base(Regressor(replace(robot, efforts=()), robot.parameters)).names) + 2
    assert any("mx1" in each or "mz1" in each for each in grouped), base.groupings


@pytest.mark.parametrize(
    ("effort", "sentence"),
    [
        (lambda: Spring("j9"), "joint 'j9'"),
        (lambda: Counterbalance("j2", (0, 0, 0), (0, 0, 1)), "correct fixed and moving"),
        (lambda: Counterbalance("j2", (0, 0, 1), (1, 0, 0), degree=-1), "degree"),
        (lambda: CurrentCurve("j2", powers=(1.0,)), "powers above 1"),
        (lambda: KnownEffort("j2"), "a channel, or positions"),
        (lambda: KnownEffort("j2", positions=(1, 0), efforts=(0, 1)), "a channel, or positions"),
    ],
)
def test_what_does_not_fit_is_refused(effort, sentence):
    with pytest.raises(InvalidModel, match=sentence):
        _ = robot_with(effort()).parameters
    with pytest.raises(InvalidModel, match="one effort of a kind"):
        _ = robot_with(Spring("j2"), Spring("j2")).parameters


# -- simulated truth ---------------------------------------------------------------------------------------------------


def simulated(rng, tau_of, channels=None, efforts=(), drive=None):
    """The example's arm, its torque by Pinocchio, plus what `tau_of` adds to the shoulder."""
    import pinocchio as pin

    from poinsot_reproductions.simulated_recordings import fourier_motion

    robot = poinsot.load_robot("examples/arm/arm.urdf", friction=poinsot.ViscousCoulomb(), drive=drive)
    time, q, v, a = fourier_motion(3, 20.0, 200.0, rng, amplitude=1.2)
    data = robot.model.createData()
    tau = np.array([pin.rnea(robot.model, data, *each) for each in zip(q, v, a, strict=True)])
    tau += 0.5 * v + 1.0 * np.sign(v)
    tau, recorded = tau_of(tau, time, q, v)
    tau = tau + 0.05 * rng.standard_normal(tau.shape)
    named = {f"position.{j}": x for j, x in zip(robot.joints, q.T, strict=True)}
    quantity = "current" if drive is not None else "torque"
    named |= {f"{quantity}.{j}": x for j, x in zip(robot.joints, tau.T, strict=True)}
    units = dict.fromkeys(named, "rad") | {
        n: "A" if drive else "N m" for n in named if n.startswith(quantity)
    }
    units |= dict.fromkeys(recorded, "1")
    recording = poinsot.Recording(time, named | recorded, units)
    signals = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=10).apply(recording)
    return poinsot.LeastSquares().solve(
        poinsot.InverseDynamics(replace(robot, efforts=tuple(efforts)), signals)
    )


def assert_found(estimate, **true):
    for name, value in true.items():
        k = next(k for k, each in enumerate(estimate.names) if each.removesuffix("r") == name)
        assert abs(estimate.values[k] - value) < 4 * estimate.std[k] + 0.01 * abs(value), (
            name,
            estimate.values[k],
        )


def test_a_spring_and_ripple_are_found(rng):
    def add(tau, time, q, v):
        tau[:, 1] += 12 * (q[:, 1] - 0.3) + 0.8 * np.sin(6 * q[:, 1])
        return tau, {}

    efforts = Spring("shoulder", zero=0.3), Ripple("shoulder", harmonics=(6,))
    assert_found(simulated(rng, add, efforts=efforts), ks_2=12, sin6_2=0.8, cos6_2=0.0, fv2=0.5)


def test_friction_that_falls_as_it_warms(rng):
    def add(tau, time, q, v):
        T = 293.15 + 30 * (1 - np.exp(-time / 10))
        # 1 % and .5 % of fv = 0.5 and fc = 1 per kelvin
        tau[:, 1] += (-0.005 * v[:, 1] - 0.005 * np.sign(v[:, 1])) * (T - 293.15)
        return tau, {"temperature": T}

    estimate = simulated(rng, add, efforts=[WarmingFriction("shoulder")])
    assert_found(estimate, fvT_2=-0.005, fcT_2=-0.005, fv2=0.5, fc2=1.0)


def test_a_motor_that_saturates(rng):
    """tau = 2 N m/A (i - 0.05 |i/10|^2 i): currents by Newton's method, not by the regressor."""

    def add(tau, time, q, v):
        i = tau / 2
        for _ in range(30):
            i = i - (2 * (i - 0.05 * i**3 / 100) - tau) / (2 * (1 - 0.15 * i**2 / 100))
        i[:, [0, 2]] = tau[:, [0, 2]] / 2
        return i, {}

    estimate = simulated(
        rng, add, efforts=[CurrentCurve("shoulder", reference=10.0)], drive=poinsot.Drive(gain=2.0)
    )
    assert_found(estimate, sat3_2=-0.05)
    assert estimate.fit.relative_error_percent < 2


def test_a_known_effort_is_subtracted(rng):
    def add(tau, time, q, v):
        pressure = 30 * np.sin(2 * time)
        tau[:, 1] += pressure + np.interp(q[:, 1], [-1, 1], [-20, 20])
        return tau, {"pressure": pressure}

    table = KnownEffort("elbow", positions=(-1.0, 1.0), efforts=(0.0, 0.0))
    estimate = simulated(rng, add, efforts=[KnownEffort("shoulder", channel="pressure"), table])
    assert "known_2" not in estimate.names and estimate.fit.relative_error_percent > 3  # the table is missing
    with pytest.raises(InvalidSignals, match="need the channel 'pressure'"):
        simulated(rng, lambda tau, *_: (tau, {}), efforts=[KnownEffort("shoulder", channel="pressure")])
    free = simulated(rng, add, efforts=[KnownEffort("shoulder", channel="pressure", free=True)])
    k = free.names.index("known_2")
    assert abs(free.values[k] - 1) < 0.1
