"""Check: what it looks for, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..exceptions import PoinsotError, listing
from ..recording import Recording
from .case import Examination, within


@dataclass(frozen=True)
class Cause:
    """An entry of the page on trust.

    Args:
        name: as in findings. means: what is wrong then. advice: what to do.
        symptom: whether other causes bring it about: of findings of one severity it comes after them.
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


def look_at(case: Any, checks: Iterable[Check]) -> list[Finding | Unchecked]:
    """What these checks find, and what they could not check."""
    found: list[Finding | Unchecked] = []
    bad_samples = False
    for check in checks:
        names = f"what would be called {listing([cause.name for cause in check.causes], 20)}"
        if bad_samples and not check.of_samples:
            found.append(Unchecked(names, "single samples are wrong; mend them first"))
            continue
        try:
            with np.errstate(all="ignore"):  # wrong data overflow; what is not finite is not taken
                new = list(check.look(case))
        except (PoinsotError, np.linalg.LinAlgError) as error:
            new = [Unchecked(names, str(error), failed=True)]
        found += new
        errors = [each for each in new if isinstance(each, Finding) and each.severity is Severity.error]
        bad_samples |= check.of_samples and bool(errors)
    return found


class RecordingCheck(Check):
    """A check that needs recordings alone: `inspect` runs it too, before any estimation."""

    of_samples = True

    @abstractmethod
    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        """What it finds in one recording of positions and efforts that are all valid: `case.samples_of`.

        Args:
            name: of the recording, in messages.
            highest_hz: end of the band in which efforts are used.
        """

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, samples in enumerate(case.samples, start=1):
            for each in self.look_at(samples, f"recording {number}", case.highest_hz):
                yield replace(each, where=within(case.problem, number, each.where))
