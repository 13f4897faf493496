"""What joints add: efforts equal those of the regressor, and slopes their differences."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.models.robot.joint_terms import JointTerms
from poinsot.regression.regressor import Regressor
from references.robots import chain, random_robot
from references.state_differences import assert_slope, by_vector

COUPLED = Drive(reduction=[30.0, 40.0, 50.0], couplings=(Coupling("j3", "j2", 10.0),), rotor_inertia=True)


@pytest.mark.parametrize("floating", [False, True])
def test_columns_are_those_of_the_regressor(rng, floating):
    robot = random_robot(rng, 3, kinds="R", drive=COUPLED, friction=ViscousCoulomb(), floating_base=floating)
    terms = JointTerms(robot)
    q, v, a = robot.random_states(5, rng)
    W = Regressor(robot, robot.parameters).dense(q, v, a)[:, :, 10 * len(robot.bodies) :]
    assert terms.parameters.names == robot.parameters.names[-W.shape[2] :]
    assert terms.parameters.units == robot.parameters.units[-W.shape[2] :]
    assert set(robot.parameters.kinds[-W.shape[2] :]) >= {
        "rotor_coupling",
        "viscous_coupling",
        "coulomb_coupling",
    }
    np.testing.assert_allclose(terms.columns(np.arange(W.shape[2]), q, v, a), W, atol=1e-12)
    some = np.array([4, 1])
    np.testing.assert_allclose(terms.columns(some, q, v, a), W[:, :, some], atol=1e-12)
    phi = rng.uniform(0.1, 1, W.shape[2])
    np.testing.assert_allclose(
        np.einsum("ij, tj -> ti", terms.rotors(phi), a) + terms.friction(phi, v)[0], W @ phi, atol=1e-12
    )


@pytest.mark.parametrize("dry_speed", [0.0, 0.3])
def test_slopes_of_friction(rng, dry_speed):
    robot = random_robot(rng, 3, kinds="R", drive=COUPLED, friction=ViscousCoulomb())
    terms = JointTerms(robot, dry_speed)
    phi, v = rng.uniform(0.1, 1, len(terms.parameters.names)), rng.standard_normal((3, 3))
    differences = by_vector(lambda d: terms.friction(phi, v + d)[0], np.zeros(3))
    assert_slope(terms.friction(phi, v)[1], differences)


def test_dry_friction_is_soft_at_the_dry_speed():
    robot = chain("y", [0.0])
    names = JointTerms(robot).parameters.names
    phi = np.array([2.0 * (name == "fc1") for name in names])
    v = np.array([[-5.0], [-0.1], [0.0], [0.1], [5.0]])
    soft, hard = JointTerms(robot, 0.1).friction(phi, v)[0], JointTerms(robot).friction(phi, v)[0]
    np.testing.assert_allclose(soft[:, 0], 2 * np.tanh([-50, -1, 0, 1, 50]), atol=1e-12)
    np.testing.assert_array_equal(hard[:, 0], [-2, -2, 0, 2, 2])


def test_rotors_of_the_description_count_where_they_are_not_estimated():
    for drive, expected in ((Drive(), 0.25), (Drive(rotor_inertia=True), 0.0)):
        robot = chain("yz", [0.0, 0.2], drive=drive)
        robot.model.armature = np.array([0.25, 0.0])
        terms = JointTerms(robot)
        phi = np.array([robot.parameters.held.get(name, 0.0) for name in terms.parameters.names])
        np.testing.assert_allclose(terms.rotors(phi)[0, 0], expected)


@pytest.mark.parametrize("speed", [-0.1, np.inf])
def test_a_dry_speed_is_refused(speed):
    with pytest.raises(InvalidModel, match="dry_speed must be at least 0"):
        JointTerms(chain("y", [0.0]), speed)


def test_drag_slows_a_floating_base_along_its_axes(rng):
    robot = random_robot(rng, 1, floating_base=True)
    terms = JointTerms(robot, drag=True)
    assert (
        terms.parameters.names[-3:] == ("drag_x", "drag_y", "drag_z")
        and terms.parameters.units[-1] == "N s/m"
    )
    phi, v = np.zeros(len(terms.parameters.names)), rng.standard_normal((2, 7))
    phi[-3:] = [0.1, 0.2, 0.3]
    np.testing.assert_allclose(terms.friction(phi, v)[0], v * [0.1, 0.2, 0.3, 0, 0, 0, 0])
    drag_only = terms.columns(np.arange(len(phi))[-3:], robot.random_states(2, rng)[0], v, v)
    np.testing.assert_allclose(drag_only @ phi[-3:], terms.friction(phi, v)[0])
    with pytest.raises(InvalidModel, match="no floating base that the air could drag"):
        JointTerms(random_robot(rng, 1), drag=True)
