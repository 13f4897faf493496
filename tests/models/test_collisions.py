"""Distances by hand, gradients by finite differences, and what cannot be watched is said."""

import coal
import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.collisions import Surroundings, Workspace, spheres
from references import arm_with_shapes

# coal finds distances to about 1e-6 m
EXACT = 1e-5


@pytest.fixture
def arm(tmp_path):
    return load_robot(arm_with_shapes.write(tmp_path))


def by_name(collisions, q):
    return dict(zip(collisions.pairs, collisions.distances(np.atleast_2d(q)).T, strict=True))


def hand(q):
    """(T, 3) where the hand is: shoulder and elbow turn downwards."""
    yaw, shoulder, elbow = q.T
    along = 0.5 * np.cos(shoulder) + 0.4 * np.cos(shoulder + elbow)
    height = 0.6 - 0.5 * np.sin(shoulder) - 0.4 * np.sin(shoulder + elbow)
    return np.column_stack([np.cos(yaw) * along, np.sin(yaw) * along, height])


def test_distances_of_spheres_are_those_of_their_centres(arm, rng):
    q = rng.uniform(-1, 1, (20, 3))
    collisions = Surroundings(floor_m=-0.3).resolve(arm)
    found = by_name(collisions, q)
    # the forearm has two spheres; the elbow's stays higher or lower than the hand's
    lowest = np.minimum(hand(q)[:, 2], 0.6 - 0.5 * np.sin(q[:, 1])) - 0.05 + 0.3
    shapes = [
        d
        for pair, d in zip(collisions.pairs, collisions.distances(q).T, strict=True)
        if pair == ("forearm", "the floor")
    ]
    assert len(shapes) == 2
    assert np.allclose(np.min(shapes, axis=0), lowest, atol=EXACT)
    assert np.allclose(found["upper_arm", "the floor"], 0.6 - 0.05 + 0.3, atol=EXACT)


def test_pairs_are_those_that_a_joint_does_not_join(arm):
    pairs = set(Surroundings().resolve(arm).pairs)
    # the turret has no shape; upper arm and forearm are neighbours
    assert pairs == {("base", "forearm"), ("base", "upper_arm")}


def test_links_that_touch_at_the_neutral_configuration_are_not_watched(tmp_path):
    sunk = '<collision><origin xyz="0 0 -0.25"/><geometry><sphere radius="0.05"/></geometry></collision>'
    arm = load_robot(arm_with_shapes.write(tmp_path, upper_arm=sunk))
    assert set(Surroundings().resolve(arm).pairs) == {("base", "forearm")}


def test_links_that_are_close_by_construction_keep_half_of_that(arm):
    collisions = Surroundings().resolve(arm)
    usual = dict(zip(collisions.pairs, collisions.usual, strict=True))
    assert usual["base", "upper_arm"] == pytest.approx(0.15, abs=EXACT)  # 0.6 - 0.05 - 0.4
    wanted = dict(zip(collisions.pairs, collisions.clearances(0.2), strict=True))
    assert wanted["base", "upper_arm"] == pytest.approx(0.075, abs=EXACT)
    assert np.allclose(Surroundings(itself=False, floor_m=0.0).resolve(arm).clearances(0.2), 0.2)


def test_gradients_are_finite_differences_inside_and_outside(arm, rng):
    collisions = Surroundings(floor_m=0.45, workspace=Workspace((-0.5, -0.5, 0.3), (0.5, 0.5, 1.0))).resolve(
        arm
    )
    q = rng.uniform(-2, 2, (40, 3))
    d = collisions.distances(q)
    assert (d < -0.01).any() and (d > 0.01).any()
    weights = rng.standard_normal(d.shape) * (rng.random(d.shape) < 0.5)
    h = 1e-4
    expected = np.array(
        [
            ((collisions.distances(q + h * e) - collisions.distances(q - h * e)) * weights).sum(1) / (2 * h)
            for e in np.eye(3)
        ]
    ).T
    # distances known to 1e-6 give differences known to 1e-6 / h
    assert np.abs(collisions.pull_back(q, weights) - expected).max() < 3e-2
    assert np.median(np.abs(collisions.pull_back(q, weights) - expected)) < 1e-4


