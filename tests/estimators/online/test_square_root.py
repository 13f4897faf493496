"""Square-root updates against the textbook's dense formulas, and through millions of steps."""

import numpy as np
import pytest

from poinsot.estimators.online.square_root import enlarge, update


def random_case(rng, d=10, n=14, trusted=0.7):
    B = rng.standard_normal((d, d)) * rng.uniform(0.1, 3, d)
    w = rng.uniform(0.1, 5, n) * (rng.random(n) < trusted)
    return B, rng.standard_normal((n, d)), rng.standard_normal(n), w


@pytest.mark.parametrize("trusted", [1.0, 0.6, 0.0])
def test_update_is_eq_11(rng, trusted):
    for _ in range(20):
        B, H, y, w = random_case(rng, trusted=trusted)
        step, B_next, A = np.empty(10), np.empty((10, 10)), np.empty((10, 10))
        square, log_det, rows = update(B, H, y, w, step, B_next, A)
        np.testing.assert_allclose(A, H.T @ np.diag(w) @ H, atol=1e-12)
        kept = w > 0
        H, y, R, P = H[kept], y[kept], np.diag(1 / w[kept]), B @ B.T
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        assert rows == kept.sum()
        np.testing.assert_allclose(step, K @ y, atol=1e-9)
        np.testing.assert_allclose(B_next @ B_next.T, (np.eye(10) - K @ H) @ P, atol=1e-9)
        np.testing.assert_allclose(log_det, np.linalg.slogdet(S)[1] if kept.any() else 0.0, atol=1e-9)
        np.testing.assert_allclose(square, y @ np.linalg.solve(S, y) if kept.any() else 0.0, atol=1e-9)


def test_enlarging_adds_process_noise(rng):
    for e in (1, 3, 10):
        B, U, kept, added = rng.standard_normal((10, 10)), rng.standard_normal((10, e)), 0.9, 0.3
        B_next = np.empty((10, 10))
        enlarge(B, kept, U, added, B_next)
        np.testing.assert_allclose(B_next @ B_next.T, 0.81 * B @ B.T + 0.09 * U @ U.T, atol=1e-12)
        np.testing.assert_array_equal(np.triu(B_next, 1), 0)
    enlarge(np.zeros((10, 10)), 1.0, np.zeros((10, 1)), 1.0, B_next)
    np.testing.assert_array_equal(B_next, 0)


def test_covariance_stays_positive_where_the_textbooks_does_not(rng):
    """One direction is measured a million times more exactly than the prior: (1 - K H) P loses its sign."""
    B = 1e4 * np.eye(3)
    H = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-7]])
    w = np.full(2, 1e12)
    P = B @ B.T
    for _ in range(50):
        step, B_next, A = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
        update(B, H, rng.standard_normal(2), w, step, B_next, A)
        B = B_next
        S = H @ P @ H.T + np.eye(2) / 1e12
        P = P - P @ H.T @ np.linalg.solve(S, H @ P)
    assert np.all(np.isfinite(B))
    assert np.linalg.eigvalsh(B @ B.T)[0] >= -1e-12 * np.linalg.eigvalsh(B @ B.T)[-1]
    assert np.linalg.eigvalsh(P)[0] < 0  # what this is for
