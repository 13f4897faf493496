"""Quadratic programs in a box."""

import numpy as np

from poinsot.solve.dense import step_in_box


def test_the_step_in_a_box_meets_the_conditions_of_optimality(rng):
    """Karush, Kuhn and Tucker: no gradient inside, one that points out of the box at a bound; of any scales."""
    for _ in range(500):
        p = int(rng.integers(1, 8))
        A = rng.standard_normal((p + 3, p)) * 10 ** rng.uniform(-2, 2, p)
        S, scale = A.T @ A, 1 / np.linalg.norm(A, axis=0)
        g = rng.standard_normal(p) / scale
        lower, upper = (rng.uniform(0, 1, p) * scale * rng.choice([0, 1, 1e9], p) for _ in range(2))
        d = step_in_box(S, g, -lower, upper)
        assert (-lower <= d).all() and (d <= upper).all()
        slope = (S @ d + g) * scale
        slope = np.where(d <= -lower, np.minimum(slope, 0), np.where(d >= upper, np.maximum(slope, 0), slope))
        held = upper <= -lower  # both are 0
        np.testing.assert_allclose(slope[~held], 0, atol=1e-12 * max(1.0, np.abs(g * scale).max()))
