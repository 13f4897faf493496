"""Requirements of a benchmark that may be missing; each is reported in one sentence."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

RECORDINGS = Path(__file__).parents[3] / "shared" / "data"


def package(module: str) -> None:
    """Leave, with status 1, if a peer is not installed."""
    if importlib.util.find_spec(module) is None:
        sys.exit(f"{module} is the peer of this benchmark: install it with  pip install 'poinsot[bench]'")


def recording(name: str) -> Path:
    """The folder of a measured recording; leave, with status 0, if this checkout has none."""
    folder = RECORDINGS / name
    if not folder.is_dir():
        print(f"  skipped: it needs the measured recording {name}, which is not in {RECORDINGS}")
        sys.exit(0)
    return folder
