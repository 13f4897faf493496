"""MuJoCo's plant has Pinocchio's equations of motion, whatever its bodies weigh, and its feet feel what they carry."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.robot.articulated import load_robot
from poinsot_reproductions.online.simulation.legged_robot import talos
from poinsot_reproductions.online.simulation.loads import point_mass
from poinsot_reproductions.online.simulation.plant import Plant, Slab, Sole
from poinsot_reproductions.online.simulation.tasks import CentreOfMass, FramePose, Posture
from poinsot_reproductions.online.simulation.whole_body import WholeBodyController, sole_frame
from references.robots import described

ARM = Path(__file__).parents[3] / "examples" / "arm" / "arm.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"
ROBOTS = {
    "an arm of our own": lambda: load_robot(ARM),
    "Talos": lambda: described(TALOS, floating_base=True),
    "UR10": lambda: described("ur_description/urdf/ur10_robot.urdf"),
    "Panda, on a free base": lambda: described("panda_description/urdf/panda.urdf", floating_base=True),
    "Kinova, with joints that turn for ever": lambda: described("kinova_description/robots/kinova.urdf"),
}
each_robot = pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)


def mass_and_bias(model, q, v):
    data = model.createData()
    M = pin.crba(model, data, q)
    return np.triu(M) + np.triu(M, 1).T, pin.nonLinearEffects(model, data, q, v)


def mass_and_bias_of(plant):
    """MuJoCo's M and c in Pinocchio's coordinates, by the formulas at the top of its module."""
    import mujoco  # an optional extra

    model, data = plant.model, plant.data
    mujoco.mj_forward(model, data)
    M = np.empty((model.nv, model.nv))
    for column, unit in zip(M.T, np.eye(model.nv), strict=True):
        product = np.empty(model.nv)
        mujoco.mj_mulM(model, data, product, unit)
        column[:] = product
    M = M[np.ix_(plant._v_at, plant._v_at)]
    T, turning = np.eye(model.nv), np.zeros(model.nv)
    if plant.robot.floating_base:
        v = plant.v
        T[:3, :3] = plant._rotation
        turning[:3] = plant._rotation @ np.cross(v[3:6], v[:3])
    return T.T @ M @ T, T.T @ (data.qfrc_bias[plant._v_at] + M @ turning)


def assert_same_physics(plant, model, q, v):
    M, c = mass_and_bias(model, q, v)
    plant_M, plant_c = mass_and_bias_of(plant)
    # both are exact: what is left is round-off of some thousand operations
    assert np.abs(plant_M - M).max() < 1e-12 * np.abs(M).max()
    assert np.abs(plant_c - c).max() < 1e-12 * np.abs(c).max()


@each_robot
def test_mass_matrix_and_bias_are_pinocchios(make, rng):
    robot = make()
    plant = Plant(robot)
    for q, v, _ in zip(*robot.random_states(10, rng), strict=True):
        plant.reset(q, v)
        np.testing.assert_allclose(plant.v, v, atol=1e-14)
        same = pin.difference(robot.model, q, plant.q)
        turns = np.round(same / (2 * np.pi)) * 2 * np.pi  # q and -q, an angle and one turn more
        np.testing.assert_allclose(same - turns, 0, atol=1e-9)
        assert_same_physics(plant, robot.model, q, v)


def test_a_body_that_was_changed_is_the_same_in_both(rng):
    robot = described(TALOS, floating_base=True)
    plant, model = Plant(robot), pin.Model(robot.model)
    for body in ("torso_2_link", "arm_left_5_link", "base_link"):
        place = robot.bodies.index(body)
        pi = 1.7 * robot.inertials[place] + point_mass(2.0, rng.standard_normal(3))
        plant.set_inertial(body, pi)
        model.inertias[place + 1] = pin.Inertia.FromDynamicParameters(pi)
        q, v, _ = (x[0] for x in robot.random_states(1, rng))
        plant.reset(q, v)
        assert_same_physics(plant, model, q, v)


def test_it_moves_as_forward_dynamics_say(rng):
    """One small step from a random state: velocity changes by the acceleration, position by the velocity."""
    robot = described(TALOS, floating_base=True)
    h = 1e-6
    plant = Plant(robot, effort_limits=np.full(38, np.inf), timestep=h)
    plant.model.jnt_limited[:] = 0
    q, v, tau = *(x[0] for x in robot.random_states(1, rng)[:2]), rng.standard_normal(38)
    tau[:6] = 0.0
    plant.reset(q, v)
    plant.step(tau)
    a = pin.aba(robot.model, robot.model.createData(), q, v, tau)
    # first order in h: the base's axes turn by h |w| meanwhile
    np.testing.assert_allclose((plant.v - v) / h, a, atol=1e-4 * np.abs(a).max())
    moved = pin.difference(robot.model, q, plant.q) / h
    np.testing.assert_allclose(
        moved, plant.v, atol=1e-4 * np.abs(v).max()
    )  # with the velocity after the step


@pytest.fixture(scope="module")
def standing():
    """Talos after a second in its controller's hands, at rest, the left foot on a slab of 5 mm."""
    described(TALOS)  # skips where there is no Talos
    humanoid = talos()
    plant = Plant(
        humanoid.robot, soles=humanoid.soles, ground=[Slab(0.0, 0.2, 0.3, 0.18, 0.005)],
        effort_limits=humanoid.effort_limits,
    )  # fmt: skip
    plant.reset(humanoid.home)
    controller = WholeBodyController(humanoid.robot, humanoid.soles)
    controller.kinematics.update(humanoid.home, np.zeros(38))
    posture = Posture(humanoid.home[7:], np.zeros(32), np.arange(6, 38), 50.0, 14.0, 0.1)
    feet = [FramePose(sole_frame(sole), 0.0, 20.0, 1000.0) for sole in humanoid.soles]
    centre = CentreOfMass(20.0, 9.0, 100.0, controller.kinematics.centre_of_mass[:2].copy())
    for k in range(1000):
        if k % 3 == 0:
            command = controller(plant.q, plant.v, [posture, centre, *feet])
        plant.step(command.tau)
    return humanoid.robot, plant


