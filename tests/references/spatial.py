"""Tosses in space, simulated by small steps: the spin by explicit midpoints, impacts by small impulses."""

import numpy as np
from scipy.spatial.transform import Rotation

G = np.array([0.0, 0.0, -9.81])
STEP, PULSE = 5e-4, 5e-5
SLIP = 1e-3


def pushed(K, n, u, friction, restitution, law, pulse=PULSE):
    """Impulse by mass of an impact at velocity u of the corner: Coulomb friction against the slip at every pulse."""
    u, impulse, p, work = u.copy(), np.zeros(3), 0.0, 0.0
    first, goal, spent = u @ n, np.inf, 0.0
    while True:
        s = u - (u @ n) * n
        f = n - friction * s / np.sqrt(s @ s + SLIP**2)
        new = u + pulse * K @ f
        impulse, p, work = impulse + pulse * f, p + pulse, work + 0.5 * pulse * (u @ n + new @ n)
        if goal == np.inf and new @ n >= 0:
            goal, spent, work = (1 + restitution) * p, -work, 0.0
        u = new
        ends = {
            "newton": u @ n >= -restitution * first, "poisson": p >= goal, "energetic": work >= restitution**2 * spent,
        }  # fmt: skip
        if goal < np.inf and ends[law]:
            return impulse


def flown(state, J, s):
    """Place, velocity, rotation and spin in the body's frame after s seconds of free flight."""
    p, v, R, w = state
    middle = w + 0.5 * s * np.linalg.solve(J, np.cross(J @ w, w))
    w = w + s * np.linalg.solve(J, np.cross(J @ middle, middle))
    return p + s * v + 0.5 * s * s * G, v + s * G, R * Rotation.from_rotvec(s * middle), w


def struck(state, J, corners, n, friction, restitution, law):
    """The state after the impact of the lowest corner; None where it does not approach."""
    p, v, R, w = state
    r = min((R.apply(corner) for corner in corners), key=lambda x: x @ n)
    u = v + np.cross(R.apply(w), r)
    if u @ n >= 0:
        return None
    W = R.as_matrix() @ np.linalg.inv(J) @ R.as_matrix().T
    K = np.array([np.eye(3)[k] + np.cross(W @ np.cross(r, np.eye(3)[k]), r) for k in range(3)]).T
    impulse = pushed(K, n, u, friction, restitution, law)
    return p, v + impulse, R, w + R.inv().apply(W @ np.cross(r, impulse))


def tossed(rng, corners, J, friction, restitution, law, rate_hz=200, seconds=0.7, noise=(3e-4, 3e-3)):
    """Times, places (N, 3) and quaternions (N, 4) of a toss over the floor z = 0, as a camera with noise sees it."""
    n = np.array([0.0, 0.0, 1.0])
    size = np.linalg.norm(corners, axis=1).max()
    state = (
        np.array([0.0, 0.0, size + rng.uniform(0.1, 0.3)]), rng.uniform(-0.8, 0.8, 3), Rotation.random(rng=rng),
        rng.normal(size=3) * 5,
    )  # fmt: skip
    frames, steps = [], round(1 / rate_hz / STEP)
    for k in range(round(seconds * rate_hz) * steps):
        if k % steps == 0:
            frames.append((k * STEP, state[0], state[2]))
        state = flown(state, J, STEP)
        if min((state[0] + state[2].apply(corner)) @ n for corner in corners) < 0:
            state = struck(state, J, corners, n, friction, restitution, law) or state
    times, places, turns = zip(*frames, strict=True)
    N = len(times)
    turned = Rotation.concatenate(turns) * Rotation.from_rotvec(noise[1] * rng.normal(size=(N, 3)))
    return np.array(times), np.array(places) + noise[0] * rng.normal(size=(N, 3)), turned.as_quat()
