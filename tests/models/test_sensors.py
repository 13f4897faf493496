"""Every sensor: what it reads, and slopes of its residual by state, effort and theta, against differences."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidModel, InvalidSignals
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import BallContact, PointContact, SurfaceContact
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import (
    Accelerometer,
    ContactForce,
    ContactSinking,
    ContactTurning,
    ContactVelocity,
    Gyro,
    JointPosition,
    JointVelocity,
    Orientation,
    Pose,
    Position,
    PreintegratedVelocity,
    Readings,
    frames_of,
    residuals,
)
from poinsot.quantities import FRAME_QUANTITIES
from references.robots import chain, described, random_robot
from references.state_differences import assert_slope, by_state, by_vector

TALOS = "talos_data/robots/talos_reduced.urdf"
CONTACTS = (SurfaceContact("left_sole_link"), PointContact("right_sole_link"))
FULL = np.array([[2.0, 0.3, -0.1], [0.3, 1.0, 0.2], [-0.1, 0.2, 0.5]]) * 1e-2


@pytest.fixture(scope="module")
def talos():
    return described(TALOS, floating_base=True)


SENSORS = {
    "encoders": lambda r: JointPosition(r, 1e-3),
    "two encoders": lambda r: JointPosition(r, np.array([1e-3, 2e-3]), joints=(r.joints[4], r.joints[1])),
    "joint speeds": lambda r: JointVelocity(r, 0.05),
    "attitude": lambda r: Orientation(r, FULL, frame="imu_link"),
    "motion capture": lambda r: Pose(r, np.array([1e-3] * 3 + [0.01] * 3), frame="torso_2_link"),
    "marker": lambda r: Position(r, FULL, frame="imu_link"),
    "gyro": lambda r: Gyro(r, 0.02, frame="imu_link"),
    "velocity": lambda r: PreintegratedVelocity(r, FULL, frame="imu_link"),
    "accelerometer": lambda r: Accelerometer(r, 0.3, frame="imu_link"),
    "foot velocity": lambda r: ContactVelocity(r, 0.01, "right_sole_link", PointContact("right_sole_link")),
    "sole turning": lambda r: ContactTurning(r, 0.01, "left_sole_link", SurfaceContact("left_sole_link")),
    "sole sinking": lambda r: ContactSinking(r, 0.01, "left_sole_link", SurfaceContact("left_sole_link")),
    "sole velocity": lambda r: ContactVelocity(r, 0.01, "left_sole_link", SurfaceContact("left_sole_link")),
    "ball velocity": lambda r: ContactVelocity(
        r, 0.01, "right_sole_link", BallContact("right_sole_link", radius=0.1)
    ),
    "force": lambda r: ContactForce(r, 2.0, frame="right_sole_link"),
    "force and moment": lambda r: ContactForce(r, 2.0, frame="left_sole_link", moments=True),
    "force of a sole": lambda r: ContactForce(r, 2.0, frame="left_sole_link"),
    "moments of a point": lambda r: ContactForce(r, 2.0, frame="right_sole_link", moments=True),
}


def evaluated(robot, sensors, contacts=CONTACTS):
    parameters = OpenParameters(
        robot, robot.bodies[:1], ExponentialEigenvalue(), joints=("fv9",), nominal={"fv9": 0.5}
    )
    return ContactDynamics(parameters, contacts, frames_of(sensors))


def near(sensor, expected, rng):
    """Readings not far from what is expected."""
    readings = expected.copy()
    if sensor.width > sensor.size:
        turned = expected[:, -4:] + 0.3 * rng.standard_normal((len(expected), 4))
        readings[:, -4:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        readings[:, :-4] += rng.standard_normal(readings[:, :-4].shape)
        return readings
    return readings + 0.1 * rng.standard_normal(readings.shape)


@pytest.mark.parametrize("name", SENSORS)
def test_slopes_of_residuals(talos, rng, name):
    sensor = SENSORS[name](talos)
    dynamics = evaluated(talos, [sensor])
    q, v, _ = talos.random_states(2, rng)
    u, theta = 50 * rng.standard_normal((2, len(talos.joints))), dynamics.parameters.nominal_theta
    motion = dynamics(q, v, u, theta, True)
    values = near(sensor, sensor.predicted(motion), rng)
    assert values.shape == (2, sensor.width) and len(sensor.units) == sensor.size

    def residual(q, v, u=u, theta=theta):
        many = len(q) // 2
        moved = dynamics(q, v, np.tile(u, (many, 1)), theta)
        return residuals([Readings(sensor, np.tile(values, (many, 1)))], moved).value

    found = residuals([Readings(sensor, values)], motion, efforts=True)
    assert residuals([Readings(sensor, values)], motion).by_tau is None
    np.testing.assert_allclose(found.value, residual(q, v), atol=1e-9 * (1 + np.abs(found.value).max()))
    by_q, by_v = by_state(residual, talos, q, v)
    assert_slope(found.by_x, np.concatenate([by_q, by_v], axis=2))
    assert_slope(found.by_theta, by_vector(lambda theta: residual(q, v, theta=theta), theta))
    by_u = by_vector(lambda du: residual(q, v, u=u + du), np.zeros(u.shape[1]), step=1e-2)
    assert_slope(found.by_tau @ motion.effort_slope, by_u)
    through_dynamics = isinstance(sensor, Accelerometer | ContactForce)
    assert found.by_theta.any() == through_dynamics


@pytest.mark.parametrize("name", ["joint speeds", "gyro", "velocity", "accelerometer"])
def test_slopes_of_weighted_residuals_that_are_read_later(talos, rng, name):
    """Velocities at another instant than the state's speeds; other sensors read the state."""
    sensor = SENSORS[name](talos)
    dynamics = evaluated(talos, [sensor])
    q, v, _ = talos.random_states(2, rng)
    u, theta = 50 * rng.standard_normal((2, len(talos.joints))), dynamics.parameters.nominal_theta
    motion = dynamics(q, v, u, theta, True)
    values, weights = near(sensor, sensor.predicted(motion), rng), rng.uniform(0.1, 2.0, (2, sensor.size))
    ahead = np.array([1e-3, 3e-3])

    def readings(copies):
        return Readings(
            sensor,
            np.tile(values, (copies, 1)),
            ahead=np.tile(ahead[:, None], (copies, sensor.size)),
            weights=np.tile(weights, (copies, 1)),
        )

    def residual(q, v, u=u, theta=theta):
        many = len(q) // 2
        return residuals([readings(many)], dynamics(q, v, np.tile(u, (many, 1)), theta)).value

    found = residuals([readings(1)], motion, efforts=True)
    assert_slope(found.by_x, np.concatenate(by_state(residual, talos, q, v), axis=2))
    assert_slope(found.by_theta, by_vector(lambda theta: residual(q, v, theta=theta), theta))
    by_u = by_vector(lambda du: residual(q, v, u=u + du), np.zeros(u.shape[1]), step=1e-2)
    assert_slope(found.by_tau @ motion.effort_slope, by_u)
    assert found.by_theta.any() and np.isnan(readings(1).without_last_effort().values[-1]).all()
    exact = residuals([Readings(sensor, values)], motion).value
    assert np.allclose(found.value, exact * np.sqrt(weights)) == (name == "accelerometer")


