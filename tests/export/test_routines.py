"""Generated code against Pinocchio and the regressor, on random trees and known robots. Run as Python, which has the
same statements as C.
"""

import numpy as np
import pinocchio as pin
import pytest

import poinsot
from export.generated import ORIGIN, dynamics_of, module_of
from poinsot.exceptions import InvalidModel
from poinsot.export.routines import Routines
from poinsot.models.efforts import Counterbalance, KnownEffort, Ripple, Spring, WarmingFriction
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.friction.listed import build_robot_friction, robot_friction
from poinsot.models.friction.stribeck import StribeckFriction
from poinsot.regression.regressor import Regressor
from references.air_drag import AirDrag
from references.robots import described, random_robot

DRIVE = poinsot.Drive(rotor_inertia=True)
FRICTION = ViscousCoulomb(deadband=0.02, further=(StribeckFriction(decay=3.0),))


def close(found, wanted, size=None):
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=1e-12 * np.abs(wanted if size is None else size).max()
    )


def motion(robot, rng, samples=20):
    return rng.uniform(-2, 2, (3, samples, robot.model.nv))


def check(robot, rng):
    """Every routine beside the regression's own functions, for parameters that need not be possible."""
    p = len(robot.parameters)
    dynamics = dynamics_of(robot, rng.standard_normal(p))
    code, (q, v, a) = module_of(dynamics, regressor=True), motion(robot, rng)
    tau = dynamics.torque(q, v, a)
    close(code["inverse_dynamics"](q, v, a), tau)
    close(code["inverse_dynamics"](q[3], v[3], a[3]), tau[3])
    close(code["gravity"](q), dynamics.gravity(q), tau)
    close(code["mass_matrix"](q), dynamics.mass_matrix(q))
    W = Regressor(robot, robot.parameters).dense(robot.configurations(q), v, a)
    close(code["torque_regressor"](q, v, a), W)
    other = rng.standard_normal(p)
    close(code["inverse_dynamics_with"](other, q, v, a), W @ other)
    still = np.zeros_like(q)
    # at rest the parts are the whole, where no joint accelerates that has no equation
    a = np.where(np.isin(np.arange(robot.model.nv), robot.equations), a, 0.0)
    parts = np.einsum("tij, tj -> ti", code["mass_matrix"](q), a[:, robot.equations]) + code["gravity"](q)
    parts += code["friction"](still) + (code["springs"](q) if "springs" in code else 0.0)
    close(parts, code["inverse_dynamics"](q, still, a))
    close(code["friction"](v) - code["friction"](still), dynamics.torque(still, v, still)
          - dynamics.torque(still, still, still) - _products_of_speeds(dynamics, v), tau)  # fmt: skip


def _products_of_speeds(dynamics, v):
    """Coriolis' efforts at q = 0, from the bodies alone."""
    robot, l = dynamics.robot, 10 * len(dynamics.robot.bodies)
    q, still = robot.configurations(np.zeros_like(v)), np.zeros_like(v)
    of_bodies = [robot.torque_regressor(q, speed, still) @ dynamics.theta[:l] for speed in (v, still)]
    return (of_bodies[0] - of_bodies[1])[:, robot.equations]


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    check(random_robot(rng, int(rng.integers(1, 8)), kinds="RUPC", drive=DRIVE, friction=FRICTION), rng)


@pytest.mark.parametrize(
    "path",
    [
        "panda_description/urdf/panda.urdf",
        "kinova_description/robots/kinova.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "tiago_description/robots/tiago_no_hand.urdf",
    ],
)
def test_known_robots(path, rng):
    """Also Pinocchio's own inverse dynamics, of the described bodies, which are possible."""
    robot = described(path, drive=DRIVE)
    if robot.couplings:
        robot = described(path, drive=DRIVE, locked=dict.fromkeys(robot.followers, 0.0))
    check(robot, rng)
    theta = np.zeros(len(robot.parameters))
    theta[: robot.inertials.size] = robot.inertials.ravel()
    code, (q, v, a) = module_of(dynamics_of(robot, theta)), motion(robot, rng, 5)
    data, configurations = robot.model.createData(), robot.configurations(q)
    wanted = np.array([pin.rnea(robot.model, data, *row) for row in zip(configurations, v, a, strict=True)])
    # rotors that the description gives are parameters of ours
    wanted -= robot.model.armature * a
    close(code["inverse_dynamics"](q, v, a), wanted)


