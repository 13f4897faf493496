"""Frames of bodies in contact, by kinematics alone: the center as high above the floor as the touching part reaches."""

import numpy as np

from poinsot.estimators.complementarity.collisions import HEIGHT, OF_FLIGHTS, levers
from poinsot.estimators.complementarity.contact_frames import NOISE, UNEVENNESS, ContactFrames, weighed


def touching(theta, along, part, shared, outline, wall):
    """(N, 3) poses as tracked of bodies whose part touches the wall so far along it."""
    alpha = wall.slope + shared[6]
    t = np.array([np.cos(alpha), np.sin(alpha)])
    GQ = levers(theta + shared[4], part, shared[2:4], shared[1], alpha, outline).GQ
    center = along[:, None] * t + np.array([wall.x, wall.y + shared[HEIGHT]]) - GQ
    c, s = np.cos(theta), np.sin(theta)
    o_x, o_y = shared[OF_FLIGHTS][:2]
    return np.column_stack([center + np.column_stack([c * o_x - s * o_y, s * o_x + c * o_y]), theta])


def rocked(count, seed, shared, outline, wall, noise=4e-5, unevenness=3e-4, frames=15):
    """Episodes of squares, one a drop, on one corner each, from anywhere to anywhere; heights that wander with the
    angle, and noise."""
    rng = np.random.default_rng(seed)
    drop, part, poses = [], [], []
    for d in range(count):
        k = int(rng.integers(4))
        theta = np.linspace(*rng.uniform(-0.7, 0.7, 2), frames) + 0.25 * np.pi - 0.5 * np.pi * k - shared[4]
        at = touching(theta, np.full(frames, 0.1), np.full(frames, k), shared, outline, wall)
        steps = rng.normal(size=frames) * np.sqrt(np.append(1.0, np.abs(np.diff(theta)))) * unevenness
        at[:, 1] += np.cumsum(steps) + noise * rng.normal(size=frames)
        drop.append(np.full(frames, d))
        part.append(np.full(frames, k))
        poses.append(at)
    N = count * frames
    where = np.concatenate(drop), np.concatenate(part), np.zeros(N), np.concatenate(poses), np.ones(N)
    return weighed(ContactFrames(*where, NOISE, UNEVENNESS, ()), NOISE, UNEVENNESS)