def test_a_box_keeps_the_last_link_or_the_frames_that_are_named(arm, rng):
    q = rng.uniform(-1, 1, (10, 3))
    box = Workspace((-np.inf, -np.inf, 0.2), (0.7, np.inf, np.inf), ("hand",))
    found = by_name(Surroundings(itself=False, workspace=box).resolve(arm), q)
    assert np.allclose(found["hand", "the lower wall in z"], hand(q)[:, 2] - 0.2, atol=EXACT)
    assert np.allclose(found["hand", "the upper wall in x"], 0.7 - hand(q)[:, 0], atol=EXACT)
    unnamed = Surroundings(itself=False, workspace=Workspace(upper=(0.7, 1.0, 1.0))).resolve(arm)
    assert {first for first, _ in unnamed.pairs} == {"forearm", "hand"}


def test_locked_joints_keep_their_links_watched(arm):
    locked = load_robot(arm.source, locked={"elbow": 1.0})
    collisions = Surroundings(floor_m=0.0).resolve(locked)
    q = np.array([0.3, 0.4])
    lowest = min(d[0] for pair, d in by_name(collisions, q).items() if pair == ("upper_arm", "the floor"))
    assert lowest > 0
    heights = collisions.distances(q[None])[0][[pair[1] == "the floor" for pair in collisions.pairs]]
    assert np.isclose(heights.min(), hand(np.array([[0.3, 0.4, 1.0]]))[0, 2] - 0.05, atol=EXACT)


# -- meshes -----------------------------------------------------------------------------------------------------------


def cuboids(*boxes):
    """STL of boxes ((x0, y0, z0), (x1, y1, z1))."""
    faces = []
    for low, high in boxes:
        corner = np.array([[(low, high)[b >> k & 1][k] for k in range(3)] for b in range(8)])
        for a, b, c, d in (
            (0, 2, 3, 1),
            (4, 5, 7, 6),
            (0, 1, 5, 4),
            (2, 6, 7, 3),
            (0, 4, 6, 2),
            (1, 3, 7, 5),
        ):
            faces += [corner[[a, b, c]], corner[[a, c, d]]]
    lines = ["solid s"]
    for face in faces:
        lines += [
            "facet normal 0 0 0",
            "outer loop",
            *(f"vertex {x} {y} {z}" for x, y, z in face),
            "endloop",
            "endfacet",
        ]
    return "\n".join([*lines, "endsolid s"])


MESH = '<collision><geometry><mesh filename="{}"/></geometry></collision>'


def test_a_mesh_is_its_hull(tmp_path, rng):
    folder = tmp_path / "some_package" / "meshes"
    folder.mkdir(parents=True)
    # two cubes with nothing between: their hull is one long box
    (folder / "hand.stl").write_text(
        cuboids(((0.3, -0.02, -0.02), (0.32, 0.02, 0.02)), ((0.4, -0.02, -0.02), (0.45, 0.02, 0.02)))
    )
    arm = load_robot(
        arm_with_shapes.write(tmp_path, hand=MESH.format("package://some_package/meshes/hand.stl"))
    )
    collisions = Surroundings(floor_m=0.0).resolve(arm)
    assert collisions.warnings == ()
    q = np.array([[0.2, 0.5, 0.3]])
    corners = np.array([[x, z] for x in (0.3, 0.45) for z in (-0.02, 0.02)])
    pitch = 0.8
    heights = 0.6 - 0.5 * np.sin(0.5) - corners[:, 0] * np.sin(pitch) + corners[:, 1] * np.cos(pitch)
    of_floor = [
        d[0]
        for d, pair in zip(collisions.distances(q).T, collisions.pairs, strict=True)
        if pair[1] == "the floor"
    ]
    assert np.isclose(min(of_floor), heights.min(), atol=EXACT)
    watched = {
        collisions.geometry.geometryObjects[pair.first].geometry
        for pair in collisions.geometry.collisionPairs
    }
    assert any(isinstance(shape, coal.ConvexBase) for shape in watched)
    assert not any(isinstance(shape, coal.BVHModelBase) for shape in watched)


