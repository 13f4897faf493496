"""Theta: names, values there and back, and what is refused. Gains and rotors of the actuation."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import ImpossibleBody, InvalidModel
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.robot.actuation import Actuation, joint_efforts, rotor_thrusts
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.open_parameters import OpenParameters
from references.robots import random_robot
from references.state_differences import assert_slope, by_vector


@pytest.fixture
def robot(rng):
    return random_robot(rng, 3, kinds="R", floating_base=True, drive=Drive(rotor_inertia=True))


@pytest.mark.parametrize("chart", [None, LogCholesky(), ExponentialEigenvalue()])
def test_theta_and_values_there_and_back(robot, chart):
    parameters = OpenParameters(
        robot,
        (robot.bodies[2], robot.bodies[0]),
        chart,
        joints=("fc3", "ia2"),
        gains=("k",),
        actuation=joint_efforts(robot, {"k": robot.joints[:2], "other": robot.joints[2:]}),
        nominal={"fc3": 0.3, "ia2": 0.2, "fv2": 0.7, "k": 1.5},
    )
    theta = parameters.nominal_theta
    assert parameters.size == len(theta) == len(parameters.names) == len(parameters.units) == 23
    assert (
        parameters.names[:2]
        == {
            None: ("m.j2", "mx.j2"),
            LogCholesky(): ("alpha.j2", "d1.j2"),
            ExponentialEigenvalue(): tuple(f"{name}.j2" for name in ExponentialEigenvalue().theta_names[:2]),
        }[chart]
    )
    assert parameters.names[20:] == ("fc3", "ia2", "k")
    assert parameters.units[20:] == ("N m", "kg m^2", "")
    values = parameters.values(theta)
    np.testing.assert_allclose(values.bodies, robot.inertials[[2, 0]], atol=1e-12)
    by_name = dict(zip(parameters.joint_terms.parameters.names, values.joints, strict=True))
    assert (by_name["fc3"], by_name["ia2"], by_name["fv2"], by_name["fc2"]) == (0.3, 0.2, 0.7, 0.0)
    np.testing.assert_array_equal(values.gains, [1.5, 1.0])
    moved = parameters.values(theta + 1e-3)
    assert (moved.joints != values.joints).sum() == 2 and (moved.gains != values.gains).sum() == 1
    if chart is None:
        assert values.slope is None
    else:
        np.testing.assert_allclose(values.slope, chart.jacobian(theta[:20].reshape(2, 10)))


@pytest.mark.parametrize("chart", [None, LogCholesky(), ExponentialEigenvalue()])
def test_theta_in_physical_terms(robot, chart):
    parameters = some_parameters(robot, chart)
    theta = parameters.nominal_theta + 0.01
    p = parameters.size
    names = parameters.physical_names
    assert names[:2] == ("m.j2", "mx.j2") and names[-3:] == ("fc3", "ia2", "k") and len(names) == p
    assert parameters.physical_units[:2] == ("kg", "kg m") and parameters.physical_units[-3:] == (
        "N m",
        "kg m^2",
        "",
    )
    assert parameters.kinds[9:] == (*["inertia"] * 11, "coulomb", "rotor_inertia", "gain")
    assert parameters.owners[:11] == (*["j2"] * 10, robot.bodies[0]) and parameters.owners[-3:] == (
        "j2",
        "j1",
        "",
    )
    values = parameters.values(theta)
    np.testing.assert_allclose(parameters.physical(theta)[:20], values.bodies.ravel())
    np.testing.assert_allclose(parameters.physical(theta)[20:], theta[20:])
    assert_slope(parameters.physical_slope(theta), by_vector(parameters.physical, theta))


@pytest.mark.parametrize("chart", [None, LogCholesky(), ExponentialEigenvalue()])
def test_the_same_robot_with_its_parameters_fixed(robot, chart):
    parameters = some_parameters(robot, chart)
    theta = parameters.nominal_theta + 0.01
    fixed, values = parameters.fixed(theta), parameters.values(theta)
    assert fixed.size == 0 and fixed.robot is robot and fixed.drive.inputs == parameters.drive.inputs
    np.testing.assert_allclose(fixed.all_inertials[[2, 0]], values.bodies)
    np.testing.assert_array_equal(fixed.all_inertials[[1, 3]], robot.inertials[[1, 3]])
    still = fixed.values(np.zeros(0))
    np.testing.assert_array_equal(still.joints, values.joints)
    np.testing.assert_array_equal(still.gains, values.gains)


def test_scales_are_those_of_the_parameters(robot):
    """As pi, a body twice as large and 10 times as heavy may change 10, 20 and 40 times as much."""
    pi = OpenParameters(robot, robot.bodies[:1], None, joints=("fc3",), nominal={"fc3": 30.0})
    theta = pi.nominal_theta
    larger = theta.copy()
    larger[:10] *= np.array([10, *[20] * 3, *[40] * 6])
    ratio = pi.natural_scale(larger) / pi.natural_scale(theta)
    np.testing.assert_allclose(ratio, [10, 20, 20, 20, *[40] * 6, 1])
    assert pi.natural_scale(theta)[-1] == 30.0
    chart = OpenParameters(robot, robot.bodies[:1])
    expected = LogCholesky().natural_scale(robot.inertials[:1]).ravel()
    np.testing.assert_allclose(chart.natural_scale(chart.nominal_theta), expected, rtol=1e-12)
    assert OpenParameters(robot).natural_scale(np.zeros(0)).shape == (0,)


def some_parameters(robot, chart):
    return OpenParameters(
        robot,
        (robot.bodies[2], robot.bodies[0]),
        chart,
        joints=("fc3", "ia2"),
        gains=("k",),
        actuation=joint_efforts(robot, {"k": robot.joints[:2]}),
        nominal={"fc3": 0.3, "ia2": 0.2, "fv2": 0.7, "k": 1.5},
    )


def test_nothing_open_is_an_empty_theta(robot):
    parameters = OpenParameters(robot)
    assert parameters.nominal_theta.shape == (0,)
    assert parameters.values(np.zeros(0)).bodies.shape == (0, 10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bodies": ("j",)}, "no body 'j'; did you mean 'j[123]'.*; there is base, j1, j2, j3"),
        ({"bodies": ("j1", "j1")}, "name each body once, not j1, j1"),
        ({"joints": ("fv9",)}, "no parameter of a joint 'fv9'; did you mean"),
        ({"gains": ("k",)}, "no gain 'k'; there is none"),
        ({"nominal": {"fw2": 1.0}}, "no parameter of a joint, or gain, 'fw2'; did you mean 'fv2'"),
        ({"inertials": np.zeros((2, 10))}, "ten numbers for each of 4 bodies"),
        ({"actuation": Actuation(np.zeros((3, 1)), ("u",))}, "moves 3 degrees of freedom; the robot has 9"),
    ],
)
def test_what_does_not_fit_is_refused(robot, settings, message):
    with pytest.raises(InvalidModel, match=message):
        OpenParameters(robot, **settings)


def test_theta_of_another_size_and_a_flat_body_are_refused(robot):
    with pytest.raises(InvalidModel, match="theta needs 10 numbers, not 9"):
        OpenParameters(robot, ("j1",)).values(np.zeros(9))
    robot.model.inertias[2] = pin.Inertia(1.0, np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(ImpossibleBody):
        _ = OpenParameters(robot, ("j1",)).nominal_theta


# --------------------------------------------------------------------------------------------------------- actuation


def test_gains_multiply_their_inputs(rng):
    drive = Actuation(rng.standard_normal((2, 3)), ("a", "b", "c"), {"k": ("c", "a")})
    u = rng.standard_normal((4, 3))
    np.testing.assert_allclose(drive.slope(np.array([2.0])), drive.matrix * [2, 1, 2])
    tau = u @ drive.slope(np.array([2.0])).T - u @ drive.slope(np.array([1.0])).T
    np.testing.assert_allclose(drive.columns(u)[:, :, 0], tau)


def test_joint_efforts_go_through_the_drive(rng):
    robot = random_robot(
        rng,
        2,
        kinds="R",
        floating_base=True,
        drive=Drive(reduction=[10.0, 20.0], side="motor", gain=[0.5, 2.0]),
    )
    drive = joint_efforts(robot)
    np.testing.assert_array_equal(drive.matrix[:6], 0.0)
    np.testing.assert_allclose(drive.matrix[6:], np.diag([5.0, 40.0]))


def test_rotors_push_along_their_axes_and_turn_against_their_drag(rng):
    robot = random_robot(rng, 1, floating_base=True)
    up = np.eye(4)
    up[:3, 3] = [0.2, -0.1, 0.05]
    tilted = pin.SE3(pin.exp3(np.array([0.3, 0, 0])), np.array([0.0, 0.3, 0.0]))
    drive = rotor_thrusts(robot, {"a": up, "b": tilted.homogeneous}, {"a": 0.02, "b": -0.03})
    assert drive.inputs == ("a", "b", "j1") and not drive.gains
    np.testing.assert_allclose(drive.matrix[:, 0], [0, 0, 1, -0.1, -0.2, 0.02, 0])
    wrench = tilted.act(pin.Force(np.array([0, 0, 1.0]), np.array([0, 0, -0.03]))).vector
    np.testing.assert_allclose(drive.matrix[:6, 1], wrench, atol=1e-15)
    np.testing.assert_array_equal(drive.matrix[:, 2], np.eye(7)[6])


def test_actuation_is_checked(rng):
    with pytest.raises(InvalidModel, match="a different name for each of 2 inputs"):
        Actuation(np.zeros((1, 2)), ("a", "a"))
    with pytest.raises(InvalidModel, match="no input 'aa'"):
        Actuation(np.zeros((1, 1)), ("a",), {"k": ("aa",)})
    with pytest.raises(InvalidModel, match="at most one gain"):
        Actuation(np.zeros((1, 1)), ("a",), {"k": ("a",), "l": ("a",)})
    with pytest.raises(InvalidModel, match="no floating base for rotors"):
        rotor_thrusts(random_robot(rng, 1), {}, {})
    with pytest.raises(InvalidModel, match=r"rotor 'a' has no drag \[m\]; give 0"):
        rotor_thrusts(random_robot(rng, 1, floating_base=True), {"a": np.eye(4)}, {})


def test_errors_of_sensors_are_parameters_with_names_and_units(robot):
    names = ("bias.gyro.imu.x", "bias.position.j2", "bias.velocity.j1", "misalignment.imu.z", "delay.imu")
    parameters = OpenParameters(robot, joints=("fc3",), gains=(), sensors=names, nominal={"delay.gyro": 0.01})
    assert parameters.physical_names == parameters.names == ("fc3", *names)
    assert parameters.units[1:] == ("rad/s", "rad", "rad/s", "rad", "s")
    assert parameters.kinds[1:] == ("bias", "bias", "bias", "misalignment", "delay")
    assert parameters.owners[1:] == ("gyro.imu", "position", "velocity", "imu", "imu")
    theta = np.arange(6.0)
    errors = parameters.sensor_errors(theta)
    assert errors.values == dict(zip(names, theta[1:].tolist(), strict=True)) | {"delay.gyro": 0.01}
    np.testing.assert_array_equal(parameters.physical(theta), theta)
    fixed = parameters.fixed(theta)
    assert fixed.size == 0 and fixed.sensor_errors(np.zeros(0)).values == errors.values


@pytest.mark.parametrize(
    "name",
    [
        "bias.gyro.imu.w",
        "bias.orientation.imu.x",
        "bias.position.knee",
        "bias.position.knee@run:1",
        "misalignment.x",
        "delay",
        "drift.imu",
    ],
)
def test_unknown_errors_of_sensors_are_refused(robot, name):
    with pytest.raises(InvalidModel, match=f"no error of a sensor '{name}': write bias.QUANTITY.FRAME.x"):
        OpenParameters(robot, sensors=(name,))
