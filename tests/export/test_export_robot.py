"""Exported robots, read by Pinocchio and compiled by MuJoCo, have the estimate's torques; and what is refused."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
import pytest

from export.estimates import estimate_of, random_bodies
from export.test_mjcf import ARM as MJCF_ARM, compiled
from export.test_urdf import changed_lines, same_body
from flat_estimate import without
from poinsot.estimate import Uncertainty
from poinsot.exceptions import ImpossibleBody, InvalidMethod, InvalidModel, NotIdentifiable, UnwritableOutput
from poinsot.export import description as description_module, urdf as urdf_module
from poinsot.export.export_robot import export_robot, prepare_export
from poinsot.export.reading import open_description
from poinsot.inertia.parameters import change_frame, from_physical
from poinsot.models.friction import NoFriction, ViscousCoulomb
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.drive import Coupling, Drive
from references.robots import described

CATALOGUE = {
    "ur10": ("ur_description/urdf/ur10_robot.urdf", {}),
    "panda": ("panda_description/urdf/panda.urdf", {}),
    "panda, locked": (
        "panda_description/urdf/panda.urdf",
        {"locked": {"panda_joint2": 0.4, "panda_joint7": -1.0, "panda_finger_joint1": 0.02}},
    ),
    "solo": ("solo_description/robots/solo12.urdf", {"floating_base": True}),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", {"floating_base": True}),
    "anymal, hanging": ("anymal_c_simple_description/urdf/anymal.urdf", {}),
    "talos": ("talos_data/robots/talos_reduced.urdf", {"floating_base": True}),
    "tiago": ("tiago_description/robots/tiago.urdf", {"floating_base": True}),
}


@pytest.fixture(params=CATALOGUE.values(), ids=CATALOGUE)
def robot(request, tmp_path):
    """A published robot, its description alone in a folder: no mesh is near."""
    path, settings = request.param
    source = described(path, **settings).source
    (tmp_path / "source").mkdir()
    return load_robot(shutil.copy(source, tmp_path / "source"), **settings)


def rigid_body_torques(robot, states):
    """By Pinocchio's recursion, of what it has read."""
    model = robot.model.copy()
    model.armature[:] = 0
    return np.array([pin.rnea(model, model.createData(), *state) for state in zip(*states, strict=True)])


def outline(path):
    """All elements, attributes and order, without those of inertia and friction; and how many comments."""
    root = ElementTree.parse(path).getroot()
    found = []
    for element in root:
        numbers = {
            below for child in element if child.tag in ("inertial", "dynamics") for below in child.iter()
        }
        rest = [each for each in element.iter() if each not in numbers]
        found.append([(each.tag, each.attrib, (each.text or "").strip()) for each in rest])
    comments = re.sub(r"<inertial>.*?</inertial>", "", path.read_text(), flags=re.DOTALL).count("<!--")
    return root.attrib, found, comments


# ------------------------------------------------------------------------------------------------- published robots


def test_the_exported_robot_has_the_estimates_torques(robot, tmp_path, rng):
    pi = random_bodies(rng, len(robot.bodies))
    export = export_robot(estimate_of(robot, pi), robot, tmp_path / "identified.urdf")
    again = robot.read_again(tmp_path / "identified.urdf")
    assert (again.joints, again.bodies) == (robot.joints, robot.bodies)
    states = robot.random_states(8, rng)
    asked = robot.torque_regressor(*states) @ pi.ravel()
    error = np.abs(rigid_body_torques(again, states) - asked).max(axis=0)
    assert np.all(error <= 1e-12 * np.abs(asked).max(axis=0))
    assert export.torque_error < 1e-12
    own = [
        joint not in robot.followers for joint in robot.joints
    ]  # friction of followers is that of their leaders
    np.testing.assert_allclose(again.described_terms["damping"][own], 0.1, rtol=1e-15)
    np.testing.assert_allclose(again.described_terms["friction"][own], 0.1, rtol=1e-15)


def test_all_else_survives(robot, tmp_path, rng):
    export_robot(estimate_of(robot, random_bodies(rng, len(robot.bodies))), robot, tmp_path / "new.urdf")
    assert outline(tmp_path / "new.urdf") == outline(robot.source)


