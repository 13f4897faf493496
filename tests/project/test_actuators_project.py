"""`[method] name = "actuators"`: from a project file to result and page."""

import json

import mujoco
import numpy as np
import pytest

from poinsot import Accuracy, Actuator, ActuatorProblem, Actuators, OutputError, Search, read_randomization
from poinsot.estimate import Status
from poinsot.estimators.servo.problem import InvalidActuatorProblem
from poinsot.exceptions import InvalidProject
from poinsot.models.robot.articulated import load_robot
from poinsot.models.servo.rollout import JointLoad, Steps, parameter_vector, roll_out
from poinsot.models.servo.setpoint import Setpoint
from poinsot.project import Project
from poinsot.project.job import Job
from poinsot.report import write_report
from poinsot.report.sections.actuators import actuator_section
from poinsot.simulation.actuators import Motion, Simulator
from poinsot.stopwatch import Stopwatch

URDF = """<robot name="swing"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.15"/><mass value="0.3"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="10"/></joint></robot>"""

JOB = """
[robot]
path = "swing.urdf"

[[recordings]]
path = "swing.csv"
time = { column = "t", unit = "s" }
position = { columns = ["measured"], unit = "rad" }
position_command = { columns = ["command"], unit = "rad" }

[method]
name = "actuators"
draws = 60
hops = 1
"""

