"""Throws by the exact stepper at small steps, which shares no code with the event-driven simulation of shooting."""

import numpy as np

from poinsot.models.planar import Body, Motion, simulate

STEP = 1e-5
"""[s]: implicit Euler is off by g h t / 2, 25 micrometers after half a second, and an impact is late by h at most, 50
micrometers at 5 m/s; a tenth of the noise of the frames, or less."""


def stepped(body: Body, walls, pose, velocity, times, forces=None) -> tuple[np.ndarray, Motion]:
    """(N, 3) poses at evenly spaced times (N,), and the motion; forces (N - 1, 3) are held between frames."""
    every = round((times[1] - times[0]) / STEP)
    step = float(times[1] - times[0]) / every
    held = None if forces is None else np.repeat(forces, every, axis=0)
    count = every * (len(times) - 1)
    motion = simulate(
        body, walls, np.array(pose, float), np.array(velocity, float), step, count * step, forces=held
    )
    return motion.poses[::every].copy(), motion


def contacts_struck(motion: Motion) -> np.ndarray:
    """(steps with an impulse, C) whether each contact was struck."""
    return motion.impulses[motion.struck, :, 0] > 0
