"""Impulses at one corner against a dense integration, and what each law says."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.models.spatial import box
from poinsot.models.spatial.impacts import LAWS, compliance, corner_velocity, impulse, plane_axes
from references.spatial import pushed

SIDES = (0.13, 0.08, 0.05)


def case(seed):
    """K, axes and velocity of a corner of a box that strikes a tilted plane, friction and restitution."""
    rng = np.random.default_rng(seed)
    shape, R = box(SIDES), Rotation.random(rng=rng).as_matrix()
    n = np.array([0.2, -0.1, 1.0]) / np.linalg.norm([0.2, -0.1, 1.0])
    r = min(shape.points @ R.T, key=lambda x: x @ n)
    K = compliance(np.linalg.inv(shape.uniform_inertia), R, r)
    u = rng.normal(size=3)
    u += (-abs(u @ n) - 0.3 - u @ n) * n
    return K, plane_axes(n, np.array([1.0, 0.0, 0.0])), u, rng.uniform(0.05, 0.9), rng.uniform(0.0, 0.9)


@pytest.mark.parametrize("law", range(3), ids=LAWS)
@pytest.mark.parametrize("seed", range(6))
def test_the_impulse_is_that_of_small_pulses(seed, law):
    K, axes, u, friction, restitution = case(seed)
    found = impulse(K, axes, u, friction, restitution, law)
    expected = pushed(K, axes[0], u, friction, restitution, LAWS[law])
    np.testing.assert_allclose(found, expected, atol=3e-4)


@pytest.mark.parametrize("seed", range(20))
def test_newton_says_how_fast_the_corner_leaves_and_energy_falls(seed):
    K, axes, u, friction, restitution = case(seed)
    n = axes[0]
    for law in range(3):
        f = impulse(K, axes, u, friction, restitution, law)
        after = u + K @ f
        assert np.linalg.norm(f - (f @ n) * n) <= friction * (f @ n) * (1 + 1e-9)  # the cone of friction
        # kinetic energy by mass changes by the impulse times the mean velocity
        assert law == 0 or f @ (u + after) <= 1e-9
        if law == 0:
            assert after @ n == pytest.approx(-restitution * (u @ n), rel=1e-9)


def test_laws_agree_without_friction_and_a_corner_that_leaves_is_not_struck():
    K, axes, u, _, restitution = case(3)
    one, *others = (impulse(K, axes, u, 0.0, restitution, law) for law in range(3))
    for other in others:
        np.testing.assert_allclose(other, one, rtol=1e-6)
    assert not impulse(K, axes, u - 3 * (u @ axes[0]) * axes[0], 0.3, 0.5, 0).any()


def test_the_compliance_is_the_change_of_a_corners_velocity_by_an_impulse():
    rng = np.random.default_rng(1)
    shape, R = box(SIDES), Rotation.random(rng=rng).as_matrix()
    J, r, f = shape.uniform_inertia, R @ shape.points[3], rng.normal(size=3)
    w = np.linalg.solve(J, R.T @ np.cross(r, f))
    np.testing.assert_allclose(
        compliance(np.linalg.inv(J), R, r) @ f, corner_velocity(f, R, w, r), rtol=1e-12
    )
