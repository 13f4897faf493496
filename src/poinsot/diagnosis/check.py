"""Check: what it looks for, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..estimate import Finding, Severity, Unchecked


@dataclass(frozen=True)
class Cause:
    """An entry of the page on trust.

    Args:
        name: as in findings. means: what is wrong then. advice: what to do.
    """

    name: str
    means: str
    advice: str

    def finding(
        self, severity: Severity, message: str, remedy: str = "", where: str = "", evidence: float = 0.0
    ) -> Finding:
        """A finding of this cause; its remedy is the advice unless another is given."""
        return Finding(self.name, severity, message, remedy or self.advice, where, evidence)


class Check(ABC):
    """Looks for one thing that makes a result wrong or less certain than it looks.

    Class variables:
        causes: what its findings may name.
        of_samples: whether it finds single samples or stretches that are wrong. While these are in the data nothing
            can be said about alignment, scale and fit.
    """

    causes: ClassVar[tuple[Cause, ...]]
    of_samples: ClassVar[bool] = False

    @abstractmethod
    def look(self, case: Any) -> Iterable[Finding | Unchecked]:
        """What it finds, and what it could not check; the case is what its family is examined by (`Examination`)."""
