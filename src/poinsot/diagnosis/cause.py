"""The causes that findings name."""

from __future__ import annotations

from dataclasses import dataclass

from ..estimate import Finding, Severity


@dataclass(frozen=True)
class Cause:
    """A cause of findings: an entry of the page on trust.

    Args:
        name: name in findings. means: what is wrong. advice: what to do.
        symptom: whether other causes produce it: it is listed after other findings of the same severity.
    """

    name: str
    means: str
    advice: str
    symptom: bool = False

    def finding(
        self, severity: Severity, message: str, remedy: str = "", where: str = "", evidence: float = 0.0
    ) -> Finding:
        """A finding of this cause; its remedy is the advice unless another is given."""
        return Finding(self.name, severity, message, remedy or self.advice, where, evidence)
