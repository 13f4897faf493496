"""The ten parameters against Pinocchio's inertia, and consistency against the definition."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.inertia.parameters import body, center_of_mass, inertia_at_com, inertia_matrix, pseudo_inertia


@pytest.fixture
def inertias():
    pin.seed(3)
    return [pin.Inertia.Random() for _ in range(50)]


def test_parts_are_pinocchios(inertias):
    for inertia in inertias:
        pi = inertia.toDynamicParameters()
        assert np.allclose(center_of_mass(pi), inertia.lever)
        assert np.allclose(inertia_at_com(pi), inertia.inertia)
        assert np.allclose(pseudo_inertia(pi), inertia.toPseudoInertia().toMatrix())


def test_batches_are_the_same_one_by_one(inertias):
    pi = np.array([inertia.toDynamicParameters() for inertia in inertias])
    assert np.array_equal(pseudo_inertia(pi), np.stack([pseudo_inertia(row) for row in pi]))
    assert np.array_equal(inertia_matrix(pi), np.stack([inertia_matrix(row) for row in pi]))


def test_a_real_body_is_consistent_and_a_broken_triangle_is_not():
    real = body("sphere", np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1]))
    assert real.physically_consistent and real.min_pseudo_inertia_eigenvalue == pytest.approx(0.05)
    impossible = body("not", np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5]))
    assert impossible.physically_consistent is False
    assert body("unknown", None).mass is None
