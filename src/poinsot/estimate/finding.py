"""What may be wrong with a result: findings, and the resulting level of trust.

error      the numbers are wrong, or mean something else           -> not to be used
warning    some numbers are less certain than their intervals say  -> with care
note       worth knowing; the numbers are valid
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import ClassVar, NamedTuple


class Severity(IntEnum):
    """Severity of a finding."""

    note = 0
    warning = 1
    error = 2


class Trust(Enum):
    """Whether the numbers may be used."""

    trusted = "trusted"
    with_care = "with-care"
    corrected = "corrected"
    not_to_be_used = "not-to-be-used"

    @property
    def words(self) -> str:
        return self.value.replace("-", " ")


class Setting(NamedTuple):
    """A line of a project file. `section`: the header above it, e.g. `"[preprocessing]"`. `value`: as TOML.
    `recording`: number of the `[[recordings]]`, from 1; None: of all. `cause`: cause of the finding that proposes it.
    """

    section: str
    key: str
    value: str
    recording: int | None = None
    cause: str = ""

    @property
    def line(self) -> str:
        return f"{self.key} = {self.value}"

    @property
    def place(self) -> str:
        return self.section + (f" number {self.recording}" if self.recording else "")

    def __str__(self) -> str:
        return f"{self.line} in {self.section}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or less certain than it looks.

    Args:
        cause: its name, the same in every message and every family: `"joint-zero"`, `"lost-samples"`, ...
        severity: its effect on the trust in the result.
        message: what is wrong and where, with the number and its interval.
        remedy: what to do, with the very line to write where there is one.
        where: joint, channel, link or recording; "" for all.
        evidence: score that grows with the likelihood of the cause; orders findings of one severity.
        corrected: whether its effect on the values has been removed.
        settings: lines of the project file that apply the remedy, where the user has no further choice.
    """

    json_keys: ClassVar = dict.fromkeys(("evidence", "corrected", "settings"))

    cause: str
    severity: Severity
    message: str
    remedy: str
    where: str = ""
    evidence: float = 0.0
    corrected: bool = False
    settings: tuple[Setting, ...] = ()

    def __str__(self) -> str:
        return f"[{self.cause}] {self.message} {self.remedy}".rstrip()


@dataclass(frozen=True)
class Unchecked:
    """What could not be checked, and why. `what`: e.g. `"the zero of joint waist"`. `reason`: a sentence. `failed`:
    whether a check failed with an error, so that its outcome is unknown.
    """

    what: str
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one result. `findings`: most severe first, of one severity causes before symptoms, of these
    the most evident first. `unchecked`: what could not be checked. `complete`: whether there are checks for this family
    of methods, and none failed; an unchecked result is not trusted. `left_out_percent`: relative error of parts of the
    recordings that were left out of a fit and predicted; None: no family's check has left any out.
    """

    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    complete: bool = True
    left_out_percent: float | None = None

    @property
    def trust(self) -> Trust:
        worst = max(
            (finding.severity for finding in self.findings if not finding.corrected), default=Severity.note
        )
        if worst is Severity.error:
            return Trust.not_to_be_used
        if any(finding.corrected for finding in self.findings):
            return Trust.corrected
        return Trust.with_care if worst is Severity.warning or not self.complete else Trust.trusted

    @property
    def verdict(self) -> str:
        """The level of trust, and the causes of errors and warnings."""
        named = [finding.cause for finding in self.findings if finding.severity > Severity.note]
        return self.trust.words + (f" ({', '.join(dict.fromkeys(named))})" if named else "")


def ordered(findings: Iterable[Finding], symptoms: Collection[str] = ()) -> tuple[Finding, ...]:
    """Findings, most severe first; of one severity causes before symptoms, and of these the most evident first."""

    def rank(finding: Finding) -> tuple[int, bool, float]:
        return -finding.severity, finding.cause in symptoms, -finding.evidence

    return tuple(sorted(findings, key=rank))
