"""Simulate the frames of this folder: a box that is tossed onto a floor six times, tracked in space.

python examples/cube/record.py      # rewrites toss_1.csv to toss_6.csv

A camera of 150 frames a second tracks place and orientation with noise of 0.4 mm and 4 mrad. Flights are integrated in
steps of 0.2 ms; in an impact the normal impulse grows in steps, and friction acts in each. A toss ends before the box
lies.
"""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

HERE = Path(__file__).parent
RATE_HZ, STEPS_A_FRAME, SECONDS, PULSE = 150, 33, 0.7, 2e-4
NOISE, TURN_NOISE = 4e-4, 4e-3
SIDES = np.array([0.12, 0.1, 0.08])
J = np.diag([1.5e-3, 2.0e-3, 2.2e-3])
"""J/m about the center of mass [m^2]: not of uniform density."""
FRICTION, RESTITUTION = 0.22, 0.4
G, UP = np.array([0.0, 0.0, -9.81]), np.array([0.0, 0.0, 1.0])
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * SIDES / 2


def impulse(K, u):
    """Impulse by mass at a contact's velocity u: Newton's restitution, Coulomb's friction."""
    total, first, u = np.zeros(3), u @ UP, u.copy()
    while u @ UP < -RESTITUTION * first:
        slip = u - (u @ UP) * UP
        push = UP - FRICTION * slip / np.sqrt(slip @ slip + 1e-6)
        total, u = total + PULSE * push, u + PULSE * K @ push
    return total


def toss(rng):
    """Times, places and rotations of a toss."""
    p, v = np.array([0, 0, rng.uniform(0.2, 0.4)]), rng.uniform([-0.8, -0.8, -1.0], [0.8, 0.8, 0.5])
    R, w, h = Rotation.random(random_state=rng), 5 * rng.standard_normal(3), 1 / (RATE_HZ * STEPS_A_FRAME)
    places, turns = [], []
    for step in range(round(SECONDS * RATE_HZ) * STEPS_A_FRAME):
        if step % STEPS_A_FRAME == 0:
            places.append(p)
            turns.append(R)
        middle = w + 0.5 * h * np.linalg.solve(J, np.cross(J @ w, w))
        w = w + h * np.linalg.solve(J, np.cross(J @ middle, middle))
        p, v, R = p + h * v + 0.5 * h**2 * G, v + h * G, R * Rotation.from_rotvec(h * middle)
        r = min(R.apply(CORNERS), key=lambda corner: corner @ UP)
        u = v + np.cross(R.apply(w), r)
        if (p + r) @ UP < 0 and u @ UP < 0:
            if u @ UP > -0.15:
                break
            W = R.as_matrix() @ np.linalg.inv(J) @ R.as_matrix().T
            K = np.column_stack([axis + np.cross(W @ np.cross(r, axis), r) for axis in np.eye(3)])
            c = impulse(K, u)
            v, w = v + c, w + R.inv().apply(W @ np.cross(r, c))
    return np.arange(len(places)) / RATE_HZ, np.array(places), Rotation.concatenate(turns)


def main():
    rng, number = np.random.default_rng(2), 1
    while number <= 6:
        times, places, turns = toss(rng)
        if len(times) < 0.35 * RATE_HZ:
            continue
        places = places + NOISE * rng.standard_normal(places.shape)
        turns = turns * Rotation.from_rotvec(TURN_NOISE * rng.standard_normal(places.shape))
        np.savetxt(
            HERE / f"toss_{number}.csv",
            np.column_stack([times, places, turns.as_quat()]),
            fmt="%.5f",
            delimiter=",",
            header="t,x,y,z,qx,qy,qz,qw",
            comments="",
        )
        number += 1


if __name__ == "__main__":
    main()
