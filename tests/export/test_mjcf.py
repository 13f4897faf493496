"""MJCF: bodies and joints as MuJoCo compiles them, before an edit and after it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from export.estimates import random_bodies
from export.test_urdf import changed_lines, same_body
from poinsot.exceptions import InvalidModel, UnreadableFile
from poinsot.export.description import JointDynamics
from poinsot.export.mjcf import Mjcf
from poinsot.export.reading import open_description
from poinsot.inertia.parameters import from_physical

ARM = """<mujoco model="arm">
  <compiler angle="degree" eulerseq="xyz"/>
  <!-- classes -->
  <default>
    <joint damping="0.5" armature="0.01"/>
    <default class="big">
      <joint armature="0.3"/>
      <default class="slow"><joint frictionloss="2"/></default>
    </default>
    <default class="rail"><joint type="slide"/></default>
  </default>
  <asset><mesh name="nowhere" file="nowhere.stl"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1" euler="10 20 30">
      <joint name="shoulder" axis="0 1 0" pos="0.1 0.2 0.3"/>
      <inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.12 0.05" euler="30 40 50"/> <!-- CAD -->
      <body name="plate" pos="0.3 0 0" quat="0.8 0.6 0 0">
        <inertial mass="0.4" pos="0.1 0 0" fullinertia="0.1 0.12 0.11 0.01 0.02 0.03"/>
      </body>
      <body name="fore" pos="0 0 -1" childclass="big">
        <joint name="elbow" axis="1 0 0" damping="0.25"/>
        <joint class="slow" axis="0 0 1"/>
        <geom type="capsule" size="0.1 0.2"/>
        <body name="slider" childclass="rail">
          <joint axis="0 0 1"/>
          <inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>
          <body name="wrist">
            <joint type="ball" class="main"/>
            <joint type="slide" class="main" pos="0 0 1" frictionloss="0.75"/>
            <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "arm.xml"
        path.write_text(text)
        return open_description(path)

    return load


@pytest.fixture
def arm(load):
    return load(ARM)


def compiled(text):
    """MuJoCo's model; meshes are left out, which it would need."""
    mujoco = pytest.importorskip("mujoco")
    text = text if isinstance(text, str) else text.decode()
    return mujoco.MjModel.from_xml_string(
        text.replace('<asset><mesh name="nowhere" file="nowhere.stl"/></asset>', "")
    )


def body_of(model, name):
    """(10,) pi of a compiled body in its own frame."""
    k = model.body(name).id
    R = Rotation.from_quat(model.body_iquat[k], scalar_first=True).as_matrix()
    return from_physical(model.body_mass[k], model.body_ipos[k], R @ np.diag(model.body_inertia[k]) @ R.T)


# ----------------------------------------------------------------------------------------------------------- reading


def test_bodies_are_those_that_mujoco_compiles(arm):
    assert isinstance(arm, Mjcf)
    assert tuple(arm.links) == ("upper", "plate", "fore", "slider", "wrist")
    model = compiled(ARM)
    for link in arm.links:
        if link == "fore":
            assert arm.inertial(link) is None and arm.has_shape_inertia(link)
        else:
            assert not arm.has_shape_inertia(link)
            same_body(arm.inertial(link), body_of(model, link))


@pytest.mark.parametrize(
    "orientation",
    [
        'quat="0.5 -0.5 0.1 0.7"',
        'axisangle="1 2 -3 40"',
        'xyaxes="1 2 3 -1 0.5 2"',
        'zaxis="0.3 -0.4 0.5"',
        'zaxis="0 0 2"',
        'zaxis="0 0 -2"',
        'euler="30 40 50"',
    ],
)
@pytest.mark.parametrize(
    "compiler", ['angle="radian"', 'eulerseq="xYz"', 'eulerseq="ZYX"', 'eulerseq="yzy" angle="degree"']
)
def test_every_orientation_is_mujocos(load, orientation, compiler):
    text = ARM.replace('angle="degree" eulerseq="xyz"', compiler).replace('euler="30 40 50"', orientation)
    same_body(load(text).inertial("upper"), body_of(compiled(text), "upper"))


def test_joint_terms_are_those_that_mujoco_compiles(arm):
    model = compiled(ARM)
    # the ball of the wrist has three freedoms, which share their terms
    dof = {("upper", 0): 0, ("fore", 0): 1, ("fore", 1): 2, ("slider", 0): 3, ("wrist", 3): 7}
    assert set(arm.freedoms) == set(dof)
    for freedom, k in dof.items():
        found = [value or 0.0 for value in arm.terms(freedom)]
        assert found == [model.dof_damping[k], model.dof_frictionloss[k], model.dof_armature[k]]
    assert [freedom for freedom in dof if arm.slides(freedom)] == [("slider", 0), ("wrist", 3)]


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("</worldbody>", '<replicate count="2"/></worldbody>', InvalidModel, "put together with <replicate>"),
        ('mass="2" ', "", UnreadableFile, "MuJoCo says: .*attribute missing: 'mass'"),
        ('euler="30 40 50"', 'quat="0 0 0 0"', UnreadableFile, "MuJoCo says: .*zero quaternion"),
    ],
)
def test_what_cannot_be_read_body_by_body_is_refused(load, old, new, error, message):
    with pytest.raises(error, match=message):
        load(ARM.replace(old, new)).inertial("upper")


