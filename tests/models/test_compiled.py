"""MJCF is read as MuJoCo reads it: mass matrix, gravity, couplings and terms of joints, of files made up at random."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from poinsot import Drive, ViscousCoulomb, load_robot
from poinsot.exceptions import InvalidModel, UnreadableFile
from poinsot.models.friction import NoFriction
from poinsot.models.robot.collisions import Surroundings
from poinsot.models.robot.joint_terms import JointTerms

SHAPES = (
    '<geom type="capsule" size="0.05" fromto="0 0 0 {0} {1} {2}" density="700"/>',
    '<geom type="box" size="0.1 0.05 0.2" euler="10 20 {0}" mass="1.3"/>',
    '<inertial pos="{0} {1} {2}" mass="2" diaginertia="0.03 0.02 0.025" axisangle="1 2 3 40"/>',
    '<geom type="ellipsoid" size="0.1 0.2 0.3" pos="{0} {1} {2}"/><geom size="0.1"/>',
)


def numbers(rng, count=3):
    return " ".join(f"{x:.6f}" for x in rng.normal(size=count))


def random_body(rng, name, depth):
    """A body with up to three joints of an axis, or a ball, a shape or an inertia, and bodies on it."""
    kinds = [["ball"], [], *([["hinge", "slide", "hinge"][: 1 + k]] * 2 for k in range(3))]
    joints = kinds[rng.integers(len(kinds))]
    joints = joints[0] if joints and isinstance(joints[0], list) else joints
    lines = [f'<body name="{name}" pos="{numbers(rng)}" euler="{numbers(rng)}">']
    for k, kind in enumerate(joints):
        of_axis = "" if kind == "ball" else f'axis="{numbers(rng)}" ref="{rng.normal():.6f}"'
        named = f'name="{name}_{k}"' if rng.random() < 0.7 else ""
        lines.append(
            f'<joint {named} type="{kind}" pos="{numbers(rng)}" {of_axis} armature="{rng.random():.6f}"/>'
        )
    lines.append(SHAPES[rng.integers(len(SHAPES))].format(*rng.normal(size=3).round(6)))
    for k in range(rng.integers(1, 3) if depth else 0):
        child = random_body(rng, f"{name}{'ab'[k]}", depth - 1)
        frame = f'<frame pos="{numbers(rng)}" euler="{numbers(rng)}">{child}</frame>'
        lines.append(frame if rng.random() < 0.3 else child)
    return "".join([*lines, "</body>"])


def random_file(rng, root=""):
    bodies = random_body(rng, "x", 2), random_body(rng, "y", 1)
    hinge = f'<joint name="{{}}" axis="{numbers(rng)}"/><geom size="0.3"/>'
    first = f'<body name="first">{root or hinge.format("one")}{bodies[0]}</body>'
    return (
        f'<mujoco><compiler angle="radian" eulerseq="zYx"/><option gravity="{numbers(rng)}"/>'
        f'<default><joint damping="0.2"/></default><worldbody>{first}{bodies[1]}</worldbody></mujoco>'
    )


def states_of(m, robot, rng):
    """qpos of MuJoCo and q of Pinocchio of one configuration, and S with v = S v of MuJoCo."""
    q, qpos, S = pin.neutral(robot.model), m.qpos0.copy(), np.zeros((m.nv, m.nv))
    for j in range(m.njnt):  # joints are in the same order
        ours, at, dof = robot.model.joints[j + 1], m.jnt_qposadr[j], m.jnt_dofadr[j]
        own = slice(ours.idx_v, ours.idx_v + ours.nv)
        S[own, dof : dof + ours.nv] = np.eye(ours.nv)
        if ours.nv == 1:
            qpos[at] = q[ours.idx_q] = rng.normal()
            continue
        w = rng.normal(size=4)
        w /= np.linalg.norm(w)
        if ours.nv == 6:
            qpos[at : at + 3] = q[ours.idx_q : ours.idx_q + 3] = rng.normal(size=3)
            S[own, dof : dof + 6][:3, :3] = pin.Quaternion(*w).toRotationMatrix().T
        turn = slice(at + ours.nq - 4, at + ours.nq)
        qpos[turn] = w
        q[ours.idx_q + ours.nq - 4 : ours.idx_q + ours.nq] = np.roll(w, -1)
    return qpos, q, S


@pytest.mark.parametrize("root", ["", '<freejoint name="base"/><geom size="0.4"/>'])
@pytest.mark.parametrize("seed", range(12))
def test_mass_matrix_and_gravity_are_mujocos(seed, root, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "robot.xml"
    path.write_text(random_file(rng, root))
    m = mujoco.MjModel.from_xml_path(str(path))
    robot = load_robot(path)
    assert robot.floating_base == bool(root) and robot.model.nv == m.nv
    named = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(m.njnt)]
    assert all(name in (None, robot.model.names[j + 1]) for j, name in enumerate(named))
    qpos, q, S = states_of(m, robot, rng)
    d = mujoco.MjData(m)
    d.qpos[:] = qpos
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    for k in range(m.nv):
        mujoco.mj_mulM(m, d, M[k], np.eye(m.nv)[k])
    data = robot.model.createData()
    H = pin.crba(robot.model, data, q)
    np.testing.assert_allclose(S.T @ (np.triu(H) + np.triu(H, 1).T) @ S, M, atol=1e-9 * np.abs(M).max())
    g = pin.computeGeneralizedGravity(robot.model, data, q)
    np.testing.assert_allclose(S.T @ g, d.qfrc_bias, atol=1e-9 * np.abs(d.qfrc_bias).max())
    # our own kernels know bodies with several joints
    still = np.zeros((1, m.nv))
    Y = robot.torque_regressor(q[None], still, still)[0]
    np.testing.assert_allclose(Y @ robot.inertials.ravel(), g, atol=1e-9 * np.abs(g).max())
    assert len(robot.bodies) == len(set(robot.bodies)) == len(robot.links)


ARM = """<mujoco><compiler angle="radian"/><option gravity="1 2 -3"/><worldbody>
<body name="a">
<joint name="p" axis="0 1 0" armature="0.3" damping="2" frictionloss="0.7" stiffness="5" springref="0.2"/>
<geom type="capsule" size="0.05" fromto="0 0 0 1 0 0"/>
<body name="b" pos="1 0 0"><joint name="r" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture
def arm(tmp_path):
    def arm(text=ARM, **how):
        (tmp_path / "arm.xml").write_text(text)
        return load_robot(tmp_path / "arm.xml", **how)

    return arm


