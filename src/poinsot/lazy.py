"""Rows `"module:attribute"` of lists in the code: an object that is imported when it is needed, and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(row: str) -> Any:
    """Import the object of a row `"module:attribute"`; `module` is absolute, or begins with a dot: within poinsot."""
    module, _, name = row.partition(":")
    return getattr(import_module(module, __package__), name)
