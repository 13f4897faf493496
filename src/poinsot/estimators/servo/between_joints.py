"""What joints of a robot have in common: whether two are alike, and what all show of a parameter together.

Whether the parameters of two joints are equal is tested, before `share` takes them for one. With the parameters x, y
that both estimates determine, and their covariance V of x - y,

    chi2 = (x - y)^T V^-1 (x - y)

has a chi-square distribution with len(x) degrees of freedom if the true values are equal.

All joints together give a prior for each of them (partial pooling). Where the motors of a robot are of one kind, or its
commands come in one packet, a joint that shows a parameter badly learns from those that show it well. With estimates
x_i and standard deviations s_i of n joints, the true values vary about their mean mu with a variance tau^2 (random
effects, DerSimonian and Laird 1986):

    w_i = 1 / s_i^2,    m = sum(w x) / sum(w),    Q = sum(w (x - m)^2)
    tau^2 = max(0, (Q - (n - 1)) / (sum(w) - sum(w^2) / sum(w)))
    mu = sum(x_i / (s_i^2 + tau^2)) / sum(1 / (s_i^2 + tau^2)),    var(mu) = 1 / sum(1 / (s_i^2 + tau^2))

The prior of a joint is normal about mu with the variance tau^2 + var(mu). A second estimate with it counts a joint's
own samples twice, by its share in mu; with a dozen joints this is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ...arrays import Vector
from ...estimate import Estimate
from ...exceptions import InvalidMethod
from ...parameters import Normal
from .search import OWN


@dataclass(frozen=True)
class Equality:
    """The test of two joints.

    Args:
        joints: their names. parameters: that are compared.
        chi_square: about len(parameters) if they are equal. probability: of so large a value, if they are.
        most: parameter with the largest difference in its standard deviations.
    """

    joints: tuple[str, str]
    parameters: tuple[str, ...]
    chi_square: float
    probability: float
    most: str


def equality_of_joints(estimate: Estimate, pairs: Iterable[tuple[str, str]]) -> tuple[Equality, ...]:
    """Test whether the parameters of two joints are equal, for each pair of joints.

    Parameters that one of them does not determine are left out, and those that belong to a joint alone: its zero, and
    levels of friction between its own positions.

    Raises:
        InvalidMethod: if both joints of a pair determine no parameter.
    """
    places = {
        (owner, kind): k
        for k, (owner, kind, known) in enumerate(
            zip(estimate.owners, estimate.kinds, estimate.identifiable, strict=True)
        )
        if known and kind not in OWN and not kind.startswith("friction_level_")
    }
    found = []
    for one, other in pairs:
        kinds = tuple(kind for owner, kind in places if owner == one and (other, kind) in places)
        if not kinds:
            raise InvalidMethod(
                f"{one} and {other} determine no parameter that both have; compare other joints"
            )
        a, b = ([places[owner, kind] for kind in kinds] for owner in (one, other))
        C, d = np.asarray(estimate.covariance), estimate.values[a] - estimate.values[b]
        V = C[np.ix_(a, a)] + C[np.ix_(b, b)] - C[np.ix_(a, b)] - C[np.ix_(b, a)]
        std = np.sqrt(np.diag(V))
        # in standard deviations, as units differ
        chi_square = float(d / std @ np.linalg.pinv(V / np.outer(std, std), hermitian=True) @ (d / std))
        most = kinds[int(np.argmax(np.abs(d) / std))]
        found.append(Equality((one, other), kinds, chi_square, float(chdtrc(len(kinds), chi_square)), most))
    return tuple(found)


def pooled_priors(estimate: Estimate, parameters: Sequence[str]) -> dict[str, Normal]:
    """Parameter -> the prior that all joints give together, for `ActuatorProblem.priors`.

    Args:
        estimate: of actuators. parameters: names, such as `"delay"`; one that fewer than three joints have is left out.
    """
    priors = {}
    std = estimate.std
    for parameter in parameters:
        at = [i for i, name in enumerate(estimate.names) if name.rpartition(".")[2] == parameter]
        x, s = estimate.values[at], std[at]
        usable = np.isfinite(s) & (s > 0)
        if usable.sum() >= 3:
            priors[parameter] = Normal(*random_effects(x[usable], s[usable]))
    return priors


def random_effects(x: Vector, s: Vector) -> tuple[float, float]:
    """Mean, and standard deviation of a further value, from values x (n,) with standard deviations s (n,)."""
    w = 1.0 / s**2
    m = np.sum(w * x) / np.sum(w)
    Q = np.sum(w * (x - m) ** 2)
    tau2 = max(0.0, (Q - (len(x) - 1)) / (np.sum(w) - np.sum(w**2) / np.sum(w)))
    weights = 1.0 / (s**2 + tau2)
    mu = np.sum(weights * x) / np.sum(weights)
    return float(mu), float(np.sqrt(tau2 + 1.0 / np.sum(weights)))