def test_what_is_not_estimated_is_held_at_the_description(arm):
    robot = arm(friction=NoFriction())
    assert robot.parameters.held == {"ia1": 0.3, "fv1": 2.0, "fc1": 0.7, "ks_1": 5.0}
    terms = JointTerms(robot)
    phi = np.array([robot.parameters.held[name] for name in terms.parameters.names])
    tau = terms.torque(*np.array([[0.5, 0.0], [-3.0, 0.0], [10.0, 0.0]]), phi)
    np.testing.assert_allclose(tau, [0.3 * 10 - 2 * 3 - 0.7 + 5 * (0.5 - 0.2), 0])
    robot = arm(friction=ViscousCoulomb(), drive=Drive(rotor_inertia=True))
    assert robot.parameters.held == {"ks_1": 5.0}


def test_gravity_of_the_caller_wins_over_that_of_the_file(arm):
    assert arm().model.gravity.linear.tolist() == [1, 2, -3]
    assert arm(gravity=[0, 0, -1.62]).model.gravity.linear.tolist() == [0, 0, -1.62]
    text = ARM.replace('gravity="1 2 -3"/>', '><flag gravity="disable"/></option>')
    assert arm(text).model.gravity.linear.tolist() == [0, 0, 0]


def test_a_mesh_is_needed_where_an_inertia_depends_on_it(arm):
    """A mesh that only draws, or stands still, may be missing."""
    asset = '<asset><mesh name="shape" file="no.stl"/><texture file="no.png" type="2d" name="t"/></asset>'
    text = ARM.replace("<worldbody>", f'{asset}<worldbody><geom type="mesh" mesh="shape"/>')
    assert arm(text).joints == ("p", "r")
    drawn = '<geom type="mesh" mesh="shape"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    assert arm(text.replace('<geom size="0.1" pos="0.2 0 0"/>', drawn)).inertials[1, 0] == 1
    with pytest.raises(UnreadableFile, match=r"the inertia of body 'b' needs the mesh no\.stl"):
        arm(text.replace('<geom size="0.1" pos="0.2 0 0"/>', '<geom type="mesh" mesh="shape"/>'))


FOLLOWING = '<equality><joint joint1="r" joint2="p" polycoef="0.1 -0.5 0.2 0 0"/></equality></mujoco>'


def test_a_joint_that_follows(arm, rng):
    """N^T M N and the bias of the coupled motion are those of MuJoCo's dynamics along it."""
    robot = arm(ARM.replace("</mujoco>", FOLLOWING))
    assert robot.dependent_joints == robot.followers == ("r",)
    assert {"fv1", "fv2"} <= set(robot.parameters.names)  # the ratio is not fixed
    belt = arm(ARM.replace("</mujoco>", FOLLOWING.replace("0.1 -0.5 0.2", "0.1 -0.5 0")))
    assert "fv1" in belt.parameters.names and "fv2" not in belt.parameters.names
    q, v, a = robot.random_states(20, rng)
    x = q[:, 0]
    np.testing.assert_allclose(q[:, 1], 0.1 - 0.5 * x + 0.2 * x**2, atol=1e-12)
    slope = -0.5 + 0.4 * x
    np.testing.assert_allclose(v[:, 1], slope * v[:, 0], atol=1e-12)
    np.testing.assert_allclose(a[:, 1], slope * a[:, 0] + 0.4 * v[:, 0] ** 2, atol=1e-12)
    locked = arm(ARM.replace("</mujoco>", FOLLOWING), locked={"r": 0.2})
    assert locked.couplings == () and locked.joints == ("p",)
    held = ARM.replace(
        "</mujoco>", '<equality><joint joint1="r" polycoef="0.4 0 0 0 0"/></equality></mujoco>'
    )
    assert arm(held).locked == {"r": 0.4}


