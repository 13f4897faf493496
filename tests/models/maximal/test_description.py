import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest

from models.maximal.test_impulses import evaluated
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import load_mechanism, mechanism_of
from poinsot.models.robot.articulated import load_robot
from poinsot_reproductions.discrete.rollout import energy

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0.02 0" rpy="0.1 0.2 0.3"/><mass value="1.2"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0.001" ixz="-0.002" iyz="0.0015"/></inertial>
  </link>
  <link name="fore">
    <inertial><origin xyz="0 0.1 0.05"/><mass value="0.7"/>
      <inertia ixx="0.02" iyy="0.01" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="rod">
    <inertial><origin xyz="0 0 0.1"/><mass value="0.3"/>
      <inertia ixx="0.005" iyy="0.005" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0.3 -0.2 0.5"/><axis xyz="0 1 0.5"/>
    <limit lower="-3" upper="3" effort="10" velocity="10"/><dynamics damping="0.3" friction="0.2"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.3 0 0" rpy="1.0 0 0.2"/><axis xyz="0 0 1"/></joint>
  <joint name="rod" type="prismatic"><parent link="fore"/><child link="rod"/>
    <origin xyz="0 0.2 0.1" rpy="0 0.7 0"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="10"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "arm.urdf"
    path.write_text(URDF)
    return path


def test_a_urdf_moves_as_pinocchio_says(path, rng):
    """Inverse dynamics of the mechanism: what else acts over h, at h = 1e-4, against RNEA with friction.

    Both ends are on the parabola of the acceleration, so what is left is h^2 of the torque's curvature.
    """
    robot, mechanism = load_robot(path), load_mechanism(path)
    model = mechanism.model()
    assert [name for name, _ in mechanism.coordinates] == ["shoulder", "elbow", "rod joint"]
    assert mechanism.inputs == ("shoulder", "elbow", "rod joint")
    y, rate, acceleration = rng.uniform(-1, 1, (3, 3))
    u, h = rng.standard_normal(3), 1e-4

    def end(t):
        return y + t * rate + t**2 / 2 * acceleration, rate + t * acceleration

    def moments(before, after):
        return model.reduced_errors(before, after, u, model.theta, h)

    torque, change = evaluated(moments, end(-h / 2), end(h / 2)) / h
    q = robot.configurations(y[None])[0]
    expected = pin.rnea(robot.model, robot.model.createData(), q, rate, acceleration) - u
    expected += [0.3 * rate[0] + 0.2 * np.sign(rate[0]), 0.0, 0.0]
    np.testing.assert_allclose(torque, expected, atol=1e-6)
    assert np.abs(change).max() < 1e-2


def test_links_are_where_pinocchio_has_them(path, rng):
    robot, mechanism = load_robot(path), load_mechanism(path)
    model = mechanism.model()
    y, rate = rng.uniform(-1, 1, (2, 3))
    x = evaluated(lambda y: model.assemble(y, jnp.asarray(rate), model.theta), y)
    q, data = robot.configurations(y[None])[0], robot.model.createData()
    pin.forwardKinematics(robot.model, data, q, rate)
    pin.centerOfMass(robot.model, data, q, rate)
    for k, (placement, inertia) in enumerate(
        zip(list(data.oMi)[1:], list(robot.model.inertias)[1:], strict=True)
    ):
        np.testing.assert_allclose(x.position[k], placement.act(inertia.lever), atol=1e-14)
        np.testing.assert_allclose(pin.Quaternion(x.quaternion[k]).matrix(), placement.rotation, atol=1e-14)
        spin = pin.getVelocity(robot.model, data, k + 1, pin.LOCAL_WORLD_ALIGNED).angular
        np.testing.assert_allclose(x.velocity[k, 3:], spin, atol=1e-14)
        np.testing.assert_allclose(x.velocity[k, :3], placement.rotation @ (
            data.v[k + 1].linear + np.cross(data.v[k + 1].angular, inertia.lever)), atol=1e-14)  # fmt: skip


def test_energy_is_pinocchios(path, rng):
    robot = load_robot(path)
    model = mechanism_of(robot).model()
    y, rate = rng.uniform(-1, 1, (2, 3))

    def total(y):
        return energy(model, model.assemble(y, jnp.asarray(rate), model.theta), model.theta)

    value, slope = evaluated(jax.value_and_grad(total), y)
    q, data = robot.configurations(y[None])[0], robot.model.createData()
    expected = pin.computeKineticEnergy(robot.model, data, q, rate) + pin.computePotentialEnergy(
        robot.model, data, q
    )
    assert value == pytest.approx(expected, rel=1e-12)
    assert np.abs(slope).max() > 0.1, "and reverse mode goes through"


def test_what_is_no_mechanism(path):
    with pytest.raises(InvalidModel, match="floating base"):
        mechanism_of(load_robot(path, floating_base=True))