def test_a_robot_as_it_was_described_keeps_its_text(robot, tmp_path):
    possible = description_module.is_consistent(robot.inertials)
    robot = replace(robot, friction=NoFriction())  # damping and friction of the file are held
    export = prepare_export(estimate_of(robot, robot.inertials), robot, force=not possible.all())
    assert export.changes == ()
    assert export.description.text.data == robot.source.read_bytes()


# -------------------------------------------------------------------------------------------- links that are one body

LINK = '<link name="{}"><inertial><mass value="{}"/><origin xyz="{}"/>{}</inertial></link>'
BALL = '<inertia ixx="{0}" ixy="0" ixz="0" iyy="{0}" iyz="0" izz="{0}"/>'


def gripper(masses, tmp_path, **settings):
    """A palm and two fingers fixed to it."""
    palm, *fingers = masses
    links = [
        LINK.format(name, mass, where, BALL.format(0.01 * float(mass)))
        for name, mass, where in [
            ("palm", palm, "0 0 0.1"),
            ("left", fingers[0], "0.1 0 0"),
            ("right", fingers[1], "-0.1 0 0"),
        ]
    ]
    joints = """
  <joint name="wrist" type="revolute"><parent link="base"/><child link="palm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="l" type="fixed"><origin xyz="0 0.1 0" rpy="1 2 3"/><parent link="palm"/><child link="left"/></joint>
  <joint name="r" type="fixed"><origin xyz="0 -0.1 0"/><parent link="palm"/><child link="right"/></joint>"""
    text = "\n".join(["<robot name='gripper'>", "<link name='base'/>", *links, joints, "</robot>"])
    path = tmp_path / "gripper.urdf"
    path.write_text(text)
    return load_robot(path, **settings)


def test_the_bodys_own_link_takes_the_difference(tmp_path, rng):
    robot = gripper(["1.0", "0.2", "0.3"], tmp_path)
    export = prepare_export(estimate_of(robot, 1.1 * robot.inertials), robot)
    assert {change.owner for change in export.changes} == {"palm", "wrist"}
    old, new = open_description(robot.source), export.description
    others = sum(change_frame(robot.links["palm"][name], old.inertial(name)) for name in ("left", "right"))
    same_body(new.inertial("palm"), 1.1 * robot.inertials[0] - others)


@pytest.mark.parametrize("masses", [["0.001", "0.5", "0.4"], ["0", "0.5", "0.4"]])
def test_a_placeholder_leaves_it_to_the_heaviest(tmp_path, masses):
    robot = gripper(masses, tmp_path)
    export = prepare_export(estimate_of(robot, 1.1 * robot.inertials), robot)
    assert {change.owner for change in export.changes} == {"left", "wrist"}
    assert export.torque_error < 1e-12


def test_where_nothing_would_be_left_one_link_carries_the_whole(tmp_path):
    robot = gripper(["0.5", "1.0", "0.4"], tmp_path)
    light = from_physical(0.3, np.array([0, 0, 0.1]), 0.01 * np.eye(3))[None]
    export = prepare_export(estimate_of(robot, light), robot)
    same_body(export.description.inertial("palm"), light[0])
    assert export.description.inertial("left") is None and export.description.inertial("right") is None
    assert (
        "palm has the inertia of the whole body palm; that of left, right, fixed to it, is removed, "
        "since the remainder would be physically impossible."
    ) in export.notes


def test_what_others_weigh_exactly_is_not_left_to_a_link_without_mass(tmp_path):
    robot = gripper(["1.0", "0.2", "0.3"], tmp_path)
    source = open_description(robot.source)
    placed = [change_frame(robot.links["palm"][name], source.inertial(name)) for name in ("left", "right")]
    export = prepare_export(estimate_of(robot, np.sum([np.zeros(10), *placed], axis=0)[None]), robot)
    assert export.description.inertial("palm")[0] == 0.5
    assert any(note.startswith("palm has the inertia of the whole") for note in export.notes)


