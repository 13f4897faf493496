"""Drive trains: virtual work decides what is right, and seed 002's own formulas agree."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import InvalidModel
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.models.robot.joint_terms import JointTerms

JOINTS = ("a", "b", "c")
COUPLED = Drive(
    reduction=(32, -45, 50),
    couplings=(Coupling("c", "b", 25), Coupling("a", "c", -8)),
    side="motor",
    position_offset=(0.1, -0.2, 0.3),
    gain=(2, 3, 0.5),
    rotor_inertia=True,
)
TX40 = Drive(
    reduction=(32, 32, 45, -48, 45, 32),
    couplings=(Coupling(motor="joint_6", joint="joint_5", ratio=32),),
    side="motor",
    position_offset=(0, -np.pi / 2, np.pi / 2, 0, 0, 0),
    rotor_inertia=True,
)
TX40_JOINTS = tuple(f"joint_{k}" for k in range(1, 7))


def coupling_columns(train, v, a, friction=None):
    """`iam`, `fvm`, `fcm` -> (T, n, coupled motors): joint torques for each parameter at 1."""
    model, last = pin.Model(), 0
    for joint in train.joints:
        last = model.addJoint(last, pin.JointModelRZ(), pin.SE3.Identity(), joint)
        model.appendBodyToJoint(last, pin.Inertia(1, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    terms = JointTerms(Articulated("robot", model, train.drive, friction or ViscousCoulomb()))
    columns, kinds = (
        terms.columns(np.arange(len(terms.parameters.names)), v, v, a),
        np.array(terms.parameters.kinds),
    )
    named = {"iam": "rotor_coupling", "fvm": "viscous_coupling", "fcm": "coulomb_coupling"}
    return {name: columns[:, :, kinds == kind] for name, kind in named.items() if kind in kinds}


@given(
    st.lists(st.floats(0.5, 200) | st.floats(-200, -0.5), min_size=3, max_size=3),
    st.floats(-100, 100),
    st.floats(-100, 100),
)
def test_motors_and_joints_do_the_same_work(reduction, first, second):
    """p' . c = q' . tau for every motion and effort; couplings in a ring would not be triangular, so a chain."""
    drive = Drive(reduction, (Coupling("b", "a", first), Coupling("c", "b", second)), side="motor")
    train = drive.resolve(JOINTS)
    p_dot, c = np.random.default_rng(0).standard_normal((2, 20, 3))
    q_dot, tau = train.joint_velocities(p_dot), train.joint_torques(c)
    # the inverse of N has entries up to 100^2 / 0.5^3, and rounding grows with them
    scale = np.abs(q_dot) @ np.abs(train.reduction).T @ np.ones(3) * np.abs(c).max()
    np.testing.assert_allclose((p_dot * c).sum(axis=1), (q_dot * tau).sum(axis=1), atol=1e-13 * scale.max())


def test_positions_go_through_the_inverse_and_velocities_are_their_derivative(rng):
    train = COUPLED.resolve(JOINTS)
    q = rng.standard_normal((10, 3))
    p = (q - train.offset) @ train.reduction.T
    np.testing.assert_allclose(train.joint_positions(p), q, atol=1e-12)
    step = 1e-3 * rng.standard_normal((10, 3))
    np.testing.assert_allclose(
        train.joint_positions(p + step) - train.joint_positions(p), train.joint_velocities(step), atol=1e-12
    )
    np.testing.assert_allclose(train.reduction, [[32, 0, -8], [0, -45, 0], [0, 25, 50]])


def test_measured_at_the_joint_only_offset_and_gain_count(rng):
    x = rng.standard_normal((5, 3))
    train = Drive((10, 20, 30), side="joint", position_offset=0.5, gain=(1, 2, 3)).resolve(JOINTS)
    np.testing.assert_allclose(train.joint_positions(x), x + 0.5)
    np.testing.assert_array_equal(train.joint_velocities(x), x)
    np.testing.assert_array_equal(train.joint_torques(x), x * [1, 2, 3])


def test_the_tx40_literally(rng):
    """Each formula of ../shared/data/README.md, written out."""
    train = TX40.resolve(TX40_JOINTS)
    p, c = rng.standard_normal((2, 7, 6))
    q1, q2, q3, q4 = p[:, 0] / 32, p[:, 1] / 32 - np.pi / 2, p[:, 2] / 45 + np.pi / 2, -p[:, 3] / 48
    q5 = p[:, 4] / 45
    q6 = p[:, 5] / 32 - q5
    np.testing.assert_allclose(
        train.joint_positions(p), np.stack([q1, q2, q3, q4, q5, q6], axis=1), atol=1e-14
    )
    tau = np.stack(
        [32 * c[:, 0], 32 * c[:, 1], 45 * c[:, 2], -48 * c[:, 3], 45 * c[:, 4] + 32 * c[:, 5], 32 * c[:, 5]],
        1,
    )
    np.testing.assert_allclose(train.joint_torques(c), tau, atol=1e-13)
    v, a = rng.standard_normal((2, 7, 6))
    columns = coupling_columns(train, v, a)
    assert list(columns) == ["iam", "fvm", "fcm"]
    zero = np.zeros((7, 4))
    sign = np.sign(v[:, 4] + v[:, 5])
    for name, five, six in (("iam", a[:, 5], a[:, 4]), ("fvm", v[:, 5], v[:, 4]), ("fcm", sign, sign)):
        np.testing.assert_allclose(columns[name][:, :, 0], np.column_stack([zero, five, six]))


def test_a_coupled_motor_is_a_motor(rng):
    """Rotor inertia, viscous and dry friction on the motor's own shaft, brought to the joints by virtual work."""
    train = COUPLED.resolve(JOINTS)
    N = train.reduction
    v, a = rng.standard_normal((2, 40, 3))
    J, F, D = rng.uniform(0.1, 1, (3, 3))  # on the shafts
    p_dot, p_ddot = v @ N.T, a @ N.T
    expected = (J * p_ddot + F * p_dot + D * np.sign(p_dot)) @ N
    own = np.diag(N)
    ia, fvm, fcm = J * own**2, F * own**2, D * np.abs(own)
    columns = coupling_columns(train, v, a)
    coupled = list(train.coupled)
    assert coupled == [0, 2]
    # what the joints' own columns take over: the diagonal of each C_k^T C_k, and the dry friction of motor b alone
    diagonal = (train.scaled**2).T
    tau = a * (diagonal @ ia) + v * (diagonal @ fvm)
    tau[:, 1] += fcm[1] * np.sign(v[:, 1])
    for name, value in (("iam", ia), ("fvm", fvm), ("fcm", fcm)):
        tau += columns[name] @ value[coupled]
    np.testing.assert_allclose(tau, expected, atol=1e-11)


