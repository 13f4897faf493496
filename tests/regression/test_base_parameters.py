"""Base parameters: how many there are, that they say all, and that they read like a textbook's."""

import re

import numpy as np
import pinocchio as pin
import pytest
from scipy import linalg

from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import NoFriction, ViscousCoulomb
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.parameters import Block, Parameters
from poinsot.regression.base_parameters import (
    STRUCTURAL_TOLERANCE,
    BaseParameters,
    choose,
    combination,
    preference,
    structural_base,
    unexcited,
)
from poinsot.regression.regressor import Regressor
from references.robots import DESCRIPTIONS, chain, described, own_parameters, random_robot


def numerical_rank(R, tolerance):
    """Rank by pivoted QR of the columns at unit norm: the independent check of `choose`."""
    norms = np.linalg.norm(R, axis=0)
    excited = norms > tolerance * norms.max(initial=0.0)
    if not excited.any():
        return 0
    diagonal = np.abs(np.diag(linalg.qr(R[:, excited] / norms[excited], mode="r", pivoting=True)[0]))
    return int((diagonal > tolerance).sum())


# Inertial parameters, and with a rotor inertia for each motor: Gautier and Khalil's counts, where they are published.
CATALOGUE = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", 36, 40, {}),
    "UR10": ("ur_description/urdf/ur10_robot.urdf", 36, 40, {}),
    "Panda": ("panda_description/urdf/panda.urdf", 43, 48, {"locked": "fingers"}),
    "Kinova j2s6": ("kinova_description/robots/kinova.urdf", 36, 40, {"locked": "fingers"}),
    "double pendulum": ("double_pendulum_description/urdf/double_pendulum.urdf", 6, 7, {}),
    "Solo12": ("solo_description/robots/solo12.urdf", 94, 106, {"floating_base": True}),
    "Go2": ("go2_description/urdf/go2.urdf", 94, 106, {"floating_base": True}),
    "A1": ("a1_description/urdf/a1.urdf", 94, 106, {"floating_base": True}),
}
each_known_robot = pytest.mark.parametrize(
    ("path", "inertial", "with_rotors", "settings"), CATALOGUE.values(), ids=CATALOGUE
)


def load(path, settings, **more):
    settings = dict(settings)
    if settings.get("locked") == "fingers":
        settings["locked"] = {j: 0.0 for j in described(path).joints if "finger" in j}
    return described(path, **settings, **more)


def base_of(robot, seed=0):
    return structural_base(Regressor(robot, robot.parameters), seed)


def says_all(robot, base, rng, count=30):
    """W theta = W_b K theta on states that the base has not seen."""
    W = Regressor(robot, base.parameters).dense(*robot.random_states(count, rng))
    theta = rng.standard_normal(W.shape[-1]) * base.parameters.free
    expected = W @ theta
    # Kinova's description has angles of nine digits: what only these tell apart (1e-9) is left out of K with a
    # margin of 100 (see `choose`), in each of some ten terms
    np.testing.assert_allclose(
        W[:, :, base.chosen] @ (base.map @ theta), expected, atol=1e-6 * np.abs(expected).max()
    )


