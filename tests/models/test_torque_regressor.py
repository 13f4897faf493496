"""The batch regressor: Pinocchio's, sample by sample, on every robot there is; and laws that need no reference."""

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, strategies as st

from poinsot.exceptions import InvalidModel, InvalidSignals
from poinsot.models.friction import NoFriction
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.torque_regressor import L, _regressor, dense_regressor, regressor_entries

# Relative to a sample's largest entry. Either side rounds once a joint and once a component, some 1e-15; one entry may
# be the difference of larger ones.
EQUAL = 1e-12

AXIS = np.array([1.0, -2.0, 3.0]) / np.sqrt(14)


def continuous() -> pin.JointModel:
    """Pinocchio's bindings cannot set its axis; its reader of URDF can."""
    axis = " ".join(map(str, AXIS))
    return pin.buildModelFromXML(
        f"""<robot name="wheel"><link name="base"/><link name="wheel"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="{axis}"/></joint>
        </robot>"""
    ).joints[1]


def composite() -> pin.JointModelComposite:
    joint = pin.JointModelComposite()
    joint.addJoint(pin.JointModelRX())
    joint.addJoint(pin.JointModelPY(), pin.SE3.Random())
    joint.addJoint(pin.JointModelRUBZ(), pin.SE3.Random())
    return joint


JOINTS: dict[str, Callable[[], object]] = {
    "revolute x": pin.JointModelRX,
    "revolute z": pin.JointModelRZ,
    "revolute": lambda: pin.JointModelRevoluteUnaligned(AXIS),
    "continuous y": pin.JointModelRUBY,
    "continuous": continuous,
    "prismatic y": pin.JointModelPY,
    "prismatic": lambda: pin.JointModelPrismaticUnaligned(AXIS),
    "helical x": lambda: pin.JointModelHX(0.3),
    "helical": lambda: pin.JointModelHelicalUnaligned(AXIS, -0.2),
    "ball": pin.JointModelSpherical,
    "Euler angles": pin.JointModelSphericalZYX,
    "universal": lambda: pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1]),
    "translation": pin.JointModelTranslation,
    "planar": pin.JointModelPlanar,
    "free": pin.JointModelFreeFlyer,
    "composite": composite,
}


def robot_of(model: pin.Model, floating_base: bool = False) -> Articulated:
    return Articulated("test", model, Drive(), NoFriction(), floating_base)