def test_tied_rotors_are_the_whole_of_their_inertia(rng):
    free, tied = (
        Drive(COUPLED.reduction, COUPLED.couplings, rotor_inertia=True, coupled_rotor=c).resolve(JOINTS)
        for c in ("free", "tied")
    )
    a = rng.standard_normal((10, 3))
    assert "iam" in coupling_columns(free, a, a)
    assert "iam" not in coupling_columns(tied, a, a)
    for k, inertia_map in tied.rotor_inertia_maps().items():
        C = free.scaled[k]
        np.testing.assert_allclose(a @ inertia_map.T, np.outer(a @ C, C))
        power = (a * (a @ inertia_map.T)).sum(axis=1)
        assert (power >= 0).all()
    for k, inertia_map in free.rotor_inertia_maps().items():
        np.testing.assert_array_equal(inertia_map, np.diag(np.eye(3)[k]))


def test_without_rotors_or_coupled_friction_there_are_no_columns(rng):
    v = rng.standard_normal((4, 3))
    bare = Drive((1, 2, 3), COUPLED.couplings, coupled_friction=False).resolve(JOINTS)
    assert coupling_columns(bare, v, v) == {}
    assert bare.rotor_inertia_maps() == {}
    assert coupling_columns(Drive(rotor_inertia=True).resolve(JOINTS), v, v) == {}


def test_the_deadband_is_on_the_motors_speed():
    train = Drive(1.0, (Coupling("b", "a", 1.0),)).resolve(("a", "b"))
    v = np.array([[1.0, -0.95], [1.0, -0.8]])
    fcm = coupling_columns(train, v, v, ViscousCoulomb(deadband=0.1))["fcm"]
    np.testing.assert_array_equal(fcm[:, :, 0], [[0, 0], [1, 1]])


# -- passive joints ------------------------------------------------------------------------------------------


def test_a_passive_joint_has_no_effort_and_is_measured_directly():
    drive = Drive(50, side="motor", gain=2, passive=("b",), rotor_inertia=True)
    train = drive.resolve(JOINTS)
    np.testing.assert_array_equal(train.driven, [True, False, True])
    np.testing.assert_allclose(train.joint_torques(np.ones((1, 3))), [[100, 0, 100]])
    np.testing.assert_allclose(train.joint_positions(np.ones((1, 3))), [[1 / 50, 1, 1 / 50]])
    assert list(train.rotor_inertia_maps()) == [0, 2]


