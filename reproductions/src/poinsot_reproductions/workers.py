"""Many solves in processes, each kept on disk as soon as it is done: who interrupts them goes on where they were.

What is kept lies in a folder of the user's cache under a name made of all settings, and is removed with the last solve.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from .case import Say

Job = TypeVar("Job")


class Checkpoint:
    """What is done of a list of jobs, one line of JSON each.

    Args:
        folder: where; None: nothing is kept.
        name: of the case.
        settings: everything that the results depend on.
    """

    def __init__(self, folder: Path | None, name: str, settings: Mapping[str, Any]):
        text = json.dumps(settings, sort_keys=True)
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = None if folder is None else folder / f"{name}-{mark}.jsonl"

    def read(self) -> dict[str, Any]:
        """Job -> result; a line that was cut off is left out."""
        if self.path is None or not self.path.is_file():
            return {}
        done = {}
        for line in self.path.read_text().splitlines():
            try:
                job, result = json.loads(line)
            except ValueError:
                continue
            done[job] = result
        return done

    def keep(self, job: str, result: Any) -> None:
        """Add a line."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps([job, result]) + "\n")

    def clear(self) -> None:
        """All is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def solve_all(
    work: Callable[[Job], Any], jobs: Mapping[str, Job], executor: Executor, checkpoint: Checkpoint, say: Say
) -> dict[str, Any]:
    """Job's name -> what `work` says of it, in the order of the jobs; what the checkpoint has is not done again."""
    done = {name: result for name, result in checkpoint.read().items() if name in jobs}
    before = len(done)
    futures = {executor.submit(work, job): name for name, job in jobs.items() if name not in done}
    for future in as_completed(futures):
        done[futures[future]] = future.result()
        checkpoint.keep(futures[future], future.result())
        resumed = f", {before} from before" if before else ""
        say(f"{len(done)} of {len(jobs)} solved{resumed}")
    checkpoint.clear()
    return {name: done[name] for name in jobs}


def slowest_first(names: Sequence[str], slow: Callable[[str], bool]) -> list[str]:
    """So that no process has a long one left at the end."""
    return sorted(names, key=lambda name: not slow(name))
