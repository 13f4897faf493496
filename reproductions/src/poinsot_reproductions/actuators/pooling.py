"""What all joints of a robot show of a parameter together.

All joints together give a prior for each of them (partial pooling). Where the motors of a robot are of one kind, or its
commands come in one packet, a joint that shows a parameter badly learns from those that show it well: the prior is
where the value of a further joint would be (`statistics.predictive_std`). A second estimate with it counts the samples
of a joint twice, by its share in the mean; with a dozen joints this is small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poinsot import Estimate, Normal
from poinsot.statistics import predictive_std


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
            mean, spread = predictive_std(x[usable, None], s[usable, None])
            priors[parameter] = Normal(mean.item(), spread.item())
    return priors