def test_a_mesh_whose_hull_touches_is_taken_as_it_is(tmp_path):
    # a fork around the column: its hull holds the column, the fork does not
    (tmp_path / "fork.stl").write_text(
        cuboids(
            ((-0.3, 0.15, -0.4), (0.3, 0.2, 0.0)),
            ((-0.3, -0.2, -0.4), (0.3, -0.15, 0.0)),
        )
    )
    arm = load_robot(arm_with_shapes.write(tmp_path, upper_arm=MESH.format("fork.stl")))
    found = by_name(Surroundings().resolve(arm), np.zeros(3))
    assert found["base", "upper_arm"] == pytest.approx(0.05, abs=1e-3)


def test_missing_meshes_are_said_and_the_rest_is_watched(tmp_path):
    path = arm_with_shapes.write(tmp_path, upper_arm=MESH.format("package://nowhere/arm.stl"))
    collisions = Surroundings(floor_m=0.0).resolve(load_robot(path))
    (warning,) = collisions.warnings
    assert "collisions of upper_arm are not checked" in warning and "package://nowhere/arm.stl" in warning
    assert ("base", "forearm") in collisions.pairs and ("forearm", "the floor") in collisions.pairs
    elsewhere = tmp_path / "elsewhere" / "nowhere"
    elsewhere.mkdir(parents=True)
    (elsewhere / "arm.stl").write_text(cuboids(((0, 0, 0), (0.1, 0.1, 0.1))))
    found = Surroundings(packages=(tmp_path / "elsewhere",)).resolve(load_robot(path))
    assert found.warnings == () and ("base", "upper_arm") in found.pairs


def test_a_mesh_that_is_none_stops_nothing(tmp_path):
    (tmp_path / "arm.stl").write_text("not a mesh")
    path = arm_with_shapes.write(tmp_path, upper_arm=MESH.format("arm.stl"))
    (warning,) = Surroundings().resolve(load_robot(path)).warnings
    assert warning.startswith("collisions are not checked: the shapes cannot be read")


def test_no_shapes_at_all_is_said(tmp_path):
    bare = (
        arm_with_shapes.description().replace("<collision>", "<visual>").replace("</collision>", "</visual>")
    )
    (tmp_path / "bare.urdf").write_text(bare)
    collisions = Surroundings(floor_m=0.0).resolve(load_robot(tmp_path / "bare.urdf"))
    assert len(collisions) == 0
    assert any("no link a shape" in warning for warning in collisions.warnings)
    assert any("above the floor" in warning for warning in collisions.warnings)


# -- bad input --------------------------------------------------------------------------------------------------------


def test_contradictions_and_unknown_frames_are_refused(arm):
    with pytest.raises(InvalidModel, match="lower bound of y, 1 m, is not below its upper one, 0 m"):
        Workspace((0, 1, 0), (1, 0, 1))
    with pytest.raises(InvalidModel, match="floor and workspace contradict each other"):
        Surroundings(floor_m=2.0, workspace=Workspace(upper=(1, 1, 1)))
    with pytest.raises(InvalidModel, match="frame 'hant'; did you mean 'hand'"):
        Surroundings(workspace=Workspace((0, 0, 0), (1, 1, 1), ("hant",))).resolve(arm)


def test_spheres_of_links_are_where_the_description_has_them(tmp_path):
    path = tmp_path / "foot.urdf"
    ball = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="{}"/></geometry></collision>'
    mesh = '<collision><geometry><mesh filename="package://nowhere/foot.stl"/></geometry></collision>'
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    path.write_text(
        f'<robot name="foot"><link name="leg">{inertial}{mesh}</link>'
        f'<link name="sole">{inertial}{ball.format(0.1, 0.005)}{ball.format(-0.1, 0.005)}</link>'
        '<joint name="ankle" type="revolute"><parent link="leg"/><child link="sole"/><origin xyz="0 0 -0.4"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    found = spheres(load_robot(path), ["sole", "leg"])
    assert found["leg"] == ()
    centres, radii = zip(*found["sole"], strict=True)
    np.testing.assert_allclose(centres, [[0.1, 0, 0], [-0.1, 0, 0]], atol=1e-12)
    assert radii == (0.005, 0.005)
