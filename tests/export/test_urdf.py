"""URDF: links as Pinocchio reads them, and edits that change the numbers asked for and no other line."""

import difflib

import numpy as np
import pytest

from export.estimates import random_bodies
from inertia.families import EPS, scale
from poinsot.exceptions import InvalidModel, UnreadableFile, UnwritableOutput
from poinsot.export.description import JointDynamics
from poinsot.export.reading import open_description
from poinsot.export.urdf import Urdf
from poinsot.inertia.parameters import change_frame, from_physical, inconsistencies, inertia_at_com
from references.robots import described

ARM = """<?xml version="1.0"?>
<!-- An arm, by hand -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <!-- from CAD -->
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
    <inertial>
      <origin rpy="0.1 -0.2 0.3" xyz="0.1 0.2 0.3"/> <!-- measured -->
      <mass   value="2.50" />
      <inertia ixx="0.10" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0" izz="0.09"/>
    </inertial>
  </link>
  <link name="fore">
    <inertial><mass value="1"/><inertia ixx="1e-2" ixy="0" ixz="0" iyy="1e-2" iyz="0" izz="1e-2"/></inertial>
  </link>
  <link name="tool">
    <visual/>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit effort="1" velocity="1" lower="-1" upper="1"/>
    <dynamics damping="0.5" friction='0.10'/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/>
    <child link="fore"/>
  </joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return open_description(path)


def changed_lines(old, new):
    """(removed, added) lines."""
    lines = list(difflib.ndiff(old.text.data.decode().splitlines(), new.text.data.decode().splitlines()))
    return tuple([line[2:].strip() for line in lines if line.startswith(sign)] for sign in "-+")


def same_body(found, expected):
    """To rounding of the ten numbers and of Steiner's terms."""
    size = scale(expected) + EPS
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=64 * EPS)


# ----------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    "path",
    [
        "ur_description/urdf/ur10_robot.urdf",
        "panda_description/urdf/panda.urdf",
        "solo_description/robots/solo12.urdf",
        "anymal_c_simple_description/urdf/anymal.urdf",
        "romeo_description/urdf/romeo.urdf",
    ],
)
def test_links_add_up_to_pinocchios_bodies(path):
    robot = described(path, floating_base=True)
    description = open_description(robot.source)
    assert isinstance(description, Urdf)
    for body, expected in zip(robot.bodies, robot.inertials, strict=True):
        own = {link: description.inertial(link) for link in robot.links[body]}
        placed = [change_frame(robot.links[body][link], pi) for link, pi in own.items() if pi is not None]
        same_body(np.sum([np.zeros(10), *placed], axis=0), expected)


def test_a_link_is_read_in_its_own_frame(arm):
    assert tuple(arm.links) == ("base", "upper", "fore", "tool")
    assert arm.inertial("base") is None and arm.inertial("tool") is None
    same_body(arm.inertial("fore"), np.array([1, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01]))
    roll, pitch, yaw = 0.1, -0.2, 0.3
    cos, sin = np.cos, np.sin
    Rx = np.array([[1, 0, 0], [0, cos(roll), -sin(roll)], [0, sin(roll), cos(roll)]])
    Ry = np.array([[cos(pitch), 0, sin(pitch)], [0, 1, 0], [-sin(pitch), 0, cos(pitch)]])
    Rz = np.array([[cos(yaw), -sin(yaw), 0], [sin(yaw), cos(yaw), 0], [0, 0, 1]])
    R = Rz @ Ry @ Rx
    I = R @ np.array([[0.1, 0.01, -0.02], [0.01, 0.12, 0], [-0.02, 0, 0.09]]) @ R.T
    same_body(arm.inertial("upper"), from_physical(2.5, np.array([0.1, 0.2, 0.3]), I))
    assert not arm.has_shape_inertia("tool")


def test_joint_terms_are_read(arm):
    assert tuple(arm.freedoms) == (("upper", 0), ("fore", 0))
    assert arm.terms(("upper", 0)) == JointDynamics(0.5, 0.1)
    assert arm.terms(("fore", 0)) == JointDynamics()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('value="2.50"', 'value="heavy"', "<mass> of the inertia of link 'upper' .* needs a finite number, not 'heavy"),
        ('value="2.50"', 'value="nan"', "needs a finite number, not 'nan'"),
        ('ixx="0.10" ', "", "ixx of the inertia of link 'upper' .* needs a finite number, not ''"),
        ('xyz="0.1 0.2 0.3"', 'xyz="0.1 0.2"', "xyz of the inertia of link 'upper' .* needs 3 finite numbers"),
        ('<mass   value="2.50" />', "", "the inertia of link 'upper' in .* has no <mass>; add it"),
        ('damping="0.5"', 'damping="a lot"', "of the joint that moves 'upper' .* needs a finite number"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_named(tmp_path, old, new, message):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace(old, new))
    arm = open_description(path)
    with pytest.raises(UnreadableFile, match=message):
        _ = arm.inertial("upper"), arm.terms(("upper", 0))


# ----------------------------------------------------------------------------------------------------------- editing