def test_feet_carry_the_robot(standing):
    """What the ground gives, carried to the base, balances gravity: six rows of the equation of motion at rest."""
    robot, plant = standing
    assert np.abs(plant.v).max() < 0.02
    data = robot.model.createData()
    pin.computeJointJacobians(robot.model, data, plant.q)
    carried = sum(
        pin.getJointJacobian(robot.model, data, robot.bodies.index(foot) + 1, pin.LOCAL).T @ wrench
        for foot, wrench in plant.wrenches().items()
    )
    weight = pin.computeGeneralizedGravity(robot.model, data, plant.q)[:6]
    assert weight[2] == pytest.approx(90.272 * 9.81, rel=1e-3)
    np.testing.assert_allclose(carried[:6], weight, atol=0.005 * weight[2])  # it still sways a little
    assert all(wrench[2] > 100 for wrench in plant.wrenches().values())


def test_a_step_obeys_the_equation_of_motion_with_the_feets_wrenches(standing, rng):
    """M a + c = tau + J^T f over one step, impacts included: what a filter relies on."""
    robot, plant = standing
    q, v = plant.q, plant.v + 0.1 * rng.standard_normal(38)
    plant.reset(q, v)
    given = plant.step(rng.standard_normal(38))
    a = (plant.v - v) / plant.timestep
    data = robot.model.createData()
    efforts = pin.rnea(robot.model, data, q, v, a)
    pin.computeJointJacobians(robot.model, data, q)
    carried = sum(
        pin.getJointJacobian(robot.model, data, robot.bodies.index(foot) + 1, pin.LOCAL).T @ wrench
        for foot, wrench in plant.wrenches().items()
    )
    # the base's axes turn by h w in the step, which the finite difference of v feels: of order h |a| |w|
    slack = 5 * plant.timestep * np.abs(efforts).max()
    np.testing.assert_allclose(efforts, given + carried, atol=slack)


def test_a_foot_that_weighs_something_else_still_touches(standing):
    """MuJoCo keeps boxes for its search of contacts in inertial frames: they must not be used once those turn."""
    robot, plant = standing
    q, v = plant.q, plant.v
    force = {foot: wrench[2] for foot, wrench in _touched(plant, q, v).items()}
    assert min(force.values()) > 100
    for sole in plant.soles:
        pi = robot.inertials[robot.bodies.index(sole.body)]
        plant.set_inertial(sole.body, pi)  # the same body, its principal axes in another order
    again = {foot: wrench[2] for foot, wrench in _touched(plant, q, v).items()}
    assert again == pytest.approx(force, rel=1e-6)


def _touched(plant, q, v):
    plant.reset(q, v)
    plant.step(np.zeros(38))
    return plant.wrenches()


def test_motors_give_no_more_than_they_can():
    robot = load_robot(ARM)
    plant = Plant(robot, effort_limits=np.full(robot.model.nv, 2.0))
    assert plant.step(np.full(robot.model.nv, 5.0)).max() == 2.0


def test_what_cannot_be_simulated_is_refused():
    robot = load_robot(ARM)
    with pytest.raises(InvalidModel, match="no joint locked"):
        Plant(load_robot(ARM, locked={robot.joints[0]: 0.1}))
    with pytest.raises(InvalidModel, match="no body 'foot'"):
        Plant(robot, soles=[Sole("foot", 0.0, 0.1, 0.1)])
    with pytest.raises(InvalidModel, match="no body"):
        Plant(robot).set_inertial("hand", np.ones(10))
