"""Flights: the filter against dense generalized least squares, its derivatives, and the noise of simulated ones."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.impacts.flights import GRAVITY, FlightModel, calibrated, filtered, flight, glide
from poinsot.exceptions import InvalidRecording
from poinsot.models.planar.drop import Drop, tracker_noise

MODEL = FlightModel(
    np.array([4e-4, -3e-4]), np.array([0.4, 0.3]), np.array([2e-5, 4e-5, 1e-3]), np.array([1e-3, 2e-3, 0.5])
)


def flown(rng: np.random.Generator, frames: int, model: FlightModel = MODEL, interval: float = 0.004) -> Drop:
    """By the law itself, step by step, with its noise."""
    t = np.cumsum(interval * rng.uniform(0.7, 1.3, frames))
    s, v = np.array([-0.3, 0.2, 1.0]), np.array([-0.5, 1.0, 8.0])
    poses = np.empty((frames, 3))
    for i in range(frames):
        if i:
            T = t[i] - t[i - 1]
            for a in range(3):
                f, b, decay = glide(model.drag[int(a == 2)], T)
                fall = GRAVITY if a == 1 else 0.0
                Q = model.wander[a] * np.array([[T**3 / 3, T**2 / 2], [T**2 / 2, T]])
                w = np.linalg.cholesky(Q + 1e-30 * np.eye(2)) @ rng.normal(size=2)
                s[a], v[a] = s[a] + f * v[a] - fall * b + w[0], decay * v[a] - fall * f + w[1]
        c, sine = np.cos(s[2]), np.sin(s[2])
        R = np.array([[c, -sine], [sine, c]])
        poses[i] = np.append(s[:2] + R @ model.offset, s[2])
    return Drop("flown", t, poses + model.noise * rng.normal(size=poses.shape))


def test_both_ends_are_those_of_dense_least_squares(rng):
    n, k, variance, wander, gamma = 9, 0.7, 1e-8, 3e-3, 9.81
    t = np.cumsum(rng.uniform(0.003, 0.006, n))
    y = rng.normal(size=n)
    # unknowns: s, v at each frame; what wander adds in each interval is a residual of covariance Q
    A, b, W = np.zeros((n + 2 * (n - 1), 2 * n)), np.zeros(n + 2 * (n - 1)), np.zeros((n + 2 * (n - 1),) * 2)
    for i in range(n):
        A[i, 2 * i], b[i], W[i, i] = 1.0, y[i], 1 / variance
    for i in range(n - 1):
        T, row = t[i + 1] - t[i], slice(n + 2 * i, n + 2 * i + 2)
        f, fall = -np.expm1(-k * T) / k, (T + np.expm1(-k * T) / k) / k
        A[row, 2 * i : 2 * i + 2] = -np.array([[1, f], [0, np.exp(-k * T)]])
        A[row, 2 * i + 2 : 2 * i + 4] = np.eye(2)
        b[row] = [-gamma * fall, -gamma * f]
        W[row, row] = np.linalg.inv(wander * np.array([[T**3 / 3, T**2 / 2], [T**2 / 2, T]]))
    inverse = np.linalg.inv(A.T @ W @ A)
    x = inverse @ (A.T @ W @ b)
    ends = np.array([0, 1, 2 * n - 2, 2 * n - 1])
    mean, covariance, e, _ = filtered(t, y[:, None], np.array([gamma]), k, variance, wander)
    # condition of the dense problem: 1e8 or so
    np.testing.assert_allclose(mean[0], x[ends], rtol=1e-5)
    np.testing.assert_allclose(covariance, inverse[np.ix_(ends, ends)], rtol=1e-4, atol=1e-12)
    assert np.sum(e**2) == pytest.approx((b - A @ x) @ W @ (b - A @ x), rel=1e-6)


def test_derivatives_by_what_flights_share(rng):
    drop = flown(rng, 12)
    frames = np.arange(12)
    here = flight(drop, frames, MODEL)
    step = np.array([1e-6, 1e-6, 1e-3, 1e-3])
    for j in range(4):
        ends = []
        for sign in (1, -1):
            moved = np.concatenate([MODEL.offset, MODEL.drag])
            moved[j] += sign * step[j]
            ends.append(flight(drop, frames, replace(MODEL, offset=moved[:2], drag=moved[2:])))
        slope = (ends[0].mean - ends[1].mean) / (2 * step[j])
        np.testing.assert_allclose(here.by_shared[:, j], slope, rtol=1e-5, atol=1e-7)
        slope = (ends[0].innovations - ends[1].innovations) / (2 * step[j])
        np.testing.assert_allclose(here.innovations_by_shared[:, j], slope, rtol=1e-4, atol=1e-4)


def test_ends_and_innovations_have_their_covariance(rng):
    """Normalized squares of the noise's effect are chi-square, by 300 flights: 5 standard deviations of their mean."""
    total, innovations = [], []
    for _ in range(300):
        drop = flown(rng, 8, replace(MODEL, wander=np.zeros(3)))
        found = flight(drop, np.arange(8), replace(MODEL, wander=np.full(3, 1e-12)))
        innovations.append(np.sum(found.innovations**2))
        start = found.mean[:6]
        true = np.array([-0.3, 0.2, 1.0, -0.5, 1.0, 8.0])
        miss = start - true
        total.append(miss @ np.linalg.solve(found.covariance[:6, :6], miss))
    assert np.mean(total) == pytest.approx(6, abs=5 * np.sqrt(12 / 300))
    assert np.mean(innovations) == pytest.approx(18, abs=5 * np.sqrt(36 / 300))


def test_calibration_returns_offset_drag_and_noise(rng):
    quiet = replace(MODEL, wander=MODEL.wander / 100)
    pieces = [(flown(rng, 40, quiet), np.arange(40)) for _ in range(30)]
    found = FlightModel(noise=tracker_noise([drop for drop, _ in pieces]))
    for _ in range(3):
        found = calibrated(pieces, found)
    E = np.concatenate([flight(drop, frames, found).innovations_by_shared for drop, frames in pieces])
    miss = np.concatenate([found.offset - MODEL.offset, found.drag - MODEL.drag])
    # chi-square of four: above 20 once in two thousand
    assert miss @ (E.T @ E) @ miss < 20
    assert (np.diag(np.linalg.inv(E.T @ E)) < [4e-8, 4e-8, 0.01, 0.01]).all()
    # 1200 frames: a standard deviation of 2 % and some for what wander takes
    np.testing.assert_allclose(found.noise, MODEL.noise, rtol=0.1)
    np.testing.assert_allclose(np.sqrt(found.wander), np.sqrt(quiet.wander), rtol=0.35)


@pytest.mark.parametrize(
    ("times", "poses", "message"),
    [
        (np.array([0, 2, 1, 3.0]), np.zeros((4, 3)), "out of order"),
        (np.arange(3.0), np.zeros((3, 3)), "at least four frames"),
        (np.arange(4.0), np.full((4, 3), np.nan), "not finite"),
    ],
)
def test_bad_drops_are_refused(times, poses, message):
    with pytest.raises(InvalidRecording, match=message):
        Drop("thrown", times, poses)
