"""Where what takes long to make is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Of the user: `$XDG_CACHE_HOME/poinsot`, by default `~/.cache/poinsot`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "poinsot"