def test_a_velocity_read_later_is_that_of_the_moved_body(talos, rng):
    """The derivative of a velocity's components by time, against a step of the motion."""
    sensor = SENSORS["velocity"](talos)
    dynamics, dt = evaluated(talos, [sensor]), 1e-6
    q, v, _ = talos.random_states(2, rng)
    u, theta = 50 * rng.standard_normal((2, len(talos.joints))), dynamics.parameters.nominal_theta
    ends = []
    motion = dynamics(q, v, u, theta)
    for h in (-dt, dt):
        moved = np.stack(
            [pin.integrate(talos.model, *pair) for pair in zip(q, h * (v + h / 2 * motion.a), strict=True)]
        )
        ends.append(sensor.predicted(dynamics(moved, v + h * motion.a, u, theta)))
    size = 1 + np.abs(sensor.rate(motion)).max()
    np.testing.assert_allclose(sensor.rate(motion), (ends[1] - ends[0]) / (2 * dt), atol=1e-5 * size)


@pytest.mark.parametrize("name", SENSORS)
def test_slopes_of_residuals_by_errors_of_sensors(talos, rng, name):
    """Biases of channels that walk between two knots, a misalignment with one component held, and two delays."""
    sensor = SENSORS[name](talos)
    biases = tuple(f"bias.{channel}" for channel in sensor.channels if sensor.width == sensor.size)
    biases = tuple(each for each in biases if not each.startswith("bias.foot_"))
    turns = tuple(f"misalignment.{frame}.{axis}" for frame in sensor.frames for axis in "xyz")
    delays = ("delay.all", f"delay.{sensor.quantity}")
    biases += tuple(f"{each}@run:1" for each in biases)
    parameters = OpenParameters(
        talos, talos.bodies[:1], sensors=(*delays, *turns[:2], *biases), nominal=dict.fromkeys(turns[2:], 0.3)
    )
    dynamics = ContactDynamics(parameters, CONTACTS, frames_of([sensor]))
    q, v, _ = talos.random_states(2, rng)
    u, theta = 50 * rng.standard_normal((2, len(talos.joints))), parameters.nominal_theta
    theta[10:] = 0.2 * rng.standard_normal(len(theta) - 10)
    motion = dynamics(q, v, u, theta, True)
    values = near(sensor, sensor.predicted(motion), rng)
    rates, weights = rng.standard_normal((2, sensor.size)), np.array([[0.7, 0.3], [0.2, 0.8]])

    def readings(copies):
        values_, rates_, weights_ = (np.tile(x, (copies, 1)) for x in (values, rates, weights))
        return [Readings(sensor, values_, rates_, dict(zip(("", "@run:1"), weights_.T, strict=True)))]

    def residual(q, v, theta=theta):
        copies = len(q) // 2
        return residuals(readings(copies), dynamics(q, v, np.tile(u, (copies, 1)), theta)).value

    found = residuals(readings(1), motion, efforts=True)
    assert_slope(found.by_theta, by_vector(lambda theta: residual(q, v, theta), theta))
    assert_slope(found.by_x, np.concatenate(by_state(residual, talos, q, v), axis=2))
    assert found.by_theta[:, :, 10:12].all() and np.isfinite(found.by_tau).all()
    if turns:  # an origin stays where it is when axes turn about it, and level axes as they are
        fixed = isinstance(sensor, Position | ContactVelocity)
        assert (np.abs(found.by_theta[:, :, 12:14]).max() > 1e-9) != fixed