def test_a_planar_joint(tmp_path, rng):
    """Its speeds are along its moving axes."""
    text = """<robot name="cart"><link name="base"/><link name="cart"/><link name="arm"/>
      <joint name="floor" type="planar"><parent link="base"/><child link="cart"/><origin xyz=".1 .2 .3" rpy=".1 .2 .3"/>
        <axis xyz="0 0 1"/></joint>
      <joint name="tilt" type="revolute"><parent link="cart"/><child link="arm"/><origin xyz=".1 .2 .3"/>
        <axis xyz="1 2 3"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for name in ("cart", "arm"):
        text = text.replace(f'<link name="{name}"/>', f'<link name="{name}">{link}')
    (tmp_path / "cart.urdf").write_text(text)
    check(poinsot.load_robot(tmp_path / "cart.urdf"), rng)


def test_motors_that_turn_with_two_joints(rng):
    """By the drive's own conversion of motor efforts to joints, of which this is the inverse."""
    robot = described(
        "ur_description/urdf/ur5_robot.urdf",
        drive=poinsot.Drive(
            reduction=(100, 101, -50, 54, 45, 32),
            side="motor",
            gain=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
            couplings=(poinsot.Coupling("wrist_3_joint", "wrist_2_joint", 32),),
            rotor_inertia=True,
        ),
    )
    check(robot, rng)
    code = module_of(dynamics_of(robot, rng.standard_normal(len(robot.parameters))))
    efforts = rng.standard_normal((5, 6))
    close(code["motor_torque"](robot.train.joint_torques(efforts)), efforts)


def test_efforts_of_position(rng):
    """Springs, counterbalances and ripple are formulas; what depends on channels is left out, as by predictions."""
    efforts = (
        Spring("shoulder_pan_joint"),
        Counterbalance("shoulder_lift_joint", fixed=(0.0, 0.1, 0.3), moving=(0.2, 0.0, 0.1)),
        Ripple("elbow_joint", harmonics=(1.0, 6.0)),
        WarmingFriction("wrist_1_joint"),
    )
    robot = described("ur_description/urdf/ur5_robot.urdf", efforts=efforts)
    check(robot, rng)
    assert Routines(dynamics_of(robot, np.zeros(len(robot.parameters)))).left_out == ("temperature",)


@pytest.mark.parametrize("name", robot_friction())
def test_friction_of_the_catalogue(name, rng):
    """A law is written by calling it: one that is added is, too."""
    friction = build_robot_friction(name, {"offset": True} if name != "none" else {})
    check(described("ur_description/urdf/ur5_robot.urdf", friction=friction), rng)


class Branching(AirDrag):
    name = "fan"

    @staticmethod
    def effort(v, m, l, q, p):
        return np.where(v > 0, p[0] * v, 0.0)


def test_a_new_friction_law_is_written_by_itself(rng):
    robot = described("ur_description/urdf/ur5_robot.urdf", friction=ViscousCoulomb(further=(AirDrag(),)))
    check(robot, rng)
    robot = described("ur_description/urdf/ur5_robot.urdf", friction=ViscousCoulomb(further=(Branching(),)))
    with pytest.raises(InvalidModel, match="friction law 'fan' branches"):
        Routines(dynamics_of(robot, np.ones(len(robot.parameters))))


def test_equations_that_were_not_measured_have_no_effort(rng):
    robot = described(
        "ur_description/urdf/ur5_robot.urdf", drive=poinsot.Drive(not_measured=("elbow_joint",))
    )
    check(robot, rng)


def test_base_parameters_suffice(rng):
    """Sums stand at one of their parameters, the others are 0, and the code is shorter."""
    robot = described("ur_description/urdf/ur5_robot.urdf")
    recorded = [rng.standard_normal((200, 6)) for _ in range(3)]
    theta = rng.standard_normal(len(robot.parameters))
    tau = Regressor(robot, robot.parameters).dense(*recorded) @ theta
    signals = poinsot.Signals(0.01 * np.arange(200), robot.joints, *recorded, tau)
    estimate = poinsot.LeastSquares().solve(poinsot.InverseDynamics(robot, signals))
    code, (q, v, a) = module_of(estimate.dynamics), motion(robot, rng)
    wanted = Regressor(robot, robot.parameters).dense(q, v, a) @ theta
    np.testing.assert_allclose(code["inverse_dynamics"](q, v, a), wanted, atol=1e-8 * np.abs(wanted).max())
    assert estimate.bodies[0].mass is None


def test_what_cannot_be_written_says_why(rng):
    table = KnownEffort("elbow_joint", positions=(-1.0, 0.0, 1.0), efforts=(1.0, 0.0, 2.0))
    robot = described("ur_description/urdf/ur5_robot.urdf", efforts=(table,))
    with pytest.raises(InvalidModel, match="elbow_joint' branches on its argument"):
        Routines(dynamics_of(robot, np.zeros(len(robot.parameters))))
    for changed in ({"kinds": "S"}, {"floating_base": True}):
        other = random_robot(rng, 3, **changed)
        with pytest.raises(InvalidModel, match="floating base or ball joints"):
            Routines(dynamics_of(other, np.zeros(len(other.parameters))))


def test_the_module_says_where_it_is_from(rng):
    from poinsot.export.python_source import python_module

    robot = described("ur_description/urdf/ur5_robot.urdf")
    text = python_module(Routines(dynamics_of(robot, np.ones(len(robot.parameters)))), ORIGIN)
    assert text.startswith('"""Dynamics of ur5')
    assert ORIGIN.sha256 in text and "elbow_joint" in text and "[N m s/rad]" in text
    assert [line for line in text.splitlines() if "import" in line] == ["import numpy as np"]
