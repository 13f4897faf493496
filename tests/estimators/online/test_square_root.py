"""Square-root updates against the textbook's dense formulas, and against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from poinsot.estimators.online.correction import enlarge, update


def random_case(rng, d=10, n=14, trusted=0.7):
    B = np.tril(rng.standard_normal((d, d)) * rng.uniform(0.1, 3, d))
    w = rng.uniform(0.1, 5, n) * (rng.random(n) < trusted)
    return B, rng.standard_normal((n, d)), rng.standard_normal(n), w


def updated(B, H, y, w):
    """Step, root, y^T S^-1 y and log det S of one update."""
    step, B_next = np.empty(len(B)), B.copy()
    square, log_det = update(B_next, H, y, w, step)
    return step, B_next, square, log_det - np.log(w[w > 0]).sum()


@pytest.mark.parametrize("trusted", [1.0, 0.6, 0.0])
def test_update_is_eq_11(rng, trusted):
    for _ in range(20):
        B, H, y, w = random_case(rng, trusted=trusted)
        step, B_next, square, log_det = updated(B, H, y, w)
        np.testing.assert_array_equal(np.triu(B_next, 1), 0)
        kept = w > 0
        H, y, R, P = H[kept], y[kept], np.diag(1 / w[kept]), B @ B.T
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        np.testing.assert_allclose(step, K @ y, atol=1e-9)
        np.testing.assert_allclose(B_next @ B_next.T, (np.eye(10) - K @ H) @ P, atol=1e-9)
        np.testing.assert_allclose(log_det, np.linalg.slogdet(S)[1] if kept.any() else 0.0, atol=1e-9)
        np.testing.assert_allclose(square, y @ np.linalg.solve(S, y) if kept.any() else 0.0, atol=1e-9)


def test_rows_that_no_coordinate_enters_count_in_the_innovation_alone(rng):
    B, H, y, w = random_case(rng, trusted=1.0)
    H[5:] = 0.0
    step, B_next, square, log_det = updated(B, H, y, w)
    first = updated(B, H[:5], y[:5], w[:5])
    np.testing.assert_array_equal(step, first[0])
    np.testing.assert_array_equal(B_next, first[1])
    np.testing.assert_allclose(square, first[2] + w[5:] @ y[5:] ** 2)
    np.testing.assert_allclose(log_det, first[3] - np.log(w[5:]).sum())


def test_enlarging_adds_process_noise(rng):
    for _ in range(3):
        B, U = np.tril(rng.standard_normal((2, 10, 10)))
        B_next = B.copy()
        enlarge(B_next, 0.9, U, 0.3)
        np.testing.assert_allclose(B_next @ B_next.T, 0.81 * B @ B.T + 0.09 * U @ U.T, atol=1e-12)
        np.testing.assert_array_equal(np.triu(B_next, 1), 0)
    B_next[:] = 0.0
    enlarge(B_next, 1.0, np.zeros((10, 10)), 1.0)
    np.testing.assert_array_equal(B_next, 0)


# -- against exact rational arithmetic ---------------------------------------------------------------------------


def exactly(x):
    """An array of floats as fractions, without rounding."""
    return np.vectorize(lambda each: Fraction(float(each)), otypes=[object])(x)


def exact_update(B, H, y, w):
    """Step, covariance, y^T S^-1 y by the textbook's formula in fractions, row by row: no rounding anywhere."""
    B, H, y, w = (exactly(each) for each in (B, H, y, w))
    P, step, square = B @ B.T, exactly(np.zeros(len(B))), Fraction(0)
    for h, innovation, weight in zip(H, y, w, strict=True):
        Ph = P @ h
        S, e = h @ Ph + 1 / weight, innovation - h @ step
        step, P, square = step + Ph * e / S, P - np.outer(Ph, Ph) / S, square + e * e / S
    return step, P, square


def differences(found, exact):
    """Of steps and covariances in posterior standard deviations, and of y^T S^-1 y relative to itself."""
    std = np.sqrt(np.diag(exact[1]).astype(float))
    return np.array(
        [
            np.abs((found[0] - exact[0]).astype(float) / std).max(),
            np.abs((found[1] - exact[1]).astype(float) / np.outer(std, std)).max(),
            abs(float((found[2] - exact[2]) / exact[2])),
        ]
    )


