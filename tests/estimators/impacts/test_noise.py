import numpy as np
import pytest

from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot.models.planar.drop import Drop, tracker_noise
from poinsot.models.planar.events import moved

NOISE = np.array([1e-3, 1e-3, 0.02])


def test_noise_is_seen_between_impacts():
    times = np.arange(121) / 240
    body = PlanarBody(Ellipse(0.05, 0.025), 1.0, 7.5625e-4, 0.3, 0.2)
    poses, _, _ = moved(body, [floor()], np.array([0, 0.1, -0.785]), np.array([3.0, -5, 0]), times)
    poses = poses + NOISE * np.random.default_rng(0).standard_normal(poses.shape)
    assert tracker_noise([Drop("throw", times, poses)]) == pytest.approx(NOISE, rel=0.4)
    # uneven frames: divided differences
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(0, 1, 400))
    poses = np.column_stack([3 * times, 2 * times - 4.905 * times**2, 5 * times])
    poses = poses + NOISE * rng.standard_normal(poses.shape)
    assert tracker_noise([Drop("throw", times, poses)]) == pytest.approx(NOISE, rel=0.2)
