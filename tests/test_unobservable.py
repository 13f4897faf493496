"""Directions that nothing sees, in words, whatever basis they come in."""

import numpy as np
import pytest

from poinsot.estimate.uncertainty import unobservable_directions

NAMES = ("m", "mx", "zz", "fv", "k")
VALUES = np.array([2.0, 0.1, 0.05, 0.0, 1.0])


def words(unseen, unknown=()):
    found = unobservable_directions(NAMES, VALUES, unseen, unknown)
    assert all(each.reason == "unexcited" for each in found)
    return [each.combination for each in found]


def test_nothing_unseen_is_nothing_said():
    assert words(np.zeros((5, 0))) == []


def test_single_parameters_are_named_alone(rng):
    """In any basis of the same directions."""
    unseen = np.eye(5)[:, [0, 3]] @ rng.standard_normal((2, 2))
    assert sorted(words(unseen)) == ["fv", "m"]


def test_a_combination_says_how_parameters_move_together():
    (text,) = words(np.array([[2.0], [0.0], [-0.1], [0.0], [0.0]]))
    moves = {"m - 0.05 zz": (1.0, -0.05), "zz - 20 m": (-20.0, 1.0)}
    assert text in moves  # zz moves most for its size
    assert text == "zz - 20 m"


def test_combinations_span_what_is_unseen(rng):
    """Read back from the words, they move what the basis moves."""
    unseen = rng.standard_normal((5, 2))
    read = np.zeros((5, 2))
    for k, text in enumerate(words(unseen)):
        sign, factor = 1.0, 1.0
        for word in text.replace("-", " - ").split():
            if word in "+-":
                sign = 1.0 if word == "+" else -1.0
            elif word in NAMES:
                read[NAMES.index(word), k] = sign * factor
                sign, factor = 1.0, 1.0
            else:
                factor = float(word)
    size = np.where(VALUES > 0, VALUES, 1.0)[:, None]
    basis = np.linalg.qr(unseen / size)[0]
    off = read / size - basis @ (basis.T @ (read / size))
    assert np.linalg.norm(off, axis=0).max() < 0.02 * np.linalg.norm(read / size, axis=0).min()


def test_long_ones_are_cut():
    names = tuple(f"p{k}" for k in range(9))
    (found,) = unobservable_directions(names, np.ones(9), np.linspace(1.0, 2.0, 9)[:, None], ())
    assert found.combination.endswith("... (9 terms)") and found.combination.count("p") == 6


def test_rounding_is_left_out():
    assert words(np.array([[1.0], [1e-9], [0.0], [0.0], [1e-7]])) == ["m"]


@pytest.mark.parametrize("unknown", [("m", "zz"), ("zz",)])
def test_parameters_that_are_as_wide_as_assumed_are_named_once(unknown):
    found = words(np.eye(5)[:, :1], unknown)
    assert found == ["m", "zz"]
