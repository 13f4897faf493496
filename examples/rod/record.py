"""Simulate the frames of this folder: a rod that is thrown four times onto a ramp beside a wall.

python examples/rod/record.py      # rewrites throw_1.csv to throw_4.csv

A camera of 240 frames a second tracks its pose with noise of 0.5 mm and 4 mrad. Slip stops and reverses within impacts,
which obey Poisson's law. The ramp is 3 mm higher than job.toml says, and the tracked point 4 mm from the mass center.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from poinsot.models.planar import PlanarBody, Wall, rectangle
from poinsot.models.planar.drop import of_point
from poinsot.models.planar.events import moved

HERE = Path(__file__).parent
RATE_HZ, SECONDS = 240, 0.6
NOISE = np.array([5e-4, 5e-4, 4e-3])
LENGTH, WIDTH, FRICTION, RESTITUTION = 0.2, 0.024, 0.25, 0.55
INERTIA_TO_MASS = (LENGTH**2 + WIDTH**2) / 12
RAMP, WALL = Wall(0.0, 0.0, 0.15), Wall(0.5, 0.0, np.pi / 2)
HIGHER, TRACKED = 0.003, np.array([0.004, 0.0])


def main():
    rng = np.random.default_rng(4)
    body = PlanarBody(rectangle(LENGTH, WIDTH), 1.0, INERTIA_TO_MASS, FRICTION, RESTITUTION, law="poisson")
    walls, times = [replace(RAMP, y=HIGHER), WALL], np.arange(round(SECONDS * RATE_HZ)) / RATE_HZ
    for number in range(1, 5):
        pose = np.array([rng.uniform(-0.1, 0.1), rng.uniform(0.25, 0.35), rng.uniform(-3, 3)])
        velocity = np.array([rng.uniform(0.5, 2.0), rng.uniform(-1.5, 0.0), rng.uniform(-10, 10)])
        frames = of_point(moved(body, walls, pose, velocity, times)[0], TRACKED)
        table = np.column_stack([times, frames + NOISE * rng.standard_normal(frames.shape)])
        np.savetxt(
            HERE / f"throw_{number}.csv", table, fmt="%.5f", delimiter=",", header="t,x,y,angle", comments=""
        )


if __name__ == "__main__":
    main()
