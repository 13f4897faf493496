"""Ctrl-C: blocks that it cannot interrupt, and loops that end with what they have found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block."""
    asked: list[bool] = []
    with _on_ctrl_c(lambda: asked.append(True)):
        yield
    if asked:
        raise KeyboardInterrupt


@contextmanager
def stoppable(*, at_once_until_asked: bool = False) -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed; pressed once more, it interrupts at once.

    Args:
        at_once_until_asked: whether Ctrl-C interrupts at once until that function is first called, which shows that
            the work polls it.
    """
    pressed: list[bool] = []
    polled = not at_once_until_asked

    def press() -> None:
        # Where the work does not poll yet, waiting for that could take minutes.
        if pressed or not polled:
            raise KeyboardInterrupt
        pressed.append(True)

    def stop() -> bool:
        nonlocal polled
        polled = True
        return bool(pressed)

    with _on_ctrl_c(press):
        yield stop


@contextmanager
def _on_ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    # Signals reach the main thread only, and only there a handler can be set.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