def test_what_weighs_nothing_and_shall_weigh_nothing_stays_as_it_is(tmp_path):
    robot = replace(gripper(["0", "0", "0"], tmp_path), friction=NoFriction())
    export = prepare_export(estimate_of(robot, np.zeros((1, 10))), robot)
    assert export.changes == () and export.torque_error == 0


def test_a_small_change_of_a_small_inertia_is_one(tmp_path):
    """Relative to inertia, however heavy the body is."""
    robot = replace(gripper(["1000", "0.2", "0.3"], tmp_path), friction=NoFriction())
    old = from_physical(20.0, np.zeros(3), 1e-6 * np.eye(3))[None]
    new = from_physical(20.0, np.zeros(3), 1e-6 * (1 + 1e-6) * np.eye(3))[None]
    first = prepare_export(estimate_of(robot, old), robot)
    first.write(tmp_path / "first.urdf")
    robot = robot.read_again(tmp_path / "first.urdf")
    assert {change.owner for change in prepare_export(estimate_of(robot, new), robot).changes} == {"palm"}


def test_links_without_inertia_get_one_where_their_body_has_some(tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(
        "<robot name='bare'>\n  <link name='a'/>\n  <link name='b'/>\n"
        "  <joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>\n</robot>\n"
    )
    robot = load_robot(path)
    pi = from_physical(1.0, np.array([0.1, 0, 0]), np.diag([0.1, 0.2, 0.2]))[None]
    export = prepare_export(estimate_of(robot, pi), robot)
    same_body(export.description.inertial("b"), pi[0])


# ------------------------------------------------------------------------------------------- friction, rotor inertia


def test_what_urdf_has_no_place_for_is_beside_it(tmp_path):
    robot = gripper(["1.0", "0.2", "0.3"], tmp_path, drive=Drive(rotor_inertia=True))
    values = {"fv1": 0.25, "fc1": 0.5, "off1": -0.125, "ia1": 0.75}
    export = export_robot(estimate_of(robot, robot.inertials, values), robot, tmp_path / "new.urdf")
    assert "URDF cannot hold ia1, off1: see the JSON file beside it." in export.notes
    again = robot.read_again(tmp_path / "new.urdf")
    assert (again.described_terms["damping"], again.described_terms["friction"]) == (0.25, 0.5)
    beside = json.loads((tmp_path / "new.json").read_text())
    assert beside["schema"] == "poinsot.export/1"
    assert (beside["source"], beside["description"]) == ("gripper.urdf", "new.urdf")
    assert {each["name"]: (each["value"], each["written"]) for each in beside["parameters"]} == {
        "ia1": (0.75, False),
        "fv1": (0.25, True),
        "fc1": (0.5, True),
        "off1": (-0.125, False),
    }
    assert beside["parameters"][0]["std"] == 0.01
    np.testing.assert_array_equal(beside["bodies"][0]["inertial"], robot.inertials[0])
    assert beside["torque_error"] == export.torque_error
    assert beside["notes"] == list(export.notes)
    assert [change["quantity"] for change in beside["changes"]] == ["damping", "friction"]
    assert beside["changes"][0] == {
        "owner": "wrist",
        "quantity": "damping",
        "unit": "N m s/rad",
        "old": None,
        "new": 0.25,
        "change_percent": None,
    }


def test_base_parameters_serve_where_all_bodies_are_known(tmp_path):
    """As least squares has them when every inertial parameter is held."""
    robot = gripper(["1.0", "0.2", "0.3"], tmp_path)
    names = ("fv1", "fc1", "off1r")
    estimate = without(estimate_of(robot, robot.inertials), "full_parameters").updated(
        names=names,
        units=("N m s/rad", "N m", "N m"),
        owners=3 * ("wrist",),
        kinds=("viscous", "coulomb", "offset"),
        groupings=("fv1", "fc1", "off1 + mx1"),
        values=np.array([0.3, np.nan, 1.0]),
        uncertainty=Uncertainty(np.eye(3)),
        identifiable=np.array([True, False, True]),
    )
    export = prepare_export(estimate, robot)
    assert [(change.quantity, change.new) for change in export.changes] == [("damping", 0.3)]
    assert [each["name"] for each in export.elsewhere["parameters"]] == ["fv1"]


def test_couplings_have_no_place(tmp_path, rng):
    path, _ = CATALOGUE["ur10"]
    source = described(path).source
    joints = load_robot(source).joints
    robot = load_robot(
        source,
        drive=Drive(couplings=(Coupling(joints[5], joints[4], 1.0),), rotor_inertia=True),
        friction=NoFriction(),
    )
    export = prepare_export(estimate_of(robot, random_bodies(rng, len(robot.bodies))), robot)
    (note,) = [note for note in export.notes if "cannot hold" in note]
    assert all(name in note for name in ("iam6", "fvm6", "fcm6", "ia1"))


def test_joints_with_several_freedoms_have_no_place(tmp_path, rng):
    path = tmp_path / "table.urdf"
    path.write_text(
        "<robot name='table'>\n  <link name='a'/>\n  <link name='b'/>\n"
        "  <joint name='j' type='planar'><parent link='a'/><child link='b'/></joint>\n</robot>\n"
    )
    robot = load_robot(path, friction=ViscousCoulomb(offset=False, coulomb=False))
    export = prepare_export(estimate_of(robot, random_bodies(rng, 1)), robot)
    assert export.notes == ("URDF cannot hold fv1.0, fv1.1, fv1.2: see the JSON file beside it.",)
    assert {change.owner for change in export.changes} == {"b"}


# ---------------------------------------------------------------------------------------------------------------- MJCF

# Pinocchio knows no class "main", and the rail's class takes all of its from it
JOINTED = (
    MJCF_ARM.replace(' class="main"', "")
    .replace('<joint type="ball"/>', "")
    .replace('<joint axis="0 0 1"/>', '<joint name="rail" axis="0 0 1"/>')
)


@pytest.fixture
def mjcf(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(JOINTED)
    return partial(load_robot, path)


def mujoco_torques(model, q, v, a):
    """Of MuJoCo's inverse dynamics, dry friction (which it solves as a constraint) left out."""
    mujoco = pytest.importorskip("mujoco")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    torques = []
    for data.qpos[:], data.qvel[:], data.qacc[:] in zip(q, v, a, strict=True):
        mujoco.mj_inverse(model, data)
        torques.append(data.qfrc_inverse.copy())
    return np.array(torques)


def test_mujoco_has_the_estimates_torques(mjcf, tmp_path, rng):
    """Bodies, damping and armature; joints beside their bodies' frames, several joints to a body, classes."""
    robot = mjcf(drive=Drive(rotor_inertia=True))
    assert len(robot.joints) == 5
    pi = random_bodies(rng, len(robot.bodies))
    values = {name: rng.uniform(0.1, 1) for name in robot.parameters.names if name[:2] in ("fv", "fc", "ia")}
    export_robot(estimate_of(robot, pi, values), robot, tmp_path / "new.xml")
    text = (tmp_path / "new.xml").read_text()
    model = compiled(text)
    q, v, a = robot.random_states(16, rng)
    numbers = robot.joint_numbers
    damping, armature, friction = (
        np.array([values[f"{symbol}{k}"] for k in numbers]) for symbol in ("fv", "ia", "fc")
    )
    asked = robot.torque_regressor(q, v, a) @ pi.ravel() + damping * v + armature * a
    found = mujoco_torques(model, q, v, a)
    # MuJoCo turns the axes of inertia until products are 1e-12 of the moments
    np.testing.assert_allclose(found, asked, rtol=0, atol=1e-9 * np.abs(asked).max())
    np.testing.assert_array_equal(model.dof_frictionloss, friction)
    assert "<!-- classes -->" in text and "<!-- CAD -->" in text


def test_armature_that_is_not_estimated_stays(mjcf, tmp_path, rng):
    robot = mjcf()
    pi = random_bodies(rng, len(robot.bodies))
    export_robot(estimate_of(robot, pi), robot, tmp_path / "new.xml")
    armature = compiled((tmp_path / "new.xml").read_text()).dof_armature
    assert armature.any() and (armature == compiled(robot.source.read_text()).dof_armature).all()


def test_shapes_weigh_nothing_beside_what_was_identified(mjcf, tmp_path, rng):
    text = JOINTED.replace(
        '<inertial mass="0.4" pos="0.1 0 0" fullinertia="0.1 0.12 0.11 0.01 0.02 0.03"/>', "<geom size='1'/>"
    )
    (tmp_path / "arm.xml").write_text(text)
    robot = mjcf()
    pi = random_bodies(rng, len(robot.bodies))
    export = export_robot(estimate_of(robot, pi), robot, tmp_path / "new.xml")
    assert any(
        note.startswith("upper has the inertia of the whole body upper; that of plate")
        for note in export.notes
    )
    assert compiled((tmp_path / "new.xml").read_text()).body("plate").mass == 0


def test_a_robot_of_mjcf_that_floats(mjcf, tmp_path, rng):
    text = JOINTED.replace('<joint name="shoulder" axis="0 1 0" pos="0.1 0.2 0.3"/>', "<freejoint/>")
    (tmp_path / "arm.xml").write_text(text)
    robot = mjcf(friction=NoFriction())
    pi = random_bodies(rng, len(robot.bodies))
    export_robot(estimate_of(robot, pi), robot, tmp_path / "new.xml")
    model = compiled((tmp_path / "new.xml").read_text())
    masses = [model.body(name).mass[0] for name in robot.bodies]
    np.testing.assert_allclose(np.add(masses, [model.body("plate").mass[0], 0, 0, 0]), pi[:, 0], rtol=1e-12)


def test_a_locked_joint_of_mjcf(mjcf, tmp_path, rng):
    robot = mjcf(locked={"shoulder": 0.5})
    pi = random_bodies(rng, len(robot.bodies))
    assert prepare_export(estimate_of(robot, pi), robot).torque_error < 1e-12


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.fixture
def arm(tmp_path):
    return gripper(["1.0", "0.2", "0.3"], tmp_path)


IMPOSSIBLE = from_physical(2.0, np.array([0.0, 0, 0.1]), np.diag([0.1, 0.1, 0.5]))[None]


def test_a_body_that_no_robot_has_is_refused_unless_one_insists(arm, tmp_path):
    estimate = estimate_of(arm, IMPOSSIBLE)
    message = r"body 'palm' is not exported: no real body has this inertia: .*Dz = 0.5 .*; force=True writes it never"
    with pytest.raises(ImpossibleBody, match=message):
        export_robot(estimate, arm, tmp_path / "new.urdf")
    assert {path.name for path in tmp_path.iterdir()} == {"gripper.urdf"}
    export_robot(estimate, arm, tmp_path / "new.urdf", force=True)
    np.testing.assert_allclose(
        arm.read_again(tmp_path / "new.urdf").inertials, IMPOSSIBLE, rtol=1e-13, atol=1e-15
    )


def test_friction_that_drives_is_refused_unless_one_insists(arm, tmp_path):
    estimate = estimate_of(arm, arm.inertials, {"fv1": -0.25})
    with pytest.raises(
        InvalidModel, match=r"fv1 of joint 'wrist' is -0.25 N m s/rad, and no joint has a damping below 0"
    ):
        export_robot(estimate, arm, tmp_path / "new.urdf")
    export_robot(estimate, arm, tmp_path / "new.urdf", force=True)
    assert arm.read_again(tmp_path / "new.urdf").described_terms["damping"] == -0.25


def test_base_parameters_alone_are_no_robot(arm):
    estimate = estimate_of(arm, arm.inertials)
    bodies = tuple(replace(body, inertial=None, mass=None) for body in estimate.bodies)
    with pytest.raises(
        NotIdentifiable, match=r"does not determine the inertia of palm: .* the semidefinite method"
    ):
        prepare_export(replace(estimate, bodies=bodies), arm)


def test_mass_center_and_inertia_are_enough(arm):
    estimate = estimate_of(arm, arm.inertials)
    bodies = tuple(replace(body, inertial=None) for body in estimate.bodies)
    assert prepare_export(replace(estimate, bodies=bodies), arm).torque_error < 1e-12


def test_another_robots_estimate_is_refused(arm):
    other = replace(arm, name="other")
    estimate = estimate_of(other, other.inertials)
    bodies = tuple(replace(body, name="fist") for body in estimate.bodies)
    with pytest.raises(InvalidMethod, match="has no bodies palm; it has fist"):
        prepare_export(replace(estimate, bodies=bodies), arm)


def test_a_robot_without_a_file_is_refused(arm):
    with pytest.raises(InvalidModel, match="has no file to edit; read it from one with load_robot"):
        prepare_export(estimate_of(arm, arm.inertials), replace(arm, source=None))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('xyz="0 -0.1 0"', 'xyz="0 -0.2 0"', "wrist has torques that differ by"),
        ('name="wrist"', 'name="hand"', "it has other joints or bodies"),
        ('type="revolute"', 'type="continuous"', "its joints are of other types"),
        ('"right"', '"third"', "has no link right, which the robot had when it was read"),
    ],
)
def test_a_file_that_has_changed_meanwhile_is_refused(arm, tmp_path, old, new, message):
    arm.source.write_text(arm.source.read_text().replace(old, new))
    with pytest.raises(InvalidModel, match=message):
        export_robot(estimate_of(arm, 1.1 * arm.inertials), arm, tmp_path / "new.urdf")
    assert not (tmp_path / "new.urdf").exists()


