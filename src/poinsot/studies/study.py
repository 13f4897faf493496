"""Many independent solves as one value: what is solved, by which function, and how results are combined.

    Study(tasks, solve, combine).run(executor, store)

Any `concurrent.futures.Executor` runs it: `Serial` (this process), `processes`, or a Dask cluster (`cluster`). With a
store each result is on disk as soon as it is there, in a file named by content (settings, version), so a study that was
killed goes on where it was, counts no task twice, and takes nothing from another version. Results are combined in the
order of the tasks, whatever the order in which they come: the answer is the same to the last digit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from multiprocessing import active_children, get_context
from time import perf_counter
from typing import Any, Generic, TypeVar

from .. import PoinsotError
from ..solve import Stop, stop_requested
from .store import Store

Task = TypeVar("Task")
Say = Callable[[str], None]

WINDOW = 256
"""Maximum number of submitted tasks: enough to keep a cluster busy, without a copy of a million."""

CHOSEN: ContextVar[Executor | None] = ContextVar("executor of studies", default=None)
"""The executor of studies that are given none: what `poinsot reproduce --workers` or `--cluster` asks for."""


class StudyInterrupted(PoinsotError):
    """Workers or the scheduler went away, or the study was stopped, before it was done."""


@dataclass(frozen=True)
class Study(Generic[Task]):
    """Tasks that do not depend on each other.

    Args:
        tasks: name -> task, in the order in which they start; tasks can be pickled.
        solve: task -> result; a function of a module, so that other processes find it.
        combine: (name -> result, in the order of the tasks) -> what `run` returns.
        unit: word for what is counted in the progress.
    """

    tasks: Mapping[str, Task]
    solve: Callable[[Task], Any]
    combine: Callable[[dict[str, Any]], Any] = dict
    unit: str = "solved"

    def run(
        self,
        executor: Executor | None = None,
        store: Store | None = None,
        *,
        say: Say = lambda _: None,
        stop: Stop | None = None,
        clear: bool = True,
    ) -> Any:
        """Solve what the store does not have, and combine.

        Args:
            executor: runs the tasks, and is not shut down; None: that of `CHOSEN`, else as many processes as there are
                processors, at most one a task.
            store: keeps results, and has those of an interrupted run.
            say: called with the number of finished tasks and the time left.
            stop: called after each task. clear: whether the store is emptied at the end.

        Raises:
            StudyInterrupted: if workers or the scheduler went away, or `stop` asked for it; what is done is kept.
        """
        done = {} if store is None else {k: r for k, r in store.read().items() if k in self.tasks}
        before, begun = len(done), perf_counter()
        with _executor(len(self.tasks) - before, executor) as pool:
            todo = ((name, task) for name, task in self.tasks.items() if name not in done)
            pending: dict[Future[Any], str] = {}
            try:
                while True:
                    for name, task in islice(todo, getattr(pool, "window", WINDOW) - len(pending)):
                        pending[pool.submit(self.solve, task)] = name
                    if not pending:
                        break
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        name = pending.pop(future)
                        done[name] = future.result()
                        if store is not None:
                            store.add(name, done[name])
                        say(self._progress(len(done), before, perf_counter() - begun))
                    if stop_requested(stop):
                        raise StudyInterrupted(self._kept("was stopped", done, store))
            except BaseException as error:
                for future in pending:
                    future.cancel()
                if _lost(error):
                    raise StudyInterrupted(
                        self._kept("lost its workers or its scheduler", done, store)
                    ) from error
                raise
        if store is not None and clear:
            store.clear()
        return self.combine({name: done[name] for name in self.tasks})

    def _progress(self, done: int, before: int, spent_s: float) -> str:
        left_s = spent_s / max(done - before, 1) * (len(self.tasks) - done)
        left = f", {left_s:.0f} s left" if left_s < 100 else f", {left_s / 60:.0f} min left"
        resumed = f", {before} from before" if before else ""
        return f"{done} of {len(self.tasks)} {self.unit}{resumed}{left if done < len(self.tasks) else ''}"

    def _kept(self, event: str, done: Mapping[str, Any], store: Store | None) -> str:
        outcome = (
            f"are kept in {store.path}: run it again to go on"
            if store is not None
            else "are lost: there is no store"
        )
        return f"the study {event}; {len(done)} of {len(self.tasks)} results {outcome}"


class Serial(Executor):
    """Runs each task where it is submitted, in this process, one after the other."""

    window = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def processes(workers: int | None = None) -> Iterator[Executor]:
    """Processes that are terminated at once on an error or Ctrl-C, and end when this process does.

    Args:
        workers: how many; None: as there are processors.
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(workers or os.cpu_count() or 1, get_context("spawn"), _begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - others:
            child.terminate()
        raise
    pool.shutdown()


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask cluster; a task whose worker dies is solved by another.

    Args:
        address: address of the scheduler, `tcp://HOST:PORT`.

    Raises:
        MissingExtra: without the package `distributed`.
        StudyInterrupted: if there is no scheduler.
    """
    from ..exceptions import MissingExtra

    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("cluster", "distributed") from None
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise StudyInterrupted(f"there is no Dask scheduler at {address}: {error!s:.100}") from None
    try:
        # a result must not depend on which worker computes it: a task depends only on its arguments
        yield client.get_executor(pure=False, retries=3)
    finally:
        client.close(timeout=2)


@contextmanager
def chosen(workers: int | None = None, address: str | None = None) -> Iterator[None]:
    """Studies inside run on so many processes, or on this cluster."""
    if workers is None and address is None:
        yield
        return
    context = cluster(address) if address is not None else processes(workers)
    with context as executor:
        token = CHOSEN.set(executor)
        try:
            yield
        finally:
            CHOSEN.reset(token)


@contextmanager
def _executor(tasks: int, given: Executor | None) -> Iterator[Executor]:
    if (executor := given or CHOSEN.get()) is not None:
        yield executor
        return
    with processes(max(1, min(os.cpu_count() or 1, tasks))) as pool:
        yield pool


def _begin() -> None:
    """Ctrl-C reaches all processes: only the parent ends the pool. Where it is killed, its workers end too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def _lost(error: BaseException) -> bool:
    """Whether an exception means that the workers are gone, not that a task failed."""
    return isinstance(error, BrokenProcessPool | CancelledError | OSError) or type(
        error
    ).__module__.startswith("distributed.")


def end_with_parent() -> None:
    """End this process when the one that started it by `multiprocessing` does, however that ends."""
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=lambda: [parent.join(), os._exit(1)], daemon=True).start()  # type: ignore[func-returns-value]
