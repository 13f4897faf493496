"""Many solves in processes, each kept on disk as soon as it is done, so that an interrupted case resumes.

The file of finished solves lies in a folder of the user's cache, under a name made of all settings. It is removed after
the last solve.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, TypeVar

from poinsot import __version__
from poinsot.solve import Progress

from .case import Say

Job = TypeVar("Job")

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "poinsot"


class Checkpoint:
    """The finished ones of a list of jobs, one line of JSON each.

    Args:
        name: of the case.
        settings: everything that the results depend on, beside poinsot's version.
        folder: of the file; None: the user's cache.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], folder: Path | None = None):
        text = json.dumps({"version": __version__, **settings}, sort_keys=True)
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = (folder or CACHE) / f"{name}-{mark}.jsonl"

    def read(self) -> dict[str, Any]:
        """Job -> result. A line that was cut off by an interruption is skipped."""
        if not self.path.is_file():
            return {}
        done = {}
        for line in self.path.read_text().splitlines():
            try:
                job, result = json.loads(line)
            except ValueError:
                continue
            done[job] = result
        return done

    def add(self, job: str, result: Any) -> None:
        """Append the result of a job."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps([job, result]) + "\n")

    def clear(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def solve_all(
    work: Callable[[Job], Any],
    jobs: Mapping[str, Job],
    say: Say,
    *,
    executor: Executor | None = None,
    checkpoint: Checkpoint | None = None,
    unit: str = "solved",
) -> dict[str, Any]:
    """Run `work` on every job, in as many processes as there are processors.

    Args:
        work: job -> result; a function of a module, so that processes find it.
        jobs: name -> job, in the order in which they start.
        say: takes how many are done.
        executor: runs the jobs in place of processes; it is not shut down.
        checkpoint: keeps results, and has those of an interrupted run, which are not computed again; None: no file.
        unit: word for what is counted in the progress.

    Returns:
        Name -> result, in the order of the jobs.
    """
    done = {} if checkpoint is None else {k: result for k, result in checkpoint.read().items() if k in jobs}
    before = len(done)
    with _pool(len(jobs), executor) as pool:
        futures = {pool.submit(work, job): name for name, job in jobs.items() if name not in done}
        for future in as_completed(futures):
            name = futures[future]
            done[name] = future.result()
            if checkpoint is not None:
                checkpoint.add(name, done[name])
            resumed = f", {before} from before" if before else ""
            detail = f"{len(done)} of {len(jobs)}{resumed}"
            say(Progress(unit, fraction=(len(done) - before) / (len(jobs) - before), detail=detail))
    if checkpoint is not None:
        checkpoint.clear()
    return {name: done[name] for name in jobs}


@contextmanager
def _pool(jobs: int, given: Executor | None) -> Iterator[Executor]:
    """The given executor, or processes, at most one a job, that are terminated at once on an error or Ctrl-C."""
    if given is not None:
        yield given
        return
    workers = max(1, min(os.cpu_count() or 1, jobs))
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _ignore_interruptions)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - others:
            child.terminate()
        raise
    pool.shutdown()


def _ignore_interruptions() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all processes: the parent alone ends the pool
