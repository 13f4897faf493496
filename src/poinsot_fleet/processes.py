"""Processes that work for another one."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """End this process when the one that started it by `multiprocessing` does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:  # the system closes its end of a pipe when it is killed, too
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
