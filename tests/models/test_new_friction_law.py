"""A friction law that only `air_drag.py` knows: once listed, robots, servos and mechanisms identify it."""

import jax
import numpy as np
import pytest

import poinsot
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.linear.semidefinite import SemidefiniteLeastSquares
from poinsot.exceptions import InvalidProject
from poinsot.models.friction import CATALOGUE
from poinsot.models.friction.listed import parameter_of
from poinsot.models.maximal import (
    Coulomb,
    Encoder,
    Hinge,
    Mechanism,
    Motor,
    RigidBody,
    double_precision,
)
from poinsot.models.robot.joint_terms import JointTerms
from poinsot.models.servo.mjcf import parameters_beyond_mjcf
from poinsot.project.translation import build_mechanism
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.regressor import Regressor
from poinsot.report.words import family, meaning
from poinsot.simulation.actuators import Motion, Simulator
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)
from references.air_drag import AirDrag
from references.robots import chain
from references.state_differences import assert_slope, by_vector

TRUE = {f"{symbol}{k}": value for k in (1, 2, 3) for symbol, value in (("fv", 0.4), ("fc", 0.6), ("fa", 0.3))}


@pytest.fixture(autouse=True)
def listed():
    CATALOGUE.append(AirDrag())
    yield
    CATALOGUE.pop()


def arm():
    friction = poinsot.ViscousCoulomb(offset=False, further=(AirDrag(),))
    return poinsot.load_robot("examples/arm/arm.urdf", friction=friction)


def recorded(robot, **changed):
    """A recording of the example's arm with little noise."""
    motion = fourier_motion(3, 10.0, 200.0, np.random.default_rng(5), amplitude=1.5)
    theta = model_parameters(robot, **(TRUE | changed))
    return simulate_recording(robot, theta, motion, Sensors(torque_std=1e-3), np.random.default_rng(6))


def problem_of(robot, recording):
    signals = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=20).apply(recording)
    return poinsot.inverse_dynamics(robot, signals)


def test_the_regressor_of_a_robot_identifies_it():
    robot = arm()
    estimate = poinsot.LeastSquares(weighting="per-joint").solve(problem_of(robot, recorded(robot)))
    assert estimate.units[estimate.names.index("fa2")] == "N m s^2/rad^2"
    for name in ("fa1", "fa2", "fa3"):
        # the filter rounds the jumps of Coulomb friction, which biases the others by parts of a percent
        assert estimate.values[estimate.names.index(name)] == pytest.approx(0.3, rel=0.02)
    assert estimate.certificate().holds


def test_its_sign_is_a_constraint_and_a_warning():
    """Data of an arm that friction drives: least squares says so, physically possible bodies have none."""
    robot = arm()
    problem = problem_of(robot, recorded(robot, fa2=-0.3))
    free = poinsot.LeastSquares(weighting="per-joint").solve(problem)
    assert any(each.cause == "impossible-sign" and each.where == "fa2" for each in free.findings)
    full = SemidefiniteLeastSquares().solve(problem).extra(poinsot.estimate.FullParameters)
    # the solver's tolerance, on values of order 1
    assert full.values[full.names.index("fa2")] > -1e-6


def test_a_robot_is_simulated_with_its_slope(rng):
    robot = chain("zyy", [0, 0.1, 0.4], friction=poinsot.ViscousCoulomb(further=(AirDrag(),)))
    terms = JointTerms(robot, dry_speed=0.05)
    phi, v = rng.uniform(0.1, 1, len(terms.parameters.names)), rng.standard_normal((4, 3))
    columns = terms.columns(np.arange(len(phi)), robot.configurations(v), v, 0 * v)
    np.testing.assert_allclose(terms.friction(phi, v)[0], columns @ phi, atol=1e-13)
    assert_slope(terms.friction(phi, v)[1], by_vector(lambda d: terms.friction(phi, v + d)[0], np.zeros(3)))


def test_a_motion_is_designed_for_it():
    problem = poinsot.excitation_problem(arm(), duration_s=4, rate_hz=50, torque_std=0.1, friction=True)
    assert {"fa1", "fa2", "fa3"} <= set(structural_base(Regressor(arm(), arm().parameters)).names)
    motion = poinsot.OptimalExcitation(starts=1, max_seconds=2.0).solve(problem)
    k = motion.problem.base.names.index("fa1")
    assert motion.problem.base.kinds[k] == "air_drag" and 0 < motion.std[k] < np.inf


def test_pages_and_exports_have_words_for_it():
    assert meaning("fa3", "air_drag") == "drag of the air"
    assert meaning("fam3", "air_drag_coupling") == "drag of the air of the coupled motor"
    assert family("fam3", "air_drag_coupling") == "Drag of the air"
    assert parameter_of("air_drag").described_as is None


