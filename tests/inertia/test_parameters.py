"""The ten parameters against Pinocchio's inertia and the definition as an integral; frames and several bodies."""

from itertools import permutations, product

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from inertia.families import EPS, ellipsoids, placements, scale, thetas
from poinsot.exceptions import InvalidModel
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import (
    ROUNDING,
    body,
    center_of_mass,
    change_frame,
    completed_inertia,
    from_physical,
    from_pseudo_inertia,
    gradient_from_pseudo_inertia,
    inertia_at_com,
    inertia_matrix,
    is_consistent,
    principal_moments,
    pseudo_inertia,
    second_moments,
)

FEW = 20 * EPS
"""What sums of a few products of the size of `scale` lose."""


@pytest.fixture
def inertias():
    pin.seed(3)
    return [pin.Inertia.Random() for _ in range(50)]


# ----------------------------------------------------------------------------------------------- the parts, and back


def test_parts_are_pinocchios(inertias):
    for inertia in inertias:
        pi = inertia.toDynamicParameters()
        assert np.allclose(center_of_mass(pi), inertia.lever)
        assert np.allclose(inertia_at_com(pi), inertia.inertia)
        assert np.allclose(pseudo_inertia(pi), inertia.toPseudoInertia().toMatrix())


@given(solid=ellipsoids())
def test_pseudo_inertia_is_the_integral_of_points(solid):
    error = pseudo_inertia(solid.pi) - solid.J
    size = np.sqrt(np.outer(*2 * (np.array([*3 * (np.trace(solid.J[:3, :3]),), solid.mass]),)))
    assert np.all(np.abs(error) <= FEW * size)


@given(solid=ellipsoids())
def test_there_and_back(solid):
    pi = solid.pi
    again = from_physical(pi[0], center_of_mass(pi), inertia_at_com(pi))
    assert np.all(np.abs(again - pi) <= FEW * scale(pi))
    again = from_pseudo_inertia(pseudo_inertia(pi))
    assert np.all(np.abs(again - pi) <= FEW * scale(pi))


def test_batches_are_the_same_one_by_one(inertias):
    pi = np.array([inertia.toDynamicParameters() for inertia in inertias])
    parts = (pseudo_inertia, inertia_matrix, second_moments, center_of_mass, inertia_at_com)
    for function in (*parts, is_consistent):
        np.testing.assert_array_equal(function(pi), np.stack([function(row) for row in pi]))
        np.testing.assert_array_equal(function(pi.reshape(2, 25, 10))[1, 3], function(pi[28]))
    back = from_physical(pi[:, 0], center_of_mass(pi), inertia_at_com(pi))
    np.testing.assert_allclose(back, pi, rtol=0, atol=FEW * scale(pi).max())
    for one, many in zip(zip(*map(principal_moments, pi), strict=True), principal_moments(pi), strict=True):
        np.testing.assert_array_equal(np.stack(one), many)


def test_the_gradient_is_the_adjoint(rng):
    dpi, G = rng.normal(size=(5, 10)), rng.normal(size=(5, 4, 4))
    G += np.swapaxes(G, -1, -2)
    df = np.einsum("bij,bij->b", G, pseudo_inertia(dpi))
    np.testing.assert_allclose(np.sum(gradient_from_pseudo_inertia(G) * dpi, axis=-1), df, rtol=1e-12)


# ------------------------------------------------------------------------------------------ frames, several bodies


@given(solid=ellipsoids(), T_ab=placements())
def test_change_of_frame_is_pinocchios(solid, T_ab):
    placement, inertia = pin.SE3(T_ab), pin.Inertia.FromDynamicParameters(solid.pi)
    expected = placement.act(inertia).toDynamicParameters()
    pi_a = change_frame(T_ab, solid.pi)
    # on the way Pinocchio subtracts Steiner's term of b, poinsot does not
    size = scale(pi_a) + scale(solid.pi)
    assert np.all(np.abs(pi_a - expected) <= 5 * FEW * size)


@given(solid=ellipsoids(), T_ab=placements(), T_bc=placements())
def test_changes_of_frame_compose_and_invert(solid, T_ab, T_bc):
    pi_c = solid.pi
    pi_b = change_frame(T_bc, pi_c)
    pi_a = change_frame(T_ab, pi_b)
    size = scale(pi_a) + scale(pi_b) + scale(pi_c)
    assert np.all(np.abs(change_frame(T_ab @ T_bc, pi_c) - pi_a) <= 5 * FEW * size)
    # a body may be far smaller than 1 m, which is where it was sent: what comes back has lost that
    size = scale(pi_c) + pi_c[0] * np.array([0, *3 * (np.sqrt(3),), *6 * (3.0,)])
    assert np.all(np.abs(change_frame(np.linalg.inv(T_bc), pi_b) - pi_c) <= 5 * FEW * (size + scale(pi_b)))


