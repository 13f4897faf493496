"""Inverses of positive definite matrices, against NumPy's."""

import numpy as np
import pytest

from poinsot.models.contacts.contact_dynamics import inverses


def random_matrices(rng, n, condition):
    Q = np.linalg.qr(rng.standard_normal((5, n, n)))[0]
    return Q @ (np.geomspace(1, condition, n)[:, None] * Q.transpose(0, 2, 1))


@pytest.mark.parametrize("n", [1, 2, 12, 38])
@pytest.mark.parametrize("condition", [10.0, 1e8])
def test_inverses_are_numpy_s(rng, n, condition):
    A = random_matrices(rng, n, condition)
    ours, theirs = inverses(A), np.linalg.inv(A)
    np.testing.assert_allclose(ours, theirs, atol=1e-14 * condition * np.abs(theirs).max())
    np.testing.assert_array_equal(ours, ours.transpose(0, 2, 1))


def test_only_the_lower_half_is_read(rng):
    A = random_matrices(rng, 6, 10.0)
    np.testing.assert_array_equal(inverses(np.tril(A)), inverses(A))


def test_what_is_not_positive_definite_is_not_a_number(rng):
    A = random_matrices(rng, 4, 10.0)
    A[1, 2, 2], A[3] = -1.0, np.nan
    np.testing.assert_array_equal(np.isnan(inverses(A)).any(axis=(1, 2)), [False, True, False, True, False])


def test_nothing_is_nothing():
    assert inverses(np.empty((3, 0, 0))).shape == (3, 0, 0)
    assert inverses(np.empty((0, 4, 4))).shape == (0, 4, 4)
