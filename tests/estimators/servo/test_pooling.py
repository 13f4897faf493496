"""Partial pooling against simulated truth: the prior of a further joint is where its value is."""

import numpy as np

from poinsot.statistics import predictive_std


def test_a_further_value_is_within_the_interval_as_often_as_it_says():
    # 12 joints whose values differ by 0.3 about 2, measured with errors of 0.1 to 1. Of 2000 draws 95 % intervals hold
    # the next value in 95 % within 1 %; where the spread is small beside the errors, they are somewhat wide.
    rng = np.random.default_rng(3)
    away = []
    for _ in range(2000):
        s = rng.uniform(0.1, 1.0, size=(12, 1))
        mean, std = predictive_std(2 + 0.3 * rng.normal(size=(12, 1)) + s * rng.normal(size=(12, 1)), s)
        away.append((2 + 0.3 * rng.normal() - mean.item()) / std.item())
    assert abs(np.mean(away)) < 0.1
    assert 0.93 < np.mean(np.abs(away) < 1.96) < 0.97


def test_equal_values_give_no_less_than_the_uncertainty_of_their_mean():
    mean, std = predictive_std(np.full((4, 1), 2.0), np.full((4, 1), 0.2))
    assert np.isclose(mean.item(), 2.0)
    # of four values: more than 0.2 / sqrt(4), and no more than one of them is uncertain, with Student's t
    assert 0.1 < std.item() < 0.3
