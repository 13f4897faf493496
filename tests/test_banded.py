"""Operations on banded matrices against dense ones."""

import numpy as np

from poinsot.banded import inverse_in_band


def test_inverse_in_its_band(rng):
    N, w = 12, 4
    L = np.tril(np.triu(rng.normal(size=(N, N)), -(w - 1)))
    L[range(N), range(N)] = 1 + rng.uniform(size=N)
    factor = np.array([np.append(np.diag(L, -i), np.zeros(i)) for i in range(w)])
    inverse = np.linalg.inv(L @ L.T)
    Z = inverse_in_band(factor)
    for i in range(w):
        np.testing.assert_allclose(Z[i, : N - i], np.diag(inverse, -i), rtol=1e-9, atol=1e-12)