def test_readings_of_a_turned_biased_and_late_unit(talos, rng):
    """Against what they are by definition: axes turned by a rotation, a bias added, and the time before."""
    gyro, m, b = Gyro(talos, 0.1, frame="imu_link"), np.array([0.3, -0.2, 0.4]), np.array([0.1, 0.2, 0.3])
    names = [f"{kind}.imu_link.{axis}" for kind in ("misalignment", "bias.gyro") for axis in "xyz"]
    values = dict(zip(names, [*m, *b], strict=True)) | {"delay.imu_link": 0.01, "delay.gyro": -0.03}
    q, v, _ = talos.random_states(3, rng)
    u, rates = np.zeros((3, len(talos.joints))), rng.standard_normal((3, 3))
    plain = ContactDynamics(OpenParameters(talos), frames=("imu_link",))(q, v, u, np.zeros(0))
    turned = ContactDynamics(OpenParameters(talos, nominal=values), frames=("imu_link",))(
        q, v, u, np.zeros(0)
    )
    expected = gyro.predicted(plain) @ pin.exp3(m) + b + 0.02 * rates
    np.testing.assert_allclose(Readings(gyro, 0 * rates, rates).predicted(turned), expected, atol=1e-12)
    np.testing.assert_allclose(residuals([Readings(gyro, expected, rates)], turned).value, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", SENSORS)
def test_what_is_expected_leaves_no_residual(talos, rng, name):
    sensor = SENSORS[name](talos)
    dynamics = evaluated(talos, [sensor])
    q, v, _ = talos.random_states(3, rng)
    motion = dynamics(q, v, np.zeros((3, len(talos.joints))), dynamics.parameters.nominal_theta)
    np.testing.assert_allclose(sensor.difference(sensor.predicted(motion), motion), 0.0, atol=1e-9)
    found = residuals([Readings(sensor, sensor.predicted(motion))], motion)
    assert found.by_x is None and found.by_tau is None and found.by_theta is None


@pytest.mark.parametrize("name", SENSORS)
def test_only_what_feels_accelerations_depends_on_efforts_at_once(talos, rng, name):
    sensor = SENSORS[name](talos)
    dynamics = evaluated(talos, [sensor])
    q, v, _ = talos.random_states(2, rng)
    u, theta = 50 * rng.standard_normal((2, len(talos.joints))), dynamics.parameters.nominal_theta
    readings = sensor.predicted(dynamics(q, v, u, theta))
    changed = sensor.difference(readings, dynamics(q, v, u + 1.0, theta))
    assert (np.abs(changed).max() > 1e-9) == sensor.depends_on_efforts


@pytest.mark.parametrize("name", SENSORS)
def test_channels_have_a_name_and_a_unit_each(talos, name):
    sensor = SENSORS[name](talos)
    assert len(sensor.channels) == len(sensor.channel_units) == len(set(sensor.channels)) == sensor.width
    assert len(sensor.components) == len(sensor.units) == len(set(sensor.components)) == sensor.size
    of = ("frame_position.", "orientation.") if isinstance(sensor, Pose) else (f"{sensor.quantity}.",)
    assert all(channel.startswith(of) for channel in sensor.channels)
    if sensor.width == sensor.size:
        assert sensor.channels == sensor.components


def test_channels_are_called_as_recordings_call_them(talos):
    for sensor in (
        Gyro(talos, 0.1, frame="imu_link"),
        Orientation(talos, 0.1, frame="imu_link"),
        Position(talos, 0.1, frame="imu_link"),
        PreintegratedVelocity(talos, 0.1, frame="imu_link"),
        Accelerometer(talos, 0.1, frame="imu_link"),
        ContactForce(talos, 0.1, frame="left_sole_link", moments=True),
    ):
        ends = FRAME_QUANTITIES[sensor.quantity].ends
        assert sensor.channels == tuple(f"{sensor.quantity}.{sensor.frame}.{end}" for end in ends)
    assert JointVelocity(talos, 0.1, joints=talos.joints[2:3]).channels == (f"velocity.{talos.joints[2]}",)
    attitude = Orientation(talos, 0.1, frame="imu_link")
    assert attitude.components == tuple(f"orientation.imu_link.{end}" for end in ("rx", "ry", "rz"))
    assert set(attitude.channel_units) == {"1"} and set(attitude.units) == {"rad"}


def test_orientations_along_a_motion_are_turns_from_the_first(talos, rng):
    turns = 0.3 * rng.standard_normal((5, 3))
    turns[0] = 0.0
    first = pin.exp3(np.array([0.4, -1.0, 0.2]))
    xyzw = np.array([pin.Quaternion(first @ pin.exp3(turn)).coeffs() for turn in turns])
    attitude, gyro = Orientation(talos, 0.1, frame="imu_link"), Gyro(talos, 0.1, frame="imu_link")
    np.testing.assert_allclose(attitude.along(xyzw), turns, atol=1e-12)
    pose = Pose(talos, 0.1, frame="imu_link")
    places = rng.standard_normal((5, 3))
    found = pose.along(np.concatenate([places, xyzw], axis=1))
    np.testing.assert_allclose(found, np.concatenate([places, turns], axis=1), atol=1e-12)
    assert gyro.along(turns) is turns


def test_an_inertial_unit_at_rest_and_in_free_fall(talos, rng):
    sensors = [Accelerometer(talos, 0.1, frame="imu_link"), Gyro(talos, 0.1, frame="imu_link")]
    dynamics = evaluated(talos, sensors, ())
    q, _, _ = talos.random_states(1, rng)
    still, theta = np.zeros((1, talos.model.nv)), dynamics.parameters.nominal_theta
    fall = dynamics(q, still, np.zeros((1, len(talos.joints))), theta)
    np.testing.assert_allclose(sensors[0].predicted(fall), 0.0, atol=1e-8)
    hold = fall.frames["imu_link"]
    from_below = -(hold.rotation[0].T @ talos.model.gravity.linear)
    at_rest = type(fall)(q, still, still, np.zeros((1, 0)), (), fall.effort_slope, {"imu_link": _still(hold)})
    np.testing.assert_allclose(sensors[0].predicted(at_rest)[0], from_below, atol=1e-12)
    np.testing.assert_allclose(sensors[1].predicted(at_rest), 0.0, atol=1e-12)


def _still(frame):
    return type(frame)(frame.rotation, frame.position, 0 * frame.velocity, 0 * frame.acceleration)


def test_sensors_agree_with_pinocchio(talos, rng):
    frame = "imu_link"
    sensors = [s(talos, 0.1, frame=frame) for s in (Gyro, PreintegratedVelocity, Accelerometer, Pose)]
    dynamics = evaluated(talos, sensors)
    q, v, _ = talos.random_states(2, rng)
    motion = dynamics(
        q, v, 10 * rng.standard_normal((2, len(talos.joints))), dynamics.parameters.nominal_theta
    )
    model, data = talos.model, talos.model.createData()
    index = model.getFrameId(frame)
    for t in range(2):
        pin.forwardKinematics(model, data, q[t], v[t], motion.a[t])
        placement = pin.updateFramePlacement(model, data, index)
        twist = pin.getFrameVelocity(model, data, index, pin.LOCAL)
        point = pin.getFrameClassicalAcceleration(model, data, index, pin.LOCAL).linear
        felt = point - placement.rotation.T @ model.gravity.linear
        for sensor, expected in zip(sensors, (twist.angular, twist.linear, felt), strict=False):
            np.testing.assert_allclose(
                sensor.predicted(motion)[t], expected, atol=1e-9 * (1 + abs(felt).max())
            )
        pose = sensors[3].predicted(motion)[t]
        xyzw = pin.SE3ToXYZQUAT(placement)
        np.testing.assert_allclose(pose[:3], xyzw[:3], atol=1e-12)
        assert abs(pose[3:] @ xyzw[3:]) == pytest.approx(1.0)


def test_an_open_contact_reads_nothing(talos, rng):
    sensor = ContactForce(talos, 1.0, frame="right_sole_link", moments=True)
    dynamics = evaluated(talos, [sensor], CONTACTS[:1])
    q, v, _ = talos.random_states(2, rng)
    motion = dynamics(q, v, np.zeros((2, len(talos.joints))), dynamics.parameters.nominal_theta, True)
    np.testing.assert_array_equal(sensor.predicted(motion), 0.0)
    found = residuals([Readings(sensor, np.ones((2, 6)))], motion)
    np.testing.assert_array_equal(found.value, 1.0)
    assert not found.by_x.any() and not found.by_theta.any()


# ------------------------------------------------------------------------------------------------- noise and gaps


@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 0.2, 0.3]), FULL], ids=["one", "each", "full"])
def test_residuals_are_in_standard_deviations(rng, noise):
    """Of many readings with that noise, the residuals' covariance is 1."""
    robot = random_robot(rng, 1, floating_base=True)
    robot.model.addFrame(pin.Frame("unit", 2, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    sensor, T = Gyro(robot, noise, frame="unit"), 4000
    q, v, _ = robot.random_states(T, rng)
    motion = ContactDynamics(OpenParameters(robot), frames=("unit",))(q, v, np.zeros((T, 1)), np.zeros(0))
    readings = sensor.predicted(motion) + rng.multivariate_normal(np.zeros(3), sensor.covariance, size=T)
    r = residuals([Readings(sensor, readings)], motion).value
    np.testing.assert_allclose(np.cov(r.T), np.eye(3), atol=5 / np.sqrt(T))


def test_what_is_missing_counts_for_nothing(talos, rng):
    """A component alone where components are independent, else the whole reading."""
    independent, correlated = Gyro(talos, 0.1, frame="imu_link"), Gyro(talos, FULL, frame="imu_link")
    attitude, encoders = Orientation(talos, 0.1, frame="imu_link"), JointPosition(talos, 0.1)
    sensors = [independent, correlated, attitude, encoders]
    dynamics = evaluated(talos, sensors)
    q, v, _ = talos.random_states(3, rng)
    motion = dynamics(q, v, np.zeros((3, len(talos.joints))), dynamics.parameters.nominal_theta, True)
    readings = []
    for sensor in sensors:
        values = near(sensor, sensor.predicted(motion), rng)
        values[1, 0] = np.nan
        readings.append(Readings(sensor, values))
    found = residuals(readings, motion)
    assert np.isfinite(found.value).all() and np.isfinite(found.by_x).all()
    gone = (found.value == 0) & ~found.by_x.any(axis=2)
    assert not gone[[0, 2]].any()
    expected = np.zeros(9 + len(talos.joints), dtype=bool)
    expected[[0, 3, 4, 5, 6, 7, 8, 9]] = True
    np.testing.assert_array_equal(gone[1], expected)


def test_a_joint_without_limits_is_read_in_any_turn(rng):
    robot = random_robot(rng, 3, kinds="C")
    sensor = JointPosition(robot, 0.01)
    dynamics = ContactDynamics(OpenParameters(robot))
    angles = np.array([[0.2, -3.0, 3.1]])
    q = robot.configurations(angles)
    motion = dynamics(q, np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(0))
    np.testing.assert_allclose(sensor.predicted(motion), angles, atol=1e-12)
    away = sensor.difference(angles + np.array([[4 * np.pi + 0.1, -2 * np.pi, 0.1]]), motion)
    np.testing.assert_allclose(away, [[0.1, 0.0, 0.1]], atol=1e-12)
    limited = JointPosition(chain("y", [0.0]), 0.01)
    still = ContactDynamics(OpenParameters(limited.robot))(*np.zeros((3, 1, 1)), np.zeros(0))
    assert limited.difference(np.array([[7.0]]), still)[0, 0] == 7.0


# ----------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (0.0, "standard deviations of gyro at 'imu_link' must be finite and above 0"),
        (np.nan, "must be finite and above 0"),
        (np.array([1.0, -1.0, 1.0]), "must be finite and above 0"),
        (np.ones(2), r"one standard deviation, 3 of them, or a covariance \(3, 3\)"),
        (
            np.diag([1.0, 1.0, -1.0]),
            "covariance of gyro at 'imu_link' must be symmetric and positive definite",
        ),
        (np.ones((3, 3)), "symmetric and positive definite"),
        (np.eye(3) + np.eye(3, k=1), "symmetric and positive definite"),
    ],
)
def test_noise_is_checked(talos, noise, message):
    with pytest.raises(InvalidModel, match=message):
        Gyro(talos, noise, frame="imu_link")


