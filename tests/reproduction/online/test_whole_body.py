"""The controller's program: a computed torque where nothing binds, and never past cones and motors where they do."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("proxsuite", reason="needs ProxSuite (pip install proxsuite)")

from poinsot.models.robot.articulated import load_robot
from poinsot_reproductions.online.simulation.legged_robot import talos
from poinsot_reproductions.online.simulation.tasks import CentreOfMass, FramePose, Kinematics, Posture
from poinsot_reproductions.online.simulation.whole_body import ContactLimits, WholeBodyController, sole_frame
from references.robots import described

ARM = Path(__file__).parents[3] / "examples" / "arm" / "arm.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"


@pytest.fixture(scope="module")
def humanoid():
    described(TALOS)  # skips where there is no Talos
    return talos()


@pytest.fixture
def state(humanoid, rng):
    """Near home, moving."""
    model = humanoid.robot.model
    return pin.integrate(model, humanoid.home, 0.02 * rng.standard_normal(38)), 0.1 * rng.standard_normal(38)


def tasks_of(humanoid):
    posture = Posture(humanoid.home[7:], np.zeros(32), np.arange(6, 38), 50.0, 14.0, 0.1)
    feet = [FramePose(sole_frame(sole), 0.0, 20.0, 1000.0) for sole in humanoid.soles]
    return [posture, CentreOfMass(20.0, 9.0, 100.0), *feet]


def test_an_arm_gets_its_computed_torque(rng):
    """Without a base and within its limits: tau = rnea(q, v, kp e + kd de), with the bodies that it was given."""
    robot = load_robot(ARM)
    n = robot.model.nv
    q, v = rng.uniform(-1, 1, n), rng.standard_normal(n)
    given = 2.5 * robot.inertials[1]
    model = pin.Model(robot.model)
    model.inertias[2] = pin.Inertia.FromDynamicParameters(given)
    wanted, speed = rng.uniform(-1, 1, n), rng.standard_normal(n)
    a = 30 * (wanted - q) + 8 * (speed - v)
    controller = WholeBodyController(robot, effort_limits=np.full(n, 1e4))
    posture = Posture(wanted, speed, np.arange(n), 30.0, 8.0, 1.0, shift=0)
    command = controller(q, v, [posture], inertials={robot.bodies[1]: given})
    expected = pin.rnea(model, model.createData(), q, v, a)
    # the program's regularization pulls accelerations to 0 by one part in 1e5
    np.testing.assert_allclose(command.acceleration, a, rtol=3e-5, atol=1e-4)
    np.testing.assert_allclose(command.tau, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert command.solved


def test_limits_bind(rng):
    robot = load_robot(ARM)
    n = robot.model.nv
    controller = WholeBodyController(robot, effort_limits=np.full(n, 3.0))
    posture = Posture(np.full(n, 1.0), np.zeros(n), np.arange(n), 1e3, 0.0, 1.0, shift=0)
    tau = controller(np.zeros(n), np.zeros(n), [posture]).tau
    assert np.abs(tau).max() == pytest.approx(3.0, abs=1e-3)


def test_feet_and_motors_keep_their_limits(humanoid, state):
    """A wish that would tear the robot off the ground: dynamics hold, cones hold, motors hold."""
    q, v = state
    limits = ContactLimits(friction=0.4, margin=0.8)
    controller = WholeBodyController(humanoid.robot, humanoid.soles, limits=limits)
    tasks = tasks_of(humanoid)
    tasks[1].acceleration = np.array([30.0, -20.0])
    command = controller(q, v, tasks)
    assert command.solved
    motors = controller.effort_limits[6:]
    assert (np.abs(command.tau[6:]) <= motors + 1e-2).all()
    bound = 0
    for sole in humanoid.soles:
        f = command.wrenches[sole.body]
        slack = 1.0  # [N] the program's tolerance, times its scale of 100 N
        assert f[2] > -slack
        assert max(abs(f[0]), abs(f[1])) <= limits.friction * f[2] + slack
        assert abs(f[3]) <= 0.8 * sole.half_width * f[2] + slack
        assert abs(f[4]) <= 0.8 * sole.half_length * f[2] + slack
        bound += max(abs(f[0]), abs(f[1])) > 0.95 * limits.friction * f[2]
    assert bound > 0
    model = pin.Model(humanoid.robot.model)
    data = model.createData()
    efforts = pin.rnea(model, data, q, v, command.acceleration)
    for sole in humanoid.soles:
        frame = model.addFrame(
            pin.Frame(
                f"s{sole.body}", humanoid.robot.bodies.index(sole.body) + 1, 0,
                pin.SE3(np.eye(3), np.array([0, 0, sole.height])), pin.FrameType.OP_FRAME,
            )
        )  # fmt: skip
        data = model.createData()
        efforts -= pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL).T @ command.wrenches[sole.body]
    np.testing.assert_allclose(efforts, command.tau, atol=0.5)


def test_a_foot_in_the_air_carries_nothing(humanoid, state):
    controller = WholeBodyController(humanoid.robot, humanoid.soles)
    left, right = (sole.body for sole in humanoid.soles)
    command = controller(*state, tasks_of(humanoid), loads={left: 1.0, right: 0.0})
    assert np.abs(command.wrenches[right]).max() < 1e-6
    assert command.wrenches[left][2] > 500


@pytest.mark.parametrize("which", [1, 2, 3])
def test_tasks_see_accelerations_as_they_are(humanoid, state, which):
    """A vdot = b with kp = kd = 0 says that the task's own acceleration is 0: checked by finite differences."""
    q, v = state
    kinematics = WholeBodyController(humanoid.robot, humanoid.soles).kinematics
    task = tasks_of(humanoid)[which]
    task.stiffness = task.damping = 0.0
    a = np.random.default_rng(3).standard_normal(38)
    kinematics.update(q, v)
    A, b, _ = task.rows(kinematics)
    h = 1e-5

    def speed(t):
        kinematics.update(pin.integrate(kinematics.model, q, t * v + t * abs(t) / 2 * a), v + t * a)
        if which == 1:
            return kinematics.data.vcom[0][:2].copy()
        frame = kinematics.frame(task.frame)
        return pin.getFrameVelocity(kinematics.model, kinematics.data, frame, pin.LOCAL_WORLD_ALIGNED).vector

    numeric = (speed(h) - speed(-h)) / (2 * h)
    np.testing.assert_allclose(A @ a - b, numeric, atol=1e-5)


def test_assumed_bodies_weigh(humanoid):
    kinematics = Kinematics(humanoid.robot)
    kinematics.update(humanoid.home, np.zeros(38))
    before = kinematics.bias[2]
    place = humanoid.robot.bodies.index("torso_2_link")
    kinematics.set_bodies({"torso_2_link": 2 * humanoid.robot.inertials[place]})
    kinematics.update(humanoid.home, np.zeros(38))
    more = 9.81 * humanoid.robot.inertials[place][0]
    assert kinematics.bias[2] - before == pytest.approx(more, rel=1e-9)