@pytest.mark.parametrize("digits", [6, 17])
def test_numbers_written_with_too_few_digits_would_be_found(arm, monkeypatch, digits):
    """The check of the text that was read again has teeth."""
    rounded = lambda values: " ".join(f"{value:.{digits}g}" for value in np.ravel(values))  # noqa: E731
    monkeypatch.setattr(description_module, "number_text", rounded)
    monkeypatch.setattr(urdf_module, "number_text", rounded)
    estimate = estimate_of(arm, np.pi * arm.inertials)
    if digits == 17:
        assert prepare_export(estimate, arm).torque_error < 1e-12
    else:
        with pytest.raises(InvalidModel, match="wrist has torques that differ by"):
            prepare_export(estimate, arm)


def test_where_it_cannot_be_written(arm, tmp_path):
    estimate = estimate_of(arm, arm.inertials)
    for path, message in [
        (arm.source, "it is the source, which is kept for comparison"),
        (tmp_path / "none" / "new.urdf", "there is no folder"),
        (tmp_path / "new.json", "a URDF file ends in .urdf or .xml"),
        (tmp_path, "is a folder"),
    ]:
        with pytest.raises(UnwritableOutput, match=message):
            export_robot(estimate, arm, path)
    assert {path.name for path in tmp_path.iterdir()} == {"gripper.urdf"}


