"""Reading robots: what is refused and why, what joints, bodies and parameters are called, and units."""

import sys

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidModel, UnreadableFile
from poinsot.models.friction import NoFriction, ViscousCoulomb
from poinsot.models.robot import tree as kinds
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Coupling, Drive
from references.robots import random_robot


def link(name: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" iyy="1.2" izz="0.9" ixy="0.1" ixz="0" iyz="-0.1"/></inertial></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, axis: str = "0 0 1") -> str:
    limit = (
        '<limit effort="5" velocity="3" lower="-2" upper="2"/>' if kind in ("revolute", "prismatic") else ""
    )
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0 0.1 0.4" rpy="0.1 0.2 0.3"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


ARM = f"""<robot name="arm">
  {link("base")} {link("upper")} {link("plate")} {link("fore")} {link("slide")}
  {joint("shoulder", "continuous", "base", "upper")} {joint("weld", "fixed", "upper", "plate")}
  {joint("elbow", "revolute", "plate", "fore", "0 1 0")} {joint("rail", "prismatic", "fore", "slide", "1 0 0")}
</robot>"""

PENDULUM_MJCF = """<mujoco model="pendulum"><worldbody><body name="rod" pos="0 0 1">
  <joint name="hinge" type="hinge" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.01"/>
  <body name="tip" pos="0 0 -1"><joint name="slide" type="slide" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
</body></worldbody></mujoco>"""


@pytest.fixture
def load(tmp_path):
    def load_text(text: str, **settings) -> Articulated:
        path = tmp_path / "robot.urdf"
        path.write_text(text)
        return load_robot(path, **settings)

    return load_text


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not well-formed XML"),
        ("a robot", "not well-formed XML"),
        ("<robot name='x'>", "not well-formed XML"),
        (
            '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "b">]><robot name="&a;"/>',
            "document type or entities",
        ),
        ("<html/>", "neither URDF .* its root element is <html>"),
        ("<sdf/>", "is SDF; convert it to MJCF first"),
        ("<robot name='x'/>", "not a valid robot description"),
        (f"<robot name='x'>{link('a')}{link('b')}</robot>", "not a valid robot description"),
        (
            f"<robot name='x'>{link('a')}{joint('j', 'revolute', 'a', 'b')}</robot>",
            "not a valid robot description",
        ),
        (
            "<robot name='x' xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:include filename='arm.xacro'/></robot>",
            "xacro",
        ),
        ("<mujoco><worldbody><nonsense/></worldbody></mujoco", "not well-formed XML"),
    ],
)
def test_a_file_that_is_no_robot_is_refused(load, text, message):
    with pytest.raises(UnreadableFile, match=message):
        load(text)


def test_what_the_parser_says_is_in_the_message_and_nowhere_else(load, capfd):
    lost = f"<robot name='x'>{link('a')}{link('b')}{joint('j', 'revolute', 'a', 'c')}</robot>"
    with pytest.raises(UnreadableFile, match=r"description: .*child link \[c\] of joint \[j\] not found"):
        load(lost)
    load(ARM)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "axis"), [("shoulder", "0 0 1"), ("elbow", "0 1 0"), ("rail", "1 0 0")])
def test_a_joint_without_an_axis_is_refused(load, name, axis):
    with pytest.raises(InvalidModel, match=f"the axis of joint '{name}' is 0 0 0"):
        load(ARM.replace(f'<axis xyz="{axis}"/>', '<axis xyz="0 0 0"/>'))


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="there is no robot description at"):
        load_robot(tmp_path / "none.urdf")
    with pytest.raises(UnreadableFile, match="cannot read"):
        load_robot(tmp_path)
    (tmp_path / "binary.urdf").write_bytes(b"\x80\xff\x00<robot/>")
    with pytest.raises(UnreadableFile, match="cannot read"):
        load_robot(tmp_path / "binary.urdf")


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge.urdf"
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(UnreadableFile, match="larger than 64 MiB"):
        load_robot(path)


def test_a_file_that_xacro_wrote_is_read(load):
    """It still says so in a comment, and declares the name space."""
    text = ARM.replace(
        "<robot", "<!-- by xacro:xacro from ${model} -->\n<robot xmlns:xacro='http://wiki.ros.org/xacro'"
    )
    assert load(text).joints == load(ARM).joints


