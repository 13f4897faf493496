"""How well the model fits, and predicts held-out recordings.

A rigid model with friction leaves 1 % of a simulated torque, 4 to 10 % of an industrial arm's joints.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Estimate, Finding, Severity, Unchecked
from .cause import Cause
from .check import Check
from .examination import Examination

HELD_OUT = Cause(
    "held-out",
    "The estimate predicts data that were not fitted much worse than it fits the others.",
    "Use the method that finds possible bodies from a prior, a more exciting motion, or a more complete model.",
    symptom=True,
)
POOR_FIT = Cause(
    "poor-fit",
    "The model leaves more of the torque unexplained than a rigid robot with friction does.",
    "Examine the residuals of the named joint, and extend the model or correct the data.",
    symptom=True,
)

POSSIBLE_BODIES = "Write in [method] the name of the method that finds possible bodies"
"""Remedy; `project/methods` puts the line to write in its place."""


class TorqueNoise(Check):
    """Explained variance of each joint, about its mean.

    Class variables:
        error: adjusted R^2 below which the torque of a joint is noise.
    """

    error = 0.2

    causes = (
        Cause(
            "torque-noise",
            "The torque is unrelated to the motion: another signal, another recording, or noise.",
            "Check the torque columns, and that positions and torques are from the same recording.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        if case.explained:
            return
        solved = case.declared
        W, y = solved.dense.W, solved.dense.y
        passive = case.problem.robot.drive.passive
        names, variance = case.problem.robot.effort_names, np.var(y, axis=0)
        left = max(solved.rows - W.shape[2] / len(names), 1.0)
        r2 = 1 - np.sum(solved.residuals**2, axis=0) / left / variance
        of_noise = (variance > 0) & (r2 < self.error) & [joint not in passive for joint in names]
        if noisy := [joint for joint, is_noise in zip(names, of_noise, strict=True) if is_noise]:
            worst = r2[of_noise].min()
            everything = len(noisy) == sum(joint not in passive for joint in names)
            yield self.causes[0].finding(
                Severity.error,
                f"The motion explains {max(100 * worst, 0):.2g} % of the variance of the torque of "
                f"{'all joints' if everything else ', '.join(noisy)}: it is noise, or another signal.",
                where="" if everything else ", ".join(noisy),
                evidence=50.0 * len(noisy),
            )


class HeldOutError(Check):
    """Relative error on held-out recordings against that of the fit.

    Class variables:
        warning_times, error_times: how many times the fit's error.
        floor: relative error at which the difference matters to nobody. error: from which `error_times` is an error.
        useless: relative error beyond which nothing is predicted.
    """

    warning_times, error_times = 1.7, 4.0
    floor, error, useless = 0.02, 0.15, 0.3

    causes = (HELD_OUT,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        yield from self.look_at(case.estimate)

    def look_at(self, estimate: Estimate) -> Iterator[Finding | Unchecked]:
        """Findings about an estimate of any family."""
        fitted = estimate.fit.relative_error_percent / 100
        if not estimate.validation:
            yield Unchecked(
                "prediction of other motions", 'no recording was held out; give one the role "validation"'
            )
        for fit in estimate.validation:
            error = fit.relative_error_percent / 100
            times = error / max(fitted, 1e-12)
            useless = error > self.useless
            if not useless and (times < self.warning_times or error < self.floor):
                continue
            grave = useless or (times >= self.error_times and error >= self.error)
            yield self.causes[0].finding(
                Severity.error if grave else Severity.warning,
                f"{fit.recording or 'A held-out recording'} is predicted with an error of {100 * error:.3g} %, "
                f"{times:.2g} times the error of the fit ({100 * fitted:.3g} %).",
                f"{POSSIBLE_BODIES}, or record a more exciting motion.",
                fit.recording,
                evidence=times,
            )


class HeldAway(Check):
    """Values that are not those of least squares: constraints, priors or a caller set them.

    Class variables:
        times: largest error of the estimate's own values, relative to the error of least squares.
        warning, error: relative errors of the values.
    """

    times = 1.5
    warning, error = 0.1, 0.35

    causes = (POOR_FIT,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        dense, free = case.declared.dense, case.declared.relative_error
        place = [case.problem.base.index(name) for name in case.estimate.names]
        off = np.linalg.norm(dense.y - dense.W[:, :, place] @ case.estimate.values)
        own = float(off) / max(float(np.linalg.norm(dense.y)), 1e-300)
        if own <= max(self.warning, self.times * free):  # NaN is not
            return
        yield POOR_FIT.finding(
            Severity.warning if own <= self.error else Severity.error,
            f"The values of this estimate leave {100 * own:.3g} % of the torque unexplained, least squares "
            f"{100 * free:.3g} %."
            if np.isfinite(own)
            else "Values of this estimate are not finite.",
            "Correct what keeps them away from least squares: constraints, priors, or values that were replaced.",
            evidence=100 * own if np.isfinite(own) else 1e9,
        )
