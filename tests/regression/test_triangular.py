"""Folding: the factor of rows that come in any pieces is the factor of all rows."""

import numpy as np
import pytest

from poinsot.regression import base_parameters as module
from poinsot.regression.base_parameters import TriangularFactor, triangular


def folded(rows, sizes):
    factor = TriangularFactor(rows.shape[1])
    for piece in np.split(rows, np.cumsum(sizes)[:-1]):
        factor.fold(piece)
    return factor.R


@pytest.mark.parametrize("rows_per_fold", [1, 3, 50, 4096])
@pytest.mark.parametrize("pieces", [[1] * 200, [200], [7, 0, 93, 100], [199, 1]])
def test_any_pieces_give_the_gram_matrix_of_all_rows(rows_per_fold, pieces, rng, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_FOLD", rows_per_fold)
    rows = rng.standard_normal((200, 6)) * 10.0 ** np.arange(6)
    R = folded(rows, pieces)
    assert R.shape == (6, 6)
    np.testing.assert_array_equal(R, np.triu(R))
    # one factorization loses some 1e-15 of each column's norm, two hundred in a row at most 1e-13
    norms = np.linalg.norm(rows, axis=0)
    np.testing.assert_allclose(
        R.T @ R / np.outer(norms, norms), rows.T @ rows / np.outer(norms, norms), atol=1e-13
    )


def test_it_keeps_what_the_normal_equations_lose(rng, monkeypatch):
    """Two columns that differ by 1e-10: the Gram matrix cannot tell them apart, the factor can."""
    monkeypatch.setattr(module, "ROWS_PER_FOLD", 10)
    x, d = rng.standard_normal((2, 300, 1))
    rows = np.concatenate([x, x + 1e-10 * d], axis=1)
    R = folded(rows, [100, 100, 100])
    across = d - x * (x * d).sum() / (x * x).sum()
    np.testing.assert_allclose(np.abs(R[1, 1]), 1e-10 * np.linalg.norm(across), rtol=1e-4)


def test_fewer_rows_than_columns_leave_zeros(rng):
    rows = rng.standard_normal((2, 5))
    R = folded(rows, [1, 1])
    assert R.shape == (5, 5)
    assert not R[2:].any()
    np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=1e-14)
    np.testing.assert_array_equal(TriangularFactor(3).R, np.zeros((3, 3)))


def test_looking_changes_nothing(rng):
    rows = rng.standard_normal((50, 4))
    looked, plain = TriangularFactor(4), TriangularFactor(4)
    for piece in np.split(rows, 5):
        looked.fold(piece)
        plain.fold(piece)
        _ = looked.R
    np.testing.assert_allclose(np.abs(looked.R), np.abs(plain.R), atol=1e-14)
    assert triangular(rows).shape == (4, 4)