TRUTH = Actuator("pivot", stiffness=15.0, damping=0.5, coulomb=0.05, armature=0.02, delay=0.031, zero=0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pendulum that swings through gravity, simulated along its own posture."""
    folder, rng = tmp_path_factory.mktemp("swing"), np.random.default_rng(2)
    time = np.arange(0, 12, 0.02)
    command = 0.8 * np.sin(1.3 * time) + 0.2 * np.sin(5.0 * time) + 0.1 * np.sin(11.0 * time)
    steps = Steps.of(time, 0.001)
    posture = np.interp(steps.middles, time, command)
    sag, K = 0.3 * 9.81 * 0.15, len(steps.middles)
    for _ in range(12):
        gravity = sag * np.sin(posture)
        load = JointLoad(np.full(K, 0.3 * 0.15**2 + 1e-4), gravity, sag * np.cos(posture), posture, gravity)
        found = roll_out(parameter_vector(TRUTH, command[0], 0.0), steps, Setpoint(time, command, True), load)
        posture = found.fine_position[:-1] + 0.5 * steps.lengths * found.fine_velocity[:-1]
    measured = found.position + 3e-4 * rng.standard_normal(len(time))
    table = np.stack([time, command, measured], axis=1)
    np.savetxt(folder / "swing.csv", table, delimiter=",", header="t,command,measured", comments="")
    (folder / "swing.urdf").write_text(URDF)
    (folder / "job.toml").write_text(JOB)
    return folder


@pytest.fixture(scope="module")
def estimate(folder):
    return Project.load(folder / "job.toml").identify()


def test_the_method_finds_the_actuator(estimate):
    assert estimate.status.converged
    actuator = estimate.extra(Actuators)["pivot"]
    assert abs(actuator.stiffness / 15.0 - 1) < 0.05
    for name in ("coulomb", "armature", "zero", "stiffness"):
        k = estimate.names.index(f"pivot.{name}")
        assert abs(estimate.values[k] - TRUTH.values[name]) < 4 * estimate.std[k]
    # no sample needs a torque limit
    assert actuator.torque_limit == np.inf
    assert not estimate.identifiable[estimate.names.index("pivot.torque_limit")]


def test_accuracy_is_read(folder):
    (folder / "exact.toml").write_text(JOB + "\n[accuracy]\nexact = true\nclock_percent = 0.1\n")
    project = Project.load(folder / "exact.toml")
    problem = project.settings.method.problem(Job(project), Stopwatch())
    assert problem.accuracy == Accuracy(exact=True, clock_percent=0.1)
    assert problem.description_std == (0.0, 0.0)


def test_page_and_json_have_the_actuators(estimate, folder, tmp_path):
    assert "torque_limit" in json.dumps(estimate.extra(Actuators).as_json()["joints"], default=float)
    section = actuator_section(estimate)
    assert "simulated open loop" in section.lead
    write_report(
        estimate, tmp_path / "report.html", sections=["poinsot.report.sections.actuators:actuator_section"]
    )
    assert "Actuators" in (tmp_path / "report.html").read_text()
    (grid,) = [each for each in section.blocks if each.title == "Friction and largest torque by speed"]
    (friction,) = grid.panels[0].data  # no torque limit was reached
    actuator = estimate.extra(Actuators)["pivot"]
    assert friction["y"][0] == pytest.approx(actuator.coulomb, rel=1e-4)
    slope = (friction["y"][-1] - friction["y"][0]) / (friction["x"][-1] - friction["x"][0])
    assert slope == pytest.approx(actuator.damping, rel=1e-3)


def test_the_page_shows_commands_and_elements_for_a_mujoco_file(estimate, folder):
    section = actuator_section(estimate)
    (motions,) = [each for each in section.blocks if each.title == "Motions"]
    (panel,) = motions.panels
    table = np.loadtxt(folder / "swing.csv", delimiter=",", skiprows=1)
    commanded = next(each for each in panel.data if each["name"] == "commanded")
    np.testing.assert_allclose(commanded["y"], table[:, 1], atol=1e-5)
    (elements,) = [each for each in section.blocks if each.title == "For a MuJoCo file"]
    joint, _, actuator = elements.text.partition("\n\n")
    body = f'<worldbody><body>{joint}<geom size="0.05" mass="1"/></body></worldbody>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{body}{actuator}</mujoco>")
    found = estimate.extra(Actuators)["pivot"]
    assert model.dof_frictionloss[0] == found.coulomb
    assert model.actuator_gainprm[0, 0] == found.stiffness
    assert model.actuator_delay[0] == found.delay


def test_the_files_for_simulators_move_as_the_estimate_predicts(poinsot, folder, tmp_path):
    out = tmp_path / "out"
    code, said, _ = poinsot("identify", folder / "job.toml", "--out", out)
    assert code == 0
    assert {"swing_actuators.xml", "swing_actuators.urdf", "randomization.json"} <= {
        f.name for f in out.iterdir()
    }
    assert "swing_actuators.urdf: URDF holds damping" in " ".join(said.split())
    for ending, to in ((".xml", "mjcf"), (".urdf", "urdf")):  # the same files from the result
        code, _, err = poinsot("export", out, "--to", to, "--out", tmp_path / "again")
        assert code == 0, err
        written = (tmp_path / "again" / f"swing{ending}").read_text()
        assert written == (out / f"swing_actuators{ending}").read_text()
    assert poinsot("export", out, "--to", "c", "--out", tmp_path / "again")[0] == 2
    estimate = Project.load(folder / "job.toml").identify()
    found = estimate.extra(Actuators)
    robot = load_robot(out / "swing_actuators.urdf")
    assert robot.described_terms["damping"][0] == pytest.approx(found["pivot"].damping, rel=1e-6)
    assert robot.described_terms["friction"][0] == pytest.approx(found["pivot"].coulomb, rel=1e-6)
    (start,) = found.starts.values()
    time, command = estimate.fit.time, found.commanded
    motion = Motion("swing", time, command, *start)
    rolled = Simulator.load(out / "swing_actuators.xml").roll_out(motion)
    of_estimate = Simulator.of(Project.load(folder / "job.toml").robot(), found.actuators)
    np.testing.assert_allclose(rolled, of_estimate.roll_out(motion), atol=1e-6)
    # the errors that are reported are those of the file
    measured = np.loadtxt(folder / "swing.csv", delimiter=",", skiprows=1)[:, 2]
    content = found.as_json()
    assert content["rms_of"] == "the MuJoCo file, rolled out in MuJoCo"
    (rms,) = content["rms_mrad"].values()
    assert rms["pivot"] == pytest.approx(1e3 * np.sqrt(np.mean((rolled[:, 0] - measured) ** 2)), rel=1e-4)
    # the estimate's prediction, and figures of the page, are those of the file
    np.testing.assert_allclose(estimate.fit.predicted, rolled, atol=1e-6)
    # MuJoCo integrates to first order, the fit to second: their difference falls with MuJoCo's time step
    project = Project.load(folder / "job.toml")
    problem = project.settings.method.problem(Job(project), Stopwatch())
    (own,), _, _ = problem.simulate(problem.motions[0], found.actuators, start=start)
    finer = Simulator.of(project.robot(), found.actuators, timestep=0.0005)
    apart = [np.abs(each[:, 0] - own.position).max() for each in (rolled, finer.roll_out(motion))]
    assert apart[0] < 2e-3
    assert apart[1] < 0.3 * apart[0]
    read = read_randomization(out / "randomization.json")
    assert read.actuators[0].stiffness == pytest.approx(found["pivot"].stiffness)


def test_a_result_that_is_not_to_be_used_gives_no_files(poinsot, folder, tmp_path):
    table = np.loadtxt(folder / "swing.csv", delimiter=",", skiprows=1)
    table[:, 2] *= -1  # it moves against its command
    np.savetxt(tmp_path / "swing.csv", table, delimiter=",", header="t,command,measured", comments="")
    for name in ("swing.urdf", "job.toml"):
        (tmp_path / name).write_text((folder / name).read_text())
    out = tmp_path / "out"
    code, _, error = poinsot("identify", tmp_path / "job.toml", "--out", out)
    assert code == 2
    assert "not to be used" in error
    assert {f.name for f in out.iterdir()} == {"poinsot.manifest.json", "report.html", "result.json"}


def test_stopping_keeps_what_was_found(folder):
    project = Project.load(folder / "job.toml")
    robot = project.robot()
    (run,) = project.runs(robot)
    problem = ActuatorProblem(robot, {"swing": run.recording})
    said, calls = [], []

    def stop():
        calls.append(1)
        return len(calls) > 3

    estimate = OutputError(Search(draws=30, refined=2, finished=1, hops=1)).solve(
        problem, progress=said.append, stop=stop
    )
    assert estimate.status is Status.interrupted
    assert any("pivot" in str(each) for each in said)


def test_a_wrong_key_is_refused_with_the_nearest(folder, tmp_path):
    for file in ("swing.csv", "swing.urdf"):
        (tmp_path / file).write_text((folder / file).read_text())
    (tmp_path / "job.toml").write_text(JOB + "drawz = 3\n")
    with pytest.raises(InvalidProject, match="drawz"):
        Project.load(tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(JOB + 'estimate = ["stifness"]\n')
    with pytest.raises(InvalidActuatorProblem, match="stifness"):
        Project.load(tmp_path / "job.toml").identify()