def test_a_joint_that_follows_a_locked_one_is_locked(tmp_path):
    """Of a chain of couplings, too."""
    bodies = "".join(
        f'<body name="{name}" pos="0 0 1"><joint name="{name}" ref="0.2"/><geom size="0.1"/></body>'
        for name in "abcd"
    )
    text = f"""<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody><equality>
        <joint joint1="c" joint2="b" polycoef="0 3 0 0 0"/><joint joint1="b" joint2="a" polycoef="0.1 -0.5 0.2 0 0"/>
        </equality></mujoco>"""
    (tmp_path / "robot.xml").write_text(text)
    robot = load_robot(tmp_path / "robot.xml", locked={"a": 0.5})
    b = 0.1 - 0.5 * 0.3 + 0.2 * 0.3**2
    assert robot.locked == pytest.approx({"a": 0.5, "b": 0.2 + b, "c": 0.2 + 3 * b})
    assert robot.joints == ("d",) and robot.couplings == ()


def test_who_supports_no_followers_says_so(arm):
    robot = arm(ARM.replace("</mujoco>", FOLLOWING))
    with pytest.raises(InvalidModel, match="a check supports no joints that follow others, and r of robot"):
        robot.refuse_loops("a check")


REST = """<mujoco><option density="1.2"/>{flag}<worldbody><body name="a" gravcomp="1">
<joint name="j" stiffness="3 2" damping="1 0.2" frictionloss="0.4"/><geom size="0.1"/>
<body name="b"><joint name="k" type="ball" stiffness="2"/><geom size="0.1" pos="0.3 0 0"/><site name="s"/></body></body>
<site name="w" pos="0 0 1"/></worldbody>
<tendon><fixed name="t" stiffness="4"><joint joint="j" coef="2"/></fixed>
<spatial name="mt"><site site="w"/><site site="s"/></spatial></tendon>
<equality><tendon name="pull" tendon1="mt"/></equality>
<actuator><muscle name="mus" tendon="mt" lengthrange="0.1 1"/><position joint="j" kp="3" kv="2"/>
<motor joint="j" name="q" armature="0.3"/></actuator></mujoco>"""


def test_forces_that_the_robot_does_not_have_are_named(arm):
    notes = arm(REST.format(flag="")).notes
    named = (
        "the tendons t",
        "compensation of a",
        "actuators q",
        "actuators mus",
        "springs of j",
        "damping of j",
    )
    named = (*named, "springs of k", "equalities pull", "medium")
    assert len(notes) == len(named)
    for what in named:
        assert sum(what in note for note in notes) == 1, what
    assert arm().notes == ()


def test_terms_of_the_free_joint_are_named(arm):
    """A default of all joints is one of the free joint, too."""
    free = '<joint name="base" type="free" {}/><geom size="0.3"/><body name="c"><joint/><geom size="0.2"/></body>'
    file = f'<mujoco><worldbody><body name="b">{free}</body></worldbody></mujoco>'
    (note,) = arm(file.format('damping="0.1"')).notes
    assert "of the free joint base" in note
    assert arm(file.format("")).notes == ()


def test_what_a_flag_disables_is_not_read(arm):
    flag = '<option><flag spring="disable" damper="disable" constraint="disable" gravity="disable"/></option>'
    robot = arm(REST.format(flag=flag))
    assert robot.parameters.held == {} and robot.model.gravity.linear.tolist() == [0, 0, 0]
    assert [note for note in robot.notes if "actuators" not in note and "medium" not in note] == []


def test_tables_and_floors_of_the_world_are_checked(arm):
    """Of links that no joint joins to the world: the second one touches the floor where it hangs down."""
    world = (
        '<geom type="plane" size="0 0 1" pos="0 0 -1.2"/><geom type="box" size="0.1 1 0.1" pos="0 0 0.5"/>'
    )
    robot = arm(ARM.replace("<worldbody>", "<worldbody>" + world))
    collisions = Surroundings().resolve(robot)
    assert collisions.pairs == (("world", "b"), ("world", "b"))
    ahead, down = collisions.distances(robot.configurations(np.array([[0, 0], [1.5, 0.3]])))
    # the ball of 0.1 m on the second link is 0.2 m from its joint
    np.testing.assert_allclose(ahead, [1.1, np.hypot(1.1, 0.4) - 0.1], atol=1e-3)
    assert down[0] < 0
