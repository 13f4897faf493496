"""Processes for many simulations or solves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context


@contextmanager
def processes(jobs: int, given: Executor | None = None) -> Iterator[Executor]:
    """As many as there are processors; when something goes wrong, or Ctrl-C, they end at once.

    Args:
        jobs: more processes are not started.
        given: an executor to take in their place, which stays the caller's.
    """
    if given is not None:
        yield given
        return
    workers = max(1, min(os.cpu_count() or 1, jobs))
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _leave_interruptions_to_the_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - others:
            child.terminate()
        raise
    pool.shutdown()


def _leave_interruptions_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
