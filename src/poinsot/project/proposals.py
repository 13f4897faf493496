"""Proposals of `poinsot inspect` as lines of the project file; comments and everything else are kept.

An edit is checked by reading the file again: only the proposed keys may have changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

from ..estimate import Setting
from ..exceptions import InvalidProject
from ..inspection import Inspection
from .settings import Settings

COMMON = "[preprocessing]"


def proposals(settings: Settings, inspections: Sequence[Inspection]) -> tuple[Setting, ...]:
    """Proposals of findings for each recording of these settings, in their order: the first for each key, and none that
    replaces a window that is set.
    """
    found: dict[tuple[str, int | None], Setting] = {}
    for number, (recording, seen) in enumerate(zip(settings.recordings, inspections, strict=True), start=1):
        for finding in seen.findings:
            for each in finding.settings:
                which = None if each.section == COMMON else number
                if which is None or getattr(recording, each.key) is None:
                    proposal = each._replace(recording=which, cause=finding.cause)
                    found.setdefault((each.key, which), proposal)
    return tuple(found.values())


def applied(text: str, proposals: Sequence[Setting]) -> str:
    """The text of a project file with the proposed lines inserted. Raises `InvalidProject` if its format does not allow
    this.
    """
    lines, wanted = text.split("\n"), tomllib.loads(text)
    for each in proposals:
        if each.recording is None and "preprocessing" not in wanted:
            wanted["preprocessing"] = {"method": "none"}
            lines += [COMMON, 'method = "none"', ""]
        table = (
            wanted["preprocessing"] if each.recording is None else wanted["recordings"][each.recording - 1]
        )
        table |= tomllib.loads(each.line)
        _write(lines, each)
    found = "\n".join(lines)
    try:
        if tomllib.loads(found) == wanted:
            return found
    except tomllib.TOMLDecodeError:
        pass
    raise InvalidProject("the lines cannot be inserted into a file of this format; write them yourself")


def _write(lines: list[str], proposal: Setting) -> None:
    """Replace the line of the key and keep its comment, or insert one below the header."""
    header = re.compile(rf"\s*{re.escape(proposal.section)}\s*(#.*)?$")
    headers = [k for k, line in enumerate(lines) if header.match(line)]
    if len(headers) < (number := proposal.recording or 1):
        return  # the caller detects the missing key
    for k in range(first := headers[number - 1] + 1, len(lines)):
        if re.match(r"\s*\[", lines[k]):  # the next table
            break
        if re.match(rf"\s*{proposal.key}\s*=", lines[k]):
            _, mark, comment = lines[k].partition("#")
            lines[k] = proposal.line + (f"  {mark}{comment}" if mark else "")
            return
    lines.insert(first, f"{proposal.line}  # proposed by poinsot inspect: {proposal.cause}")