def test_a_project_names_it(tmp_path):
    robot = arm()
    recording = recorded(robot)
    (tmp_path / "arm.urdf").write_text(robot.source.read_text())
    text = '[robot]\npath = "arm.urdf"\n[friction]\nlaw = "air-drag"\noffset = false\n'
    text += '[[recordings]]\nname = "run"\npath = "run.csv"\nrate_hz = 200\n'
    columns = []
    for quantity, (short, unit) in {"position": ("q", "rad"), "torque": ("tau", "N m")}.items():
        names = [f"{short}{k}" for k in (1, 2, 3)]
        columns += names
        text += f'{quantity} = {{ columns = {names}, unit = "{unit}" }}\n'.replace("'", '"')
    text += '[preprocessing]\nmethod = "butterworth-decimation"\ncutoff_hz = 20\ndecimate_hz = 20\n'
    (tmp_path / "job.toml").write_text(text)
    table = np.column_stack(
        [recording.channels[f"{kind}.{joint}"] for kind in ("position", "torque") for joint in robot.joints]
    )
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
    estimate = poinsot.identify(poinsot.Project.load(tmp_path / "job.toml"))
    assert estimate.values[estimate.names.index("fa1")] == pytest.approx(0.3, rel=0.02)
    unknown_key = ("offset", "ofset"), r"unknown key 'ofset'.*'offset'"
    for wrong, message in (unknown_key, (("air-drag", "air"), "'air-drag'")):
        (tmp_path / "job.toml").write_text(text.replace(*wrong))
        with pytest.raises(InvalidProject, match=message):
            poinsot.Project.load(tmp_path / "job.toml")


PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="bob"><inertial><origin xyz="0 0 -0.15"/><mass value="0.3"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""


def test_a_servo_is_simulated_and_identified_with_it(tmp_path):
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    robot = poinsot.load_robot(tmp_path / "pendulum.urdf")
    actuator = poinsot.Actuator(
        "hinge", 8.0, damping=0.1, coulomb=0.06, air_drag=0.05, armature=0.01, delay=0.02
    )
    (line,) = [line for line in parameters_beyond_mjcf([actuator]) if "air_drag" in line]
    assert "air_drag = 0.05 N m s^2/rad^2" in line and "the effort is applied at each step" in line
    time = np.arange(0.0, 12.0, 0.02)
    command = 0.9 * np.sin(1.4 * time) + 0.35 * np.sin(7 * time)
    motion = Motion("run", time, command[:, None], command[:1], np.zeros(1))
    measured = Simulator.of(robot, [actuator], timestep=0.0005, hold=False).roll_out(motion)[:, 0]
    measured += 3e-4 * np.random.default_rng(3).standard_normal(len(time))
    channels = {"position_command.hinge": command, "position.hinge": measured}
    recording = poinsot.Recording(time, channels, dict.fromkeys(channels, "rad"))
    names = ("stiffness", "damping", "coulomb", "armature", "delay")
    start = {name: 1.1 * actuator.values[name] for name in names}
    problem = poinsot.ActuatorProblem(robot, {"run": recording}, open=names, start=start, hold=False)
    search = poinsot.Search(draws=0, refined=1, finished=1, hops=2)
    estimate = poinsot.OutputError(search, friction_laws=("M1", "air-drag")).solve(problem)
    assert estimate.actuators.friction_laws == {"hinge": "air-drag"}
    k = estimate.names.index("hinge.air_drag")
    assert estimate.units[k] == "N m s^2/rad^2"
    # 4 standard deviations; MuJoCo and the rollout differ by errors of the order of their steps
    assert abs(estimate.values[k] - 0.05) < 4 * estimate.std[k] + 0.02 * 0.05
    assert estimate.certificate().holds


def mechanism(air_drag):
    friction = Coulomb(0.02, stick_drag=20.0, further={"air_drag": air_drag})
    return Mechanism(
        [RigidBody("bob", 0.5, (4e-3, 4e-3, 1e-3), center=(0, 0, -0.3))],
        [Hinge("pivot", "world", "bob", axis=(1, 0, 0), drag=0.01, friction=friction, motor=Motor())],
        sensors=[Encoder("pivot")],
        name="pendulum",
    )


@double_precision
def test_a_mechanism_is_simulated_and_identified_with_it(rng):
    true, free = mechanism(0.02), ("pivot.drag", "pivot.coulomb", "pivot.air_drag")
    assert true.entries["pivot.air_drag"].unit == "N m s^2/rad^2"
    model = true.model(free, curvature=True)  # without the damping of SPOOK's own
    h, angles = 0.004, []
    x = model.assemble(np.array([1.2]), np.zeros(1), model.theta)
    step, motion = jax.jit(model.step), jax.jit(model.motion)
    controls = 0.6 * np.sin(3.0 * h * np.arange(1500))[:, None]
    for u in controls:
        angles.append(float(motion(x, model.theta)[0][0]))
        x = step(x, u, model.theta, h)
    z = np.array(angles)[:, None] + 2e-4 * rng.standard_normal((len(angles), 1))
    time = h * np.arange(len(z))
    start = mechanism(0.03).model(free)
    found = JointSmoothing(1e8, (2e-4,)).solve(
        JointSmoothingProblem(start, [Record("run", time, controls, z)])
    )
    value = found.theta[free.index("pivot.air_drag")]
    # what is left of the step's damping is taken for drag
    assert value == pytest.approx(0.02, rel=0.1)


def test_a_project_names_it_in_a_mechanism():
    from poinsot.project.settings.mechanism import MechanismSettings

    joint = {"name": "pivot", "child": "bob", "friction": {"law": "air-drag", "level": 0.1, "air_drag": 0.02}}
    body = {"name": "bob", "mass": 1.0, "inertia": [1.0, 1.0, 1.0]}
    settings = MechanismSettings.model_validate({"bodies": [body], "joints": [joint]})
    (pivot,) = build_mechanism(settings, lambda name: name).joints
    assert pivot.friction == Coulomb(0.1, further={"air_drag": 0.02})
