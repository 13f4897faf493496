"""What is known for certain: real bodies that satisfy it are never excluded, others are."""

import numpy as np
import pytest

from poinsot.estimators.linear.conic import VIOLATION
from poinsot.estimators.linear.constraints import BodyConstraint, Box, Constraints, EllipsoidRegion, Hull
from poinsot.exceptions import InvalidMethod
from references.robots import chain

ROBOT = chain("zy", [0, 0.3])
REGION = EllipsoidRegion([0.1, -0.2, 0.3], [0.5, 0.2, 0.3])


def cloud(points, masses):
    """pi of point masses."""
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for p, m in zip(points, masses, strict=True))
    return np.array([masses.sum(), *(masses @ points), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


def violation(known, pi, name="j2"):
    """How far the second body is from satisfying what is known of it."""
    theta = np.zeros(len(ROBOT.parameters))
    theta[10:20] = pi
    members = Constraints({name: known}).memberships(ROBOT.parameters, ROBOT.bodies)
    return max(VIOLATION[each.cone](each.F @ theta + each.g) for each in members)


def in_ball(rng, count):
    points = rng.standard_normal((count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0, 1, (count, 1)) ** (1 / 3)


def test_bodies_inside_an_ellipsoid_are_allowed_and_heavier_ones_outside_are_not(rng):
    known = BodyConstraint(inside=REGION)
    for _ in range(50):
        points = np.array(REGION.center) + in_ball(rng, 8) * REGION.semi_axes
        assert violation(known, cloud(points, rng.uniform(0, 1, 8))) < 1e-12
    outside = np.array(REGION.center) + 1.1 * np.array([[0.5, 0, 0], [-0.5, 0, 0]])
    assert violation(known, cloud(outside, np.ones(2))) > 0.1


@pytest.mark.parametrize(
    ("region", "inside", "outside"),
    [
        (Box([0, -0.1, 0.2], [0.1, 0.1, 0.3]), [0.05, 0.0, 0.29], [0.05, 0.0, 0.31]),
        (REGION, [0.4, -0.2, 0.3], [0.4, 0.0, 0.3]),
        (Hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), [0.3, 0.3, 0.3], [0.4, 0.4, 0.4]),
    ],
)
def test_centre_of_mass_stays_in_its_region_whatever_the_mass(region, inside, outside):
    known = BodyConstraint(center_of_mass=region)
    for mass in (1e-3, 1.0, 1e3):
        assert violation(known, cloud(np.array([inside]), np.array([mass]))) < 1e-12 * mass
        assert violation(known, cloud(np.array([outside]), np.array([mass]))) > 1e-3 * mass


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_symmetric_bodies_are_allowed_and_no_others(rng, axis):
    points, masses = rng.standard_normal((5, 3)), rng.uniform(0, 1, 5)
    flip = np.ones(3)
    flip[axis] = -1
    mirrored = BodyConstraint(mirror=["xyz"[axis]])
    assert violation(mirrored, cloud(np.concatenate([points, points * flip]), np.tile(masses, 2))) < 1e-12
    assert violation(mirrored, cloud(points, masses)) > 1e-2
    first, second = (axis + 1) % 3, (axis + 2) % 3
    turned = [points]
    for quarter in range(1, 4):
        angle = quarter * np.pi / 2
        R = np.eye(3)
        R[first, first] = R[second, second] = np.cos(angle)
        R[first, second], R[second, first] = -np.sin(angle), np.sin(angle)
        turned.append(points @ R.T)
    symmetric = BodyConstraint(round="xyz"[axis])
    assert violation(symmetric, cloud(np.concatenate(turned), np.tile(masses, 4))) < 1e-12
    assert violation(symmetric, cloud(points, masses)) > 1e-2


def test_masses_and_their_total():
    light = cloud(np.zeros((1, 3)), np.array([0.4]))
    assert violation(BodyConstraint(mass=(0.3, 0.5)), light) == 0
    np.testing.assert_allclose(violation(BodyConstraint(mass=(0.5, 0.9)), light), 0.1)
    np.testing.assert_allclose(violation(BodyConstraint(mass=(0.5, 0.5)), light), 0.1)
    (total,) = Constraints(total_mass=(1.0, 2.0)).memberships(ROBOT.parameters, ROBOT.bodies)
    theta = np.zeros(len(ROBOT.parameters))
    theta[[0, 10]] = 0.75, 0.5
    np.testing.assert_allclose(total.F @ theta + total.g, [0.25, 0.75])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BodyConstraint(mass=(3.0, 2.0)), "low <= high"),
        (lambda: BodyConstraint(mass=(-1.0, 2.0)), "0 <= low"),
        (lambda: Constraints(total_mass=(0.0, 0.0)), "total_mass"),
        (lambda: Box([0, 0, 1], [1, 1, 0]), "low <= high along every axis"),
        (lambda: EllipsoidRegion([0, 0, 0], [1, 1, 0]), "semi-axes above 0"),
        (lambda: Hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), "not all in one plane"),
        (lambda: Hull([[0, 0], [1, 0]]), "three finite numbers"),
        (lambda: BodyConstraint(mirror=["q"]), "axes 'x', 'y' or 'z'"),
        (
            lambda: violation(BodyConstraint(mass=(1.0, 2.0)), np.zeros(10), "j3"),
            "no body 'j3'; did you mean",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_known_is_refused(make, words):
    with pytest.raises(InvalidMethod, match=words):
        make()
