"""Partial pooling against simulated truth."""

import numpy as np

from poinsot.estimators.servo.between_joints import random_effects


def test_a_further_value_is_as_far_from_the_mean_as_it_says():
    # 12 joints whose values differ by 0.3 about 2, measured with errors of 0.1 to 1: the next value, whitened, has
    # variance 1. Of 4000 draws its standard deviation is within 0.02; tau^2 is estimated, so more is at the ends.
    rng = np.random.default_rng(3)
    whitened = []
    for _ in range(4000):
        s = rng.uniform(0.1, 1.0, size=12)
        mean, std = random_effects(2 + 0.3 * rng.normal(size=12) + s * rng.normal(size=12), s)
        whitened.append((2 + 0.3 * rng.normal() - mean) / std)
    assert abs(np.mean(whitened)) < 0.1
    assert 0.9 < np.median(np.abs(whitened)) / 0.6745 < 1.2


def test_equal_values_give_the_uncertainty_of_their_mean():
    mean, std = random_effects(np.full(4, 2.0), np.full(4, 0.2))
    assert np.isclose(mean, 2.0)
    assert np.isclose(std, 0.1)
