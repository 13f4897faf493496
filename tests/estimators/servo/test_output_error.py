"""Loads against Pinocchio, motion against MuJoCo, Jacobians against finite differences, estimates against truth."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot import ActuatorProblem, Actuators, OutputError, Recording, Search
from poinsot.estimate import Status
from poinsot.estimators.servo.problem import InvalidActuatorProblem
from poinsot.estimators.servo.search import Coordinates, group_problem
from poinsot.models.servo.mechanics import Mechanics
from poinsot.models.servo.rollout import rollout_parameters
from poinsot.parameters import Normal
from poinsot_reproductions.actuators import known_truth
from poinsot_reproductions.actuators.known_truth import ROBOTS, draw_actuator, robot_of, simulate


@pytest.fixture(scope="module")
def arm():
    return robot_of("arm")


@pytest.fixture(scope="module")
def exact(arm):
    """A recording without noise and rounding, and its actuators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ROBOTS, "arm", replace(ROBOTS["arm"], noise=0.0, quantum=1e-12))
        rng = np.random.default_rng(4)
        truth = tuple(draw_actuator(ROBOTS["arm"], joint, rng) for joint in arm.joints)
        return simulate("arm", truth, rng), truth


@pytest.fixture(scope="module")
def noisy(arm):
    rng = np.random.default_rng(6)
    truth = tuple(draw_actuator(ROBOTS["arm"], joint, rng) for joint in arm.joints)
    return simulate("arm", truth, rng), truth


def test_loads_are_those_of_pinocchio(arm):
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 20, 6))
    mechanics, data = Mechanics.of(arm), arm.model.createData()
    slopes = mechanics.gravity_slopes(q)
    for k in range(20):
        M, tau = pin.crba(arm.model, data, q[k]).copy(), pin.rnea(arm.model, data, q[k], v[k], a[k])
        loads = mechanics.loads(q, v, a, slopes)
        np.testing.assert_allclose([each.inertia[k] for each in loads], np.diag(M), atol=1e-12)
        np.testing.assert_allclose([each.load[k] for each in loads], tau - np.diag(M) * a[k], atol=1e-10)
        still = np.zeros(6)
        by_hand = [
            (
                pin.rnea(arm.model, data, q[k] + d, still, still)
                - pin.rnea(arm.model, data, q[k] - d, still, still)
            )[j]
            / 2e-6
            for j, d in enumerate(1e-6 * np.eye(6))
        ]
        np.testing.assert_allclose(slopes[k], by_hand, atol=1e-7)


def test_all_joints_together_move_as_in_mujoco(arm, exact):
    recording, truth = exact
    problem = ActuatorProblem(arm, {"exact": recording}, hold=False, step_s=0.0005)
    (motion,) = problem.motions
    rollouts, _, settled = problem.simulate(motion, truth)
    assert settled
    errors = np.stack([each.position for each in rollouts], axis=1) - motion.measured
    # amplitudes of 0.4 rad; MuJoCo's steps of 0.05 ms are of first order
    assert np.sqrt(np.mean(errors**2, axis=0)).max() < 3e-5


def test_coordinates_are_ratios_to_the_stiffness():
    coordinates = Coordinates(
        ("a", "b"),
        ("stiffness", "coulomb", "delay", "zero"),
        np.zeros((2, len(rollout_parameters()))),
        (0.0, 0.0),
    )
    theta = np.array([18.0, 0.2, 0.03, 0.01, -0.02])
    x = coordinates.from_natural(theta)
    np.testing.assert_allclose(x, [np.log(18.0), 0.2 / 18.0, 0.03, 0.01, -0.02])
    np.testing.assert_allclose(coordinates.natural(x), theta)
    slope = coordinates.slope(x)
    for k in range(5):
        d = 1e-6 * np.eye(5)[k]
        np.testing.assert_allclose(
            slope[:, k], (coordinates.natural(x + d) - coordinates.natural(x - d)) / 2e-6, atol=1e-7
        )
    assert coordinates.of_joint(theta, 1)[rollout_parameters().index("zero")] == -0.02


def test_jacobian_of_joints_that_share_is_that_of_finite_differences(arm, noisy):
    recording, truth = noisy
    problem = ActuatorProblem(
        arm, {"noisy": recording.between(4.0, 6.0)}, hold=False, share={"bend": ("elbow_flex", "wrist_flex")}
    )
    (motion,) = problem.motions
    joints = dict(problem.groups)["bend"]
    group = group_problem(problem, joints, [motion], [problem.measured_loads(motion)])
    values = truth[arm.joints.index("elbow_flex")].updated({"torque_limit": 0.7}).values
    x = group.coordinates.from_natural(np.array([values[name] for name, _ in group.coordinates.columns]))
    z = group.begin(x)
    J = group.jacobian(z)
    assert group.coordinates.columns[-2:] == (("zero", "elbow_flex"), ("zero", "wrist_flex"))
    for k in range(group.size):
        d = np.zeros(group.size)
        d[k] = 1e-8
        by_hand = (group.residuals(z + d) - group.residuals(z - d)) / 2e-8
        np.testing.assert_allclose(J[:, k], by_hand, atol=2e-4 * np.abs(by_hand).max())


