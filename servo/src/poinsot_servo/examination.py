"""What may be wrong with an estimate of actuators: findings.

not-converged      the search has not ended at a minimum                             error
unmodelled-motion  the simulation leaves much of what "position = command" leaves    warning
at-bound           a parameter is at the edge of what is possible                    note
torque-scale       only ratios of torques are known                                  note
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poinsot.estimate import Diagnosis, Estimate, Finding, Severity
from poinsot.estimate.estimate import unfinished
from poinsot.estimate.finding import ordered

from .problem import Motion
from .result import Actuators

UNMODELLED = 0.5
"""Part of the error of "position = command" above which a simulation explains a joint poorly."""


def examine(estimate: Estimate, motions: Sequence[Motion]) -> Diagnosis:
    """Findings about an estimate of actuators from these motions."""
    found = estimate.extra(Actuators)
    assert found is not None
    findings = [*unfinished(estimate)]
    for k, actuator in enumerate(found.actuators):
        joint = actuator.name
        for motion in motions:
            command = float(np.sqrt(np.nanmean((motion.measured[:, k] - motion.command[:, k]) ** 2)))
            rms = found.rms[motion.name][joint]
            if rms > UNMODELLED * command:
                findings.append(
                    Finding(
                        "unmodelled-motion",
                        Severity.warning,
                        f"{joint} in {motion.name!r}: the simulation is off by {1e3 * rms:.2g} mrad, and the command "
                        f"itself by {1e3 * command:.2g} mrad.",
                        "Look at the residuals: the joint may touch something, or commands and positions have other "
                        "units or zeros; open more parameters with estimate = [...] in [method].",
                        joint,
                        evidence=rms / command,
                    )
                )
    edges = [
        name
        for name, kind, value in zip(estimate.names, estimate.kinds, estimate.values, strict=True)
        if value == 0.0 and kind != "zero"
    ]
    if edges:
        findings.append(
            Finding(
                "at-bound",
                Severity.note,
                f"{', '.join(edges)}: 0 explains the recordings best, and less is impossible.",
                "Their intervals are one-sided; with a faster motion they may show.",
            )
        )
    free = [joint for joint, known in found.scale_known.items() if not known]
    if free:
        findings.append(
            Finding(
                "torque-scale",
                Severity.note,
                f"The recordings do not show the scale of the torques of {', '.join(free)}, only their ratios to the "
                "stiffness.",
                "A simulator moves alike with any scale as long as nothing pushes the robot. Give what is known as "
                "stiffness = ... in [held], or record with a load of known mass.",
                free[0] if len(free) == 1 else "",
            )
        )
    return Diagnosis(ordered(findings))
