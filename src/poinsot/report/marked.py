"""Words with a mark that reads without colour."""

from __future__ import annotations

from enum import Enum
from typing import Self


class Marked(Enum):
    """A member is `words, mark`; its value is the words."""

    mark: str

    def __new__(cls, words: str, mark: str) -> Self:
        member = object.__new__(cls)
        member._value_, member.mark = words, mark
        return member
