"""Time programs side by side: they take turns, so that a slow moment of the machine meets all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Program:
    """One side of a comparison.

    Args:
        run: the work, timed as a whole.
        turns: how often it runs in a round; short programs more often, since the median of few is a matter of luck.
    """

    run: Callable[[], Any]
    turns: int = 1


def side_by_side(
    programs: Mapping[str, Program], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Seconds of every run, and the last result, of each program."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for name, program in programs.items():
            for _ in range(program.turns):
                started = time.perf_counter()
                results[name] = program.run()
                seconds[name].append(time.perf_counter() - started)
    return seconds, results


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in seconds.items()}


def process(*command: str) -> str:
    """Standard output of a Python program that is started anew.

    Raises:
        SystemExit: with its last words, if it fails.
    """
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=os.environ | _path())
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def _path() -> dict[str, str]:
    """The import path of this process for its children, e.g. where poinsot is not installed."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path[1:] if os.path.isdir(path))}
