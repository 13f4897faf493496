"""Recordings that were held out, predicted much worse than the fitted ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..estimate import Estimate, Finding, Severity, Unchecked
from .case import Examination
from .check import Cause, Check

POSSIBLE_BODIES = "Write in [method] the name of the method that finds possible bodies"
"""Remedy; `project/methods` puts the line to write in its place."""


@dataclass(frozen=True)
class HeldOutError(Check):
    """Relative error on held-out recordings against that of the fit.

    Args:
        warning_times, error_times: how many times the fit's error.
        warning, error: relative errors below which it does not matter.
    """

    warning_times: float = 2.5
    error_times: float = 5.0
    warning: float = 0.05
    error: float = 0.25

    causes = (
        Cause(
            "held-out",
            "The estimate predicts recordings that it has not seen much worse than it fits the others.",
            "Use the method that finds possible bodies from a prior, or a livelier motion, or add what is missing.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        yield from self.look_at(case.estimate)

    def look_at(self, estimate: Estimate) -> Iterator[Finding | Unchecked]:
        """Of an estimate of any family."""
        fitted = estimate.fit.relative_error_percent / 100
        if not estimate.validation:
            yield Unchecked(
                "prediction of other motions",
                'no recording was held out; give one the role "validation"',
            )
        for fit in estimate.validation:
            error = fit.relative_error_percent / 100
            times = error / max(fitted, 1e-12)
            if times < self.warning_times or error < self.warning:
                continue
            grave = times >= self.error_times and error >= self.error
            yield Finding(
                "held-out",
                Severity.error if grave else Severity.warning,
                f"{fit.recording or 'A held-out recording'} is predicted to {100 * error:.3g} %, "
                f"{times:.2g} times the error of the fit ({100 * fitted:.3g} %).",
                f"{POSSIBLE_BODIES}, or record a livelier motion.",
                fit.recording,
                evidence=times,
            )
