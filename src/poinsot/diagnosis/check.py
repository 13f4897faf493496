"""Interface of a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..estimate import Finding, Unchecked
from ..exceptions import PoinsotError, listing
from ..recording import Recording
from .case import within
from .cause import Cause
from .examination import Examination


class Check(ABC):
    """A check for one defect that makes a result wrong or less certain than stated.

    Class variables:
        causes: causes that its findings may name.
        of_samples: whether it finds single wrong samples or stretches.
    """

    causes: ClassVar[tuple[Cause, ...]]
    of_samples: ClassVar[bool] = False

    @abstractmethod
    def look(self, case: Any) -> Iterable[Finding | Unchecked]:
        """Findings, and what could not be checked; `case` is the examined object of its family, e.g. `Examination`."""


def look_at(case: Any, checks: Iterable[Check]) -> list[Finding | Unchecked]:
    """Findings of these checks, and what they could not check."""
    found: list[Finding | Unchecked] = []
    for check in checks:
        names = f"the check for {listing([cause.name for cause in check.causes], 20)}"
        try:
            with np.errstate(all="ignore"):  # wrong data overflow; values that are not finite are rejected
                new = list(check.look(case))
        except (PoinsotError, np.linalg.LinAlgError) as error:
            new = [Unchecked(names, str(error), failed=True)]
        found += new
    return found


class RecordingCheck(Check):
    """A check that needs only recordings: `inspect` runs it too, before any estimation."""

    of_samples = True

    @abstractmethod
    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        """Findings in one recording of valid positions and efforts, as of `case.samples_of`.

        Args:
            name: name of the recording in messages.
            highest_hz: end of the band in which efforts are used.
        """

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, samples in enumerate(case.samples, start=1):
            for finding in self.look_at(samples, f"recording {number}", case.highest_hz):
                yield replace(finding, where=within(case.problem, number, finding.where))
