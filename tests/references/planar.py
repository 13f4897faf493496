"""Planar contact done slowly: outlines drawn from their definitions, and impulses found by trying every mode."""

from __future__ import annotations

import itertools

import numpy as np

from poinsot.models.planar.body import contacts_at


def ellipse_points(a: float, b: float, count: int) -> np.ndarray:
    beta = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.column_stack([a * np.cos(beta), b * np.sin(beta)])


def round_polygon_points(vertices: np.ndarray, radius: float, count: int) -> np.ndarray:
    """Sides that are moved inwards by the radius meet in the centers; circles about them make the outline."""
    moved = []
    for here, there in zip(vertices, np.roll(vertices, -1, axis=0), strict=True):
        along = (there - here) / np.linalg.norm(there - here)
        inwards = np.array([-along[1], along[0]])  # counterclockwise
        moved.append((inwards, inwards @ here + radius))
    centers = [
        np.linalg.solve([before[0], after[0]], [before[1], after[1]])
        for before, after in zip(np.roll(np.array(moved, dtype=object), 1, axis=0), moved, strict=True)
    ]
    circle = radius * ellipse_points(1.0, 1.0, count)
    return np.concatenate([center + circle for center in centers])


def placed(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Points of the body where they are."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return pose[:2] + points @ np.array([[c, s], [-s, c]])


def works(motion, shape, walls) -> np.ndarray:
    """(T, 2) of normal and of tangential impulses: each times the mean velocity along it, before and after."""
    found = np.empty((len(motion.impulses), 2))
    for k, impulses in enumerate(motion.impulses):
        directions = np.array(contacts_at(motion.poses[k], shape, walls)[1:])
        along = directions @ (0.5 * (motion.velocities[k] + motion.velocities[k + 1]))
        found[k] = np.sum(along.T * impulses, axis=0)
    return found


def heights(points: np.ndarray, x: float, y: float, slope: float) -> np.ndarray:
    """Of points above a wall."""
    return (points - [x, y]) @ np.array([-np.sin(slope), np.cos(slope)])


def random_contacts(
    rng: np.random.Generator, count: int, spread: float = np.pi, longest: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """N and T (count, 3) of walls that face within `spread` of upwards, struck with levers from short to long."""
    alpha = rng.uniform(-spread, spread, count)
    t = np.column_stack([np.cos(alpha), np.sin(alpha)])
    n = np.column_stack([-t[:, 1], t[:, 0]])
    r = rng.normal(size=(count, 2)) * longest * 10 ** rng.uniform(-3, 0, (count, 1))
    return (
        np.column_stack([n, r[:, 0] * n[:, 1] - r[:, 1] * n[:, 0]]),
        np.column_stack([t, r[:, 0] * t[:, 1] - r[:, 1] * t[:, 0]]),
    )


OPEN, STICKS, SLIDES_LEFT, SLIDES_RIGHT = range(4)


def impulses_by_modes(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, b: np.ndarray, mu: float
) -> list[np.ndarray]:
    """All c (C, 2) that solve it, one for each combination of modes that has one."""
    C = len(N)
    found = []
    for modes in itertools.product(range(4), repeat=C):
        columns, rows, right = [], [], []
        for i, mode in enumerate(modes):
            if mode == OPEN:
                continue
            rows.append(N[i])
            right.append(-(N[i] @ v) - b[i, 0])
            if mode == STICKS:
                columns += [N[i], T[i]]
                rows.append(T[i])
                right.append(-(T[i] @ v) - b[i, 1])
            else:
                columns.append(N[i] + (mu if mode == SLIDES_LEFT else -mu) * T[i])
        c = np.zeros((C, 2))
        if columns:
            A = np.array(rows) * W @ np.array(columns).T
            norm = np.linalg.norm(A, axis=1).prod()
            if abs(np.linalg.det(A)) <= 1e-11 * norm:
                continue
            values = list(np.linalg.solve(A, right))
            for i, mode in enumerate(modes):
                if mode == STICKS:
                    c[i] = values.pop(0), values.pop(0)
                elif mode != OPEN:
                    c[i, 0] = values.pop(0)
                    c[i, 1] = (mu if mode == SLIDES_LEFT else -mu) * c[i, 0]
        if violation(N, T, W, v, b, mu, c) < 1e-7:
            found.append(c)
    return found


def violation(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, b: np.ndarray, mu: float, c: np.ndarray
) -> float:
    """The worst of all conditions, against the sizes of what they are sums of."""
    if not np.isfinite(c).all():
        return float("inf")
    v_after = v + W * (N.T @ c[:, 0] + T.T @ c[:, 1])
    gain = W * (np.abs(N).T @ np.abs(c[:, 0]) + np.abs(T).T @ np.abs(c[:, 1]))
    size_n = np.abs(N) @ (np.abs(v) + gain) + np.abs(b[:, 0])
    size_t = np.abs(T) @ (np.abs(v) + gain) + np.abs(b[:, 1])
    lightest = np.sqrt(max((N**2 @ W).max(), (T**2 @ W).max()))
    size_c = max(np.abs(c).max(), np.abs(v).max() / lightest / np.sqrt(W.max()), 1e-300)
    away, slip = (N @ v_after + b[:, 0]) / size_n, (T @ v_after + b[:, 1]) / size_t
    c_n, c_t = c[:, 0] / size_c, c[:, 1] / size_c
    spare = mu * c_n - np.abs(c_t)
    # |slip| lambda: it slips only with all of the cone, and against it
    wrong = [
        *np.abs(np.minimum(c_n, away)),
        *(-spare),
        *np.minimum(np.abs(slip), spare),
        *np.minimum(slip, c_t),
        *np.minimum(-slip, -c_t),
    ]
    return float(max(wrong))


def impulses_by_small_steps(
    N: np.ndarray,
    T: np.ndarray,
    W: np.ndarray,
    v: np.ndarray,
    mu: float,
    epsilon: float,
    law: str,
    steps: int,
) -> np.ndarray:
    """(c_n, c_t) by equal steps of the normal impulse, each with the friction in the cone that stops the slip."""
    a_nn, a_nt, a_tt = (N * W) @ N, (N * W) @ T, (T * W) @ T
    u_n, u_t = N @ v, T @ v
    first, dp, p, c_t, work, turned = u_n, -u_n / a_nn / steps, 0.0, 0.0, 0.0, None
    while True:
        k = np.clip(-(u_t / dp + a_nt) / a_tt, -mu, mu)
        after = u_n + (a_nn + k * a_nt) * dp
        work += 0.5 * (u_n + after) * dp
        u_n, u_t, p, c_t = after, u_t + (a_nt + k * a_tt) * dp, p + dp, c_t + k * dp
        if turned is None and u_n >= 0:
            turned = p, work
        if turned is not None:
            ends = {
                "newton": u_n >= -epsilon * first,
                "poisson": p >= (1 + epsilon) * turned[0],
                "energetic": work >= (1 - epsilon**2) * turned[1],
            }
            if ends[law]:
                return np.array([p, c_t])
