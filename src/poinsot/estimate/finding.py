"""What may be wrong with a result: findings, and the level of trust that they leave.

error      the numbers are wrong, or mean something else           -> not to be used
warning    some numbers are less certain than their intervals say  -> with care
note       worth knowing; the numbers stand
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple


class Severity(IntEnum):
    """How much a finding weighs."""

    note = 0
    warning = 1
    error = 2


class Trust(Enum):
    """May the numbers be used?"""

    trusted = "trusted"
    with_care = "with-care"
    corrected = "corrected"
    not_to_be_used = "not-to-be-used"

    @property
    def words(self) -> str:
        return self.value.replace("-", " ")


class Setting(NamedTuple):
    """A line of a project file. `section`: the header above it, e.g. `"[preprocessing]"`. `value`: as TOML.
    `recording`: number of the `[[recordings]]`, from 1; None: of all. `cause`: of the finding that proposes it.
    """

    section: str
    key: str
    value: str
    recording: int | None = None
    cause: str = ""

    @property
    def line(self) -> str:
        return f"{self.key} = {self.value}"

    def __str__(self) -> str:
        return f"{self.line} in {self.section}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or less certain than it looks.

    Args:
        cause: its name, the same in every message and every family: `"joint-zero"`, `"lost-samples"`, ...
        severity: what it does to the trust in the result.
        message: what is wrong and where, with the number and its interval.
        remedy: what to do, with the very line to write where there is one.
        where: joint, channel, link or recording; "" for all.
        evidence: by how much it is more likely than not, in log-likelihood; orders findings of one severity.
        corrected: whether the values have been freed of its effect.
        settings: lines of the project file that do what the remedy says, where nothing else is to be decided.
    """

    cause: str
    severity: Severity
    message: str
    remedy: str
    where: str = ""
    evidence: float = 0.0
    corrected: bool = False
    settings: tuple[Setting, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shown = {key: getattr(self, key) for key in ("cause", "severity", "message", "remedy", "where")}
        return shown | {"severity": self.severity.name}

    def __str__(self) -> str:
        return f"[{self.cause}] {self.message} {self.remedy}".rstrip()


@dataclass(frozen=True)
class Unchecked:
    """What could not be checked, and why. `what`: e.g. `"the zero of joint waist"`. `reason`: a sentence. `failed`:
    whether a check broke off, so that nobody knows what it would have found.
    """

    what: str
    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one result. `findings`: gravest first, of one severity causes before symptoms, and of these
    the most evident first. `unchecked`: what could not be checked. `complete`: whether there are checks for this family
    of methods, and none broke off; a result that nobody looked at is not trusted.
    """

    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    complete: bool = True

    @property
    def trust(self) -> Trust:
        worst = max((each.severity for each in self.findings if not each.corrected), default=Severity.note)
        if worst is Severity.error:
            return Trust.not_to_be_used
        if any(each.corrected for each in self.findings):
            return Trust.corrected
        return Trust.with_care if worst is Severity.warning or not self.complete else Trust.trusted

    @property
    def verdict(self) -> str:
        """The trust, and what it is for."""
        named = [each.cause for each in self.findings if each.severity > Severity.note]
        return self.trust.words + (f" ({', '.join(dict.fromkeys(named))})" if named else "")

    @property
    def headline(self) -> str:
        """The first line of a printed result."""
        return self.verdict[:1].upper() + self.verdict[1:]


def ordered(findings: Iterable[Finding], symptoms: Collection[str] = ()) -> tuple[Finding, ...]:
    """Gravest first; of one severity causes before symptoms, and of these the most evident first."""
    return tuple(sorted(findings, key=lambda each: (-each.severity, each.cause in symptoms, -each.evidence)))
