"""Corners of bodies: boxes, hulls and meshes, their inertia, and what is refused."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel, UnreadableFile
from poinsot.models.spatial import Corners, Plane, box, corners_of, mesh

SIDES = (0.12, 0.09, 0.07)


def test_a_box_is_the_hull_of_its_corners():
    one = box(SIDES, 0.004)
    other = corners_of(np.vstack([one.points, 0.3 * one.points]), 0.004)
    order = [int(np.abs(one.points - point).sum(axis=1).argmin()) for point in other.points]
    np.testing.assert_allclose(other.inwards, one.inwards[order], atol=1e-9)
    assert sorted(order) == [*range(8)] and one.size == pytest.approx(np.linalg.norm(SIDES) / 2)


def test_the_inertia_of_uniform_density():
    a, b, c = SIDES
    expected = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 12
    np.testing.assert_allclose(box(SIDES).uniform_inertia, expected, atol=1e-12)
    # of a tetrahedron about its center, by Monte Carlo
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.05
    weights = np.random.default_rng(0).dirichlet(np.ones(4), 400_000)
    x = weights @ corners
    second = x.T @ x / len(x)
    expected = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(corners_of(corners).uniform_inertia, expected, atol=5e-6)


def test_rounded_corners_touch_the_faces():
    """The balls at the corners of a rounded body reach each of its planes, and no further."""
    shape = corners_of(np.eye(4)[:, :3] * 0.1 - 0.025, 0.005)
    from scipy.spatial import ConvexHull

    for *normal, offset in ConvexHull(shape.points).equations:
        centers = shape.points - shape.corner_radius * shape.inwards
        assert np.max(centers @ normal) + shape.corner_radius == pytest.approx(-offset, abs=1e-12)


def test_a_mesh_is_its_hull(tmp_path):
    lines = ["v " + " ".join(f"{1e3 * x:.6f}" for x in point) for point in box(SIDES).points]
    faces = ["124", "143", "578", "586", "156", "162", "348", "387", "137", "175", "268", "284"]
    (tmp_path / "box.obj").write_text("\n".join([*lines, *("f " + " ".join(face) for face in faces)]) + "\n")
    found = mesh(tmp_path / "box.obj", 1e-3)
    assert len(found.points) == 8
    np.testing.assert_allclose(found.uniform_inertia, box(SIDES).uniform_inertia, rtol=1e-5, atol=1e-12)
    with pytest.raises(UnreadableFile, match="there is no mesh"):
        mesh(tmp_path / "bax.obj")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box((0.1, 0.0, 0.1)), "must be above 0"),
        (lambda: corners_of(np.eye(3)), "at least four corners"),
        (lambda: corners_of(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]])), "span a volume"),
        (lambda: corners_of(np.eye(4)[:, :3] + 1), "not inside"),
        (lambda: Corners(np.eye(3), np.eye(3), -1.0), "corner radius"),
        (lambda: Plane(normal=(0, 0, 0)), "normal that is not zero"),
    ],
)
def test_what_is_no_body(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()
