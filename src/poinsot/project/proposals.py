"""What `poinsot inspect` proposes, as lines of the project file; comments and everything else stay.

An edit is checked by reading it again: the file must say the same as before but for the proposed keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..estimate.finding import Setting
from ..exceptions import InvalidProject
from ..inspection import Inspection
from .settings import Settings

COMMON = "[preprocessing]"


@dataclass(frozen=True)
class Proposal:
    """A line to write. `recording`: number of the `[[recordings]]` that it is for, from 1; None: of all. `cause`: of
    the finding that proposes it.
    """

    setting: Setting
    recording: int | None
    cause: str

    @property
    def place(self) -> str:
        """The header above the line, and of several recordings which."""
        return self.setting.section + (f" number {self.recording}" if self.recording else "")

    @property
    def line(self) -> str:
        return f"{self.setting.key} = {self.setting.value}"

    def as_json(self) -> dict[str, Any]:
        return {**self.setting._asdict(), "recording": self.recording, "cause": self.cause}


def proposals(settings: Settings, inspections: Sequence[Inspection]) -> tuple[Proposal, ...]:
    """What findings propose for each recording of these settings, in their order; of two for one key the first, and
    none in place of a window that is set.
    """
    found: dict[tuple[str, int | None], Proposal] = {}
    for number, (recording, seen) in enumerate(zip(settings.recordings, inspections, strict=True), start=1):
        for finding in seen.findings:
            for each in finding.settings:
                which = None if each.section == COMMON else number
                if which is None or getattr(recording, each.key) is None:
                    found.setdefault((each.key, which), Proposal(each, which, finding.cause))
    return tuple(found.values())


def applied(text: str, proposals: Sequence[Proposal], method: str) -> str:
    """The text of a project file with the proposed lines in it. `method`: of [preprocessing], for a file without one.
    Raises `InvalidProject` if the file is written in a way that lines cannot be put into.
    """
    lines, wanted = text.split("\n"), tomllib.loads(text)
    for each in proposals:
        key, value = each.setting.key, tomllib.loads(each.line)[each.setting.key]
        if each.recording is None and "preprocessing" not in wanted:
            wanted["preprocessing"] = {"method": method}
            lines += [COMMON, f'method = "{method}"', ""]
        table = (
            wanted["preprocessing"] if each.recording is None else wanted["recordings"][each.recording - 1]
        )
        table[key] = value
        _write(lines, each)
    found = "\n".join(lines)
    try:
        if tomllib.loads(found) == wanted:
            return found
    except tomllib.TOMLDecodeError:
        pass
    raise InvalidProject("the lines cannot be put into a file that is written like this; write them yourself")


def _write(lines: list[str], proposal: Proposal) -> None:
    """Replace the line of the key, whose comment stays, or write one below the header."""
    key, header = proposal.setting.key, re.escape(proposal.setting.section)
    headers = [k for k, line in enumerate(lines) if re.match(rf"\s*{header}\s*(#.*)?$", line)]
    if len(headers) < (number := proposal.recording or 1):
        return  # which the caller sees, as the key is missing
    first = headers[number - 1] + 1
    last = next((k for k in range(first, len(lines)) if re.match(r"\s*\[", lines[k])), len(lines))
    for k in range(first, last):
        if re.match(rf"\s*{key}\s*=", lines[k]):
            _, mark, comment = lines[k].partition("#")
            lines[k] = proposal.line + (f"  {mark}{comment}" if mark else "")
            return
    lines.insert(first, f"{proposal.line}  # proposed by poinsot inspect: {proposal.cause}")