def grow(joints: list[tuple[str, int]], seed: int = 0) -> pin.Model:
    """A tree of joints (kind, how far back the parent is) with random placements and bodies."""
    pin.seed(seed)
    model = pin.Model()
    for k, (kind, back) in enumerate(joints):
        joint = model.addJoint(max(k - back, 0), JOINTS[kind](), pin.SE3.Random(), f"joint {k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    return model


def reference(model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    data = model.createData()
    Y = [pin.computeJointTorqueRegressor(model, data, *sample).copy() for sample in zip(q, v, a, strict=True)]
    return np.reshape(Y, (len(q), model.nv, -1))  # its bindings make vectors of matrices with one row


def assert_equal(Y: np.ndarray, expected: np.ndarray) -> None:
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert np.all(np.abs(Y - expected) <= EQUAL * scale)


# -- robots ----------------------------------------------------------------------------------------------------------


def catalogue() -> list:
    """Every URDF of the package example-robot-data, fixed and floating."""
    try:
        package = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return [pytest.param(None, False, marks=pytest.mark.skip("needs the package example-robot-data"))]
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return [
        pytest.param(path, floating_base, id=f"{path.stem}{' floating' * floating_base}")
        for path in sorted(folder.rglob("*.urdf"))
        for floating_base in (False, True)
        if 'robot name="' in path.read_text().replace("'", '"')  # one is a template without a robot
    ]


@pytest.mark.parametrize(("path", "floating_base"), catalogue())
def test_a_catalogue_robot_is_pinocchios(path, floating_base, rng):
    try:
        robot = load_robot(path, floating_base=floating_base)
    except InvalidModel as drone:
        pytest.skip(str(drone))
    q, v, a = robot.random_states(L + 3, rng)
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


def test_the_tx40_is_pinocchios(shared_data, rng):
    robot = load_robot(shared_data("staubli_tx40") / "tx40.urdf")
    q, v, a = robot.random_states(100, rng)
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_of_each_kind_is_pinocchios(kind, rng):
    """As the first joint, and with a body below it that another joint carries."""
    robot = robot_of(grow([(kind, 1), ("revolute", 1), (kind, 1)]))
    q, v, a = robot.random_states(20, rng)
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


trees = st.lists(st.tuples(st.sampled_from(list(JOINTS)), st.integers(0, 4)), min_size=1, max_size=8)
seeds = st.integers(0, 2**31 - 1)


@given(trees, seeds)
def test_any_tree_is_pinocchios(joints, seed):
    robot = robot_of(grow(joints, seed))
    q, v, a = robot.random_states(5, np.random.default_rng(seed))
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


# -- laws ------------------------------------------------------------------------------------------------------------


@given(trees, seeds)
def test_the_models_own_parameters_give_its_inverse_dynamics(joints, seed):
    model = grow(joints, seed)
    robot = robot_of(model)
    q, v, a = robot.random_states(3, np.random.default_rng(seed))
    pi = np.concatenate([inertia.toDynamicParameters() for inertia in model.inertias[1:]])
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
    Y = robot.torque_regressor(q, v, a)
    assert np.all(np.abs(Y @ pi - tau) <= EQUAL * (np.abs(Y) @ np.abs(pi)).max())


@given(trees, seeds)
def test_forces_are_even_in_speed_and_affine_in_acceleration(joints, seed):
    robot = robot_of(grow(joints, seed))
    q, v, a = robot.random_states(3, np.random.default_rng(seed))
    Y, rest = robot.torque_regressor(q, v, a), robot.torque_regressor(q, v, 0 * a)
    assert_equal(robot.torque_regressor(q, -v, a), Y)
    assert_equal(rest + 2 * (Y - rest), robot.torque_regressor(q, v, 2 * a))


@given(trees, seeds)
def test_entries_are_the_dense_regressor_without_its_structural_zeros(joints, seed):
    robot = robot_of(grow(joints, seed))
    tree = robot.tree
    q, v, a = robot.random_states(3, np.random.default_rng(seed))
    dofs, bodies = tree.pairs
    dense = np.zeros((3, tree.degrees_of_freedom, tree.bodies, 10))
    dense[:, dofs, bodies] = regressor_entries(tree, q, v, a).reshape(3, len(dofs), 10)
    np.testing.assert_array_equal(
        dense.reshape(3, tree.degrees_of_freedom, -1), dense_regressor(tree, q, v, a)
    )
    assert len(set(zip(dofs, bodies, strict=True))) == len(dofs)


# -- samples ---------------------------------------------------------------------------------------------------------

MIXED = robot_of(
    grow([("free", 1), ("revolute", 1), ("prismatic y", 1), ("continuous", 3), ("ball", 1), ("planar", 2)])
)


@pytest.mark.parametrize("count", [0, 1, 7, 8, L - 1, L, L + 1, 3 * L + 9])
def test_a_recording_of_any_length_is_its_samples_one_by_one(count, rng):
    states = MIXED.random_states(max(count, 1), rng)
    q, v, a = (x[:count] for x in states)
    entries = regressor_entries(MIXED.tree, q, v, a)
    assert entries.shape == (count, 10 * len(MIXED.tree.pairs[0]))
    for k in range(count):
        one = regressor_entries(MIXED.tree, q[k : k + 1], v[k : k + 1], a[k : k + 1])
        np.testing.assert_array_equal(entries[k : k + 1], one)


def test_the_layout_of_the_arrays_does_not_matter(rng):
    q, v, a = MIXED.random_states(40, rng)
    expected = MIXED.torque_regressor(q, v, a)[::2]
    np.testing.assert_array_equal(MIXED.torque_regressor(q[::2], v[::2], a[::2]), expected)
    fortran = [np.asfortranarray(x)[::2] for x in (q, v, a)]
    np.testing.assert_array_equal(MIXED.torque_regressor(*fortran), expected)
    locked = [x[::2].copy() for x in (q, v, a)]
    for x in locked:
        x.flags.writeable = False
    np.testing.assert_array_equal(MIXED.torque_regressor(*locked), expected)
    backwards = [x[::-1] for x in (q, v, a)]
    np.testing.assert_array_equal(MIXED.torque_regressor(*backwards)[::-1][::2], expected)
    assert len(_regressor.signatures) == 1  # the kernel was not compiled anew, which takes seconds


def test_entries_may_be_written_into_a_wider_array(rng):
    q, v, a = MIXED.random_states(40, rng)
    expected = regressor_entries(MIXED.tree, q, v, a)
    width = expected.shape[1]
    out = np.full((40, width + 3), 7.0)
    entries = regressor_entries(MIXED.tree, q, v, a, out)
    assert np.shares_memory(entries, out)
    np.testing.assert_array_equal(entries, expected)
    np.testing.assert_array_equal(out[:, width:], 7.0)


@pytest.mark.parametrize("turns", [1, 1e3, 1e6, 1e8])
def test_joints_may_have_turned_often(turns, rng):
    robot = robot_of(grow([("revolute", 1), ("revolute x", 1), ("helical", 1), ("revolute z", 1)]))
    q, v, a = robot.random_states(50, rng)
    q[:, [0, 1, 3]] += np.round(turns * rng.uniform(-1, 1, (50, 3))) * 2 * np.pi
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


def test_quarter_turns_are_exact_to_rounding(rng):
    robot = robot_of(grow([("revolute", 1), ("revolute x", 1), ("revolute z", 1)]))
    steps = np.stack(np.meshgrid(*3 * [np.arange(-4, 5)]), axis=-1).reshape(-1, 3)
    q = steps * np.pi / 2
    v, a = rng.standard_normal((2, *q.shape))
    assert_equal(robot.torque_regressor(q, v, a), reference(robot.model, q, v, a))


def test_a_sample_that_is_not_a_number_spoils_no_other(rng):
    q, v, a = MIXED.random_states(40, rng)
    expected = MIXED.torque_regressor(q, v, a)
    v[5, 3] = np.nan
    Y = MIXED.torque_regressor(q, v, a)
    others = np.arange(40) != 5
    np.testing.assert_array_equal(Y[others], expected[others])
    assert np.isnan(Y[5]).any()


def test_another_robots_states_are_refused(rng):
    q, v, a = MIXED.random_states(3, rng)
    with pytest.raises(
        InvalidSignals, match=f"configurations of {MIXED.model.nq} numbers and {MIXED.model.nv} speeds"
    ):
        MIXED.torque_regressor(v, v, a)
    with pytest.raises(InvalidSignals, match="as many columns"):
        MIXED.torque_regressor(q, v[:, 1:], a[:, 1:])