def test_estimates_find_the_truth_and_what_cannot_be_known(arm, noisy):
    recording, truth = noisy
    problem = ActuatorProblem(arm, {"noisy": recording}, hold=False)
    estimate = OutputError(Search(draws=200, refined=4, finished=2, hops=2)).solve(problem)
    assert estimate.status is Status.partly
    assert estimate.certificate().holds
    found = estimate.extra(Actuators)
    # its axis is vertical in every posture of this motion but for small angles: neither gravity nor inertia has a scale
    assert not found.scale_known["wrist_roll"]
    assert any("common scale of wrist_roll.stiffness" in each.combination for each in estimate.undetermined)
    assert max(found.rms["noisy"].values()) < 0.8e-3
    by_joint = {each.name: each.values for each in truth}
    errors = [
        (value - by_joint[joint][kind]) / std
        for joint, kind, value, std, known in zip(
            estimate.owners, estimate.kinds, estimate.values, estimate.std, estimate.identifiable, strict=True
        )
        if known
    ]
    assert len(errors) > 20
    # 95 % of each; correlated within a joint
    assert np.mean(np.abs(errors) < 1.96) > 0.8


def test_a_held_parameter_and_a_prior_count(arm, noisy):
    recording, _ = noisy
    problem = ActuatorProblem(
        arm,
        {"noisy": recording},
        hold=False,
        held={"derivative_gain": 0.0, "stiffness.gripper": 15.0},
        priors={"damping.gripper": Normal(0.5, 1e-6)},
    )
    assert "stiffness" not in problem.open_of("gripper")
    assert "stiffness" in problem.open_of("elbow_flex")
    (motion,) = problem.motions
    group = group_problem(problem, ("gripper",), [motion], [problem.measured_loads(motion)])
    k = group.coordinates.columns.index(("damping", ""))
    assert (group.mean[k], group.std[k]) == (0.5, 1e-6)


def test_a_derivative_gain_on_held_commands_has_a_ramp(arm, noisy):
    recording, _ = noisy

    def ramp(**settings):
        return ActuatorProblem(arm, {"noisy": recording}, **settings).held_actuator("gripper").ramp

    # the time between two samples; none where commands are linear, or no rate of theirs counts
    assert ramp() == pytest.approx(0.02)
    assert ramp(step_s=0.03) == 0.03
    assert ramp(hold=False) == 0.0
    assert ramp(held={"derivative_gain": 0.0}) == 0.0
    assert ramp(held={"ramp.gripper": 0.005}) == 0.005
    with pytest.raises(InvalidActuatorProblem, match=r"write held = \{ ramp = 0.02 \}"):
        ActuatorProblem(arm, {"noisy": recording}, open=("ramp",))
    with pytest.raises(InvalidActuatorProblem, match="a ramp is between commands that are held"):
        ActuatorProblem(arm, {"noisy": recording}, hold=False, held={"ramp": 0.02})


def test_what_does_not_fit_is_said(arm, noisy):
    recording, _ = noisy
    with pytest.raises(InvalidActuatorProblem, match="open has 'stifness'"):
        ActuatorProblem(arm, {"noisy": recording}, open=("stifness",))
    with pytest.raises(InvalidActuatorProblem, match="no joint 'elbow'"):
        ActuatorProblem(arm, {"noisy": recording}, held={"stiffness.elbow": 20.0})
    with pytest.raises(InvalidActuatorProblem, match="in share 'a' and in 'b'"):
        ActuatorProblem(arm, {"noisy": recording}, share={"a": ("gripper",), "b": ("gripper",)})
    without = {name: recording[name] for name in recording.channels if name != "position.gripper"}
    less = Recording(recording.time, without, dict.fromkeys(without, "rad"))
    with pytest.raises(InvalidActuatorProblem, match=r"locked = \{ gripper = 0.0 \}"):
        _ = ActuatorProblem(arm, {"less": less}).joints


@pytest.mark.slow
def test_the_case_counts_what_is_inside():
    found = known_truth.estimate_draw(known_truth.Draw("arm", 0, 1))
    assert {"errors", "delays", "undetermined"} == set(found)
    assert len(found["delays"]) == 6