def test_no_change_changes_nothing(arm):
    inertials = {link: arm.inertial(link) for link in arm.links}
    terms = {freedom: arm.terms(freedom) for freedom in arm.freedoms}
    assert arm.edited(inertials, terms).text.data == arm.text.data


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read_again(arm, seed):
    pi = random_bodies(np.random.default_rng(seed), 4, size=1.0)
    edited = arm.edited(dict(zip(arm.links, pi, strict=True)))
    for link, expected in zip(arm.links, pi, strict=True):
        same_body(edited.inertial(link), expected)


def test_only_the_lines_of_the_inertia_change(arm):
    pi = from_physical(3.0, np.array([0.1, 0.2, 0.25]), inertia_at_com(arm.inertial("upper")))
    removed, added = changed_lines(arm, arm.edited({"upper": pi}))
    assert removed == [
        '<origin rpy="0.1 -0.2 0.3" xyz="0.1 0.2 0.3"/> <!-- measured -->',
        '<mass   value="2.50" />',
    ]
    assert added == [
        '<origin rpy="0.1 -0.2 0.3" xyz="0.1 0.2 0.25"/> <!-- measured -->',
        '<mass   value="3.0" />',
    ]


def test_an_origin_is_added_where_the_center_of_mass_moves(arm):
    edited = arm.edited({"fore": from_physical(1.0, np.array([0, 0, 0.5]), 0.01 * np.eye(3))})
    _, (line,) = changed_lines(arm, edited)
    assert '<origin xyz="0.0 0.0 0.5" rpy="0 0 0"/></inertial>' in line


def test_a_link_without_inertia_gets_one(arm):
    pi = from_physical(0.5, np.array([0, 0, 0.25]), np.diag([1.0, 2, 2.5]))
    removed, added = changed_lines(arm, arm.edited({"tool": pi, "base": pi}))
    new = [
        "<inertial>",
        '<origin xyz="0.0 0.0 0.25" rpy="0 0 0"/>',
        '<mass value="0.5"/>',
        '<inertia ixx="1.0" ixy="0.0" ixz="0.0" iyy="2.0" iyz="0.0" izz="2.5"/>',
        "</inertial>",
    ]
    assert removed == ['<link name="base"/>']
    assert added == ['<link name="base">', *new, "</link>", *new]


def test_inertia_can_go(arm):
    edited = arm.edited({"upper": None, "base": None})
    removed, added = changed_lines(arm, edited)
    assert removed[0] == "<inertial>" and removed[-1] == "</inertial>" and not added
    assert edited.inertial("upper") is None


def test_joint_terms_are_written_where_they_belong(arm):
    edited = arm.edited({}, {("upper", 0): JointDynamics(0.5, 0.2), ("fore", 0): JointDynamics(damping=0.7)})
    removed, added = changed_lines(arm, edited)
    assert removed == ["<dynamics damping=\"0.5\" friction='0.10'/>"]
    assert added == ["<dynamics damping=\"0.5\" friction='0.2'/>", '<dynamics damping="0.7"/>']
    assert edited.terms(("fore", 0)) == JointDynamics(damping=0.7)


@pytest.mark.parametrize("seed", range(10))
def test_a_plate_is_a_little_thicker_than_rounding(arm, seed):
    """So that no program finds that it breaks a triangle inequality."""
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    L = np.array([*rng.uniform(0.1, 1, 2), 0.0])
    pi = from_physical(1.0, rng.standard_normal(3), R @ np.diag(L.sum() - L) @ R.T)
    for link in ("upper", "fore"):
        edited = arm.edited({link: pi})
        inertia = edited.links[link].first("inertial").first("inertia")
        xx, xy, xz, yy, yz, zz = (float(inertia.get(f"i{at}")) for at in ("xx", "xy", "xz", "yy", "yz", "zz"))
        D = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        assert 0 < D[0] + D[1] - D[2] < 1e-12 * D.sum()
        assert inconsistencies(edited.inertial(link)) == ()


def test_moments_without_a_mass_have_no_place(arm):
    with pytest.raises(InvalidModel, match="cannot hold the moments of a body whose mass is 0"):
        arm.edited({"upper": np.array([0, 0, 0, 0, 1.0, 0, 1, 0, 0, 1])})
    assert not arm.edited({"upper": np.zeros(10)}).inertial("upper").any()


def test_the_source_is_never_written_to(arm, tmp_path):
    with pytest.raises(UnwritableOutput, match="it is the source, which is kept for comparison"):
        arm.write(tmp_path / ".." / tmp_path.name / "arm.urdf")
    arm.write(tmp_path / "other.urdf")
    assert (tmp_path / "other.urdf").read_bytes() == ARM.encode()


def test_line_ends_survive(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(ARM.replace("\n", "\r\n").encode())
    arm = open_description(path)
    edited = arm.edited({"tool": arm.inertial("upper")})
    edited.write(tmp_path / "other.urdf")
    text = (tmp_path / "other.urdf").read_bytes()
    assert text.count(b"\r\n") == text.count(b"\n") > ARM.count("\n")
