"""Processes that work for another one."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """End this process when the one that started it by `multiprocessing` does, however that ends.

    A killed parent cannot say so, but the system closes its end of a pipe, which a thread waits for.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()
