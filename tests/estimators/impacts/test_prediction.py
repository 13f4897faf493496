"""What a thrown body does after its first flight."""

from __future__ import annotations

import numpy as np

from poinsot.estimators.impacts.prediction import predict_throw
from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot.models.planar.drop import Drop
from poinsot_reproductions.impacts.stepping import simulate

SHAPE, NOISE = Ellipse(0.05, 0.025), np.array([3e-4, 3e-4, 5e-3])
VALUES = {"J/m": (7e-4, 7e-6), "friction": (0.3, 0.01), "restitution": (0.4, 0.01)}


def thrown(seed):
    """Frames and true poses by the fixed steps of `simulate`, with parameters drawn from what is known of them."""
    rng = np.random.default_rng(seed)
    J, friction, restitution = (mean + std * rng.standard_normal() for mean, std in VALUES.values())
    body = PlanarBody(SHAPE, 1.0, J, friction, restitution)
    pose, velocity = np.array([0.0, 0.3, rng.uniform(-1, 1)]), np.array([0.5, -0.5, rng.uniform(-8, 8)])
    motion = simulate(body, [floor()], pose, velocity, 5e-5, 0.4)
    poses = motion.poses[::100]
    times = np.arange(len(poses)) * 5e-3
    return Drop("throw", times, poses + NOISE * rng.standard_normal(poses.shape)), poses


def test_the_interval_holds_the_motion_before_and_after_the_first_impact():
    """Poses 25 ms before the first impact and about one bounce after it, over 40 throws: 95 %, at least 85 %."""
    held = {"flight": [], "bounce": []}
    for seed in range(40):
        drop, poses = thrown(seed)
        seen = Drop("throw", drop.times[:20], drop.poses[:20])
        found = predict_throw(seen, drop.times, SHAPE, [floor()], VALUES, NOISE)
        assert found.until == seen.times[-1]
        inside = (found.low < poses) & (poses < found.high)
        held["flight"].append(inside[30])
        held["bounce"].append(inside[55])
    for rows in held.values():
        assert np.mean(rows) > 0.85


def test_exact_frames_give_the_exact_motion():
    body = PlanarBody(SHAPE, 1.0, 7e-4, 0.3, 0.4)
    motion = simulate(body, [floor()], np.array([0.0, 0.3, 0.4]), np.array([0.5, -0.5, 3.0]), 1e-5, 0.4)
    poses, times = motion.poses[::500], np.arange(len(motion.poses[::500])) * 5e-3
    drop = Drop("throw", times[:8], poses[:8])
    exact = {name: (mean, 0.0) for name, (mean, _) in VALUES.items()}
    found = predict_throw(drop, times, SHAPE, [floor()], exact, np.full(3, 1e-4))
    # an impact of the reference is up to a step late, and turns the body by less than 50 rad/s until then
    np.testing.assert_allclose(found.poses, poses, atol=50 * 1e-5)
    assert np.all(found.low <= found.high)


def test_frames_after_the_flight_are_not_used():
    drop, _ = thrown(1)
    found = predict_throw(drop, drop.times, SHAPE, [floor()], VALUES, NOISE)
    struck = np.flatnonzero(np.abs(np.diff(drop.poses[:, 1], 2)) > 5e-3)[0]
    assert found.until <= drop.times[struck + 1]