def test_places_are_checked(talos, rng):
    with pytest.raises(InvalidModel, match="no frame 'imu_lnk'; did you mean 'imu_link'"):
        Gyro(talos, 0.1, frame="imu_lnk")
    with pytest.raises(InvalidModel, match="no joint 'arm_left_1'; did you mean 'arm_left_1_joint'"):
        JointVelocity(talos, 0.1, joints=("arm_left_1",))
    ball = random_robot(rng, 1, kinds="S")
    with pytest.raises(InvalidModel, match="ball or planar joint, whose position is no angle"):
        JointPosition(ball, 0.1)
    assert JointVelocity(ball, 0.1).size == 3
    body = described("iris_description/robots/iris_simple.urdf", floating_base=True)
    with pytest.raises(InvalidModel, match="has no joints to read"):
        JointPosition(body, 0.1)


def test_readings_are_checked(talos, rng):
    sensor = Orientation(talos, 0.1, frame="imu_link")
    with pytest.raises(InvalidSignals, match="has 4 numbers, not 3"):
        Readings(sensor, np.zeros((2, 3)))
    with pytest.raises(InvalidSignals, match="infinite somewhere"):
        Readings(sensor, np.full((2, 4), np.inf))
    dynamics = evaluated(talos, [sensor])
    q, v, _ = talos.random_states(2, rng)
    motion = dynamics(q, v, np.zeros((2, len(talos.joints))), dynamics.parameters.nominal_theta)
    with pytest.raises(InvalidSignals, match="has 3 samples, the motion 2"):
        residuals([Readings(sensor, np.ones((3, 4)))], motion)
    none = residuals([], motion)
    assert none.value.shape == (2, 0)


