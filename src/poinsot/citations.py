"""BibTeX of the methods that estimates use, from `references.bib` beside this file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path


@cache
def entries() -> dict[str, str]:
    """Key -> entry."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8").strip()
    # entries are separated by an empty line, and have none inside
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in text.split("\n\n")}


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, once each, in their order."""
    return "\n\n".join(entries()[key] for key in dict.fromkeys(keys))
