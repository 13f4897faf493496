"""Rows `"module:attribute"` of lists in the code, and entry points of plugins: objects that are imported when used."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any


def load(row: str) -> Any:
    """Import the object of a row `"module:attribute"`; `module` is absolute, or begins with a dot: within poinsot."""
    module, _, name = row.partition(":")
    return getattr(import_module(module, __package__), name)


def plugins(group: str) -> EntryPoints:
    """Entry points of a group in all installed distributions, whose metadata are read once for a search path."""
    return _installed(tuple(sys.path)).select(group=group)


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Any:
    return entry_points()  # a mapping, or in newer versions of Python `EntryPoints`; both can be searched