def test_ratios_and_gains_of_the_driven_joints_or_of_all():
    driven = Drive((10, 30), gain=(2, 4), passive=("b",)).resolve(JOINTS)
    np.testing.assert_array_equal(np.diag(driven.reduction), [10, 1, 30])
    np.testing.assert_array_equal(driven.gain, [2, 1, 4])
    every = Drive((10, 20, 30), passive=("b",)).resolve(JOINTS)
    np.testing.assert_array_equal(np.diag(every.reduction), [10, 20, 30])


def test_a_motor_coupled_to_a_passive_joint_drives_it(rng):
    """A tendon: motor a also pulls joint b, which has no motor of its own."""
    train = Drive((2, 4), (Coupling("a", "b", 6),), side="motor", passive=("b",), rotor_inertia=True).resolve(
        ("a", "b")
    )
    q_dot, c = rng.standard_normal((2, 9, 2))
    tau = train.joint_torques(c)
    np.testing.assert_allclose((tau * q_dot).sum(axis=1), c[:, 0] * (2 * q_dot[:, 0] + 6 * q_dot[:, 1]))
    # no motor of b's own takes over the diagonal of its inertia: the columns of a must carry it
    (own,) = train.rotor_inertia_maps().values()
    whole = q_dot @ own.T + coupling_columns(train, q_dot, q_dot)["iam"][:, :, 0]
    np.testing.assert_allclose(whole, (q_dot @ [1, 3])[:, None] * [1, 3])


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        (Drive((1, 2)), "reduction has 2 values; the robot has 3 joints"),
        (
            Drive((1, 2, 3, 4), passive=("a",)),
            "reduction has 4 values; the robot has 3 joints, 2 of them driven",
        ),
        (Drive(position_offset=(0, 0)), "position_offset has 2 values"),
        (Drive(gain=(1, 2, 3, 4)), "gain has 4 values"),
        (Drive(gain=(1, 0, 1)), "gain of 0"),
        (Drive(gain=(1, np.nan, 1)), "gain must be finite"),
        (Drive(reduction=np.inf), "reduction must be finite"),
        (Drive(position_offset=np.nan), "position_offset must be finite"),
        (Drive((1, 0, 1)), "singular"),
        (Drive((1, 1, 1), (Coupling("a", "b", 1), Coupling("b", "a", 1))), "singular"),
        (Drive((2, 3, 1), (Coupling("a", "b", 1), Coupling("b", "a", 6))), "singular"),
        (Drive(couplings=(Coupling("a", "b", np.nan),)), "singular"),
        (Drive(couplings=(Coupling("a", "a", 2),)), "names its own joint"),
        (Drive(couplings=(Coupling("x", "a", 2),)), "names joint 'x'; the robot has a, b, c"),
        (Drive(couplings=(Coupling("a", "x", 2),)), "names joint 'x'"),
        (Drive(passive=("x",)), "names joint 'x'"),
        (Drive(couplings=(Coupling("a", "b", 2),), passive=("a",)), "'a' is passive"),
    ],
)
def test_drives_that_cannot_turn_are_refused(drive, message):
    with pytest.raises(InvalidModel, match=message):
        drive.resolve(JOINTS)


@pytest.mark.usefixtures("unchecked")
def test_words_that_mean_nothing_are_refused():
    with pytest.raises(InvalidModel, match="side must be 'joint' or 'motor', not 'motors'"):
        Drive(side="motors")
    with pytest.raises(InvalidModel, match="'free' or 'tied', not 'loose'"):
        Drive(coupled_rotor="loose")


def test_ratios_of_very_different_size_are_not_singular():
    """A gear and a spindle: 1e-3 turns a radian and 1e16 turns a metre are both turns."""
    train = Drive((1e-3, 1e16, 1.0), side="motor").resolve(JOINTS)
    np.testing.assert_allclose(train.velocity_map, np.diag([1e3, 1e-16, 1.0]))


def test_every_coupling_is_refused_or_invertible():
    generator = np.random.default_rng(3)
    for _ in range(200):
        ratios = generator.integers(-2, 3, (2, 2)).astype(float)
        drive = Drive(
            tuple(np.diag(ratios)), (Coupling("a", "b", ratios[0, 1]), Coupling("b", "a", ratios[1, 0]))
        )
        determinant = ratios[0, 0] * ratios[1, 1] - ratios[0, 1] * ratios[1, 0]
        if determinant == 0 or not np.diag(ratios).all():
            with pytest.raises(InvalidModel, match="singular"):
                drive.resolve(("a", "b"))
        else:
            np.testing.assert_array_equal(drive.resolve(("a", "b")).reduction, ratios)
