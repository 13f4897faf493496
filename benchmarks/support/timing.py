"""Time programs side by side: they take turns, so that a slow moment of the machine meets all of them.

Ratios are of processor time, which other people's programs on the same machine hardly change. BLAS has one thread, for
poinsot and peers alike, so on an idle machine that is nearly the time that passes. Both are printed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR")}


@dataclass(frozen=True)
class Program:
    """One side of a comparison.

    Args:
        run: the work, timed as a whole.
        turns: how often it runs in a round; short programs more often, since the median of few is a matter of luck.
    """

    run: Callable[[], Any]
    turns: int = 1


@dataclass(frozen=True)
class Seconds:
    """Medians of all runs of a program: processor time and elapsed time."""

    processor: float
    passed: float

    def __truediv__(self, other: Seconds) -> float:
        return self.processor / other.processor


def side_by_side(programs: Mapping[str, Program], rounds: int) -> tuple[dict[str, Seconds], dict[str, Any]]:
    """Seconds and the last result of each program; a first run of each is not counted."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    results: dict[str, Any] = {}
    for name, program in programs.items():  # imports, compilation and caches are not counted
        results[name] = program.run()
    with threadpool_limits(limits=1):
        for _ in range(rounds):
            for name, program in programs.items():
                for _ in range(program.turns):
                    processor, passed = _processor_time(), time.perf_counter()
                    results[name] = program.run()
                    runs[name].append((_processor_time() - processor, time.perf_counter() - passed))
    return {name: Seconds(*map(median, zip(*pairs, strict=True))) for name, pairs in runs.items()}, results


def process(*command: str) -> str:
    """Standard output of a Python program that is started anew.

    Raises:
        SystemExit: with its last words, if it fails.
    """
    environment = os.environ | ONE_THREAD | _path()
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def poinsot_identify(job: Path, folder: Path) -> str:
    """Output of the command; its page is written and deleted."""
    with tempfile.TemporaryDirectory() as out:
        command = ("-c", "from poinsot.cli import main; main()", "identify", str(job))
        return process(*command, "--data", str(folder), "--out", f"{out}/identified")


def _processor_time() -> float:
    """Processor time of this process and of the processes that it has waited for [s]."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _path() -> dict[str, str]:
    """The import path of this process for its children, e.g. where poinsot is not installed."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path[1:] if os.path.isdir(path))}
