"""Simulate the frames of this folder: an ellipse of plywood, thrown onto a level floor.

python examples/throw/record.py      # rewrites frames.csv

A camera of 120 frames a second tracks its pose with noise of 1 mm and 0.02 rad. job.toml has its outline, its mass and
the floor; the other true parameters below are for comparison.
"""

from pathlib import Path

import numpy as np

from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot_reproductions.impacts.stepping import simulate

HERE = Path(__file__).parent
RATE_HZ, SECONDS, STEPS_A_FRAME = 120, 0.5, 5000
NOISE = np.array([1e-3, 1e-3, 0.02])
MASS, INERTIA, FRICTION, RESTITUTION = 0.064, 4.84e-5, 0.35, 0.2


def main():
    body = PlanarBody(Ellipse(0.05, 0.025), MASS, INERTIA, FRICTION, RESTITUTION)
    pose, velocity = np.array([0.0, 0.1, -0.785]), np.array([3.0, -5.0, 0.0])
    motion = simulate(body, [floor()], pose, velocity, 1 / (RATE_HZ * STEPS_A_FRAME), SECONDS)
    frames = motion.poses[::STEPS_A_FRAME]
    frames = frames + NOISE * np.random.default_rng(7).standard_normal(frames.shape)
    times = np.arange(len(frames)) / RATE_HZ
    np.savetxt(
        HERE / "frames.csv",
        np.column_stack([times, frames]),
        fmt="%.6f",
        delimiter=",",
        header="t,x,y,angle",
        comments="",
    )


if __name__ == "__main__":
    main()
