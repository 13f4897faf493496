"""Forward dynamics, contact forces and impacts: against Pinocchio, differences, and what physics says."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import ImpossibleBody, InvalidModel
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import BallContact, PointContact, SurfaceContact
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.actuation import joint_efforts, rotor_thrusts
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.regression.regressor import Regressor
from references.robots import CLOSED_CHAINS, DESCRIPTIONS, chain, described, random_robot
from references.state_differences import assert_slope, by_state, by_vector

ANYMAL = ("anymal_b_simple_description/robots/anymal.urdf", True)
TALOS = ("talos_data/robots/talos_reduced.urdf", True)
ANYMAL_FEET = tuple(PointContact(f"{leg}_FOOT") for leg in ("LF", "RF", "LH", "RH"))
SOLES = (SurfaceContact("left_sole_link"), SurfaceContact("right_sole_link"))
CASES = {
    "anymal, four points": (*ANYMAL, ANYMAL_FEET),
    "anymal, flight": (*ANYMAL, ()),
    "talos, two surfaces": (*TALOS, SOLES),
    "talos, a sole and a point": (*TALOS, (SOLES[0], PointContact("gripper_right_base_link"))),
    "solo12, two points": (
        "solo_description/robots/solo12.urdf",
        True,
        (PointContact("FL_FOOT"), PointContact("HR_FOOT")),
    ),
    "go1, three points": (
        "go1_description/urdf/go1.urdf",
        True,
        tuple(PointContact(f"{leg}_foot") for leg in ("FL", "FR", "RL")),
    ),
    "go1, balls": (
        "go1_description/urdf/go1.urdf",
        True,
        (BallContact("FL_foot", 2.0, 0.02), BallContact("RR_foot", radius=0.3), PointContact("RL_foot")),
    ),
    "kinova, free": ("kinova_description/robots/kinova.urdf", False, ()),
    "panda, a point": ("panda_description/urdf/panda.urdf", False, (PointContact("panda_hand"),)),
    "panda, a grip": ("panda_description/urdf/panda.urdf", False, (SurfaceContact("panda_hand"),)),
    "iris, flight": ("iris_description/robots/iris.urdf", True, ()),
    "five-bar, a loop": (CLOSED_CHAINS / "five_bar.xml", False, ()),
    "leg, a loop": (CLOSED_CHAINS / "leg.xml", False, ()),
    "floating leg, a loop and a point": (CLOSED_CHAINS / "leg.xml", True, (PointContact("toe"),)),
    "hextilt, flight": ("hextilt_description/urdf/hextilt_flying_arm_5.urdf", True, ()),
}


def dynamics_of(case, chart=None, bodies=1, **settings):
    path, floating, contacts = CASES[case]
    robot = described(path, floating_base=floating)
    chosen = robot.bodies[:bodies] if bodies else robot.bodies
    return ContactDynamics(OpenParameters(robot, chosen, chart, **settings), contacts)


def a_state(dynamics, rng, T=2):
    robot = dynamics.parameters.robot
    q, v, _ = robot.random_states(T, rng)
    heaviest = dynamics._terms.mass_and_bias(dynamics.parameters.all_inertials, q, v)[0].max(axis=(0, 1))
    drive = dynamics.parameters.drive
    u = 3 * (heaviest @ np.abs(drive.matrix)) * rng.standard_normal((T, len(drive.inputs)))
    return q, v, u, dynamics.parameters.nominal_theta


def repeated(x, q):
    return np.tile(x, (len(q) // len(x), 1))


def assert_all_slopes(evaluate, dynamics, q, v, u, theta):
    """`evaluate(q, v, u, theta)` is a motion; its slopes are differences of its accelerations and forces."""
    robot = dynamics.parameters.robot
    motion = evaluate(q, v, u, theta, True)
    n = robot.model.nv
    together = by_state(
        lambda q, v: np.hstack(both(evaluate(q, v, repeated(u, q), theta, False))), robot, q, v
    )
    for slopes, part in ((motion.a_by, slice(0, n)), (motion.forces_by, slice(n, None))):
        assert_slope(slopes.q, together[0][:, part])
        assert_slope(slopes.v, together[1][:, part])
    if len(theta):
        by_theta = by_vector(lambda theta: np.hstack(both(evaluate(q, v, u, theta, False))), theta)
        assert_slope(motion.a_by.theta, by_theta[:, :n])
        assert_slope(motion.forces_by.theta, by_theta[:, n:])
    return motion


def both(motion):
    return motion.a, motion.forces


# ------------------------------------------------------------------------------------------------ slopes, every robot


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chart", [LogCholesky(), ExponentialEigenvalue()], ids=["cholesky", "eigenvalue"])
def test_slopes_of_accelerations_and_forces(rng, case, chart):
    dynamics = dynamics_of(case, chart, bodies=2)
    q, v, u, theta = a_state(dynamics, rng)
    theta = theta + 0.1 * rng.standard_normal(len(theta))
    motion = assert_all_slopes(dynamics, dynamics, q, v, u, theta)
    many = [np.repeat(x, 2 * u.shape[1], axis=0) for x in (q, v, u)]
    du = np.tile(np.concatenate([np.eye(u.shape[1]), -np.eye(u.shape[1])]), (len(q), 1))
    moved = np.hstack(both(dynamics(*many[:2], many[2] + du, theta))).reshape(len(q), 2, u.shape[1], -1)
    differences = np.moveaxis(moved[:, 0] - moved[:, 1], 1, 2) / 2  # linear in u
    n = v.shape[1]
    assert_slope(motion.a_by.tau @ motion.effort_slope, differences[:, :n])
    assert_slope(motion.forces_by.tau @ motion.effort_slope, differences[:, n:])


@pytest.mark.parametrize(
    "case", ["anymal, four points", "talos, two surfaces", "panda, a grip", "go1, balls"]
)
@pytest.mark.parametrize("chart", [LogCholesky(), ExponentialEigenvalue()], ids=["cholesky", "eigenvalue"])
def test_slopes_of_an_impact(rng, case, chart):
    dynamics = dynamics_of(case, chart, bodies=2)
    q, v, u, theta = a_state(dynamics, rng)
    motion = assert_all_slopes(
        lambda q, v, u, theta, slopes: dynamics.impact(q, v, theta, slopes), dynamics, q, v, u, theta
    )
    assert motion.a_by.theta.any()


@pytest.mark.parametrize("case", ["anymal, four points", "kinova, free"])
def test_slopes_by_all_bodies(rng, case):
    dynamics = dynamics_of(case, ExponentialEigenvalue(), bodies=0)
    q, v, u, theta = a_state(dynamics, rng, 1)
    assert len(theta) == 10 * len(dynamics.parameters.robot.bodies)
    assert_all_slopes(dynamics, dynamics, q, v, u, theta)


def test_slopes_by_pi_itself_where_it_is_no_real_body(rng):
    dynamics = dynamics_of("anymal, four points", None)
    q, v, u, theta = a_state(dynamics, rng)
    theta[4] *= 0.2  # breaks the triangle inequality
    assert_all_slopes(dynamics, dynamics, q, v, u, theta)


def test_heavier_is_slower(rng):
    """da/dm = -a/m of a point mass: the sign that Eq. 17 lacks."""
    robot = chain("s", [0.0], gravity=(0, 0, 0))
    dynamics = ContactDynamics(OpenParameters(robot, robot.bodies, None))
    motion = dynamics(np.zeros((1, 1)), np.zeros((1, 1)), np.array([[3.0]]), robot.inertials[0], True)
    mass = robot.inertials[0, 0]
    assert motion.a[0, 0] == pytest.approx(3.0 / mass)
    assert motion.a_by.theta[0, 0, 0] == pytest.approx(-3.0 / mass**2)


# --------------------------------------------------------------------------------------------- Pinocchio, and physics


def pinocchio_contacts(model, contacts):
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for contact in contacts:
        frame = model.frames[model.getFrameId(contact.frame)]
        kind = pin.ContactType.CONTACT_3D if contact.size == 3 else pin.ContactType.CONTACT_6D
        world = pin.SE3.Identity()
        model_c = pin.RigidConstraintModel(
            kind, model, frame.parentJoint, frame.placement, 0, world, pin.LOCAL
        )
        models.append(model_c)
    for model_c in models:
        datas.append(model_c.createData())
    return models, datas


@pytest.mark.parametrize("case", ["anymal, four points", "talos, two surfaces", "solo12, two points"])
def test_contact_and_impact_dynamics_are_pinocchio_s(rng, case):
    dynamics = replace(dynamics_of(case), softness=0.0)
    q, v, u, theta = a_state(dynamics, rng)
    motion, impact = dynamics(q, v, u, theta), dynamics.impact(q, v, theta)
    model = dynamics.parameters.robot.model.copy()
    model.armature = np.zeros(model.nv)
    data = model.createData()
    models, datas = pinocchio_contacts(model, dynamics.contacts)
    pin.initConstraintDynamics(model, data, models, datas)
    exact = pin.ProximalSettings(1e-14, 1e-12, 20)
    for t in range(len(q)):
        tau = motion.effort_slope @ u[t]
        a = pin.constraintDynamics(model, data, q[t], v[t], tau, models, datas, exact)
        np.testing.assert_allclose(motion.a[t], a, atol=1e-7 * np.abs(a).max())
        np.testing.assert_allclose(motion.forces[t], data.lambda_c, atol=1e-7 * np.abs(data.lambda_c).max())
        after = pin.impulseDynamics(model, data, q[t], v[t], models, datas, 0.0, exact)
        np.testing.assert_allclose(impact.a[t], after, atol=1e-7 * np.abs(after).max())


def test_contact_frames_stay_where_they_are_and_impacts_stop_them(rng):
    dynamics = dynamics_of("anymal, four points")
    q, v, u, theta = a_state(dynamics, rng)
    motion, impact = dynamics(q, v, u, theta), dynamics.impact(q, v, theta)
    still = dynamics(q, impact.a, u, theta)
    for contact in dynamics.contacts:
        assert np.abs(motion.frames[contact.frame].point_acceleration).max() < 1e-4
        assert np.abs(still.frames[contact.frame].velocity[:, :3]).max() < 1e-6
    M, _ = dynamics._terms.mass_and_bias(dynamics.parameters.all_inertials, q, v)
    energy = [np.einsum("ti, tij, tj -> t", x, M, x) for x in (impact.a, v)]
    assert (energy[0] < energy[1]).all()
    rows = motion.rows("LH_FOOT")
    assert (rows.start, rows.stop) == (6, 9)
    assert motion.rows("base") is None


def test_a_ball_rolls_on_the_ground(rng):
    """Its lowest point rests after an impact, and its centre accelerates as that of a rolling ball; by Pinocchio."""
    dynamics = dynamics_of("go1, balls")
    ball, model = dynamics.contacts[1], dynamics.parameters.robot.model
    q, v, u, theta = a_state(dynamics, rng, 1)
    after = dynamics.impact(q, v, theta).a
    a = dynamics(q, after, u, theta).a
    data, frame = model.createData(), model.getFrameId(ball.frame)
    pin.forwardKinematics(model, data, q[0], after[0], a[0])
    pin.updateFramePlacements(model, data)
    world = pin.LOCAL_WORLD_ALIGNED
    twist = pin.getFrameVelocity(model, data, frame, world).vector
    change = pin.getFrameClassicalAcceleration(model, data, frame, world).vector
    down = np.array([0, 0, -ball.radius])
    for moved in (twist, change):
        size = np.abs(moved).max()
        np.testing.assert_allclose(moved[:3] + np.cross(moved[3:], down), 0, atol=1e-6 * size)


def test_standing_feet_carry_the_weight():
    dynamics = dynamics_of("anymal, four points")
    robot = dynamics.parameters.robot
    q = pin.neutral(robot.model)[None].copy()
    q[0, 7:] = [-0.1, 0.7, -1.0, -0.1, -0.7, 1.0, 0.1, 0.7, -1.0, 0.1, -0.7, 1.0]
    still = np.zeros((1, robot.model.nv))
    terms = dynamics._terms
    b = terms.mass_and_bias(robot.inertials, q, still)[1][0]
    # efforts and forces that hold it still: b = tau + J^T f
    J, _ = dynamics._constraint(terms.frames(dynamics._contact_frames, q, still, still, jacobians=True), 1)
    A = np.concatenate([np.eye(18)[:, 6:], J[0].T], axis=1)
    balance = np.linalg.lstsq(A, b, rcond=None)[0]
    motion = dynamics(q, still, balance[None, :12], dynamics.parameters.nominal_theta)
    assert np.abs(motion.a).max() < 1e-4
    world = [
        motion.frames[contact.frame].rotation[0] @ motion.forces[0, 3 * k : 3 * k + 3]
        for k, contact in enumerate(dynamics.contacts)
    ]
    weight = robot.inertials[:, 0].sum() * 9.81
    np.testing.assert_allclose(np.sum(world, axis=0), [0, 0, weight], atol=1e-3)


# ------------------------------------------------------------------------------------------ more than is needed


def redundant(softness=1e-8):
    """Both soles hold; a point on the left foot holds again what its sole holds."""
    robot = described(TALOS[0], floating_base=True)
    parameters = OpenParameters(robot, robot.bodies[:1], LogCholesky())
    again = PointContact("leg_left_6_link")
    once = ContactDynamics(parameters, SOLES, softness=softness)
    return once, ContactDynamics(parameters, (*SOLES, again), softness=softness)


def test_contacts_that_hold_twice_move_the_robot_alike(rng):
    once, twice = redundant()
    q, v, u, theta = a_state(once, rng)
    v = once.impact(q, v, theta).a  # of a foot that turns no two contacts could agree
    one, two = once(q, v, u, theta, True), twice(q, v, u, theta, True)
    np.testing.assert_allclose(two.a, one.a, atol=1e-4 * np.abs(one.a).max())
    for name in ("q", "v", "tau", "theta"):
        ours, theirs = getattr(two.a_by, name), getattr(one.a_by, name)
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.abs(theirs).max())
    frames = twice._terms.frames(twice._contact_frames, q, v, 0 * v, jacobians=True)
    J, _ = twice._constraint(frames, len(q))
    assert np.linalg.matrix_rank(J[0]) == 12 < J.shape[1]
    # of all forces with the same effect, the smallest
    least = np.array(
        [np.linalg.pinv(J_t.T, rcond=1e-9) @ (J_t.T @ f) for J_t, f in zip(J, two.forces, strict=True)]
    )
    np.testing.assert_allclose(two.forces, least, atol=1e-4 * np.abs(two.forces).max())


def test_slopes_where_contacts_hold_twice(rng):
    """Exact for the softened problem, accelerations and forces; differences see it where it is not too stiff."""
    _, twice = redundant(softness=1e-3)
    assert_all_slopes(twice, twice, *a_state(twice, rng))


@pytest.mark.parametrize("softness", [-1.0, np.nan])
def test_softness_is_refused(softness):
    with pytest.raises(InvalidModel, match="softness of contacts must be at least 0"):
        replace(dynamics_of("anymal, four points"), softness=softness)


def test_a_contact_at_a_frame_that_does_not_exist_is_refused():
    dynamics = dynamics_of("anymal, flight")
    with pytest.raises(InvalidModel, match="no frame 'LF_FEET'; did you mean"):
        replace(dynamics, contacts=(PointContact("LF_FEET"),))
    with pytest.raises(InvalidModel, match="no frame 'imu'"):
        replace(dynamics, frames=("imu",))


# -------------------------------------------------------------------------------------------------------- Baumgarte


@pytest.mark.parametrize("kind", [PointContact, SurfaceContact])
def test_slopes_with_damping(rng, kind):
    robot = described(TALOS[0], floating_base=True)
    contacts = (kind("left_sole_link", 8.0), PointContact("right_sole_link", damping=2.0))
    dynamics = ContactDynamics(OpenParameters(robot, robot.bodies[:1]), contacts)
    assert_all_slopes(dynamics, dynamics, *a_state(dynamics, rng))


def test_damping_brakes_the_frame(rng):
    robot = described("panda_description/urdf/panda.urdf", gravity=(0, 0, 0))
    q, v, _ = robot.random_states(1, rng)
    dynamics = ContactDynamics(OpenParameters(robot), (PointContact("panda_hand", 10.0),))
    motion = dynamics(q, v, np.zeros((1, 9)), np.zeros(0))
    frame = motion.frames["panda_hand"]
    np.testing.assert_allclose(frame.point_acceleration, -10.0 * frame.velocity[:, :3], atol=1e-4)


# ---------------------------------------------------------------------------------------- friction, rotors, gains


def test_slopes_by_friction_rotors_and_gains(rng):
    robot = described(ANYMAL[0], floating_base=True, drive=Drive(reduction=20.0, rotor_inertia=True))
    parameters = OpenParameters(
        robot,
        robot.bodies[:1],
        LogCholesky(),
        joints=("fv3", "fc4", "off5", "ia6", "fc2"),
        gains=("front",),
        actuation=joint_efforts(robot, {"front": robot.joints[:3]}),
        nominal={
            "front": 1.3,
            "fv3": 0.4,
            "fc4": 0.7,
            "fc2": 0.2,
            "fv7": 0.9,
            "ia6": 0.3,
            "ia8": 0.2,
            "off5": 0.1,
        },
        dry_speed=0.4,
    )
    dynamics = ContactDynamics(parameters, ANYMAL_FEET[:3])
    q, v, u, theta = a_state(dynamics, rng)
    motion = assert_all_slopes(dynamics, dynamics, q, v, u, theta)
    assert motion.a_by.theta[:, :, 10:].any(axis=(0, 1)).all()
    impact = assert_all_slopes(
        lambda q, v, u, theta, slopes: dynamics.impact(q, v, theta, slopes), dynamics, q, v, u, theta
    )
    moves = impact.a_by.theta[:, :, 10:].any(axis=(0, 1))
    np.testing.assert_array_equal(moves, [False, False, False, True, False, False])


def test_dry_friction_without_a_dry_speed_has_the_sign_of_the_speed(rng):
    robot = chain("yz", [0.1, 0.3], friction=ViscousCoulomb(offset=False))
    parameters = OpenParameters(robot, joints=("fc1",), nominal={"fc2": 0.5})
    dynamics = ContactDynamics(parameters)
    q, v, u, theta = a_state(dynamics, rng, 3)
    assert_all_slopes(dynamics, dynamics, q, v, u, theta + 0.3)


@pytest.mark.parametrize("coupled_rotor", ["free", "tied"])
def test_forward_dynamics_undo_the_regressor(rng, coupled_rotor):
    """tau = W(q, v, a) theta, with everything that a drive train adds; forward dynamics give a again."""
    drive = Drive(
        reduction=[30.0, 40.0, 50.0],
        couplings=(Coupling("j3", "j2", 10.0),),
        rotor_inertia=True,
        coupled_rotor=coupled_rotor,
    )
    robot = random_robot(rng, 3, drive=drive, friction=ViscousCoulomb())
    q, v, a = robot.random_states(4, rng)
    W = Regressor(robot, robot.parameters).dense(q, v, a)
    others = robot.parameters.names[30:]
    values = dict(zip(others, rng.uniform(0.1, 1.0, len(others)), strict=True))
    tau = W @ np.concatenate([robot.inertials.ravel(), list(values.values())])
    for opened in ((), others):
        parameters = OpenParameters(robot, joints=opened, nominal=values)
        motion = ContactDynamics(parameters)(q, v, tau, parameters.nominal_theta, True)
        np.testing.assert_allclose(motion.a, a, atol=1e-9)


def test_rotors_lift_a_quadrotor_and_their_coefficient_is_a_parameter(rng):
    robot = described("iris_description/robots/iris_simple.urdf", floating_base=True)
    places = {f"r{k}": pin.SE3(np.eye(3), np.array([x, y, 0.1])).homogeneous for k, (x, y) in enumerate(
        [(0.2, -0.2), (-0.2, 0.25), (0.2, 0.2), (-0.2, -0.2)]
    )}  # fmt: skip
    drive = rotor_thrusts(
        robot, places, dict(zip(places, (0.02, 0.02, -0.02, -0.02), strict=True)), "k_f", "N s^2"
    )
    parameters = OpenParameters(
        robot,
        robot.bodies,
        ExponentialEigenvalue(),
        joints=("drag_y",),
        gains=("k_f",),
        actuation=drive,
        nominal={"k_f": 2.0, "drag_y": 0.3},
        drag=True,
    )
    assert parameters.names[-1] == "k_f" and parameters.units[-1] == "N s^2"
    dynamics = ContactDynamics(parameters)
    q = pin.neutral(robot.model)[None]
    still = np.zeros((1, 6))
    mass = robot.inertials[0, 0]
    motion = dynamics(q, still, np.full((1, 4), mass * 9.81 / 8), parameters.nominal_theta)
    assert motion.a[0, 2] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(motion.a[0, 3:]).max() > 0.1  # one arm is longer
    assert_all_slopes(dynamics, dynamics, *a_state(dynamics, rng))


def test_other_bodies_can_have_other_values_than_the_description(rng):
    robot = random_robot(rng, 3)
    other = random_robot(np.random.default_rng(5), 3)
    q, v, u = robot.random_states(2, rng)
    parameters = OpenParameters(robot, robot.bodies[:1], None, inertials=other.inertials)
    motion = ContactDynamics(parameters)(q, v, u, robot.inertials[0])
    theta = np.concatenate([robot.inertials[:1], other.inertials[1:]]).ravel()
    all_open = OpenParameters(robot, robot.bodies, None)
    np.testing.assert_allclose(motion.a, ContactDynamics(all_open)(q, v, u, theta).a, atol=1e-10)
    assert np.abs(ContactDynamics(OpenParameters(robot))(q, v, u, np.zeros(0)).a - motion.a).max() > 1e-3


def test_the_robot_itself_is_never_changed(rng):
    dynamics = dynamics_of("anymal, four points")
    before = dynamics.parameters.robot.inertials
    q, v, u, theta = a_state(dynamics, rng)
    dynamics(q, v, u, 2 * theta)
    dynamics.impact(q, v, 2 * theta)
    robot = dynamics.parameters.robot
    now = [inertia.toDynamicParameters() for inertia in list(robot.model.inertias)[1:]]
    np.testing.assert_array_equal(now, before)
    assert robot.model.gravity.linear[2] == -9.81


def test_threads_do_not_disturb_each_other(rng):
    dynamics = dynamics_of("anymal, four points", LogCholesky())
    q, v, u, theta = a_state(dynamics, rng, 20)
    thetas = [theta + 0.1 * k for k in range(12)]
    alone = [dynamics(q, v, u, each, True) for each in thetas]
    with ThreadPoolExecutor(3) as executor:
        together = list(executor.map(lambda each: dynamics(q, v, u, each, True), thetas))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.a, other.a)
        np.testing.assert_array_equal(one.a_by.theta, other.a_by.theta)


def test_another_process_gets_the_same(rng):
    dynamics = dynamics_of("anymal, four points", LogCholesky())
    q, v, u, theta = a_state(dynamics, rng)
    here = dynamics(q, v, u, theta, True)
    there = pickle.loads(pickle.dumps(dynamics))(q, v, u, theta, True)
    np.testing.assert_allclose(there.a_by.q, here.a_by.q, atol=1e-9)


def test_what_is_not_finite_stays_not_finite_without_a_word(rng):
    dynamics = dynamics_of("anymal, four points", LogCholesky())
    q, v, u, theta = a_state(dynamics, rng)
    v[0, 3] = np.nan
    motion = dynamics(q, v, u, theta)
    assert np.isnan(motion.a[0]).any()
    assert np.isfinite(motion.a[1]).all()
    assert np.isnan(dynamics(q, v, u, np.full_like(theta, np.nan)).a).any()


# ------------------------------------------------------------------------------------------- every robot there is


def catalogue():
    """Every URDF of the package example-robot-data, fixed and floating."""
    paths = sorted(DESCRIPTIONS.rglob("*.urdf"))
    if not paths:
        return [pytest.param(None, False, marks=pytest.mark.skip("needs the package example-robot-data"))]
    return [
        pytest.param(path, floating, id=f"{path.stem}{' floating' * floating}")
        for path in paths
        for floating in (False, True)
        if 'robot name="' in path.read_text().replace("'", '"')  # one is a template without a robot
    ]


def real_bodies(robot, chart):
    """Those that a chart can have: not flat, not points, not impossible."""
    real = []
    for body, pi in zip(robot.bodies, robot.inertials, strict=True):
        with suppress(ImpossibleBody):
            chart.from_inertial(pi)
            real.append(body)
    return tuple(real)


@pytest.mark.parametrize(("path", "floating"), catalogue())
def test_slopes_along_a_direction_on_every_catalogue_robot(rng, path, floating):
    """All bodies open, the last two in contact; one difference along a random change of everything at once."""
    try:
        robot = described(path, floating_base=floating)
    except InvalidModel as drone:
        pytest.skip(str(drone))
    chart = [LogCholesky(), ExponentialEigenvalue()][int(floating)]
    contacts = tuple(PointContact(body, damping=1.0) for body in robot.bodies[-2:])
    parameters = OpenParameters(robot, real_bodies(robot, chart), chart)
    dynamics = ContactDynamics(parameters, contacts, softness=1e-3)
    q, v, u, theta = a_state(dynamics, rng, 1)
    M = dynamics._terms.mass_and_bias(dynamics.parameters.all_inertials, q, v)[0][0]
    scale = 1 / np.sqrt(np.diag(M).clip(1e-300))
    if not np.linalg.eigvalsh(scale[:, None] * M * scale).min() > 1e-9:
        pytest.skip("bodies without mass cannot be accelerated")
    n, h = robot.model.nv, 1e-6
    d_q, d_v = 0.3 * rng.standard_normal((2, n))
    d_theta = 0.1 * rng.standard_normal(len(theta))
    for evaluate in (
        dynamics,
        lambda q, v, u, theta, slopes=False: dynamics.impact(q, v, theta, slopes),
    ):
        motion = evaluate(q, v, u, theta, True)
        for slopes, part in ((motion.a_by, "a"), (motion.forces_by, "forces")):
            expected = (slopes.q @ d_q + slopes.v @ d_v + slopes.theta @ d_theta)[0]
            ends = [
                getattr(
                    evaluate(
                        pin.integrate(robot.model, q[0], s * h * d_q)[None],
                        v + s * h * d_v,
                        u,
                        theta + s * h * d_theta,
                    ),
                    part,
                )[0]
                for s in (1, -1)
            ]
            found = (ends[0] - ends[1]) / (2 * h)
            size = max(1.0, np.abs(found).max(), np.abs(ends[0]).max())
            np.testing.assert_allclose(expected, found, atol=1e-5 * size)


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][2]])
def test_noise_of_contacts_is_their_acceleration(case, rng):
    """Against the dense equations M a - J^T f = tau - b, J a - mu f = R^T w - gamma, and slopes against differences."""
    dynamics = dynamics_of(case)
    robot = dynamics.parameters.robot
    q, v, _ = robot.random_states(2, rng)
    rows = sum(contact.size for contact in dynamics.contacts)
    u, w = 20 * rng.standard_normal((2, len(robot.joints))), 5 * rng.standard_normal((2, rows))
    theta = dynamics.parameters.nominal_theta
    exact, moved = (dynamics(q, v, u, theta, True, noise) for noise in (None, w))
    for contact in dynamics.contacts:
        own = moved.rows(contact.frame)
        frame = moved.frames[contact.frame]
        level = np.einsum("tji, tkj -> tki", frame.rotation, w[:, own].reshape(2, -1, 3)).reshape(2, -1)
        expected = level + dynamics.softness * moved.forces[:, own]
        size = 1 + np.abs(moved.a).max()
        # where contacts are redundant, the softness leaves G a condition number of up to 1e9
        np.testing.assert_allclose(contact.residual(frame), expected, atol=1e-5 * size)
    a_by, forces_by = moved.slopes
    for name, slope in (("a", a_by.w), ("forces", forces_by.w)):
        # both are linear in w
        jump = np.einsum("tij, tj -> ti", slope[:, :, :rows], w)
        difference = getattr(moved, name) - getattr(exact, name)
        np.testing.assert_allclose(difference, jump, atol=1e-5 * (1 + np.abs(jump).max()))
    plain = dynamics(q, v, u, theta, False, w)
    np.testing.assert_allclose(plain.a, moved.a, atol=1e-12 * size)


@pytest.mark.parametrize("case", ["anymal, four points", "go1, balls", "talos, two surfaces"])
def test_efforts_and_motion_show_the_forces_of_contacts(case, rng):
    """Of the dynamics themselves, without the rows of the base."""
    dynamics = dynamics_of(case)
    q, v, _ = dynamics.parameters.robot.random_states(3, rng)
    u, theta = (
        20 * rng.standard_normal((3, len(dynamics.parameters.robot.joints))),
        dynamics.parameters.nominal_theta,
    )
    motion = dynamics(q, v, u, theta)
    found = dynamics.normal_forces(q, v, motion.a, u, theta, 1e-3, 1e3)
    for k, contact in enumerate(dynamics.contacts):
        force = motion.forces[:, motion.rows(contact.frame)][:, :3]
        up = np.einsum("ti, ti -> t", motion.frames[contact.frame].rotation[:, 2], force)
        np.testing.assert_allclose(found[:, k], up, rtol=1e-3, atol=1e-3 * np.abs(up).max())
