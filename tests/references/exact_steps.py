"""Throws by the exact stepper at small steps, which shares no code with the event-driven simulation of shooting."""

from functools import lru_cache

import numpy as np

from poinsot.models.planar import PlanarBody
from poinsot_reproductions.impacts.stepping import Motion, simulate

STEP = 2e-6
"""[s]. Implicit Euler is off by g h t / 2, 5 micrometers after half a second, and an impact is late by h at most.
Impacts amplify that: to chi-square of the throws here it adds less than one (in proportion to h^2; 23 at 1e-5)."""


def stepped(body: PlanarBody, walls, pose, velocity, times, forces=None) -> tuple[np.ndarray, Motion]:
    """(N, 3) poses at evenly spaced times (N,), and the motion; forces (N - 1, 3) are held between frames."""
    forces = None if forces is None else tuple(map(tuple, forces))
    interval = float(times[1] - times[0])
    poses, motion = _stepped(
        body, tuple(walls), tuple(pose), tuple(velocity), interval, len(times) - 1, forces
    )
    return poses.copy(), motion


@lru_cache(maxsize=8)
def _stepped(body, walls, pose, velocity, interval, intervals, forces):
    every = round(interval / STEP)
    step, count = interval / every, every * intervals
    held = None if forces is None else np.repeat(np.array(forces), every, axis=0)
    start = np.array(pose, float), np.array(velocity, float)
    motion = simulate(body, walls, *start, step, count * step, forces=held)
    return motion.poses[::every], motion


def contacts_struck(motion: Motion) -> np.ndarray:
    """(steps with an impulse, C) whether each contact was struck."""
    return motion.impulses[motion.struck, :, 0] > 0