def test_files_named_relative_to_the_source_are_told(tmp_path):
    arm = gripper(["1.0", "0.2", "0.3"], tmp_path)
    assert not any("relative" in note for note in prepare_export(estimate_of(arm, arm.inertials), arm).notes)
    for name, told in [("package://arm/palm.stl", False), ("/palm.stl", False), ("meshes/palm.stl", True)]:
        arm.source.write_text(
            arm.source.read_text().replace(
                "<link name='base'/>",
                f"<link name='base'><visual><geometry><mesh filename='{name}'/></geometry></visual></link>",
            )
        )
        notes = prepare_export(estimate_of(arm, arm.inertials), arm).notes
        assert any("names meshes relative to itself" in note for note in notes) == told
        arm = gripper(["1.0", "0.2", "0.3"], tmp_path)


def test_a_note_says_nothing_of_what_did_not_happen(arm):
    robot = replace(arm, friction=ViscousCoulomb(offset=False))
    assert prepare_export(estimate_of(robot, robot.inertials), robot).notes == ()


def test_lines_that_change_are_those_of_the_change(arm):
    robot = replace(arm, friction=NoFriction())
    export = prepare_export(estimate_of(robot, 1.5 * robot.inertials), robot)
    removed, added = changed_lines(open_description(robot.source), export.description)
    assert len(removed) == len(added) == 1 and 'name="palm"' in removed[0] and 'name="palm"' in added[0]
