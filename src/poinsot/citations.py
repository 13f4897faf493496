"""BibTeX of the methods that estimates use, from `citations.bib`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, once each, in their order."""
    text = (files(__package__) / "citations.bib").read_text(encoding="utf-8")
    # An entry ends with a brace alone on its line.
    entries = {key: entry for entry, key in re.findall(r"^(@\w+\{(\w+),$.*?^\}$)", text, re.M | re.S)}
    return "\n\n".join(entries[key] for key in dict.fromkeys(keys))