def test_frames_are_no_obstacle(load):
    text = ARM.replace("<worldbody>", "<worldbody><frame pos='0 0 1' childclass='big'>")
    text = text.replace("</worldbody>", "</frame></worldbody>").replace(
        '<joint name="shoulder" axis="0 1 0" pos="0.1 0.2 0.3"/>',
        '<frame axisangle="1 0 0 20"><joint name="shoulder" axis="0 1 0"/></frame>',
    )
    arm = load(text)
    assert arm.terms(("upper", 0)).armature == compiled(text).dof_armature[0] == 0.3
    pi = from_physical(2.0, np.array([0, 0, -0.5]), np.diag([0.1, 0.2, 0.15]))
    edited = arm.edited({"upper": pi}, {("upper", 0): JointDynamics(0.125)})
    model = compiled(edited.text.data)
    same_body(body_of(model, "upper"), pi)
    assert model.dof_damping[0] == 0.125


def test_included_files_become_part_of_the_text(load, tmp_path):
    """Also included by an included file, and not where a comment includes it."""
    begin, end = ARM.index('      <body name="plate"'), ARM.index('      <body name="fore"')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/plate.xml").write_text(
        "<!-- <mujoco> --><mujocoinclude>" + ARM[begin:end] + "</mujocoinclude>"
    )
    (tmp_path / "more.xml").write_text('<mujoco model="x"><include file="parts/plate.xml"/></mujoco>')
    arm = load(ARM[:begin] + '<!-- <include file="no.xml"/> --><include file="more.xml"/>' + ARM[end:])
    assert tuple(arm.links) == ("upper", "plate", "fore", "slider", "wrist")
    same_body(arm.inertial("plate"), body_of(compiled(ARM), "plate"))
    (tmp_path / "more.xml").write_text('<mujoco><include file="more.xml"/></mujoco>')
    with pytest.raises(UnreadableFile, match="includes itself"):
        load('<mujoco><include file="more.xml"/></mujoco>')


# ----------------------------------------------------------------------------------------------------------- editing


def test_no_change_changes_no_number_of_a_joint(arm):
    assert arm.edited({}, {freedom: arm.terms(freedom) for freedom in arm.freedoms}).text.data == ARM.encode()


@pytest.mark.parametrize("seed", range(10))
def test_mujoco_compiles_what_was_written(arm, seed):
    rng = np.random.default_rng(seed)
    pi = random_bodies(rng, 5, size=0.5)
    terms = {freedom: JointDynamics(*rng.uniform(0, 1, 3)) for freedom in arm.freedoms}
    edited = arm.edited(dict(zip(arm.links, pi, strict=True)), terms)
    model = compiled(edited.text.data)
    for link, expected in zip(arm.links, pi, strict=True):
        same_body(edited.inertial(link), expected)
        # MuJoCo turns the axes of inertia until products are 1e-12 of the moments
        np.testing.assert_allclose(
            body_of(model, link), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
        )
    for freedom, k in {
        ("upper", 0): 0,
        ("fore", 0): 1,
        ("fore", 1): 2,
        ("slider", 0): 3,
        ("wrist", 3): 7,
    }.items():
        found = model.dof_damping[k], model.dof_frictionloss[k], model.dof_armature[k]
        assert found == edited.terms(freedom) == terms[freedom]
    np.testing.assert_array_equal(model.dof_damping[4:7], 0.5)  # the ball's


def test_only_the_lines_asked_for_change(arm):
    pi = from_physical(2.0, np.array([0, 0, -0.5]), np.diag([0.1, 0.2, 0.15]))
    terms = {("fore", 0): JointDynamics(0.25, 0.5), ("fore", 1): JointDynamics(armature=0.0)}
    removed, added = changed_lines(arm, arm.edited({"upper": pi, "fore": pi}, terms))
    assert removed == [
        '<inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.12 0.05" euler="30 40 50"/> <!-- CAD -->',
        '<joint name="elbow" axis="1 0 0" damping="0.25"/>',
        '<joint class="slow" axis="0 0 1"/>',
    ]
    # Steiner's term comes and goes: 0.6 - 0.5, say
    inertial, elbow, slow, new = added
    start = '<inertial pos="0 0 -0.5" mass="2" fullinertia="'
    assert inertial.startswith(start) and inertial.endswith('"/> <!-- CAD -->')
    values = [float(word) for word in inertial.removeprefix(start).split('"')[0].split()]
    np.testing.assert_allclose(values, [0.1, 0.2, 0.15, 0, 0, 0], rtol=0, atol=1e-15)
    assert elbow == '<joint name="elbow" axis="1 0 0" damping="0.25" frictionloss="0.5"/>'
    assert slow == '<joint class="slow" axis="0 0 1" armature="0.0"/>'
    assert new.startswith('<inertial pos="0.0 0.0 -0.5" mass="2.0" fullinertia="')