def assert_as_exact_as_its_data(B, H, y, w, rng):
    """The error of an update is not more than what its rounding of the data by a few units already makes."""
    exact = exact_update(B, H, y, w)
    step, B_next, square, _ = updated(B, H, y, w)
    root = exactly(B_next)
    found = exactly(step), root @ root.T, Fraction(square)
    caused = np.zeros(3)
    for _ in range(6):
        # Rotations of columns mix the entries of a row: they are backward stable row by row, not entry by entry.
        rows = np.linalg.norm(B, axis=1, keepdims=True)
        nearby = (x * (1 + 2.0**-52 * rng.choice([-1, 1], x.shape)) for x in (H, y, w))
        B_nearby = B + 2.0**-52 * rows * rng.choice([-1, 1], B.shape)
        caused = np.maximum(caused, differences(exact_update(B_nearby, *nearby), exact))
    # A row of the array is d sums of d products and d rotations, so what is computed belongs to data that differ by
    # about 3 d units of rounding, added over n rows at worst; d <= 5 and n <= 4 make 60. Six draws of the signs find
    # half of the worst. The second term is the rounding of the result itself, of d products each.
    assert np.all(differences(found, exact) <= 120 * caused + 20 * 2.0**-52)


def test_nearly_parallel_measurements_a_million_times_more_exact_than_the_prior(rng):
    """The prior of 1e4, rows that differ by 1e-7, noise of 1e-6: 1 + B^T H^T W H B rounds to rank one."""
    B, w = 1e4 * np.eye(3), np.full(2, 1e12)
    H = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-7]])
    y = rng.standard_normal(2)
    _, P, square = exact_update(B, H, y, w)
    _, B_next, found, _ = updated(B, H, y, w)
    # f is rounded by 1e-16 |B| |h| sqrt(w) = 1e-6, and the difference of the rows moves it by 1e3: 1e-9, and a few
    np.testing.assert_allclose(found, float(square), rtol=1e-8)
    across = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)  # not measured: as unknown as before
    np.testing.assert_allclose(np.linalg.norm(across @ B_next) ** 2, 1e8, rtol=1e-12)
    np.testing.assert_allclose(np.diag(B_next @ B_next.T), np.diag(P).astype(float), rtol=1e-6)
    assert_as_exact_as_its_data(B, H, y, w, rng)


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 5),
    n=st.integers(1, 4),
    exactness=st.floats(-3, 6),
    parallel=st.floats(-6, 0),
)
@settings(max_examples=60)
def test_updates_are_as_exact_as_their_data(seed, d, n, exactness, parallel):
    """Priors and noises of many orders of magnitude, rows that are nearly parallel."""
    rng = np.random.default_rng(seed)
    B = np.tril(rng.standard_normal((d, d)) * 10 ** rng.uniform(-2, 2, d))
    H = rng.standard_normal(d) + 10**parallel * rng.standard_normal((n, d))
    w = 10 ** (2 * exactness + rng.uniform(-2, 2, n))
    y = H @ B @ rng.standard_normal(d) + rng.standard_normal(n) / np.sqrt(w)
    assert_as_exact_as_its_data(B, H, y, w, rng)


def test_many_updates_lose_nothing(rng):
    """Two nearly parallel rows, fifty times: information adds up, where the textbook's (1 - K H) P loses its sign."""
    B, w = 1e4 * np.eye(3), np.full(2, 1e12)
    H = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-7]])
    P = B @ B.T
    for _ in range(50):
        _, B, *_ = updated(B, H, rng.standard_normal(2), w)
        S = H @ P @ H.T + np.eye(2) / 1e12
        P = P - P @ H.T @ np.linalg.solve(S, H @ P)
    exact = exact_update(1e4 * np.eye(3), np.tile(H, (50, 1)), np.ones(100), np.tile(w, 50))[1].astype(float)
    # h^T B is rounded by 1e-16 |h| |B| = 2e-12 at each of 100 rows, beside its value of 1e-7 in the end
    np.testing.assert_allclose(B @ B.T, exact, rtol=1e-3)
    assert np.linalg.eigvalsh(P)[0] < 0
