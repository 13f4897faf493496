"""What errors of the description do to an estimate: against estimates with a description that is wrong."""

from dataclasses import fields, replace

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

import poinsot
from poinsot import ActuatorProblem, Actuators, OutputError, Recording, Search, randomization_of
from poinsot.accuracy import Accuracy
from poinsot.estimate import Trust
from poinsot.estimators.servo.intervals import cost_with_description
from poinsot.estimators.servo.problem import InvalidActuatorProblem
from poinsot.estimators.servo.search import group_problem
from poinsot.models.servo.actuator import Actuator
from poinsot.simulation.actuators import Motion, Simulator
from poinsot_reproductions.described import described_robot

# errors of the laboratory other than those of the description are none
NO_OTHERS = Accuracy(
    **{field.name: 0.0 for field in fields(Accuracy) if field.name != "exact"},
)

URDF = """<robot name="swing"><link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 -0.15"/><mass value="{mass}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""
TRUTH = Actuator("pivot", stiffness=8.0, damping=0.3, coulomb=0.05, armature=0.02, delay=0.02, zero=0.01)
OPEN = ("stiffness", "damping", "coulomb", "armature", "delay", "zero")
QUICK = OutputError(Search(draws=20, refined=1, finished=1, hops=1))


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("swing") / "swing.urdf"
    path.write_text(URDF.format(mass=1.0, i=1e-3))
    return poinsot.load_robot(path)


@pytest.fixture(scope="module")
def recording(robot):
    time = np.arange(0, 6, 0.01)
    command = 0.9 * np.sin(1.3 * time) + 0.3 * np.sin(5.0 * time)
    simulator = Simulator.of(robot, [TRUTH], timestep=0.001)
    q = simulator.roll_out(Motion("swing", time, command[:, None], command[:1], np.zeros(1)))[:, 0]
    q = q + 1e-4 * np.random.default_rng(0).standard_normal(len(q))
    channels = {"position_command.pivot": command, "position.pivot": q}
    return Recording(time, channels, dict.fromkeys(channels, "rad"))


def solve(robot, recording, **settings):
    return QUICK.solve(ActuatorProblem(robot, {"swing": recording}, **{"open": OPEN, **settings}))


def heavier(robot, part):
    model = robot.model.copy()
    for k, inertia in enumerate(model.inertias):
        model.inertias[k] = pin.Inertia(inertia.mass * part, inertia.lever, inertia.inertia * part)
    return replace(robot, model=model)


@pytest.mark.parametrize("held", [{}, {"stiffness": TRUTH.stiffness}])
def test_intervals_contain_what_another_mass_does(robot, recording, held):
    """With the scale from gravity all torques move with the mass; with a held stiffness the armature does."""
    part = 0.01 if held else 0.05

    def solved(factor, std):
        described = heavier(robot, factor)
        return solve(
            described, recording, held=held, accuracy=NO_OTHERS, gravity_tilt_std=0.0, link_inertia_std=std
        )

    exact, known = solved(1.0, 0.0), solved(1.0, part)
    np.testing.assert_allclose(known.values, exact.values, rtol=1e-9)
    assert (exact.systematic_std == 0).all()
    np.testing.assert_allclose(known.std**2, exact.std**2 + known.systematic_std**2, rtol=1e-6)
    # with a given stiffness dry friction and damping take up a sag that is not theirs, and nothing is linear there
    kept = [k for k, kind in enumerate(exact.kinds) if not held or kind in ("armature", "zero")]
    for factor in (1 + part, 1 - part):
        wrong = solved(factor, part)
        moved = np.abs(wrong.values - exact.values)[kept]
        assert moved.max() > 3 * exact.std[kept].max()
        # of one standard deviation, and where the iteration ends
        np.testing.assert_array_less(moved, 1.1 * wrong.std[kept] + 2 * exact.std[kept])
    if not held:
        assert known.systematic_std[0] == pytest.approx(part * known.values[0], rel=0.02)


def test_a_scale_from_masses_is_not_taken_for_known(robot, recording):
    """A robot whose links are a third heavier than described: no stiffness with a narrow interval and trust."""
    described = heavier(robot, 0.75)
    estimate = solve(described, recording)
    finding = next(each for each in estimate.diagnosis.findings if each.cause == "held-description")
    assert estimate.trust is Trust.trusted and "link_inertia_std = 0.03" in finding.remedy
    k = estimate.names.index("pivot.stiffness")
    assert abs(estimate.values[k] - TRUTH.stiffness) < 2.6 * estimate.std[k]
    assert estimate.parameters.coloured_std[k] < 0.2 * estimate.std[k]
    # the simulator of this description moves alike
    assert randomization_of(estimate).std.max() < estimate.std.max()
    told = solve(described, recording, held={"stiffness": TRUTH.stiffness})
    assert "held-description" not in {each.cause for each in told.diagnosis.findings}


def test_errors_of_a_description_are_parts(robot, recording):
    with pytest.raises(
        InvalidActuatorProblem, match="link_inertia_std must be at least 0 and below 1, not -1"
    ):
        ActuatorProblem(robot, {"swing": recording}, link_inertia_std=-1.0)


def test_open_errors_of_a_description_leave_what_a_right_one_leaves(robot, recording):
    """The cost with 3 % too little mass, and its error open, is about that with the right mass."""
    settings = {"open": OPEN, "held": {"stiffness": TRUTH.stiffness}, "gravity_tilt_std": 0.0}
    costs = {}
    for part in (1.0, 0.97):
        problem = ActuatorProblem(
            heavier(robot, part), {"swing": recording}, link_inertia_std=0.1, **settings
        )
        motions = problem.motions
        group = group_problem(
            problem, problem.joints, motions, [problem.measured_loads(motion) for motion in motions]
        )
        group, minimum = QUICK.search.best(group)
        group = replace(group, sigma=np.array([1e-4]), correlation=1.0)
        at = QUICK.search.refine(group, minimum.at.x)[1].at
        costs[part] = at.cost, cost_with_description(problem, group, at.x)
    (right, right_open), (wrong, wrong_open) = costs[1.0], costs[0.97]
    assert right_open == pytest.approx(right, rel=0.01)
    assert wrong > 100 * right
    # friction makes kinks, at which a step of the unknowns alone, which does not count, takes away a part, too
    assert wrong_open < 0.02 * wrong


def test_what_wrong_masses_explain_is_no_torque_limit(shared_data):
    """A thigh that is heavier than described: a limit of .74 N m cut its peaks of torque, of a motor of 24 N m."""
    log = pl.read_parquet(shared_data("go2") / "in_the_air.parquet")
    go2, channels = described_robot("go2_description", "urdf", "go2.urdf"), {}
    for joint in go2.joints:
        name = joint.removesuffix("_joint")
        channels[f"position.{joint}"] = log[f"position_{name}"].to_numpy().astype(float)
    thigh = "RR_thigh_joint"
    channels[f"position_command.{thigh}"] = log["command_RR_thigh"].to_numpy().astype(float)
    problem = ActuatorProblem(
        go2,
        {"air": Recording(log["t"].to_numpy(), channels, dict.fromkeys(channels, "rad"))},
        held={"stiffness": 20.0, "velocity_gain": 1.5, "derivative_gain": 0.0},
        start={
            "damping": 0.03, "coulomb": 0.26, "armature": 0.001, "torque_limit": 0.74, "delay": 0.0075, "zero": 0.0
        },
    )  # fmt: skip
    estimate = QUICK.solve(problem)
    assert not estimate.identifiable[estimate.names.index(f"{thigh}.torque_limit")]
    # without a limit the residuals are larger, and remain so
    assert 1.9e-3 < estimate.extra(Actuators).rms["air"][thigh] < 2.3e-3
