"""What all joints of a robot show of a parameter together, as a prior for each of them (partial pooling).

Where the motors of a robot are of one kind, or its commands come in one packet, a joint that shows a parameter badly
learns from those that show it well. With estimates x_i and standard deviations s_i of n joints, the true values vary
about their mean mu with a variance tau^2 (random effects, DerSimonian and Laird 1986):

    w_i = 1 / s_i^2,    m = sum(w x) / sum(w),    Q = sum(w (x - m)^2)
    tau^2 = max(0, (Q - (n - 1)) / (sum(w) - sum(w^2) / sum(w)))
    mu = sum(x_i / (s_i^2 + tau^2)) / sum(1 / (s_i^2 + tau^2)),    var(mu) = 1 / sum(1 / (s_i^2 + tau^2))

The prior of a joint is normal about mu with the variance tau^2 + var(mu). A second estimate with it counts a joint's
own samples twice, by its share in mu; with a dozen joints this is small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Vector
from ...estimate import Estimate
from ...parameters import Normal


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