def test_a_rolling_ball_has_no_contact_velocity(talos, rng):
    """Its centre moves, the point that touches the ground does not."""
    ball = BallContact("right_sole_link", radius=0.1)
    sensors = [kind(talos, 0.01, ball.frame, ball) for kind in (ContactVelocity, ContactSinking)]
    dynamics = evaluated(talos, sensors)
    q, v, _ = talos.random_states(1, rng)
    frame = dynamics._terms.frames((ball.frame,), q, v, 0 * v, jacobians=True)[ball.frame]
    J = ball.jacobian(frame)[0]
    v = v - (np.linalg.pinv(J) @ J @ v[0])[None]
    motion = dynamics(q, v, np.zeros((1, len(talos.joints))), dynamics.parameters.nominal_theta)
    for sensor in sensors:
        np.testing.assert_allclose(sensor.predicted(motion), 0, atol=1e-12)
    assert np.linalg.norm(motion.frames[ball.frame].velocity[0, :3]) > 1e-3


def test_contact_velocities_are_along_the_ground_and_into_it(talos, rng):
    point = PointContact("right_sole_link")
    along, into = (kind(talos, 0.01, point.frame, point) for kind in (ContactVelocity, ContactSinking))
    dynamics = evaluated(talos, [along])
    q, v, _ = talos.random_states(3, rng)
    motion = dynamics(q, v, np.zeros((3, len(talos.joints))), dynamics.parameters.nominal_theta)
    frame = motion.frames[point.frame]
    in_world = np.einsum("tij, tj -> ti", frame.rotation, frame.velocity[:, :3])
    np.testing.assert_allclose(along.predicted(motion), in_world[:, :2], atol=1e-12)
    np.testing.assert_allclose(into.predicted(motion), in_world[:, 2:], atol=1e-12)