def test_a_body_whose_inertia_goes_weighs_nothing(arm):
    """Without <inertial> its shapes would weigh something again."""
    edited = arm.edited({"plate": None, "fore": None})
    assert not edited.inertial("plate").any()
    # MuJoCo needs a mass of what moves
    edited = edited.edited({"fore": random_bodies(np.random.default_rng(0), 1)[0]})
    assert compiled(edited.text.data).body("plate").mass == 0


@pytest.mark.parametrize("seed", range(10))
def test_mujoco_takes_a_plate(arm, seed):
    rng = np.random.default_rng(seed)
    R = Rotation.random(rng=rng).as_matrix()
    L = np.array([*rng.uniform(0.1, 1, 2), 0.0])
    pi = from_physical(1.0, rng.standard_normal(3), R @ np.diag(L.sum() - L) @ R.T)
    compiled(arm.edited({"upper": pi}).text.data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<compiler", '<compiler boundmass="5"', "raises what is below boundmass = 5, and 'upper' has 2"),
        (
            "<compiler",
            '<compiler boundinertia="0.5"',
            "raises what is below boundinertia = 0.5, and 'upper' has 0.1",
        ),
    ],
)
def test_what_the_compiler_would_change_is_refused(load, old, new, message):
    pi = from_physical(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.15]))
    with pytest.raises(InvalidModel, match=message):
        load(ARM.replace(old, new, 1)).edited({"upper": pi})


@pytest.mark.parametrize("override", ['inertiafromgeom="true"', 'settotalmass="5"'])
@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass':UserWarning")
def test_inertia_that_the_compiler_overrides_is_what_it_computes(load, override):
    """An edit of one body leaves that of all others, which the compiler has computed so far."""
    arm = load(ARM.replace("<compiler", f"<compiler {override}", 1))
    before = compiled(arm.text.data)
    pi = from_physical(2.0, np.array([0.1, 0, 0.2]), np.diag([0.1, 0.2, 0.15]))
    edited = arm.edited({"upper": pi})
    after = compiled(edited.text.data)
    same_body(edited.inertial("upper"), pi)
    for b in range(1, before.nbody):
        if before.body(b).name != "upper" and before.body_weldid[b]:
            np.testing.assert_allclose(after.body_mass[b], before.body_mass[b], rtol=1e-12)
            np.testing.assert_allclose(after.body_inertia[b], before.body_inertia[b], rtol=1e-9)
    assert arm.edited({}).text.data == arm.text.data


def test_a_body_without_a_name_is_edited(load):
    """Its name is that of the robot that is read from the file."""
    arm = load(ARM.replace('<body name="plate"', "<body", 1))
    (name,) = set(arm.links) - set(load(ARM).links)
    assert name.startswith("body")
    pi = from_physical(2.0, np.array([0.1, 0, 0.2]), np.diag([0.1, 0.2, 0.15]))
    edited = arm.edited({name: pi})
    same_body(edited.inertial(name), pi)
    same_body(edited.inertial("upper"), arm.inertial("upper"))


def test_terms_that_a_flag_disables_have_no_place(load):
    flags = '<option><flag damper="disable" frictionloss="disable"/></option><worldbody>'
    arm = load(ARM.replace("<worldbody>", flags, 1))
    assert [term for term in arm.holds if arm.has_place_for(term)] == ["armature"]


def test_a_mass_below_zero_has_no_place(arm):
    with pytest.raises(InvalidModel, match="cannot hold the mass -2 kg of 'upper', which must be above 0"):
        arm.edited({"upper": from_physical(-2.0, np.zeros(3), np.eye(3))})


def test_a_spring_that_overrules_damping_is_refused(load):
    text = ARM.replace('armature="0.01"', 'armature="0.01" springdamper="1 1"')
    with pytest.raises(InvalidModel, match="has a springdamper, which overrides its damping"):
        load(text).edited({}, {("upper", 0): JointDynamics(damping=1.0)})


def test_a_polynomial_of_damping_becomes_a_number(load):
    arm = load(ARM.replace('damping="0.25"', 'damping="0.25 1"'))
    assert arm.terms(("fore", 0)).damping == 0.25
    _, (line,) = changed_lines(arm, arm.edited({}, {("fore", 0): JointDynamics(0.25)}))
    assert 'damping="0.25"' in line
