"""Processes that work for another one."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """End this process when the one that started it by `multiprocessing` does, however that ends."""
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=lambda: [parent.join(), os._exit(1)], daemon=True).start()  # type: ignore[func-returns-value]