@pytest.mark.parametrize("asked", [True, False])
def test_a_floating_joint_at_the_root_is_a_floating_base(load, asked):
    """As in files of which the base hangs on a link without inertia."""
    root = f'<link name="nowhere"/>{joint("free", "floating", "nowhere", "base")}'
    robot = load(ARM.replace("</robot>", root + "</robot>"), floating_base=asked)
    same = load(ARM, floating_base=True)
    assert robot.floating_base and robot.joints == same.joints and robot.bodies == same.bodies
    np.testing.assert_allclose(robot.inertials, same.inertials)


XACRO = ARM.replace("<robot", "<robot xmlns:xacro='http://wiki.ros.org/xacro'").replace(
    "</robot>", "<xacro:property name='m' value='${2 * 3}'/></robot>"
)


def test_a_xacro_is_expanded_if_its_package_is_installed(load):
    pytest.importorskip("xacro")
    assert load(XACRO).joints == load(ARM).joints
    with pytest.raises(UnreadableFile, match=r"cannot be expanded: xacro says: .*nothing.*; expand it where"):
        load(XACRO.replace('<link name="base">', '<link name="base${nothing}">'))


def test_a_xacro_without_its_package_is_refused(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(
        UnreadableFile, match=r"a xacro file; `pip install xacro` lets it be read, or expand it"
    ):
        load(XACRO)


@pytest.mark.parametrize("leader", ["nobody", "elbow"])
def test_a_mimic_of_no_other_moving_joint_is_ignored_and_named(load, leader):
    robot = load(
        ARM.replace('<joint name="elbow"', '<joint name="elbow"').replace(
            '<child link="fore"/>', f'<child link="fore"/><mimic joint="{leader}"/>'
        )
    )
    assert robot.couplings == () and robot.joints == load(ARM).joints
    (note,) = robot.notes
    assert note.startswith(f"The <mimic> of joint 'elbow' is ignored: it names '{leader}'")


@pytest.mark.parametrize("text", [f"<robot name='x'>{link('a')}</robot>", ARM.replace("continuous", "fixed")])
def test_a_robot_that_cannot_move_is_refused(load, text):
    locked = {"elbow": 0.0, "rail": 0.0} if "elbow" in text else None
    with pytest.raises(InvalidModel, match="no moving joint"):
        load(text, locked=locked)


@pytest.mark.parametrize(
    ("locked", "message"),
    [
        ({"elbwo": 0.0}, "cannot lock joint 'elbwo'; did you mean 'elbow'.*shoulder, elbow, rail"),
        ({"weld": 0.0}, "cannot lock joint 'weld'"),
        ({"universe": 0.0}, "cannot lock joint 'universe'"),
        ({"root_joint": 0.5}, "it has 6 degrees of freedom, so write 0"),
        ({"elbow": np.nan}, "finite position"),
    ],
)
def test_a_joint_that_cannot_be_locked_is_named(load, locked, message):
    with pytest.raises(InvalidModel, match=message):
        load(ARM, locked=locked, floating_base=True)


@pytest.mark.parametrize("gravity", [(0, -9.81), (0, 0, np.nan)])
def test_gravity_needs_three_finite_numbers(load, gravity):
    with pytest.raises(InvalidModel, match="three finite numbers"):
        load(ARM, gravity=gravity)


def test_a_drive_that_does_not_fit_is_refused_when_the_robot_is_read(load):
    with pytest.raises(InvalidModel, match="shoulder, elbow, rail"):
        load(ARM, drive=Drive(passive=("wrist",)))


# -- names and units -------------------------------------------------------------------------------------------------


def test_joints_and_bodies_have_the_descriptions_names(load):
    robot = load(ARM)
    assert robot.name == "arm"
    assert robot.joints == ("shoulder", "elbow", "rail")
    assert robot.bodies == ("upper", "fore", "slide")  # the plate is welded to the upper arm
    assert robot.velocity_limits == {"elbow": 3.0, "rail": 3.0}  # a continuous joint has none here


def test_a_floating_base_is_a_body_but_no_joint(load):
    robot = load(ARM, floating_base=True)
    assert robot.joints == ("shoulder", "elbow", "rail")
    assert robot.bodies == ("base", "upper", "fore", "slide")
    np.testing.assert_array_equal(robot.actuated, [6, 7, 8])
    assert robot.position_units == ("m", "m", "m", "rad", "rad", "rad", "rad", "rad", "m")
    assert robot.effort_units == ("N", "N", "N", "N m", "N m", "N m", "N m", "N m", "N")


def test_a_single_rigid_body_may_float(load):
    robot = load(f"<robot name='drone'>{link('body')}</robot>", floating_base=True)
    assert robot.joints == ()
    assert robot.bodies == ("body",)
    assert robot.parameters.names == ("m1", "mx1", "my1", "mz1", "xx1", "xy1", "yy1", "xz1", "yz1", "zz1")


def test_parameters_are_numbered_like_pinocchios_joints(load):
    drive = Drive(couplings=(Coupling("rail", "elbow", 0.5),), rotor_inertia=True)
    parameters = load(ARM, drive=drive).parameters
    names = parameters.names
    assert names[:10] == ("m1", "mx1", "my1", "mz1", "xx1", "xy1", "yy1", "xz1", "yz1", "zz1")
    assert names[20:22] == ("m3", "mx3")
    assert names[30:33] == ("ia1", "ia2", "ia3")
    assert names[33:36] == ("iam3", "fvm3", "fcm3")
    assert names[36:] == ("fv1", "fc1", "off1", "fv2", "fc2", "off2", "fv3", "fc3", "off3")
    units = dict(zip(names, parameters.units, strict=True))
    assert units["m1"] == "kg"
    assert units["mx2"] == "kg m"
    assert units["xx3"] == "kg m^2"
    assert (units["ia2"], units["ia3"]) == ("kg m^2", "kg")
    assert (units["fv2"], units["fv3"]) == ("N m s/rad", "N s/m")
    assert (units["fc2"], units["fc3"], units["off3"]) == ("N m", "N", "N")
    owners = dict(zip(names, parameters.owners, strict=True))
    assert (owners["m2"], owners["fc2"], owners["iam3"]) == ("fore", "elbow", "rail")


def test_a_floating_base_takes_the_first_number(load):
    parameters = load(ARM, floating_base=True, friction=ViscousCoulomb(offset=False)).parameters
    assert parameters.names[:1] == ("m1",)
    assert parameters.names[40:] == ("fv2", "fc2", "fv3", "fc3", "fv4", "fc4")


def test_a_joint_with_several_freedoms_numbers_them(load):
    text = f"<robot name='table'>{link('floor')}{link('disc')}{joint('plane', 'planar', 'floor', 'disc')}</robot>"
    robot = load(text, friction=ViscousCoulomb(coulomb=False, offset=False))
    assert robot.joints == ("plane.0", "plane.1", "plane.2")
    assert robot.position_units == ("m", "m", "rad")
    assert robot.parameters.names[10:] == ("fv1.0", "fv1.1", "fv1.2")


def test_parameters_are_those_that_pinocchio_read(load, rng):
    """The regressor's columns are in the order of the parameters, and those of the description give its torques."""
    robot = load(ARM)
    q, v, a = robot.random_states(5, rng)
    pi = np.concatenate([inertia.toDynamicParameters() for inertia in robot.model.inertias[1:]])
    values = dict(zip(robot.parameters.names, pi, strict=False))
    assert values["m1"] == pytest.approx(4)  # two links of 2 kg
    assert values["m3"] == pytest.approx(2)
    assert values["mx3"] == pytest.approx(2 * 0.1)
    data = robot.model.createData()
    tau = [pin.rnea(robot.model, data, *sample) for sample in zip(q, v, a, strict=True)]
    np.testing.assert_allclose(robot.torque_regressor(q, v, a) @ pi, tau, rtol=1e-12, atol=1e-12)


# -- configurations, locking, gravity, MJCF --------------------------------------------------------------------------


def test_joint_positions_become_configurations(load, rng):
    robot = load(ARM)
    positions = rng.standard_normal((4, 3))
    q = robot.configurations(positions)
    np.testing.assert_allclose(q[:, :2], np.stack([np.cos(positions[:, 0]), np.sin(positions[:, 0])], axis=1))
    np.testing.assert_array_equal(q[:, 2:], positions[:, 1:])


def test_configurations_become_joint_positions(load, rng):
    robot = load(ARM)
    positions = rng.uniform(-3, 3, (4, 3))
    np.testing.assert_allclose(robot.joint_positions(robot.configurations(positions)), positions, atol=1e-12)
    turned = positions + np.array([2 * np.pi, 0, 0])  # a joint without limits is read from -pi to pi
    np.testing.assert_allclose(robot.joint_positions(robot.configurations(turned)), positions, atol=1e-12)
    planar = load(f"<robot name='t'>{link('a')}{link('b')}{joint('plane', 'planar', 'a', 'b')}</robot>")
    q = np.concatenate([positions[:, :2], np.cos(positions[:, 2:]), np.sin(positions[:, 2:])], axis=1)
    np.testing.assert_allclose(planar.joint_positions(q), positions, atol=1e-12)
    ball = random_robot(rng, 1, kinds="S")
    assert np.isnan(ball.joint_positions(ball.neutral[None])).all()


def test_neutral_is_upright_with_joints_at_0(load):
    fixed, floating = load(ARM), load(ARM, floating_base=True)
    np.testing.assert_array_equal(fixed.joint_positions(fixed.neutral[None]), np.zeros((1, 3)))
    np.testing.assert_array_equal(floating.neutral[:7], [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(floating.joint_positions(floating.neutral[None]), np.zeros((1, 3)))


def test_a_planar_joints_configuration_turns_its_angle(load, rng):
    robot = load(f"<robot name='t'>{link('a')}{link('b')}{joint('plane', 'planar', 'a', 'b')}</robot>")
    positions = rng.standard_normal((4, 3))
    neutral = pin.neutral(robot.model)
    turned = positions * [0, 0, 1]
    expected = np.array([pin.integrate(robot.model, neutral, x) for x in turned]) + positions[
        :, [0, 1, 2, 2]
    ] * [1, 1, 0, 0]
    np.testing.assert_allclose(robot.configurations(positions), expected, atol=1e-15)


def test_a_floating_robots_configurations_must_be_given(load, rng):
    robot = load(ARM, floating_base=True)
    for columns in (3, 9):
        with pytest.raises(InvalidModel, match="nq = 11"):
            robot.configurations(rng.standard_normal((4, columns)))


@pytest.mark.parametrize("position", [0.0, 0.7, -2.0])
def test_a_locked_joint_is_the_same_as_one_held_still(load, rng, position):
    free, held = load(ARM), load(ARM, locked={"elbow": position})
    assert held.joints == ("shoulder", "rail")
    assert held.bodies == ("upper", "slide")
    positions = rng.standard_normal((5, 3))
    v, a = rng.standard_normal((2, 5, 3))
    positions[:, 1], v[:, 1], a[:, 1] = position, 0, 0
    moving = [0, 2]
    expected = _inverse_dynamics(free, positions, v, a)[:, moving]
    torques = _inverse_dynamics(held, positions[:, moving], v[:, moving], a[:, moving])
    np.testing.assert_allclose(torques, expected, rtol=1e-12, atol=1e-12)


def test_a_continuous_joint_can_be_locked(load, rng):
    free, held = load(ARM), load(ARM, locked={"shoulder": 2.5})
    positions, v, a = (x * [0, 1, 1] for x in rng.standard_normal((3, 5, 3)))
    positions[:, 0] = 2.5
    torques = _inverse_dynamics(held, positions[:, 1:], v[:, 1:], a[:, 1:])
    np.testing.assert_allclose(
        torques, _inverse_dynamics(free, positions, v, a)[:, 1:], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("settings", [{}, {"floating_base": True}, {"locked": {"elbow": 0.7}}])
def test_links_are_placed_in_the_frame_of_their_body(load, settings):
    robot = load(ARM, **settings)
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, pin.neutral(robot.model))
    for body, T_wb in zip(robot.bodies, list(data.oMi)[1:], strict=True):
        assert next(iter(robot.links[body])) == body
        for link, T_bl in robot.links[body].items():
            T_wl = data.oMf[robot.model.getFrameId(link)].homogeneous
            np.testing.assert_allclose(T_wb.homogeneous @ T_bl, T_wl, rtol=0, atol=1e-15)
    carried = {link for links in robot.links.values() for link in links}
    assert carried == {"upper", "plate", "fore", "slide"} | ({"base"} if robot.floating_base else set())


def test_joints_move_the_freedoms_of_bodies(load):
    assert load(ARM).freedoms == (("upper", 0), ("fore", 0), ("slide", 0))
    assert load(ARM, floating_base=True).freedoms == load(ARM).freedoms
    assert load(ARM, locked={"elbow": 0.1}).freedoms == (("upper", 0), ("slide", 0))
    table = load(f"<robot name='t'>{link('a')}{link('b')}{joint('plane', 'planar', 'a', 'b')}</robot>")
    assert table.freedoms == (("b", 0), ("b", 1), ("b", 2))


@pytest.mark.parametrize("settings", [{}, {"floating_base": True}, {"locked": {"elbow": 0.7}}])
def test_what_a_description_says_of_friction(load, settings):
    text = ARM.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><dynamics damping="0.3" friction="0.2"/>')
    robot = load(text, **settings)
    others = len(robot.joints) - 1
    assert robot.described_terms["damping"].tolist() == [*others * [0.0], 0.3]
    assert robot.described_terms["friction"].tolist() == [*others * [0.0], 0.2]
    assert not robot.described_terms["armature"].any()


def test_another_description_is_read_as_this_one_was(load, tmp_path):
    robot = load(
        ARM, drive=Drive(rotor_inertia=True), friction=NoFriction(), locked={"elbow": 0.7}, gravity=[0, 1, 2]
    )
    (tmp_path / "other.urdf").write_text(ARM.replace("shoulder", "hip"))
    other = robot.read_again(tmp_path / "other.urdf")
    assert other.joints == ("hip", "rail") and other.locked == {"elbow": 0.7}
    assert (other.drive, other.friction) == (robot.drive, robot.friction)
    np.testing.assert_array_equal(other.model.gravity.linear, [0, 1, 2])
    assert load(ARM, floating_base=True).read_again(tmp_path / "other.urdf").floating_base


def test_gravity_is_what_was_asked_for(load):
    robot = load(ARM, gravity=[0, 0, 0])
    rest = np.zeros((1, 3))
    assert not robot.torque_regressor(robot.configurations(rest), rest, rest).any()
    assert load(ARM).model.gravity.linear[2] == -9.81


def test_mjcf_is_read(tmp_path, rng):
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM_MJCF)
    robot = load_robot(path, friction=NoFriction())
    assert robot.joints == ("hinge", "slide")
    assert robot.bodies == ("rod", "tip")
    assert robot.position_units == ("rad", "m")
    q, v, a = robot.random_states(5, rng)
    pi = np.concatenate([inertia.toDynamicParameters() for inertia in robot.model.inertias[1:]])
    data = robot.model.createData()
    tau = [pin.rnea(robot.model, data, *sample) for sample in zip(q, v, a, strict=True)]
    np.testing.assert_allclose(robot.torque_regressor(q, v, a) @ pi, tau, rtol=1e-12, atol=1e-12)
    # by hand: both masses below the hinge, at rest
    tau = robot.torque_regressor(np.array([[0.3, 0.1]]), np.zeros((1, 2)), np.zeros((1, 2))) @ pi
    np.testing.assert_allclose(tau, [[9.81 * np.sin(0.3) * (2 * 0.5 + 0.9), 9.81 * np.cos(0.3)]], rtol=1e-12)


def test_primitive_joints_cover_pinocchios(load):
    robot = load(ARM)
    tree = robot.tree
    np.testing.assert_array_equal(tree.kind, [kinds.CONTINUOUS, kinds.REVOLUTE, kinds.PRISMATIC])
    assert tree.degrees_of_freedom == robot.model.nv
    assert tree.configuration_size == robot.model.nq
    np.testing.assert_array_equal(tree.parent, [-1, 0, 1])


def test_a_joint_that_is_not_supported_is_named():
    model = pin.Model()
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "finger")
    model.addJoint(1, pin.JointModelMimic(model.joints[1], 1.0, 0.0), pin.SE3.Identity(), "other finger")
    with pytest.raises(InvalidModel, match=r"JointModelMimic.* are not supported"):
        _ = Articulated("gripper", model, Drive(), NoFriction()).tree


def _inverse_dynamics(robot: Articulated, positions: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    pi = np.concatenate([inertia.toDynamicParameters() for inertia in robot.model.inertias[1:]])
    return robot.torque_regressor(robot.configurations(positions), v, a) @ pi
