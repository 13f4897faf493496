"""Joints with equal true parameters pass the test of equality as often as it says; unequal ones do not."""

import numpy as np
import pytest

import poinsot
from poinsot import PoinsotError, equality_of_joints
from poinsot.estimate.fit import Fit
from poinsot.estimate.uncertainty import EstimatedParameters, Uncertainty

KINDS = ("stiffness", "coulomb", "zero")
STD = np.array([2.0, 0.03, 0.01])


def estimate_of(truths, rng, identifiable=(True, True, True)):
    """Two joints, whose stiffness and friction are correlated."""
    C = np.diag(STD**2)
    C[0, 1] = C[1, 0] = 0.8 * STD[0] * STD[1]
    names = tuple(f"{joint}.{kind}" for joint in ("left", "right") for kind in KINDS)
    parameters = EstimatedParameters(
        names, ("",) * 6, ("left",) * 3 + ("right",) * 3, KINDS * 2,
        np.concatenate([rng.multivariate_normal(truth, C) for truth in truths]), names,
        np.array(identifiable * 2), Uncertainty(np.kron(np.eye(2), C)),
    )  # fmt: skip
    fit = Fit.__new__(Fit)
    return poinsot.Estimate("actuators", "arm", parameters, poinsot.Status.solved, 1.0, 100, fit)


def test_probabilities_of_equal_joints_are_uniform():
    rng, same = np.random.default_rng(1), np.array([18.0, 0.3, 0.0])
    other_zero = np.array([18.0, 0.3, 0.2])
    found = [
        equality_of_joints(estimate_of((same, other_zero), rng), [("left", "right")])[0] for _ in range(400)
    ]
    assert found[0].parameters == ("stiffness", "coulomb")
    p = np.sort([each.probability for each in found])
    # Kolmogorov and Smirnov: 1.63 / sqrt(n) at 1 %
    assert np.abs(p - (np.arange(400) + 0.5) / 400).max() < 1.63 / 20
    assert np.mean([each.chi_square for each in found]) == pytest.approx(2.0, abs=0.3)


def test_unequal_joints_are_found_and_the_parameter_named():
    rng = np.random.default_rng(2)
    truths = np.array([18.0, 0.3, 0.0]), np.array([18.0, 0.6, 0.0])
    (found,) = equality_of_joints(estimate_of(truths, rng), [("left", "right")])
    assert found.probability < 1e-6
    assert found.most == "coulomb"


def test_joints_that_determine_nothing_are_refused():
    truth = np.array([18.0, 0.3, 0.0])
    estimate = estimate_of((truth, truth), np.random.default_rng(3), (False, False, True))
    with pytest.raises(PoinsotError, match="determine no parameter that both have"):
        equality_of_joints(estimate, [("left", "right")])
