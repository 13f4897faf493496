"""The matrix of correlations, and the pairs that it names."""

import numpy as np

from poinsot.report.figures.correlation import correlation_grid, correlations, worst_pairs


def test_correlations_are_those_of_the_covariance(tx40):
    names, r = correlations(tx40)
    k = [tx40.names.index(name) for name in names]
    std = np.sqrt(np.diag(tx40.covariance))[k]
    np.testing.assert_allclose(r * np.outer(std, std), tx40.covariance[np.ix_(k, k)], rtol=1e-12)
    np.testing.assert_allclose(np.diag(r), 1.0)


def test_the_worst_pairs_are_named_and_weak_ones_are_not():
    r = np.array([[1.0, 0.95, 0.2], [0.95, 1.0, -0.99], [0.2, -0.99, 1.0]])
    assert worst_pairs(["a", "b", "c"], r) == ["b and c (-0.99)", "a and b (0.95)"]
    assert worst_pairs(["a", "b"], np.array([[1.0, 0.5], [0.5, 1.0]])) == []


def test_what_is_drawn_is_strong_and_symmetric(tx40):
    grid = correlation_grid(tx40)
    assert grid is not None
    (squares,) = grid.panels[0].data
    places = set(zip(squares["x"], squares["y"], strict=True))
    assert all((j, i) in places and i != j for i, j in places)
    assert all(opacity >= 0.3 for opacity in squares["marker"]["opacity"])
    count = min(len(correlations(tx40)[0]), 40)
    assert f"Correlation of {count} parameters" in grid.panels[0].alt


def test_one_parameter_has_no_correlation(emps):
    single = emps.updated(identifiable=np.array([True, *[False] * (len(emps.names) - 1)]))
    assert correlation_grid(single) is None
    assert correlation_grid(emps) is not None