def test_change_of_frame_takes_batches(rng):
    pi = LogCholesky().to_inertial(rng.normal(size=(4, 10)))
    T = np.stack([pin.SE3.Random().homogeneous for _ in range(4)])
    np.testing.assert_array_equal(change_frame(T, pi)[2], change_frame(T[2], pi[2]))
    np.testing.assert_array_equal(change_frame(T[0], pi)[2], change_frame(T[0], pi[2]))
    np.testing.assert_array_equal(change_frame(T, pi[0])[2], change_frame(T[2], pi[0]))


@pytest.mark.parametrize(
    "wrong",
    [np.diag([1.0, 1, -1, 1]), np.diag([2.0, 1, 1, 1]), np.diag([1.0, 1, 1, 2]), np.full((4, 4), np.nan)],
    ids=["mirror", "stretch", "projection", "nan"],
)
def test_what_is_no_placement_is_refused(wrong):
    with pytest.raises(InvalidModel, match=r"needs \[\[R, p\], \[0, 0, 0, 1\]\]"):
        change_frame(wrong, np.ones(10))


@given(one=ellipsoids(), other=ellipsoids())
def test_bodies_in_one_frame_add_as_pinocchios(one, other):
    inertias = [pin.Inertia.FromDynamicParameters(solid.pi) for solid in (one, other)]
    whole = one.pi + other.pi
    assert is_consistent(whole)
    assert np.all(np.abs(whole - (inertias[0] + inertias[1]).toDynamicParameters()) <= 5 * FEW * scale(whole))


# ------------------------------------------------------------------------------------------------- principal axes


@given(solid=ellipsoids())
def test_principal_moments_diagonalize(solid):
    D, R = principal_moments(solid.pi)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=FEW)
    assert np.linalg.det(R) > 0
    trace = scale(solid.pi)[-1]
    np.testing.assert_allclose(R @ np.diag(D) @ R.T, inertia_at_com(solid.pi), rtol=0, atol=ROUNDING * trace)
    L = solid.mass * solid.semi_axes**2 / 5
    np.testing.assert_allclose(np.sort(D), np.sort(L.sum() - L), rtol=0, atol=2 * ROUNDING * trace)


@given(theta=thetas())
def test_principal_axes_are_the_closest_of_all_24(theta):
    _, R = principal_moments(LogCholesky().to_inertial(theta))
    turns = [P * s for P in np.eye(3)[list(permutations(range(3)))] for s in product((-1, 1), repeat=3)]
    turns = [P for P in turns if np.linalg.det(P) > 0]
    assert len(turns) == 24
    assert np.trace(R) >= max(np.trace(R @ P) for P in turns) - FEW


def test_axes_of_the_body_frame_keep_their_names():
    pi = from_physical(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.5, 0.3, 0.4]))
    D, R = principal_moments(pi)
    np.testing.assert_allclose(D, [0.5, 0.3, 0.4], rtol=FEW)
    np.testing.assert_allclose(R, np.eye(3), atol=FEW)


# ---------------------------------------------------------------------------------------------------------- a body


def test_a_real_body_is_consistent_and_a_broken_triangle_is_not():
    real = body("sphere", np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1]))
    assert real.physically_consistent and real.min_pseudo_inertia_eigenvalue == pytest.approx(0.05)
    impossible = body("not", np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5]))
    assert impossible.physically_consistent is False
    assert body("unknown", None).mass is None
    weightless = body("frame", np.zeros(10))
    assert weightless.physically_consistent and weightless.mass == 0 and weightless.center_of_mass is None


def test_an_inertia_is_completed_where_it_is_not_known():
    """Of a plane motion one entry is known; a real body has it with others; none has a moment below 0."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        R = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
        real = R @ np.diag(np.array([1.0, 1.2, 0.9]) * rng.uniform(0.9, 1.1, 3)) @ R.T
        known = np.zeros((3, 3), bool)
        known[1, 1] = True
        wrong = np.where(known, real, real * rng.uniform(0.2, 4))
        found = completed_inertia(wrong, known)
        assert found[1, 1] == real[1, 1]
        assert np.linalg.eigvalsh(0.5 * np.trace(found) * np.eye(3) - found)[0] >= 0
    assert completed_inertia(real, known) is real
    impossible = np.diag([1.0, 1.0, 3.0])
    assert completed_inertia(impossible, np.ones((3, 3), bool)) is impossible
