"""Ctrl-C: blocks that it cannot interrupt, and loops that end with what they have found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    # Signals reach the main thread only, and only there a handler can be set.
    before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    # Postponed, not lost.
    if asked:
        raise KeyboardInterrupt


@contextmanager
def stoppable(*, at_once_until_asked: bool = False) -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed; pressed once more, it interrupts at once.

    Args:
        at_once_until_asked: whether Ctrl-C interrupts at once until that function is first called, which shows that
            the work polls it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed: list[int] = []
    polled = not at_once_until_asked
    before = signal.getsignal(signal.SIGINT)

    def press(number: int, _: object) -> None:
        # The work does not poll yet: waiting for that could take minutes.
        if pressed or not polled:
            raise KeyboardInterrupt
        pressed.append(number)

    def stop() -> bool:
        nonlocal polled
        polled = True
        return bool(pressed)

    signal.signal(signal.SIGINT, press)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
