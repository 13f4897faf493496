"""Slopes by central differences, over all directions of a robot's state in one call."""

import numpy as np
import pinocchio as pin

STEP = 1e-6


def by_state(function, robot, q, v):
    """(T, m, n) slopes of `function(q, v)` (T, m) by q along its tangent, and by v."""
    T, n = v.shape
    d = STEP * np.concatenate([np.eye(2 * n), -np.eye(2 * n)])
    states = [(pin.integrate(robot.model, q[t], x[:n]), v[t] + x[n:]) for x in d for t in range(T)]
    values = np.asarray(function(np.array([q for q, _ in states]), np.array([v for _, v in states])))
    values = values.reshape(2, 2 * n, T, -1)
    slope = np.moveaxis((values[0] - values[1]) / (2 * STEP), 0, -1)
    return slope[..., :n], slope[..., n:]


def by_vector(function, x, step=STEP):
    """(..., p) slope of `function(x)` (...) by x (p,)."""
    d = step * np.eye(len(x))
    return np.stack([(function(x + e) - function(x - e)) / (2 * step) for e in d], axis=-1)


def assert_slope(slope, differences, tolerance=2e-6):
    """Equal relative to the largest entry, which is what differences can tell."""
    size = np.abs(differences).max(initial=0.0)
    assert np.abs(slope - differences).max(initial=0.0) <= tolerance * max(1.0, size)