def ranks(robot, rng):
    """By pivoted QR and by singular values, of columns of unit norm."""
    p = len(robot.parameters)
    W = (
        Regressor(robot, robot.parameters)
        .dense(*robot.random_states(8 + 3 * p // robot.model.nv, rng))
        .reshape(-1, p)
    )[:, robot.parameters.free]
    norms = np.linalg.norm(W, axis=0)
    seen = norms > STRUCTURAL_TOLERANCE * norms.max()
    values = linalg.svdvals(W[:, seen] / norms[seen])
    return numerical_rank(W, STRUCTURAL_TOLERANCE), int((values > STRUCTURAL_TOLERANCE * values[0]).sum())


@each_known_robot
def test_counts_of_known_robots(path, inertial, with_rotors, settings, rng):
    bare = load(path, settings, friction=NoFriction())
    geared = load(path, settings, friction=NoFriction(), drive=Drive(rotor_inertia=True))
    whole = load(path, settings, drive=Drive(rotor_inertia=True))
    # no friction can be mistaken for anything else; a constant offset can, for what gravity does to a slide
    assert (len(base_of(bare)), len(base_of(geared))) == (inertial, with_rotors)
    assert len(base_of(whole)) == with_rotors + 3 * len(whole.joints)
    for robot in (bare, geared):
        assert ranks(robot, rng) == (len(base_of(robot)),) * 2
        says_all(robot, base_of(robot), rng)


def test_the_tx40(shared_data, rng):
    urdf = shared_data("staubli_tx40") / "tx40.urdf"
    coupling = (Coupling(motor="joint_6", joint="joint_5", ratio=32),)

    def count(friction, **drive):
        settings = Drive(reduction=(32, 32, 45, -48, 45, 32), couplings=coupling, side="motor", **drive)
        robot = described(urdf, friction=friction, drive=settings)
        base = base_of(robot)
        says_all(robot, base, rng)
        return len(base)

    assert count(NoFriction(), coupled_friction=False) == 36
    assert count(NoFriction(), coupled_friction=False, rotor_inertia=True, coupled_rotor="tied") == 40
    # seed 002: 60 base parameters with fv, fc and offset of six joints, and the coupled motor's fvm6 and fcm6
    assert count(ViscousCoulomb(), rotor_inertia=True, coupled_rotor="tied") == 40 + 18 + 2
    assert count(ViscousCoulomb(), rotor_inertia=True) == 61


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    floating = seed % 4 == 3
    kinds, drive = ["R", "RP", "RUPC", "SRP"][seed % 4], Drive(rotor_inertia=bool(seed % 2))
    robot = random_robot(rng, int(rng.integers(1, 6)), kinds=kinds, floating_base=floating, drive=drive)
    base = base_of(robot)
    assert ranks(robot, rng) == (len(base), len(base))
    says_all(robot, base, rng)
    np.testing.assert_array_equal(base.map[:, base.chosen], np.eye(len(base)))
    W = (
        Regressor(robot, robot.parameters)
        .dense(*robot.random_states(100, rng))
        .reshape(-1, len(robot.parameters))
    )
    columns = W[:, base.chosen] / np.linalg.norm(W[:, base.chosen], axis=0)
    assert linalg.svdvals(columns)[-1] > 1e-4  # what is chosen is independent, and not just barely


def test_neither_seed_nor_scale_changes_the_choice(rng):
    """The regressor knows no masses; lengths of a watch or a crane change its columns by 1e6, but not their number."""
    reference = base_of(random_robot(np.random.default_rng(1), 4))
    for seed in range(1, 6):
        base = base_of(random_robot(np.random.default_rng(1), 4), seed)
        np.testing.assert_array_equal(base.chosen, reference.chosen)
        assert base.groupings == reference.groupings
        np.testing.assert_allclose(base.map, reference.map, atol=1e-10)
    for size, mass in ((1e-3, 1e-4), (1.0, 1e-4), (1.0, 1e4), (30.0, 1e4)):
        robot = random_robot(np.random.default_rng(1), 4, size=size, mass=mass)
        base = base_of(robot)
        np.testing.assert_array_equal(base.chosen, reference.chosen)
        theta = own_parameters(robot)
        states = robot.random_states(20, rng)
        W = Regressor(robot, robot.parameters).dense(*states)
        np.testing.assert_allclose(
            W[:, :, base.chosen] @ (base.map @ theta), W @ theta, atol=1e-10 * np.abs(W @ theta).max()
        )


def test_a_description_rounded_to_nine_digits_shows_no_more_than_the_drawing():
    """Parallel axes that are so to 1e-9 only: what tells them apart is below any noise, and below the tolerance."""
    robot = described("ur_description/urdf/ur5_robot.urdf", friction=NoFriction())
    model = robot.model.copy()
    for placement in model.jointPlacements:
        placement.rotation = np.round(placement.rotation @ pin.exp3(1e-10 * np.ones(3)), 9)
    assert (
        len(base_of(Articulated("rounded", model, robot.drive, robot.friction))) == len(base_of(robot)) == 36
    )


# -- the textbook's groupings --------------------------------------------------------------------------------


def grouping(robot):
    base = base_of(robot)
    return dict(zip(base.names, base.groupings, strict=True))


def test_the_pendulum():
    """One hinge across gravity: zz, mx, my. One hinge along it: zz alone."""
    assert grouping(chain("y", [0], friction=NoFriction())) == {"mx1": "mx1", "mz1": "mz1", "yy1": "yy1"}
    assert grouping(chain("z", [0], friction=NoFriction())) == {"zz1": "zz1"}
    geared = grouping(chain("z", [0], friction=NoFriction(), drive=Drive(rotor_inertia=True)))
    assert geared == {"zz1r": "zz1 + ia1"}


def test_the_double_pendulum():
    """Hinges about y at a distance l: yy1 + l^2 m2, mx1 + l m2, as in any textbook (there for z)."""
    found = grouping(chain("yy", [0, 0.5], friction=NoFriction()))
    assert found == {
        "mx1r": "mx1 + 0.5 m2",
        "mz1": "mz1",
        "yy1r": "yy1 + 0.25 m2",
        "mx2": "mx2",
        "mz2": "mz2",
        "yy2": "yy2",
    }


def test_khalils_two_link_arm_in_the_plane_with_rotors():
    """Hinges along gravity: zz1r = zz1 + ia1 + l^2 m2, zz2, mx2, my2 and ia2 (Khalil and Dombre 2002, Sect. 9.4)."""
    found = grouping(chain("zz", [0, 0.5], friction=NoFriction(), drive=Drive(rotor_inertia=True)))
    assert found == {"zz1r": "zz1 + 0.25 m2 + ia1", "mx2": "mx2", "my2": "my2", "zz2": "zz2", "ia2": "ia2"}


def test_a_slide_hands_its_inertia_to_what_carries_it():
    found = grouping(chain("zs", [0, 0.3], friction=NoFriction()))
    assert "zz1 + zz2" in found["zz1r"]
    assert not any(name.startswith(("xx2", "xy2", "yy2", "xz2", "yz2", "zz2")) for name in found)
    assert "m2" in found


def test_a_slide_alone_is_its_mass():
    assert grouping(chain("s", [0], friction=ViscousCoulomb(coulomb=False, offset=False))) == {
        "m1": "m1",
        "fv1": "fv1",
    }
    assert grouping(chain("s", [0], friction=NoFriction(), drive=Drive(rotor_inertia=True))) == {
        "m1r": "m1 + ia1"
    }


def test_what_is_held_is_in_no_group():
    robot = chain("yy", [0, 0.5], friction=NoFriction())
    held = robot.parameters.hold(m2=3.0, yy2=0.1)
    base = structural_base(Regressor(robot, held))
    found = dict(zip(base.names, base.groupings, strict=True))
    assert found == {"mx1": "mx1", "mz1": "mz1", "yy1": "yy1", "mx2": "mx2", "mz2": "mz2"}
    assert not base.map[:, [held.index("m2"), held.index("yy2")]].any()
    says_all(robot, base, np.random.default_rng(0))


def test_what_no_motion_shows_is_in_no_group_either():
    base = base_of(chain("z", [0], friction=NoFriction()))
    unseen = {base.parameters.names[c] for c in base.unobservable}
    assert unseen == {"m1", "mx1", "my1", "mz1", "xx1", "xy1", "yy1", "xz1", "yz1"}


def test_names_are_found_with_and_without_their_r():
    base = base_of(chain("yy", [0, 0.5], friction=NoFriction()))
    assert [base.index(name) for name in base.names] == list(range(len(base)))
    assert base.index("yy1") == base.index("yy1r")
    assert base.index("mx2r") == base.index("mx2")
    with pytest.raises(InvalidMethod, match=r"no base parameter 'yy9'.*there are mx1r"):
        base.index("yy9")
    assert (base.units[base.index("yy1")], base.owners[base.index("yy1")], base.kinds[0]) == (
        "kg m^2",
        "j1",
        "inertia",
    )


# -- the choice itself ---------------------------------------------------------------------------------------


def parameters_named(*names):
    return Parameters(tuple(Block("other", "x", (name,), ("1",)) for name in names))


@pytest.mark.parametrize("seed", range(20))
def test_choose_finds_the_rank_and_follows_the_preference(seed):
    """A random matrix of random rank, its columns of very different size."""
    rng = np.random.default_rng(seed)
    columns, rank = int(rng.integers(1, 15)), int(rng.integers(0, 10))
    rank = min(rank, columns)
    W = (
        rng.standard_normal((40, rank))
        @ rng.standard_normal((rank, columns))
        * 10.0 ** rng.uniform(-3, 3, columns)
    )
    order = rng.permutation(columns)
    base = BaseParameters(parameters_named(*map("p{}".format, range(columns))), *choose(W, order, 1e-9))
    assert len(base) == rank == numerical_rank(W, 1e-9)
    norms = np.linalg.norm(W, axis=0)
    if rank:
        np.testing.assert_allclose((W[:, base.chosen] @ base.map) / norms, W / norms, atol=1e-10)
    # generic columns: the first `rank` in the order of preference stay
    assert sorted(base.chosen) == sorted(order[:rank])


def test_columns_that_are_not_considered_stay_out(rng):
    W = rng.standard_normal((20, 4))
    base = BaseParameters(parameters_named(*"abcd"), *choose(W, np.array([3, 1]), 1e-9))
    np.testing.assert_array_equal(base.chosen, [1, 3])
    assert not base.map[:, [0, 2]].any()


def test_a_column_that_is_nearly_nothing_is_nothing(rng):
    W = rng.standard_normal((20, 3))
    W[:, 1] *= 1e-12
    base = BaseParameters(parameters_named(*"abc"), *choose(W, np.arange(3), 1e-9))
    np.testing.assert_array_equal(base.chosen, [0, 2])
    assert base.names == ("a", "c")
    assert base.unobservable == (1,)


def test_nothing_at_all():
    base = BaseParameters(parameters_named(*"abc"), *choose(np.zeros((5, 3)), np.arange(3), 1e-9))
    assert len(base) == 0
    assert numerical_rank(np.zeros((5, 3)), 1e-9) == 0


def test_the_preference_has_each_free_column_once(rng):
    robot = random_robot(rng, 5, kinds="RPUS", drive=Drive(rotor_inertia=True))
    held = (
        robot.parameters.hold(m1=1.0, fv2=0.0)
        if "fv2" in robot.parameters.names
        else robot.parameters.hold(m1=1.0)
    )
    order = preference(Regressor(robot, held))
    np.testing.assert_array_equal(np.sort(order), np.flatnonzero(held.free))


def test_combinations_read_like_equations():
    names = ("a", "b", "c")
    assert combination(np.array([1.0, 0.0, 0.0]), names) == "a"
    assert combination(np.array([1.0, -1.0, 0.0506]), names) == "a - b + 0.0506 c"
    assert combination(np.array([0.0, -2.0, 1 + 1e-12]), names) == "-2 b + c"
    assert combination(np.array([1.0, 1e-14, 0.0]), names) == "a"
    assert combination(np.zeros(3), names) == ""
    assert combination(np.ones(3), names, limit=2) == "a + b + ... (3 terms)"


def test_what_a_recording_misses_is_named():
    structural = BaseParameters(parameters_named("fc1", "off1", "fv1", "m1"), np.arange(4), np.eye(4))
    recorded = BaseParameters(
        structural.parameters, np.array([0, 3]), np.array([[1.0, 1, 0, 0], [0, 0, 0, 1]])
    )
    directions = unexcited(structural, recorded)
    assert [d.combination for d in directions] == ["off1, confounded with fc1", "fv1"]
    assert {d.reason for d in directions} == {"unexcited"}
    assert unexcited(structural, structural) == ()


def test_the_catalogue_is_where_it_is_said_to_be():
    """Guards against a description that moved: then every count would be skipped and nobody would notice."""
    if not DESCRIPTIONS.exists():
        pytest.skip("needs example-robot-data (pip install 'poinsot[robots]')")
    assert all((DESCRIPTIONS / path).exists() for path, *_ in CATALOGUE.values())


@pytest.mark.parametrize("digits", [11, 6, 4])
def test_right_angles_of_few_digits_are_right_angles(shared_data, tmp_path, digits):
    exact = (shared_data("staubli_tx40") / "tx40.urdf").read_text()
    path = tmp_path / "tx40.urdf"
    path.write_text(re.sub(r"\d\.\d{6,}", lambda number: f"{float(number[0]):.{digits}f}", exact))
    base = base_of(described(path, friction=NoFriction(), drive=Drive(rotor_inertia=True)))
    assert len(base) == 40
    assert base.groupings[base.index("xx5r")] == "xx5 - yy5 + yy6"
